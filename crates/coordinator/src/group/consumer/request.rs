//! What a heartbeat must look like before any group is looked at: the table 12.1, in its order.

use super::image::offered_assignors;
use super::partitions::{Partitions, partitions};
use crate::assign::PartitionAssignor;
use crate::group::fail::Fail;
use crate::group::member_epoch::{AWAY, JOIN, LEAVE};
use catalog::Image;
use wire::{ConsumerGroupHeartbeatRequest, ErrorCode, Str};

/// The version from which on members make their own ids (KIP-1082).
const OWN_ID_VERSION: i16 = 1;

pub(super) fn check(
    image: &Image,
    api_version: i16,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<(), Fail> {
    let epoch = request.member_epoch;
    if (api_version >= OWN_ID_VERSION || epoch > JOIN || epoch == LEAVE) && is_blank(&request.member_id) {
        return Err(invalid("MemberId can't be empty."));
    }
    if is_blank(&request.group_id) {
        return Err(invalid("GroupId can't be empty."));
    }
    if request.instance_id.as_ref().is_some_and(is_blank) {
        return Err(invalid("InstanceId can't be empty."));
    }
    if request.rack_id.as_ref().is_some_and(is_blank) {
        return Err(invalid("RackId can't be empty."));
    }
    if epoch == JOIN {
        check_join(request)?;
    }
    if epoch == AWAY && request.instance_id.is_none() {
        return Err(invalid("InstanceId can't be null."));
    }
    if epoch < AWAY {
        return Err(invalid("MemberEpoch is invalid."));
    }
    check_assignor(image, request)
}

fn check_join(request: &ConsumerGroupHeartbeatRequest) -> Result<(), Fail> {
    if request.rebalance_timeout_ms == -1 {
        return Err(invalid("RebalanceTimeoutMs must be provided in first request."));
    }
    if request.topic_partitions.as_ref().is_none_or(|it| !it.is_empty()) {
        return Err(invalid("TopicPartitions must be empty when (re-)joining."));
    }
    if request.subscribed_topic_names.is_none() && request.subscribed_topic_regex.is_none() {
        return Err(invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ));
    }
    Ok(())
}

fn check_assignor(image: &Image, request: &ConsumerGroupHeartbeatRequest) -> Result<(), Fail> {
    let Some(name) = &request.server_assignor else { return Ok(()) };
    let offered = offered_assignors(image);
    if offered.iter().any(|it| it.name().as_bytes() == name.as_bytes()) {
        return Ok(());
    }
    let names: Vec<_> = offered.into_iter().map(PartitionAssignor::name).collect();
    let message =
        format!("ServerAssignor {name} is not supported. Supported assignors: {}.", names.join(", "));
    Err(Fail::new(ErrorCode::UNSUPPORTED_ASSIGNOR, message))
}

/// What the member says that it owns; `None` if it does not say.
pub(super) fn owned(request: &ConsumerGroupHeartbeatRequest) -> Option<Partitions> {
    let topics = request.topic_partitions.as_ref()?;
    Some(partitions(topics.iter().map(|it| (it.topic_id, it.partitions.as_slice()))))
}

/// 12.12: a request that tells all that a member can tell, as after a lost response.
pub(super) fn is_full(request: &ConsumerGroupHeartbeatRequest) -> bool {
    request.rebalance_timeout_ms != -1
        && (request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some())
        && request.topic_partitions.is_some()
}

/// Nothing but what Java's `trim` takes away: blanks and control characters of ASCII, no other kind of space.
fn is_blank(text: &Str) -> bool {
    text.as_bytes().iter().all(|it| *it <= b' ')
}

fn invalid(message: &str) -> Fail {
    Fail::new(ErrorCode::INVALID_REQUEST, message)
}
