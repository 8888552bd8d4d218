//! UpdateFeatures through a socket, and what the levels decide. Every refusal of a level stands in `catalog`.

use crate::common::{Disk, TestBroker, soon};
use broker::auth::Operation;
use client::Connection;
use wire::batch::records;
use wire::fetch::request::{FetchPartition, FetchTopic};
use wire::update_features::request::FeatureUpdateKey;
use wire::{
    ApiVersionsRequest, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, ErrorCode, FetchRequest,
    FindCoordinatorRequest, InitProducerIdRequest, Str, UpdateFeaturesRequest, UpdateFeaturesResponse,
};

const TRANSACTIONS: &str = "transaction.version";

fn request(updates: &[(&str, i16, i8)]) -> UpdateFeaturesRequest {
    let update = |(name, level, upgrade_type): &(&str, i16, i8)| FeatureUpdateKey {
        feature: Str::from(*name),
        max_version_level: *level,
        upgrade_type: *upgrade_type,
        ..Default::default()
    };
    UpdateFeaturesRequest { feature_updates: updates.iter().map(update).collect(), ..Default::default() }
}

async fn change(connection: &mut Connection, updates: &[(&str, i16, i8)]) -> UpdateFeaturesResponse {
    soon(connection.call(2, &request(updates))).await
}

/// Epoch, and the level of a feature: 0 if ApiVersions does not show it.
async fn told(connection: &mut Connection, name: &str) -> (i64, i16) {
    let asked = ApiVersionsRequest {
        client_software_name: Str::from_static("test"),
        client_software_version: Str::from_static("1"),
        ..Default::default()
    };
    let answer = soon(connection.call(4, &asked)).await;
    let level = answer.finalized_features.iter().find(|it| it.name == *name);
    (answer.finalized_features_epoch, level.map_or(0, |it| it.max_version_level))
}

/// Others hear of a level at once, with a higher epoch, and after a restart.
#[tokio::test]
async fn a_level_is_seen_by_all_and_stays() {
    let broker = TestBroker::start().await;
    let (mut connection, mut other) = (broker.connect().await, broker.connect().await);
    let (mut epoch, _) = told(&mut other, TRANSACTIONS).await;
    for (level, upgrade_type) in [(1, 2), (0, 3), (1, 1), (2, 1), (0, 2)] {
        let answer = change(&mut connection, &[(TRANSACTIONS, level, upgrade_type)]).await;
        assert_eq!((answer.error_code, answer.error_message), (ErrorCode::NONE, None));
        let (now, seen) = told(&mut other, TRANSACTIONS).await;
        assert_eq!(seen, level);
        assert!(now > epoch);
        epoch = now;
    }
    let broker = broker.restart().await;
    let (after, level) = told(&mut broker.connect().await, TRANSACTIONS).await;
    assert!(after >= epoch);
    assert_eq!(level, 0, "a start does not raise what was turned off");
    broker.stop().await;
}

/// Results by feature below version 2, in the order of the request; nothing but a code from there on.
#[tokio::test]
async fn the_answer_of_each_version() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let good = request(&[(TRANSACTIONS, 2, 1), ("group.version", 1, 1), (TRANSACTIONS, 2, 1)]);
    let bad = request(&[(TRANSACTIONS, 3, 1), ("group.version", 1, 1)]);
    for version in 0..=2 {
        let answer = soon(connection.call(version, &good)).await;
        assert_eq!((answer.error_code, answer.error_message), (ErrorCode::NONE, None));
        let names: Vec<_> = answer.results.iter().map(|it| it.feature.to_string()).collect();
        let expected = [TRANSACTIONS, "group.version", TRANSACTIONS];
        assert_eq!(names, if version < 2 { &expected[..] } else { &[] });
        for result in answer.results {
            let message = result.error_message.as_ref().map(|it| it.to_str());
            assert_eq!((result.error_code, message.as_deref()), (ErrorCode::NONE, Some("NONE")));
        }
        let answer = soon(connection.call(version, &bad)).await;
        assert_eq!(answer.error_code, ErrorCode::INVALID_UPDATE_VERSION);
        assert!(answer.error_message.is_some() && answer.results.is_empty());
    }
    // Version 0 only raises, as in Kafka.
    let mut lower = request(&[(TRANSACTIONS, 1, 1)]);
    lower.feature_updates[0].allow_downgrade = true;
    lower.feature_updates[0].upgrade_type = 1;
    assert_eq!(soon(connection.call(0, &lower)).await.error_code, ErrorCode::INVALID_UPDATE_VERSION);
    let only_checked = UpdateFeaturesRequest { validate_only: true, ..request(&[(TRANSACTIONS, 0, 2)]) };
    assert_eq!(soon(connection.call(1, &only_checked)).await.error_code, ErrorCode::NONE);
    assert_eq!(told(&mut connection, TRANSACTIONS).await.1, 2);
    broker.stop().await;
}

/// Check 1 comes before everything, also before an empty request is well.
#[tokio::test]
async fn levels_need_alter_on_the_cluster() {
    let broker = TestBroker::denying(Operation::Alter).await;
    let mut connection = broker.connect().await;
    for version in 0..=2 {
        for updates in [&[(TRANSACTIONS, 9, 1)][..], &[]] {
            let answer = soon(connection.call(version, &request(updates))).await;
            assert_eq!(answer.error_code, ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
            assert!(answer.error_message.is_some() && answer.results.is_empty());
        }
    }
    broker.stop().await;
}

async fn find(connection: &mut Connection, key_type: i8, key: &str) {
    let coordinator_keys = vec![Str::from(key)];
    let asked = FindCoordinatorRequest { key_type, coordinator_keys, ..Default::default() };
    let answer = soon(connection.call(5, &asked)).await;
    assert_eq!(answer.coordinators[0].error_code, ErrorCode::NONE);
}

/// Consumer groups go and come with `group.version`; what the group knows stays.
#[tokio::test]
async fn consumer_groups_are_served_from_group_version_1_on() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    find(&mut connection, 0, "g").await;
    let join = ConsumerGroupHeartbeatRequest {
        group_id: Str::from_static("g"),
        member_id: Str::from_static("m"),
        rebalance_timeout_ms: 60_000,
        subscribed_topic_names: Some(vec![Str::from_static("t")]),
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    };
    let describe =
        ConsumerGroupDescribeRequest { group_ids: vec![Str::from_static("g")], ..Default::default() };
    let expected = [ErrorCode::NONE, ErrorCode::UNSUPPORTED_VERSION, ErrorCode::NONE];
    for (level, code) in [1, 0, 1].into_iter().zip(expected) {
        let upgrade_type = if level == 0 { 2 } else { 1 };
        change(&mut connection, &[("group.version", level, upgrade_type)]).await;
        assert_eq!(soon(connection.call(1, &join)).await.error_code, code);
        assert_eq!(soon(connection.call(1, &describe)).await.groups[0].error_code, code);
    }
    broker.stop().await;
}

/// `broker-core.md` 12.2: values of version 0 at level 0, of version 1 from there on, in one log; and a start reads both.
#[tokio::test]
async fn transactional_ids_are_recorded_in_the_version_of_the_level() {
    let settings = [("transaction.state.log.num.partitions", "1")];
    let allow_all = std::sync::Arc::new(broker::auth::AllowAll);
    let broker = TestBroker::over(Disk::new(), &settings, allow_all).await;
    let mut connection = broker.connect().await;
    find(&mut connection, 1, "id-2").await;
    let asked = |level: i16| InitProducerIdRequest {
        transactional_id: Some(Str::from(format!("id-{level}"))),
        transaction_timeout_ms: 60_000,
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    for (level, upgrade_type) in [(2, 1), (0, 2), (1, 1)] {
        assert_eq!(
            change(&mut connection, &[(TRANSACTIONS, level, upgrade_type)]).await.error_code,
            ErrorCode::NONE
        );
        assert_eq!(soon(connection.call(5, &asked(level))).await.error_code, ErrorCode::NONE);
    }
    let partition = FetchPartition { partition_max_bytes: 1 << 20, ..Default::default() };
    let topic = Str::from_static("__transaction_state");
    let topics = vec![FetchTopic { topic, partitions: vec![partition], ..Default::default() }];
    let fetch = FetchRequest { min_bytes: 1, max_bytes: 1 << 20, topics, ..Default::default() };
    let answer = soon(connection.call(12, &fetch)).await;
    let bytes = answer.responses[0].partitions[0].records.as_ref().unwrap().bytes();
    let version =
        |record: wire::batch::Record| i16::from_be_bytes(record.value.unwrap()[..2].try_into().unwrap());
    let versions: Vec<_> = records(&bytes).map(|it| version(it.unwrap())).collect();
    assert_eq!(versions, [1, 0, 1]);
    let broker = broker.restart().await;
    let mut connection = broker.connect().await;
    for level in 0..=2 {
        // The ids are known: they get their next epoch.
        let again = async {
            loop {
                let answer = soon(connection.call(5, &asked(level))).await;
                if answer.error_code == ErrorCode::NONE {
                    return answer.producer_epoch;
                }
            }
        };
        assert_eq!(tokio::time::timeout(std::time::Duration::from_secs(20), again).await.unwrap(), 1);
    }
    broker.stop().await;
}
