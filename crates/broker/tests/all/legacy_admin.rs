//! AlterConfigs and DescribeLogDirs, over memory and over a directory.

use crate::common::{TestBroker, soon};
use broker::auth::Operation;
use client::Connection;
use wire::alter_configs::request::{AlterConfigsResource, AlterableConfig};
use wire::batch::BatchBuilder;
use wire::create_topics::request::CreatableTopic;
use wire::describe_configs::request::DescribeConfigsResource;
use wire::describe_log_dirs::request::DescribableLogDirTopic;
use wire::describe_log_dirs::response::DescribeLogDirsResult;
use wire::produce::request::{PartitionProduceData, TopicProduceData};
use wire::{
    AlterConfigsRequest, CreateTopicsRequest, DescribeConfigsRequest, DescribeLogDirsRequest, ErrorCode,
    ProduceRequest, Records, Str,
};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const LOGGER: i8 = 8;
const GROUP: i8 = 32;

async fn create(connection: &mut Connection, name: &str, partitions: i32) {
    let topic = CreatableTopic {
        name: Str::from(name),
        num_partitions: partitions,
        replication_factor: 1,
        ..Default::default()
    };
    let asked = CreateTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..Default::default() };
    assert_eq!(soon(connection.call(7, &asked)).await.topics[0].error_code, ErrorCode::NONE);
}

fn change(kind: i8, name: &str, pairs: &[(&str, Option<&str>)]) -> AlterConfigsResource {
    let config = |(name, value): &(&str, Option<&str>)| AlterableConfig {
        name: Str::from(*name),
        value: value.map(Str::from),
        ..Default::default()
    };
    AlterConfigsResource {
        resource_type: kind,
        resource_name: Str::from(name),
        configs: pairs.iter().map(config).collect(),
        ..Default::default()
    }
}

async fn alter(
    connection: &mut Connection,
    version: i16,
    resources: Vec<AlterConfigsResource>,
) -> Vec<ErrorCode> {
    let asked = AlterConfigsRequest { resources, ..Default::default() };
    let answer = soon(connection.call(version, &asked)).await;
    answer.responses.iter().map(|it| it.error_code).collect()
}

/// Dynamic settings of a topic.
async fn settings(connection: &mut Connection, topic: &str) -> Vec<(String, String)> {
    let resource = DescribeConfigsResource {
        resource_type: TOPIC,
        resource_name: Str::from(topic),
        ..Default::default()
    };
    let asked = DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
    let answer = soon(connection.call(4, &asked)).await;
    let own = answer.results[0].configs.iter().filter(|it| it.config_source == 1);
    let pairs = own.map(|it| (it.name.to_string(), it.value.as_ref().unwrap().to_string()));
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort();
    pairs
}

/// What is not named goes back to its default, in every version.
#[tokio::test]
async fn settings_are_replaced_as_a_whole() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    create(&mut connection, "t", 1).await;
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    for version in 0..=2 {
        let both = [("retention.ms", Some("1000")), ("segment.ms", Some("5000"))];
        let done = alter(&mut connection, version, vec![change(TOPIC, "t", &both)]).await;
        assert_eq!(done, [ErrorCode::NONE], "v{version}");
        assert_eq!(
            settings(&mut connection, "t").await,
            [pair("retention.ms", "1000"), pair("segment.ms", "5000")]
        );
        let one = change(TOPIC, "t", &[("segment.ms", Some("6000"))]);
        assert_eq!(alter(&mut connection, version, vec![one]).await, [ErrorCode::NONE]);
        assert_eq!(settings(&mut connection, "t").await, [pair("segment.ms", "6000")]);
        assert_eq!(alter(&mut connection, version, vec![change(TOPIC, "t", &[])]).await, [ErrorCode::NONE]);
        assert_eq!(settings(&mut connection, "t").await, []);
    }
    let asked = AlterConfigsRequest {
        resources: vec![change(TOPIC, "t", &[("retention.ms", Some("1"))])],
        validate_only: true,
        ..Default::default()
    };
    assert_eq!(soon(connection.call(2, &asked)).await.responses[0].error_code, ErrorCode::NONE);
    assert_eq!(settings(&mut connection, "t").await, []);
    broker.stop().await;
}

/// Checks 1 to 6: one bad resource does not touch the others.
#[tokio::test]
async fn wrong_replacements_are_refused_resource_by_resource() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    create(&mut connection, "t", 1).await;
    let retention = |value| [("retention.ms", value)];
    let changes = vec![
        change(TOPIC, "twice", &[]),
        change(TOPIC, "twice", &[]),
        change(TOPIC, "same", &[("retention.ms", Some("1")), ("retention.ms", Some("2"))]),
        change(TOPIC, "null", &retention(None)),
        change(LOGGER, "1", &[("root", Some("INFO"))]),
        change(77, "x", &[]),
        change(TOPIC, "nobody", &retention(Some("1"))),
        change(BROKER, "9", &[]),
        change(TOPIC, "", &[]),
        change(GROUP, "g", &[("streams.num.standby.replicas", Some("nonsense"))]),
        change(TOPIC, "t", &retention(Some("1000"))),
    ];
    let expected = [
        ErrorCode::INVALID_REQUEST,
        ErrorCode::INVALID_REQUEST,
        ErrorCode::INVALID_REQUEST,
        ErrorCode::INVALID_REQUEST,
        ErrorCode::INVALID_REQUEST,
        ErrorCode::INVALID_REQUEST,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode::INVALID_REQUEST,
        ErrorCode::INVALID_REQUEST,
        ErrorCode::INVALID_CONFIG,
        ErrorCode::NONE,
    ];
    assert_eq!(alter(&mut connection, 2, changes).await, expected);
    assert_eq!(settings(&mut connection, "t").await.len(), 1);
    broker.stop().await;

    let broker = TestBroker::denying(Operation::AlterConfigs).await;
    let mut connection = broker.connect().await;
    let changes = vec![
        change(TOPIC, "t", &retention(Some("1"))),
        change(GROUP, "g", &[]),
        change(BROKER, "", &[]),
        change(TOPIC, "null", &retention(None)),
    ];
    let expected = [
        ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        ErrorCode::GROUP_AUTHORIZATION_FAILED,
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode::INVALID_REQUEST,
    ];
    assert_eq!(alter(&mut connection, 2, changes).await, expected);
    broker.stop().await;
}

async fn directories(
    connection: &mut Connection,
    version: i16,
    topics: Option<Vec<DescribableLogDirTopic>>,
) -> Vec<DescribeLogDirsResult> {
    let asked = DescribeLogDirsRequest { topics, ..Default::default() };
    let answer = soon(connection.call(version, &asked)).await;
    assert_eq!(answer.error_code, ErrorCode::NONE);
    answer.results
}

fn sizes(directory: &DescribeLogDirsResult) -> Vec<(String, i32, i64)> {
    let topics = directory.topics.iter();
    let row = |name: &Str, index, size| (name.to_string(), index, size);
    topics
        .flat_map(|it| it.partitions.iter().map(|p| row(&it.name, p.partition_index, p.partition_size)))
        .collect()
}

#[tokio::test]
async fn directories_are_described_with_the_sizes_of_partitions() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    create(&mut connection, "b", 2).await;
    create(&mut connection, "a", 1).await;
    let batch = BatchBuilder::new().timestamp(1).push(None, Some(b"a record")).build();
    let size = i64::try_from(batch.len()).unwrap();
    let data = PartitionProduceData { index: 1, records: Some(Records::from(batch)), ..Default::default() };
    let topic = TopicProduceData { name: Str::from("b"), partition_data: vec![data], ..Default::default() };
    let asked = ProduceRequest { acks: -1, timeout_ms: 9_000, topic_data: vec![topic], ..Default::default() };
    soon(connection.call(9, &asked)).await;
    let row = |name: &str, index, size| (name.to_owned(), index, size);
    for version in 1..=5 {
        let all = directories(&mut connection, version, None).await;
        assert_eq!(all.len(), 1, "v{version}");
        assert_eq!(all[0].error_code, ErrorCode::NONE);
        assert_eq!(sizes(&all[0]), [row("a", 0, 0), row("b", 0, 0), row("b", 1, size)], "v{version}");
        assert!(all[0].topics[0].partitions.iter().all(|it| it.offset_lag == 0 && !it.is_future_key));
    }
    let wanted = |topic: &str, partitions: &[i32]| DescribableLogDirTopic {
        topic: Str::from(topic),
        partitions: partitions.to_vec(),
        ..Default::default()
    };
    let some = vec![wanted("b", &[1, 7]), wanted("nobody", &[0]), wanted("a", &[])];
    assert_eq!(sizes(&directories(&mut connection, 5, Some(some)).await[0]), [row("b", 1, size)]);
    let none = directories(&mut connection, 5, Some(Vec::new())).await;
    assert!(none.len() == 1 && none[0].topics.is_empty());
    broker.stop().await;
}

#[tokio::test]
async fn directories_need_describe_on_the_cluster() {
    let broker = TestBroker::denying(Operation::Describe).await;
    let mut connection = broker.connect().await;
    let asked = DescribeLogDirsRequest::default();
    for version in [1, 3, 5] {
        let answer = soon(connection.call(version, &asked)).await;
        let told = if version < 3 { ErrorCode::NONE } else { ErrorCode::CLUSTER_AUTHORIZATION_FAILED };
        assert!(answer.error_code == told && answer.results.is_empty(), "v{version}");
    }
    broker.stop().await;
}
