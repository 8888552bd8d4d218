//! A log of `__consumer_offsets` as it was recorded, and what compaction may leave of it (21.5).
//!
//! The property: of every prefix of a recorded history, whatever the cleaner has done to it so far, the same hard
//! state is read. A cleaner works from the begin to some place below the first open transaction. Of each key it keeps
//! the last record below that place, and it drops what was aborted. Where it was ended half way the rest is untouched.
//! Tombstones stay for a while; so do markers, at least as long as something of their transaction is left. All of this
//! goes by whole batches, and a log ends with one.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use coordinator::group::{Group, GroupShard, Hard};
use coordinator::{At, Entropy, Machine};
use wire::LogRecord;
use wire::consumer_offsets::Record;

/// Records of a log times prefixes of it that are read.
const RECORDS_MAX: usize = 10_000;

/// One record as it stands in the log.
pub(crate) struct Logged {
    pub at: At,
    pub what: What,
    /// Of one batch: a number that others do not have.
    pub batch: i64,
}

pub(crate) enum What {
    Record {
        key: Bytes,
        value: Option<Bytes>,
    },
    /// It ends the transaction of the producer of `at`.
    Marker {
        commit: bool,
    },
}

/// What compaction knows of transactions: it stops at the first that is open, and drops what was aborted.
struct Decided {
    /// The first offset of an open transaction.
    unstable: i64,
    aborted: BTreeSet<i64>,
}

impl Decided {
    fn of<'a>(log: impl IntoIterator<Item = &'a Logged>) -> Self {
        let mut open: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        let mut aborted = BTreeSet::new();
        for Logged { at, what, .. } in log {
            match (what, at.producer) {
                (What::Record { .. }, Some((id, _))) => open.entry(id).or_default().push(at.offset),
                (What::Record { .. }, None) => {}
                (What::Marker { commit }, _) => {
                    let ended = open.remove(&producer_of(at)).unwrap_or_default();
                    aborted.extend(ended.into_iter().filter(|_| !commit));
                }
            }
        }
        let unstable = open.values().flatten().min().copied().unwrap_or(i64::MAX);
        Self { unstable, aborted }
    }
}

/// Reads random prefixes of the log after random compactions. The error says what differs.
pub(crate) fn every_compaction_is_the_same(
    log: &[Logged],
    chance: &mut Entropy,
    rounds: usize,
) -> Result<(), String> {
    let log: Vec<_> = log.iter().collect();
    for _ in 0..rounds.min(RECORDS_MAX / log.len().max(1)) {
        let mut left: Vec<_> = log.iter().copied().take(cut(&log, log.len(), chance)).collect();
        let (length, whole) = (left.len(), replay(left.iter().copied()));
        for _ in 0..=pick(chance, 3) {
            let cleaned = clean(&mut left, chance);
            let found = replay(left.iter().copied());
            if found.hard() != whole.hard() && told(found.hard()) != told(whole.hard()) {
                let offsets: Vec<_> = left.iter().map(|it| it.at.offset).collect();
                return Err(format!(
                    "compaction up to {cleaned:?} of the first {length} records, which leaves {offsets:?}, makes another \
                     state\nwhole:   {}\ncleaned: {}",
                    told(whole.hard()),
                    told(found.hard()),
                ));
            }
        }
    }
    Ok(())
}

/// One run of the cleaner. Gives how far it looked, how far it came, and below what tombstones were old enough.
fn clean(left: &mut Vec<&Logged>, chance: &mut Entropy) -> (usize, usize, usize) {
    let decided = Decided::of(left.iter().copied());
    let stable = left.iter().position(|it| it.at.offset >= decided.unstable).unwrap_or(left.len());
    let looked = cut(left, stable, chance);
    let came = cut(left, looked, chance);
    let old = cut(left, came, chance);
    let mut last: BTreeMap<&Bytes, i64> = BTreeMap::new();
    for it in left.iter().take(looked).filter(|it| !decided.aborted.contains(&it.at.offset)) {
        if let What::Record { key, .. } = &it.what {
            last.insert(key, it.at.offset);
        }
    }
    let (mut n, mut has) = (0, BTreeSet::new());
    left.retain(|it| {
        n += 1;
        let (is_done, is_old, producer) = (n <= came, n <= old, it.at.producer.map(|it| it.0));
        let keeps = match &it.what {
            What::Record { key, value } => {
                !is_done || (last.get(key) == Some(&it.at.offset) && !(is_old && value.is_none()))
            }
            What::Marker { .. } => !is_old || has.contains(&producer),
        };
        match &it.what {
            What::Record { .. } if keeps && producer.is_some() => has.insert(producer),
            What::Record { .. } => false,
            What::Marker { .. } => has.remove(&producer),
        };
        keeps
    });
    (looked, came, old)
}

/// Some place between batches, up to `most`, and often just there.
fn cut(log: &[&Logged], most: usize, chance: &mut Entropy) -> usize {
    let place = if pick(chance, 2) == 0 { most } else { pick(chance, most + 1) };
    let batch = |n: usize| log.get(n).map(|it| it.batch);
    let is_between = |n: &usize| *n == 0 || batch(*n - 1) != batch(*n);
    (0..=place).rev().find(is_between).unwrap_or(0)
}

fn pick(chance: &mut Entropy, below: usize) -> usize {
    let below = u64::try_from(below).expect("a length");
    usize::try_from(chance.next_u64() % below).expect("a length")
}

pub(crate) fn replay<'a>(log: impl IntoIterator<Item = &'a Logged>) -> GroupShard {
    let mut shard = GroupShard::default();
    for Logged { at, what, .. } in log {
        match what {
            What::Record { key, value } => shard.replay(*at, &decoded(key, value.as_ref())),
            What::Marker { commit } => shard.marker(*at, producer_of(at), *commit),
        }
    }
    shard
}

/// Hard state without simple groups that have no offsets: no record is left that would tell of them.
fn told(hard: &Hard) -> String {
    let groups: Vec<_> = hard
        .groups()
        .filter(|(id, group)| **group != Group::Simple || hard.offsets().of_group(id).is_some())
        .collect();
    format!("{groups:?} {:?}", hard.offsets())
}

pub(crate) fn decoded(key: &Bytes, value: Option<&Bytes>) -> Record {
    let record = Record::decode(key, value);
    record.expect("the shard wrote it").expect("the shard knows its own records")
}

pub(crate) fn producer_of(at: &At) -> i64 {
    at.producer.expect("markers and transactional records have a producer").0
}
