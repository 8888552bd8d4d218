//! What a member may hold now, on its way from what it has to its target (15).
//!
//! A member first gives up, then receives: while it must give up a partition and has not said that it
//! did, it gets nothing new and stays at its epoch. A partition that somebody else still holds is left
//! out until it is free. Pure: the caller writes the record and sets the timer.

use std::collections::BTreeSet;

use super::partitions::{Held, Holders, Partitions};
use super::{Current, MemberState};
use wire::Uuid;

/// All that a member's next state depends on.
pub(super) struct Reconciliation<'a> {
    pub current: &'a Current,
    pub target_epoch: i32,
    pub target: &'a Partitions,
    /// What the member reports; `None` if it says nothing.
    pub owned: Option<&'a Partitions>,
    pub holders: &'a Holders,
    /// Whether the member subscribes to a topic now, by a name or by a resolved expression.
    pub subscribes: &'a dyn Fn(Uuid) -> bool,
    /// This heartbeat changed the subscription.
    pub subscription_changed: bool,
}

/// A member whose state is of a newer release must come back empty-handed.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct MustRejoin;

#[derive(Default)]
struct Plan {
    keep: Held,
    revoke: Held,
    give: Held,
    waits: bool,
}

impl Reconciliation<'_> {
    /// The member's next state; `None` if there is nothing to do (15.2).
    pub(super) fn run(&self) -> Result<Option<Current>, MustRejoin> {
        let current = self.current;
        let next = match current.state {
            MemberState::Stable if current.epoch != self.target_epoch => self.next(current.epoch),
            MemberState::Stable if self.subscription_changed => return Ok(self.trim()),
            MemberState::Stable => return Ok(None),
            MemberState::UnrevokedPartitions if self.owns(&current.pending) => {
                return Ok(if self.subscription_changed { self.trim() } else { None });
            }
            MemberState::UnrevokedPartitions | MemberState::UnreleasedPartitions => self.next(current.epoch),
            MemberState::Unknown if self.owned.is_some_and(Partitions::is_empty) => {
                self.next(self.target_epoch)
            }
            MemberState::Unknown => return Err(MustRejoin),
        };
        Ok((next != *current).then_some(next))
    }

    /// 15.3. `epoch` is the one that the member has while it must still give up partitions.
    fn next(&self, epoch: i32) -> Current {
        let mut plan = self.plan();
        if !plan.revoke.is_empty() && self.owns(&plan.revoke) {
            return self.result(MemberState::UnrevokedPartitions, epoch, plan.keep, plan.revoke);
        }
        let state = if plan.waits { MemberState::UnreleasedPartitions } else { MemberState::Stable };
        plan.keep.extend(plan.give);
        self.result(state, self.target_epoch, plan.keep, Held::default())
    }

    fn plan(&self) -> Plan {
        let mut plan = Plan::default();
        let held = self.current.assigned.topics().map(|(topic, _)| topic);
        let topics: BTreeSet<Uuid> = self.target.topics().chain(held).collect();
        let wanted: Vec<Uuid> = topics.into_iter().filter(|topic| (self.subscribes)(*topic)).collect();
        let target = |topic: Uuid| match wanted.binary_search(&topic) {
            Ok(_) => self.target.get(topic).unwrap_or_default(),
            Err(_) => &[],
        };
        for (topic, partition, epoch) in self.current.assigned.iter() {
            let is_kept = target(topic).binary_search(&partition).is_ok();
            let side = if is_kept { &mut plan.keep } else { &mut plan.revoke };
            side.insert(topic, partition, epoch);
        }
        for topic in &wanted {
            for partition in target(*topic) {
                if plan.keep.contains(*topic, *partition) {
                    continue;
                }
                let is_own = self.current.pending.contains(*topic, *partition);
                if self.holders.is_held(*topic, *partition) && !is_own {
                    plan.waits = true;
                } else {
                    plan.give.insert(*topic, *partition, self.target_epoch);
                }
            }
        }
        plan
    }

    /// 15.3: the subscription shrank before the target follows. Partitions of topics that left it are
    /// given up at once; the epoch stays.
    fn trim(&self) -> Option<Current> {
        let (mut keep, mut pending) = (Held::default(), self.current.pending.clone());
        let mut moved = false;
        for (topic, partitions) in self.current.assigned.topics() {
            let is_kept = (self.subscribes)(topic);
            moved |= !is_kept;
            let side = if is_kept { &mut keep } else { &mut pending };
            partitions.iter().for_each(|(partition, epoch)| side.insert(topic, *partition, *epoch));
        }
        if !moved {
            return None;
        }
        let epoch = self.current.epoch;
        if self.owns(&pending) {
            return Some(self.result(MemberState::UnrevokedPartitions, epoch, keep, pending));
        }
        Some(self.result(self.current.state, epoch, keep, self.current.pending.clone()))
    }

    fn result(&self, state: MemberState, epoch: i32, assigned: Held, pending: Held) -> Current {
        Current { epoch, previous_epoch: self.current.epoch, state, assigned, pending }
    }

    /// Whether the member has, as far as we know, any of these: it does not say what it owns, or says
    /// that it owns one of them. Most heartbeats say nothing.
    fn owns(&self, held: &Held) -> bool {
        self.owned.is_none_or(|owned| held.meets(owned))
    }
}
