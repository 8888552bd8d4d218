//! The table of APIs. ApiVersions, metrics and the docs read it; there is no other list.
//!
//! A new API is one file here and one row in [`APIS`].

use std::fmt::Debug;
use std::future::Future;
use std::ops::RangeInclusive;

use bytes::Bytes;
use catalog::Image;
use tracing::error;
use wire::frame::RequestHead;
use wire::{DecodeError, ErrorCode, Reader, Request, Str};

use crate::call::Call;
use crate::router::{Answering, Outcome};

mod add_offsets_to_txn;
mod add_partitions_to_txn;
mod alter_configs;
pub(crate) mod api_versions;
mod config_resource;
mod consumer_group_describe;
mod consumer_group_heartbeat;
mod create_partitions;
mod create_topics;
mod current_leader;
mod delete_groups;
mod delete_records;
mod delete_topics;
mod describe_cluster;
mod describe_configs;
mod describe_groups;
mod describe_log_dirs;
mod describe_producers;
mod describe_topic_partitions;
mod describe_transactions;
mod end_txn;
mod explain_group;
mod fetch;
mod find_coordinator;
mod heartbeat;
mod incremental_alter_configs;
mod init_producer_id;
mod join_group;
mod leave_group;
mod list_config_resources;
mod list_groups;
mod list_offsets;
mod list_transactions;
mod metadata;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod offset_for_leader_epoch;
mod produce;
mod streams_group_describe;
mod streams_group_heartbeat;
mod streams_group_topology_description_update;
mod sync_group;
mod txn_offset_commit;
mod update_features;
mod write_txn_markers;

/// Every API that is served, by key.
pub static APIS: &[Api] = &[
    Api::of::<wire::ProduceRequest>(),
    Api::of::<wire::FetchRequest>(),
    Api::of::<wire::ListOffsetsRequest>(),
    Api::of::<wire::MetadataRequest>(),
    Api::of::<wire::OffsetCommitRequest>(),
    Api::of::<wire::OffsetFetchRequest>(),
    Api::of::<wire::FindCoordinatorRequest>(),
    Api::of::<wire::JoinGroupRequest>(),
    Api::of::<wire::HeartbeatRequest>(),
    Api::of::<wire::LeaveGroupRequest>(),
    Api::of::<wire::SyncGroupRequest>(),
    Api::of::<wire::DescribeGroupsRequest>(),
    Api::of::<wire::ListGroupsRequest>(),
    Api::of::<wire::ApiVersionsRequest>(),
    Api::of::<wire::CreateTopicsRequest>(),
    Api::of::<wire::DeleteTopicsRequest>(),
    Api::of::<wire::DeleteRecordsRequest>(),
    Api::of::<wire::InitProducerIdRequest>(),
    Api::of::<wire::OffsetForLeaderEpochRequest>(),
    Api::of::<wire::AddPartitionsToTxnRequest>(),
    Api::of::<wire::AddOffsetsToTxnRequest>(),
    Api::of::<wire::EndTxnRequest>(),
    Api::of::<wire::WriteTxnMarkersRequest>(),
    Api::of::<wire::TxnOffsetCommitRequest>(),
    Api::of::<wire::DescribeConfigsRequest>(),
    Api::of::<wire::AlterConfigsRequest>(),
    Api::of::<wire::DescribeLogDirsRequest>(),
    Api::of::<wire::CreatePartitionsRequest>(),
    Api::of::<wire::DeleteGroupsRequest>(),
    Api::of::<wire::IncrementalAlterConfigsRequest>(),
    Api::of::<wire::OffsetDeleteRequest>(),
    Api::of::<wire::UpdateFeaturesRequest>(),
    Api::of::<wire::DescribeClusterRequest>(),
    Api::of::<wire::DescribeProducersRequest>(),
    Api::of::<wire::DescribeTransactionsRequest>(),
    Api::of::<wire::ListTransactionsRequest>(),
    Api::of::<wire::ConsumerGroupHeartbeatRequest>(),
    Api::of::<wire::ConsumerGroupDescribeRequest>(),
    Api::of::<wire::ListConfigResourcesRequest>(),
    Api::of::<wire::DescribeTopicPartitionsRequest>(),
    Api::of::<wire::StreamsGroupHeartbeatRequest>(),
    Api::of::<wire::StreamsGroupDescribeRequest>(),
    Api::of::<wire::StreamsGroupTopologyDescriptionUpdateRequest>(),
    Api::of::<wire::ExplainGroupRequest>(),
];

/// What answers requests of one API.
pub trait Handler: Request {
    /// Versions that are accepted; others close the connection (`decisions.md` 3).
    const SERVED: RangeInclusive<i16>;
    /// Lowest version that ApiVersions tells, where that is a fiction (Produce, `broker-core.md` 2).
    const ADVERTISED_MIN: i16 = *Self::SERVED.start();
    /// False for APIs that are answered but not told (K-1).
    const ADVERTISED: bool = true;

    /// Answers the request. Requests of a connection are started in arrival order: what this
    /// function does before it returns its future happens in that order, and so does what the
    /// future does before its first wait. Their answers leave in arrival order too.
    fn handle(call: Call, request: Self) -> impl Future<Output = Self::Response> + Send + 'static;

    /// The same, with the encoded last field of the response if many answers share it: the response has null in its
    /// place.
    fn respond(
        call: Call,
        request: Self,
    ) -> impl Future<Output = (Self::Response, Option<Bytes>)> + Send + 'static {
        let response = Self::handle(call, request);
        async move { (response.await, None) }
    }

    /// False where the protocol sends nothing back: Produce with acks 0.
    fn answered(&self) -> bool {
        true
    }

    /// For a request that is not answered: true if this response is a failure, which is told by
    /// closing the connection (`broker-core.md` 1.2 rule 8).
    fn closes(_response: &Self::Response) -> bool {
        false
    }
}

/// One row of the table.
#[derive(Debug)]
pub struct Api {
    pub key: i16,
    pub name: &'static str,
    pub served: RangeInclusive<i16>,
    pub advertised_min: i16,
    pub advertised: bool,
    pub(crate) start: fn(Call, &RequestHead, &mut Reader) -> Result<Answering, DecodeError>,
}

impl Api {
    /// Whether the API is our own, told to our own tools alone.
    pub fn is_own(&self) -> bool {
        wire::table::OWN_KEYS.contains(&self.key)
    }

    /// The row of the API that `H` is the request of.
    const fn of<H: Handler>() -> Self {
        Self {
            key: H::KEY,
            name: H::NAME,
            served: H::SERVED,
            advertised_min: H::ADVERTISED_MIN,
            advertised: H::ADVERTISED,
            start: start::<H>,
        }
    }

    /// The row of a key.
    pub fn by_key(key: i16) -> Option<&'static Self> {
        let place = APIS.binary_search_by_key(&key, |api| api.key).ok()?;
        APIS.get(place)
    }
}

/// Decodes a request and starts its handler. The future is boxed once, and so is its answer.
fn start<H: Handler>(call: Call, head: &RequestHead, body: &mut Reader) -> Result<Answering, DecodeError> {
    let request = H::decode(body, head.version)?;
    let answered = request.answered();
    let (link, version, correlation_id) = (call.link.clone(), call.version, head.correlation_id);
    let response = H::respond(call, request);
    Ok(Box::pin(async move {
        let (response, last) = response.await;
        match answered {
            true => Outcome::answer_with(&link, correlation_id, version, (&response, last)),
            false if H::closes(&response) => Outcome::Close(format!("{} without answer failed", H::NAME)),
            false => Outcome::Unanswered,
        }
    }))
}

/// Where clients of this connection's listener reach a broker; none if it has no such listener.
fn broker_address(call: &Call, broker: &catalog::Broker) -> Option<(Str, i32)> {
    if broker.id == call.broker.node_id {
        let endpoint = call.endpoint();
        return Some((endpoint.host, i32::from(endpoint.port)));
    }
    let endpoint = broker.endpoint(&call.link.listener.name.0.to_str())?;
    Some((Str::from(endpoint.host.as_str()), i32::from(endpoint.port)))
}

/// What clients that are too old for PRODUCER_FENCED know in its place; it came with version `since`.
fn fenced(code: ErrorCode, version: i16, since: i16) -> ErrorCode {
    match code {
        ErrorCode::PRODUCER_FENCED if version < since => ErrorCode::INVALID_PRODUCER_EPOCH,
        code => code,
    }
}

/// For a shard that answers another question than it was asked: a bug of ours.
fn mismatch(asked: &str, reply: &impl Debug) -> ErrorCode {
    error!(asked, ?reply, "a shard gave the answer to another question");
    ErrorCode::UNKNOWN_SERVER_ERROR
}

/// Whether consumer groups are served: the feature, and `group.coordinator.rebalance.protocols`.
fn is_consumer_on(image: &Image) -> bool {
    let protocols = &image.broker().group_coordinator_rebalance_protocols;
    image.features().level("group.version") > 0 && protocols.iter().any(|it| it == "consumer")
}

/// Whether streams groups are served: the feature, and `group.coordinator.rebalance.protocols`.
fn is_streams_on(image: &Image) -> bool {
    let protocols = &image.broker().group_coordinator_rebalance_protocols;
    image.features().level("streams.version") > 0 && protocols.iter().any(|it| it == "streams")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_their_keys() {
        assert!(APIS.is_sorted_by(|a, b| a.key < b.key));
        assert!(APIS.iter().all(|api| Api::by_key(api.key).is_some_and(|it| it.key == api.key)));
    }

    #[test]
    fn nothing_is_served_that_the_schema_lacks() {
        fn check<H: Handler>() {
            assert!(H::VERSIONS.contains(H::SERVED.start()) && H::VERSIONS.contains(H::SERVED.end()));
        }
        check::<wire::ApiVersionsRequest>();
        check::<wire::FindCoordinatorRequest>();
    }
}
