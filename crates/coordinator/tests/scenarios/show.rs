//! Records, replies and timers as lines. What has its default is left out, lists are sorted where
//! the protocol leaves their order open.

#![expect(clippy::wildcard_enum_match_arm, reason = "the kinds of records are spread over functions")]

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use bytes::Bytes;
use coordinator::group::{GroupReply, GroupTask, StreamsHeartbeatReply, TimerKey};
use wire::consumer_offsets::Record;
use wire::consumer_offsets::group_metadata_value::GroupMetadataValue;
use wire::{ErrorCode, JoinGroupResponse, LeaveGroupResponse, Str, StreamsGroupHeartbeatResponse, Uuid};
use wire::{describe_groups, streams_group_describe, streams_group_heartbeat};

use crate::args::show_duration;
use crate::classic;
use crate::clock::since_start;
use crate::consumer;
use crate::explain;
use crate::tasks::{show_tasks, show_topology};

/// One line of `name=value` parts.
pub(crate) struct Line(pub(crate) String);

impl Line {
    pub(crate) fn new(head: impl Display) -> Self {
        Self(head.to_string())
    }

    pub(crate) fn word(mut self, word: impl Display) -> Self {
        let _ = write!(self.0, " {word}");
        self
    }

    pub(crate) fn part(self, name: &str, value: impl Display) -> Self {
        self.word(format_args!("{name}={value}"))
    }

    pub(crate) fn unless<T: Display + PartialEq>(self, default: T, name: &str, value: T) -> Self {
        if value == default { self } else { self.part(name, value) }
    }

    pub(crate) fn some(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.part(name, value),
            None => self,
        }
    }

    pub(crate) fn error(self, code: ErrorCode, message: Option<&Str>) -> Self {
        let line = self.word(code.name());
        match message {
            Some(message) => line.word(format_args!("{message:?}")),
            None => line,
        }
    }
}

/// Topic ids of scripts are small numbers: `#1`.
pub(crate) fn id(id: Uuid) -> String {
    format!("#{}", id.0[15])
}

pub(crate) fn or_empty(text: &Str) -> String {
    if text.is_empty() { "''".to_owned() } else { text.to_string() }
}

/// The tasks of a list of any of the generated `TaskIds` types.
macro_rules! task_list {
    ($tasks:expr) => {
        show_tasks($tasks.iter().map(|it| (&it.subtopology_id, it.partitions.as_slice(), None)))
    };
    ($tasks:expr, epochs) => {
        show_tasks(
            $tasks
                .iter()
                .map(|it| (&it.subtopology_id, it.partitions.as_slice(), it.assignment_epochs.as_ref())),
        )
    };
}

/// `key:value` pairs of any of the generated types.
macro_rules! pairs {
    ($list:expr) => {
        $list.iter().map(|it| format!("{}:{}", it.key, it.value)).collect::<Vec<_>>().join(",")
    };
}

pub(crate) fn record(record: &Record, now: i64) -> String {
    let line = match record {
        Record::OffsetCommit(key, value) => {
            let head = format!("OffsetCommit {} {}:{}", or_empty(&key.group), key.topic, key.partition);
            let Some(value) = value else { return tombstone(&head) };
            Line::new(head)
                .part("offset", value.offset)
                .unless(-1, "leader-epoch", value.leader_epoch)
                .unless(Str::default(), "metadata", value.metadata.clone())
                .unless(since_start(now), "time", since_start(value.commit_timestamp))
                .some("expires", (value.expire_timestamp != -1).then(|| since_start(value.expire_timestamp)))
                .some("id", (value.topic_id != Uuid::ZERO).then(|| id(value.topic_id)))
        }
        Record::GroupMetadata(key, value) => {
            let head = format!("GroupMetadata {}", or_empty(&key.group));
            let Some(value) = value else { return tombstone(&head) };
            return format!("record {}", group_metadata(head, value, now));
        }
        other => return consumer::record(other, now).unwrap_or_else(|| streams_record(other, now)),
    };
    format!("record {}", line.0)
}

pub(crate) fn tombstone(head: &str) -> String {
    format!("tombstone {head}")
}

fn streams_record(record: &Record, now: i64) -> String {
    let line = match record {
        Record::StreamsGroupMetadata(key, value) => {
            let head = format!("StreamsGroupMetadata {}", key.group_id);
            let Some(value) = value else { return tombstone(&head) };
            Line::new(head)
                .part("epoch", value.epoch)
                .part("hash", format_args!("{:x}", value.metadata_hash))
                .part("validated", value.validated_topology_epoch)
                .some("configs", value.last_assignment_configs.as_ref().map(|it| pairs!(it)))
                .unless(-1, "stored-description", value.stored_description_topology_epoch)
                .unless(-1, "failed-description", value.failed_description_topology_epoch)
        }
        Record::StreamsGroupMemberMetadata(key, value) => {
            let head = format!("StreamsGroupMemberMetadata {} {}", key.group_id, key.member_id);
            let Some(value) = value else { return tombstone(&head) };
            let endpoint = value.user_endpoint.as_ref();
            Line::new(head)
                .part("process", &value.process_id)
                .part("client", format_args!("{}{}", value.client_id, value.client_host))
                .part("rebalance", show_duration(i64::from(value.rebalance_timeout_ms)))
                .part("topology", value.topology_epoch)
                .some("instance", value.instance_id.as_ref())
                .some("rack", value.rack_id.as_ref())
                .some("endpoint", endpoint.map(|it| format!("{}:{}", it.host, it.port)))
                .unless(String::new(), "tags", pairs!(value.client_tags))
        }
        Record::StreamsGroupTargetAssignmentMetadata(key, value) => {
            let head = format!("StreamsGroupTargetAssignmentMetadata {}", key.group_id);
            let Some(value) = value else { return tombstone(&head) };
            let time = value.assignment_timestamp;
            let time = if time == 0 { "0".to_owned() } else { since_start(time) };
            Line::new(head).part("epoch", value.assignment_epoch).unless(since_start(now), "time", time)
        }
        other => return streams_assignment_record(other),
    };
    format!("record {}", line.0)
}

fn streams_assignment_record(record: &Record) -> String {
    let line = match record {
        Record::StreamsGroupTargetAssignmentMember(key, value) => {
            let head = format!("StreamsGroupTargetAssignmentMember {} {}", key.group_id, key.member_id);
            let Some(value) = value else { return tombstone(&head) };
            Line::new(head)
                .part("active", task_list!(value.active_tasks))
                .unless("-".into(), "standby", task_list!(value.standby_tasks))
                .unless("-".into(), "warmup", task_list!(value.warmup_tasks))
        }
        Record::StreamsGroupCurrentMemberAssignment(key, value) => {
            let head = format!("StreamsGroupCurrentMemberAssignment {} {}", key.group_id, key.member_id);
            let Some(value) = value else { return tombstone(&head) };
            Line::new(head)
                .part("epoch", value.member_epoch)
                .part("previous", value.previous_member_epoch)
                .part("state", member_state(value.state))
                .part("active", task_list!(value.active_tasks, epochs))
                .unless("-".into(), "standby", task_list!(value.standby_tasks, epochs))
                .unless("-".into(), "warmup", task_list!(value.warmup_tasks, epochs))
                .unless("-".into(), "revoking", task_list!(value.active_tasks_pending_revocation, epochs))
                .unless(
                    "-".into(),
                    "revoking-standby",
                    task_list!(value.standby_tasks_pending_revocation, epochs),
                )
                .unless(
                    "-".into(),
                    "revoking-warmup",
                    task_list!(value.warmup_tasks_pending_revocation, epochs),
                )
        }
        Record::StreamsGroupTopology(key, value) => {
            let head = format!("StreamsGroupTopology {}", key.group_id);
            let Some(value) = value else { return tombstone(&head) };
            Line::new(head).word(show_topology(value))
        }
        other => Line::new(format!("{other:?}")),
    };
    format!("record {}", line.0)
}

fn member_state(state: i8) -> String {
    match state {
        1 => "STABLE".to_owned(),
        2 => "UNREVOKED_TASKS".to_owned(),
        3 => "UNRELEASED_TASKS".to_owned(),
        other => other.to_string(),
    }
}

/// What the shard asks its host for.
pub(crate) fn task(task: &GroupTask, topics: &BTreeMap<Uuid, String>) -> String {
    let (group, partitions) = match task {
        GroupTask::ChangelogEnds { group, partitions } => (group, partitions),
        GroupTask::ResolveRegexes(it) => return consumer::task(it),
    };
    let name =
        |(topic, index): &(Uuid, i32)| format!("{}:{index}", topics.get(topic).map_or("?", String::as_str));
    let mut partitions: Vec<_> = partitions.iter().map(name).collect();
    partitions.sort();
    format!("ask ends {group} {}", partitions.join(","))
}

pub(crate) fn timer(key: &TimerKey) -> String {
    match key {
        TimerKey::Warmup { group } => format!("warmup {group}"),
        TimerKey::InitialRebalance { group } => format!("initial-rebalance {group}"),
        TimerKey::Session { group, member } => format!("session {group} {member}"),
        TimerKey::Rebalance { group, member } => format!("rebalance {group} {member}"),
        TimerKey::ClassicSession { group, member } => format!("session {group} {member}"),
        TimerKey::ClassicJoin { group } => format!("join {group}"),
        TimerKey::ClassicSync { group } => format!("sync {group}"),
        TimerKey::ConsumerJoin { group, member } => format!("join {group} {member}"),
        TimerKey::ConsumerSync { group, member } => format!("sync {group} {member}"),
        TimerKey::Expiry => "expiry".to_owned(),
    }
}

/// The group on the first line, a line per member after it.
fn group_metadata(head: String, value: &GroupMetadataValue, now: i64) -> String {
    let line = Line::new(head)
        .part("type", or_empty(&value.protocol_type))
        .part("generation", value.generation)
        .some("protocol", value.protocol.as_ref())
        .some("leader", value.leader.as_ref().map(or_empty))
        .unless(since_start(now), "time", since_start(value.current_state_timestamp));
    let members = value.members.iter().map(|it| {
        let timeouts = (show_duration(it.session_timeout.into()), show_duration(it.rebalance_timeout.into()));
        Line::new(format_args!("\n  member {}", or_empty(&it.member_id)))
            .some("instance", it.group_instance_id.as_ref())
            .part("client", format_args!("{}{}", it.client_id, it.client_host))
            .part("session", timeouts.0)
            .part("rebalance", timeouts.1)
            .unless(String::new(), "metadata", text(&it.subscription))
            .unless(String::new(), "assignment", assignment(&it.assignment))
            .0
    });
    [line.0].into_iter().chain(members).collect()
}

fn assignment(bytes: &Bytes) -> String {
    classic::assigned(bytes).unwrap_or_else(|| text(bytes))
}

/// What members say to each other is text in scripts, but for the metadata of consumers.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text.to_owned(),
        Ok(_) | Err(_) => format!("{}-bytes", bytes.len()),
    }
}

fn joined(it: &JoinGroupResponse) -> String {
    let line =
        if it.error_code == ErrorCode::NONE { Line::new("joined") } else { Line::new(it.error_code.name()) };
    let line = line
        .part("member", or_empty(&it.member_id))
        .unless(-1, "generation", it.generation_id)
        .some("type", it.protocol_type.as_ref())
        .some("protocol", it.protocol_name.as_ref().filter(|it| !it.is_empty()))
        .unless(String::new(), "leader", it.leader.to_string())
        .unless(false, "skip-assignment", it.skip_assignment);
    let member = |it: &wire::join_group::response::JoinGroupResponseMember| {
        let instance = it.group_instance_id.as_ref().map(|it| format!("/{it}")).unwrap_or_default();
        let metadata = Some(text(&it.metadata)).filter(|it| !it.is_empty());
        format!("{}{instance}{}", it.member_id, metadata.map(|it| format!(":{it}")).unwrap_or_default())
    };
    let members: Vec<_> = it.members.iter().map(member).collect();
    line.unless(String::new(), "members", members.join(",")).0
}

fn left(it: &LeaveGroupResponse) -> Vec<String> {
    if it.error_code != ErrorCode::NONE {
        return vec![it.error_code.name().to_owned()];
    }
    let members = it.members.iter().map(|it| {
        let instance = it.group_instance_id.as_ref().map(|it| format!("/{it}")).unwrap_or_default();
        format!("{}{instance} {}", or_empty(&it.member_id), it.error_code.name())
    });
    members.collect()
}

/// The lines of a reply; the first words say what was asked.
pub(crate) fn reply(asked: &str, reply: &GroupReply) -> String {
    let lines = match reply {
        GroupReply::StreamsGroupHeartbeat(it) => return heartbeat(asked, it),
        GroupReply::OffsetCommit(it) | GroupReply::TxnOffsetCommit(it) => {
            let topics = it.topics.iter().flat_map(|topic| {
                topic
                    .partitions
                    .iter()
                    .map(|it| format!("{}:{} {}", topic.name, it.partition_index, it.error_code.name()))
            });
            topics.collect()
        }
        GroupReply::OffsetFetch(it) if it.error_code != ErrorCode::NONE => {
            vec![it.error_code.name().to_owned()]
        }
        GroupReply::OffsetFetch(it) => it.topics.iter().flat_map(fetched).collect(),
        GroupReply::OffsetDelete(it) => {
            let topics = it.topics.iter().flat_map(|topic| {
                topic
                    .partitions
                    .iter()
                    .map(|it| format!("{}:{} {}", topic.name, it.partition_index, it.error_code.name()))
            });
            [it.error_code.name().to_owned()].into_iter().chain(topics).collect()
        }
        GroupReply::StreamsGroupDescribe(groups) => groups.iter().flat_map(described).collect(),
        GroupReply::StreamsGroupTopologyDescriptionUpdate(it) => match it.error_code {
            ErrorCode::NONE => vec!["description kept".into()],
            code => vec![Line::new("description").error(code, it.error_message.as_ref()).0],
        },
        GroupReply::JoinGroup(it) => vec![joined(it)],
        GroupReply::SyncGroup(it) => {
            let line = Line::new(it.error_code.name())
                .some("type", it.protocol_type.as_ref())
                .some("protocol", it.protocol_name.as_ref())
                .unless(String::new(), "assignment", assignment(&it.assignment));
            vec![line.0]
        }
        GroupReply::Heartbeat(it) => vec![it.error_code.name().to_owned()],
        GroupReply::LeaveGroup(it) => left(it),
        GroupReply::ConsumerGroupHeartbeat(it) => vec![consumer::reply(asked, it)],
        GroupReply::ConsumerGroupDescribe(groups) => groups.iter().flat_map(consumer::describe).collect(),
        GroupReply::DescribeGroups(groups) => groups.iter().flat_map(described_classic).collect(),
        GroupReply::ListGroups(it) => {
            let groups = it.groups.iter().map(|it| {
                let line = Line::new(or_empty(&it.group_id)).word(&it.group_type).word(&it.group_state);
                line.part("protocol", or_empty(&it.protocol_type)).0
            });
            groups.collect()
        }
        GroupReply::ConnectionsClosed => Vec::new(),
        GroupReply::ExplainGroup(it) => explain::lines(it),
        GroupReply::DeleteGroups(results) => {
            let line = |group: &Str| Line::new(or_empty(group));
            results
                .iter()
                .map(|it| line(&it.group_id).error(it.error_code, it.error_message.as_ref()).0)
                .collect()
        }
    };
    if lines.is_empty() {
        return format!("reply {asked} nothing\n");
    }
    lines.iter().map(|line| format!("reply {asked} {line}\n")).collect()
}

fn fetched(topic: &wire::offset_fetch::response::OffsetFetchResponseTopics) -> Vec<String> {
    let partitions = topic.partitions.iter().map(|it| {
        let line = Line::new(format_args!("{}:{}", topic.name, it.partition_index));
        if it.error_code != ErrorCode::NONE {
            return line.word(it.error_code.name()).0;
        }
        line.part("offset", it.committed_offset)
            .unless(-1, "leader-epoch", it.committed_leader_epoch)
            .some("metadata", it.metadata.as_ref().filter(|it| !it.is_empty()))
            .some("id", (topic.topic_id != Uuid::ZERO).then(|| id(topic.topic_id)))
            .0
    });
    partitions.collect()
}

fn described_classic(group: &describe_groups::response::DescribedGroup) -> Vec<String> {
    let line = Line::new(or_empty(&group.group_id))
        .part("state", or_empty(&group.group_state))
        .part("protocol", or_empty(&group.protocol_type))
        .unless(String::new(), "data", group.protocol_data.to_string())
        .part("members", group.members.len())
        .error(group.error_code, group.error_message.as_ref());
    let members = group.members.iter().map(|it| {
        Line::new(format_args!("  member {}", it.member_id))
            .some("instance", it.group_instance_id.as_ref())
            .part("client", format_args!("{}{}", it.client_id, it.client_host))
            .unless(String::new(), "metadata", text(&it.member_metadata))
            .unless(String::new(), "assignment", assignment(&it.member_assignment))
            .0
    });
    [line.0].into_iter().chain(members).collect()
}

fn heartbeat(asked: &str, reply: &StreamsHeartbeatReply) -> String {
    let response = &reply.whole();
    if response.error_code != ErrorCode::NONE {
        let line = Line::new(format_args!("reply {asked}"));
        return line.error(response.error_code, response.error_message.as_ref()).0 + "\n";
    }
    let mut out = heartbeat_response(asked, response).0 + "\n";
    for status in response.status.iter().flatten() {
        let _ = writeln!(out, "status {} {:?}", status.status_code, status.status_detail);
    }
    if response.status.is_none() {
        out.push_str("status null\n");
    }
    for topic in &reply.topics_to_create {
        let configs: BTreeMap<_, _> = topic.configs.iter().map(|it| (&it.name, it.value.as_ref())).collect();
        let mut line = Line::new(format_args!("create-topic {}:{}", topic.name, topic.num_partitions));
        line = line.unless(-1, "replication", topic.replication_factor);
        for (name, value) in configs {
            line = line.part(&name.to_string(), value.map_or_else(|| "null".to_owned(), ToString::to_string));
        }
        let _ = writeln!(out, "{}", line.0);
    }
    out
}

fn heartbeat_response(asked: &str, response: &StreamsGroupHeartbeatResponse) -> Line {
    let line = Line::new(format_args!("reply {asked}"))
        .part("epoch", response.member_epoch)
        .unless("0s".into(), "interval", show_duration(i64::from(response.heartbeat_interval_ms)))
        .some(
            "offset-interval",
            changed(60_000, i64::from(response.task_offset_interval_ms)).map(show_duration),
        )
        .some("lag", changed(10_000, response.acceptable_recovery_lag))
        .some("active", response.active_tasks.as_ref().map(|it| task_list!(it)))
        .some("standby", response.standby_tasks.as_ref().map(|it| task_list!(it)))
        .some("warmup", response.warmup_tasks.as_ref().map(|it| task_list!(it)))
        .unless(0, "endpoint-epoch", response.endpoint_information_epoch)
        .unless(false, "description-required", response.topology_description_required);
    let endpoints = response.partitions_by_user_endpoint.as_ref();
    line.some("endpoints", endpoints.map(|it| it.iter().map(endpoint).collect::<Vec<_>>().join(";")))
}

/// What a group's settings changed; a leave tells neither.
fn changed(default: i64, value: i64) -> Option<i64> {
    (value != default && value > 0).then_some(value)
}

fn endpoint(of: &streams_group_heartbeat::response::EndpointToPartitions) -> String {
    let topics = |list: &[streams_group_heartbeat::response::TopicPartition]| {
        let topics = list.iter().map(|it| format!("{}:{:?}", it.topic, it.partitions).replace(' ', ""));
        topics.collect::<String>()
    };
    let to = &of.user_endpoint;
    format!("{}:{}/{}/{}", to.host, to.port, topics(&of.active_partitions), topics(&of.standby_partitions))
}

fn described(group: &streams_group_describe::response::DescribedGroup) -> Vec<String> {
    let line = Line::new(or_empty(&group.group_id));
    if group.error_code != ErrorCode::NONE {
        return vec![line.error(group.error_code, group.error_message.as_ref()).0];
    }
    let line = line
        .part("state", &group.group_state)
        .part("epoch", group.group_epoch)
        .part("assignment-epoch", group.assignment_epoch)
        .some("assignor", group.assignor_name.as_ref());
    let topology = group.topology.iter().flat_map(described_topology);
    let members = group.members.iter().map(described_member);
    let description = group.topology_description.iter().map(description);
    [line.0].into_iter().chain(topology).chain(description).chain(members).collect()
}

fn description(it: &streams_group_describe::response::TopologyDescription) -> String {
    let subtopologies = it.subtopologies.iter().map(|it| {
        let names: Vec<_> = it.nodes.iter().map(|node| node.name.to_string()).collect();
        format!("{}:{}", it.subtopology_id, names.join(","))
    });
    format!("  description {}", subtopologies.collect::<Vec<_>>().join(" "))
}

fn described_topology(topology: &streams_group_describe::response::Topology) -> Vec<String> {
    let subtopologies = topology.subtopologies.iter().flatten().map(|it| {
        let infos = |list: &[streams_group_describe::response::TopicInfo]| {
            let infos = list.iter().map(|it| format!("{}*{}", it.name, it.partitions));
            infos.collect::<Vec<_>>().join(",")
        };
        let names = |list: &[Str]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        Line::new(format_args!("  topology {} {}", topology.epoch, it.subtopology_id))
            .unless(String::new(), "sources", names(&it.source_topics))
            .unless(String::new(), "sinks", names(&it.repartition_sink_topics))
            .unless(String::new(), "repartition", infos(&it.repartition_source_topics))
            .unless(String::new(), "changelogs", infos(&it.state_changelog_topics))
            .0
    });
    subtopologies.collect()
}

fn described_member(member: &streams_group_describe::response::Member) -> String {
    let offsets = |list: &[streams_group_describe::response::TaskOffset]| {
        let offsets = list.iter().map(|it| format!("{}_{}:{}", it.subtopology_id, it.partition, it.offset));
        offsets.collect::<Vec<_>>().join(",")
    };
    let endpoint = member.user_endpoint.as_ref();
    let (has, target) = (&member.assignment, &member.target_assignment);
    Line::new(format_args!("  member {}", member.member_id))
        .part("epoch", member.member_epoch)
        .part("topology", member.topology_epoch)
        .part("process", &member.process_id)
        .part("client", format_args!("{}{}", member.client_id, member.client_host))
        .some("instance", member.instance_id.as_ref())
        .some("rack", member.rack_id.as_ref())
        .some("endpoint", endpoint.map(|it| format!("{}:{}", it.host, it.port)))
        .unless(String::new(), "tags", pairs!(member.client_tags))
        .part("active", task_list!(has.active_tasks))
        .unless("-".into(), "standby", task_list!(has.standby_tasks))
        .unless("-".into(), "warmup", task_list!(has.warmup_tasks))
        .part("target", task_list!(target.active_tasks))
        .unless("-".into(), "target-standby", task_list!(target.standby_tasks))
        .unless("-".into(), "target-warmup", task_list!(target.warmup_tasks))
        .unless(String::new(), "offsets", offsets(&member.task_offsets))
        .unless(String::new(), "end-offsets", offsets(&member.task_end_offsets))
        .unless(false, "classic", member.is_classic)
        .0
}
