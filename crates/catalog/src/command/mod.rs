//! Commands: requests to change the catalog. Deciding reads the image and returns entries; nothing here changes
//! anything. If the journal says `Behind`, the caller reads on, applies, and decides again.

mod alter_configs;
mod brokers;
mod create_partitions;
mod create_topics;
mod delete_topics;
mod features;
mod producer_ids;

use std::fmt;

use wire::error_message;

pub use alter_configs::{AlterConfigs, AlterResource, ConfigOp, ReplaceConfigs, ReplaceResource};
pub use brokers::{RegisterBroker, UnregisterBroker};
pub use create_partitions::{CreatePartitions, NewPartitions};
pub use create_topics::{CreateTopics, CreatedTopic, NewTopic, duplicates, internal_topic};
pub use delete_topics::{DeleteTopics, DeletedTopic, TopicRef};
pub use features::{FeatureUpdate, FinalizeInitial, UpdateFeatures};
pub use producer_ids::{AllocateProducerIds, PRODUCER_ID_BLOCK, ProducerIdBlock};

use crate::entry::Entry;
use crate::{ErrorCode, Image};

/// Sixteen random bytes per call.
pub type Entropy<'a> = &'a mut dyn FnMut() -> [u8; 16];

/// A request to change the catalog.
pub trait Command {
    type Reply;

    /// Entries that carry the command out, all or none, and the reply to give once they are durable.
    ///
    /// # Errors
    /// The whole command is refused; nothing happens.
    fn decide(&self, image: &Image, entropy: Entropy<'_>) -> Result<Decision<Self::Reply>, Refusal>;
}

/// What a command comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<R> {
    /// Empty: nothing to store.
    pub entries: Vec<Entry>,
    pub reply: R,
}

/// Why something is not done, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: ErrorCode,
    pub message: String,
}

impl Refusal {
    /// The message may say again what a client sent, of any length.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: error_message(message.into()) }
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, message)
    }

    pub(crate) fn invalid_config(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_CONFIG, message)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// Most records that one request may generate in Kafka (`MAX_RECORDS_PER_USER_OP`).
const RECORDS_MAX: usize = 10_000;

/// `broker-core.md` 5: a request that asks for too much at once is refused as a whole.
fn check_size(records: usize) -> Result<(), Refusal> {
    if records > RECORDS_MAX {
        let message =
            format!("One request may change at most {RECORDS_MAX} things, this one would change {records}");
        return Err(Refusal::new(ErrorCode::POLICY_VIOLATION, message));
    }
    Ok(())
}
