//! Assignors of consumer groups (KIP-848): which member owns which partition.
//!
//! Topics and members are interned to dense numbers; the strings of members matter to `range` alone.
//! Pure: no clock, no chance; equal input gives equal output. No assignor looks at racks, as none of
//! Kafka's does since 4.0 (14.7).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{range, uniform};
use wire::{Str, Uuid};

/// Partitions by topic id: they ascend, and no topic stands here without any.
pub type Partitions = BTreeMap<Uuid, Vec<i32>>;

/// The assignors that a member can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionAssignor {
    Uniform,
    Range,
}

impl PartitionAssignor {
    pub const ALL: [Self; 2] = [Self::Uniform, Self::Range];

    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Range => "range",
        }
    }

    /// By its name, or by that of Kafka's class, which may stand in `group.consumer.assignors` too.
    pub fn by_config(name: &str) -> Option<Self> {
        match name.strip_prefix("org.apache.kafka.coordinator.group.assignor.") {
            Some("UniformAssignor") => Some(Self::Uniform),
            Some("RangeAssignor") => Some(Self::Range),
            Some(_) => None,
            None => Self::ALL.into_iter().find(|it| it.name() == name),
        }
    }

    /// The target of each member, in the order in which they were added; borrowed where it is the one
    /// that the member has.
    pub fn assign<'a>(self, spec: &PartitionSpec<'a>) -> Vec<Cow<'a, Partitions>> {
        match self {
            Self::Uniform if spec.homogeneous => uniform::homogeneous(spec),
            Self::Uniform => uniform::heterogeneous(spec),
            Self::Range => range::assign(spec),
        }
    }
}

/// A subscribed topic that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topic {
    pub id: Uuid,
    pub partitions: u32,
}

/// A member of a [`PartitionSpec`].
#[derive(Debug, Clone)]
pub struct Subscriber<'a> {
    pub id: &'a Str,
    pub instance: Option<&'a Str>,
    /// Places of the topics that it subscribes to, ascending.
    pub topics: Arc<[u32]>,
    /// Its present target, if it has one.
    pub target: Option<&'a Partitions>,
}

/// What an assignor decides from.
#[derive(Debug, Clone)]
pub struct PartitionSpec<'a> {
    pub(super) topics: Vec<Topic>,
    pub(super) members: Vec<Subscriber<'a>>,
    /// All members subscribe to the same topics. Only a hint: it must be false if they do not.
    pub homogeneous: bool,
}

impl<'a> PartitionSpec<'a> {
    /// `topics` ascend by id.
    pub fn new(topics: Vec<Topic>) -> Self {
        Self { topics, members: Vec::new(), homogeneous: false }
    }

    /// The number of a topic, by which members name it.
    pub fn place(&self, topic: Uuid) -> Option<u32> {
        let place = self.topics.binary_search_by_key(&topic, |it| it.id).ok()?;
        u32::try_from(place).ok()
    }

    pub fn add(&mut self, member: Subscriber<'a>) {
        self.members.push(member);
    }

    pub(super) fn topic(&self, place: u32) -> Option<&Topic> {
        self.topics.get(usize::try_from(place).ok()?)
    }

    /// Per topic and partition: a cell each, all `empty`.
    pub(super) fn cells<T: Clone>(&self, empty: T) -> Vec<Vec<T>> {
        let cells = |topic: &Topic| vec![empty.clone(); usize::try_from(topic.partitions).unwrap_or(0)];
        self.topics.iter().map(cells).collect()
    }
}

/// Takes partitions of ascending topics, in ascending order, for members in any order.
pub(super) struct Builder {
    members: Vec<Vec<(Uuid, Vec<i32>)>>,
}

impl Builder {
    pub(super) fn new(members: usize) -> Self {
        Self { members: vec![Vec::new(); members] }
    }

    pub(super) fn push(&mut self, member: usize, topic: Uuid, partitions: impl IntoIterator<Item = i32>) {
        let Some(topics) = self.members.get_mut(member) else { return };
        match topics.last_mut() {
            Some((last, list)) if *last == topic => list.extend(partitions),
            Some(_) | None => topics.push((topic, partitions.into_iter().collect())),
        }
    }

    pub(super) fn build<'a>(self, spec: &PartitionSpec<'a>) -> Vec<Cow<'a, Partitions>> {
        let built = self.members.into_iter().zip(&spec.members).map(|(topics, member)| {
            let is_same = |known: &&Partitions| {
                known.len() == topics.len()
                    && known.iter().zip(&topics).all(|(a, b)| *a.0 == b.0 && *a.1 == b.1)
            };
            match member.target.filter(is_same) {
                Some(known) => Cow::Borrowed(known),
                None => Cow::Owned(topics.into_iter().collect()),
            }
        });
        built.collect()
    }
}
