//! A member goes: it leaves, its session ends, or it does not give up its tasks in time (3.5).
//!
//! Checks of a leave, in order; neither the epoch nor the owned tasks are looked at (H-71):
//! 1. the group is a streams group   else GROUP_ID_NOT_FOUND
//! 2. an instance id, if given, is known and the member's   else UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID
//! 3. the member is one of its       else UNKNOWN_MEMBER_ID; a wish to shut down counts even so
//!
//! A static member that leaves for a while (epoch -2) stays a member, and its session goes on.
//!
//! Nothing is computed for those who stay: the next heartbeat of one of them does that (1.3).

use super::StreamsGroup;
use super::heartbeat;
use super::records::{self, GroupMetadata};
use super::static_members;
use crate::group::fail::Fail;
use crate::group::member_epoch::LEAVE;
use crate::group::request::StreamsHeartbeatReply;
use crate::group::soft::TimerKey;
use crate::group::step::Step;
use wire::consumer_offsets::Record;
use wire::{ErrorCode, Str, StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse};

/// H-70.
pub(super) fn leave(
    step: &mut Step<'_>,
    request: &StreamsGroupHeartbeatRequest,
) -> Result<StreamsHeartbeatReply, Fail> {
    let (group_id, member_id) = (&request.group_id, &request.member_id);
    let group = heartbeat::existing_group(&step.hard, group_id)?;
    let member = group.members.get_key_value(member_id).map(|(id, _)| id.clone());
    if request.shutdown_application && !group.is_empty() {
        let soft = step.soft.streams.entry(group_id.detach()).or_default();
        soft.shutdown_requester.get_or_insert_with(|| member_id.detach());
    }
    static_members::check_holder(group, request)?;
    let Some(member) = member else {
        let message = format!("Member {member_id} is not a member of group {group_id}.");
        return Err(Fail::new(ErrorCode::UNKNOWN_MEMBER_ID, message));
    };
    match request.member_epoch {
        LEAVE => remove_member(step, &group_id.detach(), &member),
        _ => go_away(step, group_id, &member),
    }
    let response = StreamsGroupHeartbeatResponse {
        member_id: member,
        member_epoch: request.member_epoch,
        status: Some(Vec::new()),
        ..Default::default()
    };
    Ok(StreamsHeartbeatReply { response, ..Default::default() })
}

/// H-82: one record, and none if the member is away already.
fn go_away(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    let Some(member) = step.hard.streams(group_id).and_then(|it| it.member(member_id)) else { return };
    let away = static_members::away(&member.current);
    if away != member.current {
        step.record(records::current(group_id, member_id, &away));
    }
    if let Some(soft) = step.soft.streams.get_mut(group_id) {
        soft.forget_revocation(member_id);
    }
    step.soft.timers.cancel(&TimerKey::Rebalance { group: group_id.clone(), member: member_id.clone() });
}

/// The member's tombstones and the group's next epoch; nothing if the member is not there.
pub(super) fn remove_member(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    let Some(group) = step.hard.streams(group_id) else { return };
    if group.member(member_id).is_none() {
        return;
    }
    let is_last = group.members().len() == 1;
    for record in removal(group_id, group, member_id, is_last) {
        step.record(record);
    }
    forget_member(step, group_id, member_id, is_last);
}

/// Drops what is remembered of a member without records, its timers too.
pub(super) fn forget_member(step: &mut Step<'_>, group_id: &Str, member_id: &Str, is_last: bool) {
    if let Some(soft) = step.soft.streams.get_mut(group_id) {
        soft.forget_member(member_id, is_last);
    }
    let (group, member) = (group_id.clone(), member_id.clone());
    step.soft.timers.cancel(&TimerKey::Session { group: group.clone(), member: member.clone() });
    step.soft.timers.cancel(&TimerKey::Rebalance { group, member });
}

fn removal(group_id: &Str, group: &StreamsGroup, member_id: &Str, is_last: bool) -> Vec<Record> {
    let mut all = Vec::from(records::member_tombstones(group_id, member_id));
    let metadata = GroupMetadata {
        epoch: group.epoch + 1,
        metadata_hash: group.metadata_hash,
        validated_topology_epoch: group.validated_topology_epoch,
        assignment_configs: &group.assignment_configs,
    };
    all.push(metadata.record(group_id, group));
    if is_last {
        // Timestamp 0: who comes next does not wait for the assignment interval.
        all.push(records::target_metadata(group_id, metadata.epoch, 0));
    }
    all
}
