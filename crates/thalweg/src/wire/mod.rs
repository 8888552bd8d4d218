//! `thalweg wire`: bytes of the protocol explained, built and compared. One file a verb; all thinking is in the crate
//! `explain`, here are arguments, input and output.
//!
//! Exit codes (docs/explain.md): 0 done; 1 the bytes have an error, the tree up to it is printed; 2 wrong usage, or an
//! input that can't be read or is none; 3 no such API, version, draft, offset, path or connection; 6 vectors that do not
//! agree or files of them that are damaged, answers that differ.

mod captures;
mod check;
mod decode;
mod encode;
mod form;
mod pcap;
mod proxy;
mod record;
mod records;
mod replay;
mod schema;
mod smallest;

use std::process::ExitCode;

use crate::cli::finish;

/// Verbs of `thalweg wire`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Wire {
    /// Explains captured bytes: every field with its place, type and value.
    Decode(decode::Decode),
    /// Says which field has a byte.
    At(decode::At),
    /// Says which bytes a field has.
    Path(decode::Path),
    /// Builds bytes from JSON.
    Encode(encode::Encode),
    /// Explains record batches, as they stand in log segments.
    Records(records::Records),
    /// Builds the smallest legal message of an API and explains it.
    Smallest(smallest::Smallest),
    /// Lists the fields of an API.
    Schema(schema::Schema),
    /// Says what changed between two versions of an API.
    Diff(schema::Diff),
    /// Checks files of vectors: bytes and the JSON that they mean, both ways.
    Check(check::Check),
    /// Stands between clients and brokers, and prints or records every request and response.
    Proxy(proxy::Proxy),
    /// Sends the requests of a recording again and compares the answers.
    Replay(replay::Replay),
}

/// Runs a verb to the end of the process.
pub(crate) fn run(command: Wire) -> ExitCode {
    finish(match command {
        Wire::Decode(arguments) => decode::run(&arguments),
        Wire::At(arguments) => decode::at(&arguments),
        Wire::Path(arguments) => decode::path(&arguments),
        Wire::Encode(arguments) => encode::run(&arguments),
        Wire::Records(arguments) => records::run(&arguments),
        Wire::Smallest(arguments) => smallest::run(&arguments),
        Wire::Schema(arguments) => schema::run(&arguments),
        Wire::Diff(arguments) => schema::diff(&arguments),
        Wire::Check(arguments) => check::run(&arguments),
        Wire::Proxy(arguments) => return proxy::run(arguments).unwrap_or_else(|it| finish(Err(it))),
        Wire::Replay(arguments) => return crate::cli::run(replay::run(arguments)),
    })
}
