//! Messages as JSON, in the form of Kafka's JSON converters, both ways, by one generic walker over the tables
//! (decision 12). For tools and tests; no request passes here.
//!
//! The JSON value is our own, so that shipped code needs no library for it: integers must survive up to 2^63, and
//! nothing but messages is ever read.

mod from_bytes;
mod text;
mod to_bytes;

use std::borrow::Cow;
use std::fmt;

pub use from_bytes::decode;
pub use text::parse;
pub use to_bytes::encode;

/// The key under which tagged fields that the schema does not know stand: an object from tag to base64.
pub const UNKNOWN_TAGS: &str = "_unknownTags";

/// A JSON value. Objects keep their order.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(String),
    Array(Vec<Self>),
    Object(Vec<(Cow<'static, str>, Self)>),
}

/// Text that is not JSON, or JSON that is not the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// The field, or empty.
    pub path: String,
    pub problem: String,
}

impl Json {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(entries) => entries.iter().find(|it| it.0 == key).map(|it| &it.1),
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::String(_) | Self::Array(_) => {
                None
            }
        }
    }

    /// Equal but for the order of keys.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Object(a), Self::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(key, a)| other.get(key).is_some_and(|b| a.same(b)))
            }
            (Self::Array(a), Self::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (a, b) => a == b,
        }
    }
}

impl JsonError {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self { path: String::new(), problem: problem.into() }
    }

    pub(crate) fn within(mut self, place: &str) -> Self {
        self.path = match self.path.as_str() {
            "" => place.to_owned(),
            inner if inner.starts_with('[') => format!("{place}{inner}"),
            inner => format!("{place}.{inner}"),
        };
        self
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.problem)
        } else {
            write!(f, "{}: {}", self.path, self.problem)
        }
    }
}

impl std::error::Error for JsonError {}
