//! A group's settings as types: its own values clamped to the broker's bounds, else the broker's values.
//!
//! Bounds are checked when a value is set, but they can change afterwards; a stored value outside of them is clamped
//! when it is used, never rejected (`streams-groups.md` C-3). Values that a group does not set are the broker's, not
//! the compiled-in defaults (C-4).

use super::topic_settings::effective;
use super::{BrokerConfigs, Configs, Scope, items, row};

/// Bounds of one group setting: names of the broker settings that hold them.
pub(crate) struct Bounds {
    pub(crate) name: &'static str,
    pub(crate) least: Option<&'static str>,
    pub(crate) most: Option<&'static str>,
}

const fn bounds(name: &'static str, least: &'static str, most: &'static str) -> Bounds {
    Bounds { name, least: Some(least), most: Some(most) }
}

/// All group settings that the broker bounds.
pub(crate) const BOUNDS: &[Bounds] = &[
    bounds(
        "consumer.session.timeout.ms",
        "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ),
    bounds(
        "consumer.heartbeat.interval.ms",
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    bounds(
        "consumer.assignment.interval.ms",
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
    ),
    bounds(
        "share.session.timeout.ms",
        "group.share.min.session.timeout.ms",
        "group.share.max.session.timeout.ms",
    ),
    bounds(
        "share.heartbeat.interval.ms",
        "group.share.min.heartbeat.interval.ms",
        "group.share.max.heartbeat.interval.ms",
    ),
    bounds(
        "share.assignment.interval.ms",
        "group.share.min.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
    ),
    bounds(
        "share.delivery.count.limit",
        "group.share.min.delivery.count.limit",
        "group.share.max.delivery.count.limit",
    ),
    bounds(
        "share.record.lock.duration.ms",
        "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    bounds(
        "share.partition.max.record.locks",
        "group.share.min.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
    bounds(
        "streams.session.timeout.ms",
        "group.streams.min.session.timeout.ms",
        "group.streams.max.session.timeout.ms",
    ),
    bounds(
        "streams.heartbeat.interval.ms",
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
    ),
    bounds(
        "streams.assignment.interval.ms",
        "group.streams.min.assignment.interval.ms",
        "group.streams.max.assignment.interval.ms",
    ),
    Bounds {
        name: "streams.num.standby.replicas",
        least: None,
        most: Some("group.streams.max.standby.replicas"),
    },
    Bounds {
        name: "streams.num.warmup.replicas",
        least: None,
        most: Some("group.streams.max.warmup.replicas"),
    },
    Bounds {
        name: "streams.task.offset.interval.ms",
        least: Some("group.streams.min.task.offset.interval.ms"),
        most: None,
    },
];

/// Settings of one group; the part of its type counts.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupSettings {
    pub streams: StreamsGroupSettings,
    pub consumer: ConsumerGroupSettings,
    pub share: ShareGroupSettings,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StreamsGroupSettings {
    pub session_timeout_ms: i32,
    pub heartbeat_interval_ms: i32,
    pub num_standby_replicas: i32,
    pub initial_rebalance_delay_ms: i32,
    pub assignment_interval_ms: i32,
    pub task_offset_interval_ms: i32,
    pub num_warmup_replicas: i32,
    pub acceptable_recovery_lag: i64,
    pub rack_aware_assignment_tags: Vec<String>,
    /// A name out of `group.streams.assignors`; one that is no longer there counts as unset (scenario 322).
    pub assignor_name: String,
    /// The group names it itself.
    pub assignor_is_set: bool,
    /// `group.streams.max.size`, the broker's alone.
    pub max_size: i32,
    /// `thalweg.group.disconnect.grace.ms`
    pub disconnect_grace_ms: i32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ConsumerGroupSettings {
    pub session_timeout_ms: i32,
    pub heartbeat_interval_ms: i32,
    pub assignment_interval_ms: i32,
    /// `group.consumer.max.size`, the broker's alone.
    pub max_size: i32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ShareGroupSettings {
    pub session_timeout_ms: i32,
    pub heartbeat_interval_ms: i32,
    pub assignment_interval_ms: i32,
    pub record_lock_duration_ms: i32,
    pub delivery_count_limit: i32,
    pub partition_max_record_locks: i32,
    /// `latest`, `earliest` or `by_duration:<ISO 8601>`.
    pub auto_offset_reset: String,
    /// Whether `share.isolation.level` is read_committed.
    pub read_committed: bool,
    pub renew_acknowledge_enable: bool,
    /// `group.share.max.size`, the broker's alone.
    pub max_size: i32,
}

impl GroupSettings {
    pub(crate) fn new(broker: &BrokerConfigs, own: &Configs) -> Self {
        let read = GroupReader { broker, own };
        Self { streams: streams(&read), consumer: consumer(&read), share: share(&read) }
    }
}

fn streams(read: &GroupReader<'_>) -> StreamsGroupSettings {
    StreamsGroupSettings {
        session_timeout_ms: read.int("streams.session.timeout.ms"),
        heartbeat_interval_ms: read.int("streams.heartbeat.interval.ms"),
        num_standby_replicas: read.int("streams.num.standby.replicas"),
        initial_rebalance_delay_ms: read.int("streams.initial.rebalance.delay.ms"),
        assignment_interval_ms: read.int("streams.assignment.interval.ms"),
        task_offset_interval_ms: read.int("streams.task.offset.interval.ms"),
        num_warmup_replicas: read.int("streams.num.warmup.replicas"),
        acceptable_recovery_lag: read.long("streams.acceptable.recovery.lag"),
        rack_aware_assignment_tags: read.list("streams.rack.aware.assignment.tags"),
        assignor_name: assignor_name(read),
        assignor_is_set: own_assignor(read).is_some(),
        max_size: read.broker_int("group.streams.max.size"),
        disconnect_grace_ms: read.int("thalweg.group.disconnect.grace.ms"),
    }
}

fn assignor_name(read: &GroupReader<'_>) -> String {
    let first = || streams_assignors(read).first().copied().unwrap_or("sticky");
    own_assignor(read).unwrap_or_else(first).to_owned()
}

fn own_assignor<'a>(read: &GroupReader<'a>) -> Option<&'a str> {
    let known = streams_assignors(read);
    read.own.get("streams.assignor.name").map(String::as_str).filter(|name| known.contains(name))
}

fn streams_assignors<'a>(read: &GroupReader<'a>) -> Vec<&'a str> {
    read.broker.get("group.streams.assignors").map_or_else(Vec::new, |(value, _)| items(value))
}

fn consumer(read: &GroupReader<'_>) -> ConsumerGroupSettings {
    ConsumerGroupSettings {
        session_timeout_ms: read.int("consumer.session.timeout.ms"),
        heartbeat_interval_ms: read.int("consumer.heartbeat.interval.ms"),
        assignment_interval_ms: read.int("consumer.assignment.interval.ms"),
        max_size: read.broker_int("group.consumer.max.size"),
    }
}

fn share(read: &GroupReader<'_>) -> ShareGroupSettings {
    ShareGroupSettings {
        session_timeout_ms: read.int("share.session.timeout.ms"),
        heartbeat_interval_ms: read.int("share.heartbeat.interval.ms"),
        assignment_interval_ms: read.int("share.assignment.interval.ms"),
        record_lock_duration_ms: read.int("share.record.lock.duration.ms"),
        delivery_count_limit: read.int("share.delivery.count.limit"),
        partition_max_record_locks: read.int("share.partition.max.record.locks"),
        auto_offset_reset: read.text("share.auto.offset.reset").to_ascii_lowercase(),
        read_committed: read.text("share.isolation.level") == "read_committed",
        renew_acknowledge_enable: read.text("share.renew.acknowledge.enable") == "true",
        max_size: read.broker_int("group.share.max.size"),
    }
}

struct GroupReader<'a> {
    broker: &'a BrokerConfigs,
    own: &'a Configs,
}

impl GroupReader<'_> {
    fn text(&self, name: &str) -> String {
        let found = row(Scope::Group, name).and_then(|row| effective(row, self.broker, self.own));
        found.map(|(value, _)| value).unwrap_or_default()
    }

    fn list(&self, name: &str) -> Vec<String> {
        items(&self.text(name)).into_iter().map(str::to_owned).collect()
    }

    fn long(&self, name: &str) -> i64 {
        let Some(row) = row(Scope::Group, name) else { return 0 };
        let effective = effective(row, self.broker, self.own).and_then(|(value, _)| value.parse().ok());
        let value = effective.or_else(|| row.default?.parse().ok()).unwrap_or_default();
        clamp(self.broker, name, value)
    }

    fn int(&self, name: &str) -> i32 {
        i32::try_from(self.long(name)).unwrap_or(i32::MAX)
    }

    fn broker_int(&self, name: &str) -> i32 {
        number(self.broker, name).and_then(|value| i32::try_from(value).ok()).unwrap_or(i32::MAX)
    }
}

fn clamp(broker: &BrokerConfigs, name: &str, value: i64) -> i64 {
    let Some(bounds) = BOUNDS.iter().find(|bounds| bounds.name == name) else { return value };
    let most = bounds.most.and_then(|most| number(broker, most)).unwrap_or(i64::MAX);
    let least = bounds.least.and_then(|least| number(broker, least)).unwrap_or(i64::MIN);
    value.min(most).max(least)
}

pub(crate) fn number(broker: &BrokerConfigs, name: &str) -> Option<i64> {
    broker.get(name).and_then(|(value, _)| value.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configs(pairs: &[(&str, &str)]) -> Configs {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn streams_of(fixed: &[(&str, &str)], own: &[(&str, &str)]) -> StreamsGroupSettings {
        let broker = BrokerConfigs { fixed: configs(fixed), ..BrokerConfigs::default() };
        GroupSettings::new(&broker, &configs(own)).streams
    }

    #[test]
    fn defaults() {
        let it = streams_of(&[], &[]);
        assert_eq!((it.session_timeout_ms, it.heartbeat_interval_ms), (45_000, 5000));
        assert_eq!((it.num_standby_replicas, it.initial_rebalance_delay_ms), (0, 3000));
        assert_eq!((it.assignment_interval_ms, it.task_offset_interval_ms), (1000, 60_000));
        assert_eq!((it.num_warmup_replicas, it.acceptable_recovery_lag), (2, 10_000));
        assert_eq!((it.assignor_name.as_str(), it.max_size), ("sticky", i32::MAX));
    }

    /// streams-groups scenario 320.
    #[test]
    fn stored_values_outside_the_bounds_are_clamped() {
        let it = streams_of(
            &[],
            &[
                ("streams.session.timeout.ms", "70000"),
                ("streams.heartbeat.interval.ms", "4000"),
                ("streams.num.standby.replicas", "9"),
                ("streams.assignment.interval.ms", "20000"),
            ],
        );
        assert_eq!((it.session_timeout_ms, it.heartbeat_interval_ms), (60_000, 5000));
        assert_eq!((it.num_standby_replicas, it.assignment_interval_ms), (2, 15_000));
    }

    /// streams-groups scenario 323, and the Kafka bug of C-4.
    #[test]
    fn unset_values_are_the_brokers() {
        let it = streams_of(
            &[("group.streams.session.timeout.ms", "50000"), ("group.streams.num.standby.replicas", "1")],
            &[("streams.heartbeat.interval.ms", "6000")],
        );
        assert_eq!(
            (it.session_timeout_ms, it.heartbeat_interval_ms, it.num_standby_replicas),
            (50_000, 6000, 1)
        );
    }

    /// streams-groups scenario 322, last part.
    #[test]
    fn an_assignor_that_is_gone_counts_as_unset() {
        assert_eq!(streams_of(&[], &[("streams.assignor.name", "gone")]).assignor_name, "sticky");
    }
}
