//! `bench groups`: what members of streams groups and of consumer groups cost the broker. They join one by one, take
//! what they are given until nothing moves any more, and then beat: the CPU of such a heartbeat is given against row P3
//! of the floor server, which takes its turns in between.

use std::time::Duration;

use wire::consumer_group_heartbeat::request::TopicPartitions;
use wire::streams_group_heartbeat::request::{Endpoint, Subtopology, TaskIds, Topology};
use wire::{ConsumerGroupHeartbeatRequest, Request, Str, StreamsGroupHeartbeatRequest};

use crate::floor::{Floor, WINDOWS};
use crate::load::{Connection, Frames, Turn, encoded, succeeded, turn};
use crate::options::Options;
use crate::process::Peer;
use crate::report::{Report, Value, spread};

/// What a heartbeat may cost more than P3.
pub(crate) const RATIO_MAX: f64 = 2.5;
/// Subtopologies that share the tasks. None has a store.
const SUBTOPOLOGIES: u32 = 10;
/// The topic that consumers read.
pub(crate) const CONSUMED: &str = "consumed";
/// Both APIs.
const VERSION: i16 = 1;
/// Correlation id, tags, throttle time.
const ERROR_AT: usize = 4 + 1 + 4;
/// The status of a streams group whose next assignment waits: it passes.
const ASSIGNMENT_DELAYED: i8 = 5;
/// Heartbeats of all members until nothing moves any more, at most.
const PASSES_MAX: u32 = 100;
/// Between them when nothing moved: the broker waits before it assigns again, and members beat seldom.
const PAUSE: Duration = Duration::from_millis(500);
/// Members beat in turns only. The first assignment does not wait; how often the next are made is left as it is.
const SETTINGS: [&str; 5] = [
    "group.streams.initial.rebalance.delay.ms=0",
    "group.streams.max.session.timeout.ms=3600000",
    "group.streams.session.timeout.ms=3600000",
    "group.consumer.max.session.timeout.ms=3600000",
    "group.consumer.session.timeout.ms=3600000",
];

/// A member as a client keeps it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Member<Owned> {
    number: u32,
    id: String,
    epoch: i32,
    owned: Owned,
    /// The broker has not heard yet what the member owns now.
    tell: bool,
    /// Of the endpoint information.
    known: i32,
    /// Its assignment is still to come.
    waits: bool,
}

/// A type of groups.
pub(crate) trait Kind {
    type Request: Request;
    type Owned: Clone + Default + PartialEq;

    fn name(&self) -> &'static str;
    /// CPU that all joins may take, in ms, if they are a thousand.
    fn joins_max(&self) -> f64;
    /// What the member says next.
    fn request(&self, group: &str, member: &Member<Self::Owned>) -> Self::Request;
    /// Takes over what the answer says; whether that was anything new.
    fn take(
        &self,
        member: &mut Member<Self::Owned>,
        answer: <Self::Request as Request>::Response,
    ) -> Result<bool, String>;
    /// How many tasks or partitions that are.
    fn count(owned: &Self::Owned) -> usize;
}

struct Streams {
    endpoints: bool,
}

pub(crate) struct Consumer;

impl<Owned: PartialEq> Member<Owned> {
    /// Whether the epoch or what is owned changed. `None`: it is left as it is.
    fn update(&mut self, epoch: i32, owned: Option<Owned>) -> bool {
        let moved = self.epoch != epoch;
        self.epoch = epoch;
        self.tell = owned.as_ref().is_some_and(|it| *it != self.owned);
        if let Some(owned) = owned {
            self.owned = owned;
        }
        moved || self.tell
    }
}

fn input(subtopology: u32) -> String {
    format!("in-{subtopology}")
}

impl Streams {
    fn topology() -> Topology {
        let part = |number: u32| Subtopology {
            subtopology_id: Str::from(number.to_string()),
            source_topics: vec![Str::from(input(number))],
            ..Default::default()
        };
        Topology { epoch: 0, subtopologies: (0..SUBTOPOLOGIES).map(part).collect(), ..Default::default() }
    }
}

impl Kind for Streams {
    type Request = StreamsGroupHeartbeatRequest;
    type Owned = Vec<TaskIds>;

    fn name(&self) -> &'static str {
        if self.endpoints { "streams with endpoints" } else { "streams" }
    }

    fn joins_max(&self) -> f64 {
        if self.endpoints { 300.0 } else { 250.0 }
    }

    fn request(&self, group: &str, member: &Member<Self::Owned>) -> Self::Request {
        let request = StreamsGroupHeartbeatRequest {
            group_id: group.into(),
            member_id: Str::from(&member.id),
            member_epoch: member.epoch,
            endpoint_information_epoch: member.known,
            ..Default::default()
        };
        if member.epoch == 0 {
            let port = u16::try_from(1 + member.number % 65_000).unwrap_or(1);
            let endpoint = || Endpoint { host: "127.0.0.1".into(), port, ..Default::default() };
            return StreamsGroupHeartbeatRequest {
                rebalance_timeout_ms: 300_000,
                topology: Some(Self::topology()),
                active_tasks: Some(Vec::new()),
                standby_tasks: Some(Vec::new()),
                warmup_tasks: Some(Vec::new()),
                process_id: Some(Str::from(format!("process-{}", member.number))),
                user_endpoint: self.endpoints.then(endpoint),
                ..request
            };
        }
        if member.tell {
            return StreamsGroupHeartbeatRequest {
                active_tasks: Some(member.owned.clone()),
                standby_tasks: Some(Vec::new()),
                warmup_tasks: Some(Vec::new()),
                ..request
            };
        }
        request
    }

    fn take(
        &self,
        member: &mut Member<Self::Owned>,
        answer: <Self::Request as Request>::Response,
    ) -> Result<bool, String> {
        succeeded(&member.id, answer.error_code)?;
        let statuses = answer.status.unwrap_or_default();
        if let Some(status) = statuses.iter().find(|it| it.status_code != ASSIGNMENT_DELAYED) {
            return Err(format!("{}: status {}: {}", member.id, status.status_code, status.status_detail));
        }
        member.waits = !statuses.is_empty();
        let news = member.known != answer.endpoint_information_epoch;
        member.known = answer.endpoint_information_epoch;
        let task = |it: wire::streams_group_heartbeat::response::TaskIds| TaskIds {
            subtopology_id: it.subtopology_id,
            partitions: it.partitions,
            ..Default::default()
        };
        let owned = answer.active_tasks.map(|it| it.into_iter().map(task).collect());
        Ok(member.update(answer.member_epoch, owned) || news)
    }

    fn count(owned: &Self::Owned) -> usize {
        owned.iter().map(|it| it.partitions.len()).sum()
    }
}

impl Kind for Consumer {
    type Request = ConsumerGroupHeartbeatRequest;
    type Owned = Vec<TopicPartitions>;

    fn name(&self) -> &'static str {
        "consumer"
    }

    fn joins_max(&self) -> f64 {
        150.0
    }

    fn request(&self, group: &str, member: &Member<Self::Owned>) -> Self::Request {
        let request = ConsumerGroupHeartbeatRequest {
            group_id: group.into(),
            member_id: Str::from(&member.id),
            member_epoch: member.epoch,
            ..Default::default()
        };
        if member.epoch == 0 {
            return ConsumerGroupHeartbeatRequest {
                rebalance_timeout_ms: 300_000,
                subscribed_topic_names: Some(vec![CONSUMED.into()]),
                topic_partitions: Some(Vec::new()),
                ..request
            };
        }
        let topic_partitions = member.tell.then(|| member.owned.clone());
        ConsumerGroupHeartbeatRequest { topic_partitions, ..request }
    }

    fn take(
        &self,
        member: &mut Member<Self::Owned>,
        answer: <Self::Request as Request>::Response,
    ) -> Result<bool, String> {
        succeeded(&member.id, answer.error_code)?;
        let topic = |it: wire::consumer_group_heartbeat::response::TopicPartitions| TopicPartitions {
            topic_id: it.topic_id,
            partitions: it.partitions,
            ..Default::default()
        };
        let owned = answer.assignment.map(|it| it.topic_partitions.into_iter().map(topic).collect());
        Ok(member.update(answer.member_epoch, owned))
    }

    fn count(owned: &Self::Owned) -> usize {
        owned.iter().map(|it| it.partitions.len()).sum()
    }
}

/// A group whose members came to rest.
pub(crate) struct Group<'a, K: Kind> {
    kind: &'a K,
    name: String,
    members: Vec<Member<K::Owned>>,
    connection: Connection,
}

impl<'a, K: Kind> Group<'a, K> {
    pub(crate) fn new(kind: &'a K, name: String, members: u32, address: &str) -> Result<Self, String> {
        let member = |number| Member { number, id: format!("member-{number:06}"), ..Member::default() };
        let mut connection = Connection::open(address)?;
        connection.coordinator(0, &name)?;
        Ok(Self { kind, name, members: (0..members).map(member).collect(), connection })
    }

    /// A heartbeat of each, one after the other. Whether anything was new to one of them.
    pub(crate) fn pass(&mut self) -> Result<bool, String> {
        let mut moved = false;
        for member in &mut self.members {
            let answer = self.connection.call(VERSION, &self.kind.request(&self.name, member))?;
            moved |= self.kind.take(member, answer)?;
        }
        Ok(moved)
    }

    /// Passes until nothing moves and all is owned; says how many.
    pub(crate) fn converge(&mut self, tasks: usize) -> Result<u32, String> {
        for pass in 1..=PASSES_MAX {
            let moved = self.pass()?;
            if !moved && self.owned() == tasks && self.is_level(tasks) {
                return Ok(pass);
            }
            if !moved {
                std::thread::sleep(PAUSE);
            }
        }
        let (name, owned) = (&self.name, self.owned());
        Err(format!("{name}: {owned} of {tasks} tasks are owned after {PASSES_MAX} heartbeats of each"))
    }

    fn owned(&self) -> usize {
        self.members.iter().map(|it| K::count(&it.owned)).sum()
    }

    /// All are at the same epoch, nobody waits, and nobody has more than its share. A group whose next assignment
    /// is held back has members that own too much, and moves as little.
    fn is_level(&self, tasks: usize) -> bool {
        let epoch = self.members.first().map(|it| it.epoch);
        let share = tasks.div_ceil(self.members.len().max(1));
        let is_level =
            |it: &Member<K::Owned>| Some(it.epoch) == epoch && !it.waits && K::count(&it.owned) <= share;
        self.members.iter().all(is_level)
    }

    /// The heartbeats of members at rest.
    pub(crate) fn frames(&self) -> Result<Frames, String> {
        let frame = |member| encoded(VERSION, &self.kind.request(&self.name, member));
        let frames: Result<Vec<_>, String> = self.members.iter().map(frame).collect();
        Ok(Frames::new(frames?, ERROR_AT))
    }
}

/// What is measured, and told.
struct Bench<'a> {
    options: &'a Options,
    report: Report,
    broker: Peer,
    tasks: u32,
}

/// Heartbeats of one group, for the turns.
struct Beats<'a> {
    name: &'static str,
    frames: Frames,
    group: Box<dyn Steady + 'a>,
    /// Of the groups before, whose members would be taken for dead without it.
    _others: Vec<Connection>,
    turns: [Vec<Turn>; 2],
}

/// A group at rest, of any kind.
pub(crate) trait Steady {
    fn connection(&mut self) -> &mut Connection;
    /// What was measured was a group at rest, if that still holds.
    fn check(&mut self) -> Result<(), String>;
}

impl<K: Kind> Steady for Group<'_, K> {
    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn check(&mut self) -> Result<(), String> {
        let tasks = self.owned();
        if self.pass()? || !self.is_level(tasks) {
            Err(format!("{} did not stay at rest", self.name))
        } else {
            Ok(())
        }
    }
}

impl Bench<'_> {
    /// Groups whose members join one by one; the last one stays.
    fn joins<'k, K: Kind>(&self, kind: &'k K) -> Result<Beats<'k>, String> {
        let (mut joins, mut rests, mut passes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut last, mut others) = (None, Vec::new());
        for round in 1..=self.options.rounds {
            self.report.progress(&format!(
                "{}: joins, round {round} of {}",
                kind.name(),
                self.options.rounds
            ));
            let name = format!("{}-{round}", kind.name().replace(' ', "-"));
            let mut group = Group::new(kind, name, self.options.members, &self.broker.address)?;
            let joined = turn(&self.broker, || group.pass().map(|_| 1))?;
            let tasks = usize::try_from(self.tasks).unwrap_or(usize::MAX);
            let rested = turn(&self.broker, || group.converge(tasks))?;
            joins.push(joined.cpu.total() * 1e3);
            rests.push(rested.cpu.total() * 1e3);
            passes.push(rested.requests);
            others.extend(last.replace(group).map(|it| it.connection));
        }
        let mut values = vec![
            ("members", self.options.members.into()),
            ("tasks", self.tasks.into()),
            ("cpu_ms", spread(&joins)),
        ];
        if (self.options.members, self.tasks) == (1000, 1000) {
            values.push(("wanted_max", kind.joins_max().into()));
        }
        values.extend([("until_rest_cpu_ms", spread(&rests)), ("until_rest_beats_each", spread(&passes))]);
        self.report.row(&format!("joins, {}", kind.name()), &values);
        let group = last.ok_or("no round")?;
        let frames = group.frames()?;
        let turns = Default::default();
        Ok(Beats { name: kind.name(), frames, group: Box::new(group), _others: others, turns })
    }

    fn beats(&self, groups: &mut [Beats<'_>]) -> Result<(), String> {
        let mut floor = Floor::start(self.options)?;
        let (time, warm_up) =
            (Duration::from_secs_f64(self.options.seconds), Duration::from_secs_f64(self.options.warm_up));
        let mut floors: [Vec<Turn>; 2] = Default::default();
        floor.turn(WINDOWS[0], warm_up)?;
        for group in &mut *groups {
            group.group.connection().pump(&mut group.frames, WINDOWS[0], warm_up)?;
        }
        for round in 1..=self.options.rounds {
            for (at, window) in WINDOWS.into_iter().enumerate() {
                let rounds = self.options.rounds;
                self.report.progress(&format!("heartbeats, {window} in flight, round {round} of {rounds}"));
                floors.get_mut(at).ok_or("no such window")?.push(floor.turn(window, time)?);
                for group in &mut *groups {
                    let connection = group.group.connection();
                    let work = || connection.pump(&mut group.frames, window, time);
                    group.turns.get_mut(at).ok_or("no such window")?.push(turn(&self.broker, work)?);
                }
            }
        }
        let [p3, _] = &floors;
        for group in groups {
            group.group.check()?;
            for ((window, turns), floor) in WINDOWS.into_iter().zip(&group.turns).zip(&floors) {
                self.told(group.name, window, turns, [p3, floor]);
            }
        }
        Ok(())
    }

    /// A row: the ratios are those of turns of the same round.
    fn told(&self, name: &str, window: u32, turns: &[Turn], [p3, floor]: [&[Turn]; 2]) {
        let each = |turns: &[Turn]| turns.iter().map(|it| it.each()).collect::<Vec<_>>();
        let system: Vec<_> = turns.iter().map(|it| it.each_in_system()).collect();
        let ratios = |floor: &[Turn]| -> Value {
            spread(&turns.iter().zip(floor).map(|(it, floor)| it.each() / floor.each()).collect::<Vec<_>>())
        };
        self.report.row(
            &format!("heartbeats, {name}"),
            &[
                ("members", self.options.members.into()),
                ("in_flight", window.into()),
                ("us", spread(&each(turns))),
                ("us_system", spread(&system)),
                ("floor_p3_us", spread(&each(p3))),
                ("ratio", ratios(p3)),
                ("wanted_max", RATIO_MAX.into()),
                ("ratio_same_window", ratios(floor)),
            ],
        );
    }
}

/// Measures and prints.
///
/// # Errors
/// A process that is not to be had, an answer that has an error, a group that finds no rest.
pub fn run(options: &Options) -> Result<(), String> {
    let broker = Peer::broker(&options.broker()?, &options.directory, &SETTINGS)?;
    let each = options.tasks.div_ceil(SUBTOPOLOGIES);
    let tasks = each * SUBTOPOLOGIES;
    let mut topics: Vec<_> = (0..SUBTOPOLOGIES).map(|it| (input(it), each)).collect();
    topics.push((CONSUMED.to_owned(), tasks));
    Connection::open(&broker.address)?.create(&topics)?;
    let bench = Bench { options, report: Report::new(options.json), broker, tasks };
    let (plain, endpoints) = (Streams { endpoints: false }, Streams { endpoints: true });
    let mut groups = [bench.joins(&plain)?, bench.joins(&endpoints)?, bench.joins(&Consumer)?];
    bench.beats(&mut groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_say_once_what_they_own() {
        let mut member = Member::<Vec<i32>>::default();
        assert!(member.update(1, Some(vec![7])));
        assert!(member.tell);
        assert!(!member.update(1, Some(vec![7])));
        assert!(!member.tell);
        assert!(member.update(2, None));
        assert!(!member.tell);
        assert_eq!(member.owned, [7]);
        assert!(member.update(2, Some(Vec::new())) && member.tell, "given up");
    }

    #[test]
    fn heartbeats_are_joins_first_and_then_short() {
        let kind = Streams { endpoints: true };
        let mut member = Member { id: "m".to_owned(), number: 3, ..Member::default() };
        let join = kind.request("g", &member);
        assert!(join.topology.is_some() && join.user_endpoint.is_some() && join.active_tasks.is_some());
        member.epoch = 4;
        let steady = kind.request("g", &member);
        assert!(steady.topology.is_none() && steady.user_endpoint.is_none() && steady.active_tasks.is_none());
        member.tell = true;
        let told = kind.request("g", &member);
        assert!(told.active_tasks.is_some() && told.standby_tasks.is_some() && told.warmup_tasks.is_some());
    }
}
