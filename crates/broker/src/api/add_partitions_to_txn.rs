//! AddPartitionsToTxn (key 24), v0–5 (KIP-98, KIP-890).
//!
//! v1 throttles after the answer; v2 PRODUCER_FENCED, before that INVALID_PRODUCER_EPOCH; v3 flexible; v4 for brokers:
//! several transactions, only to verify or to add; v5 TRANSACTION_ABORTABLE.
//!
//! v4+: CLUSTER_ACTION on the cluster      else CLUSTER_AUTHORIZATION_FAILED for the whole request
//!
//! Of each transaction:
//! 1. v0–3: WRITE on the transactional id  else TRANSACTIONAL_ID_AUTHORIZATION_FAILED for all partitions
//! 2. v0–3: WRITE on the topic, which is not internal  else TOPIC_AUTHORIZATION_FAILED
//! 3. the partition exists                 else UNKNOWN_TOPIC_OR_PARTITION
//!    if 2 or 3 failed for any, the others get OPERATION_NOT_ATTEMPTED, and nothing is added
//! 4. the transactional id is not empty    else INVALID_REQUEST
//! 5. its coordinator is here and loaded   else NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS
//! 6. what `coordinator/src/txn/partitions.rs` checks: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED,
//!    CONCURRENT_TRANSACTIONS; to verify also TRANSACTION_ABORTABLE
//!
//! Where one code holds for all partitions, the answer has the topics of the request as they stand there, twice or without
//! partitions; else each topic once with each of its partitions once. To add no partition begins a transaction too.
//!
//! A request of v4+ without transactions gets an empty answer; Kafka never answers it (`broker-core.md` 29).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use catalog::INTERNAL_TOPICS;
use coordinator::txn::{AddPartitions, TopicPartition};
use wire::add_partitions_to_txn::request::{AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction};
use wire::add_partitions_to_txn::response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResult, AddPartitionsToTxnTopicResult,
};
use wire::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, ErrorCode};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;
use crate::txn;

/// First version that only brokers send, for clients whose partitions are added as they are written.
const OF_BROKERS: i16 = 4;

impl Handler for AddPartitionsToTxnRequest {
    const SERVED: RangeInclusive<i16> = 0..=5;

    async fn handle(call: Call, request: Self) -> AddPartitionsToTxnResponse {
        if call.version < OF_BROKERS {
            let transaction = AddPartitionsToTxnTransaction {
                transactional_id: request.v3_and_below_transactional_id,
                producer_id: request.v3_and_below_producer_id,
                producer_epoch: request.v3_and_below_producer_epoch,
                topics: request.v3_and_below_topics,
                ..Default::default()
            };
            let results_by_topic_v3_and_below = add(&call, transaction).await;
            return AddPartitionsToTxnResponse { results_by_topic_v3_and_below, ..Default::default() };
        }
        if !call.allow(Operation::ClusterAction, Resource::Cluster) {
            let error_code = ErrorCode::CLUSTER_AUTHORIZATION_FAILED;
            return AddPartitionsToTxnResponse { error_code, ..Default::default() };
        }
        let mut results_by_transaction = Vec::with_capacity(request.transactions.len());
        for transaction in request.transactions {
            let transactional_id = transaction.transactional_id.clone();
            let topic_results = add(&call, transaction).await;
            results_by_transaction.push(AddPartitionsToTxnResult {
                transactional_id,
                topic_results,
                ..Default::default()
            });
        }
        AddPartitionsToTxnResponse { results_by_transaction, ..Default::default() }
    }
}

type Results = Vec<(TopicPartition, ErrorCode)>;

async fn add(call: &Call, transaction: AddPartitionsToTxnTransaction) -> Vec<AddPartitionsToTxnTopicResult> {
    let (id, topics) = (transaction.transactional_id, transaction.topics);
    let is_client = call.version < OF_BROKERS;
    if is_client && !call.allow(Operation::Write, Resource::TransactionalId(id.as_bytes())) {
        return as_named(topics, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    }
    let partitions = named(&topics);
    let checked: Results = partitions.iter().map(|it| check(call, is_client, it)).collect();
    if checked.iter().any(|(_, code)| *code != ErrorCode::NONE) {
        let attempted = |code| match code {
            ErrorCode::NONE => ErrorCode::OPERATION_NOT_ATTEMPTED,
            code => code,
        };
        return by_topic(checked.into_iter().map(|(it, code)| (it, attempted(code))));
    }
    let verify_only = transaction.verify_only;
    let question = AddPartitions {
        transactional_id: id,
        producer_id: transaction.producer_id,
        producer_epoch: transaction.producer_epoch,
        partitions: partitions.clone(),
        verify_only,
    };
    let client_version = if is_client { 0 } else { 2 };
    let codes = txn::add(&call.broker, call.caller.clone(), question, client_version).await;
    if verify_only {
        return by_topic(partitions.into_iter().zip(codes));
    }
    // They are added all or none, so that there is one code.
    let code = codes.first().copied().unwrap_or(ErrorCode::NONE);
    as_named(topics, if is_client { super::fenced(code, call.version, 2) } else { code })
}

/// Rules 2 and 3.
fn check(call: &Call, is_client: bool, partition: &TopicPartition) -> (TopicPartition, ErrorCode) {
    let name = partition.topic.to_str();
    let may_write = || {
        !INTERNAL_TOPICS.contains(&&*name)
            && call.allow(Operation::Write, Resource::Topic(partition.topic.as_bytes()))
    };
    let image = call.image();
    let code = if is_client && !may_write() {
        ErrorCode::TOPIC_AUTHORIZATION_FAILED
    } else if image.topic(&name).is_none_or(|it| it.partition(partition.index).is_none()) {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    } else {
        ErrorCode::NONE
    };
    (partition.clone(), code)
}

/// Each once, in the order in which they are named first.
fn named(topics: &[AddPartitionsToTxnTopic]) -> Vec<TopicPartition> {
    let mut seen = BTreeSet::new();
    let each = topics.iter().flat_map(|topic| topic.partitions.iter().map(|index| (&topic.name, *index)));
    each.filter(|it| seen.insert(*it))
        .map(|(name, index)| TopicPartition { topic: name.clone(), index })
        .collect()
}

fn as_named(topics: Vec<AddPartitionsToTxnTopic>, code: ErrorCode) -> Vec<AddPartitionsToTxnTopicResult> {
    let topic = |topic: AddPartitionsToTxnTopic| AddPartitionsToTxnTopicResult {
        name: topic.name,
        results_by_partition: topic.partitions.into_iter().map(|index| result(index, code)).collect(),
        ..Default::default()
    };
    topics.into_iter().map(topic).collect()
}

/// Each topic once.
fn by_topic(
    results: impl Iterator<Item = (TopicPartition, ErrorCode)>,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let mut topics: Vec<AddPartitionsToTxnTopicResult> = Vec::new();
    let mut places = BTreeMap::new();
    for (TopicPartition { topic, index }, code) in results {
        let place = *places.entry(topic.clone()).or_insert_with(|| {
            topics.push(AddPartitionsToTxnTopicResult { name: topic, ..Default::default() });
            topics.len() - 1
        });
        if let Some(topic) = topics.get_mut(place) {
            topic.results_by_partition.push(result(index, code));
        }
    }
    topics
}

fn result(partition_index: i32, partition_error_code: ErrorCode) -> AddPartitionsToTxnPartitionResult {
    AddPartitionsToTxnPartitionResult { partition_index, partition_error_code, ..Default::default() }
}
