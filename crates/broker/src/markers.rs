//! Writes the markers that end a transaction on its partitions (`broker-core.md` 12.8, 13.1).
//!
//! A partition of records gets its marker straight; one of `__consumer_offsets` through the host of its shard,
//! because the marker also decides about pending offsets, and the shard's machine counts the log's offsets.
//!
//! Of each partition, in this order:
//! 1. topic and partition exist        else UNKNOWN_TOPIC_OR_PARTITION
//! 2. its log is open                  else KAFKA_STORAGE_ERROR
//! 3. the shard is served              else NOT_LEADER_OR_FOLLOWER, which the coordinator tries again
//! 4. the producer's epoch is not old  else INVALID_PRODUCER_EPOCH; both mean that another marker was first
//! 5. nor is the coordinator's         else TRANSACTION_COORDINATOR_FENCED
//! 6. of one that settles: its transaction is open still, else INVALID_TXN_STATE
//! 7. the marker becomes durable       else NOT_LEADER_OR_FOLLOWER
//!
//! A marker without an open transaction is written all the same and changes nothing but the producer's epochs.

use std::sync::Arc;

use bytes::Bytes;
use catalog::Image;
use coordinator::Millis;
use coordinator::group::GroupShard;
use storage::Offset;
use storage::partition::{AppendError, Origin, Partition};
use tokio::sync::oneshot;
use tracing::warn;
use wire::batch::control;
use wire::{ErrorCode, Str};

use crate::clock::Clock;
use crate::partitions::Partitions;
use crate::shards::Shards;

/// The end of one producer's transaction, as its coordinator decided it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    pub producer_id: i64,
    /// With transactions v2 one more than that of the transaction's records.
    pub producer_epoch: i16,
    /// False: abort.
    pub commit: bool,
    /// Leader epoch of the coordinator's partition of `__transaction_state`.
    pub coordinator_epoch: i32,
    /// `transaction.version` of the transaction; it decides how epochs compare.
    pub transaction_version: i16,
}

impl Marker {
    /// The control batch of the marker.
    pub(crate) fn batch(&self, now: Millis) -> Bytes {
        let Self { producer_id, producer_epoch, commit, coordinator_epoch, .. } = *self;
        control::marker(producer_id, producer_epoch, commit, coordinator_epoch, now)
    }

    /// How it is appended: for whatever transaction is open, or only for the one that begins at `first`.
    pub(crate) fn origin(&self, first: Option<Offset>) -> Origin {
        let transaction_version = self.transaction_version;
        match first {
            None => Origin::Coordinator { transaction_version },
            Some(first) => Origin::Settler { transaction_version, first },
        }
    }
}

/// Where markers go.
pub struct Markers {
    partitions: Arc<Partitions>,
    groups: Arc<Shards<GroupShard>>,
    clock: Arc<Clock>,
}

impl Markers {
    pub(crate) fn new(
        partitions: Arc<Partitions>,
        groups: Arc<Shards<GroupShard>>,
        clock: Arc<Clock>,
    ) -> Self {
        Self { partitions, groups, clock }
    }

    /// Writes the marker to each of the partitions, side by side, and tells for each what became of it, in the same
    /// order. `NONE` means durable. What can't be told (a log that died) is `NOT_LEADER_OR_FOLLOWER`; the same
    /// marker may be written again without harm.
    pub async fn write(&self, image: &Image, marker: &Marker, partitions: &[(Str, i32)]) -> Vec<ErrorCode> {
        let mut started = Vec::with_capacity(partitions.len());
        for (topic, index) in partitions {
            started.push(self.start(image, marker, (topic, *index), None).await);
        }
        let mut outcomes = Vec::with_capacity(started.len());
        for started in started {
            outcomes.push(match started {
                Ok(started) => started.outcome().await,
                Err(code) => code,
            });
        }
        outcomes
    }

    /// Writes the marker to one partition, if the producer's open transaction there begins at `first`; else
    /// INVALID_TXN_STATE.
    pub(crate) async fn settle(
        &self,
        image: &Image,
        marker: &Marker,
        place: (&Str, i32),
        first: Offset,
    ) -> ErrorCode {
        match self.start(image, marker, place, Some(first)).await {
            Ok(started) => started.outcome().await,
            Err(code) => code,
        }
    }

    async fn start(
        &self,
        image: &Image,
        marker: &Marker,
        (topic, index): (&Str, i32),
        first: Option<Offset>,
    ) -> Result<Started, ErrorCode> {
        let known = topic.as_str().and_then(|name| image.topic(name));
        let known = known.filter(|it| it.partition(index).is_some());
        let known = known.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        if topic.as_bytes() == self.groups.topic().as_bytes() {
            let marked = self.groups.mark(index, *marker, first).await;
            return marked.map(Started::Letter).map_err(|_| ErrorCode::NOT_LEADER_OR_FOLLOWER);
        }
        let partition = self.partitions.get(known.id, index).ok_or(ErrorCode::KAFKA_STORAGE_ERROR)?;
        let now = self.clock.now();
        let appended = partition.append(&marker.batch(now), marker.origin(first), now);
        let appended = appended.map_err(|error| code_of(&error))?;
        Ok(Started::Appended(partition, appended.next_offset()))
    }
}

/// A marker on its way.
enum Started {
    /// Durable below this offset means done.
    Appended(Arc<Partition>, Offset),
    /// The answer of a shard's host.
    Letter(oneshot::Receiver<Result<(), AppendError>>),
}

impl Started {
    async fn outcome(self) -> ErrorCode {
        match self {
            Self::Appended(partition, next) => match partition.wait_durable(next).await {
                Ok(()) => ErrorCode::NONE,
                Err(_) => ErrorCode::NOT_LEADER_OR_FOLLOWER,
            },
            // The transaction coordinator does not know the codes of another coordinator that moved.
            Self::Letter(answer) => match answer.await {
                Ok(Ok(())) => ErrorCode::NONE,
                Ok(Err(error)) => code_of(&error),
                Err(_) => ErrorCode::NOT_LEADER_OR_FOLLOWER,
            },
        }
    }
}

/// What Kafka's partition answers to a marker.
pub(crate) fn code_of(error: &AppendError) -> ErrorCode {
    match error {
        AppendError::StaleProducerEpoch(_) => ErrorCode::INVALID_PRODUCER_EPOCH,
        AppendError::CoordinatorFenced(_) => ErrorCode::TRANSACTION_COORDINATOR_FENCED,
        AppendError::NotLeader => ErrorCode::NOT_LEADER_OR_FOLLOWER,
        // Of a marker for one transaction only.
        AppendError::NotInTransaction(_) => ErrorCode::INVALID_TXN_STATE,
        AppendError::Full | AppendError::Storage(_) => ErrorCode::KAFKA_STORAGE_ERROR,
        AppendError::InvalidRecord { .. }
        | AppendError::Corrupt(_)
        | AppendError::TooLarge(_)
        | AppendError::LargerThanSegment(_)
        | AppendError::InvalidTimestamp { .. }
        | AppendError::OutOfOrderSequence(_)
        | AppendError::TransactionOpen(_) => {
            warn!(%error, "a marker of our own was refused for its form");
            ErrorCode::UNKNOWN_SERVER_ERROR
        }
    }
}
