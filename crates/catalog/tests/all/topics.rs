//! CreateTopics, DeleteTopics, CreatePartitions: rule numbers are those of `broker-core.md` 5.

use crate::world::{World, code, topic};
use catalog::command::{
    CreatePartitions, CreateTopics, DeleteTopics, NewPartitions, NewTopic, TopicRef, internal_topic,
};
use catalog::config::Source;
use catalog::{ErrorCode, Uuid};

fn create_code(world: &mut World, wish: NewTopic) -> ErrorCode {
    let before = world.image.clone();
    let result = world.create(wish);
    if result.is_err() {
        assert_eq!(world.image, before, "a refused topic changes nothing");
    }
    code(&result)
}

fn assigned(name: &str, assignments: &[(i32, &[i32])]) -> NewTopic {
    let assignments = assignments.iter().map(|(index, replicas)| (*index, replicas.to_vec())).collect();
    NewTopic { assignments, ..NewTopic::with_defaults(name) }
}

/// 5.1 rows 2, 4, 5: names.
#[test]
fn names() {
    let mut world = World::new();
    for bad in ["", ".", "..", "a/b", &"a".repeat(250)] {
        assert_eq!(create_code(&mut world, topic(bad, 1, &[])), ErrorCode::INVALID_TOPIC_EXCEPTION, "{bad}");
    }
    assert_eq!(create_code(&mut world, topic("__cluster_metadata", 1, &[])), ErrorCode::INVALID_REQUEST);
    // Its first partition would have the journal's folder.
    assert_eq!(
        create_code(&mut world, topic("__thalweg_journal", 1, &[])),
        ErrorCode::INVALID_TOPIC_EXCEPTION
    );
    assert_eq!(create_code(&mut world, topic("a.b", 1, &[])), ErrorCode::NONE);
    assert_eq!(create_code(&mut world, topic("a.b", 1, &[])), ErrorCode::TOPIC_ALREADY_EXISTS);
    assert_eq!(create_code(&mut world, topic("a_b", 1, &[])), ErrorCode::INVALID_TOPIC_EXCEPTION);
    assert_eq!(create_code(&mut world, topic("a-b", 1, &[])), ErrorCode::NONE);
}

/// 5.1 row 1, and K-3: colliding new names in one request are both created.
#[test]
fn one_request_with_several_topics() {
    let mut world = World::new();
    let topics = ["dup", "x.y", "dup", "x_y"].map(|name| topic(name, 1, &[])).to_vec();
    let reply = world.run(&CreateTopics { topics, validate_only: false }).unwrap();
    let codes: Vec<_> = reply.iter().map(|(name, result)| (name.as_str(), code(result))).collect();
    assert_eq!(
        codes,
        [("dup", ErrorCode::INVALID_REQUEST), ("x.y", ErrorCode::NONE), ("x_y", ErrorCode::NONE)]
    );
    assert_eq!(world.image.topics().map(|topic| &*topic.name).collect::<Vec<_>>(), ["x.y", "x_y"]);
    assert_eq!(world.changes.topics.len(), 2);
}

/// 5.1 row 6.
#[test]
fn settings_of_a_new_topic() {
    let mut world = World::new();
    for (key, value) in [
        ("no.such.setting", "1"),
        ("retention.ms", "soon"),
        ("retention.ms", "-2"),
        ("message.format.version", "3.0"),
        ("remote.storage.enable", "true"),
        ("retention.ms", &"1".repeat(40_000)),
    ] {
        assert_eq!(
            create_code(&mut world, topic("t", 1, &[(key, value)])),
            ErrorCode::INVALID_CONFIG,
            "{key}"
        );
    }
    let lags = [("min.compaction.lag.ms", "2"), ("max.compaction.lag.ms", "1")];
    assert_eq!(create_code(&mut world, topic("t", 1, &lags)), ErrorCode::INVALID_CONFIG);
    let null = NewTopic { configs: vec![("retention.ms".to_owned(), None)], ..topic("t", 1, &[]) };
    assert_eq!(create_code(&mut world, null), ErrorCode::INVALID_CONFIG);
    // What Streams and Connect send.
    let usual = [
        ("segment.bytes", "52428800"),
        ("cleanup.policy", "compact,delete"),
        ("retention.ms", "-1"),
        ("message.timestamp.type", "CreateTime"),
        ("min.compaction.lag.ms", "0"),
        ("remote.storage.enable", "false"),
        ("compression.zstd.level", "3"),
        ("min.insync.replicas", "2"),
    ];
    assert_eq!(create_code(&mut world, topic("t", 1, &usual)), ErrorCode::NONE);
    assert_eq!(create_code(&mut world, topic("keeps-all", 1, &[("cleanup.policy", "")])), ErrorCode::NONE);
    let settings = world.image.topic_settings(world.image.topic("t").unwrap());
    assert_eq!((settings.segment_bytes, settings.retention_ms), (52_428_800, -1));
    assert!(settings.cleanup_policy.compact && settings.cleanup_policy.delete);
}

/// 5.1 rows 7 to 11.
#[test]
fn counts_and_assignments() {
    let mut world = World::with_three_brokers(&[]);
    let mut check = |wish: NewTopic, expected: ErrorCode| {
        assert_eq!(create_code(&mut world, wish.clone()), expected, "{wish:?}");
    };
    let both = NewTopic { num_partitions: 1, ..assigned("t", &[(0, &[1])]) };
    check(both, ErrorCode::INVALID_REQUEST);
    let both = NewTopic { replication_factor: 1, ..assigned("t", &[(0, &[1])]) };
    check(both, ErrorCode::INVALID_REQUEST);
    for wrong in [
        &[(1, &[1][..])][..],
        &[(0, &[1]), (0, &[2])],
        &[(0, &[1]), (2, &[2])],
        &[(0, &[])],
        &[(0, &[9])],
        &[(0, &[1, 1])],
        &[(0, &[1, 2]), (1, &[1])],
    ] {
        check(assigned("t", wrong), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
    }
    for factor in [0, -2, 4] {
        let wish = NewTopic { replication_factor: factor, ..topic("t", 1, &[]) };
        check(wish, ErrorCode::INVALID_REPLICATION_FACTOR);
    }
    check(topic("t", 0, &[]), ErrorCode::INVALID_PARTITIONS);
    check(topic("t", -2, &[]), ErrorCode::INVALID_PARTITIONS);
    check(assigned("t", &[(1, &[2, 3]), (0, &[1, 2])]), ErrorCode::NONE);
    let partitions = &world.image.topic("t").unwrap().partitions;
    assert_eq!((partitions[0].replicas.as_slice(), partitions[0].leader), (&[1, 2][..], 1));
    assert_eq!((partitions[1].replicas.as_slice(), partitions[1].leader), (&[2, 3][..], 2));
}

/// Decision 9: with the policy `accept` the factor is kept as asked and no broker is listed that does not exist.
#[test]
fn replication_factor_policy_accept() {
    let mut world = World::with(&[("thalweg.replication.factor.policy", "accept")]);
    let created = world.create(NewTopic { replication_factor: 3, ..topic("t", 1, &[]) }).unwrap();
    assert_eq!(created.replication_factor, 3);
    let stored = world.image.topic("t").unwrap();
    assert_eq!((stored.replication_factor, stored.partitions[0].replicas.as_slice()), (3, &[1][..]));
    let zero = NewTopic { replication_factor: 0, ..topic("u", 1, &[]) };
    assert_eq!(create_code(&mut world, zero), ErrorCode::INVALID_REPLICATION_FACTOR);
}

/// 5.1: defaults for -1, and what the response carries.
#[test]
fn defaults_and_the_response() {
    let mut world = World::with(&[("num.partitions", "4"), ("log.retention.hours", "24")]);
    let wish = NewTopic {
        configs: vec![("max.message.bytes".to_owned(), Some(" 5 ".to_owned()))],
        ..NewTopic::with_defaults("t")
    };
    let created = world.create(wish).unwrap();
    assert_eq!((created.num_partitions, created.replication_factor), (4, 1));
    let stored = world.image.topic("t").unwrap();
    assert_eq!((stored.id, stored.partitions.len()), (created.id, 4));
    let names: Vec<&str> = created.configs.iter().map(|entry| entry.name.as_str()).collect();
    assert!(names.is_sorted() && names.len() == 37, "all settings but the internal ones: {}", names.len());
    let entry = |name: &str| {
        let entry = created.configs.iter().find(|entry| entry.name == name).unwrap();
        (entry.value.clone().unwrap(), entry.source, entry.read_only)
    };
    assert_eq!(entry("max.message.bytes"), ("5".to_owned(), Source::Topic, false));
    assert_eq!(entry("retention.ms"), ("86400000".to_owned(), Source::StaticBroker, false));
    assert_eq!(entry("segment.bytes"), ("1073741824".to_owned(), Source::Default, false));
}

/// 5.1: validateOnly answers like the real thing and stores nothing.
#[test]
fn validate_only() {
    let mut world = World::new();
    let command = CreateTopics { topics: vec![NewTopic::with_defaults("t")], validate_only: true };
    let reply = world.run(&command).unwrap();
    let created = reply[0].1.as_ref().unwrap();
    assert_eq!((created.num_partitions, created.replication_factor), (1, 1));
    assert!(!created.id.is_zero() && world.image.topic("t").is_none());
}

/// 5: ids are version 4, never zero, never begin with `-`; partition ids are never used again.
#[test]
fn ids() {
    let mut world = World::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut partition_ids = std::collections::BTreeSet::new();
    for _ in 0..300 {
        let id = world.create(topic("t", 2, &[])).unwrap().id;
        assert!(seen.insert(id));
        assert_eq!((id.0[6] >> 4, id.0[8] >> 6), (4, 2));
        assert!(!id.to_string().starts_with('-'), "{id}");
        let partitions = world.image.topic("t").unwrap().partitions.clone();
        assert!(partitions.iter().all(|partition| partition_ids.insert(partition.id)));
        world.run(&DeleteTopics { topics: vec![TopicRef::Id(id)] }).unwrap();
    }
}

/// 5: more than 10,000 records in one request fail it as a whole.
#[test]
fn too_much_at_once() {
    let mut world = World::new();
    let many = |count| CreateTopics {
        topics: vec![topic("a", 5000, &[]), topic("b", count, &[])],
        validate_only: false,
    };
    assert_eq!(world.run(&many(5000)).unwrap_err().code, ErrorCode::POLICY_VIOLATION);
    assert_eq!(world.image.topic_count(), 0);
    assert!(world.run(&many(4998)).is_ok());
    assert_eq!(world.image.topic_count(), 2);
    let huge = CreateTopics { topics: vec![topic("c", i32::MAX, &[])], validate_only: false };
    assert_eq!(world.run(&huge).unwrap_err().code, ErrorCode::POLICY_VIOLATION);
}

/// 20.2 trap, classic-and-consumer-groups 5.7: internal topics are compacted, their factor is clamped.
#[test]
fn internal_topics() {
    let mut world =
        World::with(&[("offsets.topic.num.partitions", "7"), ("offsets.topic.segment.bytes", "2000000")]);
    let wish = internal_topic(&world.image, "__consumer_offsets").unwrap();
    world.create(wish).unwrap();
    let stored = world.image.topic("__consumer_offsets").unwrap();
    assert!(stored.internal);
    assert_eq!((stored.partitions.len(), stored.replication_factor), (7, 1));
    let settings = world.image.topic_settings(stored);
    assert!(settings.cleanup_policy.compact && !settings.cleanup_policy.delete);
    assert_eq!(settings.segment_bytes, 2_000_000);
    for name in ["__transaction_state", "__share_group_state"] {
        let wish = internal_topic(&world.image, name).unwrap();
        assert_eq!((wish.num_partitions, wish.replication_factor), (50, 1));
        world.create(wish).unwrap();
    }
    assert_eq!(internal_topic(&world.image, "orders"), None);
}

/// The settings allow any size, topics do not (KIP-1030).
#[test]
fn small_segments_of_internal_topics() {
    let topics = [
        ("offsets.topic.segment.bytes", "__consumer_offsets"),
        ("transaction.state.log.segment.bytes", "__transaction_state"),
        ("share.coordinator.state.topic.segment.bytes", "__share_group_state"),
    ];
    for (setting, name) in topics {
        let mut world = World::with(&[(setting, "1")]);
        world.create(internal_topic(&world.image, name).unwrap()).unwrap();
        let stored = world.image.topic(name).unwrap();
        assert_eq!(world.image.topic_settings(stored).segment_bytes, 1 << 20, "{setting}");
    }
}

/// 5.2 rules 1, 2, 4, 8.
#[test]
fn delete_topics() {
    let mut world = World::new();
    let ids: Vec<Uuid> = ["a", "b", "c"].map(|name| world.create(topic(name, 2, &[])).unwrap().id).to_vec();
    let name = |name: &str| TopicRef::Name(name.to_owned());
    let missing = Uuid([9; 16]);
    let topics = vec![
        name("a"),
        name("b"),
        TopicRef::Id(ids[1]),
        name("gone"),
        TopicRef::Id(missing),
        name("gone2"),
        name("gone2"),
    ];
    let reply = world.run(&DeleteTopics { topics }).unwrap();
    let codes: Vec<_> = reply.iter().map(|(topic, result)| (topic.clone(), code(result))).collect();
    assert_eq!(
        codes,
        [
            (name("a"), ErrorCode::NONE),
            (name("b"), ErrorCode::INVALID_REQUEST),
            (name("gone"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            (TopicRef::Id(missing), ErrorCode::UNKNOWN_TOPIC_ID),
            (name("gone2"), ErrorCode::INVALID_REQUEST),
        ]
    );
    let deleted = reply[0].1.as_ref().unwrap();
    assert_eq!((&*deleted.name, deleted.id), ("a", ids[0]));
    assert_eq!(world.changes.deleted.len(), 1);
    assert!(world.image.topic("a").is_none() && world.image.topic_by_id(ids[0]).is_none());
    let again = world.create(topic("a", 1, &[])).unwrap();
    assert_ne!(again.id, ids[0]);
    assert!(world.image.topic("b").is_some());
}

#[test]
fn delete_topics_is_disabled_or_unclear() {
    let mut world = World::with(&[("delete.topic.enable", "false")]);
    let refused = world.run(&DeleteTopics { topics: vec![] }).unwrap_err();
    assert_eq!(refused.code, ErrorCode::TOPIC_DELETION_DISABLED);
    assert_eq!(TopicRef::new(None, Uuid::ZERO).unwrap_err().code, ErrorCode::INVALID_REQUEST);
    assert_eq!(TopicRef::new(Some("a"), Uuid([1; 16])).unwrap_err().code, ErrorCode::INVALID_REQUEST);
    assert!(TopicRef::new(Some("a"), Uuid::ZERO).is_ok() && TopicRef::new(None, Uuid([1; 16])).is_ok());
}

/// 5.3 rules 1 to 5; the count is the total (25, trap 28).
#[test]
fn create_partitions() {
    let mut world = World::with_three_brokers(&[]);
    world.create(NewTopic { replication_factor: 2, ..topic("t", 2, &[]) }).unwrap();
    let mut grow = |name: &str, count: i32, assignments: Option<&[&[i32]]>, validate_only: bool| {
        let assignments = assignments.map(|lists| lists.iter().map(|list| list.to_vec()).collect());
        let topics = vec![NewPartitions { name: name.to_owned(), count, assignments }];
        let reply = world.run(&CreatePartitions { topics, validate_only }).unwrap();
        (code(&reply[0].1), world.image.topic("t").unwrap().partitions.len())
    };
    assert_eq!(grow("gone", 3, None, false), (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, 2));
    for count in [-1, 0, 1, 2] {
        assert_eq!(grow("t", count, None, false), (ErrorCode::INVALID_PARTITIONS, 2));
    }
    let wrong: [&[&[i32]]; 5] = [&[], &[&[1, 2], &[1, 2]], &[&[1]], &[&[1, 9]], &[&[1, 1]]];
    for assignments in wrong {
        assert_eq!(grow("t", 3, Some(assignments), false), (ErrorCode::INVALID_REPLICA_ASSIGNMENT, 2));
    }
    assert_eq!(grow("t", 4, None, true), (ErrorCode::NONE, 2));
    assert_eq!(grow("t", 3, Some(&[&[3, 1]]), false), (ErrorCode::NONE, 3));
    assert_eq!(grow("t", 5, None, false), (ErrorCode::NONE, 5));
    let partitions = &world.image.topic("t").unwrap().partitions;
    assert_eq!(partitions[2].replicas, [3, 1]);
    assert!(
        partitions
            .iter()
            .zip(0..)
            .all(|(partition, index)| partition.index == index && partition.replicas.len() == 2)
    );
    let twice = NewPartitions { name: "t".to_owned(), count: 9, assignments: None };
    let reply =
        world.run(&CreatePartitions { topics: vec![twice.clone(), twice], validate_only: false }).unwrap();
    assert_eq!((reply.len(), code(&reply[0].1)), (1, ErrorCode::INVALID_REQUEST));
}
