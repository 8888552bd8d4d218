//! Group shards behind their hosts: loading, durability of answers, refused appends, restarts.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::common::{Disk, PATIENCE, TestBroker, soon};
use broker::Broker;
use broker::auth::AllowAll;
use broker::shards::Unavailable;
use catalog::command::{CreateTopics, DeleteTopics, NewTopic, TopicRef};
use coordinator::Caller;
use coordinator::group::request::OffsetFetch;
use coordinator::group::{GroupReply, GroupRequest};
use storage::partition::Origin;
use tokio::task::yield_now;
use tokio::time::timeout;
use wire::batch::BatchBuilder;
use wire::join_group::request::JoinGroupRequestProtocol;
use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use wire::offset_fetch::request::OffsetFetchRequestGroup;
use wire::{
    ErrorCode, FindCoordinatorRequest, JoinGroupRequest, ListGroupsRequest, OffsetCommitRequest, Str,
    SyncGroupRequest,
};

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

/// Has a broker coordinate, with a topic to commit offsets of.
async fn ready(broker: TestBroker) -> TestBroker {
    find_coordinator(&broker).await;
    create_topic(broker.broker()).await;
    broker
}

/// The same with offset 3 committed.
async fn ready_with_3(broker: TestBroker) -> TestBroker {
    let broker = ready(broker).await;
    assert_eq!(commit_error(broker.broker(), 3).await, Ok(ErrorCode::NONE));
    broker
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
                Err(unavailable) => panic!("{unavailable:?}"),
                Ok(answer) => return answer,
            }
        }
    };
    timeout(PATIENCE, asking).await.expect("the shard did not load")
}

/// Everybody else may go on, and yet there is no answer.
async fn still_waits<T: Debug>(answer: &mut Pin<Box<impl Future<Output = T>>>) {
    for _ in 0..1_000 {
        tokio::select! {
            biased;
            early = &mut *answer => panic!("{early:?} came early"),
            () = yield_now() => {}
        }
    }
}

#[tokio::test]
async fn without_its_topic_nobody_coordinates() {
    let broker = TestBroker::start().await;
    let caller = Caller::default();
    let request = GroupRequest::DescribeGroups(vec![GROUP.clone()]);
    let answer = broker.broker().groups.ask(&GROUP, caller.clone(), request).await;
    assert_eq!(answer, Err(Unavailable::NotCoordinator));
    let list = || GroupRequest::ListGroups(ListGroupsRequest::default());
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
    let broker = ready(TestBroker::on(&disk).await).await;
    let handles = broker.broker().clone();
    let mut writing = Box::pin(commit_error(&handles, 5));
    let mut reading = Box::pin(committed(&handles));
    // Neither before its records are durable, nor what it sees.
    still_waits(&mut writing).await;
    still_waits(&mut reading).await;
    disk.engine.flush();
    assert_eq!(writing.await, Ok(ErrorCode::NONE));
    assert_eq!(reading.await, Ok(5));
    broker.stop().await;
}

#[tokio::test]
async fn what_was_answered_is_there_after_a_restart() {
    let broker = ready(TestBroker::start().await).await;
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
    let broker = ready_with_3(TestBroker::on(&disk).await).await;
    disk.full.store(true, Ordering::Relaxed);
    assert_eq!(commit_error(broker.broker(), 9).await, Err(Unavailable::NotCoordinator));
    disk.full.store(false, Ordering::Relaxed);
    assert_eq!(once_loaded(|| committed(broker.broker())).await, 3);
    assert_eq!(once_loaded(|| commit_error(broker.broker(), 4)).await, ErrorCode::NONE);
    assert_eq!(committed(broker.broker()).await, Ok(4));
    broker.stop().await;
}

/// What is asked meanwhile hears the same, also what only reads. Scenario 282.
#[tokio::test]
async fn who_waits_for_what_is_not_durable_hears_of_a_refused_append() {
    let disk = Disk::held();
    let broker = ready(TestBroker::on(&disk).await).await;
    let handles = broker.broker().clone();
    let mut writing = Box::pin(commit_error(&handles, 5));
    let mut reading = Box::pin(committed(&handles));
    still_waits(&mut writing).await;
    still_waits(&mut reading).await;
    disk.full.store(true, Ordering::Relaxed);
    assert_eq!(commit_error(broker.broker(), 6).await, Err(Unavailable::NotCoordinator));
    assert_eq!(writing.await, Err(Unavailable::NotCoordinator));
    assert_eq!(reading.await, Err(Unavailable::NotCoordinator));
    broker.stop().await;
}

async fn ask(broker: &Broker, version: i16, request: GroupRequest) -> Result<GroupReply, Unavailable> {
    let caller = Caller { api_version: version, ..Caller::default() };
    timeout(PATIENCE, broker.groups.ask(&GROUP, caller, request)).await.expect("no answer came")
}

fn join(member: &Str, instance: Option<&Str>) -> GroupRequest {
    let protocol = JoinGroupRequestProtocol { name: Str::from_static("range"), ..Default::default() };
    GroupRequest::JoinGroup(Box::new(JoinGroupRequest {
        group_id: GROUP.clone(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 10_000,
        member_id: member.clone(),
        group_instance_id: instance.cloned(),
        protocol_type: Str::from_static("consumer"),
        protocols: vec![protocol],
        ..Default::default()
    }))
}

fn sync(member: &Str, generation_id: i32) -> GroupRequest {
    let (group_id, member_id) = (GROUP.clone(), member.clone());
    let request = SyncGroupRequest { group_id, member_id, generation_id, ..Default::default() };
    GroupRequest::SyncGroup(Box::new(request))
}

/// Joins, and gives member id and generation.
async fn joined(broker: &Broker, member: &Str) -> (Str, i32) {
    let reply = once_loaded(|| ask(broker, 3, join(member, None))).await;
    let GroupReply::JoinGroup(answer) = reply else { panic!("{reply:?}") };
    assert_eq!(answer.error_code, ErrorCode::NONE);
    (answer.member_id, answer.generation_id)
}

/// A new group whose first record is refused is none. Scenario 2.
#[tokio::test]
async fn a_static_join_hears_of_a_refused_append() {
    let disk = Disk::new();
    let broker = TestBroker::on(&disk).await;
    find_coordinator(&broker).await;
    disk.full.store(true, Ordering::Relaxed);
    let answer = ask(broker.broker(), 9, join(&Str::EMPTY, Some(&Str::from_static("i")))).await;
    assert_eq!(answer, Err(Unavailable::NotCoordinator));
    disk.full.store(false, Ordering::Relaxed);
    assert_eq!(once_loaded(|| groups(broker.broker())).await, 0);
    broker.stop().await;
}

/// The leader brings the assignments, and they can't be written. Scenario 59.
#[tokio::test]
async fn a_sync_of_the_leader_that_is_refused_is_told_to_all_that_wait() {
    let disk = Disk::new();
    let settings = [("group.initial.rebalance.delay.ms", "0")];
    let broker = TestBroker::over(disk.clone(), &settings, Arc::new(AllowAll)).await;
    find_coordinator(&broker).await;
    let handles = broker.broker().clone();
    let (leader, _) = joined(&handles, &Str::EMPTY).await;
    let mut other = Box::pin(joined(&handles, &Str::EMPTY));
    // It waits for the leader, which has to join again.
    still_waits(&mut other).await;
    let (_, generation) = joined(&handles, &leader).await;
    let (follower, _) = other.await;
    let mut waiting = Box::pin(ask(&handles, 3, sync(&follower, generation)));
    still_waits(&mut waiting).await;
    disk.full.store(true, Ordering::Relaxed);
    assert_eq!(ask(&handles, 3, sync(&leader, generation)).await, Err(Unavailable::NotCoordinator));
    assert_eq!(waiting.await, Err(Unavailable::NotCoordinator));
    disk.full.store(false, Ordering::Relaxed);
    // The group is loaded as its last record has it: without members. Both join anew.
    let reply = once_loaded(|| ask(&handles, 3, sync(&leader, generation))).await;
    let GroupReply::SyncGroup(answer) = reply else { panic!("{reply:?}") };
    assert_eq!(answer.error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(joined(&handles, &Str::EMPTY).await.1, 1);
    broker.stop().await;
}

/// Somebody else wrote into the log: the offsets that the machine knows are wrong, so it is loaded anew. Scenario 304.
#[tokio::test]
async fn another_writer_makes_the_shard_load_anew() {
    let broker = ready_with_3(TestBroker::start().await).await;
    let topic = broker.broker().catalog.image().topic("__consumer_offsets").unwrap().id;
    let used = (0..4).filter_map(|index| broker.broker().partitions.get(topic, index));
    let log = used.into_iter().find(|it| it.ends_now().end > 0).unwrap();
    // A record of a type that nobody knows.
    let batch = BatchBuilder::new().push(Some(&[0, 99]), None).build();
    log.append(&batch, Origin::Coordinator { transaction_version: 0 }, 0).unwrap();
    assert_eq!(commit_error(broker.broker(), 9).await, Err(Unavailable::NotCoordinator));
    // What that commit wrote was loaded, though nobody was told.
    assert_eq!(once_loaded(|| committed(broker.broker())).await, 9);
    assert_eq!(commit_error(broker.broker(), 4).await, Ok(ErrorCode::NONE));
    broker.stop().await;
}

/// The shards end with their topic, and begin anew with the next one. Scenario 341.
#[tokio::test]
async fn groups_begin_anew_with_a_new_topic() {
    let broker = ready_with_3(TestBroker::start().await).await;
    let topics = vec![TopicRef::Name("__consumer_offsets".to_owned())];
    let deleted = broker.broker().catalog.submit(DeleteTopics { topics }).await.unwrap();
    assert!(deleted[0].1.is_ok(), "{deleted:?}");
    assert_eq!(commit_error(broker.broker(), 4).await, Err(Unavailable::NotCoordinator));
    find_coordinator(&broker).await;
    assert_eq!(once_loaded(|| groups(broker.broker())).await, 0);
    assert_eq!(once_loaded(|| commit_error(broker.broker(), 5)).await, ErrorCode::NONE);
    assert_eq!(committed(broker.broker()).await, Ok(5));
    broker.stop().await;
}

async fn groups(broker: &Broker) -> Result<usize, Unavailable> {
    let reply = ask(broker, 5, GroupRequest::ListGroups(ListGroupsRequest::default())).await?;
    let GroupReply::ListGroups(list) = reply else { panic!("{reply:?}") };
    Ok(list.groups.len())
}
