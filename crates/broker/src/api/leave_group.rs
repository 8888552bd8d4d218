//! LeaveGroup (key 13), v0–5: members of a classic group go, on their own or by an administrator.
//!
//! v3: many members, static ones by their instance id (KIP-345). v5: reasons (KIP-800), which decide nothing. The
//! shard's own checks stand in `coordinator/src/group/classic/leave.rs`.
//!
//! 1. READ on the group  else GROUP_AUTHORIZATION_FAILED
//! 2. the shard answers  else NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::leave_group::request::MemberIdentity;
use wire::{ErrorCode, LeaveGroupRequest, LeaveGroupResponse};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

/// First version with a list of members; before, one leaves and its code is that of the response.
const MANY_MEMBERS: i16 = 3;

impl Handler for LeaveGroupRequest {
    const SERVED: RangeInclusive<i16> = 0..=5;

    async fn handle(call: Call, mut request: Self) -> LeaveGroupResponse {
        if !call.allow(Operation::Read, Resource::Group(request.group_id.as_bytes())) {
            return failed(ErrorCode::GROUP_AUTHORIZATION_FAILED);
        }
        if call.version < MANY_MEMBERS {
            let member_id = std::mem::take(&mut request.member_id);
            request.members = vec![MemberIdentity { member_id, ..Default::default() }];
        }
        let group = request.group_id.clone();
        let question = GroupRequest::LeaveGroup(request);
        let mut response = match call.broker.groups.ask(&group, call.caller.clone(), question).await {
            Ok(GroupReply::LeaveGroup(response)) => {
                call.broker.departures.leave(call.link.id, &group);
                response
            }
            Ok(other) => failed(super::mismatch("LeaveGroup", &other)),
            Err(unavailable) => failed(unavailable.into()),
        };
        if call.version < MANY_MEMBERS {
            let of_member = std::mem::take(&mut response.members).first().map(|it| it.error_code);
            if response.error_code == ErrorCode::NONE {
                response.error_code = of_member.unwrap_or_default();
            }
        }
        response
    }
}

fn failed(error_code: ErrorCode) -> LeaveGroupResponse {
    LeaveGroupResponse { error_code, ..Default::default() }
}
