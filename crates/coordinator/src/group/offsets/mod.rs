//! Committed offsets, by group, topic name and partition (KIP-211, KIP-848; spec sections 9 and 10).

pub mod commit;
pub mod delete;
pub(super) mod encoded;
pub mod expire;
pub mod fetch;
pub(super) mod latest;
mod pending;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use crate::group::step::Step;
use crate::machine::{At, Millis};
use pending::Pending;
use wire::consumer_offsets::{OffsetCommitKey, OffsetCommitValue, Record};
use wire::{Str, Uuid};

/// Offsets of one group: topic → partition → offset.
pub type GroupOffsets = BTreeMap<Str, BTreeMap<i32, Committed>>;

/// All committed offsets of a shard. A group or topic without offsets has no entry.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Offsets {
    by_group: BTreeMap<Str, GroupOffsets>,
    pending: Pending,
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

impl Committed {
    fn new(at: At, value: &OffsetCommitValue) -> Self {
        Self {
            offset: value.offset,
            leader_epoch: value.leader_epoch,
            metadata: value.metadata.detach(),
            commit_timestamp: value.commit_timestamp,
            expire_timestamp: value.expire_timestamp,
            topic_id: value.topic_id,
            record_offset: at.offset,
        }
    }
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

    /// Whether a transaction may still decide about the partition's offset.
    pub fn is_pending(&self, group: &Str, topic: &Str, partition: i32) -> bool {
        self.pending.has(group, topic, partition)
    }

    /// Whether a transaction may still decide about an offset of the group. Such a group does not expire (10.3), and
    /// is not without offsets (scenario 161).
    pub fn has_pending(&self, group: &Str) -> bool {
        self.pending.has_group(group)
    }

    pub(super) fn put(&mut self, at: At, key: &OffsetCommitKey, value: &OffsetCommitValue) {
        let committed = Committed::new(at, value);
        if let Some((producer, _)) = at.producer {
            self.pending.put(producer, key, committed);
            return;
        }
        self.partitions(key.group.as_bytes(), key.topic.as_bytes()).insert(key.partition, committed);
    }

    /// Those of a topic that a group commits; the names are copied only when they are new.
    fn partitions(&mut self, group: &[u8], topic: &[u8]) -> &mut BTreeMap<i32, Committed> {
        child(child(&mut self.by_group, group), topic)
    }

    /// The same if it is there.
    fn known(&mut self, group: &[u8], topic: &[u8]) -> Option<&mut BTreeMap<i32, Committed>> {
        self.by_group.get_mut(group)?.get_mut(topic)
    }

    /// 10.3: pending offsets of the partition go as well.
    pub(super) fn remove(&mut self, key: &OffsetCommitKey) {
        self.pending.remove(key);
        let Some(topics) = self.by_group.get_mut(&key.group) else { return };
        remove_from(topics, &key.topic, key.partition);
        if topics.is_empty() {
            self.by_group.remove(&key.group);
        }
    }

    /// 10.2: the producer's transaction ends. A commit that stands further up in the log than the pending one stays.
    pub(super) fn end_transaction(&mut self, producer: i64, commit: bool) {
        let decided = self.pending.take(producer);
        if !commit {
            return;
        }
        for (group, topics) in decided {
            let into = self.by_group.entry(group).or_default();
            for (topic, partitions) in topics {
                let into = into.entry(topic).or_default();
                for (index, pending) in partitions {
                    let newer = into.get(&index).is_none_or(|it| pending.record_offset > it.record_offset);
                    if newer {
                        into.insert(index, pending);
                    }
                }
            }
        }
    }
}

/// What stands under the name, made if there is nothing.
fn child<'a, T: Default>(of: &'a mut BTreeMap<Str, T>, name: &[u8]) -> &'a mut T {
    if !of.contains_key(name) {
        of.insert(Str::from_bytes(Bytes::copy_from_slice(name)), T::default());
    }
    of.get_mut(name).expect("it is there by now")
}

fn remove_from(topics: &mut GroupOffsets, topic: &Str, partition: i32) {
    let Some(partitions) = topics.get_mut(topic) else { return };
    partitions.remove(&partition);
    if partitions.is_empty() {
        topics.remove(topic);
    }
}

/// 9.8: offsets of a deleted topic go, pending ones too, unless they were committed for another topic of that name.
/// They may be of very many groups, and nobody waits for all to go at once.
pub(super) fn topics_deleted(step: &mut Step<'_>, deleted: &[(Arc<str>, Uuid)]) {
    step.divisible = true;
    let mut gone = BTreeSet::new();
    for (name, id) in deleted {
        let topic = Str::from(&**name);
        let of_topic = |committed: &Committed| committed.topic_id == *id || committed.topic_id == Uuid::ZERO;
        for (group, topics) in step.hard.offsets().by_group() {
            let partitions = topics.get(&topic).into_iter().flatten();
            let partitions = partitions.filter(|(_, it)| of_topic(it));
            gone.extend(partitions.map(|(partition, _)| (group.clone(), topic.clone(), *partition)));
        }
        let pending = step.hard.offsets().pending.iter();
        let pending = pending.filter(|(_, name, _, committed)| **name == topic && of_topic(committed));
        gone.extend(pending.map(|(group, _, partition, _)| (group.clone(), topic.clone(), partition)));
    }
    gone.iter().for_each(|(group, topic, partition)| step.record(tombstone(group, topic, *partition)));
}

/// Tombstones of all offsets of a group, pending ones too (DL-3, scenario 154).
pub(super) fn tombstones(offsets: &Offsets, group: &Str) -> Vec<Record> {
    let committed = offsets.of_group(group).into_iter().flatten();
    let committed = committed.flat_map(|(topic, partitions)| partitions.keys().map(move |it| (topic, *it)));
    let all: BTreeSet<_> = committed.chain(offsets.pending.of_group(group)).collect();
    all.into_iter().map(|(topic, partition)| tombstone(group, topic, partition)).collect()
}

fn tombstone(group: &Str, topic: &Str, partition: i32) -> Record {
    Record::OffsetCommit(key(group, topic, partition), None)
}

fn key(group: &Str, topic: &Str, partition: i32) -> OffsetCommitKey {
    OffsetCommitKey { group: group.clone(), topic: topic.clone(), partition }
}
