//! A transaction shard with a simulated clock and log, driven by commands.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use bytes::Bytes;
use catalog::entry::{PartitionEntry, Resource, TopicEntry};
use catalog::{Entry, Image, Local};
use coordinator::group::consumer::pattern;
use coordinator::txn::{
    AddPartitions, EndTxn, InitProducerId, ListTransactions, State, TimerKey, TopicPartition, TxnRecord,
    TxnRequest, TxnShard, TxnTask, TxnTaskResult,
};
use coordinator::{At, Caller, Driver, Entropy, Event, Machine, Millis, Round, TaskId, Ticket, TopicsChange};
use wire::{ErrorCode, LogRecord, Str, Uuid};

use crate::args::{Args, Parsed, duration, number};
use crate::clock::{self, Clocked, START, since_start};
use crate::show;

const BATCH_BYTES_MAX: usize = 1_000_000;
/// The first producer id that the catalog gives out.
const FIRST_ID: i64 = 1_000;

/// One record as it stands in the log.
struct Logged {
    at: At,
    key: Bytes,
    value: Option<Bytes>,
}

impl Logged {
    fn record(&self) -> TxnRecord {
        let record = TxnRecord::decode(&self.key, self.value.as_ref());
        record.expect("the shard wrote it").expect("the shard knows its own records")
    }
}

pub(crate) struct World {
    driver: Driver<TxnShard>,
    image: Image,
    topics: u8,
    now: Millis,
    log: Vec<Logged>,
    durable: i64,
    /// Nothing becomes durable until the script says so.
    held: bool,
    asked: BTreeMap<Ticket, String>,
    timers: BTreeMap<TimerKey, Millis>,
    /// Tasks of the shard with the offset below which the log must be durable before they start.
    tasks: VecDeque<(i64, TaskId, TxnTask)>,
    next_id: i64,
    /// Ids are given when the script says so.
    ids_wait: bool,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut world = Self {
            driver: Driver::new(Entropy::seeded(1), BATCH_BYTES_MAX),
            image: Image::new(Local::default()),
            topics: 0,
            now: START,
            log: Vec::new(),
            durable: 0,
            held: false,
            asked: BTreeMap::new(),
            timers: BTreeMap::new(),
            tasks: VecDeque::new(),
            next_id: FIRST_ID,
            ids_wait: false,
        };
        world.feature(2);
        world.load();
        // The look for expired ids is always armed.
        world.timers = world.all_timers();
        world
    }

    fn feature(&mut self, level: i16) {
        self.image = self.image.apply(&Entry::Feature { name: "transaction.version".to_owned(), level });
    }

    /// A fresh driver reads the log.
    fn load(&mut self) -> String {
        self.driver = Driver::new(Entropy::seeded(1), BATCH_BYTES_MAX);
        self.tasks.clear();
        for logged in &self.log {
            self.driver.replay(logged.at, &logged.record());
        }
        let end = self.log.last().map_or(0, |it| it.at.offset + 1);
        let round = self.driver.loaded(end, self.now, &self.image);
        self.take(round)
    }

    /// What the host does with a round, as lines.
    fn take(&mut self, round: Round<TxnShard>) -> String {
        let mut out = String::new();
        for batch in round.batches {
            for (at, (key, value)) in (batch.base_offset..).zip(batch.records) {
                let at = At { offset: at, timestamp: batch.timestamp, producer: batch.producer };
                let logged = Logged { at, key, value };
                let _ = writeln!(out, "{}", show::record(&logged.record(), self.now));
                self.log.push(logged);
            }
        }
        let written = self.driver.written();
        self.tasks.extend(round.tasks.into_iter().map(|(id, task)| (written, id, task)));
        if !self.held {
            self.durable = written;
        }
        out.push_str(&self.release());
        out.push_str(&self.changed_timers());
        out.push_str(&self.give_ids());
        out
    }

    fn release(&mut self) -> String {
        let mut out = String::new();
        while let Some((ticket, reply)) = self.driver.release(self.durable) {
            let asked = self.asked.remove(&ticket).expect("each ticket is answered once");
            out.push_str(&show::reply(&asked, &reply));
        }
        for (after, _, task) in &mut self.tasks {
            if *after <= self.durable && *after >= 0 {
                *after = -1;
                if *task != TxnTask::NextId || self.ids_wait {
                    let _ = writeln!(out, "{}", show::task(task));
                }
            }
        }
        out
    }

    /// Producer ids come at once, unless the script wants them to wait.
    fn give_ids(&mut self) -> String {
        let started = |it: &(i64, TaskId, TxnTask)| it.0 == -1 && it.2 == TxnTask::NextId;
        if self.ids_wait {
            return String::new();
        }
        let Some(place) = self.tasks.iter().position(started) else { return String::new() };
        let (_, task, _) = self.tasks.remove(place).expect("it was just found");
        let id = self.next_id;
        self.next_id += 1;
        self.event(Event::Done(task, TxnTaskResult::NextId(Some(id))))
    }

    fn all_timers(&self) -> BTreeMap<TimerKey, Millis> {
        self.driver.machine().soft().timers.iter().map(|(key, time)| (key.clone(), time)).collect()
    }

    fn changed_timers(&mut self) -> String {
        let timers = self.all_timers();
        let before = std::mem::replace(&mut self.timers, timers);
        let mut out = String::new();
        for (key, time) in self.timers.iter().filter(|(key, time)| before.get(key) != Some(time)) {
            let _ = writeln!(out, "timer {} at {}", show::timer(key), since_start(*time));
        }
        for key in before.keys().filter(|it| !self.timers.contains_key(it)) {
            let _ = writeln!(out, "timer {} off", show::timer(key));
        }
        out
    }

    fn event(&mut self, event: Event<TxnShard>) -> String {
        let round = self.driver.round(self.now, &self.image, vec![event]);
        self.take(round)
    }

    fn ask(&mut self, asked: &str, request: TxnRequest) -> String {
        let ticket = Ticket(self.asked.last_key_value().map_or(1, |(it, _)| it.0 + 1));
        self.asked.insert(ticket, asked.to_owned());
        self.event(Event::Ask { ticket, caller: Caller::default(), request })
    }

    fn run(&mut self, line: &str) -> Parsed<String> {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut args = Args::new(rest);
        let out = match name {
            "init" => {
                let id = args.word("transactional id")?;
                let timeout = args.duration("timeout")?.unwrap_or(60_000);
                let expected = args.option("expect").map(producer).transpose()?;
                let request = InitProducerId {
                    transactional_id: id.into(),
                    timeout_ms: i32::try_from(timeout).map_err(|it| it.to_string())?,
                    expected,
                };
                self.ask(&format!("init {id}"), TxnRequest::InitProducerId(request))
            }
            "add" | "verify" => {
                let id = args.word("transactional id")?;
                let (producer_id, producer_epoch) = producer(args.word("id/epoch")?)?;
                let client_version = args.number("client")?.unwrap_or(2);
                let request = AddPartitions {
                    transactional_id: id.into(),
                    producer_id,
                    producer_epoch,
                    partitions: args.rest().into_iter().map(places).collect::<Parsed<Vec<_>>>()?.concat(),
                    verify_only: name == "verify",
                };
                self.ask(&format!("{name} {id}"), TxnRequest::AddPartitions(request, client_version))
            }
            "commit" | "abort" => {
                let id = args.word("transactional id")?;
                let (producer_id, producer_epoch) = producer(args.word("id/epoch")?)?;
                let request = EndTxn {
                    transactional_id: id.into(),
                    producer_id,
                    producer_epoch,
                    commit: name == "commit",
                    client_version: args.number("client")?.unwrap_or(2),
                };
                self.ask(&format!("{name} {id}"), TxnRequest::EndTxn(request))
            }
            "describe" => {
                let ids = args.rest().into_iter().map(Str::from).collect();
                self.ask("describe", TxnRequest::Describe(ids))
            }
            "list" => {
                let request = list(&mut args)?;
                self.ask("list", TxnRequest::List(request))
            }
            _ => self.control(name, &mut args)?,
        };
        args.done()?;
        Ok(out)
    }

    /// Commands about the world itself.
    fn control(&mut self, name: &str, args: &mut Args<'_>) -> Parsed<String> {
        match name {
            "marked" => self.marked(args),
            "topics" => self.topics(args),
            "level" => {
                let level = number(args.word("level")?)?;
                self.feature(level);
                Ok(String::new())
            }
            "config" => {
                for (key, value) in args.options() {
                    let (resource, key) = (Resource::Broker(String::new()), key.to_owned());
                    let entry = Entry::Config { resource, key, value: Some(value.to_owned()) };
                    self.image = self.image.apply(&entry);
                }
                Ok(String::new())
            }
            "ids" => self.ids(args),
            "at-epoch" => self.at_epoch(args),
            "hold" => {
                self.held = true;
                Ok(String::new())
            }
            "durable" => {
                self.held = false;
                self.durable = self.driver.written();
                let mut out = self.release();
                out.push_str(&self.give_ids());
                Ok(out)
            }
            "reload" => {
                self.replay_equals_live()?;
                let mut out = self.lost_replies();
                out.push_str(&self.load());
                Ok(out)
            }
            "crash" => {
                let durable = self.durable;
                self.log.retain(|it| it.at.offset < durable);
                let mut out = self.lost_replies();
                self.held = false;
                out.push_str(&self.load());
                Ok(out)
            }
            "jump" => {
                self.now += duration(args.word("duration")?)?;
                Ok(String::new())
            }
            "wake" => Ok(self.event(Event::Wake)),
            _ => Err("no such command".into()),
        }
    }

    /// `marked X` ends the oldest marker task of X: with NONE, or with the codes given as `topic:0=CODE`. With the
    /// word `all` in place of a code, all partitions have it.
    fn marked(&mut self, args: &mut Args<'_>) -> Parsed<String> {
        let id = Str::from(args.word("transactional id")?);
        let wanted = |it: &(i64, TaskId, TxnTask)| match &it.2 {
            TxnTask::WriteMarkers(task) => it.0 == -1 && task.transactional_id == id,
            TxnTask::NextId => false,
        };
        let place = self.tasks.iter().position(wanted).ok_or("no markers of it are out")?;
        let Some((_, task, TxnTask::WriteMarkers(markers))) = self.tasks.remove(place) else {
            return Err("not markers".into());
        };
        let all = args.option("all").map(code).transpose()?;
        let mut codes = BTreeMap::new();
        for word in args.rest() {
            let (place, name) = word.split_once('=').ok_or_else(|| format!("not place=CODE: {word:?}"))?;
            for place in places(place)? {
                codes.insert(place, code(name)?);
            }
        }
        let outcome = |it: TopicPartition| {
            let code = codes.get(&it).copied().or(all).unwrap_or(ErrorCode::NONE);
            (it, code)
        };
        let results = markers.partitions.into_iter().map(outcome).collect();
        Ok(self.event(Event::Done(task, TxnTaskResult::Markers { transactional_id: id, results })))
    }

    /// `at-epoch X 32766`: as if new instances had come until X has that epoch.
    fn at_epoch(&mut self, args: &mut Args<'_>) -> Parsed<String> {
        let id = args.word("transactional id")?;
        let last =
            self.log.iter().rev().find(|it| it.record().transactional_id == *id).ok_or("no such id")?;
        let mut record = last.record();
        record.value.as_mut().ok_or("it is gone")?.producer_epoch = number(args.word("epoch")?)?;
        let at = At { offset: self.driver.written(), timestamp: self.now, producer: None };
        let (key, value) = record.encode().map_err(|error| format!("{error:?}"))?;
        self.log.push(Logged { at, key, value });
        let mut out = format!("{}\n", show::record(&record, self.now));
        out.push_str(&self.load());
        Ok(out)
    }

    /// `ids wait`, `ids come`, `ids fail` (the oldest question).
    fn ids(&mut self, args: &mut Args<'_>) -> Parsed<String> {
        match args.word("wait, come or fail")? {
            "wait" => {
                self.ids_wait = true;
                Ok(String::new())
            }
            "come" => {
                self.ids_wait = false;
                Ok(self.give_ids())
            }
            "fail" => {
                let place = self.tasks.iter().position(|it| it.2 == TxnTask::NextId);
                let (_, task, _) =
                    place.and_then(|it| self.tasks.remove(it)).ok_or("nothing was asked for")?;
                Ok(self.event(Event::Done(task, TxnTaskResult::NextId(None))))
            }
            other => Err(format!("not wait, come or fail: {other:?}")),
        }
    }

    /// `topics create a:2`, `topics delete a`.
    fn topics(&mut self, args: &mut Args<'_>) -> Parsed<String> {
        let what = args.word("create or delete")?;
        let mut entries = Vec::new();
        for word in args.rest() {
            let (name, count) = word.split_once(':').unwrap_or((word, "1"));
            entries.push(match what {
                "create" => {
                    self.topics += 1;
                    let partition = |_| PartitionEntry { id: 0, replicas: vec![0] };
                    Entry::Topic(TopicEntry {
                        name: name.to_owned(),
                        id: Uuid([self.topics; 16]),
                        replication_factor: 1,
                        partitions: (0..number::<usize>(count)?).map(partition).collect(),
                        configs: BTreeMap::new(),
                    })
                }
                "delete" => {
                    let topic = self.image.topic(name).ok_or_else(|| format!("no topic {name:?}"))?;
                    Entry::TopicDeleted { topic: topic.id }
                }
                _ => return Err(format!("not create or delete: {what:?}")),
            });
        }
        let (image, changes) = self.image.apply_all(&entries);
        self.image = image;
        Ok(self.event(Event::Topics(TopicsChange::from(&changes))))
    }

    /// The host tells those who wait for the shard that it is gone.
    fn lost_replies(&mut self) -> String {
        let lost = std::mem::take(&mut self.asked);
        lost.values().map(|it| format!("lost reply {it}\n")).collect()
    }

    /// All records, read from their bytes by an empty shard, make the same hard state; so do the last ones of each
    /// id, with and without tombstones.
    fn replay_equals_live(&self) -> Parsed<()> {
        let live = self.driver.machine().hard();
        let last: BTreeMap<_, _> = self.log.iter().map(|it| (&it.key, it.at.offset)).collect();
        let kept = |it: &&Logged, compacted: u8| match compacted {
            0 => true,
            1 => last.get(&it.key) == Some(&it.at.offset),
            _ => last.get(&it.key) == Some(&it.at.offset) && it.value.is_some(),
        };
        for compacted in 0..3 {
            let mut shard = TxnShard::default();
            for logged in self.log.iter().filter(|it| kept(it, compacted)) {
                let record = logged.record();
                let encoded = record.encode().map_err(|error| format!("{error:?}"))?;
                if encoded != (logged.key.clone(), logged.value.clone()) {
                    return Err(format!("not the same bytes again: {record:?}"));
                }
                shard.replay(logged.at, &record);
            }
            if live != shard.hard() {
                return Err(format!(
                    "replay differs from live\nlive:     {live:?}\nreplayed: {:?}",
                    shard.hard()
                ));
            }
        }
        Ok(())
    }
}

/// `1000/3`.
fn producer(text: &str) -> Parsed<(i64, i16)> {
    let (id, epoch) = text.split_once('/').ok_or_else(|| format!("not id/epoch: {text:?}"))?;
    Ok((number(id)?, number(epoch)?))
}

/// `a:0,1`.
fn places(text: &str) -> Parsed<Vec<TopicPartition>> {
    let (topic, indexes) = text.split_once(':').ok_or_else(|| format!("not topic:0,1: {text:?}"))?;
    let place = |index| Ok(TopicPartition { topic: topic.into(), index: number(index)? });
    indexes.split(',').map(place).collect()
}

fn code(name: &str) -> Parsed<ErrorCode> {
    let codes = (-1..140).map(ErrorCode::from);
    codes.into_iter().find(|it| it.name() == name).ok_or_else(|| format!("no error {name:?}"))
}

fn list(args: &mut Args<'_>) -> Parsed<ListTransactions> {
    let states = args.option("states");
    if let Some(name) = states.iter().flat_map(|it| it.split(',')).find(|it| !State::is_name(it)) {
        return Err(format!("no state {name:?}"));
    }
    let states = states.map(|names| names.split(',').filter_map(State::from_name).collect());
    let ids = args.option("ids").map(|ids| ids.split(',').map(number).collect::<Parsed<_>>());
    Ok(ListTransactions {
        states,
        producer_ids: ids.transpose()?.unwrap_or_default(),
        duration_ms: args.duration("longer")?.unwrap_or(-1),
        pattern: args.option("pattern").map(pattern::compile).transpose()?,
    })
}

impl Clocked for World {
    fn now(&mut self) -> &mut Millis {
        &mut self.now
    }

    fn deadline(&self) -> Option<Millis> {
        self.driver.deadline()
    }

    fn wake(&mut self) -> String {
        self.event(Event::Wake)
    }

    fn command(&mut self, line: &str) -> Parsed<String> {
        self.run(line)
    }
}

impl testkit::script::Runner for World {
    fn command(&mut self, line: &str) -> Parsed<String> {
        clock::run(self, line)
    }

    fn finish(&mut self) -> Parsed<()> {
        self.replay_equals_live()
    }
}
