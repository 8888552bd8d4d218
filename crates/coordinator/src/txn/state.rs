//! Hard state: exactly what the records of the shard say.
//!
//! [`Hard::apply`] is the only function that changes it, live and on load alike. A record holds everything about its
//! transactional id, so the last one wins, and compaction needs no care.

use std::collections::{BTreeMap, BTreeSet};

use wire::Str;
use wire::transaction_state::TransactionLogValue;
use wire::transaction_state::transaction_log_value::PartitionsSchema;

use super::record::TxnRecord;
use super::request::TopicPartition;
use crate::machine::Millis;

/// Above this no producer gets an epoch: the one that is left is for fencing (`broker-core.md` 12.3).
pub const EPOCH_EXHAUSTED: i16 = i16::MAX - 1;
/// No producer id, no epoch, no start time.
pub const NONE: i8 = -1;
/// Timeout of transactions that are never timed out (KIP-939).
pub const NEVER: i32 = i32::MAX;

/// State of a transaction, by its number in records. What Kafka calls Dead and PrepareEpochFence is never persisted:
/// here an id that expires is gone at once, and a fenced transaction goes to `PrepareAbort` in the same step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Empty = 0,
    Ongoing = 1,
    PrepareCommit = 2,
    PrepareAbort = 3,
    CompleteCommit = 4,
    CompleteAbort = 5,
}

impl State {
    const ALL: [Self; 6] = [
        Self::Empty,
        Self::Ongoing,
        Self::PrepareCommit,
        Self::PrepareAbort,
        Self::CompleteCommit,
        Self::CompleteAbort,
    ];

    /// Name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Ongoing => "Ongoing",
            Self::PrepareCommit => "PrepareCommit",
            Self::PrepareAbort => "PrepareAbort",
            Self::CompleteCommit => "CompleteCommit",
            Self::CompleteAbort => "CompleteAbort",
        }
    }

    /// The state of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Whether Kafka has a state of this name, also one that nothing is ever seen in here.
    pub fn is_name(name: &str) -> bool {
        matches!(name, "Dead" | "PrepareEpochFence") || Self::from_name(name).is_some()
    }

    fn from_number(number: i8) -> Self {
        let state = Self::ALL.into_iter().find(|it| *it as i8 == number);
        state.unwrap_or_else(|| panic!("a transaction is in the unknown state {number}"))
    }

    /// Decided, but not carried out yet.
    pub fn is_prepared(self) -> bool {
        matches!(self, Self::PrepareCommit | Self::PrepareAbort)
    }

    /// Nothing is open and nothing to do.
    pub fn is_idle(self) -> bool {
        matches!(self, Self::Empty | Self::CompleteCommit | Self::CompleteAbort)
    }
}

/// One transactional id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    pub producer_id: i64,
    /// Producer id before the last change of any kind; mostly the same. -1 in records of older releases.
    pub previous_producer_id: i64,
    /// Producer id of the next transaction, while one ends whose epochs are used up; else -1.
    pub next_producer_id: i64,
    pub producer_epoch: i16,
    pub timeout_ms: i32,
    pub state: State,
    pub partitions: BTreeSet<TopicPartition>,
    /// When the transaction began, also after its end (K-13); -1 before the first one.
    pub started: Millis,
    pub updated: Millis,
    /// Level of `transaction.version` of the client that made the last change.
    pub client_version: i16,
}

impl Transaction {
    /// No producer may get another epoch of this producer id.
    pub fn is_exhausted(&self) -> bool {
        self.producer_epoch >= EPOCH_EXHAUSTED
    }

    /// When an open transaction has taken too long; none if it may stay open for ever.
    pub fn times_out(&self) -> Option<Millis> {
        // Kafka: start + timeout < now.
        (self.state == State::Ongoing && self.timeout_ms != NEVER)
            .then(|| self.started + Millis::from(self.timeout_ms) + 1)
    }

    /// As a record has it, Kafka's way: without partitions before the first transaction.
    pub(super) fn to_value(&self, version: i16) -> TransactionLogValue {
        let mut value = TransactionLogValue {
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            transaction_timeout_ms: self.timeout_ms,
            transaction_status: self.state as i8,
            transaction_partitions: (self.state != State::Empty).then(|| by_topic(&self.partitions)),
            transaction_last_update_timestamp_ms: self.updated,
            transaction_start_timestamp_ms: self.started,
            ..Default::default()
        };
        if version >= 1 {
            value.previous_producer_id = self.previous_producer_id;
            value.next_producer_id = self.next_producer_id;
            value.client_transaction_version = self.client_version;
        }
        value
    }

    fn from_value(value: &TransactionLogValue) -> Self {
        let topics = value.transaction_partitions.iter().flatten();
        let partition = |topic: &PartitionsSchema| {
            let name = topic.topic.detach();
            let partition = move |index: &i32| TopicPartition { topic: name.clone(), index: *index };
            topic.partition_ids.iter().map(partition).collect::<Vec<_>>()
        };
        Self {
            producer_id: value.producer_id,
            previous_producer_id: value.previous_producer_id,
            next_producer_id: value.next_producer_id,
            producer_epoch: value.producer_epoch,
            timeout_ms: value.transaction_timeout_ms,
            state: State::from_number(value.transaction_status),
            partitions: topics.flat_map(partition).collect(),
            started: value.transaction_start_timestamp_ms,
            updated: value.transaction_last_update_timestamp_ms,
            client_version: value.client_transaction_version,
        }
    }
}

fn by_topic(partitions: &BTreeSet<TopicPartition>) -> Vec<PartitionsSchema> {
    let mut topics: Vec<PartitionsSchema> = Vec::new();
    for TopicPartition { topic, index } in partitions {
        match topics.last_mut().filter(|it| it.topic == *topic) {
            Some(last) => last.partition_ids.push(*index),
            None => topics.push(PartitionsSchema {
                topic: topic.clone(),
                partition_ids: vec![*index],
                ..Default::default()
            }),
        }
    }
    topics
}

/// Transactional ids of one shard.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hard {
    transactions: BTreeMap<Str, Transaction>,
}

impl Hard {
    pub fn get(&self, id: &Str) -> Option<&Transaction> {
        self.transactions.get(id)
    }

    /// All in the order of their ids.
    pub fn transactions(&self) -> impl Iterator<Item = (&Str, &Transaction)> {
        self.transactions.iter()
    }

    /// Applies one record. Nothing else changes hard state.
    pub(super) fn apply(&mut self, record: &TxnRecord) {
        match &record.value {
            Some(value) => {
                self.transactions.insert(record.transactional_id.detach(), Transaction::from_value(value));
            }
            None => {
                self.transactions.remove(&record.transactional_id);
            }
        }
    }
}
