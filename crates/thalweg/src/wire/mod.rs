//! `thalweg wire`: bytes of the protocol explained, built and compared. One file a verb; all thinking is in the crate
//! `explain`, here are arguments, input and output.
//!
//! Exit codes: 0 done; 1 the bytes have an error, the tree up to it is printed; 2 wrong usage; 3 no such API, version,
//! offset or path; 6 vectors that do not agree.

mod decode;
mod proxy;
mod record;
mod smallest;

use std::process::ExitCode;

use crate::cli::{Output, finish};

/// Verbs of `thalweg wire`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Wire {
    /// Explains captured bytes: every field with its place, type and value.
    Decode(decode::Decode),
    /// Stands between clients and brokers, and prints or records every request and response.
    Proxy(proxy::Proxy),
    /// Builds the smallest legal message of an API and explains it.
    Smallest(smallest::Smallest),
}

/// Runs a verb to the end of the process.
pub(crate) fn run(command: Wire) -> ExitCode {
    finish(match command {
        Wire::Decode(arguments) => decode::run(&arguments),
        Wire::Proxy(arguments) => proxy::run(arguments),
        Wire::Smallest(arguments) => smallest::run(&arguments),
    })
}

/// How results are printed.
#[derive(Debug, clap::Args)]
pub(crate) struct Form {
    /// Form of the output.
    #[arg(short, long, value_enum, default_value = "text")]
    output: Output,
    /// Leave out the byte layout.
    #[arg(long)]
    no_layout: bool,
    /// Print no colours, also on a terminal. The variable `NO_COLOR` does the same.
    #[arg(long)]
    no_color: bool,
}
