//! `thalweg wire check`: files of vectors against the codec, both ways.

use explain::check::{Mismatch, Report, check};
use wire::batch::Invalid;
use wire::batch::compress::{Codec, decompress};
use wire::json::Json;

use super::form::{USAGE, contents, print_documents};
use super::proxy::line::int;
use crate::cli::{Failure, Output, print};

/// A condition is not met.
const DISAGREES: u8 = 6;
/// What a packed file may inflate to.
const INFLATED_MAX: usize = 1 << 30;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Checks files of vectors: decodes the bytes, compares with the JSON, encodes, compares with the bytes. Prints a line
/// for each mismatch.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Files with tab-separated columns, plain or gzip; each at most 256 MiB.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value = "text")]
    output: Output,
}

/// What came out of a file.
#[derive(Debug, Default)]
struct Checked {
    report: Report,
    /// Why it could not be inflated: it is cut off, or its bytes were changed.
    damage: Option<String>,
    /// Why there is nothing to check: it can't be read, or is no file of vectors.
    problem: Option<String>,
}

pub(crate) fn run(arguments: &Check) -> Result<(), Failure> {
    let (mut cases, mut failed, mut documents) = (0, 0, Vec::new());
    let (mut damaged, mut unread) = (Vec::new(), Vec::new());
    for file in &arguments.files {
        let checked = one(file);
        cases += checked.report.cases;
        failed += checked.report.failures.len();
        damaged.extend(checked.damage.as_ref().map(|_| file.as_str()));
        unread.extend(checked.problem.as_ref().map(|_| file.as_str()));
        match arguments.output {
            Output::Text => tell(file, &checked)?,
            Output::Json => documents.push(document(file, &checked)),
        }
    }
    match arguments.output {
        Output::Text => {
            print(&format!("{cases} cases, {failed} failed"))?;
        }
        Output::Json => print_documents(vec![Json::Object(vec![
            ("files".into(), Json::Array(documents)),
            ("cases".into(), int(cases as u64)),
            ("failed".into(), int(failed as u64)),
        ])])?,
    }
    match (unread.is_empty(), damaged.is_empty(), failed) {
        (true, true, 0) => Ok(()),
        (true, true, _) => Err(Failure::new(DISAGREES, "not all vectors agree")),
        (true, false, _) => Err(Failure::new(DISAGREES, format_args!("damaged: {}", damaged.join(", ")))),
        // Who asked for a file that is none has not asked for what they meant.
        (false, _, _) => Err(Failure::new(USAGE, format_args!("not checked: {}", unread.join(", ")))),
    }
}

fn one(file: &str) -> Checked {
    let nothing = |problem: String| Checked { problem: Some(problem), ..Checked::default() };
    let mut bytes = match contents(file) {
        Ok(bytes) => bytes,
        Err(problem) => return nothing(problem),
    };
    if bytes.starts_with(&GZIP) {
        match decompress(Codec::Gzip, &bytes, INFLATED_MAX) {
            Ok(plain) => bytes = plain,
            Err(Invalid::Compressed(why)) => return Checked { damage: Some(why), ..Checked::default() },
            Err(problem) => return nothing(problem.to_string()),
        }
    }
    let Ok(text) = std::str::from_utf8(&bytes) else { return nothing("not text".to_owned()) };
    match check(text) {
        Ok(report) => Checked { report, ..Checked::default() },
        Err(problem) => nothing(problem),
    }
}

fn tell(file: &str, checked: &Checked) -> Result<(), Failure> {
    if let Some(problem) = &checked.problem {
        print(&format!("{file}: {problem}"))?;
    }
    if let Some(damage) = &checked.damage {
        print(&format!("{file}: damaged: {damage}"))?;
    }
    for it in &checked.report.failures {
        print(&format!("{file}: {}", explain::text::plain(&it.to_string())))?;
    }
    Ok(())
}

fn document(file: &str, checked: &Checked) -> Json {
    let text = |it: &str| Json::String(it.to_owned());
    let mismatch = |it: &Mismatch| {
        Json::Object(vec![
            ("line".into(), int(it.line as u64)),
            ("case".into(), text(&it.case)),
            ("problem".into(), text(&it.problem)),
        ])
    };
    let Report { cases, failures } = &checked.report;
    Json::Object(vec![
        ("file".into(), text(file)),
        ("damage".into(), checked.damage.as_deref().map_or(Json::Null, text)),
        ("problem".into(), checked.problem.as_deref().map_or(Json::Null, text)),
        ("cases".into(), int(*cases as u64)),
        ("failed".into(), int(failures.len() as u64)),
        ("mismatches".into(), Json::Array(failures.iter().map(mismatch).collect())),
    ])
}
