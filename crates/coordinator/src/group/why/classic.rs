//! Findings about a classic group: who is awaited to join or to sync, protocols, what consumers read.

use std::collections::BTreeMap;

use super::silence::{self, Excused};
use super::words::{list, members, verb};
use super::{Finding, Severity, newest, span};
use crate::group::classic::State;
use crate::group::classic::live::{Live, Member};
use crate::group::embedded::Subscription;
use crate::group::history::classic::listed;
use crate::group::history::{Kind, Ring};
use crate::group::soft::{Soft, TimerKey};
use crate::machine::Millis;
use catalog::Image;
use wire::Str;

/// Kinds of subscriptions that are told apart.
const KINDS_MAX: usize = 5;

/// When a member was last heard of and when its session ends. While it waits for an answer it need not be
/// heard of.
pub(in crate::group) fn session(
    soft: &Soft,
    group: &Str,
    id: &Str,
    member: &Member,
) -> Option<(Millis, Millis)> {
    if member.is_new || member.join.is_some() || member.sync.is_some() {
        return None;
    }
    let ends = soft.timers.get(&TimerKey::ClassicSession { group: group.clone(), member: id.clone() })?;
    let pulse = soft.classic_pulses.get(group).and_then(|it| it.get(id));
    let heard = pulse.map_or_else(|| ends - Millis::from(member.session_timeout_ms), |it| it.heard);
    Some((heard, ends))
}

/// Of a group with a record and without members.
pub(super) fn without_members(soft: &Soft, id: &Str) -> Finding {
    let since = soft.classic.get(id).and_then(|it| it.state_timestamp);
    let empty = Finding::new(Severity::Informs, "empty", "The group has no members.");
    empty.since(since).advice("Start the clients.")
}

pub(super) fn findings(soft: &Soft, image: &Image, id: &Str, now: Millis) -> Vec<Finding> {
    let Some(live) = soft.classic.get(id) else { return Vec::new() };
    let view = View { id, live, soft, image, now, ring: soft.history.of(id) };
    view.findings()
}

struct View<'a> {
    id: &'a Str,
    live: &'a Live,
    soft: &'a Soft,
    image: &'a Image,
    now: Millis,
    ring: Option<&'a Ring>,
}

impl<'a> View<'a> {
    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        match self.live.state {
            State::Preparing => findings.push(self.awaits_joins()),
            State::Completing => findings.push(self.awaits_assignment()),
            State::Stable => findings.extend(self.late_syncs()),
            State::Empty => {}
        }
        findings.extend(self.closed_together());
        findings.extend(self.live.members.iter().filter_map(|(id, it)| self.silent(id, it)));
        if self.live.state == State::Stable && self.live.pending_sync.is_empty() {
            let generation = self.live.generation;
            let sentence =
                format!("The group is stable: its members were assigned in generation {generation}.");
            findings
                .push(Finding::new(Severity::Informs, "stable", sentence).since(self.live.state_timestamp));
        }
        findings.push(self.protocols());
        if self.live.is_of_consumers() {
            findings.push(self.subscriptions());
            findings.extend(self.missing_topics());
        }
        findings
    }

    /// 6.9 to 6.12.
    fn awaits_joins(&self) -> Finding {
        let until = self.soft.timers.get(&TimerKey::ClassicJoin { group: self.id.clone() });
        let left = until.map_or_else(String::new, |it| format!(" in {} at the latest", span(it - self.now)));
        let since = self.live.state_timestamp;
        if self.live.initial.is_some() {
            let sentence = format!("The first generation waits for more members, and begins{left}.");
            let advice = "group.initial.rebalance.delay.ms says how long; nothing is to be done.";
            let finding = Finding::new(Severity::Blocks, "initial-delay", sentence).advice(advice);
            return finding.since(since).until(until);
        }
        let is_awaited = |(_, it): &(&Str, &Member)| it.join.is_none();
        let awaited: Vec<_> = self.live.members.iter().filter(is_awaited).map(|(id, _)| id).collect();
        let count = self.live.members.len() - awaited.len();
        let mut sentence = format!("Members are called to join: {count} of {} did.", self.live.members.len());
        if !awaited.is_empty() {
            let who: Vec<_> = awaited.iter().map(|id| self.who(id)).collect();
            sentence.push_str(&format!(" Awaited: {}.", who.join(", ")));
        }
        let pending = self.live.pending.len();
        if pending > 0 {
            let ids = verb(pending, "id was given out and is", "ids were given out and are");
            sentence.push_str(&format!(" {pending} member {ids} not used yet."));
        }
        let advice = format!(
            "A consumer joins when its application polls: see whether those who are awaited hang in processing, or \
             have ended. The generation begins without them{left}; dynamic members are out then."
        );
        let finding = Finding::new(Severity::Blocks, "awaits-joins", sentence).advice(advice);
        finding.since(since).until(until).members(awaited)
    }

    /// 6.14, 6.15.
    fn awaits_assignment(&self) -> Finding {
        let until = self.soft.timers.get(&TimerKey::ClassicSync { group: self.id.clone() });
        let leader = self.live.leader.clone().unwrap_or_default();
        let sentence = format!(
            "Generation {} waits for the assignment of its leader, {}.",
            self.live.generation,
            self.who(&leader)
        );
        let mut advice = "The leader assigns right after it joined: see its log.".to_owned();
        if let Some(until) = until {
            advice.push_str(&format!(" Who has not synced in {} is out.", span(until - self.now)));
        }
        let finding = Finding::new(Severity::Blocks, "awaits-assignment", sentence).advice(advice);
        finding.since(self.live.state_timestamp).until(until).members([&leader])
    }

    fn late_syncs(&self) -> Option<Finding> {
        let late: Vec<_> = self.live.pending_sync.iter().collect();
        if late.is_empty() {
            return None;
        }
        let until = self.soft.timers.get(&TimerKey::ClassicSync { group: self.id.clone() });
        let who: Vec<_> = late.iter().map(|id| self.who(id)).collect();
        let sentence = format!("Not yet fetched their assignments: {}.", who.join(", "));
        let left = until.map_or_else(String::new, |it| format!(" in {}", span(it - self.now)));
        let advice = format!("If they do not sync{left} they are out, and the others rebalance.");
        let finding = Finding::new(Severity::Blocks, "awaits-syncs", sentence).advice(advice);
        Some(finding.since(self.live.state_timestamp).until(until).members(late))
    }

    /// A member's id with where it runs.
    fn who(&self, id: &Str) -> String {
        let Some(it) = self.live.members.get(id) else { return id.to_string() };
        let host = it.client_host.to_str();
        format!("{id} (client {}, host {})", it.client_id, host.trim_start_matches('/'))
    }

    /// Half of the session is over; clients send three heartbeats in it or more.
    fn silent(&self, id: &'a Str, member: &Member) -> Option<Finding> {
        let (heard, ends) = session(self.soft, self.id, id, member)?;
        let pulse = self.soft.classic_pulses.get(self.id).and_then(|it| it.get(id));
        let gone = pulse.is_some_and(|it| it.gone().is_some());
        let timeout = Millis::from(member.session_timeout_ms);
        if !gone && (self.now - heard) * 2 <= timeout {
            return None;
        }
        let sentence = format!(
            "Member {} was last heard of {} ago; its session is {}{}.",
            self.who(id),
            span(self.now - heard),
            span(timeout),
            if gone { ", and its client closed the connection" } else { "" },
        );
        let left = span(ends - self.now);
        let advice = format!(
            "See whether its process runs and reaches the broker. It is removed in {left}, and the others rebalance."
        );
        let finding = Finding::new(Severity::Warns, "silent-member", sentence).advice(advice);
        Some(finding.since(Some(heard)).until(Some(ends)).members([id]))
    }

    fn closed_together(&self) -> Option<Finding> {
        let pulses = self.soft.classic_pulses.get(self.id)?;
        let excused = self.live.members.iter().filter_map(|(member, it)| {
            let (at, connections) = pulses.get(member)?.closed_together()?;
            let (_, ends) = session(self.soft, self.id, member, it)?;
            // Who is awaited has a finding of its own.
            Some(Excused { member, at, connections, ends, blocks: false })
        });
        silence::closed_together(excused, self.live.members.len(), self.now)
    }

    /// 6.13: what was chosen, what could be, what only some offer.
    fn protocols(&self) -> Finding {
        let all = self.live.members.len();
        let offered = self.live.offered();
        let names = |by_all: bool| {
            let names = offered.iter().filter(move |(_, count)| (**count == all) == by_all);
            names.map(|(name, _)| name.to_string()).collect::<Vec<_>>().join(", ")
        };
        let (by_all, by_some) = (names(true), names(false));
        let kind = self.live.protocol_type.as_ref().map_or_else(String::new, ToString::to_string);
        let mut sentence = match &self.live.protocol {
            Some(protocol) if self.live.state != State::Preparing => format!("The protocol is {protocol}"),
            Some(protocol) => format!("The last protocol was {protocol}"),
            None => "No protocol is chosen yet".to_owned(),
        };
        sentence.push_str(&format!(" (type {kind}); all members offer {by_all}"));
        if !by_some.is_empty() {
            sentence.push_str(&format!(", only some offer {by_some}"));
        }
        Finding::new(Severity::Informs, "protocols", sentence + ".")
    }

    /// What consumers say that they read, for the protocol that they like best.
    fn subscriptions(&self) -> Finding {
        let mut kinds: BTreeMap<Option<Vec<Str>>, Vec<&Str>> = BTreeMap::new();
        for (id, it) in &self.live.members {
            kinds.entry(topics(it)).or_default().push(id);
        }
        let more = kinds.len().saturating_sub(KINDS_MAX);
        let sentence = |(topics, ids): (Option<Vec<Str>>, Vec<&Str>)| {
            let what = topics.map_or_else(|| "what the broker can't tell".to_owned(), |it| listed(&it));
            format!("{} {} {what}.", members(&ids), verb(ids.len(), "reads", "read"))
        };
        let sentences: Vec<_> = kinds.into_iter().take(KINDS_MAX).map(sentence).collect();
        let rest = if more > 0 {
            format!(" {more} more kinds of members read other topics.")
        } else {
            String::new()
        };
        Finding::new(Severity::Informs, "subscriptions", sentences.join(" ") + &rest)
    }

    fn missing_topics(&self) -> Option<Finding> {
        let wanted: std::collections::BTreeSet<Str> =
            self.live.members.values().filter_map(topics).flatten().collect();
        let missing: Vec<_> = wanted.iter().filter(|it| self.image.topic(&it.to_str()).is_none()).collect();
        if missing.is_empty() {
            return None;
        }
        let sentence = format!("Members read topics that do not exist: {}.", list(missing.iter().copied()));
        let advice = "Create them, or correct the names; clients look for them every metadata.max.age.ms.";
        let finding = Finding::new(Severity::Warns, "missing-topics", sentence).advice(advice);
        Some(finding.since(newest(self.ring, Kind::GenerationBegan)).topics(missing))
    }
}

/// The topics of a consumer, in order; none if it does not speak as consumers do.
pub(in crate::group) fn topics(member: &Member) -> Option<Vec<Str>> {
    let (_, metadata) = member.protocols.first()?;
    let mut topics = Subscription::read(metadata).ok()?.topics;
    topics.sort();
    Some(topics)
}
