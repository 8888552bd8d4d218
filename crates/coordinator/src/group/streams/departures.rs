//! Members whose process is gone: their clients closed the connection of the last heartbeat and did
//! not come back (rules L-1 to L-9 of `docs/design/coordination.md`, CR-20 to CR-29).
//!
//! The session of such a member ends after a grace time instead of its timeout. Nothing else differs:
//! its next heartbeat, should there be one, restores the full session. A member that was not heard
//! since the shard was loaded has no connection here, so it is never meant.

use std::collections::{BTreeMap, BTreeSet};

use super::StreamsGroup;
use super::image::{disconnect_grace, settings};
use super::soft::StreamsSoft;
use super::timers;
use crate::group::request::ClosedConnection;
use crate::group::step::Step;
use crate::machine::Millis;
use wire::Str;

/// CR-27: the least for anybody, and no take-over before transactions of the old owner time out (CR-29).
const GRACE_MIN: Millis = 10_000;
/// Closes within this time belong together.
const BURST: Millis = 2_000;
/// CR-26: more than so many clients, and more than this share of a group, are the network's doing.
const CLIENTS_MAX: usize = 3;
const SHARE: usize = 5;

/// Connections were closed by their clients, none of which has another one open from the same address.
pub fn connections_closed(step: &mut Step<'_>, by_group: &[(Str, Vec<ClosedConnection>)]) {
    for (group_id, closed) in by_group {
        if let Some(setting) = disconnect_grace(step.image, group_id) {
            departed(step, group_id, closed, setting);
        }
    }
}

fn departed(step: &mut Step<'_>, group_id: &Str, closed: &[ClosedConnection], setting: Millis) {
    let (now, loaded_at) = (step.now, step.soft.loaded_at);
    let session = Millis::from(settings(step.image, group_id).session_timeout_ms);
    let Some(group) = step.hard.streams(group_id) else { return };
    let Some(soft) = step.soft.streams.get_mut(group_id) else { return };
    let gone = mark(group, soft, closed);
    let Some(first) = gone.iter().map(|(_, at)| *at).min() else { return };
    let burst: Vec<Str> = soft
        .pulses
        .iter()
        .filter(|(_, it)| it.gone.is_some_and(|at| at >= first - BURST))
        .map(|(id, _)| id.clone())
        .collect();
    if is_mass(group, &burst) {
        for member_id in burst {
            restore(step, group_id, &member_id, session);
        }
        return;
    }
    for (member_id, at) in gone {
        let Some(pulse) = soft.pulses.get(&member_id) else { continue };
        // CR-26: never from a shortened interval; those told lately are among the largest.
        let grace = (2 * pulse.largest_ms).max(setting).max(GRACE_MIN);
        // CR-25, 4.
        if now - loaded_at >= grace {
            timers::end_session_by(&mut step.soft.timers, group_id, &member_id, at + grace);
        }
    }
}

/// Members that were last heard on one of the connections (CR-24), but for static ones (CR-26).
fn mark(group: &StreamsGroup, soft: &mut StreamsSoft, closed: &[ClosedConnection]) -> Vec<(Str, Millis)> {
    let closed: BTreeMap<u64, Millis> = closed.iter().map(|it| (it.connection, it.at)).collect();
    let mut gone = Vec::new();
    for (member_id, pulse) in &mut soft.pulses {
        let is_dynamic = group.member(member_id).is_some_and(|it| it.metadata.instance_id.is_none());
        if let Some(at) = closed.get(&pulse.connection).filter(|_| is_dynamic && pulse.gone.is_none()) {
            pulse.gone = Some(*at);
            gone.push((member_id.clone(), *at));
        }
    }
    gone
}

/// CR-26: a proxy or the network is at fault, unless all are threads of one process.
fn is_mass(group: &StreamsGroup, members: &[Str]) -> bool {
    let process = |id| group.member(id).map(|it| (&it.metadata.client_host, &it.metadata.process_id));
    let processes: BTreeSet<_> = members.iter().filter_map(process).collect();
    members.len() > CLIENTS_MAX && members.len() * SHARE > group.members().len() && processes.len() > 1
}

/// CR-25, 3: another request than a heartbeat names the member, so it lives.
pub fn member_seen(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    let pulse = step.soft.streams.get(group_id).and_then(|it| it.pulses.get(member_id));
    if pulse.is_some_and(|it| it.gone.is_some()) {
        let session = Millis::from(settings(step.image, group_id).session_timeout_ms);
        restore(step, group_id, member_id, session);
    }
}

/// The session lasts as long as if the connection had not been closed.
fn restore(step: &mut Step<'_>, group_id: &Str, member_id: &Str, session: Millis) {
    let Some(soft) = step.soft.streams.get_mut(group_id) else { return };
    let Some(pulse) = soft.pulses.get_mut(member_id).filter(|it| it.gone.is_some()) else { return };
    pulse.gone = None;
    timers::move_session(&mut step.soft.timers, group_id, member_id, pulse.heard + session);
}
