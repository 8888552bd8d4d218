//! What a partition saves beside its log: `.snapshot`, `leader-epoch-checkpoint` and `.txnindex`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::dir::{LEADER_EPOCHS, epochs_text, parse_epochs, parse_segment_file, read_if_there, segment_file};
use super::index::{decode_aborted, encode_aborted};
use crate::log::{Aborted, Offset, PartitionSnapshot};

/// Snapshots that are kept: the newest may be beyond what a crash leaves.
const KEPT: usize = 2;

/// The newest snapshot at or below `end`.
pub(super) fn newest(dir: &Path, end: Offset) -> io::Result<Option<PartitionSnapshot>> {
    let Some(offset) = offsets(dir, "snapshot")?.into_iter().rfind(|it| *it <= end) else { return Ok(None) };
    let producers = fs::read(dir.join(segment_file(offset, "snapshot")))?.into();
    // The epoch file may be newer than the snapshot; what begins later is found again by replay.
    let epochs = read_if_there(&dir.join(LEADER_EPOCHS))?.and_then(|it| parse_epochs(&it));
    let Some(mut epochs) = epochs else { return Ok(None) };
    epochs.retain(|(_, start)| *start <= offset);
    let mut aborted = Vec::new();
    for base in offsets(dir, "txnindex")? {
        let Some(some) = decode_aborted(&fs::read(dir.join(segment_file(base, "txnindex")))?) else {
            return Ok(None);
        };
        aborted.extend(some.into_iter().filter(|it| it.last_offset < offset));
    }
    Ok(Some(PartitionSnapshot { offset, producers, epochs, aborted }))
}

/// The files that keep a snapshot, and their contents. `bases` are the first offsets of the segments.
pub(super) fn files(
    dir: &Path,
    snapshot: &PartitionSnapshot,
    bases: &[Offset],
) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut out = vec![
        (dir.join(LEADER_EPOCHS), epochs_text(&snapshot.epochs).into_bytes()),
        (dir.join(segment_file(snapshot.offset, "snapshot")), snapshot.producers.to_vec()),
    ];
    for (at, base) in bases.iter().enumerate() {
        let to = bases.get(at.saturating_add(1)).copied().unwrap_or(Offset::MAX);
        let from = if at == 0 { Offset::MIN } else { *base };
        let inside = |it: &&Aborted| it.last_offset >= from && it.last_offset < to;
        let some: Vec<Aborted> = snapshot.aborted.iter().filter(inside).copied().collect();
        let path = dir.join(segment_file(*base, "txnindex"));
        let content = encode_aborted(&some);
        let old = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        if content != old {
            out.push((path, content));
        }
    }
    Ok(out)
}

/// Snapshots that are no longer needed.
pub(super) fn outdated(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let all = offsets(dir, "snapshot")?;
    let excess = all.len().saturating_sub(KEPT);
    Ok(all.into_iter().take(excess).map(|it| dir.join(segment_file(it, "snapshot"))).collect())
}

/// First offsets in the names of all files with that extension, ascending.
fn offsets(dir: &Path, extension: &str) -> io::Result<Vec<Offset>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(dir)? {
        out.extend(entry?.file_name().to_str().and_then(|name| parse_segment_file(name, extension)));
    }
    out.sort_unstable();
    Ok(out)
}
