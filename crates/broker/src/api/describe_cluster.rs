//! DescribeCluster (key 60), v0–2: the cluster's id and its brokers.
//!
//! v1: the kind of endpoints that is asked for. v2: fenced brokers (there are none here).
//!
//! 1. brokers are asked for (v1+)   else MISMATCHED_ENDPOINT_TYPE for controllers, UNSUPPORTED_ENDPOINT_TYPE for others
//!
//! The brokers are told to everyone; the operations on the cluster are 0 for who may not DESCRIBE it.

use std::ops::RangeInclusive;

use wire::describe_cluster::response::DescribeClusterBroker;
use wire::{DescribeClusterRequest, DescribeClusterResponse, ErrorCode, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

impl Handler for DescribeClusterRequest {
    const SERVED: RangeInclusive<i16> = 0..=2;

    async fn handle(call: Call, request: Self) -> DescribeClusterResponse {
        if request.endpoint_type != BROKERS {
            return refused(request.endpoint_type);
        }
        let image = call.image();
        let brokers = image.brokers().filter_map(|broker| {
            let (host, port) = super::broker_address(&call, broker)?;
            let rack = broker.rack.as_deref().map(Str::from);
            Some(DescribeClusterBroker { broker_id: broker.id, host, port, rack, ..Default::default() })
        });
        let mut response = DescribeClusterResponse {
            endpoint_type: BROKERS,
            cluster_id: Str::from(image.cluster_id()),
            controller_id: call.broker.node_id,
            brokers: brokers.collect(),
            ..Default::default()
        };
        if request.include_cluster_authorized_operations {
            let allowed = call.allow(Operation::Describe, Resource::Cluster);
            response.cluster_authorized_operations =
                if allowed { call.authorized_operations(Resource::Cluster) } else { 0 };
        }
        response
    }
}

fn refused(endpoint_type: i8) -> DescribeClusterResponse {
    let (error_code, message) = match endpoint_type {
        CONTROLLERS => {
            (ErrorCode::MISMATCHED_ENDPOINT_TYPE, "This is a broker endpoint, not one of a controller.")
        }
        _ => (ErrorCode::UNSUPPORTED_ENDPOINT_TYPE, "There is no such type of endpoint."),
    };
    DescribeClusterResponse {
        error_code,
        error_message: Some(Str::from_static(message)),
        ..Default::default()
    }
}
