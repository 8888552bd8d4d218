//! Commands that are requests: from compact arguments to wire types.

use std::collections::BTreeMap;

use coordinator::Millis;
use coordinator::group::history::commits::refusals;
use coordinator::group::request::{CommitRefused, OffsetFetch, TxnOffsetCommit};
use coordinator::group::{ClosedConnection, GroupRequest};
use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use wire::offset_delete::request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use wire::offset_fetch::request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use wire::streams_group_heartbeat::request::{Endpoint, KeyValue, TaskIds};
use wire::streams_group_topology_description_update::request::{
    TopologyDescription, TopologyDescriptionNode, TopologyDescriptionSubtopology,
};
use wire::{
    ErrorCode, ListGroupsRequest, OffsetCommitRequest, OffsetDeleteRequest, Str,
    StreamsGroupHeartbeatRequest, StreamsGroupTopologyDescriptionUpdateRequest, Uuid,
};

use crate::args::{Args, Parsed, number, partition};
use crate::tasks;

/// What a script need not say again.
#[derive(Default)]
pub(crate) struct Memory {
    /// Topology of the last join that named one.
    topology: String,
    /// Topic names of the last consumer heartbeat that said some.
    pub(crate) names: String,
}

pub(crate) fn heartbeat(args: &mut Args<'_>, memory: &mut Memory) -> Parsed<GroupRequest> {
    let (group, member) = (args.word("group")?, args.word("member")?);
    let epoch: i32 = args.number("epoch")?.ok_or("epoch= is missing")?;
    let joins = epoch == 0;
    let mut request = StreamsGroupHeartbeatRequest {
        group_id: unquoted(group),
        member_id: unquoted(member),
        member_epoch: epoch,
        shutdown_application: args.flag("shutdown"),
        ..Default::default()
    };
    let owned = args.option("owned").or_else(|| joins.then_some("-"));
    let active = args.option("active").or(owned);
    let others = active.is_some().then_some("-");
    request.active_tasks = task_list(active)?;
    request.standby_tasks = task_list(args.option("standby").or(others))?;
    request.warmup_tasks = task_list(args.option("warmup").or(others))?;
    if let Some(text) = args.option("topology") {
        memory.topology = text.to_owned();
        request.topology = (text != "null").then(|| tasks::topology(text)).transpose()?;
    } else if joins {
        request.topology = Some(tasks::topology(&memory.topology)?);
    }
    request.rebalance_timeout_ms = match args.duration("rebalance")? {
        Some(millis) => i32::try_from(millis).map_err(|it| it.to_string())?,
        None if joins => 300_000,
        None => -1,
    };
    let process = joins.then(|| format!("p-{member}"));
    request.process_id = args.option("process").map(unquoted).or_else(|| process.map(Str::from));
    request.instance_id = args.option("instance").map(unquoted);
    request.rack_id = args.option("rack").map(unquoted);
    request.user_endpoint = args.option("endpoint").map(endpoint).transpose()?;
    request.endpoint_information_epoch = args.number("endpoint-epoch")?.unwrap_or(0);
    request.client_tags = args.option("tags").map(tags).transpose()?;
    request.task_offsets = args.option("offsets").map(tasks::task_offsets).transpose()?;
    request.task_end_offsets = args.option("end-offsets").map(tasks::task_offsets).transpose()?;
    Ok(GroupRequest::StreamsGroupHeartbeat(Box::new(request)))
}

/// `0:name,name 1:name`: nodes by subtopology; `more=` as many with names of a thousand bytes.
pub(crate) fn description(args: &mut Args<'_>) -> Parsed<GroupRequest> {
    let (group_id, member_id) = (unquoted(args.word("group")?), unquoted(args.word("member")?));
    let topology_epoch = args.number("epoch")?.ok_or("epoch= is missing")?;
    let more: usize = args.number("more")?.unwrap_or(0);
    let node = |name: &str| TopologyDescriptionNode { name: name.into(), node_type: 2, ..Default::default() };
    let subtopology = |word: &str| {
        let (id, names) = word.split_once(':').ok_or_else(|| format!("not id:names: {word:?}"))?;
        let mut nodes: Vec<_> = names.split(',').map(node).collect();
        nodes.resize(nodes.len() + more, node(&"n".repeat(1_000)));
        Ok(TopologyDescriptionSubtopology { subtopology_id: id.into(), nodes, ..Default::default() })
    };
    let subtopologies = args.rest().into_iter().map(subtopology).collect::<Parsed<_>>()?;
    let topology_description = TopologyDescription { subtopologies, ..Default::default() };
    Ok(GroupRequest::StreamsGroupTopologyDescriptionUpdate(Box::new(
        StreamsGroupTopologyDescriptionUpdateRequest {
            group_id,
            member_id,
            topology_epoch,
            topology_description,
            ..Default::default()
        },
    )))
}

fn task_list(text: Option<&str>) -> Parsed<Option<Vec<TaskIds>>> {
    text.filter(|it| *it != "null").map(tasks::tasks).transpose()
}

fn endpoint(text: &str) -> Parsed<Endpoint> {
    let (host, port) = text.rsplit_once(':').ok_or_else(|| format!("not host:port: {text:?}"))?;
    Ok(Endpoint { host: host.into(), port: number(port)?, ..Default::default() })
}

fn tags(text: &str) -> Parsed<Vec<KeyValue>> {
    let pairs = text.split(',').filter(|it| !matches!(*it, "-" | ""));
    pairs
        .map(|it| {
            let (key, value) = it.split_once(':').ok_or_else(|| format!("not key:value: {it:?}"))?;
            Ok(KeyValue { key: key.into(), value: value.into(), ..Default::default() })
        })
        .collect()
}

/// `''` stands for the empty text, which a word cannot be.
pub(crate) fn unquoted(text: &str) -> Str {
    if text == "''" { Str::default() } else { text.into() }
}

pub(crate) fn commit(args: &mut Args<'_>, ids: &BTreeMap<Str, Uuid>) -> Parsed<GroupRequest> {
    let group_id = unquoted(args.word("group")?);
    let mut topics: Vec<OffsetCommitRequestTopic> = Vec::new();
    let mut request = OffsetCommitRequest {
        group_id,
        member_id: args.option("member").map(unquoted).unwrap_or_default(),
        generation_id_or_member_epoch: args.number("epoch")?.unwrap_or(-1),
        group_instance_id: args.option("instance").map(unquoted),
        retention_time_ms: args.duration("retention")?.unwrap_or(-1),
        ..Default::default()
    };
    let leader_epoch: Option<i32> = args.number("leader-epoch")?;
    let id = args.number::<u8>("id")?.map(numbered);
    for word in args.rest() {
        let (topic, index, value) = partition(word)?;
        let value = value.ok_or_else(|| format!("no offset: {word:?}"))?;
        let (offset, metadata) = match value.split_once('/') {
            Some((offset, metadata)) => (offset, Some(metadata.into())),
            None => (value, None),
        };
        let part = OffsetCommitRequestPartition {
            partition_index: number(index)?,
            committed_offset: number(offset)?,
            committed_metadata: metadata,
            committed_leader_epoch: leader_epoch.unwrap_or(-1),
            ..Default::default()
        };
        match topics.iter_mut().find(|it| it.name == topic) {
            Some(it) => it.partitions.push(part),
            None => topics.push(OffsetCommitRequestTopic {
                name: topic.into(),
                topic_id: id.or_else(|| ids.get(&Str::from(topic)).copied()).unwrap_or(Uuid::ZERO),
                partitions: vec![part],
                ..Default::default()
            }),
        }
    }
    request.topics = topics;
    // `producer=7/2`: in the transaction of producer 7 with epoch 2.
    let Some((id, epoch)) = args.option("producer").map(|it| it.split_once('/').unwrap_or((it, "0"))) else {
        return Ok(GroupRequest::OffsetCommit(request));
    };
    let (producer_id, producer_epoch) = (number(id)?, number(epoch)?);
    Ok(GroupRequest::TxnOffsetCommit(Box::new(TxnOffsetCommit {
        producer_id,
        producer_epoch,
        commit: request,
    })))
}

/// What the broker refused by itself, as codes in the place of offsets.
pub(crate) fn commit_refused(args: &mut Args<'_>) -> Parsed<GroupRequest> {
    let group_id = unquoted(args.word("group")?);
    let member = args.option("member").map(unquoted).unwrap_or_default();
    let epoch = args.number("epoch")?.unwrap_or(-1);
    let refused = |word| {
        let (topic, index, code) = partition(word)?;
        let code = code.and_then(|it| (1..200).map(ErrorCode).find(|code| code.name() == it));
        let code = code.ok_or_else(|| format!("no code: {word:?}"))?;
        Ok((Str::from(topic), number(index)?, code))
    };
    let refused: Vec<_> = args.rest().into_iter().map(refused).collect::<Parsed<_>>()?;
    let refusals = refusals(&member, epoch, refused);
    Ok(GroupRequest::CommitRefused(CommitRefused { group_id, refusals }))
}

/// The id that scripts know as `#n`.
pub(crate) fn numbered(n: u8) -> Uuid {
    let mut id = [0; 16];
    id[15] = n;
    Uuid(id)
}

/// `in:0,1`: a topic and its partitions.
fn topic_partitions(word: &str) -> Parsed<(&str, Vec<i32>)> {
    let (topic, indexes, _) = partition(word)?;
    Ok((topic, indexes.split(',').map(number).collect::<Parsed<_>>()?))
}

pub(crate) fn fetch(args: &mut Args<'_>, ids: &BTreeMap<Str, Uuid>) -> Parsed<GroupRequest> {
    let group_id = unquoted(args.word("group")?);
    let require_stable = args.flag("stable");
    let by_id = args.flag("by-id");
    let all = args.flag("all");
    let mut topics = Vec::new();
    for word in args.rest() {
        let (topic, partition_indexes) = topic_partitions(word)?;
        let topic_id = ids.get(&Str::from(topic)).copied().filter(|_| by_id);
        topics.push(OffsetFetchRequestTopics {
            name: topic.into(),
            topic_id: topic_id.unwrap_or(Uuid::ZERO),
            partition_indexes,
            ..Default::default()
        });
    }
    let group = OffsetFetchRequestGroup {
        group_id,
        member_id: args.option("member").map(unquoted),
        member_epoch: args.number("epoch")?.unwrap_or(-1),
        topics: (!all).then_some(topics),
        ..Default::default()
    };
    Ok(GroupRequest::OffsetFetch(OffsetFetch { group, require_stable }))
}

pub(crate) fn offset_delete(args: &mut Args<'_>) -> Parsed<GroupRequest> {
    let group_id = unquoted(args.word("group")?);
    let topic = |word: &str| {
        let (topic, indexes) = topic_partitions(word)?;
        let partitions = indexes.into_iter();
        let partitions = partitions.map(|partition_index| OffsetDeleteRequestPartition { partition_index });
        Ok(OffsetDeleteRequestTopic { name: topic.into(), partitions: partitions.collect() })
    };
    let topics = args.rest().into_iter().map(topic).collect::<Parsed<_>>()?;
    Ok(GroupRequest::OffsetDelete(OffsetDeleteRequest { group_id, topics }))
}

pub(crate) fn list(args: &mut Args<'_>) -> Parsed<GroupRequest> {
    let filter = |text: Option<&str>| {
        let words = text.unwrap_or_default().split(',').filter(|it| !it.is_empty());
        words.map(Str::from).collect()
    };
    Ok(GroupRequest::ListGroups(ListGroupsRequest {
        states_filter: filter(args.option("states")),
        types_filter: filter(args.option("types")),
        ..Default::default()
    }))
}

pub(crate) fn ids(args: &mut Args<'_>) -> Vec<Str> {
    args.rest().into_iter().map(unquoted).collect()
}

/// Connections of a group that their clients closed now.
pub(crate) fn closed(args: &mut Args<'_>, at: Millis) -> Parsed<GroupRequest> {
    let group = unquoted(args.word("group")?);
    let together = args.number("together")?;
    let closed = |word| Ok(ClosedConnection { connection: number(word)?, at, together });
    let closed = args.rest().into_iter().map(closed).collect::<Parsed<_>>()?;
    Ok(GroupRequest::ConnectionsClosed(vec![(group, closed)]))
}
