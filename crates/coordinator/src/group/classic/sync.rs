//! SyncGroup (key 14), v0–5, behind the handler's checks (6.14).
//!
//! What versions changed: 3 instance ids, 5 protocol type and name (KIP-559).
//!
//! Checks in order:
//! 1. the group id is not empty                      else INVALID_GROUP_ID
//! 2. classic, with members                          else UNKNOWN_MEMBER_ID; a consumer group answers
//!    itself (`group/consumer/classic_members.rs`)
//! 3. instance and member exist and belong together  else UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID
//! 4. it is the current generation                   else ILLEGAL_GENERATION
//! 5. type and name, where given, are the group's    else INCONSISTENT_GROUP_PROTOCOL
//! 6. the generation does not end                    else REBALANCE_IN_PROGRESS

use std::collections::BTreeMap;

use bytes::Bytes;
use wire::{ErrorCode, Str, SyncGroupRequest, SyncGroupResponse};

use super::desk::{Desk, refused_sync};
use super::live::{Live, State};
use super::own;
use crate::group::consumer;
use crate::group::history::{Happened, Kind};
use crate::group::step::Step;
use crate::machine::Ticket;

/// The answer, unless the sync waits for the leader's.
pub fn sync(step: &mut Step<'_>, ticket: Ticket, request: &SyncGroupRequest) -> Option<SyncGroupResponse> {
    if request.group_id.is_empty() {
        return Some(refused_sync(ErrorCode::INVALID_GROUP_ID));
    }
    if step.hard.consumer(&request.group_id).is_some() {
        return Some(consumer::sync(step, request));
    }
    let Some(mut desk) = Desk::open(step, &request.group_id) else {
        return Some(refused_sync(ErrorCode::UNKNOWN_MEMBER_ID));
    };
    match check(desk.live, request) {
        Ok(()) => desk.sync(ticket, request),
        Err(code) => Some(refused_sync(code)),
    }
}

/// Checks 2 to 6.
fn check(live: &Live, request: &SyncGroupRequest) -> Result<(), ErrorCode> {
    if live.is_empty() {
        return Err(ErrorCode::UNKNOWN_MEMBER_ID);
    }
    live.validate_member(&request.member_id, request.group_instance_id.as_ref())?;
    if request.generation_id != live.generation {
        return Err(ErrorCode::ILLEGAL_GENERATION);
    }
    let differs = |asked: &Option<Str>, is: &Option<Str>| asked.is_some() && is.is_some() && asked != is;
    if differs(&request.protocol_type, &live.protocol_type) || differs(&request.protocol_name, &live.protocol)
    {
        return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    }
    match live.state {
        State::Preparing => Err(ErrorCode::REBALANCE_IN_PROGRESS),
        State::Empty | State::Completing | State::Stable => Ok(()),
    }
}

impl Desk<'_, '_> {
    fn sync(&mut self, ticket: Ticket, request: &SyncGroupRequest) -> Option<SyncGroupResponse> {
        let member = &request.member_id;
        self.live.pending_sync.remove(member);
        if self.live.pending_sync.is_empty() {
            self.cancel_sync_timer();
        }
        if self.live.state == State::Stable {
            return Some(self.synced(member));
        }
        self.park_sync(member, ticket);
        if self.live.is_leader(member) {
            self.assign(request);
        }
        None
    }

    /// The leader's sync: each member's assignment, an empty one for those it left out. What it says for
    /// others is dropped. The record has the time at which the members had joined, as Kafka's.
    fn assign(&mut self, request: &SyncGroupRequest) {
        let given: BTreeMap<&Str, &Bytes> =
            request.assignments.iter().map(|it| (&it.member_id, &it.assignment)).collect();
        self.live.members.for_each_mut(|id, member| {
            member.assignment = given.get(id).map(|it| own(it)).unwrap_or_default();
        });
        let record = self.live.record(&self.id, |_, member| member.assignment.clone());
        self.record(record);
        self.live.transition(State::Stable, self.now);
        let assigned = Happened::new(Kind::TargetComputed).member(&request.member_id);
        self.tell(assigned.epoch(self.live.generation));
        let members: Vec<Str> = self.live.members.keys().cloned().collect();
        for id in members {
            if let Some(ticket) = self.live.members.get_mut(&id).and_then(|it| it.sync.take()) {
                let response = self.synced(&id);
                self.answer_sync(ticket, response);
                self.renew_session(&id);
            }
        }
    }

    fn synced(&self, member: &Str) -> SyncGroupResponse {
        SyncGroupResponse {
            protocol_type: self.live.protocol_type.clone(),
            protocol_name: self.live.protocol.clone(),
            assignment: self.live.members.get(member).map(|it| it.assignment.clone()).unwrap_or_default(),
            ..Default::default()
        }
    }
}
