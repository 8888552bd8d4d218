//! Starts a broker over opened storage, and stops it in order.
//!
//! Nothing is accepted before the metadata is complete and every partition is open: a client must
//! never see a topic as unknown because the broker is young (`broker-core.md` 21).

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ::catalog::command::{FinalizeInitial, RegisterBroker};
use ::catalog::{Endpoint, Image, Local, Refusal};
use storage::{Epoch, Journal, Lane};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};
use tracing::{info, warn};

use crate::auth::Authorizer;
use crate::broker::Broker;
use crate::call::ListenerName;
use crate::catalog::{self, Catalog, Followers};
use crate::clock::Clock;
use crate::departures::{self, Departures};
use crate::fetch_session::FetchSessions;
use crate::group_tasks::GroupTasks;
use crate::heavy::Heavy;
use crate::internal_topics::InternalTopics;
use crate::markers::Markers;
use crate::net::listener::{self, Connections, Listener};
use crate::partitions::Partitions;
use crate::producer_ids::ProducerIds;
use crate::settings::Settings;
use crate::settle;
use crate::shards::Shards;
use crate::stop::{self, Stop, Stopper};
use crate::txn::TRANSACTIONS_TOPIC;
use crate::txn_tasks::TxnTasks;

/// Name of the topic of groups and committed offsets.
pub(crate) const GROUPS_TOPIC: &str = "__consumer_offsets";
/// How long connections get to end when the broker stops.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// Opened storage, whatever engine it is.
pub struct Storage {
    pub lanes: Vec<Arc<dyn Lane>>,
    pub journal: Arc<dyn Journal>,
    /// Leader epoch of this process.
    pub epoch: Epoch,
    pub cluster_id: String,
}

/// Why a broker did not start.
#[derive(Debug)]
pub enum StartError {
    /// The metadata can't be read.
    Metadata(String),
    /// A listener can't be bound.
    Listen { name: ListenerName, error: std::io::Error },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metadata(reason) => write!(f, "metadata: {reason}"),
            Self::Listen { name, error } => write!(f, "listener {name}: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// A broker that accepts requests.
pub struct Running {
    pub broker: Arc<Broker>,
    listeners: Vec<Arc<Listener>>,
    stop: Stopper,
    tasks: Vec<JoinHandle<()>>,
}

impl Running {
    /// Starts a broker. When it returns, requests are accepted.
    pub async fn start(
        settings: Settings,
        storage: Storage,
        authorizer: Arc<dyn Authorizer>,
    ) -> Result<Self, StartError> {
        let mut bound = Vec::new();
        let mut listeners = Vec::new();
        let (broker, image) = open(&settings, storage, authorizer).await?;
        for wanted in &settings.listeners {
            let socket = listener::bind(wanted, &settings.limits);
            let (listener, socket) =
                socket.map_err(|error| StartError::Listen { name: wanted.name.clone(), error })?;
            let listener = Arc::new(listener);
            listeners.push(listener.clone());
            bound.push((listener, socket));
        }
        register(&broker, &image, &listeners).await?;
        let (stop, stopped) = stop::order();
        let mut tasks = vec![tokio::spawn(upkeep(broker.clone(), stopped.clone()))];
        tasks.push(tokio::spawn(departures::tell(broker.clone(), stopped.clone())));
        tasks.push(tokio::spawn(settle::settle(broker.clone(), stopped.clone())));
        for (listener, socket) in bound {
            info!(listener = %listener.name, address = %listener.bound, "accepting requests");
            tasks.push(tokio::spawn(listener::accept(broker.clone(), listener, socket, stopped.clone())));
        }
        Ok(Self { broker, listeners, stop, tasks })
    }

    /// Names of the listeners with the addresses that were bound.
    pub fn addresses(&self) -> impl Iterator<Item = (&ListenerName, SocketAddr)> {
        self.listeners.iter().map(|listener| (&listener.name, listener.bound))
    }

    /// Stops in order (`broker-core.md` 21): no new connections and requests, those in flight are
    /// answered, coordinators end, logs are closed with the mark of a clean stop.
    pub async fn stop(self) {
        self.stop.give();
        for task in self.tasks {
            // A task that panicked has ended too.
            let _ = task.await;
        }
        let connections = self.broker.connections.clone();
        if timeout(STOP_PATIENCE, connections.all_gone()).await.is_err() {
            warn!(connections = connections.count(), "connections did not end");
        }
        self.broker.transactions.stop();
        self.broker.groups.stop();
        self.broker.partitions.close().await;
    }
}

/// Reads the metadata, opens the partitions, begins to load the coordinators.
async fn open(
    settings: &Settings,
    storage: Storage,
    authorizer: Arc<dyn Authorizer>,
) -> Result<(Arc<Broker>, Arc<Image>), StartError> {
    let clock = Arc::new(Clock::default());
    let local = Local {
        node_id: settings.node_id,
        cluster_id: storage.cluster_id,
        leader_epoch: storage.epoch,
        configs: settings.fixed.clone(),
    };
    let loaded = catalog::load(&*storage.journal, local).await;
    let (image, snapshot) = loaded.map_err(StartError::Metadata)?;
    let image = Arc::new(image);
    let partitions = Arc::new(Partitions::new(storage.lanes, storage.epoch, clock.clone()));
    partitions.start(&image).await;
    let runner = Arc::new(GroupTasks { authorizer: authorizer.clone(), partitions: partitions.clone() });
    let groups = Shards::new(GROUPS_TOPIC, partitions.clone(), clock.clone(), runner, image.clone());
    groups.follow(&image, &coordinator::TopicsChange::default()).await;
    let txn_tasks = Arc::new(TxnTasks::default());
    let transactions =
        Shards::new(TRANSACTIONS_TOPIC, partitions.clone(), clock.clone(), txn_tasks.clone(), image.clone());
    let followers = Followers {
        partitions: partitions.clone(),
        groups: groups.clone(),
        transactions: transactions.clone(),
    };
    let markers = Arc::new(Markers::new(partitions.clone(), groups.clone(), clock.clone()));
    let limits = settings.limits.clone();
    let broker = Broker {
        node_id: settings.node_id,
        connections: Connections::new(limits.connections_max, limits.connections_per_ip_max),
        limits,
        clock,
        catalog: Arc::new(Catalog::new(storage.journal, image.clone(), snapshot, followers)),
        partitions,
        groups,
        transactions,
        endings: txn_tasks.endings.clone(),
        markers,
        producer_ids: ProducerIds::default(),
        internal_topics: InternalTopics::default(),
        heavy: Heavy::default(),
        fetch_sessions: FetchSessions::new(image.broker().max_incremental_fetch_session_cache_slots),
        authorizer,
        departures: Departures::default(),
    };
    let broker = Arc::new(broker);
    txn_tasks.serve(&broker);
    broker.transactions.follow(&image, &coordinator::TopicsChange::default()).await;
    Ok((broker, image))
}

/// Tells the cluster's metadata where this broker is, if that changed since its last start.
async fn register(broker: &Broker, image: &Image, listeners: &[Arc<Listener>]) -> Result<(), StartError> {
    let failed = |refusal: Refusal| StartError::Metadata(refusal.message);
    broker.catalog.submit(FinalizeInitial).await.map_err(failed)?;
    let endpoint = |listener: &Arc<Listener>| {
        let advertised = listener.advertised.as_ref();
        Endpoint {
            listener: listener.name.to_string(),
            host: advertised.map_or_else(|| listener.bound.ip().to_string(), |it| it.host.to_string()),
            port: advertised.map_or_else(|| listener.bound.port(), |it| it.port),
            security_protocol: 0,
        }
    };
    let endpoints: Vec<_> = listeners.iter().map(endpoint).collect();
    let rack = image.broker().broker_rack.clone();
    let known = image.broker_by_id(broker.node_id);
    if known.is_some_and(|it| it.endpoints == endpoints && it.rack == rack) {
        return Ok(());
    }
    let command = RegisterBroker { id: broker.node_id, rack, endpoints };
    broker.catalog.submit(command).await.map(|_| ()).map_err(failed)
}

/// What has to be done from time to time.
async fn upkeep(broker: Arc<Broker>, mut stop: Stop) {
    let image = broker.catalog.image();
    let mut snapshots = every(image.broker().thalweg_snapshot_ms);
    let mut producers = every(i64::from(image.broker().producer_id_expiration_check_interval_ms));
    drop(image);
    loop {
        tokio::select! {
            () = stop.given() => return,
            _ = snapshots.tick() => broker.partitions.checkpoint().await,
            _ = producers.tick() => broker.partitions.expire_producers(broker.clock.now()),
        }
    }
}

/// Ticks that begin one period from now; a late one is not made up for.
fn every(period_ms: i64) -> Interval {
    let period = Duration::from_millis(u64::try_from(period_ms).unwrap_or(1).max(1));
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
