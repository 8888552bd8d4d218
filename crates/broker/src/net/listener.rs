//! Accepts connections of one listener and keeps their limits (`broker-core.md` 18.6).

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Notify;
use tracing::{debug, warn};

use super::connection::Connection;
use crate::broker::Broker;
use crate::call::{Link, ListenerName};
use crate::settings::Limits;
use crate::stop::Stop;

/// Pause after an accept that failed, which it does when the process is out of file handles.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// Where a listener waits, with its limits.
#[derive(Debug, Clone)]
pub struct ListenerSettings {
    pub name: ListenerName,
    /// Addresses tried in turn until one can be bound. Port 0: the system picks one.
    pub addresses: Vec<SocketAddr>,
    /// What Metadata names. `None` with a wildcard address: the address that the client connected to.
    pub advertised: Option<Endpoint>,
}

/// Host and port as clients are told them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub host: wire::Str,
    pub port: u16,
}

/// A listener that is bound and known to Metadata.
#[derive(Debug)]
pub struct Listener {
    pub name: ListenerName,
    pub bound: SocketAddr,
    pub advertised: Option<Endpoint>,
}

/// Binds a listener. Nothing is accepted yet.
pub(crate) fn bind(settings: &ListenerSettings, limits: &Limits) -> io::Result<(Listener, TcpListener)> {
    let mut failure = io::Error::new(io::ErrorKind::AddrNotAvailable, "no address");
    for address in &settings.addresses {
        match bind_one(*address, limits) {
            Ok(socket) => {
                let bound = socket.local_addr()?;
                let advertised = settings.advertised.clone().map(|it| Endpoint {
                    // An advertised port of 0 means the port that was bound.
                    port: if it.port == 0 { bound.port() } else { it.port },
                    ..it
                });
                return Ok((Listener { name: settings.name.clone(), bound, advertised }, socket));
            }
            Err(error) => failure = io::Error::new(error.kind(), format!("{address}: {error}")),
        }
    }
    Err(failure)
}

fn bind_one(address: SocketAddr, limits: &Limits) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit the sizes.
    if let Some(bytes) = limits.send_buffer {
        socket.set_send_buffer_size(bytes)?;
    }
    if let Some(bytes) = limits.receive_buffer {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.bind(address)?;
    socket.listen(limits.backlog)
}

/// Accepts until the broker stops. Each connection runs as one task.
pub(crate) async fn accept(
    broker: Arc<Broker>,
    listener: Arc<Listener>,
    socket: TcpListener,
    mut stop: Stop,
) {
    loop {
        let accepted = tokio::select! {
            accepted = next(&broker.connections, &socket) => accepted,
            () = stop.given() => return,
        };
        match accepted {
            Ok((stream, peer)) => greet(&broker, &listener, stream, peer, &stop),
            Err(error) => {
                warn!(%error, listener = %listener.name, "accept failed");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

/// The next connection, once there is a slot for it (`max.connections`).
async fn next(connections: &Connections, socket: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    connections.slot().await;
    socket.accept().await
}

fn greet(broker: &Arc<Broker>, listener: &Arc<Listener>, stream: TcpStream, peer: SocketAddr, stop: &Stop) {
    let Some(seat) = broker.connections.enter(peer.ip()) else {
        debug!(client = %peer, "connection refused by max.connections.per.ip");
        return;
    };
    if prepare(&stream).is_err() {
        return;
    }
    let local = stream.local_addr().unwrap_or(listener.bound);
    let link = Arc::new(Link::new(listener.clone(), peer, local));
    let connection = Connection::new(broker.clone(), link, stream);
    let stop = stop.clone();
    tokio::spawn(async move {
        connection.run(stop).await;
        drop(seat);
    });
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    Ok(())
}

/// How many connections there are, in all and by address.
#[derive(Debug)]
pub struct Connections {
    max: usize,
    per_ip_max: usize,
    counts: Mutex<Counts>,
    left: Notify,
}

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    by_ip: HashMap<IpAddr, usize>,
}

/// A connection's place in the counts, given back on drop.
struct Seat {
    broker_connections: Arc<Connections>,
    ip: IpAddr,
}

impl Connections {
    /// Limits `max.connections` and `max.connections.per.ip`.
    pub fn new(max: usize, per_ip_max: usize) -> Arc<Self> {
        Arc::new(Self { max, per_ip_max, counts: Mutex::default(), left: Notify::new() })
    }

    /// Connections open now.
    pub fn count(&self) -> usize {
        self.counts.lock().all
    }

    /// Waits until no connection is left.
    pub(crate) async fn all_gone(&self) {
        loop {
            let left = self.left.notified();
            if self.count() == 0 {
                return;
            }
            left.await;
        }
    }

    async fn slot(&self) {
        loop {
            let left = self.left.notified();
            if self.counts.lock().all < self.max {
                return;
            }
            left.await;
        }
    }

    fn enter(self: &Arc<Self>, ip: IpAddr) -> Option<Seat> {
        let mut counts = self.counts.lock();
        let here = counts.by_ip.entry(ip).or_default();
        if *here >= self.per_ip_max {
            return None;
        }
        *here += 1;
        counts.all += 1;
        Some(Seat { broker_connections: self.clone(), ip })
    }

    fn leave(&self, ip: IpAddr) {
        let mut counts = self.counts.lock();
        counts.all -= 1;
        if let Some(here) = counts.by_ip.get_mut(&ip) {
            *here -= 1;
            if *here == 0 {
                counts.by_ip.remove(&ip);
            }
        }
        drop(counts);
        self.left.notify_waiters();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.broker_connections.leave(self.ip);
    }
}
