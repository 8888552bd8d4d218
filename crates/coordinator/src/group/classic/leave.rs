use crate::group::step::Step;
use wire::{LeaveGroupRequest, LeaveGroupResponse};
pub fn leave(_step: &mut Step<'_>, _request: &LeaveGroupRequest) -> LeaveGroupResponse {
    todo!()
}
