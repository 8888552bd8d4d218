//! Committed offsets, by group, topic name and partition (KIP-211, KIP-848; spec section 9).
//!
//! Transactional offsets, which are pending until their marker, come with transactions.

pub mod commit;
pub mod delete;
pub mod expire;
pub mod fetch;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::group::step::Step;
use crate::machine::{At, Millis};
use wire::consumer_offsets::{OffsetCommitKey, OffsetCommitValue, Record};
use wire::{Str, Uuid};

/// Offsets of one group: topic → partition → offset.
pub type GroupOffsets = BTreeMap<Str, BTreeMap<i32, Committed>>;

/// All committed offsets of a shard. A group or topic without offsets has no entry.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Offsets {
    by_group: BTreeMap<Str, GroupOffsets>,
}

/// One committed offset (9.1).
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    pub offset: i64,
    /// −1: none.
    pub leader_epoch: i32,
    pub metadata: Str,
    pub commit_timestamp: Millis,
    /// −1: by the broker's retention. Only commits of versions 2 to 4 can set it.
    pub expire_timestamp: Millis,
    /// ZERO: not known.
    pub topic_id: Uuid,
    /// Where the commit stands in the log; decides between a plain and a transactional commit.
    pub record_offset: i64,
}

impl Offsets {
    /// Offsets of one group.
    pub fn of_group(&self, group: &Str) -> Option<&GroupOffsets> {
        self.by_group.get(group)
    }

    pub fn get(&self, group: &Str, topic: &Str, partition: i32) -> Option<&Committed> {
        self.by_group.get(group)?.get(topic)?.get(&partition)
    }

    /// All groups that have offsets.
    pub fn by_group(&self) -> impl Iterator<Item = (&Str, &GroupOffsets)> {
        self.by_group.iter()
    }

    pub(super) fn put(&mut self, at: At, key: &OffsetCommitKey, value: &OffsetCommitValue) {
        let committed = Committed {
            offset: value.offset,
            leader_epoch: value.leader_epoch,
            metadata: value.metadata.detach(),
            commit_timestamp: value.commit_timestamp,
            expire_timestamp: value.expire_timestamp,
            topic_id: value.topic_id,
            record_offset: at.offset,
        };
        let topics = self.by_group.entry(key.group.detach()).or_default();
        topics.entry(key.topic.detach()).or_default().insert(key.partition, committed);
    }

    pub(super) fn remove(&mut self, key: &OffsetCommitKey) {
        let Some(topics) = self.by_group.get_mut(&key.group) else { return };
        let Some(partitions) = topics.get_mut(&key.topic) else { return };
        partitions.remove(&key.partition);
        if partitions.is_empty() {
            topics.remove(&key.topic);
        }
        if topics.is_empty() {
            self.by_group.remove(&key.group);
        }
    }
}

/// 9.8: offsets of a deleted topic go, unless they were committed for another topic of that name.
/// They may be of very many groups, and nobody waits for all to go at once.
pub(super) fn topics_deleted(step: &mut Step<'_>, deleted: &[(Arc<str>, Uuid)]) {
    step.divisible = true;
    let mut gone = Vec::new();
    for (name, id) in deleted {
        let topic = Str::from(&**name);
        for (group, topics) in step.hard.offsets().by_group() {
            let Some(partitions) = topics.get(&topic) else { continue };
            let of_topic = partitions
                .iter()
                .filter(|(_, it)| it.topic_id == *id || it.topic_id == Uuid::ZERO)
                .map(|(partition, _)| tombstone(group, &topic, *partition));
            gone.extend(of_topic);
        }
    }
    gone.into_iter().for_each(|record| step.record(record));
}

/// Tombstones of all offsets of a group (DL-3).
pub(super) fn tombstones(offsets: &Offsets, group: &Str) -> Vec<Record> {
    let Some(topics) = offsets.of_group(group) else { return Vec::new() };
    topics
        .iter()
        .flat_map(|(topic, partitions)| partitions.keys().map(move |it| (topic, *it)))
        .map(|(topic, partition)| tombstone(group, topic, partition))
        .collect()
}

fn tombstone(group: &Str, topic: &Str, partition: i32) -> Record {
    Record::OffsetCommit(key(group, topic, partition), None)
}

fn key(group: &Str, topic: &Str, partition: i32) -> OffsetCommitKey {
    OffsetCommitKey { group: group.clone(), topic: topic.clone(), partition }
}
