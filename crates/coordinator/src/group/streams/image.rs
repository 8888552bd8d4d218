//! The image as the functions on topologies look at it.

use super::configure::{TopicView, Topics};
use crate::catalog::Image;

pub(super) struct ImageTopics<'a>(pub &'a Image);

impl Topics for ImageTopics<'_> {
    fn topic(&self, name: &str) -> Option<TopicView> {
        let topic = self.0.topic(name)?;
        Some(TopicView {
            id: topic.id.0,
            partitions: i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX),
        })
    }

    fn racks(&self, _name: &str, _partition: i32) -> Vec<String> {
        Vec::new()
    }
}
