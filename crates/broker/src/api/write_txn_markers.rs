//! WriteTxnMarkers (key 27), v1–2: ends transactions on partitions. Sent by people who end a hanging transaction
//! (`kafka-transactions.sh abort`); our own coordinator needs no request.
//!
//! v2 the version of the transaction (KIP-1228), by which its epochs compare.
//! 1. CLUSTER_ACTION or ALTER on the cluster       else CLUSTER_AUTHORIZATION_FAILED on every partition
//! 2. producer id, epoch and version are not negative  else UNKNOWN_SERVER_ERROR, as Kafka, on every partition
//! 3. the topic is not an internal one without pending offsets  else INVALID_TOPIC_EXCEPTION
//! 4. what `broker/src/markers.rs` says: UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR, NOT_LEADER_OR_FOLLOWER,
//!    INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED
//!
//! Kafka would write the marker that rule 3 refuses, where it means nothing.

use std::ops::RangeInclusive;

use catalog::Image;
use wire::write_txn_markers::request::WritableTxnMarker;
use wire::write_txn_markers::response::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
};
use wire::{ErrorCode, Str, WriteTxnMarkersRequest, WriteTxnMarkersResponse};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;
use crate::markers::Marker;

impl Handler for WriteTxnMarkersRequest {
    const SERVED: RangeInclusive<i16> = 1..=2;

    async fn handle(call: Call, request: Self) -> WriteTxnMarkersResponse {
        let allowed = call.allow(Operation::ClusterAction, Resource::Cluster)
            || call.allow(Operation::Alter, Resource::Cluster);
        let image = call.image();
        let mut markers = Vec::with_capacity(request.markers.len());
        for marker in &request.markers {
            markers.push(match allowed {
                true => write(&call, &image, marker).await,
                false => result(marker, |_, _| ErrorCode::CLUSTER_AUTHORIZATION_FAILED),
            });
        }
        // A marker for no partition is not told of, as in Kafka.
        markers.retain(|it| it.topics.iter().any(|topic| !topic.partitions.is_empty()));
        WriteTxnMarkersResponse { markers, ..Default::default() }
    }
}

async fn write(call: &Call, image: &Image, wanted: &WritableTxnMarker) -> WritableTxnMarkerResult {
    if wanted.producer_id < 0 || wanted.producer_epoch < 0 || wanted.transaction_version < 0 {
        return result(wanted, |_, _| ErrorCode::UNKNOWN_SERVER_ERROR);
    }
    let marker = Marker {
        producer_id: wanted.producer_id,
        producer_epoch: wanted.producer_epoch,
        commit: wanted.transaction_result,
        coordinator_epoch: wanted.coordinator_epoch,
        transaction_version: i16::from(wanted.transaction_version),
    };
    let mut partitions = Vec::new();
    for topic in &wanted.topics {
        if !means_nothing(call, image, &topic.name) {
            partitions.extend(topic.partition_indexes.iter().map(|index| (topic.name.clone(), *index)));
        }
    }
    let codes = call.broker.markers.write(image, &marker, &partitions).await;
    let mut codes = codes.into_iter();
    result(wanted, |topic, _| match means_nothing(call, image, topic) {
        true => ErrorCode::INVALID_TOPIC_EXCEPTION,
        false => codes.next().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR),
    })
}

/// An internal topic that holds no transactions; a shard is its only writer.
fn means_nothing(call: &Call, image: &Image, topic: &Str) -> bool {
    let known = topic.as_str().and_then(|name| image.topic(name));
    known.is_some_and(|it| it.internal) && topic.as_bytes() != call.broker.groups.topic().as_bytes()
}

/// The answer in the order of the request.
fn result(
    marker: &WritableTxnMarker,
    mut code: impl FnMut(&Str, i32) -> ErrorCode,
) -> WritableTxnMarkerResult {
    let topics = marker.topics.iter().map(|topic| {
        let partitions = topic.partition_indexes.iter().map(|&partition_index| {
            let error_code = code(&topic.name, partition_index);
            WritableTxnMarkerPartitionResult { partition_index, error_code, ..Default::default() }
        });
        WritableTxnMarkerTopicResult {
            name: topic.name.clone(),
            partitions: partitions.collect(),
            ..Default::default()
        }
    });
    WritableTxnMarkerResult {
        producer_id: marker.producer_id,
        topics: topics.collect(),
        ..Default::default()
    }
}
