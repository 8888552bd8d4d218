//! OffsetFetch (key 9), v1–10: committed offsets of groups.
//!
//! v2: null asks for all topics, and errors of the group have a place. v5: leader epochs. v7: only stable offsets.
//! v8: many groups. v9: member and epoch. v10: topic ids in place of names. The shard's own checks stand in
//! `coordinator/src/group/offsets/fetch.rs`.
//!
//! 1. DESCRIBE on the group      else GROUP_AUTHORIZATION_FAILED for the group
//! 2. v10: the topic id is known else UNKNOWN_TOPIC_ID on its partitions
//! 3. DESCRIBE on the topic      else TOPIC_AUTHORIZATION_FAILED on its partitions (left out when all are asked for)
//! 4. the shard answers          else NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS for the group
//!
//! An error of the group replaces everything of it. A partition that does not exist has the offset -1 without error.

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest, request::OffsetFetch};
use wire::offset_fetch::request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use wire::offset_fetch::response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use wire::{ErrorCode, OffsetFetchRequest, OffsetFetchResponse, Str, Uuid};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

/// First version that asks for several groups.
const MANY_GROUPS: i16 = 8;
/// First version that names topics by id.
const BY_ID: i16 = 10;

impl Handler for OffsetFetchRequest {
    const SERVED: RangeInclusive<i16> = 1..=10;

    async fn handle(call: Call, request: Self) -> OffsetFetchResponse {
        let require_stable = request.require_stable;
        if call.version < MANY_GROUPS {
            let group = single(&request);
            let asked = group.topics.clone();
            return single_answer(call.version, asked, fetch(&call, group, require_stable).await);
        }
        let mut groups = Vec::with_capacity(request.groups.len());
        for group in request.groups {
            groups.push(fetch(&call, group, require_stable).await);
        }
        OffsetFetchResponse { groups, ..Default::default() }
    }
}

/// The one group of older versions in the form of newer ones.
fn single(request: &OffsetFetchRequest) -> OffsetFetchRequestGroup {
    let topic = |topic: &wire::offset_fetch::request::OffsetFetchRequestTopic| OffsetFetchRequestTopics {
        name: topic.name.clone(),
        partition_indexes: topic.partition_indexes.clone(),
        ..Default::default()
    };
    OffsetFetchRequestGroup {
        group_id: request.group_id.clone(),
        topics: request.topics.as_ref().map(|topics| topics.iter().map(topic).collect()),
        ..Default::default()
    }
}

async fn fetch(
    call: &Call,
    mut group: OffsetFetchRequestGroup,
    require_stable: bool,
) -> OffsetFetchResponseGroup {
    let group_id = group.group_id.clone();
    let failed = |error_code| OffsetFetchResponseGroup {
        group_id: group_id.clone(),
        error_code,
        ..Default::default()
    };
    if !call.allow(Operation::Describe, Resource::Group(group_id.as_bytes())) {
        return failed(ErrorCode::GROUP_AUTHORIZATION_FAILED);
    }
    let all = group.topics.is_none();
    let mut refused = Vec::new();
    if let Some(topics) = &mut group.topics {
        topics.retain_mut(|topic| match resolve(call, topic) {
            Ok(()) => true,
            Err(code) => {
                refused.push(refused_topic(topic, code));
                false
            }
        });
    }
    let question = GroupRequest::OffsetFetch(OffsetFetch { group, require_stable });
    let mut answered = match call.broker.groups.ask(&group_id, call.caller.clone(), question).await {
        Ok(GroupReply::OffsetFetch(answered)) => answered,
        Ok(other) => return failed(super::mismatch("OffsetFetch", &other)),
        Err(unavailable) => return failed(unavailable.into()),
    };
    if answered.error_code != ErrorCode::NONE {
        return failed(answered.error_code);
    }
    if all {
        answered.topics.retain(|topic| may_describe(call, &topic.name));
    }
    if call.version >= BY_ID {
        answered.topics.retain_mut(|topic| name_by_id(call, topic));
    }
    answered.topics.extend(refused);
    answered
}

/// Checks 2 and 3; fills in the name that the shard knows the topic by.
fn resolve(call: &Call, topic: &mut OffsetFetchRequestTopics) -> Result<(), ErrorCode> {
    if call.version >= BY_ID {
        let image = call.image();
        let known = image.topic_by_id(topic.topic_id).ok_or(ErrorCode::UNKNOWN_TOPIC_ID)?;
        topic.name = Str::from(&*known.name);
    }
    if may_describe(call, &topic.name) { Ok(()) } else { Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED) }
}

fn may_describe(call: &Call, name: &Str) -> bool {
    call.allow(Operation::Describe, Resource::Topic(name.as_bytes()))
}

/// Puts the id in the place of the name; false if the topic is gone.
fn name_by_id(call: &Call, topic: &mut OffsetFetchResponseTopics) -> bool {
    let name = std::mem::take(&mut topic.name);
    if topic.topic_id == Uuid::ZERO {
        let image = call.image();
        let Some(known) = name.as_str().and_then(|name| image.topic(name)) else { return false };
        topic.topic_id = known.id;
    }
    true
}

fn refused_topic(topic: &OffsetFetchRequestTopics, error_code: ErrorCode) -> OffsetFetchResponseTopics {
    let partition = |index: &i32| OffsetFetchResponsePartitions {
        partition_index: *index,
        committed_offset: -1,
        metadata: Some(Str::default()),
        error_code,
        ..Default::default()
    };
    OffsetFetchResponseTopics {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: topic.partition_indexes.iter().map(partition).collect(),
        ..Default::default()
    }
}

/// 5.5 rule 5: version 1 has no place for an error of the group but its partitions.
fn single_answer(
    version: i16,
    asked: Option<Vec<OffsetFetchRequestTopics>>,
    group: OffsetFetchResponseGroup,
) -> OffsetFetchResponse {
    let mut topics = group.topics;
    if group.error_code != ErrorCode::NONE && version < 2 {
        topics = asked.iter().flatten().map(|topic| refused_topic(topic, group.error_code)).collect();
    }
    OffsetFetchResponse {
        topics: topics.into_iter().map(single_topic).collect(),
        error_code: if version < 2 { ErrorCode::NONE } else { group.error_code },
        ..Default::default()
    }
}

fn single_topic(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic {
    let partition = |it: OffsetFetchResponsePartitions| OffsetFetchResponsePartition {
        partition_index: it.partition_index,
        committed_offset: it.committed_offset,
        committed_leader_epoch: it.committed_leader_epoch,
        metadata: it.metadata,
        error_code: it.error_code,
        ..Default::default()
    };
    OffsetFetchResponseTopic {
        name: topic.name,
        partitions: topic.partitions.into_iter().map(partition).collect(),
        ..Default::default()
    }
}
