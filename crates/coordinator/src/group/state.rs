//! Hard state: exactly what the records of the shard say.
//!
//! [`Hard::apply`] is the only function that changes it, live and on load alike; it holds one arm
//! per record type. What ends a transaction is no record of a type but a control record: `apply_marker`. It must work for any log that compaction may have left behind
//! (classic-and-consumer-groups.md 21, streams-groups.md 10.3). Where it asserts, the log is not
//! one that a coordinator wrote, and the shard must not be served.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::group::classic::ClassicGroup;
use crate::group::consumer::ConsumerGroup;
use crate::group::offsets::Offsets;
use crate::group::offsets::latest::Latest;
use crate::group::streams::StreamsGroup;
use crate::machine::At;
use wire::Str;
use wire::consumer_offsets::Record;

/// Groups and committed offsets of one shard.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hard {
    groups: BTreeMap<Str, Group>,
    offsets: Offsets,
    /// Members of all streams groups; derived from `groups`.
    streams_members: usize,
}

/// A group of one of the types.
#[derive(Debug, Clone, PartialEq)]
pub enum Group {
    /// A group that exists by its committed offsets alone: without members, of no protocol type.
    /// Shown as an empty classic group; it gives way to any type that may follow a classic group.
    Simple,
    /// A classic group as its last record has it; how it is now stands in [`super::Soft::classic`].
    Classic(ClassicGroup),
    Consumer(ConsumerGroup),
    Streams(StreamsGroup),
}

impl Group {
    /// True for what a group of another type may replace while the log is read: a classic group that
    /// exists to hold offsets, with or without a record of its own (6.2, 21.3).
    pub(super) fn is_simple(&self) -> bool {
        match self {
            Self::Simple => true,
            Self::Classic(group) => group.is_simple(),
            Self::Consumer(_) | Self::Streams(_) => false,
        }
    }
}

impl Hard {
    pub fn group(&self, id: &Str) -> Option<&Group> {
        self.groups.get(id)
    }

    /// The streams group of this id; `None` also if the group is of another type.
    pub fn streams(&self, id: &Str) -> Option<&StreamsGroup> {
        match self.groups.get(id) {
            Some(Group::Streams(group)) => Some(group),
            Some(Group::Simple | Group::Classic(_) | Group::Consumer(_)) | None => None,
        }
    }

    /// The consumer group of this id; `None` also if the group is of another type.
    pub fn consumer(&self, id: &Str) -> Option<&ConsumerGroup> {
        match self.groups.get(id) {
            Some(Group::Consumer(group)) => Some(group),
            Some(Group::Simple | Group::Classic(_) | Group::Streams(_)) | None => None,
        }
    }

    /// All groups in the order of their ids.
    pub fn groups(&self) -> impl Iterator<Item = (&Str, &Group)> {
        self.groups.iter()
    }

    /// The first group with an id after `after`, or the first of all.
    pub(super) fn next_group(&self, after: Option<&Str>) -> Option<&Str> {
        use std::ops::Bound::{Excluded, Unbounded};
        let bound = after.map_or(Unbounded, Excluded);
        self.groups.range::<Str, _>((bound, Unbounded)).next().map(|(id, _)| id)
    }

    /// Members of all streams groups of the shard.
    pub fn streams_members(&self) -> usize {
        self.streams_members
    }

    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// Looks up commits that were read while loading.
    pub(super) fn look_up(&mut self, latest: &mut Latest) {
        let Self { groups, offsets, .. } = self;
        latest.look_up(offsets, |group| make_group_of_commit(groups, group));
    }

    /// Applies commits that were kept while loading.
    pub(super) fn flush(&mut self, latest: &mut Latest) {
        self.look_up(latest);
        latest.flush(&mut self.offsets);
    }

    /// Applies one record.
    pub(super) fn apply(&mut self, at: At, record: &Record) {
        match record {
            Record::OffsetCommit(key, Some(value)) => {
                make_group_of_commit(&mut self.groups, key.group.as_bytes());
                self.offsets.put(at, key, value);
            }
            // The group stays, also without offsets: only a tombstone of its own removes it.
            Record::OffsetCommit(key, None) => self.offsets.remove(key),
            // 21.2: it replaces whatever group has the id.
            Record::GroupMetadata(key, Some(value)) => {
                self.groups.insert(key.group.detach(), Group::Classic(ClassicGroup::from(value)));
            }
            Record::GroupMetadata(key, None) => {
                self.groups.remove(&key.group);
            }
            Record::ConsumerGroupMetadata(..)
            | Record::ConsumerGroupPartitionMetadata(..)
            | Record::ConsumerGroupMemberMetadata(..)
            | Record::ConsumerGroupTargetAssignmentMetadata(..)
            | Record::ConsumerGroupTargetAssignmentMember(..)
            | Record::ConsumerGroupCurrentMemberAssignment(..)
            | Record::ConsumerGroupRegularExpression(..) => self.apply_consumer(record),
            Record::StreamsGroupMetadata(..)
            | Record::StreamsGroupMemberMetadata(..)
            | Record::StreamsGroupTargetAssignmentMetadata(..)
            | Record::StreamsGroupTargetAssignmentMember(..)
            | Record::StreamsGroupCurrentMemberAssignment(..)
            | Record::StreamsGroupTopology(..) => self.apply_streams(record),
            // Kafka never writes the first; the others come with their group types, and until then
            // nothing here writes them.
            Record::LegacyOffsetCommit(..)
            | Record::ShareGroupMemberMetadata(..)
            | Record::ShareGroupMetadata(..)
            | Record::ShareGroupTargetAssignmentMetadata(..)
            | Record::ShareGroupTargetAssignmentMember(..)
            | Record::ShareGroupCurrentMemberAssignment(..)
            | Record::ShareGroupStatePartitionMetadata(..) => {}
        }
    }

    /// Applies the end of a producer's transaction, which is a control record of the log. Beside [`Self::apply`] this
    /// alone changes hard state.
    pub(super) fn apply_marker(&mut self, producer: i64, commit: bool) {
        self.offsets.end_transaction(producer, commit);
    }

    /// Records 17 and 19 to 23.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the caller knows the type")]
    fn apply_streams(&mut self, record: &Record) {
        match record {
            Record::StreamsGroupMetadata(key, Some(value)) => {
                self.streams_for_update(&key.group_id).apply_metadata(value);
            }
            Record::StreamsGroupMetadata(key, None) => self.remove_streams(&key.group_id),
            Record::StreamsGroupMemberMetadata(key, value) => {
                if let Some(group) = self.streams_for(&key.group_id, value.is_some()) {
                    let before = group.members().len();
                    group.apply_member(&key.member_id, value.as_ref());
                    let after = group.members().len();
                    self.streams_members = self.streams_members + after - before;
                }
            }
            Record::StreamsGroupTargetAssignmentMetadata(key, value) => {
                if let Some(group) = self.streams_for(&key.group_id, value.is_some()) {
                    group.apply_target_metadata(value.as_ref());
                }
            }
            Record::StreamsGroupTargetAssignmentMember(key, value) => {
                if let Some(group) = self.streams_for(&key.group_id, value.is_some()) {
                    group.apply_target(&key.member_id, value.as_ref());
                }
            }
            Record::StreamsGroupCurrentMemberAssignment(key, value) => {
                if let Some(group) = self.streams_for(&key.group_id, value.is_some()) {
                    let before = group.members().len();
                    group.apply_current(&key.member_id, value.as_ref());
                    let after = group.members().len();
                    self.streams_members = self.streams_members + after - before;
                }
            }
            Record::StreamsGroupTopology(key, value) => {
                if let Some(group) = self.streams_for(&key.group_id, value.is_some()) {
                    group.apply_topology(value.as_ref());
                }
            }
            _ => unreachable!("not a record of a streams group"),
        }
    }

    /// Records 3 to 8 and 16.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the caller knows the type")]
    fn apply_consumer(&mut self, record: &Record) {
        match record {
            Record::ConsumerGroupMetadata(key, Some(value)) => {
                self.consumer_for_update(&key.group_id).apply_metadata(value);
            }
            Record::ConsumerGroupMetadata(key, None) => self.remove_consumer(&key.group_id),
            Record::ConsumerGroupPartitionMetadata(key, value) => {
                if let Some(group) = self.consumer_for(&key.group_id, value.is_some()) {
                    group.apply_partition_metadata(value.is_some());
                }
            }
            Record::ConsumerGroupMemberMetadata(key, value) => {
                if let Some(group) = self.consumer_for(&key.group_id, value.is_some()) {
                    group.apply_member(&key.member_id, value.as_ref());
                }
            }
            Record::ConsumerGroupTargetAssignmentMetadata(key, value) => {
                if let Some(group) = self.consumer_for(&key.group_id, value.is_some()) {
                    group.apply_target_metadata(value.as_ref());
                }
            }
            Record::ConsumerGroupTargetAssignmentMember(key, value) => {
                if let Some(group) = self.consumer_for(&key.group_id, value.is_some()) {
                    group.apply_target(&key.member_id, value.as_ref());
                }
            }
            Record::ConsumerGroupCurrentMemberAssignment(key, value) => {
                if let Some(group) = self.consumer_for(&key.group_id, value.is_some()) {
                    group.apply_current(&key.member_id, value.as_ref());
                }
            }
            Record::ConsumerGroupRegularExpression(key, value) => {
                if let Some(group) = self.consumer_for(&key.group_id, value.is_some()) {
                    group.apply_regex(&key.regular_expression, value.as_ref());
                }
            }
            _ => {}
        }
    }

    /// P-1 and P-2: a value makes the group if it is missing, a tombstone of an unknown group is
    /// ignored.
    fn streams_for(&mut self, id: &Str, is_value: bool) -> Option<&mut StreamsGroup> {
        if is_value {
            return Some(self.streams_for_update(id));
        }
        match self.groups.get_mut(id) {
            Some(Group::Streams(group)) => Some(group),
            Some(Group::Simple | Group::Classic(_) | Group::Consumer(_)) | None => None,
        }
    }

    /// P-1: the streams group of this id, made if it is missing. It takes the place of a simple
    /// group (KAFKA-20254).
    fn streams_for_update(&mut self, id: &Str) -> &mut StreamsGroup {
        let slot = self
            .groups
            .entry(id.detach())
            .and_modify(|group| {
                if group.is_simple() {
                    *group = Group::Streams(StreamsGroup::default());
                }
            })
            .or_insert_with(|| Group::Streams(StreamsGroup::default()));
        match slot {
            Group::Streams(group) => group,
            Group::Simple => unreachable!("a simple group was just replaced"),
            Group::Classic(_) => {
                panic!("streams group {id} takes the place of a classic one without tombstone")
            }
            Group::Consumer(_) => panic!("records of a streams group {id} in the place of a consumer group"),
        }
    }

    /// 21.3: a value makes the group if it is missing, a tombstone of an unknown group is ignored.
    fn consumer_for(&mut self, id: &Str, is_value: bool) -> Option<&mut ConsumerGroup> {
        if is_value {
            return Some(self.consumer_for_update(id));
        }
        match self.groups.get_mut(id) {
            Some(Group::Consumer(group)) => Some(group),
            Some(Group::Simple | Group::Classic(_) | Group::Streams(_)) | None => None,
        }
    }

    /// 21.3: the consumer group of this id, made if it is missing. It takes the place of a simple group.
    fn consumer_for_update(&mut self, id: &Str) -> &mut ConsumerGroup {
        let slot = self.groups.entry(id.detach());
        let new = || Group::Consumer(ConsumerGroup::default());
        let slot = slot.and_modify(|group| {
            if group.is_simple() {
                *group = new();
            }
        });
        match slot.or_insert_with(new) {
            Group::Consumer(group) => group,
            Group::Simple => unreachable!("a simple group was just replaced"),
            Group::Classic(_) => {
                panic!("consumer group {id} takes the place of a classic one without tombstone")
            }
            Group::Streams(_) => panic!("records of a consumer group {id} in the place of a streams group"),
        }
    }

    /// 21.3: the group record goes last, when no member and no target is left.
    fn remove_consumer(&mut self, id: &Str) {
        let Some(group) = self.consumer(id) else { return };
        assert!(group.may_be_removed(), "consumer group {id} was removed with members or a target");
        self.groups.remove(id);
    }

    /// P-3: the group record goes last but one, when no member and no target is left.
    fn remove_streams(&mut self, id: &Str) {
        let Some(group) = self.streams(id) else { return };
        assert!(group.may_be_removed(), "streams group {id} was removed with members or a target");
        self.groups.remove(id);
    }
}

/// A commit makes its group if it is missing.
fn make_group_of_commit(groups: &mut BTreeMap<Str, Group>, group: &[u8]) {
    if !groups.contains_key(group) {
        groups.insert(Str::from_bytes(Bytes::copy_from_slice(group)), Group::Simple);
    }
}
