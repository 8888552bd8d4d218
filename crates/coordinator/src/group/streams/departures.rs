//! Members of streams groups whose process is gone (rules L-1 to L-9, [`crate::group::departures`]).

use std::collections::BTreeSet;

use super::image::settings;
use super::timers;
use crate::group::departures::{Crowd, Limits, Verdict};
use crate::group::request::ClosedConnection;
use crate::group::step::Step;
use crate::machine::Millis;
use wire::Str;

/// Connections on which members were heard last were closed by their clients.
pub fn departed(step: &mut Step<'_>, group_id: &Str, closed: &[ClosedConnection], limits: Limits) {
    let Some(group) = step.hard.streams(group_id) else { return };
    let Some(soft) = step.soft.streams.get_mut(group_id) else { return };
    let process = |id: &Str| group.member(id).map(|it| (&it.metadata.client_host, &it.metadata.process_id));
    let crowd = Crowd {
        members: group.members().len(),
        may_be_gone: &|id| group.member(id).is_some_and(|it| it.metadata.instance_id.is_none()),
        // CR-26: threads of one process go together.
        go_together: &|ids| ids.iter().filter_map(process).collect::<BTreeSet<_>>().len() <= 1,
    };
    let verdict = crowd.judge(&mut soft.pulses, closed, limits);
    verdict.tell(step.telling(), group_id, limits.now);
    carry_out(step, group_id, &verdict);
}

/// CR-25, 3: another request than a heartbeat names the member, so it lives.
pub fn member_seen(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    let pulses = step.soft.streams.get_mut(group_id).map(|it| &mut it.pulses);
    if let Some(verdict) = pulses.and_then(|it| Verdict::lives(it, member_id)) {
        carry_out(step, group_id, &verdict);
    }
}

fn carry_out(step: &mut Step<'_>, group_id: &Str, verdict: &Verdict) {
    let session = Millis::from(settings(step.image, group_id).session_timeout_ms);
    verdict.carry_out(&mut step.soft.timers, |member| timers::session(group_id, member), |_| session);
}
