//! Members and topics of a classic group.

use std::collections::BTreeSet;

use super::{partitions, read_topics};
use crate::group::classic::State;
use crate::group::classic::live::{Live, Member};
use crate::group::embedded;
use crate::group::step::Step;
use crate::group::why;
use wire::explain_group::response as told;
use wire::{ExplainGroupResponse, Str};

pub(super) fn explain(step: &Step<'_>, id: &Str, response: ExplainGroupResponse) -> ExplainGroupResponse {
    let Some(live) = step.soft.classic.get(id) else { return response };
    let members = live.members.iter().map(|(member_id, it)| member(step, id, live, member_id, it));
    let topics: BTreeSet<Str> = match live.is_of_consumers() {
        true => live.members.values().filter_map(why::classic_topics).flatten().collect(),
        false => BTreeSet::new(),
    };
    let state_since = live.state_timestamp.unwrap_or(response.state_since);
    ExplainGroupResponse {
        state_since,
        group_epoch: live.generation,
        members: members.collect(),
        topics: read_topics(step, &topics),
        ..response
    }
}

fn member(step: &Step<'_>, group_id: &Str, live: &Live, id: &Str, it: &Member) -> told::Member {
    let session = why::classic_session(step.soft, group_id, id, it);
    // Only a stable group has assignments that count, and only those of consumers can be read.
    let is_readable = live.state == State::Stable && live.is_of_consumers();
    let assigned = is_readable.then(|| embedded::read_assignment(&it.assignment, step.image).ok().flatten());
    let assigned = assigned.flatten().unwrap_or_default();
    told::Member {
        member_id: id.clone(),
        instance_id: it.instance_id.clone(),
        client_id: it.client_id.clone(),
        client_host: it.client_host.clone(),
        state: Str::from_static(state_name(live, id, it)),
        epoch: live.generation,
        topology_epoch: -1,
        last_heartbeat: session.map_or(-1, |it| it.0),
        session_ends: session.map_or(-1, |it| it.1),
        revoke_since: -1,
        revoke_until: -1,
        assigned: partitions(step, assigned.each()),
        ..Default::default()
    }
}

/// Whom the group waits for.
fn state_name(live: &Live, id: &Str, it: &Member) -> &'static str {
    match live.state {
        State::Empty => "Empty",
        State::Preparing if it.join.is_some() => "Joined",
        State::Preparing => "AwaitsJoin",
        State::Completing if it.sync.is_some() => "Synced",
        State::Completing => "AwaitsSync",
        State::Stable if live.pending_sync.contains(id) => "AwaitsSync",
        State::Stable => "Stable",
    }
}
