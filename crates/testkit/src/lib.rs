//! What tests of several crates share: golden scripts and seeds. It knows nothing of Kafka.

pub mod script;
pub mod seed;
