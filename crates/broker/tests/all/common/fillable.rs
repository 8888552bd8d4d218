//! Storage that can be full: refuses appends while a switch is on, else it is the storage below.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use storage::{
    Batches, BoxFuture, Ends, Found, Lane, Log, LogSettings, Millis, Offset, PartitionId, PartitionSnapshot,
    Recovered, Refused, Slices, Span,
};
use tokio::sync::watch;

pub(crate) struct FillableLane {
    pub(crate) lane: Arc<dyn Lane>,
    pub(crate) full: Arc<AtomicBool>,
}

struct FillableLog {
    log: Arc<dyn Log>,
    full: Arc<AtomicBool>,
}

impl Lane for FillableLane {
    fn partitions(&self) -> Vec<Recovered> {
        self.lane.partitions()
    }

    fn log(&self, id: &PartitionId) -> Result<Arc<dyn Log>, Refused> {
        let log = self.lane.log(id)?;
        Ok(Arc::new(FillableLog { log, full: self.full.clone() }))
    }

    fn remove(&self, id: &PartitionId) -> BoxFuture<'_, Result<(), Refused>> {
        self.lane.remove(id)
    }

    fn fenced(&self) -> watch::Receiver<bool> {
        self.lane.fenced()
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<(), Refused>> {
        self.lane.checkpoint()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Refused>> {
        self.lane.close()
    }

    fn place(&self) -> String {
        self.lane.place()
    }
}

impl Log for FillableLog {
    fn append(&self, batches: Batches) -> Result<(), Refused> {
        if self.full.load(Ordering::Relaxed) {
            return Err(Refused::Full);
        }
        self.log.append(batches)
    }

    fn ends(&self) -> watch::Receiver<Ends> {
        self.log.ends()
    }

    fn read(&self, span: Span) -> BoxFuture<'_, Result<Slices, Refused>> {
        self.log.read(span)
    }

    fn find(&self, timestamp: Millis) -> BoxFuture<'_, Result<Option<Found>, Refused>> {
        self.log.find(timestamp)
    }

    fn newest(&self) -> BoxFuture<'_, Result<Option<Found>, Refused>> {
        self.log.newest()
    }

    fn trim(&self, start: Offset) -> BoxFuture<'_, Result<(), Refused>> {
        self.log.trim(start)
    }

    fn save(&self, snapshot: PartitionSnapshot) -> Result<(), Refused> {
        self.log.save(snapshot)
    }

    fn saved(&self) -> Result<Option<PartitionSnapshot>, Refused> {
        self.log.saved()
    }

    fn configure(&self, settings: LogSettings) {
        self.log.configure(settings);
    }

    fn size(&self) -> u64 {
        self.log.size()
    }
}
