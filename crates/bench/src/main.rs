//! `bench codec | proxy | forward | floor | groups | txn`; without words it says more.
#![expect(clippy::print_stderr, reason = "a command-line tool talks to its user")]

use std::process::ExitCode;

use bench::options::Options;

const USAGE: &str = "usage: bench COMMAND
  codec                  encode and decode, against the crate kafka-protocol
  proxy [--thalweg PATH] CPU of `thalweg wire proxy --quiet`, against a plain forwarder
  forward UPSTREAM       the plain forwarder; prints its port
  floor  [OPTIONS]       CPU of the floor server: the least that Produce takes
  groups [OPTIONS]       CPU of joins and heartbeats of streams and consumer groups, against the floor server
  txn    [OPTIONS]       CPU of a transaction, by its partitions; with --against beside a running Kafka
options:
  --broker PATH          the binary to start (the thalweg beside this program); groups, txn
  --against HOST:PORT --against-pid PID
                         a running Kafka; txn
  --members N --tasks N  size of the groups (1000 and 1000); groups
  --rounds N --seconds S --warm-up S
                         turns of each, their length, time before the first (5, 5 and 2)
  --dir PATH             where directories with data are made (the one for temporary files)
  -o text|json           form of the rows (text)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["codec"] => bench::codec::run(),
        ["proxy"] => bench::proxy::run(None),
        ["proxy", "--thalweg", path] => bench::proxy::run(Some(path)),
        ["forward", upstream] => bench::forward::run(upstream),
        [name @ ("floor" | "groups" | "txn"), rest @ ..] => {
            let options = match Options::parse(rest) {
                Ok(options) => options,
                Err(problem) => {
                    eprintln!("bench {name}: {problem}\n{USAGE}");
                    return ExitCode::from(2);
                }
            };
            match *name {
                "floor" => bench::floor::run(&options),
                "groups" => bench::groups::run(&options),
                _ => bench::txn::run(&options),
            }
        }
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
