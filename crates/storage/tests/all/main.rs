//! The engines against the conformance suites, crashes and damage. One binary for all files, since each would be
//! linked with the whole crate: `cargo test -p storage --test all FILE::`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod common;
mod crash;
mod damage;
mod local;
mod memory;
mod partition;
mod quiet;
