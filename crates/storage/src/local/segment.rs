//! One file of batches, and its indexes.

use std::collections::VecDeque;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use wire::batch::BatchHeader;

use super::dir::segment_file;
use super::disk::Disk;
use super::index::{Index, Largest};
use super::log::full_or_io;
use super::walk::Walk;
use crate::log::{LogSettings, Millis, Offset, OpenFile, Refused};

/// A segment: batches from `base` on.
pub(super) struct Segment {
    pub(super) base: Offset,
    pub(super) path: PathBuf,
    /// Entry interval for an index that has to be made anew.
    interval: u32,
    inner: Mutex<Inner>,
}

/// What changes, or is loaded when first needed.
struct Inner {
    /// Bytes of whole batches; the file has no others, but for an append that is going on.
    size: u64,
    created: Millis,
    /// Offsets from here on were not flushed before the last crash: index entries for them are not trusted.
    trusted: Offset,
    file: Option<Arc<OpenFile>>,
    index: Option<Index>,
    /// Stays when the index is given up.
    largest: Option<Largest>,
}

impl Segment {
    /// A new file.
    pub(super) fn create(dir: &Path, base: Offset, now: Millis, disk: &Disk) -> io::Result<Self> {
        let path = dir.join(segment_file(base, "log"));
        let file = disk.create(&path)?;
        let inner = Inner {
            size: 0,
            created: now,
            trusted: Offset::MAX,
            file: Some(Arc::new(OpenFile(file))),
            index: Some(Index::new(base)),
            largest: None,
        };
        Ok(Self {
            base,
            path,
            interval: LogSettings::default().index_interval_bytes,
            inner: Mutex::new(inner),
        })
    }

    /// A file that is there, opened when first needed.
    pub(super) fn found(dir: &Path, base: Offset, size: u64, created: Millis, trusted: Offset) -> Self {
        let inner = Inner { size, created, trusted, file: None, index: None, largest: None };
        let path = dir.join(segment_file(base, "log"));
        Self { base, path, interval: LogSettings::default().index_interval_bytes, inner: Mutex::new(inner) }
    }

    pub(super) fn size(&self) -> u64 {
        self.inner.lock().size
    }

    /// The open file; `files` bounds how many are.
    pub(super) fn open(self: &Arc<Self>, files: &Residents) -> io::Result<Arc<OpenFile>> {
        let mut inner = self.inner.lock();
        if let Some(file) = &inner.file {
            return Ok(file.clone());
        }
        let file = Arc::new(OpenFile(OpenOptions::new().read(true).write(true).open(&self.path)?));
        inner.file = Some(file.clone());
        drop(inner);
        self.admit_file(files);
        Ok(file)
    }

    /// Counts an open file, and closes the one that was opened first if there are too many. Whoever still reads
    /// or flushes that one holds it.
    pub(super) fn admit_file(self: &Arc<Self>, files: &Residents) {
        for old in files.admit(self, 1) {
            if !Arc::ptr_eq(&old, self) {
                old.inner.lock().file = None;
            }
        }
    }

    /// Runs `f` on the index, which is loaded first if need be.
    pub(super) fn with_index<T>(
        self: &Arc<Self>,
        limits: &Limits,
        f: impl FnOnce(&mut Index) -> T,
    ) -> Result<T, Refused> {
        let file = self.open(&limits.files).map_err(full_or_io)?;
        let mut inner = self.inner.lock();
        if let Some(index) = &mut inner.index {
            return Ok(f(index));
        }
        let mut index = self.load(&file, &inner)?;
        let out = f(&mut index);
        inner.largest = index.largest;
        // An empty index takes room too.
        let bytes = index.bytes().saturating_add(64);
        inner.index = Some(index);
        drop(inner);
        for old in limits.indexes.admit(self, bytes) {
            if !Arc::ptr_eq(&old, self) {
                old.give_up_index();
            }
        }
        Ok(out)
    }

    /// Drops an index that can be read back.
    fn give_up_index(&self) {
        let mut inner = self.inner.lock();
        if inner.index.as_ref().is_some_and(|it| !it.unwritten) {
            inner.largest = inner.index.as_ref().and_then(|it| it.largest);
            inner.index = None;
        }
    }

    /// The largest timestamp; loads the index only if it is not known.
    pub(super) fn largest(self: &Arc<Self>, limits: &Limits) -> Result<Option<Largest>, Refused> {
        {
            let inner = self.inner.lock();
            if inner.index.is_none() && inner.largest.is_some() {
                return Ok(inner.largest);
            }
        }
        self.with_index(limits, |index| index.largest)
    }

    /// Reads the index files and walks on from their last entry, or from the beginning if they can't be right.
    fn load(&self, file: &Arc<OpenFile>, inner: &Inner) -> Result<Index, Refused> {
        let read = |extension| fs::read(self.path.with_extension(extension)).unwrap_or_default();
        let (offsets, times) = (read("index"), read("timeindex"));
        let index = Index::decode(self.base, &offsets, &times, inner.trusted, inner.size);
        let kept = index.and_then(|index| self.resume(index, file, inner.size).ok());
        match kept {
            Some(index) => Ok(index),
            None => {
                let made = self.resume(Index::new(self.base), file, inner.size)?;
                tracing::warn!(segment = %self.path.display(), "index was not usable and is made anew");
                Ok(made)
            }
        }
    }

    fn resume(&self, mut index: Index, file: &Arc<OpenFile>, size: u64) -> Result<Index, Refused> {
        let broken = |it: super::walk::Broken, at| it.refused(&self.path, at, self.base);
        let mut first = Walk::new(file.clone(), 0, size);
        let Some((_, head)) = first.next().map_err(|it| broken(it, 0))? else { return Ok(index) };
        let mut walk = Walk::new(file.clone(), index.last_position(), size);
        let at = walk.position;
        let Some((_, header)) = walk.next().map_err(|it| broken(it, at))? else { return Ok(index) };
        let written = index.clone();
        index.resume(&header, head.base_timestamp);
        loop {
            let at = walk.position;
            let Some((position, header)) = walk.next().map_err(|it| broken(it, at))? else { break };
            index.note(&header, position, self.interval);
        }
        // Batches after the last entry change nothing that would have to be written.
        index.unwritten = !written.same_entries(&index);
        Ok(index)
    }

    /// Takes note of batches that were appended at the end.
    pub(super) fn grow(&self, headers: &[BatchHeader], interval: u32) {
        let mut inner = self.inner.lock();
        for header in headers {
            let position = inner.size;
            match &mut inner.index {
                Some(index) => index.note(header, position, interval),
                None => inner.largest = None,
            }
            inner.size = inner.size.saturating_add(header.size() as u64);
        }
    }

    /// Whether an append has to begin a new segment first (`broker-core` 14.2).
    pub(super) fn is_due(
        self: &Arc<Self>,
        append: &Append<'_>,
        settings: &LogSettings,
        limits: &Limits,
    ) -> Result<bool, Refused> {
        let size = self.size();
        if size == 0 {
            return Ok(false);
        }
        let bytes_max = u64::from(settings.segment_bytes.min(i32::MAX.unsigned_abs()));
        if size.saturating_add(append.size) > bytes_max
            || append.last_offset.saturating_sub(self.base) > i64::from(i32::MAX)
        {
            return Ok(true);
        }
        let (full, first) =
            self.with_index(limits, |it| (it.is_full(settings.segment_index_bytes), it.first_timestamp))?;
        let created = self.inner.lock().created;
        let newest = append.headers.iter().map(|it| it.max_timestamp).max().unwrap_or(-1);
        let age = match first.filter(|it| *it >= 0 && newest >= 0) {
            Some(first) => newest.saturating_sub(first),
            None => append.now.saturating_sub(created),
        };
        // Spreads the rolls of many partitions; any number that differs between segments will do.
        let jitter = match settings.segment_jitter_ms {
            0 => 0,
            jitter => created.wrapping_add(self.base).rem_euclid(jitter),
        };
        Ok(full || age > settings.segment_ms.saturating_sub(jitter))
    }

    /// Contents of both index files, if they lack something.
    pub(super) fn unwritten_index(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut inner = self.inner.lock();
        let index = inner.index.as_mut().filter(|it| it.unwritten)?;
        index.unwritten = false;
        let files = index.encode();
        inner.trusted = Offset::MAX;
        Some(files)
    }

    /// Removes all files of the segment. Who reads it goes on.
    pub(super) fn remove(&self, disk: &Disk) -> io::Result<()> {
        for extension in ["log", "index", "timeindex", "txnindex"] {
            disk.remove(&self.path.with_extension(extension))?;
        }
        Ok(())
    }
}

/// What is about to be appended.
pub(super) struct Append<'a> {
    pub(super) headers: &'a [BatchHeader],
    pub(super) pieces: &'a [Bytes],
    pub(super) size: u64,
    pub(super) last_offset: Offset,
    pub(super) now: Millis,
}

/// Bounds of what is kept open or loaded, over all directories.
pub(super) struct Limits {
    pub(super) files: Residents,
    pub(super) indexes: Residents,
}

/// Segments that hold something of which there is a bounded amount. At the bound, who came first gives up; he
/// may take again.
pub(super) struct Residents {
    max: u64,
    state: Mutex<Admitted>,
}

/// Who holds how much, first come first.
#[derive(Default)]
struct Admitted {
    total: u64,
    holders: VecDeque<(Weak<Segment>, u64)>,
}

impl Residents {
    pub(super) fn new(max: u64) -> Self {
        Self { max, state: Mutex::default() }
    }

    /// Counts `amount` for a segment, and names those that must give up what they hold.
    fn admit(&self, segment: &Arc<Segment>, amount: u64) -> Vec<Arc<Segment>> {
        let mut state = self.state.lock();
        state.total = state.total.saturating_add(amount);
        state.holders.push_back((Arc::downgrade(segment), amount));
        let mut out = Vec::new();
        while state.total > self.max {
            let Some((old, amount)) = state.holders.pop_front() else { break };
            state.total = state.total.saturating_sub(amount);
            out.extend(old.upgrade());
        }
        out
    }
}
