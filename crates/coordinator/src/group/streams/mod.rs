//! Streams groups (KIP-1071). The seam to the rest of the shard; bodies follow.

pub mod configure;
pub mod hash;
pub mod topology;

use crate::group::fail::Fail;
use crate::group::request::StreamsHeartbeatReply;
use crate::group::step::Step;
use crate::machine::{Caller, Millis, TopicsChange};
use crate::wire::consumer_offsets::{
    StreamsGroupCurrentMemberAssignmentValue, StreamsGroupMemberMetadataValue, StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberValue, StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyValue,
};
use crate::wire::streams_group_describe::response::DescribedGroup;
use crate::wire::{Str, StreamsGroupHeartbeatRequest};

/// What the records 17 and 19 to 23 of one group say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamsGroup {}

/// What one group remembers without records.
#[derive(Debug, Default)]
pub struct StreamsSoft {}

/// StreamsGroupHeartbeat: the checks of the service (H-9 to H-16) and of the group. What returns a
/// [`Fail`] has recorded nothing.
pub fn heartbeat(
    _step: &mut Step<'_>,
    _caller: &Caller,
    _request: &StreamsGroupHeartbeatRequest,
) -> Result<StreamsHeartbeatReply, Fail> {
    todo!()
}

/// One group of StreamsGroupDescribe (D-3), without the checks that the group exists and is a
/// streams group.
pub fn describe(_step: &Step<'_>, _group_id: &Str, _group: &StreamsGroup) -> DescribedGroup {
    todo!()
}

/// Arms the timers of all streams groups after a load (S-5).
pub fn loaded(_step: &mut Step<'_>) {}

/// Marks groups whose required topics changed, so that their next heartbeat looks (T-32).
pub fn topics_changed(_step: &mut Step<'_>, _change: &TopicsChange) {}

/// H-60 to H-62.
pub fn initial_delay_over(_step: &mut Step<'_>, _group: &Str) {}

/// H-72. `deadline` tells how late the wake is.
pub fn session_over(_step: &mut Step<'_>, _group: &Str, _member: &Str, _deadline: Millis) {}

/// H-73.
pub fn rebalance_over(_step: &mut Step<'_>, _group: &Str, _member: &Str) {}

/// Forgets timers and soft state of a group whose tombstones were just recorded.
pub fn forget(step: &mut Step<'_>, group: &Str) {
    step.soft.streams.remove(group);
}

impl StreamsGroup {
    /// Name of the state on the wire (1.3).
    pub fn state_name(&self) -> &'static str {
        "Empty"
    }

    /// True without members.
    pub fn is_empty(&self) -> bool {
        true
    }

    /// Epoch of a member, for offset commits and fetches (O-1, O-6).
    pub fn member_epoch(&self, _member: &Str) -> Option<i32> {
        None
    }

    /// Epoch at which the member was given the active task that reads this source partition;
    /// assigned tasks and those pending revocation count. `None` without a topology, for a topic
    /// that is not a source topic, and for a task that the member lacks (O-1, rule 8).
    pub fn assignment_epoch(&self, _member: &Str, _topic: &Str, _partition: i32) -> Option<i32> {
        None
    }

    /// True if the group has members and the topic is in its source topic map (O-7, O-8).
    pub fn subscribes_to(&self, _topic: &Str) -> bool {
        false
    }

    /// True if no tombstone of a member is outstanding and none holds a target: what the
    /// tombstones of records 17 and 20 ask (P-3).
    pub fn may_be_removed(&self) -> bool {
        true
    }

    pub(super) fn apply_metadata(&mut self, _value: &StreamsGroupMetadataValue) {}

    pub(super) fn apply_member(&mut self, _member: &Str, _value: Option<&StreamsGroupMemberMetadataValue>) {}

    pub(super) fn apply_target_metadata(
        &mut self,
        _value: Option<&StreamsGroupTargetAssignmentMetadataValue>,
    ) {
    }

    pub(super) fn apply_target(
        &mut self,
        _member: &Str,
        _value: Option<&StreamsGroupTargetAssignmentMemberValue>,
    ) {
    }

    pub(super) fn apply_current(
        &mut self,
        _member: &Str,
        _value: Option<&StreamsGroupCurrentMemberAssignmentValue>,
    ) {
    }

    pub(super) fn apply_topology(&mut self, _value: Option<&StreamsGroupTopologyValue>) {}
}
