//! Members and topics of a consumer group.

use std::collections::BTreeMap;

use super::{partitions, read_topics, topic_name};
use crate::group::consumer::{ConsumerGroup, ConsumerMember, MemberState, Wait};
use crate::group::history::consumer::held;
use crate::group::step::Step;
use crate::group::why;
use wire::explain_group::response as told;
use wire::{ExplainGroupResponse, Str};

pub(super) fn explain(
    step: &Step<'_>,
    id: &Str,
    group: &ConsumerGroup,
    response: ExplainGroupResponse,
) -> ExplainGroupResponse {
    let waits = group.waits();
    let members =
        group.members().iter().map(|(member_id, it)| member(step, id, group, (member_id, it), &waits));
    ExplainGroupResponse {
        group_epoch: group.epoch,
        assignment_epoch: group.assignment_epoch,
        members: members.collect(),
        topics: read_topics(step, group.subscriptions().topics()),
        ..response
    }
}

fn member(
    step: &Step<'_>,
    group_id: &Str,
    group: &ConsumerGroup,
    (id, it): (&Str, &ConsumerMember),
    waits: &BTreeMap<&Str, Vec<Wait>>,
) -> told::Member {
    let session = why::consumer_session(step.soft, group_id, id);
    let revocation = why::consumer_revocation(step.soft, group_id, id, it);
    told::Member {
        member_id: id.clone(),
        instance_id: it.metadata.instance_id.clone(),
        client_id: it.metadata.client_id.clone(),
        client_host: it.metadata.client_host.clone(),
        state: Str::from_static(state_name(it.current.state)),
        epoch: it.current.epoch,
        topology_epoch: -1,
        last_heartbeat: session.and_then(|it| it.0).unwrap_or(-1),
        session_ends: session.map_or(-1, |it| it.1),
        revoke_since: revocation.map_or(-1, |it| it.0),
        revoke_until: revocation.map_or(-1, |it| it.1),
        assigned: partitions(step, held(&it.current.assigned)),
        pending: partitions(step, held(&it.current.pending)),
        target: group.target(id).map_or_else(Default::default, |it| partitions(step, it.each())),
        waits_for: waits.get(id).into_iter().flatten().map(|it| wait(step, it)).collect(),
        ..Default::default()
    }
}

fn state_name(state: MemberState) -> &'static str {
    match state {
        MemberState::Stable => "Stable",
        MemberState::UnrevokedPartitions => "UnrevokedPartitions",
        MemberState::UnreleasedPartitions => "UnreleasedPartitions",
        MemberState::Unknown => "Unknown",
    }
}

fn wait(step: &Step<'_>, it: &Wait) -> told::Wait {
    told::Wait {
        subtopology_id: topic_name(step, it.topic),
        partition: it.partition,
        role: Str::from_static("active"),
        holders: it.holders.clone(),
        ..Default::default()
    }
}
