//! A broker over a directory from which files vanished while it was down (`storage.md` 5.6).

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{PATIENCE, soon};
use broker::auth::AllowAll;
use broker::{Running, Settings, Storage};
use client::Connection;
use storage::{Engine, LocalConfig, LocalEngine};
use tokio::time::{sleep, timeout};
use wire::create_topics::request::CreatableTopic;
use wire::list_offsets::request::{ListOffsetsPartition, ListOffsetsTopic};
use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use wire::{
    CreateTopicsRequest, DeleteTopicsRequest, DescribeGroupsRequest, ErrorCode, FindCoordinatorRequest,
    ListGroupsRequest, ListOffsetsRequest, OffsetCommitRequest, Str,
};

async fn start(dir: &Path) -> (LocalEngine, Running, Connection) {
    let engine = LocalEngine::start(LocalConfig::new(vec![dir.to_owned()])).unwrap();
    let lane = engine.open(0, engine.grant()).await.unwrap();
    let storage = Storage {
        lanes: vec![lane],
        journal: engine.journal().unwrap(),
        epoch: engine.grant().epoch,
        cluster_id: engine.cluster_id().to_owned(),
    };
    let fixed = [("listeners", "PLAINTEXT://127.0.0.1:0"), ("offsets.topic.num.partitions", "4")];
    let fixed = fixed.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let running = Running::start(Settings::new(fixed.into()).unwrap(), storage, Arc::new(AllowAll));
    let running = running.await.unwrap();
    let address = running.addresses().next().unwrap().1;
    (engine, running, Connection::connect(address, Some("test")).await.unwrap())
}

async fn create(connection: &mut Connection) -> ErrorCode {
    let topic = CreatableTopic {
        name: Str::from("t"),
        num_partitions: 1,
        replication_factor: 1,
        ..Default::default()
    };
    let asked = CreateTopicsRequest { topics: vec![topic], timeout_ms: 9_000, ..Default::default() };
    soon(connection.call(7, &asked)).await.topics[0].error_code
}

async fn end(connection: &mut Connection) -> ErrorCode {
    let partition = ListOffsetsPartition { timestamp: -1, ..Default::default() };
    let topic = ListOffsetsTopic { name: Str::from("t"), partitions: vec![partition], ..Default::default() };
    let asked = ListOffsetsRequest { replica_id: -1, topics: vec![topic], ..Default::default() };
    soon(connection.call(7, &asked)).await.topics[0].partitions[0].error_code
}

/// Commits for a group until its shard is loaded.
async fn commit(connection: &mut Connection, group: &str) {
    let find = FindCoordinatorRequest { coordinator_keys: vec![Str::from(group)], ..Default::default() };
    soon(connection.call(4, &find)).await;
    let partition = OffsetCommitRequestPartition { committed_offset: 0, ..Default::default() };
    let topic =
        OffsetCommitRequestTopic { name: Str::from("t"), partitions: vec![partition], ..Default::default() };
    let asked = OffsetCommitRequest {
        group_id: Str::from(group),
        generation_id_or_member_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    };
    let done = async {
        while soon(connection.call(8, &asked)).await.topics[0].partitions[0].error_code != ErrorCode::NONE {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, done).await.expect("the offset is committed");
}

/// Groups of other shards are listed when the log of one shard is gone, and a topic whose partition is offline can be
/// deleted and made again.
#[tokio::test]
async fn what_is_whole_is_served() {
    let dir = std::env::temp_dir().join(format!("thalweg-offline-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    {
        let (_engine, running, mut connection) = start(&dir).await;
        assert_eq!(create(&mut connection).await, ErrorCode::NONE);
        // "a" and "b" hash to 97 and 98: shards 1 and 2 of 4.
        commit(&mut connection, "a").await;
        commit(&mut connection, "b").await;
        running.stop().await;
    }
    fs::remove_dir_all(dir.join("__consumer_offsets-1")).unwrap();
    fs::write(dir.join("t-0/00000000000000000000.log"), b"nonsense").unwrap();
    let (engine, running, mut connection) = start(&dir).await;
    let listed = async {
        loop {
            let answer = soon(connection.call(4, &ListGroupsRequest::default())).await;
            if answer.error_code == ErrorCode::NONE {
                return answer.groups.iter().map(|it| it.group_id.to_string()).collect::<Vec<_>>();
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    assert_eq!(timeout(PATIENCE, listed).await.expect("groups are listed"), ["b"]);
    // Nobody coordinates "a", as where Kafka's partition has no leader; "b" has its coordinator.
    let find = FindCoordinatorRequest {
        coordinator_keys: vec![Str::from("a"), Str::from("b")],
        ..Default::default()
    };
    let found = soon(connection.call(4, &find)).await.coordinators;
    let codes: Vec<_> = found.iter().map(|it| it.error_code).collect();
    assert_eq!(codes, [ErrorCode::COORDINATOR_NOT_AVAILABLE, ErrorCode::NONE]);
    let message = found[0].error_message.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(message.contains("Partition 1 of __consumer_offsets"), "{message}");
    let described = DescribeGroupsRequest { groups: vec![Str::from("a")], ..Default::default() };
    let described = soon(connection.call(5, &described)).await;
    assert_eq!(described.groups[0].error_code, ErrorCode::NOT_COORDINATOR);
    // Bytes after the end of an empty log are no records: it is served.
    assert_eq!(end(&mut connection).await, ErrorCode::NONE);
    running.stop().await;
    drop(engine);

    fs::create_dir(dir.join("t-0/00000000000000000007.log")).unwrap();
    let (_engine, running, mut connection) = start(&dir).await;
    assert_eq!(end(&mut connection).await, ErrorCode::KAFKA_STORAGE_ERROR);
    let gone =
        DeleteTopicsRequest { topic_names: vec![Str::from("t")], timeout_ms: 9_000, ..Default::default() };
    assert_eq!(soon(connection.call(5, &gone)).await.responses[0].error_code, ErrorCode::NONE);
    assert!(!dir.join("t-0").exists());
    assert_eq!(create(&mut connection).await, ErrorCode::NONE);
    assert_eq!(end(&mut connection).await, ErrorCode::NONE);
    running.stop().await;
    let _ = fs::remove_dir_all(&dir);
}
