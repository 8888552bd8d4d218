//! ListTransactions (key 66), v0–2 (KIP-664, KIP-994, KIP-1152).
//!
//! v1 how long a transaction has been open; v2 a pattern of the transactional id.
//! 1. the pattern is an expression of RE2  else INVALID_REGULAR_EXPRESSION
//! 2. every shard is loaded                else COORDINATOR_LOAD_IN_PROGRESS
//!
//! Names of states that do not exist are told back, each once, and match nothing. Transactional ids without DESCRIBE are
//! left out.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use coordinator::group::consumer::pattern;
use coordinator::txn::{ListTransactions, State, TxnReply, TxnRequest};
use wire::{ErrorCode, ListTransactionsRequest, ListTransactionsResponse, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;
use crate::shards::Unavailable;

impl Handler for ListTransactionsRequest {
    const SERVED: RangeInclusive<i16> = 0..=2;

    async fn handle(call: Call, request: Self) -> ListTransactionsResponse {
        match list(&call, request).await {
            Ok(response) => response,
            Err(error_code) => ListTransactionsResponse { error_code, ..Default::default() },
        }
    }
}

async fn list(call: &Call, request: ListTransactionsRequest) -> Result<ListTransactionsResponse, ErrorCode> {
    let expression = request.transactional_id_pattern.filter(|it| !it.is_empty());
    let pattern = expression.map(|it| pattern::compile(&it.to_str())).transpose();
    let (states, unknown_state_filters) = states(&request.state_filters);
    let wanted = ListTransactions {
        states,
        producer_ids: request.producer_id_filters.into_iter().collect(),
        duration_ms: request.duration_filter,
        pattern: pattern.map_err(|_| ErrorCode::INVALID_REGULAR_EXPRESSION)?,
    };
    let mut transaction_states = Vec::new();
    let shards = &call.broker.transactions;
    for answer in shards.ask_all(&call.caller, || TxnRequest::List(wanted.clone())).await {
        match answer {
            Ok(TxnReply::List(listed)) => transaction_states.extend(listed),
            Ok(other) => return Err(super::mismatch("ListTransactions", &other)),
            // Nobody leads it, as Kafka would say.
            Err(Unavailable::Failed) => {}
            // A shard that was refused an append is loaded again.
            Err(_) => return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
        }
    }
    transaction_states.retain(|it| {
        call.allow(Operation::Describe, Resource::TransactionalId(it.transactional_id.as_bytes()))
    });
    Ok(ListTransactionsResponse { unknown_state_filters, transaction_states, ..Default::default() })
}

/// States to look for, none for all, and names that mean none.
fn states(names: &[Str]) -> (Option<BTreeSet<State>>, Vec<Str>) {
    let states = names.iter().filter_map(|it| State::from_name(&it.to_str())).collect();
    let mut told = BTreeSet::new();
    let unknown =
        names.iter().filter(|it| !State::is_name(&it.to_str()) && told.insert(*it)).cloned().collect();
    ((!names.is_empty()).then_some(states), unknown)
}
