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
use crate::assign::{self, PartitionAssignor, PartitionSpec, Subscriber, Subscription, Topic};
use crate::machine::Millis;
use catalog::Image;
use wire::Str;
use wire::consumer_offsets::Record;

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
    pub(super) fn compute(&self) -> Vec<(&'a Str, Cow<'a, Partitions>)> {
        let members = self.members();
        let mut spec = PartitionSpec::new(self.topics());
        // Members mostly come in few kinds, and each kind looks up its topics once. Names are the same if they are
        // the same set in memory: nobody compares thousands of them for each of thousands of members.
        let mut kinds: BTreeMap<_, Subscription> = BTreeMap::new();
        for (id, metadata) in &members {
            let names = match *id == self.member_id {
                true => self.group.shared_names(&metadata.topic_names),
                false => &metadata.topic_names,
            };
            let kind = ((!names.is_empty()).then_some(Arc::as_ptr(names)), &metadata.topic_regex);
            let subscription = *kinds.entry(kind).or_insert_with(|| {
                let topics = self.wanted(metadata, &spec);
                spec.subscription(topics)
            });
            spec.add(Subscriber {
                id,
                instance: metadata.instance_id.as_ref(),
                subscription,
                target: self.group.target(self.known_id(id)),
            });
        }
        spec.homogeneous = self.subscriptions.is_homogeneous(members.len());
        let targets = self.assignor.assign(&spec);
        members.into_iter().map(|it| it.0).zip(targets).collect()
    }

    /// All members after this heartbeat, by id.
    fn members(&self) -> Vec<(&'a Str, &'a MemberMetadata)> {
        let replaced = match self.place {
            Place::Replaces(old, _) => Some(old),
            Place::New | Place::Known(_) => None,
        };
        let is_other = |id: &Str| id != self.member_id && Some(id) != replaced;
        let others = self.group.members.iter().filter(|(id, _)| is_other(id));
        let mut members: Vec<_> = others.map(|(id, it)| (id, &it.metadata)).collect();
        let place = members.partition_point(|(id, _)| *id < self.member_id);
        members.insert(place, (self.member_id, self.metadata));
        members
    }

    fn known_id(&self, id: &'a Str) -> &'a Str {
        if id == self.member_id { self.place.known_id(id) } else { id }
    }

    /// Subscribed topics that exist, by id.
    fn topics(&self) -> Vec<Topic> {
        let known = self.subscriptions.topics().filter_map(|name| self.image.topic(name.as_str()?));
        let topic = |it: &catalog::Topic| Topic {
            id: it.id,
            partitions: u32::try_from(it.partitions.len()).unwrap_or(u32::MAX),
        };
        let mut topics: Vec<Topic> = known.map(topic).collect();
        topics.sort_unstable_by_key(|it| it.id);
        topics
    }

    fn wanted(&self, metadata: &MemberMetadata, spec: &PartitionSpec<'_>) -> Vec<assign::Place> {
        let names = Wanted::new(metadata, &self.group.resolved).topics();
        names.filter_map(|name| spec.place(self.image.topic(name.as_str()?)?.id)).collect()
    }

    /// 14.3: record 7 for each member whose target is new or another one, then record 6.
    pub(super) fn records(
        &self,
        group_id: &Str,
        targets: &[(&'a Str, Cow<'a, Partitions>)],
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
