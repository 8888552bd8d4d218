//! What random tests share: a shard behind its driver, its log of which a part is durable, a clock, topics,
//! and who waits for which answer. A test brings clients and what they may do.

#![allow(dead_code, reason = "no test uses all of it")]

mod compaction;

use std::collections::BTreeMap;
use std::io::Write as _;

use catalog::entry::{PartitionEntry, TopicEntry};
use catalog::{Entry, Image};
use coordinator::group::{GroupReply, GroupRequest, GroupShard, GroupTask};
use coordinator::{At, Caller, Driver, Entropy, Event, Machine, Millis, TaskId, Ticket, TopicsChange};
use wire::consumer_offsets::Record;
use wire::{LogRecord, Str, Uuid};

use compaction::{Logged, What, every_compaction_is_the_same};

/// Prefixes of a run's log that are read after compaction.
const COMPACTIONS: usize = 4;

/// An answer that arrived, and whom it is for.
pub(crate) type Arrived = (Ticket, Str, GroupReply);

pub(crate) struct Bench {
    chance: Entropy,
    seed: u64,
    pub(crate) driver: Driver<GroupShard>,
    pub(crate) image: Image,
    ids: u8,
    pub(crate) now: Millis,
    log: Vec<(At, Record)>,
    /// Lengths of the log after each batch.
    ends: Vec<usize>,
    /// Offset below which the log is durable.
    durable: i64,
    tickets: u64,
    /// Who asked, and whether the response will get lost.
    asked: BTreeMap<Ticket, (Str, bool)>,
    /// What the shard asked for.
    pub(crate) tasks: Vec<(TaskId, GroupTask)>,
    /// `TRACE=1` shows who asked what, and what came back.
    traces: bool,
}

impl Bench {
    pub(crate) fn new(seed: u64) -> Self {
        let mut bench = Self {
            chance: Entropy::seeded(seed),
            seed,
            driver: Driver::new(Entropy::seeded(seed), 1_000_000),
            image: Image::default(),
            ids: 0,
            now: 1_700_000_000_000,
            log: Vec::new(),
            ends: Vec::new(),
            durable: 0,
            tickets: 0,
            asked: BTreeMap::new(),
            tasks: Vec::new(),
            traces: std::env::var_os("TRACE").is_some(),
        };
        bench.load();
        bench
    }

    pub(crate) fn shard(&self) -> &GroupShard {
        self.driver.machine()
    }

    /// A number below `below`.
    pub(crate) fn pick(&mut self, below: u64) -> u64 {
        self.chance.next_u64() % below
    }

    pub(crate) fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        let at = self.pick(u64::try_from(list.len()).unwrap());
        list[usize::try_from(at).unwrap()]
    }

    /// One of the keys, if there is any.
    pub(crate) fn any<T>(&mut self, of: &BTreeMap<Str, T>) -> Option<Str> {
        let count = u64::try_from(of.len()).unwrap();
        let at = if count == 0 { return None } else { usize::try_from(self.pick(count)).unwrap() };
        of.keys().nth(at).cloned()
    }

    /// A fresh shard reads the log. Chance goes on: the same ids are not given out again.
    pub(crate) fn load(&mut self) {
        let entropy =
            Entropy::seeded(self.seed ^ (u64::try_from(self.log.len()).unwrap() << 32) ^ self.tickets);
        self.driver = Driver::new(entropy, 1_000_000);
        self.tasks.clear();
        for (at, record) in &self.log {
            self.driver.replay(*at, record);
        }
        let end = i64::try_from(self.log.len()).unwrap();
        assert_eq!(self.driver.loaded(end, self.now, &self.image).batches, []);
        self.asked.clear();
    }

    /// What is not durable is gone, and so are the replies that waited for it.
    pub(crate) fn crash(&mut self) {
        let durable = usize::try_from(self.durable).unwrap();
        self.log.truncate(durable);
        self.ends.retain(|it| *it <= durable);
        self.load();
    }

    pub(crate) fn event(&mut self, event: Event<GroupShard>) -> Vec<Arrived> {
        let round = self.driver.round(self.now, &self.image, vec![event]);
        for batch in round.batches {
            for (offset, (key, value)) in (batch.base_offset..).zip(batch.records) {
                let at = At { offset, timestamp: batch.timestamp, producer: None };
                let record = Record::decode(&key, value.as_ref()).unwrap().unwrap();
                self.log.push((at, record));
            }
            self.ends.push(self.log.len());
        }
        self.tasks.extend(round.tasks);
        assert_eq!(self.driver.written(), i64::try_from(self.log.len()).unwrap());
        if self.pick(3) > 0 {
            self.durable = self.driver.written();
        }
        self.release()
    }

    /// The ticket, and what arrived at once.
    pub(crate) fn ask(
        &mut self,
        client: &Str,
        version: i16,
        request: GroupRequest,
        lost: bool,
    ) -> (Ticket, Vec<Arrived>) {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.asked.insert(ticket, (client.clone(), lost));
        if self.traces {
            Self::trace(format_args!(
                "{} {client} asks{} {request:?}",
                self.now,
                if lost { ", in vain," } else { "" }
            ));
        }
        let caller = Caller { api_version: version, client_id: client.clone(), ..Caller::default() };
        (ticket, self.event(Event::Ask { ticket, caller, request }))
    }

    /// Tickets given out so far; the next question has the next number.
    pub(crate) fn tickets(&self) -> u64 {
        self.tickets
    }

    pub(crate) fn become_durable(&mut self) -> Vec<Arrived> {
        self.durable = self.driver.written();
        self.release()
    }

    fn trace(line: std::fmt::Arguments<'_>) {
        let _ = writeln!(std::io::stderr(), "{line}");
    }

    /// Replies that wait for nothing more; the lost ones are left out.
    fn release(&mut self) -> Vec<Arrived> {
        let mut arrived = Vec::new();
        while let Some((ticket, reply)) = self.driver.release(self.durable) {
            let (client, lost) = self.asked.remove(&ticket).expect("each ticket is answered once");
            if self.traces {
                Self::trace(format_args!("{} {client} is answered {reply:?}", self.now));
            }
            if !lost {
                arrived.push((ticket, client, reply));
            }
        }
        arrived
    }

    pub(crate) fn pass_until(&mut self, to: Millis) -> Vec<Arrived> {
        let mut arrived = Vec::new();
        while let Some(deadline) = self.driver.deadline().filter(|it| *it <= to) {
            self.now = self.now.max(deadline);
            arrived.extend(self.event(Event::Wake));
        }
        self.now = to;
        arrived
    }

    pub(crate) fn topic(&self, name: &str) -> Option<&catalog::Topic> {
        self.image.topic(name)
    }

    pub(crate) fn create_topic(&mut self, name: &str, partitions: usize) -> Vec<Arrived> {
        if self.image.topic(name).is_some() {
            return Vec::new();
        }
        self.ids += 1;
        let mut id = [0; 16];
        id[15] = self.ids;
        self.apply(Entry::Topic(TopicEntry {
            name: name.to_owned(),
            id: Uuid(id),
            replication_factor: 1,
            partitions: vec![PartitionEntry { id: 0, replicas: vec![0] }; partitions],
            configs: BTreeMap::new(),
        }))
    }

    /// One more partition.
    pub(crate) fn grow_topic(&mut self, topic: Uuid) -> Vec<Arrived> {
        let partitions = vec![PartitionEntry { id: 0, replicas: vec![0] }];
        self.apply(Entry::Partitions { topic, partitions })
    }

    pub(crate) fn apply(&mut self, entry: Entry) -> Vec<Arrived> {
        let (image, changes) = self.image.apply_all(&[entry]);
        self.image = image;
        self.event(Event::Topics(TopicsChange::from(&changes)))
    }

    /// The log makes the live state; and each prefix of it the same one, whatever compaction has taken away.
    pub(crate) fn replay_equals_live(&mut self) {
        let mut shard = GroupShard::default();
        self.log.iter().for_each(|(at, record)| shard.replay(*at, record));
        assert_eq!(shard.hard(), self.shard().hard());
        let logged = |(n, (at, record)): (usize, &(At, Record))| {
            let (key, value) = record.encode().unwrap();
            let batch = i64::try_from(self.ends.partition_point(|it| *it <= n)).unwrap();
            Logged { at: *at, what: What::Record { key, value }, batch }
        };
        let log: Vec<_> = self.log.iter().enumerate().map(logged).collect();
        if let Err(differs) = every_compaction_is_the_same(&log, &mut self.chance, COMPACTIONS) {
            panic!("{differs}");
        }
    }
}
