//! Lanes, logs and a journal in memory: the reference of the seam, and the storage of tests.
//!
//! What the engine holds outlives its lanes: a lane opened again finds what was durable, as after a crash.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::journal::{Journal, JournalError, Since, Version};
use crate::log::{
    Batch, Batches, BoxFuture, Ends, Engine, Found, Grant, Lane, LaneId, Log, LogSettings, Millis, Offset,
    PartitionId, PartitionSnapshot, Recovered, Refused, Slice, Slices, Span,
};

/// An engine in memory.
pub struct MemoryEngine {
    lanes: Vec<Mutex<Option<Arc<MemoryLane>>>>,
    held: bool,
}

impl MemoryEngine {
    /// One lane; every append is durable at once.
    #[must_use]
    pub fn new() -> Self {
        Self::with_lanes(1)
    }

    /// Several lanes; every append is durable at once.
    #[must_use]
    pub fn with_lanes(lanes: u32) -> Self {
        Self { lanes: (0..lanes).map(|_| Mutex::new(None)).collect(), held: false }
    }

    /// One lane; appends become durable when `flush` is called.
    #[must_use]
    pub fn held() -> Self {
        Self { held: true, ..Self::new() }
    }

    /// Makes everything durable that was appended so far.
    pub fn flush(&self) {
        for lane in &self.lanes {
            if let Some(lane) = lane.lock().as_ref() {
                lane.each(MemoryLog::flush);
            }
        }
    }
}

impl Default for MemoryEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for MemoryEngine {
    fn lanes(&self) -> u32 {
        u32::try_from(self.lanes.len()).unwrap_or(u32::MAX)
    }

    fn open(&self, lane: LaneId, _grant: Grant) -> BoxFuture<'_, Result<Arc<dyn Lane>, Refused>> {
        let opened = self.lanes.get(lane as usize).ok_or(Refused::Gone).map(|slot| {
            let mut slot = slot.lock();
            let fresh = Arc::new(MemoryLane::after(slot.as_deref(), self.held));
            *slot = Some(fresh.clone());
            fresh as Arc<dyn Lane>
        });
        Box::pin(async move { opened })
    }
}

struct MemoryLane {
    logs: Mutex<BTreeMap<PartitionId, Arc<MemoryLog>>>,
    fenced: watch::Sender<bool>,
    held: bool,
}

impl MemoryLane {
    /// A lane with what was durable in the one before, which is dead from now on.
    fn after(old: Option<&Self>, held: bool) -> Self {
        let mut logs = BTreeMap::new();
        if let Some(old) = old {
            old.end();
            for (id, log) in old.logs.lock().iter() {
                logs.insert(id.clone(), Arc::new(MemoryLog::new(log.durable_state(), held)));
            }
        }
        Self { logs: Mutex::new(logs), fenced: watch::Sender::new(false), held }
    }

    fn each(&self, mut f: impl FnMut(&MemoryLog)) {
        self.logs.lock().values().for_each(|log| f(log));
    }

    fn end(&self) {
        self.fenced.send_replace(true);
        self.each(|log| log.end(Refused::Fenced));
    }
}

impl Lane for MemoryLane {
    fn partitions(&self) -> Vec<Recovered> {
        let logs = self.logs.lock();
        let found = |(id, log): (&PartitionId, &Arc<MemoryLog>)| Recovered {
            id: id.clone(),
            ends: *log.ends.borrow(),
            cut_bytes: 0,
            damage: None,
        };
        logs.iter().map(found).collect()
    }

    fn log(&self, id: &PartitionId) -> Result<Arc<dyn Log>, Refused> {
        if *self.fenced.borrow() {
            return Err(Refused::Fenced);
        }
        let mut logs = self.logs.lock();
        let fresh = || Arc::new(MemoryLog::new(State::default(), self.held));
        Ok(logs.entry(id.clone()).or_insert_with(fresh).clone())
    }

    fn remove(&self, id: &PartitionId) -> BoxFuture<'_, Result<(), Refused>> {
        if let Some(log) = self.logs.lock().remove(id) {
            log.end(Refused::Gone);
        }
        Box::pin(async { Ok(()) })
    }

    fn fenced(&self) -> watch::Receiver<bool> {
        self.fenced.subscribe()
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<(), Refused>> {
        self.each(MemoryLog::flush);
        Box::pin(async { Ok(()) })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Refused>> {
        self.each(MemoryLog::flush);
        self.end();
        Box::pin(async { Ok(()) })
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}

/// State of a log; all of `kept` above `Ends::durable` vanishes when the lane is opened again.
#[derive(Clone, Default)]
struct State {
    batches: Vec<Batch>,
    snapshots: Vec<PartitionSnapshot>,
    ends: Ends,
    refused: Option<Refused>,
}

struct MemoryLog {
    state: Mutex<State>,
    ends: watch::Sender<Ends>,
    held: bool,
}

impl MemoryLog {
    fn new(state: State, held: bool) -> Self {
        let ends = watch::Sender::new(state.ends);
        Self { state: Mutex::new(state), ends, held }
    }

    fn durable_state(&self) -> State {
        let State { mut batches, mut snapshots, ends, .. } = self.state.lock().clone();
        batches.retain(|it| it.header.next_offset() <= ends.durable);
        snapshots.retain(|it| it.offset <= ends.durable);
        State { batches, snapshots, ends: Ends { end: ends.durable, dead: false, ..ends }, refused: None }
    }

    fn publish(&self, state: &State) {
        self.ends.send_if_modified(|ends| {
            let wakes = (ends.start, ends.durable, ends.dead)
                != (state.ends.start, state.ends.durable, state.ends.dead);
            *ends = state.ends;
            wakes
        });
    }

    fn flush(&self) {
        let mut state = self.state.lock();
        if state.refused.is_none() {
            state.ends.durable = state.ends.end;
            self.publish(&state);
        }
    }

    fn end(&self, why: Refused) {
        let mut state = self.state.lock();
        state.refused.get_or_insert(why);
        state.ends.dead = true;
        self.publish(&state);
    }

    fn read_now(&self, span: Span) -> Result<Slices, Refused> {
        let state = self.state.lock();
        if span.from < state.ends.start {
            return Err(Refused::Gone);
        }
        let bound = span.to.min(state.ends.durable);
        let mut out = Slices::default();
        let mut size = 0;
        for batch in state.batches.iter().skip_while(|it| it.header.next_offset() <= span.from) {
            let fits = size + batch.size() <= span.max_bytes || (size == 0 && span.at_least_one);
            if batch.header.next_offset() > bound || !fits {
                break;
            }
            size += batch.size();
            out.next = batch.header.next_offset();
            out.items.push(Slice::Bytes(batch.to_bytes()));
        }
        Ok(out)
    }

    /// The durable batches above the start.
    fn readable(&self) -> Vec<Found> {
        let state = self.state.lock();
        let Ends { start, durable, .. } = state.ends;
        let inside = |it: &&Batch| it.header.next_offset() > start && it.header.next_offset() <= durable;
        state.batches.iter().filter(inside).map(found).collect()
    }
}

impl Log for MemoryLog {
    fn append(&self, batches: Batches) -> Result<(), Refused> {
        let mut state = self.state.lock();
        if let Some(refused) = &state.refused {
            return Err(refused.clone());
        }
        for batch in batches.items {
            assert_eq!(batch.header.base_offset, state.ends.end, "a batch begins where the log ends");
            state.ends.end = batch.header.next_offset();
            state.batches.push(batch);
        }
        if !self.held {
            state.ends.durable = state.ends.end;
        }
        self.publish(&state);
        Ok(())
    }

    fn ends(&self) -> watch::Receiver<Ends> {
        self.ends.subscribe()
    }

    fn read(&self, span: Span) -> BoxFuture<'_, Result<Slices, Refused>> {
        Box::pin(async move { self.read_now(span) })
    }

    fn find(&self, timestamp: Millis) -> BoxFuture<'_, Result<Option<Found>, Refused>> {
        let found = self.readable().into_iter().find(|it| it.max_timestamp >= timestamp);
        Box::pin(async move { Ok(found) })
    }

    fn newest(&self) -> BoxFuture<'_, Result<Option<Found>, Refused>> {
        // `max_by_key` gives the last of equals, so that going backwards gives the first.
        let newest = self.readable().into_iter().rev().max_by_key(|it| it.max_timestamp);
        Box::pin(async move { Ok(newest) })
    }

    fn trim(&self, start: Offset) -> BoxFuture<'_, Result<(), Refused>> {
        let mut state = self.state.lock();
        let ends = state.ends;
        state.ends.start = start.min(ends.durable).max(ends.start);
        let start = state.ends.start;
        state.batches.retain(|it| it.header.next_offset() > start);
        self.publish(&state);
        Box::pin(async { Ok(()) })
    }

    fn save(&self, snapshot: PartitionSnapshot) -> Result<(), Refused> {
        let mut state = self.state.lock();
        if let Some(refused) = &state.refused {
            return Err(refused.clone());
        }
        // Two are enough: the newest may be beyond what a crash leaves, then the one before counts.
        let excess = state.snapshots.len().saturating_sub(1);
        state.snapshots.drain(..excess);
        state.snapshots.push(snapshot);
        Ok(())
    }

    fn saved(&self) -> Result<Option<PartitionSnapshot>, Refused> {
        let state = self.state.lock();
        Ok(state.snapshots.iter().rev().find(|it| it.offset <= state.ends.end).cloned())
    }

    fn configure(&self, _settings: LogSettings) {}

    fn size(&self) -> u64 {
        self.state.lock().batches.iter().map(|it| it.size() as u64).sum()
    }
}

fn found(batch: &Batch) -> Found {
    Found { offset: batch.header.base_offset, max_timestamp: batch.header.max_timestamp }
}

/// A journal in memory.
#[derive(Default)]
pub struct MemoryJournal {
    state: Mutex<JournalState>,
}

#[derive(Default)]
struct JournalState {
    head: Version,
    kept: Since,
}

impl MemoryJournal {
    /// An empty journal.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Journal for MemoryJournal {
    fn append(&self, after: Version, entries: Vec<Bytes>) -> BoxFuture<'_, Result<Version, JournalError>> {
        let mut state = self.state.lock();
        let appended = if state.head == after {
            for entry in entries {
                state.head += 1;
                let version = state.head;
                state.kept.entries.push((version, entry));
            }
            Ok(state.head)
        } else {
            Err(JournalError::Behind(state.head))
        };
        Box::pin(async move { appended })
    }

    fn read(&self, after: Version) -> BoxFuture<'_, Result<Since, Refused>> {
        let state = self.state.lock();
        let snapshot = state.kept.snapshot.clone().filter(|(version, _)| *version > after);
        let entries = state.kept.entries.iter().filter(|(version, _)| *version > after).cloned().collect();
        let since = Since { snapshot, entries };
        Box::pin(async move { Ok(since) })
    }

    fn head(&self) -> Version {
        self.state.lock().head
    }

    fn snapshot(&self, version: Version, image: Bytes) -> BoxFuture<'_, Result<(), Refused>> {
        let mut state = self.state.lock();
        let newer = state.kept.snapshot.as_ref().is_none_or(|(old, _)| version > *old);
        if newer && version <= state.head {
            state.kept.snapshot = Some((version, image));
            state.kept.entries.retain(|(it, _)| *it > version);
        }
        Box::pin(async { Ok(()) })
    }
}
