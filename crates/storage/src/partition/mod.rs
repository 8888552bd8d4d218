//! A partition: all that a log means to Kafka's clients, above an engine's [`Log`].
//!
//! It assigns offsets, checks idempotent producers, keeps the last stable offset, aborted transactions and
//! leader epochs, and looks records up by time. It knows no topics by name, no requests and no error codes.
//!
//! ```text
//! append   validate (no lock) → state (one lock: producers, offset, log.append, apply) → answer when durable
//! read     ends and last stable offset → log.read
//! open     snapshot → replay of the batch headers after it
//! ```
//!
//! Offsets are handed out before the records are durable. If the lane dies, the next owner loads the durable
//! prefix and hands the same offsets out again. That is safe only because nothing above `durable` was answered or
//! read: no answer and no read may use `end`.
//!
//! Cost per produced batch: 1 header copy (61 bytes), 0 payload copies, 1 checksum, 1 short lock around the
//! engine's append; no allocation but the engine's list of batches.

mod epochs;
mod error;
mod producers;
mod read;
mod settings;
mod state;
#[cfg(test)]
mod tests;
mod transactions;
mod validate;
mod verification;
mod wait;

pub use epochs::{EpochEnd, Epochs};
pub use error::{AppendError, ReadError, RecordError};
pub use producers::{BATCHES_MAX, Producer, Producers, Stored};
pub use read::{Isolation, OffsetAt, ReadResult, ReadSpec};
pub use settings::{Compression, Settings, Validate};
pub use transactions::Transactions;
pub use validate::single;
pub use verification::{FirstBatch, Guard};
pub use wait::{Dead, Waiter};

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use wire::batch::TimestampType;

use crate::log::{Ends, Epoch, Log, Millis, Offset, Refused};
use state::State;

/// A partition that this process leads. Shared by all who append to it and read it.
pub struct Partition {
    log: Arc<dyn Log>,
    ends: watch::Receiver<Ends>,
    epoch: Epoch,
    settings: RwLock<Arc<Settings>>,
    state: Mutex<State>,
}

/// Who appends, and what is checked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A client's Produce: one batch, all checks. A transactional batch that begins a transaction comes by
    /// [`Partition::append_verified`], unless nothing is verified.
    Client,
    /// A coordinator's records, plain or transactional, or its transaction markers: batches in the right form
    /// with base offsets of any value. Only the producer's epoch is checked, and markers as `broker-core` 12.8.
    Coordinator {
        /// `transaction.version` of the transaction that a marker ends; it decides how epochs compare.
        transaction_version: i16,
    },
    /// A marker for one transaction and no other: [`AppendError::NotInTransaction`] unless the open transaction of
    /// its producer begins at `first`.
    Settler {
        /// As above.
        transaction_version: i16,
        /// Offset of the transaction's first record.
        first: Offset,
    },
}

/// What became of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Offset of the first record.
    pub base_offset: Offset,
    /// Offset of the last record.
    pub last_offset: Offset,
    /// The records' timestamp if the broker sets it, else −1.
    pub log_append_time: Millis,
    /// The first offset that can be read.
    pub log_start: Offset,
    /// The batch had been appended before; the offsets are those of the original.
    pub duplicate: bool,
}

impl Appended {
    /// Offset after the last record: what the next append gets, and what must be durable for acks −1.
    #[must_use]
    pub fn next_offset(&self) -> Offset {
        self.last_offset.saturating_add(1)
    }

    /// What must be durable before a Produce with these acks is answered. A duplicate always waits for its
    /// original, else a crash could take back a success.
    #[must_use]
    pub fn durable_before_answer(&self, acks: i16) -> Option<Offset> {
        (acks == -1 || self.duplicate).then(|| self.next_offset())
    }
}

impl Partition {
    /// Opens the partition over its log, as leader in `epoch`. Producers, transactions and epochs are read from
    /// the newest snapshot and from the headers of the batches after it.
    pub async fn open(
        log: Arc<dyn Log>,
        settings: Settings,
        epoch: Epoch,
        now: Millis,
    ) -> Result<Self, ReadError> {
        let ends = log.ends();
        log.configure(settings.log);
        let end = ends.borrow().end;
        // A log that was just recovered is durable to its end. One that is in use already is read to its end.
        let _ends = wait::durable(ends.clone(), end).await.map_err(|Dead| ReadError::NotLeader)?;
        let mut state = State::load(log.as_ref(), end).await?;
        state.become_leader(epoch, now, settings.producer_id_expiration_ms);
        let (settings, state) = (RwLock::new(Arc::new(settings)), Mutex::new(state));
        Ok(Self { log, ends, epoch, settings, state })
    }

    /// Appends records. Returns when they have offsets; they are durable when [`Self::wait_durable`] says so
    /// for [`Appended::next_offset`]. All of them are appended or none.
    pub fn append(&self, records: &Bytes, origin: Origin, now: Millis) -> Result<Appended, AppendError> {
        let appended = match origin {
            Origin::Client => self.append_client(records, None, now)?,
            Origin::Coordinator { transaction_version } => {
                let batches = validate::coordinator(records)?;
                self.state.lock().append_coordinator(self.log.as_ref(), batches, transaction_version)?
            }
            Origin::Settler { transaction_version, first } => {
                let batches = validate::coordinator(records)?;
                let mut state = self.state.lock();
                state.check_open_since(&batches, first)?;
                state.append_coordinator(self.log.as_ref(), batches, transaction_version)?
            }
        };
        Ok(Appended { log_start: self.log_start(), ..appended })
    }

    /// Appends a client's batch, about whose transaction the coordinator was asked after
    /// [`Self::begin_verification`] gave the guard.
    pub fn append_verified(
        &self,
        records: &Bytes,
        guard: Option<Guard>,
        now: Millis,
    ) -> Result<Appended, AppendError> {
        let appended = self.append_client(records, guard, now)?;
        Ok(Appended { log_start: self.log_start(), ..appended })
    }

    /// What comes before the question to the coordinator whether this partition belongs to the transaction: `None`
    /// if the transaction is open here, so that nobody need be asked; else a guard to be shown with the batch.
    /// Refuses an old epoch at once (`broker-core` 9.5).
    pub fn begin_verification(&self, first: FirstBatch, now: Millis) -> Result<Option<Guard>, AppendError> {
        self.state.lock().begin_verification(first, now)
    }

    /// Whether a batch of this producer and epoch would be taken: a coordinator asks before it changes its state
    /// for a transactional commit, since an append that is refused later costs it a reload.
    pub fn check_transactional(
        &self,
        producer_id: i64,
        epoch: i16,
        guard: Option<Guard>,
    ) -> Result<(), AppendError> {
        let verifies = self.settings().verify_transactions;
        let state = self.state.lock();
        state.check_verified(producer_id, epoch, guard, verifies)?;
        state.producers.check_epoch_of(producer_id, epoch)
    }

    /// Whether an append of these records of a client inflates them: the caller then gives the time and the memory
    /// that this takes a bound, and does it where nobody else waits.
    #[must_use]
    pub fn inflates(&self, records: &Bytes, now: Millis) -> bool {
        validate::inflates(records, &self.settings(), now)
    }

    fn append_client(
        &self,
        records: &Bytes,
        guard: Option<Guard>,
        now: Millis,
    ) -> Result<Appended, AppendError> {
        let settings = self.settings();
        let batch = validate::client(records, &settings, now)?;
        let verifies = settings.verify_transactions;
        let appended = self.state.lock().append_client(self.log.as_ref(), batch, guard, verifies)?;
        // A duplicate brings the time of its original, whoever set it, as in Kafka.
        let log_append_time = match settings.timestamp_type {
            _ if appended.duplicate => appended.log_append_time,
            TimestampType::CreateTime => -1,
            TimestampType::LogAppendTime => now,
        };
        Ok(Appended { log_append_time, ..appended })
    }

    /// Start, durable end, end, and whether the log is dead. A move of the end alone wakes nobody.
    #[must_use]
    pub fn ends(&self) -> watch::Receiver<Ends> {
        self.ends.clone()
    }

    /// The ends now.
    #[must_use]
    pub fn ends_now(&self) -> Ends {
        *self.ends.borrow()
    }

    /// The first offset that can be read.
    #[must_use]
    pub fn log_start(&self) -> Offset {
        self.ends.borrow().start
    }

    /// The high watermark: everything below it is durable, and readers see no further.
    #[must_use]
    pub fn high_watermark(&self) -> Offset {
        self.ends.borrow().durable
    }

    /// Offset below which all transactions are decided; at most the high watermark.
    #[must_use]
    pub fn last_stable_offset(&self) -> Offset {
        let ends = self.ends_now();
        self.state.lock().transactions.last_stable(&ends)
    }

    /// The leader epoch.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Waits until everything below `offset` is durable. `NotLeader` if that can't come to pass any more: what
    /// was appended may be lost, or not.
    pub async fn wait_durable(&self, offset: Offset) -> Result<(), ReadError> {
        if self.ends.borrow().durable >= offset {
            return Ok(());
        }
        wait::durable(self.ends(), offset).await.map(|_ends| ()).map_err(|Dead| ReadError::NotLeader)
    }

    /// Raises the first readable offset to `offset` (DeleteRecords, `broker-core` 11.3); −1 means the high
    /// watermark. A lower one changes nothing. Returns the start, which survives from then on.
    pub async fn delete_records(&self, offset: Offset) -> Result<Offset, ReadError> {
        let ends = self.ends_now();
        let offset = if offset == -1 { ends.durable } else { offset };
        if offset < 0 || offset > ends.durable {
            return Err(ReadError::OutOfRange { log_start: ends.start, high_watermark: ends.durable });
        }
        if offset > ends.start {
            self.log.trim(offset).await?;
            self.state.lock().trim(offset);
        }
        Ok(self.log_start())
    }

    /// Follows a change of the topic's settings. Appends that are under way may still go by the old ones.
    pub fn configure(&self, settings: Settings) {
        self.log.configure(settings.log);
        *self.settings.write() = Arc::new(settings);
    }

    /// The settings now.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read())
    }

    /// Forgets producers that were silent for longer than `producer.id.expiration.ms`. The host calls it every
    /// `producer.id.expiration.check.interval.ms`.
    pub fn expire_producers(&self, now: Millis) {
        let expiration_ms = self.settings().producer_id_expiration_ms;
        self.state.lock().expire(now, expiration_ms);
    }

    /// What is known about producers, for DescribeProducers and tests. Copies.
    #[must_use]
    pub fn producers(&self) -> Producers {
        self.state.lock().producers.clone()
    }

    /// Id and epoch of each producer whose transaction is open, and the offset of the transaction's first record.
    #[must_use]
    pub fn open_transactions(&self) -> Vec<(i64, i16, Offset)> {
        let state = self.state.lock();
        let open = |(id, producer): (i64, &Producer)| Some((id, producer.epoch, producer.transaction?));
        state.producers.iter().filter_map(open).collect()
    }

    /// The leader epochs. Copies.
    #[must_use]
    pub fn epochs(&self) -> Epochs {
        self.state.lock().epochs.clone()
    }

    /// Hands what the partition knows to the log, so that opening need not read everything. Nothing happens if
    /// nothing was appended since the last time. The host calls it before `Lane::checkpoint`.
    pub fn checkpoint(&self) -> Result<(), Refused> {
        let start = self.log_start();
        let Some(snapshot) = self.state.lock().snapshot(start) else { return Ok(()) };
        self.log.save(snapshot)
    }

    /// Bytes that the log takes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.log.size()
    }

    /// Ends the partition for all who hold it: later appends are refused as `NotLeader`. The log and its
    /// readers stay until the lane is closed or the partition removed.
    pub fn close(&self) {
        self.state.lock().close();
    }
}
