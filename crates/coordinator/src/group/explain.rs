//! ExplainGroup (key 20000, our own): what a group waits for, and what happened to it.
//!
//! A read like the describes: its reply waits until what it saw is durable. The findings are `why`'s, the events
//! `history`'s; this file only puts them into the answer's form. The form is that of streams groups: in groups of
//! other types a task is a partition, with its topic in the place of the subtopology.

mod classic;
mod consumer;

use crate::group::fail::Fail;
use crate::group::history::streams::role_name;
use crate::group::history::{Entry, Ring};
use crate::group::state::Group;
use crate::group::step::Step;
use crate::group::streams::tasks::{TaskId, Tasks};
use crate::group::streams::{MemberState, StreamsGroup, StreamsMember, StreamsSoft, Wait};
use crate::group::why::{self, Finding};
use wire::explain_group::response as told;
use wire::{ErrorCode, ExplainGroupRequest, ExplainGroupResponse, Str, Uuid};

/// The answer for one group.
pub(super) fn answer(step: &Step<'_>, request: &ExplainGroupRequest) -> ExplainGroupResponse {
    let id = &request.group_id;
    let Some(group) = step.hard.group(id) else {
        let fail = Fail::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {id} not found."));
        return ExplainGroupResponse {
            group_id: id.clone(),
            error_code: fail.code,
            error_message: fail.message.map(Str::from),
            ..Default::default()
        };
    };
    let ring = step.soft.history.of(id);
    let state = group.state_name(step.soft.classic.get(id));
    let response = ExplainGroupResponse {
        group_id: id.clone(),
        now: step.now,
        loaded_at: step.soft.history.loaded_at,
        group_type: Str::from_static(group.type_name()),
        group_state: Str::from_static(state),
        state_since: ring.and_then(|it| it.state_since(state)).unwrap_or(-1),
        first_sequence: ring.and_then(|it| it.entries().next()).map_or(0, |it| it.sequence),
        last_sequence: ring.map_or(0, Ring::last),
        events: ring.map_or_else(Vec::new, |it| events(it, request)),
        ..Default::default()
    };
    if !request.include_state {
        return response;
    }
    let findings = why::findings(&step.hard, step.soft, step.image, id, step.now);
    let response = ExplainGroupResponse { findings: findings.iter().map(finding).collect(), ..response };
    match group {
        Group::Streams(group) => streams(step, id, group, response),
        Group::Consumer(group) => consumer::explain(step, id, group, response),
        Group::Simple | Group::Classic(_) => classic::explain(step, id, response),
    }
}

fn events(ring: &Ring, request: &ExplainGroupRequest) -> Vec<told::Event> {
    let newer: Vec<_> = ring.entries().filter(|it| it.sequence > request.after_sequence).collect();
    let count = usize::try_from(request.max_events).unwrap_or(0).min(newer.len());
    let kept = if request.after_sequence < 0 { newer.len() - count..newer.len() } else { 0..count };
    newer.get(kept).into_iter().flatten().map(|it| event(it)).collect()
}

fn event(entry: &Entry) -> told::Event {
    let happened = &entry.happened;
    told::Event {
        sequence: entry.sequence,
        time: entry.at,
        kind: Str::from_static(happened.kind.name()),
        member_id: happened.member.as_ref().map(|it| Str::from_bytes(it.to_vec().into())),
        cause: Str::from_static(happened.cause.name()),
        epoch: happened.epoch,
        error_code: happened.code,
        count: i32::try_from(entry.count).unwrap_or(i32::MAX),
        tasks: i32::try_from(happened.tasks).unwrap_or(i32::MAX),
        detail: happened.detail.as_deref().map_or_else(Str::default, Str::from),
        ..Default::default()
    }
}

fn finding(it: &Finding) -> told::Finding {
    told::Finding {
        code: Str::from_static(it.code),
        severity: Str::from_static(it.severity.name()),
        sentence: Str::from(&it.sentence),
        advice: Str::from(&it.advice),
        since: it.since.unwrap_or(-1),
        until: it.until.unwrap_or(-1),
        members: it.members.clone(),
        tasks: it.tasks.iter().map(Str::from).collect(),
        topics: it.topics.clone(),
        ..Default::default()
    }
}

fn streams(
    step: &Step<'_>,
    id: &Str,
    group: &StreamsGroup,
    response: ExplainGroupResponse,
) -> ExplainGroupResponse {
    let soft = step.soft.streams.get(id);
    ExplainGroupResponse {
        group_epoch: group.epoch,
        assignment_epoch: group.assignment_epoch,
        topology_epoch: group.topology.as_ref().map_or(-1, |it| it.epoch()),
        endpoint_epoch: soft.map_or(-1, StreamsSoft::endpoint_epoch),
        members: group
            .members()
            .iter()
            .map(|(member, it)| self::member(step, id, group, member, it))
            .collect(),
        topics: topics(step, group, soft),
        ..response
    }
}

fn member(
    step: &Step<'_>,
    group_id: &Str,
    group: &StreamsGroup,
    id: &Str,
    it: &StreamsMember,
) -> told::Member {
    let metadata = &it.metadata;
    let session = why::session(step.soft, group_id, id);
    let revocation = why::revocation(step.soft, group_id, id, it);
    let revocation = revocation.filter(|_| it.current.state == MemberState::UnrevokedTasks);
    let (assigned, pending) = (&it.current.assigned, &it.current.pending);
    told::Member {
        member_id: id.clone(),
        instance_id: metadata.instance_id.clone(),
        process_id: metadata.process_id.clone(),
        client_id: metadata.client_id.clone(),
        client_host: metadata.client_host.clone(),
        state: Str::from_static(state_name(it.current.state)),
        epoch: it.current.epoch,
        topology_epoch: metadata.topology_epoch,
        last_heartbeat: session.and_then(|it| it.0).unwrap_or(-1),
        session_ends: session.map_or(-1, |it| it.1),
        revoke_since: revocation.map_or(-1, |it| it.0),
        revoke_until: revocation.map_or(-1, |it| it.1),
        assigned: tasks(assigned.active.keys(), &assigned.standby, &assigned.warmup),
        pending: tasks(pending.active.keys(), &pending.standby, &pending.warmup),
        target: group.target(id).map_or_else(Default::default, target),
        waits_for: group.waits(step.soft.streams.get(group_id), id).iter().map(wait).collect(),
        ..Default::default()
    }
}

fn state_name(state: MemberState) -> &'static str {
    match state {
        MemberState::Stable => "Stable",
        MemberState::UnrevokedTasks => "UnrevokedTasks",
        MemberState::UnreleasedTasks => "UnreleasedTasks",
        MemberState::Unknown => "Unknown",
    }
}

fn wait(it: &Wait) -> told::Wait {
    told::Wait {
        subtopology_id: it.task.subtopology.clone(),
        partition: it.task.partition,
        role: Str::from_static(role_name(it.role)),
        holders: it.holders.clone(),
        ..Default::default()
    }
}

fn target(it: &Tasks) -> told::Tasks {
    tasks(&it.active, &it.standby, &it.warmup)
}

fn tasks<'a>(
    active: impl IntoIterator<Item = &'a TaskId>,
    standby: impl IntoIterator<Item = &'a TaskId>,
    warmup: impl IntoIterator<Item = &'a TaskId>,
) -> told::Tasks {
    told::Tasks {
        active: task_ids(active),
        standby: task_ids(standby),
        warmup: task_ids(warmup),
        ..Default::default()
    }
}

fn task_ids<'a>(tasks: impl IntoIterator<Item = &'a TaskId>) -> Vec<told::TaskIds> {
    crate::group::streams::by_subtopology(tasks, |subtopology_id, partitions| told::TaskIds {
        subtopology_id,
        partitions,
        ..Default::default()
    })
}

/// Every topic that the topology reads or keeps its state in, by subtopology.
fn topics(step: &Step<'_>, group: &StreamsGroup, soft: Option<&StreamsSoft>) -> Vec<told::Topic> {
    let Some(topology) = &group.topology else { return Vec::new() };
    let configured = soft.and_then(StreamsSoft::configured);
    let problem = soft.and_then(StreamsSoft::topic_problem);
    let other = problem.and_then(|it| it.wanted.as_ref());
    let mut topics = Vec::new();
    for (id, subtopology) in topology.subtopologies() {
        let decided = configured.and_then(|it| it.subtopology(id));
        let mut add = |name: &Str, role, wanted: Option<i32>| {
            let found = step.image.topic(&name.to_str()).map(|it| it.partitions.len());
            topics.push(told::Topic {
                name: name.clone(),
                subtopology_id: id.clone(),
                role: Str::from_static(role),
                wanted: other
                    .filter(|it| it.0 == *name)
                    .map(|it| it.1)
                    .or_else(|| wanted.filter(|it| *it > 0))
                    .unwrap_or(-1),
                found: found.and_then(|it| i32::try_from(it).ok()).unwrap_or(-1),
                ..Default::default()
            });
        };
        subtopology.source_topics.iter().for_each(|it| add(it, "source", None));
        let repartition =
            decided.map_or(&subtopology.repartition_source_topics, |it| &it.repartition_source_topics);
        repartition.iter().for_each(|it| add(&it.name, "repartition", Some(it.partitions)));
        let changelogs = decided.map_or(&subtopology.state_changelog_topics, |it| &it.state_changelog_topics);
        changelogs.iter().for_each(|it| add(&it.name, "changelog", Some(it.partitions)));
    }
    topics
}

/// Topics that members of a group without subtopologies read.
fn read_topics<'a>(step: &Step<'_>, names: impl IntoIterator<Item = &'a Str>) -> Vec<told::Topic> {
    let topic = |name: &Str| {
        let found = step.image.topic(&name.to_str()).map(|it| it.partitions.len());
        told::Topic {
            name: name.clone(),
            role: Str::from_static("read"),
            wanted: -1,
            found: found.and_then(|it| i32::try_from(it).ok()).unwrap_or(-1),
            ..Default::default()
        }
    };
    names.into_iter().map(topic).collect()
}

/// Partitions by topic; a topic that is gone has its id for a name.
fn partitions(step: &Step<'_>, partitions: impl IntoIterator<Item = (Uuid, i32)>) -> told::Tasks {
    let mut active: Vec<told::TaskIds> = Vec::new();
    let mut last = None;
    for (topic, partition) in partitions {
        if last != Some(topic) {
            last = Some(topic);
            active.push(told::TaskIds { subtopology_id: topic_name(step, topic), ..Default::default() });
        }
        if let Some(of_topic) = active.last_mut() {
            of_topic.partitions.push(partition);
        }
    }
    told::Tasks { active, ..Default::default() }
}

fn topic_name(step: &Step<'_>, topic: Uuid) -> Str {
    step.image.topic_by_id(topic).map_or_else(|| Str::from(topic.to_string()), |it| Str::from(&*it.name))
}
