//! One group of ConsumerGroupDescribe (17).

use super::image::offered_assignors;
use super::partitions::Partitions;
use super::{ConsumerGroup, ConsumerMember};
use crate::group::step::Step;
use catalog::Image;
use wire::Str;
use wire::consumer_group_describe::response as described;

/// Member types of version 1 (KIP-1099).
const CLASSIC: i8 = 0;
const CONSUMER: i8 = 1;

pub fn describe(step: &Step<'_>, group_id: &Str, group: &ConsumerGroup) -> described::DescribedGroup {
    let members = group.members().iter();
    let assignor = group.subscriptions().assignor(&offered_assignors(step.image));
    described::DescribedGroup {
        group_id: group_id.clone(),
        group_state: Str::from_static(group.state_name()),
        group_epoch: group.epoch,
        assignment_epoch: group.assignment_epoch,
        assignor_name: Str::from_static(assignor.name()),
        members: members.map(|(id, it)| member(step.image, id, it, group.target(id))).collect(),
        ..Default::default()
    }
}

fn member(image: &Image, id: &Str, it: &ConsumerMember, target: Option<&Partitions>) -> described::Member {
    let metadata = &it.metadata;
    described::Member {
        member_id: id.clone(),
        instance_id: metadata.instance_id.clone(),
        rack_id: metadata.rack_id.clone(),
        member_epoch: it.current.epoch,
        client_id: metadata.client_id.clone(),
        client_host: metadata.client_host.clone(),
        subscribed_topic_names: metadata.topic_names.iter().cloned().collect(),
        subscribed_topic_regex: Some(metadata.topic_regex.clone()),
        assignment: assignment(image, &it.current.held()),
        target_assignment: target.map(|it| assignment(image, it)).unwrap_or_default(),
        member_type: if metadata.classic.is_some() { CLASSIC } else { CONSUMER },
        ..Default::default()
    }
}

/// Topics that do not exist any more have no name and are left out.
fn assignment(image: &Image, partitions: &Partitions) -> described::Assignment {
    let topics = partitions.iter().filter_map(|(topic_id, partitions)| {
        let topic_name = Str::from(&*image.topic_by_id(topic_id)?.name);
        let partitions = partitions.to_vec();
        Some(described::TopicPartitions { topic_id, topic_name, partitions, ..Default::default() })
    });
    described::Assignment { topic_partitions: topics.collect(), ..Default::default() }
}
