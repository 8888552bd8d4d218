//! ListGroups (key 16), v0–5 (KIP-518, KIP-848).
//!
//! v1 throttle time; v2 throttles after the answer; v3 flexible; v4 states and a filter of them;
//! v5 types and a filter of them.
//! 1. every shard is loaded  else its code (COORDINATOR_LOAD_IN_PROGRESS) and no groups; a shard whose partition is
//!    offline has none, as with Kafka, where nobody leads it
//! 2. DESCRIBE on the cluster, or on the group  else the group is left out

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::list_groups::response::ListedGroup;
use wire::{ErrorCode, ListGroupsRequest, ListGroupsResponse};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for ListGroupsRequest {
    const SERVED: RangeInclusive<i16> = 0..=5;

    async fn handle(call: Call, request: Self) -> ListGroupsResponse {
        let ask = || GroupRequest::ListGroups(request.clone());
        let mut groups = Vec::new();
        for (partition, answer) in (0..).zip(call.broker.groups.ask_all(&call.caller, ask).await) {
            match answer {
                Ok(GroupReply::ListGroups(response)) => groups.extend(response.groups),
                Ok(other) => return failed(super::mismatch("ListGroups", &other)),
                Err(_) if is_offline(&call, partition) => {}
                Err(unavailable) => return failed(unavailable.into()),
            }
        }
        if !call.allow(Operation::Describe, Resource::Cluster) {
            let may_see =
                |it: &ListedGroup| call.allow(Operation::Describe, Resource::Group(it.group_id.as_bytes()));
            groups.retain(may_see);
        }
        ListGroupsResponse { groups, ..Default::default() }
    }
}

/// Whether the files of a shard's partition are damaged or gone: it loads when they are restored, and not before.
fn is_offline(call: &Call, partition: i32) -> bool {
    let image = call.image();
    let topic = image.topic(call.broker.groups.topic());
    topic.is_some_and(|it| call.broker.partitions.get(it.id, partition).is_none())
}

fn failed(error_code: ErrorCode) -> ListGroupsResponse {
    ListGroupsResponse { error_code, ..Default::default() }
}
