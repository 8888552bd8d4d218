//! A member goes: it leaves, its session ends, or it does not give up its partitions in time (16).
//!
//! Checks of a leave, in order; neither the epoch nor the owned partitions are looked at:
//! 1. the group is a consumer group   else GROUP_ID_NOT_FOUND
//! 2. the member is one of its, by its id or, a static one, by its instance id   else UNKNOWN_MEMBER_ID
//! 3. the instance id is that member's   else FENCED_INSTANCE_ID
//!
//! Nothing is computed for those who stay: the next heartbeat of one of them does that.

use super::heartbeat::{existing_group, metadata_hash};
use super::partitions::Held;
use super::place::{existing_static, unknown};
use super::request::LEAVE_FOR_A_WHILE;
use super::{Current, records, timers};
use crate::group::fail::Fail;
use crate::group::step::Step;
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
    if request.member_epoch == LEAVE_FOR_A_WHILE {
        // Its partitions are kept for it until its session ends. Epoch 0 lets it commit for none.
        let away = Current {
            epoch: LEAVE_FOR_A_WHILE,
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
pub fn remove_members(step: &mut Step<'_>, group_id: &Str, member_ids: &[Str]) {
    let mut is_any = false;
    for member_id in member_ids {
        let Some(group) = step.hard.consumer(group_id) else { return };
        let Some((own_id, member)) = group.members.get_key_value(member_id) else { continue };
        is_any = true;
        let (own_id, regex) = (own_id.clone(), member.metadata.topic_regex.clone());
        for record in records::member_tombstones(group_id, &own_id) {
            step.record(record);
        }
        timers::cancel(step.soft, group_id, &own_id);
        let is_used =
            step.hard.consumer(group_id).is_some_and(|it| it.subscriptions.regex_members(&regex) > 0);
        if !regex.is_empty() && !is_used {
            step.record(records::regex_tombstone(group_id, &regex));
        }
    }
    let Some(group) = step.hard.consumer(group_id).filter(|_| is_any) else { return };
    let (epoch, is_empty) = (group.epoch + 1, group.is_empty());
    let hash = metadata_hash(&mut step.soft.topic_hashes, step.image, &group.subscriptions);
    step.record(records::metadata(group_id, epoch, hash));
    if is_empty {
        // Timestamp 0: who comes next does not wait for the assignment interval.
        step.record(records::target_metadata(group_id, epoch, 0));
    }
}
