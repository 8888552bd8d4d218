//! A topic's settings in the terms of its partitions: the seam between catalog and storage.

use catalog::config::{self, BrokerSettings, TopicSettings};
use storage::partition::{Compression, Settings, Validate};
use storage::{Durability, LogSettings};
use wire::batch::{Codec, TimestampType};

/// What the partitions of a topic are told; producers and transactions are settings of the broker.
pub(crate) fn partition_settings(topic: &TopicSettings, broker: &BrokerSettings) -> Settings {
    Settings {
        log: log_settings(topic),
        max_message_bytes: unsigned(topic.max_message_bytes),
        compacted: topic.cleanup_policy.compact,
        compression: compression(topic),
        timestamp_type: match topic.message_timestamp_type {
            config::TimestampType::CreateTime => TimestampType::CreateTime,
            config::TimestampType::LogAppendTime => TimestampType::LogAppendTime,
        },
        timestamp_before_max_ms: topic.message_timestamp_before_max_ms,
        timestamp_after_max_ms: topic.message_timestamp_after_max_ms,
        producer_id_expiration_ms: i64::from(broker.producer_id_expiration_ms),
        verify_transactions: broker.transaction_partition_verification_enable,
        validate: match topic.records_validate {
            config::RecordsValidate::Header => Validate::Header,
            config::RecordsValidate::Full => Validate::Full,
        },
    }
}

fn log_settings(topic: &TopicSettings) -> LogSettings {
    LogSettings {
        segment_bytes: unsigned(topic.segment_bytes),
        segment_ms: topic.segment_ms,
        segment_jitter_ms: topic.segment_jitter_ms,
        segment_index_bytes: unsigned(topic.segment_index_bytes),
        index_interval_bytes: unsigned(topic.index_interval_bytes),
        durability: Some(match topic.durability {
            config::Durability::Fsync => Durability::Fsync,
            config::Durability::PageCache => Durability::PageCache,
        }),
    }
}

fn compression(topic: &TopicSettings) -> Compression {
    let (codec, level) = match topic.compression_type {
        config::Compression::Producer => return Compression::Producer,
        config::Compression::Uncompressed => (Codec::None, None),
        config::Compression::Gzip => (Codec::Gzip, Some(topic.compression_gzip_level)),
        config::Compression::Snappy => (Codec::Snappy, None),
        config::Compression::Lz4 => (Codec::Lz4, Some(topic.compression_lz4_level)),
        config::Compression::Zstd => (Codec::Zstd, Some(topic.compression_zstd_level)),
    };
    Compression::To { codec, level }
}

/// The rows admit no value below 0.
fn unsigned(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}
