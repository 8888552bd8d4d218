//! Control batches: the markers that end a transaction on a partition (`broker-core` 13.1).

use bytes::{BufMut, Bytes, BytesMut};

use super::{BatchBuilder, Invalid, Record};

/// What a control record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// The transaction's records on this partition are to be skipped.
    Abort {
        /// Epoch of the transaction coordinator that wrote it.
        coordinator_epoch: i32,
    },
    /// The transaction's records on this partition count.
    Commit {
        /// Epoch of the transaction coordinator that wrote it.
        coordinator_epoch: i32,
    },
    /// A type that has no place in a partition of records (leader changes and snapshots of a metadata log).
    Other(i16),
}

const ABORT: i16 = 0;
const COMMIT: i16 = 1;

impl Control {
    /// Reads the record of a control batch. Longer keys and values and higher versions are accepted, as every
    /// reader must.
    pub fn parse(record: &Record) -> Result<Self, Invalid> {
        let key = record.key.as_deref().unwrap_or_default();
        let (_version, rest) =
            key.split_first_chunk::<2>().ok_or(Invalid::Record("control key is cut short"))?;
        let kind = rest.first_chunk::<2>().ok_or(Invalid::Record("control key is cut short"))?;
        match i16::from_be_bytes(*kind) {
            ABORT => Ok(Self::Abort { coordinator_epoch: coordinator_epoch(record)? }),
            COMMIT => Ok(Self::Commit { coordinator_epoch: coordinator_epoch(record)? }),
            other => Ok(Self::Other(other)),
        }
    }
}

fn coordinator_epoch(record: &Record) -> Result<i32, Invalid> {
    let value = record.value.as_deref().unwrap_or_default();
    let epoch = value.get(2..).and_then(|rest| rest.first_chunk::<4>());
    epoch.map(|bytes| i32::from_be_bytes(*bytes)).ok_or(Invalid::Record("end marker is cut short"))
}

/// The batch of one marker: commit or abort of the producer's transaction.
#[must_use]
pub fn marker(
    producer_id: i64,
    producer_epoch: i16,
    commit: bool,
    coordinator_epoch: i32,
    timestamp: i64,
) -> Bytes {
    let mut key = BytesMut::with_capacity(4);
    key.put_i16(0);
    key.put_i16(if commit { COMMIT } else { ABORT });
    let mut value = BytesMut::with_capacity(6);
    value.put_i16(0);
    value.put_i32(coordinator_epoch);
    BatchBuilder::new()
        .producer(producer_id, producer_epoch, -1)
        .transactional()
        .control()
        .timestamp(timestamp)
        .push(Some(&key), Some(&value))
        .build()
}
