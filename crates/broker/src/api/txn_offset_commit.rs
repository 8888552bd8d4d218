//! TxnOffsetCommit (key 28), v0–6: offsets of a group as part of a producer's transaction (KIP-98, KIP-447).
//!
//! v1 throttles after the answer; v2 leader epochs; v3 flexible, member and generation; v4 TRANSACTION_ABORTABLE; v5 the
//! broker adds the partition of `__consumer_offsets` to the transaction (KIP-890); v6 topic ids in place of names
//! (KIP-1319). The shard's own checks stand in `coordinator/src/group/offsets/commit.rs`.
//!
//! 1. WRITE on the transactional id  else TRANSACTIONAL_ID_AUTHORIZATION_FAILED on every partition
//! 2. READ on the group              else GROUP_AUTHORIZATION_FAILED on every partition
//! 3. v6: the topic id is known      else UNKNOWN_TOPIC_ID on its partitions
//! 4. READ on the topic              else TOPIC_AUTHORIZATION_FAILED on its partitions
//! 5. the partition exists           else UNKNOWN_TOPIC_OR_PARTITION
//! 6. the group id is not empty      else INVALID_GROUP_ID on every partition, as all that follow
//! 7. the group has a coordinator    else NOT_COORDINATOR
//! 8. the transaction has the group's partition, or gets it (v5), `verify.rs`  else INVALID_PRODUCER_EPOCH,
//!    INVALID_PRODUCER_ID_MAPPING, INVALID_TXN_STATE (below v4) or TRANSACTION_ABORTABLE (v4), CONCURRENT_TRANSACTIONS,
//!    COORDINATOR_LOAD_IN_PROGRESS (v0, v1: COORDINATOR_NOT_AVAILABLE), NOT_COORDINATOR
//! 9. the shard answers              else NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS
//! 10. its log takes the transaction: not ended meanwhile, no newer epoch  else INVALID_TXN_STATE,
//!     INVALID_PRODUCER_EPOCH
//!
//! If nothing is left after 5 nobody is asked. The offsets count when the transaction's COMMIT marker comes.
//!
//! The group's history has what was refused from 3 on, but for what the producer only tries again.

use std::ops::RangeInclusive;

use coordinator::group::history::commits::refusals;
use coordinator::group::request::TxnOffsetCommit;
use coordinator::group::{GroupReply, GroupRequest};
use coordinator::txn::TopicPartition;
use storage::partition::{AppendError, FirstBatch, Guard, Partition};
use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use wire::offset_commit::response::OffsetCommitResponseTopic;
use wire::txn_offset_commit::request::TxnOffsetCommitRequestTopic;
use wire::txn_offset_commit::response::{TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic};
use wire::{ErrorCode, OffsetCommitRequest, Str, TxnOffsetCommitRequest, TxnOffsetCommitResponse, Uuid};

use super::Handler;
use super::offset_commit::{Results, refused_topic, sort_out, tell};
use crate::auth::{Operation, Resource};
use crate::call::Call;
use crate::host::Transaction;
use crate::verify::{self, Mode, Question};

/// First version that names topics by id.
const BY_ID: i16 = 6;
/// First version whose clients know COORDINATOR_LOAD_IN_PROGRESS.
const KNOWS_LOADING: i16 = 2;

impl Handler for TxnOffsetCommitRequest {
    const SERVED: RangeInclusive<i16> = 0..=6;

    async fn handle(call: Call, mut request: Self) -> TxnOffsetCommitResponse {
        let topics: Vec<_> = std::mem::take(&mut request.topics).into_iter().map(plain).collect();
        if let Err(code) = authorize(&call, &request) {
            return answer(&call, topics.iter().map(|topic| refused_topic(topic, code)).collect());
        }
        let mut results = Results::default();
        let topics = topics.into_iter();
        let accepted: Vec<_> =
            topics.filter_map(|topic| sort_out(&call, call.version >= BY_ID, topic, &mut results)).collect();
        let mut refused: Vec<_> = results.refused(call.version >= BY_ID).collect();
        let stored = match accepted.is_empty() {
            true => Ok(Vec::new()),
            false => store(&call, &request, accepted.clone()).await,
        };
        let stored = stored.unwrap_or_else(|code| {
            let topics = accepted.iter().flat_map(|it| it.partitions.iter().map(move |at| (&it.name, at)));
            let topics = topics.filter(|_| !is_passing(code));
            refused.extend(topics.map(|(name, at)| (name.clone(), at.partition_index, code)));
            accepted.iter().map(|topic| refused_topic(topic, code)).collect()
        });
        let refusals = refusals(&request.member_id, request.generation_id_or_member_epoch, refused);
        tell(&call, &request.group_id, refusals);
        answer(&call, results.with(stored))
    }
}

/// Codes after which the producer tries the same again, with nobody's help.
fn is_passing(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::CONCURRENT_TRANSACTIONS
            | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
            | ErrorCode::COORDINATOR_NOT_AVAILABLE
            | ErrorCode::NOT_COORDINATOR
    )
}

/// Rules 1 and 2.
fn authorize(call: &Call, request: &TxnOffsetCommitRequest) -> Result<(), ErrorCode> {
    let id = Resource::TransactionalId(request.transactional_id.as_bytes());
    if !call.allow(Operation::Write, id) {
        return Err(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    }
    if !call.allow(Operation::Read, Resource::Group(request.group_id.as_bytes())) {
        return Err(ErrorCode::GROUP_AUTHORIZATION_FAILED);
    }
    Ok(())
}

/// Rules 6 to 10.
async fn store(
    call: &Call,
    request: &TxnOffsetCommitRequest,
    topics: Vec<OffsetCommitRequestTopic>,
) -> Result<Vec<OffsetCommitResponseTopic>, ErrorCode> {
    let group = &request.group_id;
    if group.is_empty() {
        return Err(ErrorCode::INVALID_GROUP_ID);
    }
    let guard = verified(call, request).await?;
    let TxnOffsetCommitRequest { producer_id, producer_epoch, .. } = *request;
    let commit = OffsetCommitRequest {
        group_id: group.clone(),
        generation_id_or_member_epoch: request.generation_id_or_member_epoch,
        member_id: request.member_id.clone(),
        group_instance_id: request.group_instance_id.clone(),
        retention_time_ms: -1,
        topics,
        ..Default::default()
    };
    let transaction = Transaction { producer_id, producer_epoch, guard };
    let question =
        GroupRequest::TxnOffsetCommit(Box::new(TxnOffsetCommit { producer_id, producer_epoch, commit }));
    match call.broker.groups.ask_within(group, transaction, call.caller.clone(), question).await? {
        Ok(GroupReply::TxnOffsetCommit(reply)) => Ok(reply.topics),
        Ok(other) => Err(super::mismatch("TxnOffsetCommit", &other)),
        Err(error) => Err(refused(&error)),
    }
}

/// Rules 7 and 8.
async fn verified(call: &Call, request: &TxnOffsetCommitRequest) -> Result<Option<Guard>, ErrorCode> {
    let mode = Mode::of_offset_commit(call.version);
    let image = call.image();
    if mode != Mode::Add && !image.broker().transaction_partition_verification_enable {
        return Ok(None);
    }
    let groups = &call.broker.groups;
    let topic = image.topic(groups.topic()).ok_or(ErrorCode::NOT_COORDINATOR)?;
    let index = groups.partition_of(&request.group_id).ok_or(ErrorCode::NOT_COORDINATOR)?;
    let log = call.broker.partitions.get(topic.id, index).ok_or(ErrorCode::NOT_COORDINATOR)?;
    let Some(guard) = begin(call, &log, request, mode)? else { return Ok(None) };
    let TxnOffsetCommitRequest { producer_id, producer_epoch, .. } = *request;
    let question =
        Question { transactional_id: &request.transactional_id, producer_id, producer_epoch, mode };
    let partition = TopicPartition { topic: Str::from(&*topic.name), index };
    let codes = verify::ask(&call.broker, &question, &[partition]).await;
    match codes.first().copied().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR) {
        ErrorCode::NONE => Ok(Some(guard)),
        // So that clients try again here, without looking for the coordinator.
        ErrorCode::NETWORK_EXCEPTION => Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
        other => Err(other),
    }
}

fn begin(
    call: &Call,
    log: &Partition,
    request: &TxnOffsetCommitRequest,
    mode: Mode,
) -> Result<Option<Guard>, ErrorCode> {
    let first = FirstBatch {
        producer_id: request.producer_id,
        epoch: request.producer_epoch,
        sequence: -1,
        bumps_epoch: mode == Mode::Add,
    };
    log.begin_verification(first, call.now()).map_err(|error| refused(&error))
}

/// What the log of the group's partition says, as a group coordinator tells it.
fn refused(error: &AppendError) -> ErrorCode {
    match error {
        AppendError::StaleProducerEpoch(_) => ErrorCode::INVALID_PRODUCER_EPOCH,
        AppendError::NotInTransaction(_) => ErrorCode::INVALID_TXN_STATE,
        AppendError::NotLeader | AppendError::Full | AppendError::Storage(_) => ErrorCode::NOT_COORDINATOR,
        AppendError::InvalidRecord { .. }
        | AppendError::Corrupt(_)
        | AppendError::TooLarge(_)
        | AppendError::LargerThanSegment(_)
        | AppendError::InvalidTimestamp { .. }
        | AppendError::OutOfOrderSequence(_)
        | AppendError::TransactionOpen(_)
        | AppendError::CoordinatorFenced(_) => ErrorCode::UNKNOWN_SERVER_ERROR,
    }
}

/// In the form of an OffsetCommit, which the shard takes.
fn plain(topic: TxnOffsetCommitRequestTopic) -> OffsetCommitRequestTopic {
    let partition = |it: wire::txn_offset_commit::request::TxnOffsetCommitRequestPartition| {
        OffsetCommitRequestPartition {
            partition_index: it.partition_index,
            committed_offset: it.committed_offset,
            committed_leader_epoch: it.committed_leader_epoch,
            committed_metadata: it.committed_metadata,
            ..Default::default()
        }
    };
    OffsetCommitRequestTopic {
        name: topic.name,
        topic_id: topic.topic_id,
        partitions: topic.partitions.into_iter().map(partition).collect(),
        ..Default::default()
    }
}

/// Names or ids and codes, as the version has them.
fn answer(call: &Call, topics: Vec<OffsetCommitResponseTopic>) -> TxnOffsetCommitResponse {
    let told = |code| match code {
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS if call.version < KNOWS_LOADING => {
            ErrorCode::COORDINATOR_NOT_AVAILABLE
        }
        other => other,
    };
    let by_id = call.version >= BY_ID;
    let topic = |topic: OffsetCommitResponseTopic| TxnOffsetCommitResponseTopic {
        name: if by_id { Str::default() } else { topic.name },
        topic_id: if by_id { topic.topic_id } else { Uuid::ZERO },
        partitions: topic
            .partitions
            .into_iter()
            .map(|it| TxnOffsetCommitResponsePartition {
                partition_index: it.partition_index,
                error_code: told(it.error_code),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    TxnOffsetCommitResponse { topics: topics.into_iter().map(topic).collect(), ..Default::default() }
}
