//! A lane and its logs over any other, that refuse appends when a function says so.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use crate::log::{
    Batches, BoxFuture, Ends, Found, Lane, Log, LogSettings, Millis, Offset, PartitionId, PartitionSnapshot,
    Recovered, Refused, Slices, Span,
};

/// Asked at each append: `Some` refuses it, and the log below does not see it.
pub type Why = Arc<dyn Fn() -> Option<Refused> + Send + Sync>;

/// A lane whose logs are [`RefusingLog`]s.
pub struct RefusingLane {
    lane: Arc<dyn Lane>,
    why: Why,
}

impl RefusingLane {
    /// Over `lane`; all its logs ask `why`.
    #[must_use]
    pub fn new(lane: Arc<dyn Lane>, why: Why) -> Self {
        Self { lane, why }
    }
}

impl fmt::Debug for RefusingLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefusingLane").finish_non_exhaustive()
    }
}

/// A log that refuses what it is told to refuse.
pub struct RefusingLog {
    log: Arc<dyn Log>,
    why: Why,
}

impl RefusingLog {
    /// Over `log`.
    #[must_use]
    pub fn new(log: Arc<dyn Log>, why: Why) -> Self {
        Self { log, why }
    }
}

impl fmt::Debug for RefusingLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefusingLog").finish_non_exhaustive()
    }
}

impl Lane for RefusingLane {
    fn partitions(&self) -> Vec<Recovered> {
        self.lane.partitions()
    }

    fn log(&self, id: &PartitionId) -> Result<Arc<dyn Log>, Refused> {
        let log = self.lane.log(id)?;
        Ok(Arc::new(RefusingLog::new(log, self.why.clone())))
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

impl Log for RefusingLog {
    fn append(&self, batches: Batches) -> Result<(), Refused> {
        (self.why)().map_or_else(|| self.log.append(batches), Err)
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
