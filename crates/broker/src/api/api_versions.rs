//! ApiVersions (key 18), v0–5 (KIP-511, KIP-584, KIP-1242).
//!
//! v1 throttle time; v3 flexible, client software, features; v4 features may begin at level 0;
//! v5 cluster id and node id that the client expects.
//!
//! Our own APIs, keys from 20000, are told only to clients that call themselves `thalweg`: others need not wonder
//! about keys that Kafka does not have.
//!
//! A version above ours is not decoded: [`unsupported`] answers it in v0, with UNSUPPORTED_VERSION. No authorization, since
//! clients ask this before they authenticate.
//! 1. v3+: software name and version are well formed  else INVALID_REQUEST, no APIs
//! 2. v5+: cluster id and node id are both set or both unset  else INVALID_REQUEST
//! 3. v5+: they are ours  else REBOOTSTRAP_REQUIRED

use std::ops::RangeInclusive;

use catalog::features::{SUPPORTED, Supported};
use wire::api_versions::response::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};
use wire::{ApiVersionsRequest, ApiVersionsResponse, ErrorCode, Str};

use super::{APIS, Handler};
use crate::call::Call;

/// Software name of our own tools, which are told our own APIs (`decisions.md` 10).
const OWN_SOFTWARE: &str = "thalweg";

impl Handler for ApiVersionsRequest {
    const SERVED: RangeInclusive<i16> = 0..=5;

    async fn handle(call: Call, request: Self) -> ApiVersionsResponse {
        match check(&call, &request) {
            Ok(()) => {
                call.link.name_software(&request.client_software_name);
                versions(&call, request.client_software_name == *OWN_SOFTWARE)
            }
            Err(error_code) => ApiVersionsResponse { error_code, ..Default::default() },
        }
    }
}

/// The answer to a version that we do not know, always in v0. It names only this API, so that the
/// client tries again with the highest version that both know; with an empty list Java clients fall
/// back to v0 and never learn the features (`broker-core.md` 3.1 rule 1).
pub(crate) fn unsupported() -> ApiVersionsResponse {
    let own = APIS.iter().filter(|api| api.key == 18).map(row).collect();
    ApiVersionsResponse { error_code: ErrorCode::UNSUPPORTED_VERSION, api_keys: own, ..Default::default() }
}

fn check(call: &Call, request: &ApiVersionsRequest) -> Result<(), ErrorCode> {
    if call.version >= 3
        && !(is_software(&request.client_software_name) && is_software(&request.client_software_version))
    {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    match (&request.cluster_id, request.node_id) {
        (None, -1) => Ok(()),
        (None, _) | (Some(_), -1) => Err(ErrorCode::INVALID_REQUEST),
        (Some(cluster), node) if *cluster == *call.image().cluster_id() && node == call.broker.node_id => {
            Ok(())
        }
        (Some(_), _) => Err(ErrorCode::REBOOTSTRAP_REQUIRED),
    }
}

/// Letters and digits, with dashes and dots inside (KIP-511).
fn is_software(text: &Str) -> bool {
    let bytes = text.as_bytes();
    let at_the_ends = [bytes.first(), bytes.last()];
    at_the_ends.iter().all(|it| it.is_some_and(u8::is_ascii_alphanumeric))
        && bytes.iter().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'.'))
}

/// `is_own`: the client is one of our tools.
fn versions(call: &Call, is_own: bool) -> ApiVersionsResponse {
    let image = call.image();
    let features = image.features();
    // Clients of v3 can't read a feature that begins at level 0 (KAFKA-17011).
    let readable = |it: &&Supported| call.version >= 4 || it.min > 0;
    ApiVersionsResponse {
        api_keys: APIS.iter().filter(|api| api.advertised || (is_own && api.is_own())).map(row).collect(),
        supported_features: SUPPORTED.iter().filter(readable).map(supported).collect(),
        finalized_features_epoch: features.epoch,
        finalized_features: features.finalized().map(finalized).collect(),
        ..Default::default()
    }
}

fn supported(feature: &Supported) -> SupportedFeatureKey {
    SupportedFeatureKey {
        name: Str::from_static(feature.name),
        min_version: feature.min,
        max_version: feature.max,
        ..Default::default()
    }
}

fn finalized((name, level): (&str, i16)) -> FinalizedFeatureKey {
    FinalizedFeatureKey {
        name: Str::from(name),
        max_version_level: level,
        min_version_level: level,
        ..Default::default()
    }
}

fn row(api: &super::Api) -> ApiVersion {
    ApiVersion {
        api_key: api.key,
        min_version: api.advertised_min,
        max_version: *api.served.end(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_names_are_those_of_kip_511() {
        let cases =
            [("kafka", true), ("a-b.c", true), ("4", true), ("", false), ("-a", false), ("a.", false)];
        for (name, fits) in cases.into_iter().chain([("a b", false), ("é", false)]) {
            assert_eq!(is_software(&Str::from(name)), fits, "{name:?}");
        }
    }
}
