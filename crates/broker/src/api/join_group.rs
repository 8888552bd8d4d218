//! JoinGroup (key 11), v0–9: a member wants to be in the next generation of a classic group. The answer may take as
//! long as the group's rebalance.
//!
//! v1: rebalance timeout. v4: new members are sent back with their id (KIP-394). v5: static members (KIP-345). v7:
//! protocol type, and a null protocol name. v8: reason. v9: a static leader need not assign (KIP-814). The shard's own
//! checks stand in `coordinator/src/group/classic/join.rs`, those of a consumer group with members in
//! `coordinator/src/group/consumer/classic_join.rs`.
//!
//! 1. READ on the group  else GROUP_AUTHORIZATION_FAILED
//! 2. the shard answers  else NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::{ErrorCode, JoinGroupRequest, JoinGroupResponse};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

/// First version that has a null protocol name; before, it is the empty text.
const NULL_PROTOCOL: i16 = 7;

impl Handler for JoinGroupRequest {
    const SERVED: RangeInclusive<i16> = 0..=9;

    async fn handle(call: Call, mut request: Self) -> JoinGroupResponse {
        if !call.allow(Operation::Read, Resource::Group(request.group_id.as_bytes())) {
            return finish(&call, failed(ErrorCode::GROUP_AUTHORIZATION_FAILED));
        }
        if call.version == 0 {
            request.rebalance_timeout_ms = request.session_timeout_ms;
        }
        let group = request.group_id.clone();
        let question = GroupRequest::JoinGroup(Box::new(request));
        let response = match call.broker.groups.ask(&group, call.caller.clone(), question).await {
            Ok(GroupReply::JoinGroup(response)) => *response,
            Ok(other) => failed(super::mismatch("JoinGroup", &other)),
            Err(unavailable) => failed(unavailable.into()),
        };
        finish(&call, response)
    }
}

fn failed(error_code: ErrorCode) -> JoinGroupResponse {
    JoinGroupResponse { error_code, ..Default::default() }
}

/// No protocol, as the version says it.
fn finish(call: &Call, mut response: JoinGroupResponse) -> JoinGroupResponse {
    let protocol = response.protocol_name.take().filter(|it| !it.is_empty());
    response.protocol_name = match call.version >= NULL_PROTOCOL {
        true => protocol,
        false => Some(protocol.unwrap_or_default()),
    };
    response
}
