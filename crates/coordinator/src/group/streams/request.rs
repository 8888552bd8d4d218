//! What a heartbeat must look like before any group is looked at, and its parts as types of ours.
//!
//! The checks of [`check`], in order; all are INVALID_REQUEST but the one on changelogs:
//! 1. no subtopology reads topics by a regular expression (H-9e)
//! 2. member id, group id, instance id and rack id are not blank (H-10)
//! 3. a join has a rebalance timeout, the three lists of tasks, empty, and a topology (H-11)
//! 4. a join leaves the partitions of its changelogs to us, else STREAMS_INVALID_TOPOLOGY (H-12)
//! 5. a member that leaves for a while is static (H-13), and no epoch is below that (H-14)
//! 6. all three lists or none (H-15), and no topology after the join (H-16)

use std::collections::BTreeMap;

use wire::streams_group_heartbeat::request::{TaskIds, TaskOffset};
use wire::{ErrorCode, Str, StreamsGroupHeartbeatRequest};

use super::tasks::{TaskId, TaskSet, Tasks};
use super::topology;
use crate::group::fail::Fail;
use crate::group::member_epoch::{AWAY, JOIN};

pub(super) fn check(request: &StreamsGroupHeartbeatRequest) -> Result<(), Fail> {
    if let Some(topology) = &request.topology {
        topology::refuse_regexes(topology)?;
    }
    check_not_blank("MemberId", Some(&request.member_id))?;
    check_not_blank("GroupId", Some(&request.group_id))?;
    check_not_blank("InstanceId", request.instance_id.as_ref())?;
    check_not_blank("RackId", request.rack_id.as_ref())?;
    if request.member_epoch == JOIN {
        check_join(request)?;
    }
    if request.member_epoch == AWAY && request.instance_id.is_none() {
        return Err(invalid("InstanceId can't be null when a member leaves for a while (epoch -2)."));
    }
    if request.member_epoch < AWAY {
        return Err(invalid(format!("MemberEpoch is {}, but must not be below -2.", request.member_epoch)));
    }
    let lists = [&request.active_tasks, &request.standby_tasks, &request.warmup_tasks];
    if lists.iter().any(|it| it.is_some()) && lists.iter().any(|it| it.is_none()) {
        return Err(invalid("ActiveTasks, StandbyTasks and WarmupTasks must be all null or all present."));
    }
    if request.member_epoch != JOIN && request.topology.is_some() {
        return Err(invalid("Topology can only be given when joining."));
    }
    Ok(())
}

fn check_join(request: &StreamsGroupHeartbeatRequest) -> Result<(), Fail> {
    if request.rebalance_timeout_ms == -1 {
        return Err(invalid("RebalanceTimeoutMs must be given when joining."));
    }
    let lists = [
        ("ActiveTasks", &request.active_tasks),
        ("StandbyTasks", &request.standby_tasks),
        ("WarmupTasks", &request.warmup_tasks),
    ];
    for (name, list) in lists {
        if list.as_ref().is_none_or(|it| !it.is_empty()) {
            return Err(invalid(format!("{name} must be present and empty when joining.")));
        }
    }
    let Some(topology) = &request.topology else {
        return Err(invalid("Topology must be given when joining."));
    };
    Ok(topology::refuse_changelog_counts(topology)?)
}

pub(super) fn check_not_blank(name: &str, value: Option<&Str>) -> Result<(), Fail> {
    match value {
        Some(value) if value.as_bytes().iter().all(|byte| *byte <= b' ') => {
            Err(invalid(format!("{name} can't be empty.")))
        }
        Some(_) | None => Ok(()),
    }
}

pub(super) fn invalid(message: impl Into<String>) -> Fail {
    Fail::new(ErrorCode::INVALID_REQUEST, message)
}

/// The tasks that the member says it owns; `None` if it says nothing.
pub(super) fn owned(request: &StreamsGroupHeartbeatRequest) -> Option<Tasks> {
    let (Some(active), Some(standby), Some(warmup)) =
        (&request.active_tasks, &request.standby_tasks, &request.warmup_tasks)
    else {
        return None;
    };
    Some(Tasks { active: task_set(active), standby: task_set(standby), warmup: task_set(warmup) })
}

fn task_set(lists: &[TaskIds]) -> TaskSet {
    let tasks = |it: &TaskIds| {
        let subtopology = it.subtopology_id.clone();
        it.partitions
            .clone()
            .into_iter()
            .map(move |partition| TaskId { subtopology: subtopology.clone(), partition })
    };
    lists.iter().flat_map(tasks).collect()
}

/// Tasks of a member whose offsets are kept, in memory, whether the tasks exist or not. Kafka has no bound; no process has as
/// many state directories.
const OFFSETS_MAX: usize = 100_000;

/// Offsets by task, as sums over the task's changelog partitions; a task may stand there once.
pub(super) fn offsets(
    name: &str,
    list: Option<&[TaskOffset]>,
) -> Result<Option<BTreeMap<TaskId, i64>>, Fail> {
    let Some(list) = list else { return Ok(None) };
    if list.len() > OFFSETS_MAX {
        return Err(invalid(format!("{name} names {} tasks, at most {OFFSETS_MAX} are kept.", list.len())));
    }
    let mut offsets = BTreeMap::new();
    for it in list {
        let task = TaskId { subtopology: it.subtopology_id.detach(), partition: it.partition };
        if offsets.contains_key(&task) {
            return Err(invalid(format!("{name} names task {task} twice.")));
        }
        offsets.insert(task, it.offset);
    }
    Ok(Some(offsets))
}
