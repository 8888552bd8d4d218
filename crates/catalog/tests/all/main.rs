//! The catalog's commands and their replay. One binary for all files, since each would be
//! linked with the whole crate: `cargo test -p catalog --test all FILE::`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod cluster;
mod configs;
mod replay;
mod topics;
mod world;
