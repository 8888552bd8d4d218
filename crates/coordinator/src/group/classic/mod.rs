//! Classic groups: the clients choose a leader, which assigns (KIP-62, KIP-345, KIP-394, KIP-814).
//!
//! Unlike the other types these groups live in soft state: [`Live`] is the group as it is, and its
//! record is a checkpoint, written when the leader's assignment arrives, when the last member goes,
//! and when a static member comes back. [`ClassicGroup`] is what that record says; a load makes a
//! [`Live`] of it, with full timeouts. What happens between two checkpoints is lost with the shard,
//! and the members join again, as with Kafka.
//!
//! The rules are cited by the numbers of the specification of classic groups (6 state machine,
//! 7 static members, 8 describing, 9 offsets). Reading order: [`live`], `desk` (a group while a step
//! changes it), `join` with `replace`, `rebalance`, `sync`, `heartbeat`, `leave`, `timers`, `describe`;
//! `downgrade` makes a classic group of a consumer group.

pub mod live;

mod departures;
mod describe;
mod desk;
mod downgrade;
mod heartbeat;
mod join;
mod leave;
mod rebalance;
mod replace;
mod sync;
mod timers;

use std::collections::BTreeMap;

use bytes::Bytes;
use wire::Str;
use wire::consumer_offsets::group_metadata_value::{GroupMetadataValue, MemberMetadata};
use wire::consumer_offsets::{GroupMetadataKey, Record};

use crate::group::state::Group;
use crate::group::step::Step;
use crate::group::{consumer, streams};

pub use self::departures::{departed, heard, member_seen};
pub use self::describe::describe;
pub(super) use self::downgrade::take_over;
pub use self::heartbeat::heartbeat;
pub(super) use self::join::MEMBER_ID_REQUIRED_VERSION;
pub use self::join::join;
pub use self::leave::leave;
pub use self::live::{Live, State};
pub use self::sync::sync;
pub(super) use self::timers::call_all;
pub use self::timers::{committed, forget, join_over, loaded, session_over, sync_over};

/// What the group's last record says (type 2).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassicGroup {
    /// Empty: none, nobody ever joined.
    pub protocol_type: Str,
    pub generation: i32,
    /// The protocol that the members chose; none without members.
    pub protocol: Option<Str>,
    pub leader: Option<Str>,
    /// When the group came into the state that the record tells; -1 in records of old brokers.
    pub state_timestamp: i64,
    pub members: BTreeMap<Str, StoredMember>,
}

/// A member as the record has it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredMember {
    pub instance_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    /// -1 in records of old brokers: as the session timeout.
    pub rebalance_timeout_ms: i32,
    pub session_timeout_ms: i32,
    /// What the member said for the group's protocol.
    pub subscription: Bytes,
    pub assignment: Bytes,
}

impl ClassicGroup {
    /// True if the group exists to hold offsets only (6.2).
    pub fn is_simple(&self) -> bool {
        self.protocol_type.is_empty() && self.members.is_empty()
    }
}

impl From<&GroupMetadataValue> for ClassicGroup {
    fn from(value: &GroupMetadataValue) -> Self {
        Self {
            protocol_type: value.protocol_type.detach(),
            generation: value.generation,
            protocol: value.protocol.as_ref().map(Str::detach),
            leader: value.leader.as_ref().map(Str::detach),
            state_timestamp: value.current_state_timestamp,
            members: value.members.iter().map(|it| (it.member_id.detach(), it.into())).collect(),
        }
    }
}

impl From<&MemberMetadata> for StoredMember {
    fn from(value: &MemberMetadata) -> Self {
        Self {
            instance_id: value.group_instance_id.as_ref().map(Str::detach),
            client_id: value.client_id.detach(),
            client_host: value.client_host.detach(),
            rebalance_timeout_ms: value.rebalance_timeout,
            session_timeout_ms: value.session_timeout,
            subscription: own(&value.subscription),
            assignment: own(&value.assignment),
        }
    }
}

/// Tombstone of a group of this type, also of a simple one, which never had a record, as in Kafka.
pub fn tombstone(group: &Str) -> Record {
    Record::GroupMetadata(GroupMetadataKey { group: group.clone() }, None)
}

/// Records the tombstones of a group of another type that a classic one takes the place of (6.4 rule 1,
/// 18.6). Its offsets stay.
fn tombstone_other(step: &mut Step<'_>, id: &Str) {
    consumer::cancel_all(step, id);
    let tombstones = match step.hard.group(id) {
        Some(Group::Consumer(group)) => consumer::group_tombstones(id, group),
        Some(Group::Streams(group)) => streams::group_tombstones(id, group),
        Some(Group::Simple | Group::Classic(_)) | None => return,
    };
    for record in tombstones {
        step.record(record);
    }
    consumer::forget(step, id);
    streams::forget(step, id);
}

/// Bytes that do not hold the frame of a request or a batch of the log.
fn own(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}
