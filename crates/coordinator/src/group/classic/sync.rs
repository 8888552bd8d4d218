use crate::group::step::Step;
use crate::machine::Ticket;
use wire::{SyncGroupRequest, SyncGroupResponse};
pub fn sync(_step: &mut Step<'_>, _ticket: Ticket, _request: &SyncGroupRequest) -> Option<SyncGroupResponse> {
    todo!()
}
