//! `bench codec | proxy | forward | floor | groups | members | assign | load | txn`; `--help` says more.
#![expect(clippy::print_stderr, reason = "a command-line tool talks to its user")]

use std::process::ExitCode;

use bench::options::Options;

const USAGE: &str = "usage: bench COMMAND
  codec                  encode and decode, against the crate kafka-protocol
  proxy [--thalweg PATH] CPU of `thalweg wire proxy --quiet`, against a plain forwarder
  forward UPSTREAM       the plain forwarder; prints its port
  floor   [OPTIONS]      CPU of the floor server: the least that Produce takes
  groups  [OPTIONS]      CPU of joins and heartbeats of streams and consumer groups, against the floor server
  members [OPTIONS]      the same of classic and consumer groups of 100 to 100000 members, and how it grows
  assign  [OPTIONS]      time of the assignors uniform and range, and how it grows with the partitions
  load    [OPTIONS]      CPU of reading committed offsets when a shard starts, and what of it takes how much
  txn     [OPTIONS]      CPU of a transaction, by its partitions; with --against beside a running Kafka
options:
  --broker PATH          the binary to start (the thalweg beside this program); groups, members, txn
  --against HOST:PORT --against-pid PID
                         a running Kafka; txn
  --members N            size of the groups (1000); groups
  --most-members N       leaves larger groups out (100000); members
  --tasks N              tasks or partitions that a group shares (1000); groups, members
  --full                 also the grid of Apache Kafka's benchmark; assign
  --records N            of the largest log (10000000); load
  --rounds N --seconds S --warm-up S
                         turns of each, their length, time before the first (5, 5 and 2)
  --dir PATH             where directories with data are made (the one for temporary files)
  -o text|json           form of the rows (text)
A row that has a budget says so as wanted_max or wanted_min. Spreads are: median (least to most).";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if words.contains(&"--help") {
        eprintln!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let done = match words.as_slice() {
        ["codec"] => bench::codec::run(),
        ["proxy"] => bench::proxy::run(None),
        ["proxy", "--thalweg", path] => bench::proxy::run(Some(path)),
        ["forward", upstream] => bench::forward::run(upstream),
        [name @ ("floor" | "groups" | "members" | "assign" | "load" | "txn"), rest @ ..] => {
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
                "members" => bench::members::run(&options),
                "assign" => bench::assign::run(&options),
                "load" => bench::replay::run(&options),
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
