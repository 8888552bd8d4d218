//! Tasks of a streams group and who holds them (KIP-1071).
//!
//! A task is one partition of one subtopology. It is held in one of three roles: active (processes
//! records), standby (keeps a copy of the state) and warm-up (a standby that shall become active).
//! This file knows sets of tasks and nothing of epochs, members or the protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use wire::Str;

/// A partition of a subtopology, the unit that is assigned.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TaskId {
    pub subtopology: Str,
    pub partition: i32,
}

impl TaskId {
    pub fn new(subtopology: &Str, partition: i32) -> Self {
        Self { subtopology: subtopology.clone(), partition }
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.subtopology, self.partition)
    }
}

pub type TaskSet = BTreeSet<TaskId>;

/// What a task is held as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Active,
    Standby,
    Warmup,
}

/// Tasks by role: a target, or what a member says that it owns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tasks {
    pub active: TaskSet,
    pub standby: TaskSet,
    pub warmup: TaskSet,
}

impl Tasks {
    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.standby.is_empty() && self.warmup.is_empty()
    }

    /// Whether some task of `other` is held here in the same role.
    pub fn contains_any(&self, other: &AssignedTasks) -> bool {
        other.active.keys().any(|task| self.active.contains(task))
            || other.standby.iter().any(|task| self.standby.contains(task))
            || other.warmup.iter().any(|task| self.warmup.contains(task))
    }

    /// Whether each task here stands in `other` in the same role.
    pub fn is_within(&self, other: &AssignedTasks) -> bool {
        self.active.iter().all(|task| other.active.contains_key(task))
            && self.standby.is_subset(&other.standby)
            && self.warmup.is_subset(&other.warmup)
    }
}

/// Tasks that the coordinator granted. An active task carries the assignment epoch at which it was
/// granted, against which late offset commits are checked (KAFKA-19779).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AssignedTasks {
    pub active: BTreeMap<TaskId, i32>,
    pub standby: TaskSet,
    pub warmup: TaskSet,
}

impl AssignedTasks {
    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.standby.is_empty() && self.warmup.is_empty()
    }

    /// Whether the same tasks are held in the same roles, whatever their assignment epochs.
    pub fn same_tasks(&self, other: &Self) -> bool {
        self.active.keys().eq(other.active.keys())
            && self.standby == other.standby
            && self.warmup == other.warmup
    }

    /// As [`AssignedTasks::same_tasks`], against tasks without epochs.
    pub fn same_as(&self, tasks: &Tasks) -> bool {
        self.active.keys().eq(tasks.active.iter())
            && self.standby == tasks.standby
            && self.warmup == tasks.warmup
    }
}

/// Who holds each task of a group, by member id: tasks that members have and tasks that they were
/// told to give up and have not. It is a function of the members alone, so the order in which
/// compacted records are replayed does not matter (KAFKA-19862); two holders of one active task can
/// be seen only in the middle of such a replay.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Holders {
    tasks: BTreeMap<TaskId, Holder>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Holder {
    active: BTreeSet<Str>,
    standby: BTreeSet<Str>,
    warmup: BTreeSet<Str>,
}

impl Holder {
    fn role(&self, role: Role) -> &BTreeSet<Str> {
        match role {
            Role::Active => &self.active,
            Role::Standby => &self.standby,
            Role::Warmup => &self.warmup,
        }
    }

    fn role_mut(&mut self, role: Role) -> &mut BTreeSet<Str> {
        match role {
            Role::Active => &mut self.active,
            Role::Standby => &mut self.standby,
            Role::Warmup => &mut self.warmup,
        }
    }

    fn is_empty(&self) -> bool {
        self.active.is_empty() && self.standby.is_empty() && self.warmup.is_empty()
    }
}

impl Holders {
    /// The members that hold the task in this role.
    pub fn of(&self, task: &TaskId, role: Role) -> impl Iterator<Item = &Str> {
        self.tasks.get(task).into_iter().flat_map(move |holder| holder.role(role))
    }

    pub(super) fn add(&mut self, member_id: &Str, tasks: &AssignedTasks) {
        for (task, role) in roles(tasks) {
            let holder = self.tasks.entry(task.clone()).or_default();
            holder.role_mut(role).insert(member_id.clone());
        }
    }

    pub(super) fn remove(&mut self, member_id: &Str, tasks: &AssignedTasks) {
        for (task, role) in roles(tasks) {
            let Some(holder) = self.tasks.get_mut(task) else { continue };
            holder.role_mut(role).remove(member_id);
            if holder.is_empty() {
                self.tasks.remove(task);
            }
        }
    }
}

fn roles(tasks: &AssignedTasks) -> impl Iterator<Item = (&TaskId, Role)> {
    let active = tasks.active.keys().map(|task| (task, Role::Active));
    let standby = tasks.standby.iter().map(|task| (task, Role::Standby));
    let warmup = tasks.warmup.iter().map(|task| (task, Role::Warmup));
    active.chain(standby).chain(warmup)
}
