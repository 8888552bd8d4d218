//! Offsets of open transactions: they count from their producer's COMMIT marker on (10.1, 10.2).
//!
//! A commit of a transaction is a record like any other, in a batch of its producer. It lies here until the marker
//! of that producer comes into the same log: COMMIT makes it the group's offset unless a newer plain commit stands
//! already, ABORT drops it. Which one is newer goes by the place of the commits in the log, not of the marker, so
//! that compaction and a load give the same answer.

use std::collections::{BTreeMap, BTreeSet};

use super::{Committed, GroupOffsets};
use wire::Str;
use wire::consumer_offsets::OffsetCommitKey;

/// Offsets of one producer's open transaction, by group.
pub(super) type OfProducer = BTreeMap<Str, GroupOffsets>;

/// What is committed in transactions that are not decided. Nothing in it is empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Pending {
    by_producer: BTreeMap<i64, OfProducer>,
    /// The producers of each partition: the same, seen from the groups.
    open: BTreeMap<Str, BTreeMap<Str, BTreeMap<i32, BTreeSet<i64>>>>,
}

impl Pending {
    /// A later commit of the same producer takes the place of an earlier one.
    pub(super) fn put(&mut self, producer: i64, key: &OffsetCommitKey, committed: Committed) {
        let (group, topic) = (key.group.detach(), key.topic.detach());
        let groups = self.by_producer.entry(producer).or_default();
        let topics = groups.entry(group.clone()).or_default();
        topics.entry(topic.clone()).or_default().insert(key.partition, committed);
        let topics = self.open.entry(group).or_default();
        topics.entry(topic).or_default().entry(key.partition).or_default().insert(producer);
    }

    /// Whether some transaction may still decide about the partition's offset.
    pub(super) fn has(&self, group: &Str, topic: &Str, partition: i32) -> bool {
        let topics = self.open.get(group).and_then(|it| it.get(topic));
        topics.is_some_and(|it| it.contains_key(&partition))
    }

    /// Whether some transaction may still decide about an offset of the group.
    pub(super) fn has_group(&self, group: &Str) -> bool {
        self.open.contains_key(group)
    }

    /// Topics and partitions of the group with pending offsets.
    pub(super) fn of_group(&self, group: &Str) -> impl Iterator<Item = (&Str, i32)> {
        let topics = self.open.get(group).into_iter().flatten();
        topics.flat_map(|(topic, partitions)| partitions.keys().map(move |it| (topic, *it)))
    }

    /// Everything that is pending: group, topic, partition and commit.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Str, &Str, i32, &Committed)> {
        self.by_producer.values().flatten().flat_map(|(group, topics)| {
            topics.iter().flat_map(move |(topic, partitions)| {
                partitions.iter().map(move |(index, committed)| (group, topic, *index, committed))
            })
        })
    }

    /// Takes what the producer's marker decides about.
    pub(super) fn take(&mut self, producer: i64) -> OfProducer {
        let taken = self.by_producer.remove(&producer).unwrap_or_default();
        for (group, topics) in &taken {
            for (topic, partitions) in topics {
                for partition in partitions.keys() {
                    self.close(group, topic, *partition, producer);
                }
            }
        }
        taken
    }

    /// Drops what all producers have pending for the partition (10.3).
    pub(super) fn remove(&mut self, key: &OffsetCommitKey) {
        let topics = self.open.get(&key.group).and_then(|it| it.get(&key.topic));
        let producers = topics.and_then(|it| it.get(&key.partition)).cloned().unwrap_or_default();
        for producer in producers {
            self.close(&key.group, &key.topic, key.partition, producer);
            let Some(groups) = self.by_producer.get_mut(&producer) else { continue };
            if let Some(topics) = groups.get_mut(&key.group) {
                super::remove_from(topics, &key.topic, key.partition);
                if topics.is_empty() {
                    groups.remove(&key.group);
                }
            }
            if groups.is_empty() {
                self.by_producer.remove(&producer);
            }
        }
    }

    fn close(&mut self, group: &Str, topic: &Str, partition: i32, producer: i64) {
        let Some(topics) = self.open.get_mut(group) else { return };
        let Some(partitions) = topics.get_mut(topic) else { return };
        if let Some(producers) = partitions.get_mut(&partition) {
            producers.remove(&producer);
            if producers.is_empty() {
                partitions.remove(&partition);
            }
        }
        if partitions.is_empty() {
            topics.remove(topic);
        }
        if topics.is_empty() {
            self.open.remove(group);
        }
    }
}
