//! What the leaders of partitions ask the transaction coordinator (KIP-890).
//!
//! A transactional batch or offset commit for a partition without open transaction of its producer is
//! checked first: the transaction must have the partition, or get it now.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use coordinator::Caller;
use coordinator::txn::{AddPartitions, TopicPartition, TxnReply, TxnRequest};
use tokio::sync::Notify;
use tracing::error;
use wire::{ErrorCode, Str};

use crate::broker::Broker;

/// Name of the topic of transactions.
pub(crate) const TRANSACTIONS_TOPIC: &str = "__transaction_state";
/// Level of `transaction.version` of a producer whose partitions are added on its behalf.
const IMPLICIT: i16 = 2;

/// Tells who waits for the end of a transaction that its markers are written. Transactional ids share places, so one may
/// be told for nothing.
#[derive(Default)]
pub(crate) struct Endings {
    places: [Arc<Notify>; PLACES],
}

const PLACES: usize = 32;

impl Endings {
    pub(crate) fn of(&self, transactional_id: &Str) -> Arc<Notify> {
        let mut hasher = DefaultHasher::new();
        transactional_id.hash(&mut hasher);
        let place = usize::try_from(hasher.finish() % PLACES as u64).unwrap_or_default();
        self.places.get(place).cloned().unwrap_or_default()
    }
}

/// Asks the coordinator about each partition, in their order: is it in the ongoing transaction
/// (`verify_only`), or add it.
///
/// The codes are the coordinator's: NONE, INVALID_REQUEST (no transactional id),
/// INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS, TRANSACTION_ABORTABLE (verify
/// only: not in the transaction), COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR. The caller maps them to
/// what its API may say (`broker-core.md` 9.5, 12.7) and asks again where that is due. An answer means that
/// the transaction's record is durable.
pub async fn ask(broker: &Broker, question: AddPartitions) -> Vec<(TopicPartition, ErrorCode)> {
    let partitions = question.partitions.clone();
    let codes = add(broker, Caller::default(), question, IMPLICIT).await;
    partitions.into_iter().zip(codes).collect()
}

/// The same with the level of `transaction.version` that the client uses; a code for each partition.
pub(crate) async fn add(
    broker: &Broker,
    caller: Caller,
    question: AddPartitions,
    client_version: i16,
) -> Vec<ErrorCode> {
    let count = question.partitions.len();
    if question.transactional_id.is_empty() {
        return vec![ErrorCode::INVALID_REQUEST; count];
    }
    let id = question.transactional_id.clone();
    let request = TxnRequest::AddPartitions(question, client_version);
    match broker.transactions.ask(&id, caller, request).await {
        Ok(TxnReply::AddPartitions(codes)) if codes.len() == count => codes,
        Ok(reply) => {
            error!(?reply, "a transaction shard gave the answer to another question");
            vec![ErrorCode::UNKNOWN_SERVER_ERROR; count]
        }
        Err(unavailable) => vec![unavailable.into(); count],
    }
}
