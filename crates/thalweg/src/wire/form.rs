//! Arguments that verbs share: how results are printed, and how bytes are read.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Read as _};
use std::ops::ControlFlow;
use std::path::Path;

use bytes::Bytes;
use clap::ValueEnum;
use explain::frame::{are_frames_of_authentication, split};
use explain::input::{Encoding, bytes};
use explain::session::{Explanation, Hint, Session};
use explain::text::Style;
use explain::{Api, Direction, Explained, Lookup, NotFound, Options, Severity, version_of};
use wire::json::Json;
use wire::table::{Draft, Kind, Message};

use super::captures::has_frames;
use crate::cli::{FAILED, Failure, NOT_FOUND, print};

/// Wrong usage.
pub(super) const USAGE: u8 = 2;
/// The longest input that is read; the help of verbs and docs/explain.md say it.
const INPUT_MAX: u64 = 256 << 20;
/// Bytes of a frame up to which the layout is shown without being asked for.
const LAYOUT_MAX: usize = 16 << 10;

/// Forms of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum View {
    /// For people.
    Text,
    /// The tree as one document; `wire encode` reads it.
    Json,
    /// Messages with Kafka's own field names; `wire encode` reads them.
    Kafka,
}

/// How results are printed.
#[derive(Debug, clap::Args)]
pub(crate) struct Form {
    /// Form of the output.
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: View,
    /// Leave out the descriptions of fields.
    #[arg(long)]
    no_descriptions: bool,
    /// Print no colours, also on a terminal. The variable `NO_COLOR` does the same.
    #[arg(long)]
    no_color: bool,
}

/// How messages with their bytes are printed.
#[derive(Debug, clap::Args)]
pub(crate) struct Page {
    #[command(flatten)]
    pub form: Form,
    /// Leave out the byte layout.
    #[arg(long, conflicts_with = "layout")]
    no_layout: bool,
    /// Show the byte layout also of frames above 16 KiB.
    #[arg(long)]
    layout: bool,
}

impl Form {
    pub(super) fn style(&self) -> Style {
        Style { colour: colours(self.no_color), descriptions: !self.no_descriptions }
    }
}

impl Page {
    pub(super) fn with_layout(&self, explained: &Explained) -> bool {
        self.layout || (!self.no_layout && explained.bytes.len() <= LAYOUT_MAX)
    }
}

/// Colours on a terminal only, and not where `NO_COLOR` is set (<https://no-color.org>).
fn colours(unwanted: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|it: OsString| !it.is_empty());
    !unwanted && !set("NO_COLOR") && (set("CLICOLOR_FORCE") || std::io::stdout().is_terminal())
}

/// Which message is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    #[command(flatten)]
    sides: Sides,
    #[command(flatten)]
    pub drafted: Drafted,
}

/// Whether a request or a response is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct Sides {
    /// The request.
    #[arg(long, conflicts_with = "response")]
    request: bool,
    /// The response.
    #[arg(long)]
    response: bool,
}

/// Whether a draft is known.
#[derive(Debug, clap::Args)]
pub(crate) struct Drafted {
    /// Know a draft too: `older`, or `newer` if no name is given.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub draft: Option<String>,
}

impl Which {
    pub(super) fn lookup(&self) -> Result<Lookup, Failure> {
        self.drafted.lookup()
    }

    pub(super) fn direction(&self) -> Option<Direction> {
        self.sides.direction()
    }
}

impl Drafted {
    fn draft(&self) -> Result<Option<&'static Draft>, Failure> {
        self.draft.as_deref().map(|it| explain::draft(it).map_err(missing)).transpose()
    }

    fn lookup(&self) -> Result<Lookup, Failure> {
        Ok(Lookup { draft: self.draft()? })
    }
}

impl Sides {
    fn direction(&self) -> Option<Direction> {
        match (self.request, self.response) {
            (true, _) => Some(Direction::Request),
            (_, true) => Some(Direction::Response),
            (false, false) => None,
        }
    }
}

/// What a name is: an API, or a single message that is no API's.
#[derive(Debug, Clone, Copy)]
pub(super) enum Named {
    Api(Api),
    Message(&'static Message),
}

/// Looks up a name; that of a request or response is a message.
pub(super) fn named(name: &str, lookup: Lookup) -> Result<Named, Failure> {
    match lookup.message(name) {
        Ok(message) => Ok(Named::Message(message)),
        Err(_) => match lookup.api(name) {
            Ok(api) => Ok(Named::Api(api)),
            // The message's error names messages too.
            Err(NotFound::Name { .. }) => {
                Err(missing(lookup.message(name).map_or_else(|it| it, |_| unknown(name))))
            }
            Err(problem @ (NotFound::Version { .. } | NotFound::Draft { .. })) => Err(missing(problem)),
        },
    }
}

fn unknown(name: &str) -> NotFound {
    NotFound::Name { name: name.to_owned(), nearest: Vec::new() }
}

/// Exit code 3 with the nearest names or the valid versions.
pub(super) fn missing(problem: NotFound) -> Failure {
    let drafts = match &problem {
        NotFound::Name { name, .. } => explain::drafts_with(name),
        NotFound::Version { .. } | NotFound::Draft { .. } => Vec::new(),
    };
    if drafts.is_empty() {
        return Failure::new(NOT_FOUND, problem);
    }
    let options: Vec<String> = drafts.iter().map(|it| format!("--draft={it}")).collect();
    Failure::new(NOT_FOUND, format_args!("{problem}; drafts have it: {}", options.join(", ")))
}

/// Bytes to read.
#[derive(Debug, clap::Args)]
pub(crate) struct Source {
    /// A file, `-` for stdin, or the bytes themselves as hex or base-64; at most 256 MiB, captures and recordings of any size.
    #[arg(default_value = "-")]
    pub input: String,
    /// How the bytes are written: hex in any dress, base-64, or as they are.
    #[arg(long, value_enum, value_name = "ENCODING", default_value = "auto")]
    from: Written,
    /// Topic of the records: those of internal topics are opened up.
    #[arg(long)]
    topic: Option<String>,
    /// Warnings are errors.
    #[arg(long, conflicts_with = "lenient")]
    strict: bool,
    /// Warnings are warnings; the default.
    #[arg(long)]
    lenient: bool,
    /// Show passwords, tokens and SASL bytes.
    #[arg(long)]
    show_secrets: bool,
    #[command(flatten)]
    drafted: Drafted,
}

/// Bytes to read, and as what.
#[derive(Debug, clap::Args)]
pub(crate) struct Reading {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    sides: Sides,
    /// API name or number of a response or body; the name of a message for a body.
    #[arg(long, allow_negative_numbers = true)]
    api: Option<String>,
    /// Version of the response or body.
    #[arg(long, allow_negative_numbers = true, requires = "api")]
    version: Option<i64>,
    /// A message without frame and header.
    #[arg(long, requires = "api")]
    body: bool,
    /// Key of a record of an internal topic, as hex, base-64 or file.
    #[arg(long, value_name = "BYTES", requires = "topic")]
    key: Option<String>,
    /// Value of the record whose key is given, or of the record type `--api`.
    #[arg(long, value_name = "BYTES", requires = "topic")]
    value: Option<String>,
}

/// How bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Written {
    Auto,
    Hex,
    Base64,
    Raw,
}

impl Source {
    pub(super) fn options(&self) -> Result<Options, Failure> {
        let draft = self.drafted.draft()?;
        let (strict, show_secrets, topic) = (self.strict, self.show_secrets, self.topic.clone());
        Ok(Options { strict, show_secrets, draft, topic, ..Options::default() })
    }

    pub(super) fn bytes(&self, input: &str) -> Result<Bytes, Failure> {
        let encoding = match self.from {
            Written::Auto => Encoding::Auto,
            Written::Hex => Encoding::Hex,
            Written::Base64 => Encoding::Base64,
            Written::Raw => Encoding::Raw,
        };
        let there = input == "-" || Path::new(input).exists();
        let raw = if there {
            let raw = read(input)?;
            if self.from == Written::Auto && has_frames(&raw) {
                let words = "is a capture or recording; `wire decode --pcap` reads these, also from a pipe";
                return Err(Failure::new(USAGE, format_args!("{input} {words}")));
            }
            raw
        } else if self.from == Written::Raw || (self.from == Written::Auto && input.starts_with('/')) {
            // A name that is mistyped may read as base-64; of what begins with a slash no frame can be meant.
            return Err(Failure::new(USAGE, format_args!("there is no file {input}")));
        } else {
            Bytes::copy_from_slice(input.as_bytes())
        };
        let words = if there { "" } else { "no file; as bytes: " };
        bytes(&raw, encoding)
            .map_err(|problem| Failure::new(USAGE, format_args!("{}: {words}{problem}", short(input))))
    }
}

/// What is to be explained, one after the other; no more than one tree is held.
pub(super) enum Found {
    /// Frames in a row.
    Frames { bytes: Bytes, options: Options, hint: Hint },
    /// What is there already: a body, a record, batches.
    Few(Vec<Explanation>),
}

impl Found {
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Frames { bytes, .. } => split(bytes).count(),
            Self::Few(all) => all.len(),
        }
    }

    /// Shows each, until one says that this is enough.
    pub(super) fn each(
        &self,
        see: &mut dyn FnMut(&Explanation) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Frames { bytes, options, hint } => {
                let mut session = Session::new(options.clone(), *hint);
                for frame in split(bytes) {
                    if see(&session.explain(&frame, None))?.is_break() {
                        break;
                    }
                }
            }
            Self::Few(all) => {
                for it in all {
                    if see(it)?.is_break() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Reading {
    /// Whether somebody said what the bytes are.
    pub(super) const fn is_told(&self) -> bool {
        let sides = self.sides.request || self.sides.response;
        sides || self.api.is_some() || self.is_record()
    }

    /// Whether a record is given as arguments.
    pub(super) const fn is_record(&self) -> bool {
        self.key.is_some() || self.value.is_some()
    }

    /// What is read: frames, a body, or a record.
    pub(super) fn read(&self) -> Result<Found, Failure> {
        if self.is_record() {
            return self.record().map(Found::Few);
        }
        let (bytes, options) = (self.source.bytes(&self.source.input)?, self.source.options()?);
        let lookup = self.source.drafted.lookup()?;
        if self.body && !options.show_secrets && are_frames_of_authentication(&bytes) {
            return Ok(Found::Frames { bytes, options, hint: Hint { body: true, ..Hint::default() } });
        }
        if self.body {
            return Ok(Found::Few(vec![self.explain_body(&bytes, &options, lookup)?.into()]));
        }
        let api = self.api.as_deref().map(|it| lookup.api(it).map_err(missing)).transpose()?;
        if let Some(api) = api {
            version_of(api.response, self.version).map_err(missing)?;
        }
        if bytes.is_empty() {
            return Err(Failure::new(FAILED, "there are no bytes"));
        }
        let version = self.version.and_then(|it| i16::try_from(it).ok());
        let hint = Hint { direction: self.sides.direction(), api, version, body: false };
        Ok(Found::Frames { bytes, options, hint })
    }

    fn explain_body(&self, bytes: &Bytes, options: &Options, lookup: Lookup) -> Result<Explained, Failure> {
        let message = match named(self.api.as_deref().unwrap_or_default(), lookup)? {
            Named::Message(message) => message,
            Named::Api(api) if self.sides.response => api.response,
            Named::Api(api) => api.request,
        };
        let version = version_of(message, self.version).map_err(missing)?;
        Ok(explain::message(message, version, bytes, options))
    }

    fn record(&self) -> Result<Vec<Explanation>, Failure> {
        let (options, lookup) = (self.source.options()?, self.source.drafted.lookup()?);
        let topic = options.topic.clone().unwrap_or_default();
        let mut out: Vec<Explanation> = Vec::new();
        let mut table = None;
        if let Some(key) = &self.key {
            let key = self.source.bytes(key)?;
            let record_type = key.first_chunk().map_or(-1, |it| i16::from_be_bytes(*it));
            table = lookup.record(&topic, record_type).map(|it| it.1);
            out.push(explain::record_key(&topic, &key, &options).into());
        }
        if let Some(value) = &self.value {
            if let Some(name) = &self.api {
                let message = lookup.message(name).map_err(missing)?;
                table = (message.kind == Kind::Value).then_some(message);
            }
            let Some(table) = table else {
                return Err(Failure::new(
                    USAGE,
                    "the type of the record is not known: give --key, or --api with its name",
                ));
            };
            out.push(explain::record_value(table, &self.source.bytes(value)?, &options).into());
        }
        Ok(out)
    }
}

/// The bytes of a file or of stdin. A file that can't be read is wrong usage, as one that is no input of the verb.
pub(super) fn read(input: &str) -> Result<Bytes, Failure> {
    contents(input).map_err(|problem| Failure::new(USAGE, format_args!("{input}: {problem}")))
}

/// The same; why it can't be read, without the name.
pub(super) fn contents(input: &str) -> Result<Bytes, String> {
    let mut bytes = Vec::new();
    let done = if input == "-" {
        std::io::stdin().lock().take(INPUT_MAX + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(input).and_then(|it| it.take(INPUT_MAX + 1).read_to_end(&mut bytes))
    };
    match done {
        Err(problem) => Err(problem.to_string()),
        Ok(n) if n as u64 > INPUT_MAX => Err(format!("longer than {} MiB", INPUT_MAX >> 20)),
        Ok(_) => Ok(bytes.into()),
    }
}

/// An input in a message.
fn short(input: &str) -> String {
    if input.chars().count() <= 40 {
        input.to_owned()
    } else {
        input.chars().take(40).chain("…".chars()).collect()
    }
}

/// One document if there is one, an array of several.
pub(super) fn print_documents(mut documents: Vec<Json>) -> Result<(), Failure> {
    let document =
        if documents.len() == 1 { documents.pop().unwrap_or(Json::Null) } else { Json::Array(documents) };
    print(&explain::json::pretty(&document)).map(|_| ())
}

/// The first error in the bytes.
pub(super) fn error_in(explained: &Explained) -> Option<Failure> {
    let mut found = explained.diagnostics().into_iter();
    found.find(|it| it.severity == Severity::Error).map(|it| Failure::new(FAILED, it))
}
