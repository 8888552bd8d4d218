//! Where the member of a heartbeat goes: its target, or what the plan says while processes restore state (H-34
//! and rules W).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::heartbeat::Heartbeat;
use super::image::may_deviate;
use super::target::{self, Assignment, Delay, Goal};
use super::tasks::Tasks;
use super::warmup::plan::{Planned, Planner, Updated};
use super::warmup::{self, Warmups};
use crate::group::member_epoch::JOIN;
use crate::machine::Millis;
use wire::Str;
use wire::consumer_offsets::Record;

/// The first version whose clients know a lag; older ones report no offsets.
const LAG_VERSION: i16 = 1;

/// Members of a group up to which I-9 holds: beyond, the assignment interval spares the broker's time.
const TOGETHER_MAX: usize = 100;

impl<'a> Heartbeat<'a> {
    /// H-34: the epoch and the tasks that the member goes to, with the plan that was made for it.
    pub(super) fn goal(
        &self,
        epoch: i32,
        delayed_until: Option<Millis>,
        assignment: &Assignment<'_>,
        records: &mut Vec<Record>,
    ) -> (Goal<'a>, Option<Planned>) {
        let assignment_epoch = self.group.assignment_epoch;
        if let Some(until) = delayed_until {
            let reason = "The first assignment waits for the initial rebalance delay.";
            let delayed_by = Some(Delay { reason, until });
            return (Goal { epoch: assignment_epoch, tasks: Cow::default(), delayed_by }, None);
        }
        if assignment_epoch >= epoch {
            return self.goal_of_known_target(assignment, records);
        }
        let timestamp = self.group.assignment_timestamp;
        let interval = Millis::from(self.settings.assignment_interval_ms);
        let is_early = timestamp != 0 && interval != 0 && self.now < timestamp + interval;
        if is_early && !self.joins_its_process(assignment) {
            let reason = "The next assignment waits for the assignment interval.";
            let delayed_by = Some(Delay { reason, until: timestamp + interval });
            let tasks = self.known_tasks(&self.warmups());
            return (Goal { epoch: assignment_epoch, tasks, delayed_by }, None);
        }
        let mut targets = assignment.compute();
        let computed_at = target::timestamp(self.image, assignment.configured, self.now);
        records.extend(target::records(&self.request.group_id, self.group, &targets, epoch, computed_at));
        let planned = self.planner(assignment, &targets, &self.warmups()).fresh();
        let member_id = &self.request.member_id;
        let refined = planned.plan.refined.get(member_id).cloned();
        let tasks = refined.or_else(|| targets.remove(member_id)).unwrap_or_default();
        (Goal { epoch, tasks: Cow::Owned(tasks), delayed_by: None }, Some(planned))
    }

    /// I-9: the last target was made for a newcomer, and this is another one of the same process. So an
    /// instance with several threads gets its tasks in one go, and who gives them up is told once.
    fn joins_its_process(&self, assignment: &Assignment<'_>) -> bool {
        let process = assignment.updated.map(|(_, metadata)| &metadata.process_id);
        may_deviate(self.image)
            && self.group.member(&self.request.member_id).is_none()
            && self.group.members().len() < TOGETHER_MAX
            && self.soft.assigned_for.is_some()
            && self.soft.assigned_for.as_ref() == process
    }

    /// W-8: no target is due; perhaps a step is.
    fn goal_of_known_target(
        &self,
        assignment: &Assignment<'_>,
        records: &mut Vec<Record>,
    ) -> (Goal<'a>, Option<Planned>) {
        let (group, warmups) = (self.group, self.warmups());
        let mut goal =
            Goal { epoch: group.assignment_epoch, tasks: self.known_tasks(&warmups), delayed_by: None };
        let limits = warmup::limits(self.image, self.settings);
        let reporter = assignment.updated_offsets.and(assignment.updated).map(|(_, it)| &it.process_id);
        if !assignment.configured.is_ready() || !warmups.is_due(limits, reporter) {
            return (goal, None);
        }
        let planner = self.planner(assignment, group.targets(), &warmups);
        let mut planned = match &warmups.plan {
            Some(plan) => planner.again(plan),
            None => planner.fresh(),
        };
        planned.is_step = warmup::is_step(group, warmups.plan.as_ref(), &planned.plan);
        if planned.is_step {
            records.extend(warmup::step_records(&self.request.group_id, group));
            goal.epoch += 1;
        }
        let member_id = &self.request.member_id;
        let refined = planned.plan.refined.get(member_id).cloned().map(Cow::Owned);
        goal.tasks = refined.or_else(|| group.target(member_id).map(Cow::Borrowed)).unwrap_or_default();
        (goal, Some(planned))
    }

    /// By the plan if there is one, else by the target.
    fn known_tasks(&self, warmups: &Warmups) -> Cow<'a, Tasks> {
        let member_id = &self.request.member_id;
        let refined = warmups.goal(member_id).cloned().map(Cow::Owned);
        refined.or_else(|| self.group.target(member_id).map(Cow::Borrowed)).unwrap_or_default()
    }

    /// What is known of the group's warm-ups, with the member of this heartbeat under its present id.
    fn warmups(&self) -> Cow<'a, Warmups> {
        let mut warmups = Cow::Borrowed(&self.soft.warmups);
        if let Some(owner) = self.returns {
            warmups.to_mut().rename_member(owner, &self.request.member_id);
        }
        warmups
    }

    fn planner<'p>(
        &'p self,
        assignment: &'p Assignment<'_>,
        targets: &'p BTreeMap<Str, Tasks>,
        warmups: &'p Warmups,
    ) -> Planner<'p> {
        let updated = assignment.updated.map(|(member_id, metadata)| Updated {
            member_id,
            process_id: &metadata.process_id,
            offsets: assignment.updated_offsets,
            reports: self.reports(),
        });
        Planner {
            now: self.now,
            limits: warmup::limits(self.image, self.settings),
            group: self.group,
            updated,
            targets,
            configured: assignment.configured,
            offsets: &self.soft.offsets,
            warmups,
        }
    }

    /// W-5: what this heartbeat tells of it.
    pub(super) fn reports(&self) -> Option<bool> {
        let request = self.request;
        let is_known = self.soft.warmups.reports.contains_key(&request.member_id);
        if request.task_offsets.is_some() {
            return Some(true);
        }
        let is_older = self.caller.api_version < LAG_VERSION && !is_known;
        (request.member_epoch == JOIN || is_older).then_some(false)
    }
}
