//! A listener for each broker that answers name, so that clients reach all of them through the proxy.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Mutex;

use super::rewrite::Address;

/// Brokers that get a listener. Addresses of further ones stay as they are.
const NODES_MAX: usize = 256;

/// Which local port stands for which broker.
#[derive(Debug)]
pub(super) struct Nodes {
    /// Where new listeners are bound.
    ip: IpAddr,
    /// The first port that is tried for them; 0 lets the system choose.
    first_port: u16,
    /// What the operator called the first broker, and what its port is.
    upstream: Address,
    listen: u16,
    known: Mutex<BTreeMap<Address, u16>>,
}

/// What an address becomes.
#[derive(Debug)]
pub(super) enum Place {
    Port(u16),
    /// A listener was bound just now; connections to it go on to the address.
    Opened(TcpListener, u16),
    /// It stays, and why.
    Stays(String),
}

impl Nodes {
    /// `listen` is the address of the first listener, which leads to `upstream`.
    pub(super) fn new(listen: SocketAddr, upstream: Address, first_port: u16) -> Self {
        let known = Mutex::new(BTreeMap::new());
        Self { ip: listen.ip(), first_port, upstream, listen: listen.port(), known }
    }

    /// The port that stands for a broker; `peer` is the address of the connection that named it.
    pub(super) fn place(&self, told: &Address, peer: Option<SocketAddr>) -> Place {
        if *told == self.upstream {
            return Place::Port(self.listen);
        }
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(port) = known.get(told) {
            return Place::Port(*port);
        }
        // Another name of the first broker.
        if peer.is_some_and(|it| {
            it.port() == self.upstream.port && names(&told.host, it) && it.port() == told.port
        }) {
            known.insert(told.clone(), self.listen);
            return Place::Port(self.listen);
        }
        if known.len() >= NODES_MAX {
            return Place::Stays(format!("{}:{} stays: {NODES_MAX} brokers are known", told.host, told.port));
        }
        match self.bind() {
            Ok((listener, port)) => {
                known.insert(told.clone(), port);
                Place::Opened(listener, port)
            }
            Err(problem) => Place::Stays(format!("{}:{} stays: {problem}", told.host, told.port)),
        }
    }

    fn bind(&self) -> io::Result<(TcpListener, u16)> {
        let listener = if self.first_port == 0 {
            TcpListener::bind((self.ip, 0))?
        } else {
            let ports = (0..1000).filter_map(|it| self.first_port.checked_add(it));
            let mut last = io::Error::from(io::ErrorKind::AddrInUse);
            let bound = ports.map(|port| TcpListener::bind((self.ip, port))).find_map(|bound| match bound {
                Ok(listener) => Some(listener),
                Err(problem) => {
                    last = problem;
                    None
                }
            });
            bound.ok_or(last)?
        };
        let port = listener.local_addr()?.port();
        Ok((listener, port))
    }
}

/// Whether a host names the machine of a socket address, as far as that is plain without asking anyone.
fn names(host: &str, address: SocketAddr) -> bool {
    match host.parse::<IpAddr>() {
        Ok(ip) => ip == address.ip(),
        Err(_) => host == "localhost" && address.ip().is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: &str, port: u16) -> Address {
        Address { host: host.to_owned(), port }
    }

    #[test]
    fn one_listener_for_each_broker() {
        let nodes = Nodes::new("127.0.0.1:1000".parse().unwrap(), at("first", 9092), 0);
        let peer = Some("127.0.0.1:9092".parse().unwrap());
        assert!(matches!(nodes.place(&at("first", 9092), peer), Place::Port(1000)));
        assert!(matches!(nodes.place(&at("localhost", 9092), peer), Place::Port(1000)));
        let Place::Opened(listener, port) = nodes.place(&at("second", 9092), peer) else { panic!() };
        assert_eq!(listener.local_addr().unwrap().port(), port);
        assert!(matches!(nodes.place(&at("second", 9092), peer), Place::Port(it) if it == port));
        for i in 0..NODES_MAX {
            nodes.known.lock().unwrap().insert(at("many", u16::try_from(i).unwrap()), 1);
        }
        assert!(matches!(nodes.place(&at("beyond", 9092), peer), Place::Stays(_)));
    }
}
