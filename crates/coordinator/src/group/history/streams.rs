//! What records of a streams group tell, and what heartbeats meet that leaves no record.

use super::{Cause, Happened, Kind, Telling};
use crate::group::fail::Fail;
use crate::group::state::Hard;
use crate::group::step::Step;
use crate::group::streams::configure::TopicStatus;
use crate::group::streams::tasks::{Role, TaskId, Tasks};
use crate::group::streams::{MemberMetadata, MemberState, StreamsGroup};
use wire::consumer_offsets::Record;
use wire::consumer_offsets::streams_group_current_member_assignment_value::TaskIds as CurrentIds;
use wire::consumer_offsets::streams_group_target_assignment_member_value::TaskIds;
use wire::consumer_offsets::{
    StreamsGroupCurrentMemberAssignmentValue, StreamsGroupMemberMetadataValue, StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberValue,
};
use wire::{ErrorCode, Str, StreamsGroupHeartbeatRequest};

/// Tasks that a detail names.
const NAMED_TASKS: usize = 6;

pub(super) fn record(telling: &mut Telling, before: &Hard, record: &Record) {
    if let Record::StreamsGroupMemberMetadata(key, value) = record {
        let known = before.streams(&key.group_id).and_then(|it| it.member(&key.member_id));
        member(telling, &key.group_id, &key.member_id, known.map(|it| &it.metadata), value.as_ref());
    } else if let Record::StreamsGroupMetadata(key, Some(value)) = record {
        epoch(telling, &key.group_id, before.streams(&key.group_id), value);
    } else if let Record::StreamsGroupTargetAssignmentMember(key, Some(value)) = record {
        let known = before.streams(&key.group_id).and_then(|it| it.target(&key.member_id));
        let none = Tasks::default();
        target(telling, &key.group_id, &key.member_id, known.unwrap_or(&none), value);
    } else if let Record::StreamsGroupTargetAssignmentMetadata(key, Some(value)) = record {
        let tasks = std::mem::take(&mut telling.moved);
        let happened = Happened::new(Kind::TargetComputed).epoch(value.assignment_epoch);
        if value.assignment_timestamp != 0 {
            let cause = telling.because;
            telling.tell(&key.group_id, Happened { tasks, ..happened }.cause(cause));
        } else if before.streams(&key.group_id).is_some_and(|it| !it.is_empty()) {
            // I-8. When the last member has gone timestamp 0 is written too, but there is nobody to have a target.
            telling.tell(&key.group_id, happened.detail("nobody gets tasks: topics are not in order"));
        }
    } else if let Record::StreamsGroupCurrentMemberAssignment(key, Some(value)) = record {
        let group = before.streams(&key.group_id);
        current(telling, &key.group_id, &key.member_id, group, value);
    }
}

fn member(
    telling: &mut Telling,
    group: &Str,
    id: &Str,
    known: Option<&MemberMetadata>,
    value: Option<&StreamsGroupMemberMetadataValue>,
) {
    let happened = match (known, value) {
        (None, Some(value)) => {
            telling.epoch_cause = Cause::MemberJoined;
            let host = value.client_host.to_str();
            let host = host.trim_start_matches('/');
            let detail = format!("process {} at {host}, client {}", value.process_id, value.client_id);
            Happened::new(Kind::MemberJoined).detail(&detail)
        }
        (Some(known), Some(value)) => {
            telling.epoch_cause = Cause::MemberChanged;
            Happened::new(Kind::MemberChanged).detail(&changes(known, value))
        }
        (_, None) => {
            telling.epoch_cause = Cause::MemberLeft;
            Happened::new(Kind::MemberLeft).cause(telling.because)
        }
    };
    telling.tell(group, happened.member(id));
}

/// What a member tells otherwise than before.
fn changes(known: &MemberMetadata, value: &StreamsGroupMemberMetadataValue) -> String {
    let endpoint = known.user_endpoint.as_ref().map(|it| (&it.host, it.port));
    let tags = known.client_tags.iter();
    let told_tags = value.client_tags.iter().map(|it| (&it.key, &it.value));
    let parts = [
        ("process", known.process_id != value.process_id),
        ("topology epoch", known.topology_epoch != value.topology_epoch),
        ("endpoint", endpoint != value.user_endpoint.as_ref().map(|it| (&it.host, it.port))),
        ("rack", known.rack_id != value.rack_id),
        ("client tags", !tags.eq(told_tags)),
        ("rebalance timeout", known.rebalance_timeout_ms != value.rebalance_timeout_ms),
        ("client id", known.client_id != value.client_id),
        ("address", known.client_host != value.client_host),
        ("instance id", known.instance_id != value.instance_id),
    ];
    let names: Vec<_> = parts.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
    names.join(", ")
}

fn epoch(telling: &mut Telling, id: &Str, before: Option<&StreamsGroup>, value: &StreamsGroupMetadataValue) {
    let moved = before.is_none_or(|it| value.epoch > it.epoch);
    if !moved {
        return;
    }
    let told = std::mem::take(&mut telling.epoch_cause);
    let cause = match before {
        _ if told != Cause::None => told,
        Some(it) if it.metadata_hash != value.metadata_hash => Cause::Topics,
        Some(it) if it.validated_topology_epoch != value.validated_topology_epoch => Cause::Topology,
        Some(_) => Cause::Settings,
        None => Cause::MemberJoined,
    };
    telling.tell(id, Happened::new(Kind::EpochMoved).epoch(value.epoch).cause(cause));
}

fn target(
    telling: &mut Telling,
    group: &Str,
    member: &Str,
    known: &Tasks,
    value: &StreamsGroupTargetAssignmentMemberValue,
) {
    let is_new_active = |it: &TaskId| !known.active.contains(it);
    let active: Vec<_> = tasks(&value.active_tasks).collect();
    let standby = tasks(&value.standby_tasks).filter(|it| !known.standby.contains(it));
    let gained = active.iter().filter(|it| is_new_active(it)).count() + standby.count();
    telling.moved = telling.moved.saturating_add(u32::try_from(gained).unwrap_or(u32::MAX));
    let warmup: Vec<_> = tasks(&value.warmup_tasks).collect();
    let (caught_up, gave_up): (Vec<_>, Vec<_>) =
        known.warmup.iter().filter(|it| !warmup.contains(it)).partition(|it| active.contains(it));
    let started: Vec<_> = warmup.iter().filter(|it| !known.warmup.contains(it)).collect();
    let kinds = [Kind::WarmupStarted, Kind::WarmupCaughtUp, Kind::WarmupGaveUp];
    for (kind, tasks) in kinds.into_iter().zip([started, caught_up, gave_up]) {
        if !tasks.is_empty() {
            let count = tasks.len();
            telling.tell(
                group,
                Happened::new(kind).member(member).tasks(count).detail(&names(tasks.into_iter().cloned())),
            );
        }
    }
}

fn current(
    telling: &mut Telling,
    group_id: &Str,
    member: &Str,
    group: Option<&StreamsGroup>,
    value: &StreamsGroupCurrentMemberAssignmentValue,
) {
    let known = group.and_then(|it| it.member(member)).map(|it| &it.current);
    let (state, epoch) = (known.map(|it| it.state), known.map(|it| it.epoch));
    let tell = |telling: &mut Telling, kind, tasks: [&[CurrentIds]; 3]| {
        let roles = [Role::Active, Role::Standby, Role::Warmup].into_iter().zip(tasks);
        let tasks: Vec<_> =
            roles.flat_map(|(role, ids)| current_tasks(ids).map(move |task| (role, task))).collect();
        let happened = Happened::new(kind).member(member).epoch(value.member_epoch).tasks(tasks.len());
        telling.tell(group_id, happened.detail(&names_with_roles(tasks)));
    };
    const NONE: [&[CurrentIds]; 3] = [&[]; 3];
    let next = MemberState::from_code(value.state);
    let must_revoke = state == Some(MemberState::UnrevokedTasks);
    if must_revoke && next != MemberState::UnrevokedTasks {
        tell(telling, Kind::Revoked, NONE);
    }
    match next {
        MemberState::UnrevokedTasks if !must_revoke => {
            let pending: [&[_]; 3] = [
                &value.active_tasks_pending_revocation,
                &value.standby_tasks_pending_revocation,
                &value.warmup_tasks_pending_revocation,
            ];
            tell(telling, Kind::MustRevoke, pending);
        }
        MemberState::UnreleasedTasks
            if state != Some(MemberState::UnreleasedTasks) || epoch != Some(value.member_epoch) =>
        {
            tell(telling, Kind::WaitsForTasks, NONE);
        }
        MemberState::Stable if state != Some(MemberState::Stable) || epoch != Some(value.member_epoch) => {
            let has: [&[_]; 3] = [&value.active_tasks, &value.standby_tasks, &value.warmup_tasks];
            tell(telling, Kind::MemberSettled, has);
        }
        MemberState::UnrevokedTasks
        | MemberState::UnreleasedTasks
        | MemberState::Stable
        | MemberState::Unknown => {}
    }
}

fn tasks(ids: &[TaskIds]) -> impl Iterator<Item = TaskId> {
    ids.iter()
        .flat_map(|it| it.partitions.iter().map(|partition| TaskId::new(&it.subtopology_id, *partition)))
}

fn current_tasks(ids: &[CurrentIds]) -> impl Iterator<Item = TaskId> {
    ids.iter()
        .flat_map(|it| it.partitions.iter().map(|partition| TaskId::new(&it.subtopology_id, *partition)))
}

/// The first few tasks and how many more there are.
pub(in crate::group) fn names(tasks: impl IntoIterator<Item = TaskId>) -> String {
    names_with_roles(tasks.into_iter().map(|it| (Role::Active, it)))
}

/// The same; `0_1 (standby)` for what is not active.
pub(in crate::group) fn names_with_roles(tasks: impl IntoIterator<Item = (Role, TaskId)>) -> String {
    let name = |(role, task): (Role, TaskId)| match role {
        Role::Active => task.to_string(),
        Role::Standby => format!("{task} (standby)"),
        Role::Warmup => format!("{task} (warm-up)"),
    };
    let tasks: Vec<_> = tasks.into_iter().map(name).collect();
    match tasks.split_at_checked(NAMED_TASKS) {
        Some((first, rest)) if !rest.is_empty() => format!("{} and {} more", first.join(", "), rest.len()),
        Some(_) | None => tasks.join(", "),
    }
}

/// The name of a role in answers.
pub(in crate::group) fn role_name(role: Role) -> &'static str {
    match role {
        Role::Active => "active",
        Role::Standby => "standby",
        Role::Warmup => "warmup",
    }
}

/// What a heartbeat met beside its records.
pub(in crate::group) fn heartbeat(
    step: &mut Step<'_>,
    request: &StreamsGroupHeartbeatRequest,
    fail: Option<&Fail>,
) {
    let (id, member) = (&request.group_id, &request.member_id);
    // Nothing is kept of groups that do not exist: anybody could name them.
    if step.hard.streams(id).is_none() {
        return;
    }
    if let Some(fail) = fail {
        let kind = match fail.code {
            ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID => Kind::MemberFenced,
            _ => Kind::HeartbeatRefused,
        };
        step.telling().refused(id, kind, member, fail.code, fail.message.as_deref().unwrap_or(""));
        return;
    }
    if request.shutdown_application {
        step.telling().tell(id, Happened::new(Kind::ShutdownRequested).member(member));
    }
    let problem = step.soft.streams.get(id).and_then(|it| it.topic_problem());
    let problem = problem.map(|it| Happened::new(kind_of(it.status)).detail(&it.detail));
    step.telling().topics(id, problem);
}

fn kind_of(status: TopicStatus) -> Kind {
    match status {
        TopicStatus::MissingSourceTopics => Kind::TopicsMissing,
        TopicStatus::IncorrectlyPartitionedTopics => Kind::TopicsWronglyPartitioned,
        TopicStatus::MissingInternalTopics => Kind::InternalTopicsMissing,
    }
}
