//! Group settings (resource type GROUP; `streams-groups.md` 8.2).

use super::row::Kind::{Boolean, Int, List, Long, String};
use super::row::{Row, Valid};

pub(super) const ROWS: &[Row] = &[
    Row::group("consumer.assignment.interval.ms", Int, Some("1000"))
        .at_least(0)
        .synonyms(&[("group.consumer.assignment.interval.ms", 1)])
        .honoured("Shortest time between two assignments."),
    Row::group("consumer.assignor.offload.enable", Boolean, Some("true"))
        .synonyms(&[("group.consumer.assignor.offload.enable", 1)])
        .internal()
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::group("consumer.heartbeat.interval.ms", Int, Some("5000"))
        .at_least(1)
        .synonyms(&[("group.consumer.heartbeat.interval.ms", 1)])
        .honoured("Heartbeat interval that members are told."),
    Row::group("consumer.session.timeout.ms", Int, Some("45000"))
        .at_least(1)
        .synonyms(&[("group.consumer.session.timeout.ms", 1)])
        .honoured("How long a silent member stays."),
    Row::group("errors.deadletterqueue.copy.record.enable", Boolean, Some("false"))
        .accepted("Tiered storage and dead letter queues do not exist here."),
    Row::group("errors.deadletterqueue.topic.name", String, Some(""))
        .accepted("Tiered storage and dead letter queues do not exist here."),
    Row::group("share.assignment.interval.ms", Int, Some("1000"))
        .at_least(0)
        .synonyms(&[("group.share.assignment.interval.ms", 1)])
        .accepted("Share groups are not served yet."),
    Row::group("share.assignor.offload.enable", Boolean, Some("true"))
        .synonyms(&[("group.share.assignor.offload.enable", 1)])
        .internal()
        .accepted("Share groups are not served yet."),
    Row::group("share.auto.offset.reset", String, Some("latest"))
        .valid(Valid::OffsetReset)
        .accepted("Share groups are not served yet."),
    Row::group("share.delivery.count.limit", Int, Some("5"))
        .at_least(2)
        .synonyms(&[("group.share.delivery.count.limit", 1)])
        .accepted("Share groups are not served yet."),
    Row::group("share.heartbeat.interval.ms", Int, Some("5000"))
        .at_least(1)
        .synonyms(&[("group.share.heartbeat.interval.ms", 1)])
        .accepted("Share groups are not served yet."),
    Row::group("share.isolation.level", String, Some("read_uncommitted"))
        .valid(Valid::OneOf(&["read_committed", "read_uncommitted"]))
        .accepted("Share groups are not served yet."),
    Row::group("share.partition.max.record.locks", Int, Some("2000"))
        .at_least(100)
        .synonyms(&[("group.share.partition.max.record.locks", 1)])
        .accepted("Share groups are not served yet."),
    Row::group("share.record.lock.duration.ms", Int, Some("30000"))
        .at_least(1000)
        .synonyms(&[("group.share.record.lock.duration.ms", 1)])
        .accepted("Share groups are not served yet."),
    Row::group("share.renew.acknowledge.enable", Boolean, Some("true"))
        .accepted("Share groups are not served yet."),
    Row::group("share.session.timeout.ms", Int, Some("45000"))
        .at_least(1)
        .synonyms(&[("group.share.session.timeout.ms", 1)])
        .accepted("Share groups are not served yet."),
    Row::group("streams.acceptable.recovery.lag", Long, Some("10000"))
        .at_least(0)
        .synonyms(&[("group.streams.acceptable.recovery.lag", 1)])
        .internal()
        .honoured("A task whose state is at most this far behind counts as caught up."),
    Row::group("streams.assignment.interval.ms", Int, Some("1000"))
        .at_least(0)
        .synonyms(&[("group.streams.assignment.interval.ms", 1)])
        .honoured("Least time between two assignments (KIP-1263)."),
    Row::group("streams.assignor.name", String, None)
        .synonyms(&[("group.streams.assignors", 1)])
        .honoured("Assignor of the group (KIP-1357)."),
    Row::group("streams.assignor.offload.enable", Boolean, Some("true"))
        .synonyms(&[("group.streams.assignor.offload.enable", 1)])
        .internal()
        .accepted("Assignments are computed where it costs least."),
    Row::group("streams.heartbeat.interval.ms", Int, Some("5000"))
        .at_least(1)
        .synonyms(&[("group.streams.heartbeat.interval.ms", 1)])
        .honoured("Heartbeat interval told to members."),
    Row::group("streams.initial.rebalance.delay.ms", Int, Some("3000"))
        .at_least(0)
        .synonyms(&[("group.streams.initial.rebalance.delay.ms", 1)])
        .honoured("How long a new group waits for more members before the first assignment."),
    Row::group("streams.num.standby.replicas", Int, Some("0"))
        .at_least(0)
        .synonyms(&[("group.streams.num.standby.replicas", 1)])
        .honoured("Standby tasks per stateful task."),
    Row::group("streams.num.warmup.replicas", Int, Some("2"))
        .at_least(0)
        .synonyms(&[("group.streams.num.warmup.replicas", 1)])
        .internal()
        .honoured("Warm-up tasks at a time; 0: a task moves before its new owner has its state. With the profile `kafka` there are none."),
    Row::group("streams.rack.aware.assignment.tags", List, Some(""))
        .synonyms(&[("group.streams.rack.aware.assignment.tags", 1)])
        .honoured("Client tags over which standby tasks are spread."),
    Row::group("streams.session.timeout.ms", Int, Some("45000"))
        .at_least(1)
        .synonyms(&[("group.streams.session.timeout.ms", 1)])
        .honoured("Time without a heartbeat after which a member is removed."),
    Row::group("streams.task.offset.interval.ms", Int, Some("60000"))
        .at_least(1)
        .synonyms(&[("group.streams.task.offset.interval.ms", 1)])
        .internal()
        .honoured("How often a member reports the offsets of its tasks."),
];
