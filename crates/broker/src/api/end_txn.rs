//! EndTxn (key 26), v0–5 (KIP-98, KIP-588, KIP-890).
//!
//! v1 throttles after the answer; v2 PRODUCER_FENCED, before that INVALID_PRODUCER_EPOCH; v3 flexible; v4
//! TRANSACTION_ABORTABLE; v5 the client gets a new epoch with each end (`transaction.version` 2).
//! 1. WRITE on the transactional id        else TRANSACTIONAL_ID_AUTHORIZATION_FAILED
//! 2. the transactional id is not empty    else INVALID_REQUEST
//! 3. its coordinator is here and loaded   else NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS
//! 4. what `coordinator/src/txn/end.rs` checks: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED,
//!    CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE
//!
//! The decision is durable when the answer leaves; markers follow.

use std::ops::RangeInclusive;

use coordinator::txn::{EndTxn, TxnReply, TxnRequest};
use wire::{EndTxnRequest, EndTxnResponse, ErrorCode};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

/// From this version on a client knows that its epoch grows.
const BUMPS: i16 = 5;

impl Handler for EndTxnRequest {
    const SERVED: RangeInclusive<i16> = 0..=5;

    async fn handle(call: Call, request: Self) -> EndTxnResponse {
        let version = call.version;
        match end(call, request).await {
            Ok((producer_id, producer_epoch)) => {
                EndTxnResponse { producer_id, producer_epoch, ..Default::default() }
            }
            Err(error_code) => {
                EndTxnResponse { error_code: super::fenced(error_code, version, 2), ..Default::default() }
            }
        }
    }
}

async fn end(call: Call, request: EndTxnRequest) -> Result<(i64, i16), ErrorCode> {
    let id = request.transactional_id;
    if !call.allow(Operation::Write, Resource::TransactionalId(id.as_bytes())) {
        return Err(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    }
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    let ended = TxnRequest::EndTxn(EndTxn {
        transactional_id: id.clone(),
        producer_id: request.producer_id,
        producer_epoch: request.producer_epoch,
        commit: request.committed,
        client_version: if call.version >= BUMPS { 2 } else { 0 },
    });
    match call.broker.transactions.ask(&id, call.caller, ended).await {
        Ok(TxnReply::EndTxn(ended)) => ended,
        Ok(other) => Err(super::mismatch("EndTxn", &other)),
        Err(unavailable) => Err(unavailable.into()),
    }
}
