//! The reference pages of the repository are those that the program would write.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

fn docs(folder: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(["docs", "--check", "--out", folder]).output().unwrap()
}

#[test]
fn pages_are_fresh() {
    let output = docs(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    let list = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "run `cargo run -- docs` and commit what it writes:\n{list}");
}

#[test]
fn a_folder_without_the_pages_ends_with_6() {
    let output = docs(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    assert_eq!(output.status.code(), Some(6));
    let list = String::from_utf8_lossy(&output.stdout);
    assert!(
        list.contains("missing: protocol/README.md\n") && list.contains("missing: config.md\n"),
        "{list}"
    );
}
