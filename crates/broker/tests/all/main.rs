//! The broker as a whole, over its wire protocol. One binary for all files, since each would be
//! linked with the whole crate: `cargo test -p broker --test all FILE::`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod admin;
mod api_versions;
mod classic;
mod common;
mod connections;
mod consumer_groups;
mod departures;
mod explain;
mod features;
mod group_codes;
mod groups;
mod legacy_admin;
mod metadata;
mod offline;
mod produce_fetch;
mod refused_commits;
mod shards;
mod streams;
mod transaction_codes;
mod transactional_writes;
mod transactions;
