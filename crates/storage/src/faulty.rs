//! An engine that delays, refuses and loses, over any other: for tests of what stands above the seam.
//!
//! Appends wait in a queue before they reach the inner engine. So `durable` lags behind `end` as with a slow
//! disk, and a crash loses exactly what was not durable. All chance comes from a seed; nothing happens by time:
//! the test calls [`FaultyEngine::step`].
//!
//! [`RefusingLane`] and [`RefusingLog`] only refuse appends, when the test says so.

mod refusing;

pub use refusing::{RefusingLane, RefusingLog, Why};

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::conformance::Dice;
use crate::log::{
    Batches, BoxFuture, Ends, Engine, Found, Grant, Lane, LaneId, Log, LogSettings, Millis, Offset,
    PartitionId, PartitionSnapshot, Recovered, Refused, Slices, Span,
};

/// Chances in a thousand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Chances {
    /// That an append is refused as `Full`.
    pub full: usize,
    /// That a step leaves a log's queue as it is.
    pub stall: usize,
}

/// A wrapper that makes an engine faulty.
pub struct FaultyEngine {
    inner: Arc<dyn Engine>,
    world: Arc<Mutex<World>>,
}

struct World {
    dice: Dice,
    chances: Chances,
    lanes: Vec<Arc<FaultyLane>>,
}

impl FaultyEngine {
    /// A faulty engine over `inner`. The same seed and the same calls give the same faults.
    #[must_use]
    pub fn new(inner: Arc<dyn Engine>, seed: u64, chances: Chances) -> Self {
        let world = World { dice: Dice(seed), chances, lanes: Vec::new() };
        Self { inner, world: Arc::new(Mutex::new(world)) }
    }

    /// Lets some of what waits become durable, in the order of each log.
    pub fn step(&self) -> Result<(), Refused> {
        for log in self.logs() {
            let count = {
                let World { dice, chances, .. } = &mut *self.world.lock();
                if dice.below(1_000) < chances.stall { 0 } else { 1 + dice.below(3) }
            };
            log.release(count)?;
        }
        Ok(())
    }

    /// Lets everything become durable that waits.
    pub fn settle(&self) -> Result<(), Refused> {
        self.logs().iter().try_for_each(|log| log.release(usize::MAX))
    }

    /// The process dies: what was not durable is lost, and all lanes are dead.
    pub fn crash(&self) {
        let lanes = std::mem::take(&mut self.world.lock().lanes);
        lanes.iter().for_each(|lane| lane.end(&Refused::Fenced));
    }

    fn logs(&self) -> Vec<Arc<FaultyLog>> {
        let lanes = self.world.lock().lanes.clone();
        lanes.iter().flat_map(|it| it.all()).collect()
    }
}

impl Engine for FaultyEngine {
    fn lanes(&self) -> u32 {
        self.inner.lanes()
    }

    fn open(&self, lane: LaneId, grant: Grant) -> BoxFuture<'_, Result<Arc<dyn Lane>, Refused>> {
        Box::pin(async move {
            let inner = self.inner.open(lane, grant).await?;
            let lane = Arc::new(FaultyLane {
                inner,
                world: self.world.clone(),
                logs: Mutex::default(),
                fenced: watch::Sender::new(false),
            });
            self.world.lock().lanes.push(lane.clone());
            Ok(lane as Arc<dyn Lane>)
        })
    }
}

struct FaultyLane {
    inner: Arc<dyn Lane>,
    world: Arc<Mutex<World>>,
    logs: Mutex<BTreeMap<PartitionId, Arc<FaultyLog>>>,
    fenced: watch::Sender<bool>,
}

impl FaultyLane {
    fn all(&self) -> Vec<Arc<FaultyLog>> {
        self.logs.lock().values().cloned().collect()
    }

    fn end(&self, why: &Refused) {
        self.fenced.send_replace(true);
        self.all().iter().for_each(|log| log.end(why.clone()));
    }

    fn settle(&self) -> Result<(), Refused> {
        self.all().iter().try_for_each(|log| log.release(usize::MAX))
    }
}

impl Lane for FaultyLane {
    fn partitions(&self) -> Vec<Recovered> {
        self.inner.partitions()
    }

    fn log(&self, id: &PartitionId) -> Result<Arc<dyn Log>, Refused> {
        if *self.fenced.borrow() {
            return Err(Refused::Fenced);
        }
        let mut logs = self.logs.lock();
        if let Some(log) = logs.get(id) {
            return Ok(log.clone());
        }
        let log = Arc::new(FaultyLog::new(self.inner.log(id)?, self.world.clone()));
        logs.insert(id.clone(), log.clone());
        Ok(log)
    }

    fn remove(&self, id: &PartitionId) -> BoxFuture<'_, Result<(), Refused>> {
        if let Some(log) = self.logs.lock().remove(id) {
            log.end(Refused::Gone);
        }
        self.inner.remove(id)
    }

    fn set_aside(&self, id: &PartitionId) -> BoxFuture<'_, Result<(), Refused>> {
        if let Some(log) = self.logs.lock().remove(id) {
            log.end(Refused::Gone);
        }
        self.inner.set_aside(id)
    }

    fn fenced(&self) -> watch::Receiver<bool> {
        self.fenced.subscribe()
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<(), Refused>> {
        Box::pin(async {
            self.settle()?;
            self.inner.checkpoint().await
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Refused>> {
        Box::pin(async {
            self.settle()?;
            let closed = self.inner.close().await;
            self.end(&Refused::Fenced);
            closed
        })
    }

    fn place(&self) -> String {
        self.inner.place()
    }
}

struct FaultyLog {
    inner: Arc<dyn Log>,
    world: Arc<Mutex<World>>,
    state: Mutex<Waiting>,
    ends: watch::Sender<Ends>,
}

#[derive(Default)]
struct Waiting {
    appends: VecDeque<Batches>,
    end: Offset,
    refused: Option<Refused>,
}

impl FaultyLog {
    fn new(inner: Arc<dyn Log>, world: Arc<Mutex<World>>) -> Self {
        let ends = *inner.ends().borrow();
        let state = Mutex::new(Waiting { end: ends.end, ..Waiting::default() });
        Self { inner, world, state, ends: watch::Sender::new(ends) }
    }

    fn release(&self, count: usize) -> Result<(), Refused> {
        let mut state = self.state.lock();
        for _ in 0..count {
            if state.refused.is_some() {
                break;
            }
            let Some(batches) = state.appends.pop_front() else { break };
            self.inner.append(batches)?;
        }
        self.publish(&state);
        Ok(())
    }

    fn end(&self, why: Refused) {
        let mut state = self.state.lock();
        state.appends.clear();
        state.refused.get_or_insert(why);
        self.publish(&state);
    }

    fn publish(&self, state: &Waiting) {
        let inner = *self.inner.ends().borrow();
        self.ends.send_if_modified(|ends| {
            let dead = state.refused.is_some() || inner.dead;
            // A dead log's durable end is frozen where it was seen last.
            let durable = if state.refused.is_some() { ends.durable } else { inner.durable };
            let old = std::mem::replace(ends, Ends { start: inner.start, durable, end: state.end, dead });
            (old.start, old.durable, old.dead) != (ends.start, ends.durable, ends.dead)
        });
    }

    fn refusal(&self) -> Option<Refused> {
        self.state.lock().refused.clone()
    }
}

impl Log for FaultyLog {
    fn append(&self, batches: Batches) -> Result<(), Refused> {
        let mut state = self.state.lock();
        if let Some(refused) = &state.refused {
            return Err(refused.clone());
        }
        let full = {
            let World { dice, chances, .. } = &mut *self.world.lock();
            dice.below(1_000) < chances.full
        };
        if full {
            return Err(Refused::Full);
        }
        for batch in &batches.items {
            assert_eq!(batch.header.base_offset, state.end, "a batch begins where the log ends");
            state.end = batch.header.next_offset();
        }
        state.appends.push_back(batches);
        self.publish(&state);
        Ok(())
    }

    fn ends(&self) -> watch::Receiver<Ends> {
        self.ends.subscribe()
    }

    fn read(&self, span: Span) -> BoxFuture<'_, Result<Slices, Refused>> {
        let durable = self.ends.borrow().durable;
        self.inner.read(Span { to: span.to.min(durable), ..span })
    }

    fn find(&self, timestamp: Millis) -> BoxFuture<'_, Result<Option<Found>, Refused>> {
        self.inner.find(timestamp)
    }

    fn newest(&self) -> BoxFuture<'_, Result<Option<Found>, Refused>> {
        self.inner.newest()
    }

    fn trim(&self, start: Offset) -> BoxFuture<'_, Result<(), Refused>> {
        Box::pin(async move {
            if let Some(refused) = self.refusal() {
                return Err(refused);
            }
            self.inner.trim(start).await?;
            self.publish(&self.state.lock());
            Ok(())
        })
    }

    fn save(&self, snapshot: PartitionSnapshot) -> Result<(), Refused> {
        self.refusal().map_or_else(|| self.inner.save(snapshot), Err)
    }

    fn saved(&self) -> Result<Option<PartitionSnapshot>, Refused> {
        self.inner.saved()
    }

    fn configure(&self, settings: LogSettings) {
        self.inner.configure(settings);
    }

    fn size(&self) -> u64 {
        self.inner.size()
    }
}
