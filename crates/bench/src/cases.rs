//! What the codec is measured on: the same bytes for both sides, each of which must write them again as they are.
//!
//! Both sides decode from a slice of one frame that others hold too, into values that own or share what they hold, and
//! drop these; both refuse what is not the message (ours also null, lengths and counts that can't be; theirs also
//! strings that are no UTF-8). Both encode values of the same content into memory that is allocated anew and freed
//! again: ours hands on chunks as a connection takes them, theirs has the better of a buffer that grows and one of the
//! computed size. What is not the same is on purpose, since it is what the libraries are like: ours shares large
//! record sets where theirs copies them, holds short strings and a few broker ids by value, and makes no maps for
//! unknown tags.

use std::hint::black_box;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable, Encodable};
use wire::batch::BatchBuilder;
use wire::{Message, Reader, Records, Str, Uuid, Writer};

/// One thing to do, as often as wanted.
pub type Work = Box<dyn Fn()>;

/// What one library does with a message.
pub struct Side {
    pub decode: Work,
    /// The fastest way that is measured is what counts.
    pub encode: Work,
    pub encode_otherwise: Option<Work>,
}

/// A message in a version.
pub struct Case {
    pub name: String,
    pub bytes: usize,
    pub ours: Side,
    /// Nothing where the other library lacks the message.
    pub theirs: Option<Side>,
}

/// Allocates what it needs and hands the pieces on, as the broker does: large byte fields are not copied.
fn ours<M: Message>(message: &M, version: i16, bytes: &Bytes) -> Side {
    let (input, message) = (bytes.clone(), message.clone());
    let decode = move || {
        let mut reader = Reader::new(input.clone());
        black_box(M::decode(&mut reader, version).is_ok());
    };
    let encode = move || {
        let mut writer = Writer::new();
        black_box(message.encode(&mut writer, version).is_ok());
        black_box(writer.into_chunks());
    };
    Side { decode: Box::new(decode), encode: Box::new(encode), encode_otherwise: None }
}

/// Into a buffer that grows, or into one of the size that was computed before.
fn theirs<T: Decodable + Encodable + 'static>(version: i16, bytes: &Bytes) -> Side {
    let input = bytes.clone();
    let read = move || T::decode(&mut input.clone(), version).expect("the bytes are those of the message");
    let written = move |message: &T| {
        let mut out = BytesMut::new();
        message.encode(&mut out, version).expect("it was decoded");
        out
    };
    assert_eq!(written(&read()), bytes, "both sides write the same bytes");
    let (grows, sized) = (read(), read());
    let decode = move || {
        black_box(read());
    };
    let encode = move || {
        black_box(written(&grows));
    };
    let otherwise = move || {
        let mut out = BytesMut::with_capacity(sized.compute_size(version).unwrap_or(0));
        black_box(sized.encode(&mut out, version).is_ok());
        black_box(out);
    };
    Side { decode: Box::new(decode), encode: Box::new(encode), encode_otherwise: Some(Box::new(otherwise)) }
}

fn case<M: Message, T: Decodable + Encodable + 'static>(name: &str, message: &M, version: i16) -> Case {
    let bytes = message.to_bytes(version).expect("a legal message");
    let theirs = Some(theirs::<T>(version, &bytes));
    Case { theirs, ..alone(name, message, version) }
}

fn alone<M: Message>(name: &str, message: &M, version: i16) -> Case {
    let bytes = message.to_bytes(version).expect("a legal message");
    let ours = ours(message, version, &bytes);
    Case { name: format!("{} v{version}, {name}", M::NAME), bytes: bytes.len(), ours, theirs: None }
}

/// All cases: the messages of the hot paths.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    produce(&mut cases);
    fetch(&mut cases);
    metadata(&mut cases);
    offset_commit(&mut cases);
    consumer_group_heartbeat(&mut cases);
    streams_group_heartbeat(&mut cases);
    cases
}

fn topic(i: usize) -> Str {
    Str::from(format!("orders-of-region-{i}"))
}

fn id(i: usize) -> Uuid {
    Uuid([u8::try_from(i % 250).unwrap_or(0) + 1; 16])
}

fn int(i: usize) -> i32 {
    i32::try_from(i).unwrap_or(0)
}

fn batch(bytes: usize) -> Bytes {
    BatchBuilder::new()
        .producer(7, 0, 0)
        .timestamp(1_700_000_000_000)
        .push(None, Some(&vec![7; bytes]))
        .build()
}

fn produce(cases: &mut Vec<Case>) {
    use wire::produce::request::{PartitionProduceData, TopicProduceData};
    use wire::produce::response::{PartitionProduceResponse, TopicProduceResponse};
    let request = |topics: usize, partitions: usize, bytes: usize| {
        let partition = |index| PartitionProduceData {
            index: int(index),
            records: Some(Records::from(batch(bytes))),
            ..Default::default()
        };
        let topic = |i| TopicProduceData {
            name: topic(i),
            partition_data: (0..partitions).map(partition).collect(),
            ..Default::default()
        };
        let topic_data = (0..topics).map(topic).collect();
        wire::ProduceRequest { acks: -1, timeout_ms: 30_000, topic_data, ..Default::default() }
    };
    cases.push(case::<_, theirs::ProduceRequest>("1 batch of 100 B", &request(1, 1, 100), 12));
    cases.push(case::<_, theirs::ProduceRequest>("20 batches of 400 B", &request(4, 5, 400), 12));
    cases.push(case::<_, theirs::ProduceRequest>("4 batches of 16 KiB", &request(1, 4, 16 << 10), 12));
    let partition = |index| PartitionProduceResponse {
        index: int(index),
        base_offset: 123_456,
        log_start_offset: 0,
        ..Default::default()
    };
    let topic = |i| TopicProduceResponse {
        name: topic(i),
        partition_responses: (0..5).map(partition).collect(),
        ..Default::default()
    };
    let response = wire::ProduceResponse { responses: (0..4).map(topic).collect(), ..Default::default() };
    cases.push(case::<_, theirs::ProduceResponse>("20 partitions", &response, 12));
}

fn fetch(cases: &mut Vec<Case>) {
    use wire::fetch::request::{FetchPartition, FetchTopic};
    use wire::fetch::response::{FetchableTopicResponse, PartitionData};
    let partition = |i| FetchPartition {
        partition: int(i),
        fetch_offset: 1000,
        current_leader_epoch: 3,
        partition_max_bytes: 1 << 20,
        ..Default::default()
    };
    let topic = |i| FetchTopic {
        topic_id: id(i),
        partitions: (0..10).map(partition).collect(),
        ..Default::default()
    };
    let request = wire::FetchRequest {
        max_wait_ms: 500,
        min_bytes: 1,
        topics: (0..5).map(topic).collect(),
        ..Default::default()
    };
    cases.push(case::<_, theirs::FetchRequest>("50 partitions", &request, 16));
    let response = |topics: usize, partitions: usize, bytes: usize| {
        let partition = |i| PartitionData {
            partition_index: int(i),
            high_watermark: 2000,
            last_stable_offset: 2000,
            log_start_offset: 0,
            records: Some(Records::from(if bytes == 0 { Bytes::new() } else { batch(bytes) })),
            ..Default::default()
        };
        let topic = |i| FetchableTopicResponse {
            topic_id: id(i),
            partitions: (0..partitions).map(partition).collect(),
            ..Default::default()
        };
        let responses = (0..topics).map(topic).collect();
        wire::FetchResponse { session_id: 5, responses, ..Default::default() }
    };
    cases.push(case::<_, theirs::FetchResponse>("50 partitions of 500 B", &response(5, 10, 500), 16));
    cases.push(case::<_, theirs::FetchResponse>("4 partitions of 16 KiB", &response(1, 4, 16 << 10), 16));
}

fn metadata(cases: &mut Vec<Case>) {
    use wire::metadata::request::MetadataRequestTopic;
    use wire::metadata::response::{
        MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
    };
    let asked = |i| MetadataRequestTopic { name: Some(topic(i)), ..Default::default() };
    let request = wire::MetadataRequest { topics: Some((0..20).map(asked).collect()), ..Default::default() };
    cases.push(case::<_, theirs::MetadataRequest>("20 topics", &request, 12));
    let broker = |i| MetadataResponseBroker {
        node_id: int(i),
        host: Str::from(format!("broker-{i}.example")),
        port: 9092,
        ..Default::default()
    };
    let partition = |i| MetadataResponsePartition {
        partition_index: int(i),
        leader_id: int(i % 3),
        leader_epoch: 4,
        replica_nodes: vec![0, 1, 2].into(),
        isr_nodes: vec![0, 1, 2].into(),
        ..Default::default()
    };
    let of_topic = |i| MetadataResponseTopic {
        name: Some(topic(i)),
        topic_id: id(i),
        partitions: (0..12).map(partition).collect(),
        ..Default::default()
    };
    let response = |topics: usize| wire::MetadataResponse {
        brokers: (0..3).map(broker).collect(),
        cluster_id: Some("4L6g3nShT-eMCtK--X86sw".into()),
        controller_id: 1,
        topics: (0..topics).map(of_topic).collect(),
        ..Default::default()
    };
    cases.push(case::<_, theirs::MetadataResponse>("1 topic of 12 partitions", &response(1), 12));
    cases.push(case::<_, theirs::MetadataResponse>("100 topics of 12 partitions", &response(100), 12));
}

fn offset_commit(cases: &mut Vec<Case>) {
    use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
    use wire::offset_commit::response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
    let partition = |i| OffsetCommitRequestPartition {
        partition_index: int(i),
        committed_offset: 123_456,
        committed_leader_epoch: 2,
        committed_metadata: Some("".into()),
        ..Default::default()
    };
    let of_topic = |i| OffsetCommitRequestTopic {
        name: topic(i),
        partitions: (0..10).map(partition).collect(),
        ..Default::default()
    };
    let request = wire::OffsetCommitRequest {
        group_id: "shipping".into(),
        generation_id_or_member_epoch: 17,
        member_id: "a-member-06c8ed60-53f8-4ba1-9a4b-5f9a3f1c1a11".into(),
        topics: (0..5).map(of_topic).collect(),
        ..Default::default()
    };
    cases.push(case::<_, theirs::OffsetCommitRequest>("50 partitions", &request, 9));
    let partition = |i| OffsetCommitResponsePartition { partition_index: int(i), ..Default::default() };
    let of_topic = |i| OffsetCommitResponseTopic {
        name: topic(i),
        partitions: (0..10).map(partition).collect(),
        ..Default::default()
    };
    let response =
        wire::OffsetCommitResponse { topics: (0..5).map(of_topic).collect(), ..Default::default() };
    cases.push(case::<_, theirs::OffsetCommitResponse>("50 partitions", &response, 9));
}

fn consumer_group_heartbeat(cases: &mut Vec<Case>) {
    use wire::consumer_group_heartbeat::{request, response};
    let beat = wire::ConsumerGroupHeartbeatRequest {
        group_id: "shipping".into(),
        member_id: "06c8ed60-53f8-4ba1-9a4b-5f9a3f1c1a11".into(),
        member_epoch: 17,
        ..Default::default()
    };
    cases.push(case::<_, theirs::ConsumerGroupHeartbeatRequest>("steady", &beat, 1));
    let owned =
        |i| request::TopicPartitions { topic_id: id(i), partitions: (0..10).collect(), ..Default::default() };
    let full = wire::ConsumerGroupHeartbeatRequest {
        subscribed_topic_names: Some((0..5).map(topic).collect()),
        topic_partitions: Some((0..5).map(owned).collect()),
        rebalance_timeout_ms: 45_000,
        server_assignor: Some("uniform".into()),
        ..beat
    };
    cases.push(case::<_, theirs::ConsumerGroupHeartbeatRequest>("5 topics", &full, 1));
    let given = |i| response::TopicPartitions {
        topic_id: id(i),
        partitions: (0..10).collect(),
        ..Default::default()
    };
    let answer = wire::ConsumerGroupHeartbeatResponse {
        member_id: Some("06c8ed60-53f8-4ba1-9a4b-5f9a3f1c1a11".into()),
        member_epoch: 18,
        heartbeat_interval_ms: 5000,
        assignment: Some(response::Assignment {
            topic_partitions: (0..5).map(given).collect(),
            ..Default::default()
        }),
        ..Default::default()
    };
    cases.push(case::<_, theirs::ConsumerGroupHeartbeatResponse>("5 topics", &answer, 1));
}

/// The other library has no such message: these rows stand alone.
fn streams_group_heartbeat(cases: &mut Vec<Case>) {
    use wire::streams_group_heartbeat::{request, response};
    let beat = wire::StreamsGroupHeartbeatRequest {
        group_id: "wordcount".into(),
        member_id: "06c8ed60-53f8-4ba1-9a4b-5f9a3f1c1a11".into(),
        member_epoch: 17,
        ..Default::default()
    };
    cases.push(alone("steady", &beat, 0));
    let tasks = |subtopology: usize| request::TaskIds {
        subtopology_id: Str::from(subtopology.to_string()),
        partitions: (0..100).collect(),
        ..Default::default()
    };
    let full = wire::StreamsGroupHeartbeatRequest {
        active_tasks: Some((0..10).map(tasks).collect()),
        standby_tasks: Some(Vec::new()),
        warmup_tasks: Some(Vec::new()),
        ..beat
    };
    cases.push(alone("1,000 tasks", &full, 0));
    let tasks = |subtopology: usize| response::TaskIds {
        subtopology_id: Str::from(subtopology.to_string()),
        partitions: (0..100).collect(),
        ..Default::default()
    };
    let answer = |active: usize| wire::StreamsGroupHeartbeatResponse {
        member_id: "06c8ed60-53f8-4ba1-9a4b-5f9a3f1c1a11".into(),
        member_epoch: 17,
        heartbeat_interval_ms: 5000,
        acceptable_recovery_lag: 10_000,
        task_offset_interval_ms: 60_000,
        active_tasks: (active > 0).then(|| (0..active).map(tasks).collect()),
        ..Default::default()
    };
    cases.push(alone("steady", &answer(0), 0));
    cases.push(alone("1,000 tasks", &answer(10), 0));
}
