//! JoinGroup of a member of the classic protocol in a consumer group with members (18.2).
//!
//! The coordinator assigns here, so nobody waits for others: the answer comes at once, with the member's
//! epoch as generation and without a leader, and the member syncs with nothing to tell.
//!
//! Checks, in order, after those that every join must pass (`group/classic/join.rs`):
//! 1. members of both protocols may meet         else INCONSISTENT_GROUP_PROTOCOL
//! 2. there is room                              else GROUP_MAX_SIZE_REACHED
//! 3. a consumer, with a protocol that all other classic members offer   else INCONSISTENT_GROUP_PROTOCOL
//! 4. a dynamic member knows its id, from version 4 on   else MEMBER_ID_REQUIRED; the id is not kept
//! 5. a static one with an id is in the group    else UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID
//! 6. what it says can be read                   else INCONSISTENT_GROUP_PROTOCOL
//!
//! A static member that takes the place of the last one of the consumer protocol makes the group a
//! classic one (18.6, second trigger).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::heartbeat::{check_size, new_id};
use super::image::{Policy, settings};
use super::leave::may_become_classic;
use super::place::Place;
use super::soft::ConsumerSoft;
use super::update::{Decision, Update};
use super::{ClassicMember, ConsumerGroup, MemberMetadata, classic_members, timers};
use crate::group::classic;
use crate::group::embedded::{Malformed, Subscription};
use crate::group::fail::Fail;
use crate::group::soft::Soft;
use crate::group::step::Step;
use crate::machine::{Caller, Millis};
use bytes::Bytes;
use wire::{ErrorCode, JoinGroupRequest, JoinGroupResponse, Str};

/// The answer. What is refused has changed nothing.
pub fn join(step: &mut Step<'_>, caller: &Caller, request: &JoinGroupRequest) -> JoinGroupResponse {
    let refused = |error_code, member_id| JoinGroupResponse { error_code, member_id, ..Default::default() };
    match joined(step, caller, request) {
        Ok(response) => response,
        Err(Refused::Code(code)) => refused(code, Str::default()),
        Err(Refused::TakeId(id)) => refused(ErrorCode::MEMBER_ID_REQUIRED, id),
    }
}

enum Refused {
    Code(ErrorCode),
    /// Join again with this one.
    TakeId(Str),
}

impl From<ErrorCode> for Refused {
    fn from(code: ErrorCode) -> Self {
        Self::Code(code)
    }
}

impl From<Fail> for Refused {
    fn from(fail: Fail) -> Self {
        Self::Code(fail.code)
    }
}

impl From<Malformed> for Refused {
    fn from(Malformed: Malformed) -> Self {
        Self::Code(ErrorCode::INCONSISTENT_GROUP_PROTOCOL)
    }
}

fn joined(
    step: &mut Step<'_>,
    caller: &Caller,
    request: &JoinGroupRequest,
) -> Result<JoinGroupResponse, Refused> {
    let group_id = &request.group_id;
    let Some(group) = step.hard.consumer(group_id) else {
        return Err(ErrorCode::UNKNOWN_MEMBER_ID.into());
    };
    let (has_id, instance) = (!request.member_id.is_empty(), request.group_instance_id.as_ref());
    let member_id = if has_id { request.member_id.clone() } else { new_id(step.entropy) };
    let settings = settings(step.image, group_id);
    if Policy::of(step.image).is_disabled() {
        return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL.into());
    }
    check_size(group, settings, &member_id, instance)?;
    let subscription = check_protocols(group, request)?;
    if !has_id && instance.is_none() && caller.api_version >= classic::MEMBER_ID_REQUIRED_VERSION {
        return Err(Refused::TakeId(member_id));
    }
    let place = Place::of_join(group, group_id, &member_id, instance, has_id)?;
    let subscription = Subscription::read(subscription)?;
    let unknown = MemberMetadata::default();
    let known = place.metadata().unwrap_or(&unknown);
    let metadata = metadata(caller, request, &subscription, known);
    let owned = subscription.owned(step.image);
    let (is_last, generation) = (is_last(step, group, place, instance), group.epoch);
    let no_soft = ConsumerSoft::default();
    let Soft { consumer, topic_hashes, topics_version, .. } = &mut *step.soft;
    let update = Update {
        now: step.now,
        image: step.image,
        settings,
        group_id,
        member_id: &member_id,
        group,
        place,
        metadata: if metadata == *known { Cow::Borrowed(known) } else { Cow::Owned(metadata) },
        owned: Some(&owned),
        soft: consumer.get(group_id).unwrap_or(&no_soft),
        topics_version: *topics_version,
        needs_target: false,
        is_last,
    };
    let decision = update.decide(topic_hashes)?;
    let is_behind = decision.is_behind;
    let response = conclude(step, caller, request, &member_id, decision);
    if is_last {
        classic::take_over(step, group_id, generation, &BTreeSet::new(), is_behind);
    }
    Ok(response)
}

/// Check 3; gives what the member says, which is the same for all its protocols.
fn check_protocols<'r>(group: &ConsumerGroup, request: &'r JoinGroupRequest) -> Result<&'r Bytes, ErrorCode> {
    let is_offered = |name| group.subscriptions.offered_by_all(name);
    let is_supported = request.protocol_type == classic::live::CONSUMER
        && request.protocols.iter().any(|it| is_offered(&it.name));
    let first = request.protocols.first().filter(|_| is_supported);
    first.map(|it| &it.metadata).ok_or(ErrorCode::INCONSISTENT_GROUP_PROTOCOL)
}

/// 18.2 rule 7. A classic member has no expression; a server assignor that a member named before stays.
fn metadata(
    caller: &Caller,
    request: &JoinGroupRequest,
    subscription: &Subscription,
    known: &MemberMetadata,
) -> MemberMetadata {
    let protocols = request.protocols.iter();
    let protocols = protocols.map(|it| (it.name.detach(), Bytes::copy_from_slice(&it.metadata))).collect();
    let timeout = request.rebalance_timeout_ms;
    MemberMetadata {
        instance_id: request.group_instance_id.clone().or_else(|| known.instance_id.clone()),
        rack_id: subscription.rack_id.clone().or_else(|| known.rack_id.clone()),
        client_id: caller.client_id.clone(),
        client_host: caller.client_host.clone(),
        rebalance_timeout_ms: if timeout == -1 { known.rebalance_timeout_ms } else { timeout },
        topic_names: Arc::new(subscription.topics.iter().cloned().collect()),
        topic_regex: Str::default(),
        server_assignor: known.server_assignor.clone(),
        classic: Some(ClassicMember { session_timeout_ms: request.session_timeout_ms, protocols }),
    }
}

/// 18.6, second trigger: the member's former self is the last one of the consumer protocol.
fn is_last(step: &Step<'_>, group: &ConsumerGroup, place: Place<'_>, instance: Option<&Str>) -> bool {
    let was_consumer = place.metadata().is_some_and(|it| it.classic.is_none());
    instance.is_some()
        && was_consumer
        && group.subscriptions.classic_members() == group.members.len() - 1
        && may_become_classic(step.image, group.members.len())
}

fn conclude(
    step: &mut Step<'_>,
    caller: &Caller,
    request: &JoinGroupRequest,
    member_id: &Str,
    decision: Decision,
) -> JoinGroupResponse {
    let session = request.session_timeout_ms;
    let (group_id, own_id) = decision.carry_out(step, caller, &request.group_id, member_id, session);
    let sync_until = step.now + Millis::from(request.rebalance_timeout_ms);
    timers::call_to_sync(step.soft, &group_id, &own_id, sync_until);
    classic_members::hear(step, &group_id, &own_id);
    let group = step.hard.consumer(&request.group_id).expect("the join's records made the group");
    let epoch = group.member(member_id).map_or(-1, |it| it.current.epoch);
    JoinGroupResponse {
        member_id: member_id.clone(),
        generation_id: epoch,
        protocol_type: Some(Str::from_static(classic::live::CONSUMER)),
        protocol_name: request.protocols.first().map(|it| it.name.clone()),
        ..Default::default()
    }
}
