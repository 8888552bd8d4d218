//! AddOffsetsToTxn (key 25), v0–4 (KIP-98): the partition of a group's offsets joins a transaction.
//!
//! v1 throttles after the answer; v2 PRODUCER_FENCED, before that INVALID_PRODUCER_EPOCH; v3 flexible; v4
//! TRANSACTION_ABORTABLE. Clients with `transaction.version` 2 do not send it: TxnOffsetCommit adds the partition.
//! 1. WRITE on the transactional id        else TRANSACTIONAL_ID_AUTHORIZATION_FAILED
//! 2. READ on the group                    else GROUP_AUTHORIZATION_FAILED
//! 3. the transactional id is not empty    else INVALID_REQUEST
//! 4. the group has a partition            else COORDINATOR_NOT_AVAILABLE
//! 5. its coordinator is here and loaded   else NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS
//! 6. what `coordinator/src/txn/partitions.rs` checks: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED,
//!    CONCURRENT_TRANSACTIONS

use std::ops::RangeInclusive;

use coordinator::txn::{AddPartitions, TopicPartition};
use wire::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, ErrorCode, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;
use crate::shards::partition_of;
use crate::txn;

impl Handler for AddOffsetsToTxnRequest {
    const SERVED: RangeInclusive<i16> = 0..=4;

    async fn handle(call: Call, request: Self) -> AddOffsetsToTxnResponse {
        let version = call.version;
        let error_code = super::fenced(add(call, request).await, version, 2);
        AddOffsetsToTxnResponse { error_code, ..Default::default() }
    }
}

async fn add(call: Call, request: AddOffsetsToTxnRequest) -> ErrorCode {
    let id = request.transactional_id;
    if !call.allow(Operation::Write, Resource::TransactionalId(id.as_bytes())) {
        return ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    }
    if !call.allow(Operation::Read, Resource::Group(request.group_id.as_bytes())) {
        return ErrorCode::GROUP_AUTHORIZATION_FAILED;
    }
    let Some(index) = offsets_partition(&call, &request.group_id) else {
        return ErrorCode::COORDINATOR_NOT_AVAILABLE;
    };
    let partition = TopicPartition { topic: Str::from_static(call.broker.groups.topic()), index };
    let question = AddPartitions {
        transactional_id: id,
        producer_id: request.producer_id,
        producer_epoch: request.producer_epoch,
        partitions: vec![partition],
        verify_only: false,
    };
    let codes = txn::add(&call.broker, call.caller, question, 0).await;
    codes.first().copied().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR)
}

/// Where the group's offsets are, or will be when the topic is created.
fn offsets_partition(call: &Call, group: &Str) -> Option<i32> {
    let planned = || {
        let count = call.image().broker().offsets_topic_num_partitions;
        partition_of(group, usize::try_from(count).unwrap_or(0))
    };
    call.broker.groups.partition_of(group).or_else(planned)
}
