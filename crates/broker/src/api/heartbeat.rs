//! Heartbeat (key 12), v0–4: keeps the session of a member of a classic group, and tells it to join again.
//!
//! v3: instance ids (KIP-345). The shard's own checks stand in `coordinator/src/group/classic/heartbeat.rs`, those
//! of consumer groups in `coordinator/src/group/consumer/classic_members.rs`.
//!
//! 1. READ on the group  else GROUP_AUTHORIZATION_FAILED
//! 2. the shard answers  else NOT_COORDINATOR; a shard that loads is a success (5.9), sessions begin anew after it

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::{ErrorCode, HeartbeatRequest, HeartbeatResponse, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;
use crate::shards::Unavailable;

impl Handler for HeartbeatRequest {
    const SERVED: RangeInclusive<i16> = 0..=4;

    async fn handle(call: Call, request: Self) -> HeartbeatResponse {
        if !call.allow(Operation::Read, Resource::Group(request.group_id.as_bytes())) {
            return failed(ErrorCode::GROUP_AUTHORIZATION_FAILED);
        }
        let group = request.group_id.clone();
        let question = GroupRequest::Heartbeat(request);
        match call.broker.groups.ask(&group, call.caller.clone(), question).await {
            Ok(GroupReply::Heartbeat(response)) => {
                let is_member = [ErrorCode::NONE, ErrorCode::REBALANCE_IN_PROGRESS];
                if call.image().broker().thalweg_group_classic_disconnect_enable
                    && is_member.contains(&response.error_code)
                {
                    call.broker.departures.beat(call.link.id, &group, &Str::EMPTY);
                }
                response
            }
            Ok(other) => failed(super::mismatch("Heartbeat", &other)),
            Err(Unavailable::Loading) => HeartbeatResponse::default(),
            Err(unavailable @ (Unavailable::NotCoordinator | Unavailable::Failed)) => {
                failed(unavailable.into())
            }
        }
    }
}

fn failed(error_code: ErrorCode) -> HeartbeatResponse {
    HeartbeatResponse { error_code, ..Default::default() }
}
