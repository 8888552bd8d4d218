//! DescribeGroups (key 15), v0–6 (KIP-345, KIP-430, KIP-1043). Describes classic groups; what the
//! shard answers for others depends on the version.
//!
//! v1 throttle time; v2 throttles after the answer; v3 authorized operations; v4 instance ids;
//! v5 flexible; v6 GROUP_ID_NOT_FOUND with a message instead of a dead group.
//! 1. DESCRIBE on the group     else GROUP_AUTHORIZATION_FAILED; these entries come first
//! 2. this broker owns it       else NOT_COORDINATOR
//! 3. its shard is loaded       else COORDINATOR_LOAD_IN_PROGRESS
//! 4. v6: it is a classic group else GROUP_ID_NOT_FOUND (in the shard)

use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::describe_groups::response::DescribedGroup;
use wire::{DescribeGroupsRequest, DescribeGroupsResponse, ErrorCode, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for DescribeGroupsRequest {
    const SERVED: RangeInclusive<i16> = 0..=6;

    async fn handle(call: Call, request: Self) -> DescribeGroupsResponse {
        let may_see = |id: &Str| call.allow(Operation::Describe, Resource::Group(id.as_bytes()));
        let (allowed, denied): (Vec<_>, Vec<_>) = request.groups.into_iter().partition(may_see);
        let mut groups = failed(&denied, ErrorCode::GROUP_AUTHORIZATION_FAILED);
        let answers = call.broker.groups.ask_each(allowed, &call.caller, GroupRequest::DescribeGroups).await;
        for (ids, answer) in answers {
            match answer {
                Ok(GroupReply::DescribeGroups(described)) => groups.extend(described),
                Ok(other) => groups.extend(failed(&ids, super::mismatch("DescribeGroups", &other))),
                Err(unavailable) => groups.extend(failed(&ids, unavailable.into())),
            }
        }
        if request.include_authorized_operations {
            for group in groups.iter_mut().filter(|it| it.error_code == ErrorCode::NONE) {
                let resource = Resource::Group(group.group_id.as_bytes());
                group.authorized_operations = call.authorized_operations(resource);
            }
        }
        DescribeGroupsResponse { groups, ..Default::default() }
    }
}

fn failed(ids: &[Str], error_code: ErrorCode) -> Vec<DescribedGroup> {
    let failed = |id: &Str| DescribedGroup { group_id: id.clone(), error_code, ..Default::default() };
    ids.iter().map(failed).collect()
}
