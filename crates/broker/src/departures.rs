//! Connections that their clients closed, told to the groups whose members were last heard on them
//! (`docs/design/coordination.md`, rules L-1 to L-9).
//!
//! A process that dies closes all its connections at once, but so does a proxy that restarts. What
//! closes is therefore gathered until it is quiet for a moment; what looks like the network's doing is
//! left to the session timeouts, and told as such, so that people see why nobody is removed. Which members are
//! meant, and whether they came back on another connection, only their shard knows.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use coordinator::group::{ClosedConnection, GroupRequest};
use coordinator::{Caller, Millis};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::info;
use wire::Str;

use crate::broker::Broker;
use crate::call::Link;
use crate::stop::Stop;

/// Closes belong together until nothing closed for this long, or since the first for `GATHER_MAX`.
const QUIET: Millis = 2_000;
const GATHER_MAX: Millis = 6_000;
/// How often it is looked whether it is quiet.
const LOOK: Duration = Duration::from_millis(500);
/// Closed connections that are kept until then; more are the network's doing anyway.
const CLOSED_MAX: usize = 10_000;
/// Groups that one connection may beat for before it is no member's own; proxies do that.
const GROUPS_MAX: usize = 16;
/// So many clients and this share of a listener's members at once are the network's doing (CR-26).
const CLIENTS_MAX: usize = 3;
const SHARE: usize = 5;

/// The open connections by what a shard needs to know when they close.
#[derive(Debug, Default)]
pub struct Departures {
    state: Mutex<State>,
    closed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// By number. Bounded by `max.connections`.
    open: HashMap<u64, Open>,
    /// Open connections by address and client id.
    clients: HashMap<(Str, Str), usize>,
    closed: Vec<Closed>,
    /// More closed than is kept.
    overflown: bool,
}

#[derive(Debug)]
struct Open {
    listener: Str,
    client: (Str, Str),
    /// Groups whose members beat here, with the process of the last of them.
    beats: BTreeMap<Str, Str>,
}

#[derive(Debug)]
struct Closed {
    connection: u64,
    at: Millis,
    was: Open,
}

impl Departures {
    /// The first request on a connection.
    pub(crate) fn enter(&self, link: &Link, client_id: &Str) {
        self.opened(link.id, &link.listener.name.0, (link.host.clone(), client_id.detach()));
    }

    fn opened(&self, connection: u64, listener: &Str, client: (Str, Str)) {
        let mut state = self.state.lock();
        *state.clients.entry(client.clone()).or_default() += 1;
        let open = Open { listener: listener.clone(), client, beats: BTreeMap::new() };
        state.open.insert(connection, open);
    }

    /// A member of the group beat on the connection (CR-24).
    pub(crate) fn beat(&self, connection: u64, group: &Str, process: &Str) {
        let mut state = self.state.lock();
        let Some(open) = state.open.get_mut(&connection) else { return };
        if let Some(known) = open.beats.get_mut(group) {
            if known != process {
                *known = process.detach();
            }
        } else if open.beats.len() < GROUPS_MAX {
            open.beats.insert(group.detach(), process.detach());
        }
    }

    /// A member of the group left on the connection, which it may close now.
    pub(crate) fn leave(&self, connection: u64, group: &Str) {
        if let Some(open) = self.state.lock().open.get_mut(&connection) {
            open.beats.remove(group);
        }
    }

    /// The connection is closed: by its client or the network, or by us (CR-25, 1).
    pub(crate) fn close(&self, connection: u64, by_peer: bool, now: Millis) {
        let mut state = self.state.lock();
        let Some(was) = state.open.remove(&connection) else { return };
        if let Some(count) = state.clients.get_mut(&was.client) {
            *count -= 1;
            if *count == 0 {
                state.clients.remove(&was.client);
            }
        }
        if !by_peer || was.beats.is_empty() {
            return;
        }
        if state.closed.len() < CLOSED_MAX {
            state.closed.push(Closed { connection, at: now, was });
        } else {
            state.overflown = true;
        }
        drop(state);
        self.closed.notify_one();
    }

    fn is_quiet(&self, now: Millis) -> bool {
        let state = self.state.lock();
        let (first, last) = (state.closed.first(), state.closed.last());
        last.is_none_or(|it| it.at + QUIET <= now) || first.is_none_or(|it| it.at + GATHER_MAX <= now)
    }

    /// Those of the gathered closes by which a member may have gone, by group, each with the number of those with which
    /// it closed if they are too many for that.
    fn take(&self) -> BTreeMap<Str, Vec<ClosedConnection>> {
        let mut state = self.state.lock();
        let closed = std::mem::take(&mut state.closed);
        let overflown = std::mem::take(&mut state.overflown);
        let mut by_listener: BTreeMap<Str, Vec<Closed>> = BTreeMap::new();
        for it in closed {
            by_listener.entry(it.was.listener.clone()).or_default().push(it);
        }
        let mut by_group: BTreeMap<Str, Vec<ClosedConnection>> = BTreeMap::new();
        for (listener, closed) in by_listener {
            let is_mass = overflown || state.is_mass(&listener, &closed);
            if is_mass {
                info!(%listener, connections = closed.len(), "many clients closed at once: sessions go on");
            }
            let together = is_mass.then(|| u32::try_from(closed.len()).unwrap_or(u32::MAX));
            // CR-25, 2: a living client mostly has another connection.
            for it in closed.iter().filter(|it| !state.clients.contains_key(&it.was.client)) {
                let closed = ClosedConnection { connection: it.connection, at: it.at, together };
                for group in it.was.beats.keys() {
                    by_group.entry(group.clone()).or_default().push(closed);
                }
            }
        }
        by_group
    }
}

impl State {
    /// CR-26: more than three clients and a fifth of those on the listener, of several processes.
    fn is_mass(&self, listener: &Str, closed: &[Closed]) -> bool {
        if closed.len() <= CLIENTS_MAX {
            return false;
        }
        let process = |it: &Closed| {
            it.was.beats.values().map(|id| (it.was.client.0.clone(), id.clone())).collect::<Vec<_>>()
        };
        let processes: BTreeSet<_> = closed.iter().flat_map(process).collect();
        let beating =
            self.open.values().filter(|it| it.listener == *listener && !it.beats.is_empty()).count();
        processes.len() > 1 && closed.len() * SHARE > beating + closed.len()
    }
}

/// Tells shards of closed connections until the broker stops.
pub(crate) async fn tell(broker: Arc<Broker>, mut stop: Stop) {
    loop {
        tokio::select! {
            () = stop.given() => return,
            () = broker.departures.closed.notified() => {}
        }
        while !broker.departures.is_quiet(broker.clock.now()) {
            tokio::select! {
                () = stop.given() => return,
                () = sleep(LOOK) => {}
            }
        }
        let by_group = broker.departures.take();
        let request = |groups: Vec<Str>| {
            let closed = groups.into_iter().map(|group| {
                let closed = by_group.get(&group).cloned().unwrap_or_default();
                (group, closed)
            });
            GroupRequest::ConnectionsClosed(closed.collect())
        };
        let groups = by_group.keys().cloned().collect();
        // A shard that is not served knows of no connection.
        broker.groups.ask_each(groups, &Caller::default(), request).await;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn text(text: &str) -> Str {
        Str::from(text)
    }

    /// A connection of a client that beats for group `g`.
    fn beats(departures: &Departures, connection: u64, host: &str, client: &str, process: &str) {
        departures.opened(connection, &text("PLAINTEXT"), (text(host), text(client)));
        departures.beat(connection, &text("g"), &text(process));
    }

    fn told(departures: &Departures) -> Vec<u64> {
        let told = departures.take().into_values().flatten();
        told.inspect(|it| assert_eq!(it.together, None)).map(|it| it.connection).collect()
    }

    /// The same of closes that are too many, with how many they are.
    fn excused(departures: &Departures) -> Vec<(u64, u32)> {
        let told = departures.take().into_values().flatten();
        told.map(|it| (it.connection, it.together.unwrap())).collect()
    }

    #[test]
    fn a_client_without_another_connection_is_told_cr25() {
        let departures = Departures::default();
        beats(&departures, 1, "/1", "a", "p1");
        beats(&departures, 2, "/1", "b", "p1");
        departures.opened(3, &text("PLAINTEXT"), (text("/1"), text("b")));
        departures.opened(4, &text("PLAINTEXT"), (text("/2"), text("a")));
        departures.close(1, true, 10);
        departures.close(2, true, 10);
        assert!(!departures.is_quiet(2_009));
        assert!(departures.is_quiet(2_010));
        // The other connection of b is open; that of another address does not count for a.
        assert_eq!(told(&departures), [1]);
        departures.close(3, true, 5_000);
        assert_eq!(told(&departures), [], "no member beat there");
    }

    #[test]
    fn what_we_close_and_who_left_is_not_told_cr25() {
        let departures = Departures::default();
        beats(&departures, 1, "/1", "a", "p1");
        beats(&departures, 2, "/1", "b", "p1");
        departures.close(1, false, 10);
        departures.leave(2, &text("g"));
        departures.close(2, true, 10);
        assert_eq!(told(&departures), []);
    }

    #[test]
    fn many_clients_at_once_are_the_networks_doing_cr26() {
        let departures = Departures::default();
        let open = |from: u64, to: u64, process: fn(u64) -> String| {
            for it in from..to {
                beats(&departures, it, "/1", &format!("c{it}"), &process(it));
            }
        };
        let close = |from: u64, to: u64| (from..to).for_each(|it| departures.close(it, true, 10));
        // Four of 19 are more than a fifth, of 20 they are not.
        open(1, 20, |it| format!("p{it}"));
        // One of them has another connection.
        departures.opened(30, &text("PLAINTEXT"), (text("/1"), text("c4")));
        close(1, 5);
        assert_eq!(excused(&departures), [(1, 4), (2, 4), (3, 4)]);
        departures.close(30, true, 10);
        open(1, 5, |it| format!("p{it}"));
        open(20, 21, |it| format!("p{it}"));
        close(1, 5);
        assert_eq!(told(&departures), [1, 2, 3, 4]);
        // All threads of one process.
        let departures = Departures::default();
        for it in 1..9 {
            beats(&departures, it, "/1", &format!("c{it}"), "p");
        }
        (1..9).for_each(|it| departures.close(it, true, 10));
        assert_eq!(told(&departures).len(), 8);
    }

    #[test]
    fn beyond_the_bound_nobody_is_taken_for_gone() {
        let departures = Departures::default();
        let all = u64::try_from(CLOSED_MAX).unwrap() + 1;
        for it in 0..all {
            beats(&departures, it, "/1", &format!("c{it}"), "p");
            departures.close(it, true, 10);
        }
        let excused = excused(&departures);
        assert_eq!((excused.len(), excused[0].1), (CLOSED_MAX, u32::try_from(CLOSED_MAX).unwrap()));
        assert!(departures.state.lock().open.is_empty());
        assert!(departures.state.lock().clients.is_empty());
    }
}
