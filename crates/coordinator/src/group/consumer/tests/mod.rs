//! Replay of single records (21.3, 21.5), and reconciliation of states that scripts do not reach.

use std::sync::Arc;

use super::partitions::{Held, Holders, Partitions};
use super::reconcile::{MustRejoin, Reconciliation};
use super::{ConsumerGroup, Current, MemberMetadata, MemberState, Resolved, records};
use crate::group::state::{Group, Hard};
use crate::machine::At;
use wire::consumer_offsets::consumer_group_current_member_assignment_value::TopicPartitions;
use wire::consumer_offsets::{
    ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue, OffsetCommitKey,
    OffsetCommitValue, Record,
};
use wire::{LogRecord, Str, Uuid};

const FOO: Uuid = Uuid([1; 16]);
const BAR: Uuid = Uuid([2; 16]);

fn g() -> Str {
    Str::from("g")
}

fn id(text: &str) -> Str {
    Str::from(text)
}

#[derive(Default)]
struct Log {
    hard: Hard,
    offset: i64,
}

impl Log {
    /// Applies a record as it comes out of its bytes.
    fn add(&mut self, record: Record) -> &mut Self {
        let (key, value) = record.encode().unwrap();
        let read = Record::decode(&key, value.as_ref()).unwrap().unwrap();
        assert_eq!(read, record);
        let at = At { offset: self.offset, timestamp: 0, producer: None };
        self.hard.apply(at, &read);
        self.offset += 1;
        self
    }

    fn all(records: impl IntoIterator<Item = Record>) -> Self {
        let mut log = Self::default();
        records.into_iter().for_each(|it| {
            log.add(it);
        });
        log
    }

    fn group(&self) -> &ConsumerGroup {
        self.hard.consumer(&g()).expect("a consumer group")
    }
}

fn member(member: &str, names: &[&str]) -> Record {
    let metadata = MemberMetadata {
        topic_names: Arc::new(names.iter().map(|it| id(it)).collect()),
        ..MemberMetadata::default()
    };
    records::member(&g(), &id(member), &metadata)
}

fn held(partitions: &[(Uuid, i32, i32)]) -> Held {
    let mut held = Held::default();
    partitions.iter().for_each(|(topic, partition, epoch)| held.insert(*topic, *partition, *epoch));
    held
}

fn current(member: &str, epoch: i32, assigned: &[(Uuid, i32, i32)]) -> Record {
    let it = Current { epoch, previous_epoch: epoch - 1, assigned: held(assigned), ..Current::default() };
    records::current(&g(), &id(member), &it)
}

fn target(member: &str) -> Record {
    records::target(&g(), &id(member), &Partitions::from([(FOO, vec![0])]))
}

fn tombstones() -> [Record; 3] {
    records::member_tombstones(&g(), &id("a"))
}

/// Scenario 255, tombstones of what is not there.
#[test]
fn tombstones_may_meet_nothing() {
    let mut log = Log::default();
    for record in tombstones() {
        log.add(record);
    }
    for record in records::group_tombstones(&g(), &ConsumerGroup::default()) {
        log.add(record);
    }
    log.add(records::partition_metadata_tombstone(&g())).add(records::regex_tombstone(&g(), &id("x")));
    assert_eq!(log.hard.group(&g()), None);
    log.add(member("b", &["foo"]));
    for record in tombstones() {
        log.add(record);
    }
    assert_eq!(log.group().members().len(), 1);
}

/// Scenarios 255, 259 and 230: any record may be the first, and takes the place of a simple group.
#[test]
fn any_record_makes_the_group() {
    let commit = || {
        let key = OffsetCommitKey { group: g(), topic: id("foo"), partition: 0 };
        Record::OffsetCommit(key, Some(OffsetCommitValue::default()))
    };
    let resolved = Resolved { topics: [id("foo")].into(), version: 1, timestamp: 2 };
    for record in [
        records::metadata(&g(), 5, 7),
        member("a", &["foo"]),
        current("a", 3, &[(FOO, 0, 2)]),
        target("a"),
        records::target_metadata(&g(), 4, 0),
        records::regex(&g(), &id("f.*"), &resolved),
    ] {
        let log = Log::all([commit(), record.clone()]);
        assert!(matches!(log.hard.group(&g()), Some(Group::Consumer(_))), "{record:?}");
        let (late, early) = (Log::all([record.clone(), commit()]), log);
        assert_eq!(late.group(), early.group());
    }
    let log = Log::all([records::regex(&g(), &id("f.*"), &resolved)]);
    assert!(log.group().subscribes_to(&id("foo")));
    let log = Log::all([current("a", 3, &[(FOO, 0, 2)]), member("a", &["foo"])]);
    assert_eq!(log.group().member(&id("a")).unwrap().current.epoch, 3);
    assert!(log.group().holders.is_held(FOO, 0));
}

#[test]
#[should_panic(expected = "before its current assignment")]
fn a_member_goes_after_its_current_assignment() {
    let [_, target, metadata] = tombstones();
    Log::all([member("a", &[]), current("a", 3, &[]), target, metadata]);
}

#[test]
#[should_panic(expected = "before its target")]
fn a_member_goes_after_its_target() {
    let [current, _, metadata] = tombstones();
    Log::all([member("a", &[]), target("a"), current, metadata]);
}

/// Scenario 257.
#[test]
#[should_panic(expected = "with members or a target")]
fn a_group_goes_after_its_members() {
    let all = records::group_tombstones(&g(), &ConsumerGroup::default());
    Log::all([member("a", &[])].into_iter().chain(all));
}

/// Scenario 258.
#[test]
#[should_panic(expected = "before its targets")]
fn target_epochs_go_after_targets() {
    let all = records::group_tombstones(&g(), &ConsumerGroup::default());
    Log::all([target("a")].into_iter().chain(all));
}

/// Scenario 258: between its tombstones a group has the assignment epoch -1.
#[test]
fn a_group_without_target_epoch() {
    let mut all = records::group_tombstones(&g(), &ConsumerGroup::default());
    all.pop();
    let log = Log::all([records::metadata(&g(), 5, 7)].into_iter().chain(all));
    assert_eq!((log.group().assignment_epoch, log.group().assignment_timestamp), (-1, 0));
}

/// Scenarios 198, 260 and 21.5 item 5: who holds what does not depend on records that compaction took.
#[test]
fn holders_of_a_compacted_log() {
    let (a, b) = (current("a", 11, &[(FOO, 0, 11)]), current("b", 12, &[(FOO, 0, 12)]));
    let full = Log::all([a.clone(), b.clone(), current("a", 13, &[(FOO, 1, 13)])]);
    let compacted = Log::all([b.clone(), current("a", 13, &[(FOO, 1, 13)])]);
    assert_eq!(full.group(), compacted.group());
    let full = Log::all([a, b, current("b", 13, &[]), current("a", 14, &[(BAR, 0, 14)])]);
    let compacted = Log::all([current("b", 13, &[]), current("a", 14, &[(BAR, 0, 14)])]);
    assert_eq!(full.group(), compacted.group());
    assert!(!full.group().holders.is_held(FOO, 0));
    assert!(full.group().holders.is_held(BAR, 0));
}

/// Scenario 261: without assignment epochs, or with a wrong number of them, that of the member counts.
#[test]
fn assignment_epochs_of_old_records() {
    let record = |member_epoch, assignment_epochs| {
        let topic = TopicPartitions {
            topic_id: FOO,
            partitions: vec![0, 1],
            assignment_epochs,
            ..Default::default()
        };
        let value = ConsumerGroupCurrentMemberAssignmentValue {
            member_epoch,
            assigned_partitions: vec![topic],
            ..Default::default()
        };
        let key = ConsumerGroupCurrentMemberAssignmentKey { group_id: g(), member_id: id("a") };
        Record::ConsumerGroupCurrentMemberAssignment(key, Some(value))
    };
    let epochs = |record| {
        let log = Log::all([record]);
        [0, 1].map(|partition| log.group().assignment_epoch_of(&id("a"), FOO, partition).unwrap())
    };
    assert_eq!(epochs(record(10, Some(vec![]))), [10, 10]);
    assert_eq!(epochs(record(10, None)), [10, 10]);
    assert_eq!(epochs(record(10, Some(vec![7]))), [10, 10]);
    assert_eq!(epochs(record(10, Some(vec![7, 8]))), [7, 8]);
    assert_eq!(epochs(record(-2, None)), [0, 0]);
}

/// Scenario 188: a record 4 of an old release is remembered, so that its tombstone can be written.
#[test]
fn partition_metadata_of_old_releases() {
    let key = ConsumerGroupPartitionMetadataKey { group_id: g() };
    let value = ConsumerGroupPartitionMetadataValue::default();
    let mut log = Log::all([Record::ConsumerGroupPartitionMetadata(key, Some(value))]);
    assert!(log.group().has_partition_metadata);
    assert_eq!(records::group_tombstones(&g(), log.group()).len(), 3);
    log.add(records::partition_metadata_tombstone(&g()));
    assert!(!log.group().has_partition_metadata);
}

/// 15.2, last row.
#[test]
fn a_member_in_a_state_of_a_newer_release_comes_back_empty() {
    let mut state = Current { epoch: 5, assigned: held(&[(FOO, 0, 5)]), ..Current::default() };
    state.state = MemberState::from_code(9);
    assert_eq!(state.state.code(), 127);
    let target = Partitions::from([(FOO, vec![0])]);
    let nothing = Partitions::new();
    let run = |owned| {
        let reconciliation = Reconciliation {
            current: &state,
            target_epoch: 7,
            target: &target,
            owned,
            holders: &Holders::default(),
            subscribes: &|_| true,
            subscription_changed: false,
        };
        reconciliation.run()
    };
    assert_eq!(run(None), Err(MustRejoin));
    assert_eq!(run(Some(&target)), Err(MustRejoin));
    let next = run(Some(&nothing)).unwrap().unwrap();
    assert_eq!((next.epoch, next.state), (7, MemberState::Stable));
}

/// Scenario 196: a partition that comes back into the target before it was given up has a new epoch.
#[test]
fn a_partition_that_comes_back_is_granted_anew() {
    let state = Current {
        epoch: 5,
        state: MemberState::UnrevokedPartitions,
        pending: held(&[(FOO, 0, 3)]),
        ..Current::default()
    };
    let mut holders = Holders::default();
    holders.add(&state.pending);
    let target = Partitions::from([(FOO, vec![0])]);
    let reconciliation = Reconciliation {
        current: &state,
        target_epoch: 6,
        target: &target,
        owned: Some(&Partitions::new()),
        holders: &holders,
        subscribes: &|_| true,
        subscription_changed: false,
    };
    let next = reconciliation.run().unwrap().unwrap();
    assert_eq!((next.epoch, next.assigned), (6, held(&[(FOO, 0, 6)])));
}

/// What a member has at which epoch; no topic but one.
type Has<'a> = (i32, MemberState, &'a [(i32, i32)], &'a [(i32, i32)]);

/// What it has, its target at epoch 6, what it says to own, what others hold; what it has then.
type Case<'a> = (Has<'a>, &'a [i32], Option<&'a [i32]>, &'a [i32], Has<'a>);

/// Scenario 195: each state after each, and the cases in which a member stays where it is.
#[test]
fn a_member_goes_from_state_to_state() {
    use MemberState::{Stable, UnreleasedPartitions as Unreleased, UnrevokedPartitions as Unrevoked};
    let of = |(epoch, state, assigned, pending): Has<'_>| {
        let held = |it: &[(i32, i32)]| {
            held(&it.iter().map(|(partition, epoch)| (FOO, *partition, *epoch)).collect::<Vec<_>>())
        };
        Current { epoch, state, assigned: held(assigned), pending: held(pending), ..Current::default() }
    };
    let stable = (5, Stable, &[(0, 3), (1, 4)][..], &[][..]);
    let unrevoked = (5, Unrevoked, &[(0, 3), (1, 4)][..], &[(2, 4)][..]);
    let unreleased = (6, Unreleased, &[(0, 3)][..], &[][..]);
    let cases: &[Case<'_>] = &[
        (stable, &[0, 1], None, &[], (6, Stable, &[(0, 3), (1, 4)], &[])),
        (stable, &[0, 1, 2], None, &[], (6, Stable, &[(0, 3), (1, 4), (2, 6)], &[])),
        (stable, &[0], None, &[], (5, Unrevoked, &[(0, 3)], &[(1, 4)])),
        (stable, &[0], Some(&[0]), &[], (6, Stable, &[(0, 3)], &[])),
        (stable, &[0, 1, 2], None, &[2], (6, Unreleased, &[(0, 3), (1, 4)], &[])),
        (unrevoked, &[0, 1], None, &[], unrevoked),
        (unrevoked, &[0, 1], Some(&[0, 1, 2]), &[], unrevoked),
        (unrevoked, &[0, 1], Some(&[0, 1]), &[], (6, Stable, &[(0, 3), (1, 4)], &[])),
        (unrevoked, &[0], Some(&[0, 1]), &[], (5, Unrevoked, &[(0, 3)], &[(1, 4)])),
        (unrevoked, &[0, 1, 3], Some(&[0, 1]), &[3], (6, Unreleased, &[(0, 3), (1, 4)], &[])),
        (unreleased, &[0, 1], None, &[], (6, Stable, &[(0, 3), (1, 6)], &[])),
        (unreleased, &[1], None, &[1], (6, Unrevoked, &[], &[(0, 3)])),
        (unreleased, &[0, 1], None, &[1], unreleased),
    ];
    for (number, (before, target, owned, others, after)) in cases.iter().enumerate() {
        let current = of(*before);
        let mut holders = Holders::default();
        holders.add(&current.assigned);
        holders.add(&current.pending);
        holders.add(&held(&others.iter().map(|it| (FOO, *it, 2)).collect::<Vec<_>>()));
        let partitions = |it: &[i32]| Partitions::from([(FOO, it.to_vec())]);
        let (target, owned) = (partitions(target), owned.map(partitions));
        let reconciliation = Reconciliation {
            current: &current,
            target_epoch: 6,
            target: &target,
            owned: owned.as_ref(),
            holders: &holders,
            subscribes: &|_| true,
            subscription_changed: false,
        };
        let next = reconciliation.run().unwrap().map(|it| Current { previous_epoch: -1, ..it });
        assert_eq!(next.unwrap_or_else(|| current.clone()), of(*after), "case {number}");
    }
}
