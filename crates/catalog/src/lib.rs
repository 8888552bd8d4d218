//! The catalog: topics, partitions, brokers, settings and features as one deterministic state machine.
//!
//! A `Command` is decided against an `Image` and comes to `Entry`s and a reply. The entries are appended to the metadata
//! journal; once they are there, `Image::apply` makes the next image, here and on every broker alike. Replaying the
//! journal gives the same image, byte for byte.
//!
//! Must not know: sockets, tasks, clocks, storage. Random bytes are an argument.

pub mod command;
pub mod config;
pub mod entry;
pub mod features;
mod image;
mod placement;
mod shared_map;
pub mod topic_name;
mod validate;

pub use command::{Command, Decision, Entropy, Refusal};
pub use entry::Entry;
pub use features::Features;
pub use image::{Broker, Changes, Endpoint, INTERNAL_TOPICS, Image, Local, PartitionInfo, Topic};
pub use wire::{ErrorCode, Uuid};
