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

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::offset_delete::request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use wire::offset_delete::response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};
use wire::{ErrorCode, OffsetDeleteRequest, OffsetDeleteResponse, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for OffsetDeleteRequest {
    const SERVED: RangeInclusive<i16> = 0..=0;

    async fn handle(call: Call, mut request: Self) -> OffsetDeleteResponse {
        if !call.allow(Operation::Delete, Resource::Group(request.group_id.as_bytes())) {
            return failed(ErrorCode::GROUP_AUTHORIZATION_FAILED);
        }
        let mut results = Results::default();
        for topic in &mut request.topics {
            sort_out(&call, topic, &mut results);
        }
        request.topics.retain(|topic| !topic.partitions.is_empty());
        let group = request.group_id.clone();
        let question = GroupRequest::OffsetDelete(request);
        match call.broker.groups.ask(&group, call.caller.clone(), question).await {
            Ok(GroupReply::OffsetDelete(reply)) if reply.error_code != ErrorCode::NONE => {
                failed(reply.error_code)
            }
            Ok(GroupReply::OffsetDelete(reply)) => {
                OffsetDeleteResponse { topics: results.with(reply.topics), ..Default::default() }
            }
            Ok(other) => failed(super::mismatch("OffsetDelete", &other)),
            Err(unavailable) => failed(unavailable.into()),
        }
    }
}

/// Checks 2 and 3: leaves in the topic what the shard may delete, and puts what is refused into `results`. A known topic
/// of which nothing is refused is not mentioned there.
fn sort_out(call: &Call, topic: &mut OffsetDeleteRequestTopic, results: &mut Results) {
    let image = call.image();
    let allowed = call.allow(Operation::Read, Resource::Topic(topic.name.as_bytes()));
    let known = topic.name.as_str().and_then(|name| image.topic(name)).filter(|_| allowed);
    let exists = |partition: &OffsetDeleteRequestPartition| {
        known.is_some_and(|topic| topic.partition(partition.partition_index).is_some())
    };
    let (keep, refused): (Vec<_>, Vec<_>) =
        std::mem::take(&mut topic.partitions).into_iter().partition(exists);
    topic.partitions = keep;
    if known.is_some() && refused.is_empty() {
        return;
    }
    let error_code =
        if allowed { ErrorCode::UNKNOWN_TOPIC_OR_PARTITION } else { ErrorCode::TOPIC_AUTHORIZATION_FAILED };
    let partition = |it: OffsetDeleteRequestPartition| OffsetDeleteResponsePartition {
        partition_index: it.partition_index,
        error_code,
    };
    let partitions = refused.into_iter().map(partition).collect();
    results.add(OffsetDeleteResponseTopic { name: topic.name.clone(), partitions });
}

/// The topics of the answer: what was refused first, each topic once, and what the shard says.
#[derive(Default)]
struct Results {
    topics: Vec<OffsetDeleteResponseTopic>,
    places: BTreeMap<Str, usize>,
}

impl Results {
    fn add(&mut self, topic: OffsetDeleteResponseTopic) {
        let place = self.places.entry(topic.name.clone()).or_insert(self.topics.len());
        match self.topics.get_mut(*place) {
            Some(known) => known.partitions.extend(topic.partitions),
            None => self.topics.push(topic),
        }
    }

    /// If nothing was refused the shard's answer counts as it stands.
    fn with(mut self, answered: Vec<OffsetDeleteResponseTopic>) -> Vec<OffsetDeleteResponseTopic> {
        if self.topics.is_empty() {
            return answered;
        }
        for topic in answered {
            self.add(topic);
        }
        self.topics
    }
}

fn failed(error_code: ErrorCode) -> OffsetDeleteResponse {
    OffsetDeleteResponse { error_code, ..Default::default() }
}
