//! Thalweg's own settings (decision 20: each begins with `thalweg.`).

use super::row::Kind::{Boolean, Int, Long, String};
use super::row::{Row, Valid};

/// What a batch survives before it is acknowledged.
const DURABILITY: Valid = Valid::OneOf(&["fsync", "page-cache"]);

/// How much of a client's batch is looked at.
const VALIDATE: Valid = Valid::OneOf(&["header", "full"]);

pub(super) const ROWS: &[Row] = &[
    Row::broker("thalweg.profile", String, Some("thalweg"))
        .valid(Valid::OneOf(&["thalweg", "kafka"]))
        .honoured(
            "`kafka` turns every deliberate deviation from Kafka's behaviour off; `thalweg` keeps them.",
        ),
    Row::broker("thalweg.durability", String, Some("fsync")).valid(DURABILITY).cluster_wide().honoured(
        "`fsync`: a batch is on disk before it is acknowledged. `page-cache`: Kafka's own promise.",
    ),
    Row::broker("thalweg.records.validate", String, Some("header")).valid(VALIDATE).cluster_wide().honoured(
        "`full` parses every record of every batch as Kafka does, `header` only where a rule needs it. With the profile `kafka`, `full` is the default.",
    ),
    Row::broker("thalweg.storage", String, None)
        .valid(Valid::NonEmpty)
        .honoured("Where data lives: `file:DIR[,DIR...]`. Default: the directories of `log.dirs`."),
    Row::broker("thalweg.tail.cache.bytes", Long, None)
        .at_least(0)
        .honoured("Memory for the newest batches of all partitions. Default: an eighth of the memory."),
    Row::broker("thalweg.replication.factor.policy", String, Some("strict"))
        .valid(Valid::OneOf(&["strict", "accept"]))
        .honoured("`strict` refuses a replication factor above the number of brokers, `accept` takes any."),
    Row::broker("thalweg.flush.background.ms", Long, Some("1000"))
        .at_least(1)
        .honoured("With `page-cache`: how often written data is flushed in the background."),
    Row::broker("thalweg.snapshot.ms", Long, Some("60000"))
        .at_least(1)
        .honoured("How often the state of the partitions is saved, which bounds the recovery after a crash."),
    Row::broker("thalweg.open.files.max", Int, Some("8192"))
        .at_least(16)
        .honoured("Files of segments that are held open."),
    Row::broker("thalweg.fetch.yield", Boolean, Some("true")).cluster_wide().honoured(
        "Whether a Fetch that waits for records is answered at once when another request waits behind it on its connection. Off with the profile `kafka`.",
    ),
    Row::broker("thalweg.streams.topology.descriptions", Boolean, Some("true")).honoured(
        "Whether streams groups are asked for the description of their topology, which is then kept with the group (KIP-1331). With the profile `kafka` never.",
    ),
    Row::broker("thalweg.streams.warmup.timeout.ms", Long, Some("3600000")).at_least(1).cluster_wide().honoured(
        "How long a task waits for its new process to restore its state before it moves all the same.",
    ),
    Row::broker("thalweg.group.streams.adaptive.heartbeat", Boolean, Some("true")).cluster_wide().honoured(
        "Members of streams groups that wait for something come back when the wait ends, not after a whole heartbeat interval. Off with the profile `kafka`.",
    ),
    Row::broker("thalweg.group.consumer.adaptive.heartbeat", Boolean, Some("true")).cluster_wide().honoured(
        "Members of consumer groups that wait for partitions, for the assignment interval or for a regular expression come back when the wait ends, not after a whole heartbeat interval. Off with the profile `kafka`.",
    ),
    Row::broker("thalweg.group.classic.disconnect.enable", Boolean, Some("false")).cluster_wide().honoured(
        "Whether `thalweg.group.disconnect.grace.ms` counts for dynamic members of classic groups too. Off by default, because classic Kafka Streams applications close without leaving on purpose, to come back within their session. Off with the profile `kafka`.",
    ),
    Row::broker("thalweg.group.heartbeat.budget", Int, Some("1000")).at_least(0).cluster_wide().honoured(
        "Heartbeats a second that small streams groups at rest may cost this broker: within it their members come twice a second, or once. 0: they keep the configured interval.",
    ),
    Row::broker("thalweg.group.disconnect.grace.ms", Int, Some("10000")).at_least(0).cluster_wide().honoured(
        "How long after its client closed its connection a dynamic member of a streams or consumer group is taken for dead, if it does not come back: at least this, 10 s (20 s for clients that may take longer to connect again, such as librdkafka) and two heartbeat intervals. 0: when its session ends, as in Kafka.",
    ),
];

/// The same for one group.
pub(super) const GROUP_ROWS: &[Row] = &[Row::group("thalweg.group.disconnect.grace.ms", Int, Some("10000"))
    .at_least(0)
    .synonyms(&[("thalweg.group.disconnect.grace.ms", 1)])
    .internal()
    .honoured("The broker's setting of the same name, for this group.")];

/// The same for one topic.
pub(super) const TOPIC_ROWS: &[Row] = &[
    Row::topic("thalweg.durability", String, Some("fsync"))
        .valid(DURABILITY)
        .synonyms(&[("thalweg.durability", 1)])
        .internal()
        .honoured("What a batch of this topic survives before it is acknowledged: `fsync` or `page-cache`."),
    Row::topic("thalweg.records.validate", String, Some("header"))
        .valid(VALIDATE)
        .synonyms(&[("thalweg.records.validate", 1)])
        .internal()
        .honoured("How much of a batch of this topic is looked at: `header` or `full`."),
];
