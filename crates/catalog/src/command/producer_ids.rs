//! Blocks of producer ids. A block is a journal entry before it is used, so no id is given twice, whatever crashes.

use super::{Command, Decision, Entropy, Refusal};
use crate::Image;
use crate::entry::Entry;

/// Ids per block, as in Kafka.
pub const PRODUCER_ID_BLOCK: i64 = 1000;

/// The next block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AllocateProducerIds;

/// Ids that nobody else has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerIdBlock {
    pub first: i64,
    pub len: i64,
}

impl Command for AllocateProducerIds {
    type Reply = ProducerIdBlock;

    fn decide(&self, image: &Image, _entropy: Entropy<'_>) -> Result<Decision<Self::Reply>, Refusal> {
        let first = image.next_producer_id();
        let entries = vec![Entry::ProducerIds { next: first + PRODUCER_ID_BLOCK }];
        Ok(Decision { entries, reply: ProducerIdBlock { first, len: PRODUCER_ID_BLOCK } })
    }
}
