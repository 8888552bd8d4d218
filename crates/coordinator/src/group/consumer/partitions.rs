//! Partitions of a consumer group: sets of them, those that members hold, and which are held at all.
//!
//! This file knows nothing of members' states or of the protocol.

use std::collections::BTreeMap;

use wire::Uuid;

/// A target assignment, or what a member says that it owns.
pub use crate::assign::Partitions;

/// Puts partitions of any order, with doubles or empty topics, into form.
pub(in crate::group) fn partitions<'a>(topics: impl IntoIterator<Item = (Uuid, &'a [i32])>) -> Partitions {
    let mut topics: Vec<(Uuid, &[i32])> = topics.into_iter().collect();
    let in_form = topics.iter().all(|it| it.1.is_sorted_by(|a, b| a < b));
    if in_form && topics.is_sorted_by(|a, b| a.0 < b.0) {
        // As our own records have them.
        return topics.into_iter().map(|(topic, list)| (topic, list.iter().copied())).collect();
    }
    topics.sort_by_key(|it| it.0);
    let merged = |same: &[(Uuid, &[i32])]| {
        let mut list: Vec<i32> = same.iter().flat_map(|it| it.1).copied().collect();
        list.sort_unstable();
        list.dedup();
        Some((same.first()?.0, list))
    };
    topics.chunk_by(|a, b| a.0 == b.0).filter_map(merged).collect()
}

/// Partitions that the coordinator granted, each with the assignment epoch at which it was, against
/// which late commits are checked (KIP-1251).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Held(BTreeMap<Uuid, BTreeMap<i32, i32>>);

impl Held {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn insert(&mut self, topic: Uuid, partition: i32, epoch: i32) {
        self.0.entry(topic).or_default().insert(partition, epoch);
    }

    pub fn extend(&mut self, other: Self) {
        for (topic, partitions) in other.0 {
            self.0.entry(topic).or_default().extend(partitions);
        }
    }

    /// The assignment epoch of a partition that is held.
    pub fn epoch(&self, topic: Uuid, partition: i32) -> Option<i32> {
        self.0.get(&topic)?.get(&partition).copied()
    }

    pub fn contains(&self, topic: Uuid, partition: i32) -> bool {
        self.epoch(topic, partition).is_some()
    }

    /// Topic id, partition and assignment epoch, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (Uuid, i32, i32)> {
        self.topics()
            .flat_map(|(topic, it)| it.iter().map(move |(partition, epoch)| (topic, *partition, *epoch)))
    }

    pub fn topics(&self) -> impl Iterator<Item = (Uuid, &BTreeMap<i32, i32>)> {
        self.0.iter().map(|(topic, partitions)| (*topic, partitions))
    }

    /// The partitions alone.
    pub fn partitions(&self) -> Partitions {
        self.topics().map(|(topic, it)| (topic, it.keys().copied())).collect()
    }

    /// The same partitions, all with this epoch.
    pub fn at_epoch(&self, epoch: i32) -> Self {
        let mut all = Self::default();
        self.iter().for_each(|(topic, partition, _)| all.insert(topic, partition, epoch));
        all
    }

    /// Whether some partition of `owned` stands here.
    pub fn meets(&self, owned: &Partitions) -> bool {
        owned.iter().any(|(topic, partitions)| partitions.iter().any(|it| self.contains(topic, *it)))
    }

    /// Whether each partition of `owned` stands here.
    pub fn covers(&self, owned: &Partitions) -> bool {
        owned.iter().all(|(topic, partitions)| partitions.iter().all(|it| self.contains(topic, *it)))
    }
}

/// How many members hold each partition, assigned or pending revocation. Kafka keeps the epoch of the
/// last owner in its place (15.4); this is a function of the members alone, so it does not matter in
/// which order compacted records come (21.5). More than one is seen in the middle of a replay only.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Holders(BTreeMap<Uuid, BTreeMap<i32, u32>>);

impl Holders {
    pub fn is_held(&self, topic: Uuid, partition: i32) -> bool {
        self.0.get(&topic).is_some_and(|it| it.contains_key(&partition))
    }

    pub(super) fn add(&mut self, held: &Held) {
        for (topic, partition, _) in held.iter() {
            *self.0.entry(topic).or_default().entry(partition).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, held: &Held) {
        for (topic, partition, _) in held.iter() {
            let Some(partitions) = self.0.get_mut(&topic) else { continue };
            let Some(count) = partitions.get_mut(&partition) else { continue };
            *count -= 1;
            if *count == 0 {
                partitions.remove(&partition);
            }
            if partitions.is_empty() {
                self.0.remove(&topic);
            }
        }
    }
}
