//! Broker settings. Identity, listeners, connections and threads.

use super::row::Kind::{Boolean, Int, List, Long, String};
use super::row::{Row, Valid};

pub(super) const ROWS: &[Row] = &[
    Row::broker("advertised.listeners", List, None)
        .valid(Valid::NonEmptyList)
        .honoured("Addresses told to clients, by listener name. Default: those of `listeners`."),
    Row::broker("background.threads", Int, Some("10"))
        .at_least(1)
        .cluster_wide()
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("broker.id", Int, Some("-1")).honoured("Old name of `node.id`."),
    Row::broker("broker.rack", String, None).honoured(
        "Rack or zone of this broker, shown in Metadata and used for rack aware reading and assignment.",
    ),
    Row::broker("connections.max.idle.ms", Long, Some("600000"))
        .honoured("A connection without a request for this long is closed."),
    Row::broker("controlled.shutdown.enable", Boolean, Some("true"))
        .mapped("A stop always closes partitions in order."),
    Row::broker("controller.socket.timeout.ms", Int, Some("30000"))
        .accepted("There is no controller quorum; the metadata journal needs no tuning."),
    Row::broker("early.start.listeners", List, None)
        .accepted("All listeners start together, once the broker is ready."),
    Row::broker("inter.broker.listener.name", String, None)
        .mapped("One broker talks to nobody; the name must be one of `listeners`."),
    Row::broker(
        "listener.security.protocol.map",
        String,
        Some("SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"),
    )
    .per_broker()
    .honoured("Security protocol of each listener name."),
    Row::broker("listeners", List, Some("PLAINTEXT://:9092"))
        .valid(Valid::NonEmptyList)
        .per_broker()
        .honoured("Addresses to listen on, each NAME://host:port."),
    Row::broker("max.connection.creation.rate", Int, Some("2147483647"))
        .at_least(0)
        .cluster_wide()
        .honoured("New connections per second."),
    Row::broker("max.connections", Int, Some("2147483647"))
        .at_least(0)
        .cluster_wide()
        .honoured("Connections of this broker, all listeners together."),
    Row::broker("max.connections.per.ip", Int, Some("2147483647"))
        .at_least(0)
        .cluster_wide()
        .honoured("Connections from one address."),
    Row::broker("max.connections.per.ip.overrides", String, Some(""))
        .cluster_wide()
        .honoured("Limits for single addresses, as `host:count,...`."),
    Row::broker("node.id", Int, None).required().at_least(0).honoured("Number of this broker."),
    Row::broker("num.io.threads", Int, Some("8"))
        .at_least(1)
        .cluster_wide()
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("num.network.threads", Int, Some("3"))
        .at_least(1)
        .cluster_wide()
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("queued.max.request.bytes", Long, Some("-1"))
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("queued.max.requests", Int, Some("500"))
        .at_least(1)
        .accepted("Threads, queues and buffers are sized by themselves."),
    Row::broker("request.timeout.ms", Int, Some("30000"))
        .honoured("How long a request that this broker sends, or a topic creation, may take."),
    Row::broker("security.inter.broker.protocol", String, Some("PLAINTEXT"))
        .valid(Valid::OneOf(&["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]))
        .accepted("One broker talks to nobody."),
    Row::broker("socket.connection.setup.timeout.max.ms", Long, Some("30000")).accepted(""),
    Row::broker("socket.connection.setup.timeout.ms", Long, Some("10000")).accepted(""),
    Row::broker("socket.listen.backlog.size", Int, Some("50"))
        .at_least(1)
        .honoured("Connections that may wait to be accepted."),
    Row::broker("socket.receive.buffer.bytes", Int, Some("102400"))
        .honoured("SO_RCVBUF of connections; -1 leaves the system's default."),
    Row::broker("socket.request.max.bytes", Int, Some("104857600"))
        .at_least(1)
        .honoured("Largest request. A larger one closes the connection before it is read."),
    Row::broker("socket.send.buffer.bytes", Int, Some("102400"))
        .honoured("SO_SNDBUF of connections; -1 leaves the system's default."),
];
