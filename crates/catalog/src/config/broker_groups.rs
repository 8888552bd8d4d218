//! Broker settings. Groups and committed offsets.

use super::row::Kind::{Boolean, Class, Int, List, Long, Short, String};
use super::row::{Row, Valid};

pub(super) const ROWS: &[Row] = &[
    Row::broker("group.consumer.assignment.interval.ms", Int, Some("1000"))
        .at_least(0)
        .cluster_wide()
        .honoured("Shortest time between two assignments of a consumer group."),
    Row::broker("group.consumer.assignor.offload.enable", Boolean, Some("true"))
        .cluster_wide()
        .internal()
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("group.consumer.assignors", List, Some("uniform,range"))
        .valid(Valid::NonEmptyList)
        .honoured("Assignors that consumer groups may use; the first one is the default."),
    Row::broker("group.consumer.heartbeat.interval.ms", Int, Some("5000"))
        .at_least(1)
        .honoured("Heartbeat interval that members of consumer groups are told."),
    Row::broker("group.consumer.max.assignment.interval.ms", Int, Some("15000"))
        .at_least(0)
        .honoured("Longest assignment interval of a consumer group."),
    Row::broker("group.consumer.max.heartbeat.interval.ms", Int, Some("15000"))
        .at_least(1)
        .honoured("Longest heartbeat interval of a consumer group."),
    Row::broker("group.consumer.max.session.timeout.ms", Int, Some("60000"))
        .at_least(1)
        .honoured("Longest session timeout of a consumer group."),
    Row::broker("group.consumer.max.size", Int, Some("2147483647"))
        .at_least(1)
        .honoured("Most members of a consumer group."),
    Row::broker("group.consumer.migration.policy", String, Some("bidirectional"))
        .valid(Valid::OneOfNoCase(&["DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"]))
        .honoured("Whether groups with members change between the classic and the consumer protocol."),
    Row::broker("group.consumer.min.assignment.interval.ms", Int, Some("0"))
        .at_least(0)
        .honoured("Shortest assignment interval of a consumer group."),
    Row::broker("group.consumer.min.heartbeat.interval.ms", Int, Some("5000"))
        .at_least(1)
        .honoured("Shortest heartbeat interval of a consumer group."),
    Row::broker("group.consumer.min.session.timeout.ms", Int, Some("45000"))
        .at_least(1)
        .honoured("Shortest session timeout of a consumer group."),
    Row::broker("group.consumer.regex.refresh.interval.ms", Int, Some("600000"))
        .at_least(10000)
        .internal()
        .honoured("How often regular expressions of subscriptions are looked up anew."),
    Row::broker("group.consumer.session.timeout.ms", Int, Some("45000"))
        .at_least(1)
        .honoured("How long a silent member stays in a consumer group."),
    Row::broker("group.coordinator.append.linger.ms", Int, Some("-1"))
        .at_least(-1)
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("group.coordinator.background.threads", Int, Some("2"))
        .at_least(1)
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("group.coordinator.cached.buffer.max.bytes", Int, Some("1048588"))
        .at_least(524288)
        .cluster_wide()
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("group.coordinator.rebalance.protocols", List, Some("classic,consumer,streams"))
        .valid(Valid::Items(&["consumer", "classic", "share", "streams"], false))
        .honoured("Group types that are served."),
    Row::broker("group.coordinator.threads", Int, Some("4"))
        .at_least(1)
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("group.initial.rebalance.delay.ms", Int, Some("3000"))
        .honoured("How long a new classic group waits for more members."),
    Row::broker("group.max.session.timeout.ms", Int, Some("1800000"))
        .honoured("Longest session timeout of a classic member."),
    Row::broker("group.max.size", Int, Some("2147483647"))
        .at_least(1)
        .honoured("Most members of a classic group."),
    Row::broker("group.min.session.timeout.ms", Int, Some("6000"))
        .honoured("Shortest session timeout of a classic member."),
    Row::broker("group.share.assignment.interval.ms", Int, Some("1000"))
        .at_least(0)
        .cluster_wide()
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.assignor.offload.enable", Boolean, Some("true"))
        .cluster_wide()
        .internal()
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("group.share.assignors", List, Some("simple"))
        .valid(Valid::NonEmptyList)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.delivery.count.limit", Int, Some("5"))
        .between(2, 10)
        .accepted("Share groups are not served yet."),
    Row::broker(
        "group.share.dlq.manager.class.name",
        String,
        Some("org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager"),
    )
    .internal()
    .accepted("Java classes can not be loaded."),
    Row::broker("group.share.heartbeat.interval.ms", Int, Some("5000"))
        .at_least(1)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.initialize.retry.interval.ms", Int, Some("30000"))
        .at_least(1)
        .internal()
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.max.assignment.interval.ms", Int, Some("15000"))
        .at_least(0)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.max.delivery.count.limit", Int, Some("10"))
        .between(5, 25)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.max.heartbeat.interval.ms", Int, Some("15000"))
        .at_least(1)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.max.partition.max.record.locks", Int, Some("4000"))
        .between(2000, 10000)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.max.record.lock.duration.ms", Int, Some("60000"))
        .between(30000, 3600000)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.max.session.timeout.ms", Int, Some("60000"))
        .at_least(1)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.max.share.sessions", Int, Some("2000"))
        .at_least(1)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.max.size", Int, Some("200"))
        .between(1, 1000)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.min.assignment.interval.ms", Int, Some("0"))
        .at_least(0)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.min.delivery.count.limit", Int, Some("2"))
        .between(2, 5)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.min.heartbeat.interval.ms", Int, Some("5000"))
        .at_least(1)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.min.partition.max.record.locks", Int, Some("100"))
        .between(100, 2000)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.min.record.lock.duration.ms", Int, Some("15000"))
        .between(1000, 30000)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.min.session.timeout.ms", Int, Some("45000"))
        .at_least(1)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.partition.max.record.locks", Int, Some("2000"))
        .between(100, 10000)
        .accepted("Share groups are not served yet."),
    Row::broker(
        "group.share.persister.class.name",
        String,
        Some("org.apache.kafka.server.share.persister.DefaultStatePersister"),
    )
    .internal()
    .accepted("Java classes can not be loaded."),
    Row::broker("group.share.record.lock.duration.ms", Int, Some("30000"))
        .between(1000, 3600000)
        .accepted("Share groups are not served yet."),
    Row::broker("group.share.session.timeout.ms", Int, Some("45000"))
        .at_least(1)
        .accepted("Share groups are not served yet."),
    Row::broker("group.streams.acceptable.recovery.lag", Long, Some("10000"))
        .at_least(0)
        .internal()
        .honoured("A task whose state is at most this far behind counts as caught up."),
    Row::broker("group.streams.assignment.interval.ms", Int, Some("1000"))
        .at_least(0)
        .cluster_wide()
        .honoured("Least time between two assignments of a group (KIP-1263)."),
    Row::broker("group.streams.assignor.offload.enable", Boolean, Some("true"))
        .cluster_wide()
        .internal()
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("group.streams.assignors", List, Some("sticky"))
        .valid(Valid::NonEmptyList)
        .honoured("Assignors for streams groups, the first is the default. Only built-in names: `sticky`, `spread` (standbys over racks and client tags)."),
    Row::broker("group.streams.heartbeat.interval.ms", Int, Some("5000"))
        .at_least(1)
        .honoured("Heartbeat interval told to streams members."),
    Row::broker("group.streams.initial.rebalance.delay.ms", Int, Some("3000"))
        .at_least(0)
        .honoured("How long a new streams group waits for more members before the first assignment."),
    Row::broker("group.streams.max.assignment.interval.ms", Int, Some("15000"))
        .at_least(0)
        .honoured("Upper bound of the groups' assignment interval."),
    Row::broker("group.streams.max.heartbeat.interval.ms", Int, Some("15000"))
        .at_least(1)
        .honoured("Upper bound of the groups' heartbeat interval."),
    Row::broker("group.streams.max.session.timeout.ms", Int, Some("60000"))
        .at_least(1)
        .honoured("Upper bound of the groups' session timeout."),
    Row::broker("group.streams.max.size", Int, Some("2147483647"))
        .at_least(1)
        .honoured("Most members of a streams group."),
    Row::broker("group.streams.max.standby.replicas", Int, Some("2"))
        .at_least(0)
        .honoured("Upper bound of the groups' standby tasks."),
    Row::broker("group.streams.max.warmup.replicas", Int, Some("20"))
        .at_least(0)
        .internal()
        .honoured("Upper bound of the groups' warm-up tasks."),
    Row::broker("group.streams.min.assignment.interval.ms", Int, Some("0"))
        .at_least(0)
        .honoured("Lower bound of the groups' assignment interval."),
    Row::broker("group.streams.min.heartbeat.interval.ms", Int, Some("5000"))
        .at_least(1)
        .honoured("Lower bound of the groups' heartbeat interval."),
    Row::broker("group.streams.min.session.timeout.ms", Int, Some("45000"))
        .at_least(1)
        .honoured("Lower bound of the groups' session timeout."),
    Row::broker("group.streams.min.task.offset.interval.ms", Int, Some("15000"))
        .at_least(1)
        .internal()
        .honoured("Lower bound of the groups' task offset interval."),
    Row::broker("group.streams.num.standby.replicas", Int, Some("0"))
        .at_least(0)
        .honoured("Standby tasks per stateful task."),
    Row::broker("group.streams.num.warmup.replicas", Int, Some("2"))
        .at_least(0)
        .internal()
        .honoured("Warm-up tasks of a group at a time; 0: none."),
    Row::broker("group.streams.rack.aware.assignment.tags", List, Some(""))
        .honoured("Client tags over which standby tasks are spread."),
    Row::broker("group.streams.session.timeout.ms", Int, Some("45000"))
        .at_least(1)
        .honoured("Time without a heartbeat after which a streams member is removed."),
    Row::broker("group.streams.task.offset.interval.ms", Int, Some("60000"))
        .at_least(1)
        .internal()
        .honoured("How often a streams member reports the offsets of its tasks."),
    Row::broker("group.streams.topology.description.plugin.class", Class, None)
        .accepted("Java classes can not be loaded."),
    Row::broker("offset.metadata.max.bytes", Int, Some("4096"))
        .honoured("Longest metadata string of a committed offset."),
    Row::broker("offsets.commit.timeout.ms", Int, Some("5000"))
        .at_least(1)
        .honoured("How long a commit may wait until it is durable."),
    Row::broker("offsets.load.buffer.size", Int, Some("5242880"))
        .at_least(1)
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("offsets.retention.check.interval.ms", Long, Some("600000"))
        .at_least(1)
        .honoured("How often expired offsets, and groups without members and offsets, are looked for."),
    Row::broker("offsets.retention.minutes", Int, Some("10080"))
        .at_least(1)
        .honoured("How long offsets are kept that no member subscribes to: since the commit, in classic groups since they lost their members."),
    Row::broker("offsets.topic.compression.codec", Int, Some("0"))
        .honoured("Codec of batches in `__consumer_offsets` (0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd)."),
    Row::broker("offsets.topic.num.partitions", Int, Some("50"))
        .at_least(1)
        .honoured("Partitions of `__consumer_offsets` when it is created."),
    Row::broker("offsets.topic.replication.factor", Short, Some("3"))
        .at_least(1)
        .mapped("Clamped to the number of brokers when the topic is created."),
    Row::broker("offsets.topic.segment.bytes", Int, Some("104857600"))
        .at_least(1)
        .honoured("Segment size of `__consumer_offsets` when it is created; what is below 1 MiB counts as 1 MiB."),
];
