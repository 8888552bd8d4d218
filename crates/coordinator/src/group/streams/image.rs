//! The image as streams groups look at it: topics for their topologies, and their settings.

use catalog::Image;
use catalog::config::{Profile, StreamsGroupSettings};

use super::configure::{TopicView, Topics};
use wire::Str;

/// The settings on which a streams group depends (8.1, 8.2): a group's own value within the broker's
/// bounds, else the broker's.
pub(super) fn settings<'a>(image: &'a Image, group_id: &Str) -> &'a StreamsGroupSettings {
    &image.group_settings(&group_id.to_str()).streams
}

/// Whether deliberate deviations from Kafka are wanted (`docs/design/deviations.md`).
pub(super) fn may_deviate(image: &Image) -> bool {
    image.broker().thalweg_profile == Profile::Thalweg
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
