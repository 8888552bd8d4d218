//! IncrementalAlterConfigs (key 44), v0–1: changes single settings of topics, brokers, groups and client metrics
//! subscriptions (KIP-339). A resource changes as a whole or not at all, each for itself.
//!
//! v1: flexible.
//!
//! 1. resource once in the request          else INVALID_REQUEST
//! 2. setting once in the resource          else INVALID_REQUEST
//! 3. a value, or DELETE                    else INVALID_REQUEST
//! 4. known operation and resource type     else INVALID_REQUEST
//! 5. ALTER_CONFIGS on the resource         else TOPIC_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED or
//!    CLUSTER_AUTHORIZATION_FAILED
//! 6. all others in `catalog/src/command/alter_configs.rs`
//!
//! Loggers (resource type 8) can't be changed while the process runs; Kafka's checks of them hold (INVALID_CONFIG for
//! an unknown logger or level), and what passes them is INVALID_REQUEST.

use std::ops::RangeInclusive;

use catalog::command::{AlterConfigs, AlterResource, ConfigOp};
use catalog::{Image, Refusal};
use wire::incremental_alter_configs::request::AlterConfigsResource;
use wire::incremental_alter_configs::response::AlterConfigsResourceResponse;
use wire::{ErrorCode, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse, Str};

use super::Handler;
use super::config_resource::{self, BROKER_LOGGER, ROOT_LOGGER, invalid_request};
use crate::auth::Operation;
use crate::call::Call;

/// Levels that a logger can be set to.
const LEVELS: [&str; 6] = ["DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN"];

impl Handler for IncrementalAlterConfigsRequest {
    const SERVED: RangeInclusive<i16> = 0..=1;

    async fn handle(call: Call, request: Self) -> IncrementalAlterConfigsResponse {
        let image = call.image();
        let resources: Vec<AlterResource> = request.resources.iter().map(wanted).collect();
        let refused = refuse(&call, &image, &resources);
        let command = AlterConfigs {
            resources: config_resource::allowed(&resources, &refused),
            validate_only: request.validate_only,
        };
        let results = config_resource::results(refused, call.broker.catalog.submit(command).await);
        let responses =
            request.resources.iter().zip(results).map(|(it, result)| response(it, result)).collect();
        IncrementalAlterConfigsResponse { responses, ..Default::default() }
    }
}

/// What is decided before the catalog is asked, by resource: checks 1 to 5, and all about loggers.
fn refuse(call: &Call, image: &Image, resources: &[AlterResource]) -> Vec<Option<Refusal>> {
    let check = |resource: &AlterResource| {
        resource.check_form()?;
        if !config_resource::is_known(resource.kind) {
            return Err(config_resource::unknown(resource.kind));
        }
        config_resource::authorize(call, Operation::AlterConfigs, resource.kind, &resource.name)?;
        match resource.kind {
            BROKER_LOGGER => Err(refuse_loggers(image, resource)),
            _ => Ok(()),
        }
    };
    config_resource::refuse(resources, |it| (it.kind, &it.name), check)
}

/// Why levels of loggers are not changed (`broker-core.md` 6.2).
fn refuse_loggers(image: &Image, resource: &AlterResource) -> Refusal {
    if let Err(refusal) = config_resource::check_logger_broker(image, &resource.name) {
        return refusal;
    }
    for op in &resource.ops {
        let invalid_config = |message| Refusal::new(ErrorCode::INVALID_CONFIG, message);
        let value = op.value.as_deref().unwrap_or_default();
        match op.op {
            2 | 3 => return invalid_request("Levels of loggers can be set and deleted only"),
            1 if op.name == ROOT_LOGGER => return invalid_request("The level of root can't be deleted"),
            _ if op.name != ROOT_LOGGER => {
                return invalid_config(format!("Logger {} does not exist", op.name));
            }
            _ if !LEVELS.contains(&value) => {
                return invalid_config(format!("{value} is no level: {}", LEVELS.join(", ")));
            }
            _ => {}
        }
    }
    invalid_request("Levels are chosen when the broker starts")
}

fn wanted(resource: &AlterConfigsResource) -> AlterResource {
    let op = |it: &wire::incremental_alter_configs::request::AlterableConfig| ConfigOp {
        name: it.name.to_str().into_owned(),
        op: it.config_operation,
        value: it.value.as_ref().map(|value| value.to_str().into_owned()),
    };
    AlterResource {
        kind: resource.resource_type,
        name: resource.resource_name.to_str().into_owned(),
        ops: resource.configs.iter().map(op).collect(),
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
