//! `Reader`: a cursor over the bytes of a frame, checked at every step, for the walk by the tables and for headers.
//! (What is generated reads with [`Cursor`](crate::Cursor).)
//!
//! All functions return the kind of the error only. The cursor stands still when a function fails, so the position
//! is the offset of what was refused. Nothing is allocated on the word of a length: slices share the frame (wire.md
//! 10).

use std::fmt;
use std::ops::Deref;

use bytes::Bytes;

use crate::cursor::Cursor;
use crate::error::DecodeErrorKind as Kind;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::uuid::Uuid;

/// Longest string in bytes, in both length forms (wire.md 6.2).
pub const STRING_MAX: usize = i16::MAX as usize;

type Result<T> = std::result::Result<T, Kind>;

/// A tagged field that the schema does not know (wire.md 7.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawTag {
    pub tag: u32,
    pub data: Bytes,
}

/// The tagged fields of a struct that the schema does not know, ascending. There hardly ever are any, so none takes
/// no more than a pointer; else it is as good as a vector.
#[derive(Clone, Default)]
#[expect(clippy::box_collection, reason = "a vector takes three times as much in every struct")]
pub struct Tags(Option<Box<Vec<RawTag>>>);

impl Tags {
    pub fn push(&mut self, tag: RawTag) {
        self.0.get_or_insert_with(|| Box::new(Vec::with_capacity(1))).push(tag);
    }
}

impl Deref for Tags {
    type Target = [RawTag];

    #[inline]
    fn deref(&self) -> &[RawTag] {
        self.0.as_ref().map_or(&[], |it| it)
    }
}

impl From<Vec<RawTag>> for Tags {
    fn from(tags: Vec<RawTag>) -> Self {
        Self((!tags.is_empty()).then(|| Box::new(tags)))
    }
}

impl PartialEq for Tags {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// A cursor over bytes.
#[derive(Debug, Clone)]
pub struct Reader {
    bytes: Bytes,
    at: usize,
}

macro_rules! fixed {
    ($($name:ident: $ty:ty;)*) => {$(
        /// A big-endian number.
        #[inline]
        pub fn $name(&mut self) -> Result<$ty> {
            self.array().map(<$ty>::from_be_bytes)
        }
    )*};
}

impl Reader {
    #[must_use]
    pub const fn new(bytes: Bytes) -> Self {
        Self { bytes, at: 0 }
    }

    /// The bytes read so far.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// The bytes not yet read.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The rest, as a slice of the same memory.
    #[must_use]
    pub fn rest(&self) -> Bytes {
        self.bytes.slice(self.at..)
    }

    /// The rest, for what is generated.
    #[inline]
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor::new(&self.bytes, self.at)
    }

    pub(crate) const fn seek(&mut self, position: usize) {
        self.at = position;
    }

    fixed! { i8: i8; u8: u8; i16: i16; u16: u16; i32: i32; u32: u32; i64: i64; f64: f64; }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let found = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk).ok_or(Kind::Truncated)?;
        self.at += N;
        Ok(*found)
    }

    /// Zero is false, all else true (wire.md 4).
    #[inline]
    pub fn bool(&mut self) -> Result<bool> {
        self.u8().map(|it| it != 0)
    }

    #[inline]
    pub fn uuid(&mut self) -> Result<Uuid> {
        self.array().map(Uuid)
    }

    #[inline]
    pub fn error_code(&mut self) -> Result<ErrorCode> {
        self.i16().map(ErrorCode)
    }

    /// An unsigned varint of 32 bits. Non-minimal forms are accepted, bits beyond 32 are not (wire.md 5).
    #[inline]
    pub fn uvarint(&mut self) -> Result<u32> {
        match self.bytes.get(self.at) {
            Some(byte) if *byte < 0x80 => {
                self.at += 1;
                Ok(u32::from(*byte))
            }
            Some(_) | None => self.long_uvarint(),
        }
    }

    fn long_uvarint(&mut self) -> Result<u32> {
        let mut value = 0u64;
        for i in 0..5 {
            let byte = *self.bytes.get(self.at + i).ok_or(Kind::Truncated)?;
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                let value = u32::try_from(value).map_err(|_| Kind::BadVarint)?;
                self.at += i + 1;
                return Ok(value);
            }
        }
        Err(Kind::BadVarint)
    }

    /// The next `length` bytes, as a slice of the frame.
    #[inline]
    pub fn slice(&mut self, length: usize) -> Result<Bytes> {
        if length > self.remaining() {
            return Err(Kind::Truncated);
        }
        let slice = self.bytes.slice(self.at..self.at + length);
        self.at += length;
        Ok(slice)
    }

    /// A compact length: the number minus one, null for 0.
    #[inline]
    fn compact_length(&mut self) -> Result<Option<usize>> {
        let start = self.at;
        match self.uvarint()? {
            0 => Ok(None),
            n if n > i32::MAX as u32 => self.refuse(start, Kind::BadLength),
            n => Ok(Some(n as usize - 1)),
        }
    }

    fn refuse<T>(&mut self, start: usize, kind: Kind) -> Result<T> {
        self.at = start;
        Err(kind)
    }

    #[inline]
    fn length(&mut self, flex: bool) -> Result<Option<usize>> {
        if flex {
            return self.compact_length();
        }
        let start = self.at;
        match self.i32()? {
            -1 => Ok(None),
            n => usize::try_from(n).map(Some).or_else(|_| self.refuse(start, Kind::BadLength)),
        }
    }

    #[inline]
    fn string_length(&mut self, flex: bool) -> Result<Option<usize>> {
        let start = self.at;
        let length = if flex {
            self.compact_length()?
        } else {
            match self.i16()? {
                -1 => None,
                n => Some(usize::try_from(n).or_else(|_| self.refuse(start, Kind::BadLength))?),
            }
        };
        match length {
            Some(n) if n > STRING_MAX => self.refuse(start, Kind::StringTooLong),
            it => Ok(it),
        }
    }

    /// Reads `length` bytes after a length that began at `start`.
    #[inline]
    fn content(&mut self, start: usize, length: usize) -> Result<Bytes> {
        if length > self.remaining() {
            return self.refuse(start, Kind::Truncated);
        }
        self.slice(length)
    }

    #[inline]
    pub fn nullable_str(&mut self, flex: bool) -> Result<Option<Str>> {
        let start = self.at;
        let Some(length) = self.string_length(flex)? else { return Ok(None) };
        self.content(start, length).map(|it| Some(Str::from_bytes(it)))
    }

    #[inline]
    pub fn str(&mut self, flex: bool) -> Result<Str> {
        let start = self.at;
        match self.nullable_str(flex)? {
            Some(it) => Ok(it),
            None => self.refuse(start, Kind::Null),
        }
    }

    #[inline]
    pub fn nullable_bytes(&mut self, flex: bool) -> Result<Option<Bytes>> {
        let start = self.at;
        let Some(length) = self.length(flex)? else { return Ok(None) };
        self.content(start, length).map(Some)
    }

    #[inline]
    pub fn bytes(&mut self, flex: bool) -> Result<Bytes> {
        let start = self.at;
        match self.nullable_bytes(flex)? {
            Some(it) => Ok(it),
            None => self.refuse(start, Kind::Null),
        }
    }

    /// Whether a nullable struct follows: any negative byte is null (wire.md 6.5).
    #[inline]
    pub fn present(&mut self) -> Result<bool> {
        self.i8().map(|it| it >= 0)
    }

    /// The same in a tagged field, where it is a varint.
    #[inline]
    pub fn tagged_present(&mut self) -> Result<bool> {
        self.uvarint().map(|it| it != 0)
    }

    /// The number of elements of an array, null for none. `min_size` is the least that one element takes: more
    /// elements than fit into the rest are refused before anything is allocated.
    #[inline]
    pub fn nullable_count(&mut self, flex: bool, min_size: usize) -> Result<Option<usize>> {
        let start = self.at;
        match self.length(flex)? {
            Some(n) if n.checked_mul(min_size).is_none_or(|it| it > self.remaining()) => {
                self.refuse(start, Kind::TooManyElements)
            }
            it => Ok(it),
        }
    }

    /// The number of tagged fields; each takes two bytes or more.
    #[inline]
    pub fn tag_count(&mut self) -> Result<usize> {
        let start = self.at;
        let count = self.uvarint()? as usize;
        if count > self.remaining() / 2 { self.refuse(start, Kind::TooManyElements) } else { Ok(count) }
    }

    /// A tag, which must be above the last one, and where its value ends.
    pub fn tag(&mut self, last: &mut Option<u32>) -> Result<(u32, usize)> {
        let start = self.at;
        let tag = self.uvarint()?;
        if last.is_some_and(|last| tag <= last) {
            return self.refuse(start, Kind::TagOrder);
        }
        *last = Some(tag);
        let start = self.at;
        let size = self.uvarint()? as usize;
        if size > self.remaining() { self.refuse(start, Kind::Truncated) } else { Ok((tag, self.at + size)) }
    }

    /// A known tagged field must take exactly its size (wire.md 7.8).
    #[inline]
    pub fn end_tag(&self, end: usize) -> Result<()> {
        if self.at == end { Ok(()) } else { Err(Kind::TagSize) }
    }

    /// The bytes of an unknown tagged field.
    pub fn raw_tag(&mut self, tag: u32, end: usize) -> Result<RawTag> {
        let length = end.checked_sub(self.at).ok_or(Kind::TagSize)?;
        Ok(RawTag { tag, data: self.slice(length)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &'static [u8]) -> Reader {
        Reader::new(Bytes::from_static(bytes))
    }

    /// wire.md 5: examples, limits, non-minimal forms.
    #[test]
    fn uvarint() {
        for (bytes, value) in [
            (b"\x00".as_slice(), Ok(0)),
            (b"\x7f", Ok(127)),
            (b"\x80\x01", Ok(128)),
            (b"\xac\x02", Ok(300)),
            (b"\xff\xff\xff\xff\x0f", Ok(u32::MAX)),
            (b"\x81\x80\x80\x80\x00", Ok(1)),
            (b"\xff\xff\xff\xff\x7f", Err(Kind::BadVarint)),
            (b"\x80\x80\x80\x80\x80\x00", Err(Kind::BadVarint)),
            (b"\x80", Err(Kind::Truncated)),
            (b"", Err(Kind::Truncated)),
        ] {
            assert_eq!(reader(bytes).uvarint(), value, "{bytes:?}");
        }
    }

    /// wire.md 5.6, 6.2, 10: lengths that no value has.
    #[test]
    fn lengths() {
        assert_eq!(reader(b"\xff\xff\xff\xff\x0f").bytes(true), Err(Kind::BadLength));
        assert_eq!(reader(b"\x00\x00").str(true), Err(Kind::Null));
        assert_eq!(reader(b"\xff\xfe").str(false), Err(Kind::BadLength));
        assert_eq!(reader(b"\x81\x80\x02").str(true), Err(Kind::StringTooLong));
        assert_eq!(reader(b"\x00\x00\x00\x05abcd").bytes(false), Err(Kind::Truncated));
        assert_eq!(reader(b"\x00\x00\x00\x03abc").nullable_count(false, 2), Err(Kind::TooManyElements));
        assert_eq!(reader(b"\x7f\xff\xff\xffabc").nullable_count(false, 1), Err(Kind::TooManyElements));
    }

    /// A failed step leaves the cursor where the refused value begins.
    #[test]
    fn position_of_failure() {
        let mut reader = reader(b"\x01\x00\x05ab");
        assert_eq!(reader.u8(), Ok(1));
        assert_eq!(reader.str(false), Err(Kind::Truncated));
        assert_eq!(reader.position(), 1);
    }
}
