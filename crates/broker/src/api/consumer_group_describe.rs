//! ConsumerGroupDescribe (key 69), v0–1 (KIP-848, KIP-1099).
//!
//! v1 the type of each member, which is left out for v0.
//! 1. the consumer protocol is on           else UNSUPPORTED_VERSION for every group
//! 2. DESCRIBE on the group                 else GROUP_AUTHORIZATION_FAILED; these entries come first
//! 3. the group id is not empty             else INVALID_GROUP_ID
//! 4. this broker owns it                   else NOT_COORDINATOR
//! 5. its shard is loaded                   else COORDINATOR_LOAD_IN_PROGRESS
//! 6. it is a consumer group                else GROUP_ID_NOT_FOUND (in the shard)
//! 7. DESCRIBE on every topic of its assignments   else TOPIC_AUTHORIZATION_FAILED, nothing of the group

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::consumer_group_describe::response::{DescribedGroup, Member};
use wire::{ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, ErrorCode, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for ConsumerGroupDescribeRequest {
    const SERVED: RangeInclusive<i16> = 0..=1;

    async fn handle(call: Call, request: Self) -> ConsumerGroupDescribeResponse {
        if !super::is_consumer_on(&call.image()) {
            return answer(failed(&request.group_ids, ErrorCode::UNSUPPORTED_VERSION));
        }
        let may_see = |id: &Str| call.allow(Operation::Describe, Resource::Group(id.as_bytes()));
        let (allowed, denied): (Vec<_>, Vec<_>) = request.group_ids.into_iter().partition(may_see);
        let (named, empty): (Vec<_>, Vec<_>) = allowed.into_iter().partition(|id| !id.is_empty());
        let mut groups = failed(&denied, ErrorCode::GROUP_AUTHORIZATION_FAILED);
        groups.extend(failed(&empty, ErrorCode::INVALID_GROUP_ID));
        let ask = GroupRequest::ConsumerGroupDescribe;
        for (ids, answer) in call.broker.groups.ask_each(named, &call.caller, ask).await {
            match answer {
                Ok(GroupReply::ConsumerGroupDescribe(described)) => {
                    groups.extend(described.into_iter().map(|group| hide_topics(&call, group)));
                }
                Ok(other) => groups.extend(failed(&ids, super::mismatch("ConsumerGroupDescribe", &other))),
                Err(unavailable) => groups.extend(failed(&ids, unavailable.into())),
            }
        }
        if request.include_authorized_operations {
            for group in groups.iter_mut().filter(|it| it.error_code == ErrorCode::NONE) {
                let resource = Resource::Group(group.group_id.as_bytes());
                group.authorized_operations = call.authorized_operations(resource);
            }
        }
        answer(groups)
    }
}

/// A group with a topic that the caller may not see is not shown at all (5.1).
fn hide_topics(call: &Call, group: DescribedGroup) -> DescribedGroup {
    let may_see = |topic: &Str| call.allow(Operation::Describe, Resource::Topic(topic.as_bytes()));
    if group.members.iter().flat_map(topics).all(may_see) {
        return group;
    }
    DescribedGroup {
        group_id: group.group_id,
        error_code: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        error_message: Some(Str::from_static("The group has topics that the client may not describe.")),
        ..Default::default()
    }
}

fn topics(member: &Member) -> impl Iterator<Item = &Str> {
    let assignments = [&member.assignment, &member.target_assignment];
    assignments.into_iter().flat_map(|it| &it.topic_partitions).map(|it| &it.topic_name)
}

fn answer(groups: Vec<DescribedGroup>) -> ConsumerGroupDescribeResponse {
    ConsumerGroupDescribeResponse { groups, ..Default::default() }
}

fn failed(ids: &[Str], error_code: ErrorCode) -> Vec<DescribedGroup> {
    let failed = |id: &Str| DescribedGroup { group_id: id.clone(), error_code, ..Default::default() };
    ids.iter().map(failed).collect()
}
