//! Consumer groups: their heartbeat as a command, their records and replies as lines.

#![expect(clippy::wildcard_enum_match_arm, reason = "records of other types are shown elsewhere")]

use std::collections::BTreeMap;

use coordinator::group::consumer::resolve::topics_of_regexes;
use coordinator::group::request::{ResolveRegexes, ResolvedRegexes};
use coordinator::group::{GroupRequest, GroupTaskResult};
use wire::consumer_group_describe::response as described;
use wire::consumer_group_heartbeat::request::TopicPartitions;
use wire::consumer_offsets::Record;
use wire::consumer_offsets::consumer_group_member_metadata_value::ClassicMemberMetadata;
use wire::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ErrorCode, Str, Uuid};

use crate::args::{Args, Parsed, number, show_duration};
use crate::ask::{Memory, unquoted};
use crate::clock::since_start;
use crate::show::{Line, id, or_empty, tombstone};

/// `consumer-heartbeat G M epoch=N …`.
pub(crate) fn heartbeat(
    args: &mut Args<'_>,
    memory: &mut Memory,
    ids: &BTreeMap<Str, Uuid>,
) -> Parsed<GroupRequest> {
    let (group, member) = (args.word("group")?, args.word("member")?);
    let epoch: i32 = args.number("epoch")?.ok_or("epoch= is missing")?;
    let is_full = args.flag("full") || epoch == 0;
    let regex = args.option("regex").filter(|it| *it != "null");
    let names = match args.option("names") {
        Some("null") => None,
        Some(names) => {
            memory.names = names.to_owned();
            Some(names)
        }
        None if is_full && regex.is_none() => Some(memory.names.as_str()),
        None => None,
    };
    let owned = args.option("owned").or_else(|| is_full.then_some("-")).filter(|it| *it != "null");
    let rebalance = args.duration("rebalance")?.or_else(|| is_full.then_some(300_000));
    let request = ConsumerGroupHeartbeatRequest {
        group_id: unquoted(group),
        member_id: unquoted(member),
        member_epoch: epoch,
        instance_id: args.option("instance").map(unquoted),
        rack_id: args.option("rack").map(unquoted),
        rebalance_timeout_ms: i32::try_from(rebalance.unwrap_or(-1)).map_err(|it| it.to_string())?,
        subscribed_topic_names: names.map(words),
        subscribed_topic_regex: regex.map(unquoted),
        server_assignor: args.option("assignor").map(unquoted),
        topic_partitions: owned.map(|it| partitions(it, ids)).transpose()?,
        ..Default::default()
    };
    Ok(GroupRequest::ConsumerGroupHeartbeat(Box::new(request)))
}

fn words(text: &str) -> Vec<Str> {
    text.split(',').filter(|it| !matches!(*it, "-" | "")).map(Str::from).collect()
}

/// `foo:0,1;bar:2`, or `-`.
fn partitions(text: &str, ids: &BTreeMap<Str, Uuid>) -> Parsed<Vec<TopicPartitions>> {
    let topics = text.split(';').filter(|it| *it != "-");
    let topic = |text: &str| {
        let (topic, partitions) = text.split_once(':').ok_or_else(|| format!("not topic:0,1: {text:?}"))?;
        let topic_id = *ids.get(&Str::from(topic)).ok_or_else(|| format!("no topic {topic:?}"))?;
        let partitions = partitions.split(',').map(number).collect::<Parsed<_>>()?;
        Ok(TopicPartitions { topic_id, partitions, ..Default::default() })
    };
    topics.map(topic).collect()
}

/// Does what the host would, with the topics that the caller may see.
pub(crate) fn run(
    task: ResolveRegexes,
    image: &catalog::Image,
    denied: &[&str],
    fails: bool,
) -> GroupTaskResult {
    let topics: Vec<_> = image.topics().map(|it| &*it.name).filter(|it| !denied.contains(it)).collect();
    GroupTaskResult::ResolveRegexes(ResolvedRegexes {
        topics: topics_of_regexes(&task.regexes, &topics, || true).filter(|_| !fails),
        group: task.group,
        version: image.version(),
        started: task.started,
    })
}

pub(crate) fn task(it: &ResolveRegexes) -> String {
    format!("task resolve {} {}", it.group, joined(&it.regexes))
}

fn joined(names: &[Str]) -> String {
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(",") }
}

/// Partitions of a list of any of the generated types: `#1:0,1;#2:0`, or `-`.
macro_rules! topics {
    ($list:expr) => {
        show($list.iter().map(|it| (it.topic_id, it.partitions.as_slice(), None)))
    };
    ($list:expr, epochs) => {
        show($list.iter().map(|it| (it.topic_id, it.partitions.as_slice(), it.assignment_epochs.as_ref())))
    };
}

fn show<'a>(topics: impl Iterator<Item = (Uuid, &'a [i32], Option<&'a Vec<i32>>)>) -> String {
    let topic = |(topic, partitions, epochs): (Uuid, &[i32], Option<&Vec<i32>>)| {
        let epoch =
            |at: usize| epochs.and_then(|it| it.get(at)).map(|it| format!("@{it}")).unwrap_or_default();
        let partitions = partitions.iter().enumerate().map(|(at, it)| format!("{it}{}", epoch(at)));
        format!("{}:{}", id(topic), partitions.collect::<Vec<_>>().join(","))
    };
    let topics: Vec<_> = topics.map(topic).collect();
    if topics.is_empty() { "-".to_owned() } else { topics.join(";") }
}

/// `10s,range:25` is a member of the classic protocol: its session, and its protocols with the lengths of
/// what it said.
fn classic(it: &ClassicMemberMetadata) -> String {
    let protocols = it.supported_protocols.iter().map(|it| format!(",{}:{}", it.name, it.metadata.len()));
    show_duration(it.session_timeout_ms.into()) + &protocols.collect::<String>()
}

/// The line of a record of consumer groups.
pub(crate) fn record(record: &Record, now: i64) -> Option<String> {
    let line = match record {
        Record::ConsumerGroupMetadata(key, value) => {
            let head = format!("ConsumerGroupMetadata {}", key.group_id);
            let Some(value) = value else { return Some(tombstone(&head)) };
            Line::new(head).part("epoch", value.epoch).part("hash", format_args!("{:x}", value.metadata_hash))
        }
        Record::ConsumerGroupPartitionMetadata(key, value) => {
            let head = format!("ConsumerGroupPartitionMetadata {}", key.group_id);
            let Some(value) = value else { return Some(tombstone(&head)) };
            Line::new(head).word(format_args!("{value:?}"))
        }
        Record::ConsumerGroupMemberMetadata(key, value) => {
            let head = format!("ConsumerGroupMemberMetadata {} {}", key.group_id, key.member_id);
            let Some(value) = value else { return Some(tombstone(&head)) };
            Line::new(head)
                .part("names", joined(&value.subscribed_topic_names))
                .some("regex", value.subscribed_topic_regex.as_ref().filter(|it| !it.is_empty()))
                .part("client", format_args!("{}{}", value.client_id, value.client_host))
                .part("rebalance", show_duration(i64::from(value.rebalance_timeout_ms)))
                .some("instance", value.instance_id.as_ref())
                .some("rack", value.rack_id.as_ref())
                .some("assignor", value.server_assignor.as_ref())
                .some("classic", value.classic_member_metadata.as_ref().map(classic))
        }
        Record::ConsumerGroupTargetAssignmentMetadata(key, value) => {
            let head = format!("ConsumerGroupTargetAssignmentMetadata {}", key.group_id);
            let Some(value) = value else { return Some(tombstone(&head)) };
            let time = value.assignment_timestamp;
            let time = if time == 0 { "0".to_owned() } else { since_start(time) };
            Line::new(head).part("epoch", value.assignment_epoch).unless(since_start(now), "time", time)
        }
        Record::ConsumerGroupTargetAssignmentMember(key, value) => {
            let head = format!("ConsumerGroupTargetAssignmentMember {} {}", key.group_id, key.member_id);
            let Some(value) = value else { return Some(tombstone(&head)) };
            Line::new(head).word(topics!(value.topic_partitions))
        }
        Record::ConsumerGroupCurrentMemberAssignment(key, value) => {
            let head = format!("ConsumerGroupCurrentMemberAssignment {} {}", key.group_id, key.member_id);
            let Some(value) = value else { return Some(tombstone(&head)) };
            Line::new(head)
                .part("epoch", value.member_epoch)
                .part("previous", value.previous_member_epoch)
                .part("state", state(value.state))
                .part("assigned", topics!(value.assigned_partitions, epochs))
                .unless("-".into(), "revoking", topics!(value.partitions_pending_revocation, epochs))
        }
        Record::ConsumerGroupRegularExpression(key, value) => {
            let head = format!("ConsumerGroupRegularExpression {} {}", key.group_id, key.regular_expression);
            let Some(value) = value else { return Some(tombstone(&head)) };
            Line::new(head).part("topics", joined(&value.topics)).part("version", value.version).unless(
                since_start(now),
                "time",
                since_start(value.timestamp),
            )
        }
        _ => return None,
    };
    Some(format!("record {}", line.0))
}

fn state(state: i8) -> String {
    match state {
        0 => "STABLE".to_owned(),
        1 => "UNREVOKED".to_owned(),
        2 => "UNRELEASED".to_owned(),
        other => other.to_string(),
    }
}

pub(crate) fn reply(asked: &str, it: &ConsumerGroupHeartbeatResponse) -> String {
    if it.error_code != ErrorCode::NONE {
        return Line::new("").error(it.error_code, it.error_message.as_ref()).0.trim_start().to_owned();
    }
    let member = it.member_id.as_ref().map(ToString::to_string).unwrap_or_default();
    Line::new(format_args!("epoch={}", it.member_epoch))
        .some("member", (member != asked).then_some(member))
        .unless("0s".into(), "interval", show_duration(i64::from(it.heartbeat_interval_ms)))
        .some("assignment", it.assignment.as_ref().map(|it| topics!(it.topic_partitions)))
        .0
}

pub(crate) fn describe(group: &described::DescribedGroup) -> Vec<String> {
    let line = Line::new(or_empty(&group.group_id));
    if group.error_code != ErrorCode::NONE {
        return vec![line.error(group.error_code, group.error_message.as_ref()).0];
    }
    let line = line
        .part("state", &group.group_state)
        .part("epoch", group.group_epoch)
        .part("assignment-epoch", group.assignment_epoch)
        .part("assignor", &group.assignor_name);
    let member = |it: &described::Member| {
        Line::new(format_args!("  member {}", it.member_id))
            .part("epoch", it.member_epoch)
            .part("names", joined(&it.subscribed_topic_names))
            .some("regex", it.subscribed_topic_regex.as_ref().filter(|it| !it.is_empty()))
            .part("client", format_args!("{}{}", it.client_id, it.client_host))
            .some("instance", it.instance_id.as_ref())
            .some("rack", it.rack_id.as_ref())
            .part("assigned", named(&it.assignment))
            .part("target", named(&it.target_assignment))
            .unless(1, "type", it.member_type)
            .0
    };
    [line.0].into_iter().chain(group.members.iter().map(member)).collect()
}

fn named(assignment: &described::Assignment) -> String {
    let topics = assignment.topic_partitions.iter();
    let topics =
        topics.map(|it| format!("{}:{:?}", it.topic_name, it.partitions).replace(['[', ']', ' '], ""));
    let topics: Vec<_> = topics.collect();
    if topics.is_empty() { "-".to_owned() } else { topics.join(";") }
}
