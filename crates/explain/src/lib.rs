//! The explainer: bytes of the protocol to a tree that says what every byte is, and back (wire.md, part II).
//!
//! Everything comes from the tables of `wire`; nothing is written here about single messages but what the schema
//! can't say (which bytes are secrets, which hold other content). Pure: no I/O, no clock. Time and memory are linear
//! in the input. No broker depends on this crate.
//!
//! * [`request`], [`response`], [`message`], [`record_key`], [`record_value`], [`records`]: bytes to [`Explained`].
//! * [`smallest`]: the smallest legal instance of any message.
//! * [`session::Session`]: the frames of a connection, each response with its request.
//! * [`text`], [`layout`], [`json`]: what is shown of it; [`assemble`]: JSON back to bytes.
//! * [`is_secret`], [`holds_secrets`]: what is masked.
//! * [`schema`], [`diff`]: fields of a message, and what changed between versions; [`check`]: files of vectors.

pub mod assemble;
pub mod candidates;
pub mod check;
pub mod diff;
pub mod frame;
pub mod input;
pub mod json;
pub mod layout;
pub mod schema;
pub mod session;
pub mod smallest;
pub mod text;

mod embed;
mod labels;
mod lookup;
mod message_set;
mod node;
mod records;
mod scan;
mod secrets;
mod walk;

pub use lookup::{Api, Lookup, NotFound, draft, drafts_with, version_in, version_of, versions_of};
pub use node::{Category, Diagnostic, Direction, Explained, Id, Mode, Node, Severity, Value, What};
pub use secrets::{holds_secrets, is_secret};
pub use walk::type_name;

use std::collections::BTreeMap;

use bytes::Bytes;
use wire::Uuid;
use wire::table::{Draft, Kind, Message};

use scan::{Scan, Step};

/// How bytes are read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Warnings are errors.
    pub strict: bool,
    /// Shows passwords, tokens and SASL bytes.
    pub show_secrets: bool,
    /// A draft is known, and wins over released messages.
    pub draft: Option<&'static Draft>,
    /// The topic of record batches where the bytes name none.
    pub topic: Option<String>,
    /// Names of topics that the bytes call by their id.
    pub topics: BTreeMap<Uuid, String>,
}

/// Explains a request: a frame that begins with its size (wire.md 18.2).
#[must_use]
pub fn request(frame: &Bytes, options: &Options) -> Explained {
    frame::request(frame, Mode::Decode, options)
}

/// Explains a response: a frame that begins with its size, to a request of this API and version (18.3).
#[must_use]
pub fn response(frame: &Bytes, key: i16, version: i16, options: &Options) -> Explained {
    match Lookup::of(options).api_by_key(key) {
        Some(api) => frame::response(frame, api, version, Mode::Decode, options),
        None => frame::unknown_response(frame, key, version, options),
    }
}

/// Explains a message without frame and header.
#[must_use]
pub fn message(table: &'static Message, version: i16, body: &Bytes, options: &Options) -> Explained {
    body_in_mode(table, version, body, Mode::Decode, options)
}

pub(crate) fn body_in_mode(
    table: &'static Message,
    version: i16,
    body: &Bytes,
    mode: Mode,
    options: &Options,
) -> Explained {
    let category = match table.kind {
        Kind::Request => Category::RequestBody,
        Kind::Response => Category::ResponseBody,
        Kind::Header => Category::RpcHeader,
        Kind::Data | Kind::Key | Kind::Value => Category::Record,
    };
    let title = (table.name, format!("message v{version}"));
    let mut explained = alone(body, What::Body, category, title, options, |scan| {
        scan.mode = mode;
        scan.body_of(table, version)
    });
    explained.api = table.id.and_then(|key| match table.kind {
        Kind::Request | Kind::Response => Lookup::of(options).api_by_key(key),
        Kind::Header | Kind::Data | Kind::Key | Kind::Value => None,
    });
    (explained.message, explained.version, explained.mode) = (Some(table), Some(version), mode);
    explained
}

/// Explains the key of a record of an internal topic: its type and fields (13.2).
#[must_use]
pub fn record_key(topic: &str, key: &Bytes, options: &Options) -> Explained {
    let title = ("record key", format!("of {topic}"));
    let mut explained = alone(key, What::RecordKey, Category::Record, title, options, |scan| {
        scan.coordinator_key(topic).map(|_| ())
    });
    let record_type = key.first_chunk().map(|it| i16::from_be_bytes(*it));
    explained.message = record_type.and_then(|it| Lookup::of(options).record(topic, it)).map(|it| it.0);
    explained.version = explained.message.map(|_| 0);
    explained
}

/// Explains the value of a record of an internal topic, whose type its key said.
#[must_use]
pub fn record_value(table: &'static Message, value: &Bytes, options: &Options) -> Explained {
    let title = ("record value", format!("of {}", table.name));
    let mut explained = alone(value, What::RecordValue, Category::Record, title, options, |scan| {
        scan.coordinator_value(table)
    });
    let version = value.first_chunk().map(|it| i16::from_be_bytes(*it));
    (explained.message, explained.version) = (Some(table), version);
    explained
}

/// Explains record batches, as they stand in a log segment or a records field.
#[must_use]
pub fn records(batches: &Bytes, options: &Options) -> Explained {
    let title = ("records", String::new());
    alone(batches, What::Records, Category::RecordBatch, title, options, |scan| scan.batches())
}

fn alone(
    bytes: &Bytes,
    what: What,
    category: Category,
    title: (&'static str, String),
    options: &Options,
    read: impl FnOnce(&mut Scan<'_>) -> Step<()>,
) -> Explained {
    let mut scan = Scan::new(bytes, options);
    scan.category = category;
    scan.open(title.0, title.1, "");
    scan.region(bytes.len(), read);
    let (root, hidden) = scan.finish();
    Explained {
        what,
        api: None,
        message: None,
        version: None,
        header_version: None,
        mode: Mode::Decode,
        bytes: bytes.clone(),
        hidden,
        root,
    }
}
