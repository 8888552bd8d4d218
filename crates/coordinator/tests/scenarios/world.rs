//! A shard with a simulated clock, log and set of topics, driven by commands.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::LazyLock;

use catalog::entry::Resource;
use coordinator::group::{GroupRequest, GroupShard, GroupTask, GroupTaskResult, PartitionEnd, TimerKey};
use coordinator::{At, Caller, Driver, Entropy, Event, Millis, Round, TaskId, Ticket};
use wire::{LogRecord, Str, Uuid};

use crate::args::{Args, Parsed, duration, number, partition};
use crate::ask::{self, Memory};
use crate::classic::{self, MemberIds};
use crate::clock::{self, Clocked, START, since_start};
use crate::compaction::{Logged, What, decoded, every_compaction_is_the_same, producer_of, replay};
use crate::consumer;
use crate::explain;
use crate::image::Topics;
use crate::show;

/// `max.message.bytes` of the log.
const BATCH_BYTES_MAX: usize = 1_000_000;
/// Prefixes of each script's log that are read after compaction.
const COMPACTIONS: usize = 20;
/// What is drawn of them.
static SEED: LazyLock<u64> = LazyLock::new(testkit::seed::seed);

pub(crate) struct World {
    driver: Driver<GroupShard>,
    topics: Topics,
    now: Millis,
    log: Vec<Logged>,
    durable: i64,
    /// Nothing becomes durable until the script says so.
    held: bool,
    asked: BTreeMap<Ticket, String>,
    timers: BTreeMap<TimerKey, Millis>,
    memory: Memory,
    member_ids: MemberIds,
    /// What the shard asked its host to do.
    tasks: VecDeque<(TaskId, GroupTask)>,
    /// Cut the printing of timers that only moved.
    quiet: bool,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut world = Self {
            driver: Driver::new(Entropy::seeded(1), BATCH_BYTES_MAX),
            topics: Topics::new(),
            now: START,
            log: Vec::new(),
            durable: 0,
            held: false,
            asked: BTreeMap::new(),
            timers: BTreeMap::new(),
            memory: Memory::default(),
            member_ids: MemberIds::default(),
            tasks: VecDeque::new(),
            quiet: false,
        };
        world.load();
        world
    }

    /// A fresh driver reads the log.
    fn load(&mut self) -> String {
        // Chance goes on: the same ids are not given out again.
        self.driver = Driver::new(Entropy::seeded(1 + self.log.len() as u64), BATCH_BYTES_MAX);
        self.tasks.clear();
        for Logged { at, what, .. } in &self.log {
            match what {
                What::Record { key, value } => self.driver.replay(*at, &decoded(key, value.as_ref())),
                What::Marker { commit } => self.driver.marker(*at, producer_of(at), *commit),
            }
        }
        let end = self.log.last().map_or(0, |it| it.at.offset + 1);
        let round = self.driver.loaded(end, self.now, self.topics.image());
        self.take(round)
    }

    /// What the host does with a round, as lines.
    fn take(&mut self, round: Round<GroupShard>) -> String {
        let mut out = String::new();
        for batch in round.batches {
            for (at, (key, value)) in (batch.base_offset..).zip(batch.records) {
                let at = At { offset: at, timestamp: batch.timestamp, producer: batch.producer };
                let record = show::record(&decoded(&key, value.as_ref()), self.now);
                let producer = batch.producer.map(|(id, epoch)| format!(" producer={id}/{epoch}"));
                let _ = writeln!(out, "{record}{}", producer.unwrap_or_default());
                self.log.push(Logged { at, what: What::Record { key, value }, batch: batch.base_offset });
            }
        }
        if !self.held {
            self.durable = self.driver.written();
        }
        out.push_str(&self.release());
        out.push_str(&self.changed_timers());
        for (id, task) in round.tasks {
            let _ = writeln!(out, "{}", show::task(&task, &self.topics.names()));
            self.tasks.push_back((id, task));
        }
        out
    }

    /// The log gets a marker, and the shard hears of it.
    fn marker(&mut self, args: &mut Args<'_>) -> Parsed<String> {
        let commit = match args.word("commit or abort")? {
            "commit" => true,
            "abort" => false,
            other => return Err(format!("not commit or abort: {other:?}")),
        };
        let producer = number(args.word("producer")?)?;
        let at =
            At { offset: self.driver.written(), timestamp: self.now, producer: Some((producer, i16::MAX)) };
        self.log.push(Logged { at, what: What::Marker { commit }, batch: at.offset });
        self.driver.marker(at, producer, commit);
        if !self.held {
            self.durable = self.driver.written();
        }
        Ok(self.release())
    }

    /// The answer to the oldest task: where partitions end. Those not named are not there.
    fn ends(&mut self, args: &mut Args<'_>) -> Parsed<String> {
        let Some((id, GroupTask::ChangelogEnds { group, partitions })) = self.tasks.pop_front() else {
            return Err("nothing was asked for".into());
        };
        let topics = self.topics.ids();
        let mut ends = Vec::new();
        for word in args.rest() {
            let (topic, index, end) = partition(word)?;
            let topic = *topics.get(&Str::from(topic)).ok_or_else(|| format!("no topic {topic:?}"))?;
            let (index, end) = (number(index)?, number(end.ok_or("no end")?)?);
            if !partitions.contains(&(topic, index)) {
                return Err(format!("not asked for: {word:?}"));
            }
            ends.push(PartitionEnd { topic, index, end });
        }
        Ok(self.event(Event::Done(id, GroupTaskResult::ChangelogEnds { group, ends })))
    }

    fn release(&mut self) -> String {
        let mut out = String::new();
        while let Some((ticket, reply)) = self.driver.release(self.durable) {
            let asked = self.asked.remove(&ticket).expect("each ticket is answered once");
            out.push_str(&show::reply(&asked, &reply));
        }
        out
    }

    fn changed_timers(&mut self) -> String {
        let timers = &self.driver.machine().soft().timers;
        // Sweeps for expired offsets come and go all the time; only what they do is of interest.
        let timers = timers.iter().filter(|(key, _)| **key != TimerKey::Expiry);
        let timers: BTreeMap<_, _> = timers.map(|(key, time)| (key.clone(), time)).collect();
        let before = std::mem::replace(&mut self.timers, timers);
        let mut out = String::new();
        for (key, time) in &self.timers {
            let moved = before.get(key);
            if moved != Some(time) && !(self.quiet && moved.is_some()) {
                let _ = writeln!(out, "timer {} at {}", show::timer(key), since_start(*time));
            }
        }
        for key in before.keys().filter(|it| !self.timers.contains_key(it)) {
            let _ = writeln!(out, "timer {} off", show::timer(key));
        }
        out
    }

    fn event(&mut self, event: Event<GroupShard>) -> String {
        let round = self.driver.round(self.now, self.topics.image(), vec![event]);
        self.take(round)
    }

    fn ask(
        &mut self,
        asked: &str,
        mut args: Args<'_>,
        request: impl FnOnce(&mut Self, &mut Args<'_>) -> Parsed<GroupRequest>,
        newest: i16,
    ) -> Parsed<String> {
        let client_id = args.option("client").unwrap_or("client");
        let client_host = args.option("host").unwrap_or("/1.2.3.4");
        let caller = Caller {
            principal: "User:ANONYMOUS".into(),
            client_id: client_id.into(),
            client_host: client_host.into(),
            api_version: args.number("v")?.unwrap_or(newest),
            listener: "PLAINTEXT".into(),
            connection: args.number("connection")?.unwrap_or(1),
            software: args.option("software").unwrap_or_default().into(),
        };
        let request = request(self, &mut args)?;
        args.done()?;
        let ticket = Ticket(self.asked.last_key_value().map_or(1, |(it, _)| it.0 + 1));
        self.asked.insert(ticket, asked.to_owned());
        Ok(self.event(Event::Ask { ticket, caller, request }))
    }

    fn run(&mut self, line: &str) -> Parsed<String> {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = &self.with_present_epoch(rest);
        let mut args = Args::new(rest);
        let ids = self.topics.ids();
        let first = rest.split_whitespace().next().unwrap_or_default();
        match name {
            "streams-heartbeat" => {
                let member = rest.split_whitespace().nth(1).unwrap_or_default();
                let heartbeat = |it: &mut Self, args: &mut Args<'_>| ask::heartbeat(args, &mut it.memory);
                self.ask(member, args, heartbeat, 1)
            }
            "consumer-heartbeat" => {
                let member = rest.split_whitespace().nth(1).unwrap_or_default();
                let heartbeat =
                    |it: &mut Self, args: &mut Args<'_>| consumer::heartbeat(args, &mut it.memory, &ids);
                self.ask(member, args, heartbeat, 1)
            }
            "consumer-describe" => {
                let describe = |_: &mut Self, args: &mut Args<'_>| {
                    Ok(GroupRequest::ConsumerGroupDescribe(ask::ids(args)))
                };
                self.ask("describe", args, describe, 1)
            }
            "join" | "sync" | "heartbeat" | "leave" => self.classic_command(name, rest, args),
            "commit" => self.ask(first, args, |_, args| ask::commit(args, &ids), 10),
            "txn-commit" => self.ask(first, args, |_, args| ask::commit(args, &ids), 6),
            "commit-refused" => {
                let request = ask::commit_refused(&mut args)?;
                args.done()?;
                // It has no answer.
                Ok(self.event(Event::Ask { ticket: Ticket(0), caller: Caller::default(), request }))
            }
            "fetch" => self.ask(first, args, |_, args| ask::fetch(args, &ids), 10),
            "offset-delete" => self.ask(first, args, |_, args| ask::offset_delete(args), 0),
            "list" => self.ask("list", args, |_, args| ask::list(args), 5),
            "describe" => {
                let describe =
                    |_: &mut Self, args: &mut Args<'_>| Ok(GroupRequest::DescribeGroups(ask::ids(args)));
                self.ask("describe", args, describe, 6)
            }
            "streams-describe" => {
                let describe = |_: &mut Self, args: &mut Args<'_>| {
                    Ok(GroupRequest::StreamsGroupDescribe(ask::ids(args)))
                };
                self.ask("describe", args, describe, 1)
            }
            "topology-description" => self.ask(first, args, |_, args| ask::description(args), 0),
            "delete-groups" => {
                let delete =
                    |_: &mut Self, args: &mut Args<'_>| Ok(GroupRequest::DeleteGroups(ask::ids(args)));
                self.ask("delete", args, delete, 3)
            }
            "why" => self.ask(&format!("why {first}"), args, |_, args| explain::why(args), 0),
            "events" => self.ask(&format!("events {first}"), args, |_, args| explain::events(args), 0),
            "closed" => self.ask("closed", args, |world, args| ask::closed(args, world.now), 0),
            "topics" => self.topics_command(&mut args),
            "config" => {
                let resource = match args.word("broker or group")? {
                    "broker" => Resource::Broker(String::new()),
                    "group" => Resource::Group(args.word("group")?.to_owned()),
                    other => return Err(format!("not broker or group: {other:?}")),
                };
                self.topics.configure(&resource, args.options());
                Ok(String::new())
            }
            _ => self.control(name, &mut args),
        }
    }

    /// Requests of members of classic groups. Their replies begin with who asked.
    fn classic_command(&mut self, name: &str, rest: &str, args: Args<'_>) -> Parsed<String> {
        let member = rest.split_whitespace().nth(1).filter(|it| !it.contains('=') && *it != "''");
        let asked = match name {
            "leave" => name.to_owned(),
            _ => format!("{name} {}", member.or_else(|| args.peek("client")).unwrap_or("client")),
        };
        match name {
            "join" => self.ask(&asked, args, |_, args| classic::join(args), 9),
            "sync" => self.ask(&asked, args, |_, args| classic::sync(args), 5),
            "heartbeat" => self.ask(&asked, args, |_, args| classic::heartbeat(args), 4),
            _ => self.ask(&asked, args, |_, args| classic::leave(args), 5),
        }
    }

    /// `epoch=now` or `gen=now` is the epoch that the member has in the log.
    fn with_present_epoch(&self, rest: &str) -> String {
        if !rest.contains("=now") {
            return rest.to_owned();
        }
        let mut words = rest.split_whitespace();
        let (group, member) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (group, member) = (Str::from(group), Str::from(member));
        let hard = self.driver.machine().hard();
        let streams = hard.streams(&group).and_then(|it| it.member_epoch(&member));
        let consumer = || Some(hard.consumer(&group)?.member(&member)?.current.epoch);
        let epoch = streams.or_else(consumer).unwrap_or(0);
        rest.replace("epoch=now", &format!("epoch={epoch}")).replace("gen=now", &format!("gen={epoch}"))
    }

    /// Commands about the world itself.
    fn control(&mut self, name: &str, args: &mut Args<'_>) -> Parsed<String> {
        match name {
            "wake" => Ok(self.event(Event::Wake)),
            "marker" => self.marker(args),
            "ends" => self.ends(args),
            "jump" => {
                self.now += duration(args.word("duration")?)?;
                Ok(String::new())
            }
            "resolve" => {
                let Some((id, GroupTask::ResolveRegexes(task))) = self.tasks.pop_front() else {
                    return Err("no task waits".into());
                };
                let denied: Vec<_> = args.option("deny").unwrap_or_default().split(',').collect();
                let result = consumer::run(*task, self.topics.image(), &denied, args.flag("fails"));
                Ok(self.event(Event::Done(id, result)))
            }
            "hold" => {
                self.held = true;
                Ok(String::new())
            }
            "durable" => {
                self.held = false;
                self.durable = self.driver.written();
                Ok(self.release())
            }
            "reload" => {
                self.replay_equals_live()?;
                let mut out = if self.held { String::new() } else { self.lost_replies() };
                out.push_str(&self.load());
                Ok(out)
            }
            "crash" => {
                let durable = self.durable;
                self.log.retain(|it| it.at.offset < durable);
                let mut out = self.lost_replies();
                self.held = false;
                self.timers.clear();
                out.push_str(&self.load());
                Ok(out)
            }
            "quiet" => {
                self.quiet = true;
                Ok(String::new())
            }
            "slow" => {
                self.driver.set_slowest_answer(duration(args.word("duration")?)?);
                Ok(String::new())
            }
            "timers" => {
                let timers = self
                    .timers
                    .iter()
                    .map(|(key, time)| format!("timer {} at {}\n", show::timer(key), since_start(*time)));
                Ok(timers.collect())
            }
            _ => Err("no such command".into()),
        }
    }

    /// The host tells those who wait for the shard that it is gone.
    fn lost_replies(&mut self) -> String {
        let lost = std::mem::take(&mut self.asked);
        lost.values().map(|it| format!("lost reply {it}\n")).collect()
    }

    fn topics_command(&mut self, args: &mut Args<'_>) -> Parsed<String> {
        let what = args.word("create, delete or partitions")?;
        let topic = |word| {
            let (name, count) = str::split_once(word, ':').unwrap_or((word, "1"));
            Ok((name, number(count)?))
        };
        let topics = args.rest().into_iter().map(topic).collect::<Parsed<Vec<_>>>()?;
        let change = self.topics.change(what, &topics)?;
        Ok(self.event(Event::Topics(change)))
    }

    /// Scenarios 284 and 285, trap 16: all records, read from their bytes by an empty shard, make the same hard state.
    fn replay_equals_live(&self) -> Parsed<()> {
        for logged in &self.log {
            let What::Record { key, value } = &logged.what else { continue };
            let record = decoded(key, value.as_ref());
            let encoded = record.encode().map_err(|error| format!("{error:?}"))?;
            if encoded != (key.clone(), value.clone()) {
                return Err(format!("not the same bytes again: {record:?}"));
            }
        }
        let (live, replayed) = (self.driver.machine().hard(), replay(&self.log));
        if live != replayed.hard() {
            return Err(format!(
                "replay differs from live\nlive:     {live:?}\nreplayed: {:?}",
                replayed.hard()
            ));
        }
        Ok(())
    }

    /// 21.5, scenario 368: so do the records that compaction leaves, of each prefix of the log.
    fn compacted_equals_live(&self) -> Parsed<()> {
        let seed = *SEED;
        every_compaction_is_the_same(&self.log, &mut Entropy::seeded(seed), COMPACTIONS)
            .map_err(|differs| format!("run again with SEED={seed}: {differs}"))
    }
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
        let line = self.member_ids.expand(line);
        let out = clock::run(self, &line)?;
        Ok(self.member_ids.shorten(&out))
    }

    fn finish(&mut self) -> Parsed<()> {
        self.replay_equals_live()?;
        self.compacted_equals_live()
    }
}

/// Names of topics to their ids, as requests need them.
pub(crate) type Ids = BTreeMap<Str, Uuid>;
