//! The machine of one partition of `__transaction_state`: the transactions of its transactional ids.

pub mod request;

pub use request::{AddPartitions, TopicPartition};
