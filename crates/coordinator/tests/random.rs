//! Streams groups under random events: members that join, leave, fall silent and lose responses,
//! topics that come, grow and go, crashes that take what is not durable. `SEED=n` runs one again.
//!
//! What must hold (streams-groups.md 18.20): after each step nobody holds a task twice, epochs are in
//! order and no member was told what a crash took back (363 to 366, 369); at the end the log makes the
//! live state (368), and when the trouble stops the group comes to rest with each task once (367).

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test, though not inside its function")]

mod harness;

use std::collections::{BTreeMap, BTreeSet};

use catalog::Entry;
use catalog::entry::Resource;
use coordinator::group::{GroupReply, GroupRequest};
use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use wire::streams_group_heartbeat::request::{Subtopology, TaskIds, TopicInfo, Topology};
use wire::{
    ErrorCode, OffsetCommitRequest, Str, StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse, Uuid,
};

use harness::{Arrived, Bench};

const RUNS: u64 = 40;
const STEPS: usize = 200;
const GROUP: &str = "g";
const TOPICS: [&str; 2] = ["in", "in2"];
/// Of the subtopology that reads the second topic.
const CHANGELOG: &str = "log";

#[test]
fn groups_survive_and_come_to_rest() {
    testkit::seed::each(&[], RUNS, run);
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    for _ in 0..STEPS {
        world.something();
        world.check();
    }
    world.come_to_rest();
    world.bench.replay_equals_live();
}

type Tasks = BTreeSet<(Str, i32)>;

/// A stream thread that follows the protocol.
#[derive(Default)]
struct Client {
    process: Str,
    epoch: i32,
    /// Active, standby, warm-up.
    owned: [Tasks; 3],
    /// The owned tasks changed since they were last told.
    changed: bool,
}

impl Client {
    fn forget(&mut self) {
        self.epoch = 0;
        self.owned = Default::default();
    }
}

struct World {
    bench: Bench,
    clients: BTreeMap<Str, Client>,
    members_made: u32,
    /// Members whose response is awaited; it may get lost.
    waiting: BTreeSet<Str>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            bench: Bench::new(seed),
            clients: BTreeMap::new(),
            members_made: 0,
            waiting: BTreeSet::new(),
        };
        let standbys = world.pick(3);
        world.apply(Entry::Config {
            resource: Resource::Group(GROUP.to_owned()),
            key: "streams.num.standby.replicas".to_owned(),
            value: Some(standbys.to_string()),
        });
        world.create_topic(TOPICS[0]);
        world
    }

    fn pick(&mut self, below: u64) -> u64 {
        self.bench.pick(below)
    }

    /// One event, drawn by chance.
    fn something(&mut self) {
        match self.pick(100) {
            0..6 if self.clients.len() < 5 => self.join(),
            0..60 => self.heartbeat(),
            60..63 => self.leave(),
            63..66 => self.die(),
            66..72 => self.commit(),
            72..86 => self.pass_time(),
            86..90 => self.change_topics(),
            90..97 => self.become_durable(),
            97..99 => self.crash(),
            _ => {
                self.become_durable();
                self.bench.load();
                self.waiting.clear();
            }
        }
    }

    fn ask(&mut self, member: &Str, request: GroupRequest) {
        let lost = self.pick(10) == 0;
        self.waiting.insert(member.clone());
        let (_, arrived) = self.bench.ask(member, 9, request, lost);
        self.arrive(arrived);
    }

    fn become_durable(&mut self) {
        let arrived = self.bench.become_durable();
        self.arrive(arrived);
        self.waiting.clear();
    }

    fn arrive(&mut self, arrived: Vec<Arrived>) {
        for (_, member, reply) in arrived {
            self.waiting.remove(&member);
            if let GroupReply::StreamsGroupHeartbeat(it) = reply {
                self.hear(&member, &it.response);
                for topic in it.topics_to_create {
                    let partitions = usize::try_from(topic.num_partitions).unwrap();
                    self.create_topic_of(&topic.name.to_str(), partitions);
                }
            }
        }
    }

    fn hear(&mut self, member: &Str, response: &StreamsGroupHeartbeatResponse) {
        let Some(client) = self.clients.get_mut(member) else { return };
        let code = response.error_code;
        if code != ErrorCode::NONE {
            let expected = [
                ErrorCode::UNKNOWN_MEMBER_ID,
                ErrorCode::FENCED_MEMBER_EPOCH,
                ErrorCode::GROUP_ID_NOT_FOUND,
                // A task of a topic that was made anew with fewer partitions.
                ErrorCode::INVALID_REQUEST,
            ];
            assert!(expected.contains(&code), "{} {:?}", code.name(), response.error_message);
            client.forget();
            return;
        }
        assert!(response.member_epoch > 0, "366: a joined member never sees epoch 0");
        client.epoch = response.member_epoch;
        let lists = [&response.active_tasks, &response.standby_tasks, &response.warmup_tasks];
        let given = lists.iter().filter(|it| it.is_some()).count();
        assert!(given == 0 || given == 3, "366: all three lists or none");
        for (owned, list) in client.owned.iter_mut().zip(lists) {
            let Some(list) = list else { continue };
            let tasks = list
                .iter()
                .flat_map(|it| it.partitions.iter().map(|partition| (it.subtopology_id.clone(), *partition)));
            let tasks: Tasks = tasks.collect();
            client.changed |= *owned != tasks;
            *owned = tasks;
        }
    }

    fn join(&mut self) {
        self.members_made += 1;
        let member = Str::from(format!("m{}", self.members_made));
        let process = Str::from(format!("p{}", self.pick(3)));
        self.clients.insert(member.clone(), Client { process, ..Client::default() });
        self.heartbeat_of(&member);
    }

    fn any_client(&mut self) -> Option<Str> {
        self.bench.any(&self.clients)
    }

    fn heartbeat(&mut self) {
        if let Some(member) = self.any_client() {
            self.heartbeat_of(&member);
        }
    }

    fn heartbeat_of(&mut self, member: &Str) {
        // A client waits for the response before it sends again.
        if self.waiting.contains(member) {
            self.become_durable();
        }
        let full = self.pick(2) == 0;
        let Some(client) = self.clients.get_mut(member) else { return };
        let joins = client.epoch == 0;
        let tell = joins || full || std::mem::take(&mut client.changed);
        let lists = client.owned.clone().map(|it| tell.then(|| task_ids(&it)));
        let [active_tasks, standby_tasks, warmup_tasks] = lists;
        let request = StreamsGroupHeartbeatRequest {
            group_id: GROUP.into(),
            member_id: member.clone(),
            member_epoch: client.epoch,
            rebalance_timeout_ms: if joins { 60_000 } else { -1 },
            topology: joins.then(topology),
            process_id: joins.then(|| client.process.clone()),
            active_tasks,
            standby_tasks,
            warmup_tasks,
            ..Default::default()
        };
        self.ask(member, GroupRequest::StreamsGroupHeartbeat(Box::new(request)));
    }

    fn leave(&mut self) {
        let Some(member) = self.any_client() else { return };
        self.clients.remove(&member);
        let request = StreamsGroupHeartbeatRequest {
            group_id: GROUP.into(),
            member_id: member.clone(),
            member_epoch: -1,
            ..Default::default()
        };
        self.ask(&member, GroupRequest::StreamsGroupHeartbeat(Box::new(request)));
    }

    fn die(&mut self) {
        if let Some(member) = self.any_client() {
            self.clients.remove(&member);
        }
    }

    fn commit(&mut self) {
        let member = self.any_client().unwrap_or_default();
        let epoch = self.clients.get(&member).map_or(-1, |it| it.epoch);
        let at = usize::try_from(self.pick(2)).unwrap();
        let committed_offset = i64::try_from(self.pick(1000)).unwrap();
        let partition_index = i32::try_from(self.pick(3)).unwrap();
        let partition =
            OffsetCommitRequestPartition { partition_index, committed_offset, ..Default::default() };
        let topic = OffsetCommitRequestTopic {
            name: TOPICS[at].into(),
            topic_id: self.bench.topic(TOPICS[at]).map_or(Uuid::ZERO, |it| it.id),
            partitions: vec![partition],
            ..Default::default()
        };
        let request = OffsetCommitRequest {
            group_id: GROUP.into(),
            member_id: member.clone(),
            generation_id_or_member_epoch: epoch,
            topics: vec![topic],
            ..Default::default()
        };
        self.ask(&member, GroupRequest::OffsetCommit(request));
    }

    fn pass_time(&mut self) {
        let most = if self.pick(6) == 0 { 50_000 } else { 4_000 };
        let to = self.bench.now + i64::try_from(self.pick(most)).unwrap();
        self.pass_until(to);
    }

    fn pass_until(&mut self, to: i64) {
        let arrived = self.bench.pass_until(to);
        self.arrive(arrived);
    }

    fn create_topic(&mut self, name: &str) {
        let partitions = usize::try_from(1 + self.pick(4)).unwrap();
        self.create_topic_of(name, partitions);
    }

    fn create_topic_of(&mut self, name: &str, partitions: usize) {
        let arrived = self.bench.create_topic(name, partitions);
        self.arrive(arrived);
    }

    fn apply(&mut self, entry: Entry) {
        let arrived = self.bench.apply(entry);
        self.arrive(arrived);
    }

    fn change_topics(&mut self) {
        let names = [TOPICS[0], TOPICS[1], CHANGELOG];
        let name = self.bench.one_of(&names);
        let Some(topic) = self.bench.topic(name).map(|it| it.id) else {
            return self.create_topic(name);
        };
        if self.pick(2) == 0 {
            self.apply(Entry::TopicDeleted { topic });
        } else {
            let arrived = self.bench.grow_topic(topic);
            self.arrive(arrived);
        }
    }

    /// What is not durable is gone, and so are the replies that waited for it.
    fn crash(&mut self) {
        self.bench.crash();
        self.waiting.clear();
    }

    /// 363 to 365 on the hard state, and that clients hold nothing that it does not know of.
    fn check(&self) {
        let Some(group) = self.bench.shard().hard().streams(&GROUP.into()) else { return };
        assert!(group.assignment_epoch <= group.epoch, "365");
        let mut owners: BTreeMap<_, &Str> = BTreeMap::new();
        let mut held: BTreeMap<_, (&Str, &str)> = BTreeMap::new();
        for (id, member) in group.members() {
            let current = &member.current;
            assert!(current.epoch <= group.assignment_epoch.max(1), "365: {id} is ahead of the assignment");
            for task in current.assigned.active.keys() {
                let other = owners.insert(task, id);
                assert!(other.is_none(), "363: {task:?} of {id} is also of {other:?}");
            }
            let (has, had) = (&current.assigned, &current.pending);
            let roles = [
                ("active", has.active.keys().collect::<Vec<_>>()),
                ("pending active", had.active.keys().collect()),
                ("standby", has.standby.iter().chain(&had.standby).collect()),
                ("warm-up", has.warmup.iter().chain(&had.warmup).collect()),
            ];
            for (role, task) in
                roles.iter().flat_map(|(role, tasks)| tasks.iter().map(move |it| (*role, *it)))
            {
                let other = held.insert((&member.metadata.process_id, task), (id, role));
                let demoted = other == Some((id, "pending active")) && role == "standby";
                assert!(other.is_none() || demoted, "364: {task:?} is {role} of {id} and {other:?}");
            }
            let Some(client) = self.clients.get(id).filter(|it| it.epoch > 0) else { continue };
            assert!(client.epoch <= current.epoch, "369: {id} was told an epoch that is not there");
        }
        let mut processes: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for ((process, task), (_, role)) in &held {
            if role.ends_with("active") {
                processes.entry(task).or_default().insert(process);
            }
        }
        assert!(processes.values().all(|it| it.len() == 1), "363: {processes:?}");
    }

    /// 367: everybody heartbeats, nothing else happens.
    fn come_to_rest(&mut self) {
        for topic in TOPICS {
            if self.bench.topic(topic).is_none() {
                self.create_topic(topic);
            }
        }
        // It may have been made for another number of partitions; the group has it made anew.
        if let Some(topic) = self.bench.topic(CHANGELOG).map(|it| it.id) {
            self.apply(Entry::TopicDeleted { topic });
        }
        self.join();
        for _ in 0..30 {
            let members: Vec<_> = self.clients.keys().cloned().collect();
            for member in members {
                self.heartbeat_of(&member);
                self.become_durable();
                self.check();
            }
            self.pass_until(self.bench.now + 5_000);
        }
        let group = self.bench.shard().hard().streams(&GROUP.into()).unwrap();
        assert_eq!(group.state_name(), "Stable", "{group:#?}");
        assert_eq!(group.members().len(), self.clients.len());
        let mut tasks = Tasks::new();
        for task in self.clients.values().flat_map(|it| &it.owned[0]) {
            assert!(tasks.insert(task.clone()), "{task:?} is owned twice");
        }
        let partitions = TOPICS.map(|it| self.bench.topic(it).unwrap().partitions.len());
        assert_eq!(tasks.len(), partitions.iter().sum::<usize>(), "each task once: {tasks:?}");
    }
}

fn topology() -> Topology {
    let subtopology = |id: &str, source: &str, stores: &[&str]| Subtopology {
        subtopology_id: id.into(),
        source_topics: vec![source.into()],
        state_changelog_topics: stores
            .iter()
            .map(|it| TopicInfo { name: (*it).into(), ..Default::default() })
            .collect(),
        ..Default::default()
    };
    Topology {
        epoch: 0,
        subtopologies: vec![subtopology("0", "in", &[]), subtopology("1", "in2", &[CHANGELOG])],
        ..Default::default()
    }
}

fn task_ids(tasks: &Tasks) -> Vec<TaskIds> {
    let mut ids: BTreeMap<&Str, Vec<i32>> = BTreeMap::new();
    for (subtopology, partition) in tasks {
        ids.entry(subtopology).or_default().push(*partition);
    }
    let ids = ids.into_iter();
    ids.map(|(id, partitions)| TaskIds { subtopology_id: id.clone(), partitions, ..Default::default() })
        .collect()
}
