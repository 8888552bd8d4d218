//! Building batches: for coordinators, the client, tests, and where a broker must pack records anew.

use bytes::{BufMut, Bytes, BytesMut};

use super::block::{Header, Record};
use super::compress::{self, Codec};
use super::header::{Attributes, BatchHeader, HEADER_LEN, TimestampType};

/// Builds one batch. Records get offset deltas 0, 1, 2 … unless they bring their own offsets.
///
/// ```
/// use wire::batch::BatchBuilder;
/// let bytes = BatchBuilder::new().timestamp(1_000).push(None, Some(b"hi")).build();
/// assert_eq!(bytes.len(), 70);
/// ```
#[derive(Debug, Clone)]
pub struct BatchBuilder {
    header: BatchHeader,
    codec: Codec,
    level: Option<i32>,
    /// Timestamp of the records that are pushed next.
    timestamp: i64,
    /// Whether the base timestamp stands (set by the first record, or by a delete horizon).
    based: bool,
    /// Room for the header, then the plain records.
    out: BytesMut,
    /// Body of the record that is being written: its length stands before it.
    scratch: BytesMut,
}

impl Default for BatchBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl BatchBuilder {
    /// A plain batch without producer, at offset 0, with no leader epoch.
    #[must_use]
    pub fn new() -> Self {
        let header = BatchHeader {
            base_offset: 0,
            batch_length: 0,
            partition_leader_epoch: -1,
            crc: 0,
            attributes: Attributes::default(),
            last_offset_delta: -1,
            base_timestamp: -1,
            max_timestamp: -1,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            record_count: 0,
        };
        let mut out = BytesMut::with_capacity(512);
        out.put_bytes(0, HEADER_LEN);
        Self {
            header,
            codec: Codec::None,
            level: None,
            timestamp: -1,
            based: false,
            out,
            scratch: BytesMut::new(),
        }
    }

    /// An empty batch with another's offsets, producer, flags and codec: for packing its records anew.
    #[must_use]
    pub fn like(other: &BatchHeader) -> Self {
        let mut new = Self::new();
        new.codec = other.attributes.codec().unwrap_or_default();
        new.header = BatchHeader { max_timestamp: -1, record_count: 0, last_offset_delta: -1, ..*other };
        new.header.attributes = other.attributes.with_delete_horizon(false);
        new
    }

    /// Offset of the first record.
    #[must_use]
    pub fn base_offset(mut self, offset: i64) -> Self {
        self.header.base_offset = offset;
        self
    }

    /// Leader epoch; −1 unless set.
    #[must_use]
    pub fn leader_epoch(mut self, epoch: i32) -> Self {
        self.header.partition_leader_epoch = epoch;
        self
    }

    /// Producer id, epoch and sequence of the first record.
    #[must_use]
    pub fn producer(mut self, id: i64, epoch: i16, base_sequence: i32) -> Self {
        self.header.producer_id = id;
        self.header.producer_epoch = epoch;
        self.header.base_sequence = base_sequence;
        self
    }

    /// Marks the batch as part of a transaction.
    #[must_use]
    pub fn transactional(mut self) -> Self {
        self.header.attributes = self.header.attributes.with_transactional(true);
        self
    }

    /// Marks the batch as a control batch.
    #[must_use]
    pub fn control(mut self) -> Self {
        self.header.attributes = self.header.attributes.with_control(true);
        self
    }

    /// Compresses with the codec's default level.
    #[must_use]
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// Level of the codec, where it has levels.
    #[must_use]
    pub fn level(mut self, level: Option<i32>) -> Self {
        self.level = level;
        self
    }

    /// Who sets the timestamps. With LogAppendTime the largest pushed one counts for all records.
    #[must_use]
    pub fn timestamp_type(mut self, to: TimestampType) -> Self {
        self.header.attributes = self.header.attributes.with_timestamp_type(to);
        self
    }

    /// Sets the delete horizon (KIP-534): it takes the place of the base timestamp. Before the first record.
    #[must_use]
    pub fn delete_horizon(mut self, horizon: i64) -> Self {
        self.header.attributes = self.header.attributes.with_delete_horizon(true);
        self.header.base_timestamp = horizon;
        self.based = true;
        self
    }

    /// Timestamp of the records that follow.
    #[must_use]
    pub fn timestamp(mut self, timestamp: i64) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// Adds a record without headers.
    #[must_use]
    pub fn push(mut self, key: Option<&[u8]>, value: Option<&[u8]>) -> Self {
        let timestamp = self.timestamp;
        self.add(timestamp, key, value, &[]);
        self
    }

    /// Adds a record with headers.
    #[must_use]
    pub fn push_with_headers(mut self, key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header]) -> Self {
        let timestamp = self.timestamp;
        self.add(timestamp, key, value, headers);
        self
    }

    /// Adds a record with the next offset: `push` for loops.
    pub fn add(&mut self, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header]) {
        let delta = self.header.last_offset_delta + 1;
        self.write(delta, timestamp, key, value, headers);
    }

    /// Adds a record as it was read, with its own offset, which must not be below the base offset.
    pub fn add_record(&mut self, record: &Record) {
        let delta = record.offset.saturating_sub(self.header.base_offset);
        let delta = i32::try_from(delta).expect("a batch spans less than 2^31 offsets");
        self.write(delta, record.timestamp, record.key.as_deref(), record.value.as_deref(), &record.headers);
    }

    /// The last offset delta, where records after the last one were removed (compaction).
    #[must_use]
    pub fn last_offset_delta(mut self, delta: i32) -> Self {
        self.header.last_offset_delta = delta;
        self
    }

    /// The largest timestamp, where its record was removed (compaction).
    #[must_use]
    pub fn max_timestamp(mut self, timestamp: i64) -> Self {
        self.header.max_timestamp = timestamp;
        self
    }

    /// Records so far.
    #[must_use]
    pub fn count(&self) -> i32 {
        self.header.record_count
    }

    /// Bytes of the batch so far, before compression.
    #[must_use]
    pub fn size(&self) -> usize {
        self.out.len()
    }

    /// The finished batch.
    #[must_use]
    pub fn build(mut self) -> Bytes {
        // A batch that has lost all its records is never compressed: readers take an empty block for an error.
        if self.codec != Codec::None && self.header.record_count > 0 {
            let packed =
                compress::compress(self.codec, self.level, self.out.get(HEADER_LEN..).unwrap_or_default());
            self.out.truncate(HEADER_LEN);
            self.out.put_slice(&packed);
            self.header.attributes = self.header.attributes.with_codec(self.codec);
        } else {
            self.header.attributes = self.header.attributes.with_codec(Codec::None);
        }
        let length = self.out.len() - 12;
        self.header.batch_length = i32::try_from(length).expect("a batch is smaller than 2 GiB");
        self.header.crc = self.header.checksum(self.out.get(HEADER_LEN..).unwrap_or_default());
        let head = self.header.encode();
        if let Some(room) = self.out.first_chunk_mut::<HEADER_LEN>() {
            *room = head;
        }
        self.out.freeze()
    }

    fn write(&mut self, delta: i32, at: i64, key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header]) {
        if !self.based {
            self.header.base_timestamp = at;
            self.based = true;
        }
        self.header.last_offset_delta = delta;
        self.header.max_timestamp = self.header.max_timestamp.max(at);
        self.header.record_count += 1;
        let body = &mut self.scratch;
        body.clear();
        body.put_u8(0);
        put_varint(body, at.wrapping_sub(self.header.base_timestamp));
        put_varint(body, i64::from(delta));
        put_nullable(body, key);
        put_nullable(body, value);
        put_length(body, headers.len());
        for header in headers {
            put_nullable(body, Some(&header.key));
            put_nullable(body, header.value.as_deref());
        }
        put_length(&mut self.out, body.len());
        self.out.put_slice(body);
    }
}

fn put_nullable(out: &mut BytesMut, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            put_length(out, bytes.len());
            out.put_slice(bytes);
        }
        None => put_varint(out, -1),
    }
}

fn put_length(out: &mut BytesMut, length: usize) {
    put_varint(out, i64::try_from(length).expect("a record is smaller than 2 GiB"));
}

/// Zigzag, then base 128, lowest bits first. For values that fit both, varint and varlong are the same bytes.
pub(super) fn put_varint(out: &mut BytesMut, value: i64) {
    let mut bits = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while bits > 0x7f {
        out.put_u8(bits.to_le_bytes()[0] | 0x80);
        bits >>= 7;
    }
    out.put_u8(bits.to_le_bytes()[0]);
}
