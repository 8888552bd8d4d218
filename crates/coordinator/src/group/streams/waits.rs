//! Which tasks a member shall get and can't, because others hold them: rule R-8 as people ask it.
//!
//! The same conditions as in `reconcile.rs`, but with the holders' names; nothing is decided here.

use super::StreamsGroup;
use super::tasks::{Role, TaskId};
use wire::Str;

/// A task of a member's target that it does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    pub task: TaskId,
    pub role: Role,
    /// Who holds it, the member itself included; empty if it is free.
    pub holders: Vec<Str>,
}

impl StreamsGroup {
    /// The tasks of a member's target that it does not have yet.
    pub fn waits(&self, member_id: &Str) -> Vec<Wait> {
        let (Some(member), Some(target)) = (self.member(member_id), self.target(member_id)) else {
            return Vec::new();
        };
        let assigned = &member.current.assigned;
        let active = target.active.iter().filter(|it| !assigned.active.contains_key(it));
        let standby = target.standby.difference(&assigned.standby);
        let warmup = target.warmup.difference(&assigned.warmup);
        let wanted = active.map(|it| (it, Role::Active)).chain(standby.map(|it| (it, Role::Standby)));
        let wanted = wanted.chain(warmup.map(|it| (it, Role::Warmup)));
        let wait = |(task, role): (&TaskId, Role)| Wait {
            task: task.clone(),
            role,
            holders: self.holders_against(member_id, &member.metadata.process_id, task, role),
        };
        wanted.map(wait).collect()
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
