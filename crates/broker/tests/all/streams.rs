//! Streams groups through a socket: what the handlers do around the coordinator (`streams-groups.md` 18.1, 18.2).
//! Numbers in names are those of its scenarios.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::{Deny, Disk, PATIENCE, TestBroker, closed, soon};
use broker::auth::{Authorizer, Operation, Resource};
use catalog::command::{CreateTopics, DeleteTopics, FeatureUpdate, NewTopic, TopicRef, UpdateFeatures};
use client::Connection;
use coordinator::Caller;
use tokio::time::{sleep, timeout};
use wire::streams_group_heartbeat::request::{KeyValue, Subtopology, TaskOffset, TopicInfo, Topology};
use wire::streams_group_topology_description_update::request::{
    TopologyDescription, TopologyDescriptionNode, TopologyDescriptionSubtopology,
};
use wire::{
    ErrorCode, FindCoordinatorRequest, Str, StreamsGroupDescribeRequest, StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse, StreamsGroupTopologyDescriptionUpdateRequest,
};

const AT_ONCE: [(&str, &str); 2] =
    [("group.streams.initial.rebalance.delay.ms", "0"), ("group.streams.assignment.interval.ms", "0")];

/// Allows what the function allows.
struct Rule(fn(Operation, Resource<'_>) -> bool);

impl Authorizer for Rule {
    fn allow(&self, _caller: &Caller, operation: Operation, resource: Resource<'_>) -> bool {
        self.0(operation, resource)
    }
}

async fn broker(more: &[(&str, &str)]) -> TestBroker {
    let settings: Vec<_> = AT_ONCE.iter().chain(more).copied().collect();
    TestBroker::with(&settings).await
}

async fn broker_that_allows(rule: fn(Operation, Resource<'_>) -> bool) -> TestBroker {
    TestBroker::over(Disk::new(), &AT_ONCE, Arc::new(Rule(rule))).await
}

fn strs(names: &[&str]) -> Vec<Str> {
    names.iter().map(|it| Str::from(*it)).collect()
}

fn changelogs(names: &[&str], replication_factor: i16) -> Vec<TopicInfo> {
    let info = |name: &&str| TopicInfo { name: Str::from(*name), replication_factor, ..Default::default() };
    names.iter().map(info).collect()
}

/// One subtopology that reads `in`.
fn reading_in() -> Subtopology {
    Subtopology { subtopology_id: "0".into(), source_topics: strs(&["in"]), ..Default::default() }
}

fn join(subtopology: Subtopology) -> StreamsGroupHeartbeatRequest {
    StreamsGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: "m".into(),
        rebalance_timeout_ms: 60_000,
        topology: Some(Topology { epoch: 0, subtopologies: vec![subtopology], ..Default::default() }),
        active_tasks: Some(Vec::new()),
        standby_tasks: Some(Vec::new()),
        warmup_tasks: Some(Vec::new()),
        process_id: Some("p".into()),
        ..Default::default()
    }
}

fn beat(epoch: i32) -> StreamsGroupHeartbeatRequest {
    let (group_id, member_id) = ("g".into(), "m".into());
    StreamsGroupHeartbeatRequest { group_id, member_id, member_epoch: epoch, ..Default::default() }
}

async fn coordinator(connection: &mut Connection) {
    let keys = strs(&["g", "h"]);
    let asked = FindCoordinatorRequest { coordinator_keys: keys, ..Default::default() };
    assert_eq!(soon(connection.call(4, &asked)).await.coordinators[0].error_code, ErrorCode::NONE);
}

async fn create(broker: &TestBroker, names: &[&str]) {
    let topics = names.iter().map(|name| NewTopic::with_defaults(*name)).collect();
    let created = broker.broker().catalog.submit(CreateTopics { topics, validate_only: false }).await;
    assert!(created.unwrap().iter().all(|(_, it)| it.is_ok()));
}

/// A connection to a broker on which `in` and the coordinator's topic exist.
async fn ready(broker: &TestBroker) -> Connection {
    create(broker, &["in"]).await;
    let mut connection = broker.connect().await;
    coordinator(&mut connection).await;
    connection
}

async fn ask(
    connection: &mut Connection,
    request: &StreamsGroupHeartbeatRequest,
) -> StreamsGroupHeartbeatResponse {
    soon(connection.call(1, request)).await
}

fn refused(answer: StreamsGroupHeartbeatResponse) -> (ErrorCode, Option<String>) {
    let message = answer.error_message.clone().map(|it| it.to_string());
    let rest = StreamsGroupHeartbeatResponse {
        error_code: answer.error_code,
        error_message: answer.error_message.clone(),
        ..Default::default()
    };
    assert_eq!(answer, rest, "nothing else is set");
    (answer.error_code, message)
}

/// The detail of a status, if the response has it.
fn detail(answer: &StreamsGroupHeartbeatResponse, code: i8) -> Option<String> {
    assert_eq!(answer.error_code, ErrorCode::NONE, "{:?}", answer.error_message);
    let status = answer.status.as_ref().unwrap().iter().find(|it| it.status_code == code)?;
    Some(status.status_detail.to_string())
}

fn exists(broker: &TestBroker, topic: &str) -> bool {
    broker.broker().catalog.image().topic(topic).is_some()
}

async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("it did not happen");
}

/// Heartbeats until the response passes.
async fn beat_until(
    connection: &mut Connection,
    epoch: &mut i32,
    passes: impl Fn(&StreamsGroupHeartbeatResponse) -> bool,
) -> StreamsGroupHeartbeatResponse {
    let asking = async {
        loop {
            let answer = ask(connection, &beat(*epoch)).await;
            assert_eq!(answer.error_code, ErrorCode::NONE, "{:?}", answer.error_message);
            *epoch = answer.member_epoch;
            if passes(&answer) {
                return answer;
            }
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, asking).await.expect("no such response came")
}

#[tokio::test]
async fn scenario_1_a_protocol_that_is_not_listed_is_not_served() {
    let broker = broker(&[("group.coordinator.rebalance.protocols", "classic,consumer")]).await;
    let mut connection = ready(&broker).await;
    let answer = ask(&mut connection, &join(reading_in())).await;
    assert_eq!(refused(answer), (ErrorCode::UNSUPPORTED_VERSION, None));
    broker.stop().await;
}

#[tokio::test]
async fn scenarios_2_3_and_27_nothing_is_served_below_the_feature_level() {
    let broker = broker(&[]).await;
    let mut connection = ready(&broker).await;
    let update = FeatureUpdate { name: "streams.version".into(), level: 0, upgrade_type: 3 };
    let command = UpdateFeatures { updates: vec![update], validate_only: false };
    broker.broker().catalog.submit(command).await.unwrap();
    let answer = ask(&mut connection, &join(reading_in())).await;
    assert_eq!(refused(answer), (ErrorCode::UNSUPPORTED_VERSION, None));
    let asked = StreamsGroupDescribeRequest { group_ids: strs(&["b", "a"]), ..Default::default() };
    let groups = soon(connection.call(1, &asked)).await.groups;
    let told: Vec<_> = groups.iter().map(|it| (it.group_id.to_string(), it.error_code)).collect();
    let code = ErrorCode::UNSUPPORTED_VERSION;
    assert_eq!(told, [("b".to_owned(), code), ("a".to_owned(), code)]);
    let answer = soon(connection.call(0, &description("m", 0))).await;
    assert_eq!((answer.error_code, answer.error_message), (code, None));
    broker.stop().await;
}

#[tokio::test]
async fn scenarios_4_25_and_27_nobody_coordinates_before_the_internal_topic_exists() {
    let broker = broker(&[]).await;
    let mut connection = broker.connect().await;
    let answer = ask(&mut connection, &join(reading_in())).await;
    assert_eq!(refused(answer), (ErrorCode::NOT_COORDINATOR, None));
    let asked = StreamsGroupDescribeRequest { group_ids: strs(&["a", "b"]), ..Default::default() };
    let groups = soon(connection.call(1, &asked)).await.groups;
    assert!(
        groups.iter().all(|it| it.error_code == ErrorCode::NOT_COORDINATOR && it.error_message.is_none())
    );
    assert_eq!(groups.len(), 2);
    let answer = soon(connection.call(0, &description("m", 0))).await;
    assert_eq!((answer.error_code, answer.error_message), (ErrorCode::NOT_COORDINATOR, None));
    broker.stop().await;
}

#[tokio::test]
async fn scenarios_5_and_27_the_group_must_be_readable() {
    let broker = TestBroker::denying(Operation::Read).await;
    let mut connection = ready(&broker).await;
    let answer = ask(&mut connection, &join(reading_in())).await;
    assert_eq!(refused(answer), (ErrorCode::GROUP_AUTHORIZATION_FAILED, None));
    let answer = soon(connection.call(0, &description("m", 0))).await;
    assert_eq!(answer.error_code, ErrorCode::GROUP_AUTHORIZATION_FAILED);
    broker.stop().await;
}

fn of_four_topics() -> Subtopology {
    Subtopology {
        repartition_sink_topics: strs(&["bar"]),
        repartition_source_topics: vec![TopicInfo {
            name: "zar".into(),
            partitions: 1,
            ..Default::default()
        }],
        state_changelog_topics: changelogs(&["tar"], 1),
        ..reading_in()
    }
}

#[tokio::test]
async fn scenarios_6_and_7_every_topic_of_the_topology_must_be_describable() {
    let hides_bar = |operation: Operation, resource: Resource<'_>| {
        (operation, resource) != (Operation::Describe, Resource::Topic(b"bar"))
    };
    let broker = broker_that_allows(hides_bar).await;
    let mut connection = ready(&broker).await;
    let answer = ask(&mut connection, &join(of_four_topics())).await;
    assert_eq!(refused(answer), (ErrorCode::TOPIC_AUTHORIZATION_FAILED, None));
    let without = Subtopology { repartition_sink_topics: Vec::new(), ..of_four_topics() };
    assert_eq!(ask(&mut connection, &join(without)).await.error_code, ErrorCode::NONE);
    broker.stop().await;
}

#[tokio::test]
async fn scenarios_8_9_10_and_49_names_are_checked_before_rights() {
    let broker = TestBroker::denying(Operation::Describe).await;
    create(&broker, &["in"]).await;
    let mut connection = broker.connect().await;
    for (names, told) in [
        (&["in", "a b"][..], &["a b"][..]),
        (&["__consumer_offsets", "__transaction_state"], &["__consumer_offsets", "__transaction_state"]),
    ] {
        let subtopology = Subtopology { source_topics: strs(names), ..reading_in() };
        let (code, message) = refused(ask(&mut connection, &join(subtopology)).await);
        assert_eq!(code, ErrorCode::STREAMS_INVALID_TOPOLOGY);
        let message = message.unwrap();
        assert!(told.iter().all(|name| message.contains(name)), "{message}");
    }
    broker.stop().await;
}

#[tokio::test]
async fn scenario_11_a_heartbeat_without_topology_needs_no_right_on_topics() {
    let disk = Disk::new();
    let broker = TestBroker::over(disk.clone(), &AT_ONCE, Arc::new(broker::auth::AllowAll)).await;
    let mut connection = ready(&broker).await;
    let epoch = ask(&mut connection, &join(reading_in())).await.member_epoch;
    broker.stop().await;
    let rule = Rule(|_, resource| !matches!(resource, Resource::Topic(_)));
    let broker = TestBroker::over(disk, &AT_ONCE, Arc::new(rule)).await;
    let mut connection = broker.connect().await;
    let answer = loaded(&mut connection, &beat(epoch)).await;
    assert_eq!((answer.error_code, answer.member_epoch), (ErrorCode::NONE, epoch));
    let answer = ask(&mut connection, &join(reading_in())).await;
    assert_eq!(answer.error_code, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    broker.stop().await;
}

/// The answer once the shard is loaded.
async fn loaded(
    connection: &mut Connection,
    request: &StreamsGroupHeartbeatRequest,
) -> StreamsGroupHeartbeatResponse {
    let asking = async {
        loop {
            let answer = ask(connection, request).await;
            let waits = [ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, ErrorCode::NOT_COORDINATOR];
            if !waits.contains(&answer.error_code) {
                return answer;
            }
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, asking).await.expect("the shard did not load")
}

/// Offsets are kept in memory as they are told, so there is a bound; nothing of a refused list is kept.
#[tokio::test]
async fn offsets_of_more_tasks_than_a_process_can_have_are_refused() {
    let broker = broker(&[]).await;
    let mut connection = ready(&broker).await;
    let epoch = ask(&mut connection, &join(reading_in())).await.member_epoch;
    let offset = |partition| TaskOffset { subtopology_id: Str::from("0"), partition, ..Default::default() };
    let told = |count| StreamsGroupHeartbeatRequest {
        task_offsets: Some((0..count).map(offset).collect()),
        ..beat(epoch)
    };
    let (code, message) = refused(ask(&mut connection, &told(100_001)).await);
    assert_eq!(code, ErrorCode::INVALID_REQUEST);
    assert!(message.unwrap().contains("100001"));
    assert_eq!(ask(&mut connection, &told(100_000)).await.error_code, ErrorCode::NONE);
    broker.stop().await;
}

#[tokio::test]
async fn scenarios_12_and_28_the_coordinators_error_is_passed_on_and_other_versions_are_not_served() {
    let broker = broker(&[]).await;
    let mut connection = ready(&broker).await;
    ask(&mut connection, &join(reading_in())).await;
    let (code, message) = refused(ask(&mut connection, &beat(99)).await);
    assert_eq!(code, ErrorCode::FENCED_MEMBER_EPOCH);
    assert!(message.unwrap().contains("99"));
    // Size, key 88, version 2, correlation id 1, no client id, no tags.
    connection.send_raw(&[0, 0, 0, 11, 0, 88, 0, 2, 0, 0, 0, 1, 255, 255, 0]).await.unwrap();
    closed(&mut connection).await;
    broker.stop().await;
}

#[tokio::test]
async fn scenarios_13_109_and_332_missing_internal_topics_are_made_and_made_again() {
    let broker = broker(&[]).await;
    let mut connection = ready(&broker).await;
    let mut changelog = changelogs(&["g-changelog"], 0);
    let configs = [("cleanup.policy", "compact,delete"), ("retention.ms", "86400001")];
    let config =
        |(key, value): (&str, &str)| KeyValue { key: key.into(), value: value.into(), ..Default::default() };
    changelog[0].topic_configs = configs.into_iter().map(config).collect();
    let subtopology = Subtopology { state_changelog_topics: changelog, ..reading_in() };
    let answer = ask(&mut connection, &join(subtopology)).await;
    assert!(detail(&answer, 3).unwrap().contains("g-changelog"));
    let mut epoch = answer.member_epoch;
    let has_tasks = |it: &StreamsGroupHeartbeatResponse| {
        it.status.as_ref().unwrap().is_empty() && it.active_tasks.as_ref().is_some_and(|it| !it.is_empty())
    };
    beat_until(&mut connection, &mut epoch, has_tasks).await;
    let made = broker.broker().catalog.image().topic("g-changelog").unwrap().configs.clone();
    for (key, value) in configs {
        assert_eq!(made.get(key).map(ToString::to_string).as_deref(), Some(value));
    }
    // T-33: it vanishes, is missed, and is there again.
    let id = broker.broker().catalog.image().topic("g-changelog").unwrap().id;
    let command = DeleteTopics { topics: vec![TopicRef::Id(id)] };
    broker.broker().catalog.submit(command).await.unwrap();
    assert!(!exists(&broker, "g-changelog"));
    beat_until(&mut connection, &mut epoch, |it| detail(it, 3).is_some()).await;
    until(|| exists(&broker, "g-changelog")).await;
    beat_until(&mut connection, &mut epoch, |it| detail(it, 3).is_none()).await;
    broker.stop().await;
}

#[tokio::test]
async fn scenarios_14_and_15_who_may_not_create_is_told_so() {
    let broker = TestBroker::over(Disk::new(), &AT_ONCE, Arc::new(Deny(Operation::Create))).await;
    create(&broker, &["in", "__consumer_offsets"]).await;
    let mut connection = broker.connect().await;
    let subtopology = Subtopology { state_changelog_topics: changelogs(&["test"], 1), ..reading_in() };
    let answer = loaded(&mut connection, &join(subtopology)).await;
    let text = detail(&answer, 3).unwrap();
    let (missing, denied) = text.split_once("; ").unwrap();
    assert!(missing.contains("test") && denied.contains("test"), "{text}");
    sleep(Duration::from_millis(50)).await;
    assert!(!exists(&broker, "test"));
    broker.stop().await;
}

#[tokio::test]
async fn scenario_16_the_right_to_create_the_topics_is_enough() {
    let broker = broker_that_allows(|operation, resource| {
        operation != Operation::Create || resource == Resource::Topic(b"test")
    })
    .await;
    create(&broker, &["in", "__consumer_offsets"]).await;
    let mut connection = broker.connect().await;
    let subtopology = Subtopology { state_changelog_topics: changelogs(&["test"], 1), ..reading_in() };
    let answer = loaded(&mut connection, &join(subtopology)).await;
    assert!(detail(&answer, 3).unwrap().contains("test"));
    until(|| exists(&broker, "test")).await;
    broker.stop().await;
}

/// 20 and 21, which no client can see, are tested beside `internal_topics.rs`.
#[tokio::test]
async fn scenarios_17_to_19_failures_of_creation_are_told_while_topics_are_missing() {
    let broker = broker(&[]).await;
    let mut connection = ready(&broker).await;
    let names = ["c1", "c2", "c3", "c4", "c5"];
    let subtopology = Subtopology { state_changelog_topics: changelogs(&names, 3), ..reading_in() };
    let answer = ask(&mut connection, &join(subtopology)).await;
    let missing = detail(&answer, 3).unwrap();
    assert!(!missing.contains("INVALID_REPLICATION_FACTOR"));
    let mut epoch = answer.member_epoch;
    let has_failed = |it: &StreamsGroupHeartbeatResponse| {
        detail(it, 3).unwrap().contains("c3 (INVALID_REPLICATION_FACTOR")
    };
    let answer = beat_until(&mut connection, &mut epoch, has_failed).await;
    let text = detail(&answer, 3).unwrap();
    assert!(text.starts_with(&format!("{missing}; ")), "{text}");
    assert!(text.ends_with("and 2 more") && !text.contains("c4 ("), "{text}");
    create(&broker, &names).await;
    let answer = beat_until(&mut connection, &mut epoch, |it| detail(it, 3).is_none()).await;
    assert_eq!(answer.status, Some(Vec::new()));
    broker.stop().await;
}

#[tokio::test]
async fn scenarios_22_and_23_denied_groups_come_first_and_rights_are_told_when_asked_for() {
    let hides_h = |operation: Operation, resource: Resource<'_>| {
        (operation, resource) != (Operation::Describe, Resource::Group(b"h"))
    };
    let broker = broker_that_allows(hides_h).await;
    let mut connection = broker.connect().await;
    create(&broker, &["in", "__consumer_offsets"]).await;
    loaded(&mut connection, &join(reading_in())).await;
    let mut asked = StreamsGroupDescribeRequest { group_ids: strs(&["g", "h"]), ..Default::default() };
    let groups = soon(connection.call(1, &asked)).await.groups;
    let told: Vec<_> = groups.iter().map(|it| (it.group_id.to_string(), it.error_code)).collect();
    let expected =
        [("h".to_owned(), ErrorCode::GROUP_AUTHORIZATION_FAILED), ("g".to_owned(), ErrorCode::NONE)];
    assert_eq!(told, expected);
    assert!(groups.iter().all(|it| it.authorized_operations == i32::MIN));
    asked.include_authorized_operations = true;
    let groups = soon(connection.call(1, &asked)).await.groups;
    let operations: Vec<_> = groups.iter().map(|it| it.authorized_operations).collect();
    assert_eq!(operations, [i32::MIN, 3400]);
    broker.stop().await;
}

#[tokio::test]
async fn scenario_24_a_group_with_a_hidden_topic_is_not_shown() {
    let disk = Disk::new();
    let broker = TestBroker::over(disk.clone(), &AT_ONCE, Arc::new(broker::auth::AllowAll)).await;
    let mut connection = ready(&broker).await;
    ask(&mut connection, &join(of_four_topics())).await;
    broker.stop().await;
    let rule =
        Rule(|operation, resource| (operation, resource) != (Operation::Describe, Resource::Topic(b"bar")));
    let broker = TestBroker::over(disk, &AT_ONCE, Arc::new(rule)).await;
    let mut connection = broker.connect().await;
    loaded(&mut connection, &beat(99)).await;
    let asked = StreamsGroupDescribeRequest { group_ids: strs(&["g"]), ..Default::default() };
    let group = soon(connection.call(1, &asked)).await.groups.remove(0);
    assert_eq!(group.error_code, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    assert!(group.error_message.is_some() && group.topology.is_none() && group.members.is_empty());
    broker.stop().await;
}

fn description(member: &str, topology_epoch: i32) -> StreamsGroupTopologyDescriptionUpdateRequest {
    let node = TopologyDescriptionNode {
        name: "KSTREAM-SOURCE".into(),
        node_type: 1,
        source_topics: strs(&["in"]),
        ..Default::default()
    };
    let subtopology = TopologyDescriptionSubtopology {
        subtopology_id: "0".into(),
        nodes: vec![node],
        ..Default::default()
    };
    StreamsGroupTopologyDescriptionUpdateRequest {
        group_id: "g".into(),
        member_id: member.into(),
        topology_epoch,
        topology_description: TopologyDescription { subtopologies: vec![subtopology], ..Default::default() },
        ..Default::default()
    }
}

#[tokio::test]
async fn scenarios_26_27_and_358_a_description_is_kept_over_a_restart_and_told_to_who_asks() {
    let broker = broker(&[]).await;
    let mut connection = ready(&broker).await;
    let old: StreamsGroupHeartbeatResponse = soon(connection.call(0, &join(reading_in()))).await;
    assert!(!old.topology_description_required);
    let answer = ask(&mut connection, &beat(old.member_epoch)).await;
    assert!(answer.topology_description_required);
    let status = |it: &wire::StreamsGroupDescribeResponse| it.groups[0].topology_description_status;
    let mut asked = StreamsGroupDescribeRequest { group_ids: strs(&["g"]), ..Default::default() };
    assert_eq!(status(&soon(connection.call(1, &asked)).await), 0);
    asked.include_topology_description = true;
    let told = soon(connection.call(1, &asked)).await;
    assert_eq!((status(&told), &told.groups[0].topology_description), (1, &None));
    let answer = soon(connection.call(0, &description("m", 0))).await;
    assert_eq!((answer.error_code, answer.error_message), (ErrorCode::NONE, None));
    assert!(!ask(&mut connection, &beat(old.member_epoch)).await.topology_description_required);
    let broker = broker.restart().await;
    let mut connection = broker.connect().await;
    loaded(&mut connection, &beat(99)).await;
    let told = soon(connection.call(1, &asked)).await;
    assert_eq!(status(&told), 3);
    let subtopologies = &told.groups[0].topology_description.as_ref().unwrap().subtopologies;
    assert_eq!(subtopologies[0].nodes[0].name, "KSTREAM-SOURCE");
    let plain = StreamsGroupDescribeRequest { group_ids: strs(&["g"]), ..Default::default() };
    for version in 0..=1 {
        let told = soon(connection.call(version, &plain)).await;
        assert_eq!((status(&told), &told.groups[0].topology_description), (0, &None));
    }
    broker.stop().await;
}

#[tokio::test]
async fn scenario_357_without_descriptions_nobody_is_asked() {
    let broker = broker(&[("thalweg.streams.topology.descriptions", "false")]).await;
    let mut connection = ready(&broker).await;
    assert!(!ask(&mut connection, &join(reading_in())).await.topology_description_required);
    let answer = soon(connection.call(0, &description("m", 0))).await;
    assert_eq!(answer.error_code, ErrorCode::UNSUPPORTED_VERSION);
    assert!(answer.error_message.is_some());
    let include_topology_description = true;
    let asked = StreamsGroupDescribeRequest {
        group_ids: strs(&["g"]),
        include_topology_description,
        ..Default::default()
    };
    let group = soon(connection.call(1, &asked)).await.groups.remove(0);
    assert_eq!((group.topology_description_status, group.topology_description), (1, None));
    broker.stop().await;
}

/// H-17: storage that refuses the append is KAFKA_STORAGE_ERROR in Kafka. Nothing of the join is left.
#[tokio::test]
async fn scenario_48_a_refused_append_asks_the_client_to_look_for_the_coordinator() {
    let disk = Disk::new();
    let broker = TestBroker::over(disk.clone(), &AT_ONCE, Arc::new(broker::auth::AllowAll)).await;
    let mut connection = ready(&broker).await;
    disk.full.store(true, Ordering::Relaxed);
    let answer = ask(&mut connection, &join(reading_in())).await;
    assert_eq!(refused(answer), (ErrorCode::NOT_COORDINATOR, None));
    disk.full.store(false, Ordering::Relaxed);
    let answer = loaded(&mut connection, &beat(2)).await;
    assert_eq!(answer.error_code, ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(loaded(&mut connection, &join(reading_in())).await.member_epoch, 2);
    broker.stop().await;
}

/// Also 29 and 50: a shard that is being loaded says so, whatever is asked.
#[tokio::test]
async fn scenarios_29_50_and_51_only_the_groups_of_a_shard_that_fails_carry_its_error() {
    let disk = Disk::new();
    let broker = TestBroker::over(disk.clone(), &AT_ONCE, Arc::new(broker::auth::AllowAll)).await;
    let mut connection = ready(&broker).await;
    ask(&mut connection, &join(reading_in())).await;
    disk.full.store(true, Ordering::Relaxed);
    // The shard of `g` is dropped; it comes back after a pause.
    let leaving = ask(&mut connection, &beat(-1)).await;
    assert_eq!(leaving.error_code, ErrorCode::NOT_COORDINATOR);
    let asked = StreamsGroupDescribeRequest { group_ids: strs(&["g", "h"]), ..Default::default() };
    let groups = soon(connection.call(1, &asked)).await.groups;
    let code = |id: &str| groups.iter().find(|it| it.group_id == *id).unwrap().error_code;
    assert_eq!(code("g"), ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    assert_eq!(code("h"), ErrorCode::GROUP_ID_NOT_FOUND);
    let answer = ask(&mut connection, &beat(2)).await;
    assert_eq!(refused(answer), (ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, None));
    disk.full.store(false, Ordering::Relaxed);
    assert_eq!(loaded(&mut connection, &beat(2)).await.error_code, ErrorCode::NONE);
    broker.stop().await;
}

/// 157 and 345, as far as a broker sees it: tasks outlive the broker and the member's new start.
#[tokio::test]
async fn scenario_345_a_static_member_comes_back_to_its_tasks_after_a_restart_of_the_broker() {
    let broker = broker(&[]).await;
    let mut connection = ready(&broker).await;
    let with_instance = |mut it: StreamsGroupHeartbeatRequest, member: &str| {
        it.instance_id = Some("i".into());
        it.member_id = member.into();
        it
    };
    let answer = ask(&mut connection, &with_instance(join(reading_in()), "m")).await;
    let (epoch, tasks) = (answer.member_epoch, answer.active_tasks);
    let answer = ask(&mut connection, &with_instance(beat(-2), "m")).await;
    assert_eq!((answer.error_code, answer.member_epoch), (ErrorCode::NONE, -2));
    let broker = broker.restart().await;
    let mut connection = broker.connect().await;
    let answer = loaded(&mut connection, &with_instance(join(reading_in()), "n")).await;
    assert_eq!((answer.member_epoch, answer.active_tasks), (epoch, tasks));
    let answer = ask(&mut connection, &with_instance(join(reading_in()), "o")).await;
    assert_eq!(answer.error_code, ErrorCode::UNRELEASED_INSTANCE_ID);
    broker.stop().await;
}
