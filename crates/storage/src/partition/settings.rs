//! Settings of a topic that a partition needs. The names are Kafka's.

use wire::batch::{Codec, TimestampType};

use crate::log::{LogSettings, Millis};

/// What a partition is told by its topic's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What reaches down to the files.
    pub log: LogSettings,
    /// `max.message.bytes`: of a batch as it is stored, compressed.
    pub max_message_bytes: u32,
    /// Whether `cleanup.policy` contains `compact`: then every record needs a key.
    pub compacted: bool,
    /// `compression.type`
    pub compression: Compression,
    /// `message.timestamp.type`
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`; the largest value means no bound.
    pub timestamp_before_max_ms: Millis,
    /// `message.timestamp.after.max.ms`
    pub timestamp_after_max_ms: Millis,
    /// `producer.id.expiration.ms`
    pub producer_id_expiration_ms: Millis,
    /// `transaction.partition.verification.enable`: whether a transaction begins here only after its coordinator was
    /// asked.
    pub verify_transactions: bool,
    /// `thalweg.records.validate`
    pub validate: Validate,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            log: LogSettings::default(),
            max_message_bytes: 1_048_588,
            compacted: false,
            compression: Compression::Producer,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: Millis::MAX,
            timestamp_after_max_ms: 3_600_000,
            producer_id_expiration_ms: 86_400_000,
            verify_transactions: false,
            validate: Validate::Header,
        }
    }
}

/// Codec in which batches are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// As the producer sent them.
    Producer,
    /// In this codec, with its `compression.*.level`; other batches are packed anew.
    To {
        /// The codec; `None` is Kafka's `uncompressed`.
        codec: Codec,
        /// The level, where the codec has levels.
        level: Option<i32>,
    },
}

/// How much of a client's batch is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validate {
    /// The header and the checksum. Records only where a rule needs them.
    Header,
    /// Every record, as Kafka does, at the price of inflating every batch.
    Full,
}
