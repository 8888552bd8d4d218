//! What the generated `write` stands on: it fills room that was measured before, from the front to the end.
//!
//! Every function takes what is left of the room and gives back what is left then, so that it stays in registers.
//! Fields of fixed size that stand in a row are one run, with one look at whether there is room.

use bytes::Bytes;

use crate::broker_ids::{BrokerIds, FEW_MAX};
use crate::chunk::{Chunk, Piece, Records};
use crate::cursor::Value;
use crate::read::RawTag;
use crate::str::{SHORT_MAX, Str};
use crate::write::SPLICE_MIN;

/// Chunks that are not copied, and how much room was left where they belong.
pub type Splices = Vec<(usize, Chunk)>;

#[cold]
#[inline(never)]
pub(crate) fn wrong_size() -> ! {
    panic!("the room for a message is the size that was measured");
}

/// The next room, of a size that is known.
#[inline]
pub fn run<const N: usize>(out: &mut [u8]) -> (&mut [u8; N], &mut [u8]) {
    out.split_first_chunk_mut().unwrap_or_else(|| wrong_size())
}

/// Writes one field of a run. All numbers are known when this is compiled.
#[inline]
pub fn part<const AT: usize, const N: usize, const RUN: usize>(run: &mut [u8; RUN], field: [u8; N]) {
    if let Some(place) = run.get_mut(AT..).and_then(<[u8]>::first_chunk_mut) {
        *place = field;
    }
}

#[inline]
pub(crate) fn room(out: &mut [u8], length: usize) -> (&mut [u8], &mut [u8]) {
    out.split_at_mut_checked(length).unwrap_or_else(|| wrong_size())
}

/// Bytes without a length.
#[inline]
pub fn raw<'a>(out: &'a mut [u8], it: &[u8]) -> &'a mut [u8] {
    let (place, out) = room(out, it.len());
    // This becomes a call of `memcpy`, where `copy_from_slice` is a call of a function that calls it.
    place.iter_mut().zip(it).for_each(|(place, it)| *place = *it);
    out
}

/// A field of fixed size.
#[inline]
pub fn fixed<const N: usize>(out: &mut [u8], it: [u8; N]) -> &mut [u8] {
    let (place, out) = run(out);
    *place = it;
    out
}

#[expect(clippy::cast_possible_truncation, reason = "seven bits fit, and an eighth is set")]
#[inline]
pub fn uvarint(out: &mut [u8], n: usize) -> &mut [u8] {
    match n {
        0..0x80 => fixed(out, [n as u8]),
        0x80..0x4000 => fixed(out, [n as u8 | 0x80, (n >> 7) as u8]),
        _ => long_uvarint(out, n),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "seven bits fit")]
fn long_uvarint(mut out: &mut [u8], mut n: usize) -> &mut [u8] {
    while n > 0x7f {
        out = fixed(out, [(n & 0x7f) as u8 | 0x80]);
        n >>= 7;
    }
    fixed(out, [n as u8])
}

#[inline]
pub fn count(out: &mut [u8], count: usize, flex: bool) -> &mut [u8] {
    if flex {
        return uvarint(out, count + 1);
    }
    fixed(out, i32::try_from(count).unwrap_or(i32::MAX).to_be_bytes())
}

#[expect(clippy::cast_possible_truncation, reason = "a short length fits")]
pub fn str<'a>(out: &'a mut [u8], it: &Str, flex: bool) -> &'a mut [u8] {
    // A copy of a size that is known does not call anything. What it writes too much is written over.
    match it.short() {
        Some((bytes, length)) if flex && out.len() > SHORT_MAX => {
            let (place, _) = run::<{ 1 + SHORT_MAX }>(out);
            let [first, rest @ ..] = place;
            *first = length as u8 + 1;
            *rest = *bytes;
            room(out, 1 + length).1
        }
        _ => long_str(out, it.as_bytes(), flex),
    }
}

fn long_str<'a>(out: &'a mut [u8], it: &[u8], flex: bool) -> &'a mut [u8] {
    let out = if flex {
        uvarint(out, it.len() + 1)
    } else {
        fixed(out, i16::try_from(it.len()).unwrap_or(i16::MAX).to_be_bytes())
    };
    raw(out, it)
}

/// An array of values that are no structs.
#[inline]
pub fn values<'a, T: Value>(out: &'a mut [u8], list: &[T], flex: bool) -> &'a mut [u8] {
    T::write(list, count(out, list.len(), flex), flex)
}

/// An array of ids of brokers.
#[inline]
pub fn broker_ids<'a>(out: &'a mut [u8], it: &BrokerIds, flex: bool) -> &'a mut [u8] {
    let out = count(out, it.len(), flex);
    if let Some((ids, length)) = it.few()
        && let Some(room) = out.first_chunk_mut::<{ 4 * FEW_MAX }>()
    {
        // As with short strings: what this writes too much is written over.
        for (place, id) in room.as_chunks_mut().0.iter_mut().zip(ids) {
            *place = id.to_be_bytes();
        }
        return self::room(out, 4 * length).1;
    }
    Value::write(it, out, flex)
}

pub fn bytes<'a>(out: &'a mut [u8], it: &Bytes, flex: bool, splices: &mut Splices) -> &'a mut [u8] {
    piece(count(out, it.len(), flex), it, splices)
}

#[inline]
pub fn records<'a>(out: &'a mut [u8], it: &Records, flex: bool, splices: &mut Splices) -> &'a mut [u8] {
    match it.one() {
        Some(it) => bytes(out, it, flex, splices),
        None => pieces(count(out, it.len(), flex), it, splices),
    }
}

#[inline]
fn piece<'a>(out: &'a mut [u8], it: &Bytes, splices: &mut Splices) -> &'a mut [u8] {
    if it.len() < SPLICE_MIN { raw(out, it) } else { shared(out, it, splices) }
}

fn pieces<'a>(out: &'a mut [u8], it: &Records, splices: &mut Splices) -> &'a mut [u8] {
    let mut out = Some(out);
    it.for_each(|it| {
        out = out.take().map(|out| match it {
            Piece::Bytes(bytes) => piece(out, bytes, splices),
            Piece::Hole { id, length } => spliced(out, Chunk::Hole { id, length }, splices),
        });
    });
    out.unwrap_or_default()
}

/// Not inlined, so that what copies needs no room for a chunk.
#[inline(never)]
fn shared<'a>(out: &'a mut [u8], it: &Bytes, splices: &mut Splices) -> &'a mut [u8] {
    spliced(out, Chunk::Bytes(it.clone()), splices)
}

#[inline]
fn spliced<'a>(out: &'a mut [u8], chunk: Chunk, splices: &mut Splices) -> &'a mut [u8] {
    splices.push((out.len(), chunk));
    out
}

#[inline]
pub fn null_short(out: &mut [u8], flex: bool) -> &mut [u8] {
    if flex { fixed(out, [0]) } else { fixed(out, [0xff; 2]) }
}

#[inline]
pub fn null_long(out: &mut [u8], flex: bool) -> &mut [u8] {
    if flex { fixed(out, [0]) } else { fixed(out, [0xff; 4]) }
}

#[inline]
pub fn null_struct(out: &mut [u8], tagged: bool) -> &mut [u8] {
    fixed(out, [if tagged { 0 } else { 0xff }])
}

/// What stands before a struct that could be null.
#[inline]
pub fn present(out: &mut [u8], _tagged: bool) -> &mut [u8] {
    fixed(out, [1])
}

/// Tag and size of a tagged field; its value follows.
#[inline]
pub fn tag(out: &mut [u8], tag: usize, size: usize) -> &mut [u8] {
    uvarint(uvarint(out, tag), size)
}

/// The tag section of a struct in which no tag is known.
#[inline]
pub fn tags<'a>(out: &'a mut [u8], unknown: &[RawTag]) -> &'a mut [u8] {
    if unknown.is_empty() { fixed(out, [0]) } else { some_tags(out, unknown) }
}

#[cold]
#[inline(never)]
fn some_tags<'a>(out: &'a mut [u8], unknown: &[RawTag]) -> &'a mut [u8] {
    unknown_tags(uvarint(out, unknown.len()), unknown)
}

#[inline(never)]
pub fn unknown_tags<'a>(out: &'a mut [u8], unknown: &[RawTag]) -> &'a mut [u8] {
    unknown.iter().fold(out, |out, it| raw(tag(out, it.tag as usize, it.data.len()), &it.data))
}
