//! What happened to the groups of a shard: who came and went and why, what moved the epochs, what was refused.
//!
//! It is told, never read, by those that decide: nothing here has a record, all of it is forgotten with a load.
//! Most of it is found where records are made ([`Telling`], with `streams.rs` and `consumer.rs`), so that no way of
//! changing a group can be without its event. What leaves no record (refusals, topics that are not in order, and
//! nearly all that happens to a classic group) is told by the ask that met it.
//!
//! Bounds: [`RING_MAX`] events of a group while things happen, [`QUIET_BYTES`] once nothing did for
//! [`QUIET_AFTER`], [`ENTRIES_MAX`] of all groups before that; strings by [`MEMBER_MAX`] and [`DETAIL_MAX`].

pub mod classic;
pub mod commits;
pub mod consumer;
pub mod streams;

mod event;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::mem::size_of;

use crate::group::classic::Live;
use crate::group::state::Hard;
use crate::machine::Millis;
use catalog::Image;
use wire::consumer_offsets::Record;
use wire::{ErrorCode, Str};

pub use event::{Cause, Happened, Kind};

/// Events that are kept of one group.
pub const RING_MAX: usize = 128;
/// Bytes that a group takes once it is quiet.
pub const QUIET_BYTES: usize = 1000;
/// A group is quiet when nothing happened to it for so long.
pub const QUIET_AFTER: Millis = 600_000;
/// Events that are kept of all groups of a shard; above that groups that had their turn keep one.
pub const ENTRIES_MAX: usize = 16_384;
/// Bytes of a member's id that are kept.
pub const MEMBER_MAX: usize = 64;
/// Bytes of a detail that are kept.
pub const DETAIL_MAX: usize = 240;
/// How far back an event is looked for that happened again.
const AGAIN_WITHIN: usize = 8;

/// What happened to the groups of a shard.
#[derive(Debug, Default)]
pub struct History {
    /// When the shard was loaded; nothing older is known.
    pub loaded_at: Millis,
    rings: BTreeMap<Str, Ring>,
    /// Events in all rings.
    entries: usize,
    /// The ring that was last looked at for what may be forgotten.
    swept: Str,
}

/// What happened to one group, oldest first.
#[derive(Debug, Default)]
pub struct Ring {
    entries: VecDeque<Entry>,
    last: i64,
    group_type: Option<&'static str>,
    state: Option<&'static str>,
    state_since: Option<Millis>,
    /// What was last told to be wrong with the group's topics.
    problem: Option<Happened>,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Grows by one with each event of the group.
    pub sequence: i64,
    pub at: Millis,
    /// How often it happened; `at` is the last time.
    pub count: u32,
    pub happened: Happened,
}

impl Ring {
    /// The events that are kept, oldest first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Number of the newest event, 0 before the first.
    pub fn last(&self) -> i64 {
        self.last
    }

    /// Since when the group is in this state, if it got there since the load.
    pub fn state_since(&self, state: &str) -> Option<Millis> {
        self.state_since.filter(|_| self.state == Some(state))
    }

    /// The newest event of this kind.
    pub fn newest(&self, kind: Kind) -> Option<&Entry> {
        self.entries.iter().rev().find(|it| it.happened.kind == kind)
    }

    /// Memory of the ring, allocations included.
    pub fn bytes(&self) -> usize {
        let strings: usize = self.entries.iter().map(|it| it.happened.string_bytes()).sum();
        let problem = self.problem.as_ref().map_or(0, Happened::string_bytes);
        size_of::<Self>() + self.entries.capacity() * size_of::<Entry>() + strings + problem
    }

    fn push(&mut self, at: Millis, happened: Happened) {
        let again = |it: &&Entry| it.happened.is_same_refusal(&happened);
        let count = self.entries.iter().rev().take(AGAIN_WITHIN).find(again).map(|it| it.count);
        if count.is_some() {
            self.entries.retain(|it| !it.happened.is_same_refusal(&happened));
        }
        while self.entries.len() >= RING_MAX {
            self.entries.pop_front();
        }
        self.last += 1;
        let count = count.unwrap_or(0).saturating_add(1);
        self.entries.push_back(Entry { sequence: self.last, at, count, happened });
    }

    /// Forgets the oldest events until so many bytes are left.
    fn shrink(&mut self, bytes: usize) {
        self.entries.shrink_to_fit();
        while self.bytes() > bytes && self.entries.len() > 1 {
            self.entries.pop_front();
            self.entries.shrink_to_fit();
        }
    }
}

impl History {
    pub fn new(loaded_at: Millis) -> Self {
        Self { loaded_at, ..Self::default() }
    }

    /// What is known of a group; `None` if nothing happened since the load.
    pub fn of(&self, group: &Str) -> Option<&Ring> {
        self.rings.get(group)
    }

    /// Takes what a step told. A group that the step removed is forgotten.
    pub(super) fn take(&mut self, now: Millis, hard: &Hard, classic: &BTreeMap<Str, Live>, telling: Telling) {
        let mut touched: Vec<Str> = Vec::new();
        for (id, happened) in telling.told {
            if hard.group(&id).is_none() {
                self.forget(&id);
                continue;
            }
            if !touched.contains(&id) {
                touched.push(id.clone());
            }
            self.push(now, &id, happened);
        }
        if let Some((id, problem)) = telling.topics {
            self.topics(now, &id, problem);
        }
        // To know a state is to look at all members: only after a step with events.
        for id in touched {
            if let Some(group) = hard.group(&id) {
                self.look_at_type(now, &id, group.type_name());
                self.look_at_state(now, &id, group.state_name(classic.get(&id)));
            }
            self.sweep(now);
        }
    }

    /// Tells what is wrong with a group's topics, if that is news.
    fn topics(&mut self, now: Millis, group: &Str, problem: Option<Happened>) {
        let known = self.rings.get(group).and_then(|it| it.problem.as_ref());
        if known == problem.as_ref() {
            return;
        }
        let happened = problem.clone().unwrap_or_else(|| Happened::new(Kind::TopicsInOrder));
        self.push(now, group, happened).problem = problem;
    }

    /// Forgets all about a group.
    pub(super) fn forget(&mut self, group: &Str) {
        if let Some(ring) = self.rings.remove(group) {
            self.entries -= ring.entries.len();
        }
    }

    fn push(&mut self, now: Millis, group: &Str, happened: Happened) -> &mut Ring {
        if !self.rings.contains_key(group) {
            self.rings.insert(group.detach(), Ring::default());
        }
        let ring = self.rings.get_mut(group).expect("the ring was just made");
        self.entries -= ring.entries.len();
        ring.push(now, happened);
        self.entries += ring.entries.len();
        ring
    }

    /// Groups change their type while they run (18), or when they are empty.
    fn look_at_type(&mut self, now: Millis, group: &Str, group_type: &'static str) {
        let Some(ring) = self.rings.get_mut(group) else { return };
        let before = ring.group_type.replace(group_type);
        if before.is_some_and(|it| it != group_type) {
            self.push(now, group, Happened::new(Kind::TypeChanged).detail(group_type));
        }
    }

    fn look_at_state(&mut self, now: Millis, group: &Str, state: &'static str) {
        let Some(ring) = self.rings.get_mut(group) else { return };
        if ring.state == Some(state) {
            return;
        }
        ring.state = Some(state);
        ring.state_since = Some(now);
        self.push(now, group, Happened::new(Kind::StateChanged).detail(state));
    }

    /// Looks at one ring after the other, one for each group to which something happened: a quiet one is cut down.
    pub(super) fn sweep(&mut self, now: Millis) {
        use std::ops::Bound::{Excluded, Unbounded};
        let crowded = self.entries > ENTRIES_MAX;
        let Some((id, ring)) = self.rings.range_mut::<Str, _>((Excluded(&self.swept), Unbounded)).next()
        else {
            self.swept = Str::EMPTY;
            return;
        };
        self.swept = id.clone();
        let before = ring.entries.len();
        if crowded {
            ring.shrink(0);
        } else if ring.entries.back().is_none_or(|it| now - it.at >= QUIET_AFTER) {
            ring.shrink(QUIET_BYTES);
        }
        self.entries = self.entries - before + ring.entries.len();
    }
}

/// What the records of a step say has happened.
#[derive(Debug, Default)]
pub struct Telling {
    /// Why the step is made, if not for a request.
    pub because: Cause,
    /// Why the next epoch of a group moves, as the records before it tell.
    pub(in crate::group) epoch_cause: Cause,
    /// Tasks that somebody gets who shall not have had them before, since the last target.
    moved: u32,
    /// What is wrong with the topics of the group that was looked at; told if it is news.
    topics: Option<(Str, Option<Happened>)>,
    told: Vec<(Str, Happened)>,
}

impl Telling {
    /// Looks at a record before it is applied.
    pub(super) fn record(&mut self, before: &Hard, image: &Image, record: &Record) {
        streams::record(self, before, record);
        consumer::record(self, before, image, record);
    }

    /// Why a group's epoch moves: what was told last of its members, else why the step is made.
    fn take_cause(&mut self) -> Cause {
        std::mem::take(&mut self.epoch_cause).or(self.because)
    }

    /// Something that no record tells, of a group that exists.
    pub fn tell(&mut self, group: &Str, happened: Happened) {
        self.told.push((group.clone(), happened));
    }

    /// A request was refused.
    pub fn refused(&mut self, group: &Str, kind: Kind, member: &Str, code: ErrorCode, detail: &str) {
        self.tell(group, Happened::new(kind).member(member).code(code).detail(detail));
    }

    /// The topics of a group were looked at: in order, or what is wrong with them.
    pub fn topics(&mut self, group: &Str, problem: Option<Happened>) {
        self.topics = Some((group.clone(), problem));
    }
}
