//! Assignor `uniform` where members subscribe to different topics (14.6): topics are filled one after the other, each
//! to its least loaded subscribers, and then balanced by moving partitions from the most to the least loaded
//! subscriber of a topic. That is balanced for each topic, but not always as a whole.
//!
//! Members of the same subscription stand in one [`Queue`] by load, and the subscribers of a topic are the queues of its
//! subscriptions. Cost: O(members × log(members) + topics of the subscriptions + partitions × log(subscriptions of a
//! topic)), and for each topic from which something moves in a round of balancing O(subscribers × log(subscribers)).

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use super::levels::{Levels, Load, Spread};
use super::partitions::{Kinds, PartitionSpec, Place, Subscription};
use super::queue::{Queue, Turn};
use super::table::Table;
use super::{Member, Owner, Partitions, id};
use wire::Uuid;

/// Rounds of balancing.
const ROUNDS_MAX: usize = 16;

pub(super) fn assign<'a>(spec: &PartitionSpec<'a>) -> Vec<Cow<'a, Partitions>> {
    let (subscribed, subscribers) = (spec.subscribed(), spec.subscribers());
    let kinds = Kinds::new(spec, &subscribed, &subscribers);
    let mut mixed = Mixed::new(spec, &subscribed, kinds);
    let order = mixed.order(&subscribers);
    mixed.fill_all(&order);
    mixed.balance(&order);
    mixed.targets()
}

struct Mixed<'s, 'a> {
    spec: &'s PartitionSpec<'a>,
    kinds: Kinds,
    starts: Table<Place, usize>,
    /// Those of a topic from its start on.
    owners: Vec<Owner>,
    /// Partitions of each topic that nobody has.
    free: Table<Place, u32>,
    /// Partitions of each member.
    size: Table<Member, u32>,
    /// Members that do not have exactly what stands in their target.
    is_changed: Table<Member, bool>,
}

impl<'s, 'a> Mixed<'s, 'a> {
    /// Each member keeps what it has of the topics that it subscribes to.
    fn new(spec: &'s PartitionSpec<'a>, subscribed: &Table<Subscription, &[Place]>, kinds: Kinds) -> Self {
        let starts = spec.starts();
        let mut mixed = Self {
            spec,
            kinds,
            owners: vec![Owner::NOBODY; starts.rows().last().copied().unwrap_or(0)],
            starts,
            free: Table::new(spec.topics.rows().iter().map(|it| it.partitions).collect()),
            size: Table::filled(spec.members.len(), 0),
            is_changed: Table::filled(spec.members.len(), false),
        };
        for (member, subscriber) in (0..).map(Member).zip(spec.members.rows()) {
            mixed.is_changed[member] = subscriber.target.is_none();
            let mut finder = spec.finder(subscribed[subscriber.subscription]);
            for (topic, partitions) in subscriber.target.into_iter().flatten() {
                let kept = finder.find(topic).map_or(0, |place| mixed.keep(member, place, partitions));
                mixed.size[member] += kept;
                mixed.is_changed[member] |= kept as usize != partitions.len();
            }
        }
        mixed
    }

    /// How many are this member's and exist.
    fn keep(&mut self, member: Member, place: Place, partitions: &[i32]) -> u32 {
        let range = self.range(place);
        let owners = self.owners.get_mut(range).unwrap_or_default();
        let mut kept = 0;
        for partition in partitions {
            let owner = usize::try_from(*partition).ok().and_then(|it| owners.get_mut(it));
            if let Some(owner) = owner.filter(|it| **it == Owner::NOBODY) {
                *owner = member.into();
                kept += 1;
            }
        }
        self.free[place] -= kept;
        kept
    }

    fn range(&self, place: Place) -> Range<usize> {
        let start = self.starts[place];
        start..start + self.spec.topics[place].partitions as usize
    }

    fn owners(&self, place: Place) -> &[Owner] {
        self.owners.get(self.range(place)).unwrap_or_default()
    }

    fn subscriptions(&self, place: Place) -> &[Subscription] {
        &self.kinds.subscriptions[self.kinds.of[place]]
    }

    /// Topics with the most partitions for a subscriber first, then those with few subscribers, then by
    /// id as two signed numbers.
    fn order(&self, subscribers: &Table<Subscription, u32>) -> Vec<Place> {
        let key = |place: Place| {
            let count: u32 = self.subscriptions(place).iter().map(|it| subscribers[*it]).sum();
            let topic = self.spec.topics[place];
            // No share is negative, so its bits are in order.
            let share = (f64::from(topic.partitions) / f64::from(count)).to_bits();
            (Reverse(share), count, signed(topic.id), place)
        };
        let places = (0..id(self.spec.topics.len())).map(Place);
        let wanted = places.filter(|it| !self.subscriptions(*it).is_empty());
        let mut order: Vec<_> = wanted.map(key).collect();
        order.sort_unstable();
        order.into_iter().map(|it| it.3).collect()
    }

    fn fill_all(&mut self, order: &[Place]) {
        if order.iter().all(|it| self.free[*it] == 0) {
            return;
        }
        let mut members_of: Table<Subscription, Vec<Load>> =
            Table::filled(self.spec.subscribed().len(), Vec::new());
        for (member, subscriber) in (0..).map(Member).zip(self.spec.members.rows()) {
            members_of[subscriber.subscription].push(Load::new(self.size[member], member));
        }
        let queues = members_of.into_rows().into_iter().map(Queue::new).collect();
        let mut filling = Filling { queues: Table::new(queues), ..Filling::default() };
        for place in order.iter().filter(|it| self.free[**it] > 0) {
            let subscriptions = &self.kinds.subscriptions[self.kinds.of[*place]];
            filling.begin(subscriptions);
            let start = self.starts[*place];
            let end = start + self.spec.topics[*place].partitions as usize;
            for owner in self.owners.get_mut(start..end).unwrap_or_default() {
                if *owner == Owner::NOBODY {
                    let Some(member) = filling.least(&mut self.size) else { break };
                    *owner = member.into();
                    self.is_changed[member] = true;
                }
            }
            filling.end(&self.size);
        }
    }

    fn balance(&mut self, order: &[Place]) {
        let mut sizes: Table<Subscription, Spread> =
            Table::filled(self.spec.subscribed().len(), Spread::default());
        for (subscriber, size) in self.spec.members.rows().iter().zip(self.size.rows()) {
            sizes[subscriber.subscription].add(*size);
        }
        let mut members_of: Table<Subscription, Vec<Member>> = Table::filled(sizes.len(), Vec::new());
        for (member, subscriber) in (0..).map(Member).zip(self.spec.members.rows()) {
            members_of[subscriber.subscription].push(member);
        }
        let mut levels = Levels::new(self.spec.members.len());
        let mut last = None;
        for _ in 0..ROUNDS_MAX {
            for place in order {
                let subscriptions = self.subscriptions(*place);
                if let [only] = subscriptions
                    && members_of[*only].len() == 1
                {
                    continue;
                }
                if last == Some(*place) {
                    return;
                }
                let is_moved = self.may_move(*place, &sizes)
                    && self.balance_topic(*place, &members_of, &mut sizes, &mut levels);
                if is_moved || last.is_none() {
                    last = Some(*place);
                }
            }
        }
    }

    /// Whether the most loaded owner has two more than the least loaded subscriber. If not, nothing moves.
    fn may_move(&self, place: Place, sizes: &Table<Subscription, Spread>) -> bool {
        let subscriptions = self.subscriptions(place);
        let least = subscriptions.iter().map(|it| sizes[*it].least()).min().unwrap_or(0);
        let most = subscriptions.iter().map(|it| sizes[*it].most()).max().unwrap_or(0);
        let has_more = |owner: &Owner| owner.member().is_some_and(|it| self.size[it] > least + 1);
        most > least + 1 && self.owners(place).iter().any(has_more)
    }

    /// True if a partition moved.
    fn balance_topic(
        &mut self,
        place: Place,
        members_of: &Table<Subscription, Vec<Member>>,
        sizes: &mut Table<Subscription, Spread>,
        levels: &mut Levels,
    ) -> bool {
        let subscribers = self.subscriptions(place).iter().flat_map(|it| &members_of[*it]).copied();
        levels.begin(subscribers, &self.size);
        let range = self.range(place);
        let owners = self.owners.get_mut(range).unwrap_or_default();
        levels.group(owners);
        let mut is_moved = false;
        while !levels.is_balanced() {
            let (giver, partition) = loop {
                let Some(member) = levels.most(&self.size) else { return is_moved };
                match levels.take_from(member) {
                    Some(partition) => break (member, partition),
                    None => levels.exclude(),
                }
            };
            let Some(taker) = levels.least(&self.size) else { return is_moved };
            if levels.is_balanced() {
                break;
            }
            owners.get_mut(partition).into_iter().for_each(|it| *it = taker.into());
            let members = &self.spec.members;
            sizes[members[giver].subscription].move_one(self.size[giver], self.size[giver] - 1);
            self.size[giver] -= 1;
            sizes[members[taker].subscription].move_one(self.size[taker], self.size[taker] + 1);
            self.size[taker] += 1;
            self.is_changed[giver] = true;
            self.is_changed[taker] = true;
            is_moved = true;
        }
        is_moved
    }

    fn targets(self) -> Vec<Cow<'a, Partitions>> {
        let mut targets: Table<Member, _> = Table::new(
            (0..).map(Member).zip(self.spec.members.rows()).map(|it| self.begun(it.0, it.1.target)).collect(),
        );
        if self.is_changed.rows().contains(&true) {
            for (topic, start) in self.spec.topics.rows().iter().zip(self.starts.rows()) {
                let owners = self.owners.get(*start..).unwrap_or_default();
                for (partition, owner) in (0..topic.partitions).zip(owners) {
                    if let Some(member) = owner.member()
                        && self.is_changed[member]
                        && let Cow::Owned(target) = &mut targets[member]
                    {
                        target.push(topic.id, [partition.cast_signed()]);
                    }
                }
            }
        }
        let known = self.spec.members.rows().iter().map(|it| it.target);
        let settled = targets.into_rows().into_iter().zip(known);
        settled
            .map(|(target, known)| match (target, known) {
                // It may have lost one and got it back.
                (Cow::Owned(target), Some(known)) if target == *known => Cow::Borrowed(known),
                (target, _) => target,
            })
            .collect()
    }

    /// The target of a member as it was, or an empty one that is filled.
    fn begun(&self, member: Member, known: Option<&'a Partitions>) -> Cow<'a, Partitions> {
        match known {
            Some(known) if !self.is_changed[member] => Cow::Borrowed(known),
            Some(_) | None => {
                let count = self.size[member] as usize;
                Cow::Owned(Partitions::with_capacity(count.min(self.spec.topics.len()), count))
            }
        }
    }
}

fn signed(id: Uuid) -> (i64, i64) {
    let number = u128::from_be_bytes(id.0);
    let half = |it: u128| u64::try_from(it & u128::from(u64::MAX)).unwrap_or(0).cast_signed();
    (half(number >> 64), half(number))
}

/// Gives the partitions of one topic to its least loaded subscribers, level by level: in each round all that have so
/// many or fewer get one, in the order of what they had at the beginning.
#[derive(Default)]
struct Filling {
    queues: Table<Subscription, Queue>,
    /// The first of each queue of the topic.
    heads: BinaryHeap<Reverse<(Load, Subscription)>>,
    /// Who is out of the queues, in that order.
    given: Vec<(Turn, Subscription)>,
    /// The next of them in this round.
    next: usize,
    level: u32,
}

impl Filling {
    fn begin(&mut self, subscriptions: &[Subscription]) {
        self.heads.clear();
        for subscription in subscriptions {
            let head = self.queues[*subscription].first().map(|it| Reverse((it, *subscription)));
            self.heads.extend(head);
        }
        self.level = self.heads.peek().map_or(0, |it| it.0.0.size());
        self.next = 0;
    }

    /// Who gets the next one.
    fn least(&mut self, size: &mut Table<Member, u32>) -> Option<Member> {
        let member = loop {
            if let Some((turn, _)) = self.given.get(self.next) {
                break turn.member;
            }
            if let Some((turn, subscription)) = self.pull() {
                self.given.push((turn, subscription));
                break turn.member;
            }
            if self.given.is_empty() {
                return None;
            }
            self.level += 1;
            self.next = 0;
        };
        self.next += 1;
        size[member] += 1;
        Some(member)
    }

    /// The next who had no more than the level.
    fn pull(&mut self) -> Option<(Turn, Subscription)> {
        let mut head = self.heads.peek_mut()?;
        let Reverse((load, subscription)) = *head;
        if load.size() > self.level {
            return None;
        }
        let queue = &mut self.queues[subscription];
        let turn = queue.pop()?;
        match queue.first() {
            Some(next) => *head = Reverse((next, subscription)),
            None => drop(PeekMut::pop(head)),
        }
        Some((turn, subscription))
    }

    /// Back into the queues: each has as many as the level or one more, and nobody in them has fewer.
    fn end(&mut self, size: &Table<Member, u32>) {
        for (turn, subscription) in self.given.drain(..) {
            self.queues[subscription].push(turn, size[turn.member], self.level);
        }
    }
}
