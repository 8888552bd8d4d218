//! A static member comes back without its member id: it takes the place of its former self (7.2).

use wire::{ErrorCode, JoinGroupResponse, Str};

use super::desk::{Desk, refused_join, refused_sync};
use super::join::Ask;
use super::live::State;
use super::rebalance::joined;
use crate::group::history::classic;
use crate::machine::Millis;

/// First version whose clients know that a leader need not assign (KIP-814).
const SKIP_ASSIGNMENT_VERSION: i16 = 9;

impl Desk<'_, '_> {
    /// The member goes on as `new`; `old` is fenced. Its client id and host stay those of before, as in
    /// Kafka. In a stable group nobody notices, unless the protocol must change.
    pub(super) fn replace(&mut self, ask: Ask<'_>, old: &Str, new: Str) -> Option<JoinGroupResponse> {
        let old_leader = self.live.leader.clone();
        let session = self.live.members.get(old).map_or(0, |it| Millis::from(it.session_timeout_ms));
        let (join, sync) = self.live.rename(old, &new);
        if let Some(ticket) = join {
            self.answer_join(ticket, refused_join(old.clone(), ErrorCode::FENCED_INSTANCE_ID));
        }
        if let Some(ticket) = sync {
            self.answer_sync(ticket, refused_sync(ErrorCode::FENCED_INSTANCE_ID));
        }
        self.tell(classic::replaced(old, &new));
        self.end_session(old);
        self.set_session(&new, session);
        let (ticket, api_version) = (ask.ticket, ask.caller.api_version);
        self.update_member(&new, ask);
        if self.live.state == State::Stable && self.live.select_protocol() == self.live.protocol {
            let record = self.live.record(&self.id, |_, member| member.assignment.clone());
            self.record(record);
            return Some(self.unnoticed(&new, old_leader.unwrap_or_default(), api_version));
        }
        self.park_join(&new, ticket);
        self.rebalance_or_complete();
        None
    }

    /// An old client that reads that it leads would assign; so it reads another id.
    fn unnoticed(&self, member: &Str, old_leader: Str, api_version: i16) -> JoinGroupResponse {
        if api_version < SKIP_ASSIGNMENT_VERSION {
            return JoinGroupResponse { leader: old_leader, ..joined(self.live, member, false) };
        }
        let leads = self.live.is_leader(member);
        JoinGroupResponse { skip_assignment: leads, ..joined(self.live, member, leads) }
    }
}
