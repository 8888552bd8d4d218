//! The `thalweg` program: reads its arguments and runs a subcommand.

mod cli;
mod docs;
mod logging;
mod serve;
mod settings;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

/// A Kafka-compatible broker in one program.
#[derive(Debug, Parser)]
#[command(name = "thalweg", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a broker until SIGTERM or SIGINT.
    Serve(Serve),
    /// Groups of all types: list them, ask why one does not go on, follow what happens.
    #[command(subcommand)]
    Groups(cli::Groups),
    /// Streams groups: their tasks, topology and endpoints.
    #[command(subcommand)]
    Streams(cli::Streams),
    /// Transactions: list and describe them, find and abort those that hang.
    #[command(subcommand)]
    Txn(cli::Txn),
    /// Bytes of the protocol: explain, build and compare them.
    #[command(subcommand)]
    Wire(wire::Wire),
    /// Writes the reference pages of protocol, records and settings.
    Docs(docs::Docs),
}

/// Runs a broker. Without a file it listens on 127.0.0.1:9092 and keeps its data in ./thalweg-data.
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// A Kafka server.properties file.
    pub config: Option<PathBuf>,
    /// One setting; wins over the file and the environment.
    #[arg(long = "override", value_name = "NAME=VALUE")]
    pub overrides: Vec<String>,
    /// Print one line with the bound addresses when requests are accepted.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub print: Option<Print>,
}

/// Forms of the line that tells that the broker is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Print {
    Json,
}

fn main() -> ExitCode {
    // Wrong usage ends with code 2, as clap does by itself.
    match Arguments::parse().command {
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Groups(command) => cli::run(cli::groups(command)),
        Command::Streams(command) => cli::run(cli::streams(command)),
        Command::Txn(command) => cli::run(cli::txn(command)),
        Command::Wire(command) => wire::run(command),
        Command::Docs(arguments) => cli::finish(docs::run(&arguments)),
    }
}
