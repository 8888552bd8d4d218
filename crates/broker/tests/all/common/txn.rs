//! Requests about transactions.

use wire::add_partitions_to_txn::request::{AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction};
use wire::{AddPartitionsToTxnRequest, EndTxnRequest, Str};

/// Id and epoch of a producer.
pub(crate) type Producer = (i64, i16);

fn topics(places: &[(&str, &[i32])]) -> Vec<AddPartitionsToTxnTopic> {
    let topic = |(name, partitions): &(&str, &[i32])| AddPartitionsToTxnTopic {
        name: Str::from(*name),
        partitions: partitions.to_vec(),
        ..Default::default()
    };
    places.iter().map(topic).collect()
}

/// As clients send it, versions 0 to 3.
pub(crate) fn add_partitions(
    id: &str,
    (producer_id, epoch): Producer,
    places: &[(&str, &[i32])],
) -> AddPartitionsToTxnRequest {
    AddPartitionsToTxnRequest {
        v3_and_below_transactional_id: Str::from(id),
        v3_and_below_producer_id: producer_id,
        v3_and_below_producer_epoch: epoch,
        v3_and_below_topics: topics(places),
        ..Default::default()
    }
}

/// One of those that brokers send with versions 4 and 5.
pub(crate) fn transaction(
    id: &str,
    (producer_id, producer_epoch): Producer,
    verify_only: bool,
    places: &[(&str, &[i32])],
) -> AddPartitionsToTxnTransaction {
    AddPartitionsToTxnTransaction {
        transactional_id: Str::from(id),
        producer_id,
        producer_epoch,
        verify_only,
        topics: topics(places),
        ..Default::default()
    }
}

pub(crate) fn end_txn(id: &str, (producer_id, producer_epoch): Producer, committed: bool) -> EndTxnRequest {
    EndTxnRequest {
        transactional_id: Str::from(id),
        producer_id,
        producer_epoch,
        committed,
        ..Default::default()
    }
}
