//! UpdateFeatures, and the levels of a first start. In the order of the features' names, the first that fails is told,
//! all with INVALID_UPDATE_VERSION, as Kafka does. Checks of each:
//!
//! 1. the upgrade type is a known one           else INVALID_UPDATE_VERSION
//! 2. the level is not negative                 else INVALID_UPDATE_VERSION
//! 3. the level is supported; of a feature that only Kafka has that is 0  else INVALID_UPDATE_VERSION
//! 4. a lower level comes with a downgrade, a higher one with an upgrade  else INVALID_UPDATE_VERSION
//! 5. `metadata.version` does not fall: between any two of its levels there is something in the metadata that the lower
//!    one does not know  else INVALID_UPDATE_VERSION
//!
//! Whether a downgrade is safe makes no difference for any other feature. None that is served depends on another.

use std::collections::BTreeMap;

use wire::enums::FEATURES;

use super::{Command, Decision, Entropy, Refusal};
use crate::entry::Entry;
use crate::features::{SUPPORTED, Supported, supported};
use crate::{ErrorCode, Image};

const UPGRADE: i8 = 1;
const UNSAFE_DOWNGRADE: i8 = 3;
/// The feature that every cluster has, and that never falls.
const METADATA: &str = "metadata.version";

/// Finalizes what this release serves and no one decided on yet: everything at a first start, later what is new. A
/// level that a user chose stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FinalizeInitial;

impl Command for FinalizeInitial {
    type Reply = ();

    fn decide(&self, image: &Image, _entropy: Entropy<'_>) -> Result<Decision<Self::Reply>, Refusal> {
        let missing = SUPPORTED.iter().filter(|feature| !image.features().is_decided(feature.name));
        let entry = |it: &Supported| Entry::Feature { name: it.name.to_owned(), level: it.initial };
        Ok(Decision { entries: missing.map(entry).collect(), reply: () })
    }
}

/// New levels; all or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpdateFeatures {
    /// Of a feature that stands here twice the last one counts.
    pub updates: Vec<FeatureUpdate>,
    /// Only check.
    pub validate_only: bool,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureUpdate {
    pub name: String,
    /// 0 turns it off.
    pub level: i16,
    /// 1 upgrade, 2 safe downgrade, 3 unsafe downgrade.
    pub upgrade_type: i8,
}

impl Command for UpdateFeatures {
    type Reply = ();

    fn decide(&self, image: &Image, _entropy: Entropy<'_>) -> Result<Decision<Self::Reply>, Refusal> {
        let updates: BTreeMap<&str, &FeatureUpdate> =
            self.updates.iter().map(|update| (update.name.as_str(), update)).collect();
        for update in updates.values() {
            check(image, update).map_err(|why| {
                let message = format!(
                    "The update failed for all features since the following feature had an error: {why}"
                );
                Refusal::new(ErrorCode::INVALID_UPDATE_VERSION, message)
            })?;
        }
        // A level that stands already is written too: it is chosen from then on.
        let entry = |it: &&FeatureUpdate| Entry::Feature { name: it.name.clone(), level: it.level };
        let entries = match self.validate_only {
            true => Vec::new(),
            false => updates.values().map(entry).collect(),
        };
        Ok(Decision { entries, reply: () })
    }
}

fn check(image: &Image, update: &FeatureUpdate) -> Result<(), String> {
    let FeatureUpdate { name, level, upgrade_type } = update;
    let invalid = |why: &str| Err(format!("Invalid update version {level} for feature {name}. {why}"));
    if !matches!(*upgrade_type, UPGRADE..=UNSAFE_DOWNGRADE) {
        return invalid("The controller does not support the given upgrade type.");
    }
    if *level < 0 {
        return invalid("A feature version cannot be less than 0.");
    }
    let node = image.node_id();
    match supported(name) {
        Some(it) if *level < it.min || *level > it.max => {
            return invalid(&format!("Local controller {node} only supports versions {}-{}", it.min, it.max));
        }
        None if *level > 0 => {
            return invalid(&format!("Local controller {node} does not support this feature."));
        }
        None if !FEATURES.iter().any(|it| it.name == name) => {
            return invalid(&format!("Feature {name} not found."));
        }
        Some(_) | None => {}
    }
    let present = image.features().level(name);
    if *level < present && *upgrade_type == UPGRADE {
        return invalid(
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or \
             unsafe downgrade.",
        );
    }
    if *level > present && *upgrade_type != UPGRADE {
        return invalid("Can't downgrade to a newer version.");
    }
    if name == METADATA && *level < present {
        let why = match *upgrade_type {
            UNSAFE_DOWNGRADE => "Unsafe metadata downgrade is not supported in this version.",
            _ => "Refusing to perform the requested downgrade because it might delete metadata information.",
        };
        return Err(format!("Unsupported metadata.version downgrade from {present} to {level}. {why}"));
    }
    Ok(())
}
