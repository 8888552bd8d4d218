//! JoinGroup (key 11), v0–9, behind the handler's authorization (6.3–6.8).
//!
//! What versions changed: 1 rebalance timeout, 4 a new member is sent back with its id (KIP-394),
//! 5 static members (KIP-345), 7 protocol type (KIP-559), 8 reason (KIP-800), 9 a static leader that
//! came back need not assign (KIP-814). The reason is for logs; it decides nothing.
//!
//! Checks in order:
//! 1. the group id is not empty                 else INVALID_GROUP_ID
//! 2. the session timeout is within its bounds  else INVALID_SESSION_TIMEOUT
//! 3. classic, or of another type but empty     else INCONSISTENT_GROUP_PROTOCOL; a consumer group with
//!    members answers itself (`group/consumer/classic_join.rs`)
//! 4. a group that is not there is made by joins without id only   else UNKNOWN_MEMBER_ID
//! 5. there is room                             else GROUP_MAX_SIZE_REACHED
//! 6. the type fits, and a protocol is offered by all members      else INCONSISTENT_GROUP_PROTOCOL
//! 7. with an id: instance and member exist and belong together    else UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID
//! 8. an id that was given out comes back without an instance      else UNKNOWN_SERVER_ERROR, as in Kafka
//! 9. v4+: a new dynamic member is sent back with its id: MEMBER_ID_REQUIRED
//! 10. an id of the client's name and a random part is not too long   else INVALID_REQUEST
//!
//! A join that is refused by 5 or 6 makes the group nevertheless, as in Kafka.

use bytes::Bytes;
use catalog::config::BrokerSettings;
use wire::{ErrorCode, JoinGroupRequest, JoinGroupResponse, Str};

use super::desk::{Desk, refused_join};
use super::live::{Holds, Live, Member, State};
use super::rebalance::joined;
use super::{own, tombstone_other};
use crate::group::consumer;
use crate::group::history::classic;
use crate::group::state::Group;
use crate::group::step::Step;
use crate::machine::{Caller, Entropy, Millis, Ticket};

/// A new member whose client is gone while its join is parked stays for so long (6.8). Not a setting.
const NEW_MEMBER_SESSION: Millis = 5 * 60 * 1000;
/// First version that sends a new member back with its id.
pub(in crate::group) const MEMBER_ID_REQUIRED_VERSION: i16 = 4;
/// Longest text of the protocol, and so of a member id.
const MEMBER_ID_BYTES_MAX: usize = i16::MAX as usize;

/// One join, with what outlives its frame copied.
pub(super) struct Ask<'r> {
    pub ticket: Ticket,
    pub caller: &'r Caller,
    pub request: &'r JoinGroupRequest,
    pub protocols: Vec<(Str, Bytes)>,
}

/// The answer, unless the join waits for others.
pub fn join(
    step: &mut Step<'_>,
    ticket: Ticket,
    caller: &Caller,
    request: &JoinGroupRequest,
) -> Option<JoinGroupResponse> {
    if let Err(code) = check(step.image.broker(), request) {
        return Some(refused_join(request.member_id.clone(), code));
    }
    let is_new = match step.hard.group(&request.group_id) {
        None => true,
        Some(Group::Simple | Group::Classic(_)) => false,
        Some(group @ (Group::Consumer(_) | Group::Streams(_))) if group.is_empty(None) => true,
        Some(Group::Consumer(_)) => return Some(consumer::join(step, caller, request)),
        Some(Group::Streams(_)) => {
            return Some(refused_join(Str::default(), ErrorCode::INCONSISTENT_GROUP_PROTOCOL));
        }
    };
    if is_new && !request.member_id.is_empty() {
        return Some(refused_join(request.member_id.clone(), ErrorCode::UNKNOWN_MEMBER_ID));
    }
    if is_new {
        tombstone_other(step, &request.group_id);
    }
    let now = step.now;
    if !step.soft.classic.contains_key(&request.group_id) {
        step.soft.classic.insert(request.group_id.detach(), Live::new(now));
    }
    let mut desk = Desk::open(step, &request.group_id)?;
    let protocols = request.protocols.iter().map(|it| (it.name.detach(), own(&it.metadata))).collect();
    let answer = desk.join(Ask { ticket, caller, request, protocols });
    if is_new {
        // 6.4 rule 5: from now on the log tells of the group.
        let record = desk.live.record_without_members(&desk.id);
        desk.record(record);
    }
    answer
}

/// Checks 1 and 2.
fn check(settings: &BrokerSettings, request: &JoinGroupRequest) -> Result<(), ErrorCode> {
    if request.group_id.is_empty() {
        return Err(ErrorCode::INVALID_GROUP_ID);
    }
    let bounds = settings.group_min_session_timeout_ms..=settings.group_max_session_timeout_ms;
    if bounds.contains(&request.session_timeout_ms) {
        Ok(())
    } else {
        Err(ErrorCode::INVALID_SESSION_TIMEOUT)
    }
}

impl Desk<'_, '_> {
    fn join(&mut self, ask: Ask<'_>) -> Option<JoinGroupResponse> {
        let member = &ask.request.member_id;
        if !self.accepts(member) {
            self.remove_member(member);
            return Some(refused_join(Str::default(), ErrorCode::GROUP_MAX_SIZE_REACHED));
        }
        if !self.live.supports(&ask.request.protocol_type, &ask.protocols) {
            return Some(refused_join(member.clone(), ErrorCode::INCONSISTENT_GROUP_PROTOCOL));
        }
        if member.is_empty() { self.join_new(ask) } else { self.join_known(ask) }
    }

    /// 6.4 rule 3. Where all must join anew the first ones stay, whoever they are.
    fn accepts(&self, member: &Str) -> bool {
        let max = usize::try_from(self.image.broker().group_max_size).unwrap_or(0);
        let member = self.live.members.get(member);
        match self.live.state {
            State::Empty => true,
            State::Preparing => member.is_some_and(|it| it.join.is_some()) || self.live.awaiting() < max,
            State::Completing | State::Stable => member.is_some() || self.live.members.len() < max,
        }
    }

    /// 6.5.
    fn join_new(&mut self, ask: Ask<'_>) -> Option<JoinGroupResponse> {
        let instance = ask.request.group_instance_id.as_ref();
        let Some(id) = new_member_id(instance.unwrap_or(&ask.caller.client_id), self.entropy) else {
            return Some(refused_join(Str::default(), ErrorCode::INVALID_REQUEST));
        };
        if let Some(old) = instance.and_then(|it| self.live.instances.get(it)).cloned() {
            return self.replace(ask, &old, id);
        }
        if instance.is_some() || ask.caller.api_version < MEMBER_ID_REQUIRED_VERSION {
            self.add_member(ask, id);
            return None;
        }
        self.live.pending.insert(id.clone());
        self.set_session(&id, Millis::from(ask.request.session_timeout_ms));
        Some(refused_join(id, ErrorCode::MEMBER_ID_REQUIRED))
    }

    /// 6.6.
    fn join_known(&mut self, ask: Ask<'_>) -> Option<JoinGroupResponse> {
        let request = ask.request;
        if let Some(id) = self.live.pending.get(&request.member_id).cloned() {
            if request.group_instance_id.is_some() {
                return Some(refused_join(Str::default(), ErrorCode::UNKNOWN_SERVER_ERROR));
            }
            self.add_member(ask, id);
            return None;
        }
        if let Err(code) = self.live.validate_member(&request.member_id, request.group_instance_id.as_ref()) {
            return Some(refused_join(request.member_id.clone(), code));
        }
        let (id, member) = self.live.members.get_key_value(&request.member_id)?;
        let (id, is_same) = (id.clone(), member.protocols == ask.protocols);
        let is_leader = self.live.is_leader(&id);
        match self.live.state {
            // It did not hear the answer to its last join.
            State::Completing if is_same => return Some(joined(self.live, &id, is_leader)),
            // A follower that asks again; a leader that does wants to assign anew.
            State::Stable if is_same && !is_leader => return Some(joined(self.live, &id, false)),
            State::Preparing | State::Completing | State::Stable => {}
            State::Empty => return Some(refused_join(id, ErrorCode::UNKNOWN_MEMBER_ID)),
        }
        let ticket = ask.ticket;
        self.update_member(&id, ask);
        self.park_join(&id, ticket);
        self.rebalance_or_complete();
        None
    }

    /// 6.7.
    pub(super) fn update_member(&mut self, id: &Str, ask: Ask<'_>) {
        let (rebalance, session) = (ask.request.rebalance_timeout_ms, ask.request.session_timeout_ms);
        if self.live.members.get(id).is_some_and(|it| it.protocols != ask.protocols) {
            let changed = classic::changed(self.telling(), ask.request, id, &ask.protocols);
            self.tell(changed);
        }
        self.live.update(id, ask.protocols, rebalance, session);
    }

    /// 6.8.
    fn add_member(&mut self, ask: Ask<'_>, id: Str) {
        if self.live.state == State::Preparing && self.live.previous == State::Empty {
            self.live.new_member_added = true;
        }
        let member = Member {
            instance_id: ask.request.group_instance_id.as_ref().map(Str::detach),
            client_id: ask.caller.client_id.detach(),
            client_host: ask.caller.client_host.detach(),
            rebalance_timeout_ms: ask.request.rebalance_timeout_ms,
            session_timeout_ms: ask.request.session_timeout_ms,
            protocols: ask.protocols,
            assignment: Bytes::new(),
            join: Some(ask.ticket),
            sync: None,
            is_new: true,
            holds: Holds::AsSaid,
        };
        let joined = classic::joined(self.telling(), ask.request, &id, &member);
        self.tell(joined);
        self.live.add(id.clone(), member, &ask.request.protocol_type);
        self.set_session(&id, NEW_MEMBER_SESSION);
        self.rebalance_or_complete();
    }
}

/// 6.5 rule 3: a readable part and a random one. `None` if that is longer than a text can be.
fn new_member_id(prefix: &Str, entropy: &mut Entropy) -> Option<Str> {
    let hex = u128::from_be_bytes(entropy.uuid().0);
    let parts =
        [hex >> 96, (hex >> 80) & 0xffff, (hex >> 64) & 0xffff, (hex >> 48) & 0xffff, hex & 0xffff_ffff_ffff];
    let [a, b, c, d, e] = parts;
    let id = format!("{prefix}-{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}");
    (id.len() <= MEMBER_ID_BYTES_MAX).then(|| Str::from(id))
}
