//! Asks the transaction coordinator before a producer's first batch on a partition (KIP-890; `broker-core.md` 9.5,
//! 12.7).
//!
//! What the coordinator says, and what becomes of it for both APIs that ask:
//! * PRODUCER_FENCED: INVALID_PRODUCER_EPOCH, from which a producer recovers
//! * TRANSACTION_ABORTABLE (the transaction does not have the partition): INVALID_TXN_STATE for clients that don't
//!   know it
//! * CONCURRENT_TRANSACTIONS while partitions are added: asked again for a while, since a producer of transactions v2
//!   begins its next one while the markers of the last are on their way; at once when they are written
//! * anything else: as it is; each API has its own view of it

use std::pin::pin;
use std::time::Duration;

use coordinator::txn::{AddPartitions, TopicPartition};
use tokio::time::{Instant, timeout};
use wire::{ErrorCode, Str};

use crate::broker::Broker;
use crate::txn;

/// What a client of some version expects of the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The client added its partitions itself and does not know TRANSACTION_ABORTABLE.
    VerifyForOld,
    /// The client added its partitions itself.
    Verify,
    /// Transactions v2: the broker adds partitions.
    Add,
}

impl Mode {
    /// Of a Produce request.
    pub(crate) fn of_produce(version: i16) -> Self {
        Self::of(version, 11)
    }

    /// Of a TxnOffsetCommit request.
    pub(crate) fn of_offset_commit(version: i16) -> Self {
        Self::of(version, 4)
    }

    fn of(version: i16, knows_abortable: i16) -> Self {
        match version - knows_abortable {
            ..0 => Self::VerifyForOld,
            0 => Self::Verify,
            1.. => Self::Add,
        }
    }
}

/// Whose partitions are asked about.
#[derive(Debug, Clone)]
pub(crate) struct Question<'a> {
    pub transactional_id: &'a Str,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub mode: Mode,
}

/// A code for each partition. `NONE`: the transaction has it, and that is durable.
pub(crate) async fn ask(
    broker: &Broker,
    question: &Question<'_>,
    partitions: &[TopicPartition],
) -> Vec<ErrorCode> {
    let (pause, patience) = {
        let image = broker.catalog.image();
        let settings = image.broker();
        (settings.add_partitions_to_txn_retry_backoff_ms, settings.add_partitions_to_txn_retry_backoff_max_ms)
    };
    let millis = |millis: i32| Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    let deadline = Instant::now() + millis(patience);
    let ending = broker.endings.of(question.transactional_id);
    loop {
        // What ends after the question was asked is heard of.
        let mut ended = pin!(ending.notified());
        ended.as_mut().enable();
        let codes = once(broker, question, partitions).await;
        let is_early = codes.contains(&ErrorCode::CONCURRENT_TRANSACTIONS);
        if !is_early || question.mode != Mode::Add || Instant::now() >= deadline {
            return codes;
        }
        // The pause too: a transaction may end otherwise, as by a load of its coordinator.
        let _ = timeout(millis(pause), ended).await;
    }
}

async fn once(broker: &Broker, question: &Question<'_>, partitions: &[TopicPartition]) -> Vec<ErrorCode> {
    let mode = question.mode;
    let answer = txn::ask(
        broker,
        AddPartitions {
            transactional_id: question.transactional_id.clone(),
            producer_id: question.producer_id,
            producer_epoch: question.producer_epoch,
            partitions: partitions.to_vec(),
            verify_only: mode != Mode::Add,
        },
    );
    answer.await.into_iter().map(|(_, code)| told(code, mode)).collect()
}

fn told(code: ErrorCode, mode: Mode) -> ErrorCode {
    match code {
        ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
        ErrorCode::TRANSACTION_ABORTABLE if mode == Mode::VerifyForOld => ErrorCode::INVALID_TXN_STATE,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `broker-core` 9.5 and 12.7 rule 2.
    #[test]
    fn versions_decide_what_is_asked_and_told() {
        assert_eq!([3, 10, 11, 12, 13].map(Mode::of_produce), {
            use Mode::{Add, Verify, VerifyForOld};
            [VerifyForOld, VerifyForOld, Verify, Add, Add]
        });
        assert_eq!([0, 3, 4, 5, 6].map(Mode::of_offset_commit), {
            use Mode::{Add, Verify, VerifyForOld};
            [VerifyForOld, VerifyForOld, Verify, Add, Add]
        });
        let abortable = ErrorCode::TRANSACTION_ABORTABLE;
        assert_eq!(told(abortable, Mode::VerifyForOld), ErrorCode::INVALID_TXN_STATE);
        assert_eq!(told(abortable, Mode::Verify), abortable);
        assert_eq!(told(ErrorCode::PRODUCER_FENCED, Mode::Add), ErrorCode::INVALID_PRODUCER_EPOCH);
        let mapping = ErrorCode::INVALID_PRODUCER_ID_MAPPING;
        assert_eq!(told(mapping, Mode::Add), mapping);
    }
}
