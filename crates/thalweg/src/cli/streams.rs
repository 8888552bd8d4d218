//! `thalweg streams`: tasks, topology, endpoints. They ask what Kafka answers too, so they work with any broker that
//! serves streams groups. Only what members are giving up is known to Thalweg alone.

use std::collections::BTreeMap;

use clap::{Subcommand, ValueEnum};
use client::Broker;
use wire::explain_group::response::Tasks;
use wire::list_offsets::request::{ListOffsetsPartition, ListOffsetsTopic};
use wire::metadata::request::MetadataRequestTopic;
use wire::offset_fetch::request::OffsetFetchRequestGroup;
use wire::streams_group_describe::response::DescribedGroup;
use wire::{
    ErrorCode, ExplainGroupRequest, ListOffsetsRequest, MetadataRequest, MetadataResponse,
    OffsetFetchRequest, Str, StreamsGroupDescribeRequest,
};

use super::groups::{One, explain, question};
use super::show::tasks::Inputs;
use super::{FAILED, Failure, Output, Target, print, show};

/// `timestamp` that asks for the end of a partition.
const LATEST: i64 = -1;

/// Applications on Kafka Streams that use streams groups (KIP-1071).
#[derive(Debug, Subcommand)]
pub(crate) enum Streams {
    /// Each task: which process runs it in which role, where it goes, how far it is behind.
    Tasks(One),
    /// The topology that the group runs.
    Topology(Topology),
    /// Where interactive queries find which partitions.
    Endpoints(One),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Topology {
    /// Id of the group.
    group: String,
    #[command(flatten)]
    target: Target,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Drawing::Text)]
    output: Drawing,
}

/// Form of a topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Drawing {
    Text,
    /// For Graphviz.
    Dot,
    Mermaid,
    Json,
}

pub(crate) async fn run(command: Streams) -> Result<(), Failure> {
    match command {
        Streams::Tasks(it) => it.target.patient(tasks(&it)).await,
        Streams::Topology(it) => it.target.patient(topology(&it)).await,
        Streams::Endpoints(it) => it.target.patient(endpoints(&it)).await,
    }
}

async fn topology(arguments: &Topology) -> Result<(), Failure> {
    let (_, group) = describe(&arguments.target, &arguments.group).await?;
    let page = match arguments.output {
        Drawing::Text => show::topology::text_page(&group),
        Drawing::Dot => show::topology::dot(&group),
        Drawing::Mermaid => show::topology::mermaid(&group),
        Drawing::Json => show::topology::json_page(&group).to_string(),
    };
    print(&page)?;
    Ok(())
}

async fn endpoints(arguments: &One) -> Result<(), Failure> {
    let (_, group) = describe(&arguments.target, &arguments.group).await?;
    match arguments.output {
        Output::Text => print(&show::endpoints::text_page(&group))?,
        Output::Json => print(&show::endpoints::json_page(&group).to_string())?,
    };
    Ok(())
}

async fn tasks(arguments: &One) -> Result<(), Failure> {
    let (mut broker, group) = describe(&arguments.target, &arguments.group).await?;
    let inputs =
        Inputs { pending: pending(&mut broker, &group).await?, ..inputs(&mut broker, &group).await? };
    match arguments.output {
        Output::Text => print(&show::tasks::text_page(&group, &inputs))?,
        Output::Json => print(&show::tasks::json_page(&group, &inputs).to_string())?,
    };
    Ok(())
}

/// The group, and its coordinator for more questions.
async fn describe(target: &Target, group: &str) -> Result<(Broker, DescribedGroup), Failure> {
    let mut broker = target.coordinator(group).await?;
    let describes_topologies = broker.version::<StreamsGroupDescribeRequest>(1, 1).is_some();
    let asked = StreamsGroupDescribeRequest {
        group_ids: vec![Str::from(group)],
        include_topology_description: describes_topologies,
        ..Default::default()
    };
    loop {
        let answer = broker.call(0, 1, &asked).await?;
        let Some(described) = answer.groups.into_iter().next() else {
            return Err(Failure::new(FAILED, "the broker left the group out of its answer"));
        };
        match described.error_code {
            ErrorCode::NONE => return Ok((broker, described)),
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS => broker.pause().await?,
            code => return Err(Failure::refused("group", code, described.error_message.as_ref())),
        }
    }
}

/// Partitions, committed offsets and ends of what the group reads, and ends of its changelogs.
async fn inputs(coordinator: &mut Broker, group: &DescribedGroup) -> Result<Inputs, Failure> {
    let topics = show::tasks::followed_topics(group);
    let asked = MetadataRequest {
        topics: Some(topics.iter().map(named).collect()),
        allow_auto_topic_creation: false,
        ..Default::default()
    };
    let metadata = coordinator.call(4, 12, &asked).await?;
    let mut inputs = Inputs::default();
    for topic in &metadata.topics {
        if let Some(name) = topic.name.as_ref().filter(|_| topic.error_code == ErrorCode::NONE) {
            let count = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
            inputs.partitions.insert(name.to_string(), count);
        }
    }
    committed(coordinator, group, &mut inputs).await?;
    for (leader, topics) in by_leader(&metadata) {
        let Some(leader) = metadata.brokers.iter().find(|it| it.node_id == leader) else { continue };
        let mut leader = coordinator.other(&leader.host.to_str(), leader.port).await?;
        let asked = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
        for topic in leader.call(1, 7, &asked).await?.topics {
            for it in topic.partitions.iter().filter(|it| it.error_code == ErrorCode::NONE) {
                inputs.ends.insert((topic.name.to_string(), it.partition_index), it.offset);
            }
        }
    }
    Ok(inputs)
}

/// What members were told to give up and have not, where the broker tells.
async fn pending(
    coordinator: &mut Broker,
    group: &DescribedGroup,
) -> Result<Option<BTreeMap<Str, Tasks>>, Failure> {
    if coordinator.version::<ExplainGroupRequest>(0, 0).is_none() {
        return Ok(None);
    }
    let answer = explain(coordinator, &question(&group.group_id.to_str(), true, -1, 0)).await?;
    Ok(Some(answer.members.into_iter().map(|it| (it.member_id, it.pending)).collect()))
}

fn named(topic: &Str) -> MetadataRequestTopic {
    MetadataRequestTopic { name: Some(topic.clone()), ..Default::default() }
}

async fn committed(
    coordinator: &mut Broker,
    group: &DescribedGroup,
    inputs: &mut Inputs,
) -> Result<(), Failure> {
    let one =
        OffsetFetchRequestGroup { group_id: group.group_id.clone(), topics: None, ..Default::default() };
    let asked = OffsetFetchRequest { groups: vec![one], ..Default::default() };
    let answer = coordinator.call(8, 9, &asked).await?;
    for answer in answer.groups {
        if answer.error_code != ErrorCode::NONE {
            return Err(Failure::refused("offsets", answer.error_code, None));
        }
        for topic in answer.topics {
            for it in topic.partitions.iter().filter(|it| it.committed_offset >= 0) {
                let place = (topic.name.to_string(), it.partition_index);
                inputs.committed.insert(place, it.committed_offset);
            }
        }
    }
    Ok(())
}

/// What to ask each leader.
fn by_leader(metadata: &MetadataResponse) -> BTreeMap<i32, Vec<ListOffsetsTopic>> {
    let mut leaders: BTreeMap<i32, Vec<ListOffsetsTopic>> = BTreeMap::new();
    for topic in &metadata.topics {
        let Some(name) = &topic.name else { continue };
        let mut partitions: BTreeMap<i32, Vec<ListOffsetsPartition>> = BTreeMap::new();
        for it in &topic.partitions {
            partitions.entry(it.leader_id).or_default().push(ListOffsetsPartition {
                partition_index: it.partition_index,
                timestamp: LATEST,
                ..Default::default()
            });
        }
        for (leader, partitions) in partitions {
            let topic = ListOffsetsTopic { name: name.clone(), partitions, ..Default::default() };
            leaders.entry(leader).or_default().push(topic);
        }
    }
    leaders
}
