//! AddPartitionsToTxn (key 24), AddOffsetsToTxn (25), and what partitions ask (KIP-890).
//!
//! To add, in order (`broker-core.md` 12.4):
//! 1. the transactional id is known     else INVALID_PRODUCER_ID_MAPPING
//! 2. no markers are out                else CONCURRENT_TRANSACTIONS
//! 3. the producer id is its            else INVALID_PRODUCER_ID_MAPPING
//! 4. the epoch is the present one      else PRODUCER_FENCED
//!
//! Rule 2 comes before 3: a client may already have the producer id that the end of its transaction brings.
//!
//! To verify: 1, 3, 4, then 2, and each partition must be there, else TRANSACTION_ABORTABLE.

use wire::ErrorCode;

use super::request::AddPartitions;
use super::soft::TimerKey;
use super::state::{State, Transaction};
use super::step::Step;

/// A code for each partition of the request.
pub(super) fn answer(step: &mut Step<'_>, request: &AddPartitions, client_version: i16) -> Vec<ErrorCode> {
    let answer = match request.verify_only {
        true => verify(step, request),
        false => add(step, request, client_version).map(|()| vec![ErrorCode::NONE; request.partitions.len()]),
    };
    answer.unwrap_or_else(|code| vec![code; request.partitions.len()])
}

fn verify(step: &Step<'_>, request: &AddPartitions) -> Result<Vec<ErrorCode>, ErrorCode> {
    let transaction = step.hard().get(&request.transactional_id);
    let transaction = transaction.ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
    check_producer(transaction, request)?;
    if transaction.state.is_prepared() {
        return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
    }
    let code = |partition| match transaction.partitions.contains(partition) {
        true => ErrorCode::NONE,
        false => ErrorCode::TRANSACTION_ABORTABLE,
    };
    Ok(request.partitions.iter().map(code).collect())
}

fn add(step: &mut Step<'_>, request: &AddPartitions, client_version: i16) -> Result<(), ErrorCode> {
    let id = &request.transactional_id;
    let transaction = step.hard().get(id).ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
    if transaction.state.is_prepared() {
        return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
    }
    check_producer(transaction, request)?;
    let begins = transaction.state != State::Ongoing;
    if !begins && request.partitions.iter().all(|it| transaction.partitions.contains(it)) {
        return Ok(());
    }
    let mut after = transaction.clone();
    after.state = State::Ongoing;
    after.partitions.extend(request.partitions.iter().cloned());
    after.previous_producer_id = transaction.producer_id;
    after.client_version = client_version;
    after.updated = step.now;
    if begins {
        after.started = step.now;
        if let Some(deadline) = after.times_out() {
            step.soft.timers.set(TimerKey::Timeout(id.detach()), deadline);
        }
    }
    step.record(id, &after);
    Ok(())
}

fn check_producer(transaction: &Transaction, request: &AddPartitions) -> Result<(), ErrorCode> {
    if transaction.producer_id != request.producer_id {
        return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    }
    if transaction.producer_epoch != request.producer_epoch {
        return Err(ErrorCode::PRODUCER_FENCED);
    }
    Ok(())
}
