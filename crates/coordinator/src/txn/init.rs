//! InitProducerId with a transactional id (key 22; KIP-98, KIP-360).
//!
//! Behind the handler's checks, by the state of the id (`broker-core.md` 12.3), first match:
//! 1. unknown: a new producer id, epoch 0
//! 2. markers are out                             CONCURRENT_TRANSACTIONS
//! 3. expected id: the present one, or the one before with a used up epoch  else PRODUCER_FENCED
//! 4. Ongoing: abort it with the next epoch       CONCURRENT_TRANSACTIONS
//! 5. epochs are used up, nothing or the present epoch expected: a new producer id, epoch 0
//! 6. nothing or the present epoch expected: the next epoch
//! 7. the epoch before is expected: the same again
//! 8. anything else                               PRODUCER_FENCED
//!
//! 5 to 7 also set the timeout. An epoch that only fences is never given to a producer: the client asks again after 4.

use wire::ErrorCode;

use super::request::InitProducerId;
use super::state::{EPOCH_EXHAUSTED, NONE, State, Transaction};
use super::step::Step;
use super::{NeedsId, end};

/// Producer id and epoch.
pub(super) fn answer(
    step: &mut Step<'_>,
    request: &InitProducerId,
) -> Result<Result<(i64, i16), ErrorCode>, NeedsId> {
    let id = &request.transactional_id;
    let Some(transaction) = step.hard().get(id).cloned() else {
        let producer_id = step.take_id()?;
        return Ok(Ok(first(step, request, producer_id)));
    };
    if transaction.state.is_prepared() {
        return Ok(Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    }
    if !request.expected.is_none_or(|(id, epoch)| is_known(&transaction, id, epoch)) {
        return Ok(Err(ErrorCode::PRODUCER_FENCED));
    }
    if transaction.state == State::Ongoing {
        end::fence(step, id, &transaction)?;
        return Ok(Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    }
    let present = transaction.producer_epoch;
    let last = step.soft.last_epochs.get(id).copied();
    let expected = request.expected.map(|(_, epoch)| epoch);
    let continues = expected.is_none_or(|epoch| epoch == present);
    let (producer_id, producer_epoch, last) = match continues {
        true if transaction.is_exhausted() => (step.take_id()?, 0, expected),
        true => (transaction.producer_id, present + 1, expected),
        // The answer to the same question got lost.
        false if expected == last => (transaction.producer_id, present, last),
        false => return Ok(Err(ErrorCode::PRODUCER_FENCED)),
    };
    remember(step, request, last);
    let begun = Transaction {
        producer_id,
        previous_producer_id: transaction.producer_id,
        producer_epoch,
        ..empty(step, request, transaction.client_version)
    };
    step.record(id, &begun);
    Ok(Ok((producer_id, producer_epoch)))
}

/// Rule 1.
fn first(step: &mut Step<'_>, request: &InitProducerId, producer_id: i64) -> (i64, i16) {
    remember(step, request, None);
    let begun = Transaction {
        producer_id,
        // As Kafka, whose first change is from the id to itself.
        previous_producer_id: producer_id,
        producer_epoch: 0,
        ..empty(step, request, 0)
    };
    step.record(&request.transactional_id, &begun);
    (producer_id, 0)
}

fn empty(step: &Step<'_>, request: &InitProducerId, client_version: i16) -> Transaction {
    Transaction {
        producer_id: i64::from(NONE),
        previous_producer_id: i64::from(NONE),
        next_producer_id: i64::from(NONE),
        producer_epoch: i16::from(NONE),
        timeout_ms: request.timeout_ms,
        state: State::Empty,
        partitions: Default::default(),
        started: i64::from(NONE),
        updated: step.now,
        client_version,
    }
}

fn remember(step: &mut Step<'_>, request: &InitProducerId, last: Option<i16>) {
    let id = &request.transactional_id;
    match last {
        Some(last) => step.soft.last_epochs.insert(id.detach(), last),
        None => step.soft.last_epochs.remove(id),
    };
}

/// Rule 3; the epoch is looked at later.
fn is_known(transaction: &Transaction, producer_id: i64, epoch: i16) -> bool {
    producer_id == transaction.producer_id
        || (producer_id == transaction.previous_producer_id && epoch >= EPOCH_EXHAUSTED)
}
