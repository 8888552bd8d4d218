//! Answers about transactions that need an odd request or an odd moment, and the table of `docs/design/transactions.md`
//! that says which test reaches which error code of `broker-core.md` 12.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::common::txn::{self, Producer};
use crate::common::{Disk, PATIENCE, TestBroker, soon};
use broker::auth::AllowAll;
use catalog::command::{CreateTopics, NewTopic};
use client::Connection;
use wire::batch::BatchBuilder;
use wire::fetch::request::{FetchPartition, FetchTopic};
use wire::list_offsets::request::{ListOffsetsPartition, ListOffsetsTopic};
use wire::produce::request::{PartitionProduceData, TopicProduceData};
use wire::txn_offset_commit::request::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use wire::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, DescribeTransactionsRequest, EndTxnRequest, ErrorCode,
    FetchRequest, FindCoordinatorRequest, InitProducerIdRequest, ListOffsetsRequest, ListTransactionsRequest,
    ProduceRequest, Records, Str, TxnOffsetCommitRequest,
};

const TOPIC: &str = "t";
static ID: Str = Str::from_static("app-1");
static GROUP: Str = Str::from_static("g");

/// A topic of two partitions, both coordinators, and a producer that has begun nothing.
async fn start(disk: &Disk, settings: &[(&str, &str)]) -> (TestBroker, Connection, (i64, i16)) {
    let few = ("transaction.state.log.num.partitions", "1");
    let settings: Vec<_> = settings.iter().copied().chain([few]).collect();
    let broker = TestBroker::over(disk.clone(), &settings, Arc::new(AllowAll)).await;
    let topics = vec![NewTopic { num_partitions: 2, ..NewTopic::with_defaults(TOPIC) }];
    let command = CreateTopics { topics, validate_only: false };
    broker.broker().catalog.submit(command).await.unwrap()[0].1.as_ref().unwrap();
    let mut connection = broker.connect().await;
    find(&mut connection, 1, &ID).await;
    let answer = soon(connection.call(5, &begin())).await;
    assert_eq!(answer.error_code, ErrorCode::NONE);
    (broker, connection, (answer.producer_id, answer.producer_epoch))
}

async fn find(connection: &mut Connection, key_type: i8, key: &Str) {
    let asked =
        FindCoordinatorRequest { key_type, coordinator_keys: vec![key.clone()], ..Default::default() };
    assert_eq!(soon(connection.call(5, &asked)).await.coordinators[0].error_code, ErrorCode::NONE);
}

fn begin() -> InitProducerIdRequest {
    InitProducerIdRequest {
        transactional_id: Some(ID.clone()),
        transaction_timeout_ms: 60_000,
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    }
}

fn by_client(has: Producer, places: &[(&str, &[i32])]) -> AddPartitionsToTxnRequest {
    txn::add_partitions(&ID.to_str(), has, places)
}

fn by_broker(has: Producer, verify_only: bool, places: &[(&str, &[i32])]) -> AddPartitionsToTxnRequest {
    let transactions = vec![txn::transaction(&ID.to_str(), has, verify_only, places)];
    AddPartitionsToTxnRequest { transactions, ..Default::default() }
}

/// Topics of the answer with their partitions and codes.
async fn added(
    connection: &mut Connection,
    version: i16,
    request: &AddPartitionsToTxnRequest,
) -> Vec<(String, Vec<(i32, ErrorCode)>)> {
    let answer = soon(connection.call(version, request)).await;
    let of_brokers = answer.results_by_transaction.into_iter().flat_map(|it| it.topic_results);
    let topics = answer.results_by_topic_v3_and_below.into_iter().chain(of_brokers);
    let codes = topics.map(|it| {
        let partitions = it.results_by_partition.iter();
        (it.name.to_string(), partitions.map(|it| (it.partition_index, it.partition_error_code)).collect())
    });
    codes.collect()
}

async fn state(connection: &mut Connection) -> String {
    let request = DescribeTransactionsRequest { transactional_ids: vec![ID.clone()], ..Default::default() };
    soon(connection.call(0, &request)).await.transaction_states[0].transaction_state.to_string()
}

fn end(has: Producer) -> EndTxnRequest {
    txn::end_txn(&ID.to_str(), has, true)
}

/// 12.4: one code for all is told in the form of the request; else each topic is there once.
#[tokio::test]
async fn topics_that_are_named_twice_or_without_partitions() {
    use ErrorCode as E;
    let (broker, mut connection, has) = start(&Disk::new(), &[]).await;
    let t = |partitions: &[(i32, ErrorCode)]| (TOPIC.to_owned(), partitions.to_vec());
    // A topic without partitions begins a transaction, and a topic that nobody knows is fine so.
    let nothing = added(&mut connection, 3, &by_client(has, &[(TOPIC, &[]), ("none", &[])])).await;
    assert_eq!(nothing, [t(&[]), ("none".to_owned(), Vec::new())]);
    assert_eq!(state(&mut connection).await, "Ongoing");
    for version in 0..=3 {
        let twice = by_client(has, &[(TOPIC, &[0, 0]), (TOPIC, &[1])]);
        let both = [t(&[(0, E::NONE), (0, E::NONE)]), t(&[(1, E::NONE)])];
        assert_eq!(added(&mut connection, version, &twice).await, both, "v{version}");
        let unknown = by_client(has, &[(TOPIC, &[0, 7]), (TOPIC, &[7])]);
        let once = [t(&[(0, E::OPERATION_NOT_ATTEMPTED), (7, E::UNKNOWN_TOPIC_OR_PARTITION)])];
        assert_eq!(added(&mut connection, version, &unknown).await, once, "v{version}");
        let other = by_client((has.0 + 1, 0), &[(TOPIC, &[0]), (TOPIC, &[0])]);
        let refused = t(&[(0, E::INVALID_PRODUCER_ID_MAPPING)]);
        assert_eq!(added(&mut connection, version, &other).await, [refused.clone(), refused], "v{version}");
    }
    for version in 4..=5 {
        let places: &[(&str, &[i32])] = &[(TOPIC, &[0]), (TOPIC, &[1]), ("none", &[])];
        let add = added(&mut connection, version, &by_broker(has, false, places)).await;
        assert_eq!(add, [t(&[(0, E::NONE)]), t(&[(1, E::NONE)]), ("none".to_owned(), Vec::new())]);
        let verify = added(&mut connection, version, &by_broker(has, true, places)).await;
        assert_eq!(verify, [t(&[(0, E::NONE), (1, E::NONE)])]);
        // Brokers ask for internal topics too, but not before they exist.
        for verify_only in [false, true] {
            let offsets = by_broker(has, verify_only, &[("__consumer_offsets", &[0])]);
            let told = added(&mut connection, version, &offsets).await;
            let unknown = vec![(0, E::UNKNOWN_TOPIC_OR_PARTITION)];
            assert_eq!(told, [("__consumer_offsets".to_owned(), unknown)], "v{version}");
        }
    }
    broker.stop().await;
}

/// Isolation levels that nobody knows: an answer by one of the others would be wrong for somebody.
#[tokio::test]
async fn unknown_isolation_levels_are_refused() {
    let (broker, mut connection, _) = start(&Disk::new(), &[]).await;
    let id = broker.broker().catalog.image().topic(TOPIC).unwrap().id;
    let refused = ErrorCode::INVALID_REQUEST;
    for (isolation_level, known) in [(0, true), (1, true), (2, false), (i8::MAX, false), (-1, false)] {
        let expected = if known { ErrorCode::NONE } else { refused };
        for version in [4, 6, 7, 12, 13, 18] {
            let partition = FetchPartition { partition_max_bytes: 1_000, ..Default::default() };
            let mut topic = FetchTopic { partitions: vec![partition], ..Default::default() };
            match version {
                ..13 => topic.topic = Str::from(TOPIC),
                13.. => topic.topic_id = id,
            }
            let request =
                FetchRequest { isolation_level, topics: vec![topic], max_bytes: 1_000, ..Default::default() };
            let answer = soon(connection.call(version, &request)).await;
            assert_eq!(answer.error_code, if version < 7 { ErrorCode::NONE } else { expected }, "v{version}");
            let parts: Vec<_> = answer.responses.iter().flat_map(|it| &it.partitions).collect();
            let ends: Vec<_> = parts.iter().map(|it| (it.error_code, it.high_watermark)).collect();
            let told = match (known, version) {
                (true, _) => vec![(ErrorCode::NONE, 0)],
                (false, ..13) => vec![(refused, -1)],
                (false, 13..) => Vec::new(),
            };
            assert_eq!(ends, told, "isolation {isolation_level}, v{version}");
        }
        let partition = ListOffsetsPartition { timestamp: -1, ..Default::default() };
        let topic =
            ListOffsetsTopic { name: Str::from(TOPIC), partitions: vec![partition], ..Default::default() };
        let request = ListOffsetsRequest { isolation_level, topics: vec![topic], ..Default::default() };
        for version in [2, 7, 11] {
            let answer = soon(connection.call(version, &request)).await;
            assert_eq!(answer.topics[0].partitions[0].error_code, expected, "v{version}");
        }
    }
    broker.stop().await;
}

fn produce(has: (i64, i16), partition: i32) -> ProduceRequest {
    let records = BatchBuilder::new().producer(has.0, has.1, 0).transactional();
    let records = records.timestamp(1_000).push(None, Some(b"v")).build();
    let part = PartitionProduceData {
        index: partition,
        records: Some(Records::from(records)),
        ..Default::default()
    };
    let topic = TopicProduceData { name: Str::from(TOPIC), partition_data: vec![part], ..Default::default() };
    ProduceRequest {
        transactional_id: Some(ID.clone()),
        acks: -1,
        timeout_ms: 10_000,
        topic_data: vec![topic],
        ..Default::default()
    }
}

/// A producer by `transaction.version` 2 goes on while the markers of its last transaction are written. It waits for their
/// end, and not for a pause to pass.
#[tokio::test]
async fn the_next_transaction_begins_when_the_last_one_has_its_markers() {
    let pause = "add.partitions.to.txn.retry.backoff.ms";
    let patience = "add.partitions.to.txn.retry.backoff.max.ms";
    let (broker, mut connection, mut has) =
        start(&Disk::new(), &[(pause, "60000"), (patience, "60000")]).await;
    let begun = Instant::now();
    for round in 0..40 {
        // Both at once, so that the records come while markers are out.
        connection.send(12, &produce(has, 0)).await.unwrap();
        let answer = soon(connection.receive::<ProduceRequest>(12)).await;
        assert_eq!(answer.responses[0].partition_responses[0].error_code, ErrorCode::NONE, "{round}");
        connection.send(5, &end(has)).await.unwrap();
        has.1 += 1;
        connection.send(12, &produce(has, 1)).await.unwrap();
        let ended = soon(connection.receive::<EndTxnRequest>(5)).await;
        assert_eq!((ended.error_code, ended.producer_epoch), (ErrorCode::NONE, has.1));
        let answer = soon(connection.receive::<ProduceRequest>(12)).await;
        assert_eq!(answer.responses[0].partition_responses[0].error_code, ErrorCode::NONE, "{round}");
        let ended = soon(connection.call(5, &end(has))).await;
        assert_eq!(ended.error_code, ErrorCode::NONE);
        has.1 += 1;
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
    broker.stop().await;
}

fn commit_offsets(has: (i64, i16)) -> TxnOffsetCommitRequest {
    let partition = TxnOffsetCommitRequestPartition { committed_offset: 1, ..Default::default() };
    let topic = TxnOffsetCommitRequestTopic {
        name: Str::from(TOPIC),
        partitions: vec![partition],
        ..Default::default()
    };
    TxnOffsetCommitRequest {
        transactional_id: ID.clone(),
        group_id: GROUP.clone(),
        producer_id: has.0,
        producer_epoch: has.1,
        generation_id_or_member_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    }
}

/// What each API says while the coordinator of the transactional id is loaded (12.2, 12.7 rule 6, 9.5).
#[tokio::test]
async fn while_its_coordinator_loads_everybody_is_asked_to_come_back() {
    let disk = Disk::new();
    let (broker, mut connection, has) = start(&disk, &[]).await;
    find(&mut connection, 0, &GROUP).await;
    let loading = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
    let all = [
        loading,
        loading,
        loading,
        loading,
        loading,
        loading,
        loading,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        loading,
        ErrorCode::NOT_ENOUGH_REPLICAS,
    ];
    let heard = async {
        loop {
            // An append that is refused costs a load, which waits a little.
            disk.full.store(true, Ordering::SeqCst);
            while soon(connection.call(5, &begin())).await.error_code != ErrorCode::NOT_COORDINATOR {}
            let heard = ask_all(&mut connection, has).await;
            disk.full.store(false, Ordering::SeqCst);
            // One that comes when the load is over is answered otherwise: the machine is busy, once more.
            if heard == all {
                return;
            }
            let others: Vec<_> = heard.iter().zip(&all).filter(|(it, all)| it != all).collect();
            assert!(heard[0] == loading || others.len() < 11, "{others:?}");
        }
    };
    tokio::time::timeout(PATIENCE, heard).await.expect("it is not seen loading");
    broker.stop().await;
}

async fn ask_all(connection: &mut Connection, has: (i64, i16)) -> Vec<ErrorCode> {
    let begun = soon(connection.call(5, &begin())).await.error_code;
    let mut heard = vec![begun];
    let places: &[(&str, &[i32])] = &[(TOPIC, &[0])];
    heard.push(added(connection, 3, &by_client(has, places)).await[0].1[0].1);
    heard.push(added(connection, 5, &by_broker(has, true, places)).await[0].1[0].1);
    let offsets = AddOffsetsToTxnRequest {
        transactional_id: ID.clone(),
        producer_id: has.0,
        producer_epoch: has.1,
        group_id: GROUP.clone(),
        ..Default::default()
    };
    heard.push(soon(connection.call(4, &offsets)).await.error_code);
    heard.push(soon(connection.call(5, &end(has))).await.error_code);
    let described = DescribeTransactionsRequest { transactional_ids: vec![ID.clone()], ..Default::default() };
    heard.push(soon(connection.call(0, &described)).await.transaction_states[0].error_code);
    heard.push(soon(connection.call(2, &ListTransactionsRequest::default())).await.error_code);
    for version in [0, 1, 5] {
        let answer = soon(connection.call(version, &commit_offsets(has))).await;
        heard.push(answer.topics[0].partitions[0].error_code);
    }
    let answer = soon(connection.call(12, &produce(has, 0))).await;
    heard.push(answer.responses[0].partition_responses[0].error_code);
    heard
}

/// Each row of the tables says where a test is, and what it must name: a code, or the number of a trap.
#[test]
fn the_tables_name_tests_that_are_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/design/transactions.md")).unwrap();
    let (_, tables) = page.split_once("## Which test reaches what").unwrap();
    let rows = tables.lines().filter_map(|it| it.strip_prefix("| ")?.strip_suffix(" |"));
    let mut codes = 0;
    for row in rows {
        let cells: Vec<_> = row.split(" | ").collect();
        let (what, tests) = (cells[0].trim_matches('`'), cells[cells.len() - 1]);
        let is_trap = what.chars().all(|it| it.is_ascii_digit());
        let is_code = what.chars().all(|it| it.is_ascii_uppercase() || it == '_');
        for test in tests.split(", ").filter(|_| is_trap || is_code) {
            let test = test.trim_matches('`');
            let (file, name) = test.split_once("::").unwrap_or((test, ""));
            let text = std::fs::read_to_string(root.join("crates").join(file));
            let text = text.unwrap_or_else(|problem| panic!("{file}: {problem}"));
            assert!(text.contains(name), "{file} has no {name}, which is to reach {what}");
            let told = if is_trap { names_trap(&text, what) } else { text.contains(what) };
            assert!(told, "{file} does not name {what}");
        }
        codes += usize::from(is_code);
    }
    assert!(codes >= 30, "{codes} codes are found");
}

/// In a line with the word.
fn names_trap(text: &str, number: &str) -> bool {
    let lines = text.lines().filter_map(|it| it.to_lowercase().split_once("trap").map(|it| it.1.to_owned()));
    lines.into_iter().any(|it| it.split(|it: char| !it.is_ascii_digit()).any(|it| it == number))
}
