//! `thalweg wire check`: files of vectors against the codec, both ways.

use explain::check::check;
use wire::batch::compress::{Codec, decompress};

use super::form::{USAGE, read};
use crate::cli::{FAILED, Failure, print};

/// A condition is not met.
const DISAGREES: u8 = 6;
/// What a packed file may inflate to.
const INFLATED_MAX: usize = 1 << 30;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Checks files of vectors: decodes the bytes, compares with the JSON, encodes, compares with the bytes. Prints a line
/// for each mismatch.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Files with tab-separated columns, plain or gzip.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
}

pub(crate) fn run(arguments: &Check) -> Result<(), Failure> {
    let (mut cases, mut failed) = (0, 0);
    for file in &arguments.files {
        let mut bytes = read(file)?;
        if bytes.starts_with(&GZIP) {
            let plain = decompress(Codec::Gzip, &bytes, INFLATED_MAX);
            bytes = plain.map_err(|e| Failure::new(FAILED, format_args!("{file}: {e}")))?;
        }
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|_| Failure::new(USAGE, format_args!("{file} is not text")))?;
        let report = check(text).map_err(|e| Failure::new(USAGE, format_args!("{file}: {e}")))?;
        for it in &report.failures {
            print(&format!("{file}: {it}"))?;
        }
        cases += report.cases;
        failed += report.failures.len();
    }
    print(&format!("{cases} cases, {failed} failed"))?;
    if failed > 0 { Err(Failure::new(DISAGREES, "not all vectors agree")) } else { Ok(()) }
}
