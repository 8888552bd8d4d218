//! The bytes of one direction between `read` and `write`.
//!
//! What a frame costs is decided here: bytes are read into one allocation and written from where they stand, many at a
//! time, and none of them is moved. Whoever has to see a frame as a whole sees it in place.
//!
//! Reads go on behind each other, since the begin of a frame that is awaited stands there. Near the end of the room one
//! `readv` brings the rest of that frame there and what follows it to the front, whence it goes on:
//!
//! ```text
//! first      filled                sent  ready            filled    end of the room
//!   | following |       free        | may go | begin of a frame | its rest |
//! ```

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// What one read brings, at most, unless more is awaited. It takes a call and often a wake-up, whatever it brings.
pub(super) const READ_BYTES: usize = 256 << 10;
/// Room without growing: two reads behind each other, and the rest of a frame that began within them.
const ROOM_BYTES: usize = 3 * READ_BYTES;
/// A page, and where in one the first byte goes. The system copies from places near the begin of pages; processors take
/// several times as long for a copy whose ends are at nearly the same place of their pages, as large allocations are.
const PAGE_BYTES: usize = 4096;
const FIRST_IN_PAGE: usize = PAGE_BYTES / 2;

/// Bytes that were read: those that may go, then those of which that is not decided.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// Room; only what stands in one of the places below means something.
    bytes: BytesMut,
    /// Where the first byte goes.
    first: usize,
    sent: usize,
    ready: usize,
    filled: usize,
    /// So many bytes stand at the front and come after those up to `filled`.
    following: usize,
    /// What may go before those from `sent` on, which begin at the front then.
    before: Range<usize>,
}

/// Where the next bytes are to go: so many behind those that are there, then so many to the front.
#[derive(Debug, PartialEq)]
struct Places {
    behind: usize,
    front: usize,
}

impl Buffer {
    pub(super) fn new() -> Self {
        Self::with_room(ROOM_BYTES)
    }

    fn with_room(count: usize) -> Self {
        // Zeroed pages cost nothing before something is read into them.
        let bytes = BytesMut::zeroed(count + PAGE_BYTES);
        let first = (FIRST_IN_PAGE + PAGE_BYTES - bytes.as_ptr().addr() % PAGE_BYTES) % PAGE_BYTES;
        Self { bytes, first, sent: first, ready: first, filled: first, following: 0, before: 0..0 }
    }

    /// What is not decided yet, as far as it stands in one piece: a frame that is awaited does.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.ready..self.filled).unwrap_or_default()
    }

    /// Lets the next bytes go; those must be there.
    pub(super) fn pass(&mut self, count: usize) {
        self.ready = (self.ready + count).min(self.filled);
        if self.ready == self.filled && self.following > 0 {
            self.before = self.sent..self.ready;
            (self.sent, self.ready, self.filled) = (self.first, self.first, self.first + self.following);
            self.following = 0;
        }
    }

    /// Writes what may go.
    pub(super) fn write(&mut self, to: &mut impl Write) -> io::Result<()> {
        let before = self.bytes.get(self.before.clone()).unwrap_or_default();
        let ready = self.bytes.get(self.sent..self.ready).unwrap_or_default();
        if before.is_empty() {
            to.write_all(ready)?;
        } else {
            write_both(to, before, ready)?;
        }
        (self.before, self.sent) = (0..0, self.ready);
        Ok(())
    }

    /// Writes what may go and then `other` in place of the next bytes, which go nowhere.
    pub(super) fn replace(&mut self, count: usize, other: &[u8], to: &mut impl Write) -> io::Result<()> {
        self.write(to)?;
        self.pass(count);
        (self.before, self.sent) = (0..0, self.ready);
        to.write_all(other)
    }

    /// One read; 0 at the end. What may go must have been written. Of a frame whose begin is there so many bytes are
    /// awaited.
    pub(super) fn read(&mut self, from: &mut impl Read, awaited: Option<usize>) -> io::Result<usize> {
        let places = self.places(awaited);
        let (front, behind) = self.bytes.split_at_mut(self.filled);
        let behind = behind.get_mut(..places.behind).unwrap_or_default();
        let front = front.get_mut(self.first..self.first + places.front).unwrap_or_default();
        loop {
            let read = if front.is_empty() {
                from.read(behind)
            } else {
                from.read_vectored(&mut [IoSliceMut::new(behind), IoSliceMut::new(front)])
            };
            match read {
                Ok(count) => {
                    self.filled += count.min(places.behind);
                    self.following = count.saturating_sub(places.behind);
                    return Ok(count);
                }
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
                Err(problem) => return Err(problem),
            }
        }
    }

    /// Makes room. Bytes are moved only if there are few of them or if their frame is one of the largest.
    fn places(&mut self, awaited: Option<usize>) -> Places {
        debug_assert!(self.sent == self.ready && self.before.is_empty(), "what may go was written");
        debug_assert_eq!(self.following, 0, "a frame that is whole is not awaited");
        let rest = self.filled - self.sent;
        let least = awaited.unwrap_or(1);
        let most = least.max(READ_BYTES);
        if rest == 0 {
            if self.is_large() {
                *self = Self::new();
            }
            (self.sent, self.ready, self.filled) = (self.first, self.first, self.first);
            return Places { behind: READ_BYTES, front: 0 };
        }
        if self.left() >= most + READ_BYTES {
            return Places { behind: most, front: 0 };
        }
        if awaited.is_some() && self.left() >= least {
            // Nothing follows a frame that has room of its own, which goes with it.
            let free = if self.is_large() { 0 } else { self.sent - self.first };
            return Places { behind: least, front: free.min(READ_BYTES) };
        }
        self.move_to_front(rest, rest + least);
        let ahead = if self.is_large() { 0 } else { READ_BYTES.min(self.left()) };
        Places { behind: least.max(ahead), front: 0 }
    }

    /// Bytes that have room behind those that are there.
    fn left(&self) -> usize {
        self.bytes.len() - self.filled
    }

    fn is_large(&self) -> bool {
        self.bytes.len() > ROOM_BYTES + PAGE_BYTES
    }

    /// Moves what is there to the front, in another allocation if this one has not so much room.
    fn move_to_front(&mut self, rest: usize, room: usize) {
        if room > self.bytes.len() - self.first {
            let mut larger = Self::with_room(room);
            let to = larger.bytes.get_mut(larger.first..larger.first + rest);
            if let (Some(to), Some(from)) = (to, self.bytes.get(self.sent..self.filled)) {
                to.copy_from_slice(from);
            }
            *self = larger;
        } else {
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

/// Like `write_all` of the one and then of the other, but in one call if the system takes as much.
fn write_both(to: &mut impl Write, one: &[u8], other: &[u8]) -> io::Result<()> {
    let mut both = [IoSlice::new(one), IoSlice::new(other)];
    let mut left = &mut both[..];
    // Drops what is empty.
    IoSlice::advance_slices(&mut left, 0);
    while !left.is_empty() {
        match to.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut left, count),
            Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads give at most so many bytes, and fill one place after the other. What is written is taken in pieces too.
    struct Chopped<'a> {
        from: &'a [u8],
        most: usize,
        reads: usize,
        out: Vec<u8>,
    }

    impl<'a> Chopped<'a> {
        fn new(from: &'a [u8], most: usize) -> Self {
            Self { from, most, reads: 0, out: Vec::new() }
        }
    }

    impl Read for Chopped<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.reads += 1;
            let count = self.most.min(into.len());
            self.from.read(&mut into[..count])
        }

        fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
            self.reads += 1;
            let mut left = self.most;
            let pieces = into.iter_mut().map(|it| {
                let count = left.min(it.len());
                left -= count;
                self.from.read(&mut it[..count])
            });
            pieces.sum()
        }
    }

    impl Write for Chopped<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.write_vectored(&[IoSlice::new(bytes)])
        }

        fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
            let mut left = self.most;
            for it in pieces {
                let count = left.min(it.len());
                self.out.extend_from_slice(&it[..count]);
                left -= count;
            }
            Ok(self.most - left)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn bytes(count: usize) -> Vec<u8> {
        let mut bytes = (0..=250).collect::<Vec<u8>>().repeat(count / 251 + 1);
        bytes.truncate(count);
        bytes
    }

    /// Frames of one size, each awaited as a whole and shown, as the proxy does. The reads that it took.
    fn frames(size: usize, count: usize, most: usize) -> usize {
        let bytes = bytes(size * count);
        let (mut peer, mut buffer) = (Chopped::new(&bytes, most), Buffer::new());
        let mut seen = 0;
        loop {
            while buffer.rest().len() >= size {
                let expected = &bytes[seen * size..][..size];
                assert!(buffer.with_frame(size, |it| it == expected), "frame {seen} of {size}, {most}");
                if seen % 5 == 3 {
                    // As one with other addresses.
                    buffer.replace(size, expected, &mut peer).unwrap();
                } else {
                    buffer.pass(size);
                }
                seen += 1;
            }
            buffer.write(&mut peer).unwrap();
            assert_eq!(peer.out.len(), seen * size, "what is whole was written");
            let awaited = Some(size - buffer.rest().len()).filter(|it| *it < size);
            if buffer.read(&mut peer, awaited).unwrap() == 0 {
                break;
            }
        }
        assert!(seen == count && peer.out == bytes, "{size}, {most}");
        peer.reads
    }

    #[test]
    fn frames_leave_as_they_came() {
        for size in [5, 4096, 65_700, READ_BYTES - 1, READ_BYTES, READ_BYTES + 1, ROOM_BYTES, ROOM_BYTES + 9]
        {
            for most in [10_007, READ_BYTES - 3, 2 * READ_BYTES] {
                frames(size, 3 * READ_BYTES / size.max(4096) + 5, most);
            }
        }
    }

    /// Frames that do not fit evenly take no more reads than bytes that nobody looks into.
    #[test]
    fn frames_take_few_reads() {
        let (size, count) = (65_700, 40);
        let few = size * count / READ_BYTES + 2;
        let reads = frames(size, count, usize::MAX);
        assert!(reads <= few, "{reads} reads, {few} would do");
    }

    #[test]
    fn bytes_leave_as_they_came() {
        let bytes = bytes(3 * ROOM_BYTES + 77);
        for most in [1000, READ_BYTES, usize::MAX] {
            let (mut peer, mut buffer) = (Chopped::new(&bytes, most), Buffer::new());
            while buffer.read(&mut peer, None).unwrap() > 0 {
                // Three bytes always stay, as the begin of a frame would.
                buffer.pass(buffer.rest().len() - 3);
                buffer.write(&mut peer).unwrap();
            }
            buffer.pass(3);
            buffer.write(&mut peer).unwrap();
            assert!(peer.out == bytes, "{most}");
        }
    }

    #[test]
    fn a_frame_in_place_grows_and_is_forgotten() {
        let bytes = bytes(2 * ROOM_BYTES);
        let (mut from, mut out, mut buffer) = (Chopped::new(&bytes, 10), Vec::new(), Buffer::new());
        buffer.read(&mut from, None).unwrap();
        buffer.pass(4);
        buffer.write(&mut out).unwrap();
        let total = 2 * ROOM_BYTES - 4;
        from.most = usize::MAX;
        while buffer.rest().len() < total {
            buffer.read(&mut from, Some(total - buffer.rest().len())).unwrap();
        }
        let address = buffer.bytes.as_ptr();
        assert!(buffer.with_frame(total, |it| *it == bytes[4..]));
        assert_eq!(buffer.bytes.as_ptr(), address, "no copy");
        buffer.replace(total, b"another", &mut out).unwrap();
        assert_eq!(out, [&bytes[..4], b"another"].concat());
        assert_eq!(buffer.read(&mut from, None).unwrap(), 0);
        assert_eq!(buffer.bytes.len(), ROOM_BYTES + PAGE_BYTES);
    }

    #[test]
    fn a_slice_that_is_kept_stays_whole() {
        let mut buffer = Buffer::new();
        buffer.read(&mut &b"abcdef"[..], None).unwrap();
        buffer.pass(1);
        let kept = buffer.with_frame(3, Bytes::clone);
        let mut out = Vec::new();
        buffer.pass(5);
        buffer.write(&mut out).unwrap();
        buffer.read(&mut &b"uvwxyz"[..], None).unwrap();
        assert_eq!((kept.as_ref(), out.as_slice()), (b"bcd".as_slice(), b"abcdef".as_slice()));
    }
}
