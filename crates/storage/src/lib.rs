//! Where records live: the seam between what Kafka means and where bytes are kept.
//!
//! Reading order: `log` and `journal` are the seam, `memory` is its reference, `local` keeps files in Kafka's
//! layout. Nothing here knows requests, error codes or groups.

pub mod log;

pub mod journal;

pub mod memory;

pub mod local;
pub mod partition;

mod lanes;

#[cfg(feature = "testing")]
pub mod conformance;
#[cfg(feature = "testing")]
pub mod faulty;

pub use journal::{Journal, JournalError, Since, Version};
pub use lanes::Lanes;
pub use local::{LocalConfig, LocalEngine, LocalJournal, StartError};
pub use log::{
    Aborted, Batch, Batches, BoxFuture, Durability, Ends, Engine, Epoch, Found, Grant, Lane, LaneId, Log,
    LogSettings, Millis, Offset, OpenFile, PartitionId, PartitionSnapshot, Place, Recovered, Refused,
    SessionId, Slice, Slices, Span, Urgency, Uuid,
};
pub use memory::{MemoryEngine, MemoryJournal};
pub use partition::Partition;
