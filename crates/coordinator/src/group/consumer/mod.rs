//! Consumer groups (KIP-848): the members, what they subscribe to, and who owns which partition.
//!
//! [`ConsumerGroup`] is the persistent part: it is changed by its records alone ([`apply`]), live and
//! on load alike. [`ConsumerSoft`] is what may be forgotten. Numbers such as 12.6 are those of the
//! specification of classic and consumer groups.
//!
//! Reading order: `partitions`, `subscription`, `heartbeat` (join and keep) with `request` before it and
//! `place` inside it, `update` (what follows), `leave`, `target`, `reconcile`, `pattern` and `resolve`
//! (regular expressions), `interval`, `departures`, `timers`, `describe`, and `apply` with `records`, its
//! inverse. Members of the classic protocol: `upgrade`, `classic_join`, `classic_members`; the way back is
//! `group/classic/downgrade.rs`.

mod apply;
mod classic_join;
mod classic_members;
mod departures;
mod describe;
mod heartbeat;
pub(in crate::group) mod image;
mod interval;
mod leave;
pub mod partitions;
pub mod pattern;
mod place;
mod reconcile;
mod records;
mod request;
pub mod resolve;
mod soft;
mod subscription;
mod target;
#[cfg(test)]
mod tests;
mod timers;
mod update;
mod upgrade;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use crate::assign::Outlines;
use crate::group::member_epoch::AWAY;
use crate::group::roll::Roll;
use crate::machine::Millis;

use self::partitions::{Held, Holders, Partitions};
use self::subscription::Subscriptions;
use wire::{Str, Uuid};

pub use self::classic_join::join;
pub use self::classic_members::{classic_heartbeat, classic_leave, sync};
pub use self::departures::{departed, member_seen};
pub use self::describe::describe;
pub use self::heartbeat::heartbeat;
pub use self::interval::heard;
pub use self::records::group_tombstones;
pub use self::resolve::regexes_resolved;
pub use self::soft::ConsumerSoft;
pub use self::timers::{
    cancel_all, classic_over, forget, loaded, rebalance_over, session_over, topics_changed,
};
pub use self::waits::Wait;

/// A group's state as its records give it (11.1).
#[derive(Clone, PartialEq, Debug)]
pub struct ConsumerGroup {
    /// Grows with whatever can change the assignment. A new group stands at 1, so its first member
    /// usually gets 2.
    pub epoch: i32,
    /// Hash over the subscribed topics, 0 for none (11.6).
    pub metadata_hash: i64,
    /// The group epoch for which the targets were computed; -1 between two tombstones.
    pub assignment_epoch: i32,
    /// When they were, 0 if the next computation shall not wait for the assignment interval.
    pub assignment_timestamp: i64,
    /// Whether the log still holds a record 4 of an old release.
    pub has_partition_metadata: bool,
    members: Roll<ConsumerMember>,
    targets: Roll<Partitions>,
    /// By regular expression.
    resolved: BTreeMap<Str, Resolved>,
    // Derived from the above.
    /// Member id by instance id.
    instances: BTreeMap<Str, Str>,
    subscriptions: Subscriptions,
    /// Sets of topics that members name, with how many do.
    topic_names: BTreeMap<Arc<BTreeSet<Str>>, usize>,
    /// Of the targets that came last.
    outlines: Outlines,
    holders: Holders,
    /// How many members are stable, by their epoch.
    stable: BTreeMap<i32, usize>,
}

/// One consumer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerMember {
    pub metadata: MemberMetadata,
    pub current: Current,
}

/// What a member told of itself (record 5).
#[derive(Clone, PartialEq, Debug)]
pub struct MemberMetadata {
    pub instance_id: Option<Str>,
    pub rack_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    pub rebalance_timeout_ms: i32,
    /// Members of a group that name the same topics share one set.
    pub topic_names: Arc<BTreeSet<Str>>,
    /// Empty: none.
    pub topic_regex: Str,
    pub server_assignor: Option<Str>,
    /// Set for a member of the classic protocol (18), whose generation is its epoch.
    pub classic: Option<ClassicMember>,
}

/// What a member of the classic protocol told of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassicMember {
    pub session_timeout_ms: i32,
    pub protocols: Vec<(Str, Bytes)>,
}

impl Default for MemberMetadata {
    fn default() -> Self {
        Self {
            instance_id: None,
            rack_id: None,
            client_id: Str::default(),
            client_host: Str::default(),
            rebalance_timeout_ms: -1,
            topic_names: Arc::default(),
            topic_regex: Str::default(),
            server_assignor: None,
            classic: None,
        }
    }
}

/// How far a member came (record 8).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Current {
    pub epoch: i32,
    pub previous_epoch: i32,
    pub state: MemberState,
    pub assigned: Held,
    /// Partitions that the member was told to give up and has not yet.
    pub pending: Held,
}

impl Default for Current {
    fn default() -> Self {
        Self {
            epoch: 0,
            previous_epoch: -1,
            state: MemberState::Stable,
            assigned: Held::default(),
            pending: Held::default(),
        }
    }
}

impl Current {
    /// What the member has, also what it shall give up.
    pub fn held(&self) -> Partitions {
        let mut all = self.assigned.clone();
        all.extend(self.pending.clone());
        all.partitions()
    }
}

/// 11.3; the numbers stand in record 8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberState {
    /// The member has all partitions of its target epoch.
    Stable,
    /// The member must give up partitions and has not said that it did.
    UnrevokedPartitions,
    /// The member waits for partitions that others still hold.
    UnreleasedPartitions,
    /// A state of a newer release, after a downgrade.
    Unknown,
}

impl MemberState {
    pub fn from_code(code: i8) -> Self {
        match code {
            0 => Self::Stable,
            1 => Self::UnrevokedPartitions,
            2 => Self::UnreleasedPartitions,
            _ => Self::Unknown,
        }
    }

    pub fn code(self) -> i8 {
        match self {
            Self::Stable => 0,
            Self::UnrevokedPartitions => 1,
            Self::UnreleasedPartitions => 2,
            Self::Unknown => 127,
        }
    }
}

/// What a regular expression meant when it was looked at last (record 16).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resolved {
    pub topics: BTreeSet<Str>,
    /// Of the image in which the topics were looked for.
    pub version: i64,
    pub timestamp: i64,
}

impl Default for ConsumerGroup {
    fn default() -> Self {
        Self {
            epoch: 1,
            metadata_hash: 0,
            assignment_epoch: 1,
            assignment_timestamp: 0,
            has_partition_metadata: false,
            members: Roll::default(),
            targets: Roll::default(),
            outlines: Outlines::default(),
            resolved: BTreeMap::new(),
            instances: BTreeMap::new(),
            subscriptions: Subscriptions::default(),
            topic_names: BTreeMap::new(),
            holders: Holders::default(),
            stable: BTreeMap::new(),
        }
    }
}

impl ConsumerGroup {
    pub fn members(&self) -> &Roll<ConsumerMember> {
        &self.members
    }

    pub fn member(&self, member_id: &Str) -> Option<&ConsumerMember> {
        self.members.get(member_id)
    }

    pub fn target(&self, member_id: &Str) -> Option<&Partitions> {
        self.targets.get(member_id)
    }

    /// By expression.
    pub fn resolved(&self) -> &BTreeMap<Str, Resolved> {
        &self.resolved
    }

    pub fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// The set that members of the group share, if these names are those of one; else the names themselves.
    fn shared_names<'n>(&'n self, names: &'n Arc<BTreeSet<Str>>) -> &'n Arc<BTreeSet<Str>> {
        self.topic_names.get_key_value(names).map_or(names, |it| it.0)
    }

    /// The member that has this instance id.
    pub fn static_member(&self, instance_id: &Str) -> Option<(&Str, &ConsumerMember)> {
        self.members.get_key_value(self.instances.get(instance_id)?)
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// `GroupState` on the wire (11.2).
    pub fn state_name(&self) -> &'static str {
        let settled = self.stable.get(&self.assignment_epoch).copied().unwrap_or(0);
        debug_assert_eq!(settled, self.count_settled(), "members are counted as they change");
        if self.members.is_empty() {
            "Empty"
        } else if self.epoch > self.assignment_epoch {
            "Assigning"
        } else if settled == self.members.len() {
            "Stable"
        } else {
            "Reconciling"
        }
    }

    /// Looks at every member: for tests.
    fn count_settled(&self) -> usize {
        let is_settled = |it: &&ConsumerMember| {
            it.current.state == MemberState::Stable && it.current.epoch == self.assignment_epoch
        };
        self.members.values().filter(is_settled).count()
    }

    /// 12.10: whether targets may be computed anew, if the group's epoch asks for it.
    fn may_compute(&self, interval_ms: i32, now: Millis) -> bool {
        let interval = Millis::from(interval_ms);
        self.assignment_timestamp == 0 || interval == 0 || now >= self.assignment_timestamp + interval
    }

    /// Whether nobody is there who heartbeats by the consumer protocol.
    fn is_all_classic(&self) -> bool {
        let heartbeats = |it: &ConsumerMember| it.metadata.classic.is_none() && it.current.epoch != AWAY;
        !self.members.values().any(heartbeats)
    }

    /// Whether the member waits for a partition that somebody else still holds (18.4).
    fn waits_for_others(&self, member_id: &Str, member: &ConsumerMember) -> bool {
        self.target(member_id).into_iter().flat_map(Partitions::each).any(|(topic, partition)| {
            !member.current.assigned.contains(topic, partition) && self.holders.is_held(topic, partition)
        })
    }

    /// True if some member names the topic or has an expression that resolved to it (9.6).
    pub fn subscribes_to(&self, topic: &Str) -> bool {
        self.subscriptions.contains(topic.as_bytes())
    }

    /// The assignment epoch of a partition that a member holds, also one that it shall give up (9.4).
    pub fn assignment_epoch_of(&self, member_id: &Str, topic: Uuid, partition: i32) -> Option<i32> {
        let current = &self.member(member_id)?.current;
        current.assigned.epoch(topic, partition).or_else(|| current.pending.epoch(topic, partition))
    }

    /// True if the tombstones of members and targets all came: what the tombstone of record 3 asks.
    pub fn may_be_removed(&self) -> bool {
        self.members.is_empty() && self.targets.is_empty() && self.assignment_epoch == -1
    }
}
