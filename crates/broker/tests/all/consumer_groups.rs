//! Consumer groups (KIP-848) through a socket: whether they are on, rights, a member's life, expressions.

use std::sync::Arc;

use crate::common::{Disk, PATIENCE, TestBroker, soon};
use broker::auth::{Authorizer, Operation, Resource};
use client::Connection;
use coordinator::Caller;
use wire::create_topics::request::CreatableTopic;
use wire::{
    ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
    CreateTopicsRequest, ErrorCode, FindCoordinatorRequest, Str,
};

/// Nobody may do this on that topic.
struct Hidden(Operation, &'static [u8]);

impl Authorizer for Hidden {
    fn allow(&self, _caller: &Caller, operation: Operation, resource: Resource<'_>) -> bool {
        operation != self.0 || resource != Resource::Topic(self.1)
    }
}

async fn coordinator(connection: &mut Connection) {
    let keys = vec![Str::from_static("g")];
    let asked = FindCoordinatorRequest { coordinator_keys: keys, ..Default::default() };
    soon(connection.call(4, &asked)).await;
}

async fn create(connection: &mut Connection, name: &str) {
    let topic = CreatableTopic {
        name: Str::from(name),
        num_partitions: 2,
        replication_factor: 1,
        ..Default::default()
    };
    let asked = CreateTopicsRequest { topics: vec![topic], timeout_ms: 5000, ..Default::default() };
    assert_eq!(soon(connection.call(7, &asked)).await.topics[0].error_code, ErrorCode::NONE);
}

fn join(names: Option<&[&str]>, regex: Option<&str>) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        group_id: Str::from_static("g"),
        member_id: Str::from_static("m"),
        rebalance_timeout_ms: 60_000,
        subscribed_topic_names: names.map(|it| it.iter().copied().map(Str::from).collect()),
        subscribed_topic_regex: regex.map(Str::from),
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    }
}

async fn heartbeat(
    connection: &mut Connection,
    request: &ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupHeartbeatResponse {
    soon(connection.call(1, request)).await
}

fn describe() -> ConsumerGroupDescribeRequest {
    ConsumerGroupDescribeRequest {
        group_ids: ["g", "", "nobody"].map(Str::from_static).to_vec(),
        include_authorized_operations: true,
        ..Default::default()
    }
}

async fn codes(connection: &mut Connection) -> Vec<(Str, ErrorCode)> {
    let answer = soon(connection.call(1, &describe())).await;
    let mut codes: Vec<_> = answer.groups.into_iter().map(|it| (it.group_id, it.error_code)).collect();
    codes.sort_by(|a, b| a.0.cmp(&b.0));
    codes
}

/// Scenarios 323 and 324: the protocol can be turned off, and that is seen before any right.
#[tokio::test]
async fn consumer_groups_can_be_off() {
    let settings = [("group.coordinator.rebalance.protocols", "classic,streams")];
    let broker =
        TestBroker::over(Disk::new(), &settings, Arc::new(crate::common::Deny(Operation::Read))).await;
    let mut connection = broker.connect().await;
    coordinator(&mut connection).await;
    let off = ErrorCode::UNSUPPORTED_VERSION;
    assert_eq!(heartbeat(&mut connection, &join(Some(&["t"]), None)).await.error_code, off);
    assert!(codes(&mut connection).await.iter().all(|(_, code)| *code == off));
    broker.stop().await;
}

/// Scenario 323.
#[tokio::test]
async fn a_member_needs_rights_on_its_group_and_topics() {
    let broker = TestBroker::denying(Operation::Read).await;
    let mut connection = broker.connect().await;
    let answer = heartbeat(&mut connection, &join(Some(&["t"]), None)).await;
    assert_eq!(answer.error_code, ErrorCode::GROUP_AUTHORIZATION_FAILED);
    broker.stop().await;

    let hidden = Arc::new(Hidden(Operation::Describe, b"secret"));
    let broker = TestBroker::over(Disk::new(), &[], hidden).await;
    let mut connection = broker.connect().await;
    coordinator(&mut connection).await;
    let answer = heartbeat(&mut connection, &join(Some(&["t", "secret"]), None)).await;
    assert_eq!(answer.error_code, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    let answer = heartbeat(&mut connection, &join(Some(&["t"]), None)).await;
    assert_eq!(answer.error_code, ErrorCode::NONE);
    broker.stop().await;
}

/// Scenario 324, and the life of a member with both versions of the describe.
#[tokio::test]
async fn a_member_joins_is_described_and_leaves() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    coordinator(&mut connection).await;
    create(&mut connection, "t").await;
    let joined = heartbeat(&mut connection, &join(Some(&["t"]), None)).await;
    assert_eq!((joined.error_code, joined.member_epoch), (ErrorCode::NONE, 2));
    assert_eq!(joined.assignment.unwrap().topic_partitions[0].partitions, [0, 1]);
    for (version, member_type) in [(0, -1), (1, 1)] {
        let answer = soon(connection.call(version, &describe())).await;
        let group = answer.groups.iter().find(|it| it.group_id == "g").unwrap();
        assert_eq!((&*group.group_state.to_str(), group.authorized_operations), ("Stable", 3400));
        assert_eq!(group.members[0].member_type, member_type);
        assert_eq!(group.members[0].assignment.topic_partitions[0].topic_name, Str::from("t"));
    }
    let expected = [
        (Str::from(""), ErrorCode::INVALID_GROUP_ID),
        (Str::from("g"), ErrorCode::NONE),
        (Str::from("nobody"), ErrorCode::GROUP_ID_NOT_FOUND),
    ];
    assert_eq!(codes(&mut connection).await, expected);
    let leave = ConsumerGroupHeartbeatRequest {
        group_id: Str::from_static("g"),
        member_id: Str::from_static("m"),
        member_epoch: -1,
        ..Default::default()
    };
    assert_eq!(heartbeat(&mut connection, &leave).await.member_epoch, -1);
    broker.stop().await;
}

/// Scenarios 219, 221 and 227: an expression is resolved beside the heartbeats, to topics that the
/// member may see; a group with others is not described.
#[tokio::test]
async fn expressions_are_resolved_with_the_members_rights() {
    let disk = Disk::new();
    let hidden = Arc::new(Hidden(Operation::Describe, b"to-hide"));
    let broker = TestBroker::over(disk, &[], hidden).await;
    let mut connection = broker.connect().await;
    coordinator(&mut connection).await;
    for topic in ["to-hide", "to-see", "other"] {
        create(&mut connection, topic).await;
    }
    let wrong = heartbeat(&mut connection, &join(None, Some("["))).await;
    assert_eq!(wrong.error_code, ErrorCode::INVALID_REGULAR_EXPRESSION);
    let joined = heartbeat(&mut connection, &join(None, Some("to-.*"))).await;
    assert_eq!((joined.error_code, joined.member_epoch), (ErrorCode::NONE, 1));
    let keep = ConsumerGroupHeartbeatRequest {
        group_id: Str::from_static("g"),
        member_id: Str::from_static("m"),
        member_epoch: 1,
        ..Default::default()
    };
    let resolved = async {
        loop {
            let answer = heartbeat(&mut connection, &keep).await;
            if answer.member_epoch == 2 {
                return answer.assignment.unwrap().topic_partitions;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let topics = tokio::time::timeout(PATIENCE, resolved).await.unwrap();
    let seen = broker.broker().catalog.image().topic("to-see").unwrap().id;
    assert_eq!(topics.iter().map(|it| it.topic_id).collect::<Vec<_>>(), [seen]);
    broker.stop().await;
}
