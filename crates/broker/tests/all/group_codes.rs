//! Error codes of groups and offsets that handlers give, and the topics of their answers, through a socket. Where each
//! code of the specification is shown stands in `crates/coordinator/scenarios/README.md`.

use crate::common::{TestBroker, soon};
use client::Connection;
use wire::create_topics::request::CreatableTopic;
use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use wire::offset_delete::request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use wire::offset_fetch::request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use wire::{
    CreateTopicsRequest, ErrorCode, FindCoordinatorRequest, OffsetCommitRequest, OffsetDeleteRequest,
    OffsetFetchRequest, Str, Uuid,
};

const UNKNOWN: Uuid = Uuid([7; 16]);

async fn create(connection: &mut Connection, name: &str) -> Uuid {
    let topic = CreatableTopic {
        name: Str::from(name),
        num_partitions: 2,
        replication_factor: 1,
        ..Default::default()
    };
    let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..Default::default() };
    let answer = soon(connection.call(7, &request)).await;
    assert_eq!(answer.topics[0].error_code, ErrorCode::NONE);
    answer.topics[0].topic_id
}

async fn coordinator(connection: &mut Connection) -> ErrorCode {
    let coordinator_keys = vec![Str::from_static("g")];
    let asked = FindCoordinatorRequest { coordinator_keys, ..Default::default() };
    soon(connection.call(4, &asked)).await.coordinators[0].error_code
}

/// A broker whose groups can be asked, and the id of its topic `t` of two partitions.
async fn start() -> (TestBroker, Connection, Uuid) {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let id = create(&mut connection, "t").await;
    assert_eq!(coordinator(&mut connection).await, ErrorCode::NONE);
    (broker, connection, id)
}

fn committed(name: &str, topic_id: Uuid, partitions: &[i32]) -> OffsetCommitRequestTopic {
    let partition = |index: &i32| OffsetCommitRequestPartition {
        partition_index: *index,
        committed_offset: 5,
        ..Default::default()
    };
    let partitions = partitions.iter().map(partition).collect();
    OffsetCommitRequestTopic { name: Str::from(name), topic_id, partitions, ..Default::default() }
}

/// Topics of the answer with partitions and codes.
type Told = Vec<(String, Vec<(i32, ErrorCode)>)>;

/// By name, or by id if the version has it.
async fn commit(connection: &mut Connection, version: i16, topics: Vec<OffsetCommitRequestTopic>) -> Told {
    let request = OffsetCommitRequest {
        group_id: Str::from_static("g"),
        generation_id_or_member_epoch: -1,
        topics,
        ..Default::default()
    };
    // The shard may still load.
    loop {
        let answer = soon(connection.call(version, &request)).await;
        let topics = answer.topics.into_iter().map(|topic| {
            let name = if version < 10 { topic.name.to_string() } else { topic.topic_id.to_string() };
            let partitions = topic.partitions.iter();
            (name, partitions.map(|it| (it.partition_index, it.error_code)).collect())
        });
        let told: Told = topics.collect();
        let loads = [ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, ErrorCode::NOT_COORDINATOR];
        if !told.iter().any(|(_, it)| it.iter().any(|(_, code)| loads.contains(code))) {
            return told;
        }
    }
}

/// 5.7: a topic in the way keeps the internal one from being created.
#[tokio::test]
async fn without_its_topic_there_is_no_coordinator() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    create(&mut connection, "__consumer.offsets").await;
    assert_eq!(coordinator(&mut connection).await, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    broker.stop().await;
}

/// Kafka takes such a setting and then never has a coordinator.
#[tokio::test]
async fn small_segments_of_the_internal_topic_are_no_obstacle() {
    let broker = TestBroker::with(&[("offsets.topic.segment.bytes", "1000")]).await;
    let mut connection = broker.connect().await;
    assert_eq!(coordinator(&mut connection).await, ErrorCode::NONE);
    broker.stop().await;
}

/// 5.3: what is refused before the shard is asked comes first; a topic of both kinds is one topic.
#[tokio::test]
async fn commits_to_unknown_places_are_refused_beside_good_ones() {
    let (broker, mut connection, id) = start().await;
    let missing = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let topics =
        || vec![committed("t", id, &[0, 9]), committed("none", UNKNOWN, &[0]), committed("t", id, &[1, -1])];
    let expected: Told = vec![
        ("t".to_owned(), vec![(9, missing), (-1, missing), (0, ErrorCode::NONE), (1, ErrorCode::NONE)]),
        ("none".to_owned(), vec![(0, missing)]),
    ];
    assert_eq!(commit(&mut connection, 9, topics()).await, expected);
    let expected: Told = vec![
        (id.to_string(), vec![(9, missing), (-1, missing), (0, ErrorCode::NONE), (1, ErrorCode::NONE)]),
        (UNKNOWN.to_string(), vec![(0, ErrorCode::UNKNOWN_TOPIC_ID)]),
    ];
    assert_eq!(commit(&mut connection, 10, topics()).await, expected);
    broker.stop().await;
}

/// A known topic of which nothing is asked is not in the answer, an unknown one is.
#[tokio::test]
async fn topics_without_partitions_are_answered_if_they_are_unknown() {
    let (broker, mut connection, id) = start().await;
    let told = commit(&mut connection, 9, vec![committed("t", id, &[])]).await;
    assert_eq!(told, []);
    let told =
        commit(&mut connection, 9, vec![committed("t", id, &[]), committed("none", UNKNOWN, &[])]).await;
    assert_eq!(told, [("none".to_owned(), vec![])]);
    let told = commit(&mut connection, 9, vec![committed("t", id, &[]), committed("t", id, &[1])]).await;
    assert_eq!(told, [("t".to_owned(), vec![(1, ErrorCode::NONE)])]);
    broker.stop().await;
}

/// 5.5: an unknown id is told on each partition.
#[tokio::test]
async fn fetches_by_an_unknown_id_say_so() {
    let (broker, mut connection, id) = start().await;
    commit(&mut connection, 10, vec![committed("", id, &[0])]).await;
    let topic =
        |topic_id| OffsetFetchRequestTopics { topic_id, partition_indexes: vec![0], ..Default::default() };
    let group = OffsetFetchRequestGroup {
        group_id: Str::from_static("g"),
        member_epoch: -1,
        topics: Some(vec![topic(UNKNOWN), topic(id)]),
        ..Default::default()
    };
    let request = OffsetFetchRequest { groups: vec![group], ..Default::default() };
    let answer = soon(connection.call(10, &request)).await;
    let topics = answer.groups[0].topics.iter();
    let told: Vec<_> = topics
        .map(|it| (it.topic_id, it.partitions[0].committed_offset, it.partitions[0].error_code))
        .collect();
    assert!(told.contains(&(UNKNOWN, -1, ErrorCode::UNKNOWN_TOPIC_ID)));
    assert!(told.contains(&(id, 5, ErrorCode::NONE)));
    broker.stop().await;
}

/// 5.6: as with commits; and errors of the group replace everything.
#[tokio::test]
async fn deletions_of_unknown_places_are_refused_beside_good_ones() {
    let (broker, mut connection, id) = start().await;
    commit(&mut connection, 9, vec![committed("t", id, &[0])]).await;
    let topic = |name: &str, partitions: &[i32]| OffsetDeleteRequestTopic {
        name: Str::from(name),
        partitions: partitions
            .iter()
            .map(|it| OffsetDeleteRequestPartition { partition_index: *it })
            .collect(),
    };
    let topics = vec![topic("t", &[0, 9]), topic("none", &[0]), topic("t", &[])];
    let mut request = OffsetDeleteRequest { group_id: Str::from_static("g"), topics };
    let answer = soon(connection.call(0, &request)).await;
    assert_eq!(answer.error_code, ErrorCode::NONE);
    let told: Vec<_> = answer
        .topics
        .iter()
        .map(|topic| {
            let partitions = topic.partitions.iter();
            (
                topic.name.to_string(),
                partitions.map(|it| (it.partition_index, it.error_code)).collect::<Vec<_>>(),
            )
        })
        .collect();
    let missing = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let expected =
        [("t".to_owned(), vec![(9, missing), (0, ErrorCode::NONE)]), ("none".to_owned(), vec![(0, missing)])];
    assert_eq!(told, expected);
    request.group_id = Str::from_static("nobody");
    let answer = soon(connection.call(0, &request)).await;
    assert_eq!((answer.error_code, answer.topics.len()), (ErrorCode::GROUP_ID_NOT_FOUND, 0));
    broker.stop().await;
}
