//! Soft state: what a load may forget.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wire::Str;

use super::request::{TopicPartition, TxnRequest};
use crate::machine::{TaskId, Ticket};
use crate::timers::Timers;

/// What may be forgotten.
#[derive(Debug, Default)]
pub struct Soft {
    pub timers: Timers<TimerKey>,
    /// Epoch before the last one, where a client may ask for the last one again: it asked for it with the epoch that it
    /// had (KIP-360). Kafka does not persist it either, so after a load such a retry of an id whose transaction did not
    /// end by `transaction.version` 2 is fenced; for the others [`super::complete::loaded`] knows it.
    pub last_epochs: BTreeMap<Str, i16>,
    /// Transactions whose markers are out: one entry for each that is prepared.
    pub completing: BTreeMap<Str, Completing>,
    /// Producer ids that were asked for and not needed in the end. At most one for each that waited.
    pub spare_ids: VecDeque<i64>,
    /// What waits for a producer id; a task is out for each. Bounded by the questions that the host lets wait, and the
    /// transactions.
    pub waiting: VecDeque<Waiting>,
    pub(super) last_task: u64,
}

/// Markers on their way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completing {
    /// The newest task; answers of older ones do not count.
    pub task: TaskId,
    /// Partitions without marker.
    pub left: BTreeSet<TopicPartition>,
}

/// What goes on when a producer id is there.
#[derive(Debug)]
pub enum Waiting {
    Ask(Ticket, TxnRequest),
    Timeout(Str),
}

/// What a deadline is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerKey {
    /// An open transaction takes too long.
    Timeout(Str),
    /// Markers that could not be written are tried again.
    Markers(Str),
    /// Look for transactional ids that nobody used for long.
    Expiry,
}
