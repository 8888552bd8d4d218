//! Whether the end of a journal is a write that a crash cut short, or damage.
//!
//! Every entry was flushed before it was answered: what follows a bad place, or was there whole, was promised.

use std::fs;
use std::io;
use std::path::Path;

use wire::batch::{BatchHeader, HEADER_LEN, crc32c};

use crate::log::Offset;

/// Where what the checksum covers begins.
const CRC_FROM: usize = 21;
/// Where the byte of the format's version stands.
const MAGIC_AT: usize = 16;
/// Zeros at the end of a file that no entry has: a write whose last sectors never came.
const ZEROS_MIN: usize = 512;

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
