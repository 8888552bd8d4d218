//! What the members of a group go to while processes still restore the state of their tasks: rules W-1 to
//! W-10 of `docs/design/streams.md`.
//!
//! Pure: the target, what members hold and what they reported go in, a [`Plan`] comes out. It knows no
//! records, timers or epochs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wire::Str;

use super::super::configure::ConfiguredTopology;
use super::super::soft::MemberOffsets;
use super::super::tasks::{Role, TaskId, Tasks};
use super::super::{Current, StreamsGroup, StreamsMember};
use super::Warmups;
use crate::machine::Millis;

/// A client's number for an offset that it does not know.
const UNKNOWN_OFFSET: i64 = i64::MAX;
/// Markers of transactions at the end of a changelog partition, which clients do not count (W-4).
const MARKERS: i64 = 4;

/// The settings that a plan depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::group::streams) struct Limits {
    /// Warm-ups at once; 0 switches plans off.
    pub warmups: usize,
    pub acceptable_lag: i64,
    pub timeout: Millis,
}

/// Which tasks stay with their owners, and what members go to because of that.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::group::streams) struct Plan {
    pub limits: Limits,
    pub staying: BTreeMap<TaskId, Stay>,
    /// Tasks that move, with the process that they move to (W-7).
    moving: BTreeMap<TaskId, Str>,
    /// Processes that let a time pass without a word (W-6).
    silent: BTreeSet<Str>,
    /// Tasks of the members that go to something else than their target.
    pub refined: Arc<BTreeMap<Str, Tasks>>,
}

/// A task that stays with `owner` although the target gives it to `heir`, a member of `process`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::group::streams) struct Stay {
    pub owner: Str,
    pub heir: Str,
    pub process: Str,
    pub copy: Option<Restore>,
}

/// The copy of a task that its new process restores, in whichever member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::group::streams) struct Restore {
    pub member: Str,
    /// Standby or warm-up.
    pub role: Role,
    since: Millis,
    pub until: Millis,
}

/// What is worth telling of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::group::streams) enum Moment {
    /// The member begins to restore the task; its owner keeps it meanwhile.
    Started { task: TaskId, member: Str },
    /// The process has the task's state, or needs none worth waiting for: the task moves.
    CaughtUp { task: TaskId, process: Str },
    /// The process did not get the state in time: the task moves cold.
    GaveUp { task: TaskId, process: Str },
}

/// A plan with what follows from it.
#[derive(Debug, Default)]
pub(in crate::group::streams) struct Planned {
    pub plan: Plan,
    pub moments: Vec<Moment>,
    /// Members go elsewhere than before although the target is the same (W-8).
    pub is_step: bool,
    /// Tasks of whose changelogs the broker's ends are asked for (W-9).
    pub wanted: BTreeSet<TaskId>,
}

/// The member of a heartbeat, as it has become.
#[derive(Clone, Copy)]
pub(in crate::group::streams) struct Updated<'a> {
    pub member_id: &'a Str,
    pub process_id: &'a Str,
    /// What it reports in this heartbeat, with what it reported before.
    pub offsets: Option<&'a MemberOffsets>,
    /// What this heartbeat tells of W-5.
    pub reports: Option<bool>,
}

/// All that a plan depends on.
pub(in crate::group::streams) struct Planner<'a> {
    pub now: Millis,
    pub limits: Limits,
    pub group: &'a StreamsGroup,
    pub updated: Option<Updated<'a>>,
    pub targets: &'a BTreeMap<Str, Tasks>,
    pub configured: &'a ConfiguredTopology,
    pub offsets: &'a BTreeMap<Str, MemberOffsets>,
    pub warmups: &'a Warmups,
}

/// A task at stake (W-1).
#[derive(Clone, Copy)]
struct Stake<'a> {
    task: &'a TaskId,
    owner: &'a Str,
    heir: &'a Str,
    process: &'a Str,
}

impl Plan {
    /// The first time that is over.
    pub(in crate::group::streams) fn next_over(&self) -> Option<Millis> {
        self.staying.values().filter_map(|it| it.copy.as_ref()).map(|it| it.until).min()
    }

    /// Whether the member has a copy that somebody waits for (W-13).
    pub(in crate::group::streams) fn waits_for(&self, member_id: &Str) -> bool {
        self.staying.values().filter_map(|it| it.copy.as_ref()).any(|it| it.member == *member_id)
    }

    /// A static member goes on under another id.
    pub(in crate::group::streams) fn rename(&mut self, old: &Str, new: &Str) {
        let rename = |id: &mut Str| {
            if id == old {
                *id = new.clone();
            }
        };
        for stay in self.staying.values_mut() {
            rename(&mut stay.owner);
            rename(&mut stay.heir);
            if let Some(copy) = &mut stay.copy {
                rename(&mut copy.member);
            }
        }
        let refined = Arc::make_mut(&mut self.refined);
        if let Some(tasks) = refined.remove(old) {
            refined.insert(new.clone(), tasks);
        }
    }
}

impl<'a> Planner<'a> {
    /// The plan of a new target, or of one of which nothing is known after a load.
    pub(in crate::group::streams) fn fresh(&self) -> Planned {
        if self.limits.warmups == 0 {
            return Planned { plan: Plan { limits: self.limits, ..Plan::default() }, ..Planned::default() };
        }
        let members = Members::new(self);
        let stakes = self.stakes(&members);
        self.plan(&members, stakes, None)
    }

    /// The plan of the target that `old` was made for, as it is now. Only what stays is looked at.
    pub(in crate::group::streams) fn again(&self, old: &'a Plan) -> Planned {
        if self.limits.warmups == 0 {
            return self.fresh();
        }
        let members = Members::new(self);
        let at_stake = |(task, stay): (&'a TaskId, &'a Stay)| {
            let stake = Stake { task, owner: &stay.owner, heir: &stay.heir, process: &stay.process };
            self.group.member(stake.owner)?.current.assigned.active.contains_key(task).then_some(stake)
        };
        let stakes = old.staying.iter().filter_map(at_stake).collect();
        self.plan(&members, stakes, Some(old))
    }

    /// W-1, over the whole target.
    fn stakes(&self, members: &Members<'a>) -> Vec<Stake<'a>> {
        let subtopologies = self.configured.subtopologies.iter().flatten();
        let stateful: BTreeSet<&Str> =
            subtopologies.filter(|(_, it)| !it.state_changelog_topics.is_empty()).map(|(id, _)| id).collect();
        let mut stakes = Vec::new();
        for (heir, target) in self.targets {
            let Some(process) = members.process_of(heir) else { continue };
            let held = self.group.member(heir).map(|it| &it.current.assigned.active);
            for task in &target.active {
                if held.is_some_and(|it| it.contains_key(task)) || !stateful.contains(&task.subtopology) {
                    continue;
                }
                let Some(owner) = self.owner(task) else { continue };
                if members.process_of(owner).is_some_and(|it| it != process) {
                    stakes.push(Stake { task, owner, heir, process });
                }
            }
        }
        stakes
    }

    /// The member that has the task and was not told to give it up.
    fn owner(&self, task: &TaskId) -> Option<&'a Str> {
        let has =
            |id: &&Str| self.group.member(id).is_some_and(|it| it.current.assigned.active.contains_key(task));
        self.group.holders.of(task, Role::Active).find(has)
    }

    fn plan(&self, members: &Members<'a>, stakes: Vec<Stake<'a>>, same_target: Option<&Plan>) -> Planned {
        let mut planned = Planned::default();
        let moving = same_target.map(|it| it.moving.clone()).unwrap_or_default();
        planned.plan = Plan { limits: self.limits, moving, ..Plan::default() };
        planned.plan.silent = self.silent(members, &mut planned.moments);
        let mut staying = Vec::new();
        for stake in stakes {
            if self.is_decided(&stake, &planned.plan.silent, members) {
                planned.plan.moving.insert(stake.task.clone(), stake.process.clone());
            } else if self.is_caught_up(&stake, members) {
                planned.plan.moving.insert(stake.task.clone(), stake.process.clone());
                let (task, process) = (stake.task.clone(), stake.process.clone());
                planned.moments.push(Moment::CaughtUp { task, process });
            } else {
                staying.push(stake);
            }
        }
        self.give_copies(members, staying, &mut planned);
        planned.wanted = self.wanted(&planned.plan);
        planned.plan.refined = match same_target.filter(|old| planned.plan.refines_as(old)) {
            Some(old) => old.refined.clone(),
            None => self.refined(members, &planned.plan),
        };
        planned
    }

    fn old(&self) -> Option<&'a Plan> {
        self.warmups.plan.as_ref()
    }

    /// What the plan before says of this task, if it is for the same process.
    fn before(&self, stake: &Stake<'_>) -> Option<&'a Stay> {
        self.old()?.staying.get(stake.task).filter(|it| it.process == *stake.process)
    }

    /// W-6: times that are over, and the processes that are known to be silent now.
    fn silent(&self, members: &Members<'a>, moments: &mut Vec<Moment>) -> BTreeSet<Str> {
        let Some(old) = self.old() else { return BTreeSet::new() };
        let mut silent = old.silent.clone();
        for (task, stay) in &old.staying {
            if stay.copy.as_ref().is_none_or(|it| it.until > self.now) {
                continue;
            }
            moments.push(Moment::GaveUp { task: task.clone(), process: stay.process.clone() });
            if self.newest_offset(members.of(&stay.process), task).is_none() {
                silent.insert(stay.process.clone());
            }
        }
        silent.retain(|process| !members.of(process).is_empty());
        silent
    }

    /// W-5, W-6 and W-7.
    fn is_decided(&self, stake: &Stake<'a>, silent: &BTreeSet<Str>, members: &Members<'a>) -> bool {
        let moves = self.old().and_then(|it| it.moving.get(stake.task)) == Some(stake.process);
        let is_over =
            self.before(stake).and_then(|it| it.copy.as_ref()).is_some_and(|it| it.until <= self.now);
        moves || is_over || silent.contains(stake.process) || self.never_reports(members.of(stake.process))
    }

    fn never_reports(&self, process: &[&Str]) -> bool {
        process.iter().all(|id| {
            let told = self.updated.filter(|it| it.member_id == *id).and_then(|it| it.reports);
            told.or_else(|| self.warmups.reports.get(*id).copied()) == Some(false)
        })
    }

    /// W-4.
    fn is_caught_up(&self, stake: &Stake<'a>, members: &Members<'a>) -> bool {
        let acceptable = self.limits.acceptable_lag;
        let by_broker = || {
            let subtopology = self.configured.subtopology(&stake.task.subtopology);
            let changelogs = subtopology.map_or(0, |it| it.state_changelog_topics.len());
            let markers = MARKERS.saturating_mul(i64::try_from(changelogs).unwrap_or(i64::MAX));
            self.broker_lag(stake, members).is_some_and(|lag| lag <= acceptable.saturating_add(markers))
        };
        self.own_lag(stake, members).is_some_and(|lag| lag <= acceptable) || by_broker()
    }

    /// The lag by the end that the holder of the copy reported.
    fn own_lag(&self, stake: &Stake<'a>, members: &Members<'a>) -> Option<i64> {
        let (holder, _) = self.copy_in(members.of(stake.process), stake.task)?;
        let known = |it: &i64| *it != UNKNOWN_OFFSET;
        let reported = self.offsets_of(holder)?;
        let end = reported.end_offsets.get(stake.task).copied().filter(known)?;
        let offset = reported.offsets.get(stake.task).copied().filter(known)?;
        Some(end.saturating_sub(offset).max(0))
    }

    /// The lag by the broker's end.
    fn broker_lag(&self, stake: &Stake<'a>, members: &Members<'a>) -> Option<i64> {
        let end = self.warmups.ends.get(stake.task).copied().flatten()?;
        let process = members.of(stake.process);
        let holder = self.copy_in(process, stake.task).map(|(holder, _)| holder);
        let of_holder = holder.and_then(|it| self.newest_offset(&[it], stake.task));
        let offset = of_holder.or_else(|| self.newest_offset(process, stake.task)).unwrap_or(0);
        Some(end.saturating_sub(offset).max(0))
    }

    /// The largest known offset that one of these members reported.
    fn newest_offset(&self, members: &[&Str], task: &TaskId) -> Option<i64> {
        let offset = |id: &&Str| self.offsets_of(id)?.offsets.get(task).copied();
        members.iter().filter_map(offset).filter(|it| *it != UNKNOWN_OFFSET).max()
    }

    fn offsets_of(&self, member_id: &Str) -> Option<&'a MemberOffsets> {
        let updated = self.updated.filter(|it| it.member_id == member_id).and_then(|it| it.offsets);
        updated.or_else(|| self.offsets.get(member_id))
    }

    /// A copy that a member of the process has and was not told to give up.
    fn copy_in(&self, process: &[&'a Str], task: &TaskId) -> Option<(&'a Str, Role)> {
        process.iter().find_map(|id| {
            let assigned = &self.group.member(id)?.current.assigned;
            let warmup = assigned.warmup.contains(task).then_some(Role::Warmup);
            let role = warmup.or_else(|| assigned.standby.contains(task).then_some(Role::Standby));
            Some((*id, role?))
        })
    }

    /// W-3.
    fn give_copies(&self, members: &Members<'a>, staying: Vec<Stake<'a>>, planned: &mut Planned) {
        let (mut running, mut waiting) = (Vec::new(), Vec::new());
        for stake in staying {
            let planned_before = || {
                let copy = self.before(&stake)?.copy.as_ref()?;
                let goes_on = copy.role == Role::Warmup && members.process_of(&copy.member)? == stake.process;
                goes_on.then_some((&copy.member, Role::Warmup))
            };
            match self.copy_in(members.of(stake.process), stake.task).or_else(planned_before) {
                Some((member, Role::Warmup)) => running.push((stake, member)),
                Some((member, role)) => {
                    let copy = self.copy(&stake, member, role);
                    planned.plan.stay(&stake, Some(copy));
                }
                None => waiting.push(stake),
            }
        }
        running.sort_unstable_by_key(|(stake, _)| stake.task);
        let mut room = self.limits.warmups.saturating_sub(self.warmups_leaving(&running));
        for (stake, member) in running {
            let copy = (room > 0).then(|| self.copy(&stake, member, Role::Warmup));
            room = room.saturating_sub(1);
            planned.plan.stay(&stake, copy);
        }
        let lag = |stake: &Stake<'a>| self.broker_lag(stake, members).unwrap_or(UNKNOWN_OFFSET);
        waiting.sort_by_cached_key(|stake| (lag(stake), stake.task));
        for stake in waiting {
            // W-9: not before the first answer.
            let gets_one = room > 0 && self.warmups.ends.contains_key(stake.task);
            if gets_one {
                room -= 1;
                let (task, member) = (stake.task.clone(), stake.heir.clone());
                planned.moments.push(Moment::Started { task, member });
            }
            planned.plan.stay(&stake, gets_one.then(|| self.copy(&stake, stake.heir, Role::Warmup)));
        }
    }

    /// Warm-ups that members hold or have not given up yet, beside those that go on.
    fn warmups_leaving(&self, running: &[(Stake<'a>, &Str)]) -> usize {
        let go_on: BTreeSet<_> = running.iter().map(|(stake, member)| (*member, stake.task)).collect();
        let leaving = |(id, member): (&Str, &StreamsMember)| {
            let Current { assigned, pending, .. } = &member.current;
            assigned.warmup.iter().chain(&pending.warmup).filter(|task| !go_on.contains(&(id, *task))).count()
        };
        self.group.members.iter().map(leaving).sum()
    }

    /// A copy with its time: that of the plan before, or a new one (W-6).
    fn copy(&self, stake: &Stake<'a>, member: &Str, role: Role) -> Restore {
        let timeout = self.limits.timeout;
        let before = self.before(stake).and_then(|it| it.copy.as_ref());
        let (since, mut until) =
            before.map_or_else(|| (self.now, self.now.saturating_add(timeout)), |it| (it.since, it.until));
        if self.restores_active_tasks(member) {
            let last = since.saturating_add(timeout.saturating_mul(2));
            until = until.max(self.now.saturating_add(timeout).min(last));
        }
        Restore { member: member.clone(), role, since, until }
    }

    /// Whether the heartbeat reports offsets of active tasks of its own member: those that run are absent.
    fn restores_active_tasks(&self, member_id: &Str) -> bool {
        let offsets = self.updated.filter(|it| it.member_id == member_id).and_then(|it| it.offsets);
        let active = self.group.member(member_id).map(|it| &it.current.assigned.active);
        let (Some(offsets), Some(active)) = (offsets, active) else { return false };
        active.keys().any(|task| offsets.offsets.contains_key(task))
    }

    /// W-9.
    fn wanted(&self, plan: &Plan) -> BTreeSet<TaskId> {
        let reporter = self.updated.filter(|it| it.offsets.is_some()).map(|it| it.process_id);
        let is_wanted = |(task, stay): &(&TaskId, &Stay)| {
            !self.warmups.ends.contains_key(*task) || (stay.copy.is_some() && reporter == Some(&stay.process))
        };
        plan.staying.iter().filter(is_wanted).map(|(task, _)| task.clone()).collect()
    }

    /// W-2.
    fn refined(&self, members: &Members<'a>, plan: &Plan) -> Arc<BTreeMap<Str, Tasks>> {
        let mut refined: BTreeMap<Str, Tasks> = BTreeMap::new();
        let mut change = |id: &Str, change: &dyn Fn(&mut Tasks)| {
            let target = || self.targets.get(id).cloned().unwrap_or_default();
            change(refined.entry(id.clone()).or_insert_with(target));
        };
        for (task, stay) in &plan.staying {
            change(&stay.heir, &|it| {
                it.active.remove(task);
            });
            change(&stay.owner, &|it| {
                it.active.insert(task.clone());
            });
            let neighbours = members.process_of(&stay.owner).map(|it| members.of(it)).unwrap_or_default();
            for neighbour in neighbours {
                if self.targets.get(*neighbour).is_some_and(|it| it.standby.contains(task)) {
                    change(neighbour, &|it| {
                        it.standby.remove(task);
                    });
                }
            }
            if let Some(copy) = &stay.copy {
                change(&copy.member, &|it| {
                    let role = if copy.role == Role::Warmup { &mut it.warmup } else { &mut it.standby };
                    role.insert(task.clone());
                });
            }
        }
        refined.retain(|id, tasks| self.targets.get(id) != Some(tasks));
        Arc::new(refined)
    }
}

impl Plan {
    /// Whether members go to the same tasks: only times differ.
    fn refines_as(&self, other: &Self) -> bool {
        let copy = |it: &Stay| it.copy.as_ref().map(|it| (it.member.clone(), it.role));
        self.staying.len() == other.staying.len()
            && self.staying.iter().zip(&other.staying).all(|(a, b)| {
                (a.0, &a.1.owner, &a.1.heir, copy(a.1)) == (b.0, &b.1.owner, &b.1.heir, copy(b.1))
            })
    }

    fn stay(&mut self, stake: &Stake<'_>, copy: Option<Restore>) {
        let Stake { task, owner, heir, process } = *stake;
        let stay = Stay { owner: owner.clone(), heir: heir.clone(), process: process.clone(), copy };
        self.staying.insert(task.clone(), stay);
    }
}

/// Members by process, with the member of the heartbeat as it has become.
struct Members<'a> {
    processes: BTreeMap<&'a Str, &'a Str>,
    by_process: BTreeMap<&'a Str, Vec<&'a Str>>,
}

impl<'a> Members<'a> {
    fn new(planner: &Planner<'a>) -> Self {
        let known = planner.group.members.iter().map(|(id, it)| (id, &it.metadata.process_id));
        let mut processes: BTreeMap<_, _> = known.collect();
        if let Some(updated) = planner.updated {
            processes.insert(updated.member_id, updated.process_id);
        }
        let mut by_process: BTreeMap<&Str, Vec<&Str>> = BTreeMap::new();
        for (id, process) in &processes {
            by_process.entry(process).or_default().push(id);
        }
        Self { processes, by_process }
    }

    fn process_of(&self, member_id: &Str) -> Option<&'a Str> {
        self.processes.get(member_id).copied()
    }

    fn of(&self, process: &Str) -> &[&'a Str] {
        self.by_process.get(process).map_or(&[], Vec::as_slice)
    }
}
