//! What a shard may forget: it is empty after a load and made anew by `loaded`.

use std::collections::BTreeMap;

use crate::group::classic::Live;
use crate::group::consumer::ConsumerSoft;
use crate::group::history::History;
use crate::group::offsets::expire::Place;
use crate::group::pulse::Pulse;
use crate::group::roll::Roll;
use crate::group::streams::StreamsSoft;
use crate::group::streams::hash::TopicHashes;
use crate::machine::Millis;
use crate::timers::Timers;
use wire::Str;

/// Deadlines, and what each group type remembers without records.
#[derive(Debug, Default)]
pub struct Soft {
    pub loaded_at: Millis,
    pub timers: Timers<TimerKey>,
    /// Classic groups as they are now, by group id; their records are checkpoints only. Each group with
    /// a record has an entry, and a simple group that somebody joined.
    pub classic: BTreeMap<Str, Live>,
    /// Heartbeats of members of classic groups, by group and member id. Kept only while somebody wants to know
    /// when their connections close; members that went are dropped when there are as many as those that are there.
    pub classic_pulses: BTreeMap<Str, Roll<Pulse>>,
    /// By group id. An entry goes when its group is deleted.
    pub streams: BTreeMap<Str, StreamsSoft>,
    /// By group id. An entry goes when its group is deleted.
    pub consumer: BTreeMap<Str, ConsumerSoft>,
    /// Of the topics that streams groups require and consumer groups subscribe to.
    pub topic_hashes: TopicHashes,
    /// What happened, for whoever asks why.
    pub history: History,
    /// Version of the newest image that changed topics; regular expressions are resolved anew after it.
    pub topics_version: i64,
    /// Where the sweep for expired offsets goes on, while one is under way.
    pub sweep: Option<Place>,
    /// Number of the last task that the host was given.
    pub last_task: u64,
}

/// What a deadline is about. Those due at the same time fire in the order of their keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerKey {
    /// The initial rebalance delay of a streams group (H-33, H-60).
    InitialRebalance { group: Str },
    /// A process that restores state for tasks that it shall have (W-6).
    Warmup { group: Str },
    /// A member of a streams or consumer group that was not heard of (H-39, H-72; 16.3).
    Session { group: Str, member: Str },
    /// One that was told to give up tasks or partitions (H-38, H-73; 16.3).
    Rebalance { group: Str, member: Str },
    /// A classic member, joined or about to join, that was not heard of (6.17).
    ClassicSession { group: Str, member: Str },
    /// The join phase of a classic group (6.9, 6.11).
    ClassicJoin { group: Str },
    /// Members of a classic group that did not sync (6.15).
    ClassicSync { group: Str },
    /// A classic member of a consumer group that was told to join (18.4).
    ConsumerJoin { group: Str, member: Str },
    /// One that joined and did not sync (18.2).
    ConsumerSync { group: Str, member: Str },
    /// The next sweep for expired offsets, or its next piece (9.7).
    Expiry,
}
