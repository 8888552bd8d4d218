//! Commits while the log is read. Nearly all of them are followed by another one of the same partition, so they are kept
//! by the bytes of their keys, where the later takes the place of the earlier at once, and go to the offsets together:
//! when there are many, and before anything else is done with offsets.

use std::ops::Range;

use bytes::Bytes;
use wire::consumer_offsets::OffsetCommitValue;
use wire::{DecodeError, Message as _, Reader};
use xxhash_rust::xxh3::xxh3_64;

use super::{Committed, Offsets};
use crate::machine::At;

/// Commits kept at most, and bytes of their keys after which no more are taken.
const COMMITS_MAX: usize = if cfg!(test) { 500 } else { 32 * 1024 };
const KEY_BYTES_MAX: usize = 4 << 20;
/// Places at first; there are always twice as many as commits.
const PLACES_MIN: usize = 1024;
/// How the key of a commit begins: its record type.
const KEY_TYPE: [u8; 2] = [0, 1];

/// The key of a commit, as it stands in the log. A test compares it with the codec's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::group) struct CommitKey<'a> {
    /// Without what may stand behind the fields.
    bytes: &'a [u8],
    pub(in crate::group) group: &'a [u8],
    topic: &'a [u8],
    partition: i32,
}

/// The latest commits of partitions.
#[derive(Debug, Default)]
pub(in crate::group) struct Latest {
    commits: Vec<Commit>,
    /// The keys of all commits.
    keys: Vec<u8>,
    /// Where a commit stands, by the hash of its key or behind that.
    places: Vec<Place>,
    /// Only places of this generation hold a commit.
    generation: u32,
    /// How often some group was removed: a commit makes its group again.
    removals: u64,
    /// The group that was asked for last, after so many removals.
    group: (Vec<u8>, u64),
}

#[derive(Debug)]
struct Commit {
    hash: u64,
    /// In `keys`.
    key: Range<usize>,
    /// Removals of groups when its own was seen last.
    removals: u64,
    committed: Committed,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    generation: u32,
    commit: u32,
}

impl<'a> CommitKey<'a> {
    /// `None` if it is that of another record, or none at all.
    pub(in crate::group) fn parse(key: &'a [u8]) -> Option<Self> {
        let mut rest = key.strip_prefix(&KEY_TYPE)?;
        let group = take_string(&mut rest)?;
        let topic = take_string(&mut rest)?;
        let (partition, behind) = rest.split_first_chunk()?;
        let bytes = key.get(..key.len() - behind.len())?;
        Some(Self { bytes, group, topic, partition: i32::from_be_bytes(*partition) })
    }
}

fn take_string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, behind) = rest.split_first_chunk()?;
    let length = usize::try_from(i16::from_be_bytes(*length)).ok()?;
    let (string, behind) = behind.split_at_checked(length)?;
    *rest = behind;
    Some(string)
}

impl Latest {
    /// A group was removed: the next commit of each group has to look for it.
    pub(in crate::group) fn group_removed(&mut self) {
        self.removals += 1;
    }

    /// Takes a plain commit. True if its group has to be made unless it is there.
    ///
    /// # Errors
    /// Bytes that are no commit.
    pub(in crate::group) fn take(
        &mut self,
        at: At,
        key: &CommitKey<'_>,
        value: Bytes,
    ) -> Result<bool, DecodeError> {
        let value = value_of(value)?;
        let hash = xxh3_64(key.bytes);
        match self.find(hash, key.bytes).and_then(|found| self.commits.get_mut(found)) {
            Some(commit) => {
                commit.committed.replace(at, &value);
                if std::mem::replace(&mut commit.removals, self.removals) == self.removals {
                    return Ok(false);
                }
            }
            None => self.add(hash, key.bytes, Committed::new(at, &value)),
        }
        let (group, removals) = &mut self.group;
        if *group == key.group && *removals == self.removals {
            return Ok(false);
        }
        group.clear();
        group.extend_from_slice(key.group);
        *removals = self.removals;
        Ok(true)
    }

    /// No more can be taken before these went to the offsets.
    pub(in crate::group) fn is_full(&self) -> bool {
        self.commits.len() >= COMMITS_MAX || self.keys.len() >= KEY_BYTES_MAX
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
        let commit = u32::try_from(commit).expect("there are at most COMMITS_MAX");
        let is_free = |at: &usize| self.places.get(*at).is_some_and(|it| it.generation != self.generation);
        let free = self.probe(hash).find(is_free).and_then(|at| self.places.get_mut(at));
        *free.expect("half of the places are free") = Place { generation: self.generation, commit };
    }

    /// The places to look at, one after the other. Their number is a power of two.
    fn probe(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.places.len().wrapping_sub(1);
        let count = self.places.len();
        #[expect(clippy::cast_possible_truncation, reason = "of a hash any bits will do")]
        let start = hash as usize;
        (0..count).map(move |step| start.wrapping_add(step) & mask)
    }

    /// Hands all commits to the offsets.
    pub(in crate::group) fn flush(&mut self, into: &mut Offsets) {
        let key = |commit: &Commit| {
            let key = self.keys.get(commit.key.clone()).and_then(CommitKey::parse);
            key.expect("what was taken is a key")
        };
        let together = |a: &Commit, b: &Commit| {
            let (a, b) = (key(a), key(b));
            (a.group, a.topic) == (b.group, b.topic)
        };
        for together in self.commits.chunk_by(together) {
            let Some(first) = together.first().map(key) else { continue };
            let partitions = into.partitions(first.group, first.topic);
            for commit in together {
                partitions.insert(key(commit).partition, commit.committed.clone());
            }
        }
        self.commits.clear();
        self.keys.clear();
        if self.generation == u32::MAX {
            self.places.fill(Place::default());
            self.generation = 0;
        }
        self.generation += 1;
    }
}

fn value_of(bytes: Bytes) -> Result<OffsetCommitValue, DecodeError> {
    let mut reader = Reader::new(bytes);
    let version = reader.i16().map_err(|kind| DecodeError::at(0, kind))?;
    OffsetCommitValue::decode(&mut reader, version)
}

#[cfg(test)]
mod tests {
    use wire::LogRecord as _;
    use wire::Str;
    use wire::batch::{BatchBuilder, Batches};
    use wire::consumer_offsets::{
        GroupMetadataKey, GroupMetadataValue, OffsetCommitKey, Record, StreamsGroupMetadataKey,
        StreamsGroupMetadataValue,
    };

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
    fn entry(entropy: &mut Entropy, keys: i32, rarity: i32, number: i64) -> Entry {
        let group = Str::from(format!("g{}", below(entropy, keys)));
        let topic = Str::from(format!("t{}", below(entropy, 3)));
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
            for offset in 0..records {
                let at = |producer| At { offset, timestamp: NOW, producer };
                match entry(&mut entropy, keys, rarity, offset) {
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
    fn keys_are_read_as_the_codec_reads_them() {
        for (group, topic, partition) in [("g", "t", 3), ("", "", -1), ("a group", "", i32::MAX)] {
            let key = OffsetCommitKey { group: group.into(), topic: topic.into(), partition };
            let (bytes, _) = Record::OffsetCommit(key.clone(), None).encode().unwrap();
            let mut longer = bytes.to_vec();
            longer.extend([1, 2]);
            let parsed = CommitKey::parse(&longer).unwrap();
            assert_eq!((parsed.group, parsed.topic), (key.group.as_bytes(), key.topic.as_bytes()));
            assert_eq!((parsed.partition, parsed.bytes), (partition, &bytes[..]));
            for end in 0..bytes.len() {
                assert_eq!(CommitKey::parse(&bytes[..end]), None);
                assert!(Record::decode(&bytes.slice(..end), None).is_err());
            }
        }
        assert_eq!(CommitKey::parse(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), None, "record type 0");
        assert_eq!(CommitKey::parse(&[0, 1, 0xff, 0xff, 0, 0, 0, 0, 0, 0]), None, "null");
    }

    #[test]
    fn groups_are_asked_for_once_until_one_is_removed() {
        let mut latest = Latest::default();
        let at = At { offset: 0, timestamp: NOW, producer: None };
        let value = OffsetCommitValue::default().to_prefixed(4).unwrap();
        let [one, other] = ["g", "h"].map(|group| {
            let key = OffsetCommitKey { group: group.into(), topic: "t".into(), partition: 3 };
            Record::OffsetCommit(key, None).encode().unwrap().0
        });
        let take = |latest: &mut Latest, key: &Bytes, value: Bytes| {
            latest.take(at, &CommitKey::parse(key).unwrap(), value)
        };
        for (key, asks) in [(&one, true), (&one, false), (&other, true), (&one, false), (&other, false)] {
            assert_eq!(take(&mut latest, key, value.clone()), Ok(asks));
        }
        latest.group_removed();
        for (key, asks) in [(&one, true), (&other, true), (&one, false)] {
            assert_eq!(take(&mut latest, key, value.clone()), Ok(asks));
        }
        assert!(take(&mut latest, &one, value.slice(..9)).is_err());
        assert!(take(&mut latest, &one, Bytes::from_static(&[0, 99])).is_err());
    }
}
