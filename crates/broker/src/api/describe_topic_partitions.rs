//! DescribeTopicPartitions (key 75), v0: topics and their partitions, page by page (KIP-966).
//!
//! 1. cursor: partition not negative        else INVALID_REQUEST for the whole request
//! 2. cursor: its topic is among those asked else INVALID_REQUEST for the whole request
//! 3. DESCRIBE on the topic                 else TOPIC_AUTHORIZATION_FAILED (left out when all are asked for)
//! 4. the topic exists                      else UNKNOWN_TOPIC_OR_PARTITION, or INVALID_TOPIC_EXCEPTION (name not legal)
//!
//! Topics come in the order of their names. A page ends after the smaller of the client's limit and
//! `max.request.partition.size.limit`; the cursor names the partition that did not fit.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use catalog::{Image, Topic};
use wire::describe_topic_partitions::response::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use wire::{BrokerIds, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, ErrorCode, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for DescribeTopicPartitionsRequest {
    const SERVED: RangeInclusive<i16> = 0..=0;

    async fn handle(call: Call, request: Self) -> DescribeTopicPartitionsResponse {
        let image = call.image();
        let mut names: BTreeSet<String> =
            request.topics.iter().map(|topic| topic.name.to_str().into_owned()).collect();
        let all = names.is_empty();
        if all {
            names = image.topics().map(|topic| topic.name.to_string()).collect();
        }
        let (first, mut from) = match &request.cursor {
            None => (String::new(), 0),
            Some(cursor) => (cursor.topic_name.to_str().into_owned(), cursor.partition_index),
        };
        if request.cursor.is_some() && (from < 0 || (!all && !names.contains(&first))) {
            let asked = names.iter().map(|name| failed(Str::from(name.as_str()), ErrorCode::INVALID_REQUEST));
            return DescribeTopicPartitionsResponse { topics: asked.collect(), ..Default::default() };
        }
        let limit =
            image.broker().max_request_partition_size_limit.min(request.response_partition_limit).max(1);
        let mut page = Page { left: usize::try_from(limit).unwrap_or(1), topics: Vec::new(), next: None };
        for name in names.range(first.clone()..) {
            // A cursor into a topic that is gone goes on with the next topic from its beginning.
            let skip = if *name == first { std::mem::take(&mut from) } else { 0 };
            if page.is_full(name) {
                break;
            }
            page.add(&call, &image, name, skip, all);
            if page.next.is_some() {
                break;
            }
        }
        DescribeTopicPartitionsResponse { topics: page.topics, next_cursor: page.next, ..Default::default() }
    }
}

/// What still fits into the answer.
struct Page {
    left: usize,
    topics: Vec<DescribeTopicPartitionsResponseTopic>,
    next: Option<Cursor>,
}

impl Page {
    /// Ends the page before a topic if nothing more fits.
    fn is_full(&mut self, name: &str) -> bool {
        if self.left == 0 {
            self.next =
                Some(Cursor { topic_name: Str::from(name), partition_index: 0, ..Default::default() });
        }
        self.left == 0
    }

    fn add(&mut self, call: &Call, image: &Image, name: &str, skip: i32, all: bool) {
        if !call.allow(Operation::Describe, Resource::Topic(name.as_bytes())) {
            if !all {
                self.topics.push(failed(Str::from(name), ErrorCode::TOPIC_AUTHORIZATION_FAILED));
            }
            return;
        }
        let Some(topic) = image.topic(name) else {
            let legal = catalog::topic_name::check(name).is_ok();
            let code = if legal {
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
            } else {
                ErrorCode::INVALID_TOPIC_EXCEPTION
            };
            // Kafka tells what the caller could do with a topic that is not there.
            let operations = call.authorized_operations(Resource::Topic(name.as_bytes()));
            let unknown = failed(Str::from(name), code);
            self.topics.push(DescribeTopicPartitionsResponseTopic {
                topic_authorized_operations: operations,
                ..unknown
            });
            return;
        };
        let mut rest = topic.partitions.iter().skip_while(|info| info.index < skip);
        let partitions: Vec<_> = rest.by_ref().take(self.left).map(partition).collect();
        self.left -= partitions.len();
        self.next = rest.next().map(|info| Cursor {
            topic_name: Str::from(name),
            partition_index: info.index,
            ..Default::default()
        });
        self.topics.push(described(call, topic, partitions));
    }
}

fn described(
    call: &Call,
    topic: &Topic,
    partitions: Vec<DescribeTopicPartitionsResponsePartition>,
) -> DescribeTopicPartitionsResponseTopic {
    DescribeTopicPartitionsResponseTopic {
        name: Some(Str::from(&*topic.name)),
        topic_id: topic.id,
        is_internal: topic.internal,
        partitions,
        topic_authorized_operations: call.authorized_operations(Resource::Topic(topic.name.as_bytes())),
        ..Default::default()
    }
}

fn partition(info: &catalog::PartitionInfo) -> DescribeTopicPartitionsResponsePartition {
    DescribeTopicPartitionsResponsePartition {
        partition_index: info.index,
        leader_id: info.leader,
        leader_epoch: info.leader_epoch,
        replica_nodes: info.replicas.as_slice().into(),
        isr_nodes: info.replicas.as_slice().into(),
        eligible_leader_replicas: Some(BrokerIds::EMPTY),
        last_known_elr: Some(BrokerIds::EMPTY),
        ..Default::default()
    }
}

fn failed(name: Str, error_code: ErrorCode) -> DescribeTopicPartitionsResponseTopic {
    DescribeTopicPartitionsResponseTopic { error_code, name: Some(name), ..Default::default() }
}
