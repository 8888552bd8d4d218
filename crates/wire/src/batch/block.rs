//! The records of one batch: as values of their own, or looked at in place where there are very many.

use bytes::Bytes;

use super::Invalid;
use super::compress;
use super::header::{BatchHeader, TimestampType, add_sequence};

/// The records of one batch, inflated.
#[derive(Debug, Clone)]
pub struct Block {
    header: BatchHeader,
    bytes: Bytes,
}

/// One record, borrowed from its block: walking takes no memory and counts no references.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    /// Absolute offset.
    pub offset: i64,
    /// Milliseconds; −1 none.
    pub timestamp: i64,
    /// Sequence of the idempotent producer; −1 none.
    pub sequence: i32,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value; null is a tombstone in a compacted topic.
    pub value: Option<&'a [u8]>,
    /// So many, which were looked at already.
    header_count: usize,
    headers: &'a [u8],
    block: &'a Bytes,
}

/// One record. Key and value are slices of the batch; null and empty are different things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Absolute offset.
    pub offset: i64,
    /// Milliseconds; −1 none.
    pub timestamp: i64,
    /// Sequence of the idempotent producer; −1 none.
    pub sequence: i32,
    /// The key.
    pub key: Option<Bytes>,
    /// The value; null is a tombstone in a compacted topic.
    pub value: Option<Bytes>,
    /// Headers in their order; keys may repeat.
    pub headers: Vec<Header>,
}

/// A header of a record. The key is UTF-8 by agreement; nobody checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The key, never null.
    pub key: Bytes,
    /// The value.
    pub value: Option<Bytes>,
}

/// The records of one batch in order. It ends after the last record or the first error.
#[derive(Debug, Clone)]
pub struct RecordIter {
    block: Block,
    cursor: Cursor,
}

/// The same, borrowed.
#[derive(Debug)]
pub struct RecordRefs<'a> {
    block: &'a Block,
    cursor: Cursor,
}

/// Why a record can't be read: what [`Invalid::Record`] says. It fits into registers, as [`Invalid`] does not.
type Part<T> = Result<T, &'static str>;

/// Between two records of a block.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    at: usize,
    left: i32,
}

impl Block {
    /// The block of a batch, given its header and the bytes after the header.
    pub fn new(header: &BatchHeader, payload: &Bytes, limit: usize) -> Result<Self, Invalid> {
        // A batch that compaction has emptied keeps its codec bits but has no block.
        let codec = if payload.is_empty() { compress::Codec::None } else { header.attributes.codec()? };
        let bytes = compress::decompress(codec, payload, limit)?;
        Ok(Self { header: *header, bytes })
    }

    /// The records in order. It ends after the last record or the first error.
    #[must_use]
    pub fn records(&self) -> RecordRefs<'_> {
        RecordRefs { block: self, cursor: self.start() }
    }

    fn start(&self) -> Cursor {
        Cursor { at: 0, left: self.header.record_count.max(0) }
    }

    /// After an error the cursor stands behind all records.
    fn step(&self, cursor: &mut Cursor) -> Result<Option<RecordRef<'_>>, Invalid> {
        let mut rest = self.bytes.get(cursor.at..).unwrap_or_default();
        let record = self.read(&mut rest, cursor.left).map_err(Invalid::Record);
        let ended = !matches!(record, Ok(Some(_)));
        *cursor = if ended {
            Cursor { at: self.bytes.len(), left: 0 }
        } else {
            Cursor { at: self.bytes.len() - rest.len(), left: cursor.left - 1 }
        };
        record
    }

    #[inline]
    fn read<'a>(&'a self, rest: &mut &'a [u8], left: i32) -> Part<Option<RecordRef<'a>>> {
        if left == 0 {
            return if rest.is_empty() { Ok(None) } else { Err("bytes after the last record") };
        }
        let length = take_length(rest)?.ok_or("negative record size")?;
        let mut body = take(rest, length)?;
        // One byte of attributes, none of which has a meaning yet.
        let (_, after) = body.split_first().ok_or("record is cut short")?;
        body = after;
        let timestamp_delta = take_varint(&mut body, 64)?;
        let offset_delta = take_i32(&mut body)?;
        let key = take_nullable(&mut body)?;
        let value = take_nullable(&mut body)?;
        let (header_count, headers) = take_headers(&mut body)?;
        if !body.is_empty() {
            return Err("record is longer than its fields");
        }
        Ok(Some(RecordRef {
            offset: self.header.base_offset.wrapping_add(i64::from(offset_delta)),
            timestamp: match self.header.attributes.timestamp_type() {
                TimestampType::CreateTime => self.header.base_timestamp.wrapping_add(timestamp_delta),
                TimestampType::LogAppendTime => self.header.max_timestamp,
            },
            sequence: match self.header.base_sequence {
                ..0 => -1,
                base => add_sequence(base, offset_delta),
            },
            key,
            value,
            header_count,
            headers,
            block: &self.bytes,
        }))
    }
}

impl<'a> Iterator for RecordRefs<'a> {
    type Item = Result<RecordRef<'a>, Invalid>;

    fn next(&mut self) -> Option<Self::Item> {
        self.block.step(&mut self.cursor).transpose()
    }
}

impl RecordRef<'_> {
    /// The key as a slice of the batch.
    #[must_use]
    pub fn key_bytes(&self) -> Option<Bytes> {
        self.key.map(|it| self.block.slice_ref(it))
    }

    /// The value as a slice of the batch.
    #[must_use]
    pub fn value_bytes(&self) -> Option<Bytes> {
        self.value.map(|it| self.block.slice_ref(it))
    }

    /// The record as a value of its own, which keeps the batch in memory.
    #[must_use]
    pub fn to_record(&self) -> Record {
        Record {
            offset: self.offset,
            timestamp: self.timestamp,
            sequence: self.sequence,
            key: self.key_bytes(),
            value: self.value_bytes(),
            headers: self.headers(),
        }
    }

    fn headers(&self) -> Vec<Header> {
        let mut rest = self.headers;
        let mut headers = Vec::with_capacity(self.header_count);
        for _ in 0..self.header_count {
            // They were read once without an error.
            let Ok((key, value)) = take_header(&mut rest) else { break };
            let value = value.map(|it| self.block.slice_ref(it));
            headers.push(Header { key: self.block.slice_ref(key), value });
        }
        headers
    }
}

impl RecordIter {
    /// Starts on the records of a batch, given its header and the bytes after the header.
    pub fn new(header: &BatchHeader, payload: &Bytes, limit: usize) -> Result<Self, Invalid> {
        let block = Block::new(header, payload, limit)?;
        Ok(Self { cursor: block.start(), block })
    }
}

impl Iterator for RecordIter {
    type Item = Result<Record, Invalid>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.block.step(&mut self.cursor).transpose()?;
        Some(record.map(|it| it.to_record()))
    }
}

/// How many headers, and their bytes.
#[inline]
fn take_headers<'a>(body: &mut &'a [u8]) -> Part<(usize, &'a [u8])> {
    if let [0, rest @ ..] = *body {
        *body = rest;
        return Ok((0, rest));
    }
    take_some_headers(body)
}

#[inline(never)]
fn take_some_headers<'a>(body: &mut &'a [u8]) -> Part<(usize, &'a [u8])> {
    let count = take_length(body)?.ok_or("negative number of headers")?;
    // Each header takes at least two bytes, so a lying count can't make us allocate much.
    if count > body.len() {
        return Err("more headers than bytes");
    }
    let all = *body;
    for _ in 0..count {
        take_header(body)?;
    }
    Ok((count, all))
}

/// Key and value of a header.
fn take_header<'a>(body: &mut &'a [u8]) -> Part<(&'a [u8], Option<&'a [u8]>)> {
    let key = take_nullable(body)?.ok_or("header key is null")?;
    Ok((key, take_nullable(body)?))
}

#[inline]
fn take_nullable<'a>(body: &mut &'a [u8]) -> Part<Option<&'a [u8]>> {
    take_length(body)?.map(|length| take(body, length)).transpose()
}

/// A length; `None` for a negative one.
#[inline]
fn take_length(body: &mut &[u8]) -> Part<Option<usize>> {
    Ok(usize::try_from(take_i32(body)?).ok())
}

#[inline]
fn take<'a>(body: &mut &'a [u8], length: usize) -> Part<&'a [u8]> {
    let (taken, rest) = body.split_at_checked(length).ok_or("field is cut short")?;
    *body = rest;
    Ok(taken)
}

#[inline]
fn take_i32(body: &mut &[u8]) -> Part<i32> {
    i32::try_from(take_varint(body, 32)?).map_err(|_| "varint is too long")
}

/// Reads zigzag base 128: at most 5 bytes for 32 bits, 10 for 64.
#[inline]
pub(super) fn take_varint(body: &mut &[u8], bits: u32) -> Part<i64> {
    match *body {
        [byte, rest @ ..] if *byte < 0x80 => {
            *body = rest;
            Ok(unfolded(u64::from(*byte)))
        }
        // Most records are longer than one byte tells, and none much longer.
        [low, high, rest @ ..] if *high < 0x80 => {
            *body = rest;
            Ok(unfolded(u64::from(low & 0x7f) | u64::from(*high) << 7))
        }
        _ => take_long_varint(body, bits),
    }
}

#[cold]
fn take_long_varint(body: &mut &[u8], bits: u32) -> Part<i64> {
    let mut value = 0_u64;
    for (index, shift) in (0..bits).step_by(7).enumerate() {
        let byte = *body.get(index).ok_or("varint is cut short")?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            *body = body.get(index + 1..).unwrap_or_default();
            return Ok(unfolded(if bits == 32 { value & u64::from(u32::MAX) } else { value }));
        }
    }
    Err("varint is too long")
}

fn unfolded(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}
