//! The group's world: clients, their requests in some order, and what must hold.

use std::collections::{BTreeMap, BTreeSet};

use catalog::Entry;
use catalog::entry::Resource;
use coordinator::group::classic::State;
use coordinator::group::consumer::resolve::topics_of_regexes;
use coordinator::group::request::ResolvedRegexes;
use coordinator::group::{Group, GroupReply, GroupRequest, GroupTask, GroupTaskResult};
use coordinator::{Event, Ticket};
use wire::leave_group::request::MemberIdentity;
use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use wire::{
    ErrorCode, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, OffsetCommitRequest, Str, Uuid,
};

use crate::client::{Classic, Client, Consumer, GROUP, Next, Protocol, Step, Topics};
use crate::harness::{Arrived, Bench};

const TOPICS: [&str; 3] = ["in", "in2", "other"];
const REGEXES: [&str; 3] = ["in.*", "other|in", "nothing"];
const POLICIES: [&str; 4] = ["bidirectional", "upgrade", "downgrade", "disabled"];

pub(crate) struct World {
    pub(crate) bench: Bench,
    clients: BTreeMap<Str, Client>,
    made: u32,
    /// Nothing gets lost, nobody is silent, and topics do not go.
    is_peaceful: bool,
    /// Nobody speaks the consumer protocol, so the group stays a classic one.
    is_classic: bool,
    /// The last number that was committed.
    commits: i64,
    /// Commits under way: where and what.
    committing: BTreeMap<Ticket, (Str, i32, i64)>,
    /// What was acknowledged, by topic and partition.
    acknowledged: BTreeMap<(Str, i32), i64>,
    /// Epoch or generation of the group after the last step, 0 without members.
    number: i32,
    pub(crate) events: usize,
    /// Of these, with members in a classic group, and in a consumer group.
    pub(crate) classic_events: usize,
    pub(crate) consumer_events: usize,
}

impl World {
    pub(crate) fn new(seed: u64, is_classic: bool) -> Self {
        let mut world = Self {
            bench: Bench::new(seed),
            clients: BTreeMap::new(),
            made: 0,
            is_peaceful: seed.is_multiple_of(3),
            is_classic,
            commits: 0,
            committing: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            number: 0,
            events: 0,
            classic_events: 0,
            consumer_events: 0,
        };
        world.create_topic(TOPICS[0]);
        world
    }

    fn pick(&mut self, below: u64) -> u64 {
        self.bench.pick(below)
    }

    pub(crate) fn something(&mut self) {
        match self.pick(30) {
            0 | 1 if self.clients.len() < 6 => self.come(),
            2 => self.go(),
            3 if self.pick(3) == 0 => self.change_topics(),
            4 => self.change_subscription(),
            5 if self.pick(2) == 0 && !self.is_peaceful => self.crash(),
            6 if !self.is_peaceful => {
                // Silent from now on.
                if let Some(key) = self.bench.any(&self.clients) {
                    self.clients.remove(&key);
                }
            }
            7..=9 => self.pass_time(),
            10 | 11 => self.resolve(),
            12 => {
                let arrived = self.bench.become_durable();
                self.arrive(arrived);
            }
            13 => self.other_protocol(),
            14 | 15 => self.commit(),
            16 if self.pick(4) == 0 && !self.is_peaceful => {
                let policy = self.bench.one_of(&POLICIES);
                self.set_policy(policy);
            }
            17 if !self.is_peaceful => self.nonsense(),
            _ => {
                if let Some(key) = self.bench.any(&self.clients) {
                    self.poke(&key);
                }
            }
        }
    }

    fn topics(&self) -> Topics {
        let topics = self.bench.image.topics();
        topics.map(|it| (Str::from(&*it.name), (it.id, it.partitions.len()))).collect()
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "clients ask few of the questions")]
    fn arrive(&mut self, arrived: Vec<Arrived>) {
        self.events += 1;
        self.check_number();
        let topics = self.topics();
        for (ticket, key, reply) in arrived {
            if let GroupReply::OffsetCommit(it) = &reply
                && let Some((topic, partition, offset)) = self.committing.remove(&ticket)
                && it.topics[0].partitions[0].error_code == ErrorCode::NONE
            {
                let known = self.acknowledged.entry((topic, partition)).or_default();
                *known = (*known).max(offset);
            }
            let Some(client) = self.clients.get_mut(&key).filter(|it| it.awaits == Some(ticket)) else {
                continue;
            };
            client.awaits = None;
            let next = match reply {
                GroupReply::ConsumerGroupHeartbeat(it) => {
                    client.hear(&it);
                    Next::GoesOn
                }
                GroupReply::JoinGroup(it) => client.hear_join(&it, &topics),
                GroupReply::SyncGroup(it) => client.hear_sync(&it, &topics),
                GroupReply::Heartbeat(it) => client.hear_refusal(it.error_code),
                other => unreachable!("nobody waits for {other:?}"),
            };
            if next == Next::Stops {
                self.clients.remove(&key);
            }
        }
    }

    /// Asks for a client, which then waits.
    fn ask(&mut self, key: &Str, version: i16, request: GroupRequest) {
        let lost = !self.is_peaceful && self.pick(10) == 0;
        let (ticket, arrived) = self.bench.ask(key, version, request, lost);
        if let Some(client) = self.clients.get_mut(key) {
            client.awaits = (!lost).then_some(ticket);
            if let (true, Protocol::Consumer(it)) = (lost, &mut client.protocol) {
                // It does not know what arrived, and tells all again.
                it.changed = true;
            }
        }
        self.arrive(arrived);
    }

    /// The client does what comes next. One that waits sends its request again now and then.
    fn poke(&mut self, key: &Str) {
        let repeats = !self.is_peaceful && self.pick(8) == 0;
        let tells_all = self.pick(4) == 0;
        let (join_version, topics) = ([3, 5, 9][usize::try_from(self.pick(3)).unwrap()], self.topics());
        // Where nobody may be fenced, longer than any pause: a refused sync does not renew a session.
        let session_ms = if self.is_peaceful { 30_000 } else { 10_000 };
        let Some(client) = self.clients.get_mut(key) else { return };
        if client.awaits.is_some() && !repeats {
            return;
        }
        let (version, request) = match &client.protocol {
            Protocol::Consumer(it) => {
                let epoch = it.epoch;
                let request = client.heartbeat(key, epoch, tells_all);
                (1, GroupRequest::ConsumerGroupHeartbeat(Box::new(request)))
            }
            Protocol::Classic(it) => match it.step {
                Step::Join => {
                    let version = if client.instance.is_some() { 9 } else { join_version };
                    (version, GroupRequest::JoinGroup(Box::new(client.join(&topics, session_ms))))
                }
                Step::Sync(_) => (5, GroupRequest::SyncGroup(Box::new(client.sync()))),
                Step::Heartbeat => (4, GroupRequest::Heartbeat(client.classic_heartbeat())),
            },
        };
        self.ask(key, version, request);
    }

    fn new_key(&mut self) -> Str {
        self.made += 1;
        Str::from(format!("m{}", self.made))
    }

    fn protocol(&mut self) -> Protocol {
        if self.is_classic || self.pick(2) == 0 {
            return Protocol::Classic(Classic { is_eager: self.pick(2) == 0, ..Classic::default() });
        }
        let regex = (self.pick(4) == 0).then(|| Str::from(self.bench.one_of(&REGEXES)));
        let assignor = (self.pick(3) == 0).then(|| Str::from(self.bench.one_of(&["uniform", "range"])));
        Protocol::Consumer(Consumer { regex, assignor, ..Consumer::default() })
    }

    fn come(&mut self) {
        let mut client = Client { protocol: self.protocol(), names: self.names(), ..Client::default() };
        if self.pick(4) == 0 {
            let instance = Str::from(self.bench.one_of(&["i", "j"]));
            if self.clients.values().all(|it| it.instance.as_ref() != Some(&instance)) {
                client.instance = Some(instance);
            }
        }
        let key = self.new_key();
        self.clients.insert(key.clone(), client);
        self.poke(&key);
    }

    fn names(&mut self) -> BTreeSet<Str> {
        TOPICS.into_iter().filter(|_| self.pick(3) > 0).map(Str::from).collect()
    }

    fn change_subscription(&mut self) {
        let Some(key) = self.bench.any(&self.clients) else { return };
        let names = self.names();
        let regex = (self.pick(3) == 0).then(|| Str::from(self.bench.one_of(&REGEXES)));
        let client = self.clients.get_mut(&key).unwrap();
        client.names = names;
        match &mut client.protocol {
            Protocol::Consumer(it) => (it.regex, it.changed) = (regex, true),
            Protocol::Classic(it) if matches!(it.step, Step::Heartbeat) => it.step = Step::Join,
            Protocol::Classic(_) => {}
        }
        self.poke(&key);
    }

    /// Leaves for good; a static member only stops. Gives what it was.
    fn stop(&mut self, key: &Str) -> Client {
        let mut client = self.clients.remove(key).unwrap();
        let request = match &client.protocol {
            Protocol::Consumer(_) => {
                let epoch = if client.instance.is_some() { -2 } else { -1 };
                let request = client.heartbeat(key, epoch, false);
                (1, GroupRequest::ConsumerGroupHeartbeat(Box::new(request)))
            }
            Protocol::Classic(it) if client.instance.is_none() && !it.id.is_empty() => {
                let member = MemberIdentity { member_id: it.id.clone(), ..Default::default() };
                let request =
                    LeaveGroupRequest { group_id: GROUP.into(), members: vec![member], ..Default::default() };
                (5, GroupRequest::LeaveGroup(request))
            }
            Protocol::Classic(_) => return client,
        };
        let (_, arrived) = self.bench.ask(key, request.0, request.1, false);
        self.arrive(arrived);
        client
    }

    fn go(&mut self) {
        if let Some(key) = self.bench.any(&self.clients) {
            self.stop(&key);
        }
    }

    /// Its successor has the same instance id, if any, and perhaps the other protocol.
    fn other_protocol(&mut self) {
        let Some(key) = self.bench.any(&self.clients) else { return };
        let old = self.stop(&key);
        let key = self.new_key();
        let (names, instance) = (old.names, old.instance);
        let client = Client { protocol: self.protocol(), names, instance, ..Client::default() };
        self.clients.insert(key.clone(), client);
        self.poke(&key);
    }

    fn commit(&mut self) {
        let Some(key) = self.bench.any(&self.clients) else { return };
        let client = self.clients[&key].clone();
        let Some(epoch) = client.epoch() else { return };
        let Some((id, partition)) = client.owned.iter().find_map(|(id, list)| Some((*id, *list.first()?)))
        else {
            return;
        };
        let Some(name) = self.bench.image.topic_by_id(id).map(|it| Str::from(&*it.name)) else { return };
        self.commits += 1;
        let offset = self.commits;
        let partitions = vec![OffsetCommitRequestPartition {
            partition_index: partition,
            committed_offset: offset,
            ..Default::default()
        }];
        let topic =
            OffsetCommitRequestTopic { name: name.clone(), topic_id: id, partitions, ..Default::default() };
        let request = OffsetCommitRequest {
            group_id: GROUP.into(),
            member_id: client.id(&key).clone(),
            generation_id_or_member_epoch: epoch,
            group_instance_id: client.instance.clone(),
            topics: vec![topic],
            ..Default::default()
        };
        // The answer may come in this very call.
        let next = Ticket(self.bench.tickets() + 1);
        self.committing.insert(next, (name, partition, offset));
        let (ticket, arrived) = self.bench.ask(&key, 9, GroupRequest::OffsetCommit(request), false);
        assert_eq!(ticket, next);
        self.arrive(arrived);
    }

    /// Requests of nobody, and wrong ones of somebody.
    fn nonsense(&mut self) {
        let key = self.bench.any(&self.clients);
        let known = key.as_ref().map(|it| self.clients[it].id(it).clone()).unwrap_or_default();
        let id = if self.pick(2) == 0 { known } else { Str::from("nobody") };
        let generation = i32::try_from(self.pick(20)).unwrap();
        let request = match self.pick(4) {
            0 => GroupRequest::Heartbeat(HeartbeatRequest {
                group_id: GROUP.into(),
                member_id: id,
                generation_id: generation,
                ..Default::default()
            }),
            1 => GroupRequest::LeaveGroup(LeaveGroupRequest {
                group_id: GROUP.into(),
                members: vec![MemberIdentity { group_instance_id: Some("k".into()), ..Default::default() }],
                ..Default::default()
            }),
            2 => GroupRequest::JoinGroup(Box::new(JoinGroupRequest {
                group_id: GROUP.into(),
                protocol_type: "consumer".into(),
                session_timeout_ms: 10_000,
                rebalance_timeout_ms: 20_000,
                ..Default::default()
            })),
            _ => {
                let mut consumer = Client::default();
                GroupRequest::ConsumerGroupHeartbeat(Box::new(consumer.heartbeat(
                    &"nobody".into(),
                    generation + 1,
                    false,
                )))
            }
        };
        let (_, arrived) = self.bench.ask(&"nobody at all".into(), 1, request, false);
        self.arrive(arrived);
    }

    fn resolve(&mut self) {
        let Some((id, GroupTask::ResolveRegexes(task))) = self.bench.tasks.pop() else { return };
        let fails = !self.is_peaceful && self.pick(8) == 0;
        let topics: Vec<_> = self.bench.image.topics().map(|it| &*it.name).collect();
        let result = ResolvedRegexes {
            topics: topics_of_regexes(&task.regexes, &topics, || true).filter(|_| !fails),
            group: task.group,
            version: self.bench.image.version(),
            started: task.started,
        };
        let arrived = self.bench.event(Event::Done(id, GroupTaskResult::ResolveRegexes(result)));
        self.arrive(arrived);
    }

    fn pass_time(&mut self) {
        let most = if !self.is_peaceful && self.pick(6) == 0 { 50_000 } else { 4_000 };
        let to = self.bench.now + i64::try_from(self.pick(most)).unwrap();
        self.pass_until(to);
    }

    fn pass_until(&mut self, to: i64) {
        let arrived = self.bench.pass_until(to);
        self.arrive(arrived);
        if self.is_peaceful {
            let keys: Vec<_> = self.clients.keys().cloned().collect();
            keys.iter().for_each(|key| self.poke(key));
        }
    }

    fn set_policy(&mut self, policy: &str) {
        let arrived = self.bench.apply(Entry::Config {
            resource: Resource::Broker(String::new()),
            key: "group.consumer.migration.policy".to_owned(),
            value: Some(policy.to_owned()),
        });
        self.arrive(arrived);
    }

    fn create_topic(&mut self, name: &str) {
        let partitions = usize::try_from(1 + self.pick(4)).unwrap();
        let arrived = self.bench.create_topic(name, partitions);
        self.arrive(arrived);
    }

    fn change_topics(&mut self) {
        let name = self.bench.one_of(&TOPICS);
        let Some(topic) = self.bench.topic(name).map(|it| it.id) else { return self.create_topic(name) };
        let arrived = if !self.is_peaceful && self.pick(2) == 0 {
            let name = Str::from(name);
            self.acknowledged.retain(|(topic, _), _| *topic != name);
            self.committing.retain(|_, (topic, ..)| *topic != name);
            self.bench.apply(Entry::TopicDeleted { topic })
        } else {
            self.bench.grow_topic(topic)
        };
        self.arrive(arrived);
    }

    fn crash(&mut self) {
        self.bench.crash();
        self.committing.clear();
        self.clients.values_mut().for_each(|it| it.awaits = None);
        self.number = 0;
    }

    /// Epochs and generations grow as long as there are members.
    fn check_number(&mut self) {
        let group = GROUP.into();
        let hard = self.bench.shard().hard();
        let number = match hard.group(&group) {
            Some(Group::Consumer(it)) if !it.is_empty() => {
                self.consumer_events += 1;
                it.epoch
            }
            Some(Group::Classic(_)) => {
                let live = &self.bench.shard().soft().classic[&group];
                self.classic_events += usize::from(!live.is_empty());
                if live.is_empty() { 0 } else { live.generation() }
            }
            Some(_) | None => 0,
        };
        assert!(number >= self.number || number == 0, "from {} back to {number}", self.number);
        self.number = number;
    }

    pub(crate) fn check(&mut self) {
        let group = GROUP.into();
        let hard = self.bench.shard().hard();
        for ((topic, partition), offset) in &self.acknowledged {
            let stored = hard.offsets().get(&group, topic, *partition).map(|it| it.offset);
            assert!(
                stored >= Some(*offset),
                "{topic} {partition}: {offset} was acknowledged, {stored:?} is there"
            );
        }
        self.check_consumer_group();
        if self.is_peaceful {
            self.owned_once();
        }
    }

    fn check_consumer_group(&self) {
        let Some(group) = self.bench.shard().hard().consumer(&GROUP.into()) else { return };
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
            let told = self.clients.get(id).and_then(Client::epoch);
            assert!(told <= Some(current.epoch.max(group.epoch)), "{id} was told an epoch that is not there");
        }
    }

    /// Gives what all clients believe to own.
    fn owned_once(&self) -> BTreeSet<(Uuid, i32)> {
        let mut owners: BTreeMap<(Uuid, i32), &Str> = BTreeMap::new();
        for (key, client) in &self.clients {
            for (topic, partitions) in &client.owned {
                for partition in partitions {
                    let other = owners.insert((*topic, *partition), key);
                    assert!(other.is_none(), "{topic} {partition} is owned by {key} and {other:?}");
                }
            }
        }
        owners.into_keys().collect()
    }

    /// Everybody goes on, nothing else happens.
    pub(crate) fn come_to_rest(&mut self) {
        self.set_policy("bidirectional");
        for topic in TOPICS {
            if self.bench.topic(topic).is_none() {
                self.create_topic(topic);
            }
        }
        self.come();
        let heirs: Vec<_> = self.clients.keys().cloned().collect();
        heirs.iter().for_each(|key| self.clients.get_mut(key).unwrap().awaits = None);
        self.is_peaceful = true;
        for _ in 0..60 {
            for _ in 0..2 {
                let keys: Vec<_> = self.clients.keys().cloned().collect();
                for key in keys {
                    self.poke(&key);
                    let arrived = self.bench.become_durable();
                    self.arrive(arrived);
                }
            }
            self.resolve();
            let to = self.bench.now + 3_000;
            let arrived = self.bench.pass_until(to);
            self.arrive(arrived);
            self.check_consumer_group();
        }
        self.is_at_rest();
    }

    fn is_at_rest(&self) {
        let id = GROUP.into();
        let shard = self.bench.shard();
        let (state, wanted): (_, BTreeSet<Str>) = match shard.hard().group(&id) {
            Some(Group::Consumer(it)) => {
                assert_eq!(it.members().len(), self.clients.len(), "{it:#?}");
                (it.state_name(), it.subscriptions().topics().cloned().collect())
            }
            Some(Group::Classic(_)) => {
                let live = &shard.soft().classic[&id];
                assert!(live.state() == State::Stable, "{live:#?}");
                (live.state_name(), self.clients.values().flat_map(|it| it.names.iter().cloned()).collect())
            }
            other => panic!("no group of consumers is there: {other:?}"),
        };
        assert_eq!(state, "Stable", "{:#?}", shard.hard().group(&id));
        let topics = wanted.iter().filter_map(|it| self.bench.topic(it.as_str()?));
        let all: usize = topics.map(|it| it.partitions.len()).sum();
        let owned = self.owned_once();
        assert_eq!(owned.len(), all, "each partition once: {owned:?}");
    }
}
