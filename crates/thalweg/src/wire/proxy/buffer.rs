//! The bytes of one direction between `read` and `write`.
//!
//! What a frame costs is decided here: bytes are read into one allocation and written from where they stand. Whoever
//! has to see a frame as a whole sees it in place.

use std::io::{self, Read, Write};

use bytes::{Bytes, BytesMut};

/// Room for one read, the same as in the forwarder that `bench proxy` measures against.
pub(super) const READ_BYTES: usize = 128 << 10;
/// Room without growing: a frame that begins within a read and fits into one needs not be moved.
const ROOM_BYTES: usize = 2 * READ_BYTES;
/// A page, and where in one the first byte goes. The system copies from places near the begin of pages; processors take
/// several times as long for a copy whose ends are at nearly the same place of their pages, as large allocations are.
const PAGE_BYTES: usize = 4096;
const FIRST_IN_PAGE: usize = PAGE_BYTES / 2;

/// Bytes that were read: those that may go, then those of which that is not decided.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// Room; what stands before `sent` and beyond `filled` means nothing.
    bytes: BytesMut,
    /// Where the first byte goes.
    first: usize,
    sent: usize,
    ready: usize,
    filled: usize,
}

impl Buffer {
    pub(super) fn new() -> Self {
        Self::with_room(ROOM_BYTES)
    }

    fn with_room(count: usize) -> Self {
        // Zeroed pages cost nothing before something is read into them.
        let bytes = BytesMut::zeroed(count + PAGE_BYTES);
        let first = (FIRST_IN_PAGE + PAGE_BYTES - bytes.as_ptr().addr() % PAGE_BYTES) % PAGE_BYTES;
        Self { bytes, first, sent: first, ready: first, filled: first }
    }

    /// What it can hold.
    fn size(&self) -> usize {
        self.bytes.len() - self.first
    }

    /// What is not decided yet.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.ready..self.filled).unwrap_or_default()
    }

    /// Lets the next bytes go; those must be there.
    pub(super) fn pass(&mut self, count: usize) {
        self.ready = (self.ready + count).min(self.filled);
    }

    /// Writes what may go.
    pub(super) fn write(&mut self, to: &mut impl Write) -> io::Result<()> {
        let ready = self.bytes.get(self.sent..self.ready).unwrap_or_default();
        if !ready.is_empty() {
            to.write_all(ready)?;
            self.sent = self.ready;
        }
        Ok(())
    }

    /// Writes what may go and then `other` in place of the next bytes, which go nowhere.
    pub(super) fn replace(&mut self, count: usize, other: &[u8], to: &mut impl Write) -> io::Result<()> {
        self.write(to)?;
        self.pass(count);
        self.sent = self.ready;
        to.write_all(other)
    }

    /// One read of at most so many bytes, for which room is made; 0 at the end. What may go must have been written.
    pub(super) fn read(&mut self, from: &mut impl Read, most: usize) -> io::Result<usize> {
        self.room(most);
        let room = self.bytes.get_mut(self.filled..self.filled + most).unwrap_or_default();
        loop {
            match from.read(room) {
                Ok(count) => {
                    self.filled += count;
                    return Ok(count);
                }
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
                Err(problem) => return Err(problem),
            }
        }
    }

    fn room(&mut self, most: usize) {
        debug_assert_eq!(self.sent, self.ready, "what may go was written");
        let rest = self.filled - self.sent;
        if rest == 0 && self.bytes.len() > ROOM_BYTES + PAGE_BYTES {
            *self = Self::new();
        }
        if rest > 0 && self.filled + most <= self.bytes.len() {
            return;
        }
        if rest + most > self.size() {
            let mut larger = Self::with_room(rest + most);
            let to = larger.bytes.get_mut(larger.first..larger.first + rest);
            if let (Some(to), Some(from)) = (to, self.bytes.get(self.sent..self.filled)) {
                to.copy_from_slice(from);
            }
            *self = larger;
        } else if rest > 0 {
            self.bytes.copy_within(self.sent..self.filled, self.first);
        }
        (self.sent, self.ready, self.filled) = (self.first, self.first, self.first + rest);
    }

    /// Shows the next bytes as a frame of their own, without copying them; slices of it must not outlive the call.
    pub(super) fn with_frame<T>(&mut self, total: usize, see: impl FnOnce(&Bytes) -> T) -> T {
        let end = (self.ready + total).min(self.filled);
        let whole = std::mem::take(&mut self.bytes).freeze();
        let seen = see(&whole.slice(self.ready..end));
        // Who kept a slice all the same costs a copy.
        self.bytes = whole.try_into_mut().unwrap_or_else(|kept| BytesMut::from(kept.as_ref()));
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads give at most so many bytes.
    struct Chopped<'a>(&'a [u8], usize);

    impl Read for Chopped<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(into.len());
            self.0.read(&mut into[..count])
        }
    }

    #[test]
    fn bytes_leave_as_they_came() {
        let bytes: Vec<u8> = (0..=255).cycle().take(3 * ROOM_BYTES + 77).collect();
        for chop in [1000, READ_BYTES, usize::MAX] {
            let (mut from, mut out, mut buffer) = (Chopped(&bytes, chop), Vec::new(), Buffer::new());
            while buffer.read(&mut from, READ_BYTES).unwrap() > 0 {
                // Three bytes always stay, as the begin of a frame would.
                buffer.pass(buffer.rest().len() - 3);
                buffer.write(&mut out).unwrap();
            }
            buffer.pass(3);
            buffer.write(&mut out).unwrap();
            assert!(out == bytes, "{chop}");
        }
    }

    #[test]
    fn a_frame_in_place_grows_and_is_forgotten() {
        let bytes: Vec<u8> = (0..=250).cycle().take(2 * ROOM_BYTES).collect();
        let (mut from, mut out, mut buffer) = (bytes.as_slice(), Vec::new(), Buffer::new());
        buffer.read(&mut from, 10).unwrap();
        buffer.pass(4);
        buffer.write(&mut out).unwrap();
        let total = 2 * ROOM_BYTES - 4;
        while buffer.rest().len() < total {
            buffer.read(&mut from, total - buffer.rest().len()).unwrap();
        }
        let address = buffer.bytes.as_ptr();
        assert!(buffer.with_frame(total, |it| *it == bytes[4..]));
        assert_eq!(buffer.bytes.as_ptr(), address, "no copy");
        buffer.replace(total, b"another", &mut out).unwrap();
        assert_eq!(out, [&bytes[..4], b"another"].concat());
        assert_eq!(buffer.read(&mut from, READ_BYTES).unwrap(), 0);
        assert_eq!(buffer.bytes.len(), ROOM_BYTES + PAGE_BYTES);
    }

    #[test]
    fn a_slice_that_is_kept_stays_whole() {
        let mut buffer = Buffer::new();
        buffer.read(&mut &b"abcdef"[..], READ_BYTES).unwrap();
        buffer.pass(1);
        let kept = buffer.with_frame(3, Bytes::clone);
        let mut out = Vec::new();
        buffer.pass(5);
        buffer.write(&mut out).unwrap();
        buffer.read(&mut &b"uvwxyz"[..], READ_BYTES).unwrap();
        assert_eq!((kept.as_ref(), out.as_slice()), (b"bcd".as_slice(), b"abcdef".as_slice()));
    }
}
