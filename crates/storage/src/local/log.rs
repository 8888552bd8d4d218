//! The log of one partition: its segments, its offsets, and what of it waits for the flusher.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::watch;
use wire::batch::BatchHeader;

use super::Shared;
use super::cache::{Cached, Tail};
use super::disk::is_full;
use super::lane::LocalLane;
use super::reader;
use super::segment::{Append, Segment};
use super::snapshots;
use crate::log::{
    Batches, BoxFuture, Durability, Ends, Found, Log, LogSettings, Millis, Offset, OpenFile, PartitionId,
    PartitionSnapshot, Refused, Slices, Span,
};

/// A partition's log in a folder.
pub(super) struct LocalLog {
    pub(super) id: PartitionId,
    pub(super) path: PathBuf,
    pub(super) shared: Arc<Shared>,
    me: Weak<Self>,
    lane: Weak<LocalLane>,
    /// The journal is flushed whatever the setting is.
    always_flushed: bool,
    pub(super) state: Mutex<State>,
    ends: watch::Sender<Ends>,
}

pub(super) struct State {
    /// Ascending, never empty; the last takes the appends.
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) ends: Ends,
    /// Offset below which everything is flushed: the recovery point of the next checkpoint.
    pub(super) flushed: Offset,
    settings: LogSettings,
    tail: Tail,
    /// The flusher knows of the log.
    queued: bool,
    /// Segments with bytes that are not flushed, and the files through which they were written: an error of
    /// write-back is told to a file that was open then.
    unsynced: Vec<(Arc<Segment>, Arc<OpenFile>)>,
    /// Files whose names are not flushed.
    unsynced_names: bool,
    /// The folder itself is new, and so is `partition.metadata`.
    unsynced_folder: bool,
    /// The newest snapshot that was handed over, until it is written.
    pub(super) snapshot: Option<PartitionSnapshot>,
    refused: Option<Refused>,
    /// The lane is being closed: what is there is still flushed, nothing more is taken.
    closing: bool,
}

/// What recovery or creation gives.
pub(super) struct Beginning {
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) start: Offset,
    pub(super) end: Offset,
    pub(super) new_folder: bool,
}

/// What a flush has to do for one log.
pub(super) struct Pending {
    pub(super) files: Vec<(Arc<Segment>, Arc<OpenFile>)>,
    pub(super) names: bool,
    pub(super) folder: bool,
    pub(super) end: Offset,
}

impl LocalLog {
    pub(super) fn new(
        id: PartitionId,
        path: PathBuf,
        shared: Arc<Shared>,
        lane: Weak<LocalLane>,
        always_flushed: bool,
        beginning: Beginning,
    ) -> Arc<Self> {
        let Beginning { segments, start, end, new_folder } = beginning;
        let ends = Ends { start, durable: end, end, dead: false };
        let state = State {
            segments,
            ends,
            flushed: end,
            settings: shared.config.log,
            tail: Tail::default(),
            queued: false,
            unsynced: Vec::new(),
            unsynced_names: new_folder,
            unsynced_folder: new_folder,
            snapshot: None,
            refused: None,
            closing: false,
        };
        Arc::new_cyclic(|me| Self {
            id,
            path,
            shared,
            me: me.clone(),
            lane,
            always_flushed,
            state: Mutex::new(state),
            ends: watch::Sender::new(ends),
        })
    }

    pub(super) fn current(&self) -> Ends {
        *self.ends.borrow()
    }

    /// Gives up `weight` of the tail cache.
    pub(super) fn evict(&self, weight: u64) {
        self.state.lock().tail.evict(weight);
    }

    /// Refuses everything from now on.
    pub(super) fn finish(&self, why: Refused) {
        let mut state = self.state.lock();
        state.refused.get_or_insert(why);
        state.ends.dead = true;
        state.tail.clear();
        self.publish(&state);
    }

    /// Takes no more appends; what was appended still becomes durable.
    pub(super) fn close(&self) {
        self.state.lock().closing = true;
    }

    /// Hands the flusher what is not flushed.
    pub(super) fn take_pending(&self) -> Pending {
        let mut state = self.state.lock();
        state.queued = false;
        Pending {
            files: std::mem::take(&mut state.unsynced),
            names: std::mem::take(&mut state.unsynced_names),
            folder: std::mem::take(&mut state.unsynced_folder),
            end: state.ends.end,
        }
    }

    /// What was pending is on disk.
    pub(super) fn flushed(&self, end: Offset) {
        let mut state = self.state.lock();
        // Rule 3: a dead log's durable end is frozen.
        if state.refused.is_some() {
            return;
        }
        state.flushed = state.flushed.max(end);
        state.ends.durable = state.ends.durable.max(end);
        self.publish(&state);
    }

    /// Tells who waits. A change of `end` alone wakes nobody.
    fn publish(&self, state: &State) {
        self.ends.send_if_modified(|ends| {
            let old = std::mem::replace(ends, state.ends);
            (old.start, old.durable, old.dead) != (ends.start, ends.durable, ends.dead)
        });
    }

    fn durability(&self, state: &State) -> Durability {
        if self.always_flushed {
            return Durability::Fsync;
        }
        state.settings.durability.unwrap_or(self.shared.config.durability)
    }

    // Cost per append: a copy of 61 bytes per batch, one lock, one `pwritev`, no copy of records above 1 KiB.
    fn append_now(&self, batches: &Batches) -> Result<(), Refused> {
        let headers: Vec<BatchHeader> = batches.items.iter().map(|it| it.header).collect();
        let cached: Vec<Cached> = batches.items.iter().map(Cached::new).collect();
        let pieces: Vec<Bytes> = cached.iter().flat_map(|it| it.pieces().cloned()).collect();
        let (Some(first), Some(last)) = (headers.first(), headers.last()) else { return Ok(()) };
        let append = Append {
            headers: &headers,
            pieces: &pieces,
            size: batches.items.iter().map(|it| it.size() as u64).sum(),
            last_offset: last.last_offset(),
            now: now(),
        };
        let mut state = self.state.lock();
        if let Some(refused) = &state.refused {
            return Err(refused.clone());
        }
        if state.closing {
            return Err(Refused::Fenced);
        }
        assert_eq!(first.base_offset, state.ends.end, "a batch of {} begins where the log ends", self.id);
        self.write(&mut state, &append)?;
        state.ends.end = last.next_offset();
        let durability = self.durability(&state);
        if durability == Durability::PageCache {
            state.ends.durable = state.ends.end;
        }
        if !self.shared.cache.is_off() {
            let weight = state.tail.push(cached);
            self.shared.cache.count(self.me.clone(), weight);
        }
        self.publish(&state);
        let news = !std::mem::replace(&mut state.queued, true);
        drop(state);
        if let Some(lane) = self.lane.upgrade() {
            lane.flusher.wants(news.then(|| self.me.upgrade()).flatten(), durability == Durability::Fsync);
        }
        Ok(())
    }

    fn write(&self, state: &mut State, append: &Append<'_>) -> Result<(), Refused> {
        let limits = &self.shared.limits;
        let mut active = state.segments.last().cloned().ok_or(Refused::Gone)?;
        if active.is_due(append, &state.settings, limits)? {
            active = self.roll(state, append.now)?;
        }
        let disk = &self.shared.disk;
        let file = active.open(&limits.files).map_err(full_or_io)?;
        let size = active.size();
        if let Err(error) = disk.append(&active.path, &file, size, append.pieces) {
            tracing::warn!(partition = %self.id, %error, "append failed");
            disk.cut(&active.path, &file, size)?;
            return Err(if is_full(&error) { Refused::Full } else { error.into() });
        }
        active.grow(append.headers, state.settings.index_interval_bytes);
        if !state.unsynced.iter().any(|(_, it)| Arc::ptr_eq(it, &file)) {
            state.unsynced.push((active, file));
        }
        Ok(())
    }

    fn roll(&self, state: &mut State, now: Millis) -> Result<Arc<Segment>, Refused> {
        let made = Segment::create(&self.path, state.ends.end, now, &self.shared.disk);
        let made = made.inspect_err(|error| tracing::warn!(partition = %self.id, %error, "no new segment"));
        let segment = Arc::new(made.map_err(full_or_io)?);
        segment.admit_file(&self.shared.limits.files);
        state.unsynced_names = true;
        state.segments.push(segment.clone());
        Ok(segment)
    }

    /// Drops the segments that lie wholly below the start; the last one stays.
    pub(super) fn take_dead_segments(&self) -> Vec<Arc<Segment>> {
        let mut state = self.state.lock();
        let start = state.ends.start;
        let next = state.segments.iter().skip(1);
        let dead = next.take_while(|it| it.base <= start).count();
        state.segments.drain(..dead).collect()
    }

    fn kill_if_fatal(&self, refused: &Refused) {
        match refused {
            Refused::Io(_) => {
                self.finish(refused.clone());
                if let Some(lane) = self.lane.upgrade() {
                    lane.kill(refused);
                }
            }
            Refused::Corrupt(_) => self.take_offline(refused),
            Refused::Fenced | Refused::Full | Refused::Gone => {}
        }
    }

    /// A log that can't be read is left alone from the first time on: it is said once, and the files are not walked
    /// again for every reader.
    fn take_offline(&self, refused: &Refused) {
        let Refused::Corrupt(place) = refused else { return };
        if self.refusal().is_none() {
            tracing::error!(partition = %self.id, damage = %place, "partition is offline");
            self.finish(refused.clone());
        }
    }

    fn in_use(&self) -> Result<(Ends, Vec<Arc<Segment>>), Refused> {
        let state = self.state.lock();
        match Self::offline(&state) {
            Some(refused) => Err(refused),
            None => Ok((state.ends, state.segments.clone())),
        }
    }

    /// Why nothing of the log is read.
    fn offline(state: &State) -> Option<Refused> {
        state.refused.clone().filter(|it| matches!(it, Refused::Corrupt(_)))
    }

    fn lane(&self) -> Result<Arc<LocalLane>, Refused> {
        self.lane.upgrade().ok_or(Refused::Fenced)
    }

    fn refusal(&self) -> Option<Refused> {
        self.state.lock().refused.clone()
    }
}

impl Log for LocalLog {
    fn append(&self, batches: Batches) -> Result<(), Refused> {
        let appended = self.append_now(&batches).inspect_err(|it| self.kill_if_fatal(it));
        self.shared.cache.evict();
        appended
    }

    fn ends(&self) -> watch::Receiver<Ends> {
        self.ends.subscribe()
    }

    fn read(&self, span: Span) -> BoxFuture<'_, Result<Slices, Refused>> {
        Box::pin(async move {
            let (span, segments) = {
                let state = self.state.lock();
                if let Some(refused) = Self::offline(&state) {
                    return Err(refused);
                }
                if span.from < state.ends.start {
                    return Err(Refused::Gone);
                }
                let span = Span { to: span.to.min(state.ends.durable), ..span };
                if span.from >= span.to {
                    return Ok(Slices::default());
                }
                if let Some(slices) = state.tail.read(&span) {
                    return Ok(slices);
                }
                (span, reader::covering(&state.segments, span.from))
            };
            reader::read(&segments, &span, &self.shared.limits).inspect_err(|it| self.take_offline(it))
        })
    }

    fn find(&self, timestamp: Millis) -> BoxFuture<'_, Result<Option<Found>, Refused>> {
        Box::pin(async move {
            let (ends, segments) = self.in_use()?;
            let found = reader::find(&segments, &ends, timestamp, &self.shared.limits);
            found.inspect_err(|it| self.take_offline(it))
        })
    }

    fn newest(&self) -> BoxFuture<'_, Result<Option<Found>, Refused>> {
        Box::pin(async move {
            let (ends, segments) = self.in_use()?;
            let found = reader::newest(&segments, &ends, &self.shared.limits);
            found.inspect_err(|it| self.take_offline(it))
        })
    }

    fn trim(&self, start: Offset) -> BoxFuture<'_, Result<(), Refused>> {
        Box::pin(async move {
            if let Some(refused) = self.refusal() {
                return Err(refused);
            }
            {
                let mut state = self.state.lock();
                let ends = state.ends;
                state.ends.start = start.min(ends.durable).max(ends.start);
                self.publish(&state);
            }
            self.lane()?.keeper.starts().await
        })
    }

    fn save(&self, snapshot: PartitionSnapshot) -> Result<(), Refused> {
        let mut state = self.state.lock();
        if let Some(refused) = &state.refused {
            return Err(refused.clone());
        }
        state.snapshot = Some(snapshot);
        Ok(())
    }

    fn saved(&self) -> Result<Option<PartitionSnapshot>, Refused> {
        let (end, handed) = {
            let state = self.state.lock();
            (state.ends.end, state.snapshot.clone().filter(|it| it.offset <= state.ends.end))
        };
        match handed {
            Some(snapshot) => Ok(Some(snapshot)),
            None => Ok(snapshots::newest(&self.path, end)?),
        }
    }

    fn configure(&self, settings: LogSettings) {
        self.state.lock().settings = settings;
    }

    fn size(&self) -> u64 {
        self.state.lock().segments.iter().map(|it| it.size()).sum()
    }
}

pub(super) fn full_or_io(error: std::io::Error) -> Refused {
    if is_full(&error) { Refused::Full } else { error.into() }
}

pub(super) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
