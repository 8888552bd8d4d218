//! What can be asked of a transaction shard and what it answers.

use wire::Str;

/// A partition by the name of its topic, as transactions know them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    pub topic: Str,
    pub index: i32,
}

/// Partitions of a transaction: to be added, or to be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddPartitions {
    pub transactional_id: Str,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub partitions: Vec<TopicPartition>,
    /// Only tell whether the transaction has them (KIP-890, clients before Produce v12).
    pub verify_only: bool,
}
