//! What a shard remembers of a consumer group beside its records. All of it may be lost: the first
//! heartbeat after a load looks at the topics again, and expressions are resolved anew when they are due.

use std::collections::BTreeMap;

use crate::group::pulse::Pulse;
use crate::group::roll::Roll;
use crate::machine::Millis;
use wire::Str;

/// Between two looks at topics that nobody said had changed.
const REFRESH_INTERVAL: Millis = i32::MAX as Millis;

#[derive(Default, Debug)]
pub struct ConsumerSoft {
    pub(super) refresh: Refresh,
    /// A resolution of the group's regular expressions is under way.
    pub(super) is_resolving: bool,
    /// The epoch at which a member was told to give up partitions: its timer counts for this one only.
    pub(super) revoking: BTreeMap<Str, i32>,
    /// By member, since the load. Bounded by the members.
    pub(super) pulses: Roll<Pulse>,
}

impl ConsumerSoft {
    /// The member's last heartbeat, if it was heard since the load.
    pub fn pulse(&self, member: &Str) -> Option<&Pulse> {
        self.pulses.get(member)
    }

    /// Somebody looks for what the group's regular expressions mean.
    pub fn is_resolving(&self) -> bool {
        self.is_resolving
    }
}

/// When the group's topics are to be looked at again (11.7). At 0, which is where a group begins, at the
/// next heartbeat.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Refresh {
    deadline: Millis,
    /// The group epoch of the last look. If the group's own is lower, the write that followed was lost.
    epoch: i32,
}

impl Refresh {
    pub(super) fn after(now: Millis, epoch: i32) -> Self {
        Self { deadline: now + REFRESH_INTERVAL, epoch }
    }

    pub(super) fn is_due(self, now: Millis, epoch: i32) -> bool {
        now >= self.deadline || epoch < self.epoch
    }
}
