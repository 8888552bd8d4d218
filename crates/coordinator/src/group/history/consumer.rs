//! What records of a consumer group tell, and heartbeats that were refused.

use std::collections::BTreeSet;

use super::classic::listed;
use super::{Cause, Happened, Kind, Telling};
use crate::group::consumer::partitions::{Held, Partitions};
use crate::group::consumer::{ConsumerGroup, MemberMetadata, MemberState};
use crate::group::fail::Fail;
use crate::group::state::Hard;
use crate::group::step::Step;
use catalog::Image;
use wire::consumer_offsets::consumer_group_current_member_assignment_value::TopicPartitions;
use wire::consumer_offsets::{
    ConsumerGroupCurrentMemberAssignmentValue, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataValue,
    ConsumerGroupTargetAssignmentMemberValue, Record,
};
use wire::{ConsumerGroupHeartbeatRequest, ErrorCode, Str, Uuid};

/// Partitions that a detail names.
const NAMED: usize = 6;

pub(super) fn record(telling: &mut Telling, before: &Hard, image: &Image, record: &Record) {
    if let Record::ConsumerGroupMemberMetadata(key, value) = record {
        let known = before.consumer(&key.group_id).and_then(|it| it.member(&key.member_id));
        member(telling, &key.group_id, &key.member_id, known.map(|it| &it.metadata), value.as_ref());
    } else if let Record::ConsumerGroupMetadata(key, Some(value)) = record {
        epoch(telling, &key.group_id, before.consumer(&key.group_id), value);
    } else if let Record::ConsumerGroupTargetAssignmentMember(key, Some(value)) = record {
        let known = before.consumer(&key.group_id).and_then(|it| it.target(&key.member_id));
        target(telling, known, value);
    } else if let Record::ConsumerGroupTargetAssignmentMetadata(key, Some(value)) = record {
        let moved = std::mem::take(&mut telling.moved);
        // Timestamp 0 is written when the last member has gone: nothing was computed.
        if value.assignment_timestamp != 0 {
            let happened = Happened::new(Kind::TargetComputed).epoch(value.assignment_epoch);
            let detail = match moved {
                0 => "nobody gets anything new".to_owned(),
                1 => "1 partition gets another owner".to_owned(),
                _ => format!("{moved} partitions get other owners"),
            };
            telling.tell(&key.group_id, happened.detail(&detail));
        }
    } else if let Record::ConsumerGroupCurrentMemberAssignment(key, Some(value)) = record {
        let group = before.consumer(&key.group_id);
        current(telling, image, &key.group_id, &key.member_id, group, value);
    } else if let Record::ConsumerGroupRegularExpression(key, Some(value)) = record {
        let group = before.consumer(&key.group_id);
        let known = group.and_then(|it| it.resolved().get(&key.regular_expression)).map(|it| &it.topics);
        let topics: BTreeSet<Str> = value.topics.iter().cloned().collect();
        // It is looked at again and again; only news is told.
        if known != Some(&topics) {
            let detail = format!("{} means {}", key.regular_expression, listed(&topics));
            telling.tell(&key.group_id, Happened::new(Kind::RegexResolved).detail(&detail));
        }
    }
}

fn member(
    telling: &mut Telling,
    group: &Str,
    id: &Str,
    known: Option<&MemberMetadata>,
    value: Option<&ConsumerGroupMemberMetadataValue>,
) {
    let happened = match (known, value) {
        (None, Some(value)) => {
            telling.epoch_cause = Cause::MemberJoined;
            let host = value.client_host.to_str();
            let host = host.trim_start_matches('/');
            let detail = format!("client {} at {host}, reads {}", value.client_id, reads(value));
            Happened::new(Kind::MemberJoined).detail(&detail)
        }
        (Some(known), Some(value)) => {
            telling.epoch_cause = Cause::MemberChanged;
            let changes = changes(known, value);
            // A classic member writes its bytes anew with every join.
            if changes.is_empty() {
                return;
            }
            Happened::new(Kind::MemberChanged).detail(&changes)
        }
        (_, None) => {
            telling.epoch_cause = Cause::MemberLeft;
            Happened::new(Kind::MemberLeft).cause(telling.because)
        }
    };
    telling.tell(group, happened.member(id));
}

fn reads(value: &ConsumerGroupMemberMetadataValue) -> String {
    let regex = value.subscribed_topic_regex.as_ref().filter(|it| !it.is_empty());
    match regex {
        Some(regex) if value.subscribed_topic_names.is_empty() => format!("what {regex} means"),
        Some(regex) => format!("{} and what {regex} means", listed(&value.subscribed_topic_names)),
        None => listed(&value.subscribed_topic_names),
    }
}

/// What a member tells otherwise than before.
fn changes(known: &MemberMetadata, value: &ConsumerGroupMemberMetadataValue) -> String {
    let names: BTreeSet<Str> = value.subscribed_topic_names.iter().cloned().collect();
    let regex = value.subscribed_topic_regex.clone().unwrap_or_default();
    let mut parts = Vec::new();
    if *known.topic_names != names || known.topic_regex != regex {
        parts.push(format!("reads {}", reads(value)));
    }
    let is_classic = value.classic_member_metadata.is_some();
    if known.classic.is_some() != is_classic {
        let protocol = if is_classic { "classic" } else { "consumer" };
        parts.push(format!("speaks the {protocol} protocol"));
    }
    let others = [
        ("assignor", known.server_assignor != value.server_assignor),
        ("rack", known.rack_id != value.rack_id),
        ("rebalance timeout", known.rebalance_timeout_ms != value.rebalance_timeout_ms),
        ("client id", known.client_id != value.client_id),
        ("address", known.client_host != value.client_host),
        ("instance id", known.instance_id != value.instance_id),
    ];
    parts.extend(others.iter().filter(|(_, differs)| *differs).map(|(name, _)| (*name).to_owned()));
    parts.join(", ")
}

fn epoch(
    telling: &mut Telling,
    id: &Str,
    before: Option<&ConsumerGroup>,
    value: &ConsumerGroupMetadataValue,
) {
    if before.is_some_and(|it| value.epoch <= it.epoch) {
        return;
    }
    let found = match before {
        Some(it) if it.metadata_hash != value.metadata_hash => Cause::Topics,
        Some(_) => Cause::Settings,
        None => Cause::MemberJoined,
    };
    let cause = telling.take_cause().or(found);
    telling.tell(id, Happened::new(Kind::EpochMoved).epoch(value.epoch).cause(cause));
}

/// Counts the partitions that go to somebody else.
fn target(
    telling: &mut Telling,
    known: Option<&Partitions>,
    value: &ConsumerGroupTargetAssignmentMemberValue,
) {
    let gained: usize = value
        .topic_partitions
        .iter()
        .map(|topic| match known.and_then(|it| it.get(topic.topic_id)) {
            None => topic.partitions.len(),
            Some(known) => topic.partitions.iter().filter(|it| known.binary_search(it).is_err()).count(),
        })
        .sum();
    telling.moved = telling.moved.saturating_add(u32::try_from(gained).unwrap_or(u32::MAX));
}

fn current(
    telling: &mut Telling,
    image: &Image,
    group_id: &Str,
    member: &Str,
    group: Option<&ConsumerGroup>,
    value: &ConsumerGroupCurrentMemberAssignmentValue,
) {
    let known = group.and_then(|it| it.member(member)).map(|it| &it.current);
    let (state, epoch) = (known.map(|it| it.state), known.map(|it| it.epoch));
    let tell = |telling: &mut Telling, kind, topics: &[TopicPartitions]| {
        let partitions =
            topics.iter().flat_map(|it| it.partitions.iter().map(|partition| (it.topic_id, *partition)));
        let happened = Happened::new(kind).member(member).epoch(value.member_epoch);
        telling.tell(group_id, happened.detail(&names(image, partitions)));
    };
    let next = MemberState::from_code(value.state);
    let must_revoke = state == Some(MemberState::UnrevokedPartitions);
    if must_revoke && next != MemberState::UnrevokedPartitions {
        tell(telling, Kind::Revoked, &[]);
    }
    let is_news = |of: MemberState| state != Some(of) || epoch != Some(value.member_epoch);
    match next {
        MemberState::UnrevokedPartitions if !must_revoke => {
            tell(telling, Kind::MustRevoke, &value.partitions_pending_revocation);
        }
        MemberState::UnreleasedPartitions if is_news(next) => tell(telling, Kind::WaitsForPartitions, &[]),
        MemberState::Stable if is_news(next) => {
            tell(telling, Kind::MemberSettled, &value.assigned_partitions)
        }
        MemberState::UnrevokedPartitions
        | MemberState::UnreleasedPartitions
        | MemberState::Stable
        | MemberState::Unknown => {}
    }
}

/// The first few partitions and how many more there are.
pub(in crate::group) fn names(image: &Image, partitions: impl IntoIterator<Item = (Uuid, i32)>) -> String {
    let names: Vec<_> = partitions.into_iter().map(|(topic, it)| name(image, topic, it)).collect();
    match names.split_at_checked(NAMED) {
        Some((first, rest)) if !rest.is_empty() => format!("{} and {} more", first.join(", "), rest.len()),
        Some(_) | None => names.join(", "),
    }
}

/// `topic-0`; a topic that is gone has its id for a name.
pub(in crate::group) fn name(image: &Image, topic: Uuid, partition: i32) -> String {
    let name = image.topic_by_id(topic).map_or_else(|| topic.to_string(), |it| it.name.to_string());
    format!("{name}-{partition}")
}

/// All that a member holds or shall give up.
pub(in crate::group) fn held(held: &Held) -> Vec<(Uuid, i32)> {
    held.iter().map(|(topic, partition, _)| (topic, partition)).collect()
}

/// A heartbeat was refused, to a group that exists.
pub(in crate::group) fn refused(step: &mut Step<'_>, request: &ConsumerGroupHeartbeatRequest, fail: &Fail) {
    let (id, member) = (&request.group_id, &request.member_id);
    // Nothing is kept of groups that do not exist: anybody could name them.
    if step.hard.group(id).is_none() {
        return;
    }
    let kind = match fail.code {
        ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID => Kind::MemberFenced,
        _ => Kind::HeartbeatRefused,
    };
    step.telling().refused(id, kind, member, fail.code, fail.message.as_deref().unwrap_or(""));
}
