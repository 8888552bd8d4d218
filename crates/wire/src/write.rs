//! `Sizer` checks a message and finds its size; `Writer` then writes it into one allocation of that size, and
//! splices large byte fields in without copying them.

use bytes::{BufMut, Bytes, BytesMut};

use crate::chunk::{self, Chunk, Records};
use crate::error::{EncodeError, EncodeErrorKind};
use crate::read::{RawTag, STRING_MAX};
use crate::str::Str;
use crate::uuid::Uuid;

/// Byte fields from this size on become chunks of their own; smaller ones are cheaper to copy.
const SPLICE_MIN: usize = 1024;

type Result = std::result::Result<(), EncodeError>;

const fn uvarint_size(n: usize) -> usize {
    match n {
        0..=0x7f => 1,
        0x80..=0x3fff => 2,
        0x4000..=0x1f_ffff => 3,
        0x20_0000..=0xfff_ffff => 4,
        _ => 5,
    }
}

/// The size of a message, and how much of it is spliced.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sizer {
    total: usize,
    spliced: usize,
}

impl Sizer {
    /// The size of what `measure` measures, which was measured before without error.
    #[inline]
    pub fn of(measure: impl FnOnce(&mut Self) -> Result) -> usize {
        let mut sizer = Self::default();
        // An error would have come up when the whole message was measured, before it is written.
        let _checked_before = measure(&mut sizer);
        sizer.total
    }

    #[must_use]
    pub const fn total(&self) -> usize {
        self.total
    }

    /// What the writer needs room for.
    #[must_use]
    pub const fn inline(&self) -> usize {
        self.total - self.spliced
    }

    #[inline]
    pub const fn fixed(&mut self, size: usize) {
        self.total += size;
    }

    #[inline]
    pub const fn count(&mut self, count: usize, flex: bool) {
        self.total += if flex { uvarint_size(count + 1) } else { 4 };
    }

    #[inline]
    pub fn str(&mut self, it: &Str, flex: bool, field: &str) -> Result {
        let n = it.len();
        if n > STRING_MAX {
            return Err(EncodeError { path: field.to_owned(), kind: EncodeErrorKind::StringTooLong });
        }
        self.total += n + if flex { uvarint_size(n + 1) } else { 2 };
        Ok(())
    }

    #[inline]
    pub const fn bytes(&mut self, it: &Bytes, flex: bool) {
        self.count(it.len(), flex);
        self.total += it.len();
        if it.len() >= SPLICE_MIN {
            self.spliced += it.len();
        }
    }

    #[inline]
    pub fn records(&mut self, it: &Records, flex: bool) {
        self.count(it.len(), flex);
        self.total += it.len();
        it.for_each(|chunk| {
            if spliced(chunk) {
                self.spliced += chunk.len();
            }
        });
    }

    #[inline]
    pub const fn null_short(&mut self, flex: bool) {
        self.total += if flex { 1 } else { 2 };
    }

    #[inline]
    pub const fn null_long(&mut self, flex: bool) {
        self.total += if flex { 1 } else { 4 };
    }

    #[inline]
    pub const fn null_struct(&mut self, _tagged: bool) {
        self.total += 1;
    }

    #[inline]
    pub const fn present(&mut self, _tagged: bool) {
        self.total += 1;
    }

    /// Tag and size of a known tagged field whose value began at `mark`.
    #[inline]
    pub const fn tagged(&mut self, tag: usize, mark: usize) {
        self.total += uvarint_size(tag) + uvarint_size(self.total - mark);
    }

    /// The tag section without the known fields: `known` of `defined` are written.
    ///
    /// # Errors
    /// Unknown tags in a version without tags; tags out of order; a tag that the schema defines.
    #[inline]
    pub fn tags(&mut self, unknown: &[RawTag], flex: bool, known: usize, defined: u32) -> Result {
        if !unknown.is_empty() {
            check_tags(unknown, flex, defined)?;
        }
        if flex {
            self.total += uvarint_size(known + unknown.len());
            for it in unknown {
                self.total += uvarint_size(it.tag as usize) + uvarint_size(it.data.len()) + it.data.len();
            }
        }
        Ok(())
    }
}

#[cold]
fn check_tags(unknown: &[RawTag], flex: bool, defined: u32) -> Result {
    let fail = |kind| Err(EncodeError { path: String::new(), kind });
    let ascending = unknown.windows(2).all(|two| matches!(two, [a, b] if a.tag < b.tag));
    if !flex {
        return fail(EncodeErrorKind::TagsNotInVersion);
    }
    match unknown.first() {
        Some(first) if first.tag < defined || !ascending => fail(EncodeErrorKind::TagOrder),
        Some(_) | None => Ok(()),
    }
}

const fn spliced(chunk: &Chunk) -> bool {
    match chunk {
        Chunk::Bytes(bytes) => bytes.len() >= SPLICE_MIN,
        Chunk::Hole { .. } => true,
    }
}

/// Gathers an encoded message as chunks.
#[derive(Debug, Default)]
pub struct Writer {
    buffer: BytesMut,
    chunks: Vec<Chunk>,
}

macro_rules! fixed {
    ($($name:ident: $ty:ty, $put:ident;)*) => {$(
        /// A big-endian number.
        #[inline]
        pub fn $name(&mut self, it: $ty) {
            self.buffer.$put(it);
        }
    )*};
}

impl Writer {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A writer with room for `bytes` that are not spliced.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self { buffer: BytesMut::with_capacity(bytes), chunks: Vec::new() }
    }

    /// Makes room for `bytes` more that are not spliced.
    pub fn reserve(&mut self, bytes: usize) {
        self.buffer.reserve(bytes);
    }

    /// What was written, in order.
    #[must_use]
    pub fn into_chunks(mut self) -> Vec<Chunk> {
        if !self.buffer.is_empty() {
            self.chunks.push(Chunk::Bytes(self.buffer.freeze()));
        }
        self.chunks
    }

    /// What was written in one piece.
    ///
    /// # Panics
    /// If there is a hole in it.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        if self.chunks.is_empty() { self.buffer.freeze() } else { chunk::join(&self.into_chunks()) }
    }

    fixed! {
        i8: i8, put_i8; u8: u8, put_u8; i16: i16, put_i16; u16: u16, put_u16;
        i32: i32, put_i32; u32: u32, put_u32; i64: i64, put_i64; f64: f64, put_f64;
    }

    #[inline]
    pub fn bool(&mut self, it: bool) {
        self.u8(u8::from(it));
    }

    #[inline]
    pub fn uuid(&mut self, it: Uuid) {
        self.raw(&it.0);
    }

    /// Bytes without a length.
    #[inline]
    pub fn raw(&mut self, it: &[u8]) {
        self.buffer.extend_from_slice(it);
    }

    #[expect(clippy::cast_possible_truncation, reason = "seven bits fit")]
    #[inline]
    pub fn uvarint(&mut self, mut n: usize) {
        while n > 0x7f {
            self.u8((n & 0x7f) as u8 | 0x80);
            n >>= 7;
        }
        self.u8((n & 0x7f) as u8);
    }

    #[inline]
    pub fn count(&mut self, count: usize, flex: bool) {
        if flex {
            self.uvarint(count + 1);
        } else {
            self.i32(i32::try_from(count).unwrap_or(i32::MAX));
        }
    }

    #[inline]
    pub fn str(&mut self, it: &Str, flex: bool) {
        if flex {
            self.uvarint(it.len() + 1);
        } else {
            self.i16(i16::try_from(it.len()).unwrap_or(i16::MAX));
        }
        self.raw(it.as_bytes());
    }

    #[inline]
    pub fn bytes(&mut self, it: &Bytes, flex: bool) {
        self.count(it.len(), flex);
        if it.len() >= SPLICE_MIN { self.splice(Chunk::Bytes(it.clone())) } else { self.raw(it) }
    }

    #[inline]
    pub fn records(&mut self, it: &Records, flex: bool) {
        self.count(it.len(), flex);
        it.for_each(|chunk| match chunk {
            Chunk::Bytes(bytes) if bytes.len() < SPLICE_MIN => self.raw(bytes),
            Chunk::Bytes(_) | Chunk::Hole { .. } => self.splice(chunk.clone()),
        });
    }

    /// Adds a chunk as it is. The rest of the room stays in use for what follows.
    pub fn splice(&mut self, chunk: Chunk) {
        if !self.buffer.is_empty() {
            let before = self.buffer.split().freeze();
            self.chunks.push(Chunk::Bytes(before));
        }
        self.chunks.push(chunk);
    }

    #[inline]
    pub fn null_short(&mut self, flex: bool) {
        if flex { self.u8(0) } else { self.i16(-1) }
    }

    #[inline]
    pub fn null_long(&mut self, flex: bool) {
        if flex { self.u8(0) } else { self.i32(-1) }
    }

    #[inline]
    pub fn null_struct(&mut self, tagged: bool) {
        self.i8(if tagged { 0 } else { -1 });
    }

    #[inline]
    pub fn present(&mut self, _tagged: bool) {
        self.i8(1);
    }

    #[inline]
    pub fn tag_count(&mut self, count: usize) {
        self.uvarint(count);
    }

    /// Tag and size of a tagged field; its value follows.
    #[inline]
    pub fn tag(&mut self, tag: usize, size: usize) {
        self.uvarint(tag);
        self.uvarint(size);
    }

    #[inline]
    pub fn unknown_tags(&mut self, unknown: &[RawTag]) {
        for it in unknown {
            self.tag(it.tag as usize, it.data.len());
            self.raw(&it.data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uvarint_sizes() {
        for n in [0, 1, 127, 128, 300, 16383, 16384, 2_097_151, 2_097_152, 268_435_455, 268_435_456] {
            let mut writer = Writer::new();
            writer.uvarint(n);
            assert_eq!(writer.into_bytes().len(), uvarint_size(n), "{n}");
        }
    }

    /// Large bytes are the caller's memory; small ones are copied.
    #[test]
    fn splices() {
        let large = Bytes::from(vec![7; SPLICE_MIN]);
        let mut writer = Writer::with_capacity(64);
        writer.bytes(&large, false);
        writer.bytes(&Bytes::from_static(b"small"), true);
        let chunks = writer.into_chunks();
        assert!(matches!(&chunks[1], Chunk::Bytes(it) if it.as_ptr() == large.as_ptr()));
        assert_eq!(chunks.len(), 3);
        assert_eq!(chunk::join(&chunks).len(), 4 + SPLICE_MIN + 1 + 5);
    }
}
