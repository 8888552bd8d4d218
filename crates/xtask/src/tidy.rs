//! Rules of the repository that no compiler checks: the arrows between crates, what the deciding crates may not know,
//! the size of files, and the form of handler files.

use crate::run;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Which crates of the workspace a crate may depend on (normal dependencies). No other arrow is allowed.
const ARROWS: &[(&str, &[&str])] = &[
    ("schema", &[]),
    ("wire", &[]),
    ("catalog", &["wire"]),
    ("coordinator", &["wire", "catalog"]),
    ("storage", &["wire"]),
    ("broker", &["wire", "catalog", "coordinator", "storage"]),
    ("explain", &["wire"]),
    ("thalweg", &["wire", "catalog", "coordinator", "storage", "broker", "client", "explain"]),
    ("client", &["wire"]),
    ("bench", &["wire", "catalog", "coordinator", "storage", "broker"]),
    ("testkit", &[]),
    ("xtask", &[]),
];

/// Crates that decide or encode: no runtime, no sockets.
const WITHOUT_TOKIO: &[&str] = &["schema", "wire", "catalog", "coordinator", "explain"];

/// Lines of a source file without its tests.
const FILE_LINES_MAX: usize = 800;

/// Files that may be longer, with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

pub(crate) fn main() -> ExitCode {
    let mut problems = Vec::new();
    match metadata() {
        Ok(metadata) => {
            arrows(&metadata, &mut problems);
            without_tokio(&metadata, &mut problems);
            explained_dependencies(&metadata, &mut problems);
        }
        Err(problem) => problems.push(problem),
    }
    let crates = run::root().join("crates");
    for file in sources(&crates) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let name = file.strip_prefix(run::root()).unwrap_or(&file).to_string_lossy().into_owned();
        file_size(&name, &text, &mut problems);
        unfinished(&name, &text, &mut problems);
        if name.starts_with("crates/broker/src/api/") && !name.ends_with("/mod.rs") {
            handler_doc(&name, &text, &mut problems);
            error_codes(&crates, &name, &text, &mut problems);
        }
    }
    for problem in &problems {
        eprintln!("tidy: {problem}");
    }
    println!("== tidy: {} problems", problems.len());
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn metadata() -> Result<Value, String> {
    let output = run::command("cargo")
        .args(["metadata", "--format-version", "1", "--locked"])
        .output()
        .map_err(|problem| problem.to_string())?;
    serde_json::from_slice(&output.stdout)
        .map_err(|problem| format!("cargo metadata: {problem}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Packages of the workspace: those without a registry as their source.
fn members(metadata: &Value) -> impl Iterator<Item = &Value> {
    list(metadata, "packages").iter().filter(|package| package.get("source").is_none_or(Value::is_null))
}

fn normal_dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    list(package, "dependencies")
        .iter()
        .filter(|dependency| dependency.get("kind").is_none_or(Value::is_null))
}

fn arrows(metadata: &Value, problems: &mut Vec<String>) {
    let names: BTreeSet<&str> = members(metadata).map(|package| text(package, "name")).collect();
    for package in members(metadata) {
        let from = text(package, "name");
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == from) else {
            problems.push(format!("crate {from} is not in the list of arrows"));
            continue;
        };
        for dependency in normal_dependencies(package) {
            let to = text(dependency, "name");
            if names.contains(to) && !allowed.contains(&to) {
                problems.push(format!("crate {from} may not depend on {to}"));
            }
        }
    }
}

/// Follows normal dependencies through the whole graph, registries included.
fn without_tokio(metadata: &Value, problems: &mut Vec<String>) {
    let names: BTreeMap<&str, &str> = list(metadata, "packages")
        .iter()
        .map(|package| (text(package, "id"), text(package, "name")))
        .collect();
    let nodes: BTreeMap<&str, &Value> = metadata
        .get("resolve")
        .map_or(&[][..], |resolve| list(resolve, "nodes"))
        .iter()
        .map(|node| (text(node, "id"), node))
        .collect();
    for package in members(metadata).filter(|package| WITHOUT_TOKIO.contains(&text(package, "name"))) {
        let mut seen = BTreeSet::new();
        let mut open = vec![text(package, "id")];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            if names.get(id) == Some(&"tokio") {
                problems.push(format!("crate {} reaches tokio", text(package, "name")));
            }
            for dependency in nodes.get(id).map_or(&[][..], |node| list(node, "deps")) {
                let normal = list(dependency, "dep_kinds")
                    .iter()
                    .any(|kind| kind.get("kind").is_none_or(Value::is_null));
                if normal {
                    open.push(text(dependency, "pkg"));
                }
            }
        }
    }
}

/// CONTRIBUTING.md has a row for each direct dependency that is not ours.
fn explained_dependencies(metadata: &Value, problems: &mut Vec<String>) {
    let page = std::fs::read_to_string(run::root().join("CONTRIBUTING.md")).unwrap_or_default();
    let ours: BTreeSet<&str> = members(metadata).map(|package| text(package, "name")).collect();
    let direct: BTreeSet<&str> = members(metadata)
        .flat_map(|package| list(package, "dependencies"))
        .map(|dependency| text(dependency, "name"))
        .filter(|name| !ours.contains(name))
        .collect();
    for name in direct {
        if !page.contains(&format!("| `{name}` |")) {
            problems.push(format!("CONTRIBUTING.md does not say why `{name}` is a dependency"));
        }
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn file_size(name: &str, source: &str, problems: &mut Vec<String>) {
    let lines = source.lines().take_while(|line| *line != "#[cfg(test)]").count();
    if lines > FILE_LINES_MAX && !LONG_FILES.iter().any(|(long, _)| *long == name) {
        problems.push(format!("{name} has {lines} lines without its tests, more than {FILE_LINES_MAX}"));
    }
}

fn unfinished(name: &str, source: &str, problems: &mut Vec<String>) {
    // Written in pieces, so that this file does not find itself.
    for mark in
        [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("FIX", "ME"), concat!("#[ig", "nore")]
    {
        if source.contains(mark) {
            problems.push(format!("{name} is unfinished: {mark}"));
        }
    }
}

/// Codes that a file names and no client of this API can get, with the reason.
const NEVER_ANSWERED: &[(&str, &str)] = &[
    // What the log says of a marker; Produce writes none.
    ("crates/broker/src/api/produce.rs", "TRANSACTION_COORDINATOR_FENCED"),
    // What the transaction's coordinator says; the client hears another code.
    ("crates/broker/src/api/produce.rs", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("crates/broker/src/api/produce.rs", "COORDINATOR_NOT_AVAILABLE"),
    ("crates/broker/src/api/produce.rs", "NETWORK_EXCEPTION"),
    ("crates/broker/src/api/produce.rs", "NOT_COORDINATOR"),
    ("crates/broker/src/api/txn_offset_commit.rs", "NETWORK_EXCEPTION"),
];

/// The docs of a handler, and of the files that they name as `crate/src/file.rs`, tell every error code that these
/// files answer with: the protocol pages have no other source.
fn error_codes(crates: &Path, name: &str, source: &str, problems: &mut Vec<String>) {
    if !source.contains("impl Handler for") {
        return;
    }
    let mut files = vec![(name.to_owned(), source.to_owned())];
    for cited in
        doc(source).split('`').skip(1).step_by(2).filter(|it| it.contains("/src/") && it.ends_with(".rs"))
    {
        match std::fs::read_to_string(crates.join(cited)) {
            Ok(text) => files.push((format!("crates/{cited}"), text)),
            Err(problem) => problems.push(format!("{name} names {cited}: {problem}")),
        }
    }
    let told: String = files.iter().map(|it| doc(&it.1)).collect::<Vec<_>>().join("\n");
    let words: BTreeSet<&str> = told.split(|c: char| !is_of_code(c)).collect();
    for (file, text) in &files {
        for code in answered(text) {
            if !words.contains(code) && !NEVER_ANSWERED.contains(&(file, code)) {
                problems.push(format!("{name}: no doc tells when {file} answers {code}"));
            }
        }
    }
}

fn doc(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Error codes in a file's code, without its tests. That something of ours broke can happen everywhere.
fn answered(source: &str) -> BTreeSet<&str> {
    let lines = source.lines().take_while(|line| *line != "#[cfg(test)]");
    let code = lines.filter(|line| !line.trim_start().starts_with("//"));
    let names = code.flat_map(|line| line.split("ErrorCode::").skip(1));
    let names = names.map(|rest| rest.split(|c: char| !is_of_code(c)).next().unwrap_or_default());
    names.filter(|it| !matches!(*it, "" | "NONE" | "UNKNOWN_SERVER_ERROR")).collect()
}

const fn is_of_code(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'
}

/// A handler file opens with the API's key and versions and numbers its checks.
fn handler_doc(name: &str, source: &str, problems: &mut Vec<String>) {
    let doc: Vec<&str> = source.lines().take_while(|line| line.starts_with("//!")).collect();
    let has = |part: &str| doc.iter().any(|line| line.contains(part));
    if source.contains("impl Handler for") && !(has("(key ") && has("//! 1.")) {
        problems
            .push(format!("{name}: the module doc needs `(key N)`, the versions and the numbered checks"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_no_doc_tells_is_found() {
        let folder = std::env::temp_dir().join(format!("thalweg-tidy-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("deep/src")).unwrap();
        let deep = "//! 1. b  else NOT_COORDINATOR\nfn f() { ErrorCode::NOT_COORDINATOR; ErrorCode::INVALID_REQUEST }\n";
        std::fs::write(folder.join("deep/src/b.rs"), deep).unwrap();
        let code = "impl Handler for A {}\n// ErrorCode::IN_A_COMMENT\nErrorCode::NONE, ErrorCode::GROUP_ID_NOT_FOUND\n#[cfg(test)]\nErrorCode::IN_A_TEST";
        let found = |doc: &str| {
            let mut problems = Vec::new();
            error_codes(&folder, "a.rs", &format!("{doc}\n{code}"), &mut problems);
            problems
        };
        let told = "//! 1. a  else GROUP_ID_NOT_FOUND\n//! 2. the rest in `deep/src/b.rs`";
        assert_eq!(found(told), ["a.rs: no doc tells when crates/deep/src/b.rs answers INVALID_REQUEST"]);
        assert_eq!(found("//! Nothing."), ["a.rs: no doc tells when a.rs answers GROUP_ID_NOT_FOUND"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
