//! What happens to consumer groups without a request: deadlines pass, topics change, a shard is loaded.

use super::image::settings;
use super::leave::remove_members;
use super::soft::Refresh;
use super::update::Revocation;
use super::{ConsumerSoft, MemberState};
use crate::group::soft::{Soft, TimerKey};
use crate::group::state::Group;
use crate::group::step::Step;
use crate::machine::{Millis, TopicsChange};
use wire::Str;

/// 16.3: full timeouts from now.
pub fn loaded(step: &mut Step<'_>) {
    for (group_id, group) in step.hard.groups() {
        let Group::Consumer(group) = group else { continue };
        let session_until = step.now + Millis::from(settings(step.image, group_id).session_timeout_ms);
        // Classic members too have the session of the others until they are heard of, as in Kafka.
        for (member_id, member) in group.members() {
            step.soft.timers.set(session(group_id, member_id), session_until);
            if member.current.state == MemberState::UnrevokedPartitions {
                let timeout = Millis::from(member.metadata.rebalance_timeout_ms);
                step.soft.timers.set(rebalance(group_id, member_id), step.now + timeout);
                let soft = step.soft.consumer.entry(group_id.clone()).or_default();
                soft.revoking.insert(member_id.clone(), member.current.epoch);
            }
        }
    }
}

/// 11.7: groups that subscribe to one of these topics look at them again at their next heartbeat.
///
/// Which of the topics are new is not known here, so one that changed in another way counts as new for
/// regular expressions too: that costs a resolution which changes nothing.
pub fn topics_changed(step: &mut Step<'_>, change: &TopicsChange) {
    let names = || change.changed.iter().chain(change.deleted.iter().map(|(name, _)| name));
    for name in names() {
        step.soft.topic_hashes.forget(name);
    }
    if change.changed.iter().any(|name| step.image.topic(name).is_some()) {
        step.soft.topics_version = step.image.version();
    }
    for (group_id, soft) in &mut step.soft.consumer {
        let Some(group) = step.hard.consumer(group_id) else { continue };
        if names().any(|name| group.subscriptions().contains(name.as_bytes())) {
            soft.refresh = Refresh::default();
        }
    }
}

/// 16.3. A wake that is late by more than a session (the host stood still, or its clock jumped) says
/// nothing about the member: it gets one heartbeat interval to be heard of.
pub fn session_over(step: &mut Step<'_>, group_id: &Str, member_id: &Str, deadline: Millis) {
    let settings = settings(step.image, group_id);
    if step.now - deadline > Millis::from(settings.session_timeout_ms) {
        let deadline = step.now + Millis::from(settings.heartbeat_interval_ms);
        step.soft.timers.set(session(group_id, member_id), deadline);
        return;
    }
    remove_members(step, group_id, std::slice::from_ref(member_id));
}

/// 16.3: the timer counts only for the epoch at which the member was told to give up partitions.
pub fn rebalance_over(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    let told_at = step.soft.consumer.get(group_id).and_then(|it| it.revoking.get(member_id)).copied();
    let member = step.hard.consumer(group_id).and_then(|group| group.member(member_id));
    if member.is_some_and(|it| Some(it.current.epoch) == told_at) {
        remove_members(step, group_id, std::slice::from_ref(member_id));
    }
}

/// 18.3, 18.4: a classic member was told to join, or had joined, and did not go on in time.
pub fn classic_over(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    remove_members(step, group_id, std::slice::from_ref(member_id));
}

/// Forgets the soft state of a group whose tombstones were just recorded. Its members' timers went with
/// them, or by [`cancel_all`] before.
pub fn forget(step: &mut Step<'_>, group_id: &Str) {
    step.soft.consumer.remove(group_id);
}

/// Makes the group's soft state if it is missing, and gives the id under which it stands: one that does
/// not hold the frame of a request.
pub(super) fn soft_group(soft: &mut Soft, group_id: &Str) -> Str {
    if let Some((id, _)) = soft.consumer.get_key_value(group_id) {
        return id.clone();
    }
    let id = group_id.detach();
    soft.consumer.insert(id.clone(), ConsumerSoft::default());
    id
}

/// 12.11 and 12.12, after a heartbeat that left the member at `epoch`.
pub(super) fn set(
    soft: &mut Soft,
    group_id: &Str,
    member_id: &Str,
    session_until: Millis,
    revocation: &Revocation,
    epoch: i32,
) {
    soft.timers.set(session(group_id, member_id), session_until);
    match revocation {
        Revocation::Unchanged => {}
        Revocation::Until(deadline) => {
            soft.timers.set(rebalance(group_id, member_id), *deadline);
            let group = soft.consumer.entry(group_id.clone()).or_default();
            group.revoking.insert(member_id.clone(), epoch);
        }
        Revocation::Over => {
            soft.timers.cancel(&rebalance(group_id, member_id));
            if let Some(group) = soft.consumer.get_mut(group_id) {
                group.revoking.remove(member_id);
            }
        }
    }
}

/// The member is gone.
pub(super) fn cancel(soft: &mut Soft, group_id: &Str, member_id: &Str) {
    soft.timers.cancel(&session(group_id, member_id));
    soft.timers.cancel(&rebalance(group_id, member_id));
    cancel_classic(soft, group_id, member_id);
    if let Some(group) = soft.consumer.get_mut(group_id) {
        group.revoking.remove(member_id);
        group.pulses.remove(member_id);
    }
}

/// The member is no longer one of the classic protocol.
pub(super) fn cancel_classic(soft: &mut Soft, group_id: &Str, member_id: &Str) {
    soft.timers.cancel(&classic_join(group_id, member_id));
    soft.timers.cancel(&classic_sync(group_id, member_id));
}

/// All timers of a group that goes.
pub fn cancel_all(step: &mut Step<'_>, group_id: &Str) {
    let Some(group) = step.hard.consumer(group_id) else { return };
    group.members().keys().for_each(|it| cancel(step.soft, group_id, it));
}

pub(super) fn set_session(soft: &mut Soft, group_id: &Str, member_id: &Str, until: Millis) {
    soft.timers.set(session(group_id, member_id), until);
}

/// 18.4: the member was told to join. That it is told again gives it no more time.
pub(super) fn call_to_join(soft: &mut Soft, group_id: &Str, member_id: &Str, until: Millis) {
    let key = classic_join(group_id, member_id);
    if soft.timers.get(&key).is_none() {
        soft.timers.set(key, until);
    }
}

/// 18.2 rule 11: the member joined and must sync.
pub(super) fn call_to_sync(soft: &mut Soft, group_id: &Str, member_id: &Str, until: Millis) {
    soft.timers.cancel(&classic_join(group_id, member_id));
    soft.timers.set(classic_sync(group_id, member_id), until);
}

/// 18.3 rule 6.
pub(super) fn synced(soft: &mut Soft, group_id: &Str, member_id: &Str) {
    soft.timers.cancel(&classic_sync(group_id, member_id));
}

fn classic_join(group_id: &Str, member_id: &Str) -> TimerKey {
    TimerKey::ConsumerJoin { group: group_id.clone(), member: member_id.clone() }
}

fn classic_sync(group_id: &Str, member_id: &Str) -> TimerKey {
    TimerKey::ConsumerSync { group: group_id.clone(), member: member_id.clone() }
}

pub(super) fn session(group_id: &Str, member_id: &Str) -> TimerKey {
    TimerKey::Session { group: group_id.clone(), member: member_id.clone() }
}

fn rebalance(group_id: &Str, member_id: &Str) -> TimerKey {
    TimerKey::Rebalance { group: group_id.clone(), member: member_id.clone() }
}
