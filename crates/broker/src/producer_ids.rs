//! Producer ids: blocks from the catalog, single ids from memory (`broker-core.md` 12.3).
//!
//! A block is in the journal before its first id is given out, so no id comes twice, also after a
//! crash; what was left of a block is lost, as in Kafka.

use std::ops::Range;
use std::sync::Arc;

use ::catalog::Refusal;
use ::catalog::command::AllocateProducerIds;
use tokio::sync::Mutex;

use crate::catalog::Catalog;

/// The block that this broker gives ids out of.
#[derive(Debug, Default)]
pub struct ProducerIds {
    block: Mutex<Range<i64>>,
}

impl ProducerIds {
    /// An id that nobody had before. The error is why no block could be had.
    pub async fn next(&self, catalog: &Arc<Catalog>) -> Result<i64, Refusal> {
        let mut block = self.block.lock().await;
        if block.is_empty() {
            let taken = catalog.submit(AllocateProducerIds).await?;
            *block = taken.first..taken.first + taken.len;
        }
        let id = block.start;
        block.start += 1;
        Ok(id)
    }
}
