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
    pub(super) fn of(image: &Image, group_id: &Str) -> Self {
        let settings = &image.group_settings(&group_id.to_str()).streams;
        Self {
            size_max: usize::try_from(settings.max_size).unwrap_or(0),
            session_timeout_ms: settings.session_timeout_ms.into(),
            heartbeat_interval_ms: settings.heartbeat_interval_ms,
            standby_replicas: settings.num_standby_replicas,
            initial_rebalance_delay_ms: settings.initial_rebalance_delay_ms.into(),
            assignment_interval_ms: settings.assignment_interval_ms.into(),
            task_offset_interval_ms: settings.task_offset_interval_ms,
            acceptable_recovery_lag: settings.acceptable_recovery_lag,
            rack_aware_assignment_tags: settings
                .rack_aware_assignment_tags
                .iter()
                .map(|it| it.as_str().into())
                .collect(),
            assignor_name: settings.assignor_name.as_str().into(),
        }
    }
}
