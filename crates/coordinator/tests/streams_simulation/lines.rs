//! Connections that close, alone and together, and who loses its membership by that (L-1 to L-9 of
//! `docs/design/coordination.md`), and clients that are wrong.

use std::collections::{BTreeMap, BTreeSet};

use coordinator::group::streams::MemberState;
use coordinator::group::{ClosedConnection, GroupReply, GroupRequest};
use coordinator::{Caller, Event, Millis, Ticket};
use wire::streams_group_heartbeat::request::TaskIds;
use wire::{ErrorCode, Str, StreamsGroupHeartbeatRequest};

use crate::client::{Client, Line};
use crate::world::World;

/// `streams.session.timeout.ms`, which no event changes.
const SESSION: Millis = 45_000;
/// The shortest time for which a member may be away, twice the largest interval that it is told (L-7).
const GRACE: Millis = 10_000;
/// Closes within this time belong together, and more than so many of them are the network's doing (L-6).
const BURST: Millis = 2_000;
const CLIENTS_MAX: usize = 3;

#[derive(Debug, Default)]
pub(crate) struct Lines {
    opened: u64,
    pub loaded_at: Millis,
    /// Members that were gone before their session was over.
    pub noticed: usize,
    /// Times when all went at once, and nobody was taken for dead.
    pub mass: usize,
}

/// A member before something happens: whether it must give up tasks, which has a timer of its own.
pub(crate) type Members = BTreeMap<String, bool>;

impl World {
    /// The client beats: on a connection that is open.
    pub(crate) fn beats(&mut self, client: usize) -> u64 {
        let line = &mut self.clients[client].line;
        if line.connection == 0 {
            self.lines.opened += 1;
            line.connection = self.lines.opened;
        }
        line.connection
    }

    /// The heartbeat was not refused.
    pub(crate) fn was_heard(&mut self, client: usize) {
        let line = &mut self.clients[client].line;
        *line = Line { known: line.connection, heard: self.now, closed: None, ..*line };
    }

    /// The process dies: its connection is closed by the system, unless the machine is gone too.
    pub(crate) fn die(&mut self, client: usize) {
        self.clients[client].dead = true;
        if self.draw(3) > 0 {
            self.close(&[client]);
        }
    }

    /// Clients connect anew: one, or all at once because of something in between.
    pub(crate) fn close_some(&mut self) {
        if self.clients.is_empty() {
            return;
        }
        let one = self.draw(self.clients.len());
        let all: Vec<_> = (0..self.clients.len()).collect();
        if self.draw(3) == 0 { self.close(&[one]) } else { self.close(&all) }
    }

    /// The coordinator is told of connections that were closed.
    fn close(&mut self, clients: &[usize]) {
        let at = self.now;
        let connections = clients.iter().map(|it| self.clients[*it].line.connection).filter(|it| *it > 0);
        let closed =
            connections.map(|connection| ClosedConnection { connection, at, together: None }).collect();
        let members = self.members();
        // L-4, L-5: static members are not meant, nor who was not heard since the load.
        let is_meant = |it: &Client| {
            let is_known = it.line.connection > 0 && it.line.known == it.line.connection;
            it.instance.is_none() && is_known && it.line.closed.is_none() && members.contains_key(&it.id)
        };
        for client in clients {
            let client = &mut self.clients[*client];
            if is_meant(client) {
                client.line.closed = Some(at);
            }
            client.line.connection = 0;
        }
        let burst =
            |it: &&Client| it.line.closed.is_some_and(|it| it >= at - BURST) && members.contains_key(&it.id);
        let burst: Vec<_> = self.clients.iter().filter(burst).collect();
        let processes: BTreeSet<_> = burst.iter().map(|it| &it.process).collect();
        if burst.len() > CLIENTS_MAX && burst.len() * 5 > members.len() && processes.len() > 1 {
            self.lines.mass += 1;
            let revived =
                self.clients.iter_mut().filter(|it| it.line.closed.is_some_and(|it| it >= at - BURST));
            revived.for_each(|it| it.line.closed = None);
        }
        let request = GroupRequest::ConnectionsClosed(vec![(Str::from("g"), closed)]);
        let output = self.step(Event::Ask { ticket: Ticket(1), caller: Caller::default(), request });
        assert!(output.records.is_empty(), "a closed connection is nothing for the log");
    }

    pub(crate) fn members(&self) -> Members {
        let Some(group) = self.shard.hard().streams(&Str::from("g")) else { return Members::new() };
        let members = group.members().iter();
        members.map(|(id, it)| (id.to_string(), it.current.state == MemberState::UnrevokedTasks)).collect()
    }

    /// Who is gone since: its session was over, it did not give up tasks, or its process is gone (L-4 to L-7).
    pub(crate) fn who_is_gone(&mut self, before: &Members) {
        let after = self.members();
        for (id, had_to_give_up) in before.iter().filter(|(id, _)| !after.contains_key(*id)) {
            let Some(client) = self.clients.iter().find(|it| it.id == **id) else { continue };
            let session = client.line.heard.max(self.lines.loaded_at) + SESSION;
            if self.now >= session || *had_to_give_up {
                continue;
            }
            assert!(client.instance.is_none(), "the static member {id} was taken for dead");
            let closed = client.line.closed.unwrap_or_else(|| panic!("{id} was taken for dead: {client:?}"));
            assert!(self.now >= closed + GRACE, "{id} was not waited for: {client:?}");
            assert!(closed - self.lines.loaded_at >= GRACE, "{id} was taken for dead right after a load");
            self.lines.noticed += 1;
        }
    }

    /// A member whose connection was closed does not outlast the time of grace.
    pub(crate) fn the_dead_are_gone(&self) {
        let members = self.members();
        for client in self.clients.iter().filter(|it| members.contains_key(&it.id)) {
            let Some(closed) = client.line.closed else { continue };
            let is_late = closed - self.lines.loaded_at >= GRACE && self.now >= closed + GRACE;
            assert!(!is_late, "nobody noticed that {} is gone: {client:?}", client.id);
        }
    }

    /// A client that is wrong is told so, and has changed nothing.
    pub(crate) fn wrong(&mut self, client: usize) {
        let of_nothing =
            || vec![TaskIds { subtopology_id: Str::from("9"), partitions: vec![0], ..Default::default() }];
        let client = &self.clients[client];
        let epoch = client.epoch.max(1);
        let right = StreamsGroupHeartbeatRequest { topology: None, process_id: None, ..client.request() };
        let request = match self.draw(5) {
            0 => StreamsGroupHeartbeatRequest { member_epoch: epoch + 1000, ..right },
            1 => {
                StreamsGroupHeartbeatRequest { member_id: Str::from("nobody"), member_epoch: epoch, ..right }
            }
            2 => StreamsGroupHeartbeatRequest {
                member_epoch: epoch,
                active_tasks: Some(of_nothing()),
                standby_tasks: None,
                ..right
            },
            3 => StreamsGroupHeartbeatRequest { member_epoch: -3, ..right },
            _ => StreamsGroupHeartbeatRequest { group_id: Str::from("h"), member_epoch: epoch, ..right },
        };
        let caller = Caller { api_version: 1, ..Default::default() };
        let request = GroupRequest::StreamsGroupHeartbeat(Box::new(request));
        let output = self.step(Event::Ask { ticket: Ticket(1), caller, request });
        let [(_, GroupReply::StreamsGroupHeartbeat(reply))] = &output.replies[..] else {
            panic!("one reply")
        };
        assert_ne!(reply.response.error_code, ErrorCode::NONE);
        assert!(output.records.is_empty());
    }
}
