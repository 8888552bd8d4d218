//! Partitions over the engine in memory: the rules of `broker-core` by number, and random runs against a model.

mod failing;
mod idempotence;
mod lookup;
mod model;
mod reading;
mod reopen;
mod validation;
mod verification;

use std::sync::Arc;

use bytes::Bytes;
use wire::batch::{BatchBuilder, Batches, Record, control};

use super::*;
use crate::log::{Engine, Grant, Lane, PartitionId, Uuid};
use crate::memory::MemoryEngine;

/// The time of most tests.
const NOW: Millis = 1_700_000_000_000;

const CLIENT: Origin = Origin::Client;
const COORDINATOR: Origin = Origin::Coordinator { transaction_version: 1 };

/// An engine with one partition, which can be opened again.
struct Bench {
    engine: MemoryEngine,
    lane: Arc<dyn Lane>,
    epoch: Epoch,
}

impl Bench {
    /// Every append is durable at once.
    async fn new() -> Self {
        Self::over(MemoryEngine::new()).await
    }

    /// Appends become durable with `flush`.
    async fn held() -> Self {
        Self::over(MemoryEngine::held()).await
    }

    async fn over(engine: MemoryEngine) -> Self {
        let lane = engine.open(0, Grant { epoch: 0, session: 1 }).await.unwrap();
        Self { engine, lane, epoch: 0 }
    }

    fn log(&self) -> Arc<dyn Log> {
        let id = PartitionId { topic_id: Uuid::default(), topic: "t".into(), index: 0 };
        self.lane.log(&id).unwrap()
    }

    async fn partition(&self) -> Partition {
        self.with(Settings::default()).await
    }

    async fn with(&self, settings: Settings) -> Partition {
        Partition::open(self.log(), settings, self.epoch, NOW).await.unwrap()
    }

    /// The owner dies: what is not durable is lost, and the next one opens in a new epoch.
    async fn crash(&mut self) -> Partition {
        self.epoch += 1;
        self.lane = self.engine.open(0, Grant { epoch: self.epoch, session: 2 }).await.unwrap();
        self.partition().await
    }
}

/// Plain records with these values.
fn plain(values: &[&str]) -> Bytes {
    let add = |batch: BatchBuilder, value: &&str| batch.push(None, Some(value.as_bytes()));
    values.iter().fold(BatchBuilder::new().timestamp(NOW), add).build()
}

/// Records with these timestamps.
fn timed(timestamps: &[Millis]) -> Bytes {
    let mut batch = BatchBuilder::new();
    timestamps.iter().for_each(|&at| batch.add(at, None, Some(b"v"), &[]));
    batch.build()
}

/// A batch of an idempotent producer: sequences `first..first + count`.
fn sequenced(id: i64, epoch: i16, first: i32, count: usize) -> Bytes {
    let mut batch = BatchBuilder::new().producer(id, epoch, first);
    (0..count).for_each(|_| batch.add(NOW, None, Some(b"v"), &[]));
    batch.build()
}

/// The same as part of a transaction.
fn transactional(id: i64, epoch: i16, first: i32, count: usize) -> Bytes {
    let mut batch = BatchBuilder::new().producer(id, epoch, first).transactional();
    (0..count).for_each(|_| batch.add(NOW, None, Some(b"v"), &[]));
    batch.build()
}

fn commit(id: i64, epoch: i16) -> Bytes {
    control::marker(id, epoch, true, 0, NOW)
}

fn abort(id: i64, epoch: i16) -> Bytes {
    control::marker(id, epoch, false, 0, NOW)
}

fn spec(from: Offset, isolation: Isolation) -> ReadSpec {
    ReadSpec { from, max_bytes: 1 << 20, at_least_one: true, isolation, settle: false }
}

/// All batches from an offset on.
async fn batches(partition: &Partition, from: Offset) -> Vec<wire::batch::Batch> {
    let result = partition.read(spec(from, Isolation::ReadUncommitted)).await.unwrap();
    Batches::new(result.slices.load().unwrap()).map(Result::unwrap).collect()
}

/// All records from an offset on, as stored; checksums are verified on the way.
async fn records(partition: &Partition, from: Offset) -> Vec<Record> {
    let mut all = Vec::new();
    for batch in batches(partition, from).await {
        batch.verify().unwrap();
        all.extend(batch.records().unwrap().map(Result::unwrap));
    }
    all
}
