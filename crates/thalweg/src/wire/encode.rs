//! `thalweg wire encode`: JSON to bytes (wire.md 21.6).

use std::io::{ErrorKind, Write as _};

use bytes::Bytes;
use clap::ValueEnum;
use explain::assemble::{Hints, assemble};
use explain::{Lookup, Options};
use wire::json::{self, Json};

use super::form::{Named, USAGE, Which, error_in, missing, named, print_documents, read};
use super::proxy::line::int;
use crate::cli::{FAILED, Failure, Output, print};

/// Builds bytes from JSON: what `wire decode -o json` or `-o kafka` printed, edited or not; lines of Kafka's request
/// log; or a message with Kafka's field names, with --api.
#[derive(Debug, clap::Args)]
pub(crate) struct Encode {
    /// A file, or `-` for stdin; at most 256 MiB of JSON.
    #[arg(default_value = "-")]
    input: String,
    /// API name or number of a bare message; the name of a message gives its bytes without a frame.
    #[arg(long, allow_negative_numbers = true)]
    api: Option<String>,
    /// Version of a bare message; the highest by default.
    #[arg(long, allow_negative_numbers = true)]
    version: Option<i64>,
    #[command(flatten)]
    which: Which,
    /// How the bytes are written.
    #[arg(long, value_enum, value_name = "ENCODING", default_value = "hex")]
    to: To,
    /// Form of the output: in JSON an object per message, with its length and its bytes.
    #[arg(short, long, value_enum, default_value = "text")]
    output: Output,
}

/// How bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    /// A line of hex per message.
    Hex,
    /// A line of base-64 per message.
    Base64,
    /// The bytes themselves, one message after the other: for a socket.
    Raw,
}

pub(crate) fn run(arguments: &Encode) -> Result<(), Failure> {
    if arguments.output == Output::Json && arguments.to == To::Raw {
        return Err(Failure::new(USAGE, "JSON holds bytes as hex or base64, not raw"));
    }
    let lookup = arguments.which.lookup()?;
    let named = arguments.api.as_deref().map(|it| named(it, lookup)).transpose()?;
    let (api, message) = match named {
        Some(Named::Api(api)) => (Some(api), None),
        Some(Named::Message(message)) => (None, Some(message)),
        None => (None, None),
    };
    if let Some(message) = api.map(|it| it.request).or(message) {
        explain::version_of(message, arguments.version).map_err(missing)?;
    }
    let version = arguments.version.and_then(|it| i16::try_from(it).ok());
    let hints = Hints { api, message, version, direction: arguments.which.direction() };
    let input = read(&arguments.input)?;
    let text = std::str::from_utf8(&input).map_err(|_| Failure::new(USAGE, "the input is not text"))?;
    let document = json::parse(text).map_err(|e| Failure::new(USAGE, format_args!("not JSON: {e}")))?;
    let documents = match document {
        Json::Array(documents) => documents,
        one @ (Json::Null
        | Json::Bool(_)
        | Json::Int(_)
        | Json::Float(_)
        | Json::String(_)
        | Json::Object(_)) => {
            vec![one]
        }
    };
    let mut built = Vec::new();
    for document in &documents {
        let bytes = assemble(document, &hints, lookup).map_err(|e| Failure::new(FAILED, e))?;
        built.push((document, bytes));
    }
    let all = built.iter().map(|it| &it.1);
    match arguments.output {
        Output::Text => write(all, arguments.to)?,
        Output::Json => print_documents(all.map(|it| described(it, arguments.to)).collect())?,
    }
    // A hand-made message may be broken on purpose; it is written, and what is wrong is said.
    built.iter().try_for_each(|(document, bytes)| verify(document, bytes, lookup))
}

fn write<'a>(all: impl Iterator<Item = &'a Bytes>, to: To) -> Result<(), Failure> {
    if to == To::Raw {
        let mut out = std::io::stdout();
        let done = all.into_iter().try_for_each(|it| out.write_all(it)).and_then(|()| out.flush());
        return match done {
            Err(problem) if problem.kind() != ErrorKind::BrokenPipe => Err(Failure::new(FAILED, problem)),
            Ok(()) | Err(_) => Ok(()),
        };
    }
    let lines: Vec<String> = all.map(|it| written(it, to)).collect();
    print(&lines.join("\n")).map(|_| ())
}

fn written(bytes: &Bytes, to: To) -> String {
    match to {
        To::Base64 => wire::base64::encode(bytes, wire::base64::STANDARD),
        To::Hex | To::Raw => bytes.iter().map(|it| format!("{it:02x}")).collect(),
    }
}

fn described(bytes: &Bytes, to: To) -> Json {
    let key = if to == To::Base64 { "base64" } else { "hex" };
    Json::Object(vec![
        ("length".into(), int(bytes.len() as u64)),
        (key.into(), Json::String(written(bytes, to))),
    ])
}

/// Reads back what a tree of a frame became: edits may break rules that no single value shows.
fn verify(document: &Json, bytes: &Bytes, lookup: Lookup) -> Result<(), Failure> {
    let options = Options { draft: lookup.draft, ..Options::default() };
    let text = |key: &str| match document.get(key) {
        Some(Json::String(it)) => it.as_str(),
        _ => "",
    };
    if document.get("tree").is_none() || text("what") != "frame" {
        return Ok(());
    }
    let explained = match (text("direction"), document.get("apiKey"), document.get("version")) {
        ("request", _, _) => explain::request(bytes, &options),
        ("response", Some(Json::Int(key)), Some(Json::Int(version))) => {
            let number = |it: &i64| i16::try_from(*it).unwrap_or(-1);
            explain::response(bytes, number(key), number(version), &options)
        }
        _ => return Ok(()),
    };
    error_in(&explained).map_or(Ok(()), Err)
}
