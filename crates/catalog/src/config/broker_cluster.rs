//! Broker settings. The quorum, replication, quotas, tiered storage and metrics.

use super::row::Kind::{Boolean, Class, Double, Int, List, Long, String};
use super::row::{Row, Valid};

pub(super) const ROWS: &[Row] = &[
    Row::broker("alter.config.policy.class.name", Class, None).accepted("Java classes can not be loaded."),
    Row::broker("alter.log.dirs.replication.quota.window.num", Int, Some("11"))
        .at_least(1)
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("alter.log.dirs.replication.quota.window.size.seconds", Int, Some("1"))
        .at_least(1)
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("auto.leader.rebalance.enable", Boolean, Some("true"))
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("broker.heartbeat.interval.ms", Int, Some("2000"))
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("broker.session.timeout.ms", Int, Some("9000"))
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("client.quota.callback.class", Class, None).accepted("Java classes can not be loaded."),
    Row::broker("config.providers", List, Some(""))
        .cluster_wide()
        .accepted("Java classes can not be loaded."),
    Row::broker("controller.listener.names", List, None)
        .required()
        .valid(Valid::NonEmptyList)
        .mapped("One process plays every role; a controller listener opens no port."),
    Row::broker("controller.performance.always.log.threshold.ms", Long, Some("2000"))
        .at_least(0)
        .internal()
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("controller.performance.sample.period.ms", Long, Some("60000"))
        .at_least(100)
        .internal()
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("controller.quorum.append.linger.ms", Int, Some("25"))
        .at_least(0)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("controller.quorum.auto.join.enable", Boolean, Some("false"))
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("controller.quorum.bootstrap.servers", List, Some(""))
        .valid(Valid::HostPorts)
        .mapped("One process plays every role; a controller listener opens no port."),
    Row::broker("controller.quorum.election.backoff.max.ms", Int, Some("1000"))
        .at_least(0)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("controller.quorum.election.timeout.ms", Int, Some("1000"))
        .at_least(0)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("controller.quorum.fetch.max.bytes", Int, Some("1048576"))
        .at_least(1)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("controller.quorum.fetch.snapshot.max.bytes", Int, Some("1048576"))
        .at_least(1)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("controller.quorum.fetch.timeout.ms", Int, Some("2000"))
        .at_least(0)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("controller.quorum.request.timeout.ms", Int, Some("2000"))
        .at_least(0)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("controller.quorum.retry.backoff.ms", Int, Some("20"))
        .at_least(0)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("controller.quorum.voters", List, Some(""))
        .valid(Valid::Voters)
        .mapped("One process plays every role; a controller listener opens no port."),
    Row::broker("controller.quota.window.num", Int, Some("11"))
        .at_least(1)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("controller.quota.window.size.seconds", Int, Some("1"))
        .at_least(1)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("cordoned.log.dirs", List, Some(""))
        .per_broker()
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("create.topic.policy.class.name", Class, None).accepted("Java classes can not be loaded."),
    Row::broker("follower.fetch.last.tiered.offset.enable", Boolean, Some("false"))
        .cluster_wide()
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("initial.broker.registration.timeout.ms", Int, Some("60000"))
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("internal.metadata.delete.delay.millis", Long, Some("60000"))
        .internal()
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("internal.metadata.log.segment.bytes", Int, None)
        .internal()
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("internal.metadata.max.batch.size.in.bytes", Int, Some("8388608"))
        .internal()
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("kafka.metrics.polling.interval.secs", Int, Some("10"))
        .at_least(1)
        .accepted("Metrics are served over HTTP, not by reporter classes."),
    Row::broker("kafka.metrics.reporters", List, Some(""))
        .accepted("Metrics are served over HTTP, not by reporter classes."),
    Row::broker("leader.imbalance.check.interval.seconds", Long, Some("300"))
        .at_least(1)
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("metadata.log.dir", String, None)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("metadata.log.max.record.bytes.between.snapshots", Long, Some("20971520"))
        .at_least(1)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("metadata.log.max.snapshot.interval.ms", Long, Some("3600000"))
        .at_least(0)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("metadata.log.segment.bytes", Int, Some("1073741824"))
        .at_least(8388608)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("metadata.log.segment.ms", Long, Some("604800000"))
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("metadata.max.idle.interval.ms", Int, Some("500"))
        .at_least(0)
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("metadata.max.retention.bytes", Long, Some("104857600"))
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("metadata.max.retention.ms", Long, Some("604800000"))
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("metric.reporters", List, Some("org.apache.kafka.common.metrics.JmxReporter"))
        .cluster_wide()
        .accepted("Metrics are served over HTTP, not by reporter classes."),
    Row::broker("metrics.num.samples", Int, Some("2"))
        .at_least(1)
        .accepted("Metrics are served over HTTP, not by reporter classes."),
    Row::broker("metrics.recording.level", String, Some("INFO"))
        .accepted("Metrics are served over HTTP, not by reporter classes."),
    Row::broker("metrics.sample.window.ms", Long, Some("30000"))
        .at_least(1)
        .accepted("Metrics are served over HTTP, not by reporter classes."),
    Row::broker("num.replica.alter.log.dirs.threads", Int, None)
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("num.replica.fetchers", Int, Some("1"))
        .at_least(1)
        .cluster_wide()
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("process.roles", List, None)
        .required()
        .valid(Valid::Items(&["broker", "controller"], false))
        .mapped("One process plays every role; a controller listener opens no port."),
    Row::broker("quota.window.num", Int, Some("11"))
        .at_least(1)
        .accepted("Quotas and client telemetry are not served yet."),
    Row::broker("quota.window.size.seconds", Int, Some("1"))
        .at_least(1)
        .accepted("Quotas and client telemetry are not served yet."),
    Row::broker("remote.fetch.max.wait.ms", Int, Some("500"))
        .at_least(1)
        .cluster_wide()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.list.offsets.request.timeout.ms", Long, Some("30000"))
        .at_least(1)
        .cluster_wide()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.index.file.cache.total.size.bytes", Long, Some("1073741824"))
        .at_least(1)
        .cluster_wide()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.index.file.cache.ttl.ms", Long, Some("900000"))
        .at_least(-1)
        .internal()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.copier.thread.pool.size", Int, Some("10"))
        .at_least(1)
        .cluster_wide()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.copy.max.bytes.per.second", Long, Some("9223372036854775807"))
        .at_least(1)
        .cluster_wide()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.copy.quota.window.num", Int, Some("11"))
        .at_least(1)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.copy.quota.window.size.seconds", Int, Some("1"))
        .at_least(1)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.expiration.thread.pool.size", Int, Some("10"))
        .at_least(1)
        .cluster_wide()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.fetch.max.bytes.per.second", Long, Some("9223372036854775807"))
        .at_least(1)
        .cluster_wide()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.fetch.quota.window.num", Int, Some("11"))
        .at_least(1)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.fetch.quota.window.size.seconds", Int, Some("1"))
        .at_least(1)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.follower.thread.pool.size", Int, Some("2"))
        .at_least(1)
        .cluster_wide()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.task.interval.ms", Long, Some("30000"))
        .at_least(1)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.task.retry.backoff.max.ms", Long, Some("30000"))
        .at_least(1)
        .internal()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.task.retry.backoff.ms", Long, Some("500"))
        .at_least(1)
        .internal()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.task.retry.jitter", Double, Some("0.2"))
        .valid(Valid::Decimal(0.0, 0.5))
        .internal()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.manager.thread.pool.size", Int, Some("2"))
        .at_least(1)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.metadata.custom.metadata.max.bytes", Int, Some("128"))
        .at_least(0)
        .accepted("Tiered storage does not exist here."),
    Row::broker(
        "remote.log.metadata.manager.class.name",
        String,
        Some("org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"),
    )
    .valid(Valid::NonEmpty)
    .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.metadata.manager.class.path", String, None)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.metadata.manager.impl.prefix", String, Some("rlmm.config."))
        .valid(Valid::NonEmpty)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.metadata.manager.listener.name", String, None)
        .valid(Valid::NonEmpty)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.reader.max.pending.tasks", Int, Some("100"))
        .at_least(1)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.reader.threads", Int, Some("10"))
        .at_least(1)
        .cluster_wide()
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.storage.manager.class.name", String, None)
        .valid(Valid::NonEmpty)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.storage.manager.class.path", String, None)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.storage.manager.impl.prefix", String, Some("rsm.config."))
        .valid(Valid::NonEmpty)
        .accepted("Tiered storage does not exist here."),
    Row::broker("remote.log.storage.system.enable", Boolean, Some("false"))
        .refused("Tiered storage does not exist here; object storage is an engine of its own."),
    Row::broker("replica.fetch.backoff.ms", Int, Some("1000"))
        .at_least(0)
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("replica.fetch.max.bytes", Int, Some("1048576"))
        .at_least(0)
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("replica.fetch.min.bytes", Int, Some("1"))
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("replica.fetch.response.max.bytes", Int, Some("10485760"))
        .at_least(0)
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("replica.fetch.wait.max.ms", Int, Some("500"))
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("replica.high.watermark.checkpoint.interval.ms", Long, Some("5000"))
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("replica.lag.time.max.ms", Long, Some("30000"))
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("replica.selector.class", String, None)
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("replica.socket.receive.buffer.bytes", Int, Some("65536"))
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("replica.socket.timeout.ms", Int, Some("30000"))
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("replication.quota.window.num", Int, Some("11"))
        .at_least(1)
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("replication.quota.window.size.seconds", Int, Some("1"))
        .at_least(1)
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("server.max.startup.time.ms", Long, Some("9223372036854775807"))
        .at_least(0)
        .internal()
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("telemetry.max.bytes", Int, Some("1048576"))
        .at_least(1)
        .accepted("Quotas and client telemetry are not served yet."),
    Row::broker("unclean.leader.election.enable", Boolean, Some("false"))
        .cluster_wide()
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("unclean.leader.election.interval.ms", Long, Some("300000"))
        .at_least(1)
        .internal()
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("unstable.api.versions.enable", Boolean, Some("false"))
        .internal()
        .honoured("Serves message versions that Kafka still marks as unstable."),
    Row::broker("unstable.feature.versions.enable", Boolean, Some("false"))
        .internal()
        .accepted("Only released feature levels exist."),
    Row::broker("follower.replication.throttled.rate", Long, Some("9223372036854775807"))
        .at_least(0)
        .cluster_wide()
        .internal()
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("leader.replication.throttled.rate", Long, Some("9223372036854775807"))
        .at_least(0)
        .cluster_wide()
        .internal()
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
    Row::broker("replica.alter.log.dirs.io.max.bytes.per.second", Long, Some("9223372036854775807"))
        .at_least(0)
        .cluster_wide()
        .internal()
        .accepted("Partitions have one replica that is stored safely; nothing is copied between brokers."),
];
