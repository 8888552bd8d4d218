//! 18.8 and 18.13: what each record makes of a group, also in the orders that compaction leaves.

use std::collections::BTreeMap;

use crate::group::streams::tasks::{AssignedTasks, Role, TaskId, Tasks};
use crate::group::streams::topology::Topology;
use crate::group::streams::{Current, GroupState, MemberMetadata, MemberState, StreamsGroup, records};
use crate::group::{Group, GroupShard};
use crate::machine::{At, Machine};
use wire::consumer_offsets::streams_group_current_member_assignment_value::TaskIds;
use wire::consumer_offsets::{
    GroupMetadataKey, OffsetCommitKey, OffsetCommitValue, Record, StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue, StreamsGroupMetadataKey, StreamsGroupMetadataValue,
};
use wire::streams_group_heartbeat::request;
use wire::{LogRecord, Str};

struct Log {
    shard: GroupShard,
}

impl Log {
    fn new() -> Self {
        Self { shard: GroupShard::default() }
    }

    /// Reads the record from its bytes.
    fn replay(&mut self, record: Record) -> &mut Self {
        let (key, value) = record.encode().unwrap();
        let record = Record::decode(&key, value.as_ref()).unwrap().unwrap();
        self.shard.replay(At { offset: 0, timestamp: 0, producer: None }, &record);
        self
    }

    fn replay_all(&mut self, records: impl IntoIterator<Item = Record>) -> &mut Self {
        for record in records {
            self.replay(record);
        }
        self
    }

    fn group(&self) -> &StreamsGroup {
        self.shard.hard().streams(&id()).unwrap()
    }

    fn state(&self) -> GroupState {
        self.group().state()
    }

    /// The members that hold the task as active.
    fn owners(&self, partition: i32) -> Vec<String> {
        self.holders(partition, Role::Active)
    }

    fn holders(&self, partition: i32, role: Role) -> Vec<String> {
        self.group().holders.of(&task(partition), role).map(ToString::to_string).collect()
    }
}

fn id() -> Str {
    Str::from("g")
}

fn task(partition: i32) -> TaskId {
    TaskId::new(&Str::from("0"), partition)
}

fn topology() -> Record {
    let subtopology = request::Subtopology {
        subtopology_id: Str::from("0"),
        source_topics: vec![Str::from("in")],
        ..Default::default()
    };
    let topology = request::Topology { epoch: 0, subtopologies: vec![subtopology], ..Default::default() };
    records::topology(&id(), &Topology::from_request(&topology).unwrap())
}

fn metadata(epoch: i32, validated: i32) -> Record {
    let configs = BTreeMap::from([(Str::from("num.standby.replicas"), Str::from("1"))]);
    let metadata = records::GroupMetadata {
        epoch,
        metadata_hash: 7,
        validated_topology_epoch: validated,
        assignment_configs: &configs,
    };
    metadata.record(&id(), &StreamsGroup::default())
}

fn member(member_id: &str, process: &str) -> Record {
    let metadata = MemberMetadata { process_id: Str::from(process), ..Default::default() };
    records::member_metadata(&id(), &Str::from(member_id), &metadata)
}

fn current(member_id: &str, epoch: i32, state: MemberState, active: &[i32], pending: &[i32]) -> Record {
    let tasks = |partitions: &[i32]| AssignedTasks {
        active: partitions.iter().map(|it| (task(*it), epoch)).collect(),
        ..Default::default()
    };
    let current =
        Current { epoch, previous_epoch: 0, state, assigned: tasks(active), pending: tasks(pending) };
    records::current(&id(), &Str::from(member_id), &current)
}

fn stable(member_id: &str, epoch: i32, active: &[i32]) -> Record {
    current(member_id, epoch, MemberState::Stable, active, &[])
}

fn target(member_id: &str, active: &[i32]) -> Record {
    let tasks = Tasks { active: active.iter().map(|it| task(*it)).collect(), ..Default::default() };
    records::target(&id(), &Str::from(member_id), &tasks)
}

fn tombstones(member_id: &str) -> [Record; 3] {
    records::member_tombstones(&id(), &Str::from(member_id))
}

#[test]
fn s163_states_in_the_order_of_a_first_start() {
    let mut log = Log::new();
    log.replay(metadata(10, -1));
    assert_eq!(log.state(), GroupState::Empty);
    log.replay_all([member("m", "p"), topology(), metadata(11, -1)]);
    assert_eq!(log.state(), GroupState::NotReady);
    log.replay(metadata(11, 0));
    assert_eq!(log.state(), GroupState::Assigning);
    log.replay(records::target_metadata(&id(), 11, 5));
    assert_eq!(log.state(), GroupState::Reconciling);
    log.replay(current("m", 11, MemberState::UnrevokedTasks, &[], &[]));
    assert_eq!(log.state(), GroupState::Reconciling);
    log.replay(stable("m", 11, &[]));
    assert_eq!(log.state(), GroupState::Stable);
    // 164
    log.replay(metadata(12, 0));
    assert_eq!(log.state(), GroupState::Assigning);
    log.replay_all(tombstones("m"));
    assert_eq!(log.state(), GroupState::Empty);
}

#[test]
fn s166_another_process_takes_its_tasks_with_it() {
    let mut log = Log::new();
    log.replay_all([member("m", "p"), stable("m", 2, &[0]), member("m", "q")]);
    let holder = log.owners(0);
    assert_eq!(holder, ["m"]);
    assert_eq!(log.group().member(&Str::from("m")).unwrap().metadata.process_id, "q");
}

#[test]
fn s167_the_new_owner_is_seen_before_the_old_one_lets_go() {
    let mut log = Log::new();
    log.replay_all([stable("a", 2, &[0]), stable("b", 3, &[0]), stable("a", 3, &[])]);
    assert_eq!(log.owners(0), ["b"]);
}

#[test]
fn s168_tasks_to_give_up_are_held() {
    let mut log = Log::new();
    log.replay(current("a", 2, MemberState::UnrevokedTasks, &[1], &[0]));
    assert_eq!((log.owners(0), log.owners(1)), (vec!["a".to_owned()], vec!["a".to_owned()]));
}

#[test]
fn s169_a_removed_member_holds_nothing() {
    let mut log = Log::new();
    log.replay_all([member("a", "p"), stable("a", 2, &[0])]).replay_all(tombstones("a"));
    assert_eq!(log.owners(0), [""; 0]);
    assert!(log.group().holders == Default::default(), "nothing is left over");
}

#[test]
fn s176_s279_tombstones_of_a_whole_group() {
    let mut log = Log::new();
    log.replay_all([
        member("a", "p"),
        member("b", "p"),
        topology(),
        metadata(2, 0),
        target("a", &[0]),
        target("b", &[]),
    ]);
    log.replay_all([records::target_metadata(&id(), 2, 5), stable("a", 2, &[0]), stable("b", 2, &[])]);
    assert!(log.group().subscribes_to(&Str::from("in")));
    assert!(!log.group().subscribes_to(&Str::from("out")));
    let tombstones = records::group_tombstones(&id(), log.group());
    let types: Vec<_> = tombstones.iter().map(|it| it.encode().unwrap().0[1]).collect();
    assert_eq!(types, [22, 22, 21, 21, 20, 19, 19, 17, 23]);
    log.replay_all(tombstones);
    assert_eq!(log.shard.hard().group(&id()), None);
}

#[test]
fn s274_a_member_comes_and_goes_by_record_19() {
    let mut log = Log::new();
    log.replay_all(tombstones("x"));
    assert_eq!(log.shard.hard().group(&id()), None);
    log.replay(member("a", "p")).replay_all(tombstones("x"));
    assert!(log.group().member(&Str::from("a")).is_some());
    log.replay_all(tombstones("a"));
    assert!(log.group().is_empty());
}

#[test]
#[should_panic(expected = "before its current assignment")]
fn s274_a_member_with_tasks_is_not_removed() {
    let [_, target, member_tombstone] = tombstones("a");
    Log::new().replay_all([member("a", "p"), stable("a", 2, &[0]), target, member_tombstone]);
}

#[test]
#[should_panic(expected = "before its target")]
fn s274_a_member_with_a_target_is_not_removed() {
    let [current, _, member_tombstone] = tombstones("a");
    Log::new().replay_all([member("a", "p"), target("a", &[0]), current, member_tombstone]);
}

#[test]
fn s275_a_streams_record_takes_the_place_of_a_simple_group() {
    let mut log = Log::new();
    let key = OffsetCommitKey { group: id(), topic: Str::from("in"), partition: 0 };
    log.replay(Record::OffsetCommit(key, Some(OffsetCommitValue { offset: 5, ..Default::default() })));
    assert_eq!(log.shard.hard().group(&id()), Some(&Group::Simple));
    log.replay(member("a", "p"));
    assert_eq!(log.group().members().len(), 1);
    // The tombstone of a classic group that was converted stands before, or is compacted away.
    log.replay(Record::GroupMetadata(GroupMetadataKey { group: Str::from("other") }, None));
    assert_eq!(log.group().members().len(), 1);
}

#[test]
fn s273_s276_record_17() {
    let mut log = Log::new();
    log.replay(Record::StreamsGroupMetadata(StreamsGroupMetadataKey { group_id: id() }, None));
    log.replay(metadata(4, 0));
    let group = log.group();
    assert_eq!((group.epoch, group.metadata_hash, group.validated_topology_epoch), (4, 7, 0));
    assert_eq!(group.assignment_configs[b"num.standby.replicas".as_slice()], "1");
    assert_eq!((group.stored_description_epoch, group.failed_description_epoch), (-1, -1));
}

#[test]
#[should_panic(expected = "removed with members or a target")]
fn s276_a_group_with_members_is_not_removed() {
    let tombstone = Record::StreamsGroupMetadata(StreamsGroupMetadataKey { group_id: id() }, None);
    Log::new().replay_all([member("a", "p"), metadata(4, 0), tombstone]);
}

#[test]
#[should_panic(expected = "removed with members or a target")]
fn s276_a_group_with_a_target_epoch_is_not_removed() {
    let tombstone = Record::StreamsGroupMetadata(StreamsGroupMetadataKey { group_id: id() }, None);
    Log::new().replay_all([metadata(4, 0), tombstone]);
}

#[test]
fn s277_records_20_and_21() {
    let mut log = Log::new();
    log.replay_all([target("a", &[0, 1]), records::target_metadata(&id(), 4, 99)]);
    let group = log.group();
    assert_eq!(group.target(&Str::from("a")).unwrap().active.len(), 2);
    assert_eq!((group.assignment_epoch, group.assignment_timestamp), (4, 99));
    let [target_metadata, ..] = &records::group_tombstones(&id(), &StreamsGroup::default())[..] else {
        panic!()
    };
    let [_, target_tombstone, _] = tombstones("a");
    log.replay_all([target_tombstone, target_metadata.clone()]);
    assert_eq!((log.group().assignment_epoch, log.group().assignment_timestamp), (-1, 0));
}

#[test]
#[should_panic(expected = "before its targets")]
fn s277_the_target_epoch_is_not_removed_before_the_targets() {
    let [target_metadata, ..] = &records::group_tombstones(&id(), &StreamsGroup::default())[..] else {
        panic!()
    };
    Log::new().replay_all([target("a", &[0]), target_metadata.clone()]);
}

#[test]
fn s278_record_22() {
    let mut log = Log::new();
    log.replay(current("a", 4, MemberState::UnrevokedTasks, &[0], &[1]));
    let a = Str::from("a");
    let has = log.group().member(&a).unwrap().current.clone();
    assert_eq!(
        (has.epoch, has.state, has.assigned.active.len(), has.pending.active.len()),
        (4, MemberState::UnrevokedTasks, 1, 1)
    );
    let [tombstone, ..] = tombstones("a");
    log.replay(tombstone);
    let gone = Current { epoch: -1, previous_epoch: -1, ..Default::default() };
    assert_eq!(log.group().member(&a).unwrap().current, gone);
}

#[test]
fn s280_compaction_keeps_the_last_owner() {
    let mut log = Log::new();
    log.replay_all([stable("a", 11, &[0]), stable("b", 12, &[0]), stable("a", 13, &[1])]);
    assert_eq!((log.owners(0), log.owners(1)), (vec!["b".to_owned()], vec!["a".to_owned()]));
}

#[test]
fn s281_compaction_leaves_no_owner() {
    let mut log = Log::new();
    log.replay_all([
        stable("a", 11, &[0]),
        stable("b", 12, &[0]),
        stable("b", 13, &[]),
        stable("a", 14, &[1]),
    ]);
    assert_eq!((log.owners(0), log.owners(1)), (vec![], vec!["a".to_owned()]));
}

#[test]
fn p7_record_22_may_come_before_19() {
    let (mut late, mut early) = (Log::new(), Log::new());
    late.replay_all([stable("a", 2, &[0]), member("a", "p")]);
    early.replay_all([member("a", "p"), stable("a", 2, &[0])]);
    assert_eq!(late.group(), early.group());
}

/// 282 and 286: releases before 4.2 wrote no tags.
fn old_current(epochs: Option<Vec<i32>>) -> Record {
    let tasks = TaskIds {
        subtopology_id: Str::from("0"),
        partitions: vec![0, 1],
        assignment_epochs: epochs,
        ..Default::default()
    };
    let key = StreamsGroupCurrentMemberAssignmentKey { group_id: id(), member_id: Str::from("a") };
    let value = StreamsGroupCurrentMemberAssignmentValue {
        member_epoch: 9,
        state: 7,
        active_tasks: vec![tasks],
        ..Default::default()
    };
    Record::StreamsGroupCurrentMemberAssignment(key, Some(value))
}

#[test]
fn s282_without_assignment_epochs_the_member_epoch_counts() {
    for epochs in [None, Some(vec![]), Some(vec![3]), Some(vec![3, 4, 5])] {
        let mut log = Log::new();
        log.replay(old_current(epochs));
        let active = &log.group().member(&Str::from("a")).unwrap().current.assigned.active;
        assert_eq!(active.values().copied().collect::<Vec<_>>(), [9, 9]);
    }
    let mut log = Log::new();
    log.replay(old_current(Some(vec![3, 4])));
    let active = &log.group().member(&Str::from("a")).unwrap().current.assigned.active;
    assert_eq!(active.values().copied().collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn s283_a_state_of_a_newer_release() {
    let mut log = Log::new();
    log.replay(old_current(None));
    assert_eq!(log.group().member(&Str::from("a")).unwrap().current.state, MemberState::Unknown);
}

#[test]
fn s286_a_group_of_4_1() {
    let mut log = Log::new();
    let value = StreamsGroupMetadataValue { epoch: 3, metadata_hash: 5, ..Default::default() };
    log.replay(Record::StreamsGroupMetadata(StreamsGroupMetadataKey { group_id: id() }, Some(value)));
    let group = log.group();
    assert_eq!((group.epoch, group.validated_topology_epoch, group.assignment_configs.len()), (3, -1, 0));
}

#[test]
fn s272_lists_of_tasks_ascend_and_the_bytes_come_back() {
    let record = stable("a", 4, &[10, 2, 1]);
    let Record::StreamsGroupCurrentMemberAssignment(_, Some(value)) = &record else { panic!() };
    assert_eq!(value.active_tasks[0].partitions, [1, 2, 10]);
    assert_eq!(value.active_tasks[0].assignment_epochs, Some(vec![4, 4, 4]));
    let (key, bytes) = record.encode().unwrap();
    assert_eq!(Record::decode(&key, bytes.as_ref()).unwrap().unwrap(), record);
    // A standby list has no epochs: not even an empty tag.
    let standby = Current {
        assigned: AssignedTasks { standby: [task(3)].into(), ..Default::default() },
        ..Default::default()
    };
    let record = records::current(&id(), &Str::from("a"), &standby);
    let Record::StreamsGroupCurrentMemberAssignment(_, Some(value)) = &record else { panic!() };
    assert_eq!(value.standby_tasks[0].assignment_epochs, TaskIds::default().assignment_epochs);
}
