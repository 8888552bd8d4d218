//! `bench load`: what it takes a shard to read committed offsets from its log when it starts. A log of
//! `__consumer_offsets` is written as a broker writes it, its engine is stopped and started, and a machine is loaded
//! from it by the code that the broker runs. Each round reads the whole log once more for every stage, each time one
//! stage further, so that the difference of two is what the latter takes.

use std::hint::black_box;
use std::time::Instant;

use broker::replay::{for_each_read, replay};
use bytes::Bytes;
use catalog::Image;
use coordinator::group::GroupShard;
use coordinator::{At, Driver, Entropy};
use storage::partition::{Origin, Partition, Settings};
use storage::{Durability, Engine as _, LocalConfig, LocalEngine, LogSettings, PartitionId, Uuid};
use tokio::runtime::Runtime;
use wire::batch::{BatchBuilder, Batches};
use wire::consumer_offsets::{OffsetCommitKey, OffsetCommitValue, Record};
use wire::{LogRecord as _, Message as _, Str};

use crate::options::Options;
use crate::process::{Directory, Peer};
use crate::report::{Report, Value, exponent, median, spread};

/// Million records a second and core, at least.
const MILLIONS_MIN: f64 = 5.0;
/// Growth with the number of records, at most: linear.
const EXPONENT_MAX: f64 = 1.15;
/// Records of a batch, as in Apache Kafka's benchmark of the same.
const BATCH_RECORDS: u32 = 2048;
/// Appends until the log is asked whether it follows.
const BATCHES_AT_ONCE: u32 = 64;
/// Any time will do: nothing expires while this runs.
const NOW: i64 = 1_800_000_000_000;
/// As the broker creates the topic.
const SEGMENT_BYTES: u32 = 104_857_600;
/// The version of the value that is written.
const VALUE_VERSION: i16 = 4;

/// Which partitions are committed again and again.
#[derive(Debug, Clone, Copy)]
struct Shape {
    name: &'static str,
    groups: u32,
    topics: u32,
    partitions: u32,
}

/// The first is that of Apache Kafka's benchmark.
const SHAPES: [Shape; 4] = [
    Shape { name: "one group", groups: 1, topics: 2048, partitions: 1 },
    Shape { name: "partitions of a topic together", groups: 200, topics: 1, partitions: 20 },
    Shape { name: "many groups", groups: 20_000, topics: 1, partitions: 1 },
    Shape { name: "a million partitions", groups: 1_000, topics: 10, partitions: 100 },
];

/// How far a pass goes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// Bytes of whole batches in memory.
    Read,
    /// Their checksums, which loading leaves to recovery.
    Checksum,
    /// The records of the batches.
    Walk,
    /// All.
    Load,
    /// All, each record decoded and applied by itself: what loading is compared with.
    OneByOne,
}

const STAGES: [Stage; 5] = [Stage::Read, Stage::Checksum, Stage::Walk, Stage::Load, Stage::OneByOne];

impl Shape {
    fn len(self) -> u32 {
        self.groups * self.topics * self.partitions
    }

    /// The keys in the order in which they are committed: a request tells of one group and topic.
    fn keys(self) -> impl Iterator<Item = OffsetCommitKey> {
        (0..self.groups).flat_map(move |group| {
            (0..self.topics).flat_map(move |topic| {
                (0..self.partitions).map(move |partition| OffsetCommitKey {
                    group: Str::from(format!("group-of-consumers-{group:05}")),
                    topic: Str::from(format!("topic-with-a-name-{topic:05}")),
                    partition: partition.cast_signed(),
                })
            })
        })
    }
}

/// A log on disk.
struct Log<'a> {
    runtime: &'a Runtime,
    directory: Directory,
    keys: Vec<Bytes>,
    shape: Shape,
    records: u32,
}

fn text<E: std::fmt::Display>(problem: E) -> String {
    problem.to_string()
}

impl<'a> Log<'a> {
    fn new(runtime: &'a Runtime, shape: Shape, options: &Options) -> Result<Self, String> {
        let encoded = |key| Record::OffsetCommit(key, None).encode().map(|it| it.0).map_err(text);
        let keys = shape.keys().map(encoded).collect::<Result<_, _>>()?;
        Ok(Self { runtime, directory: Directory::new(&options.directory)?, keys, shape, records: 0 })
    }

    /// Starts an engine, works, and stops it.
    fn with<T>(&self, work: impl AsyncFnOnce(&Partition) -> Result<T, String>) -> Result<T, String> {
        let _inside = self.runtime.enter();
        let config = LocalConfig {
            durability: Durability::PageCache,
            ..LocalConfig::new(vec![self.directory.path.clone()])
        };
        let engine = LocalEngine::start(config).map_err(text)?;
        self.runtime.block_on(async {
            let lane = engine.open(0, engine.grant()).await.map_err(text)?;
            let topic = "__consumer_offsets".into();
            let id = PartitionId { topic_id: Uuid([7; 16]), topic, index: 0 };
            let log = LogSettings { segment_bytes: SEGMENT_BYTES, ..LogSettings::default() };
            let settings = Settings { log, compacted: true, ..Settings::default() };
            let log = lane.log(&id).map_err(text)?;
            let partition = Partition::open(log, settings, engine.grant().epoch, NOW).await.map_err(text)?;
            let done = work(&partition).await?;
            lane.close().await.map_err(text)?;
            Ok(done)
        })
    }

    /// Appends until the log has so many records.
    fn grow(&mut self, records: u32) -> Result<(), String> {
        let from = self.records;
        self.with(async |partition| {
            let mut next = from;
            while next < records {
                for _ in 0..BATCHES_AT_ONCE {
                    let to = records.min(next + BATCH_RECORDS);
                    if next == to {
                        break;
                    }
                    let batch = self.batch(next, to)?;
                    let origin = Origin::Coordinator { transaction_version: 0 };
                    partition.append(&batch, origin, NOW).map_err(text)?;
                    next = to;
                }
                partition.wait_durable(next.into()).await.map_err(text)?;
            }
            Ok(())
        })?;
        self.records = records;
        Ok(())
    }

    fn batch(&self, from: u32, to: u32) -> Result<Bytes, String> {
        let mut builder = BatchBuilder::new().timestamp(NOW);
        for number in from..to {
            let key = self.keys.get((number % self.shape.len()) as usize).ok_or("no such key")?;
            let value = OffsetCommitValue {
                offset: number.into(),
                leader_epoch: 3,
                commit_timestamp: NOW,
                topic_id: Uuid([9; 16]),
                ..Default::default()
            };
            builder = builder.push(Some(key), Some(&value.to_prefixed(VALUE_VERSION).map_err(text)?));
        }
        Ok(builder.build())
    }

    /// CPU and time of a pass, in seconds.
    fn pass(&self, stage: Stage) -> Result<(f64, f64), String> {
        let process = Peer::of(std::process::id(), "");
        self.with(async |partition| {
            let (cpu, start) = (process.cpu_of_living_threads()?, Instant::now());
            let mut driver = Driver::<GroupShard>::new(Entropy::seeded(1), 1 << 20);
            match stage {
                Stage::Load => {
                    let end = replay(&mut driver, partition).await?;
                    driver.loaded(end, NOW, &Image::default());
                }
                Stage::OneByOne => {
                    let end = for_each_read(partition, |bytes, _| one_by_one(&mut driver, bytes)).await?;
                    driver.loaded(end, NOW, &Image::default());
                }
                Stage::Read | Stage::Checksum | Stage::Walk => {
                    for_each_read(partition, |bytes, from| go(stage, bytes, from)).await?;
                }
            }
            let took = (process.cpu_of_living_threads()? - cpu, start.elapsed().as_secs_f64());
            if matches!(stage, Stage::Load | Stage::OneByOne) {
                self.check(&driver)?;
            }
            Ok(took)
        })
    }

    /// What was loaded is what was committed last.
    fn check(&self, driver: &Driver<GroupShard>) -> Result<(), String> {
        let offsets = driver.machine().hard().offsets();
        let keys = self.shape.len().min(self.records);
        let first_of_turn = self.records - self.records % self.shape.len();
        for (number, key) in (0..keys).zip(self.shape.keys()) {
            let last = first_of_turn + number;
            let last = if last < self.records { last } else { last - self.shape.len() };
            let found = offsets.get(&key.group, &key.topic, key.partition).map(|it| it.offset);
            if found != Some(last.into()) {
                return Err(format!("{key:?}: {found:?} was loaded instead of {last}"));
            }
        }
        Ok(())
    }
}

/// Part of the way, for what one read gave; gives the offset after it.
fn go(stage: Stage, bytes: Bytes, mut next: i64) -> Result<i64, String> {
    for batch in Batches::new(bytes) {
        let batch = batch.map_err(text)?;
        next = batch.header.next_offset();
        match stage {
            Stage::Checksum => batch.verify().map_err(text)?,
            Stage::Walk => {
                for record in batch.block().map_err(text)?.records() {
                    black_box(record.map_err(text)?);
                }
            }
            Stage::Read | Stage::Load | Stage::OneByOne => {}
        }
    }
    Ok(next)
}

fn one_by_one(driver: &mut Driver<GroupShard>, bytes: Bytes) -> Result<i64, String> {
    let mut next = 0;
    for batch in Batches::new(bytes) {
        for record in batch.map_err(text)?.records().map_err(text)? {
            let record = record.map_err(text)?;
            let key = record.key.ok_or("a record without a key")?;
            let decoded = Record::decode(&key, record.value.as_ref()).map_err(text)?;
            let at = At { offset: record.offset, timestamp: record.timestamp, producer: None };
            driver.replay(at, &decoded.ok_or("a record of another type")?);
            next = record.offset + 1;
        }
    }
    Ok(next)
}

/// CPU and time of all rounds, by stage.
struct Measured {
    seconds: [Vec<f64>; STAGES.len()],
    elapsed: Vec<f64>,
    records: f64,
}

impl Measured {
    fn of(log: &Log<'_>, rounds: u32, report: &Report) -> Result<Self, String> {
        let mut measured =
            Self { seconds: Default::default(), elapsed: Vec::new(), records: log.records.into() };
        for round in 1..=rounds {
            let (name, records) = (log.shape.name, log.records);
            report.progress(&format!("{name}: {records} records, round {round} of {rounds}"));
            for (stage, seconds) in STAGES.into_iter().zip(&mut measured.seconds) {
                let (cpu, elapsed) = log.pass(stage)?;
                seconds.push(cpu);
                if stage == Stage::Load {
                    measured.elapsed.push(elapsed);
                }
            }
        }
        Ok(measured)
    }

    fn seconds_of(&self, stage: Stage) -> &[f64] {
        let found = STAGES.iter().position(|it| *it == stage).and_then(|at| self.seconds.get(at));
        found.map_or(&[], Vec::as_slice)
    }

    fn cpu(&self, stage: Stage) -> f64 {
        median(&mut self.seconds_of(stage).to_vec())
    }

    fn nanoseconds(&self, seconds: f64) -> Value {
        (seconds * 1e9 / self.records).into()
    }

    fn tell(&self, shape: Shape, report: &Report) {
        let [read, checksum, walk, load, one_by_one] = STAGES.map(|it| self.cpu(it));
        let rate =
            |seconds: &[f64]| spread(&seconds.iter().map(|it| self.records / 1e6 / it).collect::<Vec<_>>());
        report.row(
            &format!("load, {}", shape.name),
            &[
                ("records", self.records.into()),
                ("partitions", shape.len().into()),
                ("millions_per_s_and_core", rate(self.seconds_of(Stage::Load))),
                ("wanted_min", MILLIONS_MIN.into()),
                ("millions_per_s", rate(&self.elapsed)),
                ("ns_all", self.nanoseconds(load)),
                ("ns_read", self.nanoseconds(read)),
                ("ns_walk", self.nanoseconds(walk - read)),
                ("ns_decode_and_apply", self.nanoseconds(load - walk)),
                ("ns_one_by_one", self.nanoseconds(one_by_one)),
                ("ns_checksum_not_in_all", self.nanoseconds(checksum - read)),
            ],
        );
    }
}

/// Measures and prints.
///
/// # Errors
/// A log that can't be written or read, or offsets that are not those that were committed.
pub fn run(options: &Options) -> Result<(), String> {
    let report = Report::new(options.json);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(text)?;
    for shape in SHAPES {
        let mut log = Log::new(&runtime, shape, options)?;
        let mut points = Vec::new();
        // One shape shows the growth.
        let sizes = if shape.groups == 1 { &[100, 10, 1][..] } else { &[1] };
        for part in sizes {
            report.progress(&format!("{}: writes {} records", shape.name, options.records / part));
            log.grow(options.records / part)?;
            let measured = Measured::of(&log, options.rounds, &report)?;
            measured.tell(shape, &report);
            points.push((measured.records, measured.cpu(Stage::Load)));
        }
        if points.len() > 1 {
            let values = [("exponent", exponent(&points).into()), ("wanted_max", EXPONENT_MAX.into())];
            report.row("growth with the records", &values);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_loaded_is_checked() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let shape = Shape { name: "few", groups: 3, topics: 2, partitions: 5 };
        let mut log = Log::new(&runtime, shape, &Options::default()).unwrap();
        log.grow(17).unwrap();
        log.pass(Stage::Load).unwrap();
        log.grow(5000).unwrap();
        for stage in STAGES {
            log.pass(stage).unwrap();
        }
        log.records += 1;
        assert!(log.pass(Stage::Load).is_err());
    }
}
