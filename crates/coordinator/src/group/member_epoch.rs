//! Member epochs of heartbeats that are not epochs (KIP-848, KIP-1071).

pub(super) const JOIN: i32 = 0;
pub(super) const LEAVE: i32 = -1;
/// A static member leaves for a while. It is its epoch until it comes back.
pub(super) const AWAY: i32 = -2;
