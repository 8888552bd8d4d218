//! One direction of a TCP connection: segments as they were captured, to bytes in their order.
//!
//! Retransmissions and overlaps are taken once, segments out of order wait for those before them. What never comes is
//! given up when too much waits for it: then the bytes have a gap, which is told.

use std::collections::BTreeMap;

use bytes::BytesMut;

/// Bytes that wait for those before them. Beyond this the gap is taken for a loss of the capture.
const WAITING_BYTES_MAX: usize = 4 << 20;
/// Segments that wait for those before them.
const WAITING_MAX: usize = 4096;

/// Bytes of one direction.
#[derive(Debug, Default)]
pub(super) struct Half {
    /// Sequence number of the next byte, counted on without end; nothing before the first segment.
    next: Option<u64>,
    waiting: BTreeMap<u64, Vec<u8>>,
    waiting_bytes: usize,
    /// Bytes in order that nobody took yet.
    pub(super) ready: BytesMut,
    /// The last segment was the last one; its place.
    end: Option<u64>,
}

/// What became of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Took {
    Bytes,
    /// So many bytes were never captured; `ready` goes on behind them, and what was in it before is to be given up.
    Gap(u64),
}

impl Half {
    /// Where the first byte will be: behind a SYN.
    pub(super) fn syn(&mut self, sequence: u32) {
        if self.next.is_none() {
            self.next = Some(u64::from(sequence.wrapping_add(1)));
        }
    }

    /// The sender ends behind this place.
    pub(super) fn fin(&mut self, sequence: u32) {
        let place = self.place(sequence);
        self.end = Some(place);
    }

    /// Whether all bytes up to the sender's end are there.
    pub(super) fn is_done(&self) -> bool {
        self.end.is_some_and(|end| self.next.is_some_and(|next| next >= end))
    }

    /// Bytes that wait for others or were not taken yet.
    pub(super) fn held(&self) -> usize {
        self.waiting_bytes + self.ready.len()
    }

    /// Lets go of all of them.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.ready.clear();
    }

    /// A sequence number counted on without end: the one nearest to what is expected.
    fn place(&mut self, sequence: u32) -> u64 {
        let next = *self.next.get_or_insert_with(|| sequence.into());
        // The low 32 bits are what the wire has.
        let low = u32::try_from(next & u64::from(u32::MAX)).unwrap_or(0);
        let distance = sequence.wrapping_sub(low).cast_signed();
        next.saturating_add_signed(i64::from(distance))
    }

    /// Takes the bytes of a segment.
    pub(super) fn take(&mut self, sequence: u32, payload: &[u8]) -> Took {
        if payload.is_empty() {
            return Took::Bytes;
        }
        let place = self.place(sequence);
        self.put(place, payload);
        self.drain();
        if self.waiting.len() > WAITING_MAX || self.waiting_bytes > WAITING_BYTES_MAX {
            return self.give_up().map_or(Took::Bytes, Took::Gap);
        }
        Took::Bytes
    }

    /// Goes on behind the bytes that are missing, if others wait; how many there are.
    pub(super) fn give_up(&mut self) -> Option<u64> {
        let (&place, _) = self.waiting.first_key_value()?;
        let missing = place.saturating_sub(self.next.unwrap_or(place));
        self.next = Some(place);
        self.ready.clear();
        self.drain();
        Some(missing)
    }

    fn put(&mut self, place: u64, payload: &[u8]) {
        let next = self.next.unwrap_or(place);
        let known = usize::try_from(next.saturating_sub(place)).unwrap_or(usize::MAX);
        let Some(payload) = payload.get(known..).filter(|it| !it.is_empty()) else { return };
        let place = place.max(next);
        if place == next {
            self.ready.extend_from_slice(payload);
            self.next = Some(next + payload.len() as u64);
            return;
        }
        let longer = self.waiting.get(&place).is_none_or(|it| it.len() < payload.len());
        if longer {
            let old = self.waiting.insert(place, payload.to_vec());
            self.waiting_bytes += payload.len();
            self.waiting_bytes -= old.map_or(0, |it| it.len());
        }
    }

    /// Takes what waited and has its turn now.
    fn drain(&mut self) {
        while let Some(entry) = self.waiting.first_entry() {
            if *entry.key() > self.next.unwrap_or(u64::MAX) {
                break;
            }
            let (place, bytes) = entry.remove_entry();
            self.waiting_bytes -= bytes.len();
            self.put(place, &bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(half: &Half) -> &str {
        std::str::from_utf8(&half.ready).unwrap()
    }

    /// Order, overlaps and the turn of the 32-bit counter.
    #[test]
    fn bytes_in_order() {
        let mut half = Half::default();
        let start = u32::MAX - 3;
        half.syn(start.wrapping_sub(1));
        let at = |n: u32| start.wrapping_add(n);
        half.take(at(0), b"abc");
        half.take(at(6), b"ghi");
        half.take(at(9), b"jkl");
        assert_eq!(ready(&half), "abc");
        half.take(at(0), b"abc");
        half.take(at(2), b"cdef");
        assert_eq!(ready(&half), "abcdefghijkl");
        half.take(at(4), b"efghijklmno");
        half.take(at(15), b"");
        assert_eq!(ready(&half), "abcdefghijklmno");
        half.fin(at(18));
        assert!(!half.is_done());
        half.take(at(15), b"pqr");
        assert!(half.is_done());
    }

    #[test]
    fn a_gap_is_given_up() {
        let mut half = Half::default();
        assert_eq!(half.take(1000, b"abc"), Took::Bytes);
        assert_eq!(half.take(1010, b"xyz"), Took::Bytes);
        assert_eq!(half.give_up(), Some(7));
        assert_eq!(ready(&half), "xyz");
        assert_eq!(half.give_up(), None);
        let large = vec![0; 1 << 20];
        let took: Vec<_> = (0..5u32).map(|i| half.take(2000 + (i << 20), &large)).collect();
        assert_eq!(took.last(), Some(&Took::Gap(2000 - 1013)));
        assert_eq!(half.ready.len(), 5 << 20);
    }
}
