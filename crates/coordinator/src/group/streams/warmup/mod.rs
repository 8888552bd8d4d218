//! Warm-up tasks: a task with state stays with its owner until its new process has the state (rules W of
//! `docs/design/streams.md`).
//!
//! [`plan`] decides; this file keeps what it decides from, in memory, and carries plans on when the
//! broker's ends arrive or a time is over. [`super::heartbeat`] makes plans for new targets and for reports.

pub(super) mod plan;

use std::collections::{BTreeMap, BTreeSet};

use catalog::Image;
use catalog::config::StreamsGroupSettings;
use wire::{Str, Uuid};

use super::configure::ConfiguredTopology;
use super::image::{may_deviate, settings};
use super::records::{self, GroupMetadata};
use super::tasks::{TaskId, Tasks};
use super::timers::soft_group;
use super::{MemberState, StreamsGroup};
use crate::group::history::{Cause, Happened, Kind};
use crate::group::offsets::Offsets;
use crate::group::request::{GroupTask, PartitionEnd};
use crate::group::soft::{Soft, TimerKey};
use crate::group::step::Step;
use crate::machine;
use plan::{Limits, Plan, Planned, Planner};
use wire::consumer_offsets::Record;

use plan::Moment;

/// Tasks whose ends are asked for at once; the others follow.
const ASKED_MAX: usize = 1000;
/// Moments of one plan that the history of the group gets.
const TOLD_MAX: usize = 16;

/// What is known of a group's restoring processes. All of it may be lost (W-11).
#[derive(Clone, Debug, Default)]
pub(super) struct Warmups {
    /// Of the group's present target; `None` after a load.
    pub plan: Option<Plan>,
    /// What the last plan brought, until it is told.
    moments: Vec<Moment>,
    /// Whether members report offsets; absent where nobody knows (W-5). Bounded by the members.
    pub reports: BTreeMap<Str, bool>,
    /// The broker's ends of the changelogs of tasks that stay; `None`: it has not all of them. Bounded by the
    /// tasks.
    pub ends: BTreeMap<TaskId, Option<i64>>,
    /// The question that is out, and what it is about.
    asked: Option<(machine::TaskId, BTreeSet<TaskId>)>,
    wanted: BTreeSet<TaskId>,
    /// Tasks of members changed since the plan was made.
    pub tasks_changed: bool,
}

impl Warmups {
    /// Tasks that the member goes to, if they are not those of its target.
    pub(super) fn goal(&self, member_id: &Str) -> Option<&Tasks> {
        self.plan.as_ref()?.refined.get(member_id)
    }

    /// W-8 and W-11: whether the plan of an unchanged target must be looked at.
    pub(super) fn is_due(&self, limits: Limits, reporter: Option<&Str>) -> bool {
        let Some(plan) = &self.plan else { return true };
        let waits = |process: &Str| plan.staying.values().any(|it| it.process == *process);
        plan.limits != limits
            || (!plan.staying.is_empty() && (self.tasks_changed || reporter.is_some_and(waits)))
    }

    pub(super) fn remember(&mut self, planned: Planned) {
        let Planned { plan, moments, wanted, .. } = planned;
        self.ends.retain(|task, _| plan.staying.contains_key(task));
        self.wanted = wanted;
        self.plan = Some(plan);
        self.moments = moments;
        self.tasks_changed = false;
    }

    pub(super) fn forget_member(&mut self, member_id: &Str) {
        self.reports.remove(member_id);
    }

    /// A static member came back under another id: it keeps what it was on the way to.
    pub(super) fn rename_member(&mut self, old: &Str, new: &Str) {
        if let Some(plan) = &mut self.plan {
            plan.rename(old, new);
        }
        if let Some(reports) = self.reports.remove(old) {
            self.reports.insert(new.clone(), reports);
        }
    }
}

/// The settings that count: no warm-ups with the profile of Kafka.
pub(super) fn limits(image: &Image, settings: &StreamsGroupSettings) -> Limits {
    let warmups = usize::try_from(settings.num_warmup_replicas).unwrap_or(0);
    Limits {
        warmups: if may_deviate(image) { warmups } else { 0 },
        acceptable_lag: settings.acceptable_recovery_lag,
        timeout: image.broker().thalweg_streams_warmup_timeout_ms,
    }
}

/// W-8 and W-11: whether a plan of an unchanged target makes members go elsewhere.
pub(super) fn is_step(group: &StreamsGroup, old: Option<&Plan>, new: &Plan) -> bool {
    if let Some(old) = old {
        return old.refined != new.refined;
    }
    let none = Tasks::default();
    group.members().iter().any(|(id, member)| {
        let current = &member.current;
        let is_settled = current.state == MemberState::Stable && current.epoch == group.assignment_epoch;
        let goal = new.refined.get(id).or_else(|| group.target(id)).unwrap_or(&none);
        is_settled && !current.assigned.same_as(goal)
    })
}

/// W-8: records 17 and 20 of a step.
pub(super) fn step_records(group_id: &Str, group: &StreamsGroup) -> [Record; 2] {
    let metadata = GroupMetadata {
        epoch: group.epoch + 1,
        metadata_hash: group.metadata_hash,
        validated_topology_epoch: group.validated_topology_epoch,
        assignment_configs: &group.assignment_configs,
    };
    [
        metadata.record(group_id, group),
        records::target_metadata(group_id, group.epoch + 1, group.assignment_timestamp),
    ]
}

/// A time is over, or ends are known: makes the plan anew.
pub fn advance(step: &mut Step<'_>, group_id: &Str) {
    let Some(group) = step.hard.streams(group_id).filter(|it| it.epoch == it.assignment_epoch) else {
        return;
    };
    let Some(soft) = step.soft.streams.get(group_id) else { return };
    let Some(configured) = soft.configured.as_ref().filter(|it| it.is_ready()) else { return };
    let Some(old) = &soft.warmups.plan else { return };
    let planner = Planner {
        now: step.now,
        limits: limits(step.image, settings(step.image, group_id)),
        group,
        updated: None,
        targets: group.targets(),
        configured,
        offsets: &soft.offsets,
        warmups: &soft.warmups,
    };
    let planned = planner.again(old);
    let records = is_step(group, Some(old), &planned.plan).then(|| step_records(group_id, group));
    if records.is_some() {
        step.telling().epoch_cause = Cause::Warmups;
    }
    for record in records.into_iter().flatten() {
        step.record(record);
    }
    if let Some(soft) = step.soft.streams.get_mut(group_id) {
        soft.warmups.remember(planned);
    }
    carry_on(step, group_id);
}

/// What a plan needs: the timer of W-6, the question of W-9, and to be told of.
pub(super) fn carry_on(step: &mut Step<'_>, group_id: &Str) {
    let group_id = &soft_group(step.soft, group_id);
    let moments = step.soft.streams.get_mut(group_id).map(|it| std::mem::take(&mut it.warmups.moments));
    for moment in moments.unwrap_or_default().into_iter().take(TOLD_MAX) {
        step.telling().tell(group_id, told(moment));
    }
    let Soft { streams, timers, last_task, .. } = &mut *step.soft;
    let Some(soft) = streams.get_mut(group_id) else { return };
    let timer = TimerKey::Warmup { group: group_id.clone() };
    match soft.warmups.plan.as_ref().and_then(Plan::next_over) {
        Some(deadline) => timers.set(timer, deadline),
        None => {
            timers.cancel(&timer);
        }
    }
    let warmups = &mut soft.warmups;
    let Some(configured) = &soft.configured else { return };
    if warmups.asked.is_some() || warmups.wanted.is_empty() {
        return;
    }
    let asked: BTreeSet<TaskId> = warmups.wanted.iter().take(ASKED_MAX).cloned().collect();
    warmups.wanted.retain(|task| !asked.contains(task));
    let logs =
        |task| changelogs(step.image, configured, task).filter(|it| !it.is_source).filter_map(|it| it.log);
    let partitions = asked.iter().flat_map(logs).collect();
    *last_task += 1;
    let id = machine::TaskId(*last_task);
    warmups.asked = Some((id, asked));
    step.tasks.push((id, GroupTask::ChangelogEnds { group: group_id.clone(), partitions }));
}

/// A moment as an event of the group's history.
fn told(moment: Moment) -> Happened {
    match moment {
        Moment::Started { task, member } => {
            Happened::new(Kind::WarmupStarted).member(&member).tasks(1).detail(&task.to_string())
        }
        Moment::CaughtUp { task, process } => {
            Happened::new(Kind::WarmupCaughtUp).tasks(1).detail(&format!("{task} in process {process}"))
        }
        Moment::GaveUp { task, process } => {
            Happened::new(Kind::WarmupGaveUp).tasks(1).detail(&format!("{task} in process {process}"))
        }
    }
}

/// W-9: the answer to [`GroupTask::ChangelogEnds`].
pub fn ends_known(step: &mut Step<'_>, id: machine::TaskId, group_id: &Str, ends: &[PartitionEnd]) {
    let ends: BTreeMap<(Uuid, i32), i64> = ends.iter().map(|it| ((it.topic, it.index), it.end)).collect();
    let Some(soft) = step.soft.streams.get_mut(group_id) else { return };
    let Some((_, asked)) = soft.warmups.asked.take_if(|(asked, _)| *asked == id) else { return };
    let Some(configured) = soft.configured.clone() else { return };
    let offsets = step.hard.offsets();
    for task in asked {
        let end = |it: Changelog<'_>| match it.is_source {
            true => committed(offsets, group_id, it.topic, task.partition),
            false => ends.get(&it.log?).copied(),
        };
        let sum = changelogs(step.image, &configured, &task).try_fold(0_i64, |sum, it| Some(sum + end(it)?));
        soft.warmups.ends.insert(task, sum);
    }
    advance(step, group_id);
}

/// A changelog partition of a task; `log` is its topic's id and its number, if there is such a topic.
struct Changelog<'a> {
    topic: &'a Str,
    /// The topic is read as a source too, and restored up to the committed offset (W-4).
    is_source: bool,
    log: Option<(Uuid, i32)>,
}

fn changelogs<'a>(
    image: &'a Image,
    configured: &'a ConfiguredTopology,
    task: &'a TaskId,
) -> impl Iterator<Item = Changelog<'a>> {
    let subtopology = configured.subtopology(&task.subtopology);
    subtopology.into_iter().flat_map(move |subtopology| {
        subtopology.state_changelog_topics.iter().map(move |changelog| {
            let topic = &changelog.name;
            let is_source = subtopology.source_topics.contains(topic);
            let known = image.topic(&topic.to_str());
            Changelog { topic, is_source, log: known.map(|it| (it.id, task.partition)) }
        })
    })
}

/// Nothing committed is nothing to restore.
fn committed(offsets: &Offsets, group_id: &Str, topic: &Str, partition: i32) -> Option<i64> {
    Some(offsets.get(group_id, topic, partition).map_or(0, |it| it.offset))
}

/// W-13: how often the member shall report offsets.
pub(super) fn task_offset_interval(
    warmups: &Warmups,
    member_id: &Str,
    settings: &StreamsGroupSettings,
) -> i32 {
    let plan = warmups.plan.as_ref().filter(|it| !it.staying.is_empty());
    match plan.is_some_and(|it| it.waits_for(member_id)) {
        true => settings.task_offset_interval_ms.min(settings.heartbeat_interval_ms),
        false => settings.task_offset_interval_ms,
    }
}
