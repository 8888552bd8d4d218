//! `thalweg txn`: list, describe, abort, hanging; what `kafka-transactions.sh` does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use client::Broker;
use wire::describe_producers::request::TopicRequest;
use wire::describe_producers::response::ProducerState;
use wire::describe_transactions::response::TransactionState;
use wire::metadata::request::MetadataRequestTopic;
use wire::write_txn_markers::request::{WritableTxnMarker, WritableTxnMarkerTopic};
use wire::{
    DescribeProducersRequest, DescribeTransactionsRequest, ErrorCode, ListTransactionsRequest,
    MetadataRequest, MetadataResponse, Str, WriteTxnMarkersRequest,
};

use super::{FAILED, Failure, NOT_FOUND, Output, Target, print, show};

/// States in which the coordinator knows what becomes of a transaction.
const CARED_FOR: [&str; 3] = ["Ongoing", "PrepareCommit", "PrepareAbort"];

/// Transactions of producers.
#[derive(Debug, Subcommand)]
pub(crate) enum Txn {
    /// All transactional ids that coordinators know.
    List(List),
    /// One transactional id: its producer, its transaction and the partitions in it.
    Describe(Describe),
    /// Transactions that partitions hold open and no coordinator knows of.
    Hanging(Hanging),
    /// Ends a transaction that hangs on a partition. Its records are not seen by readers of committed records.
    Abort(Abort),
}

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    target: Target,
    /// Transactions in these states only, for example Ongoing.
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<String>,
    /// Transactions of these producers only.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    producer_id: Vec<i64>,
    /// Transactions only that began longer ago, ended ones among them.
    #[arg(long, value_name = "SECONDS")]
    longer_than: Option<u32>,
    /// Transactional ids only that this regular expression (RE2) matches as a whole.
    #[arg(long, value_name = "REGEX")]
    pattern: Option<String>,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Describe {
    /// The transactional id.
    transactional_id: String,
    #[command(flatten)]
    target: Target,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Hanging {
    #[command(flatten)]
    target: Target,
    /// Partitions of this topic only.
    #[arg(long, value_name = "NAME")]
    topic: Option<String>,
    /// How long a transaction may be silent before it is looked at: the broker's transaction.max.timeout.ms.
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    silent_for: u32,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Abort {
    topic: String,
    partition: i32,
    /// First offset of the transaction, as `hanging` tells it.
    #[arg(long, value_name = "OFFSET")]
    start_offset: i64,
    /// Also if a coordinator would end it: a commit of its producer that comes later is answered as done, and is not.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    target: Target,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    output: Output,
}

pub(crate) async fn run(command: Txn) -> Result<(), Failure> {
    match command {
        Txn::List(it) => list(&it).await,
        Txn::Describe(it) => describe(&it).await,
        Txn::Hanging(it) => hanging(&it).await,
        Txn::Abort(it) => abort(&it).await,
    }
}

async fn list(arguments: &List) -> Result<(), Failure> {
    let mut broker = arguments.target.broker().await?;
    let asked = ListTransactionsRequest {
        state_filters: arguments.state.iter().map(Str::from).collect(),
        producer_id_filters: arguments.producer_id.clone(),
        duration_filter: arguments.longer_than.map_or(-1, |seconds| i64::from(seconds) * 1000),
        transactional_id_pattern: arguments.pattern.as_deref().map(Str::from),
        ..Default::default()
    };
    let listed = list_all(&mut broker, &asked).await?;
    match arguments.output {
        Output::Text => print(&show::txn::list_text(&listed))?,
        Output::Json => print(&show::txn::list_json(&listed).to_string())?,
    };
    Ok(())
}

/// Each broker knows the transactional ids that it coordinates.
async fn list_all(
    broker: &mut Broker,
    asked: &ListTransactionsRequest,
) -> Result<Vec<show::txn::Listed>, Failure> {
    // The filters came with these versions.
    let min = match (&asked.transactional_id_pattern, asked.duration_filter) {
        (Some(_), _) => 2,
        (None, 0..) => 1,
        (None, _) => 0,
    };
    let mut all = Vec::new();
    for one in &metadata(broker, Some(Vec::new())).await?.brokers {
        let mut coordinator = broker.other(&one.host.to_str(), one.port).await?;
        let answer = loop {
            let answer = coordinator.call(min, 2, asked).await?;
            if answer.error_code != ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
                break answer;
            }
            coordinator.pause().await?;
        };
        if answer.error_code != ErrorCode::NONE {
            return Err(Failure::refused("transactions", answer.error_code, None));
        }
        if let Some(state) = answer.unknown_state_filters.first() {
            return Err(Failure::new(FAILED, format_args!("there is no state {state}")));
        }
        let listed = |state| show::txn::Listed { coordinator: one.node_id, state };
        all.extend(answer.transaction_states.into_iter().map(listed));
    }
    all.sort_by(|a, b| a.state.transactional_id.cmp(&b.state.transactional_id));
    Ok(all)
}

async fn metadata(broker: &mut Broker, topics: Option<Vec<Str>>) -> Result<MetadataResponse, Failure> {
    let topic = |name| MetadataRequestTopic { name: Some(name), ..Default::default() };
    let topics = topics.map(|names| names.into_iter().map(topic).collect());
    let asked = MetadataRequest { topics, allow_auto_topic_creation: false, ..Default::default() };
    Ok(broker.call(4, 12, &asked).await?)
}

async fn describe(arguments: &Describe) -> Result<(), Failure> {
    let mut broker = arguments.target.broker().await?;
    let state = describe_one(&mut broker, &arguments.transactional_id).await?;
    match state.error_code {
        ErrorCode::NONE => {}
        code => return Err(Failure::refused("transactional id", code, None)),
    }
    match arguments.output {
        Output::Text => print(&show::txn::describe_text(&state, now()))?,
        Output::Json => print(&show::txn::describe_json(&state).to_string())?,
    };
    Ok(())
}

/// Asks again while the coordinator loads.
async fn describe_one(broker: &mut Broker, transactional_id: &str) -> Result<TransactionState, Failure> {
    let mut coordinator = broker.transaction_coordinator(transactional_id).await?;
    let asked = DescribeTransactionsRequest {
        transactional_ids: vec![Str::from(transactional_id)],
        ..Default::default()
    };
    loop {
        let answer = coordinator.call(0, 0, &asked).await?;
        let state = answer.transaction_states.into_iter().next();
        let state = state.ok_or_else(|| Failure::new(FAILED, "the coordinator said nothing"))?;
        if state.error_code != ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
            return Ok(state);
        }
        coordinator.pause().await?;
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A transaction is looked at if its partition did not hear of its producer for long. It hangs if its transactional id
/// does not have the partition in an open transaction of this producer: then nobody will ever end it.
async fn hanging(arguments: &Hanging) -> Result<(), Failure> {
    let mut broker = arguments.target.broker().await?;
    let names = arguments.topic.as_deref().map(|name| vec![Str::from(name)]);
    let metadata = metadata(&mut broker, names).await?;
    let latest = now() - i64::from(arguments.silent_for) * 1000;
    let mut suspects = open_transactions(&mut broker, &metadata).await?;
    suspects.retain(|it| it.producer.last_timestamp < latest);
    let cared_for = cared_for(&mut broker, &suspects).await?;
    suspects.retain(|it| !cared_for.contains(&it.key()));
    match arguments.output {
        Output::Text => print(&show::txn::hanging_text(&suspects, now()))?,
        Output::Json => print(&show::txn::hanging_json(&suspects).to_string())?,
    };
    Ok(())
}

/// Every open transaction of every partition, asked of the partition's leader.
async fn open_transactions(
    broker: &mut Broker,
    metadata: &MetadataResponse,
) -> Result<Vec<show::txn::Open>, Failure> {
    let mut by_leader: BTreeMap<i32, Vec<TopicRequest>> = BTreeMap::new();
    for topic in &metadata.topics {
        if topic.error_code != ErrorCode::NONE {
            let name = topic.name.clone().unwrap_or_default();
            return Err(Failure::refused(&name.to_str(), topic.error_code, None));
        }
        for partition in topic.partitions.iter().filter(|it| it.leader_id >= 0) {
            let asked = by_leader.entry(partition.leader_id).or_default();
            let name = topic.name.clone().unwrap_or_default();
            match asked.last_mut().filter(|it| it.name == name) {
                Some(last) => last.partition_indexes.push(partition.partition_index),
                None => asked.push(TopicRequest {
                    name,
                    partition_indexes: vec![partition.partition_index],
                    ..Default::default()
                }),
            }
        }
    }
    let mut open = Vec::new();
    for (leader, topics) in by_leader {
        let Some(node) = metadata.brokers.iter().find(|it| it.node_id == leader) else { continue };
        let mut leader = broker.other(&node.host.to_str(), node.port).await?;
        let asked = DescribeProducersRequest { topics, ..Default::default() };
        for topic in leader.call(0, 0, &asked).await?.topics {
            for partition in topic.partitions {
                if partition.error_code != ErrorCode::NONE {
                    let place = format!("{}-{}", topic.name, partition.partition_index);
                    return Err(Failure::refused(
                        &place,
                        partition.error_code,
                        partition.error_message.as_ref(),
                    ));
                }
                let producers = partition.active_producers.into_iter();
                let with_transaction = producers.filter(|it| it.current_txn_start_offset >= 0);
                open.extend(with_transaction.map(|producer| show::txn::Open {
                    topic: topic.name.clone(),
                    partition: partition.partition_index,
                    producer,
                }));
            }
        }
    }
    open.sort_by_key(show::txn::Open::key);
    Ok(open)
}

/// The partitions, with producers, that are in a transaction that a coordinator will end.
async fn cared_for(
    broker: &mut Broker,
    suspects: &[show::txn::Open],
) -> Result<BTreeSet<(Str, i32, i64)>, Failure> {
    let mut cared_for = BTreeSet::new();
    let producers: BTreeSet<i64> = suspects.iter().map(|it| it.producer.producer_id).collect();
    if producers.is_empty() {
        return Ok(cared_for);
    }
    let asked = ListTransactionsRequest {
        producer_id_filters: producers.into_iter().collect(),
        ..Default::default()
    };
    for listed in list_all(broker, &asked).await? {
        let state = describe_one(broker, &listed.state.transactional_id.to_str()).await?;
        if !CARED_FOR.iter().any(|it| state.transaction_state == **it) {
            continue;
        }
        for topic in &state.topics {
            let place = |index: &i32| (topic.topic.clone(), *index, state.producer_id);
            cared_for.extend(topic.partitions.iter().map(place));
        }
    }
    Ok(cared_for)
}

async fn abort(arguments: &Abort) -> Result<(), Failure> {
    let mut broker = arguments.target.broker().await?;
    let topic = Str::from(&arguments.topic);
    let mut metadata = metadata(&mut broker, Some(vec![topic.clone()])).await?;
    for known in &mut metadata.topics {
        known.partitions.retain(|it| it.partition_index == arguments.partition);
    }
    let leader = metadata.topics.iter().flat_map(|it| &it.partitions).map(|it| it.leader_id).next();
    let open = open_transactions(&mut broker, &metadata).await?;
    let found = open.into_iter().find(|it| it.producer.current_txn_start_offset == arguments.start_offset);
    let (Some(found), Some(leader)) = (found, leader) else {
        let place = format_args!("{topic}-{}", arguments.partition);
        let message = format!("no open transaction of {place} begins at offset {}", arguments.start_offset);
        return Err(Failure::new(NOT_FOUND, message));
    };
    if !arguments.force && cared_for(&mut broker, std::slice::from_ref(&found)).await?.contains(&found.key())
    {
        let message = format!(
            "a coordinator knows the transaction of producer {} and will end it; `thalweg txn list --producer-id {}` \
             says whose it is. With --force it is aborted here, and a commit of it is lost",
            found.producer.producer_id, found.producer.producer_id
        );
        return Err(Failure::new(FAILED, message));
    }
    let node = metadata.brokers.iter().find(|it| it.node_id == leader);
    let node = node.ok_or_else(|| Failure::new(FAILED, "the partition has no leader"))?;
    let mut leader = broker.other(&node.host.to_str(), node.port).await?;
    mark_aborted(&mut leader, &topic, arguments.partition, &found.producer).await?;
    match arguments.output {
        Output::Text => print(&show::txn::aborted_text(&found))?,
        Output::Json => print(&show::txn::hanging_json(&[found]).to_string())?,
    };
    Ok(())
}

/// With the epochs that the partition knows: the marker is refused if anything came in between.
async fn mark_aborted(
    leader: &mut Broker,
    topic: &Str,
    partition: i32,
    producer: &ProducerState,
) -> Result<(), Failure> {
    let asked = WriteTxnMarkersRequest {
        markers: vec![WritableTxnMarker {
            producer_id: producer.producer_id,
            producer_epoch: i16::try_from(producer.producer_epoch).unwrap_or(i16::MAX),
            transaction_result: false,
            topics: vec![WritableTxnMarkerTopic {
                name: topic.clone(),
                partition_indexes: vec![partition],
                ..Default::default()
            }],
            coordinator_epoch: producer.coordinator_epoch.max(0),
            ..Default::default()
        }],
        ..Default::default()
    };
    let answer = leader.call(1, 2, &asked).await?;
    let topics = answer.markers.iter().flat_map(|it| &it.topics);
    let code = topics.flat_map(|it| &it.partitions).map(|it| it.error_code).next();
    match code {
        Some(ErrorCode::NONE) => Ok(()),
        Some(code) => Err(Failure::refused(&format!("{topic}-{partition}"), code, None)),
        None => Err(Failure::new(FAILED, "the leader said nothing")),
    }
}
