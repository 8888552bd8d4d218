//! ApiVersions (`broker-core.md` 3).

use crate::common::{CLUSTER_ID, TestBroker, soon};
use wire::{ApiVersionsRequest, ErrorCode, Str};

fn request() -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: Str::from("test"),
        client_software_version: Str::from("1.0"),
        ..Default::default()
    }
}

/// 3.1 rule 1: the body is v0 and names this API alone, so that the client knows what to ask.
#[tokio::test]
async fn an_unknown_version_is_answered_in_version_0() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    // Version 99: no client id, no tags, and a body that nobody can read.
    let bytes = [0, 0, 0, 14, 0, 18, 0, 99, 0, 0, 0, 7, 255, 255, 0, 1, 2, 3];
    connection.send_raw(&bytes).await.unwrap();
    let answer = soon(connection.receive_raw()).await;
    assert_eq!(answer, [0, 0, 0, 7, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5].as_slice());
    // The connection goes on.
    assert_eq!(soon(connection.call(5, &request())).await.error_code, ErrorCode::NONE);
    broker.stop().await;
}

#[tokio::test]
async fn every_version_is_answered() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    for version in 0..=5 {
        let answer = soon(connection.call(version, &request())).await;
        assert_eq!(answer.error_code, ErrorCode::NONE);
        let own = answer.api_keys.iter().find(|it| it.api_key == 18).unwrap();
        assert_eq!((own.min_version, own.max_version), (0, 5));
        assert!(answer.api_keys.is_sorted_by_key(|it| it.api_key));
    }
    broker.stop().await;
}

/// 3.2 and 3.3: the epoch must be at least 0, or Java clients ignore all features.
#[tokio::test]
async fn features_come_with_an_epoch_and_only_as_versions_can_read_them() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let v3 = soon(connection.call(3, &request())).await;
    let v4 = soon(connection.call(4, &request())).await;
    let streams = Str::from("streams.version");
    assert!(!v3.supported_features.iter().any(|it| it.name == streams), "its lowest level is 0");
    assert!(v4.supported_features.iter().any(|it| it.name == streams && it.max_version == 1));
    for answer in [v3, v4] {
        assert!(answer.finalized_features_epoch >= 0);
        let level = answer.finalized_features.iter().find(|it| it.name == streams).unwrap();
        assert_eq!((level.min_version_level, level.max_version_level), (1, 1));
        // Producers choose their protocol by it (trap 7).
        let transactions = Str::from("transaction.version");
        let level = answer.finalized_features.iter().find(|it| it.name == transactions).unwrap();
        assert_eq!((level.min_version_level, level.max_version_level), (2, 2));
    }
    broker.stop().await;
}

#[tokio::test]
async fn the_feature_epoch_never_falls() {
    let broker = TestBroker::start().await;
    let epoch = |answer: wire::ApiVersionsResponse| answer.finalized_features_epoch;
    let before = epoch(soon(broker.connect().await.call(4, &request())).await);
    let broker = broker.restart().await;
    assert!(epoch(soon(broker.connect().await.call(4, &request())).await) >= before);
    broker.stop().await;
}

/// 3.1 rule 2
#[tokio::test]
async fn software_names_must_be_well_formed_from_version_3_on() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let nameless = ApiVersionsRequest { client_software_name: Str::from("-"), ..request() };
    let answer = soon(connection.call(3, &nameless)).await;
    assert_eq!(answer.error_code, ErrorCode::INVALID_REQUEST);
    assert!(answer.api_keys.is_empty());
    assert_eq!(soon(connection.call(2, &nameless)).await.error_code, ErrorCode::NONE);
    broker.stop().await;
}

/// 3.1 rule 4 (KIP-1242)
#[tokio::test]
async fn clients_that_look_for_another_broker_are_told() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let cases = [
        (Some(CLUSTER_ID), 1, ErrorCode::NONE),
        (Some("other"), 1, ErrorCode::REBOOTSTRAP_REQUIRED),
        (Some(CLUSTER_ID), 2, ErrorCode::REBOOTSTRAP_REQUIRED),
        (None, 1, ErrorCode::INVALID_REQUEST),
        (Some(CLUSTER_ID), -1, ErrorCode::INVALID_REQUEST),
    ];
    for (cluster, node_id, expected) in cases {
        let asked = ApiVersionsRequest { cluster_id: cluster.map(Str::from), node_id, ..request() };
        assert_eq!(soon(connection.call(5, &asked)).await.error_code, expected, "{cluster:?} {node_id}");
    }
    broker.stop().await;
}
