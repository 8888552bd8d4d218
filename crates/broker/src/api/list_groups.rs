//! ListGroups (key 16), v0–5 (KIP-518, KIP-848).
//!
//! v1 throttle time; v2 throttles after the answer; v3 flexible; v4 states and a filter of them;
//! v5 types and a filter of them.
//! 1. every shard is loaded  else its code (COORDINATOR_LOAD_IN_PROGRESS) and no groups; a shard that can't be loaded
//!    has none, as with Kafka, where nobody leads a partition that is offline
//! 2. DESCRIBE on the cluster, or on the group  else the group is left out

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::list_groups::response::ListedGroup;
use wire::{ErrorCode, ListGroupsRequest, ListGroupsResponse};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;
use crate::shards::Unavailable;

impl Handler for ListGroupsRequest {
    const SERVED: RangeInclusive<i16> = 0..=5;

    async fn handle(call: Call, request: Self) -> ListGroupsResponse {
        let ask = || GroupRequest::ListGroups(request.clone());
        let mut groups = Vec::new();
        for answer in call.broker.groups.ask_all(&call.caller, ask).await {
            match answer {
                Ok(GroupReply::ListGroups(response)) => groups.extend(response.groups),
                Ok(other) => return failed(super::mismatch("ListGroups", &other)),
                Err(Unavailable::Failed) => {}
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

fn failed(error_code: ErrorCode) -> ListGroupsResponse {
    ListGroupsResponse { error_code, ..Default::default() }
}
