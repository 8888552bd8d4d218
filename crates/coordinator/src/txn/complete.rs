//! Carries decisions out: markers into every partition of the transaction, then the record that says so.
//!
//! Outcomes of a partition's marker (`broker-core.md` 12.8 rule 6):
//! * done: NONE; UNSUPPORTED_VERSION and UNSUPPORTED_FOR_MESSAGE_FORMAT, where nothing transactional can be;
//!   UNKNOWN_TOPIC_OR_PARTITION of a partition that the catalog does not have either
//! * superseded: INVALID_PRODUCER_EPOCH and TRANSACTION_COORDINATOR_FENCED. A later marker of this producer is in that
//!   partition, so this transaction is not open there. Kafka stops here and leaves the transactional id busy until
//!   the coordinator moves; there is no other coordinator here that would go on, so the partition counts as done
//! * anything else: tried again after [`AGAIN_AFTER`]

use std::collections::BTreeSet;

use wire::{ErrorCode, Str};

use super::request::{TopicPartition, TxnTask, WriteMarkers};
use super::soft::{Completing, TimerKey};
use super::state::{EPOCH_EXHAUSTED, NONE, State, Transaction};
use super::step::Step;
use crate::machine::{Millis, TaskId};

/// Pause before markers that could not be written are tried again.
pub const AGAIN_AFTER: Millis = 100;

/// Starts to carry out what was just decided about `id`.
pub(super) fn begin(step: &mut Step<'_>, id: &Str, partitions: BTreeSet<TopicPartition>) {
    if partitions.is_empty() {
        complete(step, id);
    } else {
        write(step, id, partitions);
    }
}

/// After a load everything that was prepared goes on (trap 10), and retries of ends are known again.
pub(super) fn loaded(step: &mut Step<'_>) {
    let transactions: Vec<_> = step.hard().transactions().map(|(id, it)| (id.clone(), it.clone())).collect();
    for (id, transaction) in transactions {
        if let Some(last) = last_epoch(&transaction) {
            step.soft.last_epochs.insert(id.clone(), last);
        }
        if transaction.state.is_prepared() {
            begin(step, &id, transaction.partitions);
        }
    }
}

/// The epoch before the present one, where the end of a transaction by `transaction.version` 2 brought that.
fn last_epoch(transaction: &Transaction) -> Option<i16> {
    let ended = !matches!(transaction.state, State::Empty | State::Ongoing);
    if !ended || transaction.client_version < 2 {
        return None;
    }
    match transaction.producer_epoch {
        0 if transaction.previous_producer_id != transaction.producer_id => Some(EPOCH_EXHAUSTED),
        epoch => Some(epoch - 1),
    }
}

fn write(step: &mut Step<'_>, id: &Str, left: BTreeSet<TopicPartition>) {
    let Some(transaction) = step.hard().get(id).filter(|it| it.state.is_prepared()) else { return };
    let task = step.task(TxnTask::WriteMarkers(WriteMarkers {
        transactional_id: id.clone(),
        producer_id: transaction.producer_id,
        producer_epoch: transaction.producer_epoch,
        commit: transaction.state == State::PrepareCommit,
        transaction_version: transaction.client_version,
        partitions: left.iter().cloned().collect(),
    }));
    step.soft.completing.insert(id.clone(), Completing { task, left });
}

/// The pause is over.
pub(super) fn write_again(step: &mut Step<'_>, id: &Str) {
    if let Some(Completing { left, .. }) = step.soft.completing.remove(id) {
        write(step, id, left);
    }
}

/// A task has ended.
pub(super) fn markers_written(
    step: &mut Step<'_>,
    task: TaskId,
    id: &Str,
    results: &[(TopicPartition, ErrorCode)],
) {
    let image = step.image;
    let Some(completing) = step.soft.completing.get_mut(id).filter(|it| it.task == task) else { return };
    for (partition, code) in results {
        let exists = || {
            image.topic(&partition.topic.to_str()).is_some_and(|it| it.partition(partition.index).is_some())
        };
        let settled = match *code {
            ErrorCode::NONE
            | ErrorCode::UNSUPPORTED_VERSION
            | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT
            | ErrorCode::INVALID_PRODUCER_EPOCH
            | ErrorCode::TRANSACTION_COORDINATOR_FENCED => true,
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => !exists(),
            _ => false,
        };
        if settled {
            completing.left.remove(partition);
        }
    }
    if completing.left.is_empty() {
        complete(step, id);
    } else {
        step.soft.timers.set(TimerKey::Markers(id.clone()), step.now + AGAIN_AFTER);
    }
}

/// Every partition has its marker.
fn complete(step: &mut Step<'_>, id: &Str) {
    step.soft.completing.remove(id);
    let Some(prepared) = step.hard().get(id).filter(|it| it.state.is_prepared()) else { return };
    let mut done = Transaction {
        state: if prepared.state == State::PrepareCommit {
            State::CompleteCommit
        } else {
            State::CompleteAbort
        },
        previous_producer_id: prepared.producer_id,
        next_producer_id: i64::from(NONE),
        partitions: BTreeSet::new(),
        updated: step.now,
        ..prepared.clone()
    };
    if prepared.client_version >= 2 && prepared.next_producer_id != i64::from(NONE) {
        done.producer_id = prepared.next_producer_id;
        done.producer_epoch = 0;
    }
    step.record(id, &done);
}
