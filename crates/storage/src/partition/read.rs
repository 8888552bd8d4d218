//! Reading a partition: Fetch, ListOffsets and OffsetForLeaderEpoch (`broker-core` 10.2, 11).
//!
//! Readers see what is durable. So that a client reads its own acks=0 and acks=1 writes as from Kafka, a look-up
//! takes the `end` that it sees on arrival and waits for its flush.

use wire::batch::{Batch, Batches, Invalid};

use super::epochs::EpochEnd;
use super::{Partition, ReadError};
use crate::log::{Aborted, Ends, Epoch, Millis, Offset, Refused, Slices, Span};

/// Bytes read at a time when records are looked for.
const SCAN_BYTES: usize = 256 << 10;

/// Up to where a reader sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// To the high watermark.
    ReadUncommitted,
    /// To the last stable offset.
    ReadCommitted,
}

/// What a Fetch asks of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadSpec {
    /// The first offset wanted; a batch that holds it in its midst is given whole.
    pub from: Offset,
    /// Bytes wanted at most.
    pub max_bytes: usize,
    /// Give one batch even if it is larger: for the first partition of a response with data.
    pub at_least_one: bool,
    /// Up to where the reader sees.
    pub isolation: Isolation,
    /// If nothing can be read yet but something was appended, wait for its flush: for the first look of a Fetch.
    pub settle: bool,
}

/// What a read gives.
#[derive(Debug, Clone)]
pub struct ReadResult {
    /// Whole batches, as stored.
    pub slices: Slices,
    /// The high watermark.
    pub high_watermark: Offset,
    /// The last stable offset.
    pub last_stable_offset: Offset,
    /// The first offset that can be read.
    pub log_start: Offset,
    /// Aborted transactions that the records may belong to, in the order of their markers; `None` for
    /// read_uncommitted.
    pub aborted: Option<Vec<Aborted>>,
    /// What was seen: to be handed to [`super::Waiter::watch`] if it was not enough.
    pub seen: Ends,
}

/// What a look-up by time finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetAt {
    /// The offset.
    pub offset: Offset,
    /// The record's timestamp; −1 where the answer is no record.
    pub timestamp: Millis,
    /// Leader epoch of the batch that was found, not the current one (`broker-core` 11.1 rule 4); −1 if unknown.
    pub epoch: Epoch,
}

impl Partition {
    /// Reads whole batches from `spec.from` on. Nothing is given if there is nothing yet.
    pub async fn read(&self, spec: ReadSpec) -> Result<ReadResult, ReadError> {
        let arrival = self.ends_now();
        if spec.settle && (arrival.durable..arrival.end).contains(&spec.from) {
            self.wait_durable(arrival.end).await?;
        }
        let seen = self.ends_now();
        if seen.dead {
            return Err(self.why_dead().await);
        }
        if spec.from < seen.start || spec.from > seen.end {
            return Err(out_of_range(&seen));
        }
        let last_stable_offset = self.state.lock().transactions.last_stable(&seen);
        let to = bound(spec.isolation, &seen, last_stable_offset);
        let slices = if spec.from < to { self.slices(&spec, to).await? } else { Slices::default() };
        let aborted = match spec.isolation {
            Isolation::ReadUncommitted => None,
            Isolation::ReadCommitted if slices.is_empty() => Some(Vec::new()),
            Isolation::ReadCommitted => {
                // What was below the last stable offset then is decided, so a later look finds no less.
                Some(self.state.lock().transactions.aborted_between(spec.from, slices.next.min(to)))
            }
        };
        Ok(ReadResult {
            slices,
            high_watermark: seen.durable,
            last_stable_offset,
            log_start: seen.start,
            aborted,
            seen,
        })
    }

    async fn slices(&self, spec: &ReadSpec, to: Offset) -> Result<Slices, ReadError> {
        let span = Span { from: spec.from, to, max_bytes: spec.max_bytes, at_least_one: spec.at_least_one };
        match self.log.read(span).await {
            Ok(slices) => Ok(slices),
            Err(refused) => Err(self.while_trimming(spec.from, refused.into())),
        }
    }

    /// The start may have moved past the offset since we looked.
    fn while_trimming(&self, from: Offset, error: ReadError) -> ReadError {
        let ends = self.ends_now();
        if !ends.dead && from < ends.start { out_of_range(&ends) } else { error }
    }

    /// Compares the leader epoch that a client knows with ours; −1 is no check (`broker-core` 10.2).
    pub fn check_epoch(&self, current: Epoch) -> Result<(), ReadError> {
        if current < 0 || current == self.epoch {
            Ok(())
        } else if current < self.epoch {
            Err(ReadError::FencedEpoch)
        } else {
            Err(ReadError::UnknownEpoch)
        }
    }

    /// Whether a reader at `from`, whose last record is of `last_fetched` epoch, read what is no longer there
    /// (DivergingEpoch of Fetch).
    pub fn diverging(&self, last_fetched: Epoch, from: Offset) -> Result<Option<EpochEnd>, ReadError> {
        if last_fetched < 0 {
            return Ok(None);
        }
        let ends = self.ends_now();
        let known =
            self.state.lock().epochs.end_of(last_fetched, ends.durable).ok_or_else(|| out_of_range(&ends))?;
        Ok((known.epoch < last_fetched || known.end < from).then_some(known))
    }

    /// The end of an epoch (OffsetForLeaderEpoch, `broker-core` 11.2); that of the current epoch is the high
    /// watermark. `None` is Kafka's −1, −1.
    pub async fn epoch_end(&self, epoch: Epoch) -> Result<Option<EpochEnd>, ReadError> {
        let ends = self.settled().await?;
        Ok(self.state.lock().epochs.end_of(epoch, ends.durable))
    }

    /// The first offset that can be read, with the epoch of its record (ListOffsets −2, and −4 without tiers).
    pub fn earliest(&self) -> Result<OffsetAt, ReadError> {
        let ends = self.ends_now();
        if ends.dead {
            return Err(ReadError::NotLeader);
        }
        let epoch = self.state.lock().epochs.at(ends.start).unwrap_or(-1);
        Ok(OffsetAt { offset: ends.start, timestamp: -1, epoch })
    }

    /// The offset up to which the reader sees, with the current epoch (ListOffsets −1).
    pub async fn latest(&self, isolation: Isolation) -> Result<OffsetAt, ReadError> {
        let ends = self.settled().await?;
        Ok(OffsetAt { offset: self.bound_of(isolation, &ends), timestamp: -1, epoch: self.epoch })
    }

    /// The first record among those with the largest timestamp (ListOffsets −3). It may be a marker (K-12).
    /// `None` also if the reader does not see it yet.
    pub async fn max_timestamp(&self, isolation: Isolation) -> Result<Option<OffsetAt>, ReadError> {
        let ends = self.settled().await?;
        let Some(found) = self.log.newest().await? else { return Ok(None) };
        let to = self.bound_of(isolation, &ends);
        let record = self.scan(found.offset, found.max_timestamp, ends.durable, true).await?;
        Ok(record.filter(|it| it.offset < to))
    }

    /// The first record at or after `timestamp` that the reader sees (ListOffsets by time): the lowest such offset,
    /// also where timestamps are out of order.
    pub async fn find_by_timestamp(
        &self,
        timestamp: Millis,
        isolation: Isolation,
    ) -> Result<Option<OffsetAt>, ReadError> {
        let ends = self.settled().await?;
        let to = self.bound_of(isolation, &ends);
        let Some(found) = self.log.find(timestamp).await? else { return Ok(None) };
        self.scan(found.offset, timestamp, to, false).await
    }

    /// The ends, once everything is durable that had been appended on arrival.
    async fn settled(&self) -> Result<Ends, ReadError> {
        let arrival = self.ends_now();
        self.wait_durable(arrival.end).await?;
        let ends = self.ends_now();
        if ends.dead { Err(self.why_dead().await) } else { Ok(ends) }
    }

    /// A log that is damaged says so, whatever is asked of it; any other that is dead has another owner.
    async fn why_dead(&self) -> ReadError {
        let start = self.log_start();
        let nothing = Span { from: start, to: start, max_bytes: 0, at_least_one: false };
        match self.log.read(nothing).await {
            Err(damage @ Refused::Corrupt(_)) => damage.into(),
            Ok(_) | Err(_) => ReadError::NotLeader,
        }
    }

    fn bound_of(&self, isolation: Isolation, ends: &Ends) -> Offset {
        let last_stable = self.state.lock().transactions.last_stable(ends);
        bound(isolation, ends, last_stable)
    }

    /// The first record in `[from, to)` at or after `timestamp`, or only in the first batch that holds any.
    /// A batch may claim a larger timestamp than its records have, since headers are trusted; then the search
    /// goes on.
    async fn scan(
        &self,
        from: Offset,
        timestamp: Millis,
        to: Offset,
        first_batch_only: bool,
    ) -> Result<Option<OffsetAt>, ReadError> {
        let start = self.log_start();
        let mut from = from.max(start);
        while from < to {
            let span = Span { from, to, max_bytes: SCAN_BYTES, at_least_one: true };
            let bytes =
                self.log.read(span).await.map_err(|refused| self.while_trimming(from, refused.into()))?;
            let before = from;
            for batch in Batches::new(bytes.load()?) {
                let batch = batch?;
                from = batch.header.next_offset();
                if let Some(found) = first_in(&batch, timestamp, start)? {
                    return Ok(Some(found));
                }
                if first_batch_only {
                    return Ok(None);
                }
            }
            if from == before {
                break;
            }
        }
        Ok(None)
    }
}

/// The first record of the batch at or after `timestamp`, and not below the start of the log.
fn first_in(batch: &Batch, timestamp: Millis, start: Offset) -> Result<Option<OffsetAt>, Invalid> {
    if batch.header.max_timestamp < timestamp {
        return Ok(None);
    }
    for record in batch.records()? {
        let record = record?;
        if record.timestamp >= timestamp && record.offset >= start {
            let epoch = batch.header.partition_leader_epoch;
            return Ok(Some(OffsetAt { offset: record.offset, timestamp: record.timestamp, epoch }));
        }
    }
    Ok(None)
}

fn bound(isolation: Isolation, ends: &Ends, last_stable_offset: Offset) -> Offset {
    match isolation {
        Isolation::ReadUncommitted => ends.durable,
        Isolation::ReadCommitted => last_stable_offset,
    }
}

fn out_of_range(ends: &Ends) -> ReadError {
    ReadError::OutOfRange { log_start: ends.start, high_watermark: ends.durable }
}
