//! Which tasks a member goes to and can't get, because others hold them: rule R-8 as people ask it.
//!
//! The same conditions as in `reconcile.rs`, but with the holders' names; nothing is decided here.

use std::collections::BTreeSet;

use super::tasks::{Role, TaskId};
use super::{Current, StreamsGroup, StreamsSoft};
use wire::Str;

/// A task that a member goes to and does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    pub task: TaskId,
    pub role: Role,
    /// Who holds it, the member itself included; empty if it is free.
    pub holders: Vec<Str>,
}

impl StreamsGroup {
    /// The tasks that a member goes to and does not have yet. A task that stays with its owner while this member
    /// restores it is none of them (W-2), nor is a copy of a task that the member itself runs still: it becomes one
    /// when the member gives up running it.
    pub fn waits(&self, soft: Option<&StreamsSoft>, member_id: &Str) -> Vec<Wait> {
        let Some(member) = self.member(member_id) else { return Vec::new() };
        let known = self.target(member_id);
        let Some(goal) = soft.map_or(known, |it| it.goal(self, member_id)) else { return Vec::new() };
        let Current { assigned, pending, .. } = &member.current;
        let runs = |task: &TaskId| assigned.active.contains_key(task) || pending.active.contains_key(task);
        // W-12: a task whose owner is gone moves at once, whatever was planned.
        let is_free = |task: &&TaskId| self.holders.of(task, Role::Active).next().is_none();
        let free = known.into_iter().flat_map(|it| &it.active).filter(is_free);
        let active: BTreeSet<_> =
            goal.active.iter().chain(free).filter(|it| !assigned.active.contains_key(it)).collect();
        let standby = goal.standby.difference(&assigned.standby);
        let warmup = goal.warmup.difference(&assigned.warmup).filter(|it| !active.contains(it));
        let wanted = active.iter().map(|it| (*it, Role::Active)).chain(standby.map(|it| (it, Role::Standby)));
        let wanted = wanted.chain(warmup.map(|it| (it, Role::Warmup)));
        let wait = |(task, role): (&TaskId, Role)| Wait {
            task: task.clone(),
            role,
            holders: self.holders_against(member_id, &member.metadata.process_id, task, role),
        };
        let becomes_one = |it: &Wait| it.role != Role::Active && it.holders.is_empty() && runs(&it.task);
        wanted.map(wait).filter(|it| !becomes_one(it)).collect()
    }

    fn holders_against(&self, id: &Str, process: &Str, task: &TaskId, role: Role) -> Vec<Str> {
        let is_of_process =
            |it: &&Str| self.member(it).is_some_and(|other| other.metadata.process_id == *process);
        let neighbours = |role| self.holders.of(task, role).filter(is_of_process).filter(|it| *it != id);
        let in_process = |role| self.holders.of(task, role).filter(is_of_process);
        let mut holders: Vec<Str> = match role {
            Role::Active => {
                let neighbours = neighbours(Role::Standby).chain(neighbours(Role::Warmup));
                self.holders.of(task, Role::Active).chain(neighbours).cloned().collect()
            }
            Role::Standby => {
                let others = neighbours(Role::Active).chain(neighbours(Role::Warmup));
                in_process(Role::Standby).chain(others).cloned().collect()
            }
            Role::Warmup => {
                let held = in_process(Role::Active).chain(in_process(Role::Warmup));
                held.chain(neighbours(Role::Standby)).cloned().collect()
            }
        };
        holders.sort();
        holders.dedup();
        holders
    }
}
