//! DescribeTransactions (key 65), v0 (KIP-664).
//!
//! Of each transactional id:
//! 1. DESCRIBE on it                       else TRANSACTIONAL_ID_AUTHORIZATION_FAILED
//! 2. it is not empty                      else INVALID_REQUEST
//! 3. its coordinator is here and loaded   else NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS
//! 4. it is known                          else TRANSACTIONAL_ID_NOT_FOUND
//!
//! Topics without DESCRIBE are left out.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use coordinator::txn::{TxnReply, TxnRequest};
use wire::describe_transactions::response::TransactionState;
use wire::{DescribeTransactionsRequest, DescribeTransactionsResponse, ErrorCode, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for DescribeTransactionsRequest {
    const SERVED: RangeInclusive<i16> = 0..=0;

    async fn handle(call: Call, request: Self) -> DescribeTransactionsResponse {
        let mut answers = BTreeMap::new();
        let mut asked = Vec::new();
        for id in &request.transactional_ids {
            match refusal(&call, id) {
                Some(code) => drop(answers.insert(id.clone(), failed(id, code))),
                None => asked.push(id.clone()),
            }
        }
        asked.sort();
        asked.dedup();
        let shards = &call.broker.transactions;
        for (ids, answer) in shards.ask_each(asked, &call.caller, TxnRequest::Describe).await {
            let code = match answer {
                Ok(TxnReply::Describe(described)) => {
                    answers.extend(described.into_iter().map(|it| (it.transactional_id.clone(), it)));
                    continue;
                }
                Ok(other) => super::mismatch("DescribeTransactions", &other),
                Err(unavailable) => unavailable.into(),
            };
            answers.extend(ids.iter().map(|id| (id.clone(), failed(id, code))));
        }
        for answer in answers.values_mut() {
            answer.topics.retain(|it| call.allow(Operation::Describe, Resource::Topic(it.topic.as_bytes())));
        }
        let ids = request.transactional_ids.iter();
        let transaction_states = ids.filter_map(|id| answers.get(id).cloned()).collect();
        DescribeTransactionsResponse { transaction_states, ..Default::default() }
    }
}

/// Rules 1 and 2.
fn refusal(call: &Call, id: &Str) -> Option<ErrorCode> {
    if !call.allow(Operation::Describe, Resource::TransactionalId(id.as_bytes())) {
        return Some(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    }
    id.is_empty().then_some(ErrorCode::INVALID_REQUEST)
}

fn failed(id: &Str, error_code: ErrorCode) -> TransactionState {
    TransactionState { error_code, transactional_id: id.clone(), ..Default::default() }
}
