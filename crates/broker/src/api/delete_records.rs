//! DeleteRecords (key 21), v0–2 (KIP-107). Kafka Streams deletes with it what it has read of its repartition topics.
//!
//! v1 throttles after the answer; v2 flexible.
//! 1. DELETE on the topic                       else TOPIC_AUTHORIZATION_FAILED
//! 2. the partition exists                      else UNKNOWN_TOPIC_OR_PARTITION
//! 3. the topic is not internal                 else INVALID_TOPIC_EXCEPTION
//! 4. its log is open                           else KAFKA_STORAGE_ERROR
//! 5. the topic is not compacted without delete else POLICY_VIOLATION
//! 6. -1 ≤ offset ≤ high watermark              else OFFSET_OUT_OF_RANGE
//! 7. the new start survives in time            else REQUEST_TIMED_OUT; it may come to pass later
//!
//! -1 stands for the high watermark. An offset below the start changes nothing and succeeds.

use std::ops::RangeInclusive;
use std::time::Duration;

use catalog::{Image, Topic};
use tokio::time::{Instant, timeout_at};
use wire::delete_records::request::DeleteRecordsPartition;
use wire::delete_records::response::{DeleteRecordsPartitionResult, DeleteRecordsTopicResult};
use wire::{DeleteRecordsRequest, DeleteRecordsResponse, ErrorCode};

use super::Handler;
use super::fetch::code;
use crate::auth::{Operation, Resource};
use crate::call::Call;

/// With one replica Kafka is done at once, so clients with tiny timeouts never see REQUEST_TIMED_OUT there.
const PATIENCE_MIN_MS: i32 = 1_000;

impl Handler for DeleteRecordsRequest {
    const SERVED: RangeInclusive<i16> = 0..=2;

    async fn handle(call: Call, request: Self) -> DeleteRecordsResponse {
        let image = call.image();
        let patience = request.timeout_ms.max(PATIENCE_MIN_MS).unsigned_abs();
        let deadline = Instant::now() + Duration::from_millis(patience.into());
        let mut topics = Vec::with_capacity(request.topics.len());
        for wanted in request.topics {
            let name = wanted.name;
            let allowed = call.allow(Operation::Delete, Resource::Topic(name.as_bytes()));
            let topic = name.as_str().and_then(|name| image.topic(name));
            let mut partitions = Vec::with_capacity(wanted.partitions.len());
            for partition in wanted.partitions {
                let start = match allowed {
                    true => delete(&call, &image, topic, &partition, deadline).await,
                    false => Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
                };
                partitions.push(entry(partition.partition_index, start));
            }
            topics.push(DeleteRecordsTopicResult { name, partitions, ..Default::default() });
        }
        DeleteRecordsResponse { topics, ..Default::default() }
    }
}

/// Rules 2 to 7. The answer is the new start of the log.
async fn delete(
    call: &Call,
    image: &Image,
    topic: Option<&Topic>,
    wanted: &DeleteRecordsPartition,
    deadline: Instant,
) -> Result<i64, ErrorCode> {
    let index = wanted.partition_index;
    let topic = topic.filter(|topic| topic.partition(index).is_some());
    let topic = topic.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    if topic.internal {
        return Err(ErrorCode::INVALID_TOPIC_EXCEPTION);
    }
    let log = call.broker.partitions.get(topic.id, index).ok_or(ErrorCode::KAFKA_STORAGE_ERROR)?;
    let policy = image.topic_settings(topic).cleanup_policy;
    if policy.compact && !policy.delete {
        return Err(ErrorCode::POLICY_VIOLATION);
    }
    match timeout_at(deadline, log.delete_records(wanted.offset)).await {
        Ok(start) => start.map_err(code),
        Err(_elapsed) => Err(ErrorCode::REQUEST_TIMED_OUT),
    }
}

fn entry(partition_index: i32, start: Result<i64, ErrorCode>) -> DeleteRecordsPartitionResult {
    let (low_watermark, error_code) = match start {
        Ok(start) => (start, ErrorCode::NONE),
        Err(error_code) => (-1, error_code),
    };
    DeleteRecordsPartitionResult { partition_index, low_watermark, error_code, ..Default::default() }
}
