//! The project's chores: `cargo xtask ci | tidy | interop LANE`. Runs other commands and checks the repository's rules.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its user")]

mod footprint;
mod interop;
mod run;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND
  ci                               all that a change must pass, in the order of cost
  tidy                             repository rules: arrows between crates, file sizes, docs of handlers
  fuzz [--seconds N]               random bytes against all decoders; 60 seconds
  footprint                        start-up time and idle memory of the release build
  interop LANE [--full] [--release] [-- ARG...]
                                   one lane of interop/ against a broker built from this tree";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["ci"] => ci(),
        ["tidy"] => tidy::main(),
        ["fuzz"] => fuzz("60"),
        ["fuzz", "--seconds", seconds] => fuzz(seconds),
        ["footprint"] => footprint::main(),
        ["interop", lane, rest @ ..] => interop::main(lane, rest),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The fuzz test of `wire` for a given time; it keeps inputs that fail in a file and prints its name.
fn fuzz(seconds: &str) -> ExitCode {
    let seconds = format!("THALWEG_FUZZ_SECONDS={seconds}");
    let words = ["env", &seconds, "cargo", "test", "-p", "wire", "--test", "fuzz", "--", "--nocapture"];
    match run::step("fuzz", &words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// What follows the test run in `.ci/run`; stops at the first failure.
fn ci() -> ExitCode {
    let steps: &[(&str, &[&str])] = &[
        ("format", &["cargo", "fmt", "--all", "--check"]),
        ("clippy", &["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        ("docs", &["cargo", "run", "--quiet", "-p", "thalweg", "--", "docs", "--check"]),
    ];
    for (name, command) in steps {
        if let Err(problem) = run::step(name, command) {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    }
    for check in [
        tidy::main as fn() -> ExitCode,
        || interop::main("java_streams", &[]),
        || interop::main("java_consumers", &[]),
        || interop::main("java_tools", &[]),
        || interop::main("kdiff", &[]),
        || interop::if_fetched("python_clients"),
        || interop::if_fetched("go_clients"),
        || interop::if_fetched("node_clients"),
    ] {
        let code = check();
        if code != ExitCode::SUCCESS {
            return code;
        }
    }
    ExitCode::SUCCESS
}
