//! What is there after a stop: looked at by its ends after an orderly one, checked batch by batch after a crash.
//!
//! A torn tail (above the recovery point) is cut; damage below it takes the partition offline, since cutting
//! there would lose what was promised. So does damage above it that no crash of the process alone leaves.

use std::collections::BTreeSet;
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
    LOG_STARTS, METADATA, OWN_LOG_STARTS, OWN_RECOVERY_POINTS, Offsets, RECOVERY_POINTS, folder,
    is_removed_folder, own_offsets_text, parse_folder, parse_metadata, parse_offsets, parse_own_offsets,
    parse_segment_file, read_if_there, segment_file,
};
use super::disk::{Disk, is_full};
use super::index::Index;
use super::lane::JOURNAL_ID;
use super::log::{Beginning, now};
use super::segment::Segment;
use super::torn::{Tail, is_torn};
use super::verify::{self, LogFile};
use super::walk::{Broken, Walk, check_crc};
use crate::log::{Epoch, Offset, OpenFile, PartitionId, Place};

/// A partition that was found.
pub(super) enum Survivor {
    Log { id: PartitionId, beginning: Beginning, cut_bytes: u64 },
    Damaged { id: PartitionId, damaged: Damaged },
}

/// What is known of a partition that stays offline. It is kept in the checkpoints, so that the next start does not
/// take the partition for a new one.
#[derive(Clone)]
pub(super) struct Damaged {
    pub(super) place: Place,
    pub(super) point: Option<Offset>,
    pub(super) start: Option<Offset>,
}

/// What is known of a directory before its partitions are looked at.
pub(super) struct Before {
    pub(super) clean: bool,
    /// Epoch of the last start: no batch has a higher one.
    pub(super) epoch: Option<Epoch>,
    /// The machine has run on since: what was written is there, flushed or not.
    pub(super) same_boot: bool,
}

/// Recovers all partitions of a directory. After a crash everything that is kept is flushed.
pub(super) fn recover(dir: &Path, before: &Before, shared: &Shared) -> io::Result<Vec<Survivor>> {
    let folders = folders(dir, &shared.disk)?;
    let points = offsets(dir, OWN_RECOVERY_POINTS, RECOVERY_POINTS, &folders, &shared.disk)?;
    let starts = offsets(dir, OWN_LOG_STARTS, LOG_STARTS, &folders, &shared.disk)?;
    if before.clean && points.is_none() {
        tracing::warn!(dir = %dir.display(), "{OWN_RECOVERY_POINTS} is missing: every record is checked");
    }
    let points = points.unwrap_or_default();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(missing(dir, &folders, &points, starts.as_ref()));
    let work = || -> io::Result<()> {
        while let Some(id) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
            let job = Job {
                path: dir.join(folder(id)),
                id,
                point: points.get(id).copied(),
                start: starts.as_ref().map(|it| it.get(id).copied().unwrap_or(0)),
                before,
                disk: &shared.disk,
            };
            let survivor = job.recovered()?;
            found.lock().push(survivor);
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

/// Partitions that had records and of which no folder is left. Those that were removed since the checkpoint are
/// among them: nobody asks for them, but whoever has their folder now took their place.
fn missing(dir: &Path, there: &[PartitionId], points: &Offsets, starts: Option<&Offsets>) -> Vec<Survivor> {
    let known: BTreeSet<&PartitionId> = there.iter().collect();
    let taken: BTreeSet<String> = there.iter().map(folder).collect();
    let lost = points.iter().filter(|(id, point)| {
        **point > 0 && id.topic_id != JOURNAL_ID && !known.contains(id) && !taken.contains(&folder(id))
    });
    let survivor = |(id, point): (&PartitionId, &Offset)| {
        let file = dir.join(folder(id));
        let lack = if file.is_dir() { "partition.metadata" } else { "folder" };
        let what = format!("the {lack} is missing, but records up to {point} were flushed");
        let start = starts.and_then(|it| it.get(id).copied());
        let place = Place { file, position: 0, offset: start.unwrap_or(0), what };
        Survivor::Damaged { id: id.clone(), damaged: Damaged { place, point: Some(*point), start } }
    };
    lost.map(survivor).collect()
}

/// What a checkpoint has of the partitions: one that was deleted and made again has another id. None if there is no
/// checkpoint, or no whole one.
fn offsets(
    dir: &Path,
    own: &str,
    kafkas: &str,
    found: &[PartitionId],
    disk: &Disk,
) -> io::Result<Option<Offsets>> {
    let path = dir.join(own);
    if let Some(text) = read_if_there(&path)? {
        let offsets = parse_own_offsets(&text);
        if offsets.is_none() {
            tracing::warn!(file = %path.display(), "the file is damaged and counts for nothing");
        }
        return Ok(offsets);
    }
    // Written before there was a file of our own. It is made now, since from here on topics may be deleted.
    let Some(text) = read_if_there(&dir.join(kafkas))? else { return Ok(None) };
    let by_folder = parse_offsets(&text).unwrap_or_default();
    let offset_of = |id: &PartitionId| Some((id.clone(), *by_folder.get(&folder(id))?));
    let offsets: Offsets = found.iter().filter_map(offset_of).collect();
    disk.replace(&path, own_offsets_text(&offsets).as_bytes())?;
    disk.sync_path(dir)?;
    Ok(Some(offsets))
}

/// The partitions that have a folder. Folders of removed ones go now. One without a topic id is a partition that was
/// being made, which the next attempt takes up, or is somebody else's: neither is touched.
fn folders(dir: &Path, disk: &Disk) -> io::Result<Vec<PartitionId>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_removed_folder(&name) && entry.file_type()?.is_dir() {
            disk.remove_dir(&entry.path())?;
        } else if let Some((topic, index)) = parse_folder(&name)
            && entry.file_type()?.is_dir()
            && let Some(text) = read_if_there(&entry.path().join(METADATA))?
        {
            let made = parse_metadata(&text);
            out.extend(made.map(|topic_id| PartitionId { topic_id, topic: topic.into(), index }));
        }
    }
    out.sort_unstable();
    Ok(out)
}

/// The recovery of one partition.
struct Job<'a> {
    path: PathBuf,
    id: &'a PartitionId,
    /// Below this offset everything was flushed.
    point: Option<Offset>,
    /// Where the log begins; none if nothing says so.
    start: Option<Offset>,
    before: &'a Before,
    disk: &'a Disk,
}

/// A place in a file where no batch stands that can be right.
struct Bad {
    position: u64,
    what: String,
}

/// What a scan found.
struct Scanned {
    files: Vec<LogFile>,
    end: Offset,
    cut_bytes: u64,
}

impl Job<'_> {
    /// A file that the device does not give takes its partition offline, and no other.
    fn recovered(&self) -> io::Result<Survivor> {
        match self.run() {
            Err(error) if !self.is_journal() && !is_full(&error) => {
                let (point, start) = (self.point, self.start);
                let what = format!("its files can't be read or mended: {error}");
                let place = Place { file: self.path.clone(), position: 0, offset: start.unwrap_or(0), what };
                Ok(Survivor::Damaged { id: self.id.clone(), damaged: Damaged { place, point, start } })
            }
            done @ (Ok(_) | Err(_)) => done,
        }
    }

    fn run(&self) -> io::Result<Survivor> {
        let id = self.id.clone();
        let mut files = self.files()?;
        let damage = self.beginning_is_missing(&files);
        // A crash may leave any of the files below the start. They go with the next checkpoint.
        let start = self.start.unwrap_or(0);
        let dead: Vec<_> =
            files.drain(..files.partition_point(|it| it.base <= start).saturating_sub(1)).collect();
        let scanned = match damage {
            Some(place) => Err(place),
            None => self.look(files)?,
        };
        let scanned = scanned.map(|it| Scanned { files: [dead, it.files].concat(), ..it });
        let damage = match scanned {
            Ok(scanned) => match self.start.filter(|start| self.must_reach(*start, scanned.end)) {
                Some(start) => {
                    let what = format!("the log ends here, but begins at {start}");
                    Place { file: self.path.clone(), position: 0, offset: scanned.end, what }
                }
                None => return self.begin(id, scanned),
            },
            Err(place) => place,
        };
        let damaged = Damaged { place: damage, point: self.point, start: self.start };
        Ok(Survivor::Damaged { id, damaged })
    }

    fn look(&self, files: Vec<LogFile>) -> io::Result<Result<Scanned, Place>> {
        let empty = files.iter().all(|it| it.size == 0) && files.len() == 1;
        match self.point {
            Some(end) if self.before.clean && !self.is_journal() => self.trust(files, end),
            Some(_) | None if empty && self.point.unwrap_or(0) <= files.first().map_or(0, |it| it.base) => {
                let end = files.first().map_or(0, |it| it.base);
                Ok(Ok(Scanned { files, end, cut_bytes: 0 }))
            }
            Some(_) | None => self.scan(files),
        }
    }

    /// The start is written before anything below it goes, so that a log which begins above it has lost a file.
    fn beginning_is_missing(&self, files: &[LogFile]) -> Option<Place> {
        let base = files.first()?.base;
        let start = self.start.filter(|start| *start < base && !self.is_journal())?;
        let what = format!("the first file begins at {base}, but the log at {start}: a file is missing");
        Some(Place { file: self.path.clone(), position: 0, offset: start, what })
    }

    /// Whether an end below the start is damage: of the journal, and after an orderly stop.
    fn must_reach(&self, start: Offset, end: Offset) -> bool {
        start > end && (self.before.clean || self.is_journal())
    }

    /// After an orderly stop the files must reach what the checkpoint says; records are not read.
    fn trust(&self, mut files: Vec<LogFile>, end: Offset) -> io::Result<Result<Scanned, Place>> {
        let start = self.start.or_else(|| files.first().map(|it| it.base)).unwrap_or(0);
        let whole = match verify::closed(&self.path, &files, start, end)? {
            Ok(whole) => whole,
            Err(place) => return Ok(Err(place)),
        };
        let mut cut_bytes = 0;
        if let Some(last) = files.last_mut().filter(|it| it.size > whole) {
            cut_bytes = last.size.saturating_sub(whole);
            let path = self.path.join(segment_file(last.base, "log"));
            tracing::warn!(
                file = %path.display(), position = whole, bytes = cut_bytes, end,
                "bytes after the end of the log are cut: they are no records, and came after the orderly stop"
            );
            self.disk.cut(&path, &OpenOptions::new().write(true).open(&path)?, whole)?;
            last.size = whole;
        }
        Ok(Ok(Scanned { files, end, cut_bytes }))
    }

    /// The journal is flushed before every answer, and all else hangs on it: it is always checked from its first
    /// byte, and only a last write that was cut short is cut.
    fn is_journal(&self) -> bool {
        self.id.topic_id == JOURNAL_ID
    }

    /// What to do with a bad place: none if it may be cut, since all that was flushed is kept.
    fn judge(&self, file: LogFile, later: &[LogFile], bad: &Bad, at: &Scan) -> io::Result<Option<Place>> {
        let path = self.path.join(segment_file(file.base, "log"));
        let damage =
            |what| Some(Place { file: path.clone(), position: bad.position, offset: at.expected, what });
        if at.expected < self.point.unwrap_or(0) {
            return Ok(damage(bad.what.clone()));
        }
        if self.is_journal() {
            let torn = later.is_empty() && is_torn(&path, bad.position, at.expected)?;
            return Ok(if torn { None } else { damage(bad.what.clone()) });
        }
        let tail = Tail::of(&path, bad.position, at.expected, at.epoch_max, later)?;
        // The machine ran on: a write that a crash of the process cut short is the last one, and lacks bytes.
        let ran_on = self.before.same_boot || self.before.clean;
        if ran_on && let Some(what) = tail.damage() {
            return Ok(damage(format!("{}; {what}, so that this is damage and no torn write", bad.what)));
        }
        let bytes = file.size.saturating_sub(bad.position);
        let bytes = bytes.saturating_add(later.iter().map(|it| it.size).sum());
        let (file, position, what) = (path.display(), bad.position, &bad.what);
        match tail {
            Tail::Followed { end } => tracing::warn!(
                %file, position, bytes, what, from = at.expected, to = end.saturating_sub(1),
                "a bad batch is cut with the records after it: acknowledged ones may be gone"
            ),
            Tail::Short if ran_on => tracing::warn!(%file, position, bytes, what, "torn tail is cut"),
            Tail::Short | Tail::Whole { .. } | Tail::Unclear => tracing::warn!(
                %file, position, bytes, what, from = at.expected,
                "torn tail is cut: acknowledged records may be gone if it had been flushed"
            ),
        }
        Ok(None)
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
        let known = files.partition_point(|it| it.base <= point).saturating_sub(1);
        let first = if self.is_journal() { 0 } else { known };
        let Some(base) = files.get(first).map(|it| it.base) else {
            return Ok(if point > 0 { Err(missing(0)) } else { Ok(Scanned { files, end: 0, cut_bytes: 0 }) });
        };
        if let Some(place) = verify::joined(&self.path, files.get(..=first).unwrap_or_default())? {
            return Ok(Err(place));
        }
        let trusted = if self.is_journal() { 0 } else { point };
        let mut at = Scan {
            expected: base,
            point: trusted,
            epoch: -1,
            // The journal's entries have no other.
            epoch_max: if self.is_journal() { Some(0) } else { self.before.epoch },
            scratch: Vec::new(),
        };
        let mut keep = first;
        let mut cut_bytes = 0;
        while let Some(file) = files.get(keep).copied() {
            let later = files.get(keep.saturating_add(1)..).unwrap_or_default();
            let (file, later, bad) = if file.base != at.expected && keep > first {
                if self.is_journal() {
                    return Ok(Err(missing(at.expected)));
                }
                // What is bad is that the file before ends too soon.
                let before = files.get(keep - 1).copied().unwrap_or(file);
                let what = format!("the next file begins at {}", file.base);
                let later = files.get(keep..).unwrap_or_default();
                (before, later, Some(Bad { position: before.size, what }))
            } else {
                keep = keep.saturating_add(1);
                let (position, broken) = self.scan_file(&mut at, file, keep - 1 == first)?;
                (file, later, broken.map(|what| Bad { position, what }))
            };
            let Some(bad) = bad else { continue };
            if let Some(place) = self.judge(file, later, &bad, &at)? {
                return Ok(Err(place));
            }
            cut_bytes += self.cut(file, bad.position)?;
            if let Some(file) = files.get_mut(keep - 1) {
                file.size = bad.position;
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
        let known = if first && !self.is_journal() { self.known_position(file, at.point) } else { 0 };
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

    fn cut(&self, file: LogFile, whole: u64) -> io::Result<u64> {
        let path = self.path.join(segment_file(file.base, "log"));
        let bytes = file.size.saturating_sub(whole);
        if bytes > 0 {
            self.disk.cut(&path, &OpenOptions::new().write(true).open(&path)?, whole)?;
        }
        Ok(bytes)
    }

    fn remove(&self, file: LogFile) -> io::Result<()> {
        Segment::found(&self.path, file.base, file.size, 0, 0).remove(self.disk)
    }

    fn begin(&self, id: PartitionId, scanned: Scanned) -> io::Result<Survivor> {
        let Scanned { mut files, mut end, cut_bytes } = scanned;
        let start = self.start.unwrap_or(0).max(files.first().map_or(0, |it| it.base));
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
