//! Producers and consumers at a running broker (`broker-core.md` 8 to 11), through the client crate.

use std::sync::Arc;

use crate::common::{Disk, TestBroker, closed, soon};
use broker::Broker;
use broker::auth::Operation;
use bytes::Bytes;
use catalog::command::{CreateTopics, DeleteTopics, NewTopic, TopicRef};
use client::Connection;
use wire::batch::{BatchBuilder, Codec, records};
use wire::fetch::request::{FetchPartition, FetchTopic, ForgottenTopic};
use wire::fetch::response::PartitionData;
use wire::produce::request::{PartitionProduceData, TopicProduceData};
use wire::produce::response::PartitionProduceResponse;
use wire::{
    DeleteRecordsRequest, ErrorCode, FetchRequest, FetchResponse, InitProducerIdRequest, ListOffsetsRequest,
    Message, MetadataRequest, OffsetForLeaderEpochRequest, ProduceRequest, Records, Request, Str, Uuid,
};

const TOPIC: &str = "t";

async fn create(broker: &Broker, partitions: i32, configs: &[(&str, &str)]) -> Uuid {
    let configs = configs.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())));
    let topic =
        NewTopic { num_partitions: partitions, configs: configs.collect(), ..NewTopic::with_defaults(TOPIC) };
    let command = CreateTopics { topics: vec![topic], validate_only: false };
    let created = broker.catalog.submit(command).await.unwrap();
    created[0].1.as_ref().unwrap().id
}

/// A broker with one topic, and a connection to it.
async fn start(partitions: i32) -> (TestBroker, Connection, Uuid) {
    let broker = TestBroker::start().await;
    let id = create(broker.broker(), partitions, &[]).await;
    let connection = broker.connect().await;
    (broker, connection, id)
}

fn batch(values: &[&str]) -> BatchBuilder {
    let mut builder = BatchBuilder::new();
    for value in values {
        builder.add(1_000, None, Some(value.as_bytes()), &[]);
    }
    builder
}

fn produce(index: i32, records: impl Into<Option<Bytes>>) -> ProduceRequest {
    let records = records.into().map(Records::from);
    let partition_data = vec![PartitionProduceData { index, records, ..Default::default() }];
    let topic = TopicProduceData { name: Str::from(TOPIC), partition_data, ..Default::default() };
    ProduceRequest { acks: -1, timeout_ms: 10_000, topic_data: vec![topic], ..Default::default() }
}

async fn send(
    connection: &mut Connection,
    version: i16,
    request: &ProduceRequest,
) -> PartitionProduceResponse {
    let mut response = soon(connection.call(version, request)).await;
    assert_eq!(response.responses.len(), 1);
    response.responses[0].partition_responses.remove(0)
}

/// Version 12 asks by name.
async fn append(connection: &mut Connection, index: i32, values: &[&str]) -> i64 {
    let answer = send(connection, 12, &produce(index, batch(values).build())).await;
    assert_eq!(answer.error_code, ErrorCode::NONE);
    answer.base_offset
}

fn from(partition: i32, fetch_offset: i64) -> FetchPartition {
    FetchPartition { partition, fetch_offset, partition_max_bytes: 1 << 20, ..Default::default() }
}

fn fetch(partitions: Vec<FetchPartition>) -> FetchRequest {
    let topic = FetchTopic { topic: Str::from(TOPIC), partitions, ..Default::default() };
    let topics = if topic.partitions.is_empty() { vec![] } else { vec![topic] };
    FetchRequest { max_wait_ms: 0, min_bytes: 1, max_bytes: 1 << 20, topics, ..Default::default() }
}

fn parts(response: &FetchResponse) -> Vec<&PartitionData> {
    response.responses.iter().flat_map(|topic| &topic.partitions).collect()
}

fn values(part: &PartitionData) -> Vec<String> {
    let bytes = part.records.as_ref().unwrap().bytes();
    let value = |it: wire::batch::Record| String::from_utf8(it.value.unwrap().to_vec()).unwrap();
    records(&bytes).map(|it| value(it.unwrap())).collect()
}

/// Index of each partition of an answer with its values.
fn all(response: &FetchResponse) -> Vec<(i32, Vec<String>)> {
    parts(response).into_iter().map(|part| (part.partition_index, values(part))).collect()
}

#[tokio::test]
async fn records_come_back_in_every_codec_and_version() {
    let (broker, mut connection, id) = start(1).await;
    let mut count = 0;
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let request = produce(0, batch(&["a", "b"]).codec(codec).build());
        let answer = send(&mut connection, 9, &request).await;
        assert_eq!((answer.error_code, answer.base_offset), (ErrorCode::NONE, count), "{codec:?}");
        assert_eq!((answer.log_append_time_ms, answer.log_start_offset), (-1, 0));
        count += 2;
    }
    for version in FetchRequest::VERSIONS {
        let mut request = fetch(vec![from(0, 0)]);
        request.topics[0].topic_id = id;
        let response = soon(connection.call(version, &request)).await;
        assert_eq!((response.error_code, response.session_id), (ErrorCode::NONE, 0));
        let part = parts(&response)[0];
        assert_eq!(values(part), ["a", "b"].repeat(5), "v{version}");
        assert_eq!(
            (part.error_code, part.high_watermark, part.last_stable_offset),
            (ErrorCode::NONE, count, count)
        );
        assert_eq!((part.preferred_read_replica, &part.aborted_transactions), (-1, &None));
        assert_eq!(response.responses[0].topic_id, if version >= 13 { id } else { Uuid::ZERO });
    }
    broker.stop().await;
}

#[tokio::test]
async fn produce_is_served_in_every_version_with_topic_ids_from_13() {
    let (broker, mut connection, id) = start(1).await;
    for (version, offset) in ProduceRequest::VERSIONS.zip(0..) {
        let mut request = produce(0, batch(&["v"]).build());
        request.topic_data[0].topic_id = id;
        let response = soon(connection.call(version, &request)).await;
        let topic = &response.responses[0];
        assert_eq!(topic.partition_responses[0].base_offset, offset, "v{version}");
        assert_eq!(topic.name.is_empty(), version >= 13);
    }
    let mut request = produce(0, batch(&["v"]).build());
    request.topic_data[0].topic_id = Uuid([9; 16]);
    assert_eq!(send(&mut connection, 13, &request).await.error_code, ErrorCode::UNKNOWN_TOPIC_ID);
    broker.stop().await;
}

/// What is refused, in the order of the rules; `broker-core.md` 8.1.
#[tokio::test]
async fn produce_refuses_with_kafkas_codes() {
    let (broker, mut connection, _) = start(1).await;
    let good = || batch(&["v"]).build();
    let mut crc = good().to_vec();
    *crc.last_mut().unwrap() ^= 1;
    let twice = Bytes::from([good(), good()].concat());
    let mut other_topic = produce(0, good());
    other_topic.topic_data[0].name = Str::from("nobody");
    let mut acks = produce(0, good());
    acks.acks = 2;
    let mut internal = produce(0, good());
    internal.topic_data[0].name = Str::from("__consumer_offsets");
    broker.broker().catalog.create_internal_topic("__consumer_offsets").await.unwrap();
    let zstd = produce(0, batch(&["v"]).codec(Codec::Zstd).build());
    let transactional = || batch(&["v"]).producer(7, 0, 0).transactional().build();
    let mut with_id = produce(0, transactional());
    with_id.transactional_id = Some(Str::from("x"));
    let cases = [
        ("unknown topic", 9, other_topic, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        ("unknown partition", 9, produce(1, good()), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        ("null records", 9, produce(0, None), ErrorCode::INVALID_RECORD),
        ("no batch", 9, produce(0, Bytes::new()), ErrorCode::INVALID_RECORD),
        ("two batches", 9, produce(0, twice), ErrorCode::INVALID_RECORD),
        ("zstd below v7", 6, zstd, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE),
        ("acks 2", 9, acks, ErrorCode::INVALID_REQUIRED_ACKS),
        ("internal topic", 9, internal, ErrorCode::INVALID_TOPIC_EXCEPTION),
        ("wrong checksum", 9, produce(0, Bytes::from(crc)), ErrorCode::CORRUPT_MESSAGE),
        (
            "no transactional id",
            9,
            produce(0, transactional()),
            ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
        ("no coordinator of transactions", 9, with_id, ErrorCode::NOT_ENOUGH_REPLICAS),
    ];
    for (what, version, request, code) in cases {
        let answer = send(&mut connection, version, &request).await;
        assert_eq!(
            (answer.error_code, answer.base_offset, answer.log_start_offset),
            (code, -1, -1),
            "{what}"
        );
        assert_eq!((answer.current_leader.leader_id, answer.log_append_time_ms), (-1, -1), "{what}");
    }
    assert_eq!(append(&mut connection, 0, &["v"]).await, 0, "nothing of it was appended");
    broker.stop().await;
}

/// `broker-core.md` 8.1 C12 and 8.2: the bad records are named, and the start of the log is told.
#[tokio::test]
async fn bad_records_are_named() {
    let broker = TestBroker::start().await;
    create(broker.broker(), 1, &[("cleanup.policy", "compact")]).await;
    let mut connection = broker.connect().await;
    let records = BatchBuilder::new().push(Some(b"k"), Some(b"v")).push(None, Some(b"v")).build();
    let answer = send(&mut connection, 9, &produce(0, records.clone())).await;
    assert_eq!((answer.error_code, answer.log_start_offset), (ErrorCode::INVALID_RECORD, 0));
    assert_eq!(answer.record_errors.iter().map(|it| it.batch_index).collect::<Vec<_>>(), [1]);
    assert!(answer.error_message.is_some());
    let answer = send(&mut connection, 7, &produce(0, records)).await;
    assert!(answer.record_errors.is_empty(), "v7 has no place for them");
    broker.stop().await;
}

#[tokio::test]
async fn log_append_time_is_told() {
    let broker = TestBroker::start().await;
    create(broker.broker(), 1, &[("message.timestamp.type", "LogAppendTime")]).await;
    let mut connection = broker.connect().await;
    let before = broker.broker().clock.now();
    let answer = send(&mut connection, 9, &produce(0, batch(&["v"]).build())).await;
    assert!((before..=broker.broker().clock.now()).contains(&answer.log_append_time_ms));
    broker.stop().await;
}

/// `broker-core.md` 9.3, the worked example: a batch that was sent twice is answered as it was at first.
#[tokio::test]
async fn idempotent_producers_get_their_first_offsets_again() {
    let (broker, mut connection, _) = start(1).await;
    let mut init = InitProducerIdRequest { transactional_id: None, ..Default::default() };
    let given = soon(connection.call(5, &init)).await;
    assert_eq!((given.error_code, given.producer_epoch), (ErrorCode::NONE, 0));
    let next = soon(connection.call(0, &init)).await;
    assert_ne!(next.producer_id, given.producer_id);
    let five = ["a", "b", "c", "d", "e"];
    let steps = [
        ("first", 0, 0, ErrorCode::NONE, 0),
        ("second", 0, 5, ErrorCode::NONE, 5),
        ("first again", 0, 0, ErrorCode::NONE, 0),
        ("gap", 0, 15, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, -1),
        ("new epoch from the middle", 1, 10, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, -1),
        ("new epoch", 1, 0, ErrorCode::NONE, 10),
        ("old epoch", 0, 10, ErrorCode::INVALID_PRODUCER_EPOCH, -1),
    ];
    for (what, epoch, sequence, code, offset) in steps {
        let records = batch(&five).producer(given.producer_id, epoch, sequence).build();
        let answer = send(&mut connection, 9, &produce(0, records)).await;
        assert_eq!((answer.error_code, answer.base_offset), (code, offset), "{what}");
        assert_eq!(answer.log_start_offset, 0, "{what}");
    }
    init.producer_epoch = 3;
    assert_eq!(soon(connection.call(5, &init)).await.error_code, ErrorCode::INVALID_REQUEST);
    broker.stop().await;
}

/// Several in flight, as idempotent producers send: their batches are appended in arrival order.
#[tokio::test]
async fn pipelined_batches_keep_their_order() {
    let (broker, mut connection, _) = start(1).await;
    let request = |sequence| produce(0, batch(&["v"]).producer(3, 0, sequence).build());
    for sequence in 0..20 {
        connection.send(9, &request(sequence)).await.unwrap();
    }
    for offset in 0..20 {
        let answer = soon(connection.receive::<ProduceRequest>(9)).await;
        assert_eq!(answer.responses[0].partition_responses[0].base_offset, offset);
    }
    broker.stop().await;
}

/// `broker-core.md` 8.3: acks 0 is never answered; a failure closes the connection.
#[tokio::test]
async fn acks_0_is_silent_until_it_fails() {
    let (broker, mut connection, _) = start(1).await;
    let mut request = produce(0, batch(&["v"]).build());
    request.acks = 0;
    connection.send_unanswered(9, &request).await.unwrap();
    // decision 19: the reader sees what was sent before, though nobody waited for it to be durable.
    let response = soon(connection.call(12, &fetch(vec![from(0, 0)]))).await;
    assert_eq!(all(&response), [(0, vec!["v".to_owned()])]);
    request.topic_data[0].name = Str::from("nobody");
    connection.send_unanswered(9, &request).await.unwrap();
    closed(&mut connection).await;
    broker.stop().await;
}

/// `broker-core.md` 10.4. The wait is longer than the test is patient, so only the append can end it.
#[tokio::test]
async fn a_long_poll_ends_with_the_first_record() {
    let (broker, mut consumer, _) = start(8).await;
    let mut producer = broker.connect().await;
    let mut request = fetch((0..8).map(|index| from(index, 0)).collect());
    request.max_wait_ms = i32::MAX;
    consumer.send(12, &request).await.unwrap();
    append(&mut producer, 5, &["news"]).await;
    let response = soon(consumer.receive::<FetchRequest>(12)).await;
    let with_records: Vec<_> = all(&response).into_iter().filter(|(_, values)| !values.is_empty()).collect();
    assert_eq!(with_records, [(5, vec!["news".to_owned()])]);
    assert_eq!(response.responses[0].partitions.len(), 8);
    broker.stop().await;
}

/// The wait ends when the partitions together have `min_bytes`, not before.
#[tokio::test]
async fn a_long_poll_gathers_min_bytes_over_partitions() {
    let (broker, mut consumer, _) = start(2).await;
    let mut producer = broker.connect().await;
    let size = i32::try_from(batch(&["news"]).build().len()).unwrap();
    let mut request = fetch(vec![from(0, 0), from(1, 0)]);
    (request.max_wait_ms, request.min_bytes) = (i32::MAX, 2 * size);
    consumer.send(12, &request).await.unwrap();
    append(&mut producer, 0, &["news"]).await;
    append(&mut producer, 1, &["more"]).await;
    let response = soon(consumer.receive::<FetchRequest>(12)).await;
    assert_eq!(all(&response), [(0, vec!["news".to_owned()]), (1, vec!["more".to_owned()])]);
    broker.stop().await;
}

/// K-11: an unknown partition does not end the wait of others; a failed read does.
#[tokio::test]
async fn what_is_absent_does_not_end_a_long_poll_but_a_failed_read_does() {
    let (broker, mut consumer, _) = start(1).await;
    let mut producer = broker.connect().await;
    let mut request = fetch(vec![from(0, 0), from(7, 0)]);
    request.max_wait_ms = i32::MAX;
    consumer.send(12, &request).await.unwrap();
    append(&mut producer, 0, &["news"]).await;
    let response = soon(consumer.receive::<FetchRequest>(12)).await;
    let codes: Vec<_> = parts(&response).iter().map(|it| it.error_code).collect();
    assert_eq!(codes, [ErrorCode::NONE, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION]);
    assert_eq!(values(parts(&response)[0]), ["news"]);
    // Nothing is to be waited for where every partition is absent.
    let mut request = fetch(vec![from(7, 0)]);
    request.max_wait_ms = i32::MAX;
    soon(consumer.call(12, &request)).await;
    let mut request = fetch(vec![from(0, 99)]);
    request.max_wait_ms = i32::MAX;
    let response = soon(consumer.call(12, &request)).await;
    let part = parts(&response)[0];
    assert_eq!((part.error_code, part.high_watermark), (ErrorCode::OFFSET_OUT_OF_RANGE, -1));
    assert_eq!(part.aborted_transactions, None);
    broker.stop().await;
}

/// deviations.md: a request behind a long poll does not wait for its end, but a second Fetch changes nothing.
#[tokio::test]
async fn a_long_poll_yields_to_what_waits_behind_it() {
    let (broker, mut consumer, _) = start(1).await;
    let mut producer = broker.connect().await;
    let mut request = fetch(vec![from(0, 0)]);
    request.max_wait_ms = i32::MAX;
    for _ in 0..2 {
        consumer.send(12, &request).await.unwrap();
    }
    append(&mut producer, 0, &["news"]).await;
    for _ in 0..2 {
        let response = soon(consumer.receive::<FetchRequest>(12)).await;
        assert_eq!(all(&response), [(0, vec!["news".to_owned()])]);
    }
    request.topics[0].partitions[0].fetch_offset = 1;
    consumer.send(12, &request).await.unwrap();
    consumer.send(12, &MetadataRequest::default()).await.unwrap();
    let response = soon(consumer.receive::<FetchRequest>(12)).await;
    assert_eq!(all(&response), [(0, vec![])]);
    soon(consumer.receive::<MetadataRequest>(12)).await;
    broker.stop().await;
}

#[tokio::test]
async fn deleting_the_topic_ends_a_long_poll() {
    let (broker, mut consumer, _) = start(1).await;
    let mut request = fetch(vec![from(0, 0)]);
    request.max_wait_ms = i32::MAX;
    consumer.send(12, &request).await.unwrap();
    let topics = vec![TopicRef::Name(TOPIC.to_owned())];
    broker.broker().catalog.submit(DeleteTopics { topics }).await.unwrap();
    let response = soon(consumer.receive::<FetchRequest>(12)).await;
    let gone = [ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::NOT_LEADER_OR_FOLLOWER];
    assert!(gone.contains(&parts(&response)[0].error_code));
    broker.stop().await;
}

/// `broker-core.md` 10.2, the worked example in our sizes: one batch too large is given, for the first partition.
#[tokio::test]
async fn max_bytes_is_kept_but_for_the_first_batch() {
    let (broker, mut connection, _) = start(3).await;
    let large = "x".repeat(600);
    append(&mut connection, 0, &[&large]).await;
    append(&mut connection, 1, &["a"]).await;
    append(&mut connection, 1, &[&large]).await;
    append(&mut connection, 2, &["b"]).await;
    let part = |index| FetchPartition { partition_max_bytes: 500, ..from(index, 0) };
    let mut request = fetch(vec![part(0), part(1), part(2)]);
    request.max_bytes = 800;
    let response = soon(connection.call(12, &request)).await;
    assert_eq!(all(&response), [(0, vec![large.clone()]), (1, vec!["a".to_owned()]), (2, vec![])]);
    // The offset inside a batch gives the whole batch (10.2 rule 3).
    append(&mut connection, 2, &["c", "d"]).await;
    let response = soon(connection.call(12, &fetch(vec![from(2, 2)]))).await;
    assert_eq!(all(&response), [(2, vec!["c".to_owned(), "d".to_owned()])]);
    // What does not fit counts for min_bytes: the client would wait for more than it can get.
    let mut request = fetch(vec![part(2), FetchPartition { fetch_offset: 1, ..part(1) }]);
    (request.max_wait_ms, request.min_bytes) = (i32::MAX, 600);
    let response = soon(connection.call(12, &request)).await;
    assert_eq!(all(&response)[1], (1, vec![]));
    broker.stop().await;
}

/// `broker-core.md` 10.5, the worked example.
#[tokio::test]
async fn a_session_tells_only_what_is_new() {
    let (broker, mut connection, _) = start(2).await;
    append(&mut connection, 0, &["a"]).await;
    let session =
        |id, epoch, partitions| FetchRequest { session_id: id, session_epoch: epoch, ..fetch(partitions) };
    let full = soon(connection.call(12, &session(0, 0, vec![from(0, 0), from(1, 0)]))).await;
    assert_eq!(all(&full), [(0, vec!["a".to_owned()]), (1, vec![])]);
    let id = full.session_id;
    assert_ne!(id, 0);
    let idle = soon(connection.call(12, &session(id, 1, vec![from(0, 1)]))).await;
    assert_eq!((idle.session_id, all(&idle)), (id, vec![]));
    append(&mut connection, 1, &["b"]).await;
    let news = soon(connection.call(12, &session(id, 2, vec![]))).await;
    assert_eq!(all(&news), [(1, vec!["b".to_owned()])]);
    let again = soon(connection.call(12, &session(id, 2, vec![]))).await;
    assert_eq!((again.error_code, again.session_id), (ErrorCode::INVALID_FETCH_SESSION_EPOCH, 0));
    let mut forget = session(id, 3, vec![]);
    let partitions = vec![1];
    forget.forgotten_topics_data =
        vec![ForgottenTopic { topic: Str::from(TOPIC), partitions, ..Default::default() }];
    assert_eq!(all(&soon(connection.call(12, &forget)).await), []);
    let by_id = soon(connection.call(13, &session(id, 4, vec![]))).await;
    assert_eq!(by_id.error_code, ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
    let closing = soon(connection.call(12, &session(id, -1, vec![from(0, 0)]))).await;
    assert_eq!((closing.session_id, all(&closing).len()), (0, 1));
    let gone = soon(connection.call(12, &session(id, 4, vec![]))).await;
    assert_eq!(gone.error_code, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
    assert_eq!(broker.broker().fetch_sessions.count(), 0);
    broker.stop().await;
}

/// K-5: a session by id on a topic that was deleted answers as for an unknown name; a new request does not.
#[tokio::test]
async fn a_topic_that_goes_is_unknown_by_name_in_its_session_and_by_id_outside() {
    let (broker, mut connection, id) = start(1).await;
    let mut request = fetch(vec![from(0, 0)]);
    (request.topics[0].topic_id, request.session_epoch) = (id, 0);
    let full = soon(connection.call(16, &request)).await;
    let topics = vec![TopicRef::Name(TOPIC.to_owned())];
    broker.broker().catalog.submit(DeleteTopics { topics }).await.unwrap();
    let next = FetchRequest { session_id: full.session_id, session_epoch: 1, ..fetch(vec![]) };
    let response = soon(connection.call(16, &next)).await;
    assert_eq!(parts(&response)[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let response = soon(connection.call(16, &request)).await;
    assert_eq!(parts(&response)[0].error_code, ErrorCode::UNKNOWN_TOPIC_ID);
    broker.stop().await;
}

async fn offset_at(connection: &mut Connection, version: i16, timestamp: i64) -> (ErrorCode, i64, i64, i32) {
    use wire::list_offsets::request::{ListOffsetsPartition, ListOffsetsTopic};
    let partitions = vec![ListOffsetsPartition { timestamp, ..Default::default() }];
    let topics = vec![ListOffsetsTopic { name: Str::from(TOPIC), partitions, ..Default::default() }];
    let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
    let response = soon(connection.call(version, &request)).await;
    let part = &response.topics[0].partitions[0];
    (part.error_code, part.offset, part.timestamp, part.leader_epoch)
}

/// `broker-core.md` 11.1.
#[tokio::test]
async fn offsets_are_found_by_time() {
    let (broker, mut connection, _) = start(1).await;
    for timestamp in [1_000, 3_000, 2_000] {
        let records = BatchBuilder::new().timestamp(timestamp).push(None, Some(b"v")).build();
        send(&mut connection, 9, &produce(0, records)).await;
    }
    let none = ErrorCode::NONE;
    let cases = [
        (-1, (none, 3, -1, 0)),
        (-2, (none, 0, -1, 0)),
        (-3, (none, 1, 3_000, 0)),
        (-4, (none, 0, -1, 0)),
        (-5, (none, -1, -1, -1)),
        (-6, (none, -1, -1, -1)),
        (-7, (ErrorCode::UNSUPPORTED_VERSION, -1, -1, -1)),
        (0, (none, 0, 1_000, 0)),
        (1_001, (none, 1, 3_000, 0)),
        (3_001, (none, -1, -1, -1)),
    ];
    for (timestamp, expected) in cases {
        assert_eq!(offset_at(&mut connection, 11, timestamp).await, expected, "{timestamp}");
    }
    assert_eq!(offset_at(&mut connection, 1, -1).await, (none, 3, -1, -1), "v1 has no epochs");
    assert_eq!(offset_at(&mut connection, 6, -3).await.0, ErrorCode::UNSUPPORTED_VERSION);
    broker.stop().await;
}

/// Clients in the same partition twice in one request.
#[tokio::test]
async fn a_partition_named_twice_is_refused() {
    use wire::list_offsets::request::{ListOffsetsPartition, ListOffsetsTopic};
    let (broker, mut connection, _) = start(2).await;
    let part =
        |partition_index| ListOffsetsPartition { partition_index, timestamp: -1, ..Default::default() };
    let partitions = vec![part(0), part(0), part(1)];
    let topics = vec![ListOffsetsTopic { name: Str::from(TOPIC), partitions, ..Default::default() }];
    let response = soon(connection.call(9, &ListOffsetsRequest { topics, ..Default::default() })).await;
    let codes: Vec<_> = response.topics[0].partitions.iter().map(|it| it.error_code).collect();
    assert_eq!(codes, [ErrorCode::INVALID_REQUEST, ErrorCode::NONE], "told once");
    broker.stop().await;
}

async fn epoch_end(connection: &mut Connection, current: i32, epoch: i32) -> (ErrorCode, i32, i64) {
    use wire::offset_for_leader_epoch::request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
    let (current_leader_epoch, leader_epoch) = (current, epoch);
    let partitions =
        vec![OffsetForLeaderPartition { current_leader_epoch, leader_epoch, ..Default::default() }];
    let topics = vec![OffsetForLeaderTopic { topic: Str::from(TOPIC), partitions, ..Default::default() }];
    let request = OffsetForLeaderEpochRequest { topics, ..Default::default() };
    let response = soon(connection.call(4, &request)).await;
    let part = &response.topics[0].partitions[0];
    (part.error_code, part.leader_epoch, part.end_offset)
}

/// Records, producers and epochs outlive the process; the leader epoch grows (decision 18).
#[tokio::test]
async fn a_restart_keeps_records_and_raises_the_leader_epoch() {
    let (broker, mut connection, _) = start(1).await;
    // A producer whose records are old counts as gone for long, so these are of now.
    let records = BatchBuilder::new().timestamp(broker.broker().clock.now()).producer(5, 0, 0);
    let first = produce(0, records.push(None, Some(b"a")).push(None, Some(b"b")).build());
    assert_eq!(send(&mut connection, 9, &first).await.base_offset, 0);
    let broker = broker.restart().await;
    let mut connection = broker.connect().await;
    assert_eq!(send(&mut connection, 9, &first).await.base_offset, 0, "known as a repetition");
    append(&mut connection, 0, &["c"]).await;
    let response = soon(connection.call(12, &fetch(vec![from(0, 0)]))).await;
    assert_eq!(all(&response), [(0, ["a", "b", "c"].map(str::to_owned).to_vec())]);
    let old = FetchPartition { current_leader_epoch: 0, ..from(0, 0) };
    let response = soon(connection.call(16, &fetch_by_id(&broker, old))).await;
    let part = parts(&response)[0];
    assert_eq!(part.error_code, ErrorCode::FENCED_LEADER_EPOCH);
    assert_eq!((part.current_leader.leader_id, part.current_leader.leader_epoch), (1, 1));
    let port = i32::from(broker.address.port());
    assert_eq!(
        response.node_endpoints.iter().map(|it| (it.node_id, it.port)).collect::<Vec<_>>(),
        [(1, port)]
    );
    let new = FetchPartition { current_leader_epoch: 2, ..from(0, 0) };
    let response = soon(connection.call(16, &fetch_by_id(&broker, new))).await;
    assert_eq!(parts(&response)[0].error_code, ErrorCode::UNKNOWN_LEADER_EPOCH);
    let diverged = FetchPartition { last_fetched_epoch: 0, ..from(0, 3) };
    let response = soon(connection.call(16, &fetch_by_id(&broker, diverged))).await;
    let part = parts(&response)[0];
    assert_eq!(
        (part.error_code, part.diverging_epoch.epoch, part.diverging_epoch.end_offset),
        (ErrorCode::NONE, 0, 2)
    );
    assert_eq!(epoch_end(&mut connection, -1, 0).await, (ErrorCode::NONE, 0, 2));
    assert_eq!(epoch_end(&mut connection, 1, 1).await, (ErrorCode::NONE, 1, 3));
    assert_eq!(epoch_end(&mut connection, -1, 7).await, (ErrorCode::NONE, -1, -1));
    assert_eq!(epoch_end(&mut connection, 0, 0).await, (ErrorCode::FENCED_LEADER_EPOCH, -1, -1));
    broker.stop().await;
}

fn fetch_by_id(broker: &TestBroker, partition: FetchPartition) -> FetchRequest {
    let mut request = fetch(vec![partition]);
    request.topics[0].topic_id = broker.broker().catalog.image().topic(TOPIC).unwrap().id;
    request
}

async fn delete_below(connection: &mut Connection, index: i32, offset: i64) -> (ErrorCode, i64) {
    use wire::delete_records::request::{DeleteRecordsPartition, DeleteRecordsTopic};
    let partitions = vec![DeleteRecordsPartition { partition_index: index, offset, ..Default::default() }];
    let topics = vec![DeleteRecordsTopic { name: Str::from(TOPIC), partitions, ..Default::default() }];
    let request = DeleteRecordsRequest { topics, timeout_ms: 10_000, ..Default::default() };
    let response = soon(connection.call(2, &request)).await;
    let part = &response.topics[0].partitions[0];
    (part.error_code, part.low_watermark)
}

/// `broker-core.md` 11.3.
#[tokio::test]
async fn records_are_deleted_up_to_an_offset() {
    let (broker, mut connection, _) = start(1).await;
    append(&mut connection, 0, &["a", "b", "c"]).await;
    assert_eq!(delete_below(&mut connection, 0, 2).await, (ErrorCode::NONE, 2));
    assert_eq!(delete_below(&mut connection, 0, 1).await, (ErrorCode::NONE, 2));
    assert_eq!(delete_below(&mut connection, 0, 4).await, (ErrorCode::OFFSET_OUT_OF_RANGE, -1));
    assert_eq!(delete_below(&mut connection, 0, -2).await, (ErrorCode::OFFSET_OUT_OF_RANGE, -1));
    assert_eq!(delete_below(&mut connection, 1, 0).await, (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1));
    let response = soon(connection.call(12, &fetch(vec![from(0, 0)]))).await;
    assert_eq!(parts(&response)[0].error_code, ErrorCode::OFFSET_OUT_OF_RANGE);
    assert_eq!(delete_below(&mut connection, 0, -1).await, (ErrorCode::NONE, 3));
    assert_eq!(offset_at(&mut connection, 5, -2).await.1, 3);
    broker.stop().await;
}

/// Each API asks the authorizer, and tells nothing of what the caller may not see.
#[tokio::test]
async fn denied() {
    let broker = TestBroker::denying(Operation::Write).await;
    create(broker.broker(), 1, &[]).await;
    let mut connection = broker.connect().await;
    let answer = send(&mut connection, 9, &produce(0, batch(&["v"]).build())).await;
    assert_eq!(answer.error_code, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    broker.stop().await;
    let broker = TestBroker::denying(Operation::Read).await;
    create(broker.broker(), 1, &[]).await;
    let mut connection = broker.connect().await;
    let response = soon(connection.call(12, &fetch(vec![from(0, 0)]))).await;
    let part = parts(&response)[0];
    assert_eq!((part.error_code, part.high_watermark), (ErrorCode::TOPIC_AUTHORIZATION_FAILED, -1));
    broker.stop().await;
    let broker = TestBroker::denying(Operation::Delete).await;
    create(broker.broker(), 1, &[]).await;
    let mut connection = broker.connect().await;
    assert_eq!(delete_below(&mut connection, 0, -1).await, (ErrorCode::TOPIC_AUTHORIZATION_FAILED, -1));
    broker.stop().await;
    let broker = TestBroker::denying(Operation::Describe).await;
    create(broker.broker(), 1, &[]).await;
    let mut connection = broker.connect().await;
    let denied = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    assert_eq!(offset_at(&mut connection, 5, -1).await, (denied, -1, -1, -1));
    assert_eq!(epoch_end(&mut connection, -1, 0).await.0, ErrorCode::NONE, "CLUSTER_ACTION is enough");
    broker.stop().await;
}

/// Producer ids need IDEMPOTENT_WRITE or a topic to write; a transactional id needs WRITE on it.
#[tokio::test]
async fn producer_ids_are_for_those_who_may_write() {
    let broker = TestBroker::over(Disk::new(), &[], Arc::new(DenyWrites)).await;
    create(broker.broker(), 1, &[]).await;
    let mut connection = broker.connect().await;
    let mut init = InitProducerIdRequest { transactional_id: None, ..Default::default() };
    let answer = soon(connection.call(5, &init)).await;
    assert_eq!((answer.error_code, answer.producer_id), (ErrorCode::CLUSTER_AUTHORIZATION_FAILED, -1));
    init.transactional_id = Some(Str::from("x"));
    let answer = soon(connection.call(5, &init)).await;
    assert_eq!(answer.error_code, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    broker.stop().await;
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    for (id, timeout, code) in [
        ("", 1_000, ErrorCode::INVALID_REQUEST),
        ("x", 0, ErrorCode::INVALID_TRANSACTION_TIMEOUT),
        ("x", 900_001, ErrorCode::INVALID_TRANSACTION_TIMEOUT),
        ("x", 900_000, ErrorCode::NOT_COORDINATOR),
    ] {
        (init.transactional_id, init.transaction_timeout_ms) = (Some(Str::from(id)), timeout);
        assert_eq!(soon(connection.call(5, &init)).await.error_code, code, "{id:?} {timeout}");
    }
    broker.stop().await;
}

struct DenyWrites;

impl broker::auth::Authorizer for DenyWrites {
    fn allow(
        &self,
        _caller: &coordinator::Caller,
        operation: Operation,
        _resource: broker::auth::Resource<'_>,
    ) -> bool {
        ![Operation::Write, Operation::IdempotentWrite].contains(&operation)
    }
}

#[test]
fn the_requests_above_are_what_they_say() {
    assert_eq!((ProduceRequest::KEY, FetchRequest::KEY, ListOffsetsRequest::KEY), (0, 1, 2));
}
