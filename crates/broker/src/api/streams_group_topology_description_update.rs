//! StreamsGroupTopologyDescriptionUpdate (key 93), v0 (KIP-1331): a member sends the description of its topology.
//!
//! 1. the streams protocol is on     else UNSUPPORTED_VERSION
//! 2. READ on the group              else GROUP_AUTHORIZATION_FAILED
//! 3. descriptions are kept          else UNSUPPORTED_VERSION with a message, as Kafka without a plugin
//! 4. the shard answers              else NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS
//! 5. ids, group, member and epoch are right (in the shard, `coordinator/src/group/streams/description.rs`)

use std::ops::RangeInclusive;

use coordinator::group::streams::keeps_descriptions;
use coordinator::group::{GroupReply, GroupRequest};
use wire::{
    ErrorCode, Str, StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for StreamsGroupTopologyDescriptionUpdateRequest {
    const SERVED: RangeInclusive<i16> = 0..=0;

    async fn handle(call: Call, request: Self) -> StreamsGroupTopologyDescriptionUpdateResponse {
        if !super::is_streams_on(&call.image()) {
            return failed(ErrorCode::UNSUPPORTED_VERSION, None);
        }
        if !call.allow(Operation::Read, Resource::Group(request.group_id.as_bytes())) {
            return failed(ErrorCode::GROUP_AUTHORIZATION_FAILED, None);
        }
        if !keeps_descriptions(&call.image()) {
            let message = "Descriptions of topologies are not kept here.";
            return failed(ErrorCode::UNSUPPORTED_VERSION, Some(message));
        }
        let group = request.group_id.clone();
        let question = GroupRequest::StreamsGroupTopologyDescriptionUpdate(Box::new(request));
        match call.broker.groups.ask(&group, call.caller.clone(), question).await {
            Ok(GroupReply::StreamsGroupTopologyDescriptionUpdate(response)) => response,
            Ok(other) => failed(super::mismatch("StreamsGroupTopologyDescriptionUpdate", &other), None),
            Err(unavailable) => failed(unavailable.into(), None),
        }
    }
}

fn failed(
    error_code: ErrorCode,
    message: Option<&'static str>,
) -> StreamsGroupTopologyDescriptionUpdateResponse {
    let error_message = message.map(Str::from_static);
    StreamsGroupTopologyDescriptionUpdateResponse { error_code, error_message, ..Default::default() }
}
