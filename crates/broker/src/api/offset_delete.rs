//! OffsetDelete (key 47), v0 (KIP-496): forgets offsets of a group.
//!
//! 1. DELETE on the group     else GROUP_AUTHORIZATION_FAILED for all
//! 2. READ on the topic       else TOPIC_AUTHORIZATION_FAILED on its partitions
//! 3. the partition exists    else UNKNOWN_TOPIC_OR_PARTITION
//! 4. the shard answers       else NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS for all
//! 5. the group id is not empty, the group exists, and it is not subscribed to the topic (in the shard,
//!    `coordinator/src/group/offsets/delete.rs`)
//!
//! The shard is asked even if nothing is left, so that errors of the group are told; they replace everything (5.6).

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::offset_delete::request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use wire::offset_delete::response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};
use wire::{ErrorCode, OffsetDeleteRequest, OffsetDeleteResponse};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for OffsetDeleteRequest {
    const SERVED: RangeInclusive<i16> = 0..=0;

    async fn handle(call: Call, mut request: Self) -> OffsetDeleteResponse {
        if !call.allow(Operation::Delete, Resource::Group(request.group_id.as_bytes())) {
            return failed(ErrorCode::GROUP_AUTHORIZATION_FAILED);
        }
        let mut topics = Vec::with_capacity(request.topics.len());
        for topic in &mut request.topics {
            topics.push(sort_out(&call, topic));
        }
        request.topics.retain(|topic| !topic.partitions.is_empty());
        let group = request.group_id.clone();
        let question = GroupRequest::OffsetDelete(request);
        match call.broker.groups.ask(&group, call.caller.clone(), question).await {
            Ok(GroupReply::OffsetDelete(reply)) if reply.error_code != ErrorCode::NONE => {
                failed(reply.error_code)
            }
            Ok(GroupReply::OffsetDelete(reply)) => {
                for answered in reply.topics {
                    if let Some(topic) = topics.iter_mut().find(|topic| topic.name == answered.name) {
                        topic.partitions.extend(answered.partitions);
                    }
                }
                OffsetDeleteResponse { topics, ..Default::default() }
            }
            Ok(other) => failed(super::mismatch("OffsetDelete", &other)),
            Err(unavailable) => failed(unavailable.into()),
        }
    }
}

/// Checks 2 and 3: leaves in the topic what the shard may delete, and gives what is refused.
fn sort_out(call: &Call, topic: &mut OffsetDeleteRequestTopic) -> OffsetDeleteResponseTopic {
    let image = call.image();
    let allowed = call.allow(Operation::Read, Resource::Topic(topic.name.as_bytes()));
    let known = topic.name.as_str().and_then(|name| image.topic(name)).filter(|_| allowed);
    let exists = |partition: &OffsetDeleteRequestPartition| {
        known.is_some_and(|topic| topic.partition(partition.partition_index).is_some())
    };
    let (keep, refused): (Vec<_>, Vec<_>) =
        std::mem::take(&mut topic.partitions).into_iter().partition(exists);
    topic.partitions = keep;
    let error_code =
        if allowed { ErrorCode::UNKNOWN_TOPIC_OR_PARTITION } else { ErrorCode::TOPIC_AUTHORIZATION_FAILED };
    let partition = |it: OffsetDeleteRequestPartition| OffsetDeleteResponsePartition {
        partition_index: it.partition_index,
        error_code,
    };
    OffsetDeleteResponseTopic {
        name: topic.name.clone(),
        partitions: refused.into_iter().map(partition).collect(),
    }
}

fn failed(error_code: ErrorCode) -> OffsetDeleteResponse {
    OffsetDeleteResponse { error_code, ..Default::default() }
}
