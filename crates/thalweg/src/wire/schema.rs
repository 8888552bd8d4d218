//! `thalweg wire schema` and `diff`: the fields of messages, and what changed between versions.

use explain::diff::{self, Side};
use explain::{Direction, Lookup, schema, version_in, version_of};
use wire::table::Message;

use super::form::{Form, Named, USAGE, View, Which, missing, named, print_documents};
use crate::cli::{Failure, print};

/// Lists the fields of an API: types, versions, defaults, what may be null, tags, what they mean.
#[derive(Debug, clap::Args)]
pub(crate) struct Schema {
    /// API name or number, or the name of a message.
    #[arg(allow_negative_numbers = true)]
    api: String,
    /// Only the fields of this version.
    #[arg(long, allow_negative_numbers = true)]
    version: Option<i64>,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    form: Form,
}

/// Says what changed between two versions of an API. With --draft a number is a version of the draft as the one and of
/// the released message as the other; as both if only the draft has the message.
#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// API name or number, or the name of a message.
    #[arg(allow_negative_numbers = true)]
    api: String,
    /// The one version: a number, `draft`, `older` or `newer`, or a draft with a version as `older:0`.
    #[arg(allow_negative_numbers = true)]
    from: String,
    /// The other version, written in the same way.
    #[arg(allow_negative_numbers = true)]
    to: String,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    form: Form,
}

/// The messages that a name and a direction mean.
fn messages(name: &str, which: &Which, lookup: Lookup) -> Result<Vec<&'static Message>, Failure> {
    Ok(match (named(name, lookup)?, which.direction()) {
        (Named::Message(message), _) => vec![message],
        (Named::Api(api), None) => vec![api.request, api.response],
        (Named::Api(api), Some(Direction::Request)) => vec![api.request],
        (Named::Api(api), Some(Direction::Response)) => vec![api.response],
    })
}

pub(crate) fn run(arguments: &Schema) -> Result<(), Failure> {
    let messages = messages(&arguments.api, &arguments.which, arguments.which.lookup()?)?;
    let mut version = None;
    if arguments.version.is_some() {
        for it in &messages {
            version = Some(version_of(it, arguments.version).map_err(missing)?);
        }
    }
    match arguments.form.output {
        View::Json | View::Kafka => {
            print_documents(messages.iter().map(|it| schema::json(it, version)).collect())
        }
        View::Text => {
            let words = arguments.form.style().descriptions;
            let pages: Vec<String> = messages.iter().map(|it| schema::table(it, version, words)).collect();
            print(&pages.join("\n")).map(|_| ())
        }
    }
}

pub(crate) fn diff(arguments: &Diff) -> Result<(), Failure> {
    let draft = arguments.which.drafted.draft.as_deref();
    let is_released = named(&arguments.api, Lookup::default()).is_ok();
    let from = sides(arguments, &arguments.from, draft)?;
    let to = sides(arguments, &arguments.to, draft.filter(|_| !is_released))?;
    let pairs = from.into_iter().zip(to);
    let words = arguments.form.style().descriptions;
    match arguments.form.output {
        View::Json => print_documents(pairs.map(|(a, b)| diff::json(a, b, words)).collect()),
        View::Kafka => Err(Failure::new(USAGE, "changes are shown as text or json")),
        View::Text => {
            let pages: Vec<String> = pairs.map(|(a, b)| diff::text(a, b, words)).collect();
            print(&pages.join("\n")).map(|_| ())
        }
    }
}

/// One side: the messages in the version that a word says. A draft stands in it, or is that of the option; then it has to
/// have the messages.
fn sides(arguments: &Diff, word: &str, draft: Option<&str>) -> Result<Vec<Side>, Failure> {
    let is_number = word.starts_with(|it: char| it.is_ascii_digit() || it == '-');
    let (name, number) = match word.split_once(':') {
        Some((name, number)) => (Some(name), Some(number)),
        None if is_number => (draft, Some(word)),
        None => (Some(word), None),
    };
    let version = number.map(|it| {
        it.parse().map_err(|_| Failure::new(USAGE, format_args!("{word} is neither a version nor a draft")))
    });
    let version = version.transpose()?;
    let draft =
        name.map(|it| explain::draft(if it == "draft" { "" } else { it }).map_err(missing)).transpose()?;
    let messages = messages(&arguments.api, &arguments.which, Lookup { draft })?;
    let side = |message| {
        let version =
            draft.map_or_else(|| version_of(message, version), |it| version_in(it, message, version));
        version.map(|version| Side { message, version }).map_err(missing)
    };
    messages.into_iter().map(side).collect()
}
