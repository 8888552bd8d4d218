//! Consumer groups under random events: members that join, leave, fall silent, lose responses, go away
//! and come back, topics that come, grow and go, expressions, crashes that take what is not durable.
//! `SEED=n` runs one again.
//!
//! After each step nobody holds a partition twice, epochs are in order and no member was told what a
//! crash took back; at the end the log makes the live state, and when the trouble stops the group comes
//! to rest with each partition once.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test, though not inside its function")]

use std::collections::{BTreeMap, BTreeSet};

use catalog::entry::{PartitionEntry, TopicEntry};
use catalog::{Entry, Image};
use coordinator::group::consumer::resolve::topics_of_regexes;
use coordinator::group::request::ResolvedRegexes;
use coordinator::group::{GroupReply, GroupRequest, GroupShard, GroupTask, GroupTaskResult};
use coordinator::{At, Caller, Driver, Entropy, Event, Machine, Millis, TaskId, Ticket, TopicsChange};
use wire::consumer_group_heartbeat::request::TopicPartitions;
use wire::consumer_offsets::Record;
use wire::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ErrorCode, LogRecord, Str, Uuid};

const RUNS: u64 = 40;
const STEPS: usize = 250;
const GROUP: &str = "g";
const TOPICS: [&str; 3] = ["in", "in2", "other"];
const REGEXES: [&str; 3] = ["in.*", "other|in", "nothing"];

#[test]
fn groups_survive_and_come_to_rest() {
    let first = testkit::seed::seed();
    for seed in first..first.saturating_add(RUNS) {
        let run = std::panic::catch_unwind(|| run(seed));
        assert!(run.is_ok(), "run again with SEED={seed}");
    }
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    for _ in 0..STEPS {
        world.something();
        world.check();
    }
    world.come_to_rest();
    world.replay_equals_live();
}

/// A consumer that follows the protocol.
#[derive(Default, Clone)]
struct Client {
    instance: Option<Str>,
    names: BTreeSet<Str>,
    regex: Option<Str>,
    assignor: Option<Str>,
    epoch: i32,
    owned: BTreeMap<Uuid, Vec<i32>>,
    /// What it owns changed since it was last told.
    changed: bool,
}

struct World {
    chance: Entropy,
    driver: Driver<GroupShard>,
    image: Image,
    ids: u8,
    now: Millis,
    log: Vec<(At, Record)>,
    /// Offset below which the log is durable.
    durable: i64,
    clients: BTreeMap<Str, Client>,
    made: u32,
    tickets: u64,
    /// Who asked, and whether the response will get lost.
    asked: BTreeMap<Ticket, (Str, bool)>,
    tasks: Vec<(TaskId, GroupTask)>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            chance: Entropy::seeded(seed),
            driver: Driver::new(Entropy::seeded(seed), 1_000_000),
            image: Image::default(),
            ids: 0,
            now: 1_700_000_000_000,
            log: Vec::new(),
            durable: 0,
            clients: BTreeMap::new(),
            made: 0,
            tickets: 0,
            asked: BTreeMap::new(),
            tasks: Vec::new(),
        };
        world.load();
        world.create_topic(TOPICS[0]);
        world
    }

    fn pick(&mut self, below: u64) -> u64 {
        self.chance.next_u64() % below
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        let at = self.pick(u64::try_from(list.len()).unwrap());
        list[usize::try_from(at).unwrap()]
    }

    fn load(&mut self) {
        self.driver = Driver::new(Entropy::seeded(1), 1_000_000);
        self.tasks.clear();
        for (at, record) in &self.log {
            self.driver.replay(*at, record);
        }
        let end = i64::try_from(self.log.len()).unwrap();
        let round = self.driver.loaded(end, self.now, &self.image);
        assert!(round.batches.is_empty());
    }

    fn something(&mut self) {
        match self.pick(24) {
            0 | 1 if self.clients.len() < 5 => self.join(),
            2 => self.leave(),
            3 if self.pick(3) == 0 => self.change_topics(),
            4 => self.change_subscription(),
            5 if self.pick(2) == 0 => self.crash(),
            6 => {
                // Silent from now on.
                if let Some(member) = self.any_client() {
                    self.clients.remove(&member);
                }
            }
            7..=9 => self.pass_time(),
            10 | 11 => self.resolve(),
            12 => self.become_durable(),
            _ => {
                if let Some(member) = self.any_client() {
                    self.heartbeat_of(&member);
                }
            }
        }
    }

    fn event(&mut self, event: Event<GroupShard>) {
        let round = self.driver.round(self.now, &self.image, vec![event]);
        for batch in round.batches {
            for (offset, (key, value)) in (batch.base_offset..).zip(batch.records) {
                let at = At { offset, timestamp: batch.timestamp, producer: None };
                let record = Record::decode(&key, value.as_ref()).unwrap().unwrap();
                self.log.push((at, record));
            }
        }
        self.tasks.extend(round.tasks);
        assert_eq!(self.driver.written(), i64::try_from(self.log.len()).unwrap());
        if self.pick(3) > 0 {
            self.durable = self.driver.written();
        }
        self.release();
    }

    fn become_durable(&mut self) {
        self.durable = self.driver.written();
        self.release();
    }

    /// Replies arrive that wait for nothing more.
    fn release(&mut self) {
        while let Some((ticket, reply)) = self.driver.release(self.durable) {
            let (member, lost) = self.asked.remove(&ticket).unwrap();
            if let GroupReply::ConsumerGroupHeartbeat(it) = reply
                && !lost
            {
                self.hear(&member, &it);
            }
        }
    }

    fn hear(&mut self, member: &Str, response: &ConsumerGroupHeartbeatResponse) {
        let Some(client) = self.clients.get_mut(member) else { return };
        let code = response.error_code;
        if code != ErrorCode::NONE {
            let expected = [
                ErrorCode::UNKNOWN_MEMBER_ID,
                ErrorCode::FENCED_MEMBER_EPOCH,
                ErrorCode::GROUP_ID_NOT_FOUND,
                // A static member whose old self is still there, or was replaced.
                ErrorCode::UNRELEASED_INSTANCE_ID,
                ErrorCode::FENCED_INSTANCE_ID,
            ];
            assert!(expected.contains(&code), "{} {:?}", code.name(), response.error_message);
            (client.epoch, client.owned) = (0, BTreeMap::new());
            return;
        }
        assert!(response.member_epoch > 0, "a joined member never sees epoch 0");
        client.epoch = response.member_epoch;
        if let Some(assignment) = &response.assignment {
            let owned = assignment.topic_partitions.iter().map(|it| (it.topic_id, it.partitions.clone()));
            let owned: BTreeMap<_, _> = owned.collect();
            client.changed |= owned != client.owned;
            client.owned = owned;
        }
    }

    fn any_client(&mut self) -> Option<Str> {
        let count = u64::try_from(self.clients.len()).unwrap();
        let at = if count == 0 { return None } else { usize::try_from(self.pick(count)).unwrap() };
        self.clients.keys().nth(at).cloned()
    }

    fn join(&mut self) {
        self.made += 1;
        let member = Str::from(format!("m{}", self.made));
        let mut client = Client::default();
        if self.pick(4) == 0 {
            let instance = Str::from(self.one_of(&["i", "j"]));
            if self.clients.values().all(|it| it.instance.as_ref() != Some(&instance)) {
                client.instance = Some(instance);
            }
        }
        client.assignor = (self.pick(3) == 0).then(|| Str::from(self.one_of(&["uniform", "range"])));
        self.clients.insert(member.clone(), client);
        self.subscribe(&member);
        self.heartbeat_of(&member);
    }

    fn subscribe(&mut self, member: &Str) {
        let kind = self.pick(4);
        let names: BTreeSet<Str> = TOPICS.into_iter().filter(|_| self.pick(3) > 0).map(Str::from).collect();
        let regex = Str::from(self.one_of(&REGEXES));
        let client = self.clients.get_mut(member).unwrap();
        client.names = if kind == 0 { BTreeSet::new() } else { names };
        client.regex = (kind < 2).then_some(regex);
        client.changed = true;
    }

    fn change_subscription(&mut self) {
        if let Some(member) = self.any_client() {
            self.subscribe(&member);
            self.heartbeat_of(&member);
        }
    }

    fn request(&self, member: &Str, epoch: i32) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest {
            group_id: GROUP.into(),
            member_id: member.clone(),
            member_epoch: epoch,
            instance_id: self.clients[member].instance.clone(),
            rebalance_timeout_ms: -1,
            ..Default::default()
        }
    }

    fn heartbeat_of(&mut self, member: &Str) {
        let client = self.clients[member].clone();
        let mut request = self.request(member, client.epoch);
        if client.epoch == 0 || client.changed || self.pick(4) == 0 {
            let owned = client.owned.iter().map(|(topic_id, partitions)| TopicPartitions {
                topic_id: *topic_id,
                partitions: partitions.clone(),
                ..Default::default()
            });
            request.rebalance_timeout_ms = 20_000;
            request.topic_partitions = Some(if client.epoch == 0 { Vec::new() } else { owned.collect() });
            request.subscribed_topic_names = Some(client.names.into_iter().collect());
            request.subscribed_topic_regex = Some(client.regex.unwrap_or_default());
            request.server_assignor = client.assignor;
            self.clients.get_mut(member).unwrap().changed = false;
        }
        self.ask(member, request);
    }

    fn ask(&mut self, member: &Str, request: ConsumerGroupHeartbeatRequest) {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let lost = self.pick(10) == 0;
        if lost {
            // The client does not know what arrived, and tells all again.
            self.clients.get_mut(member).into_iter().for_each(|it| it.changed = true);
        }
        self.asked.insert(ticket, (member.clone(), lost));
        let caller = Caller { api_version: 1, ..Caller::default() };
        let request = GroupRequest::ConsumerGroupHeartbeat(Box::new(request));
        self.event(Event::Ask { ticket, caller, request });
    }

    /// For good, or a static member for a while: it comes back under another id.
    fn leave(&mut self) {
        let Some(member) = self.any_client() else { return };
        let for_a_while = self.clients[&member].instance.is_some() && self.pick(2) == 0;
        let request = self.request(&member, if for_a_while { -2 } else { -1 });
        let mut client = self.clients.remove(&member).unwrap();
        self.ask(&member, request);
        if for_a_while {
            self.made += 1;
            (client.epoch, client.owned) = (0, BTreeMap::new());
            self.clients.insert(Str::from(format!("m{}", self.made)), client);
        }
    }

    fn resolve(&mut self) {
        let Some((id, GroupTask::ResolveRegexes(task))) = self.tasks.pop() else { return };
        let fails = self.pick(8) == 0;
        let topics: Vec<_> = self.image.topics().map(|it| &*it.name).collect();
        let result = ResolvedRegexes {
            topics: topics_of_regexes(&task.regexes, &topics, || true).filter(|_| !fails),
            group: task.group,
            version: self.image.version(),
            started: task.started,
        };
        self.event(Event::Done(id, GroupTaskResult::ResolveRegexes(result)));
    }

    fn pass_time(&mut self) {
        let most = if self.pick(6) == 0 { 50_000 } else { 4_000 };
        let to = self.now + i64::try_from(self.pick(most)).unwrap();
        self.pass_until(to);
    }

    fn pass_until(&mut self, to: Millis) {
        while let Some(deadline) = self.driver.deadline().filter(|it| *it <= to) {
            self.now = self.now.max(deadline);
            self.event(Event::Wake);
        }
        self.now = to;
    }

    fn create_topic(&mut self, name: &str) {
        self.ids += 1;
        let mut id = [0; 16];
        id[15] = self.ids;
        let partitions = usize::try_from(1 + self.pick(4)).unwrap();
        self.apply(Entry::Topic(TopicEntry {
            name: name.to_owned(),
            id: Uuid(id),
            replication_factor: 1,
            partitions: vec![PartitionEntry { id: 0, replicas: vec![0] }; partitions],
            configs: BTreeMap::new(),
        }));
    }

    fn apply(&mut self, entry: Entry) {
        let (image, changes) = self.image.apply_all(&[entry]);
        self.image = image;
        self.event(Event::Topics(TopicsChange::from(&changes)));
    }

    fn change_topics(&mut self) {
        let name = self.one_of(&TOPICS);
        let Some(topic) = self.image.topic(name).map(|it| it.id) else {
            return self.create_topic(name);
        };
        if self.pick(2) == 0 {
            self.apply(Entry::TopicDeleted { topic });
        } else {
            let partitions = vec![PartitionEntry { id: 0, replicas: vec![0] }];
            self.apply(Entry::Partitions { topic, partitions });
        }
    }

    /// What is not durable is gone, and so are the replies that waited for it.
    fn crash(&mut self) {
        self.log.truncate(usize::try_from(self.durable).unwrap());
        self.asked.clear();
        self.load();
    }

    fn check(&self) {
        let Some(group) = self.driver.machine().hard().consumer(&GROUP.into()) else { return };
        assert!(group.assignment_epoch <= group.epoch);
        let mut holders = BTreeMap::new();
        for (id, member) in group.members() {
            let current = &member.current;
            assert!(current.epoch <= group.assignment_epoch, "{id} is ahead of the assignment");
            for (topic, partition, _) in current.assigned.iter().chain(current.pending.iter()) {
                let other = holders.insert((topic, partition), id);
                assert!(other.is_none(), "{topic} {partition} of {id} is also of {other:?}");
            }
            for (_, _, since) in current.assigned.iter() {
                assert!(since <= current.epoch.max(0), "{id} was granted something after its epoch");
            }
            let Some(client) = self.clients.get(id).filter(|it| it.epoch > 0) else { continue };
            assert!(
                client.epoch <= current.epoch.max(group.epoch),
                "{id} was told an epoch that is not there"
            );
        }
    }

    /// Everybody heartbeats, nothing else happens.
    fn come_to_rest(&mut self) {
        for topic in TOPICS {
            if self.image.topic(topic).is_none() {
                self.create_topic(topic);
            }
        }
        self.join();
        for _ in 0..40 {
            let members: Vec<_> = self.clients.keys().cloned().collect();
            for member in members {
                self.heartbeat_of(&member);
                self.become_durable();
                self.check();
            }
            self.resolve();
            self.pass_until(self.now + 5_000);
        }
        let group = self.driver.machine().hard().consumer(&GROUP.into()).unwrap();
        assert_eq!(group.state_name(), "Stable", "{group:#?}");
        assert_eq!(group.members().len(), self.clients.len());
        let mut owned = BTreeSet::new();
        for client in self.clients.values() {
            for (topic, partition) in
                client.owned.iter().flat_map(|(id, list)| list.iter().map(move |it| (*id, *it)))
            {
                assert!(owned.insert((topic, partition)), "{topic} {partition} is owned twice");
            }
        }
        let wanted = group.subscriptions().topics().filter_map(|it| self.image.topic(it.as_str()?));
        let all: usize = wanted.map(|it| it.partitions.len()).sum();
        assert_eq!(owned.len(), all, "each partition once: {owned:?}");
    }

    /// With what is left after compaction as well.
    fn replay_equals_live(&self) {
        let mut shard = GroupShard::default();
        self.log.iter().for_each(|(at, record)| shard.replay(*at, record));
        assert_eq!(shard.hard(), self.driver.machine().hard());
        let key = |record: &Record| record.encode().unwrap().0;
        let last: BTreeMap<_, _> = self.log.iter().map(|(at, record)| (key(record), at.offset)).collect();
        let mut shard = GroupShard::default();
        for (at, record) in self.log.iter().filter(|(at, record)| last[&key(record)] == at.offset) {
            shard.replay(*at, record);
        }
        assert_eq!(shard.hard(), self.driver.machine().hard());
    }
}
