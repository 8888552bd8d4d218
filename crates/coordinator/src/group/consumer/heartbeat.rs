//! ConsumerGroupHeartbeat in the coordinator (12): a member joins, rejoins or keeps its place.
//!
//! In order, the first that fails answers:
//!  1. the form of the request (`request.rs`, 12.1); epochs below 0 leave (`leave.rs`)
//!  2. the group: a join may create it or take the place of a classic group without members, else
//!     GROUP_ID_NOT_FOUND (12.3). Classic groups with members are not taken over yet (18.5), so a
//!     join of one gets it too
//!  3. a newcomer fits into `group.consumer.max.size`, else GROUP_MAX_SIZE_REACHED (12.4)
//!  4. the member is known or joins, else UNKNOWN_MEMBER_ID; its instance id is its own, else
//!     FENCED_INSTANCE_ID, and free, else UNRELEASED_INSTANCE_ID (12.5)
//!  5. its epoch is the one that it has, or the one before with nothing but its own partitions, else
//!     FENCED_MEMBER_EPOCH (12.6)
//!  6. a new regular expression is one, else INVALID_REGULAR_EXPRESSION (13.2)
//!  7. a member whose stored state is of a newer release owns nothing, else FENCED_MEMBER_EPOCH
//!
//! [`Heartbeat::decide`] only looks. A heartbeat that changes nothing makes no record and costs a look
//! at the group, at the member and at its settings.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::image::{offered_assignors, settings};
use super::partitions::Partitions;
use super::place::Place;
use super::reconcile::{MustRejoin, Reconciliation};
use super::request::{self, JOIN};
use super::resolve::{self, RegexUpdate, Regexes};
use super::soft::{ConsumerSoft, Refresh};
use super::subscription::{Subscriptions, Wanted};
use super::target::{Assignment, Goal};
use super::{ConsumerGroup, Current, MemberMetadata, MemberState, leave, records, timers};
use crate::group::classic::{self, Live};
use crate::group::fail::Fail;
use crate::group::soft::Soft;
use crate::group::state::{Group, Hard};
use crate::group::step::Step;
use crate::group::streams::hash::TopicHashes;
use crate::group::streams::image::ImageTopics;
use crate::machine::{Caller, Millis};
use catalog::Image;
use catalog::config::ConsumerGroupSettings;
use wire::consumer_group_heartbeat::response::{Assignment as AssignmentField, TopicPartitions};
use wire::consumer_offsets::Record;
use wire::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ErrorCode, Str};

/// See the module's list of checks. What fails has changed nothing.
pub fn heartbeat(
    step: &mut Step<'_>,
    caller: &Caller,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<ConsumerGroupHeartbeatResponse, Fail> {
    request::check(step.image, caller.api_version, request)?;
    if request.member_epoch < JOIN {
        return leave::leave(step, request);
    }
    let (no_group, no_soft) = (ConsumerGroup::default(), ConsumerSoft::default());
    let found = match request.member_epoch {
        JOIN => joinable_group(&step.hard, step.soft.classic.get(&request.group_id), &request.group_id)?,
        _ => Some(existing_group(&step.hard, &request.group_id)?),
    };
    let replaces_classic = found.is_none() && step.hard.group(&request.group_id).is_some();
    let group = found.unwrap_or(&no_group);
    let settings = settings(step.image, &request.group_id);
    check_size(group, settings, request)?;
    let member_id = match request.member_id.is_empty() {
        true => new_id(step.entropy),
        false => request.member_id.clone(),
    };
    let owned = request::owned(request);
    let place = Place::find(group, &member_id, request, owned.as_ref())?;
    let Soft { consumer, topic_hashes, topics_version, .. } = &mut *step.soft;
    let heartbeat = Heartbeat {
        now: step.now,
        image: step.image,
        settings,
        caller,
        request,
        member_id: &member_id,
        group,
        place,
        owned: owned.as_ref(),
        soft: consumer.get(&request.group_id).unwrap_or(&no_soft),
        topics_version: *topics_version,
    };
    let decision = heartbeat.decide(topic_hashes)?;
    if replaces_classic {
        step.record(classic::tombstone(&request.group_id));
        classic::forget(step, &request.group_id);
    }
    Ok(conclude(step, caller, request, &member_id, decision))
}

/// An id as Kafka makes them: the text of a random uuid that looks like no option of a command line.
fn new_id(entropy: &mut crate::machine::Entropy) -> Str {
    loop {
        let text = entropy.uuid().to_string();
        if !text.starts_with('-') {
            return Str::from(text);
        }
    }
}

/// 12.3: `None` if the join makes the group. It may take the place of a classic group without members.
fn joinable_group<'h>(
    hard: &'h Hard,
    live: Option<&Live>,
    group_id: &Str,
) -> Result<Option<&'h ConsumerGroup>, Fail> {
    match hard.group(group_id) {
        Some(group @ (Group::Simple | Group::Classic(_))) if group.is_empty(live) => Ok(None),
        Some(Group::Simple | Group::Classic(_)) => {
            let message = format!(
                "Cannot upgrade classic group {group_id} to consumer group because online upgrade is not supported."
            );
            Err(Fail::new(ErrorCode::GROUP_ID_NOT_FOUND, message))
        }
        Some(Group::Consumer(_) | Group::Streams(_)) => existing_group(hard, group_id).map(Some),
        None => Ok(None),
    }
}

/// 12.3 and 16.1.
pub(super) fn existing_group<'h>(hard: &'h Hard, group_id: &Str) -> Result<&'h ConsumerGroup, Fail> {
    let message = match hard.group(group_id) {
        Some(Group::Consumer(group)) => return Ok(group),
        Some(Group::Simple | Group::Classic(_) | Group::Streams(_)) => {
            format!("Group {group_id} is not a consumer group.")
        }
        None => format!("Consumer group {group_id} not found."),
    };
    Err(Fail::new(ErrorCode::GROUP_ID_NOT_FOUND, message))
}

/// 12.4. A static member that is known may come back into a full group.
fn check_size(
    group: &ConsumerGroup,
    settings: &ConsumerGroupSettings,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<(), Fail> {
    let size_max = usize::try_from(settings.max_size).unwrap_or(0);
    let is_known = group.member(&request.member_id).is_some()
        || request.instance_id.as_ref().is_some_and(|it| group.static_member(it).is_some());
    if is_known || group.members().len() < size_max {
        return Ok(());
    }
    let message = format!("The consumer group has reached its maximum capacity of {size_max} members.");
    Err(Fail::new(ErrorCode::GROUP_MAX_SIZE_REACHED, message))
}

/// The request succeeded: record, keep what has no record, set the timers, answer.
fn conclude(
    step: &mut Step<'_>,
    caller: &Caller,
    request: &ConsumerGroupHeartbeatRequest,
    member_id: &Str,
    decision: Decision,
) -> ConsumerGroupHeartbeatResponse {
    for record in decision.records {
        step.record(record);
    }
    let settings = settings(step.image, &request.group_id);
    let group = step.hard.consumer(&request.group_id).expect("the heartbeat's records made the group");
    let member = group.members.get_key_value(member_id);
    let (own_id, member) = member.expect("the heartbeat's records made the member");
    let group_id = timers::soft_group(step.soft, &request.group_id);
    if let Some(old) = decision.replaced.filter(|old| old != own_id) {
        timers::cancel(step.soft, &group_id, &old);
    }
    let session_until = step.now + Millis::from(settings.session_timeout_ms);
    timers::set(step.soft, &group_id, own_id, session_until, &decision.revocation, member.current.epoch);
    if let Some(refresh) = decision.refresh {
        step.soft.consumer.entry(group_id.clone()).or_default().refresh = refresh;
    }
    let assignment = decision.tells_assignment.then(|| AssignmentField {
        topic_partitions: member
            .current
            .assigned
            .topics()
            .map(|(topic_id, partitions)| TopicPartitions {
                topic_id,
                partitions: partitions.keys().copied().collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    });
    let response = ConsumerGroupHeartbeatResponse {
        member_id: Some(member_id.clone()),
        member_epoch: member.current.epoch,
        heartbeat_interval_ms: settings.heartbeat_interval_ms,
        assignment,
        ..Default::default()
    };
    if let Some(regexes) = decision.resolve {
        resolve::start(step, &group_id, caller, regexes);
    }
    response
}

/// A heartbeat with all that is decided from.
struct Heartbeat<'a> {
    now: Millis,
    image: &'a Image,
    settings: &'a ConsumerGroupSettings,
    caller: &'a Caller,
    request: &'a ConsumerGroupHeartbeatRequest,
    member_id: &'a Str,
    /// An empty one if the group does not exist yet.
    group: &'a ConsumerGroup,
    place: Place<'a>,
    /// What the member says it owns.
    owned: Option<&'a Partitions>,
    soft: &'a ConsumerSoft,
    topics_version: i64,
}

/// What a heartbeat leads to.
struct Decision {
    records: Vec<Record>,
    /// The id of the static member that was replaced.
    replaced: Option<Str>,
    revocation: Revocation,
    refresh: Option<Refresh>,
    /// Expressions to resolve.
    resolve: Option<Vec<Str>>,
    tells_assignment: bool,
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

impl<'a> Heartbeat<'a> {
    fn decide(&self, hashes: &mut TopicHashes) -> Result<Decision, Fail> {
        let unknown = MemberMetadata::default();
        let old = self.place.metadata();
        let metadata = self.metadata(old.unwrap_or(&unknown));
        let is_changed = old.is_none() || matches!(metadata, Cow::Owned(_));
        let regexes = self.regexes(old.unwrap_or(&unknown), &metadata)?;
        let subscriptions = match is_changed {
            true => Cow::Owned(self.group.subscriptions.with(old, &metadata, &self.group.resolved)),
            false => Cow::Borrowed(&self.group.subscriptions),
        };

        let mut records = self.replacement();
        if is_changed {
            records.push(records::member(self.group_id(), self.member_id, &metadata));
        }
        if let Some(gone) = &regexes.tombstone {
            records.push(records::regex_tombstone(self.group_id(), gone));
        }
        let names_changed = old.map_or(&BTreeSet::new(), |it| &it.topic_names) != &metadata.topic_names;
        let is_due =
            names_changed || regexes.is_resolved || (is_changed && self.assignor_changes(&subscriptions));
        let bump = self.bump(is_due, &subscriptions, hashes, &mut records);
        let goal = self.goal(bump.epoch, &metadata, &subscriptions, &mut records);
        let current = self.place.current();
        let next = self.reconcile(&metadata, &current, &goal, names_changed || regexes.changed)?;
        if let Some(next) = &next {
            records.push(records::current(self.group_id(), self.member_id, next));
        }
        let is_new_assignment = next.as_ref().is_some_and(|it| it.assigned != current.assigned);
        Ok(Decision {
            records,
            replaced: match self.place {
                Place::Replaces(old, _) => Some(old.clone()),
                Place::New | Place::Known(_) => None,
            },
            revocation: self.revocation(next.as_ref(), &metadata),
            refresh: bump.refresh,
            resolve: regexes.resolve,
            tells_assignment: self.request.member_epoch == JOIN
                || request::is_full(self.request)
                || is_new_assignment,
        })
    }

    fn group_id(&self) -> &'a Str {
        &self.request.group_id
    }

    /// 12.7; borrowed if nothing changed. A null field of the request leaves what is known. A member of
    /// the classic protocol becomes one of this protocol.
    fn metadata<'m>(&self, known: &'m MemberMetadata) -> Cow<'m, MemberMetadata> {
        let request = self.request;
        let keeps = |new: &Option<Str>, old: &Option<Str>| new.is_none() || new == old;
        let names = request.subscribed_topic_names.as_ref();
        let names: Option<BTreeSet<Str>> = names.map(|it| it.iter().cloned().collect());
        let is_same = keeps(&request.instance_id, &known.instance_id)
            && keeps(&request.rack_id, &known.rack_id)
            && keeps(&request.server_assignor, &known.server_assignor)
            && names.as_ref().is_none_or(|it| *it == known.topic_names)
            && request.subscribed_topic_regex.as_ref().is_none_or(|it| *it == known.topic_regex)
            && [known.rebalance_timeout_ms, -1].contains(&request.rebalance_timeout_ms)
            && known.client_id == self.caller.client_id
            && known.client_host == self.caller.client_host
            && known.classic.is_none();
        if is_same {
            return Cow::Borrowed(known);
        }
        let or_known = |new: &Option<Str>, old: &Option<Str>| new.as_ref().or(old.as_ref()).cloned();
        let timeout = request.rebalance_timeout_ms;
        Cow::Owned(MemberMetadata {
            instance_id: or_known(&request.instance_id, &known.instance_id),
            rack_id: or_known(&request.rack_id, &known.rack_id),
            client_id: self.caller.client_id.clone(),
            client_host: self.caller.client_host.clone(),
            rebalance_timeout_ms: if timeout == -1 { known.rebalance_timeout_ms } else { timeout },
            topic_names: names.unwrap_or_else(|| known.topic_names.clone()),
            topic_regex: request.subscribed_topic_regex.clone().unwrap_or_else(|| known.topic_regex.clone()),
            server_assignor: or_known(&request.server_assignor, &known.server_assignor),
            classic: None,
        })
    }

    fn regexes(&self, old: &MemberMetadata, new: &MemberMetadata) -> Result<RegexUpdate, Fail> {
        let regexes = Regexes {
            now: self.now,
            image: self.image,
            group: self.group,
            is_resolving: self.soft.is_resolving,
            topics_version: self.topics_version,
        };
        regexes.update(old, new)
    }

    /// 12.5: a static member gives its place, with its target and what it holds, to one that has its
    /// instance id. All is written again under the new id, also if that is the same.
    fn replacement(&self) -> Vec<Record> {
        let Place::Replaces(old_id, old) = self.place else { return Vec::new() };
        let mut all = Vec::from(records::member_tombstones(self.group_id(), old_id));
        all.push(records::member(self.group_id(), self.member_id, &old.metadata));
        let target = self.group.target(old_id).map(Cow::Borrowed).unwrap_or_default();
        all.push(records::target(self.group_id(), self.member_id, &target));
        all.push(records::current(self.group_id(), self.member_id, &self.place.current()));
        all
    }

    /// Since 4.4 another preferred assignor raises the epoch (12.9).
    fn assignor_changes(&self, after: &Subscriptions) -> bool {
        let offered = offered_assignors(self.image);
        self.group.subscriptions.assignor(&offered) != after.assignor(&offered)
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
            records.push(records::metadata(self.group_id(), epoch, hash));
        }
        if self.group.has_partition_metadata {
            records.push(records::partition_metadata_tombstone(self.group_id()));
        }
        Bump { epoch, refresh: Some(Refresh::after(self.now, epoch)) }
    }

    /// 12.10: the epoch and the partitions that the member goes to.
    fn goal(
        &self,
        epoch: i32,
        metadata: &MemberMetadata,
        subscriptions: &Subscriptions,
        records: &mut Vec<Record>,
    ) -> Goal<'a> {
        let stored = self.group.assignment_epoch;
        let timestamp = self.group.assignment_timestamp;
        let interval = Millis::from(self.settings.assignment_interval_ms);
        let must_wait = timestamp != 0 && interval != 0 && self.now < timestamp + interval;
        if stored >= epoch || must_wait {
            let target = self.group.target(self.place.known_id(self.member_id));
            return Goal { epoch: stored, partitions: target.map(Cow::Borrowed).unwrap_or_default() };
        }
        let assignment = Assignment {
            image: self.image,
            group: self.group,
            place: self.place,
            member_id: self.member_id,
            metadata,
            subscriptions,
            assignor: subscriptions.assignor(&offered_assignors(self.image)),
        };
        let mut targets = assignment.compute();
        records.extend(assignment.records(self.group_id(), &targets, epoch, self.now));
        let own = targets.remove(self.member_id).unwrap_or_default();
        Goal { epoch, partitions: Cow::Owned(own.into_owned()) }
    }

    /// 12.11; `None` if nothing changes.
    fn reconcile(
        &self,
        metadata: &MemberMetadata,
        current: &Current,
        goal: &Goal<'_>,
        subscription_changed: bool,
    ) -> Result<Option<Current>, Fail> {
        let wanted = Wanted::new(metadata, &self.group.resolved);
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

    /// What [`Heartbeat::reconcile`] means for the rebalance timer; it is touched only with a record.
    fn revocation(&self, next: Option<&Current>, metadata: &MemberMetadata) -> Revocation {
        match next.map(|it| it.state) {
            None => Revocation::Unchanged,
            Some(MemberState::UnrevokedPartitions) => {
                Revocation::Until(self.now + Millis::from(metadata.rebalance_timeout_ms))
            }
            Some(MemberState::Stable | MemberState::UnreleasedPartitions | MemberState::Unknown) => {
                Revocation::Over
            }
        }
    }
}

/// 11.6, over the subscribed topics that exist.
pub(super) fn metadata_hash(hashes: &mut TopicHashes, image: &Image, subscriptions: &Subscriptions) -> i64 {
    hashes.group_hash(subscriptions.topics(), &ImageTopics(image))
}
