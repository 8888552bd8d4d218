//! Topic settings (`broker-core.md` 15).

use super::row::Kind::{Boolean, Double, Int, List, Long, String};
use super::row::{Row, Valid};

/// Least size of a segment that a topic may have (KIP-1030).
pub(crate) const SEGMENT_BYTES_MIN: i64 = 1 << 20;

pub(super) const ROWS: &[Row] = &[
    Row::topic("cleanup.policy", List, Some("delete")).valid(Valid::Items(&["compact", "delete"], true)).synonyms(&[("log.cleanup.policy", 1)]).honoured("Old data is deleted, or compacted by key, or both; empty keeps everything. Only `compact` has an effect yet: records need keys."),
    Row::topic("compression.gzip.level", Int, Some("-1")).valid(Valid::BetweenOr(1, 9, -1)).synonyms(&[("compression.gzip.level", 1)]).honoured("Level for gzip when the broker compresses."),
    Row::topic("compression.lz4.level", Int, Some("9")).between(1, 17).synonyms(&[("compression.lz4.level", 1)]).honoured("Level for lz4 when the broker compresses."),
    Row::topic("compression.type", String, Some("producer")).valid(Valid::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"])).synonyms(&[("compression.type", 1)]).honoured("Codec in which batches are stored; `producer` keeps what came."),
    Row::topic("compression.zstd.level", Int, Some("3")).between(-131072, 22).synonyms(&[("compression.zstd.level", 1)]).honoured("Level for zstd when the broker compresses."),
    Row::topic("delete.retention.ms", Long, Some("86400000")).at_least(0).synonyms(&[("log.cleaner.delete.retention.ms", 1)]).accepted("Not in effect yet. How long a tombstone stays after compaction."),
    Row::topic("errors.deadletterqueue.group.enable", Boolean, Some("false")).accepted("Tiered storage and dead letter queues do not exist here."),
    Row::topic("file.delete.delay.ms", Long, Some("60000")).at_least(0).synonyms(&[("log.segment.delete.delay.ms", 1)]).accepted("Not in effect yet. Delay between the removal of a segment and of its file."),
    Row::topic("flush.messages", Long, Some("9223372036854775807")).at_least(1).synonyms(&[("log.flush.interval.messages", 1)]).honoured("Any finite value makes data durable before it is acknowledged (`thalweg.durability`)."),
    Row::topic("flush.ms", Long, Some("9223372036854775807")).at_least(0).synonyms(&[("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)]).honoured("Any finite value makes data durable before it is acknowledged (`thalweg.durability`)."),
    Row::topic("follower.replication.throttled.replicas", List, Some("")).valid(Valid::ThrottledReplicas).accepted("Nothing is copied between brokers."),
    Row::topic("index.interval.bytes", Int, Some("4096")).at_least(0).synonyms(&[("log.index.interval.bytes", 1)]).honoured("An index entry is written each time this many bytes were appended."),
    Row::topic("internal.segment.bytes", Int, None).internal().honoured("Segment size below the limit of `segment.bytes`, for tests."),
    Row::topic("leader.replication.throttled.replicas", List, Some("")).valid(Valid::ThrottledReplicas).accepted("Nothing is copied between brokers."),
    Row::topic("local.retention.bytes", Long, Some("-2")).at_least(-2).synonyms(&[("log.local.retention.bytes", 1)]).accepted("Tiered storage and dead letter queues do not exist here."),
    Row::topic("local.retention.ms", Long, Some("-2")).at_least(-2).synonyms(&[("log.local.retention.ms", 1)]).accepted("Tiered storage and dead letter queues do not exist here."),
    Row::topic("max.compaction.lag.ms", Long, Some("9223372036854775807")).at_least(1).synonyms(&[("log.cleaner.max.compaction.lag.ms", 1)]).accepted("Not in effect yet. A record is compacted at this age at the latest."),
    Row::topic("max.decompressed.message.bytes", Int, Some("2147483639")).between(1, 2147483639).synonyms(&[("max.decompressed.message.bytes", 1)]).accepted("Not in effect yet. Largest batch after decompression."),
    Row::topic("max.message.bytes", Int, Some("1048588")).at_least(0).synonyms(&[("message.max.bytes", 1)]).honoured("Largest batch."),
    Row::topic("message.timestamp.after.max.ms", Long, Some("3600000")).at_least(0).synonyms(&[("log.message.timestamp.after.max.ms", 1)]).honoured("How far ahead of the broker's clock a timestamp may be."),
    Row::topic("message.timestamp.before.max.ms", Long, Some("9223372036854775807")).at_least(0).synonyms(&[("log.message.timestamp.before.max.ms", 1)]).honoured("How far behind the broker's clock a timestamp may be."),
    Row::topic("message.timestamp.type", String, Some("CreateTime")).valid(Valid::OneOf(&["CreateTime", "LogAppendTime"])).synonyms(&[("log.message.timestamp.type", 1)]).honoured("Whether a record keeps the producer's time or gets the broker's."),
    Row::topic("min.cleanable.dirty.ratio", Double, Some("0.5")).valid(Valid::Decimal(0.0, 1.0)).synonyms(&[("log.cleaner.min.cleanable.ratio", 1)]).accepted("Not in effect yet. Share of a log that must be dirty before it is compacted."),
    Row::topic("min.compaction.lag.ms", Long, Some("0")).at_least(0).synonyms(&[("log.cleaner.min.compaction.lag.ms", 1)]).accepted("Not in effect yet. A record is not compacted before this age."),
    Row::topic("min.insync.replicas", Int, Some("1")).at_least(1).synonyms(&[("min.insync.replicas", 1)]).mapped("Stored and reported; a batch is durable before it is acknowledged, so no replica can be missing."),
    Row::topic("preallocate", Boolean, Some("false")).synonyms(&[("log.preallocate", 1)]).accepted("Files grow as they are written."),
    Row::topic("remote.copy.lag.bytes", Long, Some("-1")).at_least(-1).synonyms(&[("log.remote.copy.lag.bytes", 1)]).accepted("Tiered storage and dead letter queues do not exist here."),
    Row::topic("remote.copy.lag.ms", Long, Some("0")).at_least(-1).synonyms(&[("log.remote.copy.lag.ms", 1)]).accepted("Tiered storage and dead letter queues do not exist here."),
    Row::topic("remote.log.copy.disable", Boolean, Some("false")).accepted("Tiered storage and dead letter queues do not exist here."),
    Row::topic("remote.log.delete.on.disable", Boolean, Some("false")).accepted("Tiered storage and dead letter queues do not exist here."),
    Row::topic("remote.storage.enable", Boolean, Some("false")).accepted("Tiered storage and dead letter queues do not exist here."),
    Row::topic("retention.bytes", Long, Some("-1")).synonyms(&[("log.retention.bytes", 1)]).accepted("Not in effect yet. How many bytes of a partition are kept; -1: no limit."),
    Row::topic("retention.ms", Long, Some("604800000")).at_least(-1).synonyms(&[("log.retention.ms", 1), ("log.retention.minutes", 60000), ("log.retention.hours", 3600000)]).accepted("Not in effect yet. How long data is kept; -1: for ever."),
    Row::topic("segment.bytes", Int, Some("1073741824")).at_least(SEGMENT_BYTES_MIN).synonyms(&[("log.segment.bytes", 1)]).honoured("Largest segment file."),
    Row::topic("segment.index.bytes", Int, Some("10485760")).at_least(4).synonyms(&[("log.index.size.max.bytes", 1)]).honoured("Largest index file; a full index closes its segment."),
    Row::topic("segment.jitter.ms", Long, Some("0")).at_least(0).synonyms(&[("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", 3600000)]).honoured("Random part taken off the age at which segments close."),
    Row::topic("segment.ms", Long, Some("604800000")).at_least(1).synonyms(&[("log.roll.ms", 1), ("log.roll.hours", 3600000)]).honoured("A segment is closed at this age."),
    Row::topic("unclean.leader.election.enable", Boolean, Some("false")).synonyms(&[("unclean.leader.election.enable", 1)]).accepted("A partition has one replica."),
];
