//! Members of consumer groups whose process is gone (rules L-1 to L-9, [`crate::group::departures`]).

use super::image::settings;
use super::timers;
use crate::group::departures::{Crowd, Limits, Verdict};
use crate::group::request::ClosedConnection;
use crate::group::step::Step;
use crate::machine::Millis;
use wire::Str;

/// Connections on which members were heard last were closed by their clients.
pub fn departed(step: &mut Step<'_>, group_id: &Str, closed: &[ClosedConnection], limits: Limits) {
    let Some(group) = step.hard.consumer(group_id) else { return };
    let Some(soft) = step.soft.consumer.get_mut(group_id) else { return };
    let host = |id: &Str| group.member(id).map(|it| &it.metadata.client_host);
    let crowd = Crowd {
        members: group.members().len(),
        // Members of the classic protocol close without leaving on purpose (CR-26).
        may_be_gone: &|id| {
            let metadata = group.member(id).map(|it| &it.metadata);
            metadata.is_some_and(|it| it.instance_id.is_none() && it.classic.is_none())
        },
        // Consumers tell no process: those of one address are taken for one, as long as others come from
        // elsewhere. If all come from one address, that may be a proxy's.
        go_together: &|ids| {
            let first = ids.first().and_then(host);
            let is_elsewhere = |it: &Str| host(it) != first;
            !ids.iter().any(is_elsewhere) && group.members().keys().any(is_elsewhere)
        },
    };
    let verdict = crowd.judge(&mut soft.pulses, closed, limits);
    verdict.tell(step.telling(), group_id, limits.now);
    carry_out(step, group_id, &verdict);
}

/// CR-25, 3: another request than a heartbeat names the member, so it lives.
pub fn member_seen(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    let pulses = step.soft.consumer.get_mut(group_id).map(|it| &mut it.pulses);
    if let Some(verdict) = pulses.and_then(|it| Verdict::lives(it, member_id)) {
        carry_out(step, group_id, &verdict);
    }
}

fn carry_out(step: &mut Step<'_>, group_id: &Str, verdict: &Verdict) {
    let session = Millis::from(settings(step.image, group_id).session_timeout_ms);
    verdict.carry_out(&mut step.soft.timers, |member| timers::session(group_id, member), |_| session);
}
