//! InitProducerId (key 22), v0–5 (KIP-98, KIP-360). v6, two-phase commit (KIP-939), is not stable in Kafka 4.4 either.
//!
//! v1 throttles after the answer; v2 flexible; v3 expected id and epoch; v4 PRODUCER_FENCED, before that
//! INVALID_PRODUCER_EPOCH; v5 TRANSACTION_ABORTABLE.
//! 1. with a transactional id: WRITE on it      else TRANSACTIONAL_ID_AUTHORIZATION_FAILED
//! 2. without: IDEMPOTENT_WRITE on the cluster, or WRITE on any topic  else CLUSTER_AUTHORIZATION_FAILED
//! 3. expected id and epoch: both or none       else INVALID_REQUEST
//! 4. without a transactional id: a new producer id, if a block of them can be had  else COORDINATOR_LOAD_IN_PROGRESS,
//!    which clients retry
//! 5. the transactional id is not empty         else INVALID_REQUEST
//! 6. 0 < timeout ≤ transaction.max.timeout.ms  else INVALID_TRANSACTION_TIMEOUT (trap 27)
//! 7. its coordinator is here and loaded        else NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS
//! 8. what `coordinator/src/txn/init.rs` checks: CONCURRENT_TRANSACTIONS, PRODUCER_FENCED
//!
//! An id is never given out twice: its block is in the journal before.

use std::ops::RangeInclusive;

use coordinator::txn::{InitProducerId, TxnReply, TxnRequest};
use tracing::warn;
use wire::{ErrorCode, InitProducerIdRequest, InitProducerIdResponse, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for InitProducerIdRequest {
    const SERVED: RangeInclusive<i16> = 0..=5;

    async fn handle(call: Call, request: Self) -> InitProducerIdResponse {
        match init(&call, request).await {
            Ok((producer_id, producer_epoch)) => {
                InitProducerIdResponse { producer_id, producer_epoch, ..Default::default() }
            }
            Err(error_code) => InitProducerIdResponse {
                error_code: super::fenced(error_code, call.version, 4),
                producer_id: -1,
                producer_epoch: -1,
                ..Default::default()
            },
        }
    }
}

async fn init(call: &Call, request: InitProducerIdRequest) -> Result<(i64, i16), ErrorCode> {
    let transactional_id = request.transactional_id.as_ref();
    match transactional_id {
        Some(id) if !call.allow(Operation::Write, Resource::TransactionalId(id.as_bytes())) => {
            return Err(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
        }
        None if !may_write_somewhere(call) => return Err(ErrorCode::CLUSTER_AUTHORIZATION_FAILED),
        Some(_) | None => {}
    }
    let expected = match (request.producer_id, request.producer_epoch) {
        (-1, -1) => None,
        (-1, _) | (_, -1) => return Err(ErrorCode::INVALID_REQUEST),
        known => Some(known),
    };
    match request.transactional_id {
        Some(id) => transactional(call, id, request.transaction_timeout_ms, expected).await,
        None => Ok((next_id(call).await?, 0)),
    }
}

/// What is known of topics is what exists; a right to write topics that are yet to come is not seen.
fn may_write_somewhere(call: &Call) -> bool {
    let may_write = |name: &str| call.allow(Operation::Write, Resource::Topic(name.as_bytes()));
    call.allow(Operation::IdempotentWrite, Resource::Cluster)
        || call.image().topics().any(|topic| may_write(&topic.name))
}

async fn next_id(call: &Call) -> Result<i64, ErrorCode> {
    call.broker.producer_ids.next(&call.broker.catalog).await.map_err(|refusal| {
        warn!(code = %refusal.code, message = refusal.message, "no block of producer ids can be had");
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
    })
}

/// Rules 5 to 8.
async fn transactional(
    call: &Call,
    id: Str,
    timeout_ms: i32,
    expected: Option<(i64, i16)>,
) -> Result<(i64, i16), ErrorCode> {
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    if !(1..=call.image().broker().transaction_max_timeout_ms).contains(&timeout_ms) {
        return Err(ErrorCode::INVALID_TRANSACTION_TIMEOUT);
    }
    let request = InitProducerId { transactional_id: id.clone(), timeout_ms, expected };
    let asked = call.broker.transactions.ask(&id, call.caller.clone(), TxnRequest::InitProducerId(request));
    match asked.await {
        Ok(TxnReply::InitProducerId(answer)) => answer,
        Ok(other) => Err(super::mismatch("InitProducerId", &other)),
        Err(unavailable) => Err(unavailable.into()),
    }
}
