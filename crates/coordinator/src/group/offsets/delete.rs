//! OffsetDelete (key 47), v0 (KIP-496), behind the handler's checks of authorization and of topics.
//!
//! Checks in order; the first three are codes of the whole response:
//! 1. group id is not empty          else INVALID_GROUP_ID
//! 2. group exists                   else GROUP_ID_NOT_FOUND
//! 3. classic: empty or of consumers else NON_EMPTY_GROUP
//! 4. per topic: not subscribed      else GROUP_SUBSCRIBED_TO_TOPIC on its partitions
//!
//! A partition without an offset, committed or pending in a transaction, is a success without record. A streams or consumer group
//! never answers NON_EMPTY_GROUP here (O-7, 9.6).

use crate::group::state::Group;
use crate::group::step::Step;
use wire::offset_delete::request::OffsetDeleteRequestTopic;
use wire::offset_delete::response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};
use wire::{ErrorCode, OffsetDeleteRequest, OffsetDeleteResponse, Str};

/// The whole response; the handler adds the partitions that it refused itself.
pub(in crate::group) fn answer(step: &mut Step<'_>, request: &OffsetDeleteRequest) -> OffsetDeleteResponse {
    let group = &request.group_id;
    if let Err(error_code) = check(step, group) {
        return OffsetDeleteResponse { error_code, ..Default::default() };
    }
    let topics = request.topics.iter().map(|topic| delete_topic(step, group, topic));
    OffsetDeleteResponse { topics: topics.collect(), ..Default::default() }
}

/// Checks 1 to 3.
fn check(step: &Step<'_>, group: &Str) -> Result<(), ErrorCode> {
    if group.is_empty() {
        return Err(ErrorCode::INVALID_GROUP_ID);
    }
    match step.hard.group(group) {
        None => Err(ErrorCode::GROUP_ID_NOT_FOUND),
        Some(Group::Simple | Group::Classic(_)) => match step.soft.classic.get(group) {
            Some(live) if !live.is_empty() && !live.is_of_consumers() => Err(ErrorCode::NON_EMPTY_GROUP),
            Some(_) | None => Ok(()),
        },
        Some(Group::Consumer(_) | Group::Streams(_)) => Ok(()),
    }
}

fn delete_topic(
    step: &mut Step<'_>,
    group: &Str,
    topic: &OffsetDeleteRequestTopic,
) -> OffsetDeleteResponseTopic {
    let live = step.soft.classic.get(group);
    let subscribed = step.hard.group(group).is_some_and(|it| it.subscribes_to(&topic.name, live));
    let error_code = if subscribed { ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC } else { ErrorCode::NONE };
    let mut partitions = Vec::new();
    for partition in &topic.partitions {
        let partition_index = partition.partition_index;
        let offsets = step.hard.offsets();
        let is_there = offsets.get(group, &topic.name, partition_index).is_some()
            || offsets.is_pending(group, &topic.name, partition_index);
        if !subscribed && is_there {
            step.record(super::tombstone(group, &topic.name, partition_index));
        }
        let answer = OffsetDeleteResponsePartition { partition_index, error_code };
        partitions.push(answer);
    }
    OffsetDeleteResponseTopic { name: topic.name.clone(), partitions }
}
