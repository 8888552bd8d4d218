//! Whether what an orderly stop left is still there: a look at where each file ends, not at its records.
//!
//! A file costs one read of its index's last entry and one of the headers behind it, so that a start stays quick
//! with many partitions.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dir::segment_file;
use super::index::OFFSET_ENTRY;
use super::torn::Tail;
use super::walk::{Broken, Walk};
use crate::log::{Millis, Offset, OpenFile, Place};

/// A file of batches as it lies there.
#[derive(Clone, Copy)]
pub(super) struct LogFile {
    pub(super) base: Offset,
    pub(super) size: u64,
    pub(super) created: Millis,
}

/// The files of a log that was closed at `end`. Gives the bytes of the last file that belong to it, or what is wrong.
pub(super) fn closed(
    folder: &Path,
    files: &[LogFile],
    start: Offset,
    end: Offset,
) -> io::Result<Result<u64, Place>> {
    let Some(last) = files.last().copied() else {
        let what = format!("no file of the log is there, but it was flushed up to {end}");
        let lost = end > 0;
        let place = Place { file: folder.to_owned(), position: 0, offset: start, what };
        return Ok(if lost { Err(place) } else { Ok(0) });
    };
    if let Some(place) = joined(folder, files)? {
        return Ok(Err(place));
    }
    let found = end_of(folder, last, end)?;
    let place =
        |what| Place { file: path(folder, last), position: found.position, offset: found.offset, what };
    if found.offset < end {
        let ends = || "the file ends here".to_owned();
        let what = found.wrong.clone().unwrap_or_else(ends);
        return Ok(Err(place(format!("{what}; the log was flushed up to {end}"))));
    }
    if found.offset > end {
        return Ok(Err(place(format!("the log goes on, but was closed at {end}"))));
    }
    if found.position < last.size
        && let Tail::Followed { .. } | Tail::Whole { .. } =
            Tail::of(&path(folder, last), found.position, end.saturating_sub(1), None, &[])?
    {
        return Ok(Err(place(format!("records follow, but the log was closed at {end}"))));
    }
    Ok(Ok(found.position))
}

/// What is wrong where one file ends and the next begins. No cleaner makes gaps yet.
pub(super) fn joined(folder: &Path, files: &[LogFile]) -> io::Result<Option<Place>> {
    for pair in files.windows(2) {
        let [file, next] = pair else { continue };
        let found = end_of(folder, *file, next.base)?;
        if found.offset == next.base && found.position == file.size {
            continue;
        }
        let ends = || format!("the file ends here, and the next begins at {}", next.base);
        let what = match found.wrong {
            Some(what) => what,
            None if found.offset < next.base => ends(),
            None => format!("the next file begins at {} all the same", next.base),
        };
        let file = path(folder, *file);
        return Ok(Some(Place { file, position: found.position, offset: found.offset, what }));
    }
    Ok(None)
}

/// Where the batches of a file end.
struct End {
    position: u64,
    offset: Offset,
    /// What stands there instead of a batch, if that is not the end of the file.
    wrong: Option<String>,
}

/// Walks from the last known batch of a file to the end of the file, or to where `stop` is reached.
fn end_of(folder: &Path, file: LogFile, stop: Offset) -> io::Result<End> {
    let path = path(folder, file);
    let open = Arc::new(OpenFile(File::open(&path)?));
    if let Some((last_offset, position)) = last_entry(&path, file) {
        let mut walk = Walk::new(open.clone(), position, file.size);
        if let Ok(Some((_, header))) = walk.next()
            && header.last_offset() == last_offset
            && header.next_offset() <= stop
        {
            return walk_on(walk, header.next_offset(), stop);
        }
    }
    walk_on(Walk::new(open, 0, file.size), file.base, stop)
}

fn walk_on(mut walk: Walk, mut offset: Offset, stop: Offset) -> io::Result<End> {
    while offset < stop {
        let position = walk.position;
        let wrong = match walk.next() {
            Ok(Some((_, header))) if header.base_offset == offset => {
                offset = header.next_offset();
                continue;
            }
            Ok(Some((_, header))) => {
                Some(format!("batch at offset {} instead of {offset}", header.base_offset))
            }
            Ok(None) => None,
            Err(Broken::Bytes(what)) => Some(what),
            Err(Broken::Io(error)) => return Err(error),
        };
        return Ok(End { position, offset, wrong });
    }
    Ok(End { position: walk.position, offset, wrong: None })
}

/// The last entry of the file's index: the last offset of a batch and where it begins. An index is a hint, and what
/// it says is compared with the batch.
fn last_entry(path: &Path, file: LogFile) -> Option<(Offset, u64)> {
    let index = File::open(path.with_extension("index")).ok()?;
    let at = index.metadata().ok()?.len().checked_sub(OFFSET_ENTRY as u64)?;
    let mut entry = [0; OFFSET_ENTRY];
    index.read_exact_at(&mut entry, at).ok()?;
    let [a, b, c, d, e, f, g, h] = entry;
    let offset = file.base.saturating_add(i64::from(u32::from_be_bytes([a, b, c, d])));
    let position = u64::from(u32::from_be_bytes([e, f, g, h]));
    (position > 0 && position < file.size).then_some((offset, position))
}

fn path(folder: &Path, file: LogFile) -> PathBuf {
    folder.join(segment_file(file.base, "log"))
}
