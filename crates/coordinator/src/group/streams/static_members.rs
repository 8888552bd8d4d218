//! Static members (3.6): a member with an instance id may go away for a while and come back, under
//! another member id too, to the tasks that it had.
//!
//! A join with an instance id, or of a member that is away:
//! 1. nobody holds the instance id       a new member, which takes the id; one that is known under
//!    another instance id changes it (H-86)
//! 2. its holder is not away             UNRELEASED_INSTANCE_ID, also if the member ids are equal
//! 3. its holder is away                 the joining member takes the holder's place: [`Return`]
//!
//! Any other heartbeat with an instance id: somebody holds it, else UNKNOWN_MEMBER_ID, and it is this
//! member, else FENCED_INSTANCE_ID. A refused request leaves no trace (K-7).

use super::records;
use super::tasks::AssignedTasks;
use super::{Current, MemberMetadata, StreamsGroup};
use crate::group::fail::Fail;
use crate::group::member_epoch::{AWAY, JOIN};
use wire::consumer_offsets::Record;
use wire::{ErrorCode, Str, StreamsGroupHeartbeatRequest};

/// A join that takes the place of a member that is away.
pub(super) struct Return {
    /// The member that gave way; it may be the one that joins.
    pub owner: Str,
    /// Tombstones of the owner, and its place under the new id.
    pub records: Vec<Record>,
    /// The group as these records leave it.
    pub group: StreamsGroup,
}

/// H-80 and H-81.
pub(super) fn check(
    group: &StreamsGroup,
    request: &StreamsGroupHeartbeatRequest,
) -> Result<Option<Return>, Fail> {
    if request.member_epoch != JOIN {
        return check_holder(group, request).map(|()| None);
    }
    let holder = request.instance_id.as_ref().and_then(|it| group.static_member(it));
    let Some(owner) = holder.or_else(|| group.members.get_key_value(&request.member_id).map(|it| it.0))
    else {
        return Ok(None);
    };
    let is_away = group.member(owner).is_some_and(|it| it.current.is_away());
    match (is_away, holder, &request.instance_id) {
        (true, _, _) => Ok(Some(replace(group, &request.group_id, owner, &request.member_id))),
        (false, Some(_), Some(instance)) => {
            let message = format!("Instance id {instance} is still in use by member {owner}.");
            Err(Fail::new(ErrorCode::UNRELEASED_INSTANCE_ID, message))
        }
        (false, _, _) => Ok(None),
    }
}

/// H-81 to H-83.
pub(super) fn check_holder(group: &StreamsGroup, request: &StreamsGroupHeartbeatRequest) -> Result<(), Fail> {
    let Some(instance) = &request.instance_id else { return Ok(()) };
    let Some(holder) = group.static_member(instance) else {
        let message = format!("Instance id {instance} is unknown in group {}.", request.group_id);
        return Err(Fail::new(ErrorCode::UNKNOWN_MEMBER_ID, message));
    };
    if *holder == request.member_id {
        return Ok(());
    }
    let message = format!("Instance id {instance} is held by another member than {}.", request.member_id);
    Err(Fail::new(ErrorCode::FENCED_INSTANCE_ID, message))
}

/// H-82: the member keeps its tasks but for those that it was told to give up; these are free.
pub(super) fn away(current: &Current) -> Current {
    Current {
        epoch: AWAY,
        assigned: without_epochs(&current.assigned),
        pending: AssignedTasks::default(),
        ..current.clone()
    }
}

/// Whether a member that came back may need other tasks; an endpoint or a client that moved asks for
/// none (H-80).
pub(super) fn needs_new_target(was: &MemberMetadata, is: &MemberMetadata) -> bool {
    was.rack_id != is.rack_id
        || was.client_tags != is.client_tags
        || was.process_id != is.process_id
        || was.topology_epoch != is.topology_epoch
}

/// Whether anything but the instance id changed; that alone moves no task (H-86).
pub(super) fn is_more_than_renamed(was: &MemberMetadata, is: &MemberMetadata) -> bool {
    *was != *is && MemberMetadata { instance_id: is.instance_id.clone(), ..was.clone() } != *is
}

/// H-80: tombstones of the owner, then its metadata, target and tasks under the id of who returns.
fn replace(group: &StreamsGroup, group_id: &Str, owner: &Str, member_id: &Str) -> Return {
    let mut records = Vec::from(records::member_tombstones(group_id, owner));
    if let Some(member) = group.member(owner) {
        let current = Current { epoch: JOIN, previous_epoch: JOIN, ..away(&member.current) };
        let target = group.target(owner).cloned().unwrap_or_default();
        records.push(records::member_metadata(group_id, member_id, &member.metadata));
        records.push(records::target(group_id, member_id, &target));
        records.push(records::current(group_id, member_id, &current));
    }
    let mut group = group.clone();
    for record in &records {
        group.apply_to_member(record);
    }
    Return { owner: owner.clone(), records, group }
}

/// Tasks of a member that was away carry no epoch: a commit of any epoch before may count.
fn without_epochs(tasks: &AssignedTasks) -> AssignedTasks {
    let active = tasks.active.keys().map(|task| (task.clone(), 0)).collect();
    AssignedTasks { active, ..tasks.clone() }
}

impl Current {
    /// The member said that it will be back.
    pub(super) fn is_away(&self) -> bool {
        self.epoch == AWAY
    }
}
