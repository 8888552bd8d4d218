//! Findings about a consumer group: subscriptions, epochs, partitions that are not given up, members that are silent.

use std::collections::{BTreeMap, BTreeSet};

use super::silence::{self, Excused, Silence};
use super::words::{has, instance, list, verb};
use super::{Finding, Severity, computed, newest, newest_of, span};
use crate::group::consumer::image::offered_assignors;
use crate::group::consumer::{ConsumerGroup, ConsumerMember, ConsumerSoft, MemberState, Wait};
use crate::group::history::classic::listed;
use crate::group::history::consumer::{held, name, names};
use crate::group::history::{Kind, Ring};
use crate::group::pulse::Pulse;
use crate::group::soft::{Soft, TimerKey};
use crate::machine::Millis;
use catalog::Image;
use catalog::config::ConsumerGroupSettings;
use wire::{Str, Uuid};

/// Partitions that a finding lists.
const PARTITIONS_MAX: usize = 50;
/// Kinds of subscriptions that are told apart.
const KINDS_MAX: usize = 5;

/// When a member was last heard of, if it was since the load, and when its session ends.
pub(in crate::group) fn session(soft: &Soft, group: &Str, id: &Str) -> Option<(Option<Millis>, Millis)> {
    let ends = soft.timers.get(&TimerKey::Session { group: group.clone(), member: id.clone() })?;
    let pulse = soft.consumer.get(group).and_then(|it| it.pulse(id));
    Some((pulse.map(|it| it.heard), ends))
}

/// Since when a member must give up partitions, and when it is removed if it does not.
pub(in crate::group) fn revocation(
    soft: &Soft,
    group: &Str,
    id: &Str,
    member: &ConsumerMember,
) -> Option<(Millis, Millis)> {
    if member.current.state != MemberState::UnrevokedPartitions {
        return None;
    }
    let until = soft.timers.get(&TimerKey::Rebalance { group: group.clone(), member: id.clone() })?;
    Some((until - Millis::from(member.metadata.rebalance_timeout_ms), until))
}

pub(super) fn findings(
    group: &ConsumerGroup,
    soft: &Soft,
    image: &Image,
    id: &Str,
    now: Millis,
) -> Vec<Finding> {
    let view = View {
        id,
        group,
        soft,
        image,
        now,
        own: soft.consumer.get(id),
        ring: soft.history.of(id),
        settings: &image.group_settings(&id.to_str()).consumer,
        waits: group.waits(),
    };
    view.findings()
}

struct View<'a> {
    id: &'a Str,
    group: &'a ConsumerGroup,
    soft: &'a Soft,
    image: &'a Image,
    now: Millis,
    own: Option<&'a ConsumerSoft>,
    ring: Option<&'a Ring>,
    settings: &'a ConsumerGroupSettings,
    waits: BTreeMap<&'a Str, Vec<Wait>>,
}

impl<'a> View<'a> {
    fn findings(&self) -> Vec<Finding> {
        if self.group.is_empty() {
            let since = newest(self.ring, Kind::MemberLeft);
            let empty = Finding::new(Severity::Informs, "empty", "The group has no members.");
            return vec![empty.since(since).advice("Start the consumers.")];
        }
        let state = self.group.state_name();
        let mut findings = Vec::new();
        findings.extend(self.no_target_yet());
        findings.extend(self.unresolved());
        findings.extend(self.closed_together());
        for (member, it) in self.group.members() {
            findings.extend(self.silent(member, it));
            findings.extend(self.must_revoke(member, it));
            findings.extend(self.called(member));
        }
        findings.extend(self.behind());
        findings.extend(self.waiting());
        findings.extend(self.missing_topics());
        findings.extend(self.without_partitions(state));
        if !findings.iter().any(|it| it.severity == Severity::Blocks) {
            let since = self.ring.and_then(|it| it.state_since(state));
            let (code, sentence) = match state {
                "Stable" => {
                    let (epoch, reservation) = (self.group.epoch, silence::reservation(&findings));
                    let sentence = format!(
                        "The group is stable: every member has the partitions of epoch {epoch}{reservation}."
                    );
                    ("stable", sentence)
                }
                _ => ("goes-on", format!("The group is {state} and goes on with the next heartbeats.")),
            };
            findings.push(Finding::new(Severity::Informs, code, sentence).since(since));
        }
        findings.push(self.assignor());
        findings.push(self.subscriptions());
        findings.extend(self.classic_members());
        findings
    }

    /// The group's epoch is ahead of its target: held back on purpose, or nobody has asked since.
    fn no_target_yet(&self) -> Option<Finding> {
        let (epoch, timestamp) = (self.group.epoch, self.group.assignment_timestamp);
        if epoch <= self.group.assignment_epoch {
            return None;
        }
        let since = newest(self.ring, Kind::EpochMoved);
        let interval = Millis::from(self.settings.assignment_interval_ms);
        let next = timestamp + interval;
        if timestamp != 0 && interval != 0 && self.now < next {
            let sentence = format!(
                "The target of epoch {epoch} is not computed before {} have passed, to gather changes.",
                span(next - self.now)
            );
            let advice = "group.consumer.assignment.interval.ms says how long; nothing is to be done.";
            let finding = Finding::new(Severity::Blocks, "assignment-interval", sentence).advice(advice);
            return Some(finding.since(since).until(Some(next)));
        }
        let sentence =
            format!("The target of epoch {epoch} is computed with the next heartbeat of any member.");
        let told = self.told(self.group.members().keys());
        let advice = format!("Heartbeats are due every {}.", silence::intervals(told));
        Some(Finding::new(Severity::Blocks, "no-target-yet", sentence).advice(advice).since(since))
    }

    /// Until when each of these comes again after its last heartbeat, as it was told.
    fn told<'s>(&'s self, ids: impl Iterator<Item = &'s Str>) -> impl Iterator<Item = Millis> {
        ids.map(|id| self.interval(id))
    }

    /// Expressions of which nobody knows yet what they mean, and those that mean nothing.
    fn unresolved(&self) -> Vec<Finding> {
        let users = |regex: &Str| {
            let users = self.group.members().iter().filter(move |(_, it)| it.metadata.topic_regex == *regex);
            users.map(|(id, _)| id).collect::<Vec<_>>()
        };
        let finding = |regex: &Str| {
            let users = users(regex);
            match self.group.resolved().get(regex) {
                Some(it) if it.topics.is_empty() => {
                    let sentence = format!("The regular expression {regex} matches no topic.");
                    let advice = "It must match the whole name of a topic that the consumer may describe. It is \
                                  looked at again when topics are created, and every ten minutes.";
                    let finding = Finding::new(Severity::Warns, "regex-without-topics", sentence);
                    Some(finding.advice(advice).since(Some(it.timestamp)).members(users))
                }
                Some(_) => None,
                None => {
                    let sentence = format!("What the regular expression {regex} means is not known yet.");
                    let advice = match self.own.is_some_and(ConsumerSoft::is_resolving) {
                        true => "The broker looks at its topics; nothing is to be done.",
                        false => "The broker looks at its topics with the next heartbeat.",
                    };
                    let finding = Finding::new(Severity::Blocks, "regex-not-resolved", sentence);
                    Some(finding.advice(advice).members(users))
                }
            }
        };
        self.group.subscriptions().regexes().filter_map(finding).collect()
    }

    fn silent(&self, member: &'a Str, it: &ConsumerMember) -> Option<Finding> {
        let (heard, ends) = session(self.soft, self.id, member)?;
        let pulse = self.own.and_then(|it| it.pulse(member));
        let idle = self.without_owner(member, it);
        let silence = Silence {
            member,
            place: place(it),
            epoch: it.current.epoch,
            heard,
            loaded: self.soft.history.loaded_at,
            ends,
            gone: pulse.and_then(Pulse::gone),
            interval: self.interval(member),
            blocks: self.is_waited_for(member),
            holds: "partitions",
            idle: (!idle.is_empty())
                .then(|| format!("{} ({})", partitions(idle.len()), names(self.image, idle.iter().copied()))),
        };
        silence.finding(self.now)
    }

    /// Until a member comes again. One of the classic protocol is told nothing: clients send three heartbeats in a session,
    /// or more.
    fn interval(&self, id: &Str) -> Millis {
        if let Some(classic) = self.group.member(id).and_then(|it| it.metadata.classic.as_ref()) {
            return Millis::from(classic.session_timeout_ms) / 3;
        }
        let pulse = self.own.and_then(|it| it.pulse(id));
        Millis::from(pulse.map_or(self.settings.heartbeat_interval_ms, |it| it.told_ms))
    }

    fn closed_together(&self) -> Option<Finding> {
        let excused = self.group.members().keys().filter_map(|member| {
            let (at, connections) = self.own?.pulse(member)?.closed_together()?;
            let (_, ends) = session(self.soft, self.id, member)?;
            Some(Excused { member, at, connections, ends, blocks: self.is_waited_for(member) })
        });
        silence::closed_together(excused, self.group.members().len(), self.now)
    }

    /// Others shall get what it has.
    fn is_waited_for(&self, member: &Str) -> bool {
        self.waits.values().flatten().any(|wait| wait.holders.contains(member))
    }

    /// Its client closed the connection and has no other one.
    fn is_gone(&self, member: &Str) -> bool {
        self.own.and_then(|it| it.pulse(member)).is_some_and(|it| it.gone().is_some())
    }

    /// The partitions that nobody reads if this member does not: its own, and those meant for it that nobody has.
    fn without_owner(&self, member: &Str, it: &ConsumerMember) -> Vec<(Uuid, i32)> {
        let own = held(&it.current.assigned).into_iter().chain(held(&it.current.pending));
        let waits = self.waits.get(member).into_iter().flatten();
        let free = waits.filter(|it| it.holders.is_empty()).map(|it| (it.topic, it.partition));
        own.chain(free).collect()
    }

    fn must_revoke(&self, member: &'a Str, it: &ConsumerMember) -> Option<Finding> {
        if it.current.state == MemberState::Unknown {
            let sentence = format!("Member {member} was told to do what this release does not know.");
            let advice =
                "It was led by a newer release; it abandons its partitions and joins again by itself.";
            let finding = Finding::new(Severity::Blocks, "member-of-newer-release", sentence).advice(advice);
            return Some(finding.members([member]));
        }
        if it.current.state != MemberState::UnrevokedPartitions {
            return None;
        }
        let pending = held(&it.current.pending);
        let wait_for =
            self.waits.iter().filter(|(_, waits)| waits.iter().any(|it| it.holders.contains(member)));
        let wanted: BTreeSet<&Str> = wait_for.map(|(id, _)| *id).collect();
        let mut sentence = format!(
            "Member {member} ({}) still holds {} that it was told to give up: {}.",
            place(it),
            partitions(pending.len()),
            names(self.image, pending.iter().copied()),
        );
        if !wanted.is_empty() {
            sentence.push_str(&format!(" They are wanted by {}.", list(wanted.iter().copied())));
        }
        let times = revocation(self.soft, self.id, member, it);
        let mut advice =
            "It gives them up when its application polls and its rebalance listener returns: see \
                          whether it hangs in processing or in a commit."
                .to_owned();
        if let Some((_, until)) = times {
            advice.push_str(&format!(" It is removed in {} if it does not.", span(until - self.now)));
        }
        let finding = Finding::new(Severity::Blocks, "must-revoke", sentence).advice(advice);
        let finding = finding.since(times.map(|it| it.0)).until(times.map(|it| it.1)).members([member]);
        Some(self.with_partitions(finding, &pending))
    }

    /// A member of the classic protocol that was called to join or to sync.
    fn called(&self, member: &'a Str) -> Option<Finding> {
        let (group, id) = (self.id.clone(), member.clone());
        let join = self.soft.timers.get(&TimerKey::ConsumerJoin { group: group.clone(), member: id.clone() });
        let sync = self.soft.timers.get(&TimerKey::ConsumerSync { group, member: id });
        let (code, what, until) = match (join, sync) {
            (Some(until), _) => ("awaits-join", "join again", until),
            (None, Some(until)) => ("awaits-sync", "sync", until),
            (None, None) => return None,
        };
        let sentence = format!("Member {member} speaks the classic protocol and is awaited to {what}.");
        let advice = format!(
            "It does so when its application polls. It is removed in {} if it does not.",
            span(until - self.now)
        );
        let finding = Finding::new(Severity::Blocks, code, sentence).advice(advice);
        Some(finding.until(Some(until)).members([member]))
    }

    /// Members that do not know the target yet.
    fn behind(&self) -> Option<Finding> {
        let target = self.group.assignment_epoch;
        let is_gone = |id: &Str| self.is_gone(id);
        let rests_at =
            |it: &ConsumerMember| (it.current.state == MemberState::Stable).then_some(it.current.epoch);
        let behind = silence::behind(self.group.members(), target, rests_at, is_gone)?;
        let held: Vec<_> = behind.iter().flat_map(|(id, it)| self.to_give_up(id, it)).collect();
        let what = || (partitions(held.len()), names(self.image, held.iter().copied()));
        let finding = silence::target_not_heard(&behind, target, (!held.is_empty()).then(what))
            .advice(silence::hear_by(self.told(behind.iter().map(|(id, _)| *id))))
            .since(computed(self.ring, target));
        Some(self.with_partitions(finding, &held))
    }

    /// What a member has that its target lacks.
    fn to_give_up(&self, id: &Str, it: &ConsumerMember) -> Vec<(Uuid, i32)> {
        let target = self.group.target(id);
        let stays =
            |(topic, partition): &(Uuid, i32)| target.is_some_and(|it| it.contains(*topic, *partition));
        held(&it.current.assigned).into_iter().filter(|it| !stays(it)).collect()
    }

    /// Who waits for whom.
    fn waiting(&self) -> Vec<Finding> {
        // Who does not know its target does not wait for it.
        let knows = |member: &Str| {
            let member = self.group.member(member);
            member.is_some_and(|it| it.current.state == MemberState::UnreleasedPartitions)
        };
        let waits = self.waits.iter().filter(|(member, _)| knows(member));
        waits.map(|(member, waits)| self.waits_for(member, waits)).collect()
    }

    fn waits_for(&self, member: &'a Str, waits: &[Wait]) -> Finding {
        let holders: BTreeSet<&Str> = waits.iter().flat_map(|it| &it.holders).collect();
        let wanted: Vec<_> = waits.iter().map(|it| (it.topic, it.partition)).collect();
        let what = format!("{} ({})", partitions(wanted.len()), names(self.image, wanted.iter().copied()));
        let (severity, sentence) = if holders.is_empty() {
            let sentence =
                format!("Member {member} gets {what} with its next heartbeat: nobody holds them any more.");
            (Severity::Informs, sentence)
        } else {
            let sentence = format!("Member {member} waits for {what} held by {}.", list(holders.into_iter()));
            (Severity::Blocks, sentence)
        };
        let since = newest_of(self.ring, Kind::WaitsForPartitions, member);
        let finding = Finding::new(severity, "waits-for-partitions", sentence).since(since).members([member]);
        self.with_partitions(finding, &wanted)
    }

    fn with_partitions(&self, finding: Finding, partitions: &[(Uuid, i32)]) -> Finding {
        let names = partitions.iter().take(PARTITIONS_MAX).map(|(topic, it)| name(self.image, *topic, *it));
        Finding { tasks: names.collect(), ..finding }
    }

    fn missing_topics(&self) -> Option<Finding> {
        let is_missing = |it: &&Str| self.image.topic(&it.to_str()).is_none();
        let missing: Vec<_> = self.group.subscriptions().topics().filter(is_missing).collect();
        if missing.is_empty() {
            return None;
        }
        let sentence = format!("Members read topics that do not exist: {}.", listed(missing.iter().copied()));
        let advice =
            "Create them, or correct the names; their partitions are assigned as soon as they exist.";
        Some(Finding::new(Severity::Warns, "missing-topics", sentence).advice(advice).topics(missing))
    }

    fn without_partitions(&self, state: &str) -> Option<Finding> {
        let is_resolved = |regex: &Str| regex.is_empty() || self.group.resolved().contains_key(regex);
        let idle = self
            .group
            .members()
            .iter()
            .filter(|(_, it)| it.current.assigned.is_empty() && is_resolved(&it.metadata.topic_regex));
        let idle: Vec<_> = idle.map(|(id, _)| id).collect();
        if state != "Stable" || idle.is_empty() {
            return None;
        }
        let sentence = format!("{} no partition: there are more members than partitions.", has(&idle));
        let advice = "More partitions would give them work; else they only stand by.";
        let finding = Finding::new(Severity::Informs, "more-members-than-partitions", sentence);
        Some(finding.advice(advice).members(idle))
    }

    /// 14.1: which assignor was chosen, and by whom.
    fn assignor(&self) -> Finding {
        let offered = offered_assignors(self.image);
        let chosen = self.group.subscriptions().assignor(&offered).name();
        let votes = self.group.subscriptions().assignor_votes();
        let votes: Vec<_> = votes.map(|(name, count)| format!("{name} by {count}")).collect();
        let named = match votes.is_empty() {
            true => "no member names one".to_owned(),
            false => format!("members name {}", votes.join(", ")),
        };
        let offered: Vec<_> = offered.iter().map(|it| it.name()).collect();
        let sentence =
            format!("The assignor is {chosen}: {named}; the broker has {}.", offered.join(" and "));
        Finding::new(Severity::Informs, "assignor", sentence)
    }

    /// Who reads what.
    fn subscriptions(&self) -> Finding {
        let mut kinds: BTreeMap<(&BTreeSet<Str>, &Str), Vec<&Str>> = BTreeMap::new();
        for (id, it) in self.group.members() {
            kinds.entry((&*it.metadata.topic_names, &it.metadata.topic_regex)).or_default().push(id);
        }
        let more = kinds.len().saturating_sub(KINDS_MAX);
        let sentence = |((topics, regex), ids): ((&BTreeSet<Str>, &Str), Vec<&Str>)| {
            let resolved = self.group.resolved().get(regex).map(|it| listed(&it.topics));
            let meaning = resolved.unwrap_or_else(|| "not known yet".to_owned());
            let what = match (topics.is_empty(), regex.is_empty()) {
                (_, true) => listed(topics.iter()),
                (true, false) => format!("what {regex} means ({meaning})"),
                (false, false) => format!("{} and what {regex} means ({meaning})", listed(topics.iter())),
            };
            format!("{} {} {what}.", super::words::members(&ids), verb(ids.len(), "reads", "read"))
        };
        let sentences: Vec<_> = kinds.into_iter().take(KINDS_MAX).map(sentence).collect();
        let rest = if more > 0 {
            format!(" {more} more kinds of members read other topics.")
        } else {
            String::new()
        };
        Finding::new(Severity::Informs, "subscriptions", sentences.join(" ") + &rest)
    }

    /// 18: the group is on its way from one protocol to the other.
    fn classic_members(&self) -> Option<Finding> {
        let classic = self.group.members().iter().filter(|(_, it)| it.metadata.classic.is_some());
        let classic: Vec<_> = classic.map(|(id, _)| id).collect();
        if classic.is_empty() {
            return None;
        }
        let (count, all) = (classic.len(), self.group.members().len());
        let sentence =
            format!("{count} of {all} members {} the classic protocol.", verb(count, "speaks", "speak"));
        let advice =
            "They take part as they are; set group.protocol=consumer when all clients are new enough.";
        let finding = Finding::new(Severity::Informs, "classic-members", sentence);
        Some(finding.advice(advice).members(classic))
    }
}

fn partitions(count: usize) -> String {
    format!("{count} {}", verb(count, "partition", "partitions"))
}

/// Where a member runs.
fn place(it: &ConsumerMember) -> String {
    let host = it.metadata.client_host.to_str();
    let instance = instance(it.metadata.instance_id.as_ref());
    format!("{instance}client {}, host {}", it.metadata.client_id, host.trim_start_matches('/'))
}
