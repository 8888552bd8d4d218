//! ListOffsets (key 2), v1–11.
//!
//! v2 isolation level, throttle time; v3 throttles after the answer; v4 leader epochs (KIP-320); v5 new error;
//! v6 flexible; v7 to v9 and v11 the special timestamps -3 (KIP-734), -4 (KIP-405), -5 (KIP-1005), -6 (KIP-1023);
//! v10 timeout (KIP-1075), which only tiered logs need.
//! 1. DESCRIBE on the topic                else TOPIC_AUTHORIZATION_FAILED
//! 2. the partition is named once          else INVALID_REQUEST, told once
//! 3. the isolation level is known         else INVALID_REQUEST
//! 4. this version has the timestamp       else UNSUPPORTED_VERSION
//! 5. the partition exists                 else UNKNOWN_TOPIC_OR_PARTITION
//! 6. its log is open                      else KAFKA_STORAGE_ERROR
//! 7. current leader epoch                 else FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH
//! 8. the log can be read                  else KAFKA_STORAGE_ERROR or NOT_LEADER_OR_FOLLOWER
//!
//! What is not found is -1 without an error. Readers see what is durable: an answer takes the end that it finds and
//! waits for its flush, so that a client finds its own writes whatever acks they had.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use catalog::Topic;
use storage::partition::{Isolation, OffsetAt, Partition, ReadError};
use wire::list_offsets::request::ListOffsetsPartition;
use wire::list_offsets::response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use wire::{ErrorCode, ListOffsetsRequest, ListOffsetsResponse, Str};

use super::Handler;
use super::fetch::{code, isolation};
use crate::auth::{Operation, Resource};
use crate::call::Call;

/// Special timestamps.
const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;
const EARLIEST_PENDING_UPLOAD: i64 = -6;

impl Handler for ListOffsetsRequest {
    const SERVED: RangeInclusive<i16> = 1..=11;

    async fn handle(call: Call, request: Self) -> ListOffsetsResponse {
        let image = call.image();
        let isolation = isolation(request.isolation_level);
        let twice = named_twice(&request);
        let mut told = BTreeSet::new();
        let mut topics = Vec::with_capacity(request.topics.len());
        for wanted in &request.topics {
            let name = &wanted.name;
            let allowed = call.allow(Operation::Describe, Resource::Topic(name.as_bytes()));
            let topic = name.as_str().and_then(|name| image.topic(name));
            let mut partitions = Vec::with_capacity(wanted.partitions.len());
            for partition in &wanted.partitions {
                let id = (name, partition.partition_index);
                if twice.contains(&id) && !told.insert(id) {
                    continue;
                }
                let found = if !allowed {
                    Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED)
                } else if twice.contains(&id) {
                    Err(ErrorCode::INVALID_REQUEST)
                } else {
                    match isolation {
                        Ok(isolation) => find(&call, topic, partition, isolation).await,
                        Err(code) => Err(code),
                    }
                };
                partitions.push(entry(call.version, partition.partition_index, found));
            }
            topics.push(ListOffsetsTopicResponse { name: name.clone(), partitions, ..Default::default() });
        }
        ListOffsetsResponse { topics, ..Default::default() }
    }
}

fn named_twice(request: &ListOffsetsRequest) -> BTreeSet<(&Str, i32)> {
    let mut seen = BTreeSet::new();
    let topics = request.topics.iter();
    let all = topics.flat_map(|topic| topic.partitions.iter().map(|it| (&topic.name, it.partition_index)));
    all.filter(|it| !seen.insert(*it)).collect()
}

/// Rules 4 to 8.
async fn find(
    call: &Call,
    topic: Option<&Topic>,
    wanted: &ListOffsetsPartition,
    isolation: Isolation,
) -> Result<Option<OffsetAt>, ErrorCode> {
    if wanted.timestamp < lowest_timestamp(call.version) {
        return Err(ErrorCode::UNSUPPORTED_VERSION);
    }
    let index = wanted.partition_index;
    let topic = topic.filter(|topic| topic.partition(index).is_some());
    let topic = topic.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let log = call.broker.partitions.get(topic.id, index).ok_or(ErrorCode::KAFKA_STORAGE_ERROR)?;
    log.check_epoch(wanted.current_leader_epoch).map_err(code)?;
    look_up(&log, wanted.timestamp, isolation).await.map_err(code)
}

async fn look_up(
    log: &Partition,
    timestamp: i64,
    isolation: Isolation,
) -> Result<Option<OffsetAt>, ReadError> {
    match timestamp {
        LATEST => log.latest(isolation).await.map(Some),
        EARLIEST | EARLIEST_LOCAL => log.earliest().map(Some),
        MAX_TIMESTAMP => log.max_timestamp(isolation).await,
        // Without tiers nothing is there.
        LATEST_TIERED | EARLIEST_PENDING_UPLOAD => Ok(None),
        _ => log.find_by_timestamp(timestamp, isolation).await,
    }
}

/// The lowest special timestamp of a version.
fn lowest_timestamp(version: i16) -> i64 {
    match version {
        ..=6 => EARLIEST,
        7 => MAX_TIMESTAMP,
        8 => EARLIEST_LOCAL,
        9..=10 => LATEST_TIERED,
        11.. => EARLIEST_PENDING_UPLOAD,
    }
}

fn entry(
    version: i16,
    partition_index: i32,
    found: Result<Option<OffsetAt>, ErrorCode>,
) -> ListOffsetsPartitionResponse {
    let mut entry = ListOffsetsPartitionResponse { partition_index, ..Default::default() };
    match found {
        Ok(Some(at)) => {
            entry.offset = at.offset;
            entry.timestamp = at.timestamp;
            entry.leader_epoch = if version >= 4 { at.epoch } else { -1 };
        }
        Ok(None) => {}
        Err(error_code) => entry.error_code = error_code,
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_timestamps_came_one_by_one() {
        let lowest: Vec<_> = (1..=11).map(lowest_timestamp).collect();
        assert_eq!(lowest, [-2, -2, -2, -2, -2, -2, -3, -4, -5, -5, -6]);
    }
}
