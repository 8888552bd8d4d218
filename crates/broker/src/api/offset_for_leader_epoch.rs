//! OffsetForLeaderEpoch (key 23), v2–4 (KIP-101, KIP-320). Consumers ask whether what they read is still there.
//!
//! v3 replica id, which decides nothing here; v4 flexible.
//! 1. CLUSTER_ACTION, or DESCRIBE on the topic  else TOPIC_AUTHORIZATION_FAILED
//! 2. the partition exists                      else UNKNOWN_TOPIC_OR_PARTITION
//! 3. its log is open                           else KAFKA_STORAGE_ERROR
//! 4. current leader epoch                      else FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH
//! 5. the log is alive                          else NOT_LEADER_OR_FOLLOWER
//!
//! An epoch that is not known has the end -1 in epoch -1, without an error.

use std::ops::RangeInclusive;

use catalog::Topic;
use storage::partition::EpochEnd;
use wire::offset_for_leader_epoch::request::OffsetForLeaderPartition;
use wire::offset_for_leader_epoch::response::{EpochEndOffset, OffsetForLeaderTopicResult};
use wire::{ErrorCode, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};

use super::Handler;
use super::fetch::code;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for OffsetForLeaderEpochRequest {
    const SERVED: RangeInclusive<i16> = 2..=4;

    async fn handle(call: Call, request: Self) -> OffsetForLeaderEpochResponse {
        let image = call.image();
        let is_broker = call.allow(Operation::ClusterAction, Resource::Cluster);
        let mut topics = Vec::with_capacity(request.topics.len());
        for wanted in request.topics {
            let name = wanted.topic;
            let allowed = is_broker || call.allow(Operation::Describe, Resource::Topic(name.as_bytes()));
            let topic = name.as_str().and_then(|name| image.topic(name));
            let mut partitions = Vec::with_capacity(wanted.partitions.len());
            for partition in wanted.partitions {
                let found = match allowed {
                    true => find(&call, topic, &partition).await,
                    false => Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
                };
                partitions.push(entry(partition.partition, found));
            }
            topics.push(OffsetForLeaderTopicResult { topic: name, partitions, ..Default::default() });
        }
        OffsetForLeaderEpochResponse { topics, ..Default::default() }
    }
}

/// Rules 2 to 5.
async fn find(
    call: &Call,
    topic: Option<&Topic>,
    wanted: &OffsetForLeaderPartition,
) -> Result<Option<EpochEnd>, ErrorCode> {
    let topic = topic.filter(|topic| topic.partition(wanted.partition).is_some());
    let topic = topic.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let log = call.broker.partitions.get(topic.id, wanted.partition).ok_or(ErrorCode::KAFKA_STORAGE_ERROR)?;
    log.check_epoch(wanted.current_leader_epoch).map_err(code)?;
    log.epoch_end(wanted.leader_epoch).await.map_err(code)
}

fn entry(partition: i32, found: Result<Option<EpochEnd>, ErrorCode>) -> EpochEndOffset {
    let nothing = EpochEndOffset { partition, ..Default::default() };
    match found {
        Ok(Some(it)) => EpochEndOffset { leader_epoch: it.epoch, end_offset: it.end, ..nothing },
        Ok(None) => nothing,
        Err(error_code) => EpochEndOffset { error_code, ..nothing },
    }
}
