//! Exactly once, against the real process that is killed again and again: writers of both protocols commit, abort,
//! are fenced and time out; a chain of transformers reads, writes and commits its position in transactions; readers of
//! committed records look on. In the end nothing that was committed is missing or doubled, nothing that was aborted
//! was ever seen, and positions and output agree (`history.rs`).
//!
//! `SEED=n` draws the same choices again (not the same order of events); `SECONDS=n` runs longer.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod by_hand;
mod client;
mod history;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{sleep, timeout};
use wire::create_topics::request::CreatableTopic;
use wire::{CreateTopicsRequest, ErrorCode, FindCoordinatorRequest, Str};

use client::{Address, GROUP, Link, Producer, Reader, position};
use history::{History, Outcome, Place, Seen, Transaction, derived};

const PARTITIONS: i32 = 2;
const SETTINGS: &[&str] = &[
    "listeners=PLAINTEXT://127.0.0.1:0",
    "offsets.topic.num.partitions=3",
    "transaction.state.log.num.partitions=3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=200",
];
/// How long a run goes on, without the end.
const SECONDS: u64 = 8;
/// Between two deaths of the broker.
const LIFE: Duration = Duration::from_millis(1_600);
/// The broker does not answer any more.
const PATIENCE: Duration = Duration::from_secs(60);
/// Of producers that are left to their time-out.
const SHORT_TIMEOUT_MS: i32 = 600;

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn partition(&mut self) -> i32 {
        i32::try_from(self.below(2)).unwrap().min(PARTITIONS - 1)
    }
}

/// The process, its directory and where it is.
struct Broker {
    directory: PathBuf,
    process: Child,
    address: Address,
}

impl Broker {
    fn start(directory: PathBuf) -> Self {
        let address = Address::default();
        let process = Self::spawn(&directory, &address);
        Self { directory, process, address }
    }

    fn spawn(directory: &std::path::Path, address: &Address) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        command.args([
            "serve",
            "--print",
            "json",
            "--override",
            &format!("log.dirs={}", directory.display()),
        ]);
        for setting in SETTINGS {
            command.args(["--override", setting]);
        }
        let mut process = command.env_clear().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (_, rest) = line.split_once("\"address\":\"").unwrap();
        *address.lock().unwrap() = rest.split_once('"').unwrap().0.to_owned();
        process
    }

    /// Dies without a word, and starts again.
    fn kill_and_start(&mut self) {
        self.kill();
        self.process = Self::spawn(&self.directory, &self.address);
    }

    fn kill(&mut self) {
        kill_process(Pid::from_child(&self.process), Signal::KILL).unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// What all clients share.
#[derive(Clone)]
struct World {
    address: Address,
    history: Arc<History>,
    /// Writers stop before the chain does.
    stop: Arc<AtomicBool>,
    /// The chain may stop where the input ends.
    drained: Arc<AtomicBool>,
}

/// Writes to a topic, in transactions that end in every way.
async fn write(world: World, name: String, topic: &'static str, v2: bool, mut chance: Chance) {
    let mut link = Link::new(&world.address);
    let mut producer = Producer::start(&mut link, &name, v2, 60_000).await;
    for number in 0.. {
        if world.stop.load(Ordering::Relaxed) {
            return;
        }
        let ending = chance.below(20);
        if ending == 0 {
            producer = Producer::start(&mut link, &name, v2, SHORT_TIMEOUT_MS).await;
        }
        let (values, doomed) = send_some(&mut producer, &mut link, &mut chance, topic, &name, number).await;
        let outcome = match ending {
            _ if doomed => {
                producer = producer.anew(&mut link).await;
                Outcome::Aborted
            }
            0 => {
                // Whichever comes first, the time-out or the commit.
                sleep(Duration::from_millis(400 + chance.below(800))).await;
                let outcome = producer.end(&mut link, true).await;
                producer = Producer::start(&mut link, &name, v2, 60_000).await;
                outcome
            }
            1 | 2 => {
                let new = producer.anew(&mut link).await;
                let old = std::mem::replace(&mut producer, new);
                is_fenced(old, &mut link, topic, &format!("{name}-{number}-zombie")).await;
                Outcome::Aborted
            }
            3..6 => producer.end(&mut link, false).await,
            _ => producer.end(&mut link, true).await,
        };
        let transaction = Transaction { producer: name.clone(), values, position: None, outcome };
        world.history.ended(transaction);
    }
}

/// Some values to some partitions, and whether the transaction is doomed. A value that was refused counts as sent.
async fn send_some(
    producer: &mut Producer,
    link: &mut Link,
    chance: &mut Chance,
    topic: &'static str,
    name: &str,
    number: u64,
) -> (Vec<(Place, String)>, bool) {
    let mut values = Vec::new();
    for n in 0..=chance.below(4) {
        let place = (topic, chance.partition());
        let value = format!("{name}-{number}-{n}");
        values.push((place, value.clone()));
        if producer.send(link, place, &value).await.is_err() {
            return (values, true);
        }
    }
    (values, false)
}

/// An instance that was replaced can neither write nor commit.
async fn is_fenced(mut old: Producer, link: &mut Link, topic: &'static str, value: &str) {
    assert!(old.send(link, (topic, 0), value).await.is_err(), "a zombie wrote {value:?}");
    assert!(old.commit_position(link, ("in", 0), 1 << 40).await.is_err(), "a zombie committed a position");
}

/// Reads one partition of the input and writes what comes of it, with its position, in transactions.
async fn transform(world: World, index: i32, v2: bool, mut chance: Chance) {
    let (name, input) = (format!("chain-{index}"), ("in", index));
    let mut link = Link::new(&world.address);
    let mut producer = Producer::start(&mut link, &name, v2, 60_000).await;
    let mut reader = Reader::new(input, position(&mut link, input).await);
    loop {
        let drained = world.drained.load(Ordering::Relaxed);
        let records = reader.poll(&mut link, 200).await;
        if records.is_empty() {
            if drained && reader.is_at_end() {
                return;
            }
            continue;
        }
        let ending = chance.below(10);
        let mut values = Vec::new();
        let mut doomed = false;
        for (_, value) in &records {
            let place = ("out", chance.partition());
            doomed = doomed || producer.send(&mut link, place, &derived(value)).await.is_err();
            values.push((place, derived(value)));
        }
        doomed = doomed || producer.commit_position(&mut link, input, reader.position).await.is_err();
        let outcome = match ending {
            _ if doomed => {
                producer = producer.anew(&mut link).await;
                Outcome::Aborted
            }
            0 => {
                let new = producer.anew(&mut link).await;
                let old = std::mem::replace(&mut producer, new);
                is_fenced(old, &mut link, "out", "a zombie of the chain").await;
                Outcome::Aborted
            }
            1 | 2 => producer.end(&mut link, false).await,
            _ => producer.end(&mut link, true).await,
        };
        match outcome {
            Outcome::Committed => world.history.ended(Transaction {
                producer: name.clone(),
                values,
                position: Some((input, reader.position)),
                outcome,
            }),
            // What was aborted is read and sent again; the checker of the chain finds it if it is seen twice.
            Outcome::Aborted => reader = Reader::new(input, position(&mut link, input).await),
        }
    }
}

/// Looks on while everything happens.
async fn look_on(world: World, place: Place) {
    let mut link = Link::new(&world.address);
    let mut reader = Reader::new(place, 0);
    while !world.drained.load(Ordering::Relaxed) {
        for (offset, value) in reader.poll(&mut link, 1 << 20).await {
            world.history.saw(place, offset, value);
        }
    }
}

/// All committed records of a partition, once every transaction on it is decided.
async fn read_all(address: &Address, place: Place) -> BTreeMap<i64, String> {
    let mut link = Link::new(address);
    let mut reader = Reader::new(place, 0);
    let mut all = BTreeMap::new();
    loop {
        let records = reader.poll(&mut link, 2_000).await;
        let is_empty = records.is_empty();
        all.extend(records);
        if is_empty && reader.is_at_end() {
            return all;
        }
    }
}

async fn prepare(address: &Address) {
    let mut link = Link::new(address);
    let topic = |name| CreatableTopic {
        name: Str::from_static(name),
        num_partitions: PARTITIONS,
        replication_factor: 1,
        ..Default::default()
    };
    let topics = vec![topic("in"), topic("out")];
    let request = CreateTopicsRequest { topics, timeout_ms: 10_000, ..Default::default() };
    let created = link.ask(7, &request).await;
    assert!(created.topics.iter().all(|it| it.error_code == ErrorCode::NONE), "{created:?}");
    for (key_type, key) in [(0, GROUP), (1, "any")] {
        let keys = vec![Str::from(key)];
        link.ask(4, &FindCoordinatorRequest { key_type, coordinator_keys: keys, ..Default::default() }).await;
    }
}

fn places() -> Vec<Place> {
    ["in", "out"].into_iter().flat_map(|topic| (0..PARTITIONS).map(move |it| (topic, it))).collect()
}

/// Lets the clients of a run work while the broker dies again and again; gives what is there in the end.
async fn run(
    broker: &mut Broker,
    seed: u64,
    seconds: u64,
) -> (Arc<History>, Seen, BTreeMap<Place, i64>, u32) {
    let world = World {
        address: broker.address.clone(),
        history: Arc::default(),
        stop: Arc::default(),
        drained: Arc::default(),
    };
    prepare(&world.address).await;
    let chance = |n: u64| Chance(seed.wrapping_add(n.wrapping_mul(0x1234_5678_9abc_def1)));
    let mut writers = tokio::task::JoinSet::new();
    for (n, (topic, v2)) in (0..).zip([("in", true), ("in", false), ("out", true), ("out", false)]) {
        writers.spawn(write(world.clone(), format!("writer-{n}"), topic, v2, chance(n)));
    }
    let mut others = tokio::task::JoinSet::new();
    for index in 0..PARTITIONS {
        let n = u64::try_from(index).unwrap();
        others.spawn(transform(world.clone(), index, index == 0, chance(10 + n)));
    }
    for place in places() {
        others.spawn(look_on(world.clone(), place));
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut deaths = 0;
    let mut lives = chance(99);
    while Instant::now() < end {
        sleep(LIFE / 2 + Duration::from_millis(lives.below(u64::try_from(LIFE.as_millis()).unwrap()))).await;
        broker.kill_and_start();
        deaths += 1;
    }
    world.stop.store(true, Ordering::Relaxed);
    let ended = timeout(PATIENCE, writers.join_all()).await;
    ended.expect("writers do not come to an end");
    world.drained.store(true, Ordering::Relaxed);
    let ended = timeout(PATIENCE, others.join_all()).await;
    ended.expect("the chain does not come to the end of its input");
    let mut seen = Seen::new();
    let mut positions = BTreeMap::new();
    for place in places() {
        let all = timeout(PATIENCE, read_all(&world.address, place)).await;
        seen.insert(place, all.expect("a transaction hangs"));
        let mut link = Link::new(&world.address);
        if place.0 == "in" {
            positions.insert(place, position(&mut link, place).await);
        }
    }
    (world.history, seen, positions, deaths)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exactly_once_whatever_dies() {
    let seed = testkit::seed::seed();
    let seconds = std::env::var("SECONDS").ok().and_then(|it| it.parse().ok()).unwrap_or(SECONDS);
    let name = format!("thalweg-transactions-{}", std::process::id());
    let mut broker = Broker::start(std::env::temp_dir().join(name));
    let (history, seen, positions, deaths) = run(&mut broker, seed, seconds).await;
    let summary = history.check(&seen, &positions);
    println!("{summary:?}, the broker died {deaths} times");
    assert!(summary.committed > 20 && summary.aborted > 5, "too little happened: {summary:?}");
    // Once more after a last death: what is on disk is all that there is.
    broker.kill_and_start();
    for place in places() {
        let all = timeout(PATIENCE, read_all(&broker.address, place)).await.unwrap();
        assert_eq!(all, seen[&place], "{place:?} after a last start");
    }
}
