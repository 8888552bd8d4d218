//! What a member may hold now, on its way from what it has to its target (rules ).
//!
//! A member first gives up, then receives: while it must give up a task and has not said that it
//! did, it gets nothing new and stays at its epoch. A task that somebody else still holds is left
//! out until it is free. Pure: the caller writes the record and sets the timer.

use std::collections::BTreeMap;

use wire::Str;

use super::tasks::{AssignedTasks, Holders, Role, TaskId, TaskSet, Tasks};
use super::{Current, MemberState, StreamsMember};

/// The member that a reconciliation is about, and all that it depends on.
pub(super) struct Reconciliation<'a> {
    pub member_id: &'a Str,
    pub process_id: &'a Str,
    pub current: &'a Current,
    pub target_epoch: i32,
    pub target: &'a Tasks,
    /// What the member reports; `None` unless the request carries all three lists.
    pub owned: Option<&'a Tasks>,
    pub holders: &'a Holders,
    /// The members as they were before this request.
    pub members: &'a BTreeMap<Str, StreamsMember>,
}

/// A member in state `UNKNOWN` must come back empty-handed.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct MustRejoin;

impl Reconciliation<'_> {
    /// The member's next state; equal to the present one if there is nothing to do.
    pub(super) fn run(&self) -> Result<Current, MustRejoin> {
        let current = self.current;
        match current.state {
            MemberState::Stable if current.epoch == self.target_epoch => Ok(current.clone()),
            MemberState::Stable | MemberState::UnreleasedTasks => Ok(self.next(current.epoch)),
            MemberState::UnrevokedTasks if self.still_owns(&current.pending) => Ok(current.clone()),
            MemberState::UnrevokedTasks => Ok(self.next(current.epoch + 1)),
            MemberState::Unknown if self.owned.is_some_and(Tasks::is_empty) => {
                Ok(self.next(self.target_epoch))
            }
            MemberState::Unknown => Err(MustRejoin),
        }
    }

    /// `epoch` is the one that the member has while it must still give up tasks.
    fn next(&self, epoch: i32) -> Current {
        let mut plan = self.split();
        self.convert(&mut plan);
        let promotions = self.promotions(&mut plan);
        if self.still_owns(&plan.revoke) && !plan.revoke.is_empty() {
            plan.keep.standby.extend(promotions.standby);
            plan.keep.warmup.extend(promotions.warmup);
            return self.result(MemberState::UnrevokedTasks, epoch, plan.keep, plan.revoke);
        }
        // A promoted task leaves its old role in the step in which it becomes active, not before.
        let waits = |task: &TaskId| !plan.grant.active.contains(task);
        plan.keep.standby.extend(promotions.standby.into_iter().filter(waits));
        plan.keep.warmup.extend(promotions.warmup.into_iter().filter(waits));
        let state = if plan.waiting { MemberState::UnreleasedTasks } else { MemberState::Stable };
        let mut assigned = plan.keep;
        let epochs = plan.grant.active.into_iter().map(|task| (task, self.target_epoch));
        assigned.active.extend(epochs);
        assigned.standby.extend(plan.grant.standby);
        assigned.warmup.extend(plan.grant.warmup);
        self.result(state, self.target_epoch, assigned, AssignedTasks::default())
    }

    fn result(
        &self,
        state: MemberState,
        epoch: i32,
        assigned: AssignedTasks,
        pending: AssignedTasks,
    ) -> Current {
        Current { epoch, previous_epoch: self.current.epoch, state, assigned, pending }
    }

    /// Whether the member holds, as far as we know, any of the tasks that it shall give up: it does
    /// not say what it owns, or says that it owns one of them. Most heartbeats carry no lists.
    fn still_owns(&self, revoke: &AssignedTasks) -> bool {
        self.owned.is_none_or(|owned| owned.contains_any(revoke))
    }

    /// R-3, each role for itself.
    fn split(&self) -> Plan {
        let mut plan = Plan::default();
        for (task, epoch) in &self.current.assigned.active {
            let side = if self.target.active.contains(task) { &mut plan.keep } else { &mut plan.revoke };
            side.active.insert(task.clone(), *epoch);
        }
        for task in &self.current.assigned.standby {
            let side = if self.target.standby.contains(task) { &mut plan.keep } else { &mut plan.revoke };
            side.standby.insert(task.clone());
        }
        for task in &self.current.assigned.warmup {
            let side = if self.target.warmup.contains(task) { &mut plan.keep } else { &mut plan.revoke };
            side.warmup.insert(task.clone());
        }
        let assigned = &self.current.assigned;
        for task in self.target.active.iter().filter(|task| !assigned.active.contains_key(task)) {
            plan.place(task, Role::Active, self.active_is_held(task));
        }
        for task in self.target.standby.difference(&assigned.standby) {
            plan.place(task, Role::Standby, self.standby_is_held(task));
        }
        for task in self.target.warmup.difference(&assigned.warmup) {
            plan.place(task, Role::Warmup, self.warmup_is_held(task));
        }
        plan
    }

    /// changes of role inside the member that need no acknowledgement.
    fn convert(&self, plan: &mut Plan) {
        let Plan { keep, revoke, grant, .. } = plan;
        let assigned = &self.current.assigned;
        // The standby of a task that the member gives up as active is granted at once.
        move_if(&mut grant.standby, &mut keep.standby, |task| assigned.active.contains_key(task));
        move_if(&mut grant.warmup, &mut keep.warmup, |task| revoke.standby.remove(task));
        move_if(&mut grant.standby, &mut keep.standby, |task| revoke.warmup.remove(task));
    }

    /// replicas that shall become active are not given up before they do.
    fn promotions(&self, plan: &mut Plan) -> Promotions {
        let mut promotions = Promotions::default();
        let wanted = |task: &TaskId| self.target.active.contains(task);
        move_if(&mut plan.revoke.standby, &mut promotions.standby, wanted);
        move_if(&mut plan.revoke.warmup, &mut promotions.warmup, wanted);
        promotions
    }

    /// R-8, first row: one owner in the group, and one copy in a process.
    fn active_is_held(&self, task: &TaskId) -> bool {
        self.holders.of(task, Role::Active).next().is_some()
            || self.neighbour_holds(task, Role::Standby)
            || self.neighbour_holds(task, Role::Warmup)
    }

    fn standby_is_held(&self, task: &TaskId) -> bool {
        self.neighbour_holds(task, Role::Active)
            || self.process_holds(task, Role::Standby)
            || self.neighbour_holds(task, Role::Warmup)
    }

    fn warmup_is_held(&self, task: &TaskId) -> bool {
        self.process_holds(task, Role::Active)
            || self.neighbour_holds(task, Role::Standby)
            || self.process_holds(task, Role::Warmup)
    }

    /// Another member of this member's process holds the task.
    fn neighbour_holds(&self, task: &TaskId, role: Role) -> bool {
        self.holders.of(task, role).any(|id| id != self.member_id && self.is_of_process(id))
    }

    /// This member or another one of its process holds the task.
    fn process_holds(&self, task: &TaskId, role: Role) -> bool {
        self.holders.of(task, role).any(|id| id == self.member_id || self.is_of_process(id))
    }

    fn is_of_process(&self, member_id: &Str) -> bool {
        self.members.get(member_id).is_some_and(|it| it.metadata.process_id == *self.process_id)
    }
}

/// Tasks to keep, to give up and to grant; `waiting` if a wanted task is still held.
#[derive(Default)]
struct Plan {
    keep: AssignedTasks,
    revoke: AssignedTasks,
    grant: Tasks,
    waiting: bool,
}

impl Plan {
    fn place(&mut self, task: &TaskId, role: Role, held: bool) {
        if held {
            self.waiting = true;
            return;
        }
        let set = match role {
            Role::Active => &mut self.grant.active,
            Role::Standby => &mut self.grant.standby,
            Role::Warmup => &mut self.grant.warmup,
        };
        set.insert(task.clone());
    }
}

#[derive(Default)]
struct Promotions {
    standby: TaskSet,
    warmup: TaskSet,
}

fn move_if(from: &mut TaskSet, to: &mut TaskSet, mut wanted: impl FnMut(&TaskId) -> bool) {
    to.extend(from.extract_if(.., |task| wanted(task)));
}
