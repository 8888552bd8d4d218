//! What one more member that joins a large consumer group costs its shard: the whole step, from the request to records
//! that are applied, with the assignor and all that feeds it and takes its result. Sockets and the log are left out.
//!
//! `cargo run --release -p coordinator --example target_cost`
//!
//! Everybody names its topics, and all members have the target that the assignor gave. `assignor` is the assignor alone,
//! when nothing changes; the last column is how many records the step made.

#![allow(clippy::print_stdout, reason = "a tool for the terminal")]
#![allow(clippy::disallowed_methods, reason = "measures time, decides nothing by it")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use catalog::entry::{PartitionEntry, Resource, TopicEntry};
use catalog::{Entry, Image};
use coordinator::assign::{PartitionAssignor, PartitionSpec, Partitions, Subscriber, Topic};
use coordinator::group::{GroupRequest, GroupShard};
use coordinator::{At, Caller, Cx, Entropy, Event, Machine, Ticket};
use wire::consumer_offsets::consumer_group_target_assignment_member_value::TopicPartition;
use wire::consumer_offsets::{
    ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue, ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue, ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue, Record,
};
use wire::{ConsumerGroupHeartbeatRequest, Str, Uuid};

const NOW: i64 = 1_700_000_000_000;
const GROUP: &str = "g";
const JOINS: usize = 3;

#[derive(Clone, Copy)]
struct Case {
    assignor: PartitionAssignor,
    subscriptions: usize,
    members: usize,
    topics: usize,
    each: u32,
}

const CASES: [Case; 4] = [
    Case {
        assignor: PartitionAssignor::Uniform,
        subscriptions: 1,
        members: 10_000,
        topics: 1_000,
        each: 1_000,
    },
    Case { assignor: PartitionAssignor::Uniform, subscriptions: 5, members: 1_000, topics: 100, each: 500 },
    Case {
        assignor: PartitionAssignor::Uniform,
        subscriptions: 5,
        members: 10_000,
        topics: 1_000,
        each: 1_000,
    },
    Case {
        assignor: PartitionAssignor::Range,
        subscriptions: 1,
        members: 10_000,
        topics: 1_000,
        each: 1_000,
    },
];

fn main() {
    println!("assignor subscriptions members topics partitions |  assignor  whole step |  records");
    for case in CASES {
        let mut world = World::new(case);
        let before = world.targets();
        world.load(&before);
        let alone = least((0..5).map(|_| world.assign(&before)));
        let (steps, records): (Vec<_>, Vec<_>) = (0..JOINS).map(|at| world.join(at)).unzip();
        println!(
            "{:<8} {:>13} {:>7} {:>6} {:>10} | {alone:>6.1} ms {:>8.1} ms | {:>8}",
            case.assignor.name(),
            case.subscriptions,
            case.members,
            case.topics,
            case.topics * case.each as usize,
            least(steps),
            records.first().copied().unwrap_or(0),
        );
    }
}

fn least(times: impl IntoIterator<Item = Duration>) -> f64 {
    times.into_iter().min().unwrap_or_default().as_secs_f64() * 1e3
}

struct World {
    case: Case,
    shard: GroupShard,
    image: Image,
    ids: Vec<Str>,
    /// Sorted by id.
    topics: Vec<(Str, Uuid)>,
    offset: i64,
}

impl World {
    fn new(case: Case) -> Self {
        let partition = PartitionEntry { id: 0, replicas: vec![0] };
        let topics: Vec<(Str, Uuid)> = (0..case.topics).map(|at| (name(at), id(at))).collect();
        let mut image = Image::default();
        for at in 0..case.topics {
            image = image.apply(&Entry::Topic(TopicEntry {
                name: name(at).to_string(),
                id: id(at),
                replication_factor: 1,
                partitions: vec![partition.clone(); case.each as usize],
                configs: BTreeMap::new(),
            }));
        }
        for (key, value) in [
            ("group.consumer.assignment.interval.ms", "0"),
            ("group.consumer.max.size", "100000"),
            ("group.consumer.assignors", case.assignor.name()),
        ] {
            let resource = Resource::Broker(String::new());
            image =
                image.apply(&Entry::Config { resource, key: key.to_owned(), value: Some(value.to_owned()) });
        }
        let ids = (0..case.members).map(|at| Str::from(format!("member-{at:029}"))).collect();
        Self { case, shard: GroupShard::default(), image, ids, topics, offset: 0 }
    }

    fn names(&self, member: usize) -> Vec<Str> {
        let of = self.topics.iter().skip(member % self.case.subscriptions).step_by(self.case.subscriptions);
        of.map(|it| it.0.clone()).collect()
    }

    fn spec<'a>(&'a self, before: Option<&'a [Partitions]>) -> PartitionSpec<'a> {
        let topic = |it: &(Str, Uuid)| Topic { id: it.1, partitions: self.case.each };
        let mut spec = PartitionSpec::new(self.topics.iter().map(topic).collect());
        spec.homogeneous = self.case.subscriptions == 1;
        let subscriptions: Vec<_> = (0..self.case.subscriptions)
            .map(|at| {
                let of = self.topics.iter().skip(at).step_by(self.case.subscriptions);
                let places = of.filter_map(|it| spec.place(it.1)).collect();
                spec.subscription(places)
            })
            .collect();
        for ((at, id), subscription) in self.ids.iter().enumerate().zip(subscriptions.into_iter().cycle()) {
            let target = before.and_then(|it| it.get(at));
            spec.add(Subscriber { id, instance: None, subscription, target });
        }
        spec
    }

    fn targets(&self) -> Vec<Partitions> {
        let targets = self.case.assignor.assign(&self.spec(None));
        targets.into_iter().map(|it| it.into_owned()).collect()
    }

    /// The assignor alone, with nothing to change.
    fn assign(&self, before: &[Partitions]) -> Duration {
        let spec = self.spec(Some(before));
        let start = Instant::now();
        let targets = self.case.assignor.assign(&spec);
        let time = start.elapsed();
        drop(targets);
        time
    }

    fn record(&mut self, record: &Record) {
        self.shard.replay(At { offset: self.offset, timestamp: NOW, producer: None }, record);
        self.offset += 1;
    }

    /// All members stand at epoch 2 and hold what they shall.
    fn load(&mut self, before: &[Partitions]) {
        let group_id = Str::from(GROUP);
        let value = ConsumerGroupMetadataValue { epoch: 2, metadata_hash: 1, ..Default::default() };
        let key = ConsumerGroupMetadataKey { group_id: group_id.clone() };
        self.record(&Record::ConsumerGroupMetadata(key, Some(value)));
        for (at, target) in before.iter().enumerate() {
            let Some(member_id) = self.ids.get(at).cloned() else { continue };
            let key =
                ConsumerGroupMemberMetadataKey { group_id: group_id.clone(), member_id: member_id.clone() };
            let value = ConsumerGroupMemberMetadataValue {
                subscribed_topic_names: self.names(at),
                subscribed_topic_regex: Some(Str::default()),
                rebalance_timeout_ms: 300_000,
                ..Default::default()
            };
            self.record(&Record::ConsumerGroupMemberMetadata(key, Some(value)));
            let topics = target.iter().map(|(topic_id, partitions)| TopicPartition {
                topic_id,
                partitions: partitions.to_vec(),
                ..Default::default()
            });
            let key = ConsumerGroupTargetAssignmentMemberKey {
                group_id: group_id.clone(),
                member_id: member_id.clone(),
            };
            let value = ConsumerGroupTargetAssignmentMemberValue {
                topic_partitions: topics.collect(),
                ..Default::default()
            };
            self.record(&Record::ConsumerGroupTargetAssignmentMember(key, Some(value)));
            let key = ConsumerGroupCurrentMemberAssignmentKey { group_id: group_id.clone(), member_id };
            let value = ConsumerGroupCurrentMemberAssignmentValue {
                member_epoch: 2,
                previous_member_epoch: 1,
                ..Default::default()
            };
            self.record(&Record::ConsumerGroupCurrentMemberAssignment(key, Some(value)));
        }
        let key = ConsumerGroupTargetAssignmentMetadataKey { group_id };
        let value = ConsumerGroupTargetAssignmentMetadataValue {
            assignment_epoch: 2,
            assignment_timestamp: NOW,
            ..Default::default()
        };
        self.record(&Record::ConsumerGroupTargetAssignmentMetadata(key, Some(value)));
        let mut entropy = Entropy::seeded(1);
        let mut cx = Cx {
            now: NOW,
            offset: self.offset,
            image: &self.image,
            entropy: &mut entropy,
            slowest_answer: 0,
        };
        self.shard.loaded(&mut cx);
    }

    /// The time of the step, and how many records it made.
    fn join(&mut self, number: usize) -> (Duration, usize) {
        let request = ConsumerGroupHeartbeatRequest {
            group_id: GROUP.into(),
            // After all others, each of another subscription.
            member_id: Str::from(format!("newcomer-{number:020}")),
            rebalance_timeout_ms: 300_000,
            subscribed_topic_names: Some(self.names(number)),
            topic_partitions: Some(Vec::new()),
            ..Default::default()
        };
        let request = GroupRequest::ConsumerGroupHeartbeat(Box::new(request));
        let caller = Caller { api_version: 1, connection: 1, ..Default::default() };
        let mut entropy = Entropy::seeded(1);
        let mut cx = Cx {
            now: NOW + 1,
            offset: self.offset,
            image: &self.image,
            entropy: &mut entropy,
            slowest_answer: 0,
        };
        let start = Instant::now();
        let output = self.shard.step(&mut cx, Event::Ask { ticket: Ticket(1), caller, request });
        let time = start.elapsed();
        self.offset += i64::try_from(output.records.len()).unwrap_or(0);
        (time, output.records.len())
    }
}

fn name(topic: usize) -> Str {
    Str::from(format!("events-of-region-{topic:05}"))
}

fn id(topic: usize) -> Uuid {
    Uuid((topic as u128 + 1).to_be_bytes())
}
