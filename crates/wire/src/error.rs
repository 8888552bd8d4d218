//! What can go wrong in decoding and encoding.

use std::fmt;

/// Bytes that are not the message that they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The field, as `Topics[3].Partitions[0].Records`; empty if the problem is not in a field.
    pub path: String,
    /// Where in the bytes given to the reader.
    pub offset: usize,
    pub kind: DecodeErrorKind,
}

/// Why bytes were refused. Small and without details, because every read function returns it; the details
/// (path, offset) are found afterwards by walking the tables over the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeErrorKind {
    /// The bytes end before the value does.
    Truncated,
    /// A length or count below −1, or above 2^31 − 1.
    BadLength,
    /// A string of more than 32767 bytes.
    StringTooLong,
    /// More elements than the remaining bytes can hold.
    TooManyElements,
    /// A varint of more than 5 (or 10) bytes, or with bits beyond its type.
    BadVarint,
    /// Null where the version does not allow it.
    Null,
    /// Tags that do not ascend.
    TagOrder,
    /// A tagged field whose value is shorter or longer than its size says.
    TagSize,
    /// A known tag in a version that lacks it.
    TagNotInVersion,
    /// A version that the message does not have.
    UnsupportedVersion,
    /// A request of an API that does not exist.
    UnknownApi,
    /// Bytes behind the message, where the caller allows none.
    TrailingBytes,
}

impl DecodeErrorKind {
    /// What the kind means, for messages.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Truncated => "the bytes end too early",
            Self::BadLength => "a length is out of range",
            Self::StringTooLong => "a string is longer than 32767 bytes",
            Self::TooManyElements => "more elements than the remaining bytes can hold",
            Self::BadVarint => "a varint is too long",
            Self::Null => "null where the version does not allow it",
            Self::TagOrder => "tags do not ascend",
            Self::TagSize => "a tagged field differs from its size",
            Self::TagNotInVersion => "a tagged field that the version lacks",
            Self::UnsupportedVersion => "the message lacks this version",
            Self::UnknownApi => "no such API",
            Self::TrailingBytes => "bytes behind the message",
        }
    }
}

impl DecodeError {
    /// An error outside of any field.
    #[must_use]
    pub const fn at(offset: usize, kind: DecodeErrorKind) -> Self {
        Self { path: String::new(), offset, kind }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.path.is_empty() { "" } else { " in " };
        write!(f, "{}{at}{} at byte {}", self.kind.reason(), self.path, self.offset)
    }
}

impl std::error::Error for DecodeError {}

/// A value that the version can't carry. It is a mistake of the caller (decision 4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeError {
    /// The field, as `Topics[3].ErrorMessage`.
    pub path: String,
    pub kind: EncodeErrorKind,
}

/// Why a value was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodeErrorKind {
    /// The field does not exist in this version, is not ignorable, and does not have its default.
    FieldNotInVersion(i16),
    /// Null where the version does not allow it.
    Null,
    /// A string of more than 32767 bytes.
    StringTooLong,
    /// Unknown tags in a version without tags.
    TagsNotInVersion,
    /// Unknown tags that do not ascend, or one that the schema defines.
    TagOrder,
    /// A version that the message does not have.
    UnsupportedVersion(i16),
    /// The message is larger than a frame can be (2^31 − 1 bytes).
    TooLarge,
}

impl EncodeError {
    /// A field that the version lacks.
    #[cold]
    #[must_use]
    pub fn lost(field: &str, version: i16) -> Self {
        Self { path: field.to_owned(), kind: EncodeErrorKind::FieldNotInVersion(version) }
    }

    /// A null that the version does not allow.
    #[cold]
    #[must_use]
    pub fn null(field: &str) -> Self {
        Self { path: field.to_owned(), kind: EncodeErrorKind::Null }
    }

    /// The same error, seen from the struct around it.
    #[cold]
    #[must_use]
    pub fn within(mut self, field: &str, index: Option<usize>) -> Self {
        let place = index.map_or_else(|| field.to_owned(), |i| format!("{field}[{i}]"));
        self.path = if self.path.is_empty() { place } else { format!("{place}.{}", self.path) };
        self
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path)?;
        match self.kind {
            EncodeErrorKind::FieldNotInVersion(v) => write!(f, "version {v} lacks this field"),
            EncodeErrorKind::Null => f.write_str("null is not allowed in this version"),
            EncodeErrorKind::StringTooLong => f.write_str("the string is longer than 32767 bytes"),
            EncodeErrorKind::TagsNotInVersion => f.write_str("the version has no tagged fields"),
            EncodeErrorKind::TagOrder => f.write_str("unknown tags must ascend and be unknown"),
            EncodeErrorKind::UnsupportedVersion(v) => write!(f, "the message lacks version {v}"),
            EncodeErrorKind::TooLarge => f.write_str("the message is larger than a frame can be"),
        }
    }
}

impl std::error::Error for EncodeError {}
