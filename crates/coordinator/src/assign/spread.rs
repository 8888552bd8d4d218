//! The assignor `spread`: active tasks as `sticky` places them, standbys over the racks and the client tags
//! that `streams.rack.aware.assignment.tags` names (rules of `docs/design/streams.md`).
//!
//! Processes with the same values make one *site*. A task looks at sites, of which there are few, and a queue
//! in each gives the least loaded process: O(tasks × replicas × (sites + log(processes))).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::sticky_tasks::{Place, Run};
use super::table::{Id, Table};
use super::{GroupAssignment, GroupSpec, Member, Owner, Process, Task, id};

/// Sites that a task looks at; with more of them the last tags are left out.
const SITES_MAX: usize = 128;

/// Processes with the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Site(u32);

impl Id for Site {
    fn row(self) -> usize {
        self.0 as usize
    }
}

/// A group without members gets no owners.
pub(super) fn assign(spec: &GroupSpec<'_>) -> GroupAssignment {
    let mut run = Run::new(spec);
    if spec.members() > 0 {
        run.assign_active();
        Spread::new(run.spec).assign_standby(&mut run);
    }
    run.assignment()
}

struct Spread {
    site_of: Table<Process, Site>,
    /// The values of a site, most important first.
    values: Table<Site, Vec<u32>>,
}

impl Spread {
    fn new(spec: &GroupSpec<'_>) -> Self {
        let all = spec.values_of.rows();
        let longest = all.iter().map(Vec::len).max().unwrap_or(0);
        (0..=longest)
            .rev()
            .map(|length| Self::with(all, length))
            .find(|it| it.values.len() <= SITES_MAX)
            .unwrap_or_else(|| Self::with(all, 0))
    }

    /// With so many of the values of each process.
    fn with(all: &[Vec<u32>], length: usize) -> Self {
        let kept = |values: &Vec<u32>| values.iter().copied().take(length).collect::<Vec<_>>();
        let mut values: Vec<_> = all.iter().map(kept).collect();
        values.sort();
        values.dedup();
        let site = |it: &Vec<u32>| Site(id(values.partition_point(|other| *other < kept(it))));
        Self { site_of: Table::new(all.iter().map(site).collect()), values: Table::new(values) }
    }

    /// from the last task to the first, as `sticky` does.
    fn assign_standby(&self, run: &mut Run<'_>) {
        let mut queues: Table<Site, BinaryHeap<Reverse<Place>>> =
            Table::filled(self.values.len(), BinaryHeap::new());
        for (number, site) in (0_u32..).zip(self.site_of.rows()) {
            queues[*site].push(Reverse(run.process_place(Process(number))));
        }
        let tasks = run.spec.space.by_partition(|one| one.stateful);
        let mut sites: Vec<_> = (0..).take(self.values.len()).map(|site| (Vec::new(), Site(site))).collect();
        for task in tasks.iter().rev() {
            for placed in 0..run.spec.standby_replicas {
                self.rank(&mut sites, run, task);
                let Some(member) = self.choose(&sites, run, task, &mut queues) else {
                    run.standbys_missing += u64::from(run.spec.standby_replicas - placed);
                    break;
                };
                run.place_standby(task, member);
            }
        }
    }

    /// sites by how many copies share their first value, then their second, and so on. The lists are those of
    /// the last task, filled anew: this runs once for each standby.
    fn rank(&self, sites: &mut [(Vec<u32>, Site)], run: &Run<'_>, task: Task) {
        let copies: Vec<&[u32]> = run.processes_with(task).map(|it| self.values_of(it)).collect();
        let shared =
            |(at, value): (usize, &u32)| id(copies.iter().filter(|copy| copy.get(at) == Some(value)).count());
        for (counts, site) in &mut *sites {
            counts.clear();
            counts.extend(self.values[*site].iter().enumerate().map(shared));
        }
        sites.sort_unstable();
    }

    fn values_of(&self, process: Process) -> &[u32] {
        &self.values[self.site_of[process]]
    }

    /// of the best site that has a process without the task: who has state, else the least loaded. Sites with
    /// the same number of shared values count as one.
    fn choose(
        &self,
        sites: &[(Vec<u32>, Site)],
        run: &Run<'_>,
        task: Task,
        queues: &mut Table<Site, BinaryHeap<Reverse<Place>>>,
    ) -> Option<Member> {
        for equal in sites.chunk_by(|a, b| a.0 == b.0) {
            let site_of = |member: Member| self.site_of[run.spec.process_of[member]];
            let is_there = |member: Member| equal.iter().any(|(_, site)| *site == site_of(member));
            if let Some(member) = run.standby_with_state(task, is_there) {
                return Some(member);
            }
            let mut best: Option<(Place, Process)> = None;
            for (_, site) in equal {
                if let Some((place, process)) = least_loaded(&mut queues[*site], run, task)
                    && best.is_none_or(|(other, _)| place < other)
                {
                    best = Some((place, process));
                }
            }
            if let Some((_, process)) = best {
                return run.least_loaded_member(process);
            }
        }
        None
    }
}

/// The least loaded process of a queue that lacks the task. Loads only grow, so a place that is out of date is
/// too good, and is put right when it comes first.
fn least_loaded(
    queue: &mut BinaryHeap<Reverse<Place>>,
    run: &Run<'_>,
    task: Task,
) -> Option<(Place, Process)> {
    let mut skipped = Vec::new();
    let mut found = None;
    while let Some(Reverse(place)) = queue.pop() {
        let process = Process(place.id());
        let now = run.process_place(process);
        if now != place {
            queue.push(Reverse(now));
        } else if run.has(process, task) {
            skipped.push(Reverse(place));
        } else {
            queue.push(Reverse(place));
            found = Some((place, process));
            break;
        }
    }
    queue.extend(skipped);
    found
}

impl Run<'_> {
    /// The processes that have a copy of the task.
    fn processes_with(&self, task: Task) -> impl Iterator<Item = Process> {
        let owners = std::iter::once(self.active[task]).chain(self.places(task).iter().copied());
        owners.filter_map(Owner::member).map(|member| self.spec.process_of[member])
    }

    fn process_place(&self, process: Process) -> Place {
        self.processes[process].place(process.0)
    }

    fn least_loaded_member(&self, process: Process) -> Option<Member> {
        let members = self.members_of.of(process).iter().copied();
        members.min_by_key(|member| self.members[*member].place(member.0))
    }
}
