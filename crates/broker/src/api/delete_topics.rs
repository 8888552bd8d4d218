//! DeleteTopics (key 20), v1–6: deletes topics with their records and settings.
//!
//! v1: throttle time. v2: throttles after the answer. v3: TOPIC_DELETION_DISABLED. v4: flexible. v5: error messages;
//! may be throttled by an error (KIP-599). v6: topics by name or by id (KIP-516).
//!
//! 1. `delete.topic.enable`                 else TOPIC_DELETION_DISABLED (INVALID_REQUEST below v3) for every topic
//! 2. v6: a name or an id, not both         else INVALID_REQUEST
//! 3. topic once in the request             else INVALID_REQUEST, one answer for the topic
//! 4. DELETE on the cluster or the topic    else TOPIC_AUTHORIZATION_FAILED; whether a name exists stays hidden, the
//!    name of an id is told only with DESCRIBE
//! 5. the topic exists                      else UNKNOWN_TOPIC_OR_PARTITION by name, UNKNOWN_TOPIC_ID by id

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use catalog::command::{DeleteTopics, DeletedTopic, TopicRef};
use catalog::{Image, Refusal};
use wire::delete_topics::request::DeleteTopicState;
use wire::delete_topics::response::DeletableTopicResult;
use wire::{DeleteTopicsRequest, DeleteTopicsResponse, ErrorCode, Str, Uuid};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for DeleteTopicsRequest {
    const SERVED: RangeInclusive<i16> = 1..=6;

    async fn handle(call: Call, request: Self) -> DeleteTopicsResponse {
        let image = call.image();
        let topics = named(request);
        if !image.broker().delete_topic_enable {
            let code = match call.version {
                3.. => ErrorCode::TOPIC_DELETION_DISABLED,
                _ => ErrorCode::INVALID_REQUEST,
            };
            let refusal = Refusal::new(code, "Topic deletion is disabled.");
            return answer(
                topics.into_iter().map(|it| failed(it.name, it.topic_id, refusal.clone())).collect(),
            );
        }
        let mut results = Vec::with_capacity(topics.len());
        let mut refs = Vec::with_capacity(topics.len());
        for topic in topics {
            match TopicRef::new(topic.name.as_ref().map(Str::to_str).as_deref(), topic.topic_id) {
                Ok(named) => refs.push(named),
                Err(refusal) => results.push(failed(topic.name, topic.topic_id, refusal)),
            }
        }
        let allowed = admit(&call, &image, refs, &mut results);
        match call.broker.catalog.submit(DeleteTopics { topics: allowed.clone() }).await {
            Ok(reply) => results.extend(reply.into_iter().map(|(topic, result)| match result {
                Ok(deleted) => succeeded(&deleted),
                Err(refusal) => refused(topic, refusal),
            })),
            Err(refusal) => results.extend(allowed.into_iter().map(|topic| refused(topic, refusal.clone()))),
        }
        answer(results)
    }
}

/// The topics of the request in the form of version 6.
fn named(request: DeleteTopicsRequest) -> Vec<DeleteTopicState> {
    let by_name = |name| DeleteTopicState { name: Some(name), ..Default::default() };
    request.topics.into_iter().chain(request.topic_names.into_iter().map(by_name)).collect()
}

/// Check 4. A topic that stands twice passes, since the catalog refuses it whatever it is.
fn admit(
    call: &Call,
    image: &Image,
    refs: Vec<TopicRef>,
    results: &mut Vec<DeletableTopicResult>,
) -> Vec<TopicRef> {
    if call.allow(Operation::Delete, Resource::Cluster) {
        return refs;
    }
    let mut times: BTreeMap<TopicRef, usize> = BTreeMap::new();
    for topic in &refs {
        *times.entry(topic.clone()).or_default() += 1;
    }
    let mut allowed = Vec::with_capacity(refs.len());
    for topic in refs {
        match denial(call, image, &topic) {
            Some(denied) if times.get(&topic) == Some(&1) => results.push(denied),
            Some(_) | None => allowed.push(topic),
        }
    }
    allowed
}

/// What a caller without DELETE on the topic is told.
fn denial(call: &Call, image: &Image, topic: &TopicRef) -> Option<DeletableTopicResult> {
    let name = match topic {
        TopicRef::Name(name) => name.as_str(),
        // An unknown id has no name to ask about.
        TopicRef::Id(id) => &image.topic_by_id(*id)?.name,
    };
    let allow = |operation| call.allow(operation, Resource::Topic(name.as_bytes()));
    if allow(Operation::Delete) {
        return None;
    }
    let denied = Refusal::new(ErrorCode::TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.");
    Some(match topic {
        TopicRef::Name(_) => failed(Some(Str::from(name)), Uuid::ZERO, denied),
        TopicRef::Id(id) => failed(allow(Operation::Describe).then(|| Str::from(name)), *id, denied),
    })
}

fn succeeded(topic: &DeletedTopic) -> DeletableTopicResult {
    DeletableTopicResult { name: Some(Str::from(&*topic.name)), topic_id: topic.id, ..Default::default() }
}

fn refused(topic: TopicRef, refusal: Refusal) -> DeletableTopicResult {
    match topic {
        TopicRef::Name(name) => failed(Some(Str::from(name)), Uuid::ZERO, refusal),
        TopicRef::Id(id) => failed(None, id, refusal),
    }
}

fn failed(name: Option<Str>, topic_id: Uuid, refusal: Refusal) -> DeletableTopicResult {
    DeletableTopicResult {
        name,
        topic_id,
        error_code: refusal.code,
        error_message: Some(Str::from(refusal.message)),
        ..Default::default()
    }
}

fn answer(responses: Vec<DeletableTopicResult>) -> DeleteTopicsResponse {
    DeleteTopicsResponse { responses, ..Default::default() }
}
