//! The records of a streams group, as Kafka 4.4 writes them (10.1). `apply` is the inverse.

use std::collections::BTreeMap;

use wire::consumer_offsets::streams_group_current_member_assignment_value as assignment_value;
use wire::consumer_offsets::streams_group_member_metadata_value as member_value;
use wire::consumer_offsets::streams_group_metadata_value::LastAssignmentConfig;
use wire::consumer_offsets::streams_group_target_assignment_member_value as target_value;
use wire::consumer_offsets::{
    Record, StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue, StreamsGroupMetadataKey,
    StreamsGroupMetadataValue, StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue, StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue, StreamsGroupTopologyKey,
};
use wire::{RawTag, Str};

use super::tasks::{TaskId, TaskSet, Tasks};
use super::topology::Topology;
use super::{Current, MemberMetadata, StreamsGroup};

/// Record 17.
pub(super) struct GroupMetadata<'a> {
    pub epoch: i32,
    pub metadata_hash: i64,
    pub validated_topology_epoch: i32,
    pub assignment_configs: &'a BTreeMap<Str, Str>,
}

impl GroupMetadata<'_> {
    /// The description epochs of `group` go on unchanged.
    pub(super) fn record(&self, group_id: &Str, group: &StreamsGroup) -> Record {
        let value = self.value((group.stored_description_epoch, group.failed_description_epoch));
        Record::StreamsGroupMetadata(StreamsGroupMetadataKey { group_id: group_id.clone() }, Some(value))
    }

    fn value(&self, (stored, failed): (i32, i32)) -> StreamsGroupMetadataValue {
        let configs = self.assignment_configs.iter().map(|(key, value)| LastAssignmentConfig {
            key: key.clone(),
            value: value.clone(),
            ..Default::default()
        });
        StreamsGroupMetadataValue {
            epoch: self.epoch,
            metadata_hash: self.metadata_hash,
            validated_topology_epoch: self.validated_topology_epoch,
            last_assignment_configs: Some(configs.collect()),
            stored_description_topology_epoch: stored,
            failed_description_topology_epoch: failed,
            ..Default::default()
        }
    }
}

/// Record 19.
pub(super) fn member_metadata(group_id: &Str, member_id: &Str, it: &MemberMetadata) -> Record {
    let endpoint = it.user_endpoint.as_ref().map(|it| member_value::Endpoint {
        host: it.host.clone(),
        port: it.port,
        ..Default::default()
    });
    let tags = it.client_tags.iter().map(|(key, value)| member_value::KeyValue {
        key: key.clone(),
        value: value.clone(),
        ..Default::default()
    });
    let value = StreamsGroupMemberMetadataValue {
        instance_id: it.instance_id.clone(),
        rack_id: it.rack_id.clone(),
        client_id: it.client_id.clone(),
        client_host: it.client_host.clone(),
        rebalance_timeout_ms: it.rebalance_timeout_ms,
        topology_epoch: it.topology_epoch,
        process_id: it.process_id.clone(),
        user_endpoint: endpoint,
        client_tags: tags.collect(),
        ..Default::default()
    };
    Record::StreamsGroupMemberMetadata(member_metadata_key(group_id, member_id), Some(value))
}

/// Record 20.
pub(super) fn target_metadata(group_id: &Str, epoch: i32, timestamp: i64) -> Record {
    let value = StreamsGroupTargetAssignmentMetadataValue {
        assignment_epoch: epoch,
        assignment_timestamp: timestamp,
        ..Default::default()
    };
    let key = StreamsGroupTargetAssignmentMetadataKey { group_id: group_id.clone() };
    Record::StreamsGroupTargetAssignmentMetadata(key, Some(value))
}

/// Record 21.
pub(super) fn target(group_id: &Str, member_id: &Str, tasks: &Tasks) -> Record {
    let ids = |tasks: &TaskSet| {
        by_subtopology(tasks, |subtopology_id, partitions| target_value::TaskIds {
            subtopology_id,
            partitions,
            ..Default::default()
        })
    };
    let value = StreamsGroupTargetAssignmentMemberValue {
        active_tasks: ids(&tasks.active),
        standby_tasks: ids(&tasks.standby),
        warmup_tasks: ids(&tasks.warmup),
        ..Default::default()
    };
    Record::StreamsGroupTargetAssignmentMember(target_key(group_id, member_id), Some(value))
}

/// Record 22.
pub(super) fn current(group_id: &Str, member_id: &Str, it: &Current) -> Record {
    let ids = |tasks: &TaskSet| {
        by_subtopology(tasks, |subtopology_id, partitions| assignment_value::TaskIds {
            subtopology_id,
            partitions,
            ..Default::default()
        })
    };
    let value = StreamsGroupCurrentMemberAssignmentValue {
        member_epoch: it.epoch,
        previous_member_epoch: it.previous_epoch,
        state: it.state.code(),
        active_tasks: with_epochs(&it.assigned.active),
        standby_tasks: ids(&it.assigned.standby),
        warmup_tasks: ids(&it.assigned.warmup),
        active_tasks_pending_revocation: with_epochs(&it.pending.active),
        standby_tasks_pending_revocation: ids(&it.pending.standby),
        warmup_tasks_pending_revocation: ids(&it.pending.warmup),
        ..Default::default()
    };
    Record::StreamsGroupCurrentMemberAssignment(current_key(group_id, member_id), Some(value))
}

/// Record 23.
pub(super) fn topology(group_id: &Str, it: &Topology) -> Record {
    Record::StreamsGroupTopology(StreamsGroupTopologyKey { group_id: group_id.clone() }, Some(it.to_record()))
}

/// Record 23 with a field that Kafka does not know.
pub(super) fn described_topology(group_id: &Str, it: &Topology, description: RawTag) -> Record {
    let mut value = it.to_record();
    value.unknown_tagged_fields.push(description);
    Record::StreamsGroupTopology(StreamsGroupTopologyKey { group_id: group_id.clone() }, Some(value))
}

/// Record 17 that changes nothing but the epochs of the topology description (TD-3).
pub(super) fn description_epochs(group_id: &Str, group: &StreamsGroup, stored: i32, failed: i32) -> Record {
    let metadata = GroupMetadata {
        epoch: group.epoch,
        metadata_hash: group.metadata_hash,
        validated_topology_epoch: group.validated_topology_epoch,
        assignment_configs: &group.assignment_configs,
    };
    let value = metadata.value((stored, failed));
    Record::StreamsGroupMetadata(StreamsGroupMetadataKey { group_id: group_id.clone() }, Some(value))
}

/// Tombstones 22, 21 and 19 of a member, in the order in which they can be applied (H-70).
pub(super) fn member_tombstones(group_id: &Str, member_id: &Str) -> [Record; 3] {
    [
        Record::StreamsGroupCurrentMemberAssignment(current_key(group_id, member_id), None),
        Record::StreamsGroupTargetAssignmentMember(target_key(group_id, member_id), None),
        Record::StreamsGroupMemberMetadata(member_metadata_key(group_id, member_id), None),
    ]
}

/// Tombstones of a whole group (10.4).
pub fn group_tombstones(group_id: &Str, group: &StreamsGroup) -> Vec<Record> {
    let mut records = Vec::new();
    for member_id in group.members().keys() {
        records.push(Record::StreamsGroupCurrentMemberAssignment(current_key(group_id, member_id), None));
    }
    for member_id in group.members().keys() {
        records.push(Record::StreamsGroupTargetAssignmentMember(target_key(group_id, member_id), None));
    }
    let key = StreamsGroupTargetAssignmentMetadataKey { group_id: group_id.clone() };
    records.push(Record::StreamsGroupTargetAssignmentMetadata(key, None));
    for member_id in group.members().keys() {
        records.push(Record::StreamsGroupMemberMetadata(member_metadata_key(group_id, member_id), None));
    }
    records.push(Record::StreamsGroupMetadata(StreamsGroupMetadataKey { group_id: group_id.clone() }, None));
    records.push(Record::StreamsGroupTopology(StreamsGroupTopologyKey { group_id: group_id.clone() }, None));
    records
}

fn member_metadata_key(group_id: &Str, member_id: &Str) -> StreamsGroupMemberMetadataKey {
    StreamsGroupMemberMetadataKey { group_id: group_id.clone(), member_id: member_id.clone() }
}

fn target_key(group_id: &Str, member_id: &Str) -> StreamsGroupTargetAssignmentMemberKey {
    StreamsGroupTargetAssignmentMemberKey { group_id: group_id.clone(), member_id: member_id.clone() }
}

fn current_key(group_id: &Str, member_id: &Str) -> StreamsGroupCurrentMemberAssignmentKey {
    StreamsGroupCurrentMemberAssignmentKey { group_id: group_id.clone(), member_id: member_id.clone() }
}

/// One element per subtopology, ids and partitions ascending: the form of every list of tasks on
/// the wire and in the log.
pub(in crate::group) fn by_subtopology<'a, T>(
    tasks: impl IntoIterator<Item = &'a TaskId>,
    make: impl Fn(Str, Vec<i32>) -> T,
) -> Vec<T> {
    let mut lists: Vec<(Str, Vec<i32>)> = Vec::new();
    for task in tasks {
        match lists.last_mut() {
            Some((subtopology, partitions)) if *subtopology == task.subtopology => {
                partitions.push(task.partition)
            }
            Some(_) | None => lists.push((task.subtopology.clone(), vec![task.partition])),
        }
    }
    lists.into_iter().map(|(subtopology, partitions)| make(subtopology, partitions)).collect()
}

fn with_epochs(tasks: &BTreeMap<TaskId, i32>) -> Vec<assignment_value::TaskIds> {
    by_subtopology(tasks.keys(), |subtopology_id, partitions| {
        let epoch = |partition: &i32| tasks.get(&TaskId::new(&subtopology_id, *partition)).copied();
        let epochs = partitions.iter().filter_map(epoch).collect();
        assignment_value::TaskIds {
            assignment_epochs: Some(epochs),
            partitions,
            subtopology_id,
            ..Default::default()
        }
    })
}
