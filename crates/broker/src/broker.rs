//! What every handler can reach. Handles only: each part keeps its own rules.

use std::sync::Arc;

use coordinator::group::GroupShard;
use coordinator::txn::TxnShard;

use crate::auth::Authorizer;
use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::departures::Departures;
use crate::fetch_session::FetchSessions;
use crate::heavy::Heavy;
use crate::internal_topics::InternalTopics;
use crate::markers::Markers;
use crate::net::listener::Connections;
use crate::partitions::Partitions;
use crate::producer_ids::ProducerIds;
use crate::settings::Limits;
use crate::shards::Shards;
use crate::txn::Endings;

/// The shared handles of one running broker.
pub struct Broker {
    pub node_id: i32,
    pub limits: Limits,
    pub clock: Arc<Clock>,
    /// Topics, settings and everything else that the journal holds.
    pub catalog: Arc<Catalog>,
    /// Logs of topics, by topic id and number.
    pub partitions: Arc<Partitions>,
    /// Groups and committed offsets.
    pub groups: Arc<Shards<GroupShard>>,
    /// Transactional ids and their transactions.
    pub transactions: Arc<Shards<TxnShard>>,
    /// Told when a transaction has its markers.
    pub(crate) endings: Arc<Endings>,
    /// Ends transactions on their partitions.
    pub markers: Arc<Markers>,
    pub producer_ids: ProducerIds,
    /// Internal topics of streams groups that are being created, or could not be.
    pub internal_topics: InternalTopics,
    /// What consumers fetch, so that they need not say it each time.
    pub fetch_sessions: FetchSessions,
    /// Asked by every handler before it acts.
    pub authorizer: Arc<dyn Authorizer>,
    pub connections: Arc<Connections>,
    /// Who beats on which connection, for when it closes.
    pub departures: Departures,
    /// For work that takes long and much memory.
    pub heavy: Heavy,
}
