//! Keys and values of commits as they stand in the log. Tests compare both with the codec's.

use bytes::Bytes;
use wire::consumer_offsets::OffsetCommitValue;
use wire::{DecodeError, Message as _, Str, Uuid};

use super::Committed;
use crate::machine::{At, Encoded, Millis};

/// How the key of a commit begins: its record type.
const KEY_TYPE: [u8; 2] = [0, 1];
/// What every commit with a topic id ends with: the number of tagged fields, the tag, and the size of the id.
const TOPIC_ID_TAG: [u8; 3] = [1, 0, 16];

/// The key of a commit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::group) struct CommitKey<'a> {
    /// Without what may stand behind the fields.
    pub(super) bytes: &'a [u8],
    pub(in crate::group) group: &'a [u8],
    pub(super) topic: &'a [u8],
    pub(super) partition: i32,
}

impl<'a> CommitKey<'a> {
    /// `None` if it is that of another record, or none at all.
    #[inline]
    pub(in crate::group) fn parse(key: &'a [u8]) -> Option<Self> {
        let mut rest = key.strip_prefix(&KEY_TYPE)?;
        let group = take_string(&mut rest)?;
        let topic = take_string(&mut rest)?;
        let (partition, behind) = rest.split_first_chunk()?;
        let bytes = key.get(..key.len() - behind.len())?;
        Some(Self { bytes, group, topic, partition: i32::from_be_bytes(*partition) })
    }
}

#[inline]
fn take_string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, behind) = rest.split_first_chunk()?;
    let length = usize::try_from(i16::from_be_bytes(*length)).ok()?;
    let (string, behind) = behind.split_at_checked(length)?;
    *rest = behind;
    Some(string)
}

/// A commit as most are: without words, of one of the two versions that are written today, and with nothing unknown
/// behind it. It fits into a cache line with all that is needed to find it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plain {
    pub record_offset: i64,
    offset: i64,
    commit_timestamp: Millis,
    topic_id: Uuid,
    leader_epoch: i32,
}

impl Plain {
    /// `None` if it is another commit, or none at all.
    #[inline]
    pub(super) fn parse(at: At, value: &[u8]) -> Option<Self> {
        let ([0, version, offset @ .., a, b, c, d], rest) = value.split_first_chunk::<14>()? else {
            return None;
        };
        let ((3, [0, 0, rest @ ..]) | (4, [1, rest @ ..])) = (version, rest) else { return None };
        let (commit_timestamp, rest) = rest.split_first_chunk()?;
        Some(Self {
            record_offset: at.offset,
            offset: i64::from_be_bytes(*offset),
            commit_timestamp: i64::from_be_bytes(*commit_timestamp),
            topic_id: topic_id(*version, rest)?,
            leader_epoch: i32::from_be_bytes([*a, *b, *c, *d]),
        })
    }

    /// Of a commit that is not as most are only this is known.
    pub(super) const fn standing_at(record_offset: i64) -> Self {
        Self { record_offset, offset: -1, commit_timestamp: -1, topic_id: Uuid::ZERO, leader_epoch: -1 }
    }
}

impl From<Plain> for Committed {
    fn from(plain: Plain) -> Self {
        Self {
            offset: plain.offset,
            leader_epoch: plain.leader_epoch,
            metadata: Str::EMPTY,
            commit_timestamp: plain.commit_timestamp,
            expire_timestamp: -1,
            topic_id: plain.topic_id,
            record_offset: plain.record_offset,
        }
    }
}

/// What stands behind the time of a commit.
#[inline]
fn topic_id(version: u8, rest: &[u8]) -> Option<Uuid> {
    match (version, rest) {
        (3, []) | (4, [0]) => Some(Uuid::ZERO),
        (4, rest) => Some(Uuid(rest.strip_prefix(&TOPIC_ID_TAG)?.try_into().ok()?)),
        _ => None,
    }
}

/// What a record commits.
///
/// # Errors
/// A value that is no commit.
pub(super) fn committed(at: At, record: &Encoded<'_>) -> Result<Committed, DecodeError> {
    match record.value().and_then(|value| usual(at, value)) {
        Some(committed) => Ok(committed),
        None => by_the_codec(at, &record.value_bytes().unwrap_or_default()),
    }
}

fn by_the_codec(at: At, value: &Bytes) -> Result<Committed, DecodeError> {
    let (value, _) = OffsetCommitValue::from_prefixed(value)?;
    Ok(Committed::new(at, &value))
}

/// A commit of one of the two versions that are written today, with nothing unknown behind it.
fn usual(at: At, value: &[u8]) -> Option<Committed> {
    let ([0, version, offset @ .., a, b, c, d], rest) = value.split_first_chunk::<14>()? else { return None };
    let (metadata, rest) = match (version, rest) {
        (3, [high, low, rest @ ..]) => {
            rest.split_at_checked(usize::try_from(i16::from_be_bytes([*high, *low])).ok()?)?
        }
        (4, [length @ 1..0x80, rest @ ..]) => rest.split_at_checked(usize::from(*length) - 1)?,
        _ => return None,
    };
    let (commit_timestamp, rest) = rest.split_first_chunk()?;
    Some(Committed {
        offset: i64::from_be_bytes(*offset),
        leader_epoch: i32::from_be_bytes([*a, *b, *c, *d]),
        metadata: if metadata.is_empty() {
            Str::EMPTY
        } else {
            Str::from(std::str::from_utf8(metadata).ok()?)
        },
        commit_timestamp: i64::from_be_bytes(*commit_timestamp),
        expire_timestamp: -1,
        topic_id: topic_id(*version, rest)?,
        record_offset: at.offset,
    })
}

#[cfg(test)]
mod tests {
    use wire::LogRecord as _;
    use wire::consumer_offsets::{OffsetCommitKey, Record};

    use super::*;

    #[test]
    fn keys_are_read_as_the_codec_reads_them() {
        for (group, topic, partition) in [("g", "t", 3), ("", "", -1), ("a group", "", i32::MAX)] {
            let key = OffsetCommitKey { group: group.into(), topic: topic.into(), partition };
            let (bytes, _) = Record::OffsetCommit(key.clone(), None).encode().unwrap();
            let mut longer = bytes.to_vec();
            longer.extend([1, 2]);
            let parsed = CommitKey::parse(&longer).unwrap();
            assert_eq!((parsed.group, parsed.topic), (key.group.as_bytes(), key.topic.as_bytes()));
            assert_eq!((parsed.partition, parsed.bytes), (partition, &bytes[..]));
            for end in 0..bytes.len() {
                assert_eq!(CommitKey::parse(&bytes[..end]), None);
                assert!(Record::decode(&bytes.slice(..end), None).is_err());
            }
        }
        assert_eq!(CommitKey::parse(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), None, "record type 0");
        assert_eq!(CommitKey::parse(&[0, 1, 0xff, 0xff, 0, 0, 0, 0, 0, 0]), None, "null");
    }

    /// Whatever the short way takes it takes as the codec does, and it takes what is written today.
    #[test]
    fn values_are_read_as_the_codec_reads_them() {
        let at = At { offset: 77, timestamp: 5, producer: None };
        let long = "x".repeat(126);
        for version in 0..=4 {
            for metadata in ["", "words", "ä", &long, &"y".repeat(127), &"z".repeat(300)] {
                for topic_id in [Uuid::ZERO, Uuid([7; 16])] {
                    let value = OffsetCommitValue {
                        offset: i64::MAX - 3,
                        leader_epoch: if version < 3 { -1 } else { 0x0102_0304 },
                        metadata: metadata.into(),
                        commit_timestamp: 1 << 40,
                        expire_timestamp: if version == 1 { 9 } else { -1 },
                        topic_id: if version < 4 { Uuid::ZERO } else { topic_id },
                        ..Default::default()
                    };
                    let bytes = value.to_prefixed(version).unwrap();
                    let found = usual(at, &bytes);
                    let is_usual = version >= 3 && !(version == 4 && metadata.len() > 126);
                    assert_eq!(found.is_some(), is_usual, "version {version}, {metadata}");
                    let whole = by_the_codec(at, &bytes).unwrap();
                    assert!(found.is_none_or(|it| it == whole), "version {version}, {metadata}");
                    let is_plain = version >= 3 && metadata.is_empty();
                    assert_eq!(Plain::parse(at, &bytes).is_some(), is_plain, "version {version}, {metadata}");
                    assert_eq!(whole, Committed::new(at, &value));
                    // Every byte is changed, and all are cut off: never is anything else understood.
                    for place in 0..bytes.len() {
                        for change in [1, 0x80, 0xff] {
                            let mut wrong = bytes.to_vec();
                            wrong[place] ^= change;
                            same(at, &wrong);
                        }
                        same(at, &bytes[..place]);
                    }
                    same(at, &[&bytes[..], &[0]].concat());
                }
            }
        }
    }

    fn same(at: At, bytes: &[u8]) {
        let plain = Plain::parse(at, bytes).map(Committed::from);
        for found in [usual(at, bytes), plain].into_iter().flatten() {
            assert_eq!(by_the_codec(at, &Bytes::copy_from_slice(bytes)), Ok(found), "{bytes:?}");
        }
    }
}
