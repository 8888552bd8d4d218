//! The journal: what was encoded comes back, replay equals live, snapshots equal both, the future is refused.

use crate::world::{World, endpoint, topic};
use bytes::Bytes;
use catalog::command::{
    AllocateProducerIds, AlterConfigs, AlterResource, ConfigOp, CreatePartitions, CreateTopics, DeleteTopics,
    FeatureUpdate, NewPartitions, RegisterBroker, TopicRef, UpdateFeatures,
};
use catalog::entry::{EntryError, PartitionEntry, Resource, TopicEntry};
use catalog::{Broker, Entry, Image, Uuid};

fn samples() -> Vec<Entry> {
    let partition = |id, replicas: &[i32]| PartitionEntry { id, replicas: replicas.to_vec() };
    let config = |resource, value: Option<&str>| Entry::Config {
        resource,
        key: "k".to_owned(),
        value: value.map(str::to_owned),
    };
    vec![
        Entry::Topic(TopicEntry {
            name: "orders".to_owned(),
            id: Uuid([7; 16]),
            replication_factor: 3,
            partitions: vec![partition(1, &[1, 2, 300_000]), partition(i64::MAX, &[-1])],
            configs: [("retention.ms".to_owned(), "-1".to_owned())].into(),
        }),
        Entry::Partitions { topic: Uuid([7; 16]), partitions: vec![partition(9, &[1])] },
        Entry::TopicDeleted { topic: Uuid([7; 16]) },
        config(Resource::Topic("orders".to_owned()), Some("")),
        config(Resource::Broker(String::new()), None),
        config(Resource::Group("grüppe".to_owned()), Some("v")),
        config(Resource::ClientMetrics("m".to_owned()), Some("v")),
        Entry::Feature { name: "streams.version".to_owned(), level: 1 },
        Entry::Broker(Broker { id: 1, epoch: 5, rack: Some("r1".to_owned()), endpoints: vec![endpoint()] }),
        Entry::Broker(Broker { id: 2, epoch: 6, rack: None, endpoints: vec![] }),
        Entry::BrokerRemoved { id: 2 },
        Entry::ProducerIds { next: 1000 },
        Entry::Counters { next_partition_id: 10, feature_epoch: i64::MIN },
    ]
}

#[test]
fn entries_survive_the_bytes() {
    for entry in samples() {
        assert_eq!(Entry::decode(&entry.encode()), Ok(entry));
    }
}

/// Damaged bytes are an error, never a panic and never a large allocation.
#[test]
fn damaged_entries_are_refused() {
    for entry in samples() {
        let bytes = entry.encode();
        for len in 0..bytes.len() {
            assert!(Entry::decode(&bytes[..len]).is_err(), "{entry:?} cut to {len}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(Entry::decode(&longer).is_err());
        for at in 0..bytes.len() {
            let mut wrong = bytes.to_vec();
            wrong[at] = 0xff;
            let _ = Entry::decode(&wrong);
        }
    }
}

/// The bytes of the first release: they may never change.
#[test]
fn golden_bytes() {
    let hex = |entry: &Entry| entry.encode().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let feature = Entry::Feature { name: "streams.version".to_owned(), level: 1 };
    assert_eq!(hex(&feature), "05000f73747265616d732e76657273696f6e0200");
    let topic = Entry::Topic(TopicEntry {
        name: "t".to_owned(),
        id: Uuid([1; 16]),
        replication_factor: 1,
        partitions: vec![PartitionEntry { id: 3, replicas: vec![1] }],
        configs: [("a".to_owned(), "b".to_owned())].into(),
    });
    assert_eq!(hex(&topic), "01000174010101010101010101010101010101010201060102010161016200");
    let config =
        Entry::Config { resource: Resource::Group("g".to_owned()), key: "k".to_owned(), value: None };
    assert_eq!(hex(&config), "04002001 67016b0000".replace(' ', ""));
}

#[test]
fn newer_entries_are_refused_and_newer_tags_ignored() {
    assert_eq!(Entry::decode(&[77, 0, 0]), Err(EntryError::Newer { kind: 77, version: 0 }));
    let mut newer = Entry::ProducerIds { next: 5 }.encode().to_vec();
    newer[1] = 1;
    let error = Entry::decode(&newer).unwrap_err();
    assert_eq!(error, EntryError::Newer { kind: 8, version: 1 });
    assert!(error.to_string().contains("newer Thalweg"));
    let mut tagged = Entry::ProducerIds { next: 5 }.encode().to_vec();
    tagged.truncate(tagged.len() - 1);
    tagged.extend([1, 0, 2, 0xaa, 0xbb]);
    assert_eq!(Entry::decode(&tagged), Ok(Entry::ProducerIds { next: 5 }));
}

/// Property: after any sequence of commands the journal alone gives the live image, and so does a snapshot.
#[test]
fn replay_equals_live() {
    for seed in 1..=20 {
        let mut random = Random(seed);
        let mut world = World::with_three_brokers(&[]);
        for _ in 0..120 {
            step(&mut world, &mut random);
        }
        assert_eq!(world.replayed(), world.image, "seed {seed}");
        let snapshot = world.image.to_snapshot();
        let version = world.image.version();
        let loaded = Image::from_snapshot(world.image.local().clone(), version, snapshot.clone()).unwrap();
        assert_eq!(loaded, world.image, "seed {seed}");
        assert_eq!(loaded.to_snapshot(), snapshot);
        assert!(
            Image::from_snapshot(world.image.local().clone(), 1, snapshot.slice(..snapshot.len() - 1))
                .is_err()
        );
    }
}

#[test]
fn an_empty_snapshot_is_an_empty_image() {
    assert_eq!(Image::from_snapshot(Image::default().local().clone(), 0, Bytes::new()), Ok(Image::default()));
}

fn step(world: &mut World, random: &mut Random) {
    let name = format!("t{}", random.below(12));
    match random.below(8) {
        0 | 1 => {
            let configs = [("retention.ms", "5"), ("cleanup.policy", "compact")];
            let some = &configs[..random.below(3)];
            let partitions = i32::try_from(random.below(4)).unwrap();
            let _ = world
                .run(&CreateTopics { topics: vec![topic(&name, partitions, some)], validate_only: false });
        }
        2 => {
            let _ = world.run(&DeleteTopics { topics: vec![TopicRef::Name(name)] });
        }
        3 => {
            let count = i32::try_from(random.below(9)).unwrap();
            let topics = vec![NewPartitions { name, count, assignments: None }];
            let _ = world.run(&CreatePartitions { topics, validate_only: false });
        }
        4 => {
            let name =
                ["streams.version", "transaction.version", "share.version"][random.below(3)].to_owned();
            let level = i16::try_from(random.below(3)).unwrap();
            let upgrade_type = if random.below(2) == 0 { 1 } else { 2 };
            let update = FeatureUpdate { name, level, upgrade_type };
            let _ = world.run(&UpdateFeatures { updates: vec![update], validate_only: false });
        }
        5 => {
            world.run(&AllocateProducerIds).unwrap();
        }
        6 => {
            world.run(&RegisterBroker { id: 2, rack: None, endpoints: vec![endpoint()] }).unwrap();
        }
        _ => {
            let (kind, name, key) = [
                (2, name.as_str(), "retention.ms"),
                (4, "", "log.retention.ms"),
                (4, "1", "max.connections"),
                (32, "g", "streams.session.timeout.ms"),
                (16, "m", "interval.ms"),
            ][random.below(5)];
            let op = i8::try_from(random.below(2)).unwrap();
            let value = Some((50_000 + random.below(5)).to_string());
            let ops = vec![ConfigOp { name: key.to_owned(), op, value }];
            let resources = vec![AlterResource { kind, name: name.to_owned(), ops }];
            world.run(&AlterConfigs { resources, validate_only: false }).unwrap();
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}
