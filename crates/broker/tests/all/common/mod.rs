//! A broker in this process, on a port that the system picks, with storage in memory.

pub(crate) mod txn;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use broker::auth::{AllowAll, Authorizer, Operation, Resource};
use broker::{Broker, Running, Settings, Storage};
use client::{Connection, Error};
use coordinator::Caller;
use storage::faulty::RefusingLane;
use storage::{Engine, Grant, Journal, MemoryEngine, MemoryJournal, Refused};
use tokio::time::timeout;

/// Longer than anything here may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const CLUSTER_ID: &str = "4L6g3nShT-eMCtK--X86sw";

/// What outlives a broker.
#[derive(Clone)]
pub(crate) struct Disk {
    pub(crate) engine: Arc<MemoryEngine>,
    pub(crate) journal: Arc<MemoryJournal>,
    starts: i32,
    /// While true, appends are refused as if there were no room.
    pub(crate) full: Arc<AtomicBool>,
}

impl Disk {
    pub(crate) fn new() -> Self {
        Self::over(MemoryEngine::new())
    }

    /// Records become durable when the engine is told to flush.
    pub(crate) fn held() -> Self {
        Self::over(MemoryEngine::held())
    }

    fn over(engine: MemoryEngine) -> Self {
        let (engine, journal) = (Arc::new(engine), Arc::new(MemoryJournal::new()));
        Self { engine, journal, starts: 0, full: Arc::default() }
    }
}

pub(crate) struct TestBroker {
    running: Running,
    disk: Disk,
    pub(crate) address: SocketAddr,
}

impl TestBroker {
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// With settings beside the listener.
    pub(crate) async fn with(settings: &[(&str, &str)]) -> Self {
        Self::over(Disk::new(), settings, Arc::new(AllowAll)).await
    }

    pub(crate) async fn on(disk: &Disk) -> Self {
        Self::over(disk.clone(), &[], Arc::new(AllowAll)).await
    }

    /// Denies `operation` to everyone.
    pub(crate) async fn denying(operation: Operation) -> Self {
        Self::over(Disk::new(), &[], Arc::new(Deny(operation))).await
    }

    pub(crate) async fn over(disk: Disk, settings: &[(&str, &str)], authorizer: Arc<dyn Authorizer>) -> Self {
        let defaults = [("listeners", "PLAINTEXT://127.0.0.1:0"), ("offsets.topic.num.partitions", "4")];
        let fixed = defaults.iter().chain(settings);
        let fixed = fixed.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let settings = Settings::new(fixed).unwrap();
        let lane = disk.engine.open(0, Grant { epoch: disk.starts, session: 1 }).await.unwrap();
        let full = disk.full.clone();
        let why = move || full.load(Ordering::Relaxed).then_some(Refused::Full);
        let lane = Arc::new(RefusingLane::new(lane, Arc::new(why)));
        let storage = Storage {
            lanes: vec![lane],
            journal: disk.journal.clone() as Arc<dyn Journal>,
            epoch: disk.starts,
            cluster_id: CLUSTER_ID.to_owned(),
        };
        let running = Running::start(settings, storage, authorizer).await.unwrap();
        let address = running.addresses().next().unwrap().1;
        Self { running, disk, address }
    }

    /// Stops it in order and starts it anew over the same storage.
    pub(crate) async fn restart(self) -> Self {
        let disk = Disk { starts: self.disk.starts + 1, ..self.disk };
        self.running.stop().await;
        Self::over(disk, &[], Arc::new(AllowAll)).await
    }

    pub(crate) async fn stop(self) {
        self.running.stop().await;
    }

    pub(crate) fn broker(&self) -> &Arc<Broker> {
        &self.running.broker
    }

    pub(crate) async fn connect(&self) -> Connection {
        Connection::connect(self.address, Some("test")).await.unwrap()
    }
}

/// Waits for the broker to close a connection, whatever it answers before.
pub(crate) async fn closed(connection: &mut Connection) {
    let end = async { while connection.receive_raw().await.is_ok() {} };
    timeout(PATIENCE, end).await.expect("the broker did not close the connection");
}

/// Waits for an answer.
pub(crate) async fn soon<T>(answer: impl Future<Output = Result<T, Error>>) -> T {
    timeout(PATIENCE, answer).await.expect("no answer came").expect("the call failed")
}

/// Denies one operation on everything.
pub(crate) struct Deny(pub(crate) Operation);

impl Authorizer for Deny {
    fn allow(&self, _caller: &Caller, operation: Operation, _resource: Resource<'_>) -> bool {
        operation != self.0
    }
}
