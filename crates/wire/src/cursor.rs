//! What the generated `read` stands on: a cursor that only goes forward.
//!
//! A value is read to where it stays: the fields of a struct that has its defaults, at its place in its vector. So
//! nothing is moved, and a field that the version lacks is left alone. Fields of fixed size that stand in a row are
//! taken as one run, with one look at what is left.
//!
//! An error is the kind alone, and the cursor may stand anywhere then: `Message::decode` finds path and offset by
//! walking over the same bytes again, with [`Reader`](crate::Reader), which refuses the same bytes for the same
//! reason (`tests/hostile.rs` holds them together). Nothing is allocated on the word of a length alone (wire.md 10).

use bytes::Bytes;

use crate::broker_ids::BrokerIds;
use crate::chunk::Records;
use crate::error::DecodeErrorKind as Kind;
use crate::message::Body;
use crate::read::{RawTag, STRING_MAX, Tags};
use crate::str::Str;
use crate::uuid::Uuid;

/// Elements for which room is made before the first is read, whatever is left to read.
const RESERVE_MIN: usize = 16;
/// Beyond that, bytes of room for each byte that is left to read. Few messages take more, and their vectors grow.
const RESERVE_PER_BYTE: usize = 8;

type Result<T = ()> = std::result::Result<T, Kind>;

/// What is left to read of a frame.
#[derive(Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    frame: &'a Bytes,
}

/// Gives a field a value in place of its default. The default owns nothing, so it needs no code that drops it.
#[inline]
fn set<T>(field: &mut T, value: T) {
    std::mem::forget(std::mem::replace(field, value));
}

/// The bytes of one field in a run. All numbers are known when this is compiled.
#[inline]
#[must_use]
pub fn part<const AT: usize, const N: usize, const RUN: usize>(run: &[u8; RUN]) -> [u8; N] {
    run.get(AT..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) fn new(frame: &'a Bytes, at: usize) -> Self {
        Self { rest: frame.get(at..).unwrap_or_default(), frame }
    }

    /// The number of bytes that were read.
    #[inline]
    pub(crate) const fn position(&self) -> usize {
        self.frame.len() - self.rest.len()
    }

    /// The next bytes, of a number that is known.
    #[inline]
    pub fn run<const N: usize>(&mut self) -> Result<&'a [u8; N]> {
        let (run, rest) = self.rest.split_first_chunk().ok_or(Kind::Truncated)?;
        self.rest = rest;
        Ok(run)
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Kind::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn uvarint(&mut self) -> Result<u32> {
        match self.rest {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.rest = rest;
                Ok(u32::from(*byte))
            }
            _ => self.long_uvarint(),
        }
    }

    fn long_uvarint(&mut self) -> Result<u32> {
        if let [low, high, rest @ ..] = self.rest
            && *high < 0x80
        {
            self.rest = rest;
            return Ok(u32::from(low & 0x7f) | u32::from(*high) << 7);
        }
        let mut value = 0u64;
        for i in 0..5 {
            let (byte, rest) = self.rest.split_first().ok_or(Kind::Truncated)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << (7 * i);
            if *byte < 0x80 {
                return u32::try_from(value).map_err(|_| Kind::BadVarint);
            }
        }
        Err(Kind::BadVarint)
    }

    /// A compact length: the number minus one, nothing for null.
    #[inline]
    fn compact_length(&mut self) -> Result<Option<usize>> {
        match self.uvarint()? {
            n if n > i32::MAX as u32 => Err(Kind::BadLength),
            n => Ok((n as usize).checked_sub(1)),
        }
    }

    #[inline]
    fn length(&mut self, flex: bool) -> Result<Option<usize>> {
        if flex {
            return self.compact_length();
        }
        match i32::from_be_bytes(*self.run()?) {
            -1 => Ok(None),
            n => usize::try_from(n).map(Some).map_err(|_| Kind::BadLength),
        }
    }

    #[inline]
    fn string_length(&mut self, flex: bool) -> Result<Option<usize>> {
        if flex {
            let length = self.compact_length()?;
            return if length > Some(STRING_MAX) { Err(Kind::StringTooLong) } else { Ok(length) };
        }
        match i16::from_be_bytes(*self.run()?) {
            -1 => Ok(None),
            n => usize::try_from(n).map(Some).map_err(|_| Kind::BadLength),
        }
    }

    /// The next bytes, as a slice of the frame.
    #[inline]
    fn slice(&mut self, length: usize) -> Result<Bytes> {
        let at = self.position();
        self.take(length)?;
        Ok(self.frame.slice(at..at + length))
    }

    #[inline]
    fn text(&mut self, length: usize) -> Result<Str> {
        let (at, rest) = (self.position(), self.rest);
        self.take(length)?;
        let short = Str::leading(rest, length);
        Ok(short.unwrap_or_else(|| Str::from_bytes(self.frame.slice(at..at + length))))
    }

    pub fn nullable_str(&mut self, field: &mut Option<Str>, flex: bool) -> Result {
        match self.string_length(flex)? {
            Some(length) => set(field, Some(self.text(length)?)),
            None => set(field, None),
        }
        Ok(())
    }

    pub fn str(&mut self, field: &mut Str, flex: bool) -> Result {
        let length = self.string_length(flex)?.ok_or(Kind::Null)?;
        set(field, self.text(length)?);
        Ok(())
    }

    pub fn nullable_bytes(&mut self, field: &mut Option<Bytes>, flex: bool) -> Result {
        match self.length(flex)? {
            Some(length) => set(field, Some(self.slice(length)?)),
            None => set(field, None),
        }
        Ok(())
    }

    pub fn bytes(&mut self, field: &mut Bytes, flex: bool) -> Result {
        let length = self.length(flex)?.ok_or(Kind::Null)?;
        set(field, self.slice(length)?);
        Ok(())
    }

    pub fn nullable_records(&mut self, field: &mut Option<Records>, flex: bool) -> Result {
        match self.length(flex)? {
            Some(length) => set(field, Some(Records::from(self.slice(length)?))),
            None => set(field, None),
        }
        Ok(())
    }

    pub fn records(&mut self, field: &mut Records, flex: bool) -> Result {
        let length = self.length(flex)?.ok_or(Kind::Null)?;
        set(field, Records::from(self.slice(length)?));
        Ok(())
    }

    /// A struct that may be null. Any negative byte is null (wire.md 6.5); in a tagged field it is a varint.
    #[inline]
    pub fn nullable<T: Body>(&mut self, field: &mut Option<T>, tagged: bool, v: i16) -> Result {
        let present = if tagged { self.uvarint()? != 0 } else { i8::from_be_bytes(*self.run()?) >= 0 };
        set(field, present.then(T::default));
        field.as_mut().map_or(Ok(()), |it| it.read(self, v))
    }

    /// The number of elements of an array, nothing for null. `min_size` is the least that one element takes: more
    /// elements than fit into the rest are refused before anything is allocated.
    #[inline]
    fn count(&mut self, flex: bool, min_size: usize) -> Result<Option<usize>> {
        match self.length(flex)? {
            Some(n) if n.checked_mul(min_size).is_none_or(|it| it > self.rest.len()) => {
                Err(Kind::TooManyElements)
            }
            it => Ok(it),
        }
    }

    /// A vector for elements that are still to be read.
    #[inline]
    fn room<T>(&self, count: usize) -> Vec<T> {
        let backed = self.rest.len() * RESERVE_PER_BYTE / size_of::<T>().max(1);
        Vec::with_capacity(count.min(backed.max(RESERVE_MIN)))
    }

    fn elements<T: Body>(&mut self, list: &mut Vec<T>, count: usize, v: i16) -> Result {
        set(list, self.room(count));
        for _ in 0..count {
            list.push_mut(T::default()).read(self, v)?;
        }
        Ok(())
    }

    /// An array of structs.
    #[inline]
    pub fn list<T: Body>(&mut self, field: &mut Vec<T>, flex: bool, min_size: usize, v: i16) -> Result {
        let count = self.count(flex, min_size)?.ok_or(Kind::Null)?;
        self.elements(field, count, v)
    }

    #[inline]
    pub fn nullable_list<T: Body>(
        &mut self,
        field: &mut Option<Vec<T>>,
        flex: bool,
        min_size: usize,
        v: i16,
    ) -> Result {
        let Some(count) = self.count(flex, min_size)? else {
            set(field, None);
            return Ok(());
        };
        set(field, Some(Vec::new()));
        field.as_mut().map_or(Ok(()), |it| self.elements(it, count, v))
    }

    /// An array of values that are no structs.
    #[inline]
    pub fn values<T: Value>(&mut self, field: &mut Vec<T>, flex: bool) -> Result {
        let count = self.count(flex, T::size(flex))?.ok_or(Kind::Null)?;
        set(field, T::read(self, count, flex)?);
        Ok(())
    }

    #[inline]
    pub fn nullable_values<T: Value>(&mut self, field: &mut Option<Vec<T>>, flex: bool) -> Result {
        match self.count(flex, T::size(flex))? {
            Some(count) => set(field, Some(T::read(self, count, flex)?)),
            None => set(field, None),
        }
        Ok(())
    }

    /// An array of ids of brokers.
    pub fn broker_ids(&mut self, field: &mut BrokerIds, flex: bool) -> Result {
        let count = self.count(flex, 4)?.ok_or(Kind::Null)?;
        set(field, BrokerIds::from_be_bytes(self.take(4 * count)?));
        Ok(())
    }

    pub fn nullable_broker_ids(&mut self, field: &mut Option<BrokerIds>, flex: bool) -> Result {
        match self.count(flex, 4)? {
            Some(count) => set(field, Some(BrokerIds::from_be_bytes(self.take(4 * count)?))),
            None => set(field, None),
        }
        Ok(())
    }

    /// Whether the tag section that follows has tags. It is read if it has none.
    #[inline]
    pub const fn tagged(&mut self) -> bool {
        match self.rest {
            [0, rest @ ..] => {
                self.rest = rest;
                false
            }
            _ => true,
        }
    }

    /// The number of tagged fields; each takes two bytes or more.
    pub fn tag_count(&mut self) -> Result<usize> {
        let count = self.uvarint()? as usize;
        if count > self.rest.len() / 2 { Err(Kind::TooManyElements) } else { Ok(count) }
    }

    /// A tag, which must be above the last one, and what is left behind its value.
    pub fn tag(&mut self, last: &mut Option<u32>) -> Result<(u32, usize)> {
        let tag = self.uvarint()?;
        if last.is_some_and(|last| tag <= last) {
            return Err(Kind::TagOrder);
        }
        *last = Some(tag);
        let size = self.uvarint()? as usize;
        let left = self.rest.len().checked_sub(size).ok_or(Kind::Truncated)?;
        Ok((tag, left))
    }

    /// A known tagged field must take exactly its size (wire.md 7.8).
    pub const fn end_tag(&self, left: usize) -> Result {
        if self.rest.len() == left { Ok(()) } else { Err(Kind::TagSize) }
    }

    /// The bytes of an unknown tagged field.
    pub fn raw_tag(&mut self, tag: u32, left: usize) -> Result<RawTag> {
        let length = self.rest.len().checked_sub(left).ok_or(Kind::TagSize)?;
        Ok(RawTag { tag, data: self.slice(length)? })
    }

    /// A tag section in which no tag is known, and which is not empty.
    pub fn unknown_tags(&mut self, field: &mut Tags) -> Result {
        let (count, mut last) = (self.tag_count()?, None);
        for _ in 0..count {
            let (tag, left) = self.tag(&mut last)?;
            field.push(self.raw_tag(tag, left)?);
        }
        Ok(())
    }
}

/// What arrays can consist of, structs aside.
pub trait Value: Sized {
    /// The size of one, or the least.
    fn size(flex: bool) -> usize;
    /// Reads so many.
    fn read(r: &mut Cursor<'_>, count: usize, flex: bool) -> Result<Vec<Self>>;
    /// Writes all, each `size` long.
    fn write<'a>(list: &[Self], out: &'a mut [u8], flex: bool) -> &'a mut [u8];
}

const fn bool_of([byte]: [u8; 1]) -> bool {
    byte != 0
}

const fn bool_as(it: bool) -> [u8; 1] {
    [it as u8]
}

const fn uuid_as(it: Uuid) -> [u8; 16] {
    it.0
}

macro_rules! fixed {
    ($($ty:ty, $size:literal: $from:expr, $to:expr;)*) => {$(
        impl Value for $ty {
            #[inline]
            fn size(_flex: bool) -> usize {
                $size
            }

            fn read(r: &mut Cursor<'_>, count: usize, _flex: bool) -> Result<Vec<Self>> {
                let all = r.take(count.saturating_mul($size))?;
                Ok(all.as_chunks().0.iter().copied().map($from).collect())
            }

            fn write<'a>(list: &[Self], out: &'a mut [u8], _flex: bool) -> &'a mut [u8] {
                let (all, out) = crate::fill::room(out, list.len() * $size);
                for (room, it) in all.as_chunks_mut().0.iter_mut().zip(list) {
                    *room = $to(*it);
                }
                out
            }
        }
    )*};
}

fixed! {
    bool, 1: bool_of, bool_as;
    i8, 1: i8::from_be_bytes, i8::to_be_bytes;
    i16, 2: i16::from_be_bytes, i16::to_be_bytes;
    u16, 2: u16::from_be_bytes, u16::to_be_bytes;
    i32, 4: i32::from_be_bytes, i32::to_be_bytes;
    u32, 4: u32::from_be_bytes, u32::to_be_bytes;
    i64, 8: i64::from_be_bytes, i64::to_be_bytes;
    f64, 8: f64::from_be_bytes, f64::to_be_bytes;
    Uuid, 16: Uuid, uuid_as;
}

impl Value for Str {
    fn size(flex: bool) -> usize {
        if flex { 1 } else { 2 }
    }

    fn read(r: &mut Cursor<'_>, count: usize, flex: bool) -> Result<Vec<Self>> {
        let mut list = r.room(count);
        for _ in 0..count {
            r.str(list.push_mut(Self::EMPTY), flex)?;
        }
        Ok(list)
    }

    fn write<'a>(list: &[Self], out: &'a mut [u8], flex: bool) -> &'a mut [u8] {
        list.iter().fold(out, |out, it| crate::fill::str(out, it, flex))
    }
}
