//! `sticky` and `spread` against a slow assignor that is written down from the rules (6.2, A-10 to to
//! A-42) without any of their structures: no queues, no quotas that are kept up to date in place, only lists that are
//! searched anew for each task.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};

use coordinator::Entropy;
use coordinator::assign::{Assignor, GroupSpec, Member, TaskSpace};
use wire::Str;

const CASES: u64 = 10_000;

type Task = (Str, i32);

#[derive(Debug, Clone, Default)]
struct Before {
    process: Str,
    /// Zone and rack; the first member of a process speaks for it.
    values: Vec<Option<Str>>,
    active: BTreeSet<Task>,
    standby: BTreeSet<Task>,
    offsets: BTreeMap<Task, i64>,
}

#[derive(Debug, Clone, Default)]
struct Group {
    /// Subtopology, number of tasks, has state.
    topology: Vec<(Str, i32, bool)>,
    members: Vec<Before>,
    standbys: u32,
}

/// Active and standby tasks of each member.
type Assigned = Vec<(BTreeSet<Task>, BTreeSet<Task>)>;

/// from the counts alone: `full` holds the counts of those that were full when they got there.
struct Quota {
    tasks: i64,
    members: i64,
}

impl Quota {
    fn now(&self) -> i64 {
        // ceil as Java's: of the division of whole numbers as real ones; 0 without members.
        if self.members == 0 { 0 } else { -(-self.tasks).div_euclid(self.members) }
    }

    fn count(&mut self, count: i64) {
        if count == self.now() {
            self.members -= 1;
            self.tasks -= count;
        }
    }
}

struct Reference<'a> {
    group: &'a Group,
    result: Assigned,
    active_quota: Quota,
    total_quota: Quota,
    /// When a member was last given a task.
    turn: usize,
    turns: Vec<usize>,
}

impl<'a> Reference<'a> {
    fn assign(group: &'a Group, assignor: Assignor) -> Assigned {
        let members = group.members.len();
        let active: i64 = group.topology.iter().map(|it| i64::from(it.1)).sum();
        let stateful: i64 = group.topology.iter().filter(|it| it.2).map(|it| i64::from(it.1)).sum();
        let count = i64::try_from(members).unwrap();
        let mut reference = Self {
            group,
            result: vec![Default::default(); members],
            active_quota: Quota { tasks: active, members: count },
            total_quota: Quota { tasks: active + stateful * i64::from(group.standbys), members: count },
            turn: 0,
            turns: vec![0; members],
        };
        reference.active();
        match assignor {
            Assignor::Sticky => reference.standby(),
            Assignor::Spread => reference.spread(),
        }
        reference.result
    }

    fn count(&self, member: usize) -> i64 {
        i64::try_from(self.result[member].0.len() + self.result[member].1.len()).unwrap()
    }

    fn of_process(&self, process: &Str) -> Vec<usize> {
        (0..self.group.members.len()).filter(|it| self.group.members[*it].process == *process).collect()
    }

    /// Tasks per member, as a fraction.
    fn load(&self, process: &Str) -> (i64, i64) {
        let members = self.of_process(process);
        let tasks = members.iter().map(|it| self.count(*it)).sum();
        (tasks, i64::try_from(members.len()).unwrap())
    }

    fn has(&self, process: &Str, task: &Task) -> bool {
        self.of_process(process)
            .iter()
            .any(|it| self.result[*it].0.contains(task) || self.result[*it].1.contains(task))
    }

    fn give(&mut self, task: &Task, member: usize, active: bool) {
        let (actives, standbys) = &mut self.result[member];
        assert!(if active { actives } else { standbys }.insert(task.clone()));
        self.turn += 1;
        self.turns[member] = self.turn;
        let count = self.count(member);
        if active {
            self.active_quota.count(count);
        }
        self.total_quota.count(count);
    }

    fn tasks(&self, stateful_only: bool) -> Vec<Task> {
        let subtopologies = self.group.topology.iter().filter(|it| it.2 || !stateful_only);
        let tasks = subtopologies.flat_map(|(id, count, _)| (0..*count).map(|it| (id.clone(), it)));
        let mut tasks: Vec<_> = tasks.collect();
        tasks.sort_by_key(|(id, partition)| (*partition, id.clone()));
        tasks
    }

    /// the last member that had it.
    fn owner_before(&self, task: &Task) -> Option<usize> {
        (0..self.group.members.len()).rev().find(|it| self.group.members[*it].active.contains(task))
    }

    /// standbys first, then by offset.
    fn ranked(&self, task: &Task) -> Vec<usize> {
        let members = &self.group.members;
        let offset = |it: &usize| members[*it].offsets.get(task).copied();
        let mut ranked: Vec<usize> = (0..members.len())
            .filter(|it| members[*it].standby.contains(task) || offset(it).is_some())
            .collect();
        ranked.sort_by_key(|it| (!members[*it].standby.contains(task), -offset(it).unwrap_or(0)));
        ranked
    }

    fn values(&self, process: &Str) -> &[Option<Str>] {
        &self.group.members[self.of_process(process)[0]].values
    }

    /// how many copies share each value of a process.
    fn shared(&self, process: &Str, task: &Task) -> Vec<usize> {
        let copies: BTreeSet<&Str> =
            self.group.members.iter().map(|it| &it.process).filter(|it| self.has(it, task)).collect();
        let values = self.values(process).iter().enumerate();
        values.map(|(at, it)| copies.iter().filter(|copy| self.values(copy)[at] == *it).count()).collect()
    }

    ///
    fn spread(&mut self) {
        for task in self.tasks(true).iter().rev() {
            for _ in 0..self.group.standbys {
                let lack = self.group.members.iter().map(|it| &it.process).filter(|it| !self.has(it, task));
                let Some(best) = lack.map(|it| self.shared(it, task)).min() else { break };
                let is_best = |member: usize| {
                    let process = &self.group.members[member].process;
                    !self.has(process, task) && self.shared(process, task) == best
                };
                let below = |it: &usize| self.count(*it) < self.total_quota.now();
                let owner = self.owner_before(task).filter(|it| is_best(*it)).filter(below);
                let with_state = || self.candidate_of(task, is_best).filter(below);
                let member = owner.or_else(with_state).or_else(|| self.least_loaded_of(is_best));
                self.give(task, member.unwrap(), false);
            }
        }
    }

    ///
    fn candidate(&self, task: &Task, standby: bool) -> Option<usize> {
        self.candidate_of(task, |member| !standby || !self.has(&self.group.members[member].process, task))
    }

    fn candidate_of(&self, task: &Task, may: impl Fn(usize) -> bool) -> Option<usize> {
        let less = |(a, b): (i64, i64), (c, d): (i64, i64)| a * d < c * b;
        let mut best: Option<usize> = None;
        for member in self.ranked(task) {
            let process = &self.group.members[member].process;
            if !may(member) {
                continue;
            }
            let is_better = best.is_none_or(|best| {
                less(self.load(process), self.load(&self.group.members[best].process))
                    && self.count(member) < self.count(best)
            });
            if is_better {
                best = Some(member);
            }
        }
        best
    }

    /// ties by A-20: who was served longest ago, then by id.
    fn least_loaded(&self, lacks: Option<&Task>) -> Option<usize> {
        self.least_loaded_of(|member| {
            lacks.is_none_or(|task| !self.has(&self.group.members[member].process, task))
        })
    }

    fn least_loaded_of(&self, may: impl Fn(usize) -> bool) -> Option<usize> {
        let mut processes: Vec<&Str> = Vec::new();
        for member in &self.group.members {
            if !processes.contains(&&member.process) {
                processes.push(&member.process);
            }
        }
        let served = |process: &Str| self.of_process(process).iter().map(|it| self.turns[*it]).max();
        let mut best: Option<&Str> = None;
        for process in processes.into_iter().filter(|it| may(self.of_process(it)[0])) {
            let better = |best: &Str| {
                let ((a, b), (c, d)) = (self.load(process), self.load(best));
                (a * d, served(process)) < (c * b, served(best))
            };
            if best.is_none_or(better) {
                best = Some(process);
            }
        }
        self.of_process(best?).into_iter().min_by_key(|it| (self.count(*it), self.turns[*it], *it))
    }

    fn active(&mut self) {
        let tasks = self.tasks(false);
        let mut left = Vec::new();
        for task in &tasks {
            match self.owner_before(task).filter(|it| self.count(*it) < self.active_quota.now()) {
                Some(owner) => self.give(task, owner, true),
                None => left.push(task),
            }
        }
        let mut rest = Vec::new();
        for task in left {
            match self.candidate(task, false).filter(|it| self.count(*it) < self.active_quota.now()) {
                Some(member) => self.give(task, member, true),
                None => rest.push(task),
            }
        }
        rest.sort();
        for task in rest {
            if let Some(member) = self.least_loaded(None) {
                self.give(task, member, true);
            }
        }
    }

    ///
    fn standby(&mut self) {
        let mut left = Vec::new();
        for task in self.tasks(true).iter().rev() {
            for placed in 0..self.group.standbys {
                let below = |it: &usize| self.count(*it) < self.total_quota.now();
                let owner = self.owner_before(task);
                let owner =
                    owner.filter(|it| !self.has(&self.group.members[*it].process, task)).filter(below);
                let Some(member) = owner.or_else(|| self.candidate(task, true).filter(below)) else {
                    left.push((task.clone(), self.group.standbys - placed));
                    break;
                };
                self.give(task, member, false);
            }
        }
        left.sort();
        for (task, replicas) in left.iter().rev() {
            for _ in 0..*replicas {
                match self.least_loaded(Some(task)) {
                    Some(member) => self.give(task, member, false),
                    None => break,
                }
            }
        }
    }
}

fn fast(group: &Group, assignor: Assignor) -> Assigned {
    let topology =
        group.topology.iter().map(|(id, tasks, stateful)| (id.clone(), tasks.unsigned_abs(), *stateful));
    let space = TaskSpace::new(topology);
    let mut spec = GroupSpec::new(&space, group.standbys);
    for before in &group.members {
        let member = spec.add_member(&before.process);
        spec.spread_values(member, before.values.iter().map(Option::as_ref));
        spec.previous_active(member, before.active.iter().map(|(id, partition)| (id, *partition)));
        spec.previous_standby(member, before.standby.iter().map(|(id, partition)| (id, *partition)));
        spec.task_offsets(member, before.offsets.iter().map(|((id, partition), it)| (id, *partition, *it)));
    }
    let by_member = assignor.assign(&spec).by_member();
    let name = |task: &coordinator::assign::Task| {
        space.name(*task).map(|(id, partition)| (id.clone(), partition)).unwrap()
    };
    (0..group.members.len())
        .map(|at| Member(u32::try_from(at).unwrap()))
        .map(|at| {
            (
                by_member.active(at).iter().map(name).collect(),
                by_member.standby(at).iter().map(name).collect(),
            )
        })
        .collect()
}

fn random_group(seed: u64) -> Group {
    let mut entropy = Entropy::seeded(seed);
    let mut below = move |bound: u64| i32::try_from(entropy.next_u64() % bound).unwrap();
    let topology: Vec<_> =
        (0..=below(3)).map(|id| (Str::from(id.to_string()), below(6), below(3) > 0)).collect();
    let processes = 1 + below(4);
    let place = |number: Option<i32>| number.map(|it| Str::from(format!("place-{it}")));
    let mut members = Vec::new();
    for _ in 0..below(7) {
        let process = Str::from(format!("p{}", below(u64::from(processes.unsigned_abs()))));
        let mut before = Before { process, ..Default::default() };
        before.values = [3, 2].map(|count| Some(below(count)).filter(|it| *it > 0)).map(place).to_vec();
        for _ in 0..below(9) {
            let task = (Str::from(below(4).to_string()), below(6));
            match below(4) {
                0 | 1 => drop(before.active.insert(task)),
                2 => drop(before.standby.insert(task)),
                _ => drop(before.offsets.insert(task, i64::from(below(50)))),
            }
        }
        members.push(before);
    }
    Group { topology, members, standbys: below(3).unsigned_abs() }
}

#[test]
fn sticky_is_what_its_rules_say() {
    for seed in 0..CASES {
        let group = random_group(seed);
        let (got, expected) = (fast(&group, Assignor::Sticky), Reference::assign(&group, Assignor::Sticky));
        assert_eq!(got, expected, "SEED={seed}\n{group:#?}");
    }
}

#[test]
fn spread_is_what_its_rules_say() {
    for seed in 0..CASES {
        let group = random_group(seed);
        let (got, expected) = (fast(&group, Assignor::Spread), Reference::assign(&group, Assignor::Spread));
        assert_eq!(got, expected, "SEED={seed}\n{group:#?}");
    }
}
