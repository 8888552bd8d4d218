//! SyncGroup (key 14), v0–5: a member of a classic group asks for its assignment; the leader brings those of all. The
//! answer waits for the leader's request.
//!
//! v3: instance ids (KIP-345). v5: protocol type and name, which must be given then (KIP-559). The shard's own checks
//! stand in `coordinator/src/group/classic/sync.rs`, those of consumer groups in
//! `coordinator/src/group/consumer/classic_members.rs`.
//!
//! 1. v5: type and name are given  else INCONSISTENT_GROUP_PROTOCOL; before any right is asked for, as in Kafka
//! 2. READ on the group            else GROUP_AUTHORIZATION_FAILED
//! 3. the shard answers            else NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::{ErrorCode, SyncGroupRequest, SyncGroupResponse};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

/// First version with protocol type and name.
const WITH_PROTOCOL: i16 = 5;

impl Handler for SyncGroupRequest {
    const SERVED: RangeInclusive<i16> = 0..=5;

    async fn handle(call: Call, request: Self) -> SyncGroupResponse {
        if call.version >= WITH_PROTOCOL
            && (request.protocol_type.is_none() || request.protocol_name.is_none())
        {
            return failed(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        if !call.allow(Operation::Read, Resource::Group(request.group_id.as_bytes())) {
            return failed(ErrorCode::GROUP_AUTHORIZATION_FAILED);
        }
        let group = request.group_id.clone();
        let question = GroupRequest::SyncGroup(Box::new(request));
        match call.broker.groups.ask(&group, call.caller.clone(), question).await {
            Ok(GroupReply::SyncGroup(response)) => response,
            Ok(other) => failed(super::mismatch("SyncGroup", &other)),
            Err(unavailable) => failed(unavailable.into()),
        }
    }
}

fn failed(error_code: ErrorCode) -> SyncGroupResponse {
    SyncGroupResponse { error_code, ..Default::default() }
}
