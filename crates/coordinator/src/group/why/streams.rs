//! Findings about a streams group: topics, epochs, tasks that are not given up, members that are silent.

use std::collections::BTreeSet;

use super::silence::{self, Excused, Silence};
use super::words::{self, has, instance, list, runs, verb};
use super::{Finding, Severity, span};
use crate::group::history::streams::{names, names_with_roles};
use crate::group::history::{Kind, Ring};
use crate::group::pulse::Pulse;
use crate::group::soft::{Soft, TimerKey};
use crate::group::streams::configure::TopicStatus;
use crate::group::streams::tasks::{AssignedTasks, Role, TaskId, Tasks};
use crate::group::streams::{
    Current, GroupState, MemberState, StreamsGroup, StreamsMember, StreamsSoft, Wait, WarmUp,
};
use crate::machine::Millis;
use catalog::Image;
use catalog::config::StreamsGroupSettings;
use wire::Str;

/// Tasks that a finding lists.
const TASKS_MAX: usize = 50;

/// When a streams member was last heard of, if it was since the load, and when its session ends.
pub(in crate::group) fn session(soft: &Soft, group: &Str, member: &Str) -> Option<(Option<Millis>, Millis)> {
    let key = TimerKey::Session { group: group.clone(), member: member.clone() };
    let ends = soft.timers.get(&key)?;
    let pulse = soft.streams.get(group).and_then(|it| it.pulse(member));
    Some((pulse.map(|it| it.heard), ends))
}

/// Since when a member must give up tasks, and when it is removed if it does not.
pub(in crate::group) fn revocation(
    soft: &Soft,
    group: &Str,
    member: &Str,
    it: &StreamsMember,
) -> Option<(Millis, Millis)> {
    let key = TimerKey::Rebalance { group: group.clone(), member: member.clone() };
    let until = soft.timers.get(&key)?;
    Some((until - Millis::from(it.metadata.rebalance_timeout_ms), until))
}

pub(super) fn findings(
    group: &StreamsGroup,
    soft: &Soft,
    image: &Image,
    id: &Str,
    now: Millis,
) -> Vec<Finding> {
    let own = soft.streams.get(id);
    let waits = group.members().keys().map(|member| (member, group.waits(own, member)));
    let waits: Vec<_> = waits.filter(|(_, waits)| !waits.is_empty()).collect();
    let view = View {
        id,
        group,
        soft,
        image,
        now,
        own,
        ring: soft.history.of(id),
        settings: &image.group_settings(&id.to_str()).streams,
        waits,
    };
    view.findings()
}

struct View<'a> {
    id: &'a Str,
    group: &'a StreamsGroup,
    soft: &'a Soft,
    image: &'a Image,
    now: Millis,
    own: Option<&'a StreamsSoft>,
    ring: Option<&'a Ring>,
    settings: &'a StreamsGroupSettings,
    /// What each member goes to and does not have.
    waits: Vec<(&'a Str, Vec<Wait>)>,
}

impl<'a> View<'a> {
    fn findings(&self) -> Vec<Finding> {
        let state = self.group.state();
        if state == GroupState::Empty {
            let since = self.newest(Kind::MemberLeft);
            let empty = Finding::new(Severity::Informs, "empty", "The group has no members.");
            return vec![empty.since(since).advice("Start the application.")];
        }
        let mut findings = Vec::new();
        findings.extend(self.topics(state));
        findings.extend(self.no_target_yet());
        findings.extend(self.closed_together());
        for (member, it) in self.group.members() {
            findings.extend(self.silent(member, it));
            findings.extend(self.must_revoke(member, it));
        }
        findings.extend(self.behind());
        findings.extend(self.waiting());
        findings.extend(self.other_topology());
        findings.extend(self.shutdown());
        findings.extend(self.warm_ups());
        findings.extend(self.without_tasks(state));
        if !findings.iter().any(|it| it.severity == Severity::Blocks) {
            let sentence = match state {
                GroupState::Stable => {
                    let reservation = silence::reservation(&findings);
                    let epoch = self.group.epoch;
                    format!("The group is stable: every member has the tasks of epoch {epoch}{reservation}.")
                }
                GroupState::Empty
                | GroupState::NotReady
                | GroupState::Assigning
                | GroupState::Reconciling => {
                    format!("The group is {} and goes on with the next heartbeats.", state.name())
                }
            };
            let since = self.ring.and_then(|it| it.state_since(state.name()));
            let code = if state == GroupState::Stable { "stable" } else { "goes-on" };
            findings.push(Finding::new(Severity::Informs, code, sentence).since(since));
        }
        findings
    }

    fn newest(&self, kind: Kind) -> Option<Millis> {
        super::newest(self.ring, kind)
    }

    /// The newest event of this kind about a member.
    fn newest_of(&self, kind: Kind, member: &Str) -> Option<Millis> {
        super::newest_of(self.ring, kind, member)
    }

    /// N8: what keeps the group from having any tasks.
    fn topics(&self, state: GroupState) -> Option<Finding> {
        let own = self.own;
        let Some(problem) = own.and_then(StreamsSoft::topic_problem) else {
            let unchecked = own.is_none_or(|it| it.configured().is_none());
            return (unchecked && state == GroupState::NotReady).then(|| {
                let sentence = "The coordinator was loaded and has not looked at the group's topics yet.";
                Finding::new(Severity::Blocks, "topics-not-checked", sentence)
                    .since(Some(self.soft.history.loaded_at))
                    .advice("It looks at them with the next heartbeat of a member.")
            });
        };
        let topics = self.topics_of(problem.status);
        if topics.is_empty() && problem.status != TopicStatus::IncorrectlyPartitionedTopics {
            let sentence = "The topics that were missing exist now; nobody has been heard of since.";
            let advice = "Members get their tasks with their next heartbeats. An application that has ended \
                          meanwhile must be started again.";
            return Some(Finding::new(Severity::Blocks, "topics-not-checked", sentence).advice(advice));
        }
        let (code, kind, advice) = match problem.status {
            TopicStatus::MissingSourceTopics => (
                "missing-source-topics",
                Kind::TopicsMissing,
                "Create them (the broker never creates source topics), or correct their names in the \
                 application. Members get their tasks with their next heartbeats; an application that has \
                 waited for too long ends and must be started again.",
            ),
            TopicStatus::IncorrectlyPartitionedTopics => (
                "wrongly-partitioned-topics",
                Kind::TopicsWronglyPartitioned,
                "Give copartitioned source topics the same number of partitions. If an internal topic has the wrong \
                 number: did a source topic get another number than before (made anew, by a producer perhaps)? Then \
                 make that one as it was. Else stop the application, delete the internal topic, start again; its \
                 state is built anew.",
            ),
            TopicStatus::MissingInternalTopics => (
                "missing-internal-topics",
                Kind::InternalTopicsMissing,
                "The broker creates them at heartbeats, with the rights of the application's principal: see \
                 whether it may create topics, and the broker's log.",
            ),
        };
        let finding = Finding::new(Severity::Blocks, code, problem.detail.clone());
        Some(Finding { topics, ..finding.advice(advice).since(self.newest(kind)) })
    }

    fn topics_of(&self, status: TopicStatus) -> Vec<Str> {
        match status {
            TopicStatus::MissingSourceTopics => {
                let subtopologies = self.group.topology.iter().flat_map(|it| it.subtopologies().values());
                let sources: BTreeSet<_> = subtopologies.flat_map(|it| &it.source_topics).collect();
                let missing = sources.into_iter().filter(|it| self.image.topic(&it.to_str()).is_none());
                missing.cloned().collect()
            }
            TopicStatus::MissingInternalTopics => {
                let configured = self.own.and_then(StreamsSoft::configured);
                let topics = configured.into_iter().flat_map(|it| &it.topics_to_create).map(|it| &it.name);
                topics.filter(|it| self.image.topic(&it.to_str()).is_none()).cloned().collect()
            }
            TopicStatus::IncorrectlyPartitionedTopics => {
                let problem = self.own.and_then(StreamsSoft::topic_problem);
                problem.and_then(|it| it.wanted.as_ref()).map(|it| it.0.clone()).into_iter().collect()
            }
        }
    }

    /// The group's epoch is ahead of its target: held back on purpose, or nobody has asked since.
    fn no_target_yet(&self) -> Option<Finding> {
        let (epoch, assigned) = (self.group.epoch, self.group.assignment_epoch);
        let delay = self.soft.timers.get(&TimerKey::InitialRebalance { group: self.id.clone() });
        let since = self.newest(Kind::EpochMoved);
        if let Some(until) = delay {
            let left = span(until - self.now);
            let sentence = format!("The first assignment waits {left} more, so that members start together.");
            let advice = "group.streams.initial.rebalance.delay.ms says how long; nothing is to be done.";
            let finding = Finding::new(Severity::Blocks, "initial-delay", sentence).advice(advice);
            let since = self.own.and_then(StreamsSoft::delayed_since);
            return Some(finding.since(since).until(Some(until)));
        }
        if epoch <= assigned {
            return None;
        }
        let interval = Millis::from(self.settings.assignment_interval_ms);
        let next = self.group.assignment_timestamp + interval;
        if self.group.assignment_timestamp != 0 && interval != 0 && self.now < next {
            let sentence = format!(
                "The target of epoch {epoch} is not computed before {} have passed, to gather changes.",
                span(next - self.now)
            );
            let advice = "group.streams.assignment.interval.ms says how long; nothing is to be done.";
            let finding = Finding::new(Severity::Blocks, "assignment-interval", sentence).advice(advice);
            return Some(finding.since(since).until(Some(next)));
        }
        let sentence =
            format!("The target of epoch {epoch} is computed with the next heartbeat of any member.");
        let advice = if self.group.members().keys().all(|it| self.is_gone(it)) {
            "The clients of all members are gone: start the application again.".to_owned()
        } else {
            let here = self.group.members().keys().filter(|it| !self.is_gone(it));
            format!("Heartbeats are due every {}.", silence::intervals(self.told(here)))
        };
        Some(Finding::new(Severity::Blocks, "no-target-yet", sentence).advice(advice).since(since))
    }

    fn silent(&self, member: &'a Str, it: &StreamsMember) -> Option<Finding> {
        let (heard, ends) = session(self.soft, self.id, member)?;
        let pulse = self.own.and_then(|it| it.pulse(member));
        let idle = self.without_owner(member, it);
        let silence = Silence {
            member,
            place: place(it),
            epoch: it.current.epoch,
            heard,
            loaded: self.soft.history.loaded_at,
            ends,
            gone: pulse.and_then(Pulse::gone),
            interval: Millis::from(pulse.map_or(self.settings.heartbeat_interval_ms, |it| it.told_ms)),
            blocks: self.blocked_by(member).next().is_some(),
            holds: "tasks",
            idle: (!idle.is_empty()).then(|| format!("{} ({})", tasks_text(idle.len()), names(idle))),
        };
        silence.finding(self.now)
    }

    fn closed_together(&self) -> Option<Finding> {
        let excused = self.group.members().keys().filter_map(|member| {
            let (at, connections) = self.own?.pulse(member)?.closed_together()?;
            let (_, ends) = session(self.soft, self.id, member)?;
            let blocks = self.blocked_by(member).next().is_some();
            Some(Excused { member, at, connections, ends, blocks })
        });
        silence::closed_together(excused, self.group.members().len(), self.now)
    }

    /// Its client closed the connection and has no other one.
    fn is_gone(&self, member: &Str) -> bool {
        self.own.and_then(|it| it.pulse(member)).is_some_and(|it| it.gone().is_some())
    }

    /// The active tasks that nobody runs if this member does not: its own, and those meant for it that nobody has.
    fn without_owner(&self, member: &Str, it: &StreamsMember) -> Vec<TaskId> {
        let Current { assigned, pending, .. } = &it.current;
        let own = assigned.active.keys().chain(pending.active.keys()).cloned();
        let waits = self.waits.iter().filter(|(id, _)| *id == member).flat_map(|(_, waits)| waits);
        let free = waits.filter(|it| it.role == Role::Active && it.holders.is_empty());
        own.chain(free.map(|it| it.task.clone())).collect()
    }

    /// Members that wait for a task of this one, with the task.
    fn blocked_by(&self, holder: &'a Str) -> impl Iterator<Item = (&'a Str, &Wait)> {
        let waits = self.waits.iter().flat_map(|(member, waits)| waits.iter().map(move |it| (*member, it)));
        waits.filter(move |(member, wait)| *member != holder && wait.holders.contains(holder))
    }

    /// N2: the member that must give up tasks first.
    fn must_revoke(&self, member: &'a Str, it: &StreamsMember) -> Option<Finding> {
        if it.current.state == MemberState::Unknown {
            let sentence = format!("Member {member} was told to do what this release does not know.");
            let advice = "It was led by a newer release; it abandons its tasks and joins again by itself.";
            let finding = Finding::new(Severity::Blocks, "member-of-newer-release", sentence).advice(advice);
            return Some(finding.members([member]));
        }
        if it.current.state != MemberState::UnrevokedTasks {
            return None;
        }
        let pending = all_tasks(&it.current.pending);
        let wanted: BTreeSet<&Str> = self.blocked_by(member).map(|(other, _)| other).collect();
        let mut sentence = format!(
            "Member {member} ({}) still holds {} that it was told to give up: {}.",
            place(it),
            tasks_text(pending.len()),
            names_with_roles(pending.iter().cloned()),
        );
        if !wanted.is_empty() {
            sentence.push_str(&format!(" They are wanted by {}.", list(wanted.iter().copied())));
        }
        let times = revocation(self.soft, self.id, member, it);
        let mut advice =
            "Its thread gives them up when it has closed them: see whether it hangs in processing, in a commit \
             or in restoring."
                .to_owned();
        if let Some((_, until)) = times {
            advice.push_str(&format!(" It is removed in {} if it does not.", span(until - self.now)));
        }
        let finding = Finding::new(Severity::Blocks, "must-revoke", sentence).advice(advice);
        let finding = finding.since(times.map(|it| it.0)).until(times.map(|it| it.1)).members([member]);
        Some(Finding { tasks: task_names(pending.iter().map(|it| &it.1)), ..finding })
    }

    /// Members that do not know the target yet, but those that are gone: they will not hear of it.
    fn behind(&self) -> Option<Finding> {
        let target = self.group.assignment_epoch;
        let is_gone = |id: &Str| self.is_gone(id);
        let rests_at =
            |it: &StreamsMember| (it.current.state == MemberState::Stable).then_some(it.current.epoch);
        let behind = silence::behind(self.group.members(), target, rests_at, is_gone)?;
        let held: Vec<_> = behind.iter().flat_map(|(id, it)| self.to_give_up(id, it)).collect();
        let gives_up = (!held.is_empty()).then(|| (tasks_text(held.len()), names_with_roles(held.clone())));
        let finding = silence::target_not_heard(&behind, target, gives_up)
            .advice(silence::hear_by(self.told(behind.iter().map(|(id, _)| *id))))
            .since(super::computed(self.ring, target));
        Some(Finding { tasks: task_names(held.iter().map(|it| &it.1)), ..finding })
    }

    /// Until when each of these comes again after its last heartbeat, as it was told.
    fn told<'s>(&'s self, ids: impl Iterator<Item = &'s Str>) -> impl Iterator<Item = Millis> {
        ids.map(|id| {
            let pulse = self.own.and_then(|it| it.pulse(id));
            Millis::from(pulse.map_or(self.settings.heartbeat_interval_ms, |it| it.told_ms))
        })
    }

    /// What a member has and does not go to. While others restore tasks, that is what the plan says (W-2); after a
    /// load nobody knows the plan before the first heartbeat (W-11).
    fn to_give_up(&self, id: &Str, it: &StreamsMember) -> Vec<(Role, TaskId)> {
        let Some(own) = self.own.filter(|it| it.has_plan()) else { return Vec::new() };
        let none = Tasks::default();
        let target = own.goal(self.group, id).unwrap_or(&none);
        let assigned = &it.current.assigned;
        let active = assigned.active.keys().filter(|task| !target.active.contains(task));
        let standby = assigned.standby.difference(&target.standby);
        let warmup = assigned.warmup.difference(&target.warmup);
        with_roles(active, standby, warmup)
    }

    /// N7: who waits for whom.
    fn waiting(&self) -> Vec<Finding> {
        let waits = self.waits.iter().filter(|(member, _)| {
            // Who does not know its target does not wait for it.
            self.group.member(member).is_some_and(|it| it.current.state == MemberState::UnreleasedTasks)
        });
        waits.map(|(member, waits)| self.waits_for(member, waits)).collect()
    }

    fn waits_for(&self, member: &'a Str, waits: &[Wait]) -> Finding {
        let holders: BTreeSet<&Str> = waits.iter().flat_map(|it| &it.holders).collect();
        let tasks: Vec<_> = waits.iter().map(|it| (it.role, it.task.clone())).collect();
        let what = format!("{} ({})", tasks_text(tasks.len()), names_with_roles(tasks.iter().cloned()));
        let since = self.newest_of(Kind::WaitsForTasks, member);
        let (severity, sentence) = if holders.is_empty() {
            let sentence =
                format!("Member {member} gets {what} with its next heartbeat: nobody holds them any more.");
            (Severity::Informs, sentence)
        } else {
            let sentence = format!("Member {member} waits for {what} held by {}.", list(holders.into_iter()));
            (Severity::Blocks, sentence)
        };
        let finding = Finding::new(severity, "waits-for-tasks", sentence).since(since).members([member]);
        Finding { tasks: task_names(tasks.iter().map(|it| &it.1)), ..finding }
    }

    /// Status 0 of the heartbeat.
    fn other_topology(&self) -> Option<Finding> {
        let epoch = self.group.topology.as_ref()?.epoch();
        let others = self.group.members().iter();
        let others: Vec<_> =
            others.filter(|(_, it)| it.metadata.topology_epoch < epoch).map(|(id, _)| id).collect();
        if others.is_empty() {
            return None;
        }
        let sentence = format!("{} an older topology than the group's epoch {epoch}.", runs(&others));
        let finding = Finding::new(Severity::Warns, "stale-topology", sentence).members(others);
        Some(finding.advice("Deploy the same version of the application everywhere."))
    }

    /// Status 4 of the heartbeat.
    fn shutdown(&self) -> Option<Finding> {
        let requester = self.own?.shutdown_requester()?;
        let sentence = format!("Member {requester} asked the whole application to shut down.");
        let advice = "An uncaught exception handler answered SHUTDOWN_APPLICATION: see that member's log. All \
                      members stop; the wish is forgotten once none is left.";
        let finding = Finding::new(Severity::Warns, "shutdown-requested", sentence).advice(advice);
        Some(finding.since(self.newest(Kind::ShutdownRequested)).members([requester]))
    }

    /// Tasks that stay with their owners while others restore their state (rules W).
    fn warm_ups(&self) -> Option<Finding> {
        let warm_ups: Vec<WarmUp<'_>> = self.own.into_iter().flat_map(StreamsSoft::warm_ups).collect();
        let last = warm_ups.iter().map(|it| it.until).max()?;
        let tasks: Vec<TaskId> = warm_ups.iter().map(|it| it.task.clone()).collect();
        let members: BTreeSet<&Str> = warm_ups.iter().map(|it| it.member).collect();
        let ids: Vec<_> = members.iter().copied().collect();
        let (moves, them, their) = match tasks.len() {
            1 => ("it moves", "it", "its owner runs it"),
            _ => ("they move", "them", "their owners run them"),
        };
        let sentence = format!(
            "{} before {moves}: {}. {} {} {them}; {their} meanwhile.",
            is_caught_up(tasks.len()),
            names(tasks.iter().cloned()),
            words::members(&ids),
            verb(ids.len(), "restores", "restore"),
        );
        let advice = format!(
            "A task moves when its copy is near enough to the end of the changelog (streams.acceptable.recovery.lag), \
             and in {} at the latest. `thalweg streams tasks` shows how far they were when last heard of.",
            span(last - self.now)
        );
        let finding = Finding::new(Severity::Informs, "warm-ups", sentence).advice(advice).members(members);
        let finding = finding.since(self.newest(Kind::WarmupStarted)).until(Some(last));
        Some(Finding { tasks: task_names(&tasks), ..finding })
    }

    /// More threads than active tasks.
    fn without_tasks(&self, state: GroupState) -> Option<Finding> {
        if state != GroupState::Stable {
            return None;
        }
        let members = self.group.members();
        let idle: Vec<_> = members
            .iter()
            .filter(|(_, it)| it.current.assigned.active.is_empty())
            .map(|(id, _)| id)
            .collect();
        let tasks: usize = members.values().map(|it| it.current.assigned.active.len()).sum();
        if idle.is_empty() || members.len() <= tasks {
            return None;
        }
        let sentence = format!("{} no active task: there are more threads than tasks.", has(&idle));
        let advice =
            "More partitions of the source topics make more tasks; else these threads only stand by.";
        Some(
            Finding::new(Severity::Informs, "more-members-than-tasks", sentence).advice(advice).members(idle),
        )
    }
}

fn all_tasks(tasks: &AssignedTasks) -> Vec<(Role, TaskId)> {
    with_roles(tasks.active.keys(), &tasks.standby, &tasks.warmup)
}

fn with_roles<'a>(
    active: impl IntoIterator<Item = &'a TaskId>,
    standby: impl IntoIterator<Item = &'a TaskId>,
    warmup: impl IntoIterator<Item = &'a TaskId>,
) -> Vec<(Role, TaskId)> {
    let active = active.into_iter().map(|it| (Role::Active, it.clone()));
    let standby = standby.into_iter().map(|it| (Role::Standby, it.clone()));
    active.chain(standby).chain(warmup.into_iter().map(|it| (Role::Warmup, it.clone()))).collect()
}

fn task_names<'a>(tasks: impl IntoIterator<Item = &'a TaskId>) -> Vec<String> {
    tasks.into_iter().take(TASKS_MAX).map(ToString::to_string).collect()
}

fn tasks_text(count: usize) -> String {
    if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") }
}

fn is_caught_up(count: usize) -> String {
    if count == 1 { "1 task catches up".to_owned() } else { format!("{count} tasks catch up") }
}

/// Where a member runs.
fn place(it: &StreamsMember) -> String {
    let host = it.metadata.client_host.to_str();
    let instance = instance(it.metadata.instance_id.as_ref());
    format!("{instance}process {}, host {}", it.metadata.process_id, host.trim_start_matches('/'))
}
