//! Consumer groups (KIP-848): the members, what they subscribe to, and who owns which partition.
//!
//! [`ConsumerGroup`] is the persistent part: it is changed by its records alone ([`apply`]), live and
//! on load alike. [`ConsumerSoft`] is what may be forgotten. Numbers such as 12.6 are those of the
//! specification of classic and consumer groups.
//!
//! Reading order: `partitions`, `subscription`, `heartbeat` (join and keep) with `request` before it,
//! `leave`, `target`, `reconcile`, `regex` and `resolve`, `timers`, `describe`, and `apply` with
//! `records`, its inverse.

mod soft;

use std::collections::BTreeMap;

use crate::group::fail::Fail;
use crate::group::step::Step;
use crate::machine::Caller;
use wire::consumer_offsets::Record;
use wire::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ErrorCode, Str};

pub use self::soft::ConsumerSoft;

/// A group's state as its records give it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerGroup {
    members: BTreeMap<Str, ConsumerMember>,
}

/// One consumer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerMember {}

impl ConsumerGroup {
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// `GroupState` on the wire (11.2).
    pub fn state_name(&self) -> &'static str {
        "Empty"
    }
}

/// ConsumerGroupHeartbeat.
pub fn heartbeat(
    _step: &mut Step<'_>,
    _caller: &Caller,
    _request: &ConsumerGroupHeartbeatRequest,
) -> Result<ConsumerGroupHeartbeatResponse, Fail> {
    Err(ErrorCode::UNSUPPORTED_VERSION.into())
}

/// Tombstones of a whole group without members, in the order in which they can be applied (21.4).
/// What takes the place of an empty consumer group records them first.
pub fn group_tombstones(_group_id: &Str, _group: &ConsumerGroup) -> Vec<Record> {
    Vec::new()
}

/// Forgets timers and soft state of a group whose tombstones were just recorded.
pub fn forget(step: &mut Step<'_>, group_id: &Str) {
    step.soft.consumer.remove(group_id);
}
