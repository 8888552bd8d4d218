//! Types of the descriptor tables, and look-ups in them. The tables themselves are generated (`tables`).

use std::fmt;

use crate::tables::{APIS, DRAFTS, MESSAGES, RECORDS};

/// API keys from here on are our own; Kafka has none of them.
pub const OWN_KEYS: std::ops::RangeFrom<i16> = 20_000..;

/// A closed range of versions; empty when `low > high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    pub low: i16,
    /// `i16::MAX` where the range is open.
    pub high: i16,
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Request,
    Response,
    Header,
    Data,
    Key,
    Value,
}

/// A message.
#[derive(Debug)]
pub struct Message {
    pub name: &'static str,
    pub kind: Kind,
    /// API key or record type.
    pub id: Option<i16>,
    pub versions: Versions,
    pub flexible: Versions,
    pub unstable: Option<i16>,
    pub deprecated: Versions,
    pub listeners: &'static [&'static str],
    pub doc: &'static str,
    /// The draft that the message belongs to; none for what was released.
    pub draft: Option<&'static str>,
    pub root: Struct,
}

impl Message {
    /// Whether the message belongs to an API of our own.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.id.is_some_and(|id| OWN_KEYS.contains(&id))
    }
}

/// The fields of a message or of a struct in it.
#[derive(Debug)]
pub struct Struct {
    pub name: &'static str,
    pub versions: Versions,
    pub fields: &'static [Field],
}

/// A field.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    /// The key in Kafka's JSON.
    pub json: &'static str,
    pub array: bool,
    /// The type of the field, or of its elements.
    pub ty: Type,
    pub versions: Versions,
    pub nullable: Versions,
    pub tag: Option<Tag>,
    pub default: Default,
    pub ignorable: bool,
    pub map_key: bool,
    /// What the value names: `topicName`, `groupId`, ….
    pub entity: Option<&'static str>,
    /// False where the field keeps the old length form.
    pub flexible: bool,
    /// The least bytes that one value or element takes.
    pub min_size: usize,
    pub doc: &'static str,
}

/// An early revision of a proposal, kept so that old texts and captures can be read. It has tables only: no types, no
/// codec, no place in [`APIS`], [`MESSAGES`] or [`RECORDS`], so nothing can serve it.
#[derive(Debug)]
pub struct Draft {
    pub name: &'static str,
    /// Request and response of every API, by key. A key may be that of another API today.
    pub apis: &'static [(i16, &'static Message, &'static Message)],
    /// Key and value of every record type of `__consumer_offsets`, by type.
    pub records: &'static [(i16, &'static Message, &'static Message)],
}

/// The tag of a field, and the versions in which it is tagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    pub number: u32,
    pub versions: Versions,
}

/// A type.
#[derive(Debug, Clone, Copy)]
pub enum Type {
    Bool,
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Float64,
    Uuid,
    String,
    Bytes,
    Records,
    Struct(&'static Struct),
}

/// The value of a field that is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Default {
    /// Zero, false or empty.
    OfType,
    Null,
    Bool(bool),
    Int(i64),
    String(&'static str),
}

impl Versions {
    #[must_use]
    pub const fn contains(self, version: i16) -> bool {
        self.low <= version && version <= self.high
    }

    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.low > self.high
    }
}

impl Field {
    /// Whether the field is tagged in this version.
    #[must_use]
    pub fn is_tagged(&self, version: i16) -> bool {
        self.versions.contains(version) && self.tag.is_some_and(|it| it.versions.contains(version))
    }

    /// Whether the field is a plain field in this version.
    #[must_use]
    pub fn is_plain(&self, version: i16) -> bool {
        self.versions.contains(version) && !self.is_tagged(version)
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low, self.high) {
            (low, high) if low > high => f.write_str("none"),
            (low, i16::MAX) => write!(f, "{low}+"),
            (low, high) if low == high => write!(f, "{low}"),
            (low, high) => write!(f, "{low}-{high}"),
        }
    }
}

/// The message of that name.
#[must_use]
pub fn message(name: &str) -> Option<&'static Message> {
    MESSAGES.iter().find(|it| it.name == name).copied()
}

/// Request and response of an API.
#[must_use]
pub fn api(key: i16) -> Option<(&'static Message, &'static Message)> {
    APIS.iter().find(|it| it.0 == key).map(|it| (it.1, it.2))
}

/// Key and value of a record type; the topic's name without `__`.
#[must_use]
pub fn record(topic: &str, record_type: i16) -> Option<(&'static Message, &'static Message)> {
    RECORDS.iter().find(|it| it.0 == topic && it.1 == record_type).map(|it| (it.2, it.3))
}

/// The draft of that name.
#[must_use]
pub fn draft(name: &str) -> Option<&'static Draft> {
    DRAFTS.iter().find(|it| it.name == name)
}

impl Draft {
    /// The draft's message of that name.
    #[must_use]
    pub fn message(&self, name: &str) -> Option<&'static Message> {
        let pairs = || self.apis.iter().chain(self.records).flat_map(|it| [it.1, it.2]);
        pairs().find(|it| it.name == name)
    }
}
