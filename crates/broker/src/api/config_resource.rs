//! What the APIs of settings have in common: kinds of resources and who may see or change them.

use catalog::{Image, Refusal};
use wire::ErrorCode;

use crate::auth::{Operation, Resource};
use crate::call::Call;

/// Kafka's numbers of resource types.
const TOPIC: i8 = 2;
const BROKER: i8 = 4;
pub(super) const BROKER_LOGGER: i8 = 8;
const CLIENT_METRICS: i8 = 16;
const GROUP: i8 = 32;

/// The only logger that there is.
pub(super) const ROOT_LOGGER: &str = "root";

/// Whether there are settings of this type of resource.
pub(super) fn is_known(kind: i8) -> bool {
    matches!(kind, TOPIC | BROKER | BROKER_LOGGER | CLIENT_METRICS | GROUP)
}

/// The answer for another type.
pub(super) fn unknown(kind: i8) -> Refusal {
    invalid_request(format!("Unexpected resource type {kind}"))
}

/// DESCRIBE_CONFIGS or ALTER_CONFIGS on the topic, the group, or the cluster for all else (`broker-core.md` 17.4).
pub(super) fn authorize(call: &Call, operation: Operation, kind: i8, name: &str) -> Result<(), Refusal> {
    let (resource, denied) = match kind {
        TOPIC => (Resource::Topic(name.as_bytes()), ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        GROUP => (Resource::Group(name.as_bytes()), ErrorCode::GROUP_AUTHORIZATION_FAILED),
        _ => (Resource::Cluster, ErrorCode::CLUSTER_AUTHORIZATION_FAILED),
    };
    if call.allow(operation, resource) {
        return Ok(());
    }
    Err(Refusal::new(denied, "Authorization failed."))
}

/// Loggers belong to one broker, which must be this one.
pub(super) fn check_logger_broker(image: &Image, name: &str) -> Result<(), Refusal> {
    if name.is_empty() {
        return Err(invalid_request("Broker id must not be empty"));
    }
    let Ok(id) = name.parse::<i32>() else {
        return Err(invalid_request(format!("Broker id must be an integer, but it is: {name}")));
    };
    if id != image.node_id() {
        let expected = image.node_id();
        return Err(invalid_request(format!("Unexpected broker id, expected {expected} but received {id}")));
    }
    Ok(())
}

pub(super) fn invalid_request(message: impl Into<String>) -> Refusal {
    Refusal::new(ErrorCode::INVALID_REQUEST, message)
}
