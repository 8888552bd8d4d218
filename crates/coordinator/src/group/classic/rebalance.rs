//! From one generation to the next: members are called, they join, the generation begins (6.9–6.13).

use bytes::Bytes;
use wire::{ErrorCode, JoinGroupResponse, Str};

use super::desk::{Desk, refused_sync};
use super::live::{InitialDelay, Live, State};
use crate::group::history::classic;
use crate::machine::Millis;

impl Desk<'_, '_> {
    /// After somebody joined or changed.
    pub(super) fn rebalance_or_complete(&mut self) {
        if self.live.can_rebalance() {
            self.prepare_rebalance();
        } else {
            self.maybe_complete_join();
        }
    }

    /// 6.9. Calls the members to join. The first ones of an empty group wait for others, whose clients
    /// start at about the same time.
    pub(super) fn prepare_rebalance(&mut self) {
        if self.live.state == State::Completing {
            self.refuse_syncs();
        }
        self.live.pending_sync.clear();
        self.cancel_sync_timer();
        let is_initial = self.live.state == State::Empty;
        self.live.transition(State::Preparing, self.now);
        let began = classic::rebalance_began(self.telling());
        self.tell(began);
        if is_initial {
            let waited = self.initial_delay();
            let remaining = (self.live.rebalance_timeout() - waited).max(0);
            self.live.initial = Some(InitialDelay { waited, remaining });
            self.set_join_timer(waited);
        } else if self.live.all_joined() {
            self.complete_join();
        } else {
            self.live.initial = None;
            self.set_join_timer(self.live.rebalance_timeout());
        }
    }

    /// Their assignment will not come.
    fn refuse_syncs(&mut self) {
        let mut waiting = Vec::new();
        self.live.members.for_each_mut(|id, member| {
            member.assignment = Bytes::new();
            waiting.extend(member.sync.take().map(|ticket| (id.clone(), ticket)));
        });
        for (id, ticket) in waiting {
            self.answer_sync(ticket, refused_sync(ErrorCode::REBALANCE_IN_PROGRESS));
            self.renew_session(&id);
        }
    }

    /// 6.10. An initial rebalance ends by its timer only.
    pub(super) fn maybe_complete_join(&mut self) {
        if self.live.state == State::Preparing && self.live.previous != State::Empty && self.live.all_joined()
        {
            self.complete_join();
        }
    }

    /// The timer of the join phase, 6.11.
    pub(super) fn join_time_over(&mut self) {
        match self.live.initial {
            Some(InitialDelay { waited, remaining }) if self.live.new_member_added && remaining != 0 => {
                self.live.new_member_added = false;
                let next = self.initial_delay().min(remaining);
                let remaining = (remaining - waited).max(0);
                self.live.initial = Some(InitialDelay { waited: next, remaining });
                self.set_join_timer(next);
            }
            Some(_) | None => self.complete_join(),
        }
    }

    fn initial_delay(&self) -> Millis {
        Millis::from(self.image.broker().group_initial_rebalance_delay_ms.max(0))
    }

    /// 6.12. Dynamic members that did not join are out; static ones stay until their session ends.
    pub(super) fn complete_join(&mut self) {
        self.cancel_join_timer();
        let absent = self.live.members.iter().filter(|(_, it)| it.join.is_none() && it.instance_id.is_none());
        let absent: Vec<Str> = absent.map(|(id, _)| id.clone()).collect();
        for id in absent {
            self.remove_member(&id);
        }
        if !self.live.members.is_empty() && !self.live.elect_joined_leader() {
            self.set_join_timer(self.live.rebalance_timeout());
            return;
        }
        self.live.next_generation(self.now);
        self.tell(classic::generation_began(self.live));
        if self.live.members.is_empty() {
            let record = self.live.record(&self.id, |_, _| Bytes::new());
            self.record(record);
            return;
        }
        let members: Vec<Str> = self.live.members.keys().cloned().collect();
        for id in members {
            if let Some(ticket) = self.live.unpark_join(&id) {
                let response = joined(self.live, &id, self.live.is_leader(&id));
                self.answer_join(ticket, response);
            }
            self.renew_session(&id);
            if let Some(member) = self.live.members.get_mut(&id) {
                member.is_new = false;
            }
            self.live.pending_sync.insert(id);
        }
        self.set_sync_timer(self.live.rebalance_timeout());
    }

    /// 6.15: who did not sync is out, also the leader.
    pub(super) fn sync_time_over(&mut self) {
        let late = std::mem::take(&mut self.live.pending_sync);
        if late.is_empty() || !matches!(self.live.state, State::Completing | State::Stable) {
            return;
        }
        for id in late {
            self.remove_member(&id);
        }
        self.prepare_rebalance();
    }
}

/// The answer to a member of the current generation.
pub(super) fn joined(live: &Live, member: &Str, with_members: bool) -> JoinGroupResponse {
    JoinGroupResponse {
        generation_id: live.generation,
        protocol_type: live.protocol_type.clone(),
        protocol_name: live.protocol.clone(),
        leader: live.leader.clone().unwrap_or_default(),
        member_id: member.clone(),
        members: if with_members { live.joined_members() } else { Vec::new() },
        ..Default::default()
    }
}
