//! What a partition knows about the batches of its log, under the partition's lock.
//!
//! All of it is a function of the batches: [`State::apply`] changes it, live after an append and on load. So a
//! partition that is opened again is as it was.

use bytes::Bytes;
use wire::batch::control::Control;
use wire::batch::{BatchHeader, Batches as Walk, Invalid, RecordIter};

use super::Appended;
use super::epochs::Epochs;
use super::error::{AppendError, ReadError};
use super::producers::{Marker, Producers, Stored};
use super::transactions::Transactions;
use super::verification::{FirstBatch, Guard, Verifications};
use crate::log::{Batch, Batches, Epoch, Log, Millis, Offset, PartitionSnapshot, Refused, Span, Urgency};

/// Bytes read at a time when a log is replayed.
const REPLAY_BYTES: usize = 1 << 20;

/// A marker has a key of 4 and a value of 6 bytes; whatever else a control record holds is not large.
const CONTROL_BYTES_MAX: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct State {
    /// Offset of the next record.
    next: Offset,
    epoch: Epoch,
    pub(super) producers: Producers,
    pub(super) transactions: Transactions,
    pub(super) epochs: Epochs,
    /// Not from the log: who is asking the coordinator now.
    verifications: Verifications,
    /// Offset of the last snapshot.
    saved: Offset,
    /// Why there are no more appends: the lane is dead, or the partition was closed.
    closed: Option<AppendError>,
}

impl State {
    /// Reads the newest snapshot and replays the batches after it up to `end`, which is durable.
    pub(super) async fn load(log: &dyn Log, end: Offset) -> Result<Self, ReadError> {
        let start = log.ends().borrow().start;
        let mut state = log.saved()?.and_then(Self::restore).unwrap_or_else(Self::empty);
        state.next = state.next.max(start);
        while state.next < end {
            let span = Span { from: state.next, to: end, max_bytes: REPLAY_BYTES, at_least_one: true };
            let bytes = log.read(span).await?.load()?;
            let before = state.next;
            state.replay(bytes)?;
            if state.next == before {
                return Err(ReadError::Storage(format!(
                    "no batch at offset {before} where the log ends at {end}"
                )));
            }
        }
        state.next = end;
        state.transactions.settle(end);
        state.trim(start);
        Ok(state)
    }

    fn empty() -> Self {
        Self {
            next: 0,
            epoch: -1,
            producers: Producers::default(),
            transactions: Transactions::default(),
            epochs: Epochs::default(),
            verifications: Verifications::default(),
            saved: 0,
            closed: None,
        }
    }

    /// `None` if the snapshot can't be read: then all is replayed.
    fn restore(snapshot: PartitionSnapshot) -> Option<Self> {
        let producers = Producers::decode(snapshot.producers)?;
        let open: Vec<_> = producers
            .iter()
            .filter_map(|(id, producer)| producer.transaction.map(|first| (first, id)))
            .collect();
        Some(Self {
            next: snapshot.offset,
            producers,
            transactions: Transactions::restore(snapshot.aborted, open.into_iter()),
            epochs: Epochs::restore(snapshot.epochs),
            saved: snapshot.offset,
            ..Self::empty()
        })
    }

    fn replay(&mut self, bytes: Bytes) -> Result<(), ReadError> {
        for batch in Walk::new(bytes) {
            let batch = batch?;
            if batch.header.next_offset() <= self.next {
                continue;
            }
            let marker = marker_of(&batch.header, &batch.payload())?;
            self.apply(&batch.header, marker, 0);
        }
        Ok(())
    }

    /// The epoch counts from the first record that will be appended in it.
    pub(super) fn become_leader(&mut self, epoch: Epoch, now: Millis, expiration_ms: Millis) {
        self.epoch = epoch;
        self.epochs.assign(epoch, self.next);
        self.producers.expire(now, expiration_ms);
    }

    /// A duplicate brings the timestamp of its original; who asks knows whether that is a client's business.
    pub(super) fn append_client(
        &mut self,
        log: &dyn Log,
        mut batch: Batch,
        guard: Option<Guard>,
        verifies: bool,
    ) -> Result<Appended, AppendError> {
        self.check_open()?;
        let BatchHeader { producer_id, producer_epoch, attributes, .. } = batch.header;
        if batch.header.has_producer() {
            if let Some(stored) = self.producers.find(&batch.header) {
                return Ok(duplicate(&stored));
            }
            if attributes.is_transactional() {
                self.check_verified(producer_id, producer_epoch, guard, verifies)?;
            }
            self.producers.check_client(&batch.header, self.verifications.get(producer_id))?;
        }
        self.place(&mut batch, self.next);
        let header = batch.header;
        self.write(log, Batches { items: vec![batch], urgency: Urgency::Bulk })?;
        self.apply(&header, None, 0);
        Ok(appended(header.base_offset, header.last_offset()))
    }

    /// Several batches are checked against what was before all of them.
    pub(super) fn append_coordinator(
        &mut self,
        log: &dyn Log,
        mut items: Vec<Batch>,
        transaction_version: i16,
    ) -> Result<Appended, AppendError> {
        self.check_open()?;
        let markers = self.check_coordinator(&items, transaction_version)?;
        let base_offset = self.next;
        let mut next = base_offset;
        let mut noted = Vec::with_capacity(items.len());
        for (batch, marker) in items.iter_mut().zip(markers) {
            self.place(batch, next);
            next = batch.header.next_offset();
            noted.push((batch.header, marker));
        }
        self.write(log, Batches { items, urgency: Urgency::Soon })?;
        for (header, marker) in &noted {
            self.apply(header, *marker, transaction_version);
        }
        self.transactions.settle(log.ends().borrow().durable);
        Ok(appended(base_offset, next - 1))
    }

    /// Whether the open transaction of the batches' producer is the one that begins at `first`.
    pub(super) fn check_open_since(&self, items: &[Batch], first: Offset) -> Result<(), AppendError> {
        let is_open = |batch: &Batch| {
            self.producers.get(batch.header.producer_id).is_some_and(|it| it.transaction == Some(first))
        };
        if items.iter().all(is_open) {
            return Ok(());
        }
        Err(AppendError::NotInTransaction(format!("no transaction of the producer begins at offset {first}")))
    }

    /// What markers the batches are, if all may be appended.
    pub(super) fn check_coordinator(
        &self,
        items: &[Batch],
        transaction_version: i16,
    ) -> Result<Vec<Option<Marker>>, AppendError> {
        let check = |batch: &Batch| {
            let marker = marker_of(&batch.header, &batch.body)?;
            match marker {
                Some(marker) => self.producers.check_marker(&batch.header, marker, transaction_version)?,
                None => self.producers.check_coordinator(&batch.header)?,
            }
            Ok(marker)
        };
        items.iter().map(check).collect()
    }

    /// `None` if nobody need be asked (`broker-core` 9.5).
    pub(super) fn begin_verification(
        &mut self,
        first: FirstBatch,
        now: Millis,
    ) -> Result<Option<Guard>, AppendError> {
        self.check_open()?;
        self.producers.check_epoch_of(first.producer_id, first.epoch)?;
        if self.producers.has_transaction(first.producer_id, first.epoch) {
            return Ok(None);
        }
        Ok(Some(self.verifications.begin(first, now)))
    }

    /// A transactional batch belongs to an open transaction of its epoch, or the coordinator was asked about it. An
    /// old epoch comes first: its producer may begin anew with a new one.
    pub(super) fn check_verified(
        &self,
        producer_id: i64,
        epoch: i16,
        guard: Option<Guard>,
        verifies: bool,
    ) -> Result<(), AppendError> {
        if self.producers.has_transaction(producer_id, epoch) {
            return Ok(());
        }
        self.producers.check_epoch_of(producer_id, epoch)?;
        // A transaction of an older epoch that is open lost its marker; the new one must not take its records along.
        let is_open = || self.producers.get(producer_id).is_some_and(|it| it.transaction.is_some());
        if verifies && (is_open() || !self.verifications.admits(producer_id, guard)) {
            return Err(AppendError::NotInTransaction(format!(
                "no transaction of producer {producer_id} and epoch {epoch} is open here"
            )));
        }
        Ok(())
    }

    pub(super) fn expire(&mut self, now: Millis, expiration_ms: Millis) {
        self.producers.expire(now, expiration_ms);
        self.verifications.expire(now, expiration_ms);
    }

    fn check_open(&self) -> Result<(), AppendError> {
        self.closed.clone().map_or(Ok(()), Err)
    }

    /// Neither field is under the checksum.
    fn place(&self, batch: &mut Batch, offset: Offset) {
        batch.header.base_offset = offset;
        batch.header.partition_leader_epoch = self.epoch;
    }

    /// Hands the batches to the log. After any refusal but `Full` the log is dead, and so are we.
    fn write(&mut self, log: &dyn Log, batches: Batches) -> Result<(), AppendError> {
        log.append(batches).map_err(|refused| {
            let full = matches!(refused, Refused::Full);
            let error = AppendError::from(refused);
            self.closed = (!full).then(|| error.clone());
            error
        })
    }

    /// Notes a batch that is in the log.
    fn apply(&mut self, header: &BatchHeader, marker: Option<Marker>, transaction_version: i16) {
        self.epochs.assign(header.partition_leader_epoch, header.base_offset);
        match marker {
            // It has the epoch of the transaction after the one that it ends, whose producer may be asking already.
            Some(_) if transaction_version >= 2 => {
                self.verifications.end_older(header.producer_id, header.producer_epoch);
            }
            // A transaction that has begun needs no guard, and one that has ended must have a new one.
            Some(_) => self.verifications.end(header.producer_id),
            None if header.attributes.is_transactional() => self.verifications.end(header.producer_id),
            None => {}
        }
        match marker {
            Some(marker) => {
                if let Some(first) = self.producers.apply_marker(header, marker) {
                    self.transactions.end(header.producer_id, first, header.base_offset, marker.commit);
                }
            }
            None if header.attributes.is_control() => {}
            None => {
                if self.producers.apply_records(header) {
                    self.transactions.begin(header.base_offset, header.producer_id);
                }
            }
        }
        self.next = header.next_offset();
    }

    /// The log begins at `start` now. Producers stay: what they sent last counts even if it is deleted.
    pub(super) fn trim(&mut self, start: Offset) {
        self.epochs.trim(start);
        self.transactions.trim(start);
    }

    /// What is known, unless that was saved before.
    pub(super) fn snapshot(&mut self, start: Offset) -> Option<PartitionSnapshot> {
        if self.saved == self.next {
            return None;
        }
        self.saved = self.next;
        self.trim(start);
        Some(PartitionSnapshot {
            offset: self.next,
            producers: self.producers.encode(),
            epochs: self.epochs.entries().to_vec(),
            aborted: self.transactions.aborted().to_vec(),
        })
    }

    pub(super) fn close(&mut self) {
        self.closed.get_or_insert(AppendError::NotLeader);
    }
}

fn appended(base_offset: Offset, last_offset: Offset) -> Appended {
    Appended { base_offset, last_offset, log_append_time: -1, log_start: -1, duplicate: false }
}

fn duplicate(stored: &Stored) -> Appended {
    let original = appended(stored.first_offset(), stored.last_offset);
    Appended { log_append_time: stored.timestamp, duplicate: true, ..original }
}

/// The marker of a control batch that ends a transaction; `None` for any other batch, also for a control batch
/// that compaction has emptied.
fn marker_of(header: &BatchHeader, body: &Bytes) -> Result<Option<Marker>, Invalid> {
    if !header.attributes.is_control() || !header.has_producer() {
        return Ok(None);
    }
    let Some(record) = RecordIter::new(header, body, CONTROL_BYTES_MAX)?.next() else { return Ok(None) };
    match Control::parse(&record?)? {
        Control::Abort { coordinator_epoch } => Ok(Some(Marker { commit: false, coordinator_epoch })),
        Control::Commit { coordinator_epoch } => Ok(Some(Marker { commit: true, coordinator_epoch })),
        Control::Other(_) => Ok(None),
    }
}
