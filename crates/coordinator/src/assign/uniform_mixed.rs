//! Assignor `uniform` where members subscribe to different topics (14.6): topics are filled one after the other, each
//! to its least loaded subscribers, and then balanced by moving partitions from the most to the least loaded
//! subscriber of a topic. That is balanced for each topic, but not always as a whole.
//!
//! Members of the same subscription stand in one [`Queue`] by load, and the subscribers of a topic are the queues of its
//! subscriptions. Targets are gathered by member from the owners of all partitions, and most have the [`Shape`] of one
//! that came before, so that nobody looks for the topic of each partition.
//!
//! Cost: O(members × log(members) + topics of the subscriptions + partitions × log(subscriptions of a topic)), and for
//! each topic from which something moves in a round of balancing O(subscribers × log(subscribers)).

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use super::levels::{Levels, Load, Spread};
use super::partition_set::{Outline, Recent};
use super::partitions::{Kinds, PartitionSpec, Place, Span, Spans, Subscriber, Subscription};
use super::queue::{Queue, Turn};
use super::table::{Lists, Table};
use super::{Member, Owner, Partitions, id};
use wire::Uuid;

/// Topics that are looked at one by one, before a search.
const NEAR: usize = 8;
/// Rounds of balancing.
const ROUNDS_MAX: usize = 16;

pub(super) fn assign<'a>(spec: &PartitionSpec<'a>) -> Vec<Cow<'a, Partitions>> {
    let (subscribed, subscribers) = (spec.subscribed(), spec.subscribers());
    let kinds = Kinds::new(spec, &subscribed, &subscribers);
    let mut mixed = Mixed::new(spec, &subscribed, kinds);
    let order = mixed.order(&subscribers);
    mixed.fill_all(&order);
    mixed.balance(&order);
    mixed.targets(&subscribed)
}

struct Mixed<'s, 'a> {
    spec: &'s PartitionSpec<'a>,
    kinds: Kinds,
    spans: Table<Place, Span>,
    /// By the number of the partition.
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
        let spans = spec.spans();
        let mut mixed = Self {
            spec,
            kinds,
            owners: vec![Owner::NOBODY; spans.rows().last().map_or(0, |it| it.end as usize)],
            spans,
            free: Table::new(spec.topics.rows().iter().map(|it| it.partitions).collect()),
            size: Table::filled(spec.members.len(), 0),
            is_changed: Table::filled(spec.members.len(), false),
        };
        let mut spans = Spans::new(spec, subscribed);
        for (member, subscriber) in (0..).map(Member).zip(spec.members.rows()) {
            match subscriber.target {
                Some(target) => mixed.keep(member, target, spans.of(target, subscriber.subscription)),
                None => mixed.is_changed[member] = true,
            }
        }
        if spec.members.rows().iter().any(|it| it.target.is_some()) {
            mixed.count_free();
        }
        mixed
    }

    /// What nobody has yet and exists.
    fn keep(&mut self, member: Member, target: &Partitions, spans: &[Span]) {
        let mut kept = 0;
        for (span, (_, partitions)) in spans.iter().zip(target) {
            let owners = self.owners.get_mut(span.start as usize..span.end as usize).unwrap_or_default();
            for partition in partitions {
                let owner = usize::try_from(*partition).ok().and_then(|it| owners.get_mut(it));
                if let Some(owner) = owner.filter(|it| **it == Owner::NOBODY) {
                    *owner = member.into();
                    kept += 1;
                }
            }
        }
        self.size[member] = kept;
        self.is_changed[member] = kept as usize != target.count();
    }

    fn count_free(&mut self) {
        for place in (0..id(self.spec.topics.len())).map(Place) {
            let free = self.owners(place).iter().filter(|it| **it == Owner::NOBODY).count();
            self.free[place] = id(free);
        }
    }

    fn range(&self, place: Place) -> Range<usize> {
        let span = self.spans[place];
        span.start as usize..span.end as usize
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
            let span = self.spans[*place];
            let owners = self.owners.get_mut(span.start as usize..span.end as usize).unwrap_or_default();
            let free = owners.iter_mut().filter(|it| **it == Owner::NOBODY);
            let given_to = |member: Member| self.is_changed[member] = true;
            filling.fill(subscriptions, free, self.free[*place], &mut self.size, given_to);
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

    fn targets(self, subscribed: &Table<Subscription, &[Place]>) -> Vec<Cow<'a, Partitions>> {
        let changed = self.of_changed();
        let (mut shapes, mut partitions) = (Recent::default(), Vec::new());
        let mut target = |member: Member, subscriber: &Subscriber<'a>| {
            let known = subscriber.target.filter(|_| !self.is_changed[member]);
            if let Some(known) = known {
                return Cow::Borrowed(known);
            }
            let numbers = changed.of(member);
            let new = || self.shape(numbers, subscribed[subscriber.subscription]);
            let shape = shapes.find(|it: &Shape| it.fits(numbers), new);
            partitions.clear();
            shape.write(numbers, &mut partitions);
            // It may have lost one and got it back.
            Partitions::known_or(subscriber.target, &mut shape.outline, &partitions)
        };
        (0..).map(Member).zip(self.spec.members.rows()).map(|it| target(it.0, it.1)).collect()
    }

    /// The numbers of the partitions of members that are changed. Gathered by member and not by topic, so that each
    /// target is written from front to end.
    fn of_changed(&self) -> Lists<Member, u32> {
        let sizes = self.size.rows().iter().zip(self.is_changed.rows());
        let lens = sizes.map(|(size, is_changed)| if *is_changed { *size } else { 0 });
        let owned = (0..).zip(&self.owners).filter_map(|(number, owner)| Some((owner.member()?, number)));
        Lists::sized(lens, 0, owned.filter(|it| self.is_changed[it.0]))
    }

    /// That of partitions of some of these topics. Numbers and topics ascend.
    fn shape(&self, mut numbers: &[u32], mut places: &[Place]) -> Shape {
        let (mut topics, mut outline, mut close) = (Vec::new(), Vec::new(), 0);
        while let Some(first) = numbers.first() {
            let is_before = |place: &Place| self.spans[*place].end <= *first;
            // Mostly the next topic, or one near it.
            let near = places.iter().take(NEAR).take_while(|it| is_before(it)).count();
            let at = if near < NEAR { near } else { places.partition_point(is_before) };
            places = places.get(at..).unwrap_or_default();
            let Some(place) = places.first() else { break };
            let span = self.spans[*place];
            let count = numbers.iter().take_while(|it| **it < span.end).count();
            numbers = numbers.get(count..).unwrap_or_default();
            close += id(count);
            topics.push((span, close));
            outline.push((self.spec.topics[*place].id, close));
        }
        Shape { topics, outline: outline.into() }
    }
}

/// The topics of a target, and how many partitions it has of each.
#[derive(Debug)]
struct Shape {
    /// And where the partitions of each end.
    topics: Vec<(Span, u32)>,
    outline: Outline,
}

impl Shape {
    /// Whether partitions of these numbers, which ascend, are of so many of these topics.
    fn fits(&self, numbers: &[u32]) -> bool {
        let mut start = 0;
        self.topics.last().map_or(0, |it| it.1) as usize == numbers.len()
            && self.topics.iter().all(|(span, close)| {
                let ends = (numbers.get(start), numbers.get(*close as usize - 1));
                start = *close as usize;
                matches!(ends, (Some(first), Some(last)) if span.start <= *first && *last < span.end)
            })
    }

    fn write(&self, numbers: &[u32], partitions: &mut Vec<i32>) {
        if self.topics.len() == numbers.len() {
            let of = |(number, (span, _)): (&u32, &(Span, u32))| (number - span.start).cast_signed();
            partitions.extend(numbers.iter().zip(&self.topics).map(of));
            return;
        }
        let mut rest = numbers;
        for (span, close) in &self.topics {
            let Some((own, others)) = rest.split_at_checked(*close as usize - partitions.len()) else {
                return;
            };
            partitions.extend(own.iter().map(|it| (it - span.start).cast_signed()));
            rest = others;
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
}

impl Filling {
    /// `free` are `count` partitions.
    fn fill<'o>(
        &mut self,
        subscriptions: &[Subscription],
        mut free: impl Iterator<Item = &'o mut Owner>,
        count: u32,
        size: &mut Table<Member, u32>,
        mut given_to: impl FnMut(Member),
    ) {
        let mut give = |member: Member| {
            free.next().into_iter().for_each(|it| *it = member.into());
            size[member] += 1;
        };
        if let [only] = subscriptions
            && self.queues[*only].has_least_loaded(count)
        {
            self.queues[*only].serve(count, |member| {
                give(member);
                given_to(member);
            });
            return;
        }
        let level = self.rounds(subscriptions, count, give);
        // Each has as many as the level or one more, and nobody in the queues has fewer.
        for (turn, subscription) in self.given.drain(..) {
            given_to(turn.member);
            self.queues[subscription].push(turn, size[turn.member], level);
        }
    }

    /// The level of the last round.
    fn rounds(
        &mut self,
        subscriptions: &[Subscription],
        mut count: u32,
        mut give: impl FnMut(Member),
    ) -> u32 {
        self.heads.clear();
        for subscription in subscriptions {
            let head = self.queues[*subscription].first().map(|it| Reverse((it, *subscription)));
            self.heads.extend(head);
        }
        let mut level = self.heads.peek().map_or(0, |it| it.0.0.size());
        loop {
            for (turn, _) in self.given.iter().take(count as usize) {
                give(turn.member);
            }
            count = count.saturating_sub(id(self.given.len()));
            while count > 0
                && let Some((turn, subscription)) = self.pull(level)
            {
                self.given.push((turn, subscription));
                give(turn.member);
                count -= 1;
            }
            if count == 0 || self.given.is_empty() {
                return level;
            }
            level += 1;
        }
    }

    /// The next who has no more than the level.
    fn pull(&mut self, level: u32) -> Option<(Turn, Subscription)> {
        let mut head = self.heads.peek_mut()?;
        let Reverse((load, subscription)) = *head;
        if load.size() > level {
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
}
