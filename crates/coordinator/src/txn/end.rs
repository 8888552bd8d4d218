//! EndTxn (key 26; KIP-98, KIP-890), and the abort of a transaction whose producer is fenced.
//!
//! Clients of before `transaction.version` 2 keep their epoch (`broker-core.md` 12.6, TV1), checks in order:
//! 1. the transactional id is known     else INVALID_PRODUCER_ID_MAPPING
//! 2. the producer id is its            else INVALID_PRODUCER_ID_MAPPING
//! 3. the epoch is the present one      else PRODUCER_FENCED
//! 4. no markers are out                else CONCURRENT_TRANSACTIONS
//! 5. Ongoing; or it ended the same way, then nothing is done  else INVALID_TXN_STATE
//!
//! Others get the next epoch with each end (TV2). So an end that was answered already is known by the epoch before:
//! a retry. In order:
//! 1. the transactional id is known     else INVALID_PRODUCER_ID_MAPPING
//! 2. no markers are out                else CONCURRENT_TRANSACTIONS
//! 3. the producer id is its, or the one before with its last epoch (retry)  else INVALID_PRODUCER_ID_MAPPING
//! 4. the epoch is the present one, or it ended and this is a retry  else PRODUCER_FENCED
//! 5. Ongoing; or a retry of the same end; or an abort of nothing, which brings the next epoch too
//!    else INVALID_TXN_STATE
//!
//! The answer leaves when the decision is durable, before the first marker is written (trap 45).

use wire::{ErrorCode, Str};

use super::request::EndTxn;
use super::soft::TimerKey;
use super::state::{EPOCH_EXHAUSTED, NONE, State, Transaction};
use super::step::Step;
use super::{NeedsId, complete};

/// Neither producer id nor epoch are told.
const UNTOLD: (i64, i16) = (NONE as i64, NONE as i16);

/// Producer id and epoch of the next transaction.
pub(super) fn answer(
    step: &mut Step<'_>,
    request: &EndTxn,
) -> Result<Result<(i64, i16), ErrorCode>, NeedsId> {
    let Some(transaction) = step.hard().get(&request.transactional_id).cloned() else {
        return Ok(Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
    };
    match request.client_version {
        2.. => end_with_bump(step, request, &transaction),
        _ => Ok(end(step, request, &transaction).map(|()| UNTOLD)),
    }
}

/// TV1.
fn end(step: &mut Step<'_>, request: &EndTxn, transaction: &Transaction) -> Result<(), ErrorCode> {
    if transaction.producer_id != request.producer_id {
        return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    }
    if transaction.producer_epoch != request.producer_epoch {
        return Err(ErrorCode::PRODUCER_FENCED);
    }
    match (transaction.state, request.commit) {
        (State::PrepareCommit | State::PrepareAbort, _) => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
        (State::CompleteCommit, true) | (State::CompleteAbort, false) => Ok(()),
        (State::CompleteCommit | State::CompleteAbort | State::Empty, _) => Err(ErrorCode::INVALID_TXN_STATE),
        (State::Ongoing, commit) => {
            let decision = Decision { commit, ..Decision::of(transaction) };
            decide(step, &request.transactional_id, transaction, decision);
            Ok(())
        }
    }
}

/// TV2.
fn end_with_bump(
    step: &mut Step<'_>,
    request: &EndTxn,
    transaction: &Transaction,
) -> Result<Result<(i64, i16), ErrorCode>, NeedsId> {
    let state = transaction.state;
    if state.is_prepared() {
        return Ok(Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    }
    let present = (transaction.producer_id, transaction.producer_epoch);
    let (producer_id, epoch) = (request.producer_id, request.producer_epoch);
    let with_last_epoch = producer_id == transaction.previous_producer_id
        && epoch == EPOCH_EXHAUSTED
        && transaction.producer_epoch == 0;
    if producer_id != transaction.producer_id && !with_last_epoch {
        return Ok(Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
    }
    // The highest epoch only fences: who was fenced by it does not get it as the answer to a retry.
    let has_next =
        transaction.producer_epoch != i16::MAX && epoch.checked_add(1) == Some(transaction.producer_epoch);
    let is_retry = with_last_epoch || has_next;
    let has_ended = matches!(state, State::CompleteCommit | State::CompleteAbort);
    if epoch != transaction.producer_epoch && !(has_ended && is_retry) {
        return Ok(Err(ErrorCode::PRODUCER_FENCED));
    }
    let same_end = match request.commit {
        true => state == State::CompleteCommit,
        false => state == State::CompleteAbort,
    };
    if is_retry && has_ended {
        return Ok(if same_end { Ok(present) } else { Err(ErrorCode::INVALID_TXN_STATE) });
    }
    if request.commit && state != State::Ongoing {
        return Ok(Err(ErrorCode::INVALID_TXN_STATE));
    }
    let decision = Decision { commit: request.commit, ..bumped(step, transaction)? };
    let next = match decision.next_producer_id {
        id if id != i64::from(NONE) => (id, 0),
        _ => (transaction.producer_id, decision.producer_epoch),
    };
    decide(step, &request.transactional_id, transaction, decision);
    Ok(Ok(next))
}

/// Aborts an open transaction so that its producer can do nothing more: it timed out, or another producer took the
/// transactional id. By the level of the cluster, since no client says what it knows.
pub(super) fn fence(step: &mut Step<'_>, id: &Str, transaction: &Transaction) -> Result<(), NeedsId> {
    let decision = match step.level() {
        2.. => bumped(step, transaction)?,
        _ => Decision {
            producer_epoch: transaction.producer_epoch.saturating_add(1),
            last_epoch: LastEpoch::Forget,
            ..Decision::of(transaction)
        },
    };
    decide(step, id, transaction, decision);
    Ok(())
}

/// How a transaction ends.
struct Decision {
    commit: bool,
    /// Of the markers.
    producer_epoch: i16,
    next_producer_id: i64,
    client_version: i16,
    last_epoch: LastEpoch,
}

/// What becomes of [`super::Soft::last_epochs`].
enum LastEpoch {
    Keep,
    Forget,
    Is(i16),
}

impl Decision {
    /// An abort with the epoch that it has (TV1).
    fn of(transaction: &Transaction) -> Self {
        Self {
            commit: false,
            producer_epoch: transaction.producer_epoch,
            next_producer_id: i64::from(NONE),
            client_version: 0,
            last_epoch: LastEpoch::Keep,
        }
    }
}

/// An abort with the next epoch (TV2); where they are used up, the next transaction gets a new producer id.
fn bumped(step: &mut Step<'_>, transaction: &Transaction) -> Result<Decision, NeedsId> {
    let next_producer_id = match transaction.is_exhausted() {
        true => step.take_id()?,
        false => i64::from(NONE),
    };
    Ok(Decision {
        commit: false,
        producer_epoch: transaction.producer_epoch.saturating_add(1),
        next_producer_id,
        client_version: 2,
        last_epoch: LastEpoch::Is(transaction.producer_epoch),
    })
}

/// Records the decision and lets it be carried out.
fn decide(step: &mut Step<'_>, id: &Str, transaction: &Transaction, decision: Decision) {
    let was_open = transaction.state == State::Ongoing;
    let prepared = Transaction {
        state: if decision.commit { State::PrepareCommit } else { State::PrepareAbort },
        producer_epoch: decision.producer_epoch,
        previous_producer_id: transaction.producer_id,
        next_producer_id: decision.next_producer_id,
        client_version: decision.client_version,
        // An abort of nothing has no other time of its begin.
        started: if was_open { transaction.started } else { step.now },
        updated: step.now,
        ..transaction.clone()
    };
    match decision.last_epoch {
        LastEpoch::Keep => {}
        LastEpoch::Forget => {
            step.soft.last_epochs.remove(id);
        }
        LastEpoch::Is(last) => {
            step.soft.last_epochs.insert(id.detach(), last);
        }
    }
    step.soft.timers.cancel(&TimerKey::Timeout(id.clone()));
    step.record(id, &prepared);
    complete::begin(step, id, prepared.partitions);
}
