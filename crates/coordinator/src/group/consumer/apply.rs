//! Records 3 to 8 and 16 change a consumer group here and nowhere else (21.3).
//!
//! A log may be compacted, so a value can come before others that were written earlier, and a tombstone
//! can meet nothing. What can't happen even then is asserted: the shard then stops and is loaded again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::partitions::{Held, partitions};
use super::{ClassicMember, ConsumerGroup, ConsumerMember, Current, MemberMetadata, MemberState, Resolved};
use wire::Str;
use wire::consumer_offsets::consumer_group_current_member_assignment_value::TopicPartitions;
use wire::consumer_offsets::{
    ConsumerGroupCurrentMemberAssignmentValue, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionValue, ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
};

impl ConsumerGroup {
    /// Record 3. At its tombstone the caller removes the group.
    pub(in crate::group) fn apply_metadata(&mut self, value: &ConsumerGroupMetadataValue) {
        self.epoch = value.epoch;
        self.metadata_hash = value.metadata_hash;
    }

    /// Record 4, which releases before 4.1 wrote. Only whether there is one still matters.
    pub(in crate::group) fn apply_partition_metadata(&mut self, is_value: bool) {
        self.has_partition_metadata = is_value;
    }

    /// Record 5. A member's tombstones come in the order 8, 7, 5.
    pub(in crate::group) fn apply_member(
        &mut self,
        member_id: &Str,
        value: Option<&ConsumerGroupMemberMetadataValue>,
    ) {
        let Some(value) = value else {
            let Some(member) = self.members.get(member_id) else { return };
            assert!(member.current.epoch == -1, "a consumer is removed before its current assignment");
            assert!(!self.targets.contains_key(member_id), "a consumer is removed before its target");
            self.forget_metadata(member_id);
            if let Some(member) = self.members.remove(member_id) {
                uncount(&mut self.stable, &member.current);
            }
            return;
        };
        let member_id = member_id.detach();
        self.forget_metadata(&member_id);
        let mut metadata = metadata(value);
        metadata.topic_names = self.shared_names(&metadata.topic_names).clone();
        // A member of whom only record 8 came has no names either.
        if !metadata.topic_names.is_empty() {
            *self.topic_names.entry(metadata.topic_names.clone()).or_default() += 1;
        }
        self.subscriptions.add(&metadata);
        if let Some(instance) = &metadata.instance_id {
            self.instances.insert(instance.clone(), member_id.clone());
        }
        self.known(member_id).metadata = metadata;
    }

    /// What is known of a member, nothing at first.
    fn known(&mut self, member_id: Str) -> &mut ConsumerMember {
        if !self.members.contains_key(&member_id) {
            count(&mut self.stable, &Current::default());
        }
        self.members.or_default(member_id)
    }

    fn forget_metadata(&mut self, member_id: &Str) {
        let Some(member) = self.members.get(member_id) else { return };
        self.subscriptions.remove(&member.metadata);
        if let Some(users) = self.topic_names.get_mut(&member.metadata.topic_names) {
            *users -= 1;
            if *users == 0 {
                self.topic_names.remove(&member.metadata.topic_names);
            }
        }
        // Another member may have taken the instance over.
        if let Some(instance) = &member.metadata.instance_id
            && self.instances.get(instance) == Some(member_id)
        {
            self.instances.remove(instance);
        }
    }

    /// Record 6. Its tombstone comes after all those of record 7.
    pub(in crate::group) fn apply_target_metadata(
        &mut self,
        value: Option<&ConsumerGroupTargetAssignmentMetadataValue>,
    ) {
        let Some(value) = value else {
            assert!(
                self.targets.is_empty(),
                "a target epoch of a consumer group is removed before its targets"
            );
            self.assignment_epoch = -1;
            self.assignment_timestamp = 0;
            return;
        };
        self.assignment_epoch = value.assignment_epoch;
        self.assignment_timestamp = value.assignment_timestamp;
    }

    /// Record 7.
    pub(in crate::group) fn apply_target(
        &mut self,
        member_id: &Str,
        value: Option<&ConsumerGroupTargetAssignmentMemberValue>,
    ) {
        let Some(value) = value else {
            self.targets.remove(member_id);
            return;
        };
        let mut target =
            partitions(value.topic_partitions.iter().map(|it| (it.topic_id, it.partitions.as_slice())));
        self.outlines.share(&mut target);
        self.targets.insert(member_id.detach(), target);
    }

    /// Record 8. After its tombstone the member has both epochs at -1 and holds nothing.
    pub(in crate::group) fn apply_current(
        &mut self,
        member_id: &Str,
        value: Option<&ConsumerGroupCurrentMemberAssignmentValue>,
    ) {
        if value.is_none() && !self.members.contains_key(member_id) {
            return;
        }
        let current = match value {
            Some(value) => Current {
                epoch: value.member_epoch,
                previous_epoch: value.previous_member_epoch,
                state: MemberState::from_code(value.state),
                assigned: held(&value.assigned_partitions, value.member_epoch),
                pending: held(&value.partitions_pending_revocation, value.member_epoch),
            },
            None => Current { epoch: -1, previous_epoch: -1, ..Current::default() },
        };
        self.holders.add(&current.assigned);
        self.holders.add(&current.pending);
        count(&mut self.stable, &current);
        let before = std::mem::replace(&mut self.known(member_id.detach()).current, current);
        self.holders.remove(&before.assigned);
        self.holders.remove(&before.pending);
        uncount(&mut self.stable, &before);
    }

    /// Record 16.
    pub(in crate::group) fn apply_regex(
        &mut self,
        regex: &Str,
        value: Option<&ConsumerGroupRegularExpressionValue>,
    ) {
        if let Some(old) = self.resolved.remove(regex) {
            self.subscriptions.remove_resolved(&old);
        }
        let Some(value) = value else { return };
        let resolved = Resolved {
            topics: value.topics.iter().map(Str::detach).collect(),
            version: value.version,
            timestamp: value.timestamp,
        };
        self.subscriptions.add_resolved(&resolved);
        self.resolved.insert(regex.detach(), resolved);
    }
}

fn count(stable: &mut BTreeMap<i32, usize>, member: &Current) {
    if member.state == MemberState::Stable {
        *stable.entry(member.epoch).or_default() += 1;
    }
}

fn uncount(stable: &mut BTreeMap<i32, usize>, member: &Current) {
    if member.state == MemberState::Stable
        && let Some(members) = stable.get_mut(&member.epoch)
    {
        *members -= 1;
        if *members == 0 {
            stable.remove(&member.epoch);
        }
    }
}

fn metadata(value: &ConsumerGroupMemberMetadataValue) -> MemberMetadata {
    let classic = value.classic_member_metadata.as_ref().map(|it| ClassicMember {
        session_timeout_ms: it.session_timeout_ms,
        protocols: it.supported_protocols.iter().map(|it| (it.name.detach(), it.metadata.clone())).collect(),
    });
    MemberMetadata {
        instance_id: value.instance_id.as_ref().map(Str::detach),
        rack_id: value.rack_id.as_ref().map(Str::detach),
        client_id: value.client_id.detach(),
        client_host: value.client_host.detach(),
        rebalance_timeout_ms: value.rebalance_timeout_ms,
        topic_names: Arc::new(value.subscribed_topic_names.iter().map(Str::detach).collect()),
        topic_regex: value.subscribed_topic_regex.as_ref().map(Str::detach).unwrap_or_default(),
        server_assignor: value.server_assignor.as_ref().map(Str::detach),
        classic,
    }
}

/// Releases before 4.3 wrote no assignment epochs: then, and if their number is wrong, each partition
/// counts as granted at the member's epoch (20.1).
fn held(topics: &[TopicPartitions], member_epoch: i32) -> Held {
    let mut held = Held::default();
    for topic in topics {
        let epochs = topic.assignment_epochs.as_deref();
        let epochs = epochs.filter(|it| it.len() == topic.partitions.len());
        let epochs: BTreeMap<_, _> = topic.partitions.iter().zip(epochs.into_iter().flatten()).collect();
        for partition in &topic.partitions {
            let epoch = epochs.get(partition).map_or_else(|| member_epoch.max(0), |it| **it);
            held.insert(topic.topic_id, *partition, epoch);
        }
    }
    held
}
