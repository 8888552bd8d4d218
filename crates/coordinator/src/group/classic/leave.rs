//! LeaveGroup (key 13), v0–5, behind the handler's authorization (6.18).
//!
//! What versions changed: 3 many members, static ones by their instance id alone (KIP-345), 5 a
//! reason for each (KIP-800), which is for logs.
//!
//! Checks in order; the first one is of the whole request, the others of each member:
//! 1. the group id is not empty                      else INVALID_GROUP_ID
//! 2. the group is a classic one                     else UNKNOWN_MEMBER_ID; a consumer group answers
//!    itself (`group/consumer/classic_members.rs`)
//! 3. a member without id has a known instance       else UNKNOWN_MEMBER_ID
//! 4. instance and member exist and belong together  else UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID
//!
//! An id that was given out and not used yet may leave too.

use wire::leave_group::request::MemberIdentity;
use wire::leave_group::response::MemberResponse;
use wire::{ErrorCode, LeaveGroupRequest, LeaveGroupResponse};

use super::desk::Desk;
use super::live::State;
use crate::group::consumer;
use crate::group::step::Step;

/// Takes members away and lets the others rebalance.
pub fn leave(step: &mut Step<'_>, request: &LeaveGroupRequest) -> LeaveGroupResponse {
    if request.group_id.is_empty() {
        return LeaveGroupResponse { error_code: ErrorCode::INVALID_GROUP_ID, ..Default::default() };
    }
    if step.hard.consumer(&request.group_id).is_some() {
        return consumer::classic_leave(step, request);
    }
    let mut desk = Desk::open(step, &request.group_id);
    let members = request.members.iter().map(|member| {
        let left = match &mut desk {
            Some(desk) => desk.leave(member),
            None => Err(ErrorCode::UNKNOWN_MEMBER_ID),
        };
        MemberResponse {
            member_id: member.member_id.clone(),
            group_instance_id: member.group_instance_id.clone(),
            error_code: left.err().unwrap_or(ErrorCode::NONE),
            ..Default::default()
        }
    });
    let members: Vec<_> = members.collect();
    if members.iter().any(|it| it.error_code == ErrorCode::NONE)
        && let Some(desk) = &mut desk
    {
        desk.member_gone();
    }
    LeaveGroupResponse { members, ..Default::default() }
}

impl Desk<'_, '_> {
    fn leave(&mut self, leaving: &MemberIdentity) -> Result<(), ErrorCode> {
        let (id, instance) = (&leaving.member_id, leaving.group_instance_id.as_ref());
        if id.is_empty() {
            let mapped = instance.and_then(|it| self.live.instances.get(it)).cloned();
            self.remove_member(&mapped.ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?);
            return Ok(());
        }
        if !self.live.pending.contains(id) {
            self.live.validate_member(id, instance)?;
        }
        self.remove_member(id);
        Ok(())
    }

    /// After members left.
    fn member_gone(&mut self) {
        match self.live.state {
            State::Stable | State::Completing => self.prepare_rebalance(),
            State::Preparing => self.maybe_complete_join(),
            State::Empty => {}
        }
    }
}
