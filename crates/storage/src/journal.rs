//! The metadata journal: one ordered list of opaque entries, written by compare-and-append.
//!
//! Storage sees versions and bytes only; what the entries mean belongs to the catalog.

use std::fmt;

use bytes::Bytes;

use crate::log::{BoxFuture, Refused};

/// How many entries were ever appended. An empty journal stands at 0; entry n takes it from n − 1 to n.
pub type Version = i64;

/// A journal of entries. What `append` accepted survives a power cut, whatever the durability of records is.
pub trait Journal: Send + Sync {
    /// Appends all entries, or none, if the head is at `after`; gives the new head. No entries: the head.
    fn append(&self, after: Version, entries: Vec<Bytes>) -> BoxFuture<'_, Result<Version, JournalError>>;

    /// What came after a version; begins with a snapshot if the entries alone don't reach back so far.
    fn read(&self, after: Version) -> BoxFuture<'_, Result<Since, Refused>>;

    /// Version of the last entry.
    fn head(&self) -> Version;

    /// Keeps an image of everything up to `version`; older entries may then go.
    fn snapshot(&self, version: Version, image: Bytes) -> BoxFuture<'_, Result<(), Refused>>;
}

/// What a reader of the journal has to apply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Since {
    /// An image to begin with, and the version that it stands for.
    pub snapshot: Option<(Version, Bytes)>,
    /// Entries after the snapshot, or else after the version asked for, without a gap.
    pub entries: Vec<(Version, Bytes)>,
}

/// Why an append to the journal was not done.
#[derive(Debug, Clone)]
pub enum JournalError {
    /// Someone was first; the head is here. Read on, apply, decide again.
    Behind(Version),
    /// Storage refused.
    Refused(Refused),
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Behind(head) => write!(f, "the journal is already at version {head}"),
            Self::Refused(refused) => refused.fmt(f),
        }
    }
}

impl std::error::Error for JournalError {}

impl From<Refused> for JournalError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}
