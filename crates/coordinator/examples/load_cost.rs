//! What a record of a committed offset costs while a shard is loaded, without the log and its engine:
//! `bench load` measures with them.
//!
//! `cargo run --release -p coordinator --example load_cost [RECORDS [SHAPE]]`
//!
//! Prints nanoseconds for each record, the least of several runs: `walk` finds keys and values in the batches, `all`
//! has the offsets. In `shuffled` shapes no two commits come in the order in which they came before.

#![allow(clippy::print_stdout, reason = "a tool for the terminal")]
#![allow(clippy::disallowed_methods, reason = "measures time, decides nothing by it")]
#![allow(clippy::unwrap_used, reason = "it made the log itself")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use catalog::Image;
use coordinator::group::GroupShard;
use coordinator::{At, Driver, Encoded, Entropy};
use wire::batch::{BatchBuilder, Batches};
use wire::consumer_offsets::{OffsetCommitKey, OffsetCommitValue, Record};
use wire::{LogRecord as _, Message as _, Str, Uuid};

const RECORDS: usize = 2_000_000;
const RUNS: u32 = 5;
/// Records of a batch, and batches of a read.
const BATCH_RECORDS: usize = 2_048;
const READ_BATCHES: usize = 4;
const NOW: i64 = 1_800_000_000_000;

/// Groups, topics of each, partitions of each; the first four are those of `bench load`.
const SHAPES: [(&str, [usize; 3], bool); 7] = [
    ("one group", [1, 2_048, 1], false),
    ("partitions of a topic together", [200, 1, 20], false),
    ("many groups", [20_000, 1, 1], false),
    ("a million partitions", [1_000, 10, 100], false),
    ("one group, shuffled", [1, 2_048, 1], true),
    ("many groups, shuffled", [20_000, 1, 1], true),
    ("a million partitions, shuffled", [1_000, 10, 100], true),
];

fn main() {
    let records = std::env::args().nth(1).map_or(RECORDS, |it| it.parse().unwrap());
    let wanted = std::env::args().nth(2);
    println!("{:<32} {:>8} {:>8} {:>8}", "", "walk", "rest", "all");
    for (name, shape, shuffled) in SHAPES {
        if wanted.as_ref().is_some_and(|it| it != name) {
            continue;
        }
        let log = log(shape, shuffled, records);
        let walk = least(records, || reads(&log).for_each(walk));
        let all = least(records, || load(&log));
        println!("{name:<32} {walk:>8.1} {:>8.1} {all:>8.1}", all - walk);
    }
}

/// Batches, one after the other.
fn log([groups, topics, partitions]: [usize; 3], shuffled: bool, records: usize) -> Vec<Bytes> {
    let key = |number: usize| {
        let key = OffsetCommitKey {
            group: Str::from(format!("group-of-consumers-{:05}", number / partitions / topics)),
            topic: Str::from(format!("topic-with-a-name-{:05}", number / partitions % topics)),
            partition: (number % partitions).try_into().unwrap(),
        };
        Record::OffsetCommit(key, None).encode().unwrap().0
    };
    let keys: Vec<Bytes> = (0..groups * topics * partitions).map(key).collect();
    let mut entropy = Entropy::seeded(1);
    let mut pick = |number: usize| {
        let number = if shuffled { usize::try_from(entropy.next_u64() >> 1).unwrap() } else { number };
        keys.get(number % keys.len()).unwrap()
    };
    let batch = |from: usize| {
        let base = i64::try_from(from).unwrap();
        let mut builder = BatchBuilder::new().timestamp(NOW).base_offset(base);
        for number in from..records.min(from + BATCH_RECORDS) {
            let value = OffsetCommitValue {
                offset: number.try_into().unwrap(),
                leader_epoch: 3,
                commit_timestamp: NOW,
                topic_id: Uuid([9; 16]),
                ..Default::default()
            };
            builder = builder.push(Some(pick(number)), Some(&value.to_prefixed(4).unwrap()));
        }
        builder.build()
    };
    (0..records).step_by(BATCH_RECORDS).map(batch).collect()
}

/// Copies of the log's bytes, as a read makes them.
fn reads(log: &[Bytes]) -> impl Iterator<Item = Bytes> {
    log.chunks(READ_BATCHES).map(|it| Bytes::from(it.concat()))
}

fn walk(bytes: Bytes) {
    for batch in Batches::new(bytes) {
        for record in batch.unwrap().block().unwrap().records() {
            black_box(record.unwrap());
        }
    }
}

fn load(log: &[Bytes]) -> Driver<GroupShard> {
    let mut driver = Driver::<GroupShard>::new(Entropy::seeded(1), 1 << 20);
    let mut end = 0;
    for bytes in reads(log) {
        for batch in Batches::new(bytes) {
            let batch = batch.unwrap();
            end = batch.header.next_offset();
            for record in batch.block().unwrap().records() {
                let record = record.unwrap();
                let at = At { offset: record.offset, timestamp: record.timestamp, producer: None };
                assert!(driver.replay_encoded(at, Encoded::new(record).unwrap()).unwrap());
            }
        }
    }
    driver.loaded(end, NOW, &Image::default());
    driver
}

/// Nanoseconds of the fastest run for each record, without the time to drop what it gives.
fn least<T>(records: usize, run: impl Fn() -> T) -> f64 {
    let once = || {
        let start = Instant::now();
        let result = black_box(run());
        let time = start.elapsed();
        drop(result);
        time
    };
    let least = (0..RUNS).map(|_| once()).min().unwrap_or(Duration::MAX);
    least.as_secs_f64() * 1e9 / records as f64
}
