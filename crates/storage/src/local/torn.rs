//! Whether the end of a log is a write that a crash cut short, or damage.
//!
//! Every entry of the journal was flushed before it was answered: what follows a bad place, or was there whole, was
//! promised. For other logs it depends on whether the machine ran on, which the caller knows.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use wire::batch::{BatchHeader, HEADER_LEN, crc32c};

use super::dir::segment_file;
use super::verify::LogFile;
use super::walk::{Walk, check_crc};
use crate::log::{Epoch, Offset, OpenFile};

/// Where what the checksum covers begins.
const CRC_FROM: usize = 21;
/// Where the byte of the format's version stands.
const MAGIC_AT: usize = 16;
/// Zeros at the end of a file that no entry has: a write whose last sectors never came.
const ZEROS_MIN: usize = 512;

/// How far behind a bad place a batch is looked for, byte by byte.
const SEARCH_MAX: u64 = 16 << 20;
/// How many places that look like a batch have their checksum computed.
const CANDIDATES_MAX: usize = 64;

/// What stands where a batch of a log that is no journal can't be right.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// The file ends inside of a batch, and nothing follows: a write that was cut short.
    Short,
    /// A batch of the right offset that has its full length.
    Whole {
        /// The offset.
        offset: Offset,
    },
    /// Batches that are right follow, up to this offset.
    Followed {
        /// Offset after the last that was found.
        end: Offset,
    },
    /// Bytes that are no batch, with none behind them.
    Unclear,
}

impl Tail {
    /// Looks at what begins at `position` of a file, where a batch with `expected` should be, and at later files.
    pub(super) fn of(
        path: &Path,
        position: u64,
        expected: Offset,
        epoch_max: Option<Epoch>,
        later: &[LogFile],
    ) -> io::Result<Self> {
        let open = Arc::new(OpenFile(File::open(path)?));
        let size = open.metadata()?.len();
        let search = Search { size, expected, epoch_max, file: open };
        let here = search.batch(position).map(|_| search.end_from(position));
        if let Some(end) = search.later(path, later).or(here).or(search.behind(position)?) {
            return Ok(Self::Followed { end });
        }
        let mut head = [0; HEADER_LEN];
        let rest = size.saturating_sub(position);
        if rest < HEADER_LEN as u64 {
            return Ok(Self::Short);
        }
        search.file.read_exact_at(&mut head, position)?;
        Ok(match BatchHeader::parse(&head) {
            Ok(header) if header.base_offset != expected => Self::Unclear,
            Ok(header) if header.size() as u64 > rest => Self::Short,
            Ok(_) => Self::Whole { offset: expected },
            Err(_) => Self::Unclear,
        })
    }

    /// Why it is no write that was cut short, if that is certain.
    pub(super) fn damage(&self) -> Option<String> {
        match self {
            Self::Short | Self::Unclear => None,
            Self::Whole { offset } => Some(format!("the batch of offset {offset} has its full length")),
            Self::Followed { end } => Some(format!("records up to {end} follow")),
        }
    }
}

/// Looks for a batch behind a bad place.
struct Search {
    file: Arc<OpenFile>,
    size: u64,
    expected: Offset,
    epoch_max: Option<Epoch>,
}

impl Search {
    /// The end of the batches at the beginning of later files.
    fn later(&self, path: &Path, later: &[LogFile]) -> Option<Offset> {
        let end = |file: &LogFile| {
            let open = File::open(path.with_file_name(segment_file(file.base, "log"))).ok()?;
            let search = Self { file: Arc::new(OpenFile(open)), size: file.size, ..*self };
            search.batch(0).filter(|it| it.base_offset == file.base)?;
            Some(search.end_from(0))
        };
        later.iter().filter_map(end).max()
    }

    /// The end of the batches behind a bad one in its own file.
    fn behind(&self, position: u64) -> io::Result<Option<Offset>> {
        let from = position.saturating_add(1);
        let size = self.size.saturating_sub(from).min(SEARCH_MAX);
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, from)?;
        // Where it ends if its length is right: then nothing has to be searched.
        let next = Walk::new(self.file.clone(), position, self.size).next().ok().flatten();
        let next = next.map(|(at, header)| at.saturating_add(header.size() as u64));
        let places = (0..bytes.len())
            .filter(|at| bytes.get(at.saturating_add(MAGIC_AT)) == Some(&2))
            .filter(|at| bytes.get(*at..).is_some_and(|it| self.is_plausible(it)))
            .map(|at| from.saturating_add(at as u64));
        let mut places = next.into_iter().chain(places).take(CANDIDATES_MAX);
        Ok(places.find(|at| self.batch(*at).is_some()).map(|at| self.end_from(at)))
    }

    fn is_plausible(&self, bytes: &[u8]) -> bool {
        BatchHeader::parse(bytes).is_ok_and(|it| {
            it.base_offset > self.expected
                && it.base_offset.saturating_sub(self.expected) <= i64::from(i32::MAX)
                && it.last_offset_delta >= 0
                && it.size() as u64 <= self.size
                && self.epoch_max.is_none_or(|max| it.partition_leader_epoch <= max)
        })
    }

    /// The batch at a place, if it is right.
    fn batch(&self, at: u64) -> Option<BatchHeader> {
        let (_, header) = Walk::new(self.file.clone(), at, self.size).next().ok()??;
        let newer = header.base_offset > self.expected;
        let right = newer && check_crc(&self.file, at, &header, &mut Vec::new()).is_ok();
        right.then_some(header)
    }

    /// The offset after the batches that begin at a place. Their records are not looked at.
    fn end_from(&self, at: u64) -> Offset {
        let mut walk = Walk::new(self.file.clone(), at, self.size);
        let mut end = self.expected;
        while let Ok(Some((_, header))) = walk.next() {
            if header.base_offset < end {
                break;
            }
            end = header.next_offset();
        }
        end
    }
}

/// Whether what begins at `position` is a last write that was cut short. No batch below `expected` can follow.
pub(super) fn is_torn(path: &Path, position: u64, expected: Offset) -> io::Result<bool> {
    let bytes = fs::read(path)?;
    let tail = usize::try_from(position).ok().and_then(|it| bytes.get(it..)).unwrap_or_default();
    Ok(is_torn_tail(tail, expected))
}

fn is_torn_tail(tail: &[u8], expected: Offset) -> bool {
    let content = tail.iter().rposition(|it| *it != 0).map_or(0, |it| it.saturating_add(1));
    let zeros = tail.len().saturating_sub(content);
    if content == 0 || tail.len() < HEADER_LEN || (content < HEADER_LEN && zeros >= ZEROS_MIN) {
        return true;
    }
    // Whole up to the end of the file, whatever its length says.
    if is_whole(tail) || is_followed(tail, expected) {
        return false;
    }
    match BatchHeader::parse(tail) {
        Ok(header) => header.size() > tail.len() || zeros >= ZEROS_MIN,
        Err(_) => false,
    }
}

/// Whether a checksum fits all of the bytes.
fn is_whole(batch: &[u8]) -> bool {
    let stored = batch.get(CRC_FROM - 4..).and_then(|it| it.first_chunk::<4>());
    let covered = batch.get(CRC_FROM..).unwrap_or_default();
    stored.is_some_and(|it| u32::from_be_bytes(*it) == crc32c(&[covered]))
}

/// Whether a batch that is right begins somewhere behind the first byte.
fn is_followed(tail: &[u8], expected: Offset) -> bool {
    let starts = 1..tail.len().saturating_sub(HEADER_LEN);
    starts.filter(|at| tail.get(at.saturating_add(MAGIC_AT)) == Some(&2)).any(|at| {
        let rest = tail.get(at..).unwrap_or_default();
        let Ok(header) = BatchHeader::parse(rest) else { return false };
        header.base_offset > expected
            && header.last_offset_delta >= 0
            && rest.get(..header.size()).is_some_and(is_whole)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::batch::BatchBuilder;

    fn entry(offset: Offset) -> Vec<u8> {
        let mut batch = BatchBuilder::new().base_offset(offset).leader_epoch(0);
        batch.add(1, None, Some(b"an entry of the journal"), &[]);
        batch.build().to_vec()
    }

    #[test]
    fn cut_entry_and_zeros_are_torn() {
        let whole = entry(7);
        for size in 0..whole.len() {
            assert!(is_torn_tail(&whole[..size], 7), "cut at {size}");
            let mut zeros = whole[..size].to_vec();
            zeros.resize(size + 4_096, 0);
            assert!(is_torn_tail(&zeros, 7), "zeros from {size}");
        }
    }

    #[test]
    fn changed_byte_is_damage() {
        let last = entry(7);
        let two = [entry(7), entry(8)].concat();
        for whole in [last, two] {
            // The last bytes of an offset and the epoch are not covered, but are seen by the walk.
            for at in 0..entry(7).len() {
                let mut bytes = whole.clone();
                bytes[at] ^= 0x40;
                let told = !is_torn_tail(&bytes, 7);
                assert!(told, "byte {at} of {}", whole.len());
            }
        }
    }
}
