//! Transactions under random events: producers of both protocols that crash, come twice, lose responses; a coordinator
//! that dies between any two steps; markers that fail, come late and come twice. `SEED=n` runs one again.
//!
//! What must hold (T-1 to T-4 of `coordinator::txn`):
//! * what was acknowledged as committed is committed in every partition, what was acknowledged as aborted in none
//! * what was not acknowledged is the one or the other, in all its partitions
//! * in the end no transaction is open anywhere, and no transactional id is busy
//! * no two producers ever get the same producer id and epoch, and those of a transactional id never go back
//! * the log makes the live state, at each load and at the end

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test, though not inside its function")]

use std::collections::{BTreeMap, BTreeSet};

use catalog::entry::{PartitionEntry, TopicEntry};
use catalog::{Entry, Image};
use coordinator::txn::{
    AddPartitions, EndTxn, InitProducerId, State, TopicPartition, TxnRecord, TxnReply, TxnRequest, TxnShard,
    TxnTask, TxnTaskResult, WriteMarkers,
};
use coordinator::{At, Caller, Driver, Entropy, Event, Machine, Millis, TaskId, Ticket};
use wire::transaction_state::TransactionLogValue;
use wire::{ErrorCode, LogRecord, Str, Uuid};

const RUNS: u64 = 60;
const STEPS: usize = 400;
/// Seeds that once failed.
const KEPT: [u64; 1] = [400_005];
const IDS: [&str; 3] = ["x", "y", "z"];
const PARTITIONS: i32 = 3;
const TIMEOUT: i32 = 10_000;

#[test]
fn decisions_survive() {
    testkit::seed::each(&KEPT, RUNS, run);
}

/// Every single crash point of a short story: it dies once, after each of its steps in turn.
#[test]
fn decisions_survive_a_death_after_any_step() {
    const STORY: usize = 120;
    let seed = testkit::seed::seed();
    for last in 0..STORY {
        let run = std::panic::catch_unwind(|| {
            let mut world = World { dies: false, ..World::new(seed) };
            for step in 0..STORY {
                world.something();
                if step == last {
                    world.crash();
                }
            }
            world.come_to_rest();
            world.check();
        });
        assert!(run.is_ok(), "run again with SEED={seed}; it died after step {last}");
    }
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    for _ in 0..STEPS {
        world.something();
    }
    world.come_to_rest();
    world.check();
}

fn index(partition: i32) -> usize {
    usize::try_from(partition).unwrap()
}

/// What a partition knows of a producer.
#[derive(Default, Clone)]
struct Known {
    epoch: i16,
    /// Transactions with records behind the last marker.
    open: BTreeSet<u32>,
    markers: u32,
}

/// One partition of records.
#[derive(Default)]
struct Partition {
    producers: BTreeMap<i64, Known>,
    /// By transaction: whether its marker committed it.
    ended: BTreeMap<u32, bool>,
}

impl Partition {
    fn mark(&mut self, it: &WriteMarkers) -> ErrorCode {
        let entry =
            self.producers.entry(it.producer_id).or_insert_with(|| Known { epoch: -1, ..Default::default() });
        let fits = match it.transaction_version {
            2.. => {
                it.producer_epoch > entry.epoch || (it.producer_epoch == entry.epoch && entry.open.is_empty())
            }
            _ => it.producer_epoch >= entry.epoch,
        };
        if !fits {
            return ErrorCode::INVALID_PRODUCER_EPOCH;
        }
        entry.epoch = it.producer_epoch;
        entry.markers += 1;
        for transaction in std::mem::take(&mut entry.open) {
            let before = self.ended.insert(transaction, it.commit);
            assert!(before.is_none_or(|end| end == it.commit), "a transaction ended in two ways");
        }
        ErrorCode::NONE
    }
}

/// What a producer waits for.
#[derive(Clone, Debug, PartialEq)]
enum Asked {
    Init,
    Add { partition: i32, markers: u32 },
    End { commit: bool },
}

/// A transactional producer that follows the protocol.
#[derive(Clone)]
struct Producer {
    id: Str,
    /// Level of `transaction.version` that it knows.
    level: i16,
    /// Producer id and epoch, once it has them.
    has: Option<(i64, i16)>,
    /// It may go on with what it has.
    ready: bool,
    /// Number of its open transaction, with the partitions that are in.
    transaction: Option<(u32, BTreeSet<i32>)>,
    ending: Option<bool>,
    asked: Option<(Ticket, Asked)>,
}

/// See [`World::tasks`].
type Task = (i64, TaskId, TxnTask, Vec<(TopicPartition, ErrorCode)>);

struct World {
    chance: Entropy,
    /// At any time, of its own accord.
    dies: bool,
    driver: Driver<TxnShard>,
    image: Image,
    now: Millis,
    log: Vec<(At, TxnRecord)>,
    durable: i64,
    /// Tasks with the offset below which the log must be durable before they start, and the markers written.
    tasks: Vec<Task>,
    partitions: Vec<Partition>,
    producers: Vec<Producer>,
    next_id: i64,
    next_transaction: u32,
    tickets: u64,
    /// Answers that a producer was told: committed or aborted.
    told: BTreeMap<u32, bool>,
    /// Producer ids and epochs that were given out, with who has them.
    given: BTreeMap<(i64, i16), Str>,
    latest: BTreeMap<Str, (i64, i16)>,
}

/// The finalized level of `transaction.version`, which may change at any time.
fn level(level: i16) -> Entry {
    Entry::Feature { name: "transaction.version".to_owned(), level }
}

impl World {
    fn new(seed: u64) -> Self {
        let partition = |_| PartitionEntry { id: 0, replicas: vec![0] };
        let topic = TopicEntry {
            name: "a".to_owned(),
            id: Uuid([1; 16]),
            replication_factor: 1,
            partitions: (0..PARTITIONS).map(partition).collect(),
            configs: BTreeMap::new(),
        };
        let mut chance = Entropy::seeded(seed);
        let first = level(if chance.next_u64().is_multiple_of(3) { 1 } else { 2 });
        let (image, _) = Image::default().apply_all(&[Entry::Topic(topic), first]);
        let mut world = Self {
            chance,
            dies: true,
            driver: Driver::new(Entropy::seeded(seed), 1_000_000),
            image,
            now: 1_700_000_000_000,
            log: Vec::new(),
            durable: 0,
            tasks: Vec::new(),
            partitions: (0..PARTITIONS).map(|_| Partition::default()).collect(),
            producers: Vec::new(),
            next_id: 1,
            next_transaction: 0,
            tickets: 0,
            told: BTreeMap::new(),
            given: BTreeMap::new(),
            latest: BTreeMap::new(),
        };
        // One of the ids has few epochs left.
        let value = TransactionLogValue {
            producer_id: 1,
            producer_epoch: 32_764,
            transaction_timeout_ms: TIMEOUT,
            transaction_start_timestamp_ms: -1,
            ..Default::default()
        };
        let record = TxnRecord { transactional_id: Str::from_static("z"), value: Some(value), version: 1 };
        world.log.push((At { offset: 0, timestamp: world.now, producer: None }, record));
        world.durable = 1;
        world.load();
        world
    }

    fn pick(&mut self, count: u64) -> u64 {
        self.chance.next_u64() % count
    }

    fn load(&mut self) {
        self.driver = Driver::new(Entropy::seeded(1), 1_000_000);
        self.tasks.clear();
        for producer in &mut self.producers {
            producer.asked = None;
        }
        for (at, record) in &self.log {
            self.driver.replay(*at, record);
        }
        let end = self.log.last().map_or(0, |(at, _)| at.offset + 1);
        let round = self.driver.loaded(end, self.now, &self.image);
        self.take(round);
    }

    fn take(&mut self, round: coordinator::Round<TxnShard>) {
        for batch in round.batches {
            for (offset, (key, value)) in (batch.base_offset..).zip(batch.records) {
                let record = TxnRecord::decode(&key, value.as_ref()).unwrap().unwrap();
                self.log.push((At { offset, timestamp: batch.timestamp, producer: None }, record));
            }
        }
        let written = self.driver.written();
        self.tasks.extend(round.tasks.into_iter().map(|(id, task)| (written, id, task, Vec::new())));
    }

    fn event(&mut self, event: Event<TxnShard>) {
        let round = self.driver.round(self.now, &self.image, vec![event]);
        self.take(round);
    }

    fn something(&mut self) {
        match self.pick(100) {
            0..4 if self.dies => self.crash(),
            4..8 => self.advance(3_000),
            0..4 | 8..24 => self.flush(),
            24..50 => self.work(true),
            50..54 => self.new_producer(),
            54 => {
                let chosen = i16::try_from(self.pick(3)).unwrap();
                self.image = self.image.apply(&level(chosen));
            }
            _ => self.produce(true),
        }
        self.release(true);
    }

    /// The coordinator dies: what is not durable is lost; markers that were on their way may still arrive.
    fn crash(&mut self) {
        self.replay_equals_live();
        for (after, _, task, _) in std::mem::take(&mut self.tasks) {
            let TxnTask::WriteMarkers(markers) = task else { continue };
            for place in &markers.partitions {
                if after <= self.durable && self.pick(3) == 0 {
                    self.partitions[index(place.index)].mark(&markers);
                }
            }
        }
        let durable = self.durable;
        self.log.retain(|(at, _)| at.offset < durable);
        self.load();
    }

    fn replay_equals_live(&self) {
        let mut shard = TxnShard::default();
        self.log.iter().for_each(|(at, record)| shard.replay(*at, record));
        assert_eq!(shard.hard(), self.driver.machine().hard());
    }

    fn advance(&mut self, most: u64) {
        self.now += 1 + i64::try_from(self.pick(most)).unwrap();
        if self.driver.deadline().is_some_and(|it| it <= self.now) {
            self.event(Event::Wake);
        }
    }

    /// Part of the log becomes durable, or all of it.
    fn flush(&mut self) {
        let written = self.driver.written();
        let more = u64::try_from(written - self.durable).unwrap();
        let step = if self.pick(2) == 0 { more } else { self.pick(more + 1) };
        self.durable += i64::try_from(step).unwrap();
    }

    /// One step of one task.
    fn work(&mut self, with_trouble: bool) {
        let ready: Vec<_> = (0..self.tasks.len()).filter(|it| self.tasks[*it].0 <= self.durable).collect();
        if ready.is_empty() {
            return;
        }
        let at = ready[usize::try_from(self.pick(ready.len() as u64)).unwrap()];
        let (_, id, task, written) = &self.tasks[at];
        let (id, task, written) = (*id, task.clone(), written.len());
        let result = match task {
            TxnTask::NextId if with_trouble && self.pick(5) == 0 => TxnTaskResult::NextId(None),
            TxnTask::NextId => {
                self.next_id += 1;
                TxnTaskResult::NextId(Some(self.next_id))
            }
            TxnTask::WriteMarkers(markers) => {
                if let Some(place) = markers.partitions.get(written).cloned() {
                    let partition = &mut self.partitions[index(place.index)];
                    let code = match self.chance.next_u64() % 6 {
                        0 if with_trouble => ErrorCode::NOT_LEADER_OR_FOLLOWER,
                        // It is written, and the answer gets lost.
                        1 if with_trouble => {
                            partition.mark(&markers);
                            ErrorCode::REQUEST_TIMED_OUT
                        }
                        _ => partition.mark(&markers),
                    };
                    self.tasks[at].3.push((place, code));
                    return;
                }
                TxnTaskResult::Markers {
                    transactional_id: markers.transactional_id,
                    results: self.tasks[at].3.clone(),
                }
            }
        };
        self.tasks.remove(at);
        self.event(Event::Done(id, result));
    }

    /// A process starts: an older one with the same transactional id may live on as a zombie.
    fn new_producer(&mut self) {
        let id = Str::from_static(IDS[usize::try_from(self.pick(3)).unwrap()]);
        let level = if self.pick(3) == 0 { 0 } else { 2 };
        if self.pick(2) == 0 {
            self.producers.retain(|it| it.id != id);
        }
        self.producers.push(Producer {
            id,
            level,
            has: None,
            ready: false,
            transaction: None,
            ending: None,
            asked: None,
        });
    }

    /// A producer does its next step, if it waits for nothing.
    fn produce(&mut self, may_begin: bool) {
        if self.producers.is_empty() {
            return self.new_producer();
        }
        let count = self.producers.len() as u64;
        let at = usize::try_from(self.pick(count)).unwrap();
        let lost = self.pick(12) == 0;
        let producer = self.producers[at].clone();
        if producer.asked.is_some() {
            // It heard nothing for long, and asks again.
            if lost {
                self.producers[at].asked = None;
            }
            return;
        }
        let (request, asked) = self.next_request(at, &producer, may_begin);
        let Some((request, asked)) = request.zip(asked) else { return };
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.producers[at].asked = Some((ticket, asked));
        self.event(Event::Ask { ticket, caller: Caller::default(), request });
    }

    fn next_request(
        &mut self,
        at: usize,
        producer: &Producer,
        may_begin: bool,
    ) -> (Option<TxnRequest>, Option<Asked>) {
        let Some((producer_id, producer_epoch)) = producer.has.filter(|_| producer.ready) else {
            // Clients of both kinds go on with what they have after an error (KIP-360).
            let request = InitProducerId {
                transactional_id: producer.id.clone(),
                timeout_ms: TIMEOUT,
                expected: producer.has,
            };
            return (Some(TxnRequest::InitProducerId(request)), Some(Asked::Init));
        };
        let added = producer.transaction.as_ref().is_some_and(|(_, partitions)| !partitions.is_empty());
        if let Some(commit) =
            producer.ending.or_else(|| (added && self.pick(3) == 0).then(|| self.pick(3) != 0))
        {
            self.producers[at].ending = Some(commit);
            let request = EndTxn {
                transactional_id: producer.id.clone(),
                producer_id,
                producer_epoch,
                commit,
                client_version: producer.level,
            };
            return (Some(TxnRequest::EndTxn(request)), Some(Asked::End { commit }));
        }
        if producer.transaction.is_none() && !may_begin {
            return (None, None);
        }
        if producer.transaction.is_none() {
            self.next_transaction += 1;
            self.producers[at].transaction = Some((self.next_transaction, BTreeSet::new()));
        }
        let partition = i32::try_from(self.pick(3)).unwrap();
        let markers =
            self.partitions[index(partition)].producers.get(&producer_id).map_or(0, |it| it.markers);
        let request = AddPartitions {
            transactional_id: producer.id.clone(),
            producer_id,
            producer_epoch,
            partitions: vec![TopicPartition { topic: Str::from_static("a"), index: partition }],
            verify_only: false,
        };
        (Some(TxnRequest::AddPartitions(request, producer.level)), Some(Asked::Add { partition, markers }))
    }

    /// Replies that may leave reach their producers, or get lost.
    fn release(&mut self, with_trouble: bool) {
        while let Some((ticket, reply)) = self.driver.release(self.durable) {
            let waits = |it: &Producer| it.asked.as_ref().is_some_and(|(asked, _)| *asked == ticket);
            let Some(at) = self.producers.iter().position(waits) else { continue };
            let (_, asked) = self.producers[at].asked.take().unwrap();
            if with_trouble && self.pick(10) == 0 {
                continue;
            }
            self.answered(at, &asked, &reply);
        }
    }

    fn answered(&mut self, at: usize, asked: &Asked, reply: &TxnReply) {
        let code = match (asked, reply) {
            (Asked::Init, TxnReply::InitProducerId(Ok(has))) => return self.initialized(at, *has),
            (Asked::End { commit }, TxnReply::EndTxn(Ok(next))) => return self.ended(at, *commit, *next),
            (Asked::Init, TxnReply::InitProducerId(Err(code)))
            | (Asked::End { .. }, TxnReply::EndTxn(Err(code))) => *code,
            (Asked::Add { partition, markers }, TxnReply::AddPartitions(codes)) => {
                if codes[0] == ErrorCode::NONE {
                    return self.append(at, *partition, *markers);
                }
                codes[0]
            }
            other => panic!("the answer to another question: {other:?}"),
        };
        match code {
            ErrorCode::CONCURRENT_TRANSACTIONS | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS => {}
            ErrorCode::PRODUCER_FENCED if *asked == Asked::Init => {
                self.producers.remove(at);
            }
            ErrorCode::PRODUCER_FENCED
            | ErrorCode::INVALID_PRODUCER_ID_MAPPING
            | ErrorCode::INVALID_TXN_STATE => {
                self.fail(at);
            }
            code => panic!("{asked:?} got {code}"),
        }
    }

    /// The transaction's outcome is not known to its producer, which begins again.
    fn fail(&mut self, at: usize) {
        let producer = &mut self.producers[at];
        (producer.ready, producer.transaction, producer.ending) = (false, None, None);
    }

    fn initialized(&mut self, at: usize, has: (i64, i16)) {
        let id = self.producers[at].id.clone();
        let before = self.producers[at].has;
        // The same again only for who asks again.
        assert!(
            !self.given.contains_key(&has) || before.is_some(),
            "{has:?} was given to {id} and to {}",
            self.given[&has]
        );
        self.give(&id, has);
        let producer = &mut self.producers[at];
        (producer.has, producer.ready) = (Some(has), true);
        (producer.transaction, producer.ending) = (None, None);
    }

    fn give(&mut self, id: &Str, has: (i64, i16)) {
        let owner = self.given.entry(has).or_insert_with(|| id.clone());
        assert_eq!(owner, id, "{has:?} was given to two transactional ids");
        let latest = self.latest.entry(id.clone()).or_insert(has);
        *latest = has.max(*latest);
        let hard = self.driver.machine().hard().get(id).unwrap();
        assert!(
            (hard.producer_id, hard.producer_epoch) >= *latest || hard.state.is_prepared(),
            "{id} went back"
        );
    }

    fn ended(&mut self, at: usize, commit: bool, next: (i64, i16)) {
        let producer = &mut self.producers[at];
        let (transaction, _) = producer.transaction.take().unwrap();
        producer.ending = None;
        if next != (-1, -1) {
            producer.has = Some(next);
            let id = producer.id.clone();
            self.give(&id, next);
        }
        assert!(self.told.insert(transaction, commit).is_none(), "a transaction ended twice");
    }

    /// The partition is in the transaction: the records are written, unless a marker came since the question was asked
    /// (the guard of KIP-890), or the producer is fenced.
    fn append(&mut self, at: usize, partition: i32, markers: u32) {
        let producer = &mut self.producers[at];
        let (id, epoch) = producer.has.unwrap();
        let Some((transaction, places)) = &mut producer.transaction else { return };
        let entry = self.partitions[index(partition)].producers.entry(id).or_default();
        if entry.epoch > epoch || entry.markers != markers {
            return self.fail(at);
        }
        entry.epoch = epoch;
        entry.open.insert(*transaction);
        places.insert(partition);
    }

    /// The trouble stops, and nobody begins anything.
    fn come_to_rest(&mut self) {
        for _ in 0..2_000 {
            match self.pick(3) {
                0 => self.produce(false),
                1 => self.work(false),
                _ => self.durable = self.driver.written(),
            }
            self.release(false);
        }
        for _ in 0..40 {
            self.advance(3_000);
            for _ in 0..40 {
                self.durable = self.driver.written();
                self.work(false);
                self.release(false);
            }
        }
    }

    fn check(&self) {
        self.replay_equals_live();
        for (id, transaction) in self.driver.machine().hard().transactions() {
            assert!(transaction.state.is_idle(), "{id} is {:?}", transaction.state);
        }
        assert!(self.driver.machine().soft().completing.is_empty());
        let mut outcomes: BTreeMap<u32, bool> = self.told.clone();
        for partition in &self.partitions {
            let open = partition.producers.values().flat_map(|it| &it.open).count();
            assert_eq!(open, 0, "a transaction hangs");
            for (transaction, committed) in &partition.ended {
                let outcome = *outcomes.entry(*transaction).or_insert(*committed);
                assert_eq!(
                    outcome, *committed,
                    "transaction {transaction} was told, or ended elsewhere, otherwise"
                );
            }
        }
        assert!(self.driver.machine().hard().transactions().all(|(_, it)| it.state != State::Ongoing));
    }
}
