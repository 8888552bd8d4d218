//! Runs one lane of `interop/` against a broker that is built from this tree.
//!
//! Exit codes: 0 passed, 1 failed, 2 wrong usage, 4 a tool that the lane needs is not installed, 5 the lane's clients could
//! not be fetched.

use crate::run;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};

mod clients;

const MISSING_TOOL: u8 = 4;
/// The clients of a lane could not be fetched: their registry did not answer, or has them no more.
const NOT_FETCHED: u8 = 5;

pub(crate) fn main(lane: &str, options: &[&str]) -> ExitCode {
    let (options, extra) = match options.iter().position(|option| *option == "--") {
        Some(at) => (options.get(..at).unwrap_or_default(), options.get(at + 1..).unwrap_or_default()),
        None => (options, &[][..]),
    };
    if let Some(unknown) = options.iter().find(|option| !["--full", "--release"].contains(*option)) {
        eprintln!("unknown option {unknown}");
        return ExitCode::from(2);
    }
    let full = options.contains(&"--full");
    let release = options.contains(&"--release");
    let result = match lane {
        "java_streams" => java("java_streams", "thalweg.interop.Main", full, release, extra),
        "java_consumers" => java("java_consumers", "thalweg.interop.consumers.Main", false, release, extra),
        "java_tools" => java("java_tools", "thalweg.interop.tools.Main", false, release, extra),
        "kdiff" => kdiff(release, extra),
        "python_clients" => clients::python(full, release, extra),
        "go_clients" => clients::go(full, release, extra),
        "node_clients" => clients::node(full, release, extra),
        _ => {
            eprintln!(
                "unknown lane {lane}: java_streams, java_consumers, java_tools, kdiff, python_clients, go_clients, \
                 node_clients"
            );
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { code, message }) => {
            eprintln!("interop {lane}: {message}");
            ExitCode::from(code)
        }
    }
}

/// A lane as `xtask ci` runs it: where its clients can't be fetched it is skipped, and says so.
pub(crate) fn if_fetched(lane: &str) -> ExitCode {
    let code = main(lane, &[]);
    if code == ExitCode::from(NOT_FETCHED) {
        println!("== interop {lane}: skipped, its clients could not be fetched");
        return ExitCode::SUCCESS;
    }
    code
}

struct Failure {
    code: u8,
    message: String,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { code: 1, message }
    }
}

/// A Maven project of `interop/` whose main class starts and kills the broker itself.
fn java(lane: &str, main_class: &str, full: bool, release: bool, extra: &[&str]) -> Result<(), Failure> {
    for tool in ["java", "mvn"] {
        if !run::exists(tool, "-version") {
            let message = format!("{tool} is not installed; the lane needs a JDK 17 and Maven");
            return Err(Failure { code: MISSING_TOOL, message });
        }
    }
    let broker = run::build_broker(release)?;
    let folder = run::root().join("interop").join(lane);
    let pom = folder.join("pom.xml");
    run::step(
        &format!("interop {lane}: build"),
        &["mvn", "-q", "-B", "-f", &pom.to_string_lossy(), "package"],
    )?;
    let target = folder.join("target");
    let classes = format!("{}:{}/*", target.join("classes").display(), target.join("lib").display());
    let broker = broker.to_string_lossy().into_owned();
    let log = target.join("clients.log");
    let log = format!("-Dorg.slf4j.simpleLogger.logFile={}", log.display());
    let mut words = vec!["java"];
    if !full {
        // Short stories: the second compiler takes more of the processors than it gives back.
        words.push("-XX:TieredStopAtLevel=1");
    }
    words.extend(["-cp", &classes, "-Dorg.slf4j.simpleLogger.defaultLogLevel=info", &log]);
    words.extend([main_class, "--broker", &broker]);
    if full {
        words.push("--full");
    }
    words.extend(extra);
    run::step(&format!("interop {lane}"), &words)?;
    Ok(())
}

/// Compares our answers with recorded ones of Apache Kafka 4.4.0. The comparing tool stands beside the repository; where
/// it is absent the lane says so and is skipped.
fn kdiff(release: bool, extra: &[&str]) -> Result<(), Failure> {
    let tool = run::root().join("../shared/tools/kdiff/kdiff");
    if !tool.exists() || !run::exists("python3", "--version") {
        println!("== interop kdiff: skipped, the comparing tool or python3 is not here");
        return Ok(());
    }
    let recording = run::root().join("interop/kdiff/kafka-4.4.0.json.xz");
    let broker = Serving::start(&run::build_broker(release)?)?;
    let cases = std::fs::read_to_string(run::root().join("interop/kdiff/only.txt"))
        .map_err(|problem| format!("interop/kdiff/only.txt: {problem}"))?;
    let only =
        cases.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect::<Vec<_>>().join("|");
    let only = format!("^(?!.*_alone_).*(?:{only})");
    let (tool, recording) = (tool.to_string_lossy().into_owned(), recording.to_string_lossy().into_owned());
    // The tool's own cases, and those that were written here.
    let (theirs, ours) = (run::root().join("../shared/tools/kdiff/cases"), run::root().join("interop/kdiff"));
    let (theirs, ours) = (theirs.to_string_lossy().into_owned(), ours.to_string_lossy().into_owned());
    let mut words = vec!["python3", "-B", &tool, "--against", &recording, "--subject", &broker.address];
    // Cases mostly wait for something to be seen.
    words.extend(["--jobs", "8", theirs.as_str(), ours.as_str()]);
    if extra.is_empty() {
        words.extend(["--only", &only]);
    }
    words.extend(extra);
    run::step("interop kdiff", &words)?;
    if extra.is_empty() {
        // What they change holds for every client.
        let mut alone = words;
        alone.extend(["--jobs", "1", "--only", "_alone_"]);
        run::step("interop kdiff, cases that run alone", &alone)?;
    }
    Ok(())
}

/// A broker with the settings of the recording, on a port and in a directory of its own, ended with the value.
struct Serving {
    process: Child,
    directory: PathBuf,
    address: String,
}

impl Serving {
    fn start(program: &Path) -> Result<Self, String> {
        let directory = std::env::temp_dir().join(format!("thalweg-interop-{}", std::process::id()));
        let data = format!("log.dirs={}", directory.display());
        let mut process = run::command(&program.to_string_lossy())
            .args(["serve", "--print", "json", "--override", &data])
            .args(["--override", "listeners=PLAINTEXT://127.0.0.1:0", "--override", "node.id=1"])
            .args(["--override", "thalweg.profile=kafka", "--override", "group.initial.rebalance.delay.ms=0"])
            .args(["--override", "offsets.topic.num.partitions=4"])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|problem| format!("{}: {problem}", program.display()))?;
        let mut line = String::new();
        if let Some(out) = process.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(|problem| problem.to_string())?;
        }
        let address = bound_address(&line);
        let mut serving = Self { process, directory, address: String::new() };
        serving.address =
            address.ok_or_else(|| format!("the broker did not say where it listens: {line:?}"))?;
        Ok(serving)
    }
}

/// The first `host:port` of the line that `serve --print json` prints.
fn bound_address(line: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let listener = value.get("listeners")?.get(0)?;
    Some(listener.get("address")?.as_str()?.to_owned())
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Nothing is left to do when this fails: the process has ended, or the folder is the system's to clean.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
