//! IncrementalAlterConfigs, AlterConfigs and DescribeConfigs: rule numbers are those of `broker-core.md` 6.

use crate::world::{World, code, topic};
use catalog::command::{AlterConfigs, AlterResource, ConfigOp, ReplaceConfigs, ReplaceResource};
use catalog::config::describe::{self, ConfigEntry};
use catalog::config::{Compression, Source};
use catalog::{ErrorCode, Refusal};

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const METRICS: i8 = 16;
const GROUP: i8 = 32;

fn resource(kind: i8, name: &str, ops: &[(&str, i8, Option<&str>)]) -> AlterResource {
    let op = |(name, op, value): &(&str, i8, Option<&str>)| ConfigOp {
        name: (*name).to_owned(),
        op: *op,
        value: value.map(str::to_owned),
    };
    AlterResource { kind, name: name.to_owned(), ops: ops.iter().map(op).collect() }
}

fn alter(world: &mut World, kind: i8, name: &str, ops: &[(&str, i8, Option<&str>)]) -> Result<(), Refusal> {
    let before = world.image.clone();
    let command = AlterConfigs { resources: vec![resource(kind, name, ops)], validate_only: false };
    let result = world.run(&command).unwrap().remove(0);
    if result.is_err() {
        assert_eq!(world.image, before, "a refused resource does not change");
    }
    result
}

fn set(world: &mut World, kind: i8, name: &str, key: &str, value: &str) -> ErrorCode {
    code(&alter(world, kind, name, &[(key, SET, Some(value))]))
}

fn own(world: &World, name: &str) -> Vec<(String, String)> {
    world.image.topic(name).unwrap().configs.clone().into_iter().collect()
}

fn world_with_topic() -> World {
    let mut world = World::new();
    world.create(topic("t", 1, &[])).unwrap();
    world
}

/// 6.2 rows 1 to 4.
#[test]
fn malformed_requests() {
    let mut world = world_with_topic();
    let twice = resource(TOPIC, "t", &[("retention.ms", SET, Some("1"))]);
    let other = resource(TOPIC, "gone", &[("retention.ms", SET, Some("1"))]);
    let reply = world
        .run(&AlterConfigs { resources: vec![twice.clone(), other, twice], validate_only: false })
        .unwrap();
    let codes: Vec<ErrorCode> = reply.iter().map(code).collect();
    let invalid = ErrorCode::INVALID_REQUEST;
    assert_eq!(codes, [invalid, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, invalid]);
    for ops in [
        &[("retention.ms", SET, Some("1")), ("retention.ms", DELETE, None)][..],
        &[("retention.ms", SET, None)],
        &[("cleanup.policy", APPEND, None)],
        // Kafka's controller resigns here (29, bugs); it is one bad resource.
        &[("retention.ms", 4, Some("1"))],
    ] {
        assert_eq!(code(&alter(&mut world, TOPIC, "t", ops)), invalid, "{ops:?}");
    }
    assert_eq!(set(&mut world, 3, "t", "retention.ms", "1"), invalid);
}

/// 6.2 rows 6, 7, 9, 10, 11.
#[test]
fn topics() {
    let mut world = world_with_topic();
    assert_eq!(set(&mut world, TOPIC, "", "retention.ms", "1"), ErrorCode::INVALID_REQUEST);
    assert_eq!(set(&mut world, TOPIC, "a/b", "retention.ms", "1"), ErrorCode::INVALID_TOPIC_EXCEPTION);
    assert_eq!(set(&mut world, TOPIC, "gone", "retention.ms", "1"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(set(&mut world, TOPIC, "t", "no.such.setting", "1"), ErrorCode::INVALID_CONFIG);
    assert_eq!(set(&mut world, TOPIC, "t", "retention.ms", "-2"), ErrorCode::INVALID_CONFIG);
    assert_eq!(set(&mut world, TOPIC, "t", "cleanup.policy", &"x".repeat(32_768)), ErrorCode::INVALID_CONFIG);
    let append = alter(&mut world, TOPIC, "t", &[("retention.ms", APPEND, Some("1"))]);
    assert_eq!(code(&append), ErrorCode::INVALID_CONFIG);
    assert_eq!(set(&mut world, TOPIC, "t", "retention.ms", "1000"), ErrorCode::NONE);
    assert!(world.changes.topics.contains("t"));
    // One bad key fails its resource.
    let ops = [("retention.ms", SET, Some("2000")), ("segment.bytes", SET, Some("1"))];
    assert_eq!(code(&alter(&mut world, TOPIC, "t", &ops)), ErrorCode::INVALID_CONFIG);
    assert_eq!(own(&world, "t"), [("retention.ms".to_owned(), "1000".to_owned())]);
    // What results is judged, not what is said.
    assert_eq!(set(&mut world, TOPIC, "t", "max.compaction.lag.ms", "5"), ErrorCode::NONE);
    assert_eq!(set(&mut world, TOPIC, "t", "min.compaction.lag.ms", "6"), ErrorCode::INVALID_CONFIG);
    // DELETE of what is not there succeeds.
    assert_eq!(code(&alter(&mut world, TOPIC, "t", &[("flush.ms", DELETE, None)])), ErrorCode::NONE);
    let ops = [("retention.ms", DELETE, None), ("max.compaction.lag.ms", DELETE, None)];
    assert_eq!(code(&alter(&mut world, TOPIC, "t", &ops)), ErrorCode::NONE);
    assert_eq!(own(&world, "t"), []);
}

/// 6.2 semantics: APPEND and SUBTRACT begin with the own value, else with the default.
#[test]
fn lists() {
    let mut world = world_with_topic();
    let mut policy = |op: i8, value: &str| {
        alter(&mut world, TOPIC, "t", &[("cleanup.policy", op, Some(value))]).unwrap();
        world.image.topic("t").unwrap().configs["cleanup.policy"].clone()
    };
    assert_eq!(policy(APPEND, "compact"), "delete,compact");
    assert_eq!(policy(APPEND, "delete,compact"), "delete,compact");
    assert_eq!(policy(SUBTRACT, "delete"), "compact");
    assert_eq!(policy(SUBTRACT, "delete,compact"), "");
    assert_eq!(policy(APPEND, "delete"), "delete");
}

/// 6.2: ValidateOnly checks and changes nothing; setting what is set writes nothing.
#[test]
fn validate_only_and_no_change() {
    let mut world = world_with_topic();
    let resources = vec![resource(TOPIC, "t", &[("retention.ms", SET, Some("1"))])];
    let reply = world.run(&AlterConfigs { resources: resources.clone(), validate_only: true }).unwrap();
    assert_eq!(
        (reply.iter().map(code).collect::<Vec<_>>(), own(&world, "t")),
        (vec![ErrorCode::NONE], vec![])
    );
    world.run(&AlterConfigs { resources: resources.clone(), validate_only: false }).unwrap();
    let version = world.image.version();
    world.run(&AlterConfigs { resources, validate_only: false }).unwrap();
    assert_eq!(world.image.version(), version);
}

/// 6.2 row 8 and 20.3.
#[test]
fn brokers() {
    let mut world = world_with_topic();
    let invalid = ErrorCode::INVALID_REQUEST;
    for (name, key, value, expected) in [
        ("2", "max.connections", "5", invalid),
        ("one", "max.connections", "5", invalid),
        ("1", "num.partitions", "5", invalid),
        ("", "ssl.truststore.location", "/t", invalid),
        ("1", "ssl.truststore.location", "/t", invalid),
        ("1", "listener.name.tls.ssl.truststore.location", "/t", ErrorCode::NONE),
        ("", "listener.name.tls.ssl.truststore.location", "/t", invalid),
        ("1", "max.connections", "-1", invalid),
        ("1", "num.io.threads", "17", invalid),
        ("1", "num.io.threads", "3", invalid),
        ("1", "num.io.threads", "16", ErrorCode::NONE),
        ("1", "num.io.threads", "32", ErrorCode::NONE),
        ("1", "own.plugin.setting", "x", ErrorCode::NONE),
        ("1", "max.connections", "9", ErrorCode::NONE),
        ("", "max.connections", "5", ErrorCode::NONE),
        ("", "log.retention.ms", "1234", ErrorCode::NONE),
    ] {
        assert_eq!(set(&mut world, BROKER, name, key, value), expected, "{name} {key}={value}");
        assert_eq!(world.changes.settings, expected == ErrorCode::NONE);
    }
    assert_eq!(world.image.broker().max_connections, 9, "the broker's own value comes before the cluster's");
    assert_eq!(world.image.topic_settings(world.image.topic("t").unwrap()).retention_ms, 1234);
    alter(&mut world, BROKER, "1", &[("max.connections", DELETE, None)]).unwrap();
    assert_eq!(world.image.broker().max_connections, 5);
}

/// streams-groups C-2, scenarios 318, 319, 321, 322; classic-and-consumer-groups 23.2.
#[test]
fn groups() {
    let mut world = World::new();
    assert_eq!(set(&mut world, GROUP, "", "streams.session.timeout.ms", "50000"), ErrorCode::INVALID_REQUEST);
    for (key, value) in [
        ("no.such.setting", "1"),
        ("streams.session.timeout.ms", "44999"),
        ("streams.session.timeout.ms", "60001"),
        ("streams.heartbeat.interval.ms", "4999"),
        ("streams.heartbeat.interval.ms", "15001"),
        ("streams.num.standby.replicas", "3"),
        ("streams.num.standby.replicas", "-1"),
        ("streams.assignment.interval.ms", "15001"),
        ("streams.initial.rebalance.delay.ms", "-1"),
        ("streams.task.offset.interval.ms", "14999"),
        ("streams.num.warmup.replicas", "21"),
        ("streams.acceptable.recovery.lag", "-1"),
        ("streams.rack.aware.assignment.tags", "zone,,cluster"),
        ("streams.assignor.name", "org.example.Own"),
        ("consumer.session.timeout.ms", "44999"),
        ("share.record.lock.duration.ms", "14999"),
    ] {
        assert_eq!(set(&mut world, GROUP, "g", key, value), ErrorCode::INVALID_CONFIG, "{key}={value}");
    }
    let ops = [
        ("streams.session.timeout.ms", SET, Some("50000")),
        ("streams.heartbeat.interval.ms", SET, Some("10000")),
        ("streams.num.standby.replicas", SET, Some("2")),
        ("streams.rack.aware.assignment.tags", SET, Some("zone,cluster")),
        ("streams.assignor.name", SET, Some("sticky")),
    ];
    alter(&mut world, GROUP, "g", &ops).unwrap();
    assert!(world.changes.groups.contains("g"));
    let streams = &world.image.group_settings("g").streams;
    assert_eq!((streams.session_timeout_ms, streams.heartbeat_interval_ms), (50_000, 10_000));
    assert_eq!((streams.num_standby_replicas, streams.initial_rebalance_delay_ms), (2, 3000));
    assert_eq!(streams.rack_aware_assignment_tags, ["zone", "cluster"]);
    assert_eq!(world.image.group_settings("other").streams.session_timeout_ms, 45_000);
    // 23.2 rule 5: without values the group is not listed.
    assert_eq!(world.image.configured_groups().count(), 1);
    let ops: Vec<_> = ops.iter().map(|(key, _, _)| (*key, DELETE, None)).collect();
    alter(&mut world, GROUP, "g", &ops).unwrap();
    assert_eq!(world.image.configured_groups().count(), 0);
}

/// C-2: the session must outlive a heartbeat after merging.
#[test]
fn a_session_must_outlive_a_heartbeat() {
    let mut world = World::with(&[("group.streams.min.session.timeout.ms", "9000")]);
    assert_eq!(set(&mut world, GROUP, "g", "streams.heartbeat.interval.ms", "10000"), ErrorCode::NONE);
    assert_eq!(set(&mut world, GROUP, "g", "streams.session.timeout.ms", "10000"), ErrorCode::INVALID_CONFIG);
    assert_eq!(set(&mut world, GROUP, "g", "streams.session.timeout.ms", "10001"), ErrorCode::NONE);
}

/// classic-and-consumer-groups 23.2 rule 3: a change of the broker's dynamic value reaches groups with other values.
#[test]
fn groups_follow_the_broker() {
    let mut world = World::new();
    assert_eq!(set(&mut world, GROUP, "g", "streams.num.standby.replicas", "1"), ErrorCode::NONE);
    assert_eq!(set(&mut world, BROKER, "", "group.streams.assignment.interval.ms", "2000"), ErrorCode::NONE);
    assert_eq!(world.image.group_settings("g").streams.assignment_interval_ms, 2000);
    assert_eq!(world.image.group_settings("h").streams.assignment_interval_ms, 2000);
}

/// K-6 and 6.6.
#[test]
fn client_metrics() {
    let mut world = World::new();
    let append = alter(&mut world, METRICS, "m", &[("metrics", APPEND, Some("a"))]);
    assert_eq!(code(&append), ErrorCode::INVALID_CONFIG);
    assert_eq!(set(&mut world, METRICS, "m", "no.such", "1"), ErrorCode::INVALID_REQUEST);
    assert_eq!(set(&mut world, METRICS, "m", "interval.ms", "99"), ErrorCode::INVALID_REQUEST);
    assert_eq!(set(&mut world, METRICS, "m", "match", "client=a"), ErrorCode::INVALID_CONFIG);
    assert_eq!(set(&mut world, METRICS, "m", "match", "client_id=a.*"), ErrorCode::NONE);
    assert_eq!(set(&mut world, METRICS, "", "interval.ms", "1000"), ErrorCode::INVALID_REQUEST);
    assert_eq!(world.image.client_metrics_names().map(|name| &**name).collect::<Vec<_>>(), ["m"]);
}

/// 6.3: what is not named goes.
#[test]
fn replace_configs() {
    let mut world = World::new();
    world.create(topic("t", 1, &[("retention.ms", "1"), ("segment.ms", "2")])).unwrap();
    let mut replace = |configs: &[(&str, Option<&str>)]| {
        let configs =
            configs.iter().map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned))).collect();
        let resources = vec![ReplaceResource { kind: TOPIC, name: "t".to_owned(), configs }];
        code(&world.run(&ReplaceConfigs { resources, validate_only: false }).unwrap()[0])
    };
    assert_eq!(replace(&[("retention.ms", None)]), ErrorCode::INVALID_REQUEST);
    assert_eq!(replace(&[("retention.ms", Some("x"))]), ErrorCode::INVALID_CONFIG);
    assert_eq!(replace(&[("segment.ms", Some("3")), ("compression.type", Some("zstd"))]), ErrorCode::NONE);
    let settings = world.image.topic_settings(world.image.topic("t").unwrap());
    assert_eq!((settings.segment_ms, settings.compression_type), (3, Compression::Zstd));
    assert_eq!(settings.retention_ms, 604_800_000);
}

fn describe(world: &World, kind: i8, name: &str, key: &str) -> ConfigEntry {
    let mut entries = describe::resource(&world.image, kind, name, Some(&[key])).unwrap();
    assert_eq!(entries.len(), 1, "{key}");
    entries.remove(0)
}

fn synonyms(entry: &ConfigEntry) -> Vec<(&str, &str, Source)> {
    entry
        .synonyms
        .iter()
        .map(|it| (it.name.as_str(), it.value.as_deref().unwrap_or("null"), it.source))
        .collect()
}

/// 6.1: sources and synonyms of a topic.
#[test]
fn describe_topics() {
    let mut world = World::with(&[("message.max.bytes", "2000"), ("log.retention.hours", "24")]);
    world.create(topic("t", 1, &[("retention.ms", "1000")])).unwrap();
    let retention = describe(&world, TOPIC, "t", "retention.ms");
    assert_eq!((retention.value.as_deref(), retention.source), (Some("1000"), Source::Topic));
    assert_eq!(synonyms(&retention)[0], ("retention.ms", "1000", Source::Topic));
    let bytes = describe(&world, TOPIC, "t", "max.message.bytes");
    assert_eq!((bytes.value.as_deref(), bytes.source, bytes.kind), (Some("2000"), Source::StaticBroker, 3));
    assert_eq!(
        synonyms(&bytes),
        [
            ("message.max.bytes", "2000", Source::StaticBroker),
            ("message.max.bytes", "1048588", Source::Default)
        ]
    );
    set(&mut world, BROKER, "", "message.max.bytes", "3000");
    set(&mut world, BROKER, "1", "message.max.bytes", "4000");
    let bytes = describe(&world, TOPIC, "t", "max.message.bytes");
    assert_eq!(
        synonyms(&bytes)[..2],
        [
            ("message.max.bytes", "4000", Source::DynamicBroker),
            ("message.max.bytes", "3000", Source::DynamicDefaultBroker)
        ]
    );
    assert_eq!((bytes.value.as_deref(), bytes.source), (Some("4000"), Source::DynamicBroker));
    let policy = describe(&world, TOPIC, "t", "cleanup.policy");
    assert_eq!((policy.value.as_deref(), policy.source, policy.kind), (Some("delete"), Source::Default, 7));
    assert!(!policy.read_only && !policy.is_sensitive);
    // A setting without a broker's synonym, and one whose first synonym has no value.
    assert!(describe(&world, TOPIC, "t", "remote.storage.enable").synonyms.is_empty());
    let flush = describe(&world, TOPIC, "t", "flush.ms");
    assert_eq!((flush.value.as_deref(), flush.source), (Some("9223372036854775807"), Source::Default));
    assert!(flush.synonyms.is_empty());
}

/// 6.1: errors per resource, and the keys asked for.
#[test]
fn describe_errors() {
    let world = world_with_topic();
    let code_of = |kind, name| code(&describe::resource(&world.image, kind, name, None));
    assert_eq!(code_of(TOPIC, "gone"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(code_of(TOPIC, "a/b"), ErrorCode::INVALID_TOPIC_EXCEPTION);
    assert_eq!(code_of(BROKER, "2"), ErrorCode::INVALID_REQUEST);
    assert_eq!(code_of(BROKER, "x"), ErrorCode::INVALID_REQUEST);
    assert_eq!(code_of(GROUP, ""), ErrorCode::INVALID_REQUEST);
    assert_eq!(code_of(METRICS, ""), ErrorCode::INVALID_REQUEST);
    assert_eq!(code_of(METRICS, "unknown"), ErrorCode::NONE);
    assert_eq!(code_of(GROUP, "unknown"), ErrorCode::NONE);
    let some = describe::resource(&world.image, TOPIC, "t", Some(&["retention.ms", "no.such"])).unwrap();
    assert_eq!(some.len(), 1);
    assert_eq!(describe::resource(&world.image, TOPIC, "t", Some(&[])).unwrap(), []);
    assert_eq!(describe::resource(&world.image, TOPIC, "t", None).unwrap().len(), 37);
}

/// 6.1: BROKER "" shows what is set for all; "n" shows everything.
#[test]
fn describe_brokers() {
    let mut world =
        World::with(&[("ssl.key.password", "secret"), ("own.name", "x"), ("num.partitions", "3")]);
    assert_eq!(describe::resource(&world.image, BROKER, "", None).unwrap(), []);
    set(&mut world, BROKER, "", "max.connections", "5");
    set(&mut world, BROKER, "1", "max.connections", "6");
    let defaults = describe::resource(&world.image, BROKER, "", None).unwrap();
    assert_eq!(defaults.len(), 1);
    assert_eq!((defaults[0].value.as_deref(), defaults[0].source), (Some("5"), Source::DynamicDefaultBroker));
    assert_eq!(synonyms(&defaults[0]), [("max.connections", "5", Source::DynamicDefaultBroker)]);
    let connections = describe(&world, BROKER, "1", "max.connections");
    assert_eq!(connections.synonyms.len(), 3);
    assert_eq!((connections.value.as_deref(), connections.read_only), (Some("6"), false));
    let partitions = describe(&world, BROKER, "1", "num.partitions");
    assert_eq!((partitions.source, partitions.read_only), (Source::StaticBroker, true));
    let secret = describe(&world, BROKER, "1", "ssl.key.password");
    assert_eq!((secret.value.as_deref(), secret.is_sensitive, secret.kind), (None, true, 9));
    assert_eq!(synonyms(&secret), [("ssl.key.password", "null", Source::StaticBroker)]);
    let unknown = describe(&world, BROKER, "1", "own.name");
    assert_eq!((unknown.value.as_deref(), unknown.is_sensitive, unknown.kind), (None, true, 0));
    let retention = describe(&world, BROKER, "1", "log.retention.ms");
    assert_eq!((retention.value.as_deref(), retention.source), (None, Source::Default));
    assert_eq!(
        synonyms(&describe(&world, BROKER, "1", "log.retention.hours")),
        [("log.retention.hours", "168", Source::Default)]
    );
}

/// Decision 5: the profile `kafka` shows what Kafka shows.
#[test]
fn profiles() {
    let count = |settings: &[(&str, &str)], kind, name| {
        let world = World::with(settings);
        let entries = describe::resource(&world.image, kind, name, None).unwrap();
        entries
            .iter()
            .filter(|entry| entry.name.starts_with("thalweg.") || entry.name.ends_with("recovery.lag"))
            .count()
    };
    let kafka = [("thalweg.profile", "kafka")];
    assert!(count(&[], BROKER, "1") > 5);
    assert_eq!(count(&kafka, BROKER, "1"), 1, "only what is set");
    assert_eq!(count(&[], GROUP, "g"), 2);
    assert_eq!(count(&kafka, GROUP, "g"), 0);
}

/// streams-groups K-9: what DescribeConfigs lists for a group, `sticky` when unset.
#[test]
fn describe_groups() {
    let mut world =
        World::with(&[("group.streams.session.timeout.ms", "50000"), ("thalweg.profile", "kafka")]);
    set(&mut world, GROUP, "g", "streams.num.standby.replicas", "1");
    let names: Vec<String> =
        describe::resource(&world.image, GROUP, "g", None).unwrap().into_iter().map(|it| it.name).collect();
    let streams: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix("streams.")).collect();
    assert_eq!(
        streams,
        [
            "assignment.interval.ms",
            "assignor.name",
            "heartbeat.interval.ms",
            "initial.rebalance.delay.ms",
            "num.standby.replicas",
            "rack.aware.assignment.tags",
            "session.timeout.ms"
        ]
    );
    assert_eq!(describe(&world, GROUP, "g", "streams.assignor.name").value.as_deref(), Some("sticky"));
    let standby = describe(&world, GROUP, "g", "streams.num.standby.replicas");
    assert_eq!((standby.value.as_deref(), standby.source), (Some("1"), Source::Group));
    assert_eq!(synonyms(&standby)[1], ("group.streams.num.standby.replicas", "0", Source::Default));
    let session = describe(&world, GROUP, "g", "streams.session.timeout.ms");
    assert_eq!((session.value.as_deref(), session.source), (Some("50000"), Source::StaticBroker));
}
