//! `thalweg wire smallest`: the smallest legal instance of a message (wire.md 17).

use clap::ValueEnum;
use explain::smallest::Build;
use explain::{Api, Direction, Explained, Lookup, Options, schema, text, version_of};
use wire::json::Json;
use wire::table::Message;

use super::decode::{Place, part};
use super::form::{Found, Named, Page, USAGE, View, Which, missing, named, print_documents};
use crate::cli::{Failure, print};

/// Builds the smallest legal message of an API and explains it: what it is, its bytes, its tree, its fields.
#[derive(Debug, clap::Args)]
pub(crate) struct Smallest {
    /// API name or number, or the name of a message.
    #[arg(allow_negative_numbers = true)]
    api: String,
    /// Version; the highest by default.
    #[arg(long, allow_negative_numbers = true)]
    version: Option<i64>,
    #[command(flatten)]
    which: Which,
    /// Null and empty wherever that is legal: the fewest bytes.
    #[arg(long)]
    minimal: bool,
    /// Write every tagged field of the version.
    #[arg(long)]
    with_tags: bool,
    /// Fields below the tree: of this version, of all versions, or none.
    #[arg(long, value_enum, default_value = "version")]
    schema: Schema,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    page: Page,
}

/// Which fields are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Schema {
    Version,
    Full,
    None,
}

pub(crate) fn run(arguments: &Smallest) -> Result<(), Failure> {
    let lookup = arguments.which.lookup()?;
    let build = Build { minimal: arguments.minimal, with_tags: arguments.with_tags };
    let options = Options { draft: lookup.draft, ..Options::default() };
    let (heading, built) = match api_of(&arguments.api, lookup)? {
        (Named::Api(api), only) => {
            let version = version_of(api.request, arguments.version).map_err(missing)?;
            let direction = arguments.which.direction().or(only);
            (text::heading(&api, version, build), frames(api, version, direction, build, &options))
        }
        (Named::Message(message), _) => {
            let version = version_of(message, arguments.version).map_err(missing)?;
            (String::new(), vec![build.explain_body(message, version, &options)])
        }
    };
    if arguments.place.is_given() {
        if built.len() > 1 {
            return Err(Failure::new(USAGE, "say --request or --response with --at and --path"));
        }
        let built = Found::Few(built.into_iter().map(Into::into).collect());
        return part(&built, &arguments.place, &arguments.page.form);
    }
    match arguments.page.form.output {
        View::Json => print_documents(built.iter().map(explain::json::of).collect()),
        View::Kafka => {
            let documents: Result<Vec<Json>, _> = built.iter().map(explain::json::kafka).collect();
            print_documents(documents.map_err(|it| Failure::new(crate::cli::FAILED, it))?)
        }
        View::Text => {
            let pages: Vec<String> = built.iter().map(|it| page(it, arguments)).collect();
            print(
                &[vec![heading].into_iter().filter(|it| !it.is_empty()).collect(), pages].concat().join("\n"),
            )
            .map(|_| ())
        }
    }
}

/// An API, with its direction if the name is that of a request or response; or a message that is no API's.
fn api_of(name: &str, lookup: Lookup) -> Result<(Named, Option<Direction>), Failure> {
    let found = named(name, lookup)?;
    let Named::Message(message) = found else { return Ok((found, None)) };
    let api =
        lookup.apis().find(|it| std::ptr::eq(it.request, message) || std::ptr::eq(it.response, message));
    Ok(match api {
        Some(api) if std::ptr::eq(api.request, message) => (Named::Api(api), Some(Direction::Request)),
        Some(api) => (Named::Api(api), Some(Direction::Response)),
        None => (found, None),
    })
}

fn frames(
    api: Api,
    version: i16,
    direction: Option<Direction>,
    build: Build,
    options: &Options,
) -> Vec<Explained> {
    let mut out = Vec::new();
    if direction != Some(Direction::Response) {
        out.push(build.explain_request(&api, version, options));
    }
    if direction != Some(Direction::Request) {
        out.push(build.explain_response(&api, version, options));
    }
    out
}

fn page(explained: &Explained, arguments: &Smallest) -> String {
    let style = arguments.page.form.style();
    let mut out = if arguments.page.with_layout(explained) {
        text::page(explained, style)
    } else {
        text::tree(explained, style)
    };
    let fields =
        |message: &Message, version| format!("\n{}", schema::table(message, version, style.descriptions));
    if let (Some(message), Some(version)) = (explained.message, explained.version) {
        match arguments.schema {
            Schema::Version => out.push_str(&fields(message, Some(version))),
            Schema::Full => out.push_str(&fields(message, None)),
            Schema::None => {}
        }
    }
    out
}
