//! UpdateFeatures (key 57), v0–2: changes the finalized levels of features (KIP-584), all or none.
//!
//! v1: upgrade types, and a request that only checks. v2: no results by feature any more.
//!
//! 1. ALTER on the cluster     else CLUSTER_AUTHORIZATION_FAILED
//! 2. all others in `catalog/src/command/features.rs`
//!
//! Version 0 can't lower a level: Kafka takes every update of it for an upgrade, whatever `AllowDowngrade` says. The new
//! levels hold for every request that is read after the answer; what each decides stands in the handlers that ask for it.

use std::ops::RangeInclusive;

use catalog::Refusal;
use catalog::command::{FeatureUpdate, UpdateFeatures};
use wire::update_features::request::FeatureUpdateKey;
use wire::update_features::response::UpdatableFeatureResult;
use wire::{ErrorCode, Str, UpdateFeaturesRequest, UpdateFeaturesResponse};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for UpdateFeaturesRequest {
    const SERVED: RangeInclusive<i16> = 0..=2;

    async fn handle(call: Call, request: Self) -> UpdateFeaturesResponse {
        if !call.allow(Operation::Alter, Resource::Cluster) {
            let denied = "Cluster authorization failed.";
            return refused(Refusal::new(ErrorCode::CLUSTER_AUTHORIZATION_FAILED, denied));
        }
        let updates = request.feature_updates.iter().map(wanted).collect();
        let command = UpdateFeatures { updates, validate_only: request.validate_only };
        match call.broker.catalog.submit(command).await {
            Ok(()) => UpdateFeaturesResponse {
                error_message: None,
                results: match call.version {
                    0 | 1 => request.feature_updates.into_iter().map(updated).collect(),
                    _ => Vec::new(),
                },
                ..Default::default()
            },
            Err(refusal) => refused(refusal),
        }
    }
}

/// Version 0 has no upgrade type, and the default of the field is an upgrade.
fn wanted(update: &FeatureUpdateKey) -> FeatureUpdate {
    FeatureUpdate {
        name: update.feature.to_str().into_owned(),
        level: update.max_version_level,
        upgrade_type: update.upgrade_type,
    }
}

/// Kafka sends the name of the code as the message of a success.
fn updated(update: FeatureUpdateKey) -> UpdatableFeatureResult {
    UpdatableFeatureResult {
        feature: update.feature,
        error_message: Some(Str::from_static("NONE")),
        ..Default::default()
    }
}

fn refused(refusal: Refusal) -> UpdateFeaturesResponse {
    UpdateFeaturesResponse {
        error_code: refusal.code,
        error_message: Some(Str::from(refusal.message)),
        ..Default::default()
    }
}
