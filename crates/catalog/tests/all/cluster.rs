//! Features, brokers and producer ids.

use std::collections::BTreeSet;

use crate::world::{World, code, endpoint, topic};
use catalog::command::{
    AllocateProducerIds, FeatureUpdate, FinalizeInitial, RegisterBroker, UnregisterBroker, UpdateFeatures,
};
use catalog::{ErrorCode, Features, Image, Refusal};

fn update(world: &mut World, name: &str, level: i16, upgrade_type: i8) -> Result<(), Refusal> {
    let updates = vec![FeatureUpdate { name: name.to_owned(), level, upgrade_type }];
    world.run(&UpdateFeatures { updates, validate_only: false })
}

fn finalized(features: &Features) -> Vec<(&str, i16)> {
    features.finalized().collect()
}

/// Decision 2: what is served is finalized at the first start, with an epoch above 0 that never falls.
/// `broker-core` 25, trap 7: `transaction.version` 2 among them.
#[test]
fn features_of_a_first_start() {
    let mut world = World::new();
    let all =
        [("group.version", 1), ("metadata.version", 33), ("streams.version", 1), ("transaction.version", 2)];
    assert_eq!(finalized(world.image.features()), all);
    let epoch = world.image.features().epoch;
    assert!(epoch > 0);
    // A later start changes nothing, other commands neither.
    world.run(&FinalizeInitial).unwrap();
    world.create(topic("t", 1, &[])).unwrap();
    assert_eq!(world.image.features().epoch, epoch);
    assert_eq!(world.replayed().features(), world.image.features());
}

/// A directory of a release that knew fewer features gains them at its next start, and the epoch grows.
#[test]
fn features_of_a_later_release() {
    let mut world = World::new();
    let old = world.image.features().epoch;
    world.image = Image::default();
    for (name, level) in [("metadata.version", 33), ("streams.version", 1)] {
        let entry = catalog::Entry::Feature { name: name.to_owned(), level };
        world.image = world.image.apply(&entry);
    }
    let before = world.image.features().epoch;
    assert!(before < old);
    world.run(&FinalizeInitial).unwrap();
    assert_eq!(world.image.features().level("group.version"), 1);
    assert!(world.image.features().epoch > before);
}

fn feature(name: &str, level: i16, upgrade_type: i8) -> FeatureUpdate {
    FeatureUpdate { name: name.to_owned(), level, upgrade_type }
}

/// Each refusal of `command/features.rs` in its order, in the words that Kafka 4.4.0 answers.
#[test]
fn refused_levels() {
    let mut world = World::new();
    let invalid = |level: i16, name: &str, why: &str| {
        format!("Invalid update version {level} for feature {name}. {why}")
    };
    let (metadata, transactions) = ("metadata.version", "transaction.version");
    let upgrade_type = "The controller does not support the given upgrade type.";
    let lowered = "Can't downgrade the version of this feature without setting the upgrade type to either safe or \
                   unsafe downgrade.";
    let falls = "Unsupported metadata.version downgrade from 33 to 32. ";
    let cases = [
        // 1
        (feature(transactions, -1, 0), invalid(-1, transactions, upgrade_type)),
        (feature(transactions, 2, 4), invalid(2, transactions, upgrade_type)),
        (feature(transactions, 2, -1), invalid(2, transactions, upgrade_type)),
        // 2
        (feature("none", -1, 1), invalid(-1, "none", "A feature version cannot be less than 0.")),
        // 3
        (
            feature(transactions, 3, 2),
            invalid(3, transactions, "Local controller 1 only supports versions 0-2"),
        ),
        (feature(metadata, 0, 3), invalid(0, metadata, "Local controller 1 only supports versions 7-33")),
        (feature(metadata, 34, 1), invalid(34, metadata, "Local controller 1 only supports versions 7-33")),
        (feature("none", 1, 2), invalid(1, "none", "Local controller 1 does not support this feature.")),
        (
            feature("share.version", 1, 1),
            invalid(1, "share.version", "Local controller 1 does not support this feature."),
        ),
        (feature("none", 0, 1), invalid(0, "none", "Feature none not found.")),
        // 4
        (feature(transactions, 1, 1), invalid(1, transactions, lowered)),
        (feature(metadata, 32, 1), invalid(32, metadata, lowered)),
        // 5
        (
            feature(metadata, 32, 2),
            falls.to_owned()
                + "Refusing to perform the requested downgrade because it might delete metadata information.",
        ),
        (
            feature(metadata, 32, 3),
            falls.to_owned() + "Unsafe metadata downgrade is not supported in this version.",
        ),
    ];
    let before = world.image.features().clone();
    for (update, why) in cases {
        let refused = world.run(&UpdateFeatures { updates: vec![update], validate_only: false }).unwrap_err();
        assert_eq!(refused.code, ErrorCode::INVALID_UPDATE_VERSION);
        let prefix = "The update failed for all features since the following feature had an error: ";
        assert_eq!(refused.message.strip_prefix(prefix), Some(why.as_str()));
    }
    // 4, of a level that is above the present one.
    update(&mut world, transactions, 0, 3).unwrap();
    for downgrade in [2, 3] {
        let refused = update(&mut world, transactions, 1, downgrade).unwrap_err();
        assert!(refused.message.ends_with("Can't downgrade to a newer version."), "{refused}");
    }
    update(&mut world, transactions, 2, 1).unwrap();
    assert_eq!(finalized(world.image.features()), finalized(&before));
}

/// All or nothing, and the first by name is told; only checked, nothing changes; nothing at all is no error.
#[test]
fn levels_change_together_or_not_at_all() {
    let mut world = World::new();
    let before = world.image.features().clone();
    let good = feature("transaction.version", 0, 2);
    for order in [["zzz", "none"], ["none", "zzz"]] {
        let updates = order.map(|name| feature(name, 1, 1)).into_iter().chain([good.clone()]).collect();
        let refused = world.run(&UpdateFeatures { updates, validate_only: false }).unwrap_err();
        assert!(refused.message.contains("feature none."), "{refused}");
    }
    let updates = vec![good, feature("group.version", 0, 2)];
    world.run(&UpdateFeatures { updates: updates.clone(), validate_only: true }).unwrap();
    world.run(&UpdateFeatures::default()).unwrap();
    assert_eq!(world.image.features(), &before);
    world.run(&UpdateFeatures { updates, validate_only: false }).unwrap();
    let left = [("metadata.version", 33), ("streams.version", 1)];
    assert_eq!(finalized(world.image.features()), left);
    assert_eq!(world.replayed().features(), world.image.features());
}

/// Of a feature that stands twice the last one counts, as in Kafka. The level that stands is written too, so the epoch
/// grows with every success.
#[test]
fn a_feature_twice_and_a_level_that_stands() {
    let mut world = World::new();
    let transactions = "transaction.version";
    let run = |world: &mut World, updates: Vec<FeatureUpdate>| {
        world.run(&UpdateFeatures { updates, validate_only: false })
    };
    run(&mut world, vec![feature(transactions, 3, 1), feature(transactions, 1, 2)]).unwrap();
    assert_eq!(world.image.features().level(transactions), 1);
    assert!(run(&mut world, vec![feature(transactions, 2, 1), feature(transactions, 3, 1)]).is_err());
    for upgrade_type in 1..=3 {
        let epoch = world.image.features().epoch;
        run(&mut world, vec![feature(transactions, 1, upgrade_type)]).unwrap();
        assert_eq!(world.image.features().epoch, epoch + 1);
    }
    // What only Kafka has can be told to stay off.
    run(&mut world, vec![feature("share.version", 0, 2)]).unwrap();
    assert_eq!(world.image.features().finalized().count(), 4);
}

/// A feature that was turned off stays off over restarts and disappears from ApiVersions; the epoch grows.
#[test]
fn a_feature_can_be_turned_off() {
    let mut world = World::new();
    let epoch = world.image.features().epoch;
    update(&mut world, "streams.version", 0, 2).unwrap();
    assert!(world.changes.features);
    world.run(&FinalizeInitial).unwrap();
    let left = [("group.version", 1), ("metadata.version", 33), ("transaction.version", 2)];
    assert_eq!(finalized(world.image.features()), left);
    assert!(world.image.features().epoch > epoch);
    assert_eq!(code(&update(&mut world, "streams.version", 1, 2)), ErrorCode::INVALID_UPDATE_VERSION);
    update(&mut world, "streams.version", 1, 1).unwrap();
    assert_eq!(world.image.features().level("streams.version"), 1);
}

/// broker-core 25, trap 44: no id comes twice, also if what came of a block was lost with the process.
#[test]
fn producer_ids_are_never_given_twice() {
    let mut world = World::new();
    let mut seen = BTreeSet::new();
    for restart in 0..5 {
        for _ in 0..3 {
            let block = world.run(&AllocateProducerIds).unwrap();
            assert!((block.first..block.first + block.len).all(|id| seen.insert(id)), "restart {restart}");
        }
        world.image = world.replayed();
        let snapshot = world.image.to_snapshot();
        let version = world.image.version();
        world.image = Image::from_snapshot(world.image.local().clone(), version, snapshot).unwrap();
    }
    assert_eq!(seen.len(), 15_000);
}

#[test]
fn brokers_register_and_leave() {
    let mut world = World::new();
    let first = world.image.broker_by_id(1).unwrap().epoch;
    let endpoints = vec![endpoint()];
    let epoch = world.run(&RegisterBroker { id: 1, rack: Some("a".to_owned()), endpoints }).unwrap();
    assert!(epoch > first && world.changes.brokers);
    let broker = world.image.broker_by_id(1).unwrap();
    assert_eq!((broker.epoch, broker.rack.as_deref()), (epoch, Some("a")));
    assert_eq!(broker.endpoint("PLAINTEXT").unwrap().port, 9092);
    assert_eq!(broker.endpoint("TLS"), None);
    assert_eq!(world.run(&UnregisterBroker { id: 9 }).unwrap_err().code, ErrorCode::BROKER_ID_NOT_REGISTERED);
    world.run(&UnregisterBroker { id: 1 }).unwrap();
    assert_eq!(world.image.brokers().count(), 0);
}
