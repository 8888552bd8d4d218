//! SyncGroup, Heartbeat and LeaveGroup of members of the classic protocol in a consumer group (18.3,
//! 18.4). LeaveGroup takes members of both protocols away, as an administrator does.
//!
//! Checks of SyncGroup and Heartbeat, in order:
//! 1. the member is there, and the instance id its own   else UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID
//! 2. it is one of the classic protocol                  else UNKNOWN_MEMBER_ID
//! 3. the generation is its epoch                        else ILLEGAL_GENERATION
//! 4. SyncGroup: type and name, where given, are those of its join   else INCONSISTENT_GROUP_PROTOCOL
//! 5. it need not join again                             else REBALANCE_IN_PROGRESS
//!
//! A member that must give up partitions learns so from its assignment: its sync is answered, and its
//! heartbeats then call it to join again, with what it still owns.

use super::image::settings;
use super::leave::remove_members;
use super::place::{existing_static, unknown};
use super::{ClassicMember, ConsumerGroup, ConsumerMember, MemberState, timers};
use crate::group::classic::live::CONSUMER;
use crate::group::embedded;
use crate::group::fail::Fail;
use crate::group::pulse::Pulse;
use crate::group::step::Step;
use crate::machine::Millis;
use wire::leave_group::request::MemberIdentity;
use wire::leave_group::response::MemberResponse;
use wire::{
    ErrorCode, HeartbeatRequest, LeaveGroupRequest, LeaveGroupResponse, Str, SyncGroupRequest,
    SyncGroupResponse,
};

/// Where a member of the classic protocol stands.
struct Place<'a> {
    group: &'a ConsumerGroup,
    /// As it is kept.
    id: &'a Str,
    member: &'a ConsumerMember,
    classic: &'a ClassicMember,
}

/// Checks 1 to 3.
fn find<'a>(
    step: &'a Step<'_>,
    group_id: &Str,
    member_id: &Str,
    instance: Option<&Str>,
    generation: i32,
) -> Result<Place<'a>, ErrorCode> {
    let group = step.hard.consumer(group_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
    existing(group, group_id, member_id, instance).map_err(|it| it.code)?;
    let (id, member) = group.members.get_key_value(member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
    let classic = member.metadata.classic.as_ref().ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
    if generation != member.current.epoch {
        return Err(ErrorCode::ILLEGAL_GENERATION);
    }
    Ok(Place { group, id, member, classic })
}

fn existing<'a>(
    group: &'a ConsumerGroup,
    group_id: &Str,
    member_id: &Str,
    instance: Option<&Str>,
) -> Result<&'a ConsumerMember, Fail> {
    match instance {
        Some(instance) => existing_static(group, member_id, instance, group_id),
        None => group.member(member_id).ok_or_else(|| unknown(member_id, group_id)),
    }
}

/// 18.3: the member's partitions.
pub fn sync(step: &mut Step<'_>, request: &SyncGroupRequest) -> SyncGroupResponse {
    let (group_id, member_id) = (&request.group_id, &request.member_id);
    match assignment(step, request) {
        Ok(response) => {
            let group_id = timers::soft_group(step.soft, group_id);
            timers::synced(step.soft, &group_id, member_id);
            renew_session(step, &group_id, member_id);
            response
        }
        Err(error_code) => {
            if error_code == ErrorCode::REBALANCE_IN_PROGRESS {
                call_to_join(step, group_id, member_id);
            }
            SyncGroupResponse { error_code, ..Default::default() }
        }
    }
}

/// The answer carries type and name as they were asked.
fn assignment(step: &Step<'_>, request: &SyncGroupRequest) -> Result<SyncGroupResponse, ErrorCode> {
    let instance = request.group_instance_id.as_ref();
    let place = find(step, &request.group_id, &request.member_id, instance, request.generation_id)?;
    let (name, metadata) = place.classic.protocols.first().ok_or(ErrorCode::INCONSISTENT_GROUP_PROTOCOL)?;
    if request.protocol_type.as_ref().is_some_and(|it| *it != CONSUMER)
        || request.protocol_name.as_ref().is_some_and(|it| it != name)
    {
        return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    }
    let current = &place.member.current;
    // One that must give up partitions did join; the rest follows from its heartbeats.
    if place.group.assignment_epoch > current.epoch && current.state != MemberState::UnrevokedPartitions {
        return Err(ErrorCode::REBALANCE_IN_PROGRESS);
    }
    let assignment = embedded::write_assignment(step.image, &current.assigned.partitions(), metadata)
        .map_err(|_| ErrorCode::UNKNOWN_SERVER_ERROR)?;
    Ok(SyncGroupResponse {
        protocol_type: request.protocol_type.clone(),
        protocol_name: request.protocol_name.clone(),
        assignment,
        ..Default::default()
    })
}

/// 18.4.
pub fn classic_heartbeat(step: &mut Step<'_>, request: &HeartbeatRequest) -> Result<(), ErrorCode> {
    let (group_id, member_id) = (&request.group_id, &request.member_id);
    let instance = request.group_instance_id.as_ref();
    let Place { group, id, member, .. } = find(step, group_id, member_id, instance, request.generation_id)?;
    let must_join = member.current.epoch < group.assignment_epoch
        || match member.current.state {
            MemberState::UnrevokedPartitions => true,
            MemberState::UnreleasedPartitions => !group.waits_for_others(id, member),
            MemberState::Stable | MemberState::Unknown => false,
        }
        || nobody_else_looks(step, group_id, group);
    let group_id = timers::soft_group(step.soft, group_id);
    renew_session(step, &group_id, member_id);
    if must_join {
        call_to_join(step, &group_id, member_id);
        return Err(ErrorCode::REBALANCE_IN_PROGRESS);
    }
    Ok(())
}

/// Targets are computed, and topics looked at, when a member joins or heartbeats by the consumer protocol. If
/// nobody does, a join of this one must do it: with Kafka the group would go on as it is, and partitions of who
/// left or of a topic that grew would be nobody's.
fn nobody_else_looks(step: &Step<'_>, group_id: &Str, group: &ConsumerGroup) -> bool {
    let interval = settings(step.image, group_id).assignment_interval_ms;
    let needs_target = group.epoch > group.assignment_epoch && group.may_compute(interval, step.now);
    let soft = step.soft.consumer.get(group_id);
    let looks_at_topics = soft.is_none_or(|it| it.refresh.is_due(step.now, group.epoch));
    (needs_target || looks_at_topics) && group.is_all_classic()
}

/// A whole session from now.
fn renew_session(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    let Some((id, member)) = kept(step, group_id, member_id) else { return };
    let session = member.metadata.classic.as_ref().map_or(0, |it| it.session_timeout_ms);
    let (id, until) = (id.clone(), step.now + Millis::from(session));
    timers::set_session(step.soft, group_id, &id, until);
    hear(step, group_id, &id);
}

/// Members of the classic protocol come as often as they like, and are never taken for gone (CR-26): only when they
/// were heard of is told.
pub(super) fn hear(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    const NO_CONNECTION: u64 = 0;
    let soft = step.soft.consumer.entry(group_id.clone()).or_default();
    soft.pulses.insert(member_id.clone(), Pulse::untold(step.now, NO_CONNECTION));
}

fn call_to_join(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    let Some((id, member)) = kept(step, group_id, member_id) else { return };
    let (id, until) = (id.clone(), step.now + Millis::from(member.metadata.rebalance_timeout_ms));
    let group_id = timers::soft_group(step.soft, group_id);
    timers::call_to_join(step.soft, &group_id, &id, until);
}

fn kept<'a>(step: &'a Step<'_>, group_id: &Str, member_id: &Str) -> Option<(&'a Str, &'a ConsumerMember)> {
    step.hard.consumer(group_id)?.members.get_key_value(member_id)
}

/// 6.18 and 16.2: the members that are there go, with one epoch for all.
pub fn classic_leave(step: &mut Step<'_>, request: &LeaveGroupRequest) -> LeaveGroupResponse {
    let group_id = &request.group_id;
    let mut gone = Vec::new();
    let members = request.members.iter().map(|leaving| {
        let found = leaving_member(step, group_id, leaving);
        let error_code = match found {
            Ok(id) => {
                gone.push(id);
                ErrorCode::NONE
            }
            Err(code) => code,
        };
        MemberResponse {
            member_id: leaving.member_id.clone(),
            group_instance_id: leaving.group_instance_id.clone(),
            error_code,
            ..Default::default()
        }
    });
    let members = members.collect();
    remove_members(step, &group_id.detach(), &gone);
    LeaveGroupResponse { members, ..Default::default() }
}

/// A static member may be named by its instance id alone.
fn leaving_member(step: &Step<'_>, group_id: &Str, leaving: &MemberIdentity) -> Result<Str, ErrorCode> {
    let group = step.hard.consumer(group_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
    let instance = leaving.group_instance_id.as_ref();
    if let (true, Some(instance)) = (leaving.member_id.is_empty(), instance) {
        let (id, _) = group.static_member(instance).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        return Ok(id.clone());
    }
    existing(group, group_id, &leaving.member_id, instance).map_err(|it| it.code)?;
    Ok(leaving.member_id.clone())
}
