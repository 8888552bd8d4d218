//! Finding APIs and messages by what a person types, with the nearest names where there is none.
//!
//! The one door to the tables: whoever wants a draft asks here with `draft` set.

use std::fmt;
use std::ops::RangeInclusive;

use crate::Options;
use wire::table::{self, Draft, Kind, Message};
use wire::tables::{APIS, DRAFTS, MESSAGES};

/// Names that an error lists.
const NEAREST_MAX: usize = 5;
/// Longer words are not compared letter by letter.
const WORD_MAX: usize = 64;

/// An API.
#[derive(Debug, Clone, Copy)]
pub struct Api {
    pub key: i16,
    pub request: &'static Message,
    pub response: &'static Message,
}

/// Where things are looked up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lookup {
    /// A draft too; where it has the name or key of a released message, the draft is meant.
    pub draft: Option<&'static Draft>,
}

/// Nothing has that name, or the version does not exist: exit code 3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFound {
    Name {
        name: String,
        nearest: Vec<&'static str>,
    },
    Version {
        name: &'static str,
        version: i64,
        valid: String,
    },
    /// A draft does not have the message; there may be released versions.
    Draft {
        draft: &'static str,
        name: &'static str,
        released: Option<String>,
        nearest: Vec<&'static str>,
    },
}

impl Api {
    /// The name of the API: that of its request without the last word.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.request.name.strip_suffix("Request").unwrap_or(self.request.name)
    }
}

impl Lookup {
    pub(crate) const fn of(options: &Options) -> Self {
        Self { draft: options.draft }
    }

    /// Every API with a version: those of the draft, then the released ones by key.
    pub fn apis(self) -> impl Iterator<Item = Api> {
        let drafted = self.draft.map_or(&[][..], |it| it.apis);
        let released = APIS.iter().filter(|it| drafted.iter().all(|draft| draft.0 != it.0));
        drafted
            .iter()
            .chain(released)
            .map(|(key, request, response)| Api { key: *key, request, response })
            .filter(|it| !it.request.versions.is_empty())
    }

    /// The API with this number.
    #[must_use]
    pub fn api_by_key(self, key: i16) -> Option<Api> {
        self.apis().find(|it| it.key == key)
    }

    /// The API with this name, in any case, or number. The message names of both directions are names too.
    ///
    /// # Errors
    /// There is none.
    pub fn api(self, name: &str) -> Result<Api, NotFound> {
        let by_number = name.parse().ok().and_then(|key| self.api_by_key(key));
        let same = |it: &str| it.eq_ignore_ascii_case(name);
        by_number
            .or_else(|| {
                self.apis().find(|it| same(it.name()) || same(it.request.name) || same(it.response.name))
            })
            .ok_or_else(|| not_found(name, self.apis().map(|it| it.name())))
    }

    /// The message with this name, in any case.
    ///
    /// # Errors
    /// There is none.
    pub fn message(self, name: &str) -> Result<&'static Message, NotFound> {
        let drafted = self.draft.into_iter().flat_map(|it| it.apis.iter().chain(it.records));
        let drafted = drafted.flat_map(|it| [it.1, it.2]);
        let all: Vec<&'static Message> =
            drafted.chain(MESSAGES.iter().copied()).filter(|it| !it.versions.is_empty()).collect();
        let found = all.iter().find(|it| it.name.eq_ignore_ascii_case(name));
        // Requests and responses are near where their API is.
        let others = all.iter().filter(|it| !matches!(it.kind, Kind::Request | Kind::Response));
        let names = self.apis().map(|it| it.name()).chain(others.map(|it| it.name));
        found.copied().ok_or_else(|| match name.parse() {
            Ok(key) => no_number(name, key, self.apis()),
            Err(_) => not_found(name, names),
        })
    }

    /// Key and value of a record type; the topic's name with or without `__`.
    #[must_use]
    pub fn record(self, topic: &str, record_type: i16) -> Option<(&'static Message, &'static Message)> {
        let topic = topic.strip_prefix("__").unwrap_or(topic);
        let drafted = self.draft.filter(|_| topic == "consumer_offsets");
        let drafted = drafted.and_then(|it| it.records.iter().find(|it| it.0 == record_type));
        drafted.map(|it| (it.1, it.2)).or_else(|| table::record(topic, record_type))
    }
}

/// The draft of that name; the newest one for the empty name.
///
/// # Errors
/// There is none.
pub fn draft(name: &str) -> Result<&'static Draft, NotFound> {
    let wanted = if name.is_empty() { NEWEST_DRAFT } else { name };
    table::draft(wanted).ok_or_else(|| not_found(name, DRAFTS.iter().map(|it| it.name)))
}

/// Names of the drafts that have an API or message of this name, which the released ones do not have.
#[must_use]
pub fn drafts_with(name: &str) -> Vec<&'static str> {
    let knows = |lookup: Lookup| lookup.api(name).is_ok() || lookup.message(name).is_ok();
    if knows(Lookup::default()) {
        return Vec::new();
    }
    DRAFTS.iter().filter(|it| knows(Lookup { draft: Some(it) })).map(|it| it.name).collect()
}

/// The last revision of KIP-1071 before its release.
const NEWEST_DRAFT: &str = "newer";

/// The version asked for, or the highest.
///
/// # Errors
/// The message has no such version.
pub fn version_of(message: &'static Message, asked: Option<i64>) -> Result<i16, NotFound> {
    let Some(asked) = asked else { return Ok(message.versions.high) };
    let found = i16::try_from(asked).ok().filter(|it| message.versions.contains(*it));
    let valid = || message.versions.to_string();
    found.ok_or_else(|| NotFound::Version { name: plain_name(message), version: asked, valid: valid() })
}

/// The same of a message that has to be the draft's own.
///
/// # Errors
/// The draft has no such message, or it has no such version there.
pub fn version_in(
    draft: &'static Draft,
    message: &'static Message,
    asked: Option<i64>,
) -> Result<i16, NotFound> {
    let pairs = || draft.apis.iter().chain(draft.records);
    if pairs().any(|it| std::ptr::eq(it.1, message) || std::ptr::eq(it.2, message)) {
        return version_of(message, asked);
    }
    let name = plain_name(message);
    let names = draft.apis.iter().map(|it| plain_name(it.1));
    let names = names.chain(draft.records.iter().flat_map(|it| [it.1.name, it.2.name]));
    let released = (!message.versions.is_empty()).then(|| message.versions.to_string());
    Err(NotFound::Draft { draft: draft.name, name, released, nearest: nearest(name, names) })
}

/// The name of a message as people call it: that of its API, if it has one.
fn plain_name(message: &'static Message) -> &'static str {
    match message.kind {
        Kind::Request => message.name.strip_suffix("Request").unwrap_or(message.name),
        Kind::Response => message.name.strip_suffix("Response").unwrap_or(message.name),
        Kind::Header | Kind::Data | Kind::Key | Kind::Value => message.name,
    }
}

/// Every version of a message.
#[must_use]
pub fn versions_of(message: &Message) -> RangeInclusive<i16> {
    message.versions.low..=message.versions.high
}

/// No API has that number: the nearest are those beside it.
fn no_number(name: &str, key: i64, apis: impl Iterator<Item = Api>) -> NotFound {
    let mut ranked: Vec<_> = apis.map(|it| (i64::from(it.key).abs_diff(key), it.name())).collect();
    ranked.sort_unstable();
    let nearest = ranked.into_iter().take(NEAREST_MAX).map(|it| it.1).collect();
    NotFound::Name { name: format!("API {name}"), nearest }
}

fn not_found(name: &str, all: impl Iterator<Item = &'static str>) -> NotFound {
    NotFound::Name { name: name.to_owned(), nearest: nearest(name, all) }
}

/// The names that are most like it.
fn nearest(name: &str, all: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let wanted = name.to_ascii_lowercase();
    let mut ranked: Vec<_> = all.map(|it| (distance(&wanted, &it.to_ascii_lowercase()), it)).collect();
    ranked.sort_unstable();
    ranked.dedup_by_key(|it| it.1);
    ranked.into_iter().take(NEAREST_MAX).map(|it| it.1).collect()
}

/// Letters to change; less if one word contains the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() > WORD_MAX || b.len() > WORD_MAX {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, other) in row.iter_mut().skip(1).zip(b) {
            let here = (*cell + 1).min(left + 1).min(diagonal + usize::from(letter != other));
            diagonal = *cell;
            *cell = here;
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    let edits = row.last().copied().unwrap_or(usize::MAX);
    let contains =
        |long: &[u8], short: &[u8]| !short.is_empty() && long.windows(short.len()).any(|it| it == short);
    if contains(b, a) || contains(a, b) { edits.min(3) } else { edits }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name, nearest } => {
                write!(f, "there is no {name}; nearest: {}", nearest.join(", "))
            }
            Self::Version { name, version, valid } => {
                write!(f, "{name} has no version {version}; valid: {valid}")
            }
            Self::Draft { draft, name, released, nearest } => {
                write!(f, "the draft {draft} has no {name}")?;
                released.iter().try_for_each(|it| write!(f, "; released versions: {it}"))?;
                write!(f, "; nearest in the draft: {}", nearest.join(", "))
            }
        }
    }
}

impl std::error::Error for NotFound {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let lookup = Lookup::default();
        for name in ["DescribeGroups", "describegroups", "15", "DescribeGroupsResponse"] {
            assert_eq!(lookup.api(name).unwrap().key, 15, "{name}");
        }
        let Err(NotFound::Name { nearest, .. }) = lookup.api("DescribeGroup") else { panic!() };
        assert_eq!(nearest.first(), Some(&"DescribeGroups"));
        let problem = lookup.message("93").unwrap_err().to_string();
        assert!(problem.starts_with("there is no API 93; nearest: "), "{problem}");
        let Err(NotFound::Name { nearest, .. }) = lookup.api("heartbeat2") else { panic!() };
        assert!(nearest.contains(&"Heartbeat"), "{nearest:?}");
        // Removed APIs have a number but no versions.
        assert!(lookup.api("LeaderAndIsr").is_err());
        let request = lookup.api("DescribeGroups").unwrap().request;
        assert_eq!(version_of(request, None), Ok(6));
        let problem = version_of(request, Some(7)).unwrap_err().to_string();
        assert_eq!(problem, "DescribeGroups has no version 7; valid: 0-6");
        for version in [-1, i64::from(i16::MAX) + 7, i64::MIN] {
            let problem = version_of(request, Some(version)).unwrap_err().to_string();
            assert_eq!(problem, format!("DescribeGroups has no version {version}; valid: 0-6"));
        }
        let newer = draft("").unwrap();
        let problem = version_in(newer, request, None).unwrap_err().to_string();
        let words = "the draft newer has no DescribeGroups; released versions: 0-6; nearest in the draft: StreamsGroup";
        assert!(problem.starts_with(words), "{problem}");
        let own = Lookup { draft: Some(newer) }.api("StreamsGroupHeartbeat").unwrap();
        assert_eq!(version_in(newer, own.request, Some(0)), Ok(0));
        assert!(version_in(newer, lookup.api("StreamsGroupHeartbeat").unwrap().request, None).is_err());
        let draft = Lookup { draft: Some(newer) };
        assert_eq!(draft.api("StreamsGroupInitialize").unwrap().key, 88);
        assert_eq!(draft.api_by_key(88).unwrap().name(), "StreamsGroupInitialize");
        assert_eq!(lookup.api_by_key(88).unwrap().name(), "StreamsGroupHeartbeat");
        assert!(lookup.api("StreamsGroupInitialize").is_err());
        assert_eq!(drafts_with("streamsgroupinitialize"), ["newer", "older"]);
        assert!(drafts_with("StreamsGroupHeartbeat").is_empty() && drafts_with("Nonsense").is_empty());
        assert_eq!(lookup.record("__consumer_offsets", 17).unwrap().0.name, "StreamsGroupMetadataKey");
    }
}
