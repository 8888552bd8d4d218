//! Group shards behind their hosts: loading, durability of answers, refused appends, restarts.

use std::sync::atomic::Ordering;

use crate::common::{Disk, PATIENCE, TestBroker, soon};
use broker::Broker;
use broker::shards::Unavailable;
use catalog::command::{CreateTopics, NewTopic};
use coordinator::Caller;
use coordinator::group::request::OffsetFetch;
use coordinator::group::{GroupReply, GroupRequest};
use tokio::task::yield_now;
use tokio::time::timeout;
use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use wire::offset_fetch::request::OffsetFetchRequestGroup;
use wire::{ErrorCode, FindCoordinatorRequest, OffsetCommitRequest, Str};

static GROUP: Str = Str::from_static("g");

/// Finds the coordinator, which creates its topic.
async fn find_coordinator(broker: &TestBroker) {
    let asked = FindCoordinatorRequest { coordinator_keys: vec![GROUP.clone()], ..Default::default() };
    let answer = soon(broker.connect().await.call(4, &asked)).await;
    assert_eq!(answer.coordinators[0].error_code, ErrorCode::NONE);
}

async fn create_topic(broker: &Broker) {
    let topics = vec![NewTopic::with_defaults("t")];
    let created = broker.catalog.submit(CreateTopics { topics, validate_only: false }).await.unwrap();
    assert!(created[0].1.is_ok());
}

fn commit(broker: &Broker, offset: i64) -> GroupRequest {
    let partition = OffsetCommitRequestPartition { committed_offset: offset, ..Default::default() };
    let topic = OffsetCommitRequestTopic {
        name: Str::from_static("t"),
        topic_id: broker.catalog.image().topic("t").unwrap().id,
        partitions: vec![partition],
        ..Default::default()
    };
    GroupRequest::OffsetCommit(OffsetCommitRequest {
        group_id: GROUP.clone(),
        generation_id_or_member_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    })
}

async fn commit_error(broker: &Broker, offset: i64) -> Result<ErrorCode, Unavailable> {
    let asking = broker.groups.ask(&GROUP, Caller::default(), commit(broker, offset));
    let reply = timeout(PATIENCE, asking).await.expect("no answer came")?;
    let GroupReply::OffsetCommit(answer) = reply else { panic!("{reply:?}") };
    Ok(answer.topics[0].partitions[0].error_code)
}

async fn committed(broker: &Broker) -> Result<i64, Unavailable> {
    let group = OffsetFetchRequestGroup { group_id: GROUP.clone(), topics: None, ..Default::default() };
    let request = GroupRequest::OffsetFetch(OffsetFetch { group, require_stable: false });
    let reply = broker.groups.ask(&GROUP, Caller::default(), request).await?;
    let GroupReply::OffsetFetch(answer) = reply else { panic!("{reply:?}") };
    Ok(answer.topics[0].partitions[0].committed_offset)
}

/// Asks again while the shard loads.
async fn once_loaded<T, F: Future<Output = Result<T, Unavailable>>>(ask: impl Fn() -> F) -> T {
    let asking = async {
        loop {
            match ask().await {
                Err(Unavailable::Loading) => yield_now().await,
                Err(Unavailable::NotCoordinator) => panic!("not the coordinator"),
                Ok(answer) => return answer,
            }
        }
    };
    timeout(PATIENCE, asking).await.expect("the shard did not load")
}

#[tokio::test]
async fn without_its_topic_nobody_coordinates() {
    let broker = TestBroker::start().await;
    let caller = Caller::default();
    let request = GroupRequest::DescribeGroups(vec![GROUP.clone()]);
    let answer = broker.broker().groups.ask(&GROUP, caller.clone(), request).await;
    assert_eq!(answer, Err(Unavailable::NotCoordinator));
    let list = || GroupRequest::ListGroups(wire::ListGroupsRequest::default());
    assert!(broker.broker().groups.ask_all(&caller, list).await.is_empty());
    broker.stop().await;
}

#[tokio::test]
async fn the_first_question_creates_the_internal_topic_as_kafka_does() {
    let broker = TestBroker::start().await;
    find_coordinator(&broker).await;
    let image = broker.broker().catalog.image();
    let topic = image.topic("__consumer_offsets").unwrap();
    assert!(topic.internal);
    assert_eq!(topic.partitions.len(), 4);
    assert_eq!(topic.configs.get("cleanup.policy").map(String::as_str), Some("compact"));
    // The shard of the key that was asked for can be used at once.
    create_topic(broker.broker()).await;
    assert_eq!(commit_error(broker.broker(), 5).await, Ok(ErrorCode::NONE));
    broker.stop().await;
}

/// `architecture.md` 10, traps 1 and 2: nobody may learn what a crash takes back.
#[tokio::test]
async fn answers_wait_until_their_records_are_durable() {
    let disk = Disk::held();
    let broker = TestBroker::on(&disk).await;
    find_coordinator(&broker).await;
    create_topic(broker.broker()).await;
    let handles = broker.broker().clone();
    let mut writing = Box::pin(commit_error(&handles, 5));
    let mut reading = Box::pin(committed(&handles));
    for _ in 0..1_000 {
        tokio::select! {
            biased;
            early = &mut writing => panic!("{early:?} before its records were durable"),
            early = &mut reading => panic!("{early:?} though what it saw was not durable"),
            () = yield_now() => {}
        }
    }
    disk.engine.flush();
    assert_eq!(writing.await, Ok(ErrorCode::NONE));
    assert_eq!(reading.await, Ok(5));
    broker.stop().await;
}

#[tokio::test]
async fn what_was_answered_is_there_after_a_restart() {
    let broker = TestBroker::start().await;
    find_coordinator(&broker).await;
    create_topic(broker.broker()).await;
    for offset in [3, 7] {
        assert_eq!(commit_error(broker.broker(), offset).await, Ok(ErrorCode::NONE));
    }
    let broker = broker.restart().await;
    assert_eq!(once_loaded(|| committed(broker.broker())).await, 7);
    broker.stop().await;
}

/// There is no undo: a machine whose records were refused is dropped and loaded from the log.
#[tokio::test]
async fn a_refused_append_takes_the_change_back() {
    let disk = Disk::new();
    let broker = TestBroker::on(&disk).await;
    find_coordinator(&broker).await;
    create_topic(broker.broker()).await;
    assert_eq!(commit_error(broker.broker(), 3).await, Ok(ErrorCode::NONE));
    disk.full.store(true, Ordering::Relaxed);
    assert_eq!(commit_error(broker.broker(), 9).await, Err(Unavailable::NotCoordinator));
    disk.full.store(false, Ordering::Relaxed);
    assert_eq!(once_loaded(|| committed(broker.broker())).await, 3);
    assert_eq!(once_loaded(|| commit_error(broker.broker(), 4)).await, ErrorCode::NONE);
    assert_eq!(committed(broker.broker()).await, Ok(4));
    broker.stop().await;
}
