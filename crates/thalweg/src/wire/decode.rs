//! `thalweg wire decode`: captured bytes to trees (wire.md 18).

use super::Form;
use crate::cli::Failure;

/// Explains captured bytes.
#[derive(Debug, clap::Args)]
pub(crate) struct Decode {
    /// A file, `-` for stdin, or the bytes themselves as hex or base-64.
    #[arg(default_value = "-")]
    pub input: String,
    /// API name or number: of a response, or of a body.
    #[arg(long)]
    pub api: Option<String>,
    /// Version of the API or message.
    #[arg(long)]
    pub version: Option<i16>,
    /// The frames are requests.
    #[arg(long, conflicts_with = "response")]
    pub request: bool,
    /// The frames are responses.
    #[arg(long)]
    pub response: bool,
    #[command(flatten)]
    pub form: Form,
}

pub(crate) fn run(arguments: &Decode) -> Result<(), Failure> {
    let _ = arguments;
    todo!()
}
