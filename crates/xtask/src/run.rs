//! Runs a command with its output shown, and says how long it took.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The workspace's root, so that every command may be called from any folder of it.
pub(crate) fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).map(PathBuf::from).unwrap_or_default()
}

/// A command of the workspace, started in its root.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs one step and prints its name and its duration.
///
/// # Errors
/// What failed, in one line.
pub(crate) fn step(name: &str, words: &[&str]) -> Result<(), String> {
    let (program, args) = words.split_first().ok_or("an empty command")?;
    println!("== {name}: {}", words.join(" "));
    let start = Instant::now();
    let status =
        command(program).args(args).status().map_err(|problem| format!("{name}: {program}: {problem}"))?;
    println!("== {name}: {:.1} s", start.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("{name} failed: {status}")) }
}

/// True if `program` can be started at all.
pub(crate) fn exists(program: &str, version: &str) -> bool {
    command(program).arg(version).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Builds the `thalweg` binary of this tree and says where it is.
///
/// # Errors
/// What failed, in one line.
pub(crate) fn build_broker(release: bool) -> Result<PathBuf, String> {
    let words: &[&str] = if release {
        &["cargo", "build", "--package", "thalweg", "--release"]
    } else {
        &["cargo", "build", "--package", "thalweg"]
    };
    step("build", words)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join(if release { "release" } else { "debug" }).join("thalweg"))
}
