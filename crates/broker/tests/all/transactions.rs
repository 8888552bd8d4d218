//! The transaction coordinator through a socket: each error code of `broker-core.md` 12, the forms of each version, and
//! what holds after a restart. The rules of the states stand in the coordinator's scripts.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::txn::{Producer, add_partitions, end_txn, transaction};
use crate::common::{Disk, TestBroker, soon};
use broker::Broker;
use broker::auth::{AllowAll, Authorizer, Operation, Resource};
use catalog::command::{CreateTopics, DeleteTopics, NewTopic, TopicRef};
use client::Connection;
use coordinator::Caller;
use wire::add_partitions_to_txn::request::AddPartitionsToTxnTransaction;
use wire::describe_transactions::response::TransactionState;
use wire::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, DescribeTransactionsRequest, EndTxnResponse,
    ErrorCode, FindCoordinatorRequest, InitProducerIdRequest, ListTransactionsRequest,
    ListTransactionsResponse, Str,
};

const TOPIC: &str = "t";
const ID: &str = "app-1";
const SETTINGS: &[(&str, &str)] = &[("transaction.state.log.num.partitions", "3")];

async fn create(broker: &Broker, partitions: i32) {
    let topic = NewTopic { num_partitions: partitions, ..NewTopic::with_defaults(TOPIC) };
    let command = CreateTopics { topics: vec![topic], validate_only: false };
    broker.catalog.submit(command).await.unwrap()[0].1.as_ref().unwrap();
}

/// A broker with one topic and a coordinator of transactions, and a connection to it.
async fn start() -> (TestBroker, Connection) {
    start_for(Arc::new(AllowAll)).await
}

async fn start_for(authorizer: Arc<dyn Authorizer>) -> (TestBroker, Connection) {
    let broker = TestBroker::over(Disk::new(), SETTINGS, authorizer).await;
    create(broker.broker(), 2).await;
    let mut connection = broker.connect().await;
    find(&mut connection, ID).await;
    (broker, connection)
}

/// Denies an operation on what the function picks.
struct DenyOn(Operation, fn(&Resource<'_>) -> bool);

impl Authorizer for DenyOn {
    fn allow(&self, _caller: &Caller, operation: Operation, resource: Resource<'_>) -> bool {
        operation != self.0 || !self.1(&resource)
    }
}

async fn find(connection: &mut Connection, id: &str) -> ErrorCode {
    let keys = vec![Str::from(id)];
    let asked = FindCoordinatorRequest { key_type: 1, coordinator_keys: keys, ..Default::default() };
    soon(connection.call(5, &asked)).await.coordinators[0].error_code
}

fn init_request(id: Option<&str>, timeout: i32, expected: (i64, i16)) -> InitProducerIdRequest {
    InitProducerIdRequest {
        transactional_id: id.map(Str::from),
        transaction_timeout_ms: timeout,
        producer_id: expected.0,
        producer_epoch: expected.1,
        ..Default::default()
    }
}

async fn init(
    connection: &mut Connection,
    version: i16,
    request: &InitProducerIdRequest,
) -> (ErrorCode, i64, i16) {
    let answer = soon(connection.call(version, request)).await;
    (answer.error_code, answer.producer_id, answer.producer_epoch)
}

/// A producer that begins.
async fn begin(connection: &mut Connection, id: &str) -> (i64, i16) {
    let (code, producer_id, epoch) = init(connection, 5, &init_request(Some(id), 60_000, (-1, -1))).await;
    assert_eq!(code, ErrorCode::NONE);
    (producer_id, epoch)
}

/// Of versions 0 to 3: a code for each partition, in the order of the answer.
async fn add(
    connection: &mut Connection,
    version: i16,
    has: Producer,
    places: &[(&str, &[i32])],
) -> Vec<ErrorCode> {
    add_of(connection, version, ID, has, places).await
}

async fn add_of(
    connection: &mut Connection,
    version: i16,
    id: &str,
    has: Producer,
    places: &[(&str, &[i32])],
) -> Vec<ErrorCode> {
    let request = add_partitions(id, has, places);
    let answer = soon(connection.call(version, &request)).await;
    let results = answer.results_by_topic_v3_and_below.iter();
    results.flat_map(|it| &it.results_by_partition).map(|it| it.partition_error_code).collect()
}

/// Of versions 4 and 5: the code of the answer, and a code for each partition.
async fn add_many(
    connection: &mut Connection,
    version: i16,
    transactions: Vec<AddPartitionsToTxnTransaction>,
) -> (ErrorCode, Vec<ErrorCode>) {
    let request = AddPartitionsToTxnRequest { transactions, ..Default::default() };
    let answer = soon(connection.call(version, &request)).await;
    let results = answer.results_by_transaction.iter().flat_map(|it| &it.topic_results);
    let codes = results.flat_map(|it| &it.results_by_partition).map(|it| it.partition_error_code);
    (answer.error_code, codes.collect())
}

async fn end(connection: &mut Connection, version: i16, has: (i64, i16), committed: bool) -> EndTxnResponse {
    soon(connection.call(version, &end_txn(ID, has, committed))).await
}

async fn describe(connection: &mut Connection, ids: &[&str]) -> Vec<TransactionState> {
    let transactional_ids = ids.iter().map(|it| Str::from(*it)).collect();
    let request = DescribeTransactionsRequest { transactional_ids, ..Default::default() };
    soon(connection.call(0, &request)).await.transaction_states
}

/// Waits until the transaction of `ID` is in this state.
async fn until(connection: &mut Connection, state: &str) -> TransactionState {
    let reached = async {
        loop {
            let described = describe(connection, &[ID]).await.remove(0);
            if described.transaction_state == *state {
                return described;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(crate::common::PATIENCE, reached).await.expect("the state is not reached")
}

/// FindCoordinator with key type 1 makes the topic, the way Kafka does (12.2).
#[tokio::test]
async fn the_coordinator_of_a_transactional_id_is_found() {
    let broker = TestBroker::with(SETTINGS).await;
    let mut connection = broker.connect().await;
    for version in 1..=3 {
        let asked = FindCoordinatorRequest { key: Str::from(ID), key_type: 1, ..Default::default() };
        let answer = soon(connection.call(version, &asked)).await;
        assert_eq!((answer.error_code, answer.node_id), (ErrorCode::NONE, 1));
    }
    assert_eq!(find(&mut connection, ID).await, ErrorCode::NONE);
    let image = broker.broker().catalog.image();
    let topic = image.topic("__transaction_state").unwrap();
    assert_eq!((topic.partitions.len(), topic.internal), (3, true));
    let expected = [
        ("cleanup.policy", "compact"),
        ("compression.type", "uncompressed"),
        ("min.insync.replicas", "1"),
        ("segment.bytes", "104857600"),
        ("unclean.leader.election.enable", "false"),
    ];
    let configs: Vec<_> = topic.configs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(configs, expected);
    broker.stop().await;

    let broker = TestBroker::denying(Operation::Describe).await;
    let mut connection = broker.connect().await;
    assert_eq!(find(&mut connection, ID).await, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    assert!(broker.broker().catalog.image().topic("__transaction_state").is_none());
    broker.stop().await;
}

/// 12.3, checks 1 and 4 to 10; trap 27.
#[tokio::test]
async fn init_producer_id_is_checked_in_order() {
    let broker = TestBroker::with(SETTINGS).await;
    let mut connection = broker.connect().await;
    let bad = [
        (Some(ID), 60_000, (5, -1), ErrorCode::INVALID_REQUEST),
        (Some(ID), 60_000, (-1, 5), ErrorCode::INVALID_REQUEST),
        (Some(""), 60_000, (-1, -1), ErrorCode::INVALID_REQUEST),
        (Some(ID), 0, (-1, -1), ErrorCode::INVALID_TRANSACTION_TIMEOUT),
        (Some(ID), -1, (-1, -1), ErrorCode::INVALID_TRANSACTION_TIMEOUT),
        (Some(ID), 900_001, (-1, -1), ErrorCode::INVALID_TRANSACTION_TIMEOUT),
        // The topic does not exist, because nobody asked for a coordinator.
        (Some(ID), 900_000, (-1, -1), ErrorCode::NOT_COORDINATOR),
    ];
    for (id, timeout, expected, code) in bad {
        let answer = init(&mut connection, 5, &init_request(id, timeout, expected)).await;
        assert_eq!(answer, (code, -1, -1), "{id:?} {timeout} {expected:?}");
    }
    find(&mut connection, ID).await;
    assert_eq!(begin(&mut connection, ID).await.1, 0);
    assert_eq!(begin(&mut connection, ID).await.1, 1);
    broker.stop().await;

    let deny = DenyOn(Operation::Write, |it| matches!(it, Resource::TransactionalId(_)));
    let (broker, mut connection) = start_for(Arc::new(deny)).await;
    let denied = init(&mut connection, 5, &init_request(Some(ID), 0, (5, -1))).await;
    assert_eq!(denied, (ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1, -1));
    broker.stop().await;
}

/// 12.3: fenced producers are told in the words that their version knows.
#[tokio::test]
async fn a_fenced_producer_is_told_by_version() {
    let (broker, mut connection) = start().await;
    let (id, epoch) = begin(&mut connection, ID).await;
    begin(&mut connection, ID).await;
    for (version, code) in [
        (3, ErrorCode::INVALID_PRODUCER_EPOCH),
        (4, ErrorCode::PRODUCER_FENCED),
        (5, ErrorCode::PRODUCER_FENCED),
    ] {
        let stale = init_request(Some(ID), 60_000, (id, epoch));
        assert_eq!(init(&mut connection, version, &stale).await, (code, -1, -1));
    }
    for (version, code) in [
        (0, ErrorCode::INVALID_PRODUCER_EPOCH),
        (1, ErrorCode::INVALID_PRODUCER_EPOCH),
        (2, ErrorCode::PRODUCER_FENCED),
        (3, ErrorCode::PRODUCER_FENCED),
    ] {
        assert_eq!(add(&mut connection, version, (id, epoch), &[(TOPIC, &[0])]).await, [code]);
    }
    for (version, code) in [(0, ErrorCode::INVALID_PRODUCER_EPOCH), (1, ErrorCode::INVALID_PRODUCER_EPOCH)]
        .into_iter()
        .chain((2..=5).map(|version| (version, ErrorCode::PRODUCER_FENCED)))
    {
        let answer = end(&mut connection, version, (id, epoch), true).await;
        assert_eq!((answer.error_code, answer.producer_id, answer.producer_epoch), (code, -1, -1));
    }
    for (version, code) in [(0, ErrorCode::INVALID_PRODUCER_EPOCH), (1, ErrorCode::INVALID_PRODUCER_EPOCH)]
        .into_iter()
        .chain((2..=4).map(|version| (version, ErrorCode::PRODUCER_FENCED)))
    {
        assert_eq!(add_offsets(&mut connection, version, ID, (id, epoch)).await, code);
    }
    broker.stop().await;
}

async fn add_offsets(connection: &mut Connection, version: i16, id: &str, has: (i64, i16)) -> ErrorCode {
    let request = AddOffsetsToTxnRequest {
        transactional_id: Str::from(id),
        producer_id: has.0,
        producer_epoch: has.1,
        group_id: Str::from("g"),
        ..Default::default()
    };
    soon(connection.call(version, &request)).await.error_code
}

/// 12.4: if one partition fails, none is added.
#[tokio::test]
async fn partitions_are_added_all_or_none() {
    let (broker, mut connection) = start().await;
    let has = begin(&mut connection, ID).await;
    let places: &[(&str, &[i32])] = &[(TOPIC, &[0, 2]), ("__consumer_offsets", &[0]), ("nope", &[0])];
    let codes = add(&mut connection, 3, has, places).await;
    let expected = [
        ErrorCode::OPERATION_NOT_ATTEMPTED,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    ];
    assert_eq!(codes, expected);
    assert_eq!(describe(&mut connection, &[ID]).await[0].transaction_state, *"Empty");

    // A partition that is named twice is answered twice, as in Kafka, and a topic once.
    for version in 0..=3 {
        let codes = add(&mut connection, version, has, &[(TOPIC, &[0, 0]), (TOPIC, &[1])]).await;
        assert_eq!(codes, [ErrorCode::NONE; 3]);
    }
    assert_eq!(
        add(&mut connection, 3, (has.0 + 1, 0), &[(TOPIC, &[0])]).await,
        [ErrorCode::INVALID_PRODUCER_ID_MAPPING]
    );
    let unknown = add_of(&mut connection, 3, "nobody", has, &[(TOPIC, &[0])]).await;
    assert_eq!(unknown, [ErrorCode::INVALID_PRODUCER_ID_MAPPING]);
    assert_eq!(add_of(&mut connection, 3, "", has, &[(TOPIC, &[0])]).await, [ErrorCode::INVALID_REQUEST]);
    let described = describe(&mut connection, &[ID]).await.remove(0);
    assert_eq!(
        (described.transaction_state, described.topics[0].partitions.clone()),
        (Str::from("Ongoing"), vec![0, 1])
    );
    broker.stop().await;

    let deny = DenyOn(Operation::Write, |it| *it == Resource::Topic(b"t"));
    let (broker, mut connection) = start_for(Arc::new(deny)).await;
    let has = begin(&mut connection, ID).await;
    assert_eq!(add(&mut connection, 3, has, &[(TOPIC, &[0])]).await, [ErrorCode::TOPIC_AUTHORIZATION_FAILED]);
    // Brokers need no right to the topic.
    let asked = add_many(&mut connection, 4, vec![transaction(ID, has, false, &[(TOPIC, &[0])])]).await;
    assert_eq!(asked, (ErrorCode::NONE, vec![ErrorCode::NONE]));
    broker.stop().await;

    let deny = DenyOn(Operation::Write, |it| matches!(it, Resource::TransactionalId(_)));
    let (broker, mut connection) = start_for(Arc::new(deny)).await;
    let denied = ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    assert_eq!(add(&mut connection, 3, (1, 0), &[(TOPIC, &[0, 7])]).await, [denied; 2]);
    assert_eq!(add_offsets(&mut connection, 4, ID, (1, 0)).await, denied);
    let answer = end(&mut connection, 5, (1, 0), true).await;
    assert_eq!((answer.error_code, answer.producer_id, answer.producer_epoch), (denied, -1, -1));
    broker.stop().await;
}

/// 12.4 from version 4 on, as the leaders of partitions ask (KIP-890).
#[tokio::test]
async fn brokers_verify_and_add_for_many_transactions() {
    let (broker, mut connection) = start().await;
    let has = begin(&mut connection, ID).await;
    assert_eq!(add(&mut connection, 3, has, &[(TOPIC, &[0])]).await, [ErrorCode::NONE]);
    let other = begin(&mut connection, "other").await;
    for version in 4..=5 {
        let asked = vec![
            transaction(ID, has, true, &[(TOPIC, &[0, 1])]),
            transaction("other", other, false, &[(TOPIC, &[1])]),
            transaction("nobody", (0, 0), true, &[(TOPIC, &[0])]),
            transaction("", (0, 0), true, &[(TOPIC, &[0])]),
            transaction(ID, (has.0, 7), true, &[(TOPIC, &[0])]),
            transaction(ID, (has.0 + 9, 0), true, &[(TOPIC, &[0])]),
            transaction("other", other, true, &[(TOPIC, &[1, 9])]),
        ];
        let (code, codes) = add_many(&mut connection, version, asked).await;
        assert_eq!(code, ErrorCode::NONE);
        let expected = [
            ErrorCode::NONE,
            ErrorCode::TRANSACTION_ABORTABLE,
            ErrorCode::NONE,
            ErrorCode::INVALID_PRODUCER_ID_MAPPING,
            ErrorCode::INVALID_REQUEST,
            ErrorCode::PRODUCER_FENCED,
            ErrorCode::INVALID_PRODUCER_ID_MAPPING,
            ErrorCode::OPERATION_NOT_ATTEMPTED,
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ];
        assert_eq!(codes, expected, "v{version}");
        assert_eq!(add_many(&mut connection, version, Vec::new()).await, (ErrorCode::NONE, Vec::new()));
    }
    broker.stop().await;

    let (broker, mut connection) = start_for(Arc::new(crate::common::Deny(Operation::ClusterAction))).await;
    let asked = add_many(&mut connection, 5, vec![transaction(ID, (1, 0), true, &[(TOPIC, &[0])])]).await;
    assert_eq!(asked, (ErrorCode::CLUSTER_AUTHORIZATION_FAILED, Vec::new()));
    broker.stop().await;
}

/// 12.5
#[tokio::test]
async fn the_partition_of_a_group_joins_a_transaction() {
    let (broker, mut connection) = start().await;
    let has = begin(&mut connection, ID).await;
    assert_eq!(add_offsets(&mut connection, 4, "nobody", has).await, ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    assert_eq!(add_offsets(&mut connection, 4, "", has).await, ErrorCode::INVALID_REQUEST);
    for version in 0..=4 {
        assert_eq!(add_offsets(&mut connection, version, ID, has).await, ErrorCode::NONE);
    }
    let topics = describe(&mut connection, &[ID]).await.remove(0).topics;
    assert_eq!((topics.len(), topics[0].topic.clone()), (1, Str::from("__consumer_offsets")));
    // Its topic does not exist yet, so there is nothing to mark.
    end(&mut connection, 5, has, true).await;
    until(&mut connection, "CompleteCommit").await;
    broker.stop().await;

    let deny = DenyOn(Operation::Read, |it| matches!(it, Resource::Group(_)));
    let (broker, mut connection) = start_for(Arc::new(deny)).await;
    assert_eq!(add_offsets(&mut connection, 4, ID, (1, 0)).await, ErrorCode::GROUP_AUTHORIZATION_FAILED);
    broker.stop().await;
}

/// 12.6, in both protocols.
#[tokio::test]
async fn transactions_end() {
    let (broker, mut connection) = start().await;
    let has = begin(&mut connection, ID).await;
    let code = |answer: EndTxnResponse| (answer.error_code, answer.producer_id, answer.producer_epoch);
    assert_eq!(code(end(&mut connection, 4, has, true).await), (ErrorCode::INVALID_TXN_STATE, -1, -1));
    let nobody = soon(connection.call(5, &end_txn("nobody", has, true))).await;
    assert_eq!(code(nobody), (ErrorCode::INVALID_PRODUCER_ID_MAPPING, -1, -1));
    assert_eq!(
        code(soon(connection.call(5, &end_txn("", has, true))).await),
        (ErrorCode::INVALID_REQUEST, -1, -1)
    );
    for version in 0..=4 {
        assert_eq!(add(&mut connection, 3, has, &[(TOPIC, &[0, 1])]).await, [ErrorCode::NONE; 2]);
        let commit = version % 2 == 0;
        assert_eq!(code(end(&mut connection, version, has, commit).await), (ErrorCode::NONE, -1, -1));
        until(&mut connection, if commit { "CompleteCommit" } else { "CompleteAbort" }).await;
        // The same again is fine, the other way is not.
        assert_eq!(code(end(&mut connection, version, has, commit).await), (ErrorCode::NONE, -1, -1));
        assert_eq!(
            code(end(&mut connection, version, has, !commit).await),
            (ErrorCode::INVALID_TXN_STATE, -1, -1)
        );
    }
    assert_eq!(add(&mut connection, 3, has, &[(TOPIC, &[0])]).await, [ErrorCode::NONE]);
    assert_eq!(code(end(&mut connection, 5, has, true).await), (ErrorCode::NONE, has.0, has.1 + 1));
    until(&mut connection, "CompleteCommit").await;
    assert_eq!(code(end(&mut connection, 5, has, true).await), (ErrorCode::NONE, has.0, has.1 + 1));
    assert_eq!(code(end(&mut connection, 5, has, false).await), (ErrorCode::INVALID_TXN_STATE, -1, -1));
    // Trap 39: an abort of nothing brings an epoch.
    assert_eq!(
        code(end(&mut connection, 5, (has.0, has.1 + 1), false).await),
        (ErrorCode::NONE, has.0, has.1 + 2)
    );
    broker.stop().await;
}

/// Traps 45 and 46: the answer comes when the decision is durable, not when the markers are; until then the id is busy.
#[tokio::test]
async fn the_answer_does_not_wait_for_markers() {
    let disk = Disk::held();
    let broker = TestBroker::over(disk.clone(), SETTINGS, Arc::new(AllowAll)).await;
    let flusher = disk.clone();
    let flushing = tokio::spawn(async move {
        loop {
            flusher.engine.flush();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    create(broker.broker(), 2).await;
    let mut connection = broker.connect().await;
    find(&mut connection, ID).await;
    let has = begin(&mut connection, ID).await;
    assert_eq!(add(&mut connection, 3, has, &[(TOPIC, &[0])]).await, [ErrorCode::NONE]);
    flushing.abort();

    let ending = broker.connect().await;
    let ended = tokio::spawn({
        let mut ending = ending;
        async move { end(&mut ending, 5, has, true).await }
    });
    let unflushed = || {
        let topic = broker.broker().catalog.image().topic("__transaction_state").unwrap().id;
        let ends = (0..3).map(|it| broker.broker().partitions.get(topic, it).unwrap().ends_now());
        ends.into_iter().any(|it| it.end > it.durable)
    };
    while !unflushed() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // Trap 4: nothing is told before.
    assert!(!ended.is_finished());
    disk.engine.flush();
    let answer = ended.await.unwrap();
    assert_eq!((answer.error_code, answer.producer_epoch), (ErrorCode::NONE, has.1 + 1));

    // The markers are not durable.
    let busy = ErrorCode::CONCURRENT_TRANSACTIONS;
    let next = (has.0, has.1 + 1);
    assert_eq!(describe(&mut connection, &[ID]).await[0].transaction_state, *"PrepareCommit");
    assert_eq!(add(&mut connection, 3, next, &[(TOPIC, &[0])]).await, [busy]);
    let verified = add_many(&mut connection, 5, vec![transaction(ID, next, true, &[(TOPIC, &[0])])]).await;
    assert_eq!(verified.1, [busy]);
    assert_eq!(add_offsets(&mut connection, 4, ID, next).await, busy);
    assert_eq!(end(&mut connection, 5, next, true).await.error_code, busy);
    assert_eq!(end(&mut connection, 4, next, true).await.error_code, busy);
    let begun = init(&mut connection, 5, &init_request(Some(ID), 60_000, (-1, -1))).await;
    assert_eq!(begun, (busy, -1, -1));

    disk.engine.flush();
    let flusher = disk.clone();
    let flushing = tokio::spawn(async move {
        loop {
            flusher.engine.flush();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    until(&mut connection, "CompleteCommit").await;
    broker.stop().await;
    flushing.abort();
}

/// Trap 6: an end that can't be written is answered with what clients try again, and nothing else; what was open stays
/// open until then.
#[tokio::test]
async fn an_end_that_can_not_be_written_is_tried_again() {
    let disk = Disk::new();
    let broker = TestBroker::over(disk.clone(), SETTINGS, Arc::new(AllowAll)).await;
    create(broker.broker(), 2).await;
    let mut connection = broker.connect().await;
    find(&mut connection, ID).await;
    let has = begin(&mut connection, ID).await;
    assert_eq!(add(&mut connection, 3, has, &[(TOPIC, &[0])]).await, [ErrorCode::NONE]);
    disk.full.store(true, Ordering::SeqCst);
    let moved = [ErrorCode::NOT_COORDINATOR, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS];
    for _ in 0..3 {
        let code = end(&mut connection, 5, has, true).await.error_code;
        assert!(moved.contains(&code), "{code}");
    }
    disk.full.store(false, Ordering::SeqCst);
    let ended = async {
        loop {
            let answer = end(&mut connection, 5, has, true).await;
            if !moved.contains(&answer.error_code) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let answer = tokio::time::timeout(crate::common::PATIENCE, ended).await.expect("it does not come back");
    assert_eq!((answer.error_code, answer.producer_epoch), (ErrorCode::NONE, has.1 + 1));
    until(&mut connection, "CompleteCommit").await;
    broker.stop().await;
}

/// A new instance fences the old one, whose transaction is aborted (12.3).
#[tokio::test]
async fn a_new_instance_aborts_what_is_open() {
    let (broker, mut connection) = start().await;
    let has = begin(&mut connection, ID).await;
    assert_eq!(add(&mut connection, 3, has, &[(TOPIC, &[0, 1])]).await, [ErrorCode::NONE; 2]);
    let request = init_request(Some(ID), 60_000, (-1, -1));
    assert_eq!(init(&mut connection, 5, &request).await.0, ErrorCode::CONCURRENT_TRANSACTIONS);
    until(&mut connection, "CompleteAbort").await;
    assert_eq!(init(&mut connection, 5, &request).await, (ErrorCode::NONE, has.0, has.1 + 2));
    broker.stop().await;
}

/// Trap 44, and T-3: what was given out is not given again, and transactions go on where they were.
#[tokio::test]
async fn ids_and_transactions_outlive_the_broker() {
    let (broker, mut connection) = start().await;
    let has = begin(&mut connection, ID).await;
    assert_eq!(add(&mut connection, 3, has, &[(TOPIC, &[0])]).await, [ErrorCode::NONE]);
    let broker = broker.restart().await;
    let mut connection = broker.connect().await;
    find(&mut connection, ID).await;
    let described = describe(&mut connection, &[ID]).await.remove(0);
    assert_eq!((described.transaction_state, described.producer_id), (Str::from("Ongoing"), has.0));
    assert_eq!(end(&mut connection, 5, has, true).await.producer_epoch, has.1 + 1);
    until(&mut connection, "CompleteCommit").await;
    let other = begin(&mut connection, "other").await;
    assert!(other.0 > has.0);
    let (_, plain, _) = init(&mut connection, 5, &init_request(None, 0, (-1, -1))).await;
    assert!(plain > other.0);
    broker.stop().await;
}

/// A partition that is deleted meanwhile does not keep a transaction from its end.
#[tokio::test]
async fn a_deleted_topic_holds_nobody_up() {
    let (broker, mut connection) = start().await;
    let has = begin(&mut connection, ID).await;
    assert_eq!(add(&mut connection, 3, has, &[(TOPIC, &[0, 1])]).await, [ErrorCode::NONE; 2]);
    let command = DeleteTopics { topics: vec![TopicRef::Name(TOPIC.to_owned())] };
    broker.broker().catalog.submit(command).await.unwrap();
    assert_eq!(end(&mut connection, 5, has, true).await.error_code, ErrorCode::NONE);
    until(&mut connection, "CompleteCommit").await;
    broker.stop().await;
}

/// 12.6: time is up.
#[tokio::test]
async fn a_transaction_times_out() {
    let (broker, mut connection) = start().await;
    let (code, id, epoch) = init(&mut connection, 5, &init_request(Some(ID), 50, (-1, -1))).await;
    assert_eq!(code, ErrorCode::NONE);
    assert_eq!(add(&mut connection, 3, (id, epoch), &[(TOPIC, &[0])]).await, [ErrorCode::NONE]);
    let described = until(&mut connection, "CompleteAbort").await;
    assert_eq!((described.producer_epoch, described.transaction_timeout_ms), (epoch + 1, 50));
    assert_eq!(end(&mut connection, 4, (id, epoch), true).await.error_code, ErrorCode::PRODUCER_FENCED);
    broker.stop().await;
}

/// 12.10
#[tokio::test]
async fn transactions_are_described() {
    let broker = TestBroker::with(SETTINGS).await;
    let mut connection = broker.connect().await;
    let codes =
        |states: Vec<TransactionState>| states.into_iter().map(|it| it.error_code).collect::<Vec<_>>();
    let asked = describe(&mut connection, &[ID, ""]).await;
    assert_eq!(codes(asked), [ErrorCode::NOT_COORDINATOR, ErrorCode::INVALID_REQUEST]);
    find(&mut connection, ID).await;
    create(broker.broker(), 2).await;
    let has = begin(&mut connection, ID).await;
    let before = broker.broker().clock.now();
    assert_eq!(add(&mut connection, 3, has, &[(TOPIC, &[1])]).await, [ErrorCode::NONE]);
    let asked = describe(&mut connection, &["nobody", ID, "", ID]).await;
    let names: Vec<_> = asked.iter().map(|it| it.transactional_id.to_string()).collect();
    assert_eq!(names, ["nobody", ID, "", ID]);
    let known = asked[1].clone();
    assert_eq!(
        (known.producer_id, known.producer_epoch, known.transaction_timeout_ms),
        (has.0, has.1, 60_000)
    );
    assert!(known.transaction_start_time_ms >= before);
    assert_eq!(
        (known.topics[0].topic.clone(), known.topics[0].partitions.clone()),
        (Str::from(TOPIC), vec![1])
    );
    let expected =
        [ErrorCode::TRANSACTIONAL_ID_NOT_FOUND, ErrorCode::NONE, ErrorCode::INVALID_REQUEST, ErrorCode::NONE];
    assert_eq!(codes(asked), expected);
    broker.stop().await;

    let deny = DenyOn(Operation::Describe, |it| matches!(it, Resource::Topic(_)));
    let (broker, mut connection) = start_for(Arc::new(deny)).await;
    let has = begin(&mut connection, ID).await;
    assert_eq!(add(&mut connection, 3, has, &[(TOPIC, &[1])]).await, [ErrorCode::NONE]);
    let described = describe(&mut connection, &[ID]).await.remove(0);
    assert_eq!((described.error_code, described.topics), (ErrorCode::NONE, Vec::new()));
    broker.stop().await;

    let (broker, mut connection) = start_for(Arc::new(crate::common::Deny(Operation::Describe))).await;
    let denied = ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    assert_eq!(codes(describe(&mut connection, &[ID, ""]).await), [denied; 2]);
    broker.stop().await;
}

async fn list(
    connection: &mut Connection,
    version: i16,
    request: ListTransactionsRequest,
) -> ListTransactionsResponse {
    soon(connection.call(version, &request)).await
}

fn names(response: &ListTransactionsResponse) -> Vec<String> {
    let mut names: Vec<_> =
        response.transaction_states.iter().map(|it| it.transactional_id.to_string()).collect();
    names.sort();
    names
}

/// 12.10; KIP-994, KIP-1152.
#[tokio::test]
async fn transactions_are_listed() {
    let broker = TestBroker::with(SETTINGS).await;
    let mut connection = broker.connect().await;
    for version in 0..=2 {
        let nothing = list(&mut connection, version, ListTransactionsRequest::default()).await;
        assert_eq!((nothing.error_code, nothing.transaction_states), (ErrorCode::NONE, Vec::new()));
    }
    find(&mut connection, ID).await;
    create(broker.broker(), 2).await;
    let mut ids = Vec::new();
    for id in ["app-1", "app-2", "b", "c"] {
        ids.push(begin(&mut connection, id).await);
    }
    assert_eq!(add(&mut connection, 3, ids[0], &[(TOPIC, &[0])]).await, [ErrorCode::NONE]);
    let all = ListTransactionsRequest::default();
    assert_eq!(names(&list(&mut connection, 2, all.clone()).await), ["app-1", "app-2", "b", "c"]);
    let states = ["Ongoing", "Bogus", "ongoing", "Bogus"].map(Str::from).to_vec();
    let answer =
        list(&mut connection, 0, ListTransactionsRequest { state_filters: states, ..all.clone() }).await;
    assert_eq!(names(&answer), ["app-1"]);
    assert_eq!(answer.unknown_state_filters, ["Bogus", "ongoing"].map(Str::from));
    let states = vec![Str::from("Bogus")];
    let answer =
        list(&mut connection, 0, ListTransactionsRequest { state_filters: states, ..all.clone() }).await;
    assert_eq!(names(&answer), Vec::<String>::new());
    let wanted = ListTransactionsRequest { producer_id_filters: vec![ids[1].0, ids[3].0], ..all.clone() };
    assert_eq!(names(&list(&mut connection, 1, wanted).await), ["app-2", "c"]);
    let long = ListTransactionsRequest { duration_filter: 1_000_000, ..all.clone() };
    assert_eq!(names(&list(&mut connection, 1, long).await), ["app-2", "b", "c"]);
    let pattern =
        |text| ListTransactionsRequest { transactional_id_pattern: Some(Str::from(text)), ..all.clone() };
    assert_eq!(names(&list(&mut connection, 2, pattern("app-.*")).await), ["app-1", "app-2"]);
    assert_eq!(names(&list(&mut connection, 2, pattern("app")).await), Vec::<String>::new());
    assert_eq!(names(&list(&mut connection, 2, pattern("")).await).len(), 4);
    let bad = list(&mut connection, 2, pattern("(")).await;
    assert_eq!(bad.error_code, ErrorCode::INVALID_REGULAR_EXPRESSION);
    broker.stop().await;

    let deny = DenyOn(Operation::Describe, |it| *it == Resource::TransactionalId(b"b"));
    let (broker, mut connection) = start_for(Arc::new(deny)).await;
    for id in ["a", "b"] {
        begin(&mut connection, id).await;
    }
    assert_eq!(names(&list(&mut connection, 2, ListTransactionsRequest::default()).await), ["a"]);
    broker.stop().await;
}
