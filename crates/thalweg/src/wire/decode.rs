//! `thalweg wire decode`, `at` and `path`: captured bytes to trees (wire.md 18 and 19).

use std::fmt::Write as _;

use explain::session::Explanation;
use explain::text::Style;
use explain::{Direction, Node, What, json, text};
use wire::json::Json;

use super::captures::{self, Captures};
use super::form::{Form, Reading, USAGE, View, fail_on_errors, print_documents};
use crate::cli::{FAILED, Failure, NOT_FOUND, print};

/// Explains captured bytes: requests and responses, several in a row too; a response with its request if that stands
/// before it. What a lone response may be is listed.
#[derive(Debug, clap::Args)]
pub(crate) struct Decode {
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub captures: Captures,
    #[command(flatten)]
    pub form: Form,
}

/// A place in the bytes instead of all of them.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Place {
    /// Only the field that has this byte, with what it is part of. `0x16` or `22`.
    #[arg(long, value_parser = offset, conflicts_with = "path")]
    pub at: Option<usize>,
    /// Only the field with this path, as `Groups[0].Members[0].MemberId`.
    #[arg(long)]
    pub path: Option<String>,
}

/// The field that has a byte.
#[derive(Debug, clap::Args)]
pub(crate) struct At {
    /// The offset, as `0x16` or `22`.
    #[arg(value_parser = offset)]
    offset: usize,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    form: Form,
}

/// The bytes of a field.
#[derive(Debug, clap::Args)]
pub(crate) struct Path {
    /// The path, as `Groups[0].Members[0].MemberId`, `Header.client_id`, `Frame.size`.
    path: String,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    form: Form,
}

fn offset(text: &str) -> Result<usize, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "an offset is a number, as 0x16 or 22".to_owned())
}

pub(crate) fn run(arguments: &Decode) -> Result<(), Failure> {
    if let Some(file) = arguments.captures.file(&arguments.reading.source.input) {
        return captures::decode(
            &file,
            &arguments.reading.source.options()?,
            arguments.captures.shown(&arguments.form),
        );
    }
    let found = arguments.reading.explain()?;
    if arguments.place.at.is_some() || arguments.place.path.is_some() {
        return part(&found, &arguments.place, &arguments.form);
    }
    show(&found, &arguments.form)
}

pub(crate) fn at(arguments: &At) -> Result<(), Failure> {
    let place = Place { at: Some(arguments.offset), path: None };
    part(&arguments.reading.explain()?, &place, &arguments.form)
}

pub(crate) fn path(arguments: &Path) -> Result<(), Failure> {
    let place = Place { at: None, path: Some(arguments.path.clone()) };
    part(&arguments.reading.explain()?, &place, &arguments.form)
}

/// Prints everything.
pub(super) fn show(found: &[Explanation], form: &Form) -> Result<(), Failure> {
    match form.output {
        View::Json => print_documents(found.iter().map(document).collect())?,
        View::Kafka => {
            let documents = found.iter().map(|it| json::kafka(&it.explained));
            let documents =
                documents.collect::<Result<Vec<_>, _>>().map_err(|it| Failure::new(FAILED, it))?;
            print_documents(documents)?;
        }
        View::Text => {
            let (style, mut offset) = (form.style(), 0);
            for (i, it) in found.iter().enumerate() {
                let title = if found.len() > 1 { title(it, i, found.len(), offset) } else { String::new() };
                offset += it.explained.bytes.len();
                if !print(&(title + &page(it, form, style)))? {
                    return Ok(());
                }
            }
        }
    }
    fail_on_errors(found.iter().map(|it| &it.explained))
}

fn title(it: &Explanation, i: usize, count: usize, offset: usize) -> String {
    let what = match it.explained.what {
        What::Frame(Direction::Request) => "request",
        What::Frame(Direction::Response) => "response",
        What::Body => "body",
        What::RecordKey => "key",
        What::RecordValue => "value",
        What::Records => "records",
    };
    let before = if i > 0 { "\n" } else { "" };
    format!("{before}{} of {count}, {what}, from byte 0x{offset:04x}\n", i + 1)
}

fn page(it: &Explanation, form: &Form, style: Style) -> String {
    let mut out = candidates(it);
    if form.with_layout(&it.explained) {
        out.push_str(&text::page(&it.explained, style));
    } else {
        out.push_str(&text::tree(&it.explained, style));
        out.push_str(&text::diagnostics(&it.explained, style));
    }
    out
}

/// APIs with their versions, the best first.
fn candidates(it: &Explanation) -> String {
    let mut words: Vec<(&'static str, Vec<i16>)> = Vec::new();
    for candidate in &it.candidates {
        let name = candidate.api.name();
        match words.iter_mut().find(|it| it.0 == name) {
            Some((_, versions)) => versions.push(candidate.version),
            None => words.push((name, vec![candidate.version])),
        }
    }
    if words.is_empty() {
        return String::new();
    }
    let mut out = "The request of this response is not known. It may be, the best first:\n".to_owned();
    for (name, versions) in words {
        let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "  {name} {}", versions.join(", "));
    }
    out.push('\n');
    out
}

fn document(it: &Explanation) -> Json {
    let mut document = json::of(&it.explained);
    if let Json::Object(entries) = &mut document
        && !it.candidates.is_empty()
    {
        let list = it.candidates.iter().map(|it| {
            Json::Object(vec![
                ("api".into(), Json::String(it.api.name().to_owned())),
                ("version".into(), Json::Int(it.version.into())),
            ])
        });
        entries.push(("candidates".into(), Json::Array(list.collect())));
    }
    document
}

/// Prints the nodes at a place.
pub(super) fn part(found: &[Explanation], place: &Place, form: &Form) -> Result<(), Failure> {
    let mut before = 0;
    let mut chain: Vec<&Node> = Vec::new();
    for it in found {
        chain = match (place.at, &place.path) {
            (Some(at), _) if at >= before => it.explained.at(at - before),
            (None, Some(path)) => it.explained.find(path),
            (_, _) => Vec::new(),
        };
        if !chain.is_empty() {
            break;
        }
        before += it.explained.bytes.len();
    }
    if chain.is_empty() {
        let what = match (place.at, &place.path) {
            (Some(at), _) => format!("byte 0x{at:04x}; there are {before} bytes"),
            (_, path) => format!("field {}", path.as_deref().unwrap_or_default()),
        };
        return Err(Failure::new(NOT_FOUND, format_args!("there is no {what}")));
    }
    match form.output {
        View::Json => {
            let nodes = chain
                .iter()
                .enumerate()
                .map(|(i, it)| if i + 1 == chain.len() { json::node(it) } else { json::alone(it) });
            print(&json::pretty(&Json::Array(nodes.collect()))).map(|_| ())
        }
        View::Text => print(&text::chain(&chain, form.style())).map(|_| ()),
        View::Kafka => Err(Failure::new(USAGE, "a place is shown as text or json")),
    }
}
