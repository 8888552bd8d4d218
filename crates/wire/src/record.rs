//! Records of the internal topics: record type and key, version and value (wire.md 13).

use bytes::Bytes;

use crate::error::{DecodeError, EncodeError};
use crate::message::{Message, measure, written};
use crate::read::Reader;
use crate::write::{Sizer, Writer};
use crate::{consumer_offsets, share_group_state, transaction_state};

/// A record of an internal topic as one value: the enum over its record types.
pub trait LogRecord: Sized {
    /// Key and value as they stand in the log; no value is a tombstone.
    ///
    /// # Errors
    /// A value that the format can't carry.
    fn encode(&self) -> Result<(Bytes, Option<Bytes>), EncodeError>;

    /// Reads a record. Nothing for a record type that this version does not know: loaders skip it with a warning.
    ///
    /// # Errors
    /// Bytes that are not such a record; a value of an unknown version.
    fn decode(key: &Bytes, value: Option<&Bytes>) -> Result<Option<Self>, DecodeError>;
}

/// The value version that a record is written in, where it is not the highest one.
pub(crate) trait WrittenVersion {
    fn written_version(&self) -> Option<i16> {
        None
    }
}

impl WrittenVersion for consumer_offsets::Record {
    /// classic-and-consumer-groups.md 264: an expiry needs version 1 (and so loses leader epoch and topic id),
    /// group metadata stays at 3.
    fn written_version(&self) -> Option<i16> {
        if let Self::OffsetCommit(_, Some(value)) = self
            && value.expire_timestamp != -1
        {
            return Some(1);
        }
        matches!(self, Self::GroupMetadata(..)).then_some(3)
    }
}

impl WrittenVersion for transaction_state::Record {}
impl WrittenVersion for share_group_state::Record {}

pub(crate) fn encode<K: Message, V: Message>(
    record_type: i16,
    key: &K,
    value: Option<&V>,
    version: Option<i16>,
) -> Result<(Bytes, Option<Bytes>), EncodeError> {
    let mut sizer = Sizer::default();
    measure(key, &mut sizer, 0)?;
    let mut writer = Writer::with_capacity(2 + sizer.inline());
    writer.i16(record_type);
    written(key, &mut writer, &sizer, 0);
    let version = version.unwrap_or(*V::VERSIONS.end());
    let value = value.map(|it| it.to_prefixed(version)).transpose()?;
    Ok((writer.into_bytes(), value))
}

/// The record type, and the reader behind it.
pub(crate) fn record_type(key: &Bytes) -> Result<(i16, Reader), DecodeError> {
    let mut reader = Reader::new(key.clone());
    let record_type = reader.i16().map_err(|kind| DecodeError::at(0, kind))?;
    Ok((record_type, reader))
}

pub(crate) fn decode<K: Message, V: Message>(
    key: &mut Reader,
    value: Option<&Bytes>,
) -> Result<(K, Option<V>), DecodeError> {
    let key = K::decode(key, 0)?;
    let value = value.map(V::from_prefixed).transpose()?;
    Ok((key, value.map(|it| it.0)))
}
