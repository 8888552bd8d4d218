//! Metadata (key 3), v0–13: brokers, topics and partitions; creates topics that are asked for by name.
//!
//! v1: null asks for all topics (in v0 the empty list does), controller, racks. v2: cluster id. v4: the client says
//! whether topics may be created. v7: leader epochs. v8: authorized operations. v10: topic ids in the answer.
//! v11: no operations on the cluster. v12: topics by id. v13: error code of the whole answer, always NONE here.
//!
//! 1. v10–11: an entry by id or without a name   else INVALID_REQUEST for the whole request
//! 2. v12+: an entry with neither name nor id    else INVALID_REQUEST for the whole request
//! 3. DESCRIBE on the topic                      else TOPIC_AUTHORIZATION_FAILED, the id by name or the name by id hidden
//! 4. the topic exists                           else UNKNOWN_TOPIC_ID, INVALID_TOPIC_EXCEPTION (name not legal), or
//!    UNKNOWN_TOPIC_OR_PARTITION where it may not be created
//! 5. creation: CREATE on the cluster or topic   else TOPIC_AUTHORIZATION_FAILED
//!
//! A topic is created before the answer goes out and stands in it (`decisions.md` 8), so a client need not come again;
//! what the catalog refuses is the topic's error.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use catalog::command::{CreateTopics, NewTopic, internal_topic};
use catalog::{Image, Topic};
use wire::metadata::request::MetadataRequestTopic;
use wire::metadata::response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use wire::{ErrorCode, MetadataRequest, MetadataResponse, Str, Uuid};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for MetadataRequest {
    const SERVED: RangeInclusive<i16> = 0..=13;

    async fn handle(call: Call, request: Self) -> MetadataResponse {
        let topics = match &request.topics {
            None => all_topics(&call, &request),
            Some(topics) if topics.is_empty() && call.version == 0 => all_topics(&call, &request),
            Some(topics) if invalid(call.version, topics) => {
                // Nothing but the errors, as Kafka answers a request that failed as a whole.
                let topics = topics.iter().map(|topic| failed(topic, ErrorCode::INVALID_REQUEST)).collect();
                return MetadataResponse {
                    topics,
                    controller_id: -1,
                    cluster_id: None,
                    ..Default::default()
                };
            }
            Some(topics) => named_topics(&call, &request, topics).await,
        };
        let image = call.image();
        let mut response = MetadataResponse {
            brokers: brokers(&call, &image),
            cluster_id: Some(Str::from(image.cluster_id())),
            controller_id: call.broker.node_id,
            topics,
            ..Default::default()
        };
        if request.include_cluster_authorized_operations && (8..=10).contains(&call.version) {
            let allowed = call.allow(Operation::Describe, Resource::Cluster);
            response.cluster_authorized_operations =
                if allowed { call.authorized_operations(Resource::Cluster) } else { 0 };
        }
        response
    }
}

/// Checks 1 and 2.
fn invalid(version: i16, topics: &[MetadataRequestTopic]) -> bool {
    let by_id = topics.iter().any(|topic| topic.topic_id != Uuid::ZERO);
    let nameless = topics.iter().any(|topic| topic.name.is_none() && topic.topic_id == Uuid::ZERO);
    match version {
        12.. => nameless,
        10..=11 => by_id || topics.iter().any(|topic| topic.name.is_none()),
        _ => false,
    }
}

fn brokers(call: &Call, image: &Image) -> Vec<MetadataResponseBroker> {
    image
        .brokers()
        .filter_map(|broker| {
            let (host, port) = super::broker_address(call, broker)?;
            let rack = broker.rack.as_deref().map(Str::from);
            Some(MetadataResponseBroker { node_id: broker.id, host, port, rack, ..Default::default() })
        })
        .collect()
}

fn all_topics(call: &Call, request: &MetadataRequest) -> Vec<MetadataResponseTopic> {
    let image = call.image();
    let visible = image.topics().filter(|topic| may_describe(call, topic.name.as_bytes()));
    visible.map(|topic| described(call, request, topic)).collect()
}

async fn named_topics(
    call: &Call,
    request: &MetadataRequest,
    topics: &[MetadataRequestTopic],
) -> Vec<MetadataResponseTopic> {
    // A topic that is asked for twice is answered once.
    let mut seen = BTreeSet::new();
    if topics.iter().any(|topic| topic.topic_id != Uuid::ZERO) {
        // Entries by name beside entries by id are left out, as in Kafka.
        let ids =
            topics.iter().map(|topic| topic.topic_id).filter(|id| *id != Uuid::ZERO && seen.insert(id.0));
        return ids.map(|id| by_id(call, request, id)).collect();
    }
    let mut seen = BTreeSet::new();
    let mut described = Vec::with_capacity(topics.len());
    for name in topics.iter().map(|topic| topic.name.clone().unwrap_or_default()) {
        if seen.insert(name.clone()) {
            described.push(by_name(call, request, name).await);
        }
    }
    described
}

fn by_id(call: &Call, request: &MetadataRequest, id: Uuid) -> MetadataResponseTopic {
    let image = call.image();
    let answer =
        |error_code| MetadataResponseTopic { error_code, name: None, topic_id: id, ..Default::default() };
    match image.topic_by_id(id) {
        None => answer(ErrorCode::UNKNOWN_TOPIC_ID),
        Some(topic) if !may_describe(call, topic.name.as_bytes()) => {
            answer(ErrorCode::TOPIC_AUTHORIZATION_FAILED)
        }
        Some(topic) => described(call, request, topic),
    }
}

async fn by_name(call: &Call, request: &MetadataRequest, name: Str) -> MetadataResponseTopic {
    if !may_describe(call, name.as_bytes()) {
        return unknown(name, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    }
    let text = name.to_str().into_owned();
    let image = call.image();
    if let Some(topic) = image.topic(&text) {
        return described(call, request, topic);
    }
    let wanted = request.allow_auto_topic_creation || call.version < 4;
    if !wanted || !image.broker().auto_create_topics_enable {
        let legal = catalog::topic_name::check(&text).is_ok();
        return unknown(
            name,
            if legal { ErrorCode::UNKNOWN_TOPIC_OR_PARTITION } else { ErrorCode::INVALID_TOPIC_EXCEPTION },
        );
    }
    let create = |resource| call.allow(Operation::Create, resource);
    if !create(Resource::Cluster) && !create(Resource::Topic(name.as_bytes())) {
        return unknown(name, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    }
    let refused = create_topic(call, &image, &text).await;
    match (call.image().topic(&text), refused) {
        (Some(topic), _) => described(call, request, topic),
        (None, code) => unknown(name, code),
    }
}

/// Creates a topic as the settings make it. The code says why it may not be there afterwards.
async fn create_topic(call: &Call, image: &Image, name: &str) -> ErrorCode {
    let topic = internal_topic(image, name).unwrap_or_else(|| NewTopic::with_defaults(name));
    let command = CreateTopics { topics: vec![topic], validate_only: false };
    match call.broker.catalog.submit(command).await {
        Err(refusal) => refusal.code,
        Ok(mut created) => match created.pop() {
            Some((_, Err(refusal))) => refusal.code,
            // It was there for a moment, and somebody deleted it since.
            Some((_, Ok(_))) | None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        },
    }
}

fn may_describe(call: &Call, name: &[u8]) -> bool {
    call.allow(Operation::Describe, Resource::Topic(name))
}

fn described(call: &Call, request: &MetadataRequest, topic: &Topic) -> MetadataResponseTopic {
    let mut response = MetadataResponseTopic {
        name: Some(Str::from(&*topic.name)),
        topic_id: topic.id,
        is_internal: topic.internal,
        partitions: topic.partitions.iter().map(partition).collect(),
        ..Default::default()
    };
    if request.include_topic_authorized_operations && call.version >= 8 {
        response.topic_authorized_operations =
            call.authorized_operations(Resource::Topic(topic.name.as_bytes()));
    }
    response
}

fn partition(info: &catalog::PartitionInfo) -> MetadataResponsePartition {
    MetadataResponsePartition {
        partition_index: info.index,
        leader_id: info.leader,
        leader_epoch: info.leader_epoch,
        replica_nodes: info.replicas.as_slice().into(),
        isr_nodes: info.replicas.as_slice().into(),
        ..Default::default()
    }
}

fn unknown(name: Str, error_code: ErrorCode) -> MetadataResponseTopic {
    let is_internal = catalog::INTERNAL_TOPICS.iter().any(|internal| internal.as_bytes() == name.as_bytes());
    MetadataResponseTopic { error_code, name: Some(name), is_internal, ..Default::default() }
}

fn failed(topic: &MetadataRequestTopic, error_code: ErrorCode) -> MetadataResponseTopic {
    // The name must not be null below version 12.
    let name = Some(topic.name.clone().unwrap_or_default());
    MetadataResponseTopic { error_code, name, topic_id: topic.topic_id, ..Default::default() }
}
