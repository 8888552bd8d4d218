//! What the leaders of partitions ask the transaction coordinator (KIP-890).
//!
//! A transactional batch or offset commit for a partition without open transaction of its producer is
//! checked first: the transaction must have the partition, or get it now.

use coordinator::txn::{AddPartitions, TopicPartition};
use wire::ErrorCode;

use crate::broker::Broker;

/// Asks the coordinator about each partition, in their order: is it in the ongoing transaction
/// (`verify_only`), or add it.
///
/// The codes are the coordinator's: NONE, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED,
/// CONCURRENT_TRANSACTIONS, TRANSACTION_ABORTABLE (verify only: not in the transaction),
/// COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR. The caller maps them to what its API may say
/// (`broker-core.md` 9.5, 12.7) and asks again where that is due. An answer means that the
/// transaction's record is durable.
pub async fn ask(_broker: &Broker, question: AddPartitions) -> Vec<(TopicPartition, ErrorCode)> {
    let refused = |it| (it, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    question.partitions.into_iter().map(refused).collect()
}
