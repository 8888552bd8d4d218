//! StreamsGroupHeartbeat (key 88), v0–1 (KIP-1071): keeps a member in its group and tells it its tasks.
//!
//! v1: the acceptable lag as int64, and whether the topology's description is wanted. What is decided about the group
//! stands in `coordinator/src/group/streams/heartbeat.rs`.
//!
//! 1. the streams protocol is on                      else UNSUPPORTED_VERSION
//! 2. READ on the group                               else GROUP_AUTHORIZATION_FAILED
//! 3. with a topology: no topic is one of the broker's own, all names are legal   else STREAMS_INVALID_TOPOLOGY
//! 4. with a topology: DESCRIBE on every topic of it  else TOPIC_AUTHORIZATION_FAILED
//! 5. the shard answers                               else NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS
//!
//! Internal topics that are missing are created here and not in the shard, because it needs the caller's rights and the
//! status tells how it went (H-90): CREATE on the cluster, else on each topic.

use std::ops::RangeInclusive;

use bytes::Bytes;
use coordinator::group::streams::topology::{Refusal, refuse_topic_names, topic_names};
use coordinator::group::{GroupReply, GroupRequest, StreamsHeartbeatReply};
use wire::create_topics::request::CreatableTopic;
use wire::streams_group_heartbeat::request::Topology;
use wire::streams_group_heartbeat::response::Status;
use wire::{ErrorCode, Str, StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;
use crate::internal_topics;

/// Status of a group whose internal topics do not exist yet.
const MISSING_INTERNAL_TOPICS: i8 = 3;
/// Failures that a status names; of others it gives the number (H-90 d).
const NAMED_FAILURES_MAX: usize = 3;

impl Handler for StreamsGroupHeartbeatRequest {
    const SERVED: RangeInclusive<i16> = 0..=1;

    async fn handle(call: Call, request: Self) -> StreamsGroupHeartbeatResponse {
        let (response, endpoints) = Self::respond(call, request).await;
        StreamsHeartbeatReply { response, endpoints, ..Default::default() }.whole()
    }

    /// The last field lists the endpoints of all members.
    async fn respond(call: Call, request: Self) -> (StreamsGroupHeartbeatResponse, Option<Bytes>) {
        if !super::is_streams_on(&call.image()) {
            return (failed(ErrorCode::UNSUPPORTED_VERSION, None), None);
        }
        if !call.allow(Operation::Read, Resource::Group(request.group_id.as_bytes())) {
            return (failed(ErrorCode::GROUP_AUTHORIZATION_FAILED, None), None);
        }
        if let Some(topology) = &request.topology
            && let Err(refused) = check_topics(&call, topology)
        {
            return (*refused, None);
        }
        let group = request.group_id.clone();
        let leaves = request.member_epoch < 0;
        let question = GroupRequest::StreamsGroupHeartbeat(Box::new(request));
        let (mut response, endpoints) =
            match call.broker.groups.ask(&group, call.caller.clone(), question).await {
                Ok(GroupReply::StreamsGroupHeartbeat(mut reply)) => {
                    note_connection(&call, &group, leaves, &reply);
                    let endpoints = reply.endpoints.take();
                    (create_topics(&call, &group, *reply), endpoints)
                }
                Ok(other) => (failed(super::mismatch("StreamsGroupHeartbeat", &other), None), None),
                Err(unavailable) => (failed(unavailable.into(), None), None),
            };
        if call.version == 0 {
            response.topology_description_required = false;
        }
        (response, endpoints)
    }
}

/// Remembers for whom the connection beats, in case that it closes.
fn note_connection(call: &Call, group: &Str, leaves: bool, reply: &StreamsHeartbeatReply) {
    let departures = &call.broker.departures;
    if leaves {
        departures.leave(call.link.id, group);
    } else if reply.response.error_code == ErrorCode::NONE {
        departures.beat(call.link.id, group, &reply.process_id);
    }
}

/// Checks 3 and 4.
fn check_topics(call: &Call, topology: &Topology) -> Result<(), Box<StreamsGroupHeartbeatResponse>> {
    let names = topic_names(topology);
    refuse_topic_names(&names).map_err(|refusal| match refusal {
        Refusal::Topology(message) => Box::new(failed(ErrorCode::STREAMS_INVALID_TOPOLOGY, Some(message))),
        Refusal::Request(message) => Box::new(failed(ErrorCode::INVALID_REQUEST, Some(message))),
    })?;
    match names.iter().all(|name| call.allow(Operation::Describe, Resource::Topic(name.as_bytes()))) {
        true => Ok(()),
        false => Err(Box::new(failed(ErrorCode::TOPIC_AUTHORIZATION_FAILED, None))),
    }
}

/// H-90: creates what is missing if the caller may, and adds to the status what hinders it.
fn create_topics(call: &Call, group: &Str, reply: StreamsHeartbeatReply) -> StreamsGroupHeartbeatResponse {
    let StreamsHeartbeatReply { mut response, topics_to_create, .. } = reply;
    if topics_to_create.is_empty() {
        return response;
    }
    let denied = denied(call, &topics_to_create);
    if !denied.is_empty() {
        add_detail(&mut response, &format!("the client may not create {}", denied.join(", ")), true);
        return response;
    }
    let failures = call.broker.internal_topics.failures(&topics_to_create, call.now());
    if !failures.is_empty() {
        add_detail(&mut response, &format!("creation failed for {}", listed(&failures)), false);
    }
    let patience = internal_topics::patience(&call.image(), &group.to_str());
    internal_topics::create(&call.broker, topics_to_create, patience);
    response
}

/// Topics that the caller may not create.
fn denied(call: &Call, topics: &[CreatableTopic]) -> Vec<String> {
    if call.allow(Operation::Create, Resource::Cluster) {
        return Vec::new();
    }
    let denied =
        |topic: &&CreatableTopic| !call.allow(Operation::Create, Resource::Topic(topic.name.as_bytes()));
    topics.iter().filter(denied).map(|topic| topic.name.to_string()).collect()
}

fn listed(failures: &[String]) -> String {
    let named = failures.iter().take(NAMED_FAILURES_MAX).cloned().collect::<Vec<_>>().join(", ");
    match failures.len().checked_sub(NAMED_FAILURES_MAX) {
        None | Some(0) => named,
        Some(others) => format!("{named} and {others} more"),
    }
}

/// Lengthens the detail of status 3; without that status a new one is made only if `always`.
fn add_detail(response: &mut StreamsGroupHeartbeatResponse, text: &str, always: bool) {
    let list = response.status.get_or_insert_default();
    match list.iter_mut().find(|status| status.status_code == MISSING_INTERNAL_TOPICS) {
        Some(status) => status.status_detail = Str::from(format!("{}; {text}", status.status_detail)),
        None if always => list.push(Status {
            status_code: MISSING_INTERNAL_TOPICS,
            status_detail: Str::from(text),
            ..Default::default()
        }),
        None => {}
    }
}

fn failed(error_code: ErrorCode, message: Option<String>) -> StreamsGroupHeartbeatResponse {
    StreamsGroupHeartbeatResponse { error_code, error_message: message.map(Str::from), ..Default::default() }
}
