//! Time: transactions that stay open for too long, and transactional ids that nobody uses.

use wire::Str;

use super::end;
use super::soft::{TimerKey, Waiting};
use super::step::Step;
use crate::machine::Millis;

/// Pause before a transaction that timed out is looked at again, if no producer id could be had.
const AGAIN_AFTER: Millis = 1_000;

/// After a load: whoever was cut off gets some time to end what is open.
pub(super) fn loaded(step: &mut Step<'_>) {
    let pause = step.image.broker().transaction_abort_timed_out_transaction_cleanup_interval_ms;
    let earliest = step.now + Millis::from(pause);
    let open = step.hard().transactions().filter_map(|(id, it)| Some((id.clone(), it.times_out()?)));
    for (id, deadline) in open.collect::<Vec<_>>() {
        step.soft.timers.set(TimerKey::Timeout(id), deadline.max(earliest));
    }
    look_again(step);
}

/// An open transaction took longer than its producer said it would: it is aborted and the producer fenced.
pub(super) fn timed_out(step: &mut Step<'_>, id: &Str) {
    let Some(transaction) = step.hard().get(id).cloned() else { return };
    // It may have ended, and another one begun, while an id was waited for.
    let Some(deadline) = transaction.times_out() else { return };
    if deadline > step.now {
        step.soft.timers.set(TimerKey::Timeout(id.clone()), deadline);
        return;
    }
    if end::fence(step, id, &transaction).is_err() {
        step.wait_for_id(Waiting::Timeout(id.clone()));
    }
}

/// No producer id could be had.
pub(super) fn try_again(step: &mut Step<'_>, id: Str) {
    step.soft.timers.set(TimerKey::Timeout(id), step.now + AGAIN_AFTER);
}

/// Forgets transactional ids without open transaction that nobody used for `transactional.id.expiration.ms`.
pub(super) fn remove_expired(step: &mut Step<'_>) {
    let before = step.now - Millis::from(step.image.broker().transactional_id_expiration_ms);
    let unused = step.hard().transactions().filter(|(_, it)| it.state.is_idle() && it.updated <= before);
    for id in unused.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
        step.tombstone(&id);
        step.soft.last_epochs.remove(&id);
    }
    look_again(step);
}

fn look_again(step: &mut Step<'_>) {
    let pause = step.image.broker().transaction_remove_expired_transaction_cleanup_interval_ms;
    step.soft.timers.set(TimerKey::Expiry, step.now + Millis::from(pause));
}
