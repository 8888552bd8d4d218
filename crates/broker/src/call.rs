//! What a handler gets beside its request: the broker, who asks, and the connection.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use coordinator::{Caller, Millis};
use parking_lot::Mutex;
use storage::Slice;
use tokio::sync::OwnedMutexGuard;
use wire::{Chunk, Str};

use crate::auth::{Operation, Resource, authorized_operations};
use crate::broker::Broker;
use crate::net::listener::{Endpoint, Listener};
use crate::net::output::Piece;

/// Name of a listener as in `listeners`, for example `PLAINTEXT`. Case matters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListenerName(pub Str);

impl fmt::Display for ListenerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The context of one request.
#[derive(Clone)]
pub struct Call {
    pub broker: Arc<Broker>,
    pub caller: Caller,
    pub link: Arc<Link>,
    /// Version of the request and of its answer.
    pub version: i16,
    /// Of a Fetch: how many requests of other kinds had come on the connection before it.
    pub(crate) arrival: u64,
}

impl Call {
    /// The question that comes before every act (`broker-core.md` 17.4).
    pub fn allow(&self, operation: Operation, resource: Resource<'_>) -> bool {
        self.broker.authorizer.allow(&self.caller, operation, resource)
    }

    /// The bit field of the `…AuthorizedOperations` response fields.
    pub fn authorized_operations(&self, resource: Resource<'_>) -> i32 {
        authorized_operations(&*self.broker.authorizer, &self.caller, resource)
    }

    /// Ends when a request that is no Fetch has come on the connection after this one. The connection polls all
    /// its requests whenever it has started one, so nothing has to wake this.
    pub(crate) async fn followed(&self) {
        let is_followed = |_: &mut Context<'_>| match self.link.arrived.load(Ordering::Relaxed) {
            arrived if arrived > self.arrival => Poll::Ready(()),
            _ => Poll::Pending,
        };
        std::future::poll_fn(is_followed).await;
    }

    /// The cluster's metadata as of now.
    pub fn image(&self) -> Arc<catalog::Image> {
        self.broker.catalog.image()
    }

    /// A part of an answer that is read: memory as it is, a file as a hole that the connection
    /// fills when the answer goes out (`decisions.md` 14).
    pub fn chunk(&self, slice: Slice) -> Chunk {
        match slice {
            Slice::Bytes(bytes) => Chunk::Bytes(bytes),
            Slice::File { file, offset, len } => {
                let length = len as usize;
                Chunk::Hole { id: self.link.dig(Piece::File { file, offset, len: length }), length }
            }
        }
    }

    /// The broker's time.
    pub fn now(&self) -> Millis {
        self.broker.clock.now()
    }

    /// This broker's address as told to clients of this connection's listener (16.1).
    pub fn endpoint(&self) -> Endpoint {
        self.link.endpoint()
    }
}

/// The connection that requests came on.
pub struct Link {
    /// No other connection of this process has it; never 0.
    pub id: u64,
    pub listener: Arc<Listener>,
    /// Address of the client in Kafka's form, `/127.0.0.1`.
    pub host: Str,
    /// Address and port of the client, by which other programs know the connection.
    pub peer: SocketAddr,
    pub principal: Str,
    /// Our end: what a client reaches us by if nothing is advertised.
    pub local: SocketAddr,
    /// A request came.
    entered: AtomicBool,
    /// Requests that have come, but for Fetches.
    arrived: AtomicU64,
    /// What the client calls itself, once it did.
    software: OnceLock<Str>,
    holes: Mutex<Vec<(u64, Piece)>>,
    next_hole: AtomicU64,
    /// Held by a Produce request from its arrival until its records are appended, if that takes a wait. Later ones
    /// queue behind it, so that records are appended in the order in which they came.
    producing: Arc<tokio::sync::Mutex<()>>,
}

impl Link {
    pub(crate) fn new(listener: Arc<Listener>, peer: SocketAddr, local: SocketAddr) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self {
            id: LAST.fetch_add(1, Ordering::Relaxed) + 1,
            listener,
            host: Str::from(format!("/{}", peer.ip().to_canonical())),
            peer: SocketAddr::new(peer.ip().to_canonical(), peer.port()),
            principal: Str::from_static("User:ANONYMOUS"),
            local,
            entered: AtomicBool::new(false),
            arrived: AtomicU64::new(0),
            software: OnceLock::new(),
            holes: Mutex::default(),
            next_hole: AtomicU64::new(0),
            producing: Arc::default(),
        }
    }

    /// The turn of a Produce request that has just arrived; none while an earlier one waits.
    pub(crate) fn produce_turn(&self) -> Option<OwnedMutexGuard<()>> {
        self.producing.clone().try_lock_owned().ok()
    }

    /// The turn of one that has to wait. Who is polled first comes first.
    pub(crate) async fn next_produce_turn(&self) -> OwnedMutexGuard<()> {
        self.producing.clone().lock_owned().await
    }

    /// The address that this connection's clients reach this broker by. Without
    /// `advertised.listeners` it is the one that the client used itself, so that a broker that
    /// listens on all interfaces works from each of them.
    pub fn endpoint(&self) -> Endpoint {
        self.listener.advertised.clone().unwrap_or_else(|| Endpoint {
            host: Str::from(self.local.ip().to_canonical().to_string()),
            port: self.listener.bound.port(),
        })
    }

    /// What the client calls itself in ApiVersions (KIP-511); empty before and without it.
    pub(crate) fn software(&self) -> Str {
        self.software.get().cloned().unwrap_or_default()
    }

    /// The client named itself; the first name stays.
    pub(crate) fn name_software(&self, name: &Str) {
        if self.software.get().is_none() {
            let _ = self.software.set(name.detach());
        }
    }

    /// True once: at the first request.
    pub(crate) fn enters(&self) -> bool {
        !self.entered.load(Ordering::Relaxed) && !self.entered.swap(true, Ordering::Relaxed)
    }

    /// Counts a request that comes, and tells how many had come before it; Fetches do not count.
    pub(crate) fn arrive(&self, is_fetch: bool) -> u64 {
        if is_fetch {
            self.arrived.load(Ordering::Relaxed)
        } else {
            self.arrived.fetch_add(1, Ordering::Relaxed)
        }
    }

    /// Keeps a part of a file until the answer with the hole goes out.
    pub(crate) fn dig(&self, piece: Piece) -> u64 {
        let id = self.next_hole.fetch_add(1, Ordering::Relaxed);
        self.holes.lock().push((id, piece));
        id
    }

    /// Takes what belongs into a hole.
    pub(crate) fn fill(&self, id: u64) -> Option<Piece> {
        let mut holes = self.holes.lock();
        let place = holes.iter().position(|(hole, _)| *hole == id)?;
        Some(holes.swap_remove(place).1)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.host, self.listener.name)
    }
}
