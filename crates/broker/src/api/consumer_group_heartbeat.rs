//! ConsumerGroupHeartbeat (key 68), v0–1 (KIP-848): keeps a consumer in its group and tells it its partitions.
//!
//! v1: subscription by regular expression, and member ids that the client makes (KIP-1082). What is decided about the
//! group stands in `coordinator/src/group/consumer/heartbeat.rs`.
//!
//! 1. the consumer protocol is on            else UNSUPPORTED_VERSION
//! 2. READ on the group                      else GROUP_AUTHORIZATION_FAILED
//! 3. DESCRIBE on every topic that it names  else TOPIC_AUTHORIZATION_FAILED
//! 4. the shard answers                      else NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS
//!
//! A regular expression is not checked here: topics that the member may not describe do not match it.

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ErrorCode, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for ConsumerGroupHeartbeatRequest {
    const SERVED: RangeInclusive<i16> = 0..=1;

    async fn handle(call: Call, request: Self) -> ConsumerGroupHeartbeatResponse {
        if !super::is_consumer_on(&call.image()) {
            return failed(ErrorCode::UNSUPPORTED_VERSION);
        }
        if !call.allow(Operation::Read, Resource::Group(request.group_id.as_bytes())) {
            return failed(ErrorCode::GROUP_AUTHORIZATION_FAILED);
        }
        let may_see = |topic: &Str| call.allow(Operation::Describe, Resource::Topic(topic.as_bytes()));
        if !request.subscribed_topic_names.iter().flatten().all(may_see) {
            return failed(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
        }
        let group = request.group_id.clone();
        let leaves = request.member_epoch < 0;
        let question = GroupRequest::ConsumerGroupHeartbeat(Box::new(request));
        match call.broker.groups.ask(&group, call.caller.clone(), question).await {
            Ok(GroupReply::ConsumerGroupHeartbeat(response)) => {
                note_connection(&call, &group, leaves, response.error_code);
                response
            }
            Ok(other) => failed(super::mismatch("ConsumerGroupHeartbeat", &other)),
            Err(unavailable) => failed(unavailable.into()),
        }
    }
}

/// Remembers for whom the connection beats, in case that it closes. Consumers tell no process.
fn note_connection(call: &Call, group: &Str, leaves: bool, answered: ErrorCode) {
    if leaves {
        call.broker.departures.leave(call.link.id, group);
    } else if answered == ErrorCode::NONE {
        call.broker.departures.beat(call.link.id, group, &Str::EMPTY);
    }
}

fn failed(error_code: ErrorCode) -> ConsumerGroupHeartbeatResponse {
    ConsumerGroupHeartbeatResponse { error_code, ..Default::default() }
}
