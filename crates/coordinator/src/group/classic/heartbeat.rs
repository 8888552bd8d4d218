use crate::group::step::Step;
use wire::{HeartbeatRequest, HeartbeatResponse};
pub fn heartbeat(_step: &mut Step<'_>, _request: &HeartbeatRequest) -> HeartbeatResponse {
    todo!()
}
