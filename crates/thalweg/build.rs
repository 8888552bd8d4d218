//! Gathers what handlers say about themselves for `thalweg docs`: the module docs of `crates/broker/src/api/`, which open
//! with the API's key and number the checks in their order, and those of the files that they name as
//! `` `crate/src/file.rs` ``, where the checks go on.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut out = "pub(super) static HANDLERS: &[Handler] = &[\n".to_owned();
    for file in sources(&crates.join("broker/src/api")) {
        let doc = module_doc(&file);
        let Some(key) = key(&doc) else { continue };
        let name = file.strip_prefix(&crates).expect("it lies in there").display().to_string();
        write!(out, "Handler {{ key: {key}, file: {name:?}, doc: {doc:?}, cited: &[")
            .expect("a string takes all");
        for path in cited(&doc) {
            write!(out, "({path:?}, {:?}),", module_doc(&crates.join(path))).expect("a string takes all");
        }
        out.push_str("] },\n");
    }
    out.push_str("];\n");
    let target = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(target.join("handlers.rs"), out).expect("the build folder can be written");
}

/// Rust files below a folder, in order.
fn sources(folder: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn module_doc(file: &Path) -> String {
    println!("cargo::rerun-if-changed={}", file.display());
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(problem) => panic!("{}: {problem}", file.display()),
    };
    let lines = text.lines().map_while(|it| it.strip_prefix("//!"));
    lines.map(|it| it.strip_prefix(' ').unwrap_or(it)).collect::<Vec<_>>().join("\n")
}

/// The number in `(key 42)` of the first lines.
fn key(doc: &str) -> Option<i16> {
    let (_, rest) = doc.split_once("(key ")?;
    rest.split_once(')')?.0.parse().ok()
}

/// Files that a doc names as `crate/src/file.rs` in backticks.
fn cited(doc: &str) -> Vec<&str> {
    let quoted = doc.split('`').skip(1).step_by(2);
    let mut found: Vec<&str> = quoted.filter(|it| it.contains("/src/") && it.ends_with(".rs")).collect();
    found.dedup();
    found
}
