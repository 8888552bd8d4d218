//! Which member a heartbeat is about (12.4 to 12.6).

use std::borrow::Cow;

use super::partitions::Partitions;
use super::{ConsumerGroup, ConsumerMember, Current, MemberMetadata};
use crate::group::fail::Fail;
use crate::group::member_epoch::{AWAY, JOIN};
use wire::{ConsumerGroupHeartbeatRequest, ErrorCode, Str};

/// The member of a heartbeat, in the group as it stands.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    New,
    Known(&'a ConsumerMember),
    /// The static member with this id is replaced by one with the same instance id.
    Replaces(&'a Str, &'a ConsumerMember),
}

impl<'a> Place<'a> {
    pub(super) fn find(
        group: &'a ConsumerGroup,
        member_id: &Str,
        request: &ConsumerGroupHeartbeatRequest,
        owned: Option<&Partitions>,
    ) -> Result<Self, Fail> {
        let place = match &request.instance_id {
            Some(instance) if request.member_epoch == JOIN => joining_static(group, member_id, instance)?,
            Some(instance) => Self::Known(existing_static(group, member_id, instance, &request.group_id)?),
            None => match group.member(member_id) {
                Some(member) => Self::Known(member),
                None if request.member_epoch == JOIN => Self::New,
                None => return Err(unknown(member_id, &request.group_id)),
            },
        };
        if let Self::Known(member) = place {
            check_epoch(request.member_epoch, &member.current, owned)?;
        }
        Ok(place)
    }

    /// The member of a JoinGroup (18.2 rule 5). A dynamic one may have any id; a static one without id
    /// takes the place of who has its instance id, whether or not that one left.
    pub(super) fn of_join(
        group: &'a ConsumerGroup,
        group_id: &Str,
        member_id: &Str,
        instance: Option<&Str>,
        has_id: bool,
    ) -> Result<Self, Fail> {
        match instance {
            None => Ok(group.member(member_id).map_or(Self::New, Self::Known)),
            Some(instance) if has_id => {
                Ok(Self::Known(existing_static(group, member_id, instance, group_id)?))
            }
            Some(instance) => Ok(match group.static_member(instance) {
                Some((old_id, old)) => Self::Replaces(old_id, old),
                None => Self::New,
            }),
        }
    }

    /// What is known of the member; none of a new one.
    pub(super) fn metadata(self) -> Option<&'a MemberMetadata> {
        match self {
            Self::New => None,
            Self::Known(member) | Self::Replaces(_, member) => Some(&member.metadata),
        }
    }

    /// Where the member stands before this heartbeat moves it. One that replaces another begins with
    /// what that one has.
    pub(super) fn current(self) -> Cow<'a, Current> {
        match self {
            Self::New => Cow::Owned(Current::default()),
            Self::Known(member) => Cow::Borrowed(&member.current),
            Self::Replaces(_, member) => {
                Cow::Owned(Current { epoch: 0, previous_epoch: 0, ..member.current.clone() })
            }
        }
    }

    /// The id under which the group has the member, its target and its share of the counts.
    pub(super) fn known_id(self, member_id: &'a Str) -> &'a Str {
        match self {
            Self::New | Self::Known(_) => member_id,
            Self::Replaces(old, _) => old,
        }
    }
}

/// 12.5, a static member that joins. A dynamic member, or one of another instance, that has the id
/// already is taken over.
fn joining_static<'a>(group: &'a ConsumerGroup, member_id: &Str, instance: &Str) -> Result<Place<'a>, Fail> {
    let Some((old_id, old)) = group.static_member(instance) else {
        return Ok(group.member(member_id).map_or(Place::New, Place::Known));
    };
    if old.metadata.classic.is_none() && old.current.epoch != AWAY {
        let message = format!(
            "Static member {member_id} with instance id {instance} can't join: member {old_id} has the instance id and has not left."
        );
        return Err(Fail::new(ErrorCode::UNRELEASED_INSTANCE_ID, message));
    }
    Ok(Place::Replaces(old_id, old))
}

/// 12.5 and 16.1: a static member that is in the group.
pub(super) fn existing_static<'a>(
    group: &'a ConsumerGroup,
    member_id: &Str,
    instance: &Str,
    group_id: &Str,
) -> Result<&'a ConsumerMember, Fail> {
    let Some((id, member)) = group.static_member(instance) else {
        let message = format!("Instance id {instance} is not a member of group {group_id}.");
        return Err(Fail::new(ErrorCode::UNKNOWN_MEMBER_ID, message));
    };
    if id != member_id {
        let message =
            format!("Static member {member_id} with instance id {instance} was fenced by member {id}.");
        return Err(Fail::new(ErrorCode::FENCED_INSTANCE_ID, message));
    }
    Ok(member)
}

pub(super) fn unknown(member_id: &Str, group_id: &Str) -> Fail {
    let message = format!("Member {member_id} is not a member of group {group_id}.");
    Fail::new(ErrorCode::UNKNOWN_MEMBER_ID, message)
}

/// 12.6. The epoch before the present one is that of a member whose last response was lost. Such a
/// member can't own more than it was assigned.
fn check_epoch(received: i32, current: &Current, owned: Option<&Partitions>) -> Result<(), Fail> {
    let lost_response = received < current.epoch
        && received == current.previous_epoch
        && owned.is_some_and(|owned| current.assigned.covers(owned));
    if received == JOIN || received == current.epoch || lost_response {
        return Ok(());
    }
    let than = if received > current.epoch { "greater" } else { "smaller" };
    let message = format!(
        "The consumer group member has a {than} member epoch ({received}) than the one known by the group \
         coordinator ({}). The member must abandon all its partitions and rejoin.",
        current.epoch
    );
    Err(Fail::new(ErrorCode::FENCED_MEMBER_EPOCH, message))
}
