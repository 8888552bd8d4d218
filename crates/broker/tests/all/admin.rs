//! Topics and settings through a socket: created, described, changed, deleted; and denied.

use crate::common::{TestBroker, soon};
use broker::auth::Operation;
use client::Connection;
use wire::create_partitions::request::CreatePartitionsTopic;
use wire::create_topics::request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig};
use wire::create_topics::response::CreatableTopicResult;
use wire::delete_topics::request::DeleteTopicState;
use wire::describe_configs::request::DescribeConfigsResource;
use wire::describe_configs::response::{DescribeConfigsResourceResult, DescribeConfigsResult};
use wire::incremental_alter_configs::request::{AlterConfigsResource, AlterableConfig};
use wire::metadata::request::MetadataRequestTopic;
use wire::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, DescribeConfigsRequest, ErrorCode,
    IncrementalAlterConfigsRequest, ListConfigResourcesRequest, MetadataRequest, Str, Uuid,
};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const BROKER_LOGGER: i8 = 8;
const CLIENT_METRICS: i8 = 16;
const GROUP: i8 = 32;

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

fn wish(name: &str, partitions: i32) -> CreatableTopic {
    CreatableTopic {
        name: Str::from(name),
        num_partitions: partitions,
        replication_factor: 1,
        ..Default::default()
    }
}

fn grow(name: &str, count: i32) -> CreatePartitionsTopic {
    CreatePartitionsTopic { name: Str::from(name), count, assignments: None, ..Default::default() }
}

fn setting(name: &str, value: &str) -> CreatableTopicConfig {
    CreatableTopicConfig { name: Str::from(name), value: Some(Str::from(value)), ..Default::default() }
}

async fn create(
    connection: &mut Connection,
    version: i16,
    topics: Vec<CreatableTopic>,
) -> Vec<CreatableTopicResult> {
    let asked = CreateTopicsRequest { topics, ..Default::default() };
    soon(connection.call(version, &asked)).await.topics
}

/// Partitions of a topic as Metadata tells them.
async fn partitions(connection: &mut Connection, name: &str) -> Result<usize, ErrorCode> {
    let topic = MetadataRequestTopic { name: Some(Str::from(name)), ..Default::default() };
    let asked =
        MetadataRequest { topics: Some(vec![topic]), allow_auto_topic_creation: false, ..Default::default() };
    let topic = soon(connection.call(12, &asked)).await.topics.remove(0);
    if topic.error_code == ErrorCode::NONE { Ok(topic.partitions.len()) } else { Err(topic.error_code) }
}

async fn describe(
    connection: &mut Connection,
    version: i16,
    kind: i8,
    name: &str,
    keys: &[&str],
) -> DescribeConfigsResult {
    let resource = DescribeConfigsResource {
        resource_type: kind,
        resource_name: Str::from(name),
        configuration_keys: (!keys.is_empty()).then(|| keys.iter().map(|key| Str::from(*key)).collect()),
        ..Default::default()
    };
    let asked = DescribeConfigsRequest {
        resources: vec![resource],
        include_synonyms: true,
        include_documentation: version >= 3,
        ..Default::default()
    };
    soon(connection.call(version, &asked)).await.results.remove(0)
}

async fn value(connection: &mut Connection, kind: i8, name: &str, key: &str) -> (Option<Str>, i8) {
    let mut described = describe(connection, 4, kind, name, &[key]).await;
    assert_eq!((described.error_code, described.configs.len()), (ErrorCode::NONE, 1));
    let config = described.configs.remove(0);
    (config.value, config.config_source)
}

fn change(kind: i8, name: &str, ops: &[(&str, i8, Option<&str>)]) -> AlterConfigsResource {
    let op = |(key, op, value): &(&str, i8, Option<&str>)| AlterableConfig {
        name: Str::from(*key),
        config_operation: *op,
        value: value.map(Str::from),
        ..Default::default()
    };
    AlterConfigsResource {
        resource_type: kind,
        resource_name: Str::from(name),
        configs: ops.iter().map(op).collect(),
        ..Default::default()
    }
}

async fn alter(connection: &mut Connection, resources: Vec<AlterConfigsResource>) -> Vec<ErrorCode> {
    let asked = IncrementalAlterConfigsRequest { resources, ..Default::default() };
    let answer = soon(connection.call(1, &asked)).await;
    answer.responses.iter().map(|it| it.error_code).collect()
}

/// `broker-core.md` 5.1: the answer of each version, and what can be seen afterwards.
#[tokio::test]
async fn topics_are_created_in_every_version() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    for version in 2..=7 {
        let name = format!("t{version}");
        let topic = CreatableTopic { configs: vec![setting("retention.ms", "1000")], ..wish(&name, 3) };
        let created = create(&mut connection, version, vec![topic]).await.remove(0);
        assert_eq!((created.error_code, created.error_message), (ErrorCode::NONE, None));
        assert_eq!(partitions(&mut connection, &name).await, Ok(3), "usable at once");
        assert_eq!(created.topic_id != Uuid::ZERO, version >= 7);
        if version < 5 {
            continue;
        }
        assert_eq!((created.num_partitions, created.replication_factor), (3, 1));
        let configs = created.configs.unwrap();
        let retention = configs.iter().find(|it| it.name == "retention.ms").unwrap();
        assert_eq!((retention.value.clone(), retention.config_source), (Some(Str::from("1000")), 1));
        assert!(configs.is_sorted_by(|a, b| a.name < b.name) && configs.len() > 30, "all settings");
    }
    broker.stop().await;
}

/// `broker-core.md` 5.1, checks 1 to 11.
#[tokio::test]
async fn wrong_topics_are_refused_and_the_others_created() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let assigned = |factor: i16, brokers: Vec<Vec<i32>>| CreatableTopic {
        num_partitions: -1,
        replication_factor: factor,
        assignments: (0..)
            .zip(brokers)
            .map(|(partition_index, broker_ids)| CreatableReplicaAssignment {
                partition_index,
                broker_ids: broker_ids.into(),
                ..Default::default()
            })
            .collect(),
        ..wish("assigned", -1)
    };
    let named = |name: &str, topic: CreatableTopic| CreatableTopic { name: Str::from(name), ..topic };
    let configured = |name: &str, key: &str, value: &str| CreatableTopic {
        configs: vec![setting(key, value)],
        ..wish(name, 1)
    };
    create(&mut connection, 7, vec![wish("there.already", 1)]).await;
    let topics = vec![
        wish("twice", 1),
        wish("good", 1),
        wish("twice", 1),
        wish("__cluster_metadata", 1),
        wish("no/name", 1),
        wish("there_already", 1),
        wish("there.already", 1),
        configured("unknown-key", "no.such.key", "1"),
        configured("bad-value", "retention.ms", "x"),
        named("both", assigned(1, vec![vec![1]])),
        named("unknown-broker", assigned(-1, vec![vec![9]])),
        CreatableTopic { replication_factor: 0, ..wish("factor", 1) },
        wish("none", 0),
        CreatableTopic { replication_factor: 2, ..wish("too-many", 1) },
        named("by-hand", assigned(-1, vec![vec![1], vec![1]])),
    ];
    let answers = create(&mut connection, 7, topics).await;
    let codes: Vec<_> = answers.iter().map(|it| (it.name.to_string(), it.error_code.name())).collect();
    let expected = [
        ("twice", "INVALID_REQUEST"),
        ("good", "NONE"),
        ("__cluster_metadata", "INVALID_REQUEST"),
        ("no/name", "INVALID_TOPIC_EXCEPTION"),
        ("there_already", "INVALID_TOPIC_EXCEPTION"),
        ("there.already", "TOPIC_ALREADY_EXISTS"),
        ("unknown-key", "INVALID_CONFIG"),
        ("bad-value", "INVALID_CONFIG"),
        ("both", "INVALID_REQUEST"),
        ("unknown-broker", "INVALID_REPLICA_ASSIGNMENT"),
        ("factor", "INVALID_REPLICATION_FACTOR"),
        ("none", "INVALID_PARTITIONS"),
        ("too-many", "INVALID_REPLICATION_FACTOR"),
        ("by-hand", "NONE"),
    ];
    let codes: Vec<_> = codes.iter().map(|(name, code)| (name.as_str(), *code)).collect();
    assert_eq!(codes, expected);
    for failed in answers.iter().filter(|it| it.error_code != ErrorCode::NONE) {
        assert_eq!((failed.topic_id, failed.num_partitions), (Uuid::ZERO, -1), "{}", failed.name);
        assert!(failed.error_message.is_some(), "{}", failed.name);
    }
    assert_eq!(partitions(&mut connection, "good").await, Ok(1));
    assert_eq!(partitions(&mut connection, "by-hand").await, Ok(2));
    assert_eq!(partitions(&mut connection, "twice").await, Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    broker.stop().await;
}

#[tokio::test]
async fn what_is_only_validated_is_not_done() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let asked = CreateTopicsRequest { topics: vec![wish("t", 2)], validate_only: true, ..Default::default() };
    let answer = soon(connection.call(7, &asked)).await;
    assert_eq!((answer.topics[0].error_code, answer.topics[0].num_partitions), (ErrorCode::NONE, 2));
    assert_eq!(partitions(&mut connection, "t").await, Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));

    create(&mut connection, 7, vec![wish("t", 1)]).await;
    let topics = vec![grow("t", 3)];
    let asked = CreatePartitionsRequest { topics, validate_only: true, ..Default::default() };
    assert_eq!(soon(connection.call(3, &asked)).await.results[0].error_code, ErrorCode::NONE);
    assert_eq!(partitions(&mut connection, "t").await, Ok(1));

    let resources = vec![change(TOPIC, "t", &[("retention.ms", SET, Some("1"))])];
    let asked = IncrementalAlterConfigsRequest { resources, validate_only: true, ..Default::default() };
    assert_eq!(soon(connection.call(1, &asked)).await.responses[0].error_code, ErrorCode::NONE);
    assert_eq!(value(&mut connection, TOPIC, "t", "retention.ms").await.1, 5, "still the default");
    broker.stop().await;
}

/// As Kafka does; recorded in `interop/kdiff/groups.py`.
#[tokio::test]
async fn metadata_tells_a_topic_once_and_nothing_to_a_wrong_request() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let id = create(&mut connection, 7, vec![wish("t", 1)]).await[0].topic_id;
    let named = MetadataRequestTopic { name: Some(Str::from("t")), ..Default::default() };
    let by_id = MetadataRequestTopic { name: None, topic_id: id, ..Default::default() };
    let nameless = MetadataRequestTopic { name: None, ..Default::default() };
    for (asked, told) in [
        (vec![named.clone(), named.clone()], 1),
        (vec![by_id.clone(), by_id.clone()], 1),
        (vec![named.clone(), by_id], 1),
    ] {
        let asked = MetadataRequest { topics: Some(asked), ..Default::default() };
        let answer = soon(connection.call(12, &asked)).await;
        assert_eq!(answer.topics.len(), told);
        assert!(answer.topics.iter().all(|it| it.error_code == ErrorCode::NONE && it.topic_id == id));
    }
    let asked = MetadataRequest { topics: Some(vec![named, nameless]), ..Default::default() };
    let answer = soon(connection.call(12, &asked)).await;
    assert!(answer.brokers.is_empty() && answer.cluster_id.is_none() && answer.controller_id == -1);
    assert!(answer.topics.iter().all(|it| it.error_code == ErrorCode::INVALID_REQUEST));
    broker.stop().await;
}

/// `broker-core.md` 5: a request that asks for too much fails as a whole.
#[tokio::test]
async fn too_many_partitions_at_once_fail_the_whole_request() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let answers = create(&mut connection, 7, vec![wish("small", 1), wish("big", 10_001)]).await;
    assert!(answers.iter().all(|it| it.error_code == ErrorCode::POLICY_VIOLATION), "{answers:?}");
    assert_eq!(answers.len(), 2);
    assert_eq!(partitions(&mut connection, "small").await, Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    broker.stop().await;
}

/// `broker-core.md` 5.3
#[tokio::test]
async fn topics_grow_to_the_count_that_is_asked_for() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    create(&mut connection, 7, vec![wish("t", 2)]).await;
    for (version, count) in (0..=3).zip(3..) {
        let asked = CreatePartitionsRequest { topics: vec![grow("t", count)], ..Default::default() };
        let answer = soon(connection.call(version, &asked)).await;
        assert_eq!(answer.results[0].error_code, ErrorCode::NONE);
        assert_eq!(partitions(&mut connection, "t").await, Ok(usize::try_from(count).unwrap()));
    }
    let topics = vec![grow("t", 6), grow("nobody", 2), grow("twice", 1), grow("twice", 2)];
    let asked = CreatePartitionsRequest { topics, ..Default::default() };
    let answer = soon(connection.call(3, &asked)).await;
    let codes: Vec<_> = answer.results.iter().map(|it| it.error_code).collect();
    let expected =
        [ErrorCode::INVALID_PARTITIONS, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::INVALID_REQUEST];
    assert_eq!(codes, expected);
    broker.stop().await;
}

/// `broker-core.md` 5.2
#[tokio::test]
async fn topics_are_deleted_by_name_and_by_id() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    for version in 1..=5 {
        create(&mut connection, 7, vec![wish("t", 1)]).await;
        let names = vec![Str::from("t"), Str::from("nobody")];
        let asked = DeleteTopicsRequest { topic_names: names, ..Default::default() };
        let answer = soon(connection.call(version, &asked)).await;
        let codes: Vec<_> = answer.responses.iter().map(|it| it.error_code).collect();
        assert_eq!(codes, [ErrorCode::NONE, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION]);
        assert_eq!(partitions(&mut connection, "t").await, Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    }
    let created = create(&mut connection, 7, vec![wish("a", 1), wish("b", 1), wish("c", 1)]).await;
    let id = |index: usize| created[index].topic_id;
    let by_name = |name: &str| DeleteTopicState { name: Some(Str::from(name)), ..Default::default() };
    let by_id = |topic_id| DeleteTopicState { topic_id, ..Default::default() };
    let unknown = Uuid([7; 16]);
    let topics = vec![
        by_name("a"),
        by_id(id(1)),
        by_id(unknown),
        by_id(Uuid::ZERO),
        DeleteTopicState { topic_id: id(2), ..by_name("c") },
        by_name("twice"),
        by_name("twice"),
    ];
    let asked = DeleteTopicsRequest { topics, ..Default::default() };
    let answer = soon(connection.call(6, &asked)).await;
    let mut told: Vec<_> = answer
        .responses
        .iter()
        .map(|it| (it.name.as_ref().map(ToString::to_string), it.topic_id, it.error_code.name()))
        .collect();
    let mut expected = vec![
        (Some("a".to_owned()), id(0), "NONE"),
        (Some("b".to_owned()), id(1), "NONE"),
        (None, unknown, "UNKNOWN_TOPIC_ID"),
        (None, Uuid::ZERO, "INVALID_REQUEST"),
        (Some("c".to_owned()), id(2), "INVALID_REQUEST"),
        (Some("twice".to_owned()), Uuid::ZERO, "INVALID_REQUEST"),
    ];
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
    assert_eq!(partitions(&mut connection, "c").await, Ok(1));
    broker.stop().await;
}

#[tokio::test]
async fn deletion_can_be_turned_off() {
    let broker = TestBroker::with(&[("delete.topic.enable", "false")]).await;
    let mut connection = broker.connect().await;
    create(&mut connection, 7, vec![wish("t", 1)]).await;
    let asked = DeleteTopicsRequest { topic_names: vec![Str::from("t")], ..Default::default() };
    for (version, expected) in [(2, ErrorCode::INVALID_REQUEST), (3, ErrorCode::TOPIC_DELETION_DISABLED)] {
        assert_eq!(soon(connection.call(version, &asked)).await.responses[0].error_code, expected);
    }
    assert_eq!(partitions(&mut connection, "t").await, Ok(1));
    broker.stop().await;
}

/// `broker-core.md` 6.1: sources, synonyms and what each version lacks.
#[tokio::test]
async fn settings_of_a_topic_are_described_with_their_sources() {
    let broker = TestBroker::with(&[("log.retention.ms", "5000")]).await;
    let mut connection = broker.connect().await;
    let topic = CreatableTopic { configs: vec![setting("cleanup.policy", "compact")], ..wish("t", 1) };
    create(&mut connection, 7, vec![topic]).await;
    let find = |configs: &[DescribeConfigsResourceResult], name: &str| {
        configs.iter().find(|it| it.name == name).cloned().unwrap()
    };
    for version in 1..=4 {
        let described = describe(&mut connection, version, TOPIC, "t", &[]).await;
        assert_eq!(described.error_code, ErrorCode::NONE);
        let policy = find(&described.configs, "cleanup.policy");
        assert_eq!((policy.value, policy.config_source), (Some(Str::from("compact")), 1));
        assert_eq!(policy.synonyms[0].source, 1);
        assert_eq!(policy.config_type, if version >= 3 { 7 } else { 0 });
        assert_eq!(policy.documentation.is_some_and(|text| !text.is_empty()), version >= 3);
        let retention = find(&described.configs, "retention.ms");
        assert_eq!((retention.value, retention.config_source), (Some(Str::from("5000")), 4));
        assert_eq!(retention.synonyms[0].name, "log.retention.ms");
        assert!(!retention.read_only && !retention.is_sensitive);
    }
    let some = describe(&mut connection, 4, TOPIC, "t", &["retention.ms", "nonsense"]).await;
    assert_eq!(some.configs.len(), 1, "unknown keys are left out");
    let missing = describe(&mut connection, 4, TOPIC, "nobody", &[]).await;
    assert_eq!(missing.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let illegal = describe(&mut connection, 4, TOPIC, "no/name", &[]).await;
    assert_eq!(illegal.error_code, ErrorCode::INVALID_TOPIC_EXCEPTION);
    broker.stop().await;
}

#[tokio::test]
async fn other_resources_are_described() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    assert_eq!(
        value(&mut connection, BROKER, "1", "offsets.topic.num.partitions").await,
        (Some(Str::from("4")), 4)
    );
    assert!(describe(&mut connection, 4, BROKER, "", &[]).await.configs.is_empty());
    let session = value(&mut connection, GROUP, "nobody", "streams.session.timeout.ms").await;
    assert_eq!(session, (Some(Str::from("45000")), 5));
    let interval = value(&mut connection, CLIENT_METRICS, "any", "interval.ms").await;
    assert_eq!(interval, (Some(Str::from("300000")), 5));
    assert_eq!(value(&mut connection, BROKER_LOGGER, "1", "root").await.1, 6);
    for (kind, name) in
        [(BROKER, "2"), (BROKER, "x"), (BROKER_LOGGER, ""), (BROKER_LOGGER, "2"), (GROUP, ""), (3, "t")]
    {
        let described = describe(&mut connection, 4, kind, name, &[]).await;
        assert_eq!(described.error_code, ErrorCode::INVALID_REQUEST, "{kind} {name}");
    }
    broker.stop().await;
}

/// Types and names, as ListConfigResources tells them.
async fn listed(
    connection: &mut Connection,
    version: i16,
    types: &[i8],
) -> Result<Vec<(i8, String)>, ErrorCode> {
    let asked = ListConfigResourcesRequest { resource_types: types.to_vec(), ..Default::default() };
    let answer = soon(connection.call(version, &asked)).await;
    let resources = answer.config_resources.iter();
    let resources = resources.map(|it| (it.resource_type, it.resource_name.to_string())).collect();
    if answer.error_code == ErrorCode::NONE { Ok(resources) } else { Err(answer.error_code) }
}

/// KIP-1142, as Apache Kafka 4.4.0 answers.
#[tokio::test]
async fn what_has_settings_is_listed_by_type() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    create(&mut connection, 7, vec![wish("t", 1)]).await;
    let changes = vec![
        change(GROUP, "app", &[("streams.num.standby.replicas", SET, Some("1"))]),
        change(CLIENT_METRICS, "all", &[("interval.ms", SET, Some("10000"))]),
    ];
    assert_eq!(alter(&mut connection, changes).await, [ErrorCode::NONE; 2]);

    let group = (GROUP, "app".to_owned());
    let metrics = (CLIENT_METRICS, "all".to_owned());
    assert_eq!(listed(&mut connection, 0, &[]).await, Ok(vec![metrics.clone()]));
    assert_eq!(listed(&mut connection, 1, &[GROUP]).await, Ok(vec![group.clone()]));
    assert_eq!(listed(&mut connection, 1, &[GROUP, GROUP]).await, Ok(vec![group.clone()]));
    let all = listed(&mut connection, 1, &[]).await.expect("all types");
    let topic = (TOPIC, "t".to_owned());
    assert!([topic, group, metrics].iter().all(|it| all.contains(it)), "{all:?}");
    assert!([BROKER, BROKER_LOGGER].iter().all(|kind| all.iter().any(|it| it.0 == *kind)), "{all:?}");
    for unknown in [vec![1], vec![GROUP, 99], vec![-1]] {
        assert_eq!(listed(&mut connection, 1, &unknown).await, Err(ErrorCode::UNSUPPORTED_VERSION));
    }

    let delete = vec![change(GROUP, "app", &[("streams.num.standby.replicas", DELETE, None)])];
    assert_eq!(alter(&mut connection, delete).await, [ErrorCode::NONE]);
    assert_eq!(listed(&mut connection, 1, &[GROUP]).await, Ok(vec![]));
    broker.stop().await;
}

/// An unknown type fails the whole request (6.1).
#[tokio::test]
async fn an_unknown_type_of_resource_fails_all() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let resource = |resource_type, name: &str| DescribeConfigsResource {
        resource_type,
        resource_name: Str::from(name),
        ..Default::default()
    };
    let resources = vec![resource(BROKER, "1"), resource(99, "x")];
    let asked = DescribeConfigsRequest { resources, ..Default::default() };
    let answer = soon(connection.call(4, &asked)).await;
    assert_eq!(answer.results.len(), 2);
    assert!(answer.results.iter().all(|it| it.error_code == ErrorCode::INVALID_REQUEST));
    broker.stop().await;
}

/// `broker-core.md` 6.2, semantics.
#[tokio::test]
async fn settings_are_set_appended_subtracted_and_deleted() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    create(&mut connection, 7, vec![wish("t", 1)]).await;
    let steps = [
        ("retention.ms", SET, Some("1000"), "1000", 1),
        ("retention.ms", DELETE, None, "604800000", 5),
        ("retention.ms", DELETE, None, "604800000", 5),
        ("cleanup.policy", APPEND, Some("compact"), "delete,compact", 1),
        ("cleanup.policy", SUBTRACT, Some("delete"), "compact", 1),
    ];
    for (key, op, with, expected, source) in steps {
        assert_eq!(
            alter(&mut connection, vec![change(TOPIC, "t", &[(key, op, with)])]).await,
            [ErrorCode::NONE]
        );
        let found = value(&mut connection, TOPIC, "t", key).await;
        assert_eq!(found, (Some(Str::from(expected)), source), "{key} {op}");
    }
    let changes = vec![
        change(BROKER, "", &[("log.retention.ms", SET, Some("7000"))]),
        change(BROKER, "1", &[("log.segment.bytes", SET, Some("2097152"))]),
        change(GROUP, "g", &[("streams.num.standby.replicas", SET, Some("1"))]),
        change(CLIENT_METRICS, "m", &[("interval.ms", SET, Some("1000"))]),
    ];
    assert_eq!(alter(&mut connection, changes).await, [ErrorCode::NONE; 4]);
    let text = |value: &str| Some(Str::from(value));
    assert_eq!(value(&mut connection, TOPIC, "t", "retention.ms").await, (text("7000"), 3));
    assert_eq!(value(&mut connection, BROKER, "", "log.retention.ms").await, (text("7000"), 3));
    assert_eq!(value(&mut connection, BROKER, "1", "log.segment.bytes").await, (text("2097152"), 2));
    assert_eq!(value(&mut connection, GROUP, "g", "streams.num.standby.replicas").await, (text("1"), 8));
    assert_eq!(value(&mut connection, CLIENT_METRICS, "m", "interval.ms").await, (text("1000"), 7));
    broker.stop().await;
}

/// `broker-core.md` 6.2, checks 1 to 10: one bad resource does not touch the others.
#[tokio::test]
async fn wrong_changes_are_refused_resource_by_resource() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    create(&mut connection, 7, vec![wish("t", 1), wish("u", 1)]).await;
    let retention = [("retention.ms", SET, Some("1"))];
    let cases = [
        ("1", change(TOPIC, "u", &retention), ErrorCode::INVALID_REQUEST),
        ("1", change(TOPIC, "u", &retention), ErrorCode::INVALID_REQUEST),
        ("good", change(TOPIC, "t", &retention), ErrorCode::NONE),
        (
            "2",
            change(TOPIC, "a", &[("retention.ms", SET, Some("1")), ("retention.ms", DELETE, None)]),
            ErrorCode::INVALID_REQUEST,
        ),
        ("3", change(TOPIC, "b", &[("retention.ms", SET, None)]), ErrorCode::INVALID_REQUEST),
        ("4", change(TOPIC, "c", &[("retention.ms", 9, Some("1"))]), ErrorCode::INVALID_REQUEST),
        ("4", change(77, "t", &retention), ErrorCode::INVALID_REQUEST),
        ("6", change(TOPIC, "", &retention), ErrorCode::INVALID_REQUEST),
        ("7", change(TOPIC, "nobody", &retention), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        ("7", change(TOPIC, "no/name", &retention), ErrorCode::INVALID_TOPIC_EXCEPTION),
        ("8", change(BROKER, "2", &[("log.retention.ms", SET, Some("1"))]), ErrorCode::INVALID_REQUEST),
        ("8", change(BROKER, "1", &[("node.id", SET, Some("1"))]), ErrorCode::INVALID_REQUEST),
        ("10", change(BROKER, "", &[("log.retention.ms", SET, Some("x"))]), ErrorCode::INVALID_REQUEST),
        ("10", change(GROUP, "g", &[("no.such.key", SET, Some("x"))]), ErrorCode::INVALID_CONFIG),
        ("loggers", change(BROKER_LOGGER, "1", &[("nobody", SET, Some("INFO"))]), ErrorCode::INVALID_CONFIG),
        ("loggers", change(BROKER_LOGGER, "2", &[("root", SET, Some("INFO"))]), ErrorCode::INVALID_REQUEST),
    ];
    let asked = cases.iter().map(|(_, change, _)| change.clone()).collect();
    let codes = alter(&mut connection, asked).await;
    assert_eq!(codes.len(), cases.len());
    for (code, (check, change, expected)) in codes.iter().zip(&cases) {
        assert_eq!(code, expected, "check {check}, {}", change.resource_name);
    }
    assert_eq!(value(&mut connection, TOPIC, "t", "retention.ms").await.0, Some(Str::from("1")));
    assert_eq!(value(&mut connection, TOPIC, "u", "retention.ms").await.1, 5, "untouched");
    // Two wrong changes of one resource, one request each: nothing of the resource is done.
    let both =
        change(TOPIC, "u", &[("retention.ms", SET, Some("1")), ("retention.bytes", APPEND, Some("1"))]);
    assert_eq!(alter(&mut connection, vec![both]).await, [ErrorCode::INVALID_CONFIG]);
    assert_eq!(value(&mut connection, TOPIC, "u", "retention.ms").await.1, 5, "all or nothing");
    broker.stop().await;
}

/// What was changed holds after a restart.
#[tokio::test]
async fn topics_and_settings_outlive_the_broker() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    create(&mut connection, 7, vec![wish("t", 2), wish("gone", 1)]).await;
    let changes = vec![
        change(TOPIC, "t", &[("retention.ms", SET, Some("1000"))]),
        change(GROUP, "g", &[("streams.num.standby.replicas", SET, Some("1"))]),
    ];
    assert_eq!(alter(&mut connection, changes).await, [ErrorCode::NONE; 2]);
    let asked = DeleteTopicsRequest { topic_names: vec![Str::from("gone")], ..Default::default() };
    soon(connection.call(5, &asked)).await;
    drop(connection);
    let broker = broker.restart().await;
    let mut connection = broker.connect().await;
    assert_eq!(partitions(&mut connection, "t").await, Ok(2));
    assert_eq!(partitions(&mut connection, "gone").await, Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    assert_eq!(value(&mut connection, TOPIC, "t", "retention.ms").await.0, Some(Str::from("1000")));
    let replicas = value(&mut connection, GROUP, "g", "streams.num.standby.replicas").await;
    assert_eq!(replicas.0, Some(Str::from("1")));
    broker.stop().await;
}

/// A client that goes away while its request is carried out leaves nothing half done.
#[tokio::test]
async fn what_has_begun_is_carried_through_without_the_client() {
    let broker = TestBroker::start().await;
    let catalog = broker.broker().catalog.clone();
    let begun = catalog.create_internal_topic("__consumer_offsets");
    // One poll, then nobody waits any more.
    tokio::select! {
        biased;
        done = begun => panic!("the creation did not wait: {done:?}"),
        () = std::future::ready(()) => {}
    }
    let group = Str::from_static("g");
    let told = async {
        while broker.broker().groups.partition_of(&group).is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::common::PATIENCE, told).await.expect("the shards were not told");
    assert!(catalog.image().topic("__consumer_offsets").is_some());
    broker.stop().await;
}

#[tokio::test]
async fn creation_needs_create_on_the_cluster_or_the_topic() {
    let broker = TestBroker::denying(Operation::Create).await;
    let mut connection = broker.connect().await;
    let topics = vec![wish("t", 1), wish("twice", 1), wish("twice", 1), wish("__cluster_metadata", 1)];
    let answers = create(&mut connection, 7, topics).await;
    let codes: Vec<_> = answers.iter().map(|it| it.error_code).collect();
    let invalid = ErrorCode::INVALID_REQUEST;
    assert_eq!(codes, [ErrorCode::TOPIC_AUTHORIZATION_FAILED, invalid, invalid]);
    assert_eq!(broker.broker().catalog.image().topic_count(), 0);
    broker.stop().await;
}

#[tokio::test]
async fn settings_are_hidden_without_describe_configs() {
    let broker = TestBroker::denying(Operation::DescribeConfigs).await;
    let mut connection = broker.connect().await;
    assert_eq!(listed(&mut connection, 1, &[]).await, Err(ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
    assert_eq!(listed(&mut connection, 1, &[1]).await, Err(ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
    let created = create(&mut connection, 7, vec![wish("t", 1)]).await.remove(0);
    assert_eq!(created.error_code, ErrorCode::NONE);
    assert_ne!(created.topic_id, Uuid::ZERO);
    assert_eq!(created.topic_config_error_code, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    assert_eq!((created.num_partitions, created.replication_factor), (-1, -1));
    assert!(created.configs.unwrap_or_default().is_empty());
    for (kind, name, expected) in [
        (TOPIC, "t", ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        (TOPIC, "nobody", ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        (BROKER, "1", ErrorCode::CLUSTER_AUTHORIZATION_FAILED),
        (BROKER_LOGGER, "1", ErrorCode::CLUSTER_AUTHORIZATION_FAILED),
        (CLIENT_METRICS, "m", ErrorCode::CLUSTER_AUTHORIZATION_FAILED),
        (GROUP, "g", ErrorCode::GROUP_AUTHORIZATION_FAILED),
    ] {
        let described = describe(&mut connection, 4, kind, name, &[]).await;
        assert_eq!((described.error_code, described.configs.len()), (expected, 0), "{kind} {name}");
    }
    broker.stop().await;
}

#[tokio::test]
async fn changes_need_their_right() {
    let broker = TestBroker::denying(Operation::AlterConfigs).await;
    let mut connection = broker.connect().await;
    create(&mut connection, 7, vec![wish("t", 1)]).await;
    let changes = vec![
        change(TOPIC, "t", &[("retention.ms", SET, Some("1"))]),
        change(TOPIC, "nobody", &[("retention.ms", SET, Some("1"))]),
        change(TOPIC, "malformed", &[("retention.ms", SET, None)]),
        change(GROUP, "g", &[("streams.num.standby.replicas", SET, Some("1"))]),
        change(BROKER, "", &[("log.retention.ms", SET, Some("1"))]),
        change(CLIENT_METRICS, "m", &[("interval.ms", SET, Some("1000"))]),
    ];
    let expected = [
        ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        ErrorCode::INVALID_REQUEST,
        ErrorCode::GROUP_AUTHORIZATION_FAILED,
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
    ];
    assert_eq!(alter(&mut connection, changes).await, expected);
    assert_eq!(value(&mut connection, TOPIC, "t", "retention.ms").await.1, 5);
    broker.stop().await;

    let broker = TestBroker::denying(Operation::Alter).await;
    let mut connection = broker.connect().await;
    create(&mut connection, 7, vec![wish("t", 1)]).await;
    let asked =
        CreatePartitionsRequest { topics: vec![grow("t", 2), grow("nobody", 2)], ..Default::default() };
    let answer = soon(connection.call(3, &asked)).await;
    let denied = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    assert!(answer.results.iter().all(|it| it.error_code == denied) && answer.results.len() == 2);
    broker.stop().await;
}

#[tokio::test]
async fn deletion_without_right_tells_nothing() {
    let broker = TestBroker::denying(Operation::Delete).await;
    let mut connection = broker.connect().await;
    let id = create(&mut connection, 7, vec![wish("t", 1)]).await[0].topic_id;
    let topics = vec![
        DeleteTopicState { topic_id: id, ..Default::default() },
        DeleteTopicState { name: Some(Str::from("t")), ..Default::default() },
        DeleteTopicState { name: Some(Str::from("nobody")), ..Default::default() },
    ];
    let asked = DeleteTopicsRequest { topics, ..Default::default() };
    let answer = soon(connection.call(6, &asked)).await;
    let denied = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    assert_eq!(answer.responses.len(), 3);
    for told in &answer.responses {
        assert_eq!(told.error_code, denied);
        // DESCRIBE is allowed, so the id's name is told; a name's id never is.
        assert!(told.name.is_some() && (told.topic_id == Uuid::ZERO || told.topic_id == id));
    }
    assert_eq!(partitions(&mut connection, "t").await, Ok(1));
    broker.stop().await;
}
