//! What becomes of a group when one of its members joins, heartbeats or says something else of itself:
//! regular expressions, the epoch, the targets, and what the member may hold now (12.7 to 12.11, 18.2).
//!
//! [`Update::decide`] only looks. What changes nothing makes no record and costs a look at the group, at
//! the member and at its settings.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::image::offered_assignors;
use super::partitions::Partitions;
use super::place::Place;
use super::reconcile::{MustRejoin, Reconciliation};
use super::resolve::{self, RegexUpdate, Regexes};
use super::soft::{ConsumerSoft, Refresh};
use super::subscription::{Subscriptions, Wanted};
use super::target::{Assignment, Goal};
use super::{ConsumerGroup, Current, MemberMetadata, MemberState, records, timers};
use crate::group::fail::Fail;
use crate::group::step::Step;
use crate::group::streams::hash::TopicHashes;
use crate::group::streams::image::ImageTopics;
use crate::machine::{Caller, Millis};
use catalog::Image;
use catalog::config::ConsumerGroupSettings;
use wire::consumer_offsets::Record;
use wire::{ErrorCode, Str};

/// A member's request with all that is decided from.
pub(super) struct Update<'a> {
    pub now: Millis,
    pub image: &'a Image,
    pub settings: &'a ConsumerGroupSettings,
    pub group_id: &'a Str,
    pub member_id: &'a Str,
    /// An empty one if the group does not exist yet.
    pub group: &'a ConsumerGroup,
    pub place: Place<'a>,
    /// The member as it will be; borrowed if it said nothing new.
    pub metadata: Cow<'a, MemberMetadata>,
    /// What the member says it owns.
    pub owned: Option<&'a Partitions>,
    pub soft: &'a ConsumerSoft,
    pub topics_version: i64,
    /// The group needs a new target whatever the member says.
    pub needs_target: bool,
    /// The group becomes a classic one after this, whose leader will assign (18.6).
    pub is_last: bool,
}

/// What an update leads to.
pub(super) struct Decision {
    pub records: Vec<Record>,
    /// The id of the static member that was replaced.
    replaced: Option<Str>,
    revocation: Revocation,
    /// A member of the classic protocol is one of this protocol from now on.
    leaves_classic: bool,
    /// The opposite.
    joins_classic: bool,
    refresh: Option<Refresh>,
    /// Expressions to resolve.
    resolve: Option<Vec<Str>>,
    pub is_new_assignment: bool,
    /// The target is that of an older epoch than the group's.
    pub is_behind: bool,
}

/// What becomes of the timer within which a member must give up partitions.
pub(super) enum Revocation {
    Unchanged,
    /// Give them up until then.
    Until(Millis),
    Over,
}

/// 12.9.
struct Bump {
    epoch: i32,
    refresh: Option<Refresh>,
}

impl<'a> Update<'a> {
    pub(super) fn decide(&self, hashes: &mut TopicHashes) -> Result<Decision, Fail> {
        let unknown = MemberMetadata::default();
        let old = self.place.metadata();
        let is_changed = old.is_none() || matches!(self.metadata, Cow::Owned(_));
        let regexes = self.regexes(old.unwrap_or(&unknown))?;
        let subscriptions = match is_changed {
            true => Cow::Owned(self.group.subscriptions.with(old, &self.metadata, &self.group.resolved)),
            false => Cow::Borrowed(&self.group.subscriptions),
        };

        let mut records = self.replacement();
        if is_changed {
            records.push(records::member(self.group_id, self.member_id, &self.metadata));
        }
        if let Some(gone) = &regexes.tombstone {
            records.push(records::regex_tombstone(self.group_id, gone));
        }
        let names_changed =
            old.map_or(&BTreeSet::new(), |it| &*it.topic_names) != &*self.metadata.topic_names;
        let is_due =
            self.needs_target || self.is_due(names_changed, &regexes, is_changed.then_some(&*subscriptions));
        let bump = self.bump(is_due, &subscriptions, hashes, &mut records);
        let current = self.place.current();
        let is_behind = self.is_last && self.group.assignment_epoch < bump.epoch;
        let next = match is_behind {
            // The members will be called to join, so nothing needs to be in order before.
            true => None,
            false => {
                let goal = self.goal(bump.epoch, &subscriptions, &mut records);
                self.reconcile(&current, &goal, names_changed || regexes.changed)?
            }
        };
        if let Some(next) = &next {
            records.push(records::current(self.group_id, self.member_id, next));
        }
        let is_new_assignment = next.as_ref().is_some_and(|it| it.assigned != current.assigned);
        Ok(Decision {
            records,
            replaced: match self.place {
                Place::Replaces(old, _) => Some(old.clone()),
                Place::New | Place::Known(_) => None,
            },
            revocation: self.revocation(next.as_ref(), old),
            leaves_classic: self.metadata.classic.is_none() && old.is_some_and(|it| it.classic.is_some()),
            joins_classic: self.metadata.classic.is_some() && old.is_some_and(|it| it.classic.is_none()),
            refresh: bump.refresh,
            resolve: regexes.resolve,
            is_new_assignment,
            is_behind,
        })
    }

    fn regexes(&self, old: &MemberMetadata) -> Result<RegexUpdate, Fail> {
        let regexes = Regexes {
            now: self.now,
            image: self.image,
            group: self.group,
            is_resolving: self.soft.is_resolving,
            topics_version: self.topics_version,
        };
        regexes.update(old, &self.metadata)
    }

    /// 12.5: a static member gives its place, with its target and what it holds, to one that has its
    /// instance id. All is written again under the new id, also if that is the same.
    fn replacement(&self) -> Vec<Record> {
        let Place::Replaces(old_id, old) = self.place else { return Vec::new() };
        let mut all = Vec::from(records::member_tombstones(self.group_id, old_id));
        all.push(records::member(self.group_id, self.member_id, &old.metadata));
        let target = self.group.target(old_id).map(Cow::Borrowed).unwrap_or_default();
        all.push(records::target(self.group_id, self.member_id, &target));
        all.push(records::current(self.group_id, self.member_id, &self.place.current()));
        all
    }

    /// 12.9 and 18.2 rule 8: whether the epoch grows whatever the topics are. `after` are the
    /// subscriptions if they may have changed. Since 4.4 another preferred assignor counts, but not if a
    /// classic member brings it about, by its join.
    fn is_due(&self, names_changed: bool, regexes: &RegexUpdate, after: Option<&Subscriptions>) -> bool {
        if self.metadata.classic.is_some() {
            return names_changed || regexes.changed;
        }
        let offered = offered_assignors(self.image);
        let assignor_changed =
            || after.is_some_and(|it| it.assignor(&offered) != self.group.subscriptions.assignor(&offered));
        names_changed || regexes.is_resolved || assignor_changed()
    }

    /// 12.9: the group epoch after this request.
    fn bump(
        &self,
        is_due: bool,
        subscriptions: &Subscriptions,
        hashes: &mut TopicHashes,
        records: &mut Vec<Record>,
    ) -> Bump {
        let epoch = self.group.epoch;
        if !is_due && !self.soft.refresh.is_due(self.now, epoch) {
            return Bump { epoch, refresh: None };
        }
        let hash = metadata_hash(hashes, self.image, subscriptions);
        let epoch = match is_due || hash != self.group.metadata_hash {
            true => epoch + 1,
            false => epoch,
        };
        if epoch != self.group.epoch {
            records.push(records::metadata(self.group_id, epoch, hash));
        }
        if self.group.has_partition_metadata {
            records.push(records::partition_metadata_tombstone(self.group_id));
        }
        Bump { epoch, refresh: Some(Refresh::after(self.now, epoch)) }
    }

    /// 12.10: the epoch and the partitions that the member goes to.
    fn goal(&self, epoch: i32, subscriptions: &Subscriptions, records: &mut Vec<Record>) -> Goal<'a> {
        let stored = self.group.assignment_epoch;
        let may_compute = self.group.may_compute(self.settings.assignment_interval_ms, self.now);
        if stored >= epoch || !may_compute {
            let target = self.group.target(self.place.known_id(self.member_id));
            return Goal { epoch: stored, partitions: target.map(Cow::Borrowed).unwrap_or_default() };
        }
        let assignment = Assignment {
            image: self.image,
            group: self.group,
            place: self.place,
            member_id: self.member_id,
            metadata: &self.metadata,
            subscriptions,
            assignor: subscriptions.assignor(&offered_assignors(self.image)),
        };
        let mut targets = assignment.compute();
        records.extend(assignment.records(self.group_id, &targets, epoch, self.now));
        let own = targets.binary_search_by_key(&self.member_id, |it| it.0);
        let own = own.map(|it| targets.swap_remove(it).1).unwrap_or_default();
        Goal { epoch, partitions: Cow::Owned(own.into_owned()) }
    }

    /// 12.11; `None` if nothing changes.
    fn reconcile(
        &self,
        current: &Current,
        goal: &Goal<'_>,
        subscription_changed: bool,
    ) -> Result<Option<Current>, Fail> {
        let wanted = Wanted::new(&self.metadata, &self.group.resolved);
        let subscribes = |topic| self.image.topic_by_id(topic).is_some_and(|it| wanted.contains(&it.name));
        let reconciliation = Reconciliation {
            current,
            target_epoch: goal.epoch,
            target: &goal.partitions,
            owned: self.owned,
            holders: &self.group.holders,
            subscribes: &subscribes,
            subscription_changed,
        };
        reconciliation.run().map_err(|MustRejoin| {
            let message = "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.";
            Fail::new(ErrorCode::FENCED_MEMBER_EPOCH, message)
        })
    }

    /// What [`Update::reconcile`] means for the rebalance timer; it is touched only with a record. Members
    /// of the classic protocol have a join and a sync timer instead.
    fn revocation(&self, next: Option<&Current>, old: Option<&MemberMetadata>) -> Revocation {
        if self.metadata.classic.is_some() {
            let was_classic = old.is_none_or(|it| it.classic.is_some());
            return if was_classic { Revocation::Unchanged } else { Revocation::Over };
        }
        match next.map(|it| it.state) {
            None => Revocation::Unchanged,
            Some(MemberState::UnrevokedPartitions) => {
                Revocation::Until(self.now + Millis::from(self.metadata.rebalance_timeout_ms))
            }
            Some(MemberState::Stable | MemberState::UnreleasedPartitions | MemberState::Unknown) => {
                Revocation::Over
            }
        }
    }
}

impl Decision {
    /// The request succeeded: record, keep what has no record, set the timers. Gives the group's and the
    /// member's id as they are kept.
    pub(super) fn carry_out(
        self,
        step: &mut Step<'_>,
        caller: &Caller,
        group_id: &Str,
        member_id: &Str,
        session_ms: i32,
    ) -> (Str, Str) {
        for record in self.records {
            step.record(record);
        }
        let group = step.hard.consumer(group_id).expect("the update's records made the group");
        let member = group.members.get_key_value(member_id);
        let (own_id, member) = member.expect("the update's records made the member");
        let (own_id, epoch) = (own_id.clone(), member.current.epoch);
        let group_id = timers::soft_group(step.soft, group_id);
        if let Some(old) = self.replaced.filter(|old| *old != own_id) {
            timers::cancel(step.soft, &group_id, &old);
        }
        if self.leaves_classic {
            timers::cancel_classic(step.soft, &group_id, &own_id);
        }
        if self.joins_classic
            && let Some(soft) = step.soft.consumer.get_mut(&group_id)
        {
            // When it heartbeat by the other protocol, and over which connection, says nothing any more.
            soft.pulses.remove(&own_id);
        }
        let session_until = step.now + Millis::from(session_ms);
        timers::set(step.soft, &group_id, &own_id, session_until, &self.revocation, epoch);
        if let Some(refresh) = self.refresh {
            step.soft.consumer.entry(group_id.clone()).or_default().refresh = refresh;
        }
        if let Some(regexes) = self.resolve {
            resolve::start(step, &group_id, caller, regexes);
        }
        (group_id, own_id)
    }
}

/// 11.6, over the subscribed topics that exist.
pub(super) fn metadata_hash(hashes: &mut TopicHashes, image: &Image, subscriptions: &Subscriptions) -> i64 {
    hashes.group_hash(subscriptions.topics(), &ImageTopics(image))
}
