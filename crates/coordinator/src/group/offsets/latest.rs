//! Commits while the log is read. Nearly all of them are followed by another one of the same partition, so they are kept
//! by the bytes of their keys, where the later takes the place of the earlier at once, and go to the offsets together:
//! when there are many, and before anything else is done with offsets.
//!
//! What bounds this is not work but memory: where a commit stands is known when its place was read, and neither is in
//! any cache for long. So commits are looked up many at a time, one step after the other: in each the processor waits
//! for the memory of all of them at once.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use wire::DecodeError;
use xxhash_rust::xxh3::xxh3_64;

use super::encoded::{CommitKey, Plain, committed};
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
/// Before any record of a log.
const NEVER: i64 = -1;

/// The latest commits of partitions.
#[derive(Debug)]
pub(in crate::group) struct Latest {
    /// Those that were read last, in the order of the log, with their keys. They are still to be looked up.
    read: Vec<Read>,
    read_keys: Vec<u8>,
    read_others: Vec<Committed>,
    commits: Vec<Commit>,
    /// The keys of all commits.
    keys: Vec<u8>,
    /// Commits that are not as most are.
    others: Vec<Committed>,
    /// Where a commit stands, by the hash of its key or behind that.
    places: Vec<Place>,
    /// Only places of this generation hold a commit.
    generation: u16,
    /// Where in the log some group was removed: a commit after it makes its group again.
    removed_at: i64,
    /// The group that was made last if it was missing, and by the commit at which place of the log.
    group: (Vec<u8>, i64),
    /// Of those that are looked up.
    seen: Vec<Seen>,
}

/// Of a partition.
#[derive(Debug, Clone, Copy)]
struct Told {
    plain: Plain,
    /// The place of the whole one in a list, and one more; 0 if the plain one is all.
    other: u32,
}

#[derive(Debug)]
struct Read {
    /// In `read_keys`.
    key: KeyRange,
    partition: i32,
    told: Told,
}

/// What tells whether it is the right one and what is put into it are on one cache line.
#[derive(Debug)]
#[repr(align(64))]
struct Commit {
    /// In `keys`.
    key: KeyRange,
    hash: u32,
    told: Told,
}

#[derive(Debug, Clone, Copy, Default)]
struct KeyRange {
    start: u32,
    end: u32,
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
    hash: u32,
    /// One that may be of the same partition.
    commit: Option<usize>,
    /// Its key.
    key: KeyRange,
    is_same: bool,
}

impl KeyRange {
    /// Of what is put at the end of the keys.
    fn push(keys: &mut Vec<u8>, key: &[u8]) -> Self {
        let start = short(keys.len());
        keys.extend_from_slice(key);
        Self { start, end: short(keys.len()) }
    }

    const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Without the partition, which stands behind the names.
    const fn names(self) -> Range<usize> {
        self.start as usize..(self.end as usize).saturating_sub(size_of::<i32>())
    }
}

fn short(place: usize) -> u32 {
    u32::try_from(place).expect("there are not many more than COMMITS_MAX and KEY_BYTES_MAX")
}

/// Places are found by the lower bits.
const fn tag(hash: u32) -> u16 {
    let [high, low, ..] = hash.to_be_bytes();
    u16::from_be_bytes([high, low])
}

#[expect(clippy::cast_possible_truncation, reason = "of a hash any bits will do")]
fn hash(key: &[u8]) -> u32 {
    xxh3_64(key) as u32
}

/// The key in a range of the keys of commits.
fn key_in(keys: &[u8], key: KeyRange) -> CommitKey<'_> {
    keys.get(key.range()).and_then(CommitKey::parse).expect("what was taken is a key")
}

impl Told {
    /// The whole, if there is more than the plain one tells.
    fn other(self, others: &[Committed]) -> Option<&Committed> {
        self.other.checked_sub(1).and_then(|it| others.get(it as usize))
    }

    fn whole(self, others: &[Committed]) -> Committed {
        self.other(others).cloned().unwrap_or_else(|| self.plain.into())
    }

    /// The later one of a partition stays.
    fn put(self, partitions: &mut BTreeMap<i32, Committed>, partition: i32, others: &[Committed]) {
        match partitions.entry(partition) {
            Entry::Vacant(place) => {
                place.insert(self.whole(others));
            }
            Entry::Occupied(mut known) => self.take_place(known.get_mut(), others),
        }
    }

    fn take_place(self, of: &mut Committed, others: &[Committed]) {
        if of.record_offset < self.plain.record_offset {
            *of = self.whole(others);
        }
    }
}

/// Puts commits of one topic, which mostly ascend and are known.
fn put_run(partitions: &mut BTreeMap<i32, Committed>, run: &[Read], others: &[Committed]) {
    let mut rest = run;
    while let Some((first, behind)) = rest.split_first() {
        let mut known = partitions.range_mut(first.partition..);
        let side_by_side = rest
            .iter()
            .take_while(|it| match known.next() {
                Some((partition, known)) if *partition == it.partition => {
                    it.told.take_place(known, others);
                    true
                }
                Some(_) | None => false,
            })
            .count();
        if side_by_side == 0 {
            first.told.put(partitions, first.partition, others);
            rest = behind;
        } else {
            rest = rest.get(side_by_side..).unwrap_or_default();
        }
    }
}

impl Default for Latest {
    fn default() -> Self {
        Self {
            read: Vec::new(),
            read_keys: Vec::new(),
            read_others: Vec::new(),
            commits: Vec::new(),
            keys: Vec::new(),
            others: Vec::new(),
            places: Vec::new(),
            generation: 0,
            removed_at: NEVER,
            group: (Vec::new(), NEVER),
            seen: Vec::new(),
        }
    }
}

impl Latest {
    /// A group was removed there: the next commit of each group has to look for it. No commit is left to be looked up.
    pub(in crate::group) fn group_removed(&mut self, at: At) {
        self.removed_at = at.offset;
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
        let told = match record.value().and_then(|it| Plain::parse(at, it)) {
            Some(plain) => Told { plain, other: 0 },
            None => self.take_other(at, record)?,
        };
        let key_in_all = KeyRange::push(&mut self.read_keys, key.bytes);
        self.read.push(Read { key: key_in_all, partition: key.partition, told });
        Ok(self.read.len() >= TOGETHER)
    }

    #[inline(never)]
    fn take_other(&mut self, at: At, record: &Encoded<'_>) -> Result<Told, DecodeError> {
        self.read_others.push(committed(at, record)?);
        Ok(Told { plain: Plain::standing_at(at.offset), other: short(self.read_others.len()) })
    }

    /// Looks up what was read; all commits go to the offsets if they are many. Groups are made unless they are there.
    pub(in crate::group) fn look_up(&mut self, into: &mut Offsets, mut make_group: impl FnMut(&[u8])) {
        let (mut read, mut keys) = (std::mem::take(&mut self.read), std::mem::take(&mut self.read_keys));
        let mut others = std::mem::take(&mut self.read_others);
        let mut at = 0;
        let names = |it: &Read| keys.get(it.key.names());
        let of_one_topic = |a: &Read, b: &Read| names(a) == names(b);
        for run in read.chunk_by(of_one_topic) {
            match run {
                [first, ..] if run.len() >= RUN_MIN => {
                    let CommitKey { group, topic, .. } = key_in(&keys, first.key);
                    match into.known(group, topic) {
                        Some(partitions) => put_run(partitions, run, &others),
                        None => put_run(into.partitions(group, topic), run, &others),
                    }
                    if self.is_another(group, first.told.plain.record_offset) {
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
            let key = keys.get(read.key.range()).unwrap_or_default();
            if self.keep(&seen, read.told, &others, key) {
                let CommitKey { group, .. } = key_in(&keys, read.key);
                if self.is_another(group, read.told.plain.record_offset) {
                    make_group(group);
                }
            }
        }
        read.clear();
        keys.clear();
        others.clear();
        (self.read, self.read_keys, self.read_others, self.seen) = (read, keys, others, all);
        if self.commits.len().max(self.others.len()) >= COMMITS_MAX || self.keys.len() >= KEY_BYTES_MAX {
            self.flush(into);
        }
    }

    /// Finds the commits that take others' place. Each loop waits for one piece of memory of all of them.
    fn find_all(&mut self, read: &[Read], keys: &[u8]) {
        let key = |it: &Seen| read.get(it.at).and_then(|it| keys.get(it.key.range())).unwrap_or_default();
        let mut all = std::mem::take(&mut self.seen);
        for it in &mut all {
            it.hash = hash(key(it));
        }
        for it in &mut all {
            it.commit = self.candidate(it.hash);
        }
        for it in &mut all {
            it.key = it.commit.and_then(|at| self.commits.get(at)).map(|it| it.key).unwrap_or_default();
        }
        for it in &mut all {
            it.is_same = it.commit.is_some() && self.keys.get(it.key.range()) == Some(key(it));
        }
        self.seen = all;
    }

    /// What is probably the commit of that hash.
    fn candidate(&self, hash: u32) -> Option<usize> {
        for at in self.probe(hash) {
            let place = self.places.get(at).filter(|it| it.generation == self.generation)?;
            if place.tag == tag(hash) {
                return Some(place.commit as usize);
            }
        }
        None
    }

    /// Puts a commit in the place of the one before. Whether its group may be missing.
    fn keep(&mut self, seen: &Seen, mut told: Told, others: &[Committed], key: &[u8]) -> bool {
        // What was not found may have come since, with the commits before this one.
        let found = if seen.is_same { seen.commit } else { self.find(seen.hash, key) };
        if let Some(other) = told.other(others) {
            self.others.push(other.clone());
            told.other = short(self.others.len());
        }
        match found.and_then(|at| self.commits.get_mut(at)) {
            Some(commit) => {
                let before = std::mem::replace(&mut commit.told, told);
                before.plain.record_offset < self.removed_at
            }
            None => {
                self.add(seen.hash, key, told);
                true
            }
        }
    }

    /// Whether this is not the group that was asked for last.
    fn is_another(&mut self, name: &[u8], record_offset: i64) -> bool {
        let (group, asked_at) = &mut self.group;
        if *group == name && *asked_at > self.removed_at {
            return false;
        }
        group.clear();
        group.extend_from_slice(name);
        *asked_at = record_offset;
        true
    }

    fn find(&self, hash: u32, key: &[u8]) -> Option<usize> {
        for at in self.probe(hash) {
            let place = self.places.get(at).filter(|it| it.generation == self.generation)?;
            let commit = self.commits.get(place.commit as usize)?;
            if commit.hash == hash && self.keys.get(commit.key.range()) == Some(key) {
                return Some(place.commit as usize);
            }
        }
        None
    }

    fn add(&mut self, hash: u32, key: &[u8], told: Told) {
        if (self.commits.len() + 1) * 2 > self.places.len() {
            self.make_room();
        }
        let key = KeyRange::push(&mut self.keys, key);
        self.put_down(hash, self.commits.len());
        self.commits.push(Commit { key, hash, told });
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

    fn put_down(&mut self, hash: u32, commit: usize) {
        let place = Place { generation: self.generation, tag: tag(hash), commit: short(commit) };
        let is_free = |at: &usize| self.places.get(*at).is_some_and(|it| it.generation != self.generation);
        let free = self.probe(hash).find(is_free).and_then(|at| self.places.get_mut(at));
        *free.expect("half of the places are free") = place;
    }

    /// The places to look at, one after the other. Their number is a power of two.
    fn probe(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let mask = self.places.len().wrapping_sub(1);
        let count = self.places.len();
        let start = hash as usize;
        (0..count).map(move |step| start.wrapping_add(step) & mask)
    }

    /// Hands all commits that were looked up to the offsets.
    pub(in crate::group) fn flush(&mut self, into: &mut Offsets) {
        let key = |commit: &Commit| key_in(&self.keys, commit.key);
        let together = |a: &Commit, b: &Commit| {
            let (a, b) = (key(a), key(b));
            (a.group, a.topic) == (b.group, b.topic)
        };
        for together in self.commits.chunk_by(together) {
            let Some(first) = together.first().map(key) else { continue };
            let partitions = into.partitions(first.group, first.topic);
            together.iter().for_each(|it| it.told.put(partitions, key(it).partition, &self.others));
        }
        self.commits.clear();
        self.keys.clear();
        self.others.clear();
        if self.generation == u16::MAX {
            self.places.fill(Place::default());
            self.generation = 0;
        }
        self.generation += 1;
    }
}

impl Seen {
    const fn new(at: usize) -> Self {
        Self { at, hash: 0, commit: None, key: KeyRange { start: 0, end: 0 }, is_same: false }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

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
        let (mut latest, mut offsets, offsets_given) = (Latest::default(), Offsets::default(), Cell::new(0));
        let next = || offsets_given.replace(offsets_given.get() + 1);
        let mut asked = |latest: &mut Latest, keys: &[&Bytes]| {
            let mut groups = Vec::new();
            for key in keys {
                assert_eq!(take(latest, next(), key, &value), Ok(false));
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
        latest.group_removed(at(next()));
        assert_eq!(asked(&mut latest, &[&one, &one]), "g;");
        assert_eq!(asked(&mut latest, &[&other, &one]), "h;");
        let all: Vec<_> = run.iter().collect();
        assert_eq!(asked(&mut latest, &all), "i;");
        assert_eq!(asked(&mut latest, &all), "");
        latest.group_removed(at(next()));
        assert_eq!(asked(&mut latest, &all), "i;");
        assert!(take(&mut latest, 99, &one, &value.slice(..9)).is_err());
        assert!(take(&mut latest, 99, &one, &Bytes::from_static(&[0, 99])).is_err());
    }
}
