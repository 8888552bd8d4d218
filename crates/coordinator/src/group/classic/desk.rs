//! A classic group while one step changes it: the group, and what its changes lead to outside of it.

use catalog::Image;
use wire::consumer_offsets::Record;
use wire::{ErrorCode, JoinGroupResponse, Str, SyncGroupResponse};

use super::live::{Live, Member};
use crate::group::history::{Happened, Telling, classic};
use crate::group::request::GroupReply;
use crate::group::soft::{Soft, TimerKey};
use crate::group::step::{Step, Working};
use crate::machine::{Entropy, Millis, Ticket};
use crate::timers::Timers;

pub(super) struct Desk<'d, 'a> {
    /// Does not hold the frame of a request.
    pub id: Str,
    pub live: &'d mut Live,
    pub now: Millis,
    pub image: &'d Image,
    pub entropy: &'d mut Entropy,
    pub timers: &'d mut Timers<TimerKey>,
    hard: &'d mut Working<'a>,
    replies: &'d mut Vec<(Ticket, GroupReply)>,
}

impl<'d, 'a> Desk<'d, 'a> {
    /// `None` for a group that is not classic, is not there, or was never joined.
    pub(super) fn open(step: &'d mut Step<'a>, id: &Str) -> Option<Self> {
        let Soft { classic, timers, .. } = &mut *step.soft;
        let id = classic.get_key_value(id)?.0.clone();
        let live = classic.get_mut(&id)?;
        Some(Self {
            id,
            live,
            now: step.now,
            image: step.image,
            entropy: step.entropy,
            timers,
            hard: &mut step.hard,
            replies: &mut step.replies,
        })
    }

    pub(super) fn record(&mut self, record: Record) {
        self.hard.record(record);
    }

    /// Something that no record tells.
    pub(super) fn tell(&mut self, happened: Happened) {
        self.hard.telling().tell(&self.id, happened);
    }

    /// Why it happens, as far as the step knows.
    pub(super) fn telling(&mut self) -> &mut Telling {
        self.hard.telling()
    }

    /// Starts or moves the session of a member, or of an id that was given out.
    pub(super) fn set_session(&mut self, member: &Str, length: Millis) {
        let key = TimerKey::ClassicSession { group: self.id.clone(), member: member.clone() };
        self.timers.set(key, self.now.saturating_add(length));
    }

    /// A whole session from now.
    pub(super) fn renew_session(&mut self, member: &Str) {
        if let Some((id, it)) = self.live.members.get_key_value(member) {
            let (id, length) = (id.clone(), Millis::from(it.session_timeout_ms));
            self.set_session(&id, length);
        }
    }

    pub(super) fn end_session(&mut self, member: &Str) {
        self.timers.cancel(&TimerKey::ClassicSession { group: self.id.clone(), member: member.clone() });
    }

    pub(super) fn set_join_timer(&mut self, wait: Millis) {
        let key = TimerKey::ClassicJoin { group: self.id.clone() };
        self.timers.set(key, self.now.saturating_add(wait));
    }

    pub(super) fn cancel_join_timer(&mut self) {
        self.live.initial = None;
        self.timers.cancel(&TimerKey::ClassicJoin { group: self.id.clone() });
    }

    pub(super) fn set_sync_timer(&mut self, wait: Millis) {
        let key = TimerKey::ClassicSync { group: self.id.clone() };
        self.timers.set(key, self.now.saturating_add(wait));
    }

    pub(super) fn cancel_sync_timer(&mut self) {
        self.timers.cancel(&TimerKey::ClassicSync { group: self.id.clone() });
    }

    pub(super) fn answer_join(&mut self, ticket: Ticket, response: JoinGroupResponse) {
        self.replies.push((ticket, GroupReply::JoinGroup(Box::new(response))));
    }

    pub(super) fn answer_sync(&mut self, ticket: Ticket, response: SyncGroupResponse) {
        self.replies.push((ticket, GroupReply::SyncGroup(response)));
    }

    /// Parks the join of a member. One that was parked before belongs to a client that gave it up;
    /// Kafka never answers it, here it is told to join again.
    pub(super) fn park_join(&mut self, member: &Str, ticket: Ticket) {
        if let Some(before) = self.live.park_join(member, ticket) {
            self.answer_join(before, refused_join(member.clone(), ErrorCode::REBALANCE_IN_PROGRESS));
        }
    }

    /// The same for a sync.
    pub(super) fn park_sync(&mut self, member: &Str, ticket: Ticket) {
        let before = self.live.members.get_mut(member).and_then(|it| it.sync.replace(ticket));
        if let Some(before) = before {
            self.answer_sync(before, refused_sync(ErrorCode::REBALANCE_IN_PROGRESS));
        }
    }

    /// Takes a member or a given out id away. What the member waits for is answered, also a sync, which
    /// Kafka leaves open (6.18).
    pub(super) fn remove_member(&mut self, member: &Str) {
        self.end_session(member);
        let Some(Member { join, sync, .. }) = self.live.remove(member) else { return };
        let left = classic::left(self.telling(), member);
        self.tell(left);
        if let Some(ticket) = join {
            self.answer_join(ticket, refused_join(Str::default(), ErrorCode::UNKNOWN_MEMBER_ID));
        }
        if let Some(ticket) = sync {
            self.answer_sync(ticket, refused_sync(ErrorCode::UNKNOWN_MEMBER_ID));
        }
    }
}

pub(super) fn refused_join(member_id: Str, error_code: ErrorCode) -> JoinGroupResponse {
    JoinGroupResponse { member_id, error_code, ..Default::default() }
}

pub(super) fn refused_sync(error_code: ErrorCode) -> SyncGroupResponse {
    SyncGroupResponse { error_code, ..Default::default() }
}
