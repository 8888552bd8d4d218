//! FindCoordinator (key 10), v0–6 (KIP-699, KIP-932).
//!
//! v1 key types, throttle time, message; v2 throttles after the answer; v3 flexible; v4 many keys;
//! v6 share keys. The internal topic is created on the first question; unlike Kafka, which says
//! COORDINATOR_NOT_AVAILABLE once and lets the client ask again, the answer waits for it.
//! 1. the key type is served                 else INVALID_REQUEST (share keys: also below v6)
//! 2. DESCRIBE on the group                  else GROUP_AUTHORIZATION_FAILED
//!    or on the transactional id             else TRANSACTIONAL_ID_AUTHORIZATION_FAILED
//! 3. the internal topic exists or can be created  else COORDINATOR_NOT_AVAILABLE
//! 4. the key's partition of it can be loaded, or was not tried yet  else COORDINATOR_NOT_AVAILABLE

use std::ops::RangeInclusive;
use std::time::Duration;

use catalog::Refusal;
use coordinator::Machine;
use wire::find_coordinator::response::Coordinator;
use wire::{ErrorCode, FindCoordinatorRequest, FindCoordinatorResponse, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;
use crate::shards::Shards;

/// Key type of groups; 2 are share partitions.
const GROUP: i8 = 0;
/// Key type of transactional ids.
const TRANSACTION: i8 = 1;
/// How long the first question waits for the shard of a topic that was just created.
const PATIENCE: Duration = Duration::from_secs(1);

impl Handler for FindCoordinatorRequest {
    const SERVED: RangeInclusive<i16> = 0..=6;

    async fn handle(call: Call, request: Self) -> FindCoordinatorResponse {
        if call.version >= 4 {
            let mut coordinators = Vec::with_capacity(request.coordinator_keys.len());
            for key in request.coordinator_keys {
                coordinators.push(find(&call, request.key_type, key).await);
            }
            return FindCoordinatorResponse { coordinators, ..Default::default() };
        }
        let found = find(&call, request.key_type, request.key).await;
        // Kafka sends the word NONE on success in these versions.
        let no_error = || Some(Str::from_static("NONE"));
        FindCoordinatorResponse {
            error_code: found.error_code,
            error_message: if found.error_code == ErrorCode::NONE { no_error() } else { found.error_message },
            node_id: found.node_id,
            host: found.host,
            port: found.port,
            ..Default::default()
        }
    }
}

async fn find(call: &Call, key_type: i8, key: Str) -> Coordinator {
    let may_describe = |resource| call.allow(Operation::Describe, resource);
    let served = match key_type {
        GROUP if !may_describe(Resource::Group(key.as_bytes())) => {
            return failed(key, ErrorCode::GROUP_AUTHORIZATION_FAILED, None);
        }
        TRANSACTION if !may_describe(Resource::TransactionalId(key.as_bytes())) => {
            return failed(key, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, None);
        }
        GROUP => serve(call, &call.broker.groups, &key).await,
        TRANSACTION => serve(call, &call.broker.transactions, &key).await,
        _ => {
            let message = format!("Key type {key_type} is not served by this broker.");
            return failed(key, ErrorCode::INVALID_REQUEST, Some(message));
        }
    };
    if let Err(refusal) = served {
        return failed(key, ErrorCode::COORDINATOR_NOT_AVAILABLE, Some(refusal.message));
    }
    let endpoint = call.endpoint();
    Coordinator {
        key,
        node_id: call.broker.node_id,
        host: endpoint.host,
        port: i32::from(endpoint.port),
        ..Default::default()
    }
}

/// Creates the topic of the shards, if it is not there. The error says why they can't be asked.
async fn serve<M: Machine>(call: &Call, shards: &Shards<M>, key: &Str) -> Result<(), Refusal>
where
    M::TaskResult: 'static,
{
    if shards.partition_of(key).is_none() {
        call.broker.catalog.create_internal_topic(shards.topic()).await?;
        shards.wait_served(key, PATIENCE).await;
    }
    if let Some(partition) = shards.partition_of(key).filter(|_| shards.has_failed(key)) {
        let message = format!(
            "Partition {partition} of {} can't be loaded; the broker's log tells why.",
            shards.topic()
        );
        return Err(Refusal::new(ErrorCode::COORDINATOR_NOT_AVAILABLE, message));
    }
    Ok(())
}

fn failed(key: Str, error_code: ErrorCode, message: Option<String>) -> Coordinator {
    let error_message = Some(message.map_or_else(Str::default, Str::from));
    Coordinator { key, error_code, error_message, node_id: -1, port: -1, ..Default::default() }
}
