//! What the shard takes while members of a streams group join one by one, and then beat until all tasks are owned: with
//! and without endpoints for interactive queries, sockets and the log left out.
//!
//! `cargo run --release -p coordinator --example join_cost [MEMBERS TASKS]`
//!
//! Prints milliseconds of the shard's steps, those of encoding their answers, and megabytes of answers. The last column
//! is what encoding would take if each answer listed the endpoints anew.

#![allow(clippy::print_stdout, reason = "a tool for the terminal")]
#![allow(clippy::disallowed_methods, reason = "measures time, decides nothing by it")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use catalog::entry::{PartitionEntry, Resource, TopicEntry};
use catalog::{Entry, Image};
use coordinator::group::{GroupReply, GroupRequest, GroupShard, StreamsHeartbeatReply};
use coordinator::{Caller, Cx, Entropy, Event, Machine, Millis, Ticket};
use wire::streams_group_heartbeat::request::{Endpoint, Subtopology, TaskIds, Topology};
use wire::streams_group_heartbeat::response;
use wire::{Message as _, Str, StreamsGroupHeartbeatRequest, Uuid};

const SUBTOPOLOGIES: usize = 10;
/// Heartbeats of each until all tasks are owned, at most.
const PASSES_MAX: usize = 20;

#[derive(Default)]
struct Member {
    id: Str,
    epoch: i32,
    known: i32,
    owned: Vec<TaskIds>,
    tell: bool,
}

#[derive(Default)]
struct Cost {
    steps: Duration,
    encoding: Duration,
    anew: Duration,
    bytes: usize,
}

struct World {
    shard: GroupShard,
    image: Image,
    now: Millis,
    offset: i64,
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|it| it.parse::<usize>().ok());
    let (members, tasks) = (numbers.next().unwrap_or(1000), numbers.next().unwrap_or(1000));
    println!("                              |   steps  encoding  MB of answers | encoded anew");
    for endpoints in [false, true] {
        let mut world = World::new(tasks.div_ceil(SUBTOPOLOGIES));
        let member = |at| Member { id: Str::from(format!("member-{at:06}")), ..Default::default() };
        let mut all: Vec<Member> = (0..members).map(member).collect();
        let joins = world.pass(&mut all, endpoints);
        let mut rest = Cost::default();
        for _ in 0..PASSES_MAX {
            world.now += 5000;
            let pass = world.pass(&mut all, endpoints);
            rest = rest.plus(&pass);
        }
        let owned: usize = all.iter().flat_map(|it| &it.owned).map(|it| it.partitions.len()).sum();
        let with = if endpoints { "with endpoints" } else { "without" };
        joins.print(&format!("{members} joins, {with}"));
        rest.print(&format!("{PASSES_MAX} beats each, {owned} owned"));
    }
}

impl Cost {
    fn plus(&self, other: &Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            encoding: self.encoding + other.encoding,
            anew: self.anew + other.anew,
            bytes: self.bytes + other.bytes,
        }
    }

    fn print(&self, name: &str) {
        let millis = |it: Duration| it.as_secs_f64() * 1e3;
        println!(
            "{name:<30}| {:>7.1} {:>9.1} {:>14.1} | {:>12.1}",
            millis(self.steps),
            millis(self.encoding),
            self.bytes as f64 / 1e6,
            millis(self.anew)
        );
    }
}

impl World {
    fn new(partitions: usize) -> Self {
        let partition = PartitionEntry { id: 0, replicas: vec![0] };
        let topic = |at: usize| {
            let mut id = [0; 16];
            id[15] = u8::try_from(at + 1).unwrap_or(u8::MAX);
            Entry::Topic(TopicEntry {
                name: format!("in-{at}"),
                id: Uuid(id),
                replication_factor: 1,
                partitions: vec![partition.clone(); partitions],
                configs: BTreeMap::new(),
            })
        };
        let mut image = (0..SUBTOPOLOGIES).fold(Image::default(), |image, at| image.apply(&topic(at)));
        let key = "group.streams.initial.rebalance.delay.ms".to_owned();
        let resource = Resource::Broker(String::new());
        image = image.apply(&Entry::Config { resource, key, value: Some("0".to_owned()) });
        let mut world = Self { shard: GroupShard::default(), image, now: 1_700_000_000_000, offset: 0 };
        let mut entropy = Entropy::seeded(1);
        let mut cx =
            Cx { now: world.now, offset: 0, image: &world.image, entropy: &mut entropy, slowest_answer: 0 };
        world.shard.loaded(&mut cx);
        world
    }

    /// A heartbeat of each.
    fn pass(&mut self, members: &mut [Member], endpoints: bool) -> Cost {
        let mut cost = Cost::default();
        for (at, member) in members.iter_mut().enumerate() {
            self.now += 1;
            let Some(reply) = self.ask(request(member, at, endpoints), &mut cost) else { continue };
            let start = Instant::now();
            let size = reply.response.to_bytes(1).map_or(0, |it| it.len());
            cost.encoding += start.elapsed();
            cost.bytes += size + reply.endpoints.as_ref().map_or(0, bytes::Bytes::len);
            let whole = reply.whole();
            let start = Instant::now();
            let listed = whole.to_bytes(1).map_or(0, |it| it.len());
            cost.anew += start.elapsed();
            assert!(listed >= size);
            member.epoch = reply.response.member_epoch;
            member.known = reply.response.endpoint_information_epoch;
            member.tell = false;
            if let Some(active) = &reply.response.active_tasks {
                member.owned = active.iter().map(task).collect();
                member.tell = true;
            }
        }
        cost
    }

    fn ask(
        &mut self,
        request: StreamsGroupHeartbeatRequest,
        cost: &mut Cost,
    ) -> Option<StreamsHeartbeatReply> {
        let request = GroupRequest::StreamsGroupHeartbeat(Box::new(request));
        let caller = Caller { api_version: 1, connection: 1, ..Default::default() };
        let mut entropy = Entropy::seeded(1);
        let mut cx = Cx {
            now: self.now,
            offset: self.offset,
            image: &self.image,
            entropy: &mut entropy,
            slowest_answer: 0,
        };
        let start = Instant::now();
        let output = self.shard.step(&mut cx, Event::Ask { ticket: Ticket(1), caller, request });
        cost.steps += start.elapsed();
        self.offset += i64::try_from(output.records.len()).unwrap_or(0);
        let (_, GroupReply::StreamsGroupHeartbeat(reply)) = output.replies.into_iter().next()? else {
            return None;
        };
        Some(*reply)
    }
}

fn task(it: &response::TaskIds) -> TaskIds {
    let (subtopology_id, partitions) = (it.subtopology_id.clone(), it.partitions.clone());
    TaskIds { subtopology_id, partitions, ..Default::default() }
}

fn request(member: &Member, at: usize, endpoints: bool) -> StreamsGroupHeartbeatRequest {
    let joins = member.epoch == 0;
    let part = |number: usize| Subtopology {
        subtopology_id: Str::from(number.to_string()),
        source_topics: vec![Str::from(format!("in-{number}"))],
        ..Default::default()
    };
    let topology =
        || Topology { epoch: 0, subtopologies: (0..SUBTOPOLOGIES).map(part).collect(), ..Default::default() };
    let port = u16::try_from(1 + at % 65_000).unwrap_or(1);
    let endpoint = || Endpoint { host: "127.0.0.1".into(), port, ..Default::default() };
    let tells = joins || member.tell;
    StreamsGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: member.id.clone(),
        member_epoch: member.epoch,
        endpoint_information_epoch: member.known,
        rebalance_timeout_ms: if joins { 300_000 } else { -1 },
        topology: joins.then(topology),
        active_tasks: tells.then(|| member.owned.clone()),
        standby_tasks: tells.then(Vec::new),
        warmup_tasks: tells.then(Vec::new),
        process_id: joins.then(|| Str::from(format!("process-{at}"))),
        user_endpoint: (joins && endpoints).then(endpoint),
        ..Default::default()
    }
}
