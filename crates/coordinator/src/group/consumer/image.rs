//! The image as consumer groups look at it.

use catalog::Image;
use catalog::config::ConsumerGroupSettings;

use crate::assign::PartitionAssignor;
use crate::group::streams::image::may_deviate;
use crate::machine::Millis;
use wire::Str;

/// The settings on which a consumer group depends (23.2): a group's own value within the broker's
/// bounds, else the broker's.
pub(super) fn settings<'a>(image: &'a Image, group_id: &Str) -> &'a ConsumerGroupSettings {
    &image.group_settings(&group_id.to_str()).consumer
}

/// Whether members are told other intervals than the configured one (`interval.rs`).
pub(super) fn adapts_heartbeats(image: &Image) -> bool {
    may_deviate(image) && image.broker().thalweg_group_consumer_adaptive_heartbeat
}

pub(super) fn regex_refresh_interval(image: &Image) -> Millis {
    Millis::from(image.broker().group_consumer_regex_refresh_interval_ms)
}

/// `group.consumer.migration.policy` (18.1): what becomes of a group when members of the other protocol
/// come or the last ones of the consumer protocol go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Policy {
    /// A classic group becomes a consumer group.
    pub upgrade: bool,
    /// A consumer group becomes a classic group.
    pub downgrade: bool,
}

impl Policy {
    pub(super) fn of(image: &Image) -> Self {
        let (upgrade, downgrade) = match &*image.broker().group_consumer_migration_policy.to_lowercase() {
            "disabled" => (false, false),
            "upgrade" => (true, false),
            "downgrade" => (false, true),
            _ => (true, true),
        };
        Self { upgrade, downgrade }
    }

    /// Members of both protocols never meet.
    pub(super) fn is_disabled(self) -> bool {
        !self.upgrade && !self.downgrade
    }
}

/// `group.consumer.assignors`: the first one is the default (14.1). Names that we do not know, such as
/// those of Java classes of one's own, are left out.
pub(in crate::group) fn offered_assignors(image: &Image) -> Vec<PartitionAssignor> {
    let names = &image.broker().group_consumer_assignors;
    let offered: Vec<_> = names.iter().filter_map(|it| PartitionAssignor::by_config(it)).collect();
    if offered.is_empty() { PartitionAssignor::ALL.to_vec() } else { offered }
}
