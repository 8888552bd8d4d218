//! `bench members`: what members of classic and of consumer groups cost the broker, by their number. Groups of each
//! size are joined, come to rest, and beat in turns with row P3 of the floor server: a heartbeat shall cost the same
//! whatever the size of the group, and all joins of a group shall grow no faster than their number.

use std::time::Duration;

use bytes::Bytes;
use coordinator::Entropy;
use wire::join_group::request::JoinGroupRequestProtocol;
use wire::sync_group::request::SyncGroupRequestAssignment;
use wire::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, ErrorCode, HeartbeatRequest, JoinGroupRequest,
    JoinGroupResponse, Message as _, Str, SyncGroupRequest,
};

use crate::floor::{Floor, WINDOWS};
use crate::groups::{CONSUMED, Consumer, Group, RATIO_MAX, Steady};
use crate::load::{Connection, Frames, Turn, encoded, succeeded, turn};
use crate::options::Options;
use crate::process::Peer;
use crate::report::{Report, exponent, median, spread};

/// Members of the groups; larger than the option says are left out.
const SIZES: [u32; 4] = [100, 1_000, 10_000, 100_000];
/// The largest group whose joins are looked at for their growth, and that of which several are joined.
const GROWTH_MEMBERS_MAX: u32 = 10_000;
const ROUNDS_MEMBERS_MAX: u32 = 1_000;
/// CPU in ms that a thousand joins may take.
const JOINS_MAX: f64 = 150.0;
/// CPU of which a hundredth of a second is too large a part.
const FEW_SECONDS: f64 = 0.2;
/// Growth of the joins, and of a heartbeat from the least to the largest group.
const EXPONENT_MAX: f64 = 1.15;
const HEARTBEAT_GROWTH_MAX: f64 = 1.2;
/// Requests in flight while heartbeats are measured.
const WINDOW: u32 = 32;
/// Joins that wait on one connection: the broker reads no further with more.
const PARKED_MAX: usize = 32;
/// The highest versions, all with the same header.
const JOIN_VERSION: i16 = 9;
const SYNC_VERSION: i16 = 5;
const HEARTBEAT_VERSION: i16 = 4;
/// Of what clients of the protocol `consumer` tell each other.
const EMBEDDED_VERSION: i16 = 3;
/// Correlation id, tags, throttle time.
const ERROR_AT: usize = 4 + 1 + 4;
/// Members beat in turns only.
const SESSION_MS: i32 = 1_800_000;
const SETTINGS: [&str; 3] = [
    "group.initial.rebalance.delay.ms=1000",
    "group.consumer.max.session.timeout.ms=3600000",
    "group.consumer.session.timeout.ms=3600000",
];

/// A type of groups.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Classic,
    Consumer,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
        }
    }
}

/// A classic group whose members have their assignments.
struct Classic {
    name: Str,
    generation: i32,
    ids: Vec<Str>,
    /// Each of the members joined on one of them.
    connections: Vec<Connection>,
}

fn text<E: std::fmt::Display>(problem: E) -> String {
    problem.to_string()
}

impl Classic {
    /// All members join as clients do: once without an id, once with the one that they were given.
    fn join(name: &str, members: u32, address: &str) -> Result<Self, String> {
        let members = usize::try_from(members).map_err(text)?;
        let open = |_| Connection::open(address);
        let connections = (0..members.div_ceil(PARKED_MAX)).map(open).collect::<Result<_, _>>()?;
        let mut group = Self { name: Str::from(name), generation: 0, ids: Vec::new(), connections };
        group.connections.first_mut().ok_or("no members")?.coordinator(0, name)?;
        let first = group.join_request(Str::EMPTY)?;
        for number in 0..members {
            let answer = group.connection_of(number)?.call(JOIN_VERSION, &first)?;
            if answer.error_code != ErrorCode::MEMBER_ID_REQUIRED {
                return Err(format!("{name}: {} to a join without an id", answer.error_code.name()));
            }
            group.ids.push(answer.member_id.detach());
        }
        let leader = group.rebalance()?;
        group.sync(&leader)?;
        Ok(group)
    }

    fn connection_of(&mut self, member: usize) -> Result<&mut Connection, String> {
        self.connections.get_mut(member / PARKED_MAX).ok_or_else(|| "no such member".to_owned())
    }

    fn join_request(&self, member_id: Str) -> Result<JoinGroupRequest, String> {
        let subscription =
            ConsumerProtocolSubscription { topics: vec![CONSUMED.into()], ..Default::default() };
        let metadata = subscription.to_prefixed(EMBEDDED_VERSION).map_err(text)?;
        let protocol = |name: &str| JoinGroupRequestProtocol {
            name: name.into(),
            metadata: metadata.clone(),
            ..Default::default()
        };
        Ok(JoinGroupRequest {
            group_id: self.name.clone(),
            session_timeout_ms: SESSION_MS,
            rebalance_timeout_ms: 300_000,
            member_id,
            protocol_type: "consumer".into(),
            protocols: vec![protocol("range"), protocol("cooperative-sticky")],
            ..Default::default()
        })
    }

    /// All join at once; says who leads.
    fn rebalance(&mut self) -> Result<Str, String> {
        let mut sent = Vec::new();
        for (number, id) in self.ids.clone().into_iter().enumerate() {
            let request = self.join_request(id)?;
            sent.push(self.connection_of(number)?.start(JOIN_VERSION, &request)?);
        }
        let mut leader = Str::EMPTY;
        for (number, id) in sent.into_iter().enumerate() {
            let connection = self.connection_of(number)?;
            let answer: JoinGroupResponse = connection.finish::<JoinGroupRequest>(JOIN_VERSION, id)?;
            succeeded("join", answer.error_code)?;
            self.generation = answer.generation_id;
            leader = answer.leader.detach();
        }
        Ok(leader)
    }

    /// The leader gives each member something, and all fetch it.
    fn sync(&mut self, leader: &Str) -> Result<(), String> {
        let assignment = ConsumerProtocolAssignment::default().to_prefixed(EMBEDDED_VERSION).map_err(text)?;
        let mut sent = Vec::new();
        for (number, id) in self.ids.clone().into_iter().enumerate() {
            let assignments = if id == *leader { self.assignments(&assignment) } else { Vec::new() };
            let request = SyncGroupRequest {
                group_id: self.name.clone(),
                generation_id: self.generation,
                member_id: id,
                protocol_type: Some("consumer".into()),
                protocol_name: Some("range".into()),
                assignments,
                ..Default::default()
            };
            sent.push(self.connection_of(number)?.start(SYNC_VERSION, &request)?);
        }
        for (number, id) in sent.into_iter().enumerate() {
            let answer = self.connection_of(number)?.finish::<SyncGroupRequest>(SYNC_VERSION, id)?;
            succeeded("sync", answer.error_code)?;
        }
        Ok(())
    }

    fn assignments(&self, assignment: &Bytes) -> Vec<SyncGroupRequestAssignment> {
        let to = |member_id: &Str| SyncGroupRequestAssignment {
            member_id: member_id.clone(),
            assignment: assignment.clone(),
            ..Default::default()
        };
        self.ids.iter().map(to).collect()
    }

    fn frames(&self) -> Result<Frames, String> {
        let frame = |member_id: &Str| {
            let (group_id, generation_id) = (self.name.clone(), self.generation);
            let request = HeartbeatRequest {
                group_id,
                generation_id,
                member_id: member_id.clone(),
                ..Default::default()
            };
            encoded(HEARTBEAT_VERSION, &request)
        };
        Ok(Frames::new(self.ids.iter().map(frame).collect::<Result<_, _>>()?, ERROR_AT))
    }
}

impl Steady for Classic {
    fn connection(&mut self) -> &mut Connection {
        self.connections.first_mut().expect("a group has members")
    }

    /// A heartbeat of a group that moves has an error code.
    fn check(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A group at rest, and its heartbeats.
struct Beats {
    members: u32,
    frames: Frames,
    group: Box<dyn Steady>,
    turns: Vec<Turn>,
}

struct Bench<'a> {
    options: &'a Options,
    report: Report,
    broker: Peer,
    /// Those of groups that are measured no more, whose members would be taken for dead without them.
    others: Vec<Box<dyn Steady>>,
}

impl Bench<'_> {
    fn sizes(&self) -> impl Iterator<Item = u32> + use<> {
        let most = self.options.most_members;
        SIZES.into_iter().filter(move |it| *it <= most)
    }

    fn kind(&mut self, kind: Kind) -> Result<(), String> {
        let (mut beats, mut points) = (Vec::new(), Vec::new());
        for members in self.sizes() {
            let (group, cpu_ms) = self.joins(kind, members)?;
            if members <= GROWTH_MEMBERS_MAX {
                points.push((f64::from(members), cpu_ms));
            }
            beats.push(group);
        }
        if points.len() > 1 {
            let values = [("exponent", exponent(&points).into()), ("wanted_max", EXPONENT_MAX.into())];
            self.report.row(&format!("growth of joins, {}", kind.name()), &values);
        }
        self.beats(kind, &mut beats)?;
        self.others.extend(beats.into_iter().map(|it| it.group));
        Ok(())
    }

    /// Joins groups of that many members; gives the last one, and the CPU in ms.
    fn joins(&mut self, kind: Kind, members: u32) -> Result<(Beats, f64), String> {
        let rounds = if members <= ROUNDS_MEMBERS_MAX { self.options.rounds } else { 1 };
        let (mut joins, mut rests) = (Vec::new(), Vec::new());
        let mut last: Option<Beats> = None;
        for round in 1..=rounds {
            let name = kind.name();
            self.report.progress(&format!("{name}: {members} members join, round {round} of {rounds}"));
            let name = format!("{name}-{members}-{round}");
            let (beats, joined, rested) = match kind {
                Kind::Classic => self.classic(&name, members)?,
                Kind::Consumer => self.consumer(&name, members)?,
            };
            joins.push(joined);
            rests.push(rested);
            self.others.extend(last.replace(beats).map(|it| it.group));
        }
        let mut values = vec![("members", members.into()), ("cpu_ms", spread(&joins))];
        if members == 1000 {
            values.push(("wanted_max", JOINS_MAX.into()));
        }
        values.push(("us_each", (median(&mut joins.clone()) * 1e3 / f64::from(members)).into()));
        if kind == Kind::Consumer {
            values.push(("until_rest_cpu_ms", spread(&rests)));
        }
        self.report.row(&format!("joins, {}", kind.name()), &values);
        Ok((last.ok_or("no round")?, median(&mut joins)))
    }

    fn classic(&self, name: &str, members: u32) -> Result<(Beats, f64, f64), String> {
        let mut group = None;
        let joined = self.cpu_ms(|| {
            group = Some(Classic::join(name, members, &self.broker.address)?);
            Ok(())
        })?;
        let group = group.ok_or("no group")?;
        let frames = shuffled(group.frames()?);
        let beats = Beats { members, frames, group: Box::new(group), turns: Vec::new() };
        Ok((beats, joined, 0.0))
    }

    fn consumer(&self, name: &str, members: u32) -> Result<(Beats, f64, f64), String> {
        let mut group = Group::new(&Consumer, name.to_owned(), members, &self.broker.address)?;
        let joined = self.cpu_ms(|| group.pass().map(drop))?;
        let tasks = usize::try_from(self.options.tasks).map_err(text)?;
        let rested = self.cpu_ms(|| group.converge(tasks).map(drop))?;
        let frames = shuffled(group.frames()?);
        let beats = Beats { members, frames, group: Box::new(group), turns: Vec::new() };
        Ok((beats, joined, rested))
    }

    /// CPU of the broker. What takes a few of the system's hundredths of a second is told by the scheduler, which
    /// forgets threads that end.
    fn cpu_ms(&self, run: impl FnOnce() -> Result<(), String>) -> Result<f64, String> {
        let living = self.broker.cpu_of_living_threads()?;
        let turn = turn(&self.broker, || run().map(|()| 1))?;
        let living = self.broker.cpu_of_living_threads()? - living;
        let total = turn.cpu.total();
        Ok(1e3 * if total < FEW_SECONDS { living } else { total })
    }

    fn beats(&self, kind: Kind, groups: &mut [Beats]) -> Result<(), String> {
        let mut floor = Floor::start(self.options)?;
        let time = Duration::from_secs_f64(self.options.seconds);
        let warm_up = Duration::from_secs_f64(self.options.warm_up);
        floor.turn(WINDOWS[0], warm_up)?;
        for group in &mut *groups {
            group.group.connection().pump(&mut group.frames, WINDOW, warm_up)?;
        }
        let mut floors = Vec::new();
        for round in 1..=self.options.rounds {
            let (name, rounds) = (kind.name(), self.options.rounds);
            self.report.progress(&format!("{name}: heartbeats, round {round} of {rounds}"));
            floors.push(floor.turn(WINDOWS[0], time)?);
            for group in &mut *groups {
                let connection = group.group.connection();
                group.turns.push(turn(&self.broker, || connection.pump(&mut group.frames, WINDOW, time))?);
            }
        }
        let each = |turns: &[Turn]| turns.iter().map(|it| it.each()).collect::<Vec<_>>();
        for group in &mut *groups {
            group.group.check()?;
            let ratios = group.turns.iter().zip(&floors).map(|(it, floor)| it.each() / floor.each());
            let values = [
                ("members", group.members.into()),
                ("in_flight", WINDOW.into()),
                ("us", spread(&each(&group.turns))),
                ("floor_p3_us", spread(&each(&floors))),
                ("ratio", spread(&ratios.collect::<Vec<_>>())),
                ("wanted_max", RATIO_MAX.into()),
            ];
            self.report.row(&format!("heartbeats, {}", kind.name()), &values);
        }
        if let [least, .., most] = groups {
            let growth = most.turns.iter().zip(&least.turns).map(|(most, least)| most.each() / least.each());
            let values = [
                ("members", format!("{} to {}", least.members, most.members).as_str().into()),
                ("times", spread(&growth.collect::<Vec<_>>())),
                ("wanted_max", HEARTBEAT_GROWTH_MAX.into()),
            ];
            self.report.row(&format!("growth of heartbeats, {}", kind.name()), &values);
        }
        Ok(())
    }
}

/// In an order that has nothing to do with that of the ids, as members beat whose ids are random. In the order of the ids
/// one heartbeat would find the memory of the next one.
fn shuffled(mut frames: Frames) -> Frames {
    let mut entropy = Entropy::seeded(1);
    frames.frames.sort_by_cached_key(|_| entropy.next_u64());
    frames
}

/// Measures and prints.
///
/// # Errors
/// A process that is not to be had, an answer that has an error, a group that finds no rest.
pub fn run(options: &Options) -> Result<(), String> {
    let broker = Peer::broker(&options.broker()?, &options.directory, &SETTINGS)?;
    Connection::open(&broker.address)?.create(&[(CONSUMED.to_owned(), options.tasks)])?;
    let mut bench = Bench { options, report: Report::new(options.json), broker, others: Vec::new() };
    bench.kind(Kind::Classic)?;
    bench.kind(Kind::Consumer)
}
