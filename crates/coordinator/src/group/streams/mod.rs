//! Streams groups (KIP-1071): the application's members, its topology, and who runs which task.
//!
//! [`StreamsGroup`] is the persistent part: it is changed by its records alone ([`apply`]), live and
//! on load alike. [`StreamsSoft`] is what may be forgotten. The rules are cited by the numbers of
//! `docs/design/streams.md` (H heartbeat, R reconciliation, T topology, A assignment, E endpoints,
//! P replay, D describe).
//!
//! Reading order: `tasks`, `topology`, `configure`, `heartbeat` (join and keep) with `request` and
//! `response` around it, `static_members`, `leave`, `target`, `reconcile`, `endpoints`, `timers`, `describe`, `description`, and `apply`
//! with `records`, its inverse.

pub mod configure;
pub mod hash;
pub mod tasks;
pub mod topology;

mod apply;
mod departures;
mod describe;
mod description;
pub(in crate::group) mod endpoints;
mod goal;
mod heartbeat;
pub(in crate::group) mod image;
mod interval;
mod leave;
mod reconcile;
mod records;
mod request;
mod response;
mod soft;
mod static_members;
mod target;
#[cfg(test)]
mod tests;
mod timers;
mod waits;
pub mod warmup;

use std::collections::BTreeMap;

use bytes::Bytes;

use self::tasks::{AssignedTasks, Holders, TaskId, Tasks};
use self::topology::Topology;
use wire::Str;

pub use self::departures::{departed, member_seen};
pub use self::describe::describe;
pub use self::description::{keeps_descriptions, update_description};
pub use self::heartbeat::heartbeat;
pub(in crate::group) use self::records::by_subtopology;
pub use self::records::group_tombstones;
pub use self::soft::{StreamsSoft, WarmUp};
pub use self::timers::{forget, initial_delay_over, loaded, rebalance_over, session_over, topics_changed};
pub use self::waits::Wait;

/// A group's state as its records give it.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamsGroup {
    /// Grows with whatever can change the assignment. The first change leads to 2: a member gets 1
    /// while the first assignment is delayed, and a joined member never sees 0 (1.2).
    pub epoch: i32,
    /// Hash over the topics that the topology requires, 0 for none (T-30).
    pub metadata_hash: i64,
    /// The topology's epoch once its topics were found in order, else -1.
    pub validated_topology_epoch: i32,
    /// The settings with which the last target was computed, by name without prefix (H-30).
    pub assignment_configs: BTreeMap<Str, Str>,
    /// Of the topology description (KIP-1331): the topology epochs of the one that is stored, and of one
    /// that could not be stored.
    pub stored_description_epoch: i32,
    pub failed_description_epoch: i32,
    /// The group epoch for which the targets were computed; -1 between two tombstones.
    pub assignment_epoch: i32,
    /// When they were, 0 if the next computation shall not wait for the assignment interval.
    pub assignment_timestamp: i64,
    pub topology: Option<Topology>,
    /// The topology's description, encoded; it goes with the topology.
    description: Option<Bytes>,
    members: BTreeMap<Str, StreamsMember>,
    targets: BTreeMap<Str, Tasks>,
    /// Derived from `members` (P-5).
    holders: Holders,
    /// Members by their instance ids; derived from `members`.
    instances: BTreeMap<Str, Str>,
}

/// One stream thread of the application.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StreamsMember {
    pub metadata: MemberMetadata,
    pub current: Current,
}

/// What a member told of itself (record 19).
#[derive(Clone, PartialEq, Debug)]
pub struct MemberMetadata {
    pub instance_id: Option<Str>,
    pub rack_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    pub rebalance_timeout_ms: i32,
    pub topology_epoch: i32,
    pub process_id: Str,
    pub user_endpoint: Option<Endpoint>,
    pub client_tags: BTreeMap<Str, Str>,
}

/// The `application.server` of a client, for interactive queries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    pub host: Str,
    pub port: u16,
}

impl Default for MemberMetadata {
    fn default() -> Self {
        Self {
            instance_id: None,
            rack_id: None,
            client_id: Str::default(),
            client_host: Str::default(),
            rebalance_timeout_ms: -1,
            topology_epoch: -1,
            process_id: Str::default(),
            user_endpoint: None,
            client_tags: BTreeMap::new(),
        }
    }
}

/// How far a member came (record 22).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Current {
    pub epoch: i32,
    pub previous_epoch: i32,
    pub state: MemberState,
    pub assigned: AssignedTasks,
    /// Tasks that the member was told to give up and has not yet.
    pub pending: AssignedTasks,
}

/// 1.4; the numbers stand in record 22.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemberState {
    /// The member has all tasks of its target epoch.
    #[default]
    Stable,
    /// The member must give up tasks and has not said that it did.
    UnrevokedTasks,
    /// The member waits for tasks that others still hold.
    UnreleasedTasks,
    /// A state of a newer release, after a downgrade.
    Unknown,
}

impl MemberState {
    pub fn from_code(code: i8) -> Self {
        match code {
            1 => Self::Stable,
            2 => Self::UnrevokedTasks,
            3 => Self::UnreleasedTasks,
            _ => Self::Unknown,
        }
    }

    pub fn code(self) -> i8 {
        match self {
            Self::Stable => 1,
            Self::UnrevokedTasks => 2,
            Self::UnreleasedTasks => 3,
            Self::Unknown => 127,
        }
    }
}

/// 1.3; derived from the group, never stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupState {
    Empty,
    NotReady,
    Assigning,
    Reconciling,
    Stable,
}

impl GroupState {
    /// The name in responses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::NotReady => "NotReady",
            Self::Assigning => "Assigning",
            Self::Reconciling => "Reconciling",
            Self::Stable => "Stable",
        }
    }
}

impl Default for StreamsGroup {
    fn default() -> Self {
        Self {
            epoch: 1,
            metadata_hash: 0,
            validated_topology_epoch: -1,
            assignment_configs: BTreeMap::new(),
            stored_description_epoch: -1,
            failed_description_epoch: -1,
            assignment_epoch: 1,
            assignment_timestamp: 0,
            topology: None,
            description: None,
            members: BTreeMap::new(),
            targets: BTreeMap::new(),
            holders: Holders::default(),
            instances: BTreeMap::new(),
        }
    }
}

impl StreamsGroup {
    pub fn members(&self) -> &BTreeMap<Str, StreamsMember> {
        &self.members
    }

    pub fn member(&self, member_id: &Str) -> Option<&StreamsMember> {
        self.members.get(member_id)
    }

    pub fn target(&self, member_id: &Str) -> Option<&Tasks> {
        self.targets.get(member_id)
    }

    /// The member that holds this instance id, also while it is away.
    pub fn static_member(&self, instance_id: &Str) -> Option<&Str> {
        self.instances.get(instance_id)
    }

    pub(super) fn targets(&self) -> &BTreeMap<Str, Tasks> {
        &self.targets
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The first condition that holds, in this order (1.3). Looks at every member: not for the path
    /// of a heartbeat.
    pub fn state(&self) -> GroupState {
        let settled = |it: &StreamsMember| {
            it.current.state == MemberState::Stable && it.current.epoch == self.assignment_epoch
        };
        if self.members.is_empty() {
            GroupState::Empty
        } else if self.topology.as_ref().is_none_or(|it| it.epoch() != self.validated_topology_epoch) {
            GroupState::NotReady
        } else if self.epoch > self.assignment_epoch {
            GroupState::Assigning
        } else if self.members.values().all(settled) {
            GroupState::Stable
        } else {
            GroupState::Reconciling
        }
    }

    /// Name of the state on the wire (1.3).
    pub fn state_name(&self) -> &'static str {
        self.state().name()
    }

    /// Epoch of a member, for offset commits and fetches (O-1, O-6).
    pub fn member_epoch(&self, member_id: &Str) -> Option<i32> {
        self.member(member_id).map(|it| it.current.epoch)
    }

    /// Epoch at which the member was given the active task that reads this source partition;
    /// assigned tasks and those pending revocation count. `None` without a topology, for a topic
    /// that is not a source topic, and for a task that the member lacks (O-1, rule 8).
    pub fn assignment_epoch(&self, member_id: &Str, topic: &Str, partition: i32) -> Option<i32> {
        let subtopology = *self.topology.as_ref()?.source_topics().get(topic)?;
        let task = TaskId::new(subtopology, partition);
        let current = &self.member(member_id)?.current;
        current.assigned.active.get(&task).or_else(|| current.pending.active.get(&task)).copied()
    }

    /// True if the group has members and the topic is in its source topic map (O-7, O-8).
    pub fn subscribes_to(&self, topic: &Str) -> bool {
        !self.is_empty() && self.topology.as_ref().is_some_and(|it| it.source_topics().contains_key(topic))
    }

    /// True if no tombstone of a member is outstanding and none holds a target: what the
    /// tombstone of record 17 asks (P-3).
    pub fn may_be_removed(&self) -> bool {
        self.members.is_empty() && self.assignment_epoch == -1
    }
}
