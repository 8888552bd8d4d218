//! Members whose process is gone: their clients closed the connection of the last heartbeat and did
//! not come back (rules L-1 to L-9 of `docs/design/coordination.md`, CR-20 to CR-29).
//!
//! The session of such a member ends after a grace time instead of its timeout. Nothing else differs:
//! its next heartbeat, should there be one, restores the full session. A member that was not heard
//! since the shard was loaded has no connection here, so it is never meant.
//!
//! What a group type knows of its members stands in its `departures.rs`.

use std::collections::{BTreeMap, BTreeSet};

use crate::group::history::{Happened, Kind, Telling};
use crate::group::pulse::{Line, Pulse};
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
#[derive(Debug, Default)]
pub(in crate::group) struct Verdict {
    /// They end soon.
    gone: Vec<Departure>,
    /// They last as long as if no connection had been closed: the member was last heard then.
    alive: Vec<(Str, Millis)>,
    /// L-6, for people.
    together: Option<Together>,
}

/// Members whose connections closed with too many others.
#[derive(Debug)]
struct Together {
    count: usize,
    /// Of all that the group has.
    members: usize,
    connections: u32,
    at: Millis,
}

impl Crowd<'_> {
    /// Marks the members that were last heard on one of the connections (CR-24).
    pub(in crate::group) fn judge(
        &self,
        pulses: &mut Roll<Pulse>,
        closed: &[ClosedConnection],
        limits: Limits,
    ) -> Verdict {
        let marked = self.mark(pulses, closed);
        let gone = marked.iter().filter_map(|(id, line)| match line {
            Line::Closed(at) => Some((id.clone(), *at)),
            Line::Open | Line::ClosedTogether { .. } => None,
        });
        let gone: Vec<(Str, Millis)> = gone.collect();
        let mut lines: Vec<Line> = marked.into_iter().map(|(_, line)| line).collect();
        let mut verdict = Verdict::default();
        if let Some(first) = gone.iter().map(|(_, at)| *at).min() {
            let is_of_burst = |it: &Pulse| it.gone().is_some_and(|at| at >= first - BURST);
            let burst: Vec<Str> =
                pulses.iter().filter(|(_, it)| is_of_burst(it)).map(|(id, _)| id.clone()).collect();
            if self.is_mass(&burst) {
                verdict.alive = excuse(pulses, &burst, &mut lines);
            } else {
                verdict.gone = departures(pulses, gone, limits);
            }
        }
        verdict.together = self.together(&lines);
        verdict
    }

    /// The members that are meant, with what became of their connections.
    fn mark(&self, pulses: &mut Roll<Pulse>, closed: &[ClosedConnection]) -> Vec<(Str, Line)> {
        let line = |it: &ClosedConnection| match it.together {
            Some(connections) => Line::ClosedTogether { at: it.at, connections },
            None => Line::Closed(it.at),
        };
        let closed: BTreeMap<u64, Line> = closed.iter().map(|it| (it.connection, line(it))).collect();
        let mut marked = Vec::new();
        pulses.for_each_mut(|member_id, pulse| {
            let line = closed.get(&pulse.connection).filter(|_| pulse.line == Line::Open);
            if let Some(line) = line.filter(|_| (self.may_be_gone)(member_id)) {
                pulse.line = *line;
                marked.push((member_id.clone(), *line));
            }
        });
        marked
    }

    /// What is told of those that closed together.
    fn together(&self, lines: &[Line]) -> Option<Together> {
        let together = lines.iter().filter_map(|it| match it {
            Line::ClosedTogether { at, connections } => Some((*at, *connections)),
            Line::Open | Line::Closed(_) => None,
        });
        let (at, connections): (Vec<Millis>, Vec<u32>) = together.unzip();
        let (first, most) = (at.iter().min()?, connections.iter().max()?);
        Some(Together { count: at.len(), members: self.members, connections: *most, at: *first })
    }

    /// CR-26: a proxy or the network is at fault, unless they can have died together.
    fn is_mass(&self, members: &[Str]) -> bool {
        members.len() > CLIENTS_MAX && members.len() * SHARE > self.members && !(self.go_together)(members)
    }
}

/// L-7: when the sessions of those who are gone end.
fn departures(pulses: &Roll<Pulse>, gone: Vec<(Str, Millis)>, limits: Limits) -> Vec<Departure> {
    let departure = |(member, closed): (Str, Millis)| {
        let pulse = pulses.get(&member)?;
        let least = if pulse.returns_late { GRACE_MIN_LATE } else { GRACE_MIN };
        // CR-26: never from a shortened interval; those told lately are among the largest.
        let grace = (2 * pulse.largest_ms).max(limits.grace).max(least);
        // CR-25, 4.
        let is_known = limits.now - limits.loaded_at >= grace;
        is_known.then(|| Departure { ends: closed + grace, member, closed })
    };
    gone.into_iter().filter_map(departure).collect()
}

/// L-6b: nobody of a burst is taken for gone, nor any longer. When they were heard; their lines are what is told.
fn excuse(pulses: &mut Roll<Pulse>, burst: &[Str], lines: &mut Vec<Line>) -> Vec<(Str, Millis)> {
    let connections: BTreeSet<u64> =
        burst.iter().filter_map(|id| pulses.get(id)).map(|it| it.connection).collect();
    let connections = u32::try_from(connections.len()).unwrap_or(u32::MAX);
    let mut alive = Vec::with_capacity(burst.len());
    for id in burst {
        let Some(pulse) = pulses.get_mut(id) else { continue };
        let Some(at) = pulse.gone() else { continue };
        pulse.line = Line::ClosedTogether { at, connections };
        lines.push(pulse.line);
        alive.push((id.clone(), pulse.heard));
    }
    alive
}

impl Verdict {
    /// Tells of members that are taken for gone, or are not because there are too many, which is a while after the
    /// close: others were waited for.
    pub(in crate::group) fn tell(&self, telling: &mut Telling, group_id: &Str, now: Millis) {
        for it in &self.gone {
            let happened = Happened::new(Kind::ConnectionClosed).member(&it.member);
            telling.tell(group_id, happened.detail(&format!("{} ago", span(now - it.closed))));
        }
        if let Some(Together { count, members, connections, at }) = &self.together {
            let detail = format!(
                "{count} of {members} members, {connections} connections at once {} ago; their sessions go on",
                span(now - at)
            );
            telling.tell(group_id, Happened::new(Kind::ClosedTogether).detail(&detail));
        }
    }

    /// A member whose connection was closed lives; `None` if it was not taken for gone.
    pub(in crate::group) fn lives(pulses: &mut Roll<Pulse>, id: &Str) -> Option<Self> {
        let pulse = pulses.get_mut(id)?;
        let was_gone = pulse.gone().is_some();
        pulse.line = Line::Open;
        was_gone.then(|| Self { alive: vec![(id.clone(), pulse.heard)], ..Self::default() })
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
        self.gone.iter().for_each(|it| set(&it.member, &|before| before.min(it.ends)));
        for (member, heard) in &self.alive {
            set(member, &|before| before.max(heard.saturating_add(session(member))));
        }
    }
}
