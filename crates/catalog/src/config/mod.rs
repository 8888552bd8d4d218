//! The settings: one table of rows, and everything that reads it. All of it is pure; files are read elsewhere.

mod broker_cluster;
mod broker_groups;
mod broker_log;
mod broker_net;
mod broker_security;
mod broker_settings;
mod broker_state;
pub mod check;
mod client_metrics;
pub mod describe;
mod group;
mod group_settings;
mod layers;
mod parse;
pub mod properties;
mod row;
mod thalweg;
mod topic;
mod topic_settings;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use broker_settings::{BrokerSettings, Profile, ReplicationFactorPolicy};
pub(crate) use group_settings::{BOUNDS, number};
pub use group_settings::{ConsumerGroupSettings, GroupSettings, ShareGroupSettings, StreamsGroupSettings};
pub use layers::{BrokerConfigs, Source, StaticConfigs};
pub use parse::{items, normalize};
pub use row::{Kind, Mark, Row, Scope, Update, Valid};
pub(crate) use topic::SEGMENT_BYTES_MIN;
pub(crate) use topic_settings::effective;
pub use topic_settings::{
    CleanupPolicy, Compression, Durability, RecordsValidate, TimestampType, TopicSettings,
};

/// Values of one resource by name, in the form of DescribeConfigs.
pub type Configs = BTreeMap<String, String>;

/// Every setting, by area.
pub const ROWS: &[&[Row]] = &[
    thalweg::ROWS,
    broker_net::ROWS,
    broker_log::ROWS,
    broker_groups::ROWS,
    broker_state::ROWS,
    broker_security::ROWS,
    broker_cluster::ROWS,
    topic::ROWS,
    thalweg::TOPIC_ROWS,
    thalweg::GROUP_ROWS,
    group::ROWS,
    client_metrics::ROWS,
];

static INDEX: LazyLock<BTreeMap<(Scope, &'static str), &'static Row>> =
    LazyLock::new(|| ROWS.iter().copied().flatten().map(|row| ((row.scope, row.name), row)).collect());

/// The row of a setting.
pub fn row(scope: Scope, name: &str) -> Option<&'static Row> {
    INDEX.get(&(scope, name)).copied()
}

/// The rows of a scope, sorted by name.
pub fn rows(scope: Scope) -> impl Iterator<Item = &'static Row> {
    INDEX.range((scope, "")..).take_while(move |((s, _), _)| *s == scope).map(|(_, row)| *row)
}

/// The row of a broker setting, also in a form for one listener: `listener.name.internal.ssl.keystore.location`, or
/// with a mechanism, `listener.name.internal.plain.sasl.jaas.config`.
pub fn broker_row(name: &str) -> Option<&'static Row> {
    row(Scope::Broker, name).or_else(|| base_name(name).and_then(|base| row(Scope::Broker, base)))
}

/// The setting that a listener-prefixed name stands for.
pub fn base_name(name: &str) -> Option<&str> {
    let (_listener, rest) = name.strip_prefix("listener.name.")?.split_once('.')?;
    if row(Scope::Broker, rest).is_some() {
        return Some(rest);
    }
    let (_mechanism, base) = rest.split_once('.')?;
    row(Scope::Broker, base).map(|row| row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_valid_and_every_synonym_exists() {
        for row in ROWS.iter().copied().flatten() {
            if let Some(default) = row.default {
                assert_eq!(normalize(row, default).as_deref(), Ok(default), "{}", row.name);
            }
            for (synonym, _) in row.synonyms {
                assert!(super::row(Scope::Broker, synonym).is_some(), "{} names {synonym}", row.name);
            }
        }
    }

    #[test]
    fn names_are_unique_and_own_ones_carry_the_prefix() {
        assert_eq!(INDEX.len(), ROWS.iter().map(|rows| rows.len()).sum::<usize>());
        assert_eq!(rows(Scope::Topic).count(), 38 + 2);
        assert_eq!(rows(Scope::Broker).filter(|row| !row.name.starts_with("thalweg.")).count(), 379 + 3);
        assert_eq!(rows(Scope::Group).count(), 27 + 1);
        assert_eq!(rows(Scope::ClientMetrics).count(), 3);
    }

    #[test]
    fn honoured_settings_are_documented() {
        for row in ROWS.iter().copied().flatten() {
            assert!(row.mark != Mark::Honoured || row.doc.ends_with('.'), "{} has no doc", row.name);
        }
    }

    #[test]
    fn listener_prefixes_are_taken_off() {
        assert_eq!(base_name("listener.name.tls.ssl.keystore.location"), Some("ssl.keystore.location"));
        assert_eq!(base_name("listener.name.sasl.plain.sasl.jaas.config"), Some("sasl.jaas.config"));
        assert_eq!(base_name("listener.name.tls.nonsense"), None);
        assert_eq!(base_name("num.partitions"), None);
    }
}
