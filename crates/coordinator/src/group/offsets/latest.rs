//! Commits while the log is read. Nearly all of them are followed by another one of the same partition, so they are kept
//! by the bytes of their keys, where the later takes the place of the earlier at once, and go to the offsets together:
//! when there are many, and before anything else is done with offsets.
//!
//! What bounds this is not work but memory: where a commit stands is known when its place was read, and neither is in
//! any cache for long. So commits are looked up many at a time, one step after the other: in each the processor waits
//! for the memory of all of them at once.

use std::collections::BTreeMap;
use std::ops::Range;

use wire::DecodeError;
use xxhash_rust::xxh3::xxh3_64;

use super::encoded::{CommitKey, committed};
use super::{Committed, Offsets};
use crate::machine::{At, Encoded};

/// Commits that are looked up together.
const TOGETHER: usize = if cfg!(test) { 20 } else { 128 };
/// So many commits of one group and topic after each other go to the offsets at once: there they stand side by side.
const RUN_MIN: usize = 8;
/// Commits kept at most, give or take those that are looked up together, and bytes of their keys after which no more
/// are taken.
const COMMITS_MAX: usize = if cfg!(test) { 500 } else { 32 * 1024 };
const KEY_BYTES_MAX: usize = 4 << 20;
/// Places at first; there are always twice as many as commits.
const PLACES_MIN: usize = 1024;

/// The latest commits of partitions.
#[derive(Debug, Default)]
pub(in crate::group) struct Latest {
    /// Those that were read last, in the order of the log, with their keys. They are still to be looked up.
    read: Vec<Read>,
    read_keys: Vec<u8>,
    commits: Vec<Commit>,
    /// The keys of all commits.
    keys: Vec<u8>,
    /// Where a commit stands, by the hash of its key or behind that.
    places: Vec<Place>,
    /// Only places of this generation hold a commit.
    generation: u16,
    /// How often some group was removed: a commit makes its group again.
    removals: u64,
    /// The group that was made last if it was missing, after so many removals. At first there is none.
    group: (Vec<u8>, Option<u64>),
    /// Of those that are looked up.
    seen: Vec<Seen>,
}

#[derive(Debug)]
struct Read {
    /// In `read_keys`.
    key: Range<usize>,
    /// Where in the key its partition stands: behind the names.
    names: usize,
    partition: i32,
    committed: Committed,
}

/// In the order in which it is needed: what tells whether it is the right one is on one cache line, and on the
/// second are those that are looked at to have it read too.
#[derive(Debug)]
#[repr(C, align(64))]
struct Commit {
    hash: u64,
    key: Range<usize>,
    committed: Committed,
    /// Removals of groups when its own was seen last.
    removals: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    generation: u16,
    /// The upper bits of the hash.
    tag: u16,
    commit: u32,
}

/// A commit that is looked up, as far as that has come.
#[derive(Debug)]
struct Seen {
    /// In `read`.
    at: usize,
    hash: u64,
    /// One that may be of the same partition.
    commit: Option<usize>,
    /// Its key.
    key: Range<usize>,
    is_same: bool,
}

impl Place {
    fn new(generation: u16, hash: u64, commit: usize) -> Self {
        let commit = u32::try_from(commit).expect("there are not many more than COMMITS_MAX");
        Self { generation, tag: tag(hash), commit }
    }
}

/// Places are found by the lower bits.
const fn tag(hash: u64) -> u16 {
    let [high, low, ..] = hash.to_be_bytes();
    u16::from_be_bytes([high, low])
}

/// The key in a range of the keys of commits.
fn key_in<'a>(keys: &'a [u8], key: &Range<usize>) -> CommitKey<'a> {
    keys.get(key.clone()).and_then(CommitKey::parse).expect("what was taken is a key")
}

/// The later one of a partition stays.
fn put(partitions: &mut BTreeMap<i32, Committed>, partition: i32, committed: &Committed) {
    let known = partitions.entry(partition).or_insert_with(|| committed.clone());
    if known.record_offset < committed.record_offset {
        *known = committed.clone();
    }
}

impl Latest {
    /// A group was removed: the next commit of each group has to look for it. No commit is left to be looked up.
    pub(in crate::group) fn group_removed(&mut self) {
        self.removals += 1;
    }

    /// Takes a plain commit. True if there are so many now that they are to be looked up.
    ///
    /// # Errors
    /// Bytes that are no commit.
    #[inline]
    pub(in crate::group) fn take(
        &mut self,
        at: At,
        key: &CommitKey<'_>,
        record: &Encoded<'_>,
    ) -> Result<bool, DecodeError> {
        let committed = committed(at, record)?;
        let start = self.read_keys.len();
        self.read_keys.extend_from_slice(key.bytes);
        let key_in_all = start..self.read_keys.len();
        let names = key.bytes.len().saturating_sub(size_of::<i32>());
        self.read.push(Read { key: key_in_all, names, partition: key.partition, committed });
        Ok(self.read.len() >= TOGETHER)
    }

    /// Looks up what was read; all commits go to the offsets if they are many. Groups are made unless they are there.
    pub(in crate::group) fn look_up(&mut self, into: &mut Offsets, mut make_group: impl FnMut(&[u8])) {
        let (mut read, mut keys) = (std::mem::take(&mut self.read), std::mem::take(&mut self.read_keys));
        let mut at = 0;
        let names = |it: &Read| keys.get(it.key.clone()).and_then(|key| key.get(..it.names));
        let of_one_topic = |a: &Read, b: &Read| names(a) == names(b);
        for run in read.chunk_by(of_one_topic) {
            match run {
                [first, ..] if run.len() >= RUN_MIN => {
                    let CommitKey { group, topic, .. } = key_in(&keys, &first.key);
                    let partitions = into.partitions(group, topic);
                    run.iter().for_each(|it| put(partitions, it.partition, &it.committed));
                    if self.is_another(group) {
                        make_group(group);
                    }
                }
                _ => self.seen.extend((at..at + run.len()).map(Seen::new)),
            }
            at += run.len();
        }
        self.find_all(&read, &keys);
        let mut all = std::mem::take(&mut self.seen);
        for seen in all.drain(..) {
            let Some(read) = read.get(seen.at) else { continue };
            let key = keys.get(read.key.clone()).unwrap_or_default();
            if self.keep(&seen, &read.committed, key) {
                let CommitKey { group, .. } = key_in(&keys, &read.key);
                if self.is_another(group) {
                    make_group(group);
                }
            }
        }
        read.clear();
        keys.clear();
        (self.read, self.read_keys, self.seen) = (read, keys, all);
        if self.commits.len() >= COMMITS_MAX || self.keys.len() >= KEY_BYTES_MAX {
            self.flush(into);
        }
    }

    /// Finds the commits that take others' place. Each loop waits for one piece of memory of all of them.
    fn find_all(&mut self, read: &[Read], keys: &[u8]) {
        let key = |it: &Seen| read.get(it.at).and_then(|it| keys.get(it.key.clone())).unwrap_or_default();
        let mut all = std::mem::take(&mut self.seen);
        for it in &mut all {
            it.hash = xxh3_64(key(it));
        }
        for it in &mut all {
            it.commit = self.candidate(it.hash);
        }
        for it in &mut all {
            let Some(commit) = it.commit.and_then(|at| self.commits.get(at)) else { continue };
            // It always holds, but the second cache line has to be read to know that.
            if commit.removals <= self.removals {
                it.key = commit.key.clone();
            }
        }
        for it in &mut all {
            it.is_same = it.commit.is_some() && self.keys.get(it.key.clone()) == Some(key(it));
        }
        self.seen = all;
    }

    /// What is probably the commit of that hash.
    fn candidate(&self, hash: u64) -> Option<usize> {
        for at in self.probe(hash) {
            let place = self.places.get(at).filter(|it| it.generation == self.generation)?;
            if place.tag == tag(hash) {
                return Some(place.commit as usize);
            }
        }
        None
    }

    /// Puts a commit in the place of the one before. Whether its group may be missing.
    fn keep(&mut self, seen: &Seen, committed: &Committed, key: &[u8]) -> bool {
        // What was not found may have come since, with the commits before this one.
        let found = if seen.is_same { seen.commit } else { self.find(seen.hash, key) };
        match found.and_then(|at| self.commits.get_mut(at)) {
            Some(commit) => {
                commit.committed = committed.clone();
                std::mem::replace(&mut commit.removals, self.removals) != self.removals
            }
            None => {
                self.add(seen.hash, key, committed.clone());
                true
            }
        }
    }

    /// Whether this is not the group that was asked for last.
    fn is_another(&mut self, name: &[u8]) -> bool {
        let (group, removals) = &mut self.group;
        if *group == name && *removals == Some(self.removals) {
            return false;
        }
        group.clear();
        group.extend_from_slice(name);
        *removals = Some(self.removals);
        true
    }

    fn find(&self, hash: u64, key: &[u8]) -> Option<usize> {
        for at in self.probe(hash) {
            let place = self.places.get(at).filter(|it| it.generation == self.generation)?;
            let commit = self.commits.get(place.commit as usize)?;
            if commit.hash == hash && self.keys.get(commit.key.clone()) == Some(key) {
                return Some(place.commit as usize);
            }
        }
        None
    }

    fn add(&mut self, hash: u64, key: &[u8], committed: Committed) {
        if (self.commits.len() + 1) * 2 > self.places.len() {
            self.make_room();
        }
        let start = self.keys.len();
        self.keys.extend_from_slice(key);
        let key = start..self.keys.len();
        self.put_down(hash, self.commits.len());
        self.commits.push(Commit { hash, key, removals: self.removals, committed });
    }

    fn make_room(&mut self) {
        let places = (self.places.len() * 2).max(PLACES_MIN);
        self.generation = 1;
        self.places = vec![Place::default(); places];
        for commit in 0..self.commits.len() {
            let hash = self.commits.get(commit).map_or(0, |it| it.hash);
            self.put_down(hash, commit);
        }
    }

    fn put_down(&mut self, hash: u64, commit: usize) {
        let place = Place::new(self.generation, hash, commit);
        let is_free = |at: &usize| self.places.get(*at).is_some_and(|it| it.generation != self.generation);
        let free = self.probe(hash).find(is_free).and_then(|at| self.places.get_mut(at));
        *free.expect("half of the places are free") = place;
    }

    /// The places to look at, one after the other. Their number is a power of two.
    fn probe(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.places.len().wrapping_sub(1);
        let count = self.places.len();
        #[expect(clippy::cast_possible_truncation, reason = "of a hash any bits will do")]
        let start = hash as usize;
        (0..count).map(move |step| start.wrapping_add(step) & mask)
    }

    /// Hands all commits that were looked up to the offsets.
    pub(in crate::group) fn flush(&mut self, into: &mut Offsets) {
        let key = |commit: &Commit| key_in(&self.keys, &commit.key);
        let together = |a: &Commit, b: &Commit| {
            let (a, b) = (key(a), key(b));
            (a.group, a.topic) == (b.group, b.topic)
        };
        for together in self.commits.chunk_by(together) {
            let Some(first) = together.first().map(key) else { continue };
            let partitions = into.partitions(first.group, first.topic);
            together.iter().for_each(|it| put(partitions, key(it).partition, &it.committed));
        }
        self.commits.clear();
        self.keys.clear();
        if self.generation == u16::MAX {
            self.places.fill(Place::default());
            self.generation = 0;
        }
        self.generation += 1;
    }
}

impl Seen {
    const fn new(at: usize) -> Self {
        Self { at, hash: 0, commit: None, key: 0..0, is_same: false }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use wire::batch::{BatchBuilder, Batches};
    use wire::consumer_offsets::{
        GroupMetadataKey, GroupMetadataValue, OffsetCommitKey, OffsetCommitValue, Record,
        StreamsGroupMetadataKey, StreamsGroupMetadataValue,
    };
    use wire::{LogRecord as _, Message as _, Str};

    use super::*;
    use crate::driver::Driver;
    use crate::group::GroupShard;
    use crate::machine::{Encoded, Entropy};

    const NOW: i64 = 1_700_000_000_000;

    /// What stands at an offset of a log.
    enum Entry {
        Plain(Record),
        OfProducer(i64, Record),
        Marker(i64, bool),
    }

    fn below(entropy: &mut Entropy, end: i32) -> i32 {
        i32::try_from(entropy.next_u64() % u64::from(end.unsigned_abs())).unwrap()
    }

    /// The rarer, the fewer are no plain commits.
    fn entry(entropy: &mut Entropy, [group, topic]: [Str; 2], keys: i32, rarity: i32, number: i64) -> Entry {
        let key = OffsetCommitKey { group: group.clone(), topic, partition: below(entropy, keys) };
        let metadata = Str::from(["", "", "some", "words"][usize::try_from(below(entropy, 4)).unwrap()]);
        let value = OffsetCommitValue { offset: number, metadata, ..Default::default() };
        let producer = i64::from(below(entropy, 3));
        match below(entropy, rarity) {
            0 => Entry::Marker(producer, true),
            1 => Entry::Marker(producer, false),
            2 => Entry::Plain(Record::OffsetCommit(key, None)),
            3 => Entry::Plain(Record::GroupMetadata(GroupMetadataKey { group }, None)),
            4 => {
                let value = GroupMetadataValue::default();
                Entry::Plain(Record::GroupMetadata(GroupMetadataKey { group }, Some(value)))
            }
            5 => {
                let key = StreamsGroupMetadataKey { group_id: group };
                let value = StreamsGroupMetadataValue { epoch: 1, ..Default::default() };
                Entry::Plain(Record::StreamsGroupMetadata(key, Some(value)))
            }
            6..10 => Entry::OfProducer(producer, Record::OffsetCommit(key, Some(value))),
            _ => Entry::Plain(Record::OffsetCommit(key, Some(value))),
        }
    }

    /// Replays a record both ways.
    fn replay(at: At, record: &Record, into: [&mut Driver<GroupShard>; 2]) {
        let [one, other] = into;
        one.replay(at, record);
        let (key, value) = record.encode().unwrap();
        let batch = BatchBuilder::new().push(Some(&key), value.as_deref()).build();
        let batch = Batches::new(batch).next().unwrap().unwrap();
        let block = batch.block().unwrap();
        let encoded = Encoded::new(block.records().next().unwrap().unwrap()).unwrap();
        assert_eq!(other.replay_encoded(at, encoded), Ok(true));
    }

    /// The state does not tell how it was loaded.
    #[test]
    fn commits_are_as_if_applied_one_by_one() {
        let small = (1_i32..40).map(|seed| (seed, 1 + seed % 7, 60, 400));
        // More than are kept at once.
        let large = (40..44).map(|seed| (seed, 50, 2_000, 3_000));
        for (seed, keys, rarity, records) in small.chain(large) {
            let mut entropy = Entropy::seeded(u64::from(seed.unsigned_abs()));
            let new = || Driver::<GroupShard>::new(Entropy::seeded(1), 1 << 20);
            let (mut one, mut other) = (new(), new());
            // Every other log has runs of commits of one group and topic.
            let (mut names, stays) = ([Str::EMPTY, Str::EMPTY], if seed % 2 == 0 { 1 } else { 15 });
            for offset in 0..records {
                if below(&mut entropy, stays) == 0 {
                    let numbers = [below(&mut entropy, keys), below(&mut entropy, 3)];
                    names = [format!("g{}", numbers[0]), format!("t{}", numbers[1])].map(Str::from);
                }
                let at = |producer| At { offset, timestamp: NOW, producer };
                match entry(&mut entropy, names.clone(), keys, rarity, offset) {
                    Entry::Plain(record) => replay(at(None), &record, [&mut one, &mut other]),
                    Entry::OfProducer(id, record) => {
                        replay(at(Some((id, 0))), &record, [&mut one, &mut other]);
                    }
                    Entry::Marker(id, commit) => {
                        for driver in [&mut one, &mut other] {
                            driver.marker(at(Some((id, 0))), id, commit);
                        }
                    }
                }
            }
            for driver in [&mut one, &mut other] {
                driver.loaded(records, NOW, &catalog::Image::default());
            }
            assert!(one.machine().hard() == other.machine().hard(), "seed {seed}");
            assert!(one.machine().hard().offsets().by_group().next().is_some());
        }
    }

    #[test]
    fn groups_are_asked_for_once_until_one_is_removed() {
        let at = |offset| At { offset, timestamp: NOW, producer: None };
        let value = OffsetCommitValue::default().to_prefixed(4).unwrap();
        let key = |group: &str, partition| {
            let key = OffsetCommitKey { group: group.into(), topic: "t".into(), partition };
            Record::OffsetCommit(key, None).encode().unwrap().0
        };
        let [none, one, other] = ["", "g", "h"].map(|group| key(group, 3));
        let run: Vec<_> = (0..9).map(|partition| key("i", partition)).collect();
        let take = |latest: &mut Latest, offset, key: &Bytes, value: &Bytes| {
            let batch = Batches::new(BatchBuilder::new().push(Some(key), Some(value)).build());
            let block = batch.last().unwrap().unwrap().block().unwrap();
            let encoded = Encoded::new(block.records().next().unwrap().unwrap()).unwrap();
            latest.take(at(offset), &CommitKey::parse(key).unwrap(), &encoded)
        };
        let (mut latest, mut offsets, mut offset) = (Latest::default(), Offsets::default(), 0);
        let mut asked = |latest: &mut Latest, keys: &[&Bytes]| {
            let mut groups = Vec::new();
            for key in keys {
                assert_eq!(take(latest, offset, key, &value), Ok(false));
                offset += 1;
            }
            latest.look_up(&mut offsets, |it| groups.push(format!("{};", String::from_utf8_lossy(it))));
            groups.concat()
        };
        assert_eq!(asked(&mut latest, &[&none, &none]), ";", "a group may have an empty name");
        for (keys, groups) in
            [(&[&one, &one][..], "g;"), (&[&one], ""), (&[&one, &other, &one], "h;"), (&[&other], "")]
        {
            assert_eq!(asked(&mut latest, keys), groups);
        }
        latest.group_removed();
        assert_eq!(asked(&mut latest, &[&one, &one]), "g;");
        assert_eq!(asked(&mut latest, &[&other, &one]), "h;");
        let all: Vec<_> = run.iter().collect();
        assert_eq!(asked(&mut latest, &all), "i;");
        assert_eq!(asked(&mut latest, &all), "");
        latest.group_removed();
        assert_eq!(asked(&mut latest, &all), "i;");
        assert!(take(&mut latest, 99, &one, &value.slice(..9)).is_err());
        assert!(take(&mut latest, 99, &one, &Bytes::from_static(&[0, 99])).is_err());
    }
}
