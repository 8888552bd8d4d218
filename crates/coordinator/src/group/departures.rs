//! Members whose process is gone: their clients closed the connection of the last heartbeat and did
//! not come back (rules L-1 to L-9 of `docs/design/coordination.md`, CR-20 to CR-29).
//!
//! The session of such a member ends after a grace time instead of its timeout. Nothing else differs:
//! its next heartbeat, should there be one, restores the full session. A member that was not heard
//! since the shard was loaded has no connection here, so it is never meant.
//!
//! What a group type knows of its members stands in its `departures.rs`.

use std::collections::BTreeMap;

use crate::group::history::{Happened, Kind, Telling};
use crate::group::pulse::Pulse;
use crate::group::request::ClosedConnection;
use crate::group::roll::Roll;
use crate::group::soft::TimerKey;
use crate::group::state::Group;
use crate::group::step::Step;
use crate::group::streams::image::may_deviate;
use crate::group::why::span;
use crate::group::{classic, consumer, streams};
use crate::machine::Millis;
use crate::timers::Timers;
use catalog::Image;
use wire::Str;

/// CR-27: the least for anybody, and no take-over before transactions of the old owner time out (CR-29).
const GRACE_MIN: Millis = 10_000;
/// CR-27: the least for clients whose attempts to connect grow far apart.
const GRACE_MIN_LATE: Millis = 20_000;
/// Closes within this time belong together.
const BURST: Millis = 2_000;
/// CR-26: more than so many clients, and more than this share of a group, are the network's doing.
const CLIENTS_MAX: usize = 3;
const SHARE: usize = 5;

/// Connections were closed by their clients, none of which has another one open from the same address.
pub(super) fn connections_closed(step: &mut Step<'_>, by_group: &[(Str, Vec<ClosedConnection>)]) {
    for (group_id, closed) in by_group {
        let Some(grace) = grace(step.image, group_id) else { continue };
        let limits = Limits { now: step.now, loaded_at: step.soft.loaded_at, grace };
        match step.hard.group(group_id) {
            Some(Group::Streams(_)) => streams::departed(step, group_id, closed, limits),
            Some(Group::Consumer(_)) => consumer::departed(step, group_id, closed, limits),
            Some(Group::Simple | Group::Classic(_)) => classic::departed(step, group_id, closed, limits),
            None => {}
        }
    }
}

/// For how long a member's session goes on after its client closed its connection, at least; `None`:
/// as long as without that.
fn grace(image: &Image, group_id: &Str) -> Option<Millis> {
    let grace = image.group_settings(&group_id.to_str()).streams.disconnect_grace_ms;
    (may_deviate(image) && grace > 0).then_some(Millis::from(grace))
}

/// CR-25, 3: another request than a heartbeat names the member, so it lives.
pub(super) fn member_seen(step: &mut Step<'_>, group_id: &Str, member_id: &Str) {
    streams::member_seen(step, group_id, member_id);
    consumer::member_seen(step, group_id, member_id);
    classic::member_seen(step, group_id, member_id);
}

/// What the rules depend on beside the members.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub now: Millis,
    pub loaded_at: Millis,
    /// The setting.
    pub grace: Millis,
}

/// A group as the rules look at it.
pub(in crate::group) struct Crowd<'a> {
    pub members: usize,
    /// CR-26: who is taken for dead at all.
    pub may_be_gone: &'a dyn Fn(&Str) -> bool,
    /// Whether that these go together need not be the network's doing.
    pub go_together: &'a dyn Fn(&[Str]) -> bool,
}

/// A member whose client closed its connection.
#[derive(Debug)]
pub(in crate::group) struct Departure {
    member: Str,
    closed: Millis,
    /// Its session, at the latest.
    ends: Millis,
}

/// What becomes of the sessions of some members.
#[derive(Debug)]
pub(in crate::group) enum Verdict {
    /// They end soon.
    Gone(Vec<Departure>),
    /// They last as long as if no connection had been closed: the member was last heard then.
    Alive(Vec<(Str, Millis)>),
}

impl Crowd<'_> {
    /// Marks the members that were last heard on one of the connections (CR-24).
    pub(in crate::group) fn judge(
        &self,
        pulses: &mut Roll<Pulse>,
        closed: &[ClosedConnection],
        limits: Limits,
    ) -> Verdict {
        let gone = self.mark(pulses, closed);
        let Some(first) = gone.iter().map(|(_, at)| *at).min() else { return Verdict::Gone(Vec::new()) };
        let burst: Vec<Str> = pulses
            .iter()
            .filter(|(_, it)| it.gone.is_some_and(|at| at >= first - BURST))
            .map(|(id, _)| id.clone())
            .collect();
        if self.is_mass(&burst) {
            let alive = burst.iter().filter_map(|id| revive(pulses, id)).collect();
            return Verdict::Alive(alive);
        }
        let ends = gone.into_iter().filter_map(|(member, closed)| {
            let pulse = pulses.get(&member)?;
            let least = if pulse.returns_late { GRACE_MIN_LATE } else { GRACE_MIN };
            // CR-26: never from a shortened interval; those told lately are among the largest.
            let grace = (2 * pulse.largest_ms).max(limits.grace).max(least);
            // CR-25, 4.
            let is_known = limits.now - limits.loaded_at >= grace;
            is_known.then(|| Departure { ends: closed + grace, member, closed })
        });
        Verdict::Gone(ends.collect())
    }

    fn mark(&self, pulses: &mut Roll<Pulse>, closed: &[ClosedConnection]) -> Vec<(Str, Millis)> {
        let closed: BTreeMap<u64, Millis> = closed.iter().map(|it| (it.connection, it.at)).collect();
        let mut gone = Vec::new();
        pulses.for_each_mut(|member_id, pulse| {
            let at = closed.get(&pulse.connection).filter(|_| pulse.gone.is_none());
            if let Some(at) = at.filter(|_| (self.may_be_gone)(member_id)) {
                pulse.gone = Some(*at);
                gone.push((member_id.clone(), *at));
            }
        });
        gone
    }

    /// CR-26: a proxy or the network is at fault, unless they can have died together.
    fn is_mass(&self, members: &[Str]) -> bool {
        members.len() > CLIENTS_MAX && members.len() * SHARE > self.members && !(self.go_together)(members)
    }
}

/// When it was heard, if it was taken for gone.
fn revive(pulses: &mut Roll<Pulse>, id: &Str) -> Option<(Str, Millis)> {
    let pulse = pulses.get_mut(id)?;
    pulse.gone.take().map(|_| (id.clone(), pulse.heard))
}

impl Verdict {
    /// Tells of members that are taken for gone, which is a while after the close: others were waited for.
    pub(in crate::group) fn tell(&self, telling: &mut Telling, group_id: &Str, now: Millis) {
        let Self::Gone(members) = self else { return };
        for it in members {
            let happened = Happened::new(Kind::ConnectionClosed).member(&it.member);
            telling.tell(group_id, happened.detail(&format!("{} ago", span(now - it.closed))));
        }
    }

    /// A member that was taken for gone lives; `None` if it was not.
    pub(in crate::group) fn lives(pulses: &mut Roll<Pulse>, id: &Str) -> Option<Self> {
        Some(Self::Alive(vec![revive(pulses, id)?]))
    }

    /// Moves the sessions that are not over.
    pub(in crate::group) fn carry_out(
        &self,
        timers: &mut Timers<TimerKey>,
        key: impl Fn(&Str) -> TimerKey,
        session: impl Fn(&Str) -> Millis,
    ) {
        let mut set = |member: &Str, deadline: &dyn Fn(Millis) -> Millis| {
            let key = key(member);
            let before = timers.get(&key);
            before.into_iter().for_each(|it| timers.set(key.clone(), deadline(it)));
        };
        match self {
            Self::Gone(members) => {
                members.iter().for_each(|it| set(&it.member, &|before| before.min(it.ends)))
            }
            Self::Alive(members) => members.iter().for_each(|(member, heard)| {
                set(member, &|before| before.max(heard.saturating_add(session(member))));
            }),
        }
    }
}
