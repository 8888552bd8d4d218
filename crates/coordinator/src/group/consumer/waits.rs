//! Which partitions members shall get and can't, because others hold them: the rules of `reconcile.rs` as people
//! ask them. Nothing is decided here.

use std::collections::BTreeMap;

use super::ConsumerGroup;
use super::partitions::Partitions;
use wire::{Str, Uuid};

/// A partition of a member's target that it does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    pub topic: Uuid,
    pub partition: i32,
    /// Who holds it; empty if it is free.
    pub holders: Vec<Str>,
}

impl ConsumerGroup {
    /// What each member shall get and does not have; members that have all have no entry.
    pub fn waits(&self) -> BTreeMap<&Str, Vec<Wait>> {
        let mut holders: BTreeMap<(Uuid, i32), Vec<&Str>> = BTreeMap::new();
        for (id, member) in &self.members {
            for (topic, partition, _) in member.current.assigned.iter().chain(member.current.pending.iter()) {
                holders.entry((topic, partition)).or_default().push(id);
            }
        }
        let mut waits: BTreeMap<&Str, Vec<Wait>> = BTreeMap::new();
        for (id, member) in &self.members {
            for (topic, partition) in self.targets.get(id).into_iter().flat_map(Partitions::each) {
                if !member.current.assigned.contains(topic, partition) {
                    let holders = holders.get(&(topic, partition)).into_iter().flatten();
                    let holders = holders.filter(|it| **it != id).map(|it| (*it).clone()).collect();
                    waits.entry(id).or_default().push(Wait { topic, partition, holders });
                }
            }
        }
        waits
    }
}
