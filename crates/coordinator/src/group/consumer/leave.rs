//! A member goes: it leaves, its session ends, or it does not give up its partitions in time (16).
//!
//! Checks of a leave, in order; neither the epoch nor the owned partitions are looked at:
//! 1. the group is a consumer group   else GROUP_ID_NOT_FOUND
//! 2. the member is one of its, by its id or, a static one, by its instance id   else UNKNOWN_MEMBER_ID
//! 3. the instance id is that member's   else FENCED_INSTANCE_ID
//!
//! Nothing is computed for those who stay: the next heartbeat of one of them does that. If only members
//! of the classic protocol stay, the group becomes a classic one (18.6).

use std::collections::BTreeSet;

use super::heartbeat::existing_group;
use super::image::Policy;
use super::partitions::Held;
use super::place::{existing_static, unknown};
use super::update::metadata_hash;
use super::{ConsumerGroup, Current, records, timers};
use crate::group::classic;
use crate::group::fail::Fail;
use crate::group::member_epoch::AWAY;
use crate::group::step::Step;
use catalog::Image;
use wire::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, Str};

/// 16.1.
pub(super) fn leave(
    step: &mut Step<'_>,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<ConsumerGroupHeartbeatResponse, Fail> {
    let (group_id, member_id) = (&request.group_id, &request.member_id);
    let group = existing_group(&step.hard, group_id)?;
    let member = match &request.instance_id {
        Some(instance) => existing_static(group, member_id, instance, group_id)?,
        None => group.member(member_id).ok_or_else(|| unknown(member_id, group_id))?,
    };
    if request.member_epoch == AWAY {
        // Its partitions are kept for it until its session ends. Epoch 0 lets it commit for none.
        let away = Current {
            epoch: AWAY,
            assigned: member.current.assigned.at_epoch(0),
            pending: Held::default(),
            ..member.current.clone()
        };
        step.record(records::current(group_id, member_id, &away));
    } else {
        remove_members(step, &group_id.detach(), std::slice::from_ref(member_id));
    }
    Ok(ConsumerGroupHeartbeatResponse {
        member_id: Some(member_id.clone()),
        member_epoch: request.member_epoch,
        ..Default::default()
    })
}

/// 16.2: the members' tombstones, those of expressions that they were the last to use, and the group's
/// next epoch, one for all of them. Nothing if none of them is there.
pub(super) fn remove_members(step: &mut Step<'_>, group_id: &Str, member_ids: &[Str]) {
    let Some(group) = step.hard.consumer(group_id) else { return };
    let gone: BTreeSet<Str> =
        member_ids.iter().filter_map(|it| Some(group.members.get_key_value(it)?.0.clone())).collect();
    if gone.is_empty() {
        return;
    }
    if leaves_classic_members(step.image, group, &gone) {
        let generation = group.epoch;
        classic::take_over(step, group_id, generation, &gone, true);
        return;
    }
    let regexes = gone.iter().filter_map(|it| Some(group.member(it)?.metadata.topic_regex.clone()));
    let regexes: BTreeSet<Str> = regexes.filter(|it| !it.is_empty()).collect();
    for member_id in &gone {
        for record in records::member_tombstones(group_id, member_id) {
            step.record(record);
        }
        timers::cancel(step.soft, group_id, member_id);
    }
    for regex in regexes {
        let is_used =
            step.hard.consumer(group_id).is_some_and(|it| it.subscriptions.regex_members(&regex) > 0);
        if !is_used {
            step.record(records::regex_tombstone(group_id, &regex));
        }
    }
    let Some(group) = step.hard.consumer(group_id) else { return };
    let (epoch, is_empty) = (group.epoch + 1, group.is_empty());
    let hash = metadata_hash(&mut step.soft.topic_hashes, step.image, &group.subscriptions);
    step.record(records::metadata(group_id, epoch, hash));
    if is_empty {
        // Timestamp 0: who comes next does not wait for the assignment interval.
        step.record(records::target_metadata(group_id, epoch, 0));
    }
}

/// 18.6, first trigger: members stay, all of the classic protocol, who may go on without the others.
fn leaves_classic_members(image: &Image, group: &ConsumerGroup, gone: &BTreeSet<Str>) -> bool {
    let is_classic = |it: &&Str| group.member(it).is_some_and(|it| it.metadata.classic.is_some());
    let staying = group.members.len() - gone.len();
    let classic = group.subscriptions.classic_members() - gone.iter().filter(is_classic).count();
    staying > 0 && classic == staying && may_become_classic(image, staying)
}

/// 18.6: the policy allows it, and the members fit into `group.max.size`.
pub(super) fn may_become_classic(image: &Image, members: usize) -> bool {
    Policy::of(image).downgrade && members <= usize::try_from(image.broker().group_max_size).unwrap_or(0)
}
