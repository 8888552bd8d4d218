//! Records of `__transaction_state` in the version that the cluster agreed on.

use bytes::Bytes;
use wire::message::Message as _;
use wire::transaction_state::{Record, TransactionLogKey, TransactionLogValue};
use wire::{DecodeError, EncodeError, LogRecord, Str};

/// Everything about one transactional id, or that it is gone.
///
/// Kafka writes value version 0 as long as the finalized `transaction.version` is 0, so that a cluster can go back to
/// a release that knows no other; from level 1 on it writes version 1 (`broker-core.md` 12.2).
#[derive(Debug, Clone, PartialEq)]
pub struct TxnRecord {
    pub transactional_id: Str,
    /// None is a tombstone.
    pub value: Option<TransactionLogValue>,
    /// Version of the value.
    pub version: i16,
}

impl TxnRecord {
    fn key(&self) -> TransactionLogKey {
        TransactionLogKey { transactional_id: self.transactional_id.clone() }
    }
}

impl LogRecord for TxnRecord {
    fn encode(&self) -> Result<(Bytes, Option<Bytes>), EncodeError> {
        let (key, _) = Record::TransactionLog(self.key(), None).encode()?;
        let value = self.value.as_ref().map(|it| it.to_prefixed(self.version)).transpose()?;
        Ok((key, value))
    }

    fn decode(key: &Bytes, value: Option<&Bytes>) -> Result<Option<Self>, DecodeError> {
        let Some(Record::TransactionLog(key, _)) = Record::decode(key, None)? else { return Ok(None) };
        let value = value.map(TransactionLogValue::from_prefixed).transpose()?;
        let version = value.as_ref().map_or(0, |(_, version)| *version);
        let transactional_id = key.transactional_id;
        Ok(Some(Self { transactional_id, value: value.map(|(value, _)| value), version }))
    }
}
