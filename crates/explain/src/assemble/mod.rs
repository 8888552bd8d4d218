//! JSON to bytes: trees that `json` printed and that somebody edited, or messages with Kafka's own field names
//! (wire.md 21.6).

mod named;
mod tree;

use bytes::Bytes;
use wire::json::{Json, JsonError};
use wire::table::Message;

use crate::node::Direction;
use crate::{Api, Lookup};

/// What JSON does not say by itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints {
    pub api: Option<Api>,
    /// The message of a body without frame.
    pub message: Option<&'static Message>,
    pub version: Option<i16>,
    pub direction: Option<Direction>,
}

/// The bytes that a document means:
///
/// * a tree of `json::of`, edited or not: values count, lengths, counts and checksums are made anew;
/// * `{"api", "version", "direction", "correlationId", "clientId", "body"}` with a body in Kafka's field names;
/// * a line of Kafka's request log, with `requestHeader` and `request` or `response`;
/// * a bare body in Kafka's field names, with hints.
///
/// # Errors
/// JSON that is none of these, or values that do not fit.
pub fn assemble(document: &Json, hints: &Hints, lookup: Lookup) -> Result<Bytes, JsonError> {
    if let Some(tree) = document.get("tree") {
        if !matches!(tree, Json::Object(_)) {
            return Err(problem("tree", "expected an object"));
        }
        return tree::bytes(tree).map(Bytes::from);
    }
    if document.get("requestHeader").is_some() {
        return named::logged(document, hints, lookup);
    }
    if document.get("body").is_some() && document.get("api").is_some() {
        return named::framed(document, lookup);
    }
    named::bare(document, hints)
}

pub(crate) fn problem(path: &str, problem: impl Into<String>) -> JsonError {
    JsonError { path: path.to_owned(), problem: problem.into() }
}
