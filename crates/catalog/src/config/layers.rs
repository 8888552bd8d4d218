//! The layers in which a broker setting can stand (rule C2) and how they are looked through.

use super::{Configs, Scope, base_name, broker_row, row};

/// Where a value comes from, with the numbers of DescribeConfigs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Topic = 1,
    DynamicBroker = 2,
    DynamicDefaultBroker = 3,
    StaticBroker = 4,
    Default = 5,
    ClientMetrics = 7,
    Group = 8,
}

impl Source {
    /// The number on the wire.
    pub fn code(self) -> i8 {
        self as i8
    }
}

/// What the file, the environment and the command line give: checked, in normal form; unknown names as they came.
pub type StaticConfigs = Configs;

/// The three layers above the defaults.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BrokerConfigs {
    pub fixed: StaticConfigs,
    /// Set by IncrementalAlterConfigs on BROKER "".
    pub cluster: Configs,
    /// Set by IncrementalAlterConfigs on BROKER "n", for this broker.
    pub own: Configs,
}

impl BrokerConfigs {
    /// The value of a broker setting and where it comes from; `None` if it is null.
    pub fn get<'a>(&'a self, name: &'a str) -> Option<(&'a str, Source)> {
        self.all(&[name]).next().map(|(_, value, source)| (value, source))
    }

    /// Every value that one of the names has, by precedence: layer by layer as Kafka does, with the name.
    pub fn all<'a>(&'a self, names: &[&'a str]) -> impl Iterator<Item = (&'a str, &'a str, Source)> {
        let layers = [
            (&self.own, Source::DynamicBroker),
            (&self.cluster, Source::DynamicDefaultBroker),
            (&self.fixed, Source::StaticBroker),
        ];
        let set = layers.into_iter().flat_map(move |(layer, source)| {
            names.iter().filter_map(move |name| layer.get(*name).map(|value| (*name, value.as_str(), source)))
        });
        let defaults = names.iter().filter_map(|name| {
            let default = row(Scope::Broker, name)?.default?;
            Some((*name, default, Source::Default))
        });
        set.chain(defaults)
    }
}

/// Names under which a broker setting is also looked up, by precedence, itself included.
pub(crate) fn broker_synonyms(name: &str) -> Vec<&str> {
    match name {
        "log.roll.ms" | "log.roll.hours" => vec!["log.roll.ms", "log.roll.hours"],
        "log.roll.jitter.ms" | "log.roll.jitter.hours" => vec!["log.roll.jitter.ms", "log.roll.jitter.hours"],
        "log.flush.interval.ms" => vec!["log.flush.interval.ms", "log.flush.scheduler.interval.ms"],
        "log.retention.ms" | "log.retention.minutes" | "log.retention.hours" => {
            vec!["log.retention.ms", "log.retention.minutes", "log.retention.hours"]
        }
        _ => base_name(name).map_or_else(|| vec![name], |base| vec![name, base]),
    }
}

/// Whether a value of this name must not be shown: passwords, and names of which nothing is known.
pub(crate) fn is_sensitive(name: &str) -> bool {
    broker_row(name).is_none_or(|row| row.is_sensitive())
}
