//! The shard with its log, image and clock, and the clients.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use catalog::entry::{PartitionEntry, Resource, TopicEntry};
use catalog::{Entry, Image};
use coordinator::group::streams::GroupState;
use coordinator::group::{GroupReply, GroupRequest, GroupShard, GroupTask, GroupTaskResult, PartitionEnd};
use coordinator::{At, Caller, Cx, Entropy, Event, Machine, Millis, Output, TaskId, Ticket, TopicsChange};
use wire::consumer_offsets::Record;
use wire::{ErrorCode, LogRecord, Str, StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse, Uuid};

use crate::client::{Client, Kind, Offsets, Task};
use crate::invariants;
use crate::lines::Lines;

const MEMBERS_MAX: usize = 6;
/// Where changelogs end at first: far behind what counts as caught up.
pub(crate) const FIRST_END: i64 = 50_000;

pub(crate) struct World {
    pub(crate) shard: GroupShard,
    log: Vec<(At, Bytes, Option<Bytes>)>,
    image: Image,
    topics_made: u8,
    pub(crate) now: Millis,
    chance: Entropy,
    pub(crate) clients: Vec<Client>,
    clients_made: usize,
    /// What processes have restored, by process.
    disks: BTreeMap<String, BTreeMap<Task, i64>>,
    /// Where changelogs end, by task.
    ends: BTreeMap<Task, i64>,
    /// What the shard asked for.
    tasks: Vec<(TaskId, GroupTask)>,
    /// The faults have stopped.
    resting: bool,
    group_epoch: i32,
    pub(crate) lines: Lines,
    /// Events that the shard saw.
    pub(crate) steps: usize,
    /// Warm-ups that were seen, counted after each event.
    pub(crate) warmups: usize,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut world = Self {
            shard: GroupShard::default(),
            log: Vec::new(),
            image: Image::default(),
            topics_made: 0,
            now: 1_700_000_000_000,
            chance: Entropy::seeded(seed),
            clients: Vec::new(),
            clients_made: 0,
            disks: BTreeMap::new(),
            ends: BTreeMap::new(),
            tasks: Vec::new(),
            resting: false,
            group_epoch: 0,
            warmups: 0,
            lines: Lines::default(),
            steps: 0,
        };
        let resource = Resource::Broker(String::new());
        let (key, value) = ("thalweg.streams.warmup.timeout.ms".to_owned(), Some("60000".to_owned()));
        world.image = world.image.apply(&Entry::Config { resource, key, value });
        world.load(false);
        world
    }

    /// A number below `bound`.
    pub(crate) fn draw(&mut self, bound: usize) -> usize {
        usize::try_from(self.chance.next_u64() % u64::try_from(bound).unwrap()).unwrap()
    }

    pub(crate) fn random_event(&mut self) {
        let alive = self.alive();
        match self.draw(100) {
            0..50 if !alive.is_empty() => {
                let client = alive[self.draw(alive.len())];
                self.heartbeat(client);
            }
            50..65 if !alive.is_empty() => {
                let client = alive[self.draw(alive.len())];
                self.clients[client].reconcile();
            }
            65..75 if self.clients.len() < MEMBERS_MAX => self.start(),
            75..77 if !alive.is_empty() => {
                let client = alive[self.draw(alive.len())];
                self.die(client);
            }
            77..79 if alive.iter().any(|it| self.clients[*it].instance.is_some()) => {
                let mut of_static = alive;
                of_static.retain(|it| self.clients[*it].instance.is_some());
                let client = of_static[self.draw(of_static.len())];
                self.restart(client);
            }
            77..80 if !alive.is_empty() => {
                let client = alive[self.draw(alive.len())];
                self.leave(client);
            }
            80..82 if !alive.is_empty() => {
                let client = alive[self.draw(alive.len())];
                self.clients[client].rejoin();
            }
            82..85 => self.change_topics(),
            85 => self.close_some(),
            86..88 => self.change_settings(),
            88..89 => self.load(false),
            89..90 => self.load(true),
            90..92 => self.restore(),
            92 if !alive.is_empty() => {
                let client = alive[self.draw(alive.len())];
                self.wrong(client);
            }
            92..97 => self.answer_task(),
            _ => {
                let millis = [10, 500, 3000, 5000, 20_000][self.draw(5)];
                self.pass(millis);
            }
        }
        self.check();
    }

    /// Topics and settings stay, so that instances come, restore, take over and go.
    pub(crate) fn event_of_a_ready_group(&mut self) {
        self.resting = false;
        let alive = self.alive();
        match self.draw(100) {
            0..50 if !alive.is_empty() => {
                let client = alive[self.draw(alive.len())];
                self.heartbeat(client);
            }
            50..70 if !alive.is_empty() => {
                let client = alive[self.draw(alive.len())];
                self.clients[client].reconcile();
            }
            70..74 if self.clients.len() < MEMBERS_MAX => self.start(),
            74 if alive.len() > 1 => {
                let client = alive[self.draw(alive.len())];
                self.die(client);
            }
            75..77 if alive.len() > 1 => {
                let client = alive[self.draw(alive.len())];
                self.leave(client);
            }
            77 => self.load(true),
            78 => self.load(false),
            79 => self.close_some(),
            80..83 => self.restore(),
            83..92 => self.answer_task(),
            _ => {
                let millis = [500, 3000, 5000][self.draw(3)];
                self.pass(millis);
            }
        }
        self.check();
    }

    fn check(&mut self) {
        self.warmups += invariants::check(&self.shard, &self.clients);
        // A group without members and offsets is removed sooner or later.
        let Some(group) = self.shard.hard().streams(&Str::from("g")) else {
            self.group_epoch = 0;
            return;
        };
        assert!(group.epoch >= self.group_epoch, "the group's epoch went back");
        self.group_epoch = group.epoch;
    }

    /// Active tasks write to their changelogs, copies read them.
    fn restore(&mut self) {
        for client in 0..self.clients.len() {
            let step = i64::try_from(self.draw(40_000)).unwrap();
            let client = &self.clients[client];
            let disk = self.disks.entry(client.process.clone()).or_default();
            for task in client.owned[0].iter().filter(|(subtopology, _)| subtopology == "1") {
                let end = self.ends.entry(task.clone()).or_insert(FIRST_END);
                *end += step / 10;
                disk.insert(task.clone(), *end);
            }
            for task in client.owned[1].iter().chain(&client.owned[2]) {
                let end = self.ends.get(task).copied().unwrap_or(FIRST_END);
                let offset = disk.entry(task.clone()).or_default();
                if client.kind != Kind::Stuck {
                    *offset = end.min(*offset + step);
                }
            }
        }
    }

    /// The host answers the oldest question; sometimes it does not have a partition.
    fn answer_task(&mut self) {
        if self.tasks.is_empty() {
            return;
        }
        let (id, GroupTask::ChangelogEnds { group, partitions }) = self.tasks.remove(0) else {
            panic!("streams groups ask for ends alone")
        };
        let mut ends = Vec::new();
        for (topic, index) in partitions {
            let end = self.ends.get(&("1".to_owned(), index)).copied().unwrap_or(FIRST_END);
            if self.resting || self.draw(10) > 0 {
                ends.push(PartitionEnd { topic, index, end });
            }
        }
        self.step(Event::Done(id, GroupTaskResult::ChangelogEnds { group, ends }));
    }

    fn alive(&self) -> Vec<usize> {
        (0..self.clients.len()).filter(|it| !self.clients[*it].dead).collect()
    }

    /// A thread of one of three processes, every third one a static member.
    fn start(&mut self) {
        self.clients_made += 1;
        let mut process = format!("p{}", self.draw(3));
        let instance = (self.draw(3) == 0).then(|| format!("i{}", self.clients_made));
        let kind = [Kind::Reports, Kind::Reports, Kind::Reports, Kind::Stuck, Kind::Older][self.draw(5)];
        if kind == Kind::Stuck {
            // No sibling's state helps it.
            process = format!("s{}", self.clients_made);
        }
        self.clients.push(Client::new(format!("m{}", self.clients_made), process, instance, kind));
    }

    /// A static member stops and starts again, maybe in a new process or under the same member id. Not in another old
    /// process: it would bring its tasks beside the standbys that are there, until the new target is reached (H-80).
    fn restart(&mut self, client: usize) {
        let Client { id, process, instance, kind, .. } = &self.clients[client];
        let (mut id, mut process, instance) = (id.clone(), process.clone(), instance.clone());
        let kind = *kind;
        let request = StreamsGroupHeartbeatRequest {
            member_epoch: -2,
            topology: None,
            ..self.clients[client].request()
        };
        self.ask(request, 1, 0);
        if self.draw(3) > 0 {
            self.clients_made += 1;
            id = format!("m{}", self.clients_made);
        }
        if self.draw(3) == 0 {
            self.clients_made += 1;
            process = format!("q{}", self.clients_made);
        }
        self.clients[client] = Client::new(id, process, instance, kind);
    }

    fn heartbeat(&mut self, client: usize) {
        self.clients[client].before_heartbeat();
        let before = self.log.len();
        let response = self.ask_as(client);
        if self.draw(60) == 0 {
            // The broker dies before the records are durable, so nobody has seen the response.
            self.log.truncate(before);
            self.take_over();
            self.clients[client].lost_response();
        } else if self.draw(8) == 0 {
            self.clients[client].lost_response();
        } else {
            self.clients[client].response(&response);
        }
    }

    fn leave(&mut self, client: usize) {
        let client = self.clients.remove(client);
        let request = StreamsGroupHeartbeatRequest { member_epoch: -1, topology: None, ..client.request() };
        self.ask(request, 1, 0);
    }

    /// A heartbeat, with offsets in some.
    fn ask_as(&mut self, client: usize) -> StreamsGroupHeartbeatResponse {
        let reports = self.draw(2) == 0;
        let quiet = self.draw(2) == 0;
        let connection = self.beats(client);
        let at = client;
        let client = &self.clients[client];
        let none = BTreeMap::new();
        let disk = self.disks.get(&client.process).unwrap_or(&none);
        let request = match reports || client.epoch == 0 {
            true => client.with_offsets(&Offsets { disk, ends: &self.ends, quiet }),
            false => client.request(),
        };
        let version = client.api_version();
        let response = self.ask(request, version, connection);
        if response.error_code == ErrorCode::NONE {
            self.was_heard(at);
        }
        response
    }

    pub(crate) fn ask(
        &mut self,
        request: StreamsGroupHeartbeatRequest,
        api_version: i16,
        connection: u64,
    ) -> StreamsGroupHeartbeatResponse {
        let request = GroupRequest::StreamsGroupHeartbeat(Box::new(request));
        let caller = Caller { api_version, connection, ..Default::default() };
        let output = self.step(Event::Ask { ticket: Ticket(1), caller, request });
        let [(_, GroupReply::StreamsGroupHeartbeat(reply))] = &output.replies[..] else {
            panic!("one reply")
        };
        for topic in &reply.topics_to_create {
            // Sometimes the creation takes until a later heartbeat asks again.
            if self.draw(2) == 0 {
                self.create(&topic.name.to_str(), usize::try_from(topic.num_partitions).unwrap());
            }
        }
        reply.response.clone()
    }

    pub(crate) fn step(&mut self, event: Event<GroupShard>) -> Output<GroupShard> {
        let mut entropy = Entropy::seeded(0);
        let offset = self.log.last().map_or(0, |(at, ..)| at.offset + 1);
        let mut cx =
            Cx { now: self.now, offset, image: &self.image, entropy: &mut entropy, slowest_answer: 0 };
        let before = self.shard.hard().streams(&Str::from("g")).map(|it| (it.epoch, it.assignment_epoch));
        let output = self.shard.step(&mut cx, event);
        self.steps += 1;
        if let (Some(before), Some(group)) = (before, self.shard.hard().streams(&Str::from("g"))) {
            invariants::epochs_have_records(before, group, &output.records);
        }
        for (offset, record) in (offset..).zip(&output.records) {
            let (key, value) = record.encode().unwrap();
            self.log.push((At { offset, timestamp: self.now, producer: None }, key, value));
        }
        self.tasks.extend(output.tasks.iter().cloned());
        output
    }

    fn pass(&mut self, millis: Millis) {
        self.now += millis;
        if self.shard.deadline().is_some_and(|it| it <= self.now) {
            let members = self.members();
            self.step(Event::Wake);
            self.who_is_gone(&members);
        }
        self.the_dead_are_gone();
    }

    /// Another coordinator takes over; `compacted`: the log has only the last record of each key.
    fn load(&mut self, compacted: bool) {
        if compacted {
            let last: BTreeMap<_, _> = self.log.iter().map(|(at, key, _)| (key.clone(), at.offset)).collect();
            self.log.retain(|(at, key, _)| last[key] == at.offset);
        }
        // 368.
        let live = std::mem::take(&mut self.shard);
        self.take_over();
        assert_eq!(self.shard.hard(), live.hard(), "368: replay makes another state than the live one");
    }

    /// What the log holds is all that is left.
    fn take_over(&mut self) {
        let mut shard = GroupShard::default();
        for (at, key, value) in &self.log {
            let record = Record::decode(key, value.as_ref()).unwrap().unwrap();
            shard.replay(*at, &record);
        }
        let mut entropy = Entropy::seeded(0);
        let mut cx =
            Cx { now: self.now, offset: 0, image: &self.image, entropy: &mut entropy, slowest_answer: 0 };
        assert!(shard.loaded(&mut cx).records.is_empty());
        self.tasks.clear();
        self.shard = shard;
        self.lines.loaded_at = self.now;
        for client in &mut self.clients {
            (client.line.known, client.line.closed) = (0, None);
        }
    }

    fn change_topics(&mut self) {
        match (self.draw(3), self.image.topic("in").map(|it| it.id)) {
            (_, None) => {
                let partitions = 1 + self.draw(5);
                self.create("in", partitions);
            }
            (0, Some(topic)) => self.apply(&Entry::TopicDeleted { topic }),
            (_, Some(_)) => {
                let name = ["r", "c", "other"][self.draw(3)];
                match self.image.topic(name).map(|it| it.id) {
                    Some(topic) => self.apply(&Entry::TopicDeleted { topic }),
                    None => self.create("other", 1),
                }
            }
        }
    }

    fn create(&mut self, name: &str, partitions: usize) {
        if self.image.topic(name).is_some() {
            return;
        }
        self.topics_made += 1;
        let mut id = [0; 16];
        id[15] = self.topics_made;
        let partition = PartitionEntry { id: 0, replicas: vec![0] };
        self.apply(&Entry::Topic(TopicEntry {
            name: name.to_owned(),
            id: Uuid(id),
            replication_factor: 1,
            partitions: vec![partition; partitions],
            configs: BTreeMap::new(),
        }));
    }

    fn apply(&mut self, entry: &Entry) {
        let (image, changes) = self.image.apply_all(std::slice::from_ref(entry));
        self.image = image;
        self.step(Event::Topics(TopicsChange::from(&changes)));
    }

    fn change_settings(&mut self) {
        let (key, values): (&str, &[&str]) = match self.draw(5) {
            3 => ("streams.num.warmup.replicas", &["0", "1", "2"]),
            4 => ("streams.acceptable.recovery.lag", &["0", "10000"]),
            0 => ("streams.num.standby.replicas", &["0", "1", "2"]),
            1 => ("streams.initial.rebalance.delay.ms", &["0", "3000"]),
            _ => ("streams.assignment.interval.ms", &["0", "1000", "15000"]),
        };
        let value = Some(values[self.draw(values.len())].to_owned());
        let resource = Resource::Group("g".to_owned());
        self.image = self.image.apply(&Entry::Config { resource, key: key.to_owned(), value });
    }

    /// 367: the faults stop. In bounded time every task runs exactly once.
    pub(crate) fn come_to_rest(&mut self) {
        self.resting = true;
        for _ in 0..300 {
            self.restore_topics();
            self.answer_task();
            self.restore();
            self.clients.retain(|it| !it.dead);
            if self.clients.is_empty() {
                self.start();
            }
            for client in 0..self.clients.len() {
                let response = self.ask_as(client);
                self.clients[client].response(&response);
                self.clients[client].reconcile();
                self.check();
            }
            self.pass(5000);
        }
        let group = self.shard.hard().streams(&Str::from("g")).unwrap();
        assert_eq!(group.state(), GroupState::Stable, "{group:#?}");
        // Warm-ups have ended, and everything is where it shall be.
        for (id, member) in group.members() {
            assert!(member.current.assigned.same_as(group.target(id).unwrap()), "{id} of {group:#?}");
        }
        let tasks = i32::try_from(self.image.topic("in").unwrap().partitions.len()).unwrap();
        let all = ["0", "1"].iter().flat_map(|it| (0..tasks).map(|partition| ((*it).to_owned(), partition)));
        let running: Vec<&Task> = self.clients.iter().flat_map(|it| &it.owned[0]).collect();
        let distinct: BTreeSet<Task> = running.iter().map(|it| (*it).clone()).collect();
        assert_eq!((running.len(), distinct), (usize::try_from(2 * tasks).unwrap(), all.collect()));
        self.load(true);
    }

    /// A source topic, and no internal topic of another size.
    fn restore_topics(&mut self) {
        let Some(partitions) = self.image.topic("in").map(|it| it.partitions.len()) else {
            return self.create("in", 3);
        };
        for name in ["r", "c"] {
            let wrong = self.image.topic(name).filter(|it| it.partitions.len() != partitions).map(|it| it.id);
            if let Some(topic) = wrong {
                self.apply(&Entry::TopicDeleted { topic });
            }
        }
    }
}
