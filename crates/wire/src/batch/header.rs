//! The 61 bytes at the head of a batch (`broker-core` 7.1).

use super::{Codec, Invalid};

/// Bytes of the header of a batch.
pub const HEADER_LEN: usize = 61;

/// Bytes before what the length field counts: base offset and the field itself.
const LENGTH_OVERHEAD: i32 = 12;

/// The checksum covers everything from here on: neither base offset nor leader epoch.
const CRC_FROM: usize = 21;

/// CRC-32C (Castagnoli) over `parts`, one after the other.
#[must_use]
pub fn crc32c(parts: &[&[u8]]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    for part in parts {
        digest.update(part);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the checksum has 32 bits")]
    let crc = digest.finalize() as u32;
    crc
}

/// Who sets the timestamps of a batch's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer; every record has its own.
    CreateTime,
    /// The broker; every record has the batch's largest.
    LogAppendTime,
}

/// The attribute bits of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes(pub i16);

impl Attributes {
    const CODEC: i16 = 0b111;
    const LOG_APPEND_TIME: i16 = 1 << 3;
    const TRANSACTIONAL: i16 = 1 << 4;
    const CONTROL: i16 = 1 << 5;
    const DELETE_HORIZON: i16 = 1 << 6;

    /// The codec of the records, or `Invalid::Codec` for 5 to 7.
    pub fn codec(self) -> Result<Codec, Invalid> {
        Codec::from_id((self.0 & Self::CODEC).unsigned_abs().to_le_bytes()[0])
    }

    /// Bit 3.
    #[must_use]
    pub fn timestamp_type(self) -> TimestampType {
        if self.has(Self::LOG_APPEND_TIME) { TimestampType::LogAppendTime } else { TimestampType::CreateTime }
    }

    /// Bit 4: the batch belongs to a transaction.
    #[must_use]
    pub fn is_transactional(self) -> bool {
        self.has(Self::TRANSACTIONAL)
    }

    /// Bit 5: the batch holds a control record, which no application sees.
    #[must_use]
    pub fn is_control(self) -> bool {
        self.has(Self::CONTROL)
    }

    /// Bit 6: the base timestamp is the time from which tombstones and markers may go (KIP-534).
    #[must_use]
    pub fn has_delete_horizon(self) -> bool {
        self.has(Self::DELETE_HORIZON)
    }

    /// The same bits with another codec.
    #[must_use]
    pub fn with_codec(self, codec: Codec) -> Self {
        Self((self.0 & !Self::CODEC) | i16::from(codec.id()))
    }

    /// The same bits with another timestamp type.
    #[must_use]
    pub fn with_timestamp_type(self, to: TimestampType) -> Self {
        self.with(Self::LOG_APPEND_TIME, to == TimestampType::LogAppendTime)
    }

    /// The same bits with bit 4 as told.
    #[must_use]
    pub fn with_transactional(self, on: bool) -> Self {
        self.with(Self::TRANSACTIONAL, on)
    }

    /// The same bits with bit 5 as told.
    #[must_use]
    pub fn with_control(self, on: bool) -> Self {
        self.with(Self::CONTROL, on)
    }

    /// The same bits with bit 6 as told.
    #[must_use]
    pub fn with_delete_horizon(self, on: bool) -> Self {
        self.with(Self::DELETE_HORIZON, on)
    }

    fn has(self, bit: i16) -> bool {
        self.0 & bit != 0
    }

    fn with(self, bit: i16, on: bool) -> Self {
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }
}

/// The header of a batch as fields. `encode` gives back the 61 bytes that `parse` took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the batch; record `i` has `base_offset` plus its delta.
    pub base_offset: i64,
    /// Bytes after this field: the size of the batch less 12.
    pub batch_length: i32,
    /// Epoch of the leader that appended the batch; a client's value means nothing.
    pub partition_leader_epoch: i32,
    /// CRC-32C over the bytes from the attributes on.
    pub crc: u32,
    /// Codec and flags.
    pub attributes: Attributes,
    /// Last offset less base offset. After compaction it may exceed the last record's delta.
    pub last_offset_delta: i32,
    /// What the records' deltas count from; **not** the first timestamp if there is a delete horizon.
    pub base_timestamp: i64,
    /// The largest timestamp of the batch.
    pub max_timestamp: i64,
    /// −1: none.
    pub producer_id: i64,
    /// −1: none.
    pub producer_epoch: i16,
    /// −1: none.
    pub base_sequence: i32,
    /// Records that are there, which may be none after compaction.
    pub record_count: i32,
}

impl BatchHeader {
    /// Reads a header. The checksum is not looked at, since it covers the records too: see [`Self::verify`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Invalid> {
        if let Some(&magic) = bytes.get(16) {
            check_magic(magic.cast_signed())?;
        }
        let mut at =
            Cursor { bytes: bytes.first_chunk::<HEADER_LEN>().ok_or_else(|| too_short(bytes))?, at: 0 };
        let base_offset = i64::from_be_bytes(at.take());
        let batch_length = i32::from_be_bytes(at.take());
        let partition_leader_epoch = i32::from_be_bytes(at.take());
        let _magic: [u8; 1] = at.take();
        let header = Self {
            base_offset,
            batch_length,
            partition_leader_epoch,
            crc: u32::from_be_bytes(at.take()),
            attributes: Attributes(i16::from_be_bytes(at.take())),
            last_offset_delta: i32::from_be_bytes(at.take()),
            base_timestamp: i64::from_be_bytes(at.take()),
            max_timestamp: i64::from_be_bytes(at.take()),
            producer_id: i64::from_be_bytes(at.take()),
            producer_epoch: i16::from_be_bytes(at.take()),
            base_sequence: i32::from_be_bytes(at.take()),
            record_count: i32::from_be_bytes(at.take()),
        };
        let least = HEADER_LEN as i64;
        if i64::from(batch_length) + i64::from(LENGTH_OVERHEAD) < least {
            return Err(Invalid::Length {
                length: i64::from(batch_length) + i64::from(LENGTH_OVERHEAD),
                least,
            });
        }
        Ok(header)
    }

    /// The 61 bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        let mut at = 0;
        put(&mut out, &mut at, &self.base_offset.to_be_bytes());
        put(&mut out, &mut at, &self.batch_length.to_be_bytes());
        put(&mut out, &mut at, &self.partition_leader_epoch.to_be_bytes());
        put(&mut out, &mut at, &[2]);
        put(&mut out, &mut at, &self.crc.to_be_bytes());
        put(&mut out, &mut at, &self.attributes.0.to_be_bytes());
        put(&mut out, &mut at, &self.last_offset_delta.to_be_bytes());
        put(&mut out, &mut at, &self.base_timestamp.to_be_bytes());
        put(&mut out, &mut at, &self.max_timestamp.to_be_bytes());
        put(&mut out, &mut at, &self.producer_id.to_be_bytes());
        put(&mut out, &mut at, &self.producer_epoch.to_be_bytes());
        put(&mut out, &mut at, &self.base_sequence.to_be_bytes());
        put(&mut out, &mut at, &self.record_count.to_be_bytes());
        debug_assert_eq!(at, HEADER_LEN);
        out
    }

    /// Writes base offset and leader epoch over an encoded header. The checksum stays right.
    pub fn patch(bytes: &mut [u8; HEADER_LEN], base_offset: i64, leader_epoch: i32) {
        put(bytes, &mut 0, &base_offset.to_be_bytes());
        put(bytes, &mut 12, &leader_epoch.to_be_bytes());
    }

    /// Size of the whole batch in bytes, header included.
    #[must_use]
    pub fn size(&self) -> usize {
        usize::try_from(i64::from(self.batch_length) + i64::from(LENGTH_OVERHEAD)).unwrap_or(HEADER_LEN)
    }

    /// Offset of the last record, or of the last that was there before compaction.
    #[must_use]
    pub fn last_offset(&self) -> i64 {
        self.base_offset.saturating_add(i64::from(self.last_offset_delta))
    }

    /// Offset after the batch.
    #[must_use]
    pub fn next_offset(&self) -> i64 {
        self.last_offset().saturating_add(1)
    }

    /// Whether a producer id is set.
    #[must_use]
    pub fn has_producer(&self) -> bool {
        self.producer_id >= 0
    }

    /// Sequence of the last record (−1 without sequences); wraps from 2,147,483,647 to 0 (`broker-core` 9.2).
    #[must_use]
    pub fn last_sequence(&self) -> i32 {
        if self.base_sequence < 0 { -1 } else { add_sequence(self.base_sequence, self.last_offset_delta) }
    }

    /// Computes the checksum over the header's fields and `payload`, the bytes after the header.
    #[must_use]
    pub fn checksum(&self, payload: &[u8]) -> u32 {
        let head = self.encode();
        crc32c(&[head.get(CRC_FROM..).unwrap_or_default(), payload])
    }

    /// Compares the stored checksum with that of the header's fields and `payload`.
    pub fn verify(&self, payload: &[u8]) -> Result<(), Invalid> {
        let computed = self.checksum(payload);
        if computed == self.crc { Ok(()) } else { Err(Invalid::Crc { stored: self.crc, computed }) }
    }
}

/// `sequence + n` in the ring of 0 to 2,147,483,647 (`broker-core` 9.2).
pub(crate) fn add_sequence(sequence: i32, n: i32) -> i32 {
    sequence.wrapping_add(n) & i32::MAX
}

/// Whether a magic is the one that we read; 0 and 1 are told apart since Kafka answers them differently (K-8).
pub(super) fn check_magic(magic: i8) -> Result<(), Invalid> {
    match magic {
        2 => Ok(()),
        0 | 1 => Err(Invalid::OldMagic(magic)),
        other => Err(Invalid::Magic(other)),
    }
}

fn too_short(bytes: &[u8]) -> Invalid {
    Invalid::Length { length: i64::try_from(bytes.len()).unwrap_or(i64::MAX), least: HEADER_LEN as i64 }
}

struct Cursor<'a> {
    bytes: &'a [u8; HEADER_LEN],
    at: usize,
}

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let field = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        self.at += N;
        *field.expect("the fields are exactly as long as the header")
    }
}

fn put(out: &mut [u8; HEADER_LEN], at: &mut usize, field: &[u8]) {
    let end = *at + field.len();
    out.get_mut(*at..end).expect("the fields are exactly as long as the header").copy_from_slice(field);
    *at = end;
}
