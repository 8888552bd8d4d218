//! ExplainGroup, our own API: who is told of it, and what it answers through a socket.

use crate::common::{TestBroker, soon};
use broker::auth::Operation;
use client::Connection;
use wire::streams_group_heartbeat::request::{Subtopology, Topology};
use wire::{
    ApiVersionsRequest, ErrorCode, ExplainGroupRequest, ExplainGroupResponse, FindCoordinatorRequest,
    Request, Str, StreamsGroupHeartbeatRequest,
};

async fn keys(connection: &mut Connection, software: &'static str) -> Vec<i16> {
    let asked = ApiVersionsRequest {
        client_software_name: Str::from_static(software),
        client_software_version: Str::from_static("1.0"),
        ..Default::default()
    };
    soon(connection.call(4, &asked)).await.api_keys.iter().map(|it| it.api_key).collect()
}

async fn explain(connection: &mut Connection, group: &'static str, state: bool) -> ExplainGroupResponse {
    let asked = ExplainGroupRequest {
        group_id: Str::from_static(group),
        include_state: state,
        after_sequence: -1,
        max_events: 100,
        ..Default::default()
    };
    soon(connection.call(0, &asked)).await
}

/// `decisions.md` 10: other clients see only keys that Kafka has.
#[tokio::test]
async fn own_apis_are_told_to_own_tools_alone() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    assert!(keys(&mut connection, "thalweg").await.contains(&ExplainGroupRequest::KEY));
    for other in ["apache-kafka-java", "thalweg2", "Thalweg"] {
        assert!(keys(&mut connection, other).await.iter().all(|it| *it < 20_000), "{other}");
    }
    let v0 = soon(connection.call(0, &ApiVersionsRequest::default())).await;
    assert!(v0.api_keys.iter().all(|it| it.api_key < 20_000));
    broker.stop().await;
}

#[tokio::test]
async fn a_group_that_may_not_be_described_is_not_explained() {
    let broker = TestBroker::denying(Operation::Describe).await;
    let answer = explain(&mut broker.connect().await, "g", true).await;
    assert_eq!(answer.error_code, ErrorCode::GROUP_AUTHORIZATION_FAILED);
    broker.stop().await;
}

#[tokio::test]
async fn a_streams_group_without_its_topic_is_explained() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    assert_eq!(explain(&mut connection, "", true).await.error_code, ErrorCode::INVALID_GROUP_ID);
    let keys = vec![Str::from_static("g")];
    let asked = FindCoordinatorRequest { coordinator_keys: keys, ..Default::default() };
    soon(connection.call(4, &asked)).await;
    let subtopology = Subtopology {
        subtopology_id: Str::from_static("0"),
        source_topics: vec![Str::from_static("rates")],
        ..Default::default()
    };
    let join = StreamsGroupHeartbeatRequest {
        group_id: Str::from_static("g"),
        member_id: Str::from_static("m1"),
        rebalance_timeout_ms: 60_000,
        topology: Some(Topology { epoch: 0, subtopologies: vec![subtopology], ..Default::default() }),
        process_id: Some(Str::from_static("p1")),
        active_tasks: Some(Vec::new()),
        standby_tasks: Some(Vec::new()),
        warmup_tasks: Some(Vec::new()),
        ..Default::default()
    };
    let joined = loop {
        let answer = soon(connection.call(1, &join)).await;
        if answer.error_code != ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
            break answer;
        }
    };
    assert_eq!(joined.error_code, ErrorCode::NONE);
    let answer = explain(&mut connection, "g", true).await;
    assert_eq!((answer.error_code, &answer.group_state), (ErrorCode::NONE, &Str::from_static("NotReady")));
    let finding = &answer.findings[0];
    assert_eq!(finding.code, Str::from_static("missing-source-topics"));
    assert_eq!(finding.topics, [Str::from_static("rates")]);
    assert!((answer.loaded_at..=answer.now).contains(&finding.since));
    assert_eq!(answer.members[0].member_id, Str::from_static("m1"));
    let kinds: Vec<_> = answer.events.iter().map(|it| it.kind.to_string()).collect();
    assert!(kinds.contains(&"member-joined".to_owned()) && kinds.contains(&"topics-missing".to_owned()));
    let events = explain(&mut connection, "g", false).await;
    assert!(events.findings.is_empty() && events.members.is_empty() && events.topics.is_empty());
    assert_eq!(events.events, answer.events);
    let missing = explain(&mut connection, "nobody", true).await.error_code;
    // Whichever shard "nobody" belongs to, it may still load.
    assert!([ErrorCode::GROUP_ID_NOT_FOUND, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS].contains(&missing));
    broker.stop().await;
}
