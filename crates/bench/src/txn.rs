//! `bench txn`: what a transaction costs the broker: records for some partitions in one request, the offset of one
//! input partition, commit; begun by the first record as clients do since KIP-890. With `--against` the same is asked of
//! a running Kafka, in turns. Row P3 of the floor server stands beside each, for other machines.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use wire::batch::BatchBuilder;
use wire::delete_topics::request::DeleteTopicState;
use wire::produce::request::{PartitionProduceData, TopicProduceData};
use wire::txn_offset_commit::request::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use wire::{
    DeleteTopicsRequest, EndTxnRequest, ErrorCode, InitProducerIdRequest, ProduceRequest, Records, Str,
    TxnOffsetCommitRequest,
};

use crate::floor::{Floor, WINDOWS};
use crate::load::{Connection, Turn, again, turn};
use crate::options::Options;
use crate::process::Peer;
use crate::report::{Report, exponent, line, spread};

/// Partitions that a transaction writes to. The second is row B9.
const PARTITIONS: [u32; 4] = [1, 4, 16, 64];
/// How often Kafka's cost is wanted to be ours, at least.
const RATIO_MIN: f64 = 3.0;
/// Growth with the partitions, at most: linear.
const EXPONENT_MAX: f64 = 1.15;
/// Connections, each with a thread.
const CONNECTIONS: u32 = 4;
/// Producers that take turns on a connection, so that the markers of one are written while others go on.
const PRODUCERS: u32 = 16;
/// How many times longer than ours the time before the first turn is for what has to warm up.
const JAVA_WARM_UP: f64 = 10.0;
/// Bytes of a record.
const VALUE: [u8; 100] = [b'x'; 100];
/// The first versions that add partitions by themselves (KIP-890), and the highest of the others.
const PRODUCE_VERSION: i16 = 12;
const COMMIT_VERSION: i16 = 5;
const END_VERSION: i16 = 5;
const INIT_VERSION: i16 = 5;
const DELETE_VERSION: i16 = 6;

/// A producer between two transactions.
#[derive(Debug)]
struct Producer {
    transactional_id: Str,
    group: Str,
    id: i64,
    epoch: i16,
    offset: i64,
}

/// Producers that share a connection.
#[derive(Debug)]
struct Lane {
    connection: Connection,
    producers: Vec<Producer>,
    next: usize,
}

/// A broker that is asked.
#[derive(Debug)]
struct Side {
    peer: Peer,
    lanes: Vec<Lane>,
    topics: Vec<String>,
    /// Those of the number of partitions that is measured.
    turns: Vec<Turn>,
    retries: u32,
}

impl Producer {
    fn new(connection: &mut Connection, name: &str) -> Result<Self, String> {
        connection.coordinator(0, name)?;
        connection.coordinator(1, name)?;
        let request = InitProducerIdRequest {
            transactional_id: Some(Str::from(name)),
            transaction_timeout_ms: 60_000,
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        };
        let (answer, _) = again("InitProducerId", || {
            let answer = connection.call(INIT_VERSION, &request)?;
            Ok((answer.error_code, answer))
        })?;
        let (id, epoch) = (answer.producer_id, answer.producer_epoch);
        Ok(Self { transactional_id: name.into(), group: name.into(), id, epoch, offset: 0 })
    }

    /// One transaction; says how many requests had to be made again.
    fn run(&mut self, connection: &mut Connection, topic: &str, partitions: u32) -> Result<u32, String> {
        let (produce, commit) = (self.produce(topic, partitions), self.commit(topic));
        let ((), produced) = again("Produce", || {
            let answer = connection.call(PRODUCE_VERSION, &produce)?;
            let codes = answer.responses.iter().flat_map(|it| &it.partition_responses);
            Ok((worst(codes.map(|it| it.error_code)), ()))
        })?;
        let ((), committed) = again("TxnOffsetCommit", || {
            let answer = connection.call(COMMIT_VERSION, &commit)?;
            let codes = answer.topics.iter().flat_map(|it| &it.partitions);
            Ok((worst(codes.map(|it| it.error_code)), ()))
        })?;
        let end = EndTxnRequest {
            transactional_id: self.transactional_id.clone(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            committed: true,
            ..Default::default()
        };
        let (answer, ended) = again("EndTxn", || {
            let answer = connection.call(END_VERSION, &end)?;
            Ok((answer.error_code, answer))
        })?;
        (self.id, self.epoch) = (answer.producer_id, answer.producer_epoch);
        Ok(produced + committed + ended)
    }

    /// Each epoch has one transaction, so that sequences begin anew.
    fn produce(&self, topic: &str, partitions: u32) -> ProduceRequest {
        let batch = BatchBuilder::new().producer(self.id, self.epoch, 0).transactional().timestamp(1);
        let records = batch.push(None, Some(&VALUE)).build();
        let partition = |number| PartitionProduceData {
            index: i32::try_from(number).unwrap_or(i32::MAX),
            records: Some(Records::from(records.clone())),
            ..Default::default()
        };
        let partition_data = (0..partitions).map(partition).collect();
        let topic = TopicProduceData { name: topic.into(), partition_data, ..Default::default() };
        ProduceRequest {
            transactional_id: Some(self.transactional_id.clone()),
            acks: -1,
            timeout_ms: 30_000,
            topic_data: vec![topic],
            ..Default::default()
        }
    }

    fn commit(&mut self, topic: &str) -> TxnOffsetCommitRequest {
        self.offset += 1;
        let partition = TxnOffsetCommitRequestPartition {
            partition_index: 0,
            committed_offset: self.offset,
            committed_metadata: Some(Str::default()),
            ..Default::default()
        };
        let partitions = vec![partition];
        let topic = TxnOffsetCommitRequestTopic { name: topic.into(), partitions, ..Default::default() };
        TxnOffsetCommitRequest {
            transactional_id: self.transactional_id.clone(),
            group_id: self.group.clone(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            topics: vec![topic],
            ..Default::default()
        }
    }
}

/// The first that is not to be tried again, else the first that failed. No answer at all is a failure.
fn worst(codes: impl Iterator<Item = ErrorCode>) -> ErrorCode {
    let mut worst = None;
    for code in codes {
        let graver = match worst {
            None | Some(ErrorCode::NONE) => true,
            Some(before) => before.is_retriable() && code != ErrorCode::NONE && !code.is_retriable(),
        };
        if graver {
            worst = Some(code);
        }
    }
    worst.unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR)
}

impl Lane {
    /// Producers of a range of numbers.
    fn new(address: &str, run: u32, numbers: Range<u32>) -> Result<Self, String> {
        let mut connection = Connection::open(address)?;
        let producer = |number| Producer::new(&mut connection, &format!("bench-{run}-{number}"));
        let producers = numbers.map(producer).collect::<Result<Vec<_>, String>>()?;
        Ok(Self { connection, producers, next: 0 })
    }

    /// Transactions until the time is over: how many, and how many requests were made again.
    fn run(&mut self, topic: &str, partitions: u32, end: Instant) -> Result<(u32, u32), String> {
        let (mut count, mut retries) = (0, 0);
        while count == 0 || Instant::now() < end {
            let producers = self.producers.len();
            let producer = self.producers.get_mut(self.next).ok_or("no producer")?;
            retries += producer.run(&mut self.connection, topic, partitions)?;
            self.next = (self.next + 1) % producers;
            count += 1;
        }
        Ok((count, retries))
    }
}

impl Side {
    fn new(peer: Peer, run: u32) -> Result<Self, String> {
        let topics: Vec<_> = PARTITIONS.iter().map(|it| (format!("bench-{run}-{it}"), *it)).collect();
        Connection::open(&peer.address)?.create(&topics)?;
        let mut side = Self { peer, lanes: Vec::new(), topics: Vec::new(), turns: Vec::new(), retries: 0 };
        side.topics = topics.into_iter().map(|it| it.0).collect();
        for lane in 0..CONNECTIONS {
            let numbers = lane * PRODUCERS..(lane + 1) * PRODUCERS;
            side.lanes.push(Lane::new(&side.peer.address, run, numbers)?);
        }
        Ok(side)
    }

    /// All lanes at once.
    fn turn(&mut self, size: usize, time: Duration) -> Result<Turn, String> {
        let topic = self.topics.get(size).ok_or("no such size")?.as_str();
        let partitions = *PARTITIONS.get(size).ok_or("no such size")?;
        let end = Instant::now() + time;
        let (lanes, retries) = (&mut self.lanes, &mut self.retries);
        turn(&self.peer, || {
            thread::scope(|scope| {
                let run = |lane| scope.spawn(move || Lane::run(lane, topic, partitions, end));
                let running: Vec<_> = lanes.iter_mut().map(run).collect();
                let mut count = 0;
                for lane in running {
                    let done = lane.join().map_err(|_| "a thread panicked".to_owned())??;
                    count += done.0;
                    *retries += done.1;
                }
                Ok(count)
            })
        })
    }

    /// Takes away what was made on a broker that stays.
    fn clean(&mut self) -> Result<(), String> {
        let topic = |name: &String| DeleteTopicState { name: Some(Str::from(name)), ..Default::default() };
        let topics = self.topics.iter().map(topic).collect();
        let request = DeleteTopicsRequest { topics, timeout_ms: 30_000, ..Default::default() };
        let lane = self.lanes.first_mut().ok_or("no connection")?;
        lane.connection.call(DELETE_VERSION, &request).map(|_| ())
    }
}

fn each(turns: &[Turn]) -> Vec<f64> {
    turns.iter().map(|it| it.each()).collect()
}

fn ratios(of: &[f64], to: &[f64]) -> Vec<f64> {
    of.iter().zip(to).map(|(of, to)| of / to).collect()
}

/// Measures one number of partitions and prints its row; gives the median of our cost.
fn measure(
    options: &Options,
    report: &Report,
    size: usize,
    sides: &mut [Side],
    floor: &mut Floor,
) -> Result<f64, String> {
    let time = Duration::from_secs_f64(options.seconds);
    let partitions = *PARTITIONS.get(size).ok_or("no such size")?;
    let mut floors = Vec::new();
    for side in &mut *sides {
        (side.turns, side.retries) = (Vec::new(), 0);
    }
    for round in 1..=options.rounds {
        report.progress(&format!("{partitions} partitions, round {round} of {}", options.rounds));
        floors.push(floor.turn(WINDOWS[0], time)?);
        for side in &mut *sides {
            let turn = side.turn(size, time)?;
            side.turns.push(turn);
        }
    }
    let mut sides = sides.iter();
    let ours = sides.next().ok_or("no broker")?;
    let cost = each(&ours.turns);
    let system: Vec<_> = ours.turns.iter().map(|it| it.each_in_system()).collect();
    let transactions: f64 = ours.turns.iter().map(|it| it.requests).sum();
    let mut values = vec![
        ("partitions", partitions.into()),
        ("transactions", transactions.into()),
        ("made_again", ours.retries.into()),
        ("us", spread(&cost)),
        ("us_system", spread(&system)),
        ("floor_p3_us", spread(&each(&floors))),
        ("floors", spread(&ratios(&cost, &each(&floors)))),
    ];
    if let Some(theirs) = sides.next() {
        let other = each(&theirs.turns);
        values.extend([
            ("kafka_us", spread(&other)),
            ("kafka_made_again", theirs.retries.into()),
            ("kafka_ratio", spread(&ratios(&other, &cost))),
            ("wanted_min", RATIO_MIN.into()),
        ]);
    }
    report.row("transactions", &values);
    let mut cost = cost;
    Ok(crate::report::median(&mut cost))
}

/// Measures and prints.
///
/// # Errors
/// A process that is not to be had, an answer that has an error.
pub fn run(options: &Options) -> Result<(), String> {
    let report = Report::new(options.json);
    let run = std::process::id();
    let mut sides = vec![Side::new(Peer::broker(&options.broker()?, &options.directory, &[])?, run)?];
    if let Some((address, process)) = &options.against {
        report.progress("producers of Kafka");
        sides.push(Side::new(Peer::of(*process, address), run)?);
    }
    let mut floor = Floor::start(options)?;
    let warm_up = Duration::from_secs_f64(options.warm_up);
    floor.turn(WINDOWS[0], warm_up)?;
    for (side, times) in sides.iter_mut().zip([1.0, JAVA_WARM_UP]) {
        report.progress("warm-up");
        side.turn(1, warm_up.mul_f64(times))?;
    }
    let mut costs = Vec::new();
    for (size, partitions) in PARTITIONS.into_iter().enumerate() {
        let cost = measure(options, &report, size, &mut sides, &mut floor)?;
        costs.push((f64::from(partitions), cost));
    }
    let (start, slope) = line(&costs);
    report.row(
        "transactions, growth",
        &[
            ("us_fixed", start.into()),
            ("us_per_partition", slope.into()),
            ("exponent", exponent(&costs).into()),
            ("wanted_max", EXPONENT_MAX.into()),
        ],
    );
    match sides.get_mut(1) {
        Some(side) => side.clean(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_code_counts() {
        let (good, later) = (ErrorCode::NONE, ErrorCode::CONCURRENT_TRANSACTIONS);
        let bad = ErrorCode::INVALID_PRODUCER_EPOCH;
        let of = |codes: &[ErrorCode]| worst(codes.iter().copied());
        assert_eq!(of(&[good, good]), good);
        assert_eq!(of(&[good, later, good]), later);
        assert_eq!(of(&[later, bad, good]), bad);
        assert_ne!(of(&[]), good);
    }
}
