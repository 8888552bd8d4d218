//! The records of a consumer group, as Kafka 4.4 writes them (20.1). `apply` is the inverse.

use super::partitions::{Held, Partitions};
use super::{ConsumerGroup, Current, MemberMetadata, Resolved};
use wire::Str;
use wire::consumer_offsets::consumer_group_current_member_assignment_value as current_value;
use wire::consumer_offsets::consumer_group_member_metadata_value as member_value;
use wire::consumer_offsets::consumer_group_target_assignment_member_value as target_value;
use wire::consumer_offsets::{
    ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue, ConsumerGroupPartitionMetadataKey, ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue, ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue, ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue, Record,
};

/// Record 3.
pub(super) fn metadata(group_id: &Str, epoch: i32, metadata_hash: i64) -> Record {
    let value = ConsumerGroupMetadataValue { epoch, metadata_hash, ..Default::default() };
    Record::ConsumerGroupMetadata(metadata_key(group_id), Some(value))
}

/// Tombstone of record 4.
pub(super) fn partition_metadata_tombstone(group_id: &Str) -> Record {
    let key = ConsumerGroupPartitionMetadataKey { group_id: group_id.clone() };
    Record::ConsumerGroupPartitionMetadata(key, None)
}

/// Record 5.
pub(super) fn member(group_id: &Str, member_id: &Str, it: &MemberMetadata) -> Record {
    let classic = it.classic.as_ref().map(|it| member_value::ClassicMemberMetadata {
        session_timeout_ms: it.session_timeout_ms,
        supported_protocols: it
            .protocols
            .iter()
            .map(|(name, metadata)| member_value::ClassicProtocol {
                name: name.clone(),
                metadata: metadata.clone(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    });
    let value = ConsumerGroupMemberMetadataValue {
        instance_id: it.instance_id.clone(),
        rack_id: it.rack_id.clone(),
        client_id: it.client_id.clone(),
        client_host: it.client_host.clone(),
        subscribed_topic_names: it.topic_names.iter().cloned().collect(),
        subscribed_topic_regex: Some(it.topic_regex.clone()),
        rebalance_timeout_ms: it.rebalance_timeout_ms,
        server_assignor: it.server_assignor.clone(),
        classic_member_metadata: classic,
        ..Default::default()
    };
    Record::ConsumerGroupMemberMetadata(member_key(group_id, member_id), Some(value))
}

/// Record 6.
pub(super) fn target_metadata(group_id: &Str, assignment_epoch: i32, assignment_timestamp: i64) -> Record {
    let value = ConsumerGroupTargetAssignmentMetadataValue {
        assignment_epoch,
        assignment_timestamp,
        ..Default::default()
    };
    Record::ConsumerGroupTargetAssignmentMetadata(target_metadata_key(group_id), Some(value))
}

/// Record 7.
pub(super) fn target(group_id: &Str, member_id: &Str, partitions: &Partitions) -> Record {
    let topics = partitions.iter().map(|(topic_id, partitions)| target_value::TopicPartition {
        topic_id,
        partitions: partitions.to_vec(),
        ..Default::default()
    });
    let value =
        ConsumerGroupTargetAssignmentMemberValue { topic_partitions: topics.collect(), ..Default::default() };
    Record::ConsumerGroupTargetAssignmentMember(target_key(group_id, member_id), Some(value))
}

/// Record 8.
pub(super) fn current(group_id: &Str, member_id: &Str, it: &Current) -> Record {
    let value = ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: it.epoch,
        previous_member_epoch: it.previous_epoch,
        state: it.state.code(),
        assigned_partitions: held(&it.assigned),
        partitions_pending_revocation: held(&it.pending),
        ..Default::default()
    };
    Record::ConsumerGroupCurrentMemberAssignment(current_key(group_id, member_id), Some(value))
}

fn held(held: &Held) -> Vec<current_value::TopicPartitions> {
    let topics = held.topics().map(|(topic_id, partitions)| current_value::TopicPartitions {
        topic_id,
        partitions: partitions.keys().copied().collect(),
        assignment_epochs: Some(partitions.values().copied().collect()),
        ..Default::default()
    });
    topics.collect()
}

/// Record 16.
pub(super) fn regex(group_id: &Str, regex: &Str, it: &Resolved) -> Record {
    let value = ConsumerGroupRegularExpressionValue {
        topics: it.topics.iter().cloned().collect(),
        version: it.version,
        timestamp: it.timestamp,
        ..Default::default()
    };
    Record::ConsumerGroupRegularExpression(regex_key(group_id, regex), Some(value))
}

/// Tombstone of record 16.
pub(super) fn regex_tombstone(group_id: &Str, regex: &Str) -> Record {
    Record::ConsumerGroupRegularExpression(regex_key(group_id, regex), None)
}

/// Tombstones 8, 7 and 5 of a member, in the order in which they can be applied (16.2).
pub(super) fn member_tombstones(group_id: &Str, member_id: &Str) -> [Record; 3] {
    [
        Record::ConsumerGroupCurrentMemberAssignment(current_key(group_id, member_id), None),
        Record::ConsumerGroupTargetAssignmentMember(target_key(group_id, member_id), None),
        Record::ConsumerGroupMemberMetadata(member_key(group_id, member_id), None),
    ]
}

/// Tombstones of a whole group, in the order in which they can be applied (21.4). What takes the place
/// of a consumer group records them first.
pub fn group_tombstones(group_id: &Str, group: &ConsumerGroup) -> Vec<Record> {
    let mut records = Vec::new();
    let members = || group.members().keys();
    records.extend(
        members().map(|it| Record::ConsumerGroupCurrentMemberAssignment(current_key(group_id, it), None)),
    );
    records.extend(
        members().map(|it| Record::ConsumerGroupTargetAssignmentMember(target_key(group_id, it), None)),
    );
    records.push(Record::ConsumerGroupTargetAssignmentMetadata(target_metadata_key(group_id), None));
    records.extend(members().map(|it| Record::ConsumerGroupMemberMetadata(member_key(group_id, it), None)));
    records.extend(group.resolved().keys().map(|it| regex_tombstone(group_id, it)));
    // Whether or not there ever was one, as in Kafka.
    records.push(partition_metadata_tombstone(group_id));
    records.push(Record::ConsumerGroupMetadata(metadata_key(group_id), None));
    records
}

fn metadata_key(group_id: &Str) -> ConsumerGroupMetadataKey {
    ConsumerGroupMetadataKey { group_id: group_id.clone() }
}

fn target_metadata_key(group_id: &Str) -> ConsumerGroupTargetAssignmentMetadataKey {
    ConsumerGroupTargetAssignmentMetadataKey { group_id: group_id.clone() }
}

fn member_key(group_id: &Str, member_id: &Str) -> ConsumerGroupMemberMetadataKey {
    ConsumerGroupMemberMetadataKey { group_id: group_id.clone(), member_id: member_id.clone() }
}

fn target_key(group_id: &Str, member_id: &Str) -> ConsumerGroupTargetAssignmentMemberKey {
    ConsumerGroupTargetAssignmentMemberKey { group_id: group_id.clone(), member_id: member_id.clone() }
}

fn current_key(group_id: &Str, member_id: &Str) -> ConsumerGroupCurrentMemberAssignmentKey {
    ConsumerGroupCurrentMemberAssignmentKey { group_id: group_id.clone(), member_id: member_id.clone() }
}

fn regex_key(group_id: &Str, regex: &Str) -> ConsumerGroupRegularExpressionKey {
    ConsumerGroupRegularExpressionKey { group_id: group_id.clone(), regular_expression: regex.clone() }
}
