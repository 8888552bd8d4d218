//! Records 17 and 19 to 23 change a streams group here and nowhere else (P-1 to P-7).
//!
//! A log may be compacted, so a value can come before others that were written earlier, and a
//! tombstone can meet nothing. What can't happen even then is asserted: the shard then stops and is
//! loaded again rather than going on with a state that its log does not give.

use std::collections::BTreeMap;

use wire::Str;
use wire::consumer_offsets::streams_group_current_member_assignment_value as assignment_value;
use wire::consumer_offsets::streams_group_target_assignment_member_value as target_value;
use wire::consumer_offsets::{
    Record, StreamsGroupCurrentMemberAssignmentValue, StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataValue, StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataValue, StreamsGroupTopologyValue,
};

use super::description;
use super::tasks::{AssignedTasks, TaskId, TaskSet, Tasks};
use super::topology::Topology;
use super::{Current, Endpoint, MemberMetadata, MemberState, StreamsGroup};

impl StreamsGroup {
    /// Record 17. At its tombstone the caller removes the group (P-3).
    pub(in crate::group) fn apply_metadata(&mut self, value: &StreamsGroupMetadataValue) {
        self.epoch = value.epoch;
        self.metadata_hash = value.metadata_hash;
        self.validated_topology_epoch = value.validated_topology_epoch;
        let configs = value.last_assignment_configs.iter().flatten();
        self.assignment_configs = configs.map(|it| (it.key.detach(), it.value.detach())).collect();
        self.stored_description_epoch = value.stored_description_topology_epoch;
        self.failed_description_epoch = value.failed_description_topology_epoch;
    }

    /// Record 19. A member's tombstones come in the order 22, 21, 19.
    pub(in crate::group) fn apply_member(
        &mut self,
        member_id: &Str,
        value: Option<&StreamsGroupMemberMetadataValue>,
    ) {
        let Some(value) = value else {
            let Some(member) = self.members.get(member_id) else { return };
            assert!(member.current.epoch == -1, "a streams member is removed before its current assignment");
            assert!(!self.targets.contains_key(member_id), "a streams member is removed before its target");
            if let Some(member) = self.members.remove(member_id) {
                self.release(member_id, member.metadata.instance_id.as_ref());
            }
            return;
        };
        let metadata = MemberMetadata {
            instance_id: value.instance_id.as_ref().map(Str::detach),
            rack_id: value.rack_id.as_ref().map(Str::detach),
            client_id: value.client_id.detach(),
            client_host: value.client_host.detach(),
            rebalance_timeout_ms: value.rebalance_timeout_ms,
            topology_epoch: value.topology_epoch,
            process_id: value.process_id.detach(),
            user_endpoint: value
                .user_endpoint
                .as_ref()
                .map(|it| Endpoint { host: it.host.detach(), port: it.port }),
            client_tags: value.client_tags.iter().map(|it| (it.key.detach(), it.value.detach())).collect(),
        };
        let (member_id, instance_id) = (member_id.detach(), metadata.instance_id.clone());
        let member = self.members.entry(member_id.clone()).or_default();
        let known = std::mem::replace(&mut member.metadata, metadata);
        if known.instance_id != instance_id {
            self.release(&member_id, known.instance_id.as_ref());
        }
        if let Some(instance_id) = instance_id {
            self.instances.insert(instance_id, member_id);
        }
    }

    /// An instance id is the member's no longer; another one may have it already (P-5).
    fn release(&mut self, member_id: &Str, instance_id: Option<&Str>) {
        if let Some(instance_id) = instance_id.filter(|it| self.instances.get(*it) == Some(member_id)) {
            self.instances.remove(instance_id);
        }
    }

    /// Records 19, 21 and 22, for whoever must see what they lead to before they are written.
    pub(super) fn apply_to_member(&mut self, record: &Record) {
        if let Record::StreamsGroupMemberMetadata(key, value) = record {
            self.apply_member(&key.member_id, value.as_ref());
        } else if let Record::StreamsGroupTargetAssignmentMember(key, value) = record {
            self.apply_target(&key.member_id, value.as_ref());
        } else if let Record::StreamsGroupCurrentMemberAssignment(key, value) = record {
            self.apply_current(&key.member_id, value.as_ref());
        } else {
            unreachable!("{record:?} is not about a member of a streams group");
        }
    }

    /// Record 20. Its tombstone comes after all those of record 21.
    pub(in crate::group) fn apply_target_metadata(
        &mut self,
        value: Option<&StreamsGroupTargetAssignmentMetadataValue>,
    ) {
        let Some(value) = value else {
            assert!(
                self.targets.is_empty(),
                "the target epoch of a streams group is removed before its targets"
            );
            self.assignment_epoch = -1;
            self.assignment_timestamp = 0;
            return;
        };
        self.assignment_epoch = value.assignment_epoch;
        self.assignment_timestamp = value.assignment_timestamp;
    }

    /// Record 21.
    pub(in crate::group) fn apply_target(
        &mut self,
        member_id: &Str,
        value: Option<&StreamsGroupTargetAssignmentMemberValue>,
    ) {
        let Some(value) = value else {
            self.targets.remove(member_id);
            return;
        };
        let set = |ids: &[target_value::TaskIds]| {
            let ids = ids.iter().map(|it| (&it.subtopology_id, it.partitions.as_slice()));
            task_set(self.topology.as_ref(), ids)
        };
        let target = Tasks {
            active: set(&value.active_tasks),
            standby: set(&value.standby_tasks),
            warmup: set(&value.warmup_tasks),
        };
        self.targets.insert(member_id.detach(), target);
    }

    /// Record 22. After its tombstone the member has both epochs at -1 and holds nothing.
    pub(in crate::group) fn apply_current(
        &mut self,
        member_id: &Str,
        value: Option<&StreamsGroupCurrentMemberAssignmentValue>,
    ) {
        if value.is_none() && !self.members.contains_key(member_id) {
            return;
        }
        let current = match value {
            Some(value) => current(self.topology.as_ref(), value),
            None => Current { epoch: -1, previous_epoch: -1, ..Current::default() },
        };
        let member_id = member_id.detach();
        let member = self.members.entry(member_id.clone()).or_default();
        self.holders.remove(&member_id, &member.current.assigned);
        self.holders.remove(&member_id, &member.current.pending);
        self.holders.add(&member_id, &current.assigned);
        self.holders.add(&member_id, &current.pending);
        member.current = current;
    }

    /// Record 23.
    pub(in crate::group) fn apply_topology(&mut self, value: Option<&StreamsGroupTopologyValue>) {
        self.topology = value.map(Topology::from_record);
        self.description = value.and_then(description::of_record);
    }
}

fn current(topology: Option<&Topology>, value: &StreamsGroupCurrentMemberAssignmentValue) -> Current {
    let active = |ids: &[assignment_value::TaskIds]| with_epochs(topology, ids, value.member_epoch);
    let set = |ids: &[assignment_value::TaskIds]| {
        task_set(topology, ids.iter().map(|it| (&it.subtopology_id, it.partitions.as_slice())))
    };
    Current {
        epoch: value.member_epoch,
        previous_epoch: value.previous_member_epoch,
        state: MemberState::from_code(value.state),
        assigned: AssignedTasks {
            active: active(&value.active_tasks),
            standby: set(&value.standby_tasks),
            warmup: set(&value.warmup_tasks),
        },
        pending: AssignedTasks {
            active: active(&value.active_tasks_pending_revocation),
            standby: set(&value.standby_tasks_pending_revocation),
            warmup: set(&value.warmup_tasks_pending_revocation),
        },
    }
}

/// Tasks with their assignment epochs. Releases before 4.2 wrote none: then, and if their number is
/// wrong, each task counts as granted at the member's epoch (10.1).
fn with_epochs(
    topology: Option<&Topology>,
    ids: &[assignment_value::TaskIds],
    member_epoch: i32,
) -> BTreeMap<TaskId, i32> {
    let mut tasks = BTreeMap::new();
    for it in ids {
        let subtopology = own_id(topology, &it.subtopology_id);
        let epochs = it.assignment_epochs.as_deref().filter(|epochs| epochs.len() == it.partitions.len());
        for (index, partition) in it.partitions.iter().enumerate() {
            let epoch = epochs.and_then(|epochs| epochs.get(index)).copied();
            tasks.insert(TaskId::new(&subtopology, *partition), epoch.unwrap_or(member_epoch));
        }
    }
    tasks
}

fn task_set<'a>(topology: Option<&Topology>, ids: impl Iterator<Item = (&'a Str, &'a [i32])>) -> TaskSet {
    let mut tasks = TaskSet::new();
    for (subtopology, partitions) in ids {
        let subtopology = own_id(topology, subtopology);
        tasks.extend(partitions.iter().map(|partition| TaskId::new(&subtopology, *partition)));
    }
    tasks
}

/// The topology's copy of the id, so that thousands of tasks share one and none holds a frame.
fn own_id(topology: Option<&Topology>, id: &Str) -> Str {
    let known = topology.and_then(|it| it.subtopologies().get_key_value(id));
    known.map_or_else(|| id.detach(), |(id, _)| id.clone())
}
