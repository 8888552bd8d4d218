//! `thalweg wire smallest`: the smallest legal instance of a message (wire.md 17).

use super::Form;
use crate::cli::Failure;

/// Builds the smallest legal message of an API and explains it.
#[derive(Debug, clap::Args)]
pub(crate) struct Smallest {
    /// API name or number, or the name of a message.
    pub api: String,
    /// Version; the highest by default.
    #[arg(long)]
    pub version: Option<i16>,
    /// The request alone.
    #[arg(long, conflicts_with = "response")]
    pub request: bool,
    /// The response alone.
    #[arg(long)]
    pub response: bool,
    /// Null and empty wherever that is legal: the fewest bytes.
    #[arg(long)]
    pub minimal: bool,
    #[command(flatten)]
    pub form: Form,
}

pub(crate) fn run(arguments: &Smallest) -> Result<(), Failure> {
    let _ = arguments;
    todo!()
}
