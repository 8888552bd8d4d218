//! Broker settings. Transactions, producer ids and share state.

use super::row::Kind::{Boolean, Int, Short, String};
use super::row::Row;

pub(super) const ROWS: &[Row] = &[
    Row::broker("add.partitions.to.txn.retry.backoff.max.ms", Int, Some("100"))
        .at_least(0)
        .honoured("How long Produce v12 waits for the end of the producer's transaction before."),
    Row::broker("add.partitions.to.txn.retry.backoff.ms", Int, Some("20"))
        .at_least(1)
        .honoured("How often it looks again."),
    Row::broker("errors.deadletterqueue.auto.create.topics.enable", Boolean, Some("false"))
        .cluster_wide()
        .accepted("Share groups are not served yet."),
    Row::broker("errors.deadletterqueue.topic.name.prefix", String, Some("dlq."))
        .cluster_wide()
        .accepted("Share groups are not served yet."),
    Row::broker("producer.id.expiration.check.interval.ms", Int, Some("600000"))
        .at_least(1)
        .internal()
        .honoured("How often idle producers are looked for."),
    Row::broker("producer.id.expiration.ms", Int, Some("86400000"))
        .at_least(1)
        .cluster_wide()
        .honoured("An idle producer's state in a partition is forgotten after this."),
    Row::broker("share.coordinator.append.linger.ms", Int, Some("-1"))
        .at_least(-1)
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("share.coordinator.cached.buffer.max.bytes", Int, Some("1048588"))
        .at_least(524288)
        .cluster_wide()
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("share.coordinator.cold.partition.snapshot.interval.ms", Int, Some("300000"))
        .at_least(1)
        .internal()
        .accepted("Share groups are not served yet."),
    Row::broker("share.coordinator.load.buffer.size", Int, Some("5242880"))
        .at_least(1)
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("share.coordinator.snapshot.update.records.per.snapshot", Int, Some("500"))
        .between(0, 500)
        .accepted("Share groups are not served yet."),
    Row::broker("share.coordinator.state.topic.compression.codec", Int, Some("0"))
        .accepted("Share groups are not served yet."),
    Row::broker("share.coordinator.state.topic.min.isr", Short, Some("2"))
        .at_least(1)
        .accepted("Share groups are not served yet."),
    Row::broker("share.coordinator.state.topic.num.partitions", Int, Some("50"))
        .at_least(1)
        .accepted("Share groups are not served yet."),
    Row::broker("share.coordinator.state.topic.prune.interval.ms", Int, Some("300000"))
        .at_least(1)
        .internal()
        .accepted("Share groups are not served yet."),
    Row::broker("share.coordinator.state.topic.replication.factor", Short, Some("3"))
        .at_least(1)
        .accepted("Share groups are not served yet."),
    Row::broker("share.coordinator.state.topic.segment.bytes", Int, Some("104857600"))
        .at_least(1)
        .accepted("Share groups are not served yet."),
    Row::broker("share.coordinator.threads", Int, Some("1"))
        .at_least(1)
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("share.coordinator.write.timeout.ms", Int, Some("5000"))
        .at_least(1)
        .accepted("Share groups are not served yet."),
    Row::broker("share.fetch.purgatory.purge.interval.requests", Int, Some("1000"))
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("transaction.abort.timed.out.transaction.cleanup.interval.ms", Int, Some("10000"))
        .at_least(1)
        .honoured("Transactions are aborted on time; after a start or a load, those that timed out meanwhile get this long to end."),
    Row::broker("transaction.max.timeout.ms", Int, Some("900000"))
        .at_least(1)
        .honoured("Largest timeout that a transactional producer may ask for."),
    Row::broker("transaction.partition.verification.enable", Boolean, Some("true"))
        .cluster_wide()
        .honoured("Whether transactional records of clients before Produce v12 are checked with the coordinator."),
    Row::broker("transaction.remove.expired.transaction.cleanup.interval.ms", Int, Some("3600000"))
        .at_least(1)
        .honoured("How often unused transactional ids are looked for."),
    Row::broker("transaction.state.log.load.buffer.size", Int, Some("5242880"))
        .at_least(1)
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("transaction.state.log.min.isr", Int, Some("2"))
        .at_least(1)
        .honoured("`min.insync.replicas` of `__transaction_state`, at most the number of brokers."),
    Row::broker("transaction.state.log.num.partitions", Int, Some("50"))
        .at_least(1)
        .honoured("Partitions of `__transaction_state` when it is created."),
    Row::broker("transaction.state.log.replication.factor", Short, Some("3"))
        .at_least(1)
        .mapped("Clamped to the number of brokers when the topic is created."),
    Row::broker("transaction.state.log.segment.bytes", Int, Some("104857600"))
        .at_least(1)
        .honoured("Segment size of `__transaction_state` when it is created; what is below 1 MiB counts as 1 MiB."),
    Row::broker("transaction.two.phase.commit.enable", Boolean, Some("false"))
        .accepted("Only InitProducerId v6 asks for it, which Kafka 4.4 does not serve either."),
    Row::broker("transactional.id.expiration.ms", Int, Some("604800000"))
        .at_least(1)
        .honoured("Transactional ids without open transaction that nobody used for so long are forgotten."),
];
