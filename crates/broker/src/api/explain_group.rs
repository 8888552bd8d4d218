//! ExplainGroup (key 20000), v0: our own, told by ApiVersions to our own tools alone.
//!
//! What a group waits for, who holds it up, and what happened to it, for one group of any type.
//! 1. DESCRIBE on the group         else GROUP_AUTHORIZATION_FAILED
//! 2. the group id is not empty     else INVALID_GROUP_ID
//! 3. this broker owns it           else NOT_COORDINATOR
//! 4. its shard is loaded           else COORDINATOR_LOAD_IN_PROGRESS
//! 5. the group exists              else GROUP_ID_NOT_FOUND (in the shard)
//! 6. DESCRIBE on every topic of it else TOPIC_AUTHORIZATION_FAILED, nothing of the group: events name topics

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::{ErrorCode, ExplainGroupRequest, ExplainGroupResponse, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

/// Most events of one answer.
const EVENTS_MAX: i32 = 1000;

impl Handler for ExplainGroupRequest {
    const SERVED: RangeInclusive<i16> = 0..=0;
    const ADVERTISED: bool = false;

    async fn handle(call: Call, request: Self) -> ExplainGroupResponse {
        let group = request.group_id.clone();
        if !call.allow(Operation::Describe, Resource::Group(group.as_bytes())) {
            return failed(group, ErrorCode::GROUP_AUTHORIZATION_FAILED);
        }
        if group.is_empty() {
            return failed(group, ErrorCode::INVALID_GROUP_ID);
        }
        let include_state = request.include_state;
        // The topics decide whether the caller may see anything: they are asked for in any case.
        let ask =
            Self { include_state: true, max_events: request.max_events.clamp(0, EVENTS_MAX), ..request };
        let ask = GroupRequest::ExplainGroup(ask);
        match call.broker.groups.ask(&group, call.caller.clone(), ask).await {
            Ok(GroupReply::ExplainGroup(answer)) if may_see(&call, &answer) => match include_state {
                true => *answer,
                false => events_alone(*answer),
            },
            Ok(GroupReply::ExplainGroup(_)) => failed(group, ErrorCode::TOPIC_AUTHORIZATION_FAILED),
            Ok(other) => failed(group, super::mismatch("ExplainGroup", &other)),
            Err(unavailable) => failed(group, unavailable.into()),
        }
    }
}

fn may_see(call: &Call, answer: &ExplainGroupResponse) -> bool {
    let may_see = |topic: &Str| call.allow(Operation::Describe, Resource::Topic(topic.as_bytes()));
    answer.topics.iter().all(|it| may_see(&it.name))
}

fn events_alone(answer: ExplainGroupResponse) -> ExplainGroupResponse {
    ExplainGroupResponse { findings: Vec::new(), members: Vec::new(), topics: Vec::new(), ..answer }
}

fn failed(group_id: Str, error_code: ErrorCode) -> ExplainGroupResponse {
    ExplainGroupResponse { group_id, error_code, ..Default::default() }
}
