//! Members of classic groups whose process is gone, if somebody wants that
//! (`thalweg.group.classic.disconnect.enable`; rules L-1 to L-9, [`crate::group::departures`]).
//!
//! Only heartbeats tell the connection of a member: clients may join on another one and close that (CR-23).

use catalog::Image;
use wire::{ErrorCode, HeartbeatRequest, Str};

use crate::group::departures::{Crowd, Limits, Verdict};
use crate::group::pulse::Pulse;
use crate::group::request::ClosedConnection;
use crate::group::soft::TimerKey;
use crate::group::step::Step;
use crate::group::streams::image::may_deviate;
use crate::machine::{Caller, Millis};

/// More pulses than twice the members and these are not kept.
const PULSES_SPARE: usize = 16;

fn is_on(image: &Image) -> bool {
    may_deviate(image) && image.broker().thalweg_group_classic_disconnect_enable
}

/// A heartbeat was answered.
pub fn heard(step: &mut Step<'_>, caller: &Caller, request: &HeartbeatRequest, answered: ErrorCode) {
    if !is_on(step.image) || ![ErrorCode::NONE, ErrorCode::REBALANCE_IN_PROGRESS].contains(&answered) {
        return;
    }
    let Some((group, live)) = step.soft.classic.get_key_value(&request.group_id) else { return };
    let Some((member, _)) = live.members.get_key_value(&request.member_id) else { return };
    let pulses = step.soft.classic_pulses.entry(group.clone()).or_default();
    pulses.insert(member.clone(), Pulse::untold(step.now, caller.connection));
    if pulses.len() > 2 * live.members.len() + PULSES_SPARE {
        pulses.retain(|id| live.has_member(id));
    }
}

/// Connections on which members were heard last were closed by their clients.
pub fn departed(step: &mut Step<'_>, group_id: &Str, closed: &[ClosedConnection], limits: Limits) {
    let Some(live) = step.soft.classic.get(group_id).filter(|_| is_on(step.image)) else { return };
    let Some(pulses) = step.soft.classic_pulses.get_mut(group_id) else { return };
    pulses.retain(|id| live.has_member(id));
    let host = |id: &Str| live.members.get(id).map(|it| &it.client_host);
    let crowd = Crowd {
        members: live.members.len(),
        // Who waits in a join sends no heartbeats, and its session does not count.
        may_be_gone: &|id| {
            live.members.get(id).is_some_and(|it| it.instance_id.is_none() && it.join.is_none())
        },
        // As in consumer groups.
        go_together: &|ids| {
            let first = ids.first().and_then(host);
            let is_elsewhere = |it: &Str| host(it) != first;
            !ids.iter().any(is_elsewhere) && live.members.keys().any(is_elsewhere)
        },
    };
    let verdict = crowd.judge(pulses, closed, limits);
    verdict.tell(step.telling(), group_id, limits.now);
    carry_out(step, group_id, &verdict);
}

/// CR-25, 3: another request than a heartbeat names the member, so it lives.
pub fn member_seen(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    let pulses = step.soft.classic_pulses.get_mut(group_id);
    if let Some(verdict) = pulses.and_then(|it| Verdict::lives(it, member_id)) {
        carry_out(step, group_id, &verdict);
    }
}

fn carry_out(step: &mut Step<'_>, group_id: &Str, verdict: &Verdict) {
    let live = step.soft.classic.get(group_id);
    let session = |id: &Str| {
        let member = live.and_then(|it| it.members.get(id));
        member.map_or(0, |it| Millis::from(it.session_timeout_ms))
    };
    let key = |id: &Str| TimerKey::ClassicSession { group: group_id.clone(), member: id.clone() };
    verdict.carry_out(&mut step.soft.timers, key, session);
}
