//! DescribeTransactions (key 65) and ListTransactions (66), KIP-664, KIP-994, KIP-1152.
//!
//! Reads of the newest state, whose answers wait until what they saw is durable. Authorization is the handler's.

use std::collections::BTreeSet;

use wire::describe_transactions::response::{TopicData, TransactionState as Described};
use wire::list_transactions::response::TransactionState as Listed;
use wire::{ErrorCode, Str};

use super::request::{ListTransactions, TopicPartition};
use super::step::Step;

/// One id; TRANSACTIONAL_ID_NOT_FOUND if it is not known. A transaction that ends shows the partitions that still wait
/// for their marker.
pub(super) fn describe(step: &Step<'_>, id: &Str) -> Described {
    let Some(transaction) = step.hard().get(id) else {
        return Described {
            error_code: ErrorCode::TRANSACTIONAL_ID_NOT_FOUND,
            transactional_id: id.clone(),
            ..Default::default()
        };
    };
    let left = step.soft.completing.get(id).map(|it| &it.left);
    Described {
        transactional_id: id.clone(),
        transaction_state: Str::from_static(transaction.state.name()),
        transaction_timeout_ms: transaction.timeout_ms,
        transaction_start_time_ms: transaction.started,
        producer_id: transaction.producer_id,
        producer_epoch: transaction.producer_epoch,
        topics: topics(left.unwrap_or(&transaction.partitions)),
        ..Default::default()
    }
}

/// All that is known of producers, by their ids in ascending order.
pub(super) fn find(step: &Step<'_>, producers: &[i64]) -> Vec<super::Transaction> {
    let all = step.hard().transactions().map(|(_, it)| it);
    all.filter(|it| producers.binary_search(&it.producer_id).is_ok()).cloned().collect()
}

fn topics(partitions: &BTreeSet<TopicPartition>) -> Vec<TopicData> {
    let mut topics: Vec<TopicData> = Vec::new();
    for TopicPartition { topic, index } in partitions {
        match topics.last_mut().filter(|it| it.topic == *topic) {
            Some(last) => last.partitions.push(*index),
            None => topics.push(TopicData {
                topic: topic.clone(),
                partitions: vec![*index],
                ..Default::default()
            }),
        }
    }
    topics
}

/// Ids that fit all conditions, in their order.
pub(super) fn list(step: &Step<'_>, request: &ListTransactions) -> Vec<Listed> {
    let fits = |id: &Str, it: &super::Transaction| {
        (request.producer_ids.is_empty() || request.producer_ids.contains(&it.producer_id))
            && request.states.as_ref().is_none_or(|states| states.contains(&it.state))
            // Without a transaction the start is -1, which is long ago.
            && (request.duration_ms < 0 || step.now - it.started > request.duration_ms)
            && request.pattern.as_ref().is_none_or(|pattern| pattern.is_match(&id.to_str()))
    };
    let fitting = step.hard().transactions().filter(|(id, it)| fits(id, it));
    let listed = fitting.map(|(id, it)| Listed {
        transactional_id: id.clone(),
        producer_id: it.producer_id,
        transaction_state: Str::from_static(it.state.name()),
        ..Default::default()
    });
    listed.collect()
}
