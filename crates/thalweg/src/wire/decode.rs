//! `thalweg wire decode`, `at` and `path`: captured bytes to trees (wire.md 18 and 19).

use std::fmt::Write as _;
use std::ops::ControlFlow;

use explain::session::Explanation;
use explain::text::Style;
use explain::{Direction, Node, What, json, text};
use wire::json::Json;

use super::captures::{self, Captures};
use super::form::{Form, Found, Page, Reading, USAGE, View, error_in};
use crate::cli::{FAILED, Failure, NOT_FOUND, Progress, print};

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
    pub page: Page,
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

impl Place {
    pub(super) const fn is_given(&self) -> bool {
        self.at.is_some() || self.path.is_some()
    }
}

fn offset(text: &str) -> Result<usize, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "an offset is a number, as 0x16 or 22".to_owned())
}

pub(crate) fn run(arguments: &Decode) -> Result<(), Failure> {
    // Who gives a key or a value as an argument is not waited for at stdin.
    let input = (!arguments.reading.is_record()).then_some(arguments.reading.source.input.as_str());
    if let Some(file) = arguments.captures.file(input) {
        if arguments.place.is_given() || arguments.reading.is_told() {
            let words = "of captures and recordings all frames are shown, by what they say themselves: no --at, --path, \
                         --request, --response, --api, --key or --value";
            return Err(Failure::new(USAGE, words));
        }
        return captures::decode(
            &file,
            &arguments.reading.source.options()?,
            arguments.captures.shown(&arguments.page.form),
        );
    }
    let found = arguments.reading.read()?;
    if arguments.place.is_given() {
        return part(&found, &arguments.place, &arguments.page.form);
    }
    show(&found, &arguments.page)
}

pub(crate) fn at(arguments: &At) -> Result<(), Failure> {
    let place = Place { at: Some(arguments.offset), path: None };
    part(&arguments.reading.read()?, &place, &arguments.form)
}

pub(crate) fn path(arguments: &Path) -> Result<(), Failure> {
    let place = Place { at: None, path: Some(arguments.path.clone()) };
    part(&arguments.reading.read()?, &place, &arguments.form)
}

/// Prints everything, one after the other; then fails with the first error.
pub(super) fn show(found: &Found, page: &Page) -> Result<(), Failure> {
    let count = found.count();
    if page.form.output == View::Kafka && count > 1 {
        // Nothing is printed of an input with a message that this form has no words for.
        found.each(&mut |it| kafka(it).map(|_| ControlFlow::Continue(())))?;
    }
    let mut showing = Showing { page, style: page.form.style(), count, done: 0, offset: 0 };
    let (mut error, mut progress) = (None, Progress::new("frames", count as u64));
    found.each(&mut |it| {
        let text = showing.next(it)?;
        if !print(&text)? {
            return Ok(ControlFlow::Break(()));
        }
        progress.step();
        error = error.take().or_else(|| error_in(&it.explained));
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    error.map_or(Ok(()), Err)
}

/// What was printed so far.
struct Showing<'a> {
    page: &'a Page,
    style: Style,
    count: usize,
    done: usize,
    /// Where the next one begins.
    offset: usize,
}

impl Showing<'_> {
    /// The text of the next one: in JSON an element of the array, if there are several.
    fn next(&mut self, it: &Explanation) -> Result<String, Failure> {
        let several = self.count > 1;
        let depth = usize::from(several);
        let text = match self.page.form.output {
            View::Text => self.text(it, several),
            View::Json => json::page(&it.explained, &more(it), depth),
            View::Kafka => json::pretty_at(&kafka(it)?, depth),
        };
        let (first, last) = (self.done == 0, self.done + 1 == self.count);
        self.done += 1;
        self.offset += it.explained.bytes.len();
        if self.page.form.output == View::Text || !several {
            return Ok(text);
        }
        let (before, behind) = (if first { "[\n" } else { "" }, if last { "\n]" } else { "," });
        Ok(format!("{before}  {text}{behind}"))
    }

    fn text(&self, it: &Explanation, several: bool) -> String {
        let mut out = if several { title(it, self.done, self.count, self.offset) } else { String::new() };
        out.push_str(&candidates(it));
        if self.page.with_layout(&it.explained) {
            out.push_str(&text::page(&it.explained, self.style));
        } else {
            out.push_str(&text::tree(&it.explained, self.style));
            out.push_str(&text::diagnostics(&it.explained, self.style));
        }
        out
    }
}

fn kafka(it: &Explanation) -> Result<Json, Failure> {
    json::kafka(&it.explained).map_err(|it| Failure::new(FAILED, it))
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

/// What a document tells beside the tree.
fn more(it: &Explanation) -> Vec<json::Entry> {
    if it.candidates.is_empty() {
        return Vec::new();
    }
    let list = it.candidates.iter().map(|it| {
        Json::Object(vec![
            ("api".into(), Json::String(it.api.name().to_owned())),
            ("version".into(), Json::Int(it.version.into())),
        ])
    });
    vec![("candidates".into(), Json::Array(list.collect()))]
}

/// Prints the nodes at a place.
pub(super) fn part(found: &Found, place: &Place, form: &Form) -> Result<(), Failure> {
    let (mut before, mut there) = (0, false);
    found.each(&mut |it| {
        let chain = match (place.at, &place.path) {
            (Some(at), _) if at >= before => it.explained.at(at - before),
            (None, Some(path)) => it.explained.find(path),
            (_, _) => Vec::new(),
        };
        before += it.explained.bytes.len();
        if chain.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        there = true;
        print_chain(&chain, form).map(ControlFlow::Break)
    })?;
    if there {
        return Ok(());
    }
    let what = match (place.at, &place.path) {
        (Some(at), _) => format!("byte 0x{at:04x}; there are {before} bytes"),
        (_, path) => format!("field {}", path.as_deref().unwrap_or_default()),
    };
    Err(Failure::new(NOT_FOUND, format_args!("there is no {what}")))
}

fn print_chain(chain: &[&Node], form: &Form) -> Result<(), Failure> {
    match form.output {
        View::Json => {
            let nodes = chain
                .iter()
                .enumerate()
                .map(|(i, it)| if i + 1 == chain.len() { json::node(it) } else { json::alone(it) });
            print(&json::pretty(&Json::Array(nodes.collect()))).map(|_| ())
        }
        View::Text => print(&text::chain(chain, form.style())).map(|_| ()),
        View::Kafka => Err(Failure::new(USAGE, "a place is shown as text or json")),
    }
}
