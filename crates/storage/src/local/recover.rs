//! What is there after a stop: trusted after an orderly one, checked batch by batch after a crash.
//!
//! A torn tail (above the recovery point) is cut; damage below it takes the partition offline, since cutting
//! there would lose what was promised.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::UNIX_EPOCH;

use parking_lot::Mutex;

use super::Shared;
use super::dir::{
    LOG_STARTS, METADATA, Offsets, RECOVERY_POINTS, REMOVED, STRAY, parse_folder, parse_metadata,
    parse_offsets, parse_segment_file, read_if_there, segment_file,
};
use super::disk::Disk;
use super::index::Index;
use super::log::{Beginning, now};
use super::segment::Segment;
use super::walk::{Broken, Walk, check_crc};
use crate::log::{Epoch, Millis, Offset, OpenFile, PartitionId, Place};

/// A partition that was found.
pub(super) enum Survivor {
    Log { id: PartitionId, beginning: Beginning, cut_bytes: u64 },
    Damaged { id: PartitionId, place: Place },
}

/// What is known of a directory before its partitions are looked at.
pub(super) struct Before {
    pub(super) clean: bool,
    /// Epoch of the last start: no batch has a higher one.
    pub(super) epoch: Option<Epoch>,
}

/// Recovers all partitions of a directory. After a crash everything that is kept is flushed.
pub(super) fn recover(dir: &Path, before: &Before, shared: &Shared) -> io::Result<Vec<Survivor>> {
    let points = offsets(&dir.join(RECOVERY_POINTS))?;
    let starts = offsets(&dir.join(LOG_STARTS))?;
    let folders = folders(dir, &shared.disk)?;
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(folders.len()));
    let work = || -> io::Result<()> {
        while let Some(folder) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
            let job = Job {
                path: dir.join(folder),
                point: points.get(folder).copied(),
                start: starts.get(folder).copied().unwrap_or(0),
                before,
                disk: &shared.disk,
            };
            found.lock().extend(job.run()?);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let helpers = shared.config.recovery_threads.min(folders.len()).saturating_sub(1);
        let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
        let mine = work();
        let theirs =
            helpers.into_iter().map(|it| it.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())));
        theirs.fold(mine, Result::and)
    })?;
    if !before.clean {
        // What was found may be in the page cache only, and from now on it counts as durable.
        shared.disk.sync_all(dir, &fs::File::open(dir)?)?;
    }
    Ok(found.into_inner())
}

fn offsets(path: &Path) -> io::Result<Offsets> {
    let text = read_if_there(path)?;
    Ok(text.and_then(|it| parse_offsets(&it)).unwrap_or_default())
}

/// Folders of partitions. Those of removed partitions go now.
fn folders(dir: &Path, disk: &Disk) -> io::Result<Vec<String>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.ends_with(REMOVED) && entry.file_type()?.is_dir() {
            disk.remove_dir(&entry.path())?;
        } else if parse_folder(&name).is_some() && entry.file_type()?.is_dir() {
            out.push(name);
        }
    }
    out.sort_unstable();
    Ok(out)
}

/// A file of batches as it lies there.
#[derive(Clone, Copy)]
struct LogFile {
    base: Offset,
    size: u64,
    created: Millis,
}

/// The recovery of one partition.
struct Job<'a> {
    path: PathBuf,
    /// Below this offset everything was flushed.
    point: Option<Offset>,
    start: Offset,
    before: &'a Before,
    disk: &'a Disk,
}

/// What a scan found.
struct Scanned {
    files: Vec<LogFile>,
    end: Offset,
    cut_bytes: u64,
}

impl Job<'_> {
    fn run(&self) -> io::Result<Option<Survivor>> {
        let files = self.files()?;
        let Some(id) = self.id()? else {
            self.set_aside(&files)?;
            return Ok(None);
        };
        let empty = files.iter().all(|it| it.size == 0) && files.len() == 1;
        let scanned = match self.point {
            Some(end) if self.before.clean => Ok(Scanned { files, end, cut_bytes: 0 }),
            Some(_) | None if empty && self.point.unwrap_or(0) <= files.first().map_or(0, |it| it.base) => {
                let end = files.first().map_or(0, |it| it.base);
                Ok(Scanned { files, end, cut_bytes: 0 })
            }
            Some(_) | None => self.scan(files)?,
        };
        match scanned {
            Ok(scanned) => self.begin(id, scanned).map(Some),
            Err(place) => {
                tracing::error!(partition = %id, damage = %place, "partition is offline");
                Ok(Some(Survivor::Damaged { id, place }))
            }
        }
    }

    fn id(&self) -> io::Result<Option<PartitionId>> {
        let name = self.path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        let Some((topic, index)) = parse_folder(name) else { return Ok(None) };
        let topic_id = read_if_there(&self.path.join(METADATA))?.and_then(|it| parse_metadata(&it));
        Ok(topic_id.map(|topic_id| PartitionId { topic_id, topic: topic.into(), index }))
    }

    /// A folder without a topic id: of a partition that was being made, or none of ours.
    fn set_aside(&self, files: &[LogFile]) -> io::Result<()> {
        if files.iter().all(|it| it.size == 0) {
            return self.disk.remove_dir(&self.path);
        }
        let mut name = self.path.as_os_str().to_owned();
        name.push(STRAY);
        tracing::warn!(folder = %self.path.display(), "folder without a topic id is set aside");
        self.disk.rename(&self.path, Path::new(&name))
    }

    /// The files of batches, ascending. What a crash left half done goes.
    fn files(&self) -> io::Result<Vec<LogFile>> {
        let mut out = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if [".deleted", ".cleaned", ".tmp"].iter().any(|it| name.ends_with(it)) {
                self.disk.remove(&entry.path())?;
            } else if let Some(base) = parse_segment_file(&name, "log") {
                let meta = entry.metadata()?;
                let created = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
                let created = i64::try_from(created.as_millis()).unwrap_or(i64::MAX);
                out.push(LogFile { base, size: meta.len(), created });
            }
        }
        out.sort_unstable_by_key(|it| it.base);
        Ok(out)
    }

    /// Checks everything from the recovery point on, and cuts at the first batch that can't be right.
    fn scan(&self, mut files: Vec<LogFile>) -> io::Result<Result<Scanned, Place>> {
        let point = self.point.unwrap_or(0);
        let missing = |offset| Place {
            file: self.path.clone(),
            position: 0,
            offset,
            what: format!("the log ends here, but was flushed up to {point}"),
        };
        let first = files.partition_point(|it| it.base <= point).saturating_sub(1);
        let Some(base) = files.get(first).map(|it| it.base) else {
            return Ok(if point > 0 { Err(missing(0)) } else { Ok(Scanned { files, end: 0, cut_bytes: 0 }) });
        };
        let mut at =
            Scan { expected: base, point, epoch: -1, epoch_max: self.before.epoch, scratch: Vec::new() };
        let mut keep = first;
        let mut cut_bytes = 0;
        while let Some(file) = files.get(keep).copied() {
            if file.base != at.expected && keep > first {
                break;
            }
            keep = keep.saturating_add(1);
            let (whole, broken) = self.scan_file(&mut at, file, keep - 1 == first)?;
            let Some(what) = broken else { continue };
            if at.expected < point {
                let file = self.path.join(segment_file(file.base, "log"));
                return Ok(Err(Place { file, position: whole, offset: at.expected, what }));
            }
            cut_bytes += self.cut(file, whole, &what)?;
            if let Some(file) = files.get_mut(keep - 1) {
                file.size = whole;
            }
            break;
        }
        if at.expected < point {
            return Ok(Err(missing(at.expected)));
        }
        for file in files.drain(keep..) {
            cut_bytes += file.size;
            self.remove(file)?;
        }
        Ok(Ok(Scanned { files, end: at.expected, cut_bytes }))
    }

    /// Walks a file. Gives the bytes that are right, and what is wrong with the next.
    fn scan_file(&self, at: &mut Scan, file: LogFile, first: bool) -> io::Result<(u64, Option<String>)> {
        let path = self.path.join(segment_file(file.base, "log"));
        let open = Arc::new(OpenFile(OpenOptions::new().read(true).open(&path)?));
        let known = if first { self.known_position(file, at.point) } else { 0 };
        let mut walk = Walk::new(open, known, file.size);
        if known > 0 {
            at.resume();
        }
        loop {
            let whole = walk.position;
            match at.step(&mut walk) {
                Ok(true) => {}
                Ok(false) => return Ok((whole, None)),
                // An index entry that leads nowhere: begin at the beginning.
                Err(_) if known > 0 && whole == known && at.is_unsure() => {
                    at.restart(file.base);
                    walk = Walk::new(walk.file.clone(), 0, file.size);
                }
                Err(Broken::Bytes(what)) => return Ok((whole, Some(what))),
                Err(Broken::Io(error)) => return Err(error),
            }
        }
    }

    /// A place in the file where a batch below the recovery point begins.
    fn known_position(&self, file: LogFile, point: Offset) -> u64 {
        let path = self.path.join(segment_file(file.base, "log"));
        let Ok(offsets) = fs::read(path.with_extension("index")) else { return 0 };
        let index = Index::decode(file.base, &offsets, &[], point, file.size);
        index.map_or(0, |it| it.last_position())
    }

    fn cut(&self, file: LogFile, whole: u64, what: &str) -> io::Result<u64> {
        let path = self.path.join(segment_file(file.base, "log"));
        let bytes = file.size.saturating_sub(whole);
        tracing::warn!(file = %path.display(), position = whole, bytes, what, "torn tail is cut");
        let open = OpenOptions::new().write(true).open(&path)?;
        self.disk.cut(&path, &open, whole)?;
        Ok(bytes)
    }

    fn remove(&self, file: LogFile) -> io::Result<()> {
        Segment::found(&self.path, file.base, file.size, 0, 0).remove(self.disk)
    }

    fn begin(&self, id: PartitionId, scanned: Scanned) -> io::Result<Survivor> {
        let Scanned { mut files, mut end, cut_bytes } = scanned;
        let start = self.start.max(files.first().map_or(0, |it| it.base));
        if start > end {
            // Only the start survived: the log goes on where it said that it begins.
            tracing::warn!(partition = %id, start, end, "log ends below its start and begins anew there");
            files.drain(..).try_for_each(|it| self.remove(it))?;
            end = start;
        }
        let trusted = if self.before.clean { Offset::MAX } else { self.point.unwrap_or(0) };
        let found =
            |it: &LogFile| Arc::new(Segment::found(&self.path, it.base, it.size, it.created, trusted));
        let mut segments: Vec<_> = files.iter().map(found).collect();
        if segments.is_empty() {
            segments.push(Arc::new(Segment::create(&self.path, end, now(), self.disk)?));
        }
        let beginning = Beginning { segments, start, end, new_folder: false };
        Ok(Survivor::Log { id, beginning, cut_bytes })
    }
}

/// What a scan has to find next.
struct Scan {
    expected: Offset,
    point: Offset,
    /// Epoch of the last batch; it never falls.
    epoch: Epoch,
    epoch_max: Option<Epoch>,
    scratch: Vec<u8>,
}

impl Scan {
    /// The next batch of a file: false at the end.
    fn step(&mut self, walk: &mut Walk) -> Result<bool, Broken> {
        let Some((at, header)) = walk.next()? else { return Ok(false) };
        let wrong = |what: String| Err(Broken::Bytes(what));
        let durable = header.next_offset() <= self.point;
        // Compaction leaves gaps, but only in what was flushed long ago.
        let fits = header.base_offset == self.expected || (durable && header.base_offset > self.expected);
        if !fits && !self.is_unsure() {
            return wrong(format!("batch at offset {} instead of {}", header.base_offset, self.expected));
        }
        if header.partition_leader_epoch < self.epoch
            || self.epoch_max.is_some_and(|max| header.partition_leader_epoch > max)
        {
            return wrong(format!("leader epoch {} after {}", header.partition_leader_epoch, self.epoch));
        }
        if !durable {
            check_crc(&walk.file, at, &header, &mut self.scratch)?;
        }
        self.expected = header.next_offset();
        self.epoch = header.partition_leader_epoch;
        Ok(true)
    }

    /// The walk begins in the middle of a file: any offset will do for the first batch.
    fn resume(&mut self) {
        self.expected = Offset::MIN;
    }

    fn is_unsure(&self) -> bool {
        self.expected == Offset::MIN
    }

    fn restart(&mut self, base: Offset) {
        self.expected = base;
        self.epoch = -1;
    }
}
