//! ConsumerGroupHeartbeat in the coordinator (12): a member joins, rejoins or keeps its place.
//!
//! In order, the first that fails answers:
//!  1. the form of the request (`request.rs`, 12.1), else INVALID_REQUEST or UNSUPPORTED_ASSIGNOR; epochs
//!     below 0 leave (`leave.rs`)
//!  2. the group: a join may create it, take the place of a classic group without members, or turn one
//!     with members into a consumer group (`upgrade.rs`, 18.5), else GROUP_ID_NOT_FOUND (12.3)
//!  3. a newcomer fits into `group.consumer.max.size`, else GROUP_MAX_SIZE_REACHED (12.4)
//!  4. the member is known or joins, else UNKNOWN_MEMBER_ID; its instance id is its own, else
//!     FENCED_INSTANCE_ID, and free, else UNRELEASED_INSTANCE_ID (12.5)
//!  5. its epoch is the one that it has, or the one before with nothing but its own partitions, else
//!     FENCED_MEMBER_EPOCH (12.6)
//!  6. a new regular expression is one, else INVALID_REGULAR_EXPRESSION (13.2)
//!  7. a member whose stored state is of a newer release owns nothing, else FENCED_MEMBER_EPOCH

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::image::settings;
use super::place::Place;
use super::request;
use super::soft::ConsumerSoft;
use super::update::{Decision, Update};
use super::upgrade::Upgrade;
use super::{ConsumerGroup, MemberMetadata, leave};
use crate::group::classic::{self, Live};
use crate::group::fail::Fail;
use crate::group::member_epoch::JOIN;
use crate::group::soft::Soft;
use crate::group::state::{Group, Hard};
use crate::group::step::Step;
use crate::machine::Caller;
use catalog::config::ConsumerGroupSettings;
use wire::consumer_group_heartbeat::response::{Assignment as AssignmentField, TopicPartitions};
use wire::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ErrorCode, Str};

/// See the module's list of checks. What fails has changed nothing.
pub fn heartbeat(
    step: &mut Step<'_>,
    caller: &Caller,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<ConsumerGroupHeartbeatResponse, Fail> {
    request::check(step.image, caller.api_version, request)?;
    if request.member_epoch < JOIN {
        return leave::leave(step, request);
    }
    let group_id = &request.group_id;
    let (no_group, no_soft) = (ConsumerGroup::default(), ConsumerSoft::default());
    let upgrade = match request.member_epoch {
        JOIN => Upgrade::of(step, group_id)?,
        _ => None,
    };
    let found = match (&upgrade, request.member_epoch) {
        (Some(upgrade), _) => Some(&upgrade.group),
        (None, JOIN) => joinable_group(&step.hard, step.soft.classic.get(group_id), group_id)?,
        (None, _) => Some(existing_group(&step.hard, group_id)?),
    };
    let replaces_classic = found.is_none() && step.hard.group(group_id).is_some();
    let group = found.unwrap_or(&no_group);
    let settings = settings(step.image, group_id);
    check_size(group, settings, &request.member_id, request.instance_id.as_ref())?;
    let member_id = match request.member_id.is_empty() {
        true => new_id(step.entropy),
        false => request.member_id.clone(),
    };
    let owned = request::owned(request);
    let place = Place::find(group, &member_id, request, owned.as_ref())?;
    let unknown = MemberMetadata::default();
    let Soft { consumer, topic_hashes, topics_version, .. } = &mut *step.soft;
    let update = Update {
        now: step.now,
        image: step.image,
        settings,
        group_id,
        member_id: &member_id,
        group,
        place,
        metadata: metadata(caller, request, place.metadata().unwrap_or(&unknown)),
        owned: owned.as_ref(),
        soft: consumer.get(group_id).unwrap_or(&no_soft),
        topics_version: *topics_version,
        needs_target: upgrade.as_ref().is_some_and(|it| it.was_rebalancing),
        is_last: false,
    };
    let decision = update.decide(topic_hashes)?;
    if let Some(upgrade) = upgrade {
        upgrade.carry_out(step, group_id);
    }
    if replaces_classic {
        step.record(classic::tombstone(group_id));
        classic::forget(step, group_id);
    }
    Ok(conclude(step, caller, request, &member_id, decision))
}

/// An id as Kafka makes them: the text of a random uuid that looks like no option of a command line.
pub(super) fn new_id(entropy: &mut crate::machine::Entropy) -> Str {
    loop {
        let text = entropy.uuid().to_string();
        if !text.starts_with('-') {
            return Str::from(text);
        }
    }
}

/// 12.3: `None` if the join makes the group. It may take the place of a classic group without members.
fn joinable_group<'h>(
    hard: &'h Hard,
    live: Option<&Live>,
    group_id: &Str,
) -> Result<Option<&'h ConsumerGroup>, Fail> {
    match hard.group(group_id) {
        Some(group @ (Group::Simple | Group::Classic(_))) if group.is_empty(live) => Ok(None),
        Some(Group::Simple | Group::Classic(_) | Group::Consumer(_) | Group::Streams(_)) => {
            existing_group(hard, group_id).map(Some)
        }
        None => Ok(None),
    }
}

/// 12.3 and 16.1.
pub(super) fn existing_group<'h>(hard: &'h Hard, group_id: &Str) -> Result<&'h ConsumerGroup, Fail> {
    let message = match hard.group(group_id) {
        Some(Group::Consumer(group)) => return Ok(group),
        Some(Group::Simple | Group::Classic(_) | Group::Streams(_)) => {
            format!("Group {group_id} is not a consumer group.")
        }
        None => format!("Consumer group {group_id} not found."),
    };
    Err(Fail::new(ErrorCode::GROUP_ID_NOT_FOUND, message))
}

/// 12.4. A static member that is known may come back into a full group.
pub(super) fn check_size(
    group: &ConsumerGroup,
    settings: &ConsumerGroupSettings,
    member_id: &Str,
    instance_id: Option<&Str>,
) -> Result<(), Fail> {
    let size_max = usize::try_from(settings.max_size).unwrap_or(0);
    let is_known =
        group.member(member_id).is_some() || instance_id.is_some_and(|it| group.static_member(it).is_some());
    if is_known || group.members().len() < size_max {
        return Ok(());
    }
    let message = format!("The consumer group has reached its maximum capacity of {size_max} members.");
    Err(Fail::new(ErrorCode::GROUP_MAX_SIZE_REACHED, message))
}

/// The request succeeded: record, keep what has no record, set the timers, answer.
fn conclude(
    step: &mut Step<'_>,
    caller: &Caller,
    request: &ConsumerGroupHeartbeatRequest,
    member_id: &Str,
    decision: Decision,
) -> ConsumerGroupHeartbeatResponse {
    let settings = settings(step.image, &request.group_id);
    let tells_assignment =
        request.member_epoch == JOIN || request::is_full(request) || decision.is_new_assignment;
    decision.carry_out(step, caller, &request.group_id, member_id, settings.session_timeout_ms);
    let group = step.hard.consumer(&request.group_id).expect("the heartbeat's records made the group");
    let member = group.member(member_id).expect("the heartbeat's records made the member");
    let assignment = tells_assignment.then(|| AssignmentField {
        topic_partitions: member
            .current
            .assigned
            .topics()
            .map(|(topic_id, partitions)| TopicPartitions {
                topic_id,
                partitions: partitions.keys().copied().collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    });
    ConsumerGroupHeartbeatResponse {
        member_id: Some(member_id.clone()),
        member_epoch: member.current.epoch,
        heartbeat_interval_ms: settings.heartbeat_interval_ms,
        assignment,
        ..Default::default()
    }
}

/// 12.7; borrowed if nothing changed. A null field of the request leaves what is known. A member of
/// the classic protocol becomes one of this protocol.
fn metadata<'m>(
    caller: &Caller,
    request: &ConsumerGroupHeartbeatRequest,
    known: &'m MemberMetadata,
) -> Cow<'m, MemberMetadata> {
    let keeps = |new: &Option<Str>, old: &Option<Str>| new.is_none() || new == old;
    let names = request.subscribed_topic_names.as_ref();
    let names: Option<BTreeSet<Str>> = names.map(|it| it.iter().cloned().collect());
    let is_same = keeps(&request.instance_id, &known.instance_id)
        && keeps(&request.rack_id, &known.rack_id)
        && keeps(&request.server_assignor, &known.server_assignor)
        && names.as_ref().is_none_or(|it| *it == *known.topic_names)
        && request.subscribed_topic_regex.as_ref().is_none_or(|it| *it == known.topic_regex)
        && [known.rebalance_timeout_ms, -1].contains(&request.rebalance_timeout_ms)
        && known.client_id == caller.client_id
        && known.client_host == caller.client_host
        && known.classic.is_none();
    if is_same {
        return Cow::Borrowed(known);
    }
    let or_known = |new: &Option<Str>, old: &Option<Str>| new.as_ref().or(old.as_ref()).cloned();
    let timeout = request.rebalance_timeout_ms;
    Cow::Owned(MemberMetadata {
        instance_id: or_known(&request.instance_id, &known.instance_id),
        rack_id: or_known(&request.rack_id, &known.rack_id),
        client_id: caller.client_id.clone(),
        client_host: caller.client_host.clone(),
        rebalance_timeout_ms: if timeout == -1 { known.rebalance_timeout_ms } else { timeout },
        topic_names: names.map_or_else(|| known.topic_names.clone(), Arc::new),
        topic_regex: request.subscribed_topic_regex.clone().unwrap_or_else(|| known.topic_regex.clone()),
        server_assignor: or_known(&request.server_assignor, &known.server_assignor),
        classic: None,
    })
}
