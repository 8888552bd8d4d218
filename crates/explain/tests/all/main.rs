//! The explainer against vectors, worked examples and hostile bytes. One binary for all files, since each would be
//! linked with the whole crate: `cargo test -p explain --test all FILE::`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod diagnostics;
mod embedded;
mod examples;
mod hostile;
mod invariants;
mod roundtrip;
mod sessions;
mod support;
