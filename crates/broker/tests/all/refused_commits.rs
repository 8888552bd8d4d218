//! Commits that the broker refuses before it asks the group's shard (5.3, 9.5), as the group's history tells them.

use std::sync::Arc;

use crate::common::{Disk, TestBroker, soon};
use broker::auth::{Authorizer, Operation, Resource};
use catalog::command::{CreateTopics, NewTopic};
use client::Connection;
use coordinator::Caller;
use wire::explain_group::response::Event;
use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use wire::txn_offset_commit::request::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use wire::{
    ErrorCode, ExplainGroupRequest, FindCoordinatorRequest, OffsetCommitRequest, Str, TxnOffsetCommitRequest,
    Uuid,
};

const UNKNOWN: Uuid = Uuid([7; 16]);
const MISSING: ErrorCode = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
const DENIED: ErrorCode = ErrorCode::TOPIC_AUTHORIZATION_FAILED;

/// Nobody may read the topic `secret`, and strangers may not read groups.
struct Secrets;

impl Authorizer for Secrets {
    fn allow(&self, caller: &Caller, operation: Operation, resource: Resource<'_>) -> bool {
        let is_stranger = caller.client_id == Str::from_static("stranger");
        let is_denied =
            resource == Resource::Topic(b"secret") || (is_stranger && matches!(resource, Resource::Group(_)));
        !is_denied || operation != Operation::Read
    }
}

struct World {
    broker: TestBroker,
    connection: Connection,
    secret: Uuid,
}

impl World {
    /// Topics `t` of two partitions and `secret`, and coordinators.
    async fn new() -> Self {
        let broker = TestBroker::over(Disk::new(), &[], Arc::new(Secrets)).await;
        let topic = |name: &str| NewTopic { num_partitions: 2, ..NewTopic::with_defaults(name) };
        let command = CreateTopics { topics: vec![topic("t"), topic("secret")], validate_only: false };
        let created = broker.broker().catalog.submit(command).await.unwrap();
        let secret = created[1].1.as_ref().unwrap().id;
        let mut connection = broker.connect().await;
        for key_type in [0, 1] {
            let coordinator_keys = vec![Str::from_static("g")];
            let asked = FindCoordinatorRequest { key_type, coordinator_keys, ..Default::default() };
            let found = soon(connection.call(5, &asked)).await;
            assert_eq!(found.coordinators[0].error_code, ErrorCode::NONE);
        }
        Self { broker, connection, secret }
    }

    /// Commits with names, or with ids if they are not zero, and gives the codes of the answer.
    async fn commit(&mut self, places: &[(&str, Uuid, i32)]) -> Vec<ErrorCode> {
        let request = OffsetCommitRequest {
            group_id: Str::from_static("g"),
            generation_id_or_member_epoch: -1,
            topics: places.iter().map(place).collect(),
            ..Default::default()
        };
        let version = if places.iter().any(|it| it.1 != Uuid::ZERO) { 10 } else { 9 };
        // The shard may still load.
        loop {
            let answer = soon(self.connection.call(version, &request)).await;
            let partitions = answer.topics.iter().flat_map(|it| &it.partitions);
            let codes: Vec<_> = partitions.map(|it| it.error_code).collect();
            if !codes.contains(&ErrorCode::COORDINATOR_LOAD_IN_PROGRESS) {
                return codes;
            }
        }
    }

    /// The refused commits that the group's history tells, with the findings made of them.
    async fn told(&mut self) -> (Vec<Event>, Vec<String>) {
        let asked = ExplainGroupRequest {
            group_id: Str::from_static("g"),
            include_state: true,
            after_sequence: -1,
            max_events: 100,
            ..Default::default()
        };
        let answer = soon(self.connection.call(0, &asked)).await;
        let refused = |it: &Event| it.kind == Str::from_static("commit-refused");
        let findings = answer.findings.iter().filter(|it| it.code == Str::from_static("commits-refused"));
        let findings = findings.map(|it| it.sentence.to_string()).collect();
        (answer.events.into_iter().filter(refused).collect(), findings)
    }

    /// Code, count and detail of each.
    async fn events(&mut self) -> Vec<(ErrorCode, i32, String)> {
        let (events, _) = self.told().await;
        events.iter().map(|it| (it.error_code, it.count, it.detail.to_string())).collect()
    }
}

fn place((name, topic_id, index): &(&str, Uuid, i32)) -> OffsetCommitRequestTopic {
    let partition = OffsetCommitRequestPartition { partition_index: *index, ..Default::default() };
    OffsetCommitRequestTopic {
        name: Str::from(*name),
        topic_id: *topic_id,
        partitions: vec![partition],
        ..Default::default()
    }
}

/// Beside what is accepted and alone; with the same codes at the same places of the answer as ever (5.3).
#[tokio::test]
async fn a_group_hears_which_commits_the_broker_refused() {
    let mut world = World::new().await;
    let named = |name, index| (name, Uuid::ZERO, index);
    let asked = [named("gone", 0), named("t", 0), named("t", 9), named("secret", 0), named("gone", 1)];
    // The group is made by this very commit.
    let codes = world.commit(&asked).await;
    assert_eq!(codes, [MISSING, MISSING, MISSING, ErrorCode::NONE, DENIED]);
    let expected = [(MISSING, 1, "gone-0 and 2 more".to_owned()), (DENIED, 1, "secret-0".to_owned())];
    assert_eq!(world.events().await, expected);
    assert_eq!(world.commit(&[named("t", -1)]).await, [MISSING]);
    let (events, findings) = world.told().await;
    assert_eq!((events[1].count, events[1].epoch, &events[1].member_id), (2, -1, &None));
    assert_eq!(events[1].detail, Str::from_static("t--1"));
    let told = "Commits of a client were refused with UNKNOWN_TOPIC_OR_PARTITION, 2 times";
    assert!(findings[0].starts_with(told) && findings[0].ends_with("(t--1)."), "{findings:?}");
    world.broker.stop().await;
}

/// An id tells its topic's name to those alone who may read the topic.
#[tokio::test]
async fn topics_by_id_that_may_not_be_read_have_no_name() {
    let mut world = World::new().await;
    assert_eq!(world.commit(&[("t", Uuid::ZERO, 0)]).await, [ErrorCode::NONE]);
    let secret = world.secret;
    let codes = world.commit(&[("", secret, 0), ("", UNKNOWN, 3)]).await;
    assert_eq!(codes, [DENIED, ErrorCode::UNKNOWN_TOPIC_ID]);
    let expected =
        [(DENIED, 1, format!("{secret}-0")), (ErrorCode::UNKNOWN_TOPIC_ID, 1, format!("{UNKNOWN}-3"))];
    assert_eq!(world.events().await, expected);
    world.broker.stop().await;
}

/// Who may not read a group can't fill its history, and a refused commit makes no group.
#[tokio::test]
async fn strangers_and_groups_that_do_not_exist_are_not_told() {
    let mut world = World::new().await;
    assert_eq!(world.commit(&[("gone", Uuid::ZERO, 0)]).await, [MISSING]);
    assert_eq!(world.events().await, []);
    let stranger = Connection::connect(world.broker.address, Some("stranger")).await.unwrap();
    assert_eq!(world.commit(&[("t", Uuid::ZERO, 0)]).await, [ErrorCode::NONE]);
    let own = std::mem::replace(&mut world.connection, stranger);
    let codes = world.commit(&[("gone", Uuid::ZERO, 0)]).await;
    assert_eq!(codes, [ErrorCode::GROUP_AUTHORIZATION_FAILED]);
    world.connection = own;
    assert_eq!(world.events().await, []);
    world.broker.stop().await;
}

/// 9.5: of a producer's transaction, by the broker and by the transaction's coordinator.
#[tokio::test]
async fn refused_commits_of_transactions_are_told() {
    let mut world = World::new().await;
    assert_eq!(world.commit(&[("t", Uuid::ZERO, 0)]).await, [ErrorCode::NONE]);
    let topic = |name: &str| TxnOffsetCommitRequestTopic {
        name: Str::from(name),
        partitions: vec![TxnOffsetCommitRequestPartition::default()],
        ..Default::default()
    };
    let request = TxnOffsetCommitRequest {
        transactional_id: Str::from_static("nobody"),
        group_id: Str::from_static("g"),
        producer_id: 77,
        member_id: Str::from_static("m"),
        generation_id_or_member_epoch: 5,
        topics: vec![topic("gone"), topic("t")],
        ..Default::default()
    };
    let unknown = ErrorCode::INVALID_PRODUCER_ID_MAPPING;
    // The transaction's coordinator may still load, and only what passes is not told.
    loop {
        let answer = soon(world.connection.call(5, &request)).await;
        let codes: Vec<_> = answer.topics.iter().map(|it| it.partitions[0].error_code).collect();
        if codes[1] == unknown {
            assert_eq!(codes, [MISSING, unknown]);
            break;
        }
        assert_eq!(codes, [MISSING, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS]);
    }
    let (events, _) = world.told().await;
    let told: Vec<_> = events.iter().map(|it| (it.error_code, it.epoch, it.detail.to_string())).collect();
    assert_eq!(told, [(MISSING, 5, "gone-0".to_owned()), (unknown, 5, "t-0".to_owned())]);
    assert!(events.iter().all(|it| it.member_id == Some(Str::from_static("m"))));
    world.broker.stop().await;
}
