//! `bench codec | proxy [--thalweg PATH] | forward UPSTREAM`.
#![expect(clippy::print_stderr, reason = "a command-line tool talks to its user")]

use std::process::ExitCode;

const USAGE: &str = "usage: bench COMMAND
  codec                  encode and decode, against the crate kafka-protocol
  proxy [--thalweg PATH] CPU of `thalweg wire proxy --quiet`, against a plain forwarder
  forward UPSTREAM       the plain forwarder; prints its port";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["codec"] => bench::codec::run(),
        ["proxy"] => bench::proxy::run(None),
        ["proxy", "--thalweg", path] => bench::proxy::run(Some(path)),
        ["forward", upstream] => bench::forward::run(upstream),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Err(problem) = done {
        eprintln!("bench: {problem}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
