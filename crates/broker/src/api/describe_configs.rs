//! DescribeConfigs (key 32), v1–4: settings of topics, brokers, groups, client metrics subscriptions and loggers.
//!
//! v1: sources and synonyms (KIP-226). v2: throttles after the answer. v3: types and documentation (KIP-569).
//! v4: flexible.
//!
//! 1. known resource type                   else INVALID_REQUEST for every resource
//! 2. DESCRIBE_CONFIGS on the resource      else TOPIC_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED or
//!    CLUSTER_AUTHORIZATION_FAILED
//! 3. all others in `catalog/src/config/describe.rs`
//!
//! Loggers (resource type 8) are not those of a JVM: there is `root`, with the level that this process logs at.

use std::ops::RangeInclusive;

use catalog::config::describe::{self, ConfigEntry};
use catalog::{Image, Refusal};
use tracing::level_filters::LevelFilter;
use wire::describe_configs::request::DescribeConfigsResource;
use wire::describe_configs::response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use wire::{DescribeConfigsRequest, DescribeConfigsResponse, ErrorCode, Str};

use super::Handler;
use super::config_resource::{self, BROKER_LOGGER, ROOT_LOGGER};
use crate::auth::Operation;
use crate::call::Call;

/// Source of a logger's level; settings have the other numbers.
const LOGGER_SOURCE: i8 = 6;

impl Handler for DescribeConfigsRequest {
    const SERVED: RangeInclusive<i16> = 1..=4;

    async fn handle(call: Call, request: Self) -> DescribeConfigsResponse {
        let image = call.image();
        let unknown = request.resources.iter().find(|it| !config_resource::is_known(it.resource_type));
        let unknown = unknown.map(|it| config_resource::unknown(it.resource_type));
        let describe = |resource: &DescribeConfigsResource| {
            let described = match &unknown {
                Some(refusal) => Err(refusal.clone()),
                None => described(&call, &image, &request, resource),
            };
            result(resource, described)
        };
        let results = request.resources.iter().map(describe).collect();
        DescribeConfigsResponse { results, ..Default::default() }
    }
}

fn described(
    call: &Call,
    image: &Image,
    request: &DescribeConfigsRequest,
    resource: &DescribeConfigsResource,
) -> Result<Vec<DescribeConfigsResourceResult>, Refusal> {
    let (kind, name) = (resource.resource_type, resource.resource_name.to_str());
    config_resource::authorize(call, Operation::DescribeConfigs, kind, &name)?;
    // No keys at all stand for all of them too.
    let keys = resource.configuration_keys.as_ref().filter(|keys| !keys.is_empty());
    let keys: Option<Vec<_>> = keys.map(|keys| keys.iter().map(Str::to_str).collect());
    let keys: Option<Vec<&str>> = keys.as_ref().map(|keys| keys.iter().map(|key| &**key).collect());
    if kind == BROKER_LOGGER {
        config_resource::check_logger_broker(image, &name)?;
        let asked = keys.is_none_or(|keys| keys.contains(&ROOT_LOGGER));
        return Ok(asked.then(root_logger).into_iter().collect());
    }
    let entries = describe::resource(image, kind, &name, keys.as_deref())?;
    Ok(entries.into_iter().map(|entry| shown(request, entry)).collect())
}

/// A setting with as much as the request asks for.
fn shown(request: &DescribeConfigsRequest, entry: ConfigEntry) -> DescribeConfigsResourceResult {
    let synonym = |it: describe::Synonym| DescribeConfigsSynonym {
        name: Str::from(it.name),
        value: it.value.map(Str::from),
        source: it.source.code(),
        ..Default::default()
    };
    let synonyms = if request.include_synonyms { entry.synonyms } else { Vec::new() };
    let documentation = entry.documentation.filter(|_| request.include_documentation);
    DescribeConfigsResourceResult {
        name: Str::from(entry.name),
        value: entry.value.map(Str::from),
        read_only: entry.read_only,
        config_source: entry.source.code(),
        is_sensitive: entry.is_sensitive,
        synonyms: synonyms.into_iter().map(synonym).collect(),
        config_type: entry.kind,
        documentation: documentation.map(Str::from_static),
        ..Default::default()
    }
}

fn root_logger() -> DescribeConfigsResourceResult {
    let level = LevelFilter::current().to_string().to_uppercase();
    DescribeConfigsResourceResult {
        name: Str::from_static(ROOT_LOGGER),
        value: Some(Str::from(level)),
        read_only: false,
        config_source: LOGGER_SOURCE,
        ..Default::default()
    }
}

fn result(
    resource: &DescribeConfigsResource,
    described: Result<Vec<DescribeConfigsResourceResult>, Refusal>,
) -> DescribeConfigsResult {
    // Kafka's message is empty, and not null, where there is nothing to say.
    let (error_code, message, configs) = match described {
        Ok(configs) => (ErrorCode::NONE, String::new(), configs),
        Err(refusal) if refusal.code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {
            (refusal.code, String::new(), Vec::new())
        }
        Err(refusal) => (refusal.code, refusal.message, Vec::new()),
    };
    DescribeConfigsResult {
        error_code,
        error_message: Some(Str::from(message)),
        resource_type: resource.resource_type,
        resource_name: resource.resource_name.clone(),
        configs,
        ..Default::default()
    }
}
