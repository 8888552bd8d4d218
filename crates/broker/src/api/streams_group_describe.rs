//! StreamsGroupDescribe (key 89), v0–1 (KIP-1071, KIP-1284).
//!
//! v1 topology description and assignor name; their fields are left at their defaults for v0.
//! 1. the streams protocol is on            else UNSUPPORTED_VERSION for every group
//! 2. DESCRIBE on the group                 else GROUP_AUTHORIZATION_FAILED; these entries come first
//! 3. the group id is not empty             else INVALID_GROUP_ID
//! 4. this broker owns it                   else NOT_COORDINATOR
//! 5. its shard is loaded                   else COORDINATOR_LOAD_IN_PROGRESS
//! 6. it is a streams group                 else GROUP_ID_NOT_FOUND (in the shard)
//! 7. DESCRIBE on every topic of it         else TOPIC_AUTHORIZATION_FAILED, nothing of the group

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::streams_group_describe::response::{DescribedGroup, Subtopology};
use wire::{ErrorCode, Str, StreamsGroupDescribeRequest, StreamsGroupDescribeResponse};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

/// Status of a topology description that nobody asked for.
const NOT_REQUESTED: i8 = 0;

impl Handler for StreamsGroupDescribeRequest {
    const SERVED: RangeInclusive<i16> = 0..=1;

    async fn handle(call: Call, request: Self) -> StreamsGroupDescribeResponse {
        if !super::is_streams_on(&call.image()) {
            return answer(failed(&request.group_ids, ErrorCode::UNSUPPORTED_VERSION));
        }
        let may_see = |id: &Str| call.allow(Operation::Describe, Resource::Group(id.as_bytes()));
        let (allowed, denied): (Vec<_>, Vec<_>) = request.group_ids.into_iter().partition(may_see);
        let (named, empty): (Vec<_>, Vec<_>) = allowed.into_iter().partition(|id| !id.is_empty());
        let mut groups = failed(&denied, ErrorCode::GROUP_AUTHORIZATION_FAILED);
        groups.extend(failed(&empty, ErrorCode::INVALID_GROUP_ID));
        let ask = GroupRequest::StreamsGroupDescribe;
        for (ids, answer) in call.broker.groups.ask_each(named, &call.caller, ask).await {
            match answer {
                Ok(GroupReply::StreamsGroupDescribe(described)) => {
                    groups.extend(described.into_iter().map(|group| hide_topics(&call, group)));
                }
                Ok(other) => groups.extend(failed(&ids, super::mismatch("StreamsGroupDescribe", &other))),
                Err(unavailable) => groups.extend(failed(&ids, unavailable.into())),
            }
        }
        for group in groups.iter_mut().filter(|it| it.error_code == ErrorCode::NONE) {
            if !request.include_topology_description {
                group.topology_description = None;
                group.topology_description_status = NOT_REQUESTED;
            }
            if request.include_authorized_operations {
                let resource = Resource::Group(group.group_id.as_bytes());
                group.authorized_operations = call.authorized_operations(resource);
            }
        }
        answer(groups)
    }
}

/// A group with a topic that the caller may not see is not shown at all.
fn hide_topics(call: &Call, group: DescribedGroup) -> DescribedGroup {
    let subtopologies = group.topology.iter().flat_map(|it| it.subtopologies.iter().flatten());
    let may_see = |topic: &Str| call.allow(Operation::Describe, Resource::Topic(topic.as_bytes()));
    if subtopologies.flat_map(topics).all(may_see) {
        return group;
    }
    DescribedGroup {
        group_id: group.group_id,
        error_code: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        error_message: Some(Str::from_static("The group has topics that the client may not describe.")),
        ..Default::default()
    }
}

fn topics(subtopology: &Subtopology) -> impl Iterator<Item = &Str> {
    let internal = [&subtopology.state_changelog_topics, &subtopology.repartition_source_topics];
    let plain = subtopology.source_topics.iter().chain(&subtopology.repartition_sink_topics);
    plain.chain(internal.into_iter().flatten().map(|it| &it.name))
}

fn answer(groups: Vec<DescribedGroup>) -> StreamsGroupDescribeResponse {
    StreamsGroupDescribeResponse { groups, ..Default::default() }
}

fn failed(ids: &[Str], error_code: ErrorCode) -> Vec<DescribedGroup> {
    let failed = |id: &Str| DescribedGroup { group_id: id.clone(), error_code, ..Default::default() };
    ids.iter().map(failed).collect()
}
