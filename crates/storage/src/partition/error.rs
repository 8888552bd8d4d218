//! Why a partition refuses: one variant for each of Kafka's reactions. The codes in the docs are those that the
//! handlers answer.

use std::fmt;

use wire::batch::Invalid;

use crate::log::{Offset, Refused};

/// Why records were not appended. Nothing of the append remains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendError {
    /// INVALID_RECORD: what was sent is no single batch of magic 2, or breaks a rule (`broker-core` 8.1 A5, C6,
    /// C9–C12). `records` are RecordErrors of the response.
    InvalidRecord {
        /// ErrorMessage of the response.
        message: String,
        /// The bad records, where single ones are to blame.
        records: Vec<RecordError>,
    },
    /// CORRUPT_MESSAGE: checksum, length or magic (C8). LogStartOffset is −1 in the response (K-10).
    Corrupt(String),
    /// MESSAGE_TOO_LARGE: above `max.message.bytes`, as sent or as packed anew (C7, C14), or inflates without
    /// measure. Producers split the batch.
    TooLarge(String),
    /// RECORD_LIST_TOO_LARGE: the batch fits no segment (C15).
    LargerThanSegment(String),
    /// INVALID_TIMESTAMP (C13).
    InvalidTimestamp {
        /// ErrorMessage of the response.
        message: String,
        /// The bad records.
        records: Vec<RecordError>,
    },
    /// OUT_OF_ORDER_SEQUENCE_NUMBER (`broker-core` 9.3 rules 3 and 4).
    OutOfOrderSequence(String),
    /// INVALID_PRODUCER_EPOCH, at Produce never PRODUCER_FENCED (rule 2).
    StaleProducerEpoch(String),
    /// INVALID_TXN_STATE: a plain batch of a producer whose transaction is open here (rule 6).
    TransactionOpen(String),
    /// INVALID_TXN_STATE: a transactional batch that belongs to no transaction that the coordinator knows
    /// (`broker-core` 9.5). Nothing of it is stored, or it would be open for ever.
    NotInTransaction(String),
    /// TRANSACTION_COORDINATOR_FENCED: a marker of a former coordinator (`broker-core` 12.8 rule 4).
    CoordinatorFenced(String),
    /// KAFKA_STORAGE_ERROR: no room. The partition lives; the same append may succeed later.
    Full,
    /// KAFKA_STORAGE_ERROR: the device failed or durable data is damaged.
    Storage(String),
    /// NOT_LEADER_OR_FOLLOWER: the lane has another owner, or the partition was closed or removed.
    NotLeader,
}

/// A record that is to blame for the refusal of its batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordError {
    /// Index of the record in its batch.
    pub batch_index: i32,
    /// What is wrong with it.
    pub message: String,
}

impl AppendError {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::InvalidRecord { message: message.into(), records: Vec::new() }
    }
}

impl From<Invalid> for AppendError {
    fn from(invalid: Invalid) -> Self {
        let message = invalid.to_string();
        match invalid {
            Invalid::OldMagic(_) | Invalid::Codec(_) | Invalid::Compressed(_) | Invalid::Record(_) => {
                Self::invalid(message)
            }
            Invalid::Magic(_) | Invalid::Length { .. } | Invalid::Crc { .. } => Self::Corrupt(message),
            Invalid::TooLarge { .. } => Self::TooLarge(message),
        }
    }
}

impl From<Refused> for AppendError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Fenced | Refused::Gone => Self::NotLeader,
            Refused::Full => Self::Full,
            Refused::Corrupt(_) | Refused::Io(_) => Self::Storage(refused.to_string()),
        }
    }
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidRecord { message, .. }
            | Self::InvalidTimestamp { message, .. }
            | Self::Corrupt(message)
            | Self::TooLarge(message)
            | Self::LargerThanSegment(message)
            | Self::OutOfOrderSequence(message)
            | Self::StaleProducerEpoch(message)
            | Self::TransactionOpen(message)
            | Self::NotInTransaction(message)
            | Self::CoordinatorFenced(message)
            | Self::Storage(message) => f.write_str(message),
            Self::Full => f.write_str("no room is left"),
            Self::NotLeader => f.write_str("this broker does not write the partition"),
        }
    }
}

impl std::error::Error for AppendError {}

/// Why nothing was read or looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// OFFSET_OUT_OF_RANGE: below the start, or above the end.
    OutOfRange {
        /// The first offset that can be read.
        log_start: Offset,
        /// The high watermark.
        high_watermark: Offset,
    },
    /// FENCED_LEADER_EPOCH: the client knows an older leader epoch.
    FencedEpoch,
    /// UNKNOWN_LEADER_EPOCH: the client knows a newer leader epoch.
    UnknownEpoch,
    /// KAFKA_STORAGE_ERROR: the device failed or data is damaged.
    Storage(String),
    /// NOT_LEADER_OR_FOLLOWER: the lane has another owner, or the partition was closed or removed.
    NotLeader,
}

impl From<Refused> for ReadError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Fenced | Refused::Gone => Self::NotLeader,
            Refused::Full | Refused::Corrupt(_) | Refused::Io(_) => Self::Storage(refused.to_string()),
        }
    }
}

impl From<Invalid> for ReadError {
    fn from(invalid: Invalid) -> Self {
        Self::Storage(invalid.to_string())
    }
}

impl From<std::io::Error> for ReadError {
    fn from(error: std::io::Error) -> Self {
        Self::Storage(error.to_string())
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { log_start, high_watermark } => {
                write!(f, "offset outside of {log_start} to {high_watermark}")
            }
            Self::FencedEpoch => f.write_str("the leader epoch of the request is older than ours"),
            Self::UnknownEpoch => f.write_str("the leader epoch of the request is newer than ours"),
            Self::Storage(message) => f.write_str(message),
            Self::NotLeader => f.write_str("this broker does not lead the partition"),
        }
    }
}

impl std::error::Error for ReadError {}
