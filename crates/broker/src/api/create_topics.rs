//! CreateTopics (key 19), v2–7: creates topics, or only checks whether they could be.
//!
//! v2: error messages and `ValidateOnly` (both since v1). v3: throttles after the answer. v4: -1 for partitions and
//! replication factor (KIP-464). v5: counts and settings of the topic in the answer (KIP-525). v6: may be throttled by
//! an error (KIP-599). v7: topic ids in the answer.
//!
//! 1. name once in the request             else INVALID_REQUEST, one answer for the name
//! 2. name is not `__cluster_metadata`     else INVALID_REQUEST
//! 3. CREATE on the cluster or the topic   else TOPIC_AUTHORIZATION_FAILED
//! 4. all others in `catalog/src/command/create_topics.rs`, with the same numbers
//! 5. DESCRIBE_CONFIGS on the topic        else the answer has no counts and settings, and `TopicConfigErrorCode`
//!
//! A topic whose answer is sent can be used: its partitions are open.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use catalog::Refusal;
use catalog::command::{CreateTopics, CreatedTopic, NewTopic, duplicates};
use wire::create_topics::response::{CreatableTopicConfigs, CreatableTopicResult};
use wire::{CreateTopicsRequest, CreateTopicsResponse, ErrorCode, Str, Uuid};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for CreateTopicsRequest {
    const SERVED: RangeInclusive<i16> = 2..=7;

    async fn handle(call: Call, request: Self) -> CreateTopicsResponse {
        let topics: Vec<NewTopic> = request.topics.iter().map(NewTopic::from).collect();
        let twice = duplicates(topics.iter().map(|topic| topic.name.as_str()));
        let on_cluster = call.allow(Operation::Create, Resource::Cluster);
        let may_create = |topic: &&NewTopic| {
            let name = topic.name.as_str();
            let checked_first = twice.contains(name) || name == "__cluster_metadata";
            on_cluster
                || checked_first
                || call.allow(Operation::Create, Resource::Topic(topic.name.as_bytes()))
        };
        let allowed = topics.iter().filter(may_create).cloned().collect();
        let command = CreateTopics { topics: allowed, validate_only: request.validate_only };
        let answers = match call.broker.catalog.submit(command).await {
            Ok(reply) => reply.into_iter().collect(),
            Err(refusal) => topics.iter().map(|it| (it.name.clone(), Err(refusal.clone()))).collect(),
        };
        CreateTopicsResponse { topics: in_order(&call, &topics, answers), ..Default::default() }
    }
}

/// One result per name, in the order of the request. Names that the catalog was not asked about were denied.
fn in_order(
    call: &Call,
    topics: &[NewTopic],
    mut answers: BTreeMap<String, Result<CreatedTopic, Refusal>>,
) -> Vec<CreatableTopicResult> {
    for topic in topics {
        answers.entry(topic.name.clone()).or_insert_with(|| Err(denied()));
    }
    let answer = |topic: &NewTopic| {
        Some(match answers.remove(&topic.name)? {
            Ok(created) => succeeded(call, &topic.name, created),
            Err(refusal) => failed(&topic.name, refusal),
        })
    };
    topics.iter().filter_map(answer).collect()
}

fn denied() -> Refusal {
    Refusal::new(ErrorCode::TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
}

fn succeeded(call: &Call, name: &str, topic: CreatedTopic) -> CreatableTopicResult {
    let mut result = CreatableTopicResult {
        name: Str::from(name),
        topic_id: topic.id,
        error_message: None,
        ..Default::default()
    };
    if !call.allow(Operation::DescribeConfigs, Resource::Topic(name.as_bytes())) {
        result.topic_config_error_code = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
        return result;
    }
    result.num_partitions = topic.num_partitions;
    result.replication_factor = topic.replication_factor;
    let config = |it: catalog::config::describe::ConfigEntry| CreatableTopicConfigs {
        name: Str::from(it.name),
        value: it.value.map(Str::from),
        read_only: it.read_only,
        config_source: it.source.code(),
        is_sensitive: it.is_sensitive,
        ..Default::default()
    };
    result.configs = Some(topic.configs.into_iter().map(config).collect());
    result
}

fn failed(name: &str, refusal: Refusal) -> CreatableTopicResult {
    CreatableTopicResult {
        name: Str::from(name),
        topic_id: Uuid::ZERO,
        error_code: refusal.code,
        error_message: Some(Str::from(refusal.message)),
        ..Default::default()
    }
}
