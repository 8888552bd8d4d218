//! A topic's settings as types: its own values, else the broker's, else the defaults (`broker-core.md` 15).

use super::{BrokerConfigs, Configs, Row, Scope, Source, items, row};

/// Codec in which batches are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// As the producer sent it.
    Producer,
    Uncompressed,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    CreateTime,
    LogAppendTime,
}

/// What a batch survives before it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Loss of power.
    Fsync,
    /// The end of this process, as Kafka's own default.
    PageCache,
}

impl Durability {
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "page-cache" => Self::PageCache,
            _ => Self::Fsync,
        }
    }
}

/// How much of a client's batch is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordsValidate {
    /// The header and the checksum; records only where a rule needs them.
    Header,
    /// Every record, as Kafka does.
    Full,
}

impl RecordsValidate {
    fn parse(text: &str) -> Self {
        if text == "full" { Self::Full } else { Self::Header }
    }
}

/// Both false: everything is kept (KIP-1161).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleanupPolicy {
    pub delete: bool,
    pub compact: bool,
}

/// Fields are named after the topic settings.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicSettings {
    pub cleanup_policy: CleanupPolicy,
    /// -1: for ever.
    pub retention_ms: i64,
    /// -1: no limit.
    pub retention_bytes: i64,
    /// `internal.segment.bytes` where it is set.
    pub segment_bytes: i32,
    pub segment_ms: i64,
    pub segment_jitter_ms: i64,
    pub segment_index_bytes: i32,
    pub index_interval_bytes: i32,
    pub max_message_bytes: i32,
    pub max_decompressed_message_bytes: i32,
    pub min_insync_replicas: i32,
    pub compression_type: Compression,
    pub compression_gzip_level: i32,
    pub compression_lz4_level: i32,
    pub compression_zstd_level: i32,
    pub message_timestamp_type: TimestampType,
    pub message_timestamp_before_max_ms: i64,
    pub message_timestamp_after_max_ms: i64,
    pub delete_retention_ms: i64,
    pub min_compaction_lag_ms: i64,
    pub max_compaction_lag_ms: i64,
    pub min_cleanable_dirty_ratio: f64,
    pub file_delete_delay_ms: i64,
    /// `thalweg.durability`; `Fsync` too where `flush.messages` or `flush.ms` is finite.
    pub durability: Durability,
    /// `thalweg.records.validate`
    pub records_validate: RecordsValidate,
}

impl TopicSettings {
    pub(crate) fn new(broker: &BrokerConfigs, own: &Configs) -> Self {
        let read = TopicReader { broker, own };
        Self {
            cleanup_policy: cleanup_policy(&read.text("cleanup.policy")),
            retention_ms: read.long("retention.ms"),
            retention_bytes: read.long("retention.bytes"),
            segment_bytes: read
                .optional_int("internal.segment.bytes")
                .unwrap_or_else(|| read.int("segment.bytes")),
            segment_ms: read.long("segment.ms"),
            segment_jitter_ms: read.long("segment.jitter.ms"),
            segment_index_bytes: read.int("segment.index.bytes"),
            index_interval_bytes: read.int("index.interval.bytes"),
            max_message_bytes: read.int("max.message.bytes"),
            max_decompressed_message_bytes: read.int("max.decompressed.message.bytes"),
            min_insync_replicas: read.int("min.insync.replicas"),
            compression_type: compression(&read.text("compression.type")),
            compression_gzip_level: read.int("compression.gzip.level"),
            compression_lz4_level: read.int("compression.lz4.level"),
            compression_zstd_level: read.int("compression.zstd.level"),
            message_timestamp_type: match read.text("message.timestamp.type").as_str() {
                "LogAppendTime" => TimestampType::LogAppendTime,
                _ => TimestampType::CreateTime,
            },
            message_timestamp_before_max_ms: read.long("message.timestamp.before.max.ms"),
            message_timestamp_after_max_ms: read.long("message.timestamp.after.max.ms"),
            delete_retention_ms: read.long("delete.retention.ms"),
            min_compaction_lag_ms: read.long("min.compaction.lag.ms"),
            max_compaction_lag_ms: read.long("max.compaction.lag.ms"),
            min_cleanable_dirty_ratio: read.double("min.cleanable.dirty.ratio"),
            file_delete_delay_ms: read.long("file.delete.delay.ms"),
            durability: durability(&read),
            records_validate: records_validate(&read),
        }
    }
}

fn cleanup_policy(text: &str) -> CleanupPolicy {
    let policies = items(text);
    CleanupPolicy { delete: policies.contains(&"delete"), compact: policies.contains(&"compact") }
}

fn compression(text: &str) -> Compression {
    match text {
        "uncompressed" => Compression::Uncompressed,
        "gzip" => Compression::Gzip,
        "snappy" => Compression::Snappy,
        "lz4" => Compression::Lz4,
        "zstd" => Compression::Zstd,
        _ => Compression::Producer,
    }
}

/// Who asks Kafka for flushes does not want to lose what was acknowledged.
fn durability(read: &TopicReader<'_>) -> Durability {
    let finite = |name| read.long(name) != i64::MAX;
    if finite("flush.messages") || finite("flush.ms") {
        return Durability::Fsync;
    }
    Durability::parse(&read.text("thalweg.durability"))
}

/// Nobody chose: the profile does, since Kafka parses every record (decision 5).
fn records_validate(read: &TopicReader<'_>) -> RecordsValidate {
    let (name, profile) = ("thalweg.records.validate", read.broker.get("thalweg.profile"));
    let chosen = row(Scope::Topic, name).and_then(|row| effective(row, read.broker, read.own));
    match chosen {
        Some((value, source)) if source != Source::Default => RecordsValidate::parse(&value),
        Some(_) | None if profile.is_some_and(|(profile, _)| profile == "kafka") => RecordsValidate::Full,
        Some(_) | None => RecordsValidate::Header,
    }
}

/// The value that a topic or a group has for one of its settings: its own, else that of the first layer of the broker
/// in which a synonym is set, else the row's default. `None`: null.
pub(crate) fn effective(row: &Row, broker: &BrokerConfigs, own: &Configs) -> Option<(String, Source)> {
    if let Some(value) = own.get(row.name) {
        let source = match row.scope {
            Scope::Group => Source::Group,
            Scope::ClientMetrics => Source::ClientMetrics,
            Scope::Topic | Scope::Broker => Source::Topic,
        };
        return Some((value.clone(), source));
    }
    let names: Vec<&str> = row.synonyms.iter().map(|(name, _)| *name).collect();
    let from_broker = broker.all(&names).next().and_then(|(name, value, source)| {
        let factor = row.synonyms.iter().find(|(synonym, _)| *synonym == name)?.1;
        Some((scaled(value, factor), source))
    });
    from_broker.or_else(|| Some((row.default?.to_owned(), Source::Default)))
}

/// A number in another unit. What is negative means "no limit" and stays.
fn scaled(value: &str, factor: i64) -> String {
    match value.parse::<i64>() {
        Ok(number) if factor != 1 && number > 0 => number.saturating_mul(factor).to_string(),
        Ok(_) | Err(_) => value.to_owned(),
    }
}

struct TopicReader<'a> {
    broker: &'a BrokerConfigs,
    own: &'a Configs,
}

impl TopicReader<'_> {
    fn optional_text(&self, name: &str) -> Option<String> {
        effective(row(Scope::Topic, name)?, self.broker, self.own).map(|(value, _)| value)
    }

    fn text(&self, name: &str) -> String {
        self.optional_text(name).unwrap_or_default()
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        let set = self.optional_text(name).and_then(|value| value.parse().ok());
        set.or_else(|| row(Scope::Topic, name)?.default?.parse().ok())
    }

    fn optional_int(&self, name: &str) -> Option<i32> {
        self.number(name)
    }

    fn int(&self, name: &str) -> i32 {
        self.number(name).unwrap_or_default()
    }

    fn long(&self, name: &str) -> i64 {
        self.number(name).unwrap_or_default()
    }

    fn double(&self, name: &str) -> f64 {
        self.number(name).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configs(pairs: &[(&str, &str)]) -> Configs {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn settings(fixed: &[(&str, &str)], own: &[(&str, &str)]) -> TopicSettings {
        let broker = BrokerConfigs { fixed: configs(fixed), ..BrokerConfigs::default() };
        TopicSettings::new(&broker, &configs(own))
    }

    /// broker-core 15: the defaults column.
    #[test]
    fn defaults() {
        let it = settings(&[], &[]);
        assert_eq!(it.cleanup_policy, CleanupPolicy { delete: true, compact: false });
        assert_eq!((it.retention_ms, it.retention_bytes), (604_800_000, -1));
        assert_eq!((it.segment_bytes, it.segment_ms, it.segment_jitter_ms), (1_073_741_824, 604_800_000, 0));
        assert_eq!((it.max_message_bytes, it.min_insync_replicas), (1_048_588, 1));
        assert_eq!((it.compression_type, it.compression_gzip_level), (Compression::Producer, -1));
        assert_eq!(it.message_timestamp_after_max_ms, 3_600_000);
        assert_eq!((it.delete_retention_ms, it.min_cleanable_dirty_ratio), (86_400_000, 0.5));
        assert_eq!((it.max_compaction_lag_ms, it.file_delete_delay_ms), (i64::MAX, 60_000));
    }

    /// broker-core 15: retention has three synonyms, ms before minutes before hours.
    #[test]
    fn retention_comes_from_the_first_synonym_that_is_set() {
        let hours = ("log.retention.hours", "24");
        let minutes = ("log.retention.minutes", "5");
        let ms = ("log.retention.ms", "1000");
        assert_eq!(settings(&[hours], &[]).retention_ms, 86_400_000);
        assert_eq!(settings(&[hours, minutes], &[]).retention_ms, 300_000);
        assert_eq!(settings(&[hours, minutes, ms], &[]).retention_ms, 1000);
        assert_eq!(settings(&[hours, minutes, ms], &[("retention.ms", "7")]).retention_ms, 7);
        assert_eq!(settings(&[("log.retention.hours", "-1")], &[]).retention_ms, -1);
    }

    #[test]
    fn empty_policy_keeps_all_and_internal_segment_size_wins() {
        let it = settings(&[], &[("cleanup.policy", ""), ("internal.segment.bytes", "100")]);
        assert_eq!(it.cleanup_policy, CleanupPolicy { delete: false, compact: false });
        assert_eq!(it.segment_bytes, 100);
    }

    /// Decision 5: the profile `kafka` parses every record unless told otherwise.
    #[test]
    fn records_are_validated_by_profile_or_choice() {
        let kafka = ("thalweg.profile", "kafka");
        let (header, full) = (("thalweg.records.validate", "header"), ("thalweg.records.validate", "full"));
        assert_eq!(settings(&[], &[]).records_validate, RecordsValidate::Header);
        assert_eq!(settings(&[kafka], &[]).records_validate, RecordsValidate::Full);
        assert_eq!(settings(&[kafka, header], &[]).records_validate, RecordsValidate::Header);
        assert_eq!(settings(&[header], &[full]).records_validate, RecordsValidate::Full);
    }

    /// storage.md 22: a finite flush setting means fsync for the topic.
    #[test]
    fn finite_flush_settings_mean_fsync() {
        let relaxed = ("thalweg.durability", "page-cache");
        assert_eq!(settings(&[relaxed], &[]).durability, Durability::PageCache);
        assert_eq!(settings(&[relaxed], &[("flush.ms", "1000")]).durability, Durability::Fsync);
        assert_eq!(settings(&[], &[relaxed]).durability, Durability::PageCache);
    }
}
