//! Heartbeat (key 12), v0–4, behind the handler's authorization (6.16).
//!
//! Checks in order:
//! 1. the group id is not empty                      else INVALID_GROUP_ID
//! 2. the group is a classic one                     else UNKNOWN_MEMBER_ID; a consumer group answers
//!    itself (`group/consumer/classic_members.rs`)
//! 3. instance and member exist and belong together  else UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID
//! 4. it is the current generation                   else ILLEGAL_GENERATION
//! 5. members are not called to join                 else REBALANCE_IN_PROGRESS; the session goes on

use wire::{ErrorCode, HeartbeatRequest, HeartbeatResponse};

use super::desk::Desk;
use super::live::{Holds, State};
use crate::group::consumer;
use crate::group::step::Step;

/// Keeps a member's session.
pub fn heartbeat(step: &mut Step<'_>, request: &HeartbeatRequest) -> HeartbeatResponse {
    let error_code = answer(step, request).err().unwrap_or(ErrorCode::NONE);
    HeartbeatResponse { error_code, ..Default::default() }
}

fn answer(step: &mut Step<'_>, request: &HeartbeatRequest) -> Result<(), ErrorCode> {
    if request.group_id.is_empty() {
        return Err(ErrorCode::INVALID_GROUP_ID);
    }
    if step.hard.consumer(&request.group_id).is_some() {
        return consumer::classic_heartbeat(step, request);
    }
    let mut desk = Desk::open(step, &request.group_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
    desk.live.validate_member(&request.member_id, request.group_instance_id.as_ref())?;
    if request.generation_id != desk.live.generation {
        return Err(ErrorCode::ILLEGAL_GENERATION);
    }
    desk.renew_session(&request.member_id);
    if desk.live.state == State::Stable
        && let Some(member) = desk.live.members.get_mut(&request.member_id)
    {
        member.holds = Holds::Assignment;
    }
    match desk.live.state {
        State::Preparing => Err(ErrorCode::REBALANCE_IN_PROGRESS),
        // Also in Completing: that is how a follower stays while it waits for the leader.
        State::Empty | State::Completing | State::Stable => Ok(()),
    }
}
