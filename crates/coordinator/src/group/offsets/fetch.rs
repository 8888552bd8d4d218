//! OffsetFetch (key 9), v1–10: one group's part, behind the handler's authorization.
//!
//! What versions changed: 2 null topics ask for all, 7 stable offsets (KIP-447), 8 many groups
//! (KIP-709), 9 member and epoch (KIP-848), 10 topic ids. Here each topic has its name.
//!
//! Checks in order; the first two fail the whole group:
//! 1. streams or consumer group: member exists              else UNKNOWN_MEMBER_ID
//! 2. streams or consumer group: its epoch is the asked one  else STALE_MEMBER_EPOCH, or ILLEGAL_GENERATION for a
//!    member of a consumer group that speaks the classic protocol
//! 3. stable: no transaction is open for the partition      else UNSTABLE_OFFSET_COMMIT, offset -1
//!
//! Null member id and an epoch below 0 pass both. A missing group and a partition without an offset
//! give offset −1 without error; 3 comes before that. Every answer waits until what it saw is durable (decision
//! 22), also without `require_stable`. When all offsets are asked for, those that are only pending are left out.

use crate::group::fail::Fail;
use crate::group::offsets::{Committed, GroupOffsets};
use crate::group::request::OffsetFetch;
use crate::group::state::Group;
use crate::group::step::Step;
use wire::offset_fetch::request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use wire::offset_fetch::response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use wire::{ErrorCode, Str, Uuid};

/// Answers for one group.
pub(in crate::group) fn answer(step: &Step<'_>, request: &OffsetFetch) -> OffsetFetchResponseGroup {
    let group_id = request.group.group_id.clone();
    if let Err(fail) = check(step, &request.group) {
        return OffsetFetchResponseGroup { group_id, error_code: fail.code, ..Default::default() };
    }
    let offsets = step.hard.offsets();
    let of_group = offsets.of_group(&group_id);
    let unstable = |topic: &Str, index| request.require_stable && offsets.is_pending(&group_id, topic, index);
    let topics = match &request.group.topics {
        Some(topics) => topics.iter().map(|topic| named(of_group, topic, &unstable)).collect(),
        None => of_group.into_iter().flatten().map(|(name, it)| all_of(name, it, &unstable)).collect(),
    };
    OffsetFetchResponseGroup { group_id, topics, ..Default::default() }
}

/// O-6 and 9.5. An older epoch is not tolerated here, unlike in a commit.
fn check(step: &Step<'_>, request: &OffsetFetchRequestGroup) -> Result<(), Fail> {
    let group = match step.hard.group(&request.group_id) {
        Some(group @ (Group::Consumer(_) | Group::Streams(_))) => group,
        Some(Group::Simple | Group::Classic(_)) | None => return Ok(()),
    };
    // An empty id is looked up like any other.
    let member_id = match &request.member_id {
        None if request.member_epoch < 0 => return Ok(()),
        member => member.clone().unwrap_or_default(),
    };
    let (epoch, stale) = match group {
        Group::Consumer(group) => {
            let member = group.member(&member_id);
            let is_classic = member.is_some_and(|it| it.metadata.classic.is_some());
            let stale =
                if is_classic { ErrorCode::ILLEGAL_GENERATION } else { ErrorCode::STALE_MEMBER_EPOCH };
            (member.map(|it| it.current.epoch), stale)
        }
        Group::Streams(group) => (group.member_epoch(&member_id), ErrorCode::STALE_MEMBER_EPOCH),
        Group::Simple | Group::Classic(_) => (None, ErrorCode::NONE),
    };
    match epoch {
        None => Err(ErrorCode::UNKNOWN_MEMBER_ID.into()),
        Some(epoch) if epoch != request.member_epoch => Err(stale.into()),
        Some(_) => Ok(()),
    }
}

fn named(
    offsets: Option<&GroupOffsets>,
    topic: &OffsetFetchRequestTopics,
    unstable: &dyn Fn(&Str, i32) -> bool,
) -> OffsetFetchResponseTopics {
    let committed = offsets.and_then(|it| it.get(&topic.name));
    let partitions = topic.partition_indexes.iter().map(|index| {
        if unstable(&topic.name, *index) {
            return pending(*index);
        }
        let found = committed.and_then(|it| it.get(index));
        found
            .filter(|it| same_topic(it.topic_id, topic.topic_id))
            .map_or_else(|| none(*index), |it| some(*index, it))
    });
    OffsetFetchResponseTopics {
        partitions: partitions.collect(),
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        ..Default::default()
    }
}

/// 9.5 rule 4: an offset of an earlier topic of the same name is no offset of this one.
fn same_topic(stored: Uuid, asked: Uuid) -> bool {
    stored == asked || stored == Uuid::ZERO || asked == Uuid::ZERO
}

fn all_of<'a>(
    name: &Str,
    partitions: impl IntoIterator<Item = (&'a i32, &'a Committed)>,
    unstable: &dyn Fn(&Str, i32) -> bool,
) -> OffsetFetchResponseTopics {
    let partition = |(index, committed): (&i32, &Committed)| match unstable(name, *index) {
        true => pending(*index),
        false => some(*index, committed),
    };
    OffsetFetchResponseTopics {
        name: name.clone(),
        partitions: partitions.into_iter().map(partition).collect(),
        ..Default::default()
    }
}

fn pending(partition_index: i32) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions { error_code: ErrorCode::UNSTABLE_OFFSET_COMMIT, ..none(partition_index) }
}

fn some(partition_index: i32, committed: &Committed) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: committed.offset,
        committed_leader_epoch: committed.leader_epoch,
        metadata: Some(committed.metadata.clone()),
        ..Default::default()
    }
}

fn none(partition_index: i32) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: -1,
        committed_leader_epoch: -1,
        metadata: Some(Str::default()),
        ..Default::default()
    }
}
