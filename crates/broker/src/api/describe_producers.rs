//! DescribeProducers (key 61), v0 (KIP-664): who has written to partitions lately, and whose transaction is open.
//!
//! 1. the topic has a name that a topic can have  else INVALID_TOPIC_EXCEPTION on its partitions
//! 2. READ on the topic                            else TOPIC_AUTHORIZATION_FAILED on its partitions
//! 3. the partition exists                         else UNKNOWN_TOPIC_OR_PARTITION
//! 4. its log is open                              else KAFKA_STORAGE_ERROR
//!
//! Producers come in the order of their ids; those that were silent for `producer.id.expiration.ms` are forgotten.

use std::ops::RangeInclusive;

use catalog::topic_name;
use storage::partition::Producer;
use wire::describe_producers::request::TopicRequest;
use wire::describe_producers::response::{PartitionResponse, ProducerState, TopicResponse};
use wire::{DescribeProducersRequest, DescribeProducersResponse, ErrorCode, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for DescribeProducersRequest {
    const SERVED: RangeInclusive<i16> = 0..=0;

    async fn handle(call: Call, request: Self) -> DescribeProducersResponse {
        let topics = request.topics.iter().map(|topic| describe(&call, topic)).collect();
        DescribeProducersResponse { topics, ..Default::default() }
    }
}

fn describe(call: &Call, topic: &TopicRequest) -> TopicResponse {
    let partitions = topic.partition_indexes.iter().map(|&index| match producers(call, topic, index) {
        Ok(active_producers) => {
            PartitionResponse { partition_index: index, active_producers, ..Default::default() }
        }
        Err((error_code, message)) => {
            let error_message = message.map(Str::from);
            PartitionResponse { partition_index: index, error_code, error_message, ..Default::default() }
        }
    });
    TopicResponse { name: topic.name.clone(), partitions: partitions.collect(), ..Default::default() }
}

/// Errors of a topic come with a message.
fn producers(
    call: &Call,
    topic: &TopicRequest,
    index: i32,
) -> Result<Vec<ProducerState>, (ErrorCode, Option<String>)> {
    let name = topic.name.to_str();
    topic_name::check(&name).map_err(|why| (ErrorCode::INVALID_TOPIC_EXCEPTION, Some(why)))?;
    if !call.allow(Operation::Read, Resource::Topic(topic.name.as_bytes())) {
        return Err((ErrorCode::TOPIC_AUTHORIZATION_FAILED, Some(format!("No right to read topic {name}."))));
    }
    let image = call.image();
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let known = image.topic(&name).ok_or_else(|| (unknown, Some(format!("There is no topic {name}."))))?;
    known.partition(index).ok_or((unknown, None))?;
    let log = call.broker.partitions.get(known.id, index).ok_or((ErrorCode::KAFKA_STORAGE_ERROR, None))?;
    Ok(log.producers().iter().map(|(id, producer)| state(id, producer)).collect())
}

fn state(producer_id: i64, producer: &Producer) -> ProducerState {
    ProducerState {
        producer_id,
        producer_epoch: i32::from(producer.epoch),
        last_sequence: producer.batches.back().map_or(-1, |last| last.last_sequence),
        last_timestamp: producer.last_timestamp,
        coordinator_epoch: producer.coordinator_epoch,
        current_txn_start_offset: producer.transaction.unwrap_or(-1),
        ..Default::default()
    }
}
