//! Assignor `range` (14.4): of each topic every subscriber gets a contiguous piece, and the same member
//! the same piece of topics with the same number of partitions, so that they can be joined.
//!
//! It is not sticky, except that static members stand in the order of their instance ids, which do not
//! change with a restart.
//!
//! Cost: O(members × log(members) + topics of the subscriptions + partitions of the targets, and topics of the targets
//! where they have other ones than those before). A piece follows from the number of a member among the subscribers of
//! a topic alone, and that is the same for all topics of a kind; how long the pieces are is the same for most members
//! that follow each other. Where topics have fewer partitions than subscribers, those who get nothing do not look at
//! them.

use std::borrow::Cow;

use super::partition_set::Outline;
use super::partitions::{Kind, Kinds, PartitionSpec, Place, Subscription};
use super::table::Table;
use super::{Member, Partitions, id};

pub(super) fn assign<'a>(spec: &PartitionSpec<'a>) -> Vec<Cow<'a, Partitions>> {
    let (subscribed, subscribers) = (spec.subscribed(), spec.subscribers());
    let kinds = Kinds::new(spec, &subscribed, &subscribers);
    let mut lines: Table<Kind, Line> = Table::new(
        kinds
            .subscriptions
            .rows()
            .iter()
            .map(|it| Line::new(it.iter().map(|one| subscribers[*one]).sum()))
            .collect(),
    );
    for (place, topic) in (0..).map(Place).zip(spec.topics.rows()) {
        lines[kinds.of[place]].add(place, topic.partitions);
    }
    let mut next: Table<Subscription, Next> = Table::filled(subscribed.len(), Next::default());
    for (kind, subscriptions) in (0..).map(Kind).zip(kinds.subscriptions.rows()) {
        subscriptions.iter().for_each(|it| next[*it].kinds.push((kind, 0)));
    }
    let mut targets: Table<Member, _> = Table::filled(spec.members.len(), Cow::Owned(Partitions::new()));
    let mut partitions = Vec::new();
    for member in ranked(spec) {
        let subscriber = &spec.members[member];
        let next = &mut next[subscriber.subscription];
        next.advance(&mut lines, spec);
        partitions.clear();
        next.write(&lines, &mut partitions);
        targets[member] = Partitions::known_or(subscriber.target, &mut next.outline, &partitions);
    }
    targets.into_rows()
}

/// Static members first. Java compares UTF-16 units; for what ids are made of that is the order of bytes.
fn ranked(spec: &PartitionSpec<'_>) -> Vec<Member> {
    let mut members: Vec<Member> = (0..id(spec.members.len())).map(Member).collect();
    members.sort_by_key(|it| {
        let member = &spec.members[*it];
        (member.instance.is_none(), member.instance, member.id)
    });
    members
}

/// What the next member of a subscription gets.
#[derive(Debug, Clone, Default)]
struct Next {
    /// Those that still have something to give, and the shape that they had for the member before.
    kinds: Vec<(Kind, u32)>,
    /// Of the topics of these.
    shares: Vec<(Kind, Share)>,
    outline: Outline,
}

impl Next {
    fn advance(&mut self, lines: &mut Table<Kind, Line>, spec: &PartitionSpec<'_>) {
        let mut is_same = true;
        self.kinds.retain_mut(|(kind, shape)| {
            let line = &mut lines[*kind];
            line.advance();
            is_same &= line.shape == *shape;
            *shape = line.shape;
            !line.shares.is_empty()
        });
        if !is_same {
            self.reshape(lines, spec);
        }
    }

    fn reshape(&mut self, lines: &Table<Kind, Line>, spec: &PartitionSpec<'_>) {
        self.shares.clear();
        for (kind, _) in &self.kinds {
            self.shares.extend(lines[*kind].shares.iter().map(|it| (*kind, *it)));
        }
        // Made of sorted stretches.
        self.shares.sort_by_key(|it| it.1.place);
        let mut end = 0;
        let close = |(kind, share): &(Kind, Share)| {
            end += share.len(lines[*kind].position);
            (spec.topics[share.place].id, end)
        };
        self.outline = self.shares.iter().map(close).collect();
    }

    fn write(&self, lines: &Table<Kind, Line>, partitions: &mut Vec<i32>) {
        let is_single = self.outline.last().is_none_or(|it| it.1 as usize == self.outline.len());
        if let [(kind, _)] = *self.kinds
            && is_single
        {
            // Most of what a large group gets: nothing in here differs but the shares.
            let position = lines[kind].position;
            partitions.extend(self.shares.iter().map(|it| it.1.start(position).cast_signed()));
            return;
        }
        let start = |it: &(Kind, Share)| it.1.start(lines[it.0].position).cast_signed();
        let mut end = 0;
        for (share, (_, close)) in self.shares.iter().zip(&*self.outline) {
            let start = start(share);
            partitions.extend(start..start + (close - end).cast_signed());
            end = *close;
        }
    }
}

/// The topics of a kind, and which of their subscribers has its turn.
#[derive(Debug)]
struct Line {
    subscribers: u32,
    /// Its number among them; what stands here before the first one means nothing.
    position: u32,
    /// Topics that have something left, ascending.
    shares: Vec<Share>,
    /// Another one than that of the subscriber before if a topic has more or fewer partitions for this one.
    shape: u32,
    /// The first subscriber that has another shape.
    changes_at: u32,
}

/// What a topic has for each subscriber, and how many of these get one more.
#[derive(Debug, Clone, Copy)]
struct Share {
    place: Place,
    each: u32,
    extras: u32,
}

impl Share {
    fn start(self, position: u32) -> u32 {
        position * self.each + position.min(self.extras)
    }

    fn len(self, position: u32) -> u32 {
        self.each + u32::from(position < self.extras)
    }
}

impl Line {
    fn new(subscribers: u32) -> Self {
        Self { subscribers, position: u32::MAX, shares: Vec::new(), shape: 0, changes_at: 0 }
    }

    fn add(&mut self, place: Place, partitions: u32) {
        if let (Some(each), Some(extras)) =
            (partitions.checked_div(self.subscribers), partitions.checked_rem(self.subscribers))
        {
            self.shares.push(Share { place, each, extras });
        }
    }

    /// To the next subscriber.
    fn advance(&mut self) {
        let position = self.position.wrapping_add(1);
        self.position = position;
        if position >= self.changes_at {
            // Costs no more than what the one before got.
            self.shares.retain(|it| it.len(position) > 0);
            let changes = self.shares.iter().map(|it| it.extras).filter(|it| *it > position);
            self.changes_at = changes.min().unwrap_or(u32::MAX);
            self.shape += 1;
        }
    }
}
