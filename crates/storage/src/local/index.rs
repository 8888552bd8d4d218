//! The sparse indexes of a segment, in memory and as Kafka's `.index`, `.timeindex` and `.txnindex` files.
//!
//! An entry each is made when more than `index.interval.bytes` were appended since the last. An index never
//! decides what is in a log: it only says where to begin walking, and one that looks wrong is made anew.

use wire::batch::BatchHeader;

use crate::log::{Aborted, Millis, Offset};

/// Bytes of an entry of an `.index` file.
pub(super) const OFFSET_ENTRY: usize = 8;
/// Bytes of an entry of a `.timeindex` file.
pub(super) const TIME_ENTRY: usize = 12;

/// Offset (less the segment's base) of the last record of the batch that begins at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OffsetEntry {
    relative: u32,
    position: u32,
}

/// Up to the offset (less the base), no timestamp is above this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimeEntry {
    timestamp: Millis,
    relative: u32,
}

/// The largest timestamp of a segment, and the last offset of the first batch that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Largest {
    pub(super) timestamp: Millis,
    pub(super) offset: Offset,
}

/// Both indexes of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Index {
    base: Offset,
    offsets: Vec<OffsetEntry>,
    times: Vec<TimeEntry>,
    /// Bytes appended since the last entry.
    since: u64,
    /// None while the segment is empty.
    pub(super) largest: Option<Largest>,
    /// Timestamp of the segment's first batch, from which `segment.ms` counts.
    pub(super) first_timestamp: Option<Millis>,
    /// Whether the files lack something that is here.
    pub(super) unwritten: bool,
}

impl Index {
    /// Of an empty segment.
    pub(super) fn new(base: Offset) -> Self {
        Self {
            base,
            offsets: Vec::new(),
            times: Vec::new(),
            since: 0,
            largest: None,
            first_timestamp: None,
            unwritten: true,
        }
    }

    /// Takes note of a batch that was appended at `position`.
    pub(super) fn note(&mut self, header: &BatchHeader, position: u64, interval: u32) {
        self.first_timestamp.get_or_insert(header.base_timestamp);
        if self.largest.is_none_or(|it| header.max_timestamp > it.timestamp) {
            self.largest = Some(Largest { timestamp: header.max_timestamp, offset: header.last_offset() });
        }
        if self.since > u64::from(interval)
            && let (Some(relative), Ok(position)) =
                (self.relative(header.last_offset()), u32::try_from(position))
        {
            self.offsets.push(OffsetEntry { relative, position });
            self.times.extend(self.time_entry());
            self.since = 0;
        }
        self.since = self.since.saturating_add(header.size() as u64);
        self.unwritten = true;
    }

    /// The entry that says how far the timestamps have come, if it says more than the last.
    fn time_entry(&self) -> Option<TimeEntry> {
        let largest = self.largest?;
        let more = self.times.last().is_none_or(|it| largest.timestamp > it.timestamp);
        let relative = self.relative(largest.offset)?;
        more.then_some(TimeEntry { timestamp: largest.timestamp, relative })
    }

    fn relative(&self, offset: Offset) -> Option<u32> {
        u32::try_from(offset.saturating_sub(self.base)).ok()
    }

    /// Whether a file of `bytes_max` has no room for another entry.
    pub(super) fn is_full(&self, bytes_max: u32) -> bool {
        // The time index also needs room for the entry that closes it.
        let needed = ((self.offsets.len() + 1) * OFFSET_ENTRY).max((self.times.len() + 2) * TIME_ENTRY);
        needed > bytes_max as usize
    }

    /// Bytes that it takes in memory.
    pub(super) fn bytes(&self) -> u64 {
        (self.offsets.len() * size_of::<OffsetEntry>() + self.times.len() * size_of::<TimeEntry>()) as u64
    }

    /// Where to begin walking to the batch that holds `offset`: a batch at or before it.
    pub(super) fn position(&self, offset: Offset) -> u64 {
        let Some(relative) = self.relative(offset) else { return 0 };
        let at = self.offsets.partition_point(|it| it.relative <= relative);
        self.before(at)
    }

    /// The last known beginning of a batch at or below `position` that doesn't reach `to`; both bounds are
    /// for the walk that begins there to check again.
    pub(super) fn boundary(&self, position: u64, to: Offset) -> u64 {
        let relative =
            self.relative(to.saturating_sub(1)).unwrap_or(if to > self.base { u32::MAX } else { 0 });
        let inside = |it: &OffsetEntry| u64::from(it.position) <= position && it.relative <= relative;
        self.before(self.offsets.partition_point(inside))
    }

    fn before(&self, at: usize) -> u64 {
        at.checked_sub(1).and_then(|at| self.offsets.get(at)).map_or(0, |it| u64::from(it.position))
    }

    /// The last known beginning of a batch.
    pub(super) fn last_position(&self) -> u64 {
        self.before(self.offsets.len())
    }

    /// From where on a timestamp may be at or above `timestamp`: everything up to this offset is below it.
    pub(super) fn offset_before(&self, timestamp: Millis) -> Offset {
        let at = self.times.partition_point(|it| it.timestamp < timestamp);
        let entry = at.checked_sub(1).and_then(|at| self.times.get(at));
        entry.map_or(self.base, |it| self.base.saturating_add(i64::from(it.relative)))
    }

    /// Whether both would be written with the same entries.
    pub(super) fn same_entries(&self, other: &Self) -> bool {
        self.offsets == other.offsets && self.times == other.times
    }

    /// Contents of `.index` and `.timeindex`.
    pub(super) fn encode(&self) -> (Vec<u8>, Vec<u8>) {
        let mut offsets = Vec::with_capacity(self.offsets.len() * OFFSET_ENTRY);
        for it in &self.offsets {
            offsets.extend(it.relative.to_be_bytes());
            offsets.extend(it.position.to_be_bytes());
        }
        let mut times = Vec::with_capacity((self.times.len() + 1) * TIME_ENTRY);
        // Kafka closes a time index with the largest timestamp of the segment, whatever the interval.
        for it in self.times.iter().copied().chain(self.time_entry()) {
            times.extend(it.timestamp.to_be_bytes());
            times.extend(it.relative.to_be_bytes());
        }
        (offsets, times)
    }

    /// Reads both files back as far as they lie below `below` and `size`; none if they can't be right.
    ///
    /// What came after the last entry is not in them: the caller walks on from `last_position`.
    pub(super) fn decode(
        base: Offset,
        offsets: &[u8],
        times: &[u8],
        below: Offset,
        size: u64,
    ) -> Option<Self> {
        let mut index = Self::new(base);
        let entries = offsets.as_chunks::<OFFSET_ENTRY>();
        let time_entries = times.as_chunks::<TIME_ENTRY>();
        if !(entries.1.is_empty() && time_entries.1.is_empty()) {
            return None;
        }
        for bytes in entries.0 {
            let [a, b, c, d, e, f, g, h] = *bytes;
            let entry = OffsetEntry {
                relative: u32::from_be_bytes([a, b, c, d]),
                position: u32::from_be_bytes([e, f, g, h]),
            };
            let last = index.offsets.last();
            if entry.position == 0
                || last.is_some_and(|it| entry.relative <= it.relative || entry.position <= it.position)
            {
                return None;
            }
            if base.saturating_add(i64::from(entry.relative)) >= below || u64::from(entry.position) >= size {
                break;
            }
            index.offsets.push(entry);
        }
        let reach = index.offsets.last().map_or(0, |it| it.relative);
        for bytes in time_entries.0 {
            let (timestamp, relative) = bytes.split_first_chunk::<8>()?;
            let entry = TimeEntry {
                timestamp: i64::from_be_bytes(*timestamp),
                relative: u32::from_be_bytes(relative.try_into().ok()?),
            };
            let last = index.times.last();
            if last.is_some_and(|it| entry.timestamp <= it.timestamp || entry.relative <= it.relative) {
                return None;
            }
            // Beyond the last offset entry the walk finds the timestamps itself.
            if entry.relative > reach {
                break;
            }
            index.times.push(entry);
        }
        index.largest = index.times.last().map(|it| Largest {
            timestamp: it.timestamp,
            offset: base.saturating_add(i64::from(it.relative)),
        });
        index.unwritten = false;
        Some(index)
    }

    /// Takes note of the batch that the last entry was made for: its bytes count for the next.
    pub(super) fn resume(&mut self, header: &BatchHeader, first_timestamp: Millis) {
        self.first_timestamp = Some(first_timestamp);
        self.since = header.size() as u64;
        if self.largest.is_none_or(|it| header.max_timestamp > it.timestamp) {
            self.largest = Some(Largest { timestamp: header.max_timestamp, offset: header.last_offset() });
        }
    }
}

/// Bytes of an entry of a `.txnindex` file.
pub(super) const ABORTED_ENTRY: usize = 34;

/// Content of a `.txnindex` file: version, producer id, first, last and last stable offset of each.
pub(super) fn encode_aborted(all: &[Aborted]) -> Vec<u8> {
    let mut out = Vec::with_capacity(all.len() * ABORTED_ENTRY);
    for it in all {
        out.extend(0_i16.to_be_bytes());
        for number in [it.producer_id, it.first_offset, it.last_offset, it.last_stable_offset] {
            out.extend(number.to_be_bytes());
        }
    }
    out
}

/// The entries of a `.txnindex` file; none if it can't be right.
pub(super) fn decode_aborted(bytes: &[u8]) -> Option<Vec<Aborted>> {
    let (entries, rest) = bytes.as_chunks::<ABORTED_ENTRY>();
    let entry = |bytes: &[u8; ABORTED_ENTRY]| {
        let (numbers, _) = bytes.strip_prefix(&[0, 0])?.as_chunks::<8>();
        let [producer_id, first_offset, last_offset, last_stable_offset] =
            *<&[[u8; 8]; 4]>::try_from(numbers).ok()?;
        Some(Aborted {
            producer_id: i64::from_be_bytes(producer_id),
            first_offset: i64::from_be_bytes(first_offset),
            last_offset: i64::from_be_bytes(last_offset),
            last_stable_offset: i64::from_be_bytes(last_stable_offset),
        })
    };
    if rest.is_empty() { entries.iter().map(entry).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::batch::BatchBuilder;

    /// Ten batches of about 1,000 bytes at offsets 100, 102, …, an entry for every second or third.
    fn made() -> (Index, Vec<(BatchHeader, u64)>) {
        let mut index = Index::new(100);
        let mut position = 0;
        let mut all = Vec::new();
        for n in 0..10_i64 {
            let value = [7; 450];
            let batch = BatchBuilder::new().base_offset(100 + 2 * n).timestamp(n * 10 % 70);
            let batch = batch.push(None, Some(&value)).push(None, Some(&value)).build();
            let header = BatchHeader::parse(&batch).unwrap();
            index.note(&header, position, 2_000);
            all.push((header, position));
            position += header.size() as u64;
        }
        (index, all)
    }

    #[test]
    fn position_is_at_or_before_the_batch() {
        let (index, all) = made();
        assert_eq!(index.offsets.len(), 3);
        for (header, position) in &all {
            for offset in [header.base_offset, header.last_offset()] {
                let found = index.position(offset);
                assert!(found <= *position, "offset {offset}");
                assert!(all.iter().any(|(_, it)| *it == found), "a batch begins there");
            }
        }
        assert_eq!(index.position(5), 0);
    }

    #[test]
    fn boundary_passes_neither_bound() {
        let (index, all) = made();
        for position in (0..11_000).step_by(100) {
            for to in 90..125 {
                let found = index.boundary(position, to);
                let (header, _) = all.iter().find(|(_, it)| *it == found).expect("a batch begins there");
                assert!(found == 0 || (found <= position && header.last_offset() < to), "{position} {to}");
            }
        }
    }

    #[test]
    fn times_below_the_found_offset_are_lower() {
        let (index, all) = made();
        for timestamp in 0..80 {
            let before = index.offset_before(timestamp);
            let below = all.iter().filter(|(it, _)| before > 100 && it.last_offset() <= before);
            assert!(below.clone().all(|(it, _)| it.max_timestamp < timestamp), "time {timestamp}");
        }
        assert_eq!(index.largest, Some(Largest { timestamp: 60, offset: 113 }));
    }

    /// `broker-core` 14.1: entries of 8 and 12 bytes, the time index closed with the largest timestamp.
    #[test]
    fn files_are_read_back_or_not_at_all() {
        let (index, _) = made();
        let (offsets, times) = index.encode();
        assert_eq!(offsets.len(), 3 * 8);
        assert_eq!(times.len() % 12, 0);
        assert_eq!(times[times.len() - 12..][..8], 60_i64.to_be_bytes());
        let back = Index::decode(100, &offsets, &times, Offset::MAX, u64::MAX).expect("our own files");
        assert_eq!(back.offsets, index.offsets);
        assert!(Index::decode(100, &offsets[1..], &times, Offset::MAX, u64::MAX).is_none());
        let mut torn = offsets.clone();
        torn[8..].fill(0);
        assert!(Index::decode(100, &torn, &times, Offset::MAX, u64::MAX).is_none(), "zeros are no index");
        let cut = Index::decode(100, &offsets, &times, 110, u64::MAX).expect("a part of it");
        assert!(cut.offsets.iter().all(|it| it.relative < 10) && cut.offsets.len() < 3);
    }

    #[test]
    fn aborted_transactions_take_34_bytes() {
        let one = Aborted { producer_id: 9, first_offset: 1, last_offset: 5, last_stable_offset: 4 };
        let bytes = encode_aborted(&[one, one]);
        assert_eq!(bytes.len(), 68);
        assert_eq!(decode_aborted(&bytes), Some(vec![one, one]));
        assert_eq!(decode_aborted(&bytes[..67]), None);
    }
}
