//! What the APIs of settings have in common: kinds of resources and who may see or change them.

use std::collections::BTreeMap;

use catalog::{Image, Refusal};
use wire::ErrorCode;

use crate::auth::{Operation, Resource};
use crate::call::Call;

/// Kafka's numbers of resource types.
pub(super) const TOPIC: i8 = 2;
pub(super) const BROKER: i8 = 4;
pub(super) const BROKER_LOGGER: i8 = 8;
pub(super) const CLIENT_METRICS: i8 = 16;
pub(super) const GROUP: i8 = 32;
/// Those that have settings.
pub(super) const ALL: [i8; 5] = [TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP];

/// The only logger that there is.
pub(super) const ROOT_LOGGER: &str = "root";

/// Whether there are settings of this type of resource.
pub(super) fn is_known(kind: i8) -> bool {
    ALL.contains(&kind)
}

/// The answer for another type.
pub(super) fn unknown(kind: i8) -> Refusal {
    invalid_request(format!("Unexpected resource type {kind}"))
}

/// Why each resource of an alteration can't be left to the catalog, if so: it is named twice, or `check` says why.
/// `place` gives its type and its name.
pub(super) fn refuse<T>(
    resources: &[T],
    place: impl Fn(&T) -> (i8, &str),
    check: impl Fn(&T) -> Result<(), Refusal>,
) -> Vec<Option<Refusal>> {
    let mut times: BTreeMap<(i8, &str), usize> = BTreeMap::new();
    for resource in resources {
        *times.entry(place(resource)).or_default() += 1;
    }
    let check = |resource| match times.get(&place(resource)) {
        Some(count) if *count > 1 => Some(invalid_request("Each resource must appear at most once")),
        Some(_) | None => check(resource).err(),
    };
    resources.iter().map(check).collect()
}

/// The resources that were not refused.
pub(super) fn allowed<T: Clone>(resources: &[T], refused: &[Option<Refusal>]) -> Vec<T> {
    resources.iter().zip(refused).filter(|(_, refusal)| refusal.is_none()).map(|(it, _)| it.clone()).collect()
}

/// What became of each resource. The catalog answers, in order, for what was not refused before; or it fails as a whole.
pub(super) fn results(
    refused: Vec<Option<Refusal>>,
    answers: Result<Vec<Result<(), Refusal>>, Refusal>,
) -> impl Iterator<Item = Result<(), Refusal>> {
    let mut answers = match answers {
        Ok(reply) => reply.into_iter(),
        Err(refusal) => vec![Err(refusal); refused.len()].into_iter(),
    };
    refused.into_iter().map(move |refusal| match refusal {
        Some(refusal) => Err(refusal),
        None => answers.next().unwrap_or(Ok(())),
    })
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
