//! Who leads a partition, for answers that tell a client to go elsewhere (KIP-951).
//!
//! Clients with this knowledge go to the new leader at once instead of asking for metadata first.

use catalog::{Image, PartitionInfo};
use wire::Str;

use crate::call::Call;

/// A broker as the `NodeEndpoints` of an answer name it.
pub(super) struct Node {
    pub id: i32,
    pub host: Str,
    pub port: i32,
    pub rack: Option<Str>,
}

/// The endpoint of the partition's leader on the listener of this connection. None if it has none there.
pub(super) fn endpoint(call: &Call, image: &Image, info: &PartitionInfo) -> Option<Node> {
    let broker = image.broker_by_id(info.leader)?;
    let rack = broker.rack.as_deref().map(Str::from);
    if info.leader == call.broker.node_id {
        let own = call.endpoint();
        return Some(Node { id: info.leader, host: own.host, port: i32::from(own.port), rack });
    }
    let found = broker.endpoint(&call.link.listener.name.0.to_str())?;
    Some(Node { id: info.leader, host: Str::from(found.host.as_str()), port: i32::from(found.port), rack })
}
