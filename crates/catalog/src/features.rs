//! Features: levels on which the whole cluster agreed (KIP-584). What can be finalized is exactly what is served.

use std::collections::BTreeMap;

/// A feature that this release knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Supported {
    pub name: &'static str,
    pub min: i16,
    pub max: i16,
    /// Level at first start.
    pub initial: i16,
}

/// Everything that is served (decision 2), by name. A row appears here when its part lands.
pub const SUPPORTED: &[Supported] = &[
    Supported { name: "group.version", min: 0, max: 1, initial: 1 },
    Supported { name: "metadata.version", min: 7, max: 33, initial: 33 },
    Supported { name: "streams.version", min: 0, max: 1, initial: 1 },
    Supported { name: "transaction.version", min: 0, max: 2, initial: 2 },
];

/// Finalized levels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Features {
    /// Grows with every change and never falls: clients ignore levels with an older epoch. 0: nothing is finalized.
    pub epoch: i64,
    /// Also features at level 0, so that a later start does not raise what was turned off.
    pub(crate) levels: BTreeMap<String, i16>,
}

impl Features {
    /// The finalized level, 0 if there is none.
    pub fn level(&self, name: &str) -> i16 {
        self.levels.get(name).copied().unwrap_or(0)
    }

    /// Whether a level was ever chosen for it, also 0.
    pub fn is_decided(&self, name: &str) -> bool {
        self.levels.contains_key(name)
    }

    /// What ApiVersions shows: features above level 0, by name.
    pub fn finalized(&self) -> impl Iterator<Item = (&str, i16)> {
        self.levels.iter().filter(|(_, level)| **level > 0).map(|(name, level)| (name.as_str(), *level))
    }

    pub(crate) fn set(&mut self, name: &str, level: i16) {
        self.levels.insert(name.to_owned(), level);
        self.epoch += 1;
    }
}

/// What is known of a feature.
pub fn supported(name: &str) -> Option<&'static Supported> {
    SUPPORTED.iter().find(|feature| feature.name == name)
}
