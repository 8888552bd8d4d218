//! Lanes of clients that are not Java's. Each language's own manager fetches them, in the versions that the lane's files
//! name, into the lane's folder `target`.

use super::{Failure, MISSING_TOOL, NOT_FETCHED};
use crate::run;
use std::path::{Path, PathBuf};

/// librdkafka and kafka-python.
pub(super) fn python(full: bool, release: bool, extra: &[&str]) -> Result<(), Failure> {
    needs("python3", "--version", "Python 3.10 or newer with its module venv")?;
    let broker = run::build_broker(release)?;
    let folder = run::root().join("interop/python_clients");
    let venv = folder.join("target/venv");
    let python = words_of(&venv.join("bin/python"));
    let list = folder.join("requirements.txt");
    let (venv, list_name) = (words_of(&venv), words_of(&list));
    fetched("python_clients", &folder, &list, || {
        run::step("interop python_clients: environment", &["python3", "-m", "venv", "--clear", &venv])?;
        let install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--only-binary",
            ":all:",
            "-r",
        ];
        let words: Vec<&str> =
            [python.as_str()].into_iter().chain(install).chain([list_name.as_str()]).collect();
        run::step("interop python_clients: fetch", &words)
    })?;
    let (main, broker) = (words_of(&folder.join("main.py")), words_of(&broker));
    lane("python_clients", &[&python, "-B", &main, "--broker", &broker], full, extra)
}

/// Clients in Go. The module proxy's hashes are in `go.sum`; modules go to Go's own cache.
pub(super) fn go(full: bool, release: bool, extra: &[&str]) -> Result<(), Failure> {
    needs("go", "version", "Go 1.26, or an older one that may fetch it")?;
    let broker = words_of(&run::build_broker(release)?);
    let folder = run::root().join("interop/go_clients");
    let directory = words_of(&folder);
    std::fs::create_dir_all(folder.join("target")).map_err(|problem| problem.to_string())?;
    fetched("go_clients", &folder, &folder.join("go.sum"), || {
        run::step("interop go_clients: fetch", &["go", "-C", &directory, "mod", "download"])
    })?;
    let program = words_of(&folder.join("target/go_clients"));
    run::step("interop go_clients: build", &["go", "-C", &directory, "build", "-o", &program, "."])?;
    lane("go_clients", &[&program, "--broker", &broker], full, extra)
}

/// KafkaJS. Its lock file names no registry: npm's own setting does.
pub(super) fn node(full: bool, release: bool, extra: &[&str]) -> Result<(), Failure> {
    needs("node", "--version", "Node 18 or newer")?;
    needs("npm", "--version", "npm")?;
    let broker = words_of(&run::build_broker(release)?);
    let folder = run::root().join("interop/node_clients");
    let directory = words_of(&folder);
    std::fs::create_dir_all(folder.join("target")).map_err(|problem| problem.to_string())?;
    fetched("node_clients", &folder, &folder.join("package-lock.json"), || {
        run::step("interop node_clients: fetch", &["npm", "ci", "--silent", "--prefix", &directory])
    })?;
    let main = words_of(&folder.join("main.mjs"));
    lane("node_clients", &["node", &main, "--broker", &broker], full, extra)
}

fn lane(name: &str, words: &[&str], full: bool, extra: &[&str]) -> Result<(), Failure> {
    let mut words = words.to_vec();
    if full {
        words.push("--full");
    }
    words.extend(extra);
    run::step(&format!("interop {name}"), &words)?;
    Ok(())
}

fn words_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn needs(tool: &str, version: &str, what: &str) -> Result<(), Failure> {
    if run::exists(tool, version) {
        return Ok(());
    }
    Err(Failure { code: MISSING_TOOL, message: format!("{tool} is not installed; the lane needs {what}") })
}

/// Fetches unless it was done for this very list of versions.
fn fetched(
    name: &str,
    folder: &Path,
    list: &Path,
    fetch: impl FnOnce() -> Result<(), String>,
) -> Result<(), Failure> {
    let wanted = std::fs::read(list).map_err(|problem| format!("{}: {problem}", list.display()))?;
    let stamp: PathBuf = folder.join("target/fetched");
    if std::fs::read(&stamp).is_ok_and(|had| had == wanted) {
        return Ok(());
    }
    fetch().map_err(|problem| Failure {
        code: NOT_FETCHED,
        message: format!("the clients of {name} could not be fetched: {problem}"),
    })?;
    std::fs::write(&stamp, wanted).map_err(|problem| format!("{}: {problem}", stamp.display()))?;
    Ok(())
}
