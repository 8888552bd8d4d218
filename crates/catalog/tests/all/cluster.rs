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

/// broker-core 22: all or nothing, INVALID_UPDATE_VERSION with the feature's name.
#[test]
fn update_features() {
    let mut world = World::new();
    for (name, level, upgrade_type) in [
        ("no.such.feature", 1, 1),
        ("streams.version", -1, 2),
        ("streams.version", 2, 1),
        ("streams.version", 0, 1),
        ("streams.version", 0, 0),
        ("metadata.version", 0, 3),
        ("metadata.version", 34, 1),
    ] {
        let refused = update(&mut world, name, level, upgrade_type).unwrap_err();
        assert_eq!(refused.code, ErrorCode::INVALID_UPDATE_VERSION, "{name} {level}");
        assert!(refused.message.contains(name));
    }
    let good = FeatureUpdate { name: "streams.version".to_owned(), level: 0, upgrade_type: 2 };
    let bad = FeatureUpdate { name: "no.such".to_owned(), level: 1, upgrade_type: 1 };
    let both = UpdateFeatures { updates: vec![good.clone(), bad], validate_only: false };
    assert!(world.run(&both).is_err());
    world.run(&UpdateFeatures { updates: vec![good], validate_only: true }).unwrap();
    assert_eq!(world.image.features().level("streams.version"), 1);
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
