//! Idempotent producers: what each has appended last, and which sequence must come next (`broker-core` 9).
//!
//! The state holds everything that was appended, durable or not, so a retry that meets a batch in flight is seen
//! as what it is. It is a function of the batches in the log: live and on load the same `apply` changes it.

use std::collections::{BTreeMap, VecDeque};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use wire::batch::{BatchHeader, crc32c};

use super::error::AppendError;
use super::verification::Verification;
use crate::log::{Millis, Offset};

/// Batches remembered per producer; clients have at most this many in flight (KIP-98, KAFKA-5494).
pub const BATCHES_MAX: usize = 5;

/// Producers remembered per partition. Above it those that were silent longest are forgotten, an eighth at a
/// time; their next batch is then accepted with any sequence, as after expiry.
const PRODUCERS_MAX: usize = 200_000;

/// What is known about all producers of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Producers {
    entries: BTreeMap<i64, Producer>,
}

/// What is known about one producer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Producer {
    /// Its newest epoch; −1 before the first.
    pub epoch: i16,
    /// Epoch of the transaction coordinator that wrote the last marker; −1 before the first.
    pub coordinator_epoch: i32,
    /// Timestamp of the last batch or marker.
    pub last_timestamp: Millis,
    /// First offset of its open transaction.
    pub transaction: Option<Offset>,
    /// The last batches of the current epoch, oldest first.
    pub batches: VecDeque<Stored>,
}

impl Default for Producer {
    fn default() -> Self {
        Self {
            epoch: -1,
            coordinator_epoch: -1,
            last_timestamp: -1,
            transaction: None,
            batches: VecDeque::new(),
        }
    }
}

/// A batch that was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Sequence of its last record.
    pub last_sequence: i32,
    /// Offset of its last record.
    pub last_offset: Offset,
    /// Last offset less first offset.
    pub offset_delta: i32,
    /// Its largest timestamp.
    pub timestamp: Millis,
}

impl Stored {
    /// Offset of the first record.
    #[must_use]
    pub fn first_offset(&self) -> Offset {
        self.last_offset.saturating_sub(i64::from(self.offset_delta))
    }

    /// Sequence of the first record.
    #[must_use]
    pub fn first_sequence(&self) -> i32 {
        self.last_sequence.wrapping_sub(self.offset_delta) & i32::MAX
    }
}

/// A marker that ends a transaction, as the checks see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    /// Whether the records count.
    pub commit: bool,
    /// Epoch of the coordinator that sends it.
    pub coordinator_epoch: i32,
}

impl Producers {
    /// The producer with this id.
    #[must_use]
    pub fn get(&self, id: i64) -> Option<&Producer> {
        self.entries.get(&id)
    }

    /// All producers by id.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &Producer)> {
        self.entries.iter().map(|(&id, producer)| (id, producer))
    }

    /// How many producers are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no producer is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A batch that was appended before, to be answered with what was stored then (`broker-core` 9.3 rule 1).
    pub(super) fn find(&self, header: &BatchHeader) -> Option<Stored> {
        self.get(header.producer_id)?.find(header)
    }

    /// Whether the producer has an open transaction in this epoch.
    pub(super) fn has_transaction(&self, id: i64, epoch: i16) -> bool {
        self.get(id).is_some_and(|it| it.transaction.is_some() && it.epoch == epoch)
    }

    /// Checks a client's batch that is no duplicate (`broker-core` 9.3). A producer that is not known may begin with
    /// any sequence, unless that is known better from its verification (rule 5).
    pub(super) fn check_client(
        &self,
        header: &BatchHeader,
        verification: Option<&Verification>,
    ) -> Result<(), AppendError> {
        let producer = self.get(header.producer_id);
        if let Some(producer) = producer {
            producer.check_epoch(header.producer_id, header.producer_epoch)?;
        }
        if let Some(verification) = verification {
            check_first_sequence(header, producer, verification)?;
        }
        let Some(producer) = producer else { return Ok(()) };
        producer.check_sequence(header)?;
        if producer.transaction.is_some() && !header.attributes.is_transactional() {
            return Err(AppendError::TransactionOpen(format!(
                "producer {} has an open transaction, but the batch is not part of it",
                header.producer_id
            )));
        }
        Ok(())
    }

    /// Checks a coordinator's batch of records: its sequences start anew with each batch, so only the epoch
    /// counts. That keeps a late commit of offsets of a former epoch out.
    pub(super) fn check_coordinator(&self, header: &BatchHeader) -> Result<(), AppendError> {
        self.check_epoch_of(header.producer_id, header.producer_epoch)
    }

    /// Checks an epoch alone (rule 2).
    pub(super) fn check_epoch_of(&self, id: i64, epoch: i16) -> Result<(), AppendError> {
        self.get(id).map_or(Ok(()), |producer| producer.check_epoch(id, epoch))
    }

    /// Checks a marker (`broker-core` 12.8 rule 4).
    pub(super) fn check_marker(
        &self,
        header: &BatchHeader,
        marker: Marker,
        transaction_version: i16,
    ) -> Result<(), AppendError> {
        let Some(producer) = self.get(header.producer_id) else { return Ok(()) };
        producer.check_epoch(header.producer_id, header.producer_epoch)?;
        // KIP-890 part 2: each marker carries a new epoch. The same epoch is a retry, once nothing is open.
        if transaction_version >= 2
            && header.producer_epoch == producer.epoch
            && producer.transaction.is_some()
        {
            return Err(producer.stale(header.producer_id, header.producer_epoch));
        }
        if marker.coordinator_epoch < producer.coordinator_epoch {
            return Err(AppendError::CoordinatorFenced(format!(
                "marker of coordinator epoch {}, but epoch {} has written already",
                marker.coordinator_epoch, producer.coordinator_epoch
            )));
        }
        Ok(())
    }

    /// Notes a batch of records. Returns true if a transaction begins with it.
    pub(super) fn apply_records(&mut self, header: &BatchHeader) -> bool {
        if !header.has_producer() {
            return false;
        }
        let producer = self.entry(header.producer_id);
        producer.enter_epoch(header.producer_epoch);
        producer.last_timestamp = header.max_timestamp;
        if header.base_sequence >= 0 {
            producer.push(Stored {
                last_sequence: header.last_sequence(),
                last_offset: header.last_offset(),
                offset_delta: header.last_offset_delta,
                timestamp: header.max_timestamp,
            });
        }
        let begins = header.attributes.is_transactional() && producer.transaction.is_none();
        if begins {
            producer.transaction = Some(header.base_offset);
        }
        begins
    }

    /// Notes a marker; an unknown producer becomes known. Returns the first offset of the transaction that it
    /// ends, also if a newer epoch ends it (`broker-core` 13.3 (d)).
    pub(super) fn apply_marker(&mut self, header: &BatchHeader, marker: Marker) -> Option<Offset> {
        let producer = self.entry(header.producer_id);
        producer.enter_epoch(header.producer_epoch);
        producer.last_timestamp = header.max_timestamp;
        producer.coordinator_epoch = marker.coordinator_epoch;
        producer.transaction.take()
    }

    /// Forgets producers that were silent for longer than `expiration_ms` and have no open transaction.
    pub(super) fn expire(&mut self, now: Millis, expiration_ms: Millis) {
        self.entries.retain(|_, producer| {
            producer.transaction.is_some() || now.saturating_sub(producer.last_timestamp) <= expiration_ms
        });
    }

    fn entry(&mut self, id: i64) -> &mut Producer {
        if self.entries.len() >= PRODUCERS_MAX && !self.entries.contains_key(&id) {
            self.forget_oldest(PRODUCERS_MAX / 8);
        }
        self.entries.entry(id).or_default()
    }

    fn forget_oldest(&mut self, count: usize) {
        let idle = self.entries.iter().filter(|(_, producer)| producer.transaction.is_none());
        let mut by_age: Vec<_> = idle.map(|(&id, producer)| (producer.last_timestamp, id)).collect();
        by_age.sort_unstable();
        for (_, id) in by_age.into_iter().take(count) {
            self.entries.remove(&id);
        }
    }
}

/// Rule 5: an earlier batch of the producer must come first, which was refused or is on its way.
fn check_first_sequence(
    header: &BatchHeader,
    producer: Option<&Producer>,
    verification: &Verification,
) -> Result<(), AppendError> {
    let nothing_yet = producer.is_none_or(|it| it.batches.is_empty());
    let lowest = if verification.bumps_epoch && nothing_yet { 0 } else { verification.lowest_sequence };
    if header.base_sequence <= lowest {
        return Ok(());
    }
    Err(AppendError::OutOfOrderSequence(format!(
        "sequence {} of producer {} where {lowest} must come first",
        header.base_sequence, header.producer_id
    )))
}

impl Producer {
    /// The remembered batch with the same epoch and the same first and last sequence (rule 1).
    fn find(&self, header: &BatchHeader) -> Option<Stored> {
        let same = |stored: &&Stored| {
            stored.first_sequence() == header.base_sequence && stored.last_sequence == header.last_sequence()
        };
        (self.epoch == header.producer_epoch).then(|| self.batches.iter().find(same)).flatten().copied()
    }

    /// Rule 2.
    fn check_epoch(&self, id: i64, epoch: i16) -> Result<(), AppendError> {
        if epoch < self.epoch { Err(self.stale(id, epoch)) } else { Ok(()) }
    }

    fn stale(&self, id: i64, epoch: i16) -> AppendError {
        AppendError::StaleProducerEpoch(format!(
            "epoch {epoch} of producer {id} has been followed by epoch {}",
            self.epoch
        ))
    }

    /// Rules 3 and 4.
    fn check_sequence(&self, header: &BatchHeader) -> Result<(), AppendError> {
        let expected = if header.producer_epoch == self.epoch {
            // With nothing but a marker in this epoch its first batch is to come.
            self.batches.back().map_or(0, |last| last.last_sequence.wrapping_add(1) & i32::MAX)
        } else if self.epoch < 0 {
            return Ok(());
        } else {
            0
        };
        if header.base_sequence == expected {
            return Ok(());
        }
        Err(AppendError::OutOfOrderSequence(format!(
            "sequence {} of producer {} epoch {} where {expected} was expected",
            header.base_sequence, header.producer_id, header.producer_epoch
        )))
    }

    fn enter_epoch(&mut self, epoch: i16) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.batches.clear();
        }
    }

    fn push(&mut self, stored: Stored) {
        if self.batches.len() == BATCHES_MAX {
            self.batches.pop_front();
        }
        self.batches.push_back(stored);
    }
}

/// Version of Kafka's `.snapshot` files.
const SNAPSHOT_VERSION: i16 = 1;
/// Version and checksum, which the checksum does not cover.
const SNAPSHOT_HEAD: usize = 6;
/// Bytes of one entry.
const ENTRY_LEN: usize = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8;

impl Producers {
    /// The content of a `.snapshot` file. Kafka keeps the last batch of each producer; we write one entry per
    /// remembered batch, the last one last, so that all five survive a restart and Kafka still reads the file
    /// (of several entries of one producer the last counts there).
    pub(super) fn encode(&self) -> Bytes {
        let count = self.entries.values().map(|producer| producer.batches.len().max(1)).sum::<usize>();
        let mut body = BytesMut::with_capacity(4 + count * ENTRY_LEN);
        body.put_i32(i32::try_from(count).expect("the number of producers is bounded"));
        for (&id, producer) in &self.entries {
            if producer.batches.is_empty() {
                put_entry(&mut body, id, producer, None);
            }
            for stored in &producer.batches {
                put_entry(&mut body, id, producer, Some(stored));
            }
        }
        let mut out = BytesMut::with_capacity(SNAPSHOT_HEAD + body.len());
        out.put_i16(SNAPSHOT_VERSION);
        out.put_u32(crc32c(&[&body]));
        out.put_slice(&body);
        out.freeze()
    }

    /// Reads what [`Self::encode`] or Kafka wrote. `None` if it is damaged or of another version; the log is then
    /// replayed from its start.
    pub(super) fn decode(mut bytes: Bytes) -> Option<Self> {
        let version = bytes.try_get_i16().ok()?;
        let crc = bytes.try_get_u32().ok()?;
        if version != SNAPSHOT_VERSION || crc != crc32c(&[&bytes]) {
            return None;
        }
        let count = usize::try_from(bytes.try_get_i32().ok()?).ok()?;
        if bytes.len() != count.checked_mul(ENTRY_LEN)? {
            return None;
        }
        let mut all = Self::default();
        for _ in 0..count {
            all.take_entry(&mut bytes)?;
        }
        Some(all)
    }

    fn take_entry(&mut self, bytes: &mut Bytes) -> Option<()> {
        let id = bytes.try_get_i64().ok()?;
        let epoch = bytes.try_get_i16().ok()?;
        let last_sequence = bytes.try_get_i32().ok()?;
        let last_offset = bytes.try_get_i64().ok()?;
        let offset_delta = bytes.try_get_i32().ok()?;
        let timestamp = bytes.try_get_i64().ok()?;
        let producer = self.entries.entry(id).or_default();
        producer.enter_epoch(epoch);
        producer.last_timestamp = timestamp;
        producer.coordinator_epoch = bytes.try_get_i32().ok()?;
        producer.transaction = Some(bytes.try_get_i64().ok()?).filter(|&first| first >= 0);
        if last_offset >= 0 {
            producer.push(Stored { last_sequence, last_offset, offset_delta, timestamp });
        }
        Some(())
    }
}

fn put_entry(out: &mut BytesMut, id: i64, producer: &Producer, stored: Option<&Stored>) {
    let is_last = stored == producer.batches.back();
    out.put_i64(id);
    out.put_i16(producer.epoch);
    out.put_i32(stored.map_or(-1, |it| it.last_sequence));
    out.put_i64(stored.map_or(-1, |it| it.last_offset));
    out.put_i32(stored.map_or(0, |it| it.offset_delta));
    // The last entry carries the time from which expiry counts, which may be that of a marker.
    out.put_i64(stored.filter(|_| !is_last).map_or(producer.last_timestamp, |it| it.timestamp));
    out.put_i32(producer.coordinator_epoch);
    out.put_i64(producer.transaction.unwrap_or(-1));
}
