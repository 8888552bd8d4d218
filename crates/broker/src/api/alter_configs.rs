//! AlterConfigs (key 33), v0–2: replaces all dynamic settings of topics, brokers, groups and client metrics
//! subscriptions; what is not named goes back to its default. IncrementalAlterConfigs took its place (KIP-339), but
//! older clients and tools send it. A resource changes as a whole or not at all, each for itself.
//!
//! v1 throttles after the answer; v2 flexible.
//!
//! 1. resource once in the request          else INVALID_REQUEST
//! 2. setting once in the resource          else INVALID_REQUEST
//! 3. a value                               else INVALID_REQUEST
//! 4. known resource type, and no logger    else INVALID_REQUEST
//! 5. ALTER_CONFIGS on the resource         else TOPIC_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED or
//!    CLUSTER_AUTHORIZATION_FAILED
//! 6. all others in `catalog/src/command/alter_configs.rs`

use std::ops::RangeInclusive;

use catalog::Refusal;
use catalog::command::{ReplaceConfigs, ReplaceResource};
use wire::alter_configs::request::{AlterConfigsResource, AlterableConfig};
use wire::alter_configs::response::AlterConfigsResourceResponse;
use wire::{AlterConfigsRequest, AlterConfigsResponse, ErrorCode, Str};

use super::Handler;
use super::config_resource::{self, BROKER_LOGGER};
use crate::auth::Operation;
use crate::call::Call;

impl Handler for AlterConfigsRequest {
    const SERVED: RangeInclusive<i16> = 0..=2;

    async fn handle(call: Call, request: Self) -> AlterConfigsResponse {
        let resources: Vec<ReplaceResource> = request.resources.iter().map(wanted).collect();
        let refused = refuse(&call, &resources);
        let command = ReplaceConfigs {
            resources: config_resource::allowed(&resources, &refused),
            validate_only: request.validate_only,
        };
        let results = config_resource::results(refused, call.broker.catalog.submit(command).await);
        let responses =
            request.resources.iter().zip(results).map(|(it, result)| response(it, result)).collect();
        AlterConfigsResponse { responses, ..Default::default() }
    }
}

/// Checks 1 to 5, by resource.
fn refuse(call: &Call, resources: &[ReplaceResource]) -> Vec<Option<Refusal>> {
    let check = |resource: &ReplaceResource| {
        resource.check_form()?;
        if !config_resource::is_known(resource.kind) || resource.kind == BROKER_LOGGER {
            return Err(config_resource::unknown(resource.kind));
        }
        config_resource::authorize(call, Operation::AlterConfigs, resource.kind, &resource.name)
    };
    config_resource::refuse(resources, |it| (it.kind, &it.name), check)
}

fn wanted(resource: &AlterConfigsResource) -> ReplaceResource {
    let pair = |it: &AlterableConfig| {
        let value = it.value.as_ref().map(|value| value.to_str().into_owned());
        (it.name.to_str().into_owned(), value)
    };
    ReplaceResource {
        kind: resource.resource_type,
        name: resource.resource_name.to_str().into_owned(),
        configs: resource.configs.iter().map(pair).collect(),
    }
}

fn response(resource: &AlterConfigsResource, result: Result<(), Refusal>) -> AlterConfigsResourceResponse {
    let (error_code, error_message) = match result {
        Ok(()) => (ErrorCode::NONE, None),
        Err(refusal) => (refusal.code, Some(Str::from(refusal.message))),
    };
    AlterConfigsResourceResponse {
        error_code,
        error_message,
        resource_type: resource.resource_type,
        resource_name: resource.resource_name.clone(),
        ..Default::default()
    }
}
