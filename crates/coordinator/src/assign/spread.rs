//! The assignor `spread`: active tasks as `sticky` places them, standbys over the racks and the client tags
//! that `streams.rack.aware.assignment.tags` names (rules of `docs/design/streams.md`).
//!
//! Processes with the same values make one *site*. Which sites are best for a task follows from the sites of its
//! copies alone, of which there are few combinations: each is ranked once. A queue in each site gives its least
//! loaded process. Cost: O(tasks × replicas × (equally good sites + log(processes))).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::sticky_tasks::{Place, Queue, Run, least};
use super::table::{Id, Table};
use super::{GroupAssignment, GroupSpec, Member, Process, Task, id};

/// Sites that a task looks at; with more of them the last tags are left out.
const SITES_MAX: usize = 128;

/// Rankings that are kept; with more of them all are made anew when they are needed.
const RANKINGS_MAX: usize = 4_096;

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
        if spec.standby_replicas > 0 {
            Spread::new(run.spec).assign_standby(&mut run);
        }
    }
    run.assignment()
}

struct Spread {
    site_of: Table<Process, Site>,
    rankings: Rankings,
}

impl Spread {
    fn new(spec: &GroupSpec<'_>) -> Self {
        let all = spec.values_of.rows();
        let longest = all.iter().map(Vec::len).max().unwrap_or(0);
        (0..=longest)
            .rev()
            .map(|length| Self::with(all, length))
            .find(|it| it.rankings.values.len() <= SITES_MAX)
            .unwrap_or_else(|| Self::with(all, 0))
    }

    /// With so many of the values of each process.
    fn with(all: &[Vec<u32>], length: usize) -> Self {
        let mut numbers: BTreeMap<&[u32], Site> = BTreeMap::new();
        let mut site_of = Vec::with_capacity(all.len());
        for values in all {
            let next = Site(id(numbers.len()));
            site_of.push(*numbers.entry(values.get(..length).unwrap_or(values)).or_insert(next));
        }
        let mut values = Table::filled(numbers.len(), Vec::new());
        numbers.into_iter().for_each(|(of_site, site)| values[site] = of_site.to_vec());
        Self { site_of: Table::new(site_of), rankings: Rankings::new(values) }
    }

    /// from the last task to the first, as `sticky` does.
    fn assign_standby(&mut self, run: &mut Run<'_>) {
        let mut queues: Table<Site, Queue> = Table::filled(self.rankings.values.len(), BinaryHeap::new());
        for (number, site) in (0_u32..).zip(self.site_of.rows()) {
            queues[*site].push(Reverse(run.process_place(Process(number))));
        }
        let mut queues = Queues { of_sites: queues, of_members: run.member_queues() };
        let tasks = run.spec.space.by_partition(|one| one.stateful);
        for task in tasks.iter().rev() {
            // What is there before any standby: the active copy.
            let mut ranking = Ranking::NONE;
            if let Some(owner) = run.active[task].member() {
                ranking = self.with_copy(ranking, run.spec.process_of[owner]);
            }
            for placed in 0..run.spec.standby_replicas {
                let Some(member) = self.choose(ranking, run, task, &mut queues) else {
                    run.standbys_missing += u64::from(run.spec.standby_replicas - placed);
                    break;
                };
                run.place_standby(task, member);
                ranking = self.with_copy(ranking, run.spec.process_of[member]);
            }
        }
    }

    fn with_copy(&mut self, ranking: Ranking, process: Process) -> Ranking {
        self.rankings.with_copy(ranking, self.site_of[process])
    }

    /// of the best site that has a process without the task: who has state, else the least loaded. Sites with
    /// equal counts are as good as one.
    fn choose(&self, ranking: Ranking, run: &Run<'_>, task: Task, queues: &mut Queues) -> Option<Member> {
        let ranked = &self.rankings.all[ranking];
        for (rank, equal) in (0..).zip(&ranked.sites) {
            let is_there = |member: Member| ranked.ranks[self.site_of[run.spec.process_of[member]]] == rank;
            if let Some(member) = run.standby_with_state(task, is_there) {
                return Some(member);
            }
            let mut best: Option<Place> = None;
            for site in equal {
                if let Some(place) = queues.least_loaded(*site, run, task)
                    && best.is_none_or(|other| place < other)
                {
                    best = Some(place);
                }
            }
            if let Some(place) = best {
                return queues.least_loaded_member(Process(place.id()), run);
            }
        }
        None
    }
}

/// The order of the sites for a task, by where its copies are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ranking(u32);

impl Ranking {
    /// For a task without copies.
    const NONE: Self = Self(0);
}

impl Id for Ranking {
    fn row(self) -> usize {
        self.0 as usize
    }
}

struct Rankings {
    /// The values of a site, most important first.
    values: Table<Site, Vec<u32>>,
    all: Table<Ranking, Ranked>,
    by_copies: BTreeMap<Vec<Site>, Ranking>,
}

struct Ranked {
    /// Where the copies are, sorted.
    copies: Vec<Site>,
    /// From the best on; those of a list are as good as each other.
    sites: Vec<Vec<Site>>,
    /// The list in which a site stands.
    ranks: Table<Site, u32>,
    /// With one copy more, as far as it was asked for.
    next: Table<Site, Option<Ranking>>,
}

impl Rankings {
    fn new(values: Table<Site, Vec<u32>>) -> Self {
        let mut rankings = Self { values, all: Table::new(Vec::new()), by_copies: BTreeMap::new() };
        rankings.begin();
        rankings
    }

    /// With [`Ranking::NONE`] alone.
    fn begin(&mut self) {
        self.all = Table::new(Vec::new());
        self.by_copies.clear();
        self.of(Vec::new());
    }

    fn with_copy(&mut self, ranking: Ranking, site: Site) -> Ranking {
        if let Some(next) = self.all[ranking].next[site] {
            return next;
        }
        let mut copies = self.all[ranking].copies.clone();
        copies.insert(copies.partition_point(|it| *it <= site), site);
        if self.all.len() >= RANKINGS_MAX {
            self.begin();
            return self.of(copies);
        }
        let next = self.of(copies);
        self.all[ranking].next[site] = Some(next);
        next
    }

    fn of(&mut self, copies: Vec<Site>) -> Ranking {
        if let Some(known) = self.by_copies.get(&copies) {
            return *known;
        }
        let ranking = Ranking(id(self.all.len()));
        self.all.push(self.rank(copies.clone()));
        self.by_copies.insert(copies, ranking);
        ranking
    }

    /// sites by how many copies share their first value, then their second, and so on.
    fn rank(&self, copies: Vec<Site>) -> Ranked {
        let shared = |(at, value): (usize, &u32)| {
            id(copies.iter().filter(|copy| self.values[**copy].get(at) == Some(value)).count())
        };
        let counts =
            |site: &Site| -> Vec<u32> { self.values[*site].iter().enumerate().map(shared).collect() };
        let mut sorted: Vec<(Vec<u32>, Site)> =
            (0..id(self.values.len())).map(Site).map(|site| (counts(&site), site)).collect();
        sorted.sort_unstable();
        let equal = sorted.chunk_by(|a, b| a.0 == b.0);
        let sites: Vec<Vec<Site>> = equal.map(|it| it.iter().map(|it| it.1).collect()).collect();
        let mut ranks = Table::filled(self.values.len(), 0);
        for (rank, equal) in (0..).zip(&sites) {
            equal.iter().for_each(|site| ranks[*site] = rank);
        }
        Ranked { copies, sites, ranks, next: Table::filled(self.values.len(), None) }
    }
}

/// Places in these may be out of date.
struct Queues {
    of_sites: Table<Site, Queue>,
    of_members: Table<Process, Queue>,
}

impl Queues {
    /// The least loaded process of a site that lacks the task.
    fn least_loaded(&mut self, site: Site, run: &Run<'_>, task: Task) -> Option<Place> {
        let queue = &mut self.of_sites[site];
        let now = |number| run.process_place(Process(number));
        let first = least(queue, now)?;
        if !run.has(Process(first.id()), task) {
            return Some(first);
        }
        // Rare: a copy of the task is in this site already.
        let mut skipped = Vec::new();
        let mut found = None;
        while let Some(place) = least(queue, now) {
            if !run.has(Process(place.id()), task) {
                found = Some(place);
                break;
            }
            skipped.extend(queue.pop());
        }
        queue.extend(skipped);
        found
    }

    fn least_loaded_member(&mut self, process: Process, run: &Run<'_>) -> Option<Member> {
        match least(&mut self.of_members[process], |number| run.member_place(Member(number))) {
            Some(place) => Some(Member(place.id())),
            // A process with one member has no queue.
            None => run.members_of.of(process).first().copied(),
        }
    }
}

impl Run<'_> {
    fn process_place(&self, process: Process) -> Place {
        self.processes[process].place(process.0)
    }

    fn member_place(&self, member: Member) -> Place {
        self.members[member].place(member.0)
    }
}
