//! DeleteGroups (key 42), v0–3 (KIP-229, KIP-1331).
//!
//! v1 throttles after the answer; v2 flexible; v3 messages, and GROUP_DELETION_FAILED, which older
//! versions see as UNKNOWN_SERVER_ERROR. Names that come twice count once; those that the caller may
//! not delete come last.
//! 1. DELETE on the group  else GROUP_AUTHORIZATION_FAILED
//! 2. this broker owns it  else NOT_COORDINATOR
//! 3. its shard is loaded  else COORDINATOR_LOAD_IN_PROGRESS
//! 4. the group exists     else GROUP_ID_NOT_FOUND (in the shard)
//! 5. it has no members    else NON_EMPTY_GROUP (in the shard)

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use coordinator::group::{GroupReply, GroupRequest};
use wire::delete_groups::response::DeletableGroupResult;
use wire::{DeleteGroupsRequest, DeleteGroupsResponse, ErrorCode, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for DeleteGroupsRequest {
    const SERVED: RangeInclusive<i16> = 0..=3;

    async fn handle(call: Call, request: Self) -> DeleteGroupsResponse {
        let names: BTreeSet<_> = request.groups_names.into_iter().collect();
        let may_delete = |id: &Str| call.allow(Operation::Delete, Resource::Group(id.as_bytes()));
        let (allowed, denied): (Vec<_>, Vec<_>) = names.into_iter().partition(may_delete);
        let mut results = Vec::new();
        let answers = call.broker.groups.ask_each(allowed, &call.caller, GroupRequest::DeleteGroups).await;
        for (ids, answer) in answers {
            match answer {
                Ok(GroupReply::DeleteGroups(deleted)) => results.extend(deleted),
                Ok(other) => results.extend(failed(&ids, super::mismatch("DeleteGroups", &other))),
                Err(unavailable) => results.extend(failed(&ids, unavailable.into())),
            }
        }
        results.extend(failed(&denied, ErrorCode::GROUP_AUTHORIZATION_FAILED));
        for result in results.iter_mut().filter(|_| call.version < 3) {
            if result.error_code == ErrorCode::GROUP_DELETION_FAILED {
                result.error_code = ErrorCode::UNKNOWN_SERVER_ERROR;
            }
        }
        DeleteGroupsResponse { results, ..Default::default() }
    }
}

fn failed(ids: &[Str], error_code: ErrorCode) -> Vec<DeletableGroupResult> {
    let failed = |id: &Str| DeletableGroupResult { group_id: id.clone(), error_code, ..Default::default() };
    ids.iter().map(failed).collect()
}
