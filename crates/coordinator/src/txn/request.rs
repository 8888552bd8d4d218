//! What can be asked of a transaction shard, what it answers, and what it asks its host to do.

use std::collections::BTreeSet;

use regex::Regex;
use wire::describe_transactions::response::TransactionState as Described;
use wire::list_transactions::response::TransactionState as Listed;
use wire::{ErrorCode, Str};

use super::state::{State, Transaction};

/// A partition by the name of its topic, as transactions know them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    pub topic: Str,
    pub index: i32,
}

/// Partitions of a transaction: to be added, or to be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddPartitions {
    pub transactional_id: Str,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub partitions: Vec<TopicPartition>,
    /// Only tell whether the transaction has them (KIP-890, clients before Produce v12).
    pub verify_only: bool,
}

/// A producer begins, or begins again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitProducerId {
    pub transactional_id: Str,
    pub timeout_ms: i32,
    /// Producer id and epoch that the client has (KIP-360).
    pub expected: Option<(i64, i16)>,
}

/// A producer commits or aborts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndTxn {
    pub transactional_id: Str,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub commit: bool,
    /// Level of `transaction.version` that the client uses, which its request's version tells: 2 from v5 on, else 0.
    pub client_version: i16,
}

/// Which transactions to list; all conditions must hold.
#[derive(Debug, Clone)]
pub struct ListTransactions {
    /// None: any state. Empty: only states were asked for that nothing can be in.
    pub states: Option<BTreeSet<State>>,
    /// Empty: any.
    pub producer_ids: BTreeSet<i64>,
    /// Only those that began longer ago; negative: any.
    pub duration_ms: i64,
    /// Of the whole transactional id.
    pub pattern: Option<Regex>,
}

/// What can be asked of a transaction shard. Transactional ids are not empty.
#[derive(Debug, Clone)]
pub enum TxnRequest {
    InitProducerId(InitProducerId),
    /// With the level of `transaction.version` that the client uses: 2 where the leader of a partition asks on behalf
    /// of a producer that did not say its partitions before, else 0.
    AddPartitions(AddPartitions, i16),
    EndTxn(EndTxn),
    Describe(Vec<Str>),
    List(ListTransactions),
    /// What is known of these producer ids, for partitions that have a transaction open after a start.
    Find(Vec<i64>),
}

impl TxnRequest {
    /// The answer if a producer id was needed and none could be had: clients try again.
    pub(super) fn without_id(&self) -> TxnReply {
        let code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
        match self {
            Self::InitProducerId(_) => TxnReply::InitProducerId(Err(code)),
            Self::AddPartitions(it, _) => TxnReply::AddPartitions(vec![code; it.partitions.len()]),
            Self::EndTxn(_) => TxnReply::EndTxn(Err(code)),
            Self::Describe(_) => TxnReply::Describe(Vec::new()),
            Self::List(_) => TxnReply::List(Vec::new()),
            Self::Find(_) => TxnReply::Find(Vec::new()),
        }
    }
}

/// The answers, in the order of [`TxnRequest`].
#[derive(Debug, Clone, PartialEq)]
pub enum TxnReply {
    /// Producer id and epoch.
    InitProducerId(Result<(i64, i16), ErrorCode>),
    /// For each partition in the order of the request.
    AddPartitions(Vec<ErrorCode>),
    /// Producer id and epoch of the next transaction; -1 and -1 for clients that do not want to know.
    EndTxn(Result<(i64, i16), ErrorCode>),
    Describe(Vec<Described>),
    List(Vec<Listed>),
    /// Without those that are not known.
    Find(Vec<Transaction>),
}

/// Work that a transaction shard asks its host to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TxnTask {
    /// A producer id that nobody had before.
    NextId,
    WriteMarkers(WriteMarkers),
}

/// Markers that end a transaction in each of its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteMarkers {
    pub transactional_id: Str,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub commit: bool,
    /// Level of `transaction.version` of the client that ended the transaction.
    pub transaction_version: i16,
    pub partitions: Vec<TopicPartition>,
}

/// How a [`TxnTask`] ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TxnTaskResult {
    /// None: no id could be had now.
    NextId(Option<i64>),
    /// What became of each partition; those that are missing are tried again.
    Markers { transactional_id: Str, results: Vec<(TopicPartition, ErrorCode)> },
}
