//! CreatePartitions (key 37), v0–3: adds partitions to topics (KIP-195).
//!
//! v1: throttles after the answer. v2: flexible. v3: may be throttled by an error (KIP-599).
//!
//! 1. topic once in the request   else INVALID_REQUEST, one answer for the name
//! 2. ALTER on the topic          else TOPIC_AUTHORIZATION_FAILED
//! 3. all others in `catalog/src/command/create_partitions.rs`

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use catalog::Refusal;
use catalog::command::{CreatePartitions, NewPartitions, duplicates};
use wire::create_partitions::request::CreatePartitionsTopic;
use wire::create_partitions::response::CreatePartitionsTopicResult;
use wire::{CreatePartitionsRequest, CreatePartitionsResponse, ErrorCode, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for CreatePartitionsRequest {
    const SERVED: RangeInclusive<i16> = 0..=3;

    async fn handle(call: Call, request: Self) -> CreatePartitionsResponse {
        let topics: Vec<NewPartitions> = request.topics.iter().map(wanted).collect();
        let twice = duplicates(topics.iter().map(|topic| topic.name.as_str()));
        let may_alter = |topic: &&NewPartitions| {
            twice.contains(topic.name.as_str())
                || call.allow(Operation::Alter, Resource::Topic(topic.name.as_bytes()))
        };
        let allowed = topics.iter().filter(may_alter).cloned().collect();
        let command = CreatePartitions { topics: allowed, validate_only: request.validate_only };
        let mut answers: BTreeMap<String, Result<(), Refusal>> =
            match call.broker.catalog.submit(command).await {
                Ok(reply) => reply.into_iter().collect(),
                Err(refusal) => topics.iter().map(|it| (it.name.clone(), Err(refusal.clone()))).collect(),
            };
        for topic in &topics {
            answers.entry(topic.name.clone()).or_insert_with(|| Err(denied()));
        }
        let answer = |topic: &NewPartitions| Some(result(&topic.name, answers.remove(&topic.name)?));
        let results = topics.iter().filter_map(answer).collect();
        CreatePartitionsResponse { results, ..Default::default() }
    }
}

fn wanted(topic: &CreatePartitionsTopic) -> NewPartitions {
    let assignments = topic.assignments.as_ref();
    NewPartitions {
        name: topic.name.to_str().into_owned(),
        count: topic.count,
        assignments: assignments.map(|all| all.iter().map(|it| it.broker_ids.to_vec()).collect()),
    }
}

fn denied() -> Refusal {
    Refusal::new(ErrorCode::TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
}

fn result(name: &str, answer: Result<(), Refusal>) -> CreatePartitionsTopicResult {
    let (error_code, error_message) = match answer {
        Ok(()) => (ErrorCode::NONE, None),
        // Kafka says no more than the code does here.
        Err(refusal) if refusal.code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => (refusal.code, None),
        Err(refusal) => (refusal.code, Some(Str::from(refusal.message))),
    };
    CreatePartitionsTopicResult { name: Str::from(name), error_code, error_message, ..Default::default() }
}
