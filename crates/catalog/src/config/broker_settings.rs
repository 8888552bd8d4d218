//! The broker's settings as types: what the file and the dynamic layers give together. Built once per change.
//!
//! A field's name is its setting's, with `_` for `.`; its doc stands in the setting's row. Values were checked when
//! they came in; one that no longer passes (a row that a later release made stricter) counts as not set, so reading
//! can't fail.

use super::topic_settings::Durability;
use super::{BrokerConfigs, Scope, items, row};

/// Whether deliberate deviations from Kafka are on (decision 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Thalweg,
    Kafka,
}

/// What happens to a replication factor above the number of brokers (decision 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicationFactorPolicy {
    /// INVALID_REPLICATION_FACTOR, as Kafka.
    Strict,
    /// Stored as asked; the partitions list the brokers that exist.
    Accept,
}

macro_rules! settings {
    ($($field:ident: $type:ty = $name:literal,)*) => {
        #[derive(Debug, Clone, PartialEq)]
        pub struct BrokerSettings {
            $(#[doc = concat!("`", $name, "`")] pub $field: $type,)*
        }

        impl BrokerSettings {
            pub(crate) fn new(configs: &BrokerConfigs) -> Self {
                Self { $($field: Value::read(configs, $name),)* }
            }
        }

        #[cfg(test)]
        const FIELDS: &[(&str, &str)] = &[$((stringify!($field), $name),)*];
    };
}

settings! {
    // Thalweg's own.
    thalweg_profile: Profile = "thalweg.profile",
    thalweg_durability: Durability = "thalweg.durability",
    thalweg_storage: Option<String> = "thalweg.storage",
    thalweg_tail_cache_bytes: Option<i64> = "thalweg.tail.cache.bytes",
    thalweg_replication_factor_policy: ReplicationFactorPolicy = "thalweg.replication.factor.policy",
    thalweg_flush_background_ms: i64 = "thalweg.flush.background.ms",
    thalweg_snapshot_ms: i64 = "thalweg.snapshot.ms",
    thalweg_open_files_max: i32 = "thalweg.open.files.max",
    thalweg_fetch_yield: bool = "thalweg.fetch.yield",
    thalweg_streams_topology_descriptions: bool = "thalweg.streams.topology.descriptions",
    thalweg_streams_warmup_timeout_ms: i64 = "thalweg.streams.warmup.timeout.ms",
    thalweg_group_streams_adaptive_heartbeat: bool = "thalweg.group.streams.adaptive.heartbeat",
    thalweg_group_consumer_adaptive_heartbeat: bool = "thalweg.group.consumer.adaptive.heartbeat",
    thalweg_group_classic_disconnect_enable: bool = "thalweg.group.classic.disconnect.enable",
    thalweg_group_heartbeat_budget: i32 = "thalweg.group.heartbeat.budget",
    // Identity and network.
    broker_rack: Option<String> = "broker.rack",
    listeners: Vec<String> = "listeners",
    advertised_listeners: Option<Vec<String>> = "advertised.listeners",
    listener_security_protocol_map: Vec<String> = "listener.security.protocol.map",
    inter_broker_listener_name: Option<String> = "inter.broker.listener.name",
    socket_request_max_bytes: i32 = "socket.request.max.bytes",
    socket_send_buffer_bytes: i32 = "socket.send.buffer.bytes",
    socket_receive_buffer_bytes: i32 = "socket.receive.buffer.bytes",
    socket_listen_backlog_size: i32 = "socket.listen.backlog.size",
    connections_max_idle_ms: i64 = "connections.max.idle.ms",
    max_connections: i32 = "max.connections",
    max_connections_per_ip: i32 = "max.connections.per.ip",
    max_connections_per_ip_overrides: Vec<String> = "max.connections.per.ip.overrides",
    max_connection_creation_rate: i32 = "max.connection.creation.rate",
    request_timeout_ms: i32 = "request.timeout.ms",
    unstable_api_versions_enable: bool = "unstable.api.versions.enable",
    // Topics and reading.
    auto_create_topics_enable: bool = "auto.create.topics.enable",
    delete_topic_enable: bool = "delete.topic.enable",
    num_partitions: i32 = "num.partitions",
    default_replication_factor: i32 = "default.replication.factor",
    fetch_max_bytes: i32 = "fetch.max.bytes",
    max_incremental_fetch_session_cache_slots: i32 = "max.incremental.fetch.session.cache.slots",
    max_request_partition_size_limit: i32 = "max.request.partition.size.limit",
    // What concerns all logs; what concerns one topic's stands in `TopicSettings`.
    log_dir: Vec<String> = "log.dir",
    log_dirs: Option<Vec<String>> = "log.dirs",
    log_retention_check_interval_ms: i64 = "log.retention.check.interval.ms",
    log_initial_task_delay_ms: i64 = "log.initial.task.delay.ms",
    log_flush_offset_checkpoint_interval_ms: i32 = "log.flush.offset.checkpoint.interval.ms",
    log_flush_start_offset_checkpoint_interval_ms: i32 = "log.flush.start.offset.checkpoint.interval.ms",
    log_cleaner_threads: i32 = "log.cleaner.threads",
    log_cleaner_backoff_ms: i64 = "log.cleaner.backoff.ms",
    log_cleaner_dedupe_buffer_size: i64 = "log.cleaner.dedupe.buffer.size",
    log_cleaner_io_max_bytes_per_second: f64 = "log.cleaner.io.max.bytes.per.second",
    producer_id_expiration_ms: i32 = "producer.id.expiration.ms",
    producer_id_expiration_check_interval_ms: i32 = "producer.id.expiration.check.interval.ms",
    // Committed offsets and their topic.
    offset_metadata_max_bytes: i32 = "offset.metadata.max.bytes",
    offsets_topic_num_partitions: i32 = "offsets.topic.num.partitions",
    offsets_topic_replication_factor: i16 = "offsets.topic.replication.factor",
    offsets_topic_segment_bytes: i32 = "offsets.topic.segment.bytes",
    offsets_topic_compression_codec: i32 = "offsets.topic.compression.codec",
    offsets_retention_minutes: i32 = "offsets.retention.minutes",
    offsets_retention_check_interval_ms: i64 = "offsets.retention.check.interval.ms",
    offsets_commit_timeout_ms: i32 = "offsets.commit.timeout.ms",
    // Groups. What a group can set for itself stands in `GroupSettings`.
    group_coordinator_rebalance_protocols: Vec<String> = "group.coordinator.rebalance.protocols",
    group_initial_rebalance_delay_ms: i32 = "group.initial.rebalance.delay.ms",
    group_min_session_timeout_ms: i32 = "group.min.session.timeout.ms",
    group_max_session_timeout_ms: i32 = "group.max.session.timeout.ms",
    group_max_size: i32 = "group.max.size",
    group_streams_assignors: Vec<String> = "group.streams.assignors",
    group_streams_max_size: i32 = "group.streams.max.size",
    group_consumer_assignors: Vec<String> = "group.consumer.assignors",
    group_consumer_max_size: i32 = "group.consumer.max.size",
    group_consumer_migration_policy: String = "group.consumer.migration.policy",
    group_consumer_regex_refresh_interval_ms: i32 = "group.consumer.regex.refresh.interval.ms",
    group_share_max_share_sessions: i32 = "group.share.max.share.sessions",
    group_share_max_size: i32 = "group.share.max.size",
    // Transactions and share state.
    transaction_state_log_num_partitions: i32 = "transaction.state.log.num.partitions",
    transaction_state_log_replication_factor: i16 = "transaction.state.log.replication.factor",
    transaction_state_log_min_isr: i32 = "transaction.state.log.min.isr",
    transaction_state_log_segment_bytes: i32 = "transaction.state.log.segment.bytes",
    transaction_max_timeout_ms: i32 = "transaction.max.timeout.ms",
    transactional_id_expiration_ms: i32 = "transactional.id.expiration.ms",
    transaction_abort_timed_out_transaction_cleanup_interval_ms: i32 = "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    transaction_remove_expired_transaction_cleanup_interval_ms: i32 = "transaction.remove.expired.transaction.cleanup.interval.ms",
    add_partitions_to_txn_retry_backoff_max_ms: i32 = "add.partitions.to.txn.retry.backoff.max.ms",
    add_partitions_to_txn_retry_backoff_ms: i32 = "add.partitions.to.txn.retry.backoff.ms",
    transaction_partition_verification_enable: bool = "transaction.partition.verification.enable",
    share_coordinator_state_topic_num_partitions: i32 = "share.coordinator.state.topic.num.partitions",
    share_coordinator_state_topic_replication_factor: i16 = "share.coordinator.state.topic.replication.factor",
    share_coordinator_state_topic_min_isr: i16 = "share.coordinator.state.topic.min.isr",
    share_coordinator_state_topic_segment_bytes: i32 = "share.coordinator.state.topic.segment.bytes",
}

/// A type that a field can have.
trait Value: Sized {
    fn read(configs: &BrokerConfigs, name: &str) -> Self;
}

fn number<T: std::str::FromStr>(configs: &BrokerConfigs, name: &str) -> Option<T> {
    let set = configs.get(name).and_then(|(value, _)| value.parse().ok());
    set.or_else(|| row(Scope::Broker, name)?.default?.parse().ok())
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Value for $type {
            fn read(configs: &BrokerConfigs, name: &str) -> Self {
                number(configs, name).unwrap_or_default()
            }
        }
    )*};
}

numbers! { i16 i32 i64 f64 bool String }

impl Value for Option<i64> {
    fn read(configs: &BrokerConfigs, name: &str) -> Self {
        number(configs, name)
    }
}

impl Value for Option<String> {
    fn read(configs: &BrokerConfigs, name: &str) -> Self {
        configs.get(name).map(|(value, _)| value.to_owned())
    }
}

impl Value for Option<Vec<String>> {
    fn read(configs: &BrokerConfigs, name: &str) -> Self {
        configs.get(name).map(|(value, _)| items(value).into_iter().map(str::to_owned).collect())
    }
}

impl Value for Vec<String> {
    fn read(configs: &BrokerConfigs, name: &str) -> Self {
        Option::read(configs, name).unwrap_or_default()
    }
}

impl Value for Profile {
    fn read(configs: &BrokerConfigs, name: &str) -> Self {
        if String::read(configs, name) == "kafka" { Self::Kafka } else { Self::Thalweg }
    }
}

impl Value for ReplicationFactorPolicy {
    fn read(configs: &BrokerConfigs, name: &str) -> Self {
        if String::read(configs, name) == "accept" { Self::Accept } else { Self::Strict }
    }
}

impl Value for Durability {
    fn read(configs: &BrokerConfigs, name: &str) -> Self {
        Self::parse(&String::read(configs, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_a_setting_of_its_name() {
        for (field, name) in FIELDS {
            assert_eq!(*field, name.replace('.', "_"));
            assert!(row(Scope::Broker, name).is_some(), "{name} is no setting");
        }
    }

    #[test]
    fn fields_are_read_from_the_rows_and_the_layers() {
        let mut configs = BrokerConfigs::default();
        let settings = BrokerSettings::new(&configs);
        assert_eq!(settings.socket_request_max_bytes, 104_857_600);
        assert_eq!(settings.group_coordinator_rebalance_protocols, ["classic", "consumer", "streams"]);
        assert_eq!((settings.log_dirs, settings.thalweg_tail_cache_bytes), (None, None));
        assert!(settings.auto_create_topics_enable);
        assert_eq!(settings.log_cleaner_io_max_bytes_per_second, f64::MAX);
        configs.fixed.insert("max.connections".to_owned(), "7".to_owned());
        assert_eq!(BrokerSettings::new(&configs).max_connections, 7);
        configs.cluster.insert("max.connections".to_owned(), "8".to_owned());
        assert_eq!(BrokerSettings::new(&configs).max_connections, 8);
        configs.own.insert("max.connections".to_owned(), "9".to_owned());
        assert_eq!(BrokerSettings::new(&configs).max_connections, 9);
    }
}
