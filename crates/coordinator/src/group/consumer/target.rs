//! Target assignments of a whole group (14): the assignor's input from the group's state, its output by
//! member, and the records that change.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::partitions::Partitions;
use super::place::Place;
use super::records;
use super::subscription::{Subscriptions, Wanted};
use super::{ConsumerGroup, MemberMetadata};
use crate::assign::{PartitionAssignor, PartitionSpec, Subscriber, Topic};
use crate::machine::Millis;
use catalog::Image;
use wire::consumer_offsets::Record;
use wire::{Str, Uuid};

/// Where a member goes.
pub(super) struct Goal<'a> {
    pub epoch: i32,
    pub partitions: Cow<'a, Partitions>,
}

/// A computation for all members of a group.
pub(super) struct Assignment<'a> {
    pub image: &'a Image,
    pub group: &'a ConsumerGroup,
    pub place: Place<'a>,
    /// The member of this heartbeat, as it has become.
    pub member_id: &'a Str,
    pub metadata: &'a MemberMetadata,
    pub subscriptions: &'a Subscriptions,
    pub assignor: PartitionAssignor,
}

impl<'a> Assignment<'a> {
    /// The target of each member, in the order of their ids.
    pub(super) fn compute(&self) -> BTreeMap<&'a Str, Cow<'a, Partitions>> {
        let members = self.members();
        let topics = self.topics();
        let mut spec = PartitionSpec::new(topics.values().copied().collect());
        // Members mostly come in few kinds, and each kind looks up its topics once.
        let mut kinds: BTreeMap<_, Arc<[u32]>> = BTreeMap::new();
        for (id, metadata) in &members {
            let kind = (&metadata.topic_names, &metadata.topic_regex);
            let wanted = kinds.entry(kind).or_insert_with(|| self.wanted(metadata, &spec));
            spec.add(Subscriber {
                id,
                instance: metadata.instance_id.as_ref(),
                topics: wanted.clone(),
                target: self.group.target(self.known_id(id)),
            });
        }
        spec.homogeneous = self.subscriptions.is_homogeneous(members.len());
        let targets = self.assignor.assign(&spec);
        members.into_keys().zip(targets).collect()
    }

    /// All members after this heartbeat.
    fn members(&self) -> BTreeMap<&'a Str, &'a MemberMetadata> {
        let mut members: BTreeMap<_, _> =
            self.group.members.iter().map(|(id, it)| (id, &it.metadata)).collect();
        if let Place::Replaces(old, _) = self.place {
            members.remove(old);
        }
        members.insert(self.member_id, self.metadata);
        members
    }

    fn known_id(&self, id: &'a Str) -> &'a Str {
        if id == self.member_id { self.place.known_id(id) } else { id }
    }

    /// Subscribed topics that exist, by id.
    fn topics(&self) -> BTreeMap<Uuid, Topic> {
        let known = self.subscriptions.topics().filter_map(|name| self.image.topic(name.as_str()?));
        let topic = |it: &catalog::Topic| Topic {
            id: it.id,
            partitions: u32::try_from(it.partitions.len()).unwrap_or(u32::MAX),
        };
        known.map(|it| (it.id, topic(it))).collect()
    }

    fn wanted(&self, metadata: &MemberMetadata, spec: &PartitionSpec<'_>) -> Arc<[u32]> {
        let names = Wanted::new(metadata, &self.group.resolved).topics();
        let ids = names.filter_map(|name| Some(self.image.topic(name.as_str()?)?.id));
        let mut places: Vec<u32> = ids.filter_map(|id| spec.place(id)).collect();
        places.sort_unstable();
        places.dedup();
        places.into()
    }

    /// 14.3: record 7 for each member whose target is new or another one, then record 6.
    pub(super) fn records(
        &self,
        group_id: &Str,
        targets: &BTreeMap<&'a Str, Cow<'a, Partitions>>,
        epoch: i32,
        now: Millis,
    ) -> Vec<Record> {
        let is_changed = |id: &'a Str, target: &Cow<'_, Partitions>| match target {
            // The assignor left it as it was.
            Cow::Borrowed(_) => false,
            Cow::Owned(target) => self.group.target(self.known_id(id)) != Some(target),
        };
        let changed = targets.iter().filter(|(id, target)| is_changed(id, target));
        let mut all: Vec<_> = changed.map(|(id, target)| records::target(group_id, id, target)).collect();
        all.push(records::target_metadata(group_id, epoch, now));
        all
    }
}
