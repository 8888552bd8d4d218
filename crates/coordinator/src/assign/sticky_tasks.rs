//! The assignor `sticky` (streams specification 6.2, rules ).
//!
//! Active tasks go to their previous owner, else to a member with state of them, else to the least loaded
//! process; standbys likewise. Two quotas keep the first two steps from overloading a member.
//!
//! Cost: O(tasks × (1 + replicas) × log(processes)), no allocation per task.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::table::{Id, Lists, Table};
use super::{GroupAssignment, GroupSpec, Member, Owner, Process, StandbyHint, Task, id};

/// A group without members gets no owners.
pub(super) fn assign(spec: &GroupSpec<'_>) -> GroupAssignment {
    let mut run = Run::new(spec);
    if spec.members() > 0 {
        run.assign_active();
        run.assign_standby();
    }
    run.assignment()
}

/// how many tasks a member may have, so that in the end none has more than one above the
/// least. Falls when a member is full and what is left no longer makes the others as full.
struct Quota {
    tasks: i64,
    members: i64,
    per_member: i64,
}

impl Quota {
    fn new(tasks: i64, members: i64) -> Self {
        let mut quota = Self { tasks, members, per_member: 0 };
        quota.divide();
        quota
    }

    fn allows_more_than(&self, count: u32) -> bool {
        i64::from(count) < self.per_member
    }

    /// A member has `count` tasks now.
    fn counted(&mut self, count: u32) {
        if i64::from(count) == self.per_member {
            self.members -= 1;
            self.tasks -= i64::from(count);
            self.divide();
        }
    }

    fn divide(&mut self) {
        // Rounds towards zero and then up for what is left, also below zero, as Kafka does.
        let whole = self.tasks.checked_div(self.members).unwrap_or(0);
        let rest = self.tasks.checked_rem(self.members).unwrap_or(0);
        self.per_member = whole + i64::from(rest > 0);
    }
}

/// A member or process with what decides its place in a queue: the load, then how long ago it got
/// a task, then its id. Equals are so served in turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(u128);

impl Place {
    fn new(load: u64, turn: u32, id: u32) -> Self {
        Self(u128::from(load) << 64 | u128::from(turn) << 32 | u128::from(id))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are the id")]
    pub(super) fn id(self) -> u32 {
        self.0 as u32
    }
}

pub(super) type Queue = BinaryHeap<Reverse<Place>>;

/// The first of a queue whose places may be out of date. Loads only grow, so such a place is too good, and is put
/// right when it comes first.
pub(super) fn least(queue: &mut Queue, now: impl Fn(u32) -> Place) -> Option<Place> {
    loop {
        let mut first = queue.peek_mut()?;
        let place = now(first.0.id());
        if first.0 == place {
            return Some(place);
        }
        first.0 = place;
    }
}

pub(super) struct Run<'a> {
    pub(super) spec: &'a GroupSpec<'a>,
    /// No more than there can be processes besides the active one's.
    replicas: usize,
    active_quota: Quota,
    total_quota: Quota,
    /// Counts the placements; the turn of the last one is kept per member and process.
    turn: u32,
    pub(super) members: Table<Member, Load>,
    pub(super) processes: Table<Process, Load>,
    pub(super) members_of: Lists<Process, Member>,
    hints: Lists<Task, StandbyHint>,
    pub(super) active: Table<Task, Owner>,
    standby: Vec<Owner>,
    pub(super) standbys_missing: u64,
}

#[derive(Clone, Copy)]
pub(super) struct Load {
    tasks: u32,
    turn: u32,
    /// Members of a process; 1 for a member.
    capacity: u32,
}

impl Load {
    /// Tasks per member. Non-negative floats keep their order as bits.
    fn key(self) -> u64 {
        (f64::from(self.tasks) / f64::from(self.capacity)).to_bits()
    }

    pub(super) fn place(self, id: u32) -> Place {
        Place::new(self.key(), self.turn, id)
    }
}

impl<'a> Run<'a> {
    pub(super) fn new(spec: &'a GroupSpec<'a>) -> Self {
        let tasks = spec.space.tasks as usize;
        let members = spec.members();
        let stateful: i64 =
            spec.space.subtopologies.iter().filter(|one| one.stateful).map(|one| one.len()).sum();
        let active = i64::from(spec.space.tasks);
        let total = active + stateful * i64::from(spec.standby_replicas);
        let others = spec.processes.len().saturating_sub(1);
        let replicas = others.min(spec.standby_replicas as usize);
        let mut processes = Table::filled(spec.processes.len(), Load { tasks: 0, turn: 0, capacity: 0 });
        for process in spec.process_of.rows() {
            processes[*process].capacity += 1;
        }
        let ids = (0..id(members)).map(Member);
        Self {
            spec,
            replicas,
            active_quota: Quota::new(active, i64::from(id(members))),
            total_quota: Quota::new(total, i64::from(id(members))),
            turn: 0,
            members: Table::filled(members, Load { tasks: 0, turn: 0, capacity: 1 }),
            members_of: Lists::group(processes.len(), ids.map(|member| (spec.process_of[member], member))),
            processes,
            hints: ranked_hints(spec),
            active: Table::filled(tasks, Owner::NOBODY),
            standby: vec![Owner::NOBODY; tasks * replicas],
            standbys_missing: 0,
        }
    }

    pub(super) fn assignment(self) -> GroupAssignment {
        GroupAssignment {
            members: self.spec.members(),
            active: self.active,
            standby: self.standby,
            replicas: self.replicas,
            standbys_missing: self.standbys_missing,
        }
    }

    pub(super) fn assign_active(&mut self) {
        let tasks = self.spec.space.by_partition(|_| true);
        // previous owners, while they are below the quota.
        for task in tasks.iter() {
            if let Some(member) = self.spec.active_before[task].member()
                && self.active_quota.allows_more_than(self.members[member].tasks)
            {
                self.place_active(task, member);
            }
        }
        // members that have state.
        if !self.hints.is_empty() {
            for task in tasks.iter() {
                if self.active[task] == Owner::NOBODY
                    && let Some(member) = self.hinted(task, |_| true)
                    && self.active_quota.allows_more_than(self.members[member].tasks)
                {
                    self.place_active(task, member);
                }
            }
        }
        self.assign_active_by_load();
    }

    /// whoever has least, in the order of (subtopology id, partition).
    fn assign_active_by_load(&mut self) {
        if !self.active.rows().contains(&Owner::NOBODY) {
            return;
        }
        let mut processes = self.process_queue();
        let mut members = self.member_queues();
        for task in (0..self.spec.space.tasks).map(Task) {
            if self.active[task] != Owner::NOBODY {
                continue;
            }
            let Some(mut least) = processes.peek_mut() else { return };
            let process = Process(least.0.id());
            let Some(member) = self.least_loaded(process, &members) else { return };
            self.place_active(task, member);
            self.requeue(member, process, &mut members);
            least.0 = self.processes[process].place(process.0);
        }
    }

    fn assign_standby(&mut self) {
        if self.spec.standby_replicas == 0 {
            return;
        }
        let wanted = self.spec.standby_replicas;
        let mut left: Table<Task, u32> = Table::filled(self.active.len(), 0);
        // members that have state, from the last partition to the first.
        let tasks = self.spec.space.by_partition(|one| one.stateful);
        for task in tasks.iter().rev() {
            let mut placed = 0;
            while placed < wanted
                && let Some(member) = self.standby_with_state(task, |_| true)
            {
                self.place_standby(task, member);
                placed += 1;
            }
            left[task] = wanted - placed;
        }
        self.assign_standby_by_load(&left);
    }

    /// the least loaded process without the task, from the last task to the first.
    fn assign_standby_by_load(&mut self, left: &Table<Task, u32>) {
        let mut processes = self.process_queue();
        let mut members = self.member_queues();
        let mut skipped = Vec::new();
        for (task, left) in (0..self.spec.space.tasks).map(Task).zip(left.rows()).rev() {
            for placed in 0..*left {
                if !self.standby_to_least(task, &mut processes, &mut members, &mut skipped) {
                    self.standbys_missing += u64::from(left - placed);
                    break;
                }
            }
        }
    }

    /// False if every process has the task.
    fn standby_to_least(
        &mut self,
        task: Task,
        processes: &mut Queue,
        members: &mut Table<Process, Queue>,
        skipped: &mut Vec<Reverse<Place>>,
    ) -> bool {
        let mut found = false;
        while let Some(mut least) = processes.peek_mut() {
            let process = Process(least.0.id());
            if self.has(process, task) {
                skipped.push(PeekMut::pop(least));
                continue;
            }
            let Some(member) = self.least_loaded(process, members) else { break };
            self.place_standby(task, member);
            self.requeue(member, process, members);
            least.0 = self.processes[process].place(process.0);
            found = true;
            break;
        }
        processes.extend(skipped.drain(..));
        found
    }

    /// The previous active owner, else the best hint, whose process lacks the task; below the quota.
    pub(super) fn standby_with_state(&self, task: Task, eligible: impl Fn(Member) -> bool) -> Option<Member> {
        let lacks = |member: Member| eligible(member) && !self.has(self.spec.process_of[member], task);
        let below = |member: &Member| self.total_quota.allows_more_than(self.members[*member].tasks);
        let owner = self.spec.active_before[task].member().filter(|member| lacks(*member)).filter(below);
        owner.or_else(|| self.hinted(task, lacks).filter(below))
    }

    /// the first hint is replaced only by one whose process *and* which itself have less.
    fn hinted(&self, task: Task, eligible: impl Fn(Member) -> bool) -> Option<Member> {
        let mut best: Option<(Member, u64, u32)> = None;
        for hint in self.hints.of(task) {
            if !eligible(hint.member) {
                continue;
            }
            let process = self.processes[self.spec.process_of[hint.member]].key();
            let member = self.members[hint.member].tasks;
            if best
                .is_none_or(|(_, process_best, member_best)| process < process_best && member < member_best)
            {
                best = Some((hint.member, process, member));
            }
        }
        best.map(|(member, _, _)| member)
    }

    pub(super) fn has(&self, process: Process, task: Task) -> bool {
        let holds =
            |owner: Owner| owner.member().is_some_and(|member| self.spec.process_of[member] == process);
        holds(self.active[task]) || self.places(task).iter().any(|owner| holds(*owner))
    }

    fn places(&self, task: Task) -> &[Owner] {
        let first = task.row() * self.replicas;
        self.standby.get(first..first + self.replicas).unwrap_or_default()
    }

    fn place_active(&mut self, task: Task, member: Member) {
        self.active[task] = member.into();
        let count = self.count(member);
        self.active_quota.counted(count);
        self.total_quota.counted(count);
    }

    pub(super) fn place_standby(&mut self, task: Task, member: Member) {
        let first = task.row() * self.replicas;
        let places = self.standby.get_mut(first..first + self.replicas).unwrap_or_default();
        let free = places.iter_mut().find(|place| **place == Owner::NOBODY);
        *free.expect("there are as many places as other processes") = member.into();
        let count = self.count(member);
        self.total_quota.counted(count);
    }

    /// The member's new number of tasks.
    fn count(&mut self, member: Member) -> u32 {
        self.turn += 1;
        let turn = self.turn;
        let process = self.spec.process_of[member];
        for load in [&mut self.processes[process], &mut self.members[member]] {
            load.tasks += 1;
            load.turn = turn;
        }
        self.members[member].tasks
    }

    fn process_queue(&self) -> Queue {
        (0_u32..).zip(self.processes.rows()).map(|(id, load)| Reverse(load.place(id))).collect()
    }

    /// A process with one member needs no queue.
    pub(super) fn member_queues(&self) -> Table<Process, Queue> {
        let queue = |process| match self.members_of.of(process) {
            [] | [_] => Queue::new(),
            many => many.iter().map(|member| Reverse(self.members[*member].place(member.0))).collect(),
        };
        Table::new((0..id(self.processes.len())).map(|process| queue(Process(process))).collect())
    }

    fn least_loaded(&self, process: Process, queues: &Table<Process, Queue>) -> Option<Member> {
        match queues[process].peek() {
            Some(Reverse(least)) => Some(Member(least.id())),
            None => self.members_of.of(process).first().copied(),
        }
    }

    /// Puts the least loaded member, which just got a task, where it belongs now.
    fn requeue(&self, member: Member, process: Process, queues: &mut Table<Process, Queue>) {
        if let Some(mut least) = queues[process].peek_mut() {
            least.0 = self.members[member].place(member.0);
        }
    }
}

/// for each task who may have state of it; standbys first, then by offset, then by member.
fn ranked_hints(spec: &GroupSpec<'_>) -> Lists<Task, StandbyHint> {
    let mut hints = Lists::group(spec.space.tasks as usize, spec.standby_before.iter().copied());
    if hints.is_empty() {
        return hints;
    }
    for task in (0..spec.space.tasks).map(Task) {
        let hints = hints.of_mut(task);
        if hints.len() > 1 {
            merge_hints_of_members(hints);
            hints.sort_by_key(|hint| (!hint.was_standby, Reverse(hint.offset)));
        }
    }
    hints
}

/// A standby that reports an offset made two hints, side by side. Makes them equal: the second is harmless.
fn merge_hints_of_members(hints: &mut [StandbyHint]) {
    for one in hints.chunk_by_mut(|a, b| a.member == b.member) {
        let was_standby = one.iter().any(|hint| hint.was_standby);
        let offset = one.iter().find(|hint| !hint.was_standby).map_or(0, |hint| hint.offset);
        for hint in one {
            *hint = StandbyHint { was_standby, offset, ..*hint };
        }
    }
}
