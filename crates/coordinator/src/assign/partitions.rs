//! Assignors of consumer groups (KIP-848): which member owns which partition.
//!
//! Topics and members are interned to dense numbers; the strings of members matter to `range` alone.
//! Pure: no clock, no chance; equal input gives equal output. No assignor looks at racks, as none of
//! Kafka's does since 4.0 (14.7).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::partition_set::{Builder, Recent};
use super::table::{Id, Table};
use super::{Member, Partitions, id, range, uniform, uniform_mixed};
use wire::{Str, Uuid};

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
            Self::Uniform if spec.homogeneous => uniform::assign(spec),
            Self::Uniform => uniform_mixed::assign(spec),
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

/// A topic of a [`PartitionSpec`]: its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(pub(super) u32);

/// A set of topics of a [`PartitionSpec`], to which any number of members subscribe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subscription(pub(super) u32);

/// Topics that the same subscriptions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind(pub(super) u32);

impl Id for Place {
    fn row(self) -> usize {
        self.0 as usize
    }
}

impl Id for Subscription {
    fn row(self) -> usize {
        self.0 as usize
    }
}

impl Id for Kind {
    fn row(self) -> usize {
        self.0 as usize
    }
}

/// A member of a [`PartitionSpec`].
#[derive(Debug, Clone, Copy)]
pub struct Subscriber<'a> {
    pub id: &'a Str,
    pub instance: Option<&'a Str>,
    pub subscription: Subscription,
    /// Its present target, if it has one.
    pub target: Option<&'a Partitions>,
}

/// What an assignor decides from.
#[derive(Debug, Clone)]
pub struct PartitionSpec<'a> {
    pub(super) topics: Table<Place, Topic>,
    /// Their ids as numbers, which compare faster.
    keys: Table<Place, u128>,
    pub(super) members: Table<Member, Subscriber<'a>>,
    subscriptions: BTreeMap<Vec<Place>, Subscription>,
    /// All members subscribe to the same topics. Only a hint: it must be false if they do not.
    pub homogeneous: bool,
}

impl<'a> PartitionSpec<'a> {
    /// `topics` ascend by id.
    pub fn new(topics: Vec<Topic>) -> Self {
        Self {
            keys: Table::new(topics.iter().map(|it| u128::from_be_bytes(it.id.0)).collect()),
            topics: Table::new(topics),
            members: Table::new(Vec::new()),
            subscriptions: BTreeMap::new(),
            homogeneous: false,
        }
    }

    /// The number of a topic, by which subscriptions name it.
    pub fn place(&self, topic: Uuid) -> Option<Place> {
        let place = self.topics.rows().binary_search_by_key(&topic, |it| it.id).ok()?;
        Some(Place(id(place)))
    }

    /// A set of topics. The same one is the same subscription.
    pub fn subscription(&mut self, mut topics: Vec<Place>) -> Subscription {
        topics.sort_unstable();
        topics.dedup();
        let next = Subscription(id(self.subscriptions.len()));
        *self.subscriptions.entry(topics).or_insert(next)
    }

    pub fn add(&mut self, member: Subscriber<'a>) {
        self.members.push(member);
    }

    /// The topics of each subscription, ascending.
    pub(super) fn subscribed(&self) -> Table<Subscription, &[Place]> {
        let mut all = Table::filled(self.subscriptions.len(), &[][..]);
        for (topics, subscription) in &self.subscriptions {
            all[*subscription] = topics.as_slice();
        }
        all
    }

    /// How many members have each subscription.
    pub(super) fn subscribers(&self) -> Table<Subscription, u32> {
        let mut all = Table::filled(self.subscriptions.len(), 0);
        self.members.rows().iter().for_each(|it| all[it.subscription] += 1);
        all
    }

    /// A number for each partition of each topic, topic by topic.
    pub(super) fn spans(&self) -> Table<Place, Span> {
        let mut start = 0;
        let mut span = |topic: &Topic| {
            let end = start + topic.partitions;
            Span { start: std::mem::replace(&mut start, end), end }
        };
        Table::new(self.topics.rows().iter().map(&mut span).collect())
    }

    pub(super) fn finder<'s>(&'s self, subscribed: &'s [Place]) -> Finder<'s> {
        Finder { keys: &self.keys, rest: subscribed }
    }

    /// Puts pieces that ascend at the end.
    pub(super) fn push(&self, pieces: &[Piece], builder: &mut Builder) {
        pieces.iter().for_each(|it| builder.push(self.topics[it.place].id, it.partitions()));
    }
}

/// Topics by what subscriptions have them, so that nobody looks at the members of each topic.
pub(super) struct Kinds {
    pub(super) of: Table<Place, Kind>,
    /// Those that have members; a topic that nobody subscribes to has none.
    pub(super) subscriptions: Table<Kind, Vec<Subscription>>,
}

impl Kinds {
    pub(super) fn new(
        spec: &PartitionSpec<'_>,
        subscribed: &Table<Subscription, &[Place]>,
        subscribers: &Table<Subscription, u32>,
    ) -> Self {
        let mut having: Table<Place, Vec<Subscription>> = Table::filled(spec.topics.len(), Vec::new());
        for (number, topics) in (0..).map(Subscription).zip(subscribed.rows()) {
            if subscribers[number] > 0 {
                topics.iter().for_each(|it| having[*it].push(number));
            }
        }
        let mut numbers: BTreeMap<Vec<Subscription>, Kind> = BTreeMap::new();
        let mut of = Vec::with_capacity(spec.topics.len());
        for one in having.into_rows() {
            let next = Kind(id(numbers.len()));
            of.push(*numbers.entry(one).or_insert(next));
        }
        let mut subscriptions = Table::filled(numbers.len(), Vec::new());
        for (one, number) in numbers {
            subscriptions[number] = one;
        }
        Self { of: Table::new(of), subscriptions }
    }
}

/// Finds topics of a subscription, asked for in ascending order.
pub(super) struct Finder<'s> {
    keys: &'s Table<Place, u128>,
    rest: &'s [Place],
}

impl Finder<'_> {
    #[inline]
    pub(super) fn find(&mut self, topic: Uuid) -> Option<Place> {
        let topic = u128::from_be_bytes(topic.0);
        let mut step = 1;
        // Strides that double: near topics are found at once, far ones in logarithmic time.
        while let Some(place) = self.rest.get(step - 1) {
            if self.keys[*place] >= topic {
                break;
            }
            self.rest = self.rest.get(step..).unwrap_or_default();
            step *= 2;
        }
        if step > 1 {
            let near = self.rest.get(..step).unwrap_or(self.rest);
            let at = near.partition_point(|it| self.keys[*it] < topic);
            self.rest = self.rest.get(at..).unwrap_or_default();
        }
        self.rest.first().copied().filter(|it| self.keys[*it] == topic)
    }
}

/// The numbers of a topic's partitions among those of all topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    /// Of a topic that does not exist.
    const NOTHING: Self = Self { start: 0, end: 0 };
}

/// The spans of the topics of targets. Where targets share their topics, those of one are looked up.
pub(super) struct Spans<'s, 'a> {
    spec: &'s PartitionSpec<'a>,
    subscribed: &'s Table<Subscription, &'s [Place]>,
    spans: Table<Place, Span>,
    found: Recent<Found>,
}

/// Of the topics of a target, if a member of this subscription has it.
struct Found {
    outline: *const [(Uuid, u32)],
    subscription: Subscription,
    spans: Vec<Span>,
}

impl<'s, 'a> Spans<'s, 'a> {
    pub(super) fn new(spec: &'s PartitionSpec<'a>, subscribed: &'s Table<Subscription, &'s [Place]>) -> Self {
        Self { spec, subscribed, spans: spec.spans(), found: Recent::default() }
    }

    /// Of each topic of the target, in their order; nothing of one that the subscription does not have.
    pub(super) fn of(&mut self, target: &'a Partitions, subscription: Subscription) -> &[Span] {
        // All targets live longer than this, so the same address is the same outline.
        let outline = target.outline();
        let is_it = |it: &Found| it.subscription == subscription && std::ptr::eq(it.outline, outline);
        let new = || {
            let mut finder = self.spec.finder(self.subscribed[subscription]);
            let span = |topic| finder.find(topic).map_or(Span::NOTHING, |it| self.spans[it]);
            Found { outline, subscription, spans: target.topics().map(span).collect() }
        };
        &self.found.find(is_it, new).spans
    }
}

/// Partitions of a topic that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Piece {
    pub(super) place: Place,
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Piece {
    pub(super) fn len(self) -> u32 {
        self.end - self.start
    }

    pub(super) fn is_empty(self) -> bool {
        self.start == self.end
    }

    pub(super) fn partitions(self) -> impl Iterator<Item = i32> {
        (self.start..self.end).map(u32::cast_signed)
    }
}
