//! Walking the batches of a byte string, and the records of a batch (`broker-core` 7.2).

use bytes::{Buf, Bytes};

use super::Invalid;
use super::compress;
use super::header::{BatchHeader, HEADER_LEN, TimestampType, add_sequence, check_magic};

/// What the records of one batch may inflate to where the caller has no limit of its own. `max.message.bytes`
/// bounds the compressed batch, and well-compressible ones are legal, so this is large.
pub const INFLATED_BYTES_MAX: usize = 1 << 30;

/// Bytes that hold base offset and length.
const LENGTH_END: usize = 12;

/// Bytes up to and including the magic, which stands at the same place in every format.
const MAGIC_END: usize = 17;

/// The least length field of any format; below it the bytes are no batch at all.
const LENGTH_MIN: i64 = 14;

/// One batch: its header and all its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The header as fields.
    pub header: BatchHeader,
    /// The batch, header included.
    pub bytes: Bytes,
}

impl Batch {
    /// The bytes after the header: the records, possibly compressed.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        self.bytes.slice(HEADER_LEN.min(self.bytes.len())..)
    }

    /// Compares the checksum.
    pub fn verify(&self) -> Result<(), Invalid> {
        self.header.verify(self.bytes.get(HEADER_LEN..).unwrap_or_default())
    }

    /// The records, inflated to at most `limit` bytes if they are compressed.
    pub fn records_within(&self, limit: usize) -> Result<RecordIter, Invalid> {
        RecordIter::new(&self.header, &self.payload(), limit)
    }

    /// The records, inflated to at most [`INFLATED_BYTES_MAX`] bytes if they are compressed.
    pub fn records(&self) -> Result<RecordIter, Invalid> {
        self.records_within(INFLATED_BYTES_MAX)
    }
}

/// The batches of a byte string, one after the other. It ends at the end, at an incomplete batch (a Fetch may
/// cut the last one), or after an error. Checksums are not looked at.
#[derive(Debug, Clone)]
pub struct Batches {
    rest: Bytes,
    failed: bool,
}

impl Batches {
    /// Starts at the beginning of `bytes`.
    #[must_use]
    pub fn new(bytes: Bytes) -> Self {
        Self { rest: bytes, failed: false }
    }

    /// What has not been walked: after the last batch, the bytes that are none.
    #[must_use]
    pub fn rest(&self) -> &Bytes {
        &self.rest
    }

    fn step(&mut self) -> Result<Option<Batch>, Invalid> {
        let Some(head) = self.rest.first_chunk::<LENGTH_END>() else { return Ok(None) };
        let [_, _, _, _, _, _, _, _, length @ ..] = head;
        let length = i64::from(i32::from_be_bytes(*length));
        if length < LENGTH_MIN {
            return Err(Invalid::Length { length, least: LENGTH_MIN });
        }
        let Some(&magic) = self.rest.get(MAGIC_END - 1) else { return Ok(None) };
        check_magic(magic.cast_signed())?;
        let size = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(LENGTH_END);
        if size > self.rest.len() {
            return Ok(None);
        }
        let bytes = self.rest.slice(..size);
        let header = BatchHeader::parse(&bytes)?;
        self.rest = self.rest.slice(size..);
        Ok(Some(Batch { header, bytes }))
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, Invalid>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        step.transpose()
    }
}

/// All records of all batches of `bytes`, control records left out. It ends at the first error.
pub fn records(bytes: &Bytes) -> impl Iterator<Item = Result<Record, Invalid>> + use<> {
    let data = Batches::new(bytes.clone())
        .filter(|batch| batch.as_ref().map_or(true, |batch| !batch.header.attributes.is_control()));
    let mut failed = false;
    data.flat_map(|batch| match batch.and_then(|batch| batch.records()) {
        Ok(records) => Step::Records(records),
        Err(why) => Step::Failed(Some(why)),
    })
    .take_while(move |record| !std::mem::replace(&mut failed, record.is_err()))
}

/// Either the records of a batch, or the error in their place.
enum Step {
    Records(RecordIter),
    Failed(Option<Invalid>),
}

impl Iterator for Step {
    type Item = Result<Record, Invalid>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Records(records) => records.next(),
            Self::Failed(why) => why.take().map(Err),
        }
    }
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
    header: BatchHeader,
    rest: Bytes,
    left: i32,
}

impl RecordIter {
    /// Starts on the records of a batch, given its header and the bytes after the header.
    pub fn new(header: &BatchHeader, payload: &Bytes, limit: usize) -> Result<Self, Invalid> {
        // A batch that compaction has emptied keeps its codec bits but has no block.
        let codec = if payload.is_empty() { compress::Codec::None } else { header.attributes.codec()? };
        let rest = compress::decompress(codec, payload, limit)?;
        Ok(Self { header: *header, rest, left: header.record_count.max(0) })
    }

    fn step(&mut self) -> Result<Option<Record>, Invalid> {
        if self.left == 0 {
            return if self.rest.is_empty() {
                Ok(None)
            } else {
                Err(Invalid::Record("bytes after the last record"))
            };
        }
        let length = take_length(&mut self.rest)?.ok_or(Invalid::Record("negative record size"))?;
        let mut body = take(&mut self.rest, length)?;
        let record = self.read(&mut body)?;
        if !body.is_empty() {
            return Err(Invalid::Record("record is longer than its fields"));
        }
        self.left -= 1;
        Ok(Some(record))
    }

    fn read(&self, body: &mut Bytes) -> Result<Record, Invalid> {
        if body.is_empty() {
            return Err(Invalid::Record("record is cut short"));
        }
        // One byte of attributes, none of which has a meaning yet.
        body.advance(1);
        let timestamp_delta = take_varint(body, 64)?;
        let offset_delta = take_i32(body)?;
        let key = take_nullable(body)?;
        let value = take_nullable(body)?;
        Ok(Record {
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
            headers: take_headers(body)?,
        })
    }
}

impl Iterator for RecordIter {
    type Item = Result<Record, Invalid>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.left = 0;
            self.rest = Bytes::new();
        }
        step.transpose()
    }
}

fn take_headers(body: &mut Bytes) -> Result<Vec<Header>, Invalid> {
    let count = take_length(body)?.ok_or(Invalid::Record("negative number of headers"))?;
    // Each header takes at least two bytes, so a lying count can't make us allocate much.
    if count > body.len() {
        return Err(Invalid::Record("more headers than bytes"));
    }
    let mut headers = Vec::with_capacity(count.min(body.len() / 2));
    for _ in 0..count {
        let key = take_nullable(body)?.ok_or(Invalid::Record("header key is null"))?;
        headers.push(Header { key, value: take_nullable(body)? });
    }
    Ok(headers)
}

fn take_nullable(body: &mut Bytes) -> Result<Option<Bytes>, Invalid> {
    take_length(body)?.map(|length| take(body, length)).transpose()
}

/// A length; `None` for a negative one.
fn take_length(body: &mut Bytes) -> Result<Option<usize>, Invalid> {
    Ok(usize::try_from(take_i32(body)?).ok())
}

fn take(body: &mut Bytes, length: usize) -> Result<Bytes, Invalid> {
    if length > body.len() {
        return Err(Invalid::Record("field is cut short"));
    }
    Ok(body.split_to(length))
}

fn take_i32(body: &mut Bytes) -> Result<i32, Invalid> {
    i32::try_from(take_varint(body, 32)?).map_err(|_| Invalid::Record("varint is too long"))
}

/// Reads zigzag base 128: at most 5 bytes for 32 bits, 10 for 64.
pub(super) fn take_varint(body: &mut Bytes, bits: u32) -> Result<i64, Invalid> {
    let mut value = 0_u64;
    for (index, shift) in (0..bits).step_by(7).enumerate() {
        let byte = *body.get(index).ok_or(Invalid::Record("varint is cut short"))?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            body.advance(index + 1);
            let value = if bits == 32 { value & u64::from(u32::MAX) } else { value };
            return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
    }
    Err(Invalid::Record("varint is too long"))
}
