//! UpdateFeatures (`broker-core.md` 22), and the levels of a first start.

use super::{Command, Decision, Entropy, Refusal};
use crate::entry::Entry;
use crate::features::{SUPPORTED, Supported, supported};
use crate::{ErrorCode, Image};

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
    /// 1 upgrade, 2 safe downgrade, 3 unsafe downgrade. Version 0 of the request says `AllowDowngrade` instead: 1 or 2.
    pub upgrade_type: i8,
}

impl Command for UpdateFeatures {
    type Reply = ();

    fn decide(&self, image: &Image, _entropy: Entropy<'_>) -> Result<Decision<Self::Reply>, Refusal> {
        let mut entries = Vec::new();
        for update in &self.updates {
            check(image, update).map_err(|why| {
                let message =
                    format!("Invalid update version {} for feature {}. {why}", update.level, update.name);
                Refusal::new(ErrorCode::INVALID_UPDATE_VERSION, message)
            })?;
            if image.features().level(&update.name) != update.level {
                entries.push(Entry::Feature { name: update.name.clone(), level: update.level });
            }
        }
        if self.validate_only {
            entries.clear();
        }
        Ok(Decision { entries, reply: () })
    }
}

fn check(image: &Image, update: &FeatureUpdate) -> Result<(), String> {
    let Some(feature) = supported(&update.name) else {
        return Err("Local controller does not support this feature.".to_owned());
    };
    if !matches!(update.upgrade_type, 1..=3) {
        return Err("The controller does not support the given upgrade type.".to_owned());
    }
    if update.level < 0 {
        return Err("The feature level must not be negative.".to_owned());
    }
    // Level 0 turns a feature off, but there is no cluster without a metadata version.
    if update.level < feature.min || update.level > feature.max {
        return Err(format!("Supported are versions {}-{}.", feature.min, feature.max));
    }
    let present = image.features().level(&update.name);
    if update.level < present && update.upgrade_type == 1 {
        return Err(
            "Can't downgrade the version of this feature without setting the upgrade type to downgrade."
                .to_owned(),
        );
    }
    if update.level > present && update.upgrade_type != 1 {
        return Err("Can't downgrade to a newer version.".to_owned());
    }
    Ok(())
}
