//! A member whose process died is noticed by its connection, through sockets (coordination.md L-1 to L-4).

use std::time::Duration;

use crate::common::{TestBroker, soon};
use client::Connection;
use tokio::time::{Instant, sleep};
use wire::streams_group_heartbeat::request::{Subtopology, Topology};
use wire::{
    ErrorCode, ExplainGroupRequest, FindCoordinatorRequest, Str, StreamsGroupDescribeRequest,
    StreamsGroupHeartbeatRequest,
};

/// A shard that is younger than the grace takes nobody for dead; closes are gathered for 2 s.
const SHARD_AGE: Duration = Duration::from_millis(8_500);
const GRACE: Duration = Duration::from_secs(10);
/// Well before the sessions end.
const LATEST: Duration = Duration::from_secs(35);

fn join(member: &str, instance: Option<&str>) -> StreamsGroupHeartbeatRequest {
    let subtopology = Subtopology {
        subtopology_id: Str::from("0"),
        source_topics: vec![Str::from("in")],
        ..Default::default()
    };
    StreamsGroupHeartbeatRequest {
        group_id: Str::from("g"),
        member_id: Str::from(member),
        instance_id: instance.map(Str::from),
        rebalance_timeout_ms: 300_000,
        process_id: Some(Str::from(member)),
        topology: Some(Topology { epoch: 0, subtopologies: vec![subtopology], ..Default::default() }),
        active_tasks: Some(Vec::new()),
        standby_tasks: Some(Vec::new()),
        warmup_tasks: Some(Vec::new()),
        ..Default::default()
    }
}

async fn member(broker: &TestBroker, name: &str, instance: Option<&str>) -> Connection {
    let mut connection = Connection::connect(broker.address, Some(name)).await.unwrap();
    let answer = soon(connection.call(1, &join(name, instance))).await;
    assert_eq!(answer.error_code, ErrorCode::NONE, "{:?}", answer.error_message);
    connection
}

async fn members(connection: &mut Connection) -> Vec<String> {
    let asked = StreamsGroupDescribeRequest { group_ids: vec![Str::from("g")], ..Default::default() };
    let answer = soon(connection.call(0, &asked)).await;
    let mut names: Vec<_> = answer.groups[0].members.iter().map(|it| it.member_id.to_string()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_dead_process_is_noticed_by_its_connection() {
    let broker = TestBroker::start().await;
    let mut admin = broker.connect().await;
    let asked = FindCoordinatorRequest { coordinator_keys: vec![Str::from("g")], ..Default::default() };
    soon(admin.call(4, &asked)).await;
    let dead = member(&broker, "dead", None).await;
    let fixed = member(&broker, "static", Some("i")).await;
    let twin = member(&broker, "twin", None).await;
    // L-3: the living client's other connection.
    let mut other = Connection::connect(broker.address, Some("twin")).await.unwrap();
    soon(other.call(4, &asked)).await;
    sleep(SHARD_AGE).await;
    let closed = Instant::now();
    drop((dead, fixed, twin));
    while members(&mut admin).await.len() == 3 {
        assert!(closed.elapsed() < LATEST, "nobody was taken for dead");
        sleep(Duration::from_millis(200)).await;
    }
    assert!(closed.elapsed() >= GRACE, "after {:?}", closed.elapsed());
    assert_eq!(members(&mut admin).await, ["static", "twin"]);
    broker.stop().await;
}

/// L-6a: nobody is taken for dead, and a person sees why.
#[tokio::test]
async fn many_closes_at_once_are_told_as_such() {
    let broker = TestBroker::start().await;
    let mut admin = broker.connect().await;
    let asked = FindCoordinatorRequest { coordinator_keys: vec![Str::from("g")], ..Default::default() };
    soon(admin.call(4, &asked)).await;
    let mut connections = Vec::new();
    for name in ["m1", "m2", "m3", "m4", "m5"] {
        connections.push(member(&broker, name, None).await);
    }
    connections.truncate(1);
    let closed = Instant::now();
    let asked = ExplainGroupRequest {
        group_id: Str::from("g"),
        include_state: true,
        after_sequence: -1,
        max_events: 100,
        ..Default::default()
    };
    let code = Str::from("closed-together");
    let (answer, finding) = loop {
        let answer = soon(admin.call(0, &asked)).await;
        if let Some(finding) = answer.findings.iter().find(|it| it.code == code).cloned() {
            break (answer, finding);
        }
        assert!(closed.elapsed() < LATEST, "nothing is told of them");
        sleep(Duration::from_millis(200)).await;
    };
    assert_eq!(finding.members, ["m2", "m3", "m4", "m5"].map(Str::from));
    let told = "4 of 5 members did not come back since 4 connections closed at once ";
    assert!(finding.sentence.to_string().starts_with(told), "{}", finding.sentence);
    let ends = answer.members.iter().filter(|it| finding.members.contains(&it.member_id));
    assert_eq!(Some(finding.until), ends.map(|it| it.session_ends).min());
    let event = answer.events.iter().find(|it| it.kind == code).unwrap();
    let told = "4 of 5 members, 4 connections at once ";
    assert!(event.detail.to_string().starts_with(told), "{}", event.detail);
    assert!(answer.events.iter().all(|it| it.kind != "connection-closed"));
    broker.stop().await;
}
