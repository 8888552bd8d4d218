//! The golden vectors of `wire` as rows, and those of this crate.
#![allow(unreachable_pub, reason = "a test")]

#[path = "../../../../wire/tests/support/rows.rs"]
mod rows;

use std::path::Path;

pub use rows::{Row, hex, rows as vectors, text, unhex};

/// A golden file of this crate.
pub fn golden(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub fn table(file: &str) -> Vec<Row> {
    rows::split(&golden(file))
}
