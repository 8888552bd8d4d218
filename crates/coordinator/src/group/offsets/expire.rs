//! Offsets that nobody used for the time of retention, and groups that have neither members nor offsets
//! (9.7, O-8, O-9; KIP-211, KIP-496).
//!
//! Every `offsets.retention.check.interval.ms`, first one interval after the load, a sweep looks at all groups of
//! the shard, a bounded piece per step. Which offsets of a group expire:
//!
//! | group | retention counts from | but not topics that |
//! |---|---|---|
//! | classic, without members | the moment it lost them; in records of old brokers the commit | |
//! | classic, stable, of consumers | the commit | its members subscribe to |
//! | classic, any other with members | never | |
//! | simple | the commit | |
//! | consumer, streams | the commit | its members subscribe to |
//!
//! An offset that was committed with a retention of its own (versions 2 to 4) expires when that is over instead.
//! One that is pending in a transaction never expires, and its group stays.
//!
//! A group whose offsets are all gone goes with all of its records if it is without members. Groups of streams
//! keep the description of their topology in their own records, so they need not wait for anybody to forget it
//! (KIP-1331).

use std::ops::Bound::{Excluded, Included, Unbounded};

use crate::group::delete;
use crate::group::history::{Happened, Kind};
use crate::group::offsets::Committed;
use crate::group::soft::TimerKey;
use crate::group::state::Group;
use crate::group::step::Step;
use crate::machine::Millis;
use wire::{Str, Uuid};

#[cfg(test)]
#[path = "expire_tests.rs"]
mod tests;

/// Groups and offsets that one step looks at.
const LOOKS_MAX: usize = 10_000;
/// Offsets that one step lets go.
const EXPIRED_MAX: usize = 1_000;
/// Expired offsets that an event names.
const NAMED: usize = 3;

/// From when the retention of a group's offsets counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// They are kept.
    Unlimited,
    SinceCommit,
    Since(Millis),
}

/// Where a sweep goes on: behind this offset of the group, or behind the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    group: Str,
    offset: Option<(Str, i32)>,
}

/// What is left of a step's share.
struct Budget {
    looks: usize,
    expired: usize,
}

impl Budget {
    fn look(&mut self) {
        self.looks = self.looks.saturating_sub(1);
    }

    fn is_spent(&self) -> bool {
        self.looks == 0 || self.expired == 0
    }
}

/// The first sweep comes after a whole interval.
pub(in crate::group) fn loaded(step: &mut Step<'_>) {
    step.soft.timers.set(TimerKey::Expiry, next_sweep(step));
}

fn next_sweep(step: &Step<'_>) -> Millis {
    step.now.saturating_add(step.image.broker().offsets_retention_check_interval_ms.max(1))
}

/// One piece of a sweep; the next one comes in a step of its own.
pub(in crate::group) fn sweep(step: &mut Step<'_>) {
    let mut budget = Budget { looks: LOOKS_MAX, expired: EXPIRED_MAX };
    let mut place = step.soft.sweep.take();
    loop {
        if budget.is_spent() {
            step.soft.timers.set(TimerKey::Expiry, step.now + 1);
            step.soft.sweep = place;
            return;
        }
        let (group, from) = match place {
            Some(Place { group, offset: Some(offset) }) => (group, Some(offset)),
            at => match step.hard.next_group(at.as_ref().map(|it| &it.group)) {
                Some(next) => (next.clone(), None),
                None => break,
            },
        };
        budget.look();
        let (expired, stopped) = look(step, &group, from, &mut budget);
        forget(step, &group, &expired);
        if stopped.is_none() {
            remove_if_unused(step, &group);
        }
        place = Some(Place { group, offset: stopped });
    }
    step.soft.timers.set(TimerKey::Expiry, next_sweep(step));
}

/// A partition of a topic.
type Partition = (Str, i32);

/// The group's offsets behind `from` that expire, and where the budget ended, if it did before the offsets.
fn look(
    step: &Step<'_>,
    id: &Str,
    from: Option<Partition>,
    budget: &mut Budget,
) -> (Vec<Partition>, Option<Partition>) {
    let mut expired = Vec::new();
    let hard = &*step.hard;
    let (Some(group), Some(offsets)) = (hard.group(id), hard.offsets().of_group(id)) else {
        return (expired, None);
    };
    let live = step.soft.classic.get(id);
    let retention = match group {
        Group::Simple | Group::Classic(_) => live.map_or(Retention::SinceCommit, |it| it.retention()),
        Group::Consumer(_) | Group::Streams(_) => Retention::SinceCommit,
    };
    let first_topic = from.as_ref().map_or(Unbounded, |(topic, _)| Included(topic));
    for (topic, partitions) in offsets.range::<Str, _>((first_topic, Unbounded)) {
        let is_read = group.subscribes_to(topic, live);
        let behind = from.as_ref().filter(|(it, _)| it == topic).map_or(Unbounded, |(_, it)| Excluded(*it));
        for (partition, it) in partitions.range((behind, Unbounded)) {
            let is_pending = || hard.offsets().is_pending(id, topic, *partition);
            let is_old = !is_read && is_old(step, it, retention) && !is_pending();
            if is_old || is_of_deleted_topic(step, it) {
                expired.push((topic.clone(), *partition));
                budget.expired -= 1;
            }
            budget.look();
            if budget.is_spent() {
                return (expired, Some((topic.clone(), *partition)));
            }
        }
    }
    (expired, None)
}

/// 9.7 rule 3.
fn is_old(step: &Step<'_>, committed: &Committed, retention: Retention) -> bool {
    let longest = Millis::from(step.image.broker().offsets_retention_minutes).saturating_mul(60_000);
    let since = match retention {
        Retention::Unlimited => return false,
        Retention::SinceCommit => committed.commit_timestamp,
        Retention::Since(time) => time,
    };
    match committed.expire_timestamp {
        -1 => step.now - since >= longest,
        expires => step.now >= expires,
    }
}

/// Its topic went and the broker ended before that was known here (9.8). Commits since the load are left alone:
/// their topic may be newer than the image of this step.
fn is_of_deleted_topic(step: &Step<'_>, committed: &Committed) -> bool {
    committed.topic_id != Uuid::ZERO
        && committed.commit_timestamp < step.soft.loaded_at
        && step.image.topic_by_id(committed.topic_id).is_none()
}

fn forget(step: &mut Step<'_>, group: &Str, expired: &[Partition]) {
    if expired.is_empty() {
        return;
    }
    for (topic, partition) in expired {
        step.record(super::tombstone(group, topic, *partition));
    }
    let named: Vec<_> = expired.iter().take(NAMED).map(|(topic, it)| format!("{topic}-{it}")).collect();
    let more = expired.len() - named.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let detail = format!("{}{rest}", named.join(", "));
    step.telling().tell(group, Happened::new(Kind::OffsetsExpired).detail(&detail));
}

/// 9.7 rule 4, O-9.
fn remove_if_unused(step: &mut Step<'_>, id: &Str) {
    let live = step.soft.classic.get(id);
    let is_empty = step.hard.group(id).is_some_and(|it| it.is_empty(live));
    let offsets = step.hard.offsets();
    if is_empty && offsets.of_group(id).is_none() && !offsets.has_pending(id) {
        delete::remove(step, id);
    }
}
