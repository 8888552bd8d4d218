//! What the shell itself needs of the settings: who it is, where it listens, and its limits.
//!
//! Values were checked one by one by the settings table; here stand the rules that join several.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use catalog::config::{self, Configs, Scope, items};
use wire::Str;

use crate::call::ListenerName;
use crate::net::listener::{Endpoint, ListenerSettings};

/// Number of a broker to which nobody gave one.
const NODE_ID: i32 = 1;

/// Static settings of one broker.
#[derive(Debug, Clone)]
pub struct Settings {
    pub node_id: i32,
    pub listeners: Vec<ListenerSettings>,
    pub limits: Limits,
    /// All values that were given; the image's settings begin with them.
    pub fixed: Configs,
}

/// Limits of connections (`broker-core.md` 18.6).
#[derive(Debug, Clone)]
pub struct Limits {
    /// `socket.request.max.bytes`
    pub request_bytes_max: usize,
    /// `max.connections`
    pub connections_max: usize,
    /// `max.connections.per.ip`
    pub connections_per_ip_max: usize,
    /// `connections.max.idle.ms`
    pub idle_max: Duration,
    /// `socket.listen.backlog.size`
    pub backlog: u32,
    /// `socket.send.buffer.bytes` and `socket.receive.buffer.bytes`, if they were given: the
    /// system finds better sizes than Kafka's defaults by itself.
    pub send_buffer: Option<u32>,
    pub receive_buffer: Option<u32>,
}

/// A setting that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    pub name: String,
    pub value: String,
    pub reason: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}: {}", self.name, self.value, self.reason)
    }
}

impl std::error::Error for Invalid {}

impl Settings {
    /// Reads the settings of the shell out of values that passed their rows.
    pub fn new(fixed: Configs) -> Result<Self, Invalid> {
        let read = Read(&fixed);
        let node_id = match (fixed.get("node.id"), fixed.get("broker.id")) {
            (Some(_), _) => read.number("node.id")?,
            (None, Some(_)) => read.number("broker.id")?,
            (None, None) => i64::from(NODE_ID),
        };
        Ok(Self {
            node_id: i32::try_from(node_id).ok().filter(|id| *id >= 0).unwrap_or(NODE_ID),
            listeners: listeners(&read)?,
            limits: Limits {
                request_bytes_max: read.size("socket.request.max.bytes")?,
                connections_max: read.size("max.connections")?,
                connections_per_ip_max: read.size("max.connections.per.ip")?,
                idle_max: read.idle()?,
                send_buffer: read.buffer("socket.send.buffer.bytes"),
                receive_buffer: read.buffer("socket.receive.buffer.bytes"),
                backlog: u32::try_from(read.number("socket.listen.backlog.size")?).unwrap_or(u32::MAX),
            },
            fixed,
        })
    }
}

/// Values with the defaults of their rows.
struct Read<'a>(&'a Configs);

impl<'a> Read<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        let given = self.0.get(name).map(String::as_str);
        given.or_else(|| config::row(Scope::Broker, name)?.default)
    }

    fn number(&self, name: &str) -> Result<i64, Invalid> {
        let value = self.text(name).unwrap_or_default();
        value.parse().map_err(|_| invalid(name, value, "not a number"))
    }

    fn size(&self, name: &str) -> Result<usize, Invalid> {
        Ok(usize::try_from(self.number(name)?).unwrap_or(0))
    }

    /// None if it was not given, or if −1 leaves it to the system.
    fn buffer(&self, name: &str) -> Option<u32> {
        self.0.get(name)?.parse().ok().filter(|bytes| *bytes > 0)
    }

    /// A time below 0 means that idle connections stay.
    fn idle(&self) -> Result<Duration, Invalid> {
        let ms = self.number("connections.max.idle.ms")?;
        // Far away instead of the largest value, so that adding it to a time can't overflow.
        let never = Duration::from_secs(100 * 365 * 24 * 3600);
        Ok(u64::try_from(ms).map_or(never, Duration::from_millis).min(never))
    }

    fn list(&self, name: &str) -> Vec<&'a str> {
        self.text(name).map(items).unwrap_or_default()
    }
}

fn invalid(name: &str, value: &str, reason: impl Into<String>) -> Invalid {
    Invalid { name: name.to_owned(), value: value.to_owned(), reason: reason.into() }
}

/// The listeners for clients (`broker-core.md` 16.1). Those of the controller open no port.
fn listeners(read: &Read<'_>) -> Result<Vec<ListenerSettings>, Invalid> {
    let advertised = advertised(read)?;
    let controller = read.list("controller.listener.names");
    let mut found: Vec<ListenerSettings> = Vec::new();
    for text in read.list("listeners") {
        let at = |reason: String| invalid("listeners", text, reason);
        let address = Address::parse(text).map_err(at)?;
        if controller.contains(&address.name) {
            continue;
        }
        require_plaintext(read, text, address.name)?;
        if found.iter().any(|it| it.name.0.as_bytes() == address.name.as_bytes()) {
            return Err(at("the listener name is used twice".into()));
        }
        found.push(ListenerSettings {
            name: ListenerName(Str::from(address.name)),
            addresses: address.resolve().map_err(at)?,
            advertised: advertised.get(address.name).cloned().or_else(|| address.endpoint()),
        });
    }
    if let Some(name) = advertised.keys().find(|name| !found.iter().any(|it| it.name.0 == ***name)) {
        return Err(invalid("advertised.listeners", name, "no listener has this name"));
    }
    if found.is_empty() {
        return Err(invalid(
            "listeners",
            read.text("listeners").unwrap_or_default(),
            "no listener for clients",
        ));
    }
    Ok(found)
}

fn advertised<'a>(read: &Read<'a>) -> Result<BTreeMap<&'a str, Endpoint>, Invalid> {
    let mut endpoints = BTreeMap::new();
    for text in read.list("advertised.listeners") {
        let at = |reason: String| invalid("advertised.listeners", text, reason);
        let address = Address::parse(text).map_err(at)?;
        if address.host == "0.0.0.0" {
            return Err(at("clients can't connect to 0.0.0.0".into()));
        }
        // An empty host: the address by which the client came, as without this setting.
        if let Some(endpoint) = address.endpoint() {
            endpoints.insert(address.name, endpoint);
        }
    }
    Ok(endpoints)
}

/// Other protocols are refused: a listener that speaks plain text instead of TLS would mislead.
fn require_plaintext(read: &Read<'_>, listener: &str, name: &str) -> Result<(), Invalid> {
    let map = read.list("listener.security.protocol.map");
    let protocol = map.iter().filter_map(|it| it.split_once(':')).find(|(key, _)| key.trim() == name);
    match protocol {
        Some((_, protocol)) if protocol.trim() == "PLAINTEXT" => Ok(()),
        Some((_, protocol)) => {
            Err(invalid("listeners", listener, format!("security protocol {protocol} is not served yet")))
        }
        None => {
            let reason = format!("listener.security.protocol.map has no protocol for {name}");
            Err(invalid("listeners", listener, reason))
        }
    }
}

/// `NAME://host:port`
struct Address<'a> {
    name: &'a str,
    host: &'a str,
    port: u16,
}

impl<'a> Address<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let form = || "expected NAME://host:port".to_owned();
        let (name, rest) = text.split_once("://").ok_or_else(form)?;
        let (host, port) = rest.rsplit_once(':').ok_or_else(form)?;
        let port = port.parse().map_err(|_| format!("{port:?} is not a port"))?;
        let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
        if name.is_empty() {
            return Err(form());
        }
        Ok(Self { name, host, port })
    }

    fn is_wildcard(&self) -> bool {
        matches!(self.host, "" | "0.0.0.0" | "::")
    }

    fn resolve(&self) -> Result<Vec<SocketAddr>, String> {
        if self.host.is_empty() {
            // IPv6 first: on Linux such a socket takes IPv4 as well.
            let any = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
            return Ok(any.map(|ip| SocketAddr::new(ip, self.port)).to_vec());
        }
        let found = (self.host, self.port).to_socket_addrs().map_err(|error| error.to_string())?;
        Ok(found.collect())
    }

    /// What to tell clients, if the host is one that they can use.
    fn endpoint(&self) -> Option<Endpoint> {
        (!self.is_wildcard()).then(|| Endpoint { host: Str::from(self.host), port: self.port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings, Invalid> {
        Settings::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    fn told(pairs: &[(&str, &str)]) -> Vec<String> {
        let told = read(pairs).unwrap().listeners.into_iter().map(|it| match it.advertised {
            Some(Endpoint { host, port }) => format!("{} {host}:{port}", it.name),
            None => format!("{} as connected", it.name),
        });
        told.collect()
    }

    #[test]
    fn a_listener_tells_its_own_address_unless_it_is_a_wildcard() {
        assert_eq!(told(&[("listeners", "PLAINTEXT://127.0.0.1:9092")]), ["PLAINTEXT 127.0.0.1:9092"]);
        assert_eq!(told(&[("listeners", "PLAINTEXT://:9092")]), ["PLAINTEXT as connected"]);
        assert_eq!(told(&[("listeners", "PLAINTEXT://[::1]:1")]), ["PLAINTEXT ::1:1"]);
    }

    #[test]
    fn advertised_addresses_are_taken_by_name() {
        let pairs = [
            ("listeners", "PLAINTEXT://0.0.0.0:9092,BROKER://0.0.0.0:9093,CONTROLLER://0.0.0.0:9094"),
            ("listener.security.protocol.map", "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"),
            ("controller.listener.names", "CONTROLLER"),
            ("advertised.listeners", "PLAINTEXT://localhost:32768"),
        ];
        assert_eq!(told(&pairs), ["PLAINTEXT localhost:32768", "BROKER as connected"]);
    }

    #[test]
    fn what_can_not_work_is_refused_with_name_and_value() {
        let refused = |pairs: &[(&str, &str)]| read(pairs).err().map(|it| it.name);
        assert_eq!(refused(&[("listeners", "PLAINTEXT:/h:1")]).as_deref(), Some("listeners"));
        assert_eq!(refused(&[("listeners", "PLAINTEXT://h:99999")]).as_deref(), Some("listeners"));
        assert_eq!(refused(&[("listeners", "SSL://127.0.0.1:1")]).as_deref(), Some("listeners"));
        assert_eq!(refused(&[("listeners", "OTHER://127.0.0.1:1")]).as_deref(), Some("listeners"));
        let twice = "PLAINTEXT://127.0.0.1:1,PLAINTEXT://127.0.0.1:2";
        assert_eq!(refused(&[("listeners", twice)]).as_deref(), Some("listeners"));
        let nobody = [("listeners", "PLAINTEXT://127.0.0.1:1"), ("advertised.listeners", "X://h:1")];
        assert_eq!(refused(&nobody).as_deref(), Some("advertised.listeners"));
        let wild =
            [("listeners", "PLAINTEXT://127.0.0.1:1"), ("advertised.listeners", "PLAINTEXT://0.0.0.0:1")];
        assert_eq!(refused(&wild).as_deref(), Some("advertised.listeners"));
    }

    #[test]
    fn the_old_name_of_the_node_id_counts_if_the_new_one_is_missing() {
        let listeners = ("listeners", "PLAINTEXT://127.0.0.1:0");
        assert_eq!(read(&[listeners]).unwrap().node_id, 1);
        assert_eq!(read(&[listeners, ("broker.id", "4")]).unwrap().node_id, 4);
        assert_eq!(read(&[listeners, ("broker.id", "4"), ("node.id", "5")]).unwrap().node_id, 5);
        assert_eq!(read(&[listeners, ("broker.id", "-1")]).unwrap().node_id, 1);
    }
}
