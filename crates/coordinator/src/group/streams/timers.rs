//! What happens to streams groups without a request: deadlines pass, topics change, a shard is loaded.

use std::sync::Arc;

use super::heartbeat::{Decision, Revocation};
use super::image::{assignor, settings};
use super::leave::remove_member;
use super::target::{self, Assignment};
use super::{MemberState, StreamsSoft, warmup};
use crate::group::soft::{Soft, TimerKey};
use crate::group::state::Group;
use crate::group::step::Step;
use crate::machine::{Millis, TopicsChange};
use crate::timers::Timers;
use wire::Str;

/// S-5: full timeouts from now. An initial rebalance delay is not taken up again (H-62).
pub fn loaded(step: &mut Step<'_>) {
    for (group_id, group) in step.hard.groups() {
        let Group::Streams(group) = group else { continue };
        let settings = settings(step.image, group_id);
        for (member_id, member) in group.members() {
            step.soft
                .timers
                .set(session(group_id, member_id), step.now + Millis::from(settings.session_timeout_ms));
            // One that is away gave up what it had to; its session alone counts (H-82).
            if member.current.state == MemberState::UnrevokedTasks && !member.current.is_away() {
                let timeout = Millis::from(member.metadata.rebalance_timeout_ms);
                step.soft.timers.set(rebalance(group_id, member_id), step.now + timeout);
                let soft = step.soft.streams.entry(group_id.clone()).or_default();
                soft.revoking.insert(member_id.clone(), member.current.epoch);
            }
        }
    }
}

/// T-33: groups that require one of these topics look at them again at their next heartbeat.
pub fn topics_changed(step: &mut Step<'_>, change: &TopicsChange) {
    let names = || change.changed.iter().chain(change.deleted.iter().map(|(name, _)| name));
    let Soft { streams, topic_hashes, .. } = &mut *step.soft;
    for name in names() {
        topic_hashes.forget(name);
    }
    for (group_id, soft) in streams.iter_mut().filter(|(_, soft)| soft.hash_checked) {
        let Some(topology) = step.hard.streams(group_id).and_then(|it| it.topology.as_ref()) else {
            continue;
        };
        let required = topology.required_topics();
        if names().any(|name| required.contains(&Str::from(&**name))) {
            soft.hash_checked = false;
        }
    }
}

/// H-60: the first assignment of a group that was empty. Its members get their tasks with their next
/// heartbeats. Nothing happens if the group is gone or empty again.
pub fn initial_delay_over(step: &mut Step<'_>, group_id: &Str) {
    let Some(group) = step.hard.streams(group_id).filter(|it| !it.is_empty()) else { return };
    let Some(soft) = step.soft.streams.get(group_id) else { return };
    let Some(configured) = soft.configured.as_ref().map(Arc::clone) else { return };
    if group.epoch <= group.assignment_epoch {
        return;
    }
    let group_settings = settings(step.image, group_id);
    let assignment = Assignment {
        group,
        updated: None,
        configured: &configured,
        offsets: &soft.offsets,
        updated_offsets: None,
        standby_replicas: target::stored_standby_replicas(group).unwrap_or(0),
        assignor: assignor(step.image, group_settings),
        spread_tags: &group_settings.rack_aware_assignment_tags,
    };
    let targets = assignment.compute();
    let planned = warmup::plan::Planner {
        now: step.now,
        limits: warmup::limits(step.image, settings(step.image, group_id)),
        group,
        updated: None,
        targets: &targets,
        configured: &configured,
        offsets: &soft.offsets,
        warmups: &soft.warmups,
    };
    let planned = planned.fresh();
    let computed_at = target::timestamp(step.image, &configured, step.now);
    let records: Vec<_> = target::records(group_id, group, &targets, group.epoch, computed_at).collect();
    for record in records {
        step.record(record);
    }
    if let Some(soft) = step.soft.streams.get_mut(group_id) {
        soft.warmups.remember(planned);
    }
    warmup::carry_on(step, group_id);
}

/// H-72. A wake that is late by more than a session (the host stood still, or its clock jumped) says
/// nothing about the member: it gets one heartbeat interval to be heard of.
pub fn session_over(step: &mut Step<'_>, group_id: &Str, member_id: &Str, deadline: Millis) {
    let settings = settings(step.image, group_id);
    if step.now - deadline > Millis::from(settings.session_timeout_ms) {
        let deadline = step.now + Millis::from(settings.heartbeat_interval_ms);
        step.soft.timers.set(session(group_id, member_id), deadline);
        return;
    }
    remove_member(step, group_id, member_id);
}

/// H-73: the timer counts only for the epoch at which the member was told to give up tasks.
pub fn rebalance_over(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    let told_at = step.soft.streams.get(group_id).and_then(|it| it.revoking.get(member_id)).copied();
    let member = step.hard.streams(group_id).and_then(|group| group.member(member_id));
    if member.is_some_and(|it| Some(it.current.epoch) == told_at) {
        remove_member(step, group_id, member_id);
    }
}

/// Forgets timers and soft state of a group whose tombstones were just recorded.
pub fn forget(step: &mut Step<'_>, group_id: &Str) {
    step.soft.timers.cancel(&TimerKey::InitialRebalance { group: group_id.clone() });
    step.soft.timers.cancel(&TimerKey::Warmup { group: group_id.clone() });
    step.soft.streams.remove(group_id);
}

/// H-33.
pub(super) fn delayed_until(timers: &Timers<TimerKey>, group_id: &Str) -> Option<Millis> {
    timers.get(&TimerKey::InitialRebalance { group: group_id.clone() })
}

/// Makes the group's soft state if it is missing, and gives the id under which it stands: one that does
/// not hold the frame of a request.
pub(super) fn soft_group(soft: &mut Soft, group_id: &Str) -> Str {
    if let Some((id, _)) = soft.streams.get_key_value(group_id) {
        return id.clone();
    }
    let id = group_id.detach();
    soft.streams.insert(id.clone(), StreamsSoft::default());
    id
}

/// H-33, H-38 and H-39, after a heartbeat.
pub(super) fn set(
    timers: &mut Timers<TimerKey>,
    group_id: &Str,
    member_id: &Str,
    session_until: Millis,
    decision: &Decision,
) {
    timers.set(session(group_id, member_id), session_until);
    match decision.revocation {
        Revocation::Unchanged => {}
        Revocation::Until(deadline) => timers.set(rebalance(group_id, member_id), deadline),
        Revocation::Over => {
            timers.cancel(&rebalance(group_id, member_id));
        }
    }
    if let Some(deadline) = decision.delay_until {
        timers.set(TimerKey::InitialRebalance { group: group_id.clone() }, deadline);
    }
}

pub(super) fn session(group_id: &Str, member_id: &Str) -> TimerKey {
    TimerKey::Session { group: group_id.clone(), member: member_id.clone() }
}

fn rebalance(group_id: &Str, member_id: &Str) -> TimerKey {
    TimerKey::Rebalance { group: group_id.clone(), member: member_id.clone() }
}
