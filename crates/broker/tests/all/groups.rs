//! Queries about groups and their authorization, through a socket.

use crate::common::{TestBroker, soon};
use broker::auth::Operation;
use client::Connection;
use wire::{
    DeleteGroupsRequest, DescribeGroupsRequest, ErrorCode, FindCoordinatorRequest, ListGroupsRequest, Str,
    StreamsGroupDescribeRequest,
};

async fn coordinator(connection: &mut Connection, version: i16, key_type: i8) -> ErrorCode {
    let key = Str::from_static("g");
    let asked = if version >= 4 {
        FindCoordinatorRequest { key_type, coordinator_keys: vec![key], ..Default::default() }
    } else {
        FindCoordinatorRequest { key_type, key, ..Default::default() }
    };
    let answer = soon(connection.call(version, &asked)).await;
    answer.coordinators.first().map_or(answer.error_code, |it| it.error_code)
}

/// `broker-core.md` 4.4
#[tokio::test]
async fn the_coordinator_is_told_in_the_form_of_each_version() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let key = Str::from_static("g");
    for version in 0..=3 {
        let asked = FindCoordinatorRequest { key: key.clone(), ..Default::default() };
        let answer = soon(connection.call(version, &asked)).await;
        assert_eq!((answer.error_code, answer.node_id), (ErrorCode::NONE, 1));
        assert_eq!((answer.host, answer.port), (Str::from("127.0.0.1"), i32::from(broker.address.port())));
    }
    for version in 4..=6 {
        let keys = vec![key.clone(), Str::from_static("")];
        let asked = FindCoordinatorRequest { coordinator_keys: keys.clone(), ..Default::default() };
        let answer = soon(connection.call(version, &asked)).await;
        let told: Vec<_> = answer.coordinators.iter().map(|it| it.key.clone()).collect();
        assert_eq!(told, keys);
        assert!(answer.coordinators.iter().all(|it| it.error_code == ErrorCode::NONE && it.node_id == 1));
    }
    broker.stop().await;
}

#[tokio::test]
async fn coordinators_of_other_keys_are_not_served() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    for key_type in [2, 3] {
        assert_eq!(coordinator(&mut connection, 5, key_type).await, ErrorCode::INVALID_REQUEST);
    }
    broker.stop().await;
}

#[tokio::test]
async fn groups_that_may_not_be_described_have_no_coordinator() {
    let broker = TestBroker::denying(Operation::Describe).await;
    let mut connection = broker.connect().await;
    let denied = ErrorCode::GROUP_AUTHORIZATION_FAILED;
    assert_eq!(coordinator(&mut connection, 2, 0).await, denied);
    assert_eq!(coordinator(&mut connection, 4, 0).await, denied);
    // Nobody's question may create the topic.
    assert!(broker.broker().catalog.image().topic("__consumer_offsets").is_none());
    let asked = DescribeGroupsRequest { groups: vec![Str::from_static("g")], ..Default::default() };
    assert_eq!(soon(connection.call(5, &asked)).await.groups[0].error_code, denied);
    let asked = StreamsGroupDescribeRequest { group_ids: vec![Str::from_static("g")], ..Default::default() };
    assert_eq!(soon(connection.call(0, &asked)).await.groups[0].error_code, denied);
    broker.stop().await;
}

/// `classic-and-consumer-groups.md` 8.1: Dead without an error below version 6.
#[tokio::test]
async fn missing_groups_are_described_by_version() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let asked = DescribeGroupsRequest { groups: vec![Str::from_static("g")], ..Default::default() };
    assert_eq!(
        soon(connection.call(5, &asked)).await.groups[0].error_code,
        ErrorCode::NOT_COORDINATOR,
        "before the internal topic exists"
    );
    coordinator(&mut connection, 4, 0).await;
    for version in 0..=6 {
        let answer = soon(connection.call(version, &asked)).await;
        let group = &answer.groups[0];
        let expected = if version < 6 { ErrorCode::NONE } else { ErrorCode::GROUP_ID_NOT_FOUND };
        assert_eq!((group.error_code, &group.group_state), (expected, &Str::from_static("Dead")));
        assert_eq!(group.error_message.is_some(), version == 6);
    }
    broker.stop().await;
}

#[tokio::test]
async fn authorized_operations_come_when_asked_for_and_without_error() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    coordinator(&mut connection, 4, 0).await;
    let mut asked = DescribeGroupsRequest { groups: vec![Str::from_static("g")], ..Default::default() };
    let told = |answer: wire::DescribeGroupsResponse| answer.groups[0].authorized_operations;
    assert_eq!(told(soon(connection.call(5, &asked)).await), i32::MIN);
    asked.include_authorized_operations = true;
    assert_eq!(told(soon(connection.call(5, &asked)).await), 3400);
    assert_eq!(told(soon(connection.call(6, &asked)).await), i32::MIN);
    broker.stop().await;
}

#[tokio::test]
async fn groups_that_do_not_exist_can_not_be_deleted() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    coordinator(&mut connection, 4, 0).await;
    // A name that comes twice is answered once.
    let names = ["a", "b", "a"].map(Str::from_static).to_vec();
    let asked = DeleteGroupsRequest { groups_names: names, ..Default::default() };
    for version in 0..=3 {
        let answer = soon(connection.call(version, &asked)).await;
        assert_eq!(answer.results.len(), 2);
        assert!(answer.results.iter().all(|it| it.error_code == ErrorCode::GROUP_ID_NOT_FOUND));
    }
    broker.stop().await;
}

#[tokio::test]
async fn lists_are_empty_before_the_first_group() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    for version in 0..=5 {
        let answer = soon(connection.call(version, &ListGroupsRequest::default())).await;
        assert_eq!((answer.error_code, answer.groups.len()), (ErrorCode::NONE, 0));
    }
    broker.stop().await;
}

/// `streams-groups.md` D-1, D-2
#[tokio::test]
async fn streams_groups_are_described_with_one_entry_for_each_id() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    coordinator(&mut connection, 4, 0).await;
    let ids = ["", "g"].map(Str::from_static).to_vec();
    let asked = StreamsGroupDescribeRequest { group_ids: ids, ..Default::default() };
    for version in 0..=1 {
        let codes: Vec<_> =
            soon(connection.call(version, &asked)).await.groups.iter().map(|it| it.error_code).collect();
        assert_eq!(codes, [ErrorCode::INVALID_GROUP_ID, ErrorCode::GROUP_ID_NOT_FOUND]);
    }
    broker.stop().await;
}

#[tokio::test]
async fn streams_groups_can_be_turned_off() {
    let broker = TestBroker::with(&[("group.coordinator.rebalance.protocols", "classic")]).await;
    let mut connection = broker.connect().await;
    let asked = StreamsGroupDescribeRequest { group_ids: vec![Str::from_static("g")], ..Default::default() };
    let answer = soon(connection.call(0, &asked)).await;
    assert_eq!(answer.groups[0].error_code, ErrorCode::UNSUPPORTED_VERSION);
    broker.stop().await;
}
