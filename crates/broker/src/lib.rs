//! The broker: sockets, handlers, and the hosts of the machines.
//!
//! It holds the deciding crates together and decides little itself. Reading order: [`net`]
//! (bytes to frames), `router` (frame to request), [`api`] (one file per API), then what handlers
//! reach through [`broker`]: [`catalog`] (metadata), [`partitions`] (logs), [`shards`] and `host`
//! (coordinators). It does not know which engine stores its records.

pub mod api;
pub mod auth;
pub mod broker;
pub mod call;
pub mod catalog;
pub mod chance;
pub mod clock;
pub mod departures;
pub mod fetch_session;
mod group_tasks;
mod heavy;
mod host;
mod internal_topics;
pub mod markers;
pub mod net;
pub mod partitions;
pub mod producer_ids;
pub mod replay;
mod router;
pub mod settings;
mod settle;
pub mod shards;
mod start;
mod stop;
mod topic_settings;
pub mod txn;
mod txn_tasks;
mod verify;

pub use broker::Broker;
pub use settings::{Invalid, Settings};
pub use start::{Running, StartError, Storage};
