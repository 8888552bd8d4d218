//! Constants behind the numbers and words in messages, one module per enumeration, and Kafka's features.

/// A feature that brokers agree on (KIP-584), with the levels that Kafka 4.4.0 knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    pub name: &'static str,
    pub min: i16,
    pub latest: i16,
    pub levels: &'static [FeatureLevel],
}

/// One level of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureLevel {
    pub level: i16,
    pub name: &'static str,
    /// Set for `metadata.version`: the name of the release, as `4.4-IV2`.
    pub release: Option<&'static str>,
    /// The metadata version that has this level at the first start.
    pub bootstrap_metadata: Option<i16>,
    /// The metadata version that this level needs.
    pub needs_metadata: Option<i16>,
}

include!(concat!(env!("OUT_DIR"), "/enums.rs"));
