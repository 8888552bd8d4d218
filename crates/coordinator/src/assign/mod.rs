//! Assignors of streams groups (KIP-1071): which member owns which task. Those of consumer groups stand in
//! [`partitions`].
//!
//! Subtopologies, tasks, members and processes are interned to dense ids; an assignment is an owner array,
//! not a map of sets. Strings appear only where a [`GroupSpec`] is filled and where tasks are written out.
//! Pure: no clock, no chance; equal input gives equal output.

mod levels;
mod partition_set;
mod partitions;
mod queue;
mod range;
mod spread;
mod sticky_tasks;
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_partitions;
mod uniform;
mod uniform_mixed;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use wire::Str;

use table::{Id, Lists, Table};

pub use partition_set::{Outlines, Partitions};
pub use partitions::{PartitionAssignor, PartitionSpec, Place, Subscriber, Subscription, Topic};

/// The assignors that a group can name in `streams.assignor.name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assignor {
    Sticky,
    /// Our own: standbys over racks and client tags.
    Spread,
}

impl Assignor {
    pub const ALL: [Self; 2] = [Self::Sticky, Self::Spread];

    pub fn name(self) -> &'static str {
        match self {
            Self::Sticky => "sticky",
            Self::Spread => "spread",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|assignor| assignor.name() == name)
    }

    pub fn assign(self, spec: &GroupSpec<'_>) -> GroupAssignment {
        match self {
            Self::Sticky => sticky_tasks::assign(spec),
            Self::Spread => spread::assign(spec),
        }
    }
}

/// A task of a [`TaskSpace`]: ids are dense and in the order (subtopology id, partition).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task(pub u32);

/// A member of a [`GroupSpec`]: the number of `add_member` calls before its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member(pub u32);

/// The owner of a task or nobody, in four bytes: large groups are bound by memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner(u32);

impl Owner {
    const NOBODY: Self = Self(u32::MAX);

    fn member(self) -> Option<Member> {
        (self != Self::NOBODY).then_some(Member(self.0))
    }
}

impl From<Member> for Owner {
    fn from(member: Member) -> Self {
        Self(member.0)
    }
}

/// All members with the same process id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Process(u32);

/// Tasks by (partition, subtopology id) without a list of them all.
#[derive(Debug, Default)]
struct ByPartition {
    stripes: Vec<Stripe>,
}

/// A range of partitions which the same subtopologies have, and the first task of each of these.
#[derive(Debug)]
struct Stripe {
    partitions: Range<u32>,
    firsts: Vec<u32>,
}

impl ByPartition {
    fn iter(&self) -> impl DoubleEndedIterator<Item = Task> {
        self.stripes.iter().flat_map(|stripe| {
            let partitions = stripe.partitions.clone();
            partitions.flat_map(|partition| stripe.firsts.iter().map(move |first| Task(first + partition)))
        })
    }
}

impl Id for Task {
    fn row(self) -> usize {
        self.0 as usize
    }
}

impl Id for Member {
    fn row(self) -> usize {
        self.0 as usize
    }
}

impl Id for Process {
    fn row(self) -> usize {
        self.0 as usize
    }
}

/// The tasks of a ready topology.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskSpace {
    /// Sorted by id.
    subtopologies: Vec<SubtopologyTasks>,
    tasks: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SubtopologyTasks {
    id: Str,
    range: Range<u32>,
    stateful: bool,
}

impl TaskSpace {
    /// From (subtopology id, number of tasks, has state). Ids must be unique.
    pub fn new(subtopologies: impl IntoIterator<Item = (Str, u32, bool)>) -> Self {
        let mut sorted: Vec<_> = subtopologies.into_iter().collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        let mut space = Self::default();
        for (id, tasks, stateful) in sorted {
            let end = space.tasks.checked_add(tasks).expect("a task is a partition of a topic that exists");
            space.subtopologies.push(SubtopologyTasks { id, range: space.tasks..end, stateful });
            space.tasks = end;
        }
        space
    }

    /// Number of tasks of all subtopologies.
    pub fn len(&self) -> u32 {
        self.tasks
    }

    pub fn is_empty(&self) -> bool {
        self.tasks == 0
    }

    /// `None` if the topology has no such task.
    pub fn task(&self, subtopology: &Str, partition: i32) -> Option<Task> {
        self.find(subtopology)?.task(partition)
    }

    /// Subtopology id and partition of a task of this space.
    pub fn name(&self, task: Task) -> Option<(&Str, i32)> {
        let at = self.subtopologies.partition_point(|one| one.range.end <= task.0);
        let one = self.subtopologies.get(at)?;
        Some((&one.id, i32::try_from(task.0.checked_sub(one.range.start)?).ok()?))
    }

    /// Sorted tasks as the wire and the records write them: per subtopology its partitions, both ascending.
    pub fn by_subtopology<'a>(&'a self, tasks: &'a [Task]) -> impl Iterator<Item = (&'a Str, Vec<i32>)> {
        tasks.chunk_by(|a, b| self.subtopology_of(*a) == self.subtopology_of(*b)).filter_map(|run| {
            let (id, _) = self.name(*run.first()?)?;
            Some((
                id,
                run.iter().filter_map(|task| self.name(*task)).map(|(_, partition)| partition).collect(),
            ))
        })
    }

    /// Tasks of the subtopologies that are `included`, in the order (partition, subtopology id).
    fn by_partition(&self, included: impl Fn(&SubtopologyTasks) -> bool) -> ByPartition {
        let included: Vec<&Range<u32>> =
            self.subtopologies.iter().filter(|one| included(one)).map(|one| &one.range).collect();
        let ends: BTreeSet<u32> = included.iter().map(|range| range.end - range.start).collect();
        let mut stripes = Vec::new();
        let mut start = 0;
        for end in ends {
            let firsts =
                included.iter().filter(|range| range.end - range.start >= end).map(|range| range.start);
            stripes.push(Stripe { partitions: start..end, firsts: firsts.collect() });
            start = end;
        }
        ByPartition { stripes }
    }

    fn subtopology_of(&self, task: Task) -> usize {
        self.subtopologies.partition_point(|one| one.range.end <= task.0)
    }

    fn find(&self, subtopology: &Str) -> Option<&SubtopologyTasks> {
        let at = self.subtopologies.binary_search_by(|one| one.id.cmp(subtopology)).ok()?;
        self.subtopologies.get(at)
    }
}

impl SubtopologyTasks {
    fn len(&self) -> i64 {
        i64::from(self.range.end - self.range.start)
    }

    fn task(&self, partition: i32) -> Option<Task> {
        let task = self.range.start.checked_add(u32::try_from(partition).ok()?)?;
        (task < self.range.end).then_some(Task(task))
    }
}

/// Input of an assignor. Members are added in the order of their ids, so that ties are decided by it;
/// what a member had before is said after it was added and before the next one is.
///
/// Previous tasks are the member's assigned tasks without those it must give up. Tasks that the
/// topology no longer has are ignored.
#[derive(Debug)]
pub struct GroupSpec<'a> {
    space: &'a TaskSpace,
    standby_replicas: u32,
    processes: BTreeMap<&'a Str, Process>,
    process_of: Table<Member, Process>,
    /// A later member overwrites an earlier one.
    active_before: Table<Task, Owner>,
    standby_before: Vec<(Task, StandbyHint)>,
    /// Of each process, most important first.
    values_of: Table<Process, Vec<u32>>,
    value_ids: BTreeMap<(usize, Option<&'a Str>), u32>,
}

/// Why a member may have state of a task: it was its standby, or it reported an offset for it, or both.
#[derive(Debug, Clone, Copy)]
struct StandbyHint {
    member: Member,
    was_standby: bool,
    offset: i64,
}

impl<'a> GroupSpec<'a> {
    /// `standby_replicas` is the group's `streams.num.standby.replicas`.
    pub fn new(space: &'a TaskSpace, standby_replicas: u32) -> Self {
        Self {
            space,
            standby_replicas,
            processes: BTreeMap::new(),
            process_of: Table::new(Vec::new()),
            active_before: Table::filled(space.tasks as usize, Owner::NOBODY),
            standby_before: Vec::new(),
            values_of: Table::new(Vec::new()),
            value_ids: BTreeMap::new(),
        }
    }

    pub fn members(&self) -> usize {
        self.process_of.len()
    }

    pub fn space(&self) -> &'a TaskSpace {
        self.space
    }

    pub fn add_member(&mut self, process_id: &'a Str) -> Member {
        let member = Member(id(self.process_of.len()));
        let process = Process(id(self.processes.len()));
        self.process_of.push(*self.processes.entry(process_id).or_insert(process));
        if self.values_of.len() < self.processes.len() {
            self.values_of.push(Vec::new());
        }
        member
    }

    /// Values over which copies shall be spread, most important first; none counts as a value too. The first
    /// member of a process speaks for it.
    pub fn spread_values(&mut self, member: Member, values: impl IntoIterator<Item = Option<&'a Str>>) {
        let process = self.process_of[member];
        if !self.values_of[process].is_empty() {
            return;
        }
        for (at, value) in values.into_iter().enumerate() {
            let next = id(self.value_ids.len());
            let value = *self.value_ids.entry((at, value)).or_insert(next);
            self.values_of[process].push(value);
        }
    }

    pub fn previous_active<'t>(&mut self, member: Member, tasks: impl IntoIterator<Item = (&'t Str, i32)>) {
        let mut finder = Finder::new(self.space);
        for task in tasks.into_iter().filter_map(|(id, partition)| finder.task(id, partition)) {
            self.active_before[task] = member.into();
        }
    }

    pub fn previous_standby<'t>(&mut self, member: Member, tasks: impl IntoIterator<Item = (&'t Str, i32)>) {
        let hint = StandbyHint { member, was_standby: true, offset: 0 };
        let mut finder = Finder::new(self.space);
        let tasks = tasks.into_iter().filter_map(|(id, partition)| finder.task(id, partition));
        self.standby_before.extend(tasks.map(|task| (task, hint)));
    }

    /// The sums of changelog offsets that the member reported (`TaskOffsets`), each task once.
    pub fn task_offsets<'t>(
        &mut self,
        member: Member,
        offsets: impl IntoIterator<Item = (&'t Str, i32, i64)>,
    ) {
        let mut finder = Finder::new(self.space);
        for (id, partition, offset) in offsets {
            if let Some(task) = finder.task(id, partition) {
                self.standby_before.push((task, StandbyHint { member, was_standby: false, offset }));
            }
        }
    }
}

/// Finds tasks by name; cheap while the subtopology stays the same.
struct Finder<'a> {
    space: &'a TaskSpace,
    last: Option<&'a SubtopologyTasks>,
}

impl<'a> Finder<'a> {
    fn new(space: &'a TaskSpace) -> Self {
        Self { space, last: None }
    }

    fn task(&mut self, subtopology: &Str, partition: i32) -> Option<Task> {
        if self.last.is_none_or(|last| last.id != *subtopology) {
            self.last = self.space.find(subtopology);
        }
        self.last?.task(partition)
    }
}

/// Output of an assignor.
#[derive(Debug, Clone)]
pub struct GroupAssignment {
    members: usize,
    active: Table<Task, Owner>,
    /// `replicas` places for each task, filled from the first.
    standby: Vec<Owner>,
    replicas: usize,
    /// Standbys for which there was no process without the task; worth a warning to the operator.
    pub standbys_missing: u64,
}

impl GroupAssignment {
    /// `None` only if the group has no members.
    pub fn active_owner(&self, task: Task) -> Option<Member> {
        self.active.rows().get(task.row()).and_then(|owner| owner.member())
    }

    pub fn standby_owners(&self, task: Task) -> impl Iterator<Item = Member> {
        let places = self.standby.chunks(self.replicas.max(1)).nth(task.row()).unwrap_or_default();
        places.iter().filter_map(|owner| owner.member())
    }

    /// The assignment turned round; O(members + tasks).
    pub fn by_member(&self) -> TasksByMember {
        let owned = |task: u32, owner: &Owner| Some((owner.member()?, Task(task)));
        let active = (0_u32..).zip(self.active.rows()).filter_map(|(task, owner)| owned(task, owner));
        let standby = (0_u32..).zip(self.standby.chunks(self.replicas.max(1)));
        let standby =
            standby.flat_map(|(task, places)| places.iter().filter_map(move |owner| owned(task, owner)));
        TasksByMember {
            active: Lists::group(self.members, active),
            standby: Lists::group(self.members, standby),
        }
    }
}

/// Tasks of each member, sorted.
#[derive(Debug, Clone)]
pub struct TasksByMember {
    active: Lists<Member, Task>,
    standby: Lists<Member, Task>,
}

impl TasksByMember {
    pub fn active(&self, member: Member) -> &[Task] {
        self.active.of(member)
    }

    pub fn standby(&self, member: Member) -> &[Task] {
        self.standby.of(member)
    }
}

fn id(len: usize) -> u32 {
    u32::try_from(len).expect("members are bounded by the group's size limit")
}
