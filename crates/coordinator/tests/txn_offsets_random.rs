//! Plain and transactional commits, markers, deletions and crashes in random order, against the list of all that was
//! written, out of which every offset is worked out anew (10.1 to 10.3). `SEED=n` runs one again.
//!
//! After each load the state is that of the log, also of what compaction leaves of it.

#![expect(clippy::unwrap_used, reason = "a test, though not inside its function")]

use std::collections::{BTreeMap, BTreeSet};

use catalog::Image;
use coordinator::group::request::{OffsetFetch, TxnOffsetCommit};
use coordinator::group::{GroupReply, GroupRequest, GroupShard};
use coordinator::{At, Caller, Driver, Entropy, Event, Machine, Ticket};
use wire::consumer_offsets::Record;
use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use wire::offset_delete::request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use wire::offset_fetch::request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use wire::{ErrorCode, LogRecord, OffsetCommitRequest, OffsetDeleteRequest, Str};

const RUNS: u64 = 15;
const STEPS: usize = 150;
const GROUPS: [&str; 2] = ["g", "h"];
const PARTITIONS: u64 = 3;
const PRODUCERS: u64 = 3;
const NOW: i64 = 1_700_000_000_000;

#[test]
fn offsets_are_what_the_log_says() {
    testkit::seed::each(&[], RUNS, run);
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    for _ in 0..STEPS {
        world.something();
        world.check();
    }
}

/// A group and a partition of the one topic.
type Place = (&'static str, i32);

/// One entry of the log, as the model sees it.
#[derive(Debug, Clone)]
enum Entry {
    Commit { place: Place, offset: i64, producer: Option<i64> },
    Delete { place: Place },
    Marker { producer: i64, commit: bool },
}

struct World {
    chance: Entropy,
    driver: Driver<GroupShard>,
    image: Image,
    /// The log: place, content, and the record if it is one.
    log: Vec<(At, Entry, Option<Record>)>,
    durable: usize,
    tickets: u64,
    last_offset: i64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            chance: Entropy::seeded(seed),
            driver: Driver::new(Entropy::seeded(1), 1_000_000),
            image: Image::default(),
            log: Vec::new(),
            durable: 0,
            tickets: 0,
            last_offset: 0,
        };
        world.load();
        world
    }

    fn pick(&mut self, below: u64) -> u64 {
        self.chance.next_u64() % below
    }

    fn place(&mut self) -> Place {
        let group = if self.pick(2) == 0 { GROUPS[0] } else { GROUPS[1] };
        (group, i32::try_from(self.pick(PARTITIONS)).unwrap())
    }

    fn producer(&mut self) -> i64 {
        i64::try_from(self.pick(PRODUCERS)).unwrap()
    }

    fn load(&mut self) {
        self.driver = Driver::new(Entropy::seeded(1), 1_000_000);
        for (at, entry, record) in &self.log {
            match (entry, record) {
                (Entry::Marker { producer, commit }, _) => self.driver.marker(*at, *producer, *commit),
                (_, Some(record)) => self.driver.replay(*at, record),
                (_, None) => unreachable!("every other entry is a record"),
            }
        }
        let end = i64::try_from(self.log.len()).unwrap();
        assert_eq!(self.driver.loaded(end, NOW, &self.image).batches, []);
    }

    fn something(&mut self) {
        match self.pick(20) {
            0..6 => self.commit(None),
            6..12 => {
                let producer = self.producer();
                self.commit(Some(producer));
            }
            12..15 => {
                let (producer, commit) = (self.producer(), self.pick(3) > 0);
                let at = self.at(Some((producer, 0)));
                self.driver.marker(at, producer, commit);
                self.log.push((at, Entry::Marker { producer, commit }, None));
            }
            15 => self.delete(),
            16 | 17 => self.durable = self.log.len(),
            18 => {
                self.log.truncate(self.durable);
                self.load();
            }
            _ => {
                self.durable = self.log.len();
                self.load();
            }
        }
    }

    fn at(&self, producer: Option<(i64, i16)>) -> At {
        At { offset: i64::try_from(self.log.len()).unwrap(), timestamp: NOW, producer }
    }

    fn commit(&mut self, producer: Option<i64>) {
        let place @ (group, index) = self.place();
        self.last_offset += 1;
        let offset = self.last_offset;
        let partition = OffsetCommitRequestPartition {
            partition_index: index,
            committed_offset: offset,
            ..Default::default()
        };
        let topic = OffsetCommitRequestTopic {
            name: Str::from_static("t"),
            partitions: vec![partition],
            ..Default::default()
        };
        let commit = OffsetCommitRequest {
            group_id: Str::from_static(group),
            generation_id_or_member_epoch: -1,
            retention_time_ms: -1,
            topics: vec![topic],
            ..Default::default()
        };
        let request = match producer {
            None => GroupRequest::OffsetCommit(commit),
            Some(producer_id) => GroupRequest::TxnOffsetCommit(Box::new(TxnOffsetCommit {
                producer_id,
                producer_epoch: 0,
                commit,
            })),
        };
        self.ask(request, &Entry::Commit { place, offset, producer });
    }

    fn delete(&mut self) {
        let place @ (group, index) = self.place();
        let partition = OffsetDeleteRequestPartition { partition_index: index };
        let topic = OffsetDeleteRequestTopic { name: Str::from_static("t"), partitions: vec![partition] };
        let request = OffsetDeleteRequest { group_id: Str::from_static(group), topics: vec![topic] };
        self.ask(GroupRequest::OffsetDelete(request), &Entry::Delete { place });
    }

    /// Everything that a step writes is one entry of the model.
    fn ask(&mut self, request: GroupRequest, entry: &Entry) -> GroupReply {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let caller = Caller { api_version: 6, ..Caller::default() };
        let round = self.driver.round(NOW, &self.image, vec![Event::Ask { ticket, caller, request }]);
        for batch in round.batches {
            assert_eq!(batch.base_offset, i64::try_from(self.log.len()).unwrap());
            let expected = match entry {
                Entry::Commit { producer, .. } => producer.map(|it| (it, 0)),
                Entry::Delete { .. } | Entry::Marker { .. } => None,
            };
            assert_eq!(batch.producer, expected);
            for (key, value) in batch.records {
                let record = Record::decode(&key, value.as_ref()).unwrap().unwrap();
                self.log.push((self.at(batch.producer), entry.clone(), Some(record)));
            }
        }
        let (answered, reply) = self.driver.release(i64::MAX).unwrap();
        assert_eq!(answered, ticket);
        reply
    }

    /// What a fetch must show: offset, and whether it is unstable.
    fn expected(&self, place: Place) -> (i64, bool) {
        let mut committed: Option<(usize, i64)> = None;
        let mut pending: BTreeMap<i64, (usize, i64)> = BTreeMap::new();
        for (n, (_, entry, _)) in self.log.iter().enumerate() {
            match entry {
                Entry::Commit { place: it, .. } | Entry::Delete { place: it } if *it != place => {}
                Entry::Commit { offset, producer: None, .. } => committed = Some((n, *offset)),
                Entry::Commit { offset, producer: Some(producer), .. } => {
                    pending.insert(*producer, (n, *offset));
                }
                Entry::Delete { .. } => {
                    committed = None;
                    pending.clear();
                }
                Entry::Marker { producer, commit } => {
                    let decided = pending.remove(producer).filter(|_| *commit);
                    committed = committed.max(decided);
                }
            }
        }
        (committed.map_or(-1, |(_, offset)| offset), !pending.is_empty())
    }

    fn check(&mut self) {
        let before = self.log.len();
        for group in GROUPS {
            for index in 0..i32::try_from(PARTITIONS).unwrap() {
                let (offset, unstable) = self.expected((group, index));
                let plain = self.fetch(group, index, false);
                assert_eq!(plain, (ErrorCode::NONE, offset), "{group} {index}");
                let stable = match unstable {
                    true => (ErrorCode::UNSTABLE_OFFSET_COMMIT, -1),
                    false => (ErrorCode::NONE, offset),
                };
                assert_eq!(self.fetch(group, index, true), stable, "{group} {index}");
            }
        }
        assert_eq!(self.log.len(), before, "reading writes nothing");
        self.compacted_is_the_same();
    }

    fn fetch(&mut self, group: &'static str, index: i32, require_stable: bool) -> (ErrorCode, i64) {
        let topic = OffsetFetchRequestTopics {
            name: Str::from_static("t"),
            partition_indexes: vec![index],
            ..Default::default()
        };
        let group = OffsetFetchRequestGroup {
            group_id: Str::from_static(group),
            member_epoch: -1,
            topics: Some(vec![topic]),
            ..Default::default()
        };
        let nothing = Entry::Delete { place: (GROUPS[0], 0) };
        let reply = self.ask(GroupRequest::OffsetFetch(OffsetFetch { group, require_stable }), &nothing);
        let GroupReply::OffsetFetch(answer) = reply else { panic!("{reply:?}") };
        let part = answer.topics.first().unwrap().partitions.first().unwrap().clone();
        (part.error_code, part.committed_offset)
    }

    /// Compaction keeps everything from the first open transaction on, drops what was aborted, and of the rest keeps
    /// the last of each key (21.5).
    fn compacted_is_the_same(&self) {
        let mut open: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        let mut aborted = BTreeSet::new();
        for (n, (_, entry, _)) in self.log.iter().enumerate() {
            match entry {
                Entry::Commit { producer: Some(producer), .. } => open.entry(*producer).or_default().push(n),
                Entry::Marker { producer, commit } => {
                    aborted.extend(open.remove(producer).unwrap_or_default().into_iter().filter(|_| !commit));
                }
                Entry::Commit { producer: None, .. } | Entry::Delete { .. } => {}
            }
        }
        let stable = open.values().flatten().min().copied().unwrap_or(self.log.len());
        let cleaned = |n: usize| n < stable && !aborted.contains(&n);
        let mut last = BTreeMap::new();
        for (n, (_, entry, _)) in self.log.iter().enumerate().filter(|(n, _)| cleaned(*n)) {
            if let Entry::Commit { place, .. } | Entry::Delete { place } = entry {
                last.insert(*place, n);
            }
        }
        let mut shard = GroupShard::default();
        for (n, (at, entry, record)) in self.log.iter().enumerate() {
            match (entry, record) {
                (Entry::Marker { producer, commit }, _) => shard.marker(*at, *producer, *commit),
                (Entry::Commit { place, .. } | Entry::Delete { place }, Some(record)) => {
                    if n >= stable || last.get(place) == Some(&n) {
                        shard.replay(*at, record);
                    }
                }
                (Entry::Commit { .. } | Entry::Delete { .. }, None) => unreachable!("it is a record"),
            }
        }
        assert_eq!(shard.hard().offsets(), self.driver.machine().hard().offsets());
    }
}
