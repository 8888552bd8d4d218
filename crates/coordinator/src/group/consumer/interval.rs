//! When a member of a consumer group shall come back: `HeartbeatIntervalMs` of its response (rules I-1 to
//! I-7 and I-10 of `docs/design/streams.md` and `coordination.md`).
//!
//! A member that waits (for partitions that others hold, for the assignment interval, for what its regular
//! expression means) comes back when the wait ends. Groups at rest keep the configured interval.
//!
//! I-10: only clients that are known not to take the interval for the timeout of their next heartbeat are
//! told less than 2 s; librdkafka does (CR-13).

use super::image::{adapts_heartbeats, settings};
use super::{ConsumerGroup, ConsumerMember, ConsumerSoft, MemberState};
use crate::group::member_epoch::JOIN;
use crate::group::pulse::{self, Line, Pulse, Release, SHORT, TOPICS_PATIENCE, Told, WaitsFor};
use crate::group::step::Step;
use crate::machine::{Caller, Millis};
use catalog::config::ConsumerGroupSettings;
use wire::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, Str};

/// Clients, by what they call themselves, that do not mind short intervals (CR-15) and are back within seconds
/// after a connection was cut (CR-27): the Java consumer and franz-go.
const SWIFT: [&str; 2] = ["apache-kafka-java", "kgo"];
/// What other clients are told at the least (CR-13).
const LEAST: Millis = 2_000;
/// I-2, with one more: members here do not come every second at rest, so that waits for the owner of a partition
/// are longer than in streams groups.
const STEPS: [Millis; 5] = [SHORT, 1_000, LEAST, 3_000, 4_000];
/// In larger groups nobody looks for those who hold a member's partitions: that costs a look at all members.
const LOOK_MAX: usize = 256;

/// A heartbeat succeeded: remembers it, and puts the interval into its answer.
pub fn heard(
    step: &mut Step<'_>,
    caller: &Caller,
    request: &ConsumerGroupHeartbeatRequest,
    response: ConsumerGroupHeartbeatResponse,
) -> ConsumerGroupHeartbeatResponse {
    let group = step.hard.consumer(&request.group_id);
    let member = response.member_id.as_ref().and_then(|it| group?.members.get_key_value(it));
    let soft = step.soft.consumer.get_mut(&request.group_id);
    let (Some(group), Some((member_id, member)), Some(soft)) = (group, member, soft) else {
        return response;
    };
    if request.member_epoch < JOIN {
        return response;
    }
    let is_swift = SWIFT.iter().any(|it| caller.software == *it);
    let settings = settings(step.image, &request.group_id);
    let rhythm = Rhythm {
        now: step.now,
        settings,
        adapts: adapts_heartbeats(step.image),
        is_swift,
        slowest_answer: step.slowest_answer,
        group,
        soft,
        member_id,
        member,
    };
    let told = rhythm.tell();
    let largest = told.interval_ms.max(settings.heartbeat_interval_ms);
    let before = soft.pulses.get(member_id).map_or(0, |it| it.told_ms);
    let pulse = Pulse {
        heard: step.now,
        connection: caller.connection,
        told_ms: told.interval_ms,
        largest_ms: Millis::from(largest.max(before)),
        line: Line::Open,
        returns_late: !is_swift,
        waits: told.waits,
    };
    if let Some(known) = soft.pulses.get_mut(member_id) {
        *known = pulse;
    } else {
        soft.pulses.insert(member_id.clone(), pulse);
    }
    ConsumerGroupHeartbeatResponse { heartbeat_interval_ms: told.interval_ms, ..response }
}

/// What the interval of one response depends on.
struct Rhythm<'a> {
    now: Millis,
    settings: &'a ConsumerGroupSettings,
    /// Whether anything else than the configured interval may be told at all.
    adapts: bool,
    is_swift: bool,
    slowest_answer: Millis,
    group: &'a ConsumerGroup,
    soft: &'a ConsumerSoft,
    member_id: &'a Str,
    member: &'a ConsumerMember,
}

impl Rhythm<'_> {
    fn tell(&self) -> Told {
        let configured = self.settings.heartbeat_interval_ms;
        if !self.adapts {
            return Told { interval_ms: configured, waits: None };
        }
        let waits = self.waits_for().map(|what| (what, self.waits_since(what)));
        let least = if self.is_swift { SHORT } else { LEAST };
        let told = |wanted: Millis| pulse::step(&STEPS, wanted.max(least), self.slowest_answer, configured);
        Told { interval_ms: self.wanted(waits).map_or(configured, told), waits }
    }

    fn waits_for(&self) -> Option<WaitsFor> {
        let regex = &self.member.metadata.topic_regex;
        let is_unresolved = !regex.is_empty() && !self.group.resolved.contains_key(regex);
        if is_unresolved && self.soft.is_resolving {
            return Some(WaitsFor::Topics);
        }
        let waits = self.member.current.state == MemberState::UnreleasedPartitions;
        waits.then_some(WaitsFor::Release)
    }

    fn waits_since(&self, what: WaitsFor) -> Millis {
        let before = self.soft.pulses.get(self.member_id).and_then(|it| it.waits);
        before.filter(|(before, _)| *before == what).map_or(self.now, |(_, since)| since)
    }

    /// How long the member's wait takes; `None` for the configured interval.
    fn wanted(&self, waits: Option<(WaitsFor, Millis)>) -> Option<Millis> {
        let to_end = self.delayed_until().map(|end| end - self.now);
        match waits {
            // I-4: what an expression means is known within moments.
            Some((WaitsFor::Topics, since)) if self.now - since < TOPICS_PATIENCE => Some(SHORT),
            // I-3.
            Some(_) | None if to_end.is_some() => to_end,
            Some((WaitsFor::Release, since)) => self.release().wanted(self.now, since),
            Some((WaitsFor::Topics, _)) | None => None,
        }
    }

    /// 12.10: the group's next target waits for the assignment interval.
    fn delayed_until(&self) -> Option<Millis> {
        let interval = Millis::from(self.settings.assignment_interval_ms);
        let end = self.group.assignment_timestamp + interval;
        let is_delayed = self.group.epoch > self.group.assignment_epoch
            && self.group.assignment_timestamp != 0
            && interval != 0;
        (is_delayed && self.now < end).then_some(end)
    }

    /// Who has a partition that this member waits for, was told to give it up or is told with its next
    /// heartbeat.
    fn release(&self) -> Release {
        let Some(target) = self.group.target(self.member_id) else { return Release::Soon };
        if self.group.members.len() > LOOK_MAX {
            return Release::Soon;
        }
        let holds = |other: &ConsumerMember| {
            let held = [&other.current.assigned, &other.current.pending];
            target.iter().any(|(topic, partitions)| {
                let is_missing = |it: &&i32| !self.member.current.assigned.contains(topic, **it);
                partitions
                    .iter()
                    .filter(is_missing)
                    .any(|it| held.iter().any(|held| held.contains(topic, *it)))
            })
        };
        let mut first: Option<Millis> = None;
        let others = self.group.members.iter().filter(|(id, it)| *id != self.member_id && holds(it));
        for (id, owner) in others {
            let was_told = owner.current.state == MemberState::UnrevokedPartitions;
            let comes = self.soft.pulses.get(id).map(|it| it.heard + Millis::from(it.told_ms));
            match comes.filter(|time| !was_told && *time > self.now) {
                None => return Release::Soon,
                Some(time) => first = Some(first.map_or(time, |it| it.min(time))),
            }
        }
        first.map_or(Release::Soon, Release::At)
    }
}
