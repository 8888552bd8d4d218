use crate::group::step::Step;
use crate::machine::{Caller, Ticket};
use wire::{JoinGroupRequest, JoinGroupResponse};
pub fn join(
    _step: &mut Step<'_>,
    _ticket: Ticket,
    _caller: &Caller,
    _request: &JoinGroupRequest,
) -> Option<JoinGroupResponse> {
    todo!()
}
