//! What transactions do to partitions and groups, through a socket: verification at Produce and TxnOffsetCommit
//! (KIP-890), markers, isolation, and the error codes of `broker-core.md` 9.5, 12.7, 12.8 and 12.10.

use std::sync::Arc;
use std::time::Duration;

use crate::common::txn::{Producer, add_partitions, end_txn};
use crate::common::{Deny, Disk, TestBroker, soon};
use broker::Broker;
use broker::auth::{AllowAll, Authorizer, Operation, Resource};
use bytes::Bytes;
use catalog::command::{CreateTopics, NewTopic};
use client::Connection;
use coordinator::Caller;
use wire::batch::BatchBuilder;
use wire::describe_producers::request::TopicRequest;
use wire::describe_producers::response::PartitionResponse;
use wire::fetch::request::{FetchPartition, FetchTopic};
use wire::fetch::response::PartitionData;
use wire::list_offsets::request::{ListOffsetsPartition, ListOffsetsTopic};
use wire::offset_fetch::request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use wire::produce::request::{PartitionProduceData, TopicProduceData};
use wire::produce::response::PartitionProduceResponse;
use wire::txn_offset_commit::request::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use wire::write_txn_markers::request::{WritableTxnMarker, WritableTxnMarkerTopic};
use wire::{
    DescribeProducersRequest, ErrorCode, FetchRequest, FindCoordinatorRequest, InitProducerIdRequest,
    ListOffsetsRequest, OffsetFetchRequest, ProduceRequest, Records, Str, TxnOffsetCommitRequest, Uuid,
    WriteTxnMarkersRequest,
};

const TOPIC: &str = "t";
const ID: &str = "app-1";
const GROUP: &str = "g";
const SETTINGS: &[(&str, &str)] = &[("transaction.state.log.num.partitions", "3")];

async fn create(broker: &Broker) -> Uuid {
    let topic = NewTopic { num_partitions: 2, ..NewTopic::with_defaults(TOPIC) };
    let command = CreateTopics { topics: vec![topic], validate_only: false };
    broker.catalog.submit(command).await.unwrap()[0].1.as_ref().unwrap().id
}

/// A broker with a topic and both coordinators, and a connection.
async fn start_with(settings: &[(&str, &str)], authorizer: Arc<dyn Authorizer>) -> (TestBroker, Connection) {
    let settings: Vec<_> = SETTINGS.iter().chain(settings).copied().collect();
    let broker = TestBroker::over(Disk::new(), &settings, authorizer).await;
    create(broker.broker()).await;
    let mut connection = broker.connect().await;
    for (key_type, key) in [(0, GROUP), (1, ID)] {
        find(&mut connection, key_type, key).await;
    }
    (broker, connection)
}

async fn start() -> (TestBroker, Connection) {
    start_with(&[], Arc::new(AllowAll)).await
}

/// Waits until the coordinator is served.
async fn find(connection: &mut Connection, key_type: i8, key: &str) {
    let asked =
        FindCoordinatorRequest { key_type, coordinator_keys: vec![Str::from(key)], ..Default::default() };
    assert_eq!(soon(connection.call(5, &asked)).await.coordinators[0].error_code, ErrorCode::NONE);
}

async fn init(connection: &mut Connection, id: &str) -> Producer {
    let request = InitProducerIdRequest {
        transactional_id: Some(Str::from(id)),
        transaction_timeout_ms: 60_000,
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    loop {
        let answer = soon(connection.call(5, &request)).await;
        match answer.error_code {
            ErrorCode::NONE => return (answer.producer_id, answer.producer_epoch),
            ErrorCode::CONCURRENT_TRANSACTIONS => tokio::time::sleep(Duration::from_millis(5)).await,
            other => panic!("{other}"),
        }
    }
}

/// Ends the transaction; with v5 the producer goes on with what comes back.
async fn end(connection: &mut Connection, version: i16, producer: Producer, committed: bool) -> Producer {
    let request = end_txn(ID, producer, committed);
    let answer = soon(connection.call(version, &request)).await;
    assert_eq!(answer.error_code, ErrorCode::NONE);
    if version >= 5 { (answer.producer_id, answer.producer_epoch) } else { producer }
}

async fn add(connection: &mut Connection, producer: Producer, topic: &str, index: i32) -> ErrorCode {
    let request = add_partitions(ID, producer, &[(topic, &[index])]);
    let answer = soon(connection.call(3, &request)).await;
    answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
}

fn batch(producer: Producer, sequence: i32, value: &str) -> Bytes {
    let batch = BatchBuilder::new().producer(producer.0, producer.1, sequence).transactional();
    batch.timestamp(1_000).push(None, Some(value.as_bytes())).build()
}

fn produce(id: Option<&str>, batches: Vec<(i32, Bytes)>) -> ProduceRequest {
    let partition = |(index, records)| PartitionProduceData {
        index,
        records: Some(Records::from(records)),
        ..Default::default()
    };
    let partition_data = batches.into_iter().map(partition).collect();
    let topic = TopicProduceData { name: Str::from(TOPIC), partition_data, ..Default::default() };
    let transactional_id = id.map(Str::from);
    ProduceRequest {
        transactional_id,
        acks: -1,
        timeout_ms: 10_000,
        topic_data: vec![topic],
        ..Default::default()
    }
}

async fn send(
    connection: &mut Connection,
    version: i16,
    id: Option<&str>,
    batches: Vec<(i32, Bytes)>,
) -> Vec<PartitionProduceResponse> {
    let mut answer = soon(connection.call(version, &produce(id, batches))).await;
    answer.responses.remove(0).partition_responses
}

/// One batch to partition 0.
async fn write(
    connection: &mut Connection,
    version: i16,
    producer: Producer,
    sequence: i32,
    value: &str,
) -> (ErrorCode, i64) {
    let answer = send(connection, version, Some(ID), vec![(0, batch(producer, sequence, value))]).await;
    (answer[0].error_code, answer[0].base_offset)
}

async fn read(connection: &mut Connection, isolation_level: i8, from: i64) -> PartitionData {
    let partition = FetchPartition {
        partition: 0,
        fetch_offset: from,
        partition_max_bytes: 1 << 20,
        ..Default::default()
    };
    let topic = FetchTopic { topic: Str::from(TOPIC), partitions: vec![partition], ..Default::default() };
    let request = FetchRequest {
        max_wait_ms: 0,
        min_bytes: 0,
        max_bytes: 1 << 20,
        isolation_level,
        topics: vec![topic],
        ..Default::default()
    };
    let mut answer = soon(connection.call(12, &request)).await;
    answer.responses.remove(0).partitions.remove(0)
}

/// Values of a fetch, as a consumer that knows of no transactions takes them.
fn values(data: &PartitionData) -> Vec<String> {
    let bytes = data.records.as_ref().map(Records::bytes).unwrap_or_default();
    let batches = wire::batch::Batches::new(bytes).map(Result::unwrap);
    let data = batches.filter(|it| !it.header.attributes.is_control());
    let records = data.flat_map(|it| it.records().unwrap().map(Result::unwrap).collect::<Vec<_>>());
    records.map(|it| String::from_utf8(it.value.unwrap().to_vec()).unwrap()).collect()
}

/// Waits until the last stable offset of partition 0 is there: markers follow the answer of EndTxn.
async fn stable(connection: &mut Connection, offset: i64) -> PartitionData {
    let patience = async {
        loop {
            let data = read(connection, 1, 0).await;
            if data.last_stable_offset >= offset {
                return data;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(crate::common::PATIENCE, patience)
        .await
        .expect("the last stable offset does not come")
}

async fn latest(connection: &mut Connection, isolation_level: i8) -> i64 {
    let partition = ListOffsetsPartition { partition_index: 0, timestamp: -1, ..Default::default() };
    let topic =
        ListOffsetsTopic { name: Str::from(TOPIC), partitions: vec![partition], ..Default::default() };
    let request = ListOffsetsRequest { isolation_level, topics: vec![topic], ..Default::default() };
    soon(connection.call(7, &request)).await.topics[0].partitions[0].offset
}

/// Transactions v2: the broker adds the partition; readers of committed records see a transaction when it commits,
/// and never when it aborts.
#[tokio::test]
async fn committed_records_are_seen_and_aborted_ones_are_not() {
    let (broker, mut connection) = start().await;
    let mut producer = init(&mut connection, ID).await;
    assert_eq!(write(&mut connection, 12, producer, 0, "a").await, (ErrorCode::NONE, 0));
    assert_eq!(write(&mut connection, 12, producer, 1, "b").await, (ErrorCode::NONE, 1));
    let open = read(&mut connection, 1, 0).await;
    assert_eq!((open.last_stable_offset, open.high_watermark, values(&open)), (0, 2, vec![]));
    assert_eq!(values(&read(&mut connection, 0, 0).await), ["a", "b"]);
    assert_eq!((latest(&mut connection, 1).await, latest(&mut connection, 0).await), (0, 2));

    producer = end(&mut connection, 5, producer, true).await;
    let committed = stable(&mut connection, 3).await;
    assert_eq!(
        (values(&committed), committed.aborted_transactions),
        (vec!["a".into(), "b".into()], Some(vec![]))
    );

    // The next epoch begins its sequences anew; that may meet the markers of the last transaction.
    assert_eq!(write(&mut connection, 12, producer, 0, "c").await, (ErrorCode::NONE, 3));
    let next = end(&mut connection, 5, producer, false).await;
    let aborted = stable(&mut connection, 5).await;
    let told: Vec<_> =
        aborted.aborted_transactions.unwrap().iter().map(|it| (it.producer_id, it.first_offset)).collect();
    assert_eq!(told, [(producer.0, 3)]);
    assert_eq!(latest(&mut connection, 1).await, 5);

    // Trap 10 of KIP-890: a batch of the ended transaction comes late.
    assert_eq!(write(&mut connection, 12, producer, 1, "d").await.0, ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(next.1, producer.1 + 1);
    broker.stop().await;
}

/// 9.5: clients before v12 add their partitions themselves; forgotten ones are told by version.
#[tokio::test]
async fn partitions_that_were_not_added_are_refused_by_version() {
    let (broker, mut connection) = start().await;
    let producer = init(&mut connection, ID).await;
    let answer = send(&mut connection, 10, Some(ID), vec![(0, batch(producer, 0, "a"))]).await;
    assert_eq!(answer[0].error_code, ErrorCode::INVALID_TXN_STATE);
    assert!(answer[0].error_message.is_some() && answer[0].log_start_offset == -1);
    assert_eq!(write(&mut connection, 3, producer, 0, "a").await.0, ErrorCode::INVALID_TXN_STATE);
    assert_eq!(write(&mut connection, 11, producer, 0, "a").await.0, ErrorCode::TRANSACTION_ABORTABLE);
    assert_eq!(latest(&mut connection, 0).await, 0, "nothing is stored");

    assert_eq!(add(&mut connection, producer, TOPIC, 0).await, ErrorCode::NONE);
    assert_eq!(write(&mut connection, 11, producer, 0, "a").await, (ErrorCode::NONE, 0));
    assert_eq!(write(&mut connection, 3, producer, 1, "b").await, (ErrorCode::NONE, 1));
    end(&mut connection, 4, producer, true).await;
    assert_eq!(values(&stable(&mut connection, 3).await), ["a", "b"]);
    // With transactions v1 the epoch stays, and so do the sequences.
    assert_eq!(write(&mut connection, 11, producer, 2, "c").await.0, ErrorCode::TRANSACTION_ABORTABLE);
    broker.stop().await;
}

/// 9.5: what the coordinator says, as a producer may hear it; trap 24: never as PRODUCER_FENCED.
#[tokio::test]
async fn wrong_producers_are_refused() {
    let (broker, mut connection) = start().await;
    let (id, epoch) = init(&mut connection, ID).await;
    let refused = async |connection: &mut Connection, version, producer| {
        write(connection, version, producer, 0, "a").await.0
    };
    for version in [10, 12] {
        let unknown = refused(&mut connection, version, (id + 1, epoch)).await;
        assert_eq!(unknown, ErrorCode::INVALID_PRODUCER_ID_MAPPING, "v{version}");
        let newer = refused(&mut connection, version, (id, epoch + 1)).await;
        assert_eq!(
            newer,
            ErrorCode::INVALID_PRODUCER_EPOCH,
            "v{version}: PRODUCER_FENCED has another name here"
        );
    }
    let records = vec![(0, batch((id, epoch), 0, "a"))];
    let other = send(&mut connection, 12, Some("app-2"), records).await;
    assert_eq!(other[0].error_code, ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    assert_eq!(latest(&mut connection, 0).await, 0);

    // A new instance fences the old one.
    let fresh = init(&mut connection, ID).await;
    assert_eq!(fresh, (id, epoch + 1));
    assert_eq!(refused(&mut connection, 12, (id, epoch)).await, ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(write(&mut connection, 12, fresh, 0, "a").await, (ErrorCode::NONE, 0));
    broker.stop().await;
}

/// Rules 1 and 8 of Produce.
#[tokio::test]
async fn a_request_is_of_one_transaction_that_is_named() {
    let (broker, mut connection) = start().await;
    let (id, epoch) = init(&mut connection, ID).await;
    let both = vec![(0, batch((id, epoch), 0, "a")), (1, batch((id + 1, 0), 0, "b"))];
    let codes: Vec<_> =
        send(&mut connection, 12, Some(ID), both).await.iter().map(|it| it.error_code).collect();
    assert_eq!(codes, [ErrorCode::INVALID_PRODUCER_ID_MAPPING; 2]);
    let nameless = send(&mut connection, 12, None, vec![(0, batch((id, epoch), 0, "a"))]).await;
    assert_eq!(nameless[0].error_code, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    // A partition that does not exist fails alone, and is not added.
    let some = vec![(7, batch((id, epoch), 0, "a")), (1, batch((id, epoch), 0, "b"))];
    let codes: Vec<_> =
        send(&mut connection, 12, Some(ID), some).await.iter().map(|it| it.error_code).collect();
    assert_eq!(codes, [ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::NONE]);
    // No plain batch inside the transaction (9.3 rule 6).
    let plain = BatchBuilder::new().producer(id, epoch, 1).push(None, Some(b"x")).build();
    let refused = send(&mut connection, 12, None, vec![(1, plain)]).await;
    assert_eq!(refused[0].error_code, ErrorCode::INVALID_TXN_STATE);
    broker.stop().await;
}

/// 9.5: a coordinator that can't be asked is told as something that every producer tries again.
#[tokio::test]
async fn without_a_coordinator_producers_try_again() {
    let broker = TestBroker::start().await;
    create(broker.broker()).await;
    let mut connection = broker.connect().await;
    let answer = send(&mut connection, 12, Some(ID), vec![(0, batch((5, 0), 0, "a"))]).await;
    assert_eq!(answer[0].error_code, ErrorCode::NOT_ENOUGH_REPLICAS);
    assert!(answer[0].error_message.as_ref().unwrap().to_str().contains("NOT_COORDINATOR"));
    broker.stop().await;
}

/// Requests behind one that is verified keep their order, whatever they are.
#[tokio::test]
async fn pipelined_requests_keep_their_order() {
    let (broker, mut connection) = start().await;
    let producer = init(&mut connection, ID).await;
    for sequence in 0..5 {
        let records = batch(producer, sequence, &format!("v{sequence}"));
        connection.send(12, &produce(Some(ID), vec![(0, records)])).await.unwrap();
    }
    let plain = BatchBuilder::new().push(None, Some(b"plain")).build();
    connection.send(12, &produce(None, vec![(0, plain)])).await.unwrap();
    for offset in 0..6 {
        let answer = soon(connection.receive::<ProduceRequest>(12)).await;
        let part = &answer.responses[0].partition_responses[0];
        assert_eq!((part.error_code, part.base_offset), (ErrorCode::NONE, offset));
    }
    assert_eq!(values(&read(&mut connection, 0, 0).await), ["v0", "v1", "v2", "v3", "v4", "plain"]);
    broker.stop().await;
}

/// `transaction.partition.verification.enable`: clients before v12 are believed.
#[tokio::test]
async fn verification_can_be_turned_off() {
    let settings = [("transaction.partition.verification.enable", "false")];
    let (broker, mut connection) = start_with(&settings, Arc::new(AllowAll)).await;
    let producer = init(&mut connection, ID).await;
    assert_eq!(write(&mut connection, 11, producer, 0, "a").await, (ErrorCode::NONE, 0));
    assert_eq!(write(&mut connection, 12, producer, 1, "b").await, (ErrorCode::NONE, 1));
    assert_eq!(latest(&mut connection, 1).await, 0);
    broker.stop().await;
}

fn commit_request(producer: Producer, group: &str, offset: i64) -> TxnOffsetCommitRequest {
    let partition = TxnOffsetCommitRequestPartition {
        partition_index: 0,
        committed_offset: offset,
        committed_metadata: Some(Str::default()),
        ..Default::default()
    };
    let topic = TxnOffsetCommitRequestTopic {
        name: Str::from(TOPIC),
        partitions: vec![partition],
        ..Default::default()
    };
    TxnOffsetCommitRequest {
        transactional_id: Str::from(ID),
        group_id: Str::from(group),
        producer_id: producer.0,
        producer_epoch: producer.1,
        generation_id_or_member_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    }
}

async fn commit(connection: &mut Connection, version: i16, request: &TxnOffsetCommitRequest) -> ErrorCode {
    let answer = soon(connection.call(version, request)).await;
    answer.topics[0].partitions[0].error_code
}

async fn offset(connection: &mut Connection, require_stable: bool) -> (ErrorCode, i64) {
    let topic =
        OffsetFetchRequestTopics { name: Str::from(TOPIC), partition_indexes: vec![0], ..Default::default() };
    let group = OffsetFetchRequestGroup {
        group_id: Str::from(GROUP),
        member_epoch: -1,
        topics: Some(vec![topic]),
        ..Default::default()
    };
    let request = OffsetFetchRequest { groups: vec![group], require_stable, ..Default::default() };
    let answer = soon(connection.call(8, &request)).await;
    let part = &answer.groups[0].topics[0].partitions[0];
    (part.error_code, part.committed_offset)
}

/// Waits until no transaction is open for the offset.
async fn settled(connection: &mut Connection) -> i64 {
    let patience = async {
        loop {
            match offset(connection, true).await {
                (ErrorCode::NONE, offset) => return offset,
                (code, _) => assert_eq!(code, ErrorCode::UNSTABLE_OFFSET_COMMIT),
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(crate::common::PATIENCE, patience).await.expect("the offset stays unstable")
}

/// 12.7 rule 5: pending until the marker, in the forms of all versions.
#[tokio::test]
async fn offsets_count_when_their_transaction_commits() {
    let (broker, mut connection) = start().await;
    let id = broker.broker().catalog.image().topic(TOPIC).unwrap().id;
    let mut producer = init(&mut connection, ID).await;
    for version in [5, 6] {
        let expected = i64::from(version) * 10;
        let before = offset(&mut connection, false).await;
        let mut request = commit_request(producer, GROUP, expected);
        if version >= 6 {
            request.topics[0] = TxnOffsetCommitRequestTopic {
                topic_id: id,
                name: Str::default(),
                ..request.topics[0].clone()
            };
        }
        let answer = soon(connection.call(version, &request)).await;
        assert_eq!(answer.topics[0].partitions[0].error_code, ErrorCode::NONE);
        assert_eq!(answer.topics[0].name.is_empty(), version >= 6);
        assert_eq!(offset(&mut connection, true).await, (ErrorCode::UNSTABLE_OFFSET_COMMIT, -1));
        assert_eq!(offset(&mut connection, false).await, before);
        producer = end(&mut connection, 5, producer, true).await;
        assert_eq!(settled(&mut connection).await, expected);
    }
    assert_eq!(commit(&mut connection, 5, &commit_request(producer, GROUP, 99)).await, ErrorCode::NONE);
    end(&mut connection, 5, producer, false).await;
    assert_eq!(settled(&mut connection).await, 60, "aborted");
    broker.stop().await;
}

/// 12.7 rule 2: the group's partition must be in the transaction; version 5 adds it.
#[tokio::test]
async fn offset_commits_are_verified_by_version() {
    let (broker, mut connection) = start().await;
    let (id, epoch) = init(&mut connection, ID).await;
    let request = commit_request((id, epoch), GROUP, 1);
    for version in 0..=3 {
        assert_eq!(commit(&mut connection, version, &request).await, ErrorCode::INVALID_TXN_STATE);
    }
    assert_eq!(commit(&mut connection, 4, &request).await, ErrorCode::TRANSACTION_ABORTABLE);
    assert_eq!(offset(&mut connection, true).await, (ErrorCode::NONE, -1), "nothing is pending");
    let refused = async |connection: &mut Connection, producer| {
        commit(connection, 5, &commit_request(producer, GROUP, 1)).await
    };
    assert_eq!(refused(&mut connection, (id + 1, epoch)).await, ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    assert_eq!(refused(&mut connection, (id, epoch + 1)).await, ErrorCode::INVALID_PRODUCER_EPOCH);
    let empty = commit_request((id, epoch), "", 1);
    assert_eq!(commit(&mut connection, 5, &empty).await, ErrorCode::INVALID_GROUP_ID);
    let mut unknown = commit_request((id, epoch), GROUP, 1);
    unknown.topics[0].partitions[0].partition_index = 9;
    assert_eq!(commit(&mut connection, 5, &unknown).await, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    unknown.topics[0].topic_id = Uuid([9; 16]);
    unknown.topics[0].name = Str::default();
    assert_eq!(commit(&mut connection, 6, &unknown).await, ErrorCode::UNKNOWN_TOPIC_ID);

    // KIP-447: a member that the group does not know is a zombie.
    let zombie = TxnOffsetCommitRequest {
        member_id: Str::from("zombie"),
        generation_id_or_member_epoch: 3,
        ..commit_request((id, epoch), GROUP, 1)
    };
    assert_eq!(commit(&mut connection, 5, &zombie).await, ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(commit(&mut connection, 5, &request).await, ErrorCode::NONE);
    assert_eq!(commit(&mut connection, 5, &zombie).await, ErrorCode::UNKNOWN_MEMBER_ID);

    // The new instance fences the old one, also where its transaction had begun.
    let fresh = init(&mut connection, ID).await;
    assert_eq!(settled(&mut connection).await, -1, "the old transaction is aborted");
    assert_eq!(refused(&mut connection, (id, epoch)).await, ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(commit(&mut connection, 5, &commit_request(fresh, GROUP, 2)).await, ErrorCode::NONE);
    broker.stop().await;
}

/// Clients of the first protocol: AddOffsetsToTxn is the same as adding the partition of the group.
#[tokio::test]
async fn old_clients_add_the_groups_partition_first() {
    let (broker, mut connection) = start().await;
    let producer = init(&mut connection, ID).await;
    let add_offsets = wire::AddOffsetsToTxnRequest {
        transactional_id: Str::from(ID),
        producer_id: producer.0,
        producer_epoch: producer.1,
        group_id: Str::from(GROUP),
        ..Default::default()
    };
    assert_eq!(soon(connection.call(3, &add_offsets)).await.error_code, ErrorCode::NONE);
    for version in 0..=4 {
        let request = commit_request(producer, GROUP, i64::from(version));
        assert_eq!(commit(&mut connection, version, &request).await, ErrorCode::NONE);
    }
    end(&mut connection, 3, producer, true).await;
    assert_eq!(settled(&mut connection).await, 4);
    broker.stop().await;
}

/// 12.7 rule 1, and loading coordinators by version (rule 6).
#[tokio::test]
async fn offset_commits_need_rights_and_a_coordinator() {
    struct DenyOn(Operation, fn(&Resource<'_>) -> bool);
    impl Authorizer for DenyOn {
        fn allow(&self, _caller: &Caller, operation: Operation, resource: Resource<'_>) -> bool {
            operation != self.0 || !self.1(&resource)
        }
    }
    let id: fn(&Resource<'_>) -> bool = |it| matches!(it, Resource::TransactionalId(_));
    let group: fn(&Resource<'_>) -> bool = |it| matches!(it, Resource::Group(_));
    let topic: fn(&Resource<'_>) -> bool = |it| matches!(it, Resource::Topic(_));
    for (operation, on, code) in [
        (Operation::Write, id, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (Operation::Read, group, ErrorCode::GROUP_AUTHORIZATION_FAILED),
        (Operation::Read, topic, ErrorCode::TOPIC_AUTHORIZATION_FAILED),
    ] {
        let broker = TestBroker::over(Disk::new(), SETTINGS, Arc::new(DenyOn(operation, on))).await;
        create(broker.broker()).await;
        let mut connection = broker.connect().await;
        assert_eq!(commit(&mut connection, 5, &commit_request((1, 0), GROUP, 1)).await, code);
        broker.stop().await;
    }
    let broker = TestBroker::start().await;
    create(broker.broker()).await;
    let mut connection = broker.connect().await;
    for version in [0, 5] {
        let code = commit(&mut connection, version, &commit_request((1, 0), GROUP, 1)).await;
        assert_eq!(code, ErrorCode::NOT_COORDINATOR, "there is no topic of offsets yet");
    }
    find(&mut connection, 0, GROUP).await;
    let code = commit(&mut connection, 5, &commit_request((1, 0), GROUP, 1)).await;
    assert_eq!(code, ErrorCode::NOT_COORDINATOR, "nor one of transactions");
    broker.stop().await;
}

fn markers(
    producer: Producer,
    coordinator_epoch: i32,
    version: i8,
    topics: &[(&str, i32)],
) -> WriteTxnMarkersRequest {
    let topic = |(name, index): &(&str, i32)| WritableTxnMarkerTopic {
        name: Str::from(*name),
        partition_indexes: vec![*index],
        ..Default::default()
    };
    let marker = WritableTxnMarker {
        producer_id: producer.0,
        producer_epoch: producer.1,
        transaction_result: false,
        coordinator_epoch,
        transaction_version: version,
        topics: topics.iter().map(topic).collect(),
        ..Default::default()
    };
    WriteTxnMarkersRequest { markers: vec![marker], ..Default::default() }
}

async fn mark(connection: &mut Connection, version: i16, request: &WriteTxnMarkersRequest) -> Vec<ErrorCode> {
    let answer = soon(connection.call(version, request)).await;
    assert_eq!(answer.markers[0].producer_id, request.markers[0].producer_id);
    answer.markers[0].topics.iter().flat_map(|it| &it.partitions).map(|it| it.error_code).collect()
}

/// 12.8: what `kafka-transactions.sh abort` does, on partitions of records and of offsets.
#[tokio::test]
async fn transactions_are_ended_by_hand() {
    let (broker, mut connection) = start().await;
    let producer = init(&mut connection, ID).await;
    assert_eq!(write(&mut connection, 12, producer, 0, "a").await, (ErrorCode::NONE, 0));
    assert_eq!(commit(&mut connection, 5, &commit_request(producer, GROUP, 7)).await, ErrorCode::NONE);
    let offsets = broker.broker().groups.partition_of(&Str::from(GROUP)).unwrap();
    let places =
        [(TOPIC, 0), ("__consumer_offsets", offsets), (TOPIC, 9), ("none", 0), ("__transaction_state", 0)];
    let codes = mark(&mut connection, 1, &markers(producer, 3, 0, &places)).await;
    use ErrorCode as E;
    let unknown = E::UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(codes, [E::NONE, E::NONE, unknown, unknown, E::INVALID_TOPIC_EXCEPTION]);
    assert_eq!(offset(&mut connection, true).await, (ErrorCode::NONE, -1));
    assert_eq!(latest(&mut connection, 1).await, 2);

    // Rule 4, on both kinds of partitions.
    let places = [(TOPIC, 0), ("__consumer_offsets", offsets)];
    let again = mark(&mut connection, 2, &markers(producer, 3, 0, &places)).await;
    assert_eq!(again, [E::NONE; 2], "the same marker again does no harm");
    let older = mark(&mut connection, 2, &markers(producer, 2, 0, &places)).await;
    assert_eq!(older, [E::TRANSACTION_COORDINATOR_FENCED; 2]);
    let next = (producer.0, producer.1 + 1);
    assert_eq!(mark(&mut connection, 2, &markers(next, 3, 2, &places)).await, [E::NONE; 2]);
    assert_eq!(
        mark(&mut connection, 2, &markers(producer, 3, 0, &places)).await,
        [E::INVALID_PRODUCER_EPOCH; 2]
    );
    assert_eq!(mark(&mut connection, 2, &markers(next, 3, 2, &places)).await, [E::NONE; 2], "KAFKA-19999");
    broker.stop().await;
}

/// As seen on Kafka 4.4.0: refused as a whole, and nothing is appended.
#[tokio::test]
async fn markers_of_no_producer_are_refused() {
    let (broker, mut connection) = start().await;
    for (producer, version) in [((-1, 0), 0), ((1, -1), 0), ((1, 0), -1)] {
        let request = markers(producer, 0, version, &[(TOPIC, 0), ("none", 0)]);
        let codes = mark(&mut connection, 2, &request).await;
        assert_eq!(codes, [ErrorCode::UNKNOWN_SERVER_ERROR; 2], "{producer:?} {version}");
    }
    assert_eq!(latest(&mut connection, 0).await, 0);
    broker.stop().await;
}

/// 12.8 rule 1.
#[tokio::test]
async fn markers_need_rights_on_the_cluster() {
    struct DenyBoth;
    impl Authorizer for DenyBoth {
        fn allow(&self, _caller: &Caller, operation: Operation, _resource: Resource<'_>) -> bool {
            operation != Operation::ClusterAction && operation != Operation::Alter
        }
    }
    let one: [(Arc<dyn Authorizer>, ErrorCode); 3] = [
        (Arc::new(DenyBoth), ErrorCode::CLUSTER_AUTHORIZATION_FAILED),
        (Arc::new(Deny(Operation::Alter)), ErrorCode::NONE),
        (Arc::new(Deny(Operation::ClusterAction)), ErrorCode::NONE),
    ];
    for (authorizer, code) in one {
        let broker = TestBroker::over(Disk::new(), &[], authorizer).await;
        create(broker.broker()).await;
        let mut connection = broker.connect().await;
        assert_eq!(mark(&mut connection, 2, &markers((1, 0), 0, 0, &[(TOPIC, 0)])).await, [code]);
        broker.stop().await;
    }
}

async fn producers(connection: &mut Connection, topic: &str, index: i32) -> PartitionResponse {
    let topic = TopicRequest { name: Str::from(topic), partition_indexes: vec![index], ..Default::default() };
    let request = DescribeProducersRequest { topics: vec![topic], ..Default::default() };
    soon(connection.call(0, &request)).await.topics.remove(0).partitions.remove(0)
}

/// 12.10
#[tokio::test]
async fn producers_are_described() {
    let (broker, mut connection) = start().await;
    assert_eq!(producers(&mut connection, TOPIC, 0).await.active_producers, []);
    let producer = init(&mut connection, ID).await;
    assert_eq!(write(&mut connection, 12, producer, 0, "a").await, (ErrorCode::NONE, 0));
    let told = producers(&mut connection, TOPIC, 0).await.active_producers.remove(0);
    assert_eq!((told.producer_id, told.producer_epoch), (producer.0, i32::from(producer.1)));
    assert_eq!((told.last_sequence, told.last_timestamp), (0, 1_000));
    assert_eq!((told.coordinator_epoch, told.current_txn_start_offset), (-1, 0));
    end(&mut connection, 5, producer, false).await;
    stable(&mut connection, 2).await;
    let told = producers(&mut connection, TOPIC, 0).await.active_producers.remove(0);
    assert_eq!((told.producer_epoch, told.last_sequence), (i32::from(producer.1) + 1, -1));
    assert_eq!((told.coordinator_epoch, told.current_txn_start_offset), (0, -1));
    assert_eq!(producers(&mut connection, TOPIC, 9).await.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(producers(&mut connection, "none", 0).await.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(producers(&mut connection, "no/t", 0).await.error_code, ErrorCode::INVALID_TOPIC_EXCEPTION);
    broker.stop().await;
    let broker = TestBroker::denying(Operation::Read).await;
    create(broker.broker()).await;
    let mut connection = broker.connect().await;
    assert_eq!(producers(&mut connection, TOPIC, 0).await.error_code, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    broker.stop().await;
}

/// What is open stays open over a restart, records and offsets alike, and is decided after it.
#[tokio::test]
async fn open_transactions_survive_a_restart() {
    let (broker, mut connection) = start().await;
    let producer = init(&mut connection, ID).await;
    assert_eq!(write(&mut connection, 12, producer, 0, "a").await, (ErrorCode::NONE, 0));
    assert_eq!(commit(&mut connection, 5, &commit_request(producer, GROUP, 7)).await, ErrorCode::NONE);
    let broker = broker.restart().await;
    let mut connection = broker.connect().await;
    for (key_type, key) in [(0, GROUP), (1, ID)] {
        find(&mut connection, key_type, key).await;
    }
    assert_eq!(latest(&mut connection, 1).await, 0);
    assert_eq!(offset(&mut connection, true).await, (ErrorCode::UNSTABLE_OFFSET_COMMIT, -1));
    assert_eq!(write(&mut connection, 12, producer, 1, "b").await, (ErrorCode::NONE, 1));
    end(&mut connection, 5, producer, true).await;
    assert_eq!(values(&stable(&mut connection, 3).await), ["a", "b"]);
    assert_eq!(settled(&mut connection).await, 7);
    let broker = broker.restart().await;
    let mut connection = broker.connect().await;
    find(&mut connection, 0, GROUP).await;
    assert_eq!(offset(&mut connection, true).await, (ErrorCode::NONE, 7), "markers are read at a load");
    broker.stop().await;
}

/// `storage.md` 5.6: where a partition has transactions open that their coordinator does not know or has ended without
/// it, as after a loss of durable data, a start writes the markers that nobody else would.
#[tokio::test]
async fn a_start_settles_transactions_that_no_coordinator_would_end() {
    use storage::partition::Origin;
    let (broker, mut connection) = start().await;
    let id = broker.broker().catalog.image().topic(TOPIC).unwrap().id;
    let producer = init(&mut connection, ID).await;
    let partition = |index| broker.broker().partitions.get(id, index).unwrap();
    let lost = |index, producer, value| {
        let origin = Origin::Coordinator { transaction_version: 0 };
        partition(index).append(&batch(producer, 0, value), origin, 1_000).unwrap();
    };
    // Ongoing on partition 0, which will be ended by its coordinator; partition 1 had it too once, and so had an
    // unknown producer.
    lost(1, producer, "of a transaction before");
    lost(1, (producer.0 + 1_000, 0), "of nobody");
    assert_eq!(write(&mut connection, 12, producer, 0, "a").await, (ErrorCode::NONE, 0));
    let next = end(&mut connection, 5, producer, true).await;
    stable(&mut connection, 2).await;
    assert_eq!(write(&mut connection, 12, next, 0, "open").await, (ErrorCode::NONE, 2));
    let broker = broker.restart().await;
    let partition = broker.broker().partitions.get(id, 1).unwrap();
    let patience = async {
        while partition.last_stable_offset() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(crate::common::PATIENCE, patience).await.expect("the transactions hang");
    let mut connection = broker.connect().await;
    let open = read(&mut connection, 1, 0).await;
    assert_eq!(
        (values(&open), open.last_stable_offset),
        (vec!["a".to_owned()], 2),
        "is left to its coordinator"
    );
    // Partition 1: the one of nobody is aborted. The other one belongs to a transaction before the ongoing one.
    assert_eq!(partition.open_transactions(), []);
    let states: Vec<_> = partition.producers().iter().map(|(id, it)| (id, it.epoch)).collect();
    assert_eq!(states, [(producer.0, producer.1), (producer.0 + 1_000, 0)]);
    find(&mut connection, 1, ID).await;
    end(&mut connection, 5, next, true).await;
    assert_eq!(values(&stable(&mut connection, 4).await), ["a", "open"]);
    broker.stop().await;
}

/// Traps 19, 21 and 48 of `broker-core` 25: a topic that is made again knows nothing of the producers, transactions and
/// markers of the one before.
#[tokio::test]
async fn a_topic_made_again_knows_no_producer() {
    use catalog::command::{DeleteTopics, TopicRef};
    let (broker, mut connection) = start().await;
    let producer = init(&mut connection, ID).await;
    assert_eq!(write(&mut connection, 12, producer, 0, "old").await, (ErrorCode::NONE, 0));
    let gone = DeleteTopics { topics: vec![TopicRef::Name(TOPIC.into())] };
    broker.broker().catalog.submit(gone).await.unwrap();
    create(broker.broker()).await;
    assert_eq!(producers(&mut connection, TOPIC, 0).await.active_producers, []);
    assert_eq!(latest(&mut connection, 1).await, 0);
    // The markers of the old transaction go to partitions of that name, and hurt nobody.
    let next = end(&mut connection, 5, producer, true).await;
    let patience = async {
        while latest(&mut connection, 1).await < 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(crate::common::PATIENCE, patience).await.expect("the marker does not come");
    assert_eq!(write(&mut connection, 12, next, 0, "new").await, (ErrorCode::NONE, 1));
    end(&mut connection, 5, next, true).await;
    assert_eq!(values(&stable(&mut connection, 3).await), ["new"]);
    broker.stop().await;
}
