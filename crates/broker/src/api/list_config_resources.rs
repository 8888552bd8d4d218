//! ListConfigResources (key 74), v0–1: what has settings of its own, or may have them (KIP-1142).
//!
//! v0 lists client metrics subscriptions. v1: any of the types, all of them if none is named.
//!
//! 1. DESCRIBE_CONFIGS on the cluster   else CLUSTER_AUTHORIZATION_FAILED
//! 2. known types                       else UNSUPPORTED_VERSION
//!
//! Topics and brokers are listed whether they have settings of their own or not; groups and subscriptions only with some.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use catalog::Image;
use wire::list_config_resources::response::ConfigResource;
use wire::{ErrorCode, ListConfigResourcesRequest, ListConfigResourcesResponse, Str};

use super::Handler;
use super::config_resource::{self, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC};
use crate::auth::{Operation, Resource};
use crate::call::Call;

/// The first version that names types.
const TYPES_VERSION: i16 = 1;

impl Handler for ListConfigResourcesRequest {
    const SERVED: RangeInclusive<i16> = 0..=1;

    async fn handle(call: Call, request: Self) -> ListConfigResourcesResponse {
        let refused = |error_code| ListConfigResourcesResponse { error_code, ..Default::default() };
        if !call.allow(Operation::DescribeConfigs, Resource::Cluster) {
            return refused(ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
        }
        if !request.resource_types.iter().all(|it| config_resource::is_known(*it)) {
            return refused(ErrorCode::UNSUPPORTED_VERSION);
        }
        let types: BTreeSet<i8> = match call.version {
            ..TYPES_VERSION => BTreeSet::from([CLIENT_METRICS]),
            _ if request.resource_types.is_empty() => config_resource::ALL.into(),
            _ => request.resource_types.into_iter().collect(),
        };
        let image = call.image();
        let config_resources = types.into_iter().flat_map(|it| resources(&image, it)).collect();
        ListConfigResourcesResponse { config_resources, ..Default::default() }
    }
}

fn resources(image: &Image, resource_type: i8) -> Vec<ConfigResource> {
    let names: Vec<Str> = match resource_type {
        TOPIC => image.topics().map(|it| Str::from(&*it.name)).collect(),
        BROKER | BROKER_LOGGER => image.brokers().map(|it| Str::from(it.id.to_string())).collect(),
        CLIENT_METRICS => image.client_metrics_names().map(|it| Str::from(&**it)).collect(),
        GROUP => image.configured_groups().map(|it| Str::from(&**it)).collect(),
        _ => Vec::new(),
    };
    let resource = |resource_name| ConfigResource { resource_name, resource_type, ..Default::default() };
    names.into_iter().map(resource).collect()
}
