//! The explainer: bytes of the protocol to a tree that says what every byte is, and back (wire.md, part II).
//!
//! Everything comes from the tables of `wire`; nothing is written here about single messages but what the schema
//! can't say (which bytes are secrets, which hold other content). Pure: no I/O, no clock. Time and memory are linear
//! in the input. No broker depends on this crate.
//!
//! * [`request`], [`response`], [`message`], [`record_key`], [`record_value`], [`records`]: bytes to [`Explained`].
//! * [`text::page`], [`text::tree`], [`layout::layout`], [`json::of`]: what is shown of it.

mod lookup;
mod node;

pub use lookup::{Api, Lookup, NotFound, version_of, versions_of};
pub use node::{Category, Diagnostic, Direction, Explained, Id, Mode, Node, Severity, Value, What};

use std::collections::BTreeMap;

use bytes::Bytes;
use wire::Uuid;
use wire::table::Message;

/// How bytes are read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Warnings are errors.
    pub strict: bool,
    /// Shows passwords, tokens and SASL bytes.
    pub show_secrets: bool,
    /// Drafts are known, and win over released messages.
    pub drafts: bool,
    /// The topic of record batches where the bytes name none.
    pub topic: Option<String>,
    /// Names of topics that the bytes call by their id.
    pub topics: BTreeMap<Uuid, String>,
}

/// Explains a request: a frame that begins with its size (wire.md 18.2).
#[must_use]
pub fn request(frame: &Bytes, options: &Options) -> Explained {
    let _ = (frame, options);
    todo!()
}

/// Explains a response: a frame that begins with its size, to a request of this API and version (18.3).
#[must_use]
pub fn response(frame: &Bytes, key: i16, version: i16, options: &Options) -> Explained {
    let _ = (frame, key, version, options);
    todo!()
}

/// Explains a message without frame and header.
#[must_use]
pub fn message(table: &'static Message, version: i16, body: &Bytes, options: &Options) -> Explained {
    let _ = (table, version, body, options);
    todo!()
}

/// Output for people.
pub mod text {
    use crate::Explained;

    /// How text is made.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Style {
        /// ANSI colours by category; for terminals only.
        pub colour: bool,
        pub descriptions: bool,
    }

    /// Byte layout, tree and diagnostics.
    #[must_use]
    pub fn page(explained: &Explained, style: Style) -> String {
        let _ = (explained, style);
        todo!()
    }

    /// The object tree (21), a line per node.
    #[must_use]
    pub fn tree(explained: &Explained, style: Style) -> String {
        let _ = (explained, style);
        todo!()
    }
}

/// Output for programs (21.6).
pub mod json {
    use crate::Explained;
    use wire::json::Json;

    /// The tree as JSON.
    #[must_use]
    pub fn of(explained: &Explained) -> Json {
        let _ = explained;
        todo!()
    }
}
