//! Assignor `range` (14.4): of each topic every subscriber gets a contiguous piece, and the same member
//! the same piece of topics with the same number of partitions, so that they can be joined.
//!
//! It is not sticky, except that static members stand in the order of their instance ids, which do not
//! change with a restart.
//!
//! Cost: O(members × log(members) + topics of the subscriptions + topics of the targets). A piece follows from the
//! number of a member among the subscribers of a topic alone, and that is the same for all topics of a kind. Where
//! topics have fewer partitions than subscribers, those who get nothing do not look at them.

use std::borrow::Cow;

use super::partitions::{Kind, Kinds, PartitionSpec, Piece, Place, Subscription};
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
    // The kinds of each subscription that still have something to give.
    let mut open: Table<Subscription, Vec<Kind>> = Table::filled(subscribed.len(), Vec::new());
    for (kind, subscriptions) in (0..).map(Kind).zip(kinds.subscriptions.rows()) {
        subscriptions.iter().for_each(|it| open[*it].push(kind));
    }
    let mut targets: Table<Member, _> = Table::filled(spec.members.len(), Cow::Owned(Partitions::new()));
    let mut pieces = Vec::new();
    for member in ranked(spec) {
        let subscriber = &spec.members[member];
        pieces.clear();
        open[subscriber.subscription].retain(|kind| lines[*kind].next(&mut pieces));
        if open[subscriber.subscription].len() > 1 {
            // Made of sorted stretches.
            pieces.sort();
        }
        let target = match spec.known(subscriber, &pieces) {
            Some(known) => Cow::Borrowed(known),
            None => Cow::Owned(spec.partitions(&pieces)),
        };
        targets[member] = target;
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

/// The topics of a kind, and how many of their subscribers had their turn.
struct Line {
    subscribers: u32,
    served: u32,
    /// Topics that have something left, ascending.
    shares: Vec<Share>,
    /// So many are served when the next topic has nothing left.
    runs_out_at: u32,
}

/// What a topic has for each subscriber, and how many of these get one more.
#[derive(Clone, Copy)]
struct Share {
    place: Place,
    each: u32,
    extras: u32,
}

impl Share {
    fn has_some_for(self, position: u32) -> bool {
        self.each > 0 || position < self.extras
    }

    fn piece(self, position: u32) -> Piece {
        let start = position * self.each + position.min(self.extras);
        Piece { place: self.place, start, end: start + self.each + u32::from(position < self.extras) }
    }
}

impl Line {
    fn new(subscribers: u32) -> Self {
        Self { subscribers, served: 0, shares: Vec::new(), runs_out_at: 0 }
    }

    fn add(&mut self, place: Place, partitions: u32) {
        if let (Some(each), Some(extras)) =
            (partitions.checked_div(self.subscribers), partitions.checked_rem(self.subscribers))
        {
            self.shares.push(Share { place, each, extras });
        }
    }

    /// What the next subscriber gets; false if there is nothing left for it and those after it.
    fn next(&mut self, pieces: &mut Vec<Piece>) -> bool {
        let position = self.served;
        self.served += 1;
        if position >= self.runs_out_at {
            // Costs no more than what the one before got.
            self.shares.retain(|it| it.has_some_for(position));
            let ends = self.shares.iter().filter(|it| it.each == 0).map(|it| it.extras);
            self.runs_out_at = ends.min().unwrap_or(u32::MAX);
        }
        pieces.extend(self.shares.iter().map(|it| it.piece(position)));
        !self.shares.is_empty()
    }
}
