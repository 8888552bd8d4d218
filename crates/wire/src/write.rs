//! `Sizer` checks a message and finds its size; `Writer` then has it written into one allocation of that size (see
//! `fill`), and splices large byte fields in without copying them.

use bytes::Bytes;

use crate::chunk::{self, Chunk, Chunks, Piece, Records};
use crate::error::{EncodeError, EncodeErrorKind};
use crate::fill::{self, Splices};
use crate::read::{RawTag, STRING_MAX};
use crate::str::Str;
use crate::uuid::Uuid;

/// Byte fields from this size on become chunks of their own; smaller ones are cheaper to copy.
pub(crate) const SPLICE_MIN: usize = 1024;

/// A refusal. In a box, because so an answer to "does it fit" takes one register, and nearly all do.
pub type Refused = Box<EncodeError>;

/// The size of what was checked. It is handed back rather than added up in one place, so that it stays in registers.
type Result = std::result::Result<usize, Refused>;

/// A field that the version lacks.
#[cold]
#[must_use]
pub fn lost(field: &str, version: i16) -> Refused {
    Box::new(EncodeError::lost(field, version))
}

/// A null that the version does not allow.
#[cold]
#[must_use]
pub fn null(field: &str) -> Refused {
    Box::new(EncodeError::null(field))
}

/// The same refusal, seen from the struct around it.
#[cold]
#[must_use]
#[expect(clippy::boxed_local, reason = "it comes in the box")]
pub fn within(refused: Refused, field: &str, index: Option<usize>) -> Refused {
    Box::new((*refused).within(field, index))
}

#[cold]
fn refused(field: &str, kind: EncodeErrorKind) -> Refused {
    Box::new(EncodeError { path: field.to_owned(), kind })
}

const fn uvarint_size(n: usize) -> usize {
    match n {
        0..=0x7f => 1,
        0x80..=0x3fff => 2,
        0x4000..=0x1f_ffff => 3,
        0x20_0000..=0xfff_ffff => 4,
        _ => 5,
    }
}

/// What an array or byte field has before it.
#[inline]
#[must_use]
pub const fn count(count: usize, flex: bool) -> usize {
    if flex { uvarint_size(count + 1) } else { 4 }
}

/// # Errors
/// It is longer than a string can be.
#[inline]
pub fn str(it: &Str, flex: bool, field: &str) -> Result {
    let n = it.len();
    if n > STRING_MAX {
        return Err(refused(field, EncodeErrorKind::StringTooLong));
    }
    Ok(n + if flex { uvarint_size(n + 1) } else { 2 })
}

#[inline]
#[must_use]
pub const fn null_short(flex: bool) -> usize {
    if flex { 1 } else { 2 }
}

#[inline]
#[must_use]
pub const fn null_long(flex: bool) -> usize {
    if flex { 1 } else { 4 }
}

/// What stands before a known tagged field whose value has this size.
#[inline]
#[must_use]
pub const fn tagged(tag: usize, size: usize) -> usize {
    uvarint_size(tag) + uvarint_size(size)
}

/// What the tag section takes beyond the one byte that it takes if it is empty, without the known fields:
/// `known` of `defined` are written.
///
/// # Errors
/// Unknown tags in a version without tags; tags out of order; a tag that the schema defines.
#[inline]
pub fn tags(unknown: &[RawTag], flex: bool, known: usize, defined: u32) -> Result {
    if known == 0 && unknown.is_empty() { Ok(0) } else { some_tags(unknown, flex, known, defined) }
}

#[cold]
#[inline(never)]
fn some_tags(unknown: &[RawTag], flex: bool, known: usize, defined: u32) -> Result {
    check_tags(unknown, flex, defined)?;
    let raw = unknown.iter().map(|it| tagged(it.tag as usize, it.data.len()) + it.data.len());
    Ok(uvarint_size(known + unknown.len()) - 1 + raw.sum::<usize>())
}

fn check_tags(unknown: &[RawTag], flex: bool, defined: u32) -> std::result::Result<(), Refused> {
    let fail = |kind| Err(refused("", kind));
    let ascending = unknown.windows(2).all(|two| matches!(two, [a, b] if a.tag < b.tag));
    if !flex {
        return fail(EncodeErrorKind::TagsNotInVersion);
    }
    match unknown.first() {
        Some(first) if first.tag < defined || !ascending => fail(EncodeErrorKind::TagOrder),
        Some(_) | None => Ok(()),
    }
}

/// The size of a message, and how much of it is spliced.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sizer {
    pub(crate) total: usize,
    spliced: usize,
    splices: usize,
}

impl Sizer {
    /// The size of what `measure` measures, which was measured before without error.
    #[inline]
    pub fn of(measure: impl FnOnce(&mut Self) -> Result) -> usize {
        // An error would have come up when the whole message was measured, before it is written.
        measure(&mut Self::default()).unwrap_or(0)
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
    pub const fn bytes(&mut self, it: &Bytes, flex: bool) -> usize {
        if it.len() >= SPLICE_MIN {
            self.splice(it.len());
        }
        count(it.len(), flex) + it.len()
    }

    const fn splice(&mut self, length: usize) {
        self.spliced += length;
        self.splices += 1;
    }

    #[inline]
    pub fn records(&mut self, it: &Records, flex: bool) -> usize {
        match it.one() {
            Some(bytes) => self.bytes(bytes, flex),
            None => self.pieces(it, flex),
        }
    }

    #[inline(never)]
    fn pieces(&mut self, it: &Records, flex: bool) -> usize {
        it.for_each(|it| match it {
            Piece::Bytes(bytes) if bytes.len() < SPLICE_MIN => {}
            Piece::Bytes(bytes) => self.splice(bytes.len()),
            Piece::Hole { length, .. } => self.splice(length),
        });
        count(it.len(), flex) + it.len()
    }
}

/// The chunks, with what was copied between those that were not.
fn spliced(mut rest: Bytes, splices: Vec<(usize, Chunk)>) -> Chunks {
    let mut chunks = Vec::with_capacity(2 * splices.len() + 1);
    let mut start = 0;
    for (at, chunk) in splices {
        if at > start {
            chunks.push(Chunk::Bytes(rest.split_to(at - start)));
            start = at;
        }
        chunks.push(chunk);
    }
    if !rest.is_empty() {
        chunks.push(Chunk::Bytes(rest));
    }
    Chunks::many(chunks)
}

/// Gathers an encoded message as chunks.
#[derive(Debug, Default)]
pub struct Writer {
    buffer: Vec<u8>,
    /// What is not copied, and where in the buffer it belongs.
    splices: Vec<(usize, Chunk)>,
}

macro_rules! fixed {
    ($($name:ident: $ty:ty;)*) => {$(
        /// A big-endian number.
        #[inline]
        pub fn $name(&mut self, it: $ty) {
            self.buffer.extend_from_slice(&it.to_be_bytes());
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
        Self { buffer: Vec::with_capacity(bytes), splices: Vec::new() }
    }

    /// Makes room for `bytes` more that are not spliced.
    pub fn reserve(&mut self, bytes: usize) {
        self.buffer.reserve_exact(bytes);
    }

    /// What was written, in order.
    #[must_use]
    #[inline]
    pub fn into_chunks(self) -> Chunks {
        let Self { buffer, splices } = self;
        if splices.capacity() > 0 || buffer.is_empty() {
            return spliced(buffer.into(), splices);
        }
        // It owns nothing, so it needs no code that drops it.
        std::mem::forget(splices);
        Chunks::one(Chunk::Bytes(buffer.into()))
    }

    /// What was written in one piece.
    ///
    /// # Panics
    /// If there is a hole in it.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        if self.splices.is_empty() { Bytes::from(self.buffer) } else { chunk::join(&self.into_chunks()) }
    }

    fixed! {
        i8: i8; u8: u8; i16: i16; u16: u16; i32: i32; u32: u32; i64: i64; f64: f64;
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

    /// Writes what was measured.
    #[inline]
    pub(crate) fn fill(&mut self, sizer: &Sizer, write: impl FnOnce(&mut [u8], &mut Splices) -> usize) {
        let (start, inline) = (self.buffer.len(), sizer.inline());
        let end = start + inline;
        if self.buffer.capacity() == 0 {
            // The old one owns nothing, so it needs no code that drops it.
            std::mem::forget(std::mem::replace(&mut self.buffer, Vec::with_capacity(inline)));
        }
        self.buffer.resize(end, 0);
        let before = self.splices.len();
        if sizer.splices > 0 {
            self.splices.reserve_exact(sizer.splices);
        }
        let left = write(self.buffer.get_mut(start..).unwrap_or_default(), &mut self.splices);
        if left > 0 {
            fill::wrong_size();
        }
        if sizer.splices > 0 {
            // The room that was left is now a place in the buffer.
            self.splices.iter_mut().skip(before).for_each(|it| it.0 = end - it.0);
        }
    }

    /// Adds a chunk as it is.
    pub fn splice(&mut self, chunk: Chunk) {
        self.splices.push((self.buffer.len(), chunk));
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
