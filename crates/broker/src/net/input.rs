//! The reading half of a connection: bytes gathered until they make a frame (`broker-core.md` 1.1).
//!
//! What has been read stays here, not in a future, so a read may be abandoned at any await.

use std::fmt;

use bytes::{Buf, Bytes, BytesMut};

/// Size prefix of a frame.
const PREFIX: usize = 4;
/// Room offered to the first read of a connection; an idle one holds no more than this.
const CHUNK_MIN: usize = 2 * 1024;
/// Room offered to a read of a busy connection.
const CHUNK_MAX: usize = 64 * 1024;
/// Frames up to this size get their room at once. Larger ones must send bytes to get room, so that
/// a size alone does not claim memory.
const ROOM_AT_ONCE_MAX: usize = 4 * 1024 * 1024;

/// Bytes of one connection that are not yet frames.
#[derive(Debug)]
pub(crate) struct Input {
    buffer: BytesMut,
    chunk: usize,
    frame_max: usize,
}

/// A size prefix that no frame may have. The connection ends: what follows can't be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadSize {
    pub size: i32,
    pub max: usize,
}

impl fmt::Display for BadSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frame size {} is outside 1..={}", self.size, self.max)
    }
}

/// The beginning of a frame whose rest never came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Bytes that came, with those of the size.
    pub came: usize,
    /// Bytes of the whole, unless the size itself is not whole.
    pub of: Option<usize>,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            Some(of) => write!(f, "in the middle of a frame, after {} of {of} bytes", self.came),
            None => write!(f, "in the middle of a frame, after {} bytes", self.came),
        }
    }
}

impl Input {
    /// `frame_max` is `socket.request.max.bytes`.
    pub(crate) fn new(frame_max: usize) -> Self {
        Self { buffer: BytesMut::new(), chunk: CHUNK_MIN, frame_max }
    }

    /// The buffer with room for the next read.
    pub(crate) fn room(&mut self) -> &mut BytesMut {
        let missing =
            self.missing().map_or(0, |missing| missing.min(self.buffer.len().max(ROOM_AT_ONCE_MAX)));
        let wanted = self.chunk.max(missing);
        if self.buffer.capacity() - self.buffer.len() < wanted.min(CHUNK_MIN).max(missing) {
            self.buffer.reserve(wanted);
        }
        &mut self.buffer
    }

    /// Tells how much the last read brought, so that busy connections read more at once.
    pub(crate) fn filled(&mut self, bytes: usize) {
        if bytes >= self.chunk {
            self.chunk = (self.chunk * 2).min(CHUNK_MAX);
        }
    }

    /// Gives memory back when the connection waits for its next request.
    pub(crate) fn rest(&mut self) {
        if self.buffer.is_empty() && self.buffer.capacity() > CHUNK_MIN {
            self.buffer = BytesMut::new();
        }
    }

    /// Takes the next whole frame, without its size prefix.
    pub(crate) fn frame(&mut self) -> Result<Option<Bytes>, BadSize> {
        let Some(size) = self.size()? else { return Ok(None) };
        if self.buffer.len() < PREFIX + size {
            return Ok(None);
        }
        self.buffer.advance(PREFIX);
        Ok(Some(self.buffer.split_to(size).freeze()))
    }

    fn size(&self) -> Result<Option<usize>, BadSize> {
        let Some(prefix) = self.buffer.first_chunk::<PREFIX>() else { return Ok(None) };
        let size = i32::from_be_bytes(*prefix);
        // A size of 0 can't hold a header; only raw SASL tokens, which are not served, may have it.
        match usize::try_from(size) {
            Ok(valid) if valid > 0 && valid <= self.frame_max => Ok(Some(valid)),
            Ok(_) | Err(_) => Err(BadSize { size, max: self.frame_max }),
        }
    }

    /// What came of a frame that is not whole.
    pub(crate) fn part(&self) -> Option<Part> {
        let of = self.size().ok().flatten().map(|size| PREFIX + size);
        (!self.buffer.is_empty()).then_some(Part { came: self.buffer.len(), of })
    }

    /// Bytes that the frame at the front still lacks, if its size is known and right.
    fn missing(&self) -> Option<usize> {
        let size = self.size().ok().flatten()?;
        Some((PREFIX + size).saturating_sub(self.buffer.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(input: &mut Input, bytes: &[u8]) {
        input.room().extend_from_slice(bytes);
        input.filled(bytes.len());
    }

    #[test]
    fn frames_come_out_whole_however_the_bytes_come_in() {
        let stream = [0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 1, 9];
        for cut in 0..stream.len() {
            let mut input = Input::new(100);
            feed(&mut input, &stream[..cut]);
            let mut frames = Vec::new();
            frames.extend(input.frame().unwrap());
            feed(&mut input, &stream[cut..]);
            while let Some(frame) = input.frame().unwrap() {
                frames.push(frame);
            }
            assert_eq!(frames, [Bytes::from_static(&[1, 2, 3]), Bytes::from_static(&[9])], "cut at {cut}");
        }
    }

    #[test]
    fn sizes_outside_the_limit_are_refused_before_their_bytes_come() {
        for (size, fits) in [(-1, false), (0, false), (1, true), (100, true), (101, false), (i32::MAX, false)]
        {
            let mut input = Input::new(100);
            feed(&mut input, &i32::to_be_bytes(size));
            assert_eq!(input.frame().is_ok(), fits, "size {size}");
        }
    }

    #[test]
    fn a_part_of_a_frame_is_told() {
        let mut input = Input::new(100);
        assert_eq!(input.part(), None);
        feed(&mut input, &[0, 0]);
        assert_eq!(input.part(), Some(Part { came: 2, of: None }));
        feed(&mut input, &[0, 9, 1]);
        let part = input.part().unwrap();
        assert_eq!(part.to_string(), "in the middle of a frame, after 5 of 13 bytes");
    }

    #[test]
    fn a_size_alone_claims_little_memory() {
        let mut input = Input::new(100 * 1024 * 1024);
        feed(&mut input, &i32::to_be_bytes(100 * 1024 * 1024));
        assert!(input.room().capacity() <= 2 * ROOM_AT_ONCE_MAX);
    }

    #[test]
    fn a_resting_connection_gives_its_buffer_back() {
        let mut input = Input::new(1024 * 1024);
        feed(&mut input, &i32::to_be_bytes(500_000));
        feed(&mut input, &vec![7; 500_000]);
        assert_eq!(input.frame().unwrap().map(|it| it.len()), Some(500_000));
        input.rest();
        assert_eq!(input.buffer.capacity(), 0);
    }
}
