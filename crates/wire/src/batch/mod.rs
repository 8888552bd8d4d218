//! Record batches, magic 2: the unit in which records are produced, stored and fetched.
//!
//! A batch is a header of 61 bytes and a block of records, possibly compressed as a whole. What a broker
//! changes on append (base offset, leader epoch) lies outside the checksum on purpose, so an appended batch
//! costs a copy of its header and nothing else.
//!
//! This module knows bytes only: no topics, no offsets that are allowed, no error codes.

mod block;
mod build;
pub mod compress;
pub mod control;
mod header;
mod records;
#[cfg(test)]
mod tests;

pub use block::{Block, Header, Record, RecordIter, RecordRef, RecordRefs};
pub use build::BatchBuilder;
pub use compress::Codec;
pub use header::{Attributes, BatchHeader, HEADER_LEN, TimestampType, crc32c};
pub use records::{Batch, Batches, INFLATED_BYTES_MAX, records};

use std::fmt;

/// Why bytes are not the batch that they should be. One variant for each reaction of a broker: the codes in
/// the docs are those that Kafka answers a Produce with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invalid {
    /// Magic 0 or 1, the message sets from before record batches: recognised, never read (INVALID_RECORD).
    OldMagic(i8),
    /// Any other magic but 2 (CORRUPT_MESSAGE).
    Magic(i8),
    /// Too short to be a batch, or a length that can't be (CORRUPT_MESSAGE).
    Length {
        /// The length field, or the bytes that were there.
        length: i64,
        /// The least that it must be.
        least: i64,
    },
    /// The checksum differs (CORRUPT_MESSAGE).
    Crc {
        /// The checksum in the header.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// A codec of 5 to 7 (INVALID_RECORD).
    Codec(u8),
    /// The compressed block can't be inflated (INVALID_RECORD; Kafka 4 answers the same way as to a record that
    /// can't be read).
    Compressed(String),
    /// The inflated block would exceed the limit (MESSAGE_TOO_LARGE, `broker-core` 7.4).
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A record that can't be read, or records that do not fill their block (INVALID_RECORD).
    Record(&'static str),
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OldMagic(magic) => {
                write!(f, "records of magic {magic} are not supported, only batches of magic 2")
            }
            Self::Magic(magic) => write!(f, "invalid magic {magic} in record batch"),
            Self::Length { length, least } => {
                write!(f, "record batch of {length} bytes is shorter than the least {least}")
            }
            Self::Crc { stored, computed } => {
                write!(f, "record batch is corrupt (stored crc = {stored}, computed crc = {computed})")
            }
            Self::Codec(codec) => write!(f, "unknown compression type id {codec}"),
            Self::Compressed(why) => write!(f, "records can't be decompressed: {why}"),
            Self::TooLarge { limit } => write!(f, "records inflate to more than {limit} bytes"),
            Self::Record(why) => write!(f, "invalid record: {why}"),
        }
    }
}

impl std::error::Error for Invalid {}
