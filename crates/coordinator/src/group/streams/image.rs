//! The image as streams groups look at it: topics for their topologies, and their settings.

use catalog::Image;
use catalog::config::{Profile, StreamsGroupSettings};

use super::configure::{TopicView, Topics};
use crate::assign::Assignor;
use wire::Str;

/// The topic whose partitions are the shards of groups.
const GROUPS_TOPIC: &str = "__consumer_offsets";

/// The settings on which a streams group depends (8.1, 8.2): a group's own value within the broker's
/// bounds, else the broker's.
pub(super) fn settings<'a>(image: &'a Image, group_id: &Str) -> &'a StreamsGroupSettings {
    &image.group_settings(&group_id.to_str()).streams
}

/// Whether deliberate deviations from Kafka are wanted (`docs/design/deviations.md`).
pub(in crate::group) fn may_deviate(image: &Image) -> bool {
    image.broker().thalweg_profile == Profile::Thalweg
}

/// Whether members are told other intervals than the configured one (`interval.rs`).
pub(super) fn adapts_heartbeats(image: &Image) -> bool {
    may_deviate(image) && image.broker().thalweg_group_streams_adaptive_heartbeat
}

/// I-6: how many heartbeats a second a shard may ask for from members that wait for nothing. Each shard has its
/// share of the broker's budget, so that what a group is told depends on its own shard alone.
pub(super) fn heartbeat_budget(image: &Image) -> usize {
    let shards = image.topic(GROUPS_TOPIC).map_or(1, |it| it.partitions.len().max(1));
    let budget = image.broker().thalweg_group_heartbeat_budget;
    usize::try_from(budget).unwrap_or(0) / shards
}

/// the one that the group names; else `spread` where tags say over what, else the broker's first.
pub(super) fn assignor(image: &Image, settings: &StreamsGroupSettings) -> Assignor {
    let has_tags = !settings.rack_aware_assignment_tags.is_empty();
    if !settings.assignor_is_set && has_tags && may_deviate(image) {
        return Assignor::Spread;
    }
    Assignor::by_name(&settings.assignor_name).unwrap_or(Assignor::Sticky)
}

pub(in crate::group) struct ImageTopics<'a>(pub &'a Image);

impl Topics for ImageTopics<'_> {
    fn topic(&self, name: &str) -> Option<TopicView> {
        let topic = self.0.topic(name)?;
        let partitions = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
        Some(TopicView { id: topic.id.0, partitions })
    }

    fn racks(&self, name: &str, partition: i32) -> Vec<String> {
        let replicas = self.0.topic(name).and_then(|it| it.partition(partition)).map(|it| &it.replicas);
        let rack = |id: &i32| self.0.broker_by_id(*id)?.rack.clone();
        replicas.into_iter().flatten().filter_map(rack).collect()
    }
}
