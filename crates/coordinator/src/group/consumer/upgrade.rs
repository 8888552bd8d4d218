//! A classic group of consumers becomes a consumer group, because a member of the consumer protocol joins
//! it (18.5). Its members go on as they are, with their generation as epoch, until they join again.
//!
//! Checks, in order; each refuses with GROUP_ID_NOT_FOUND and says why:
//! 1. `group.consumer.migration.policy` allows it
//! 2. the members are consumers
//! 3. they fit into `group.consumer.max.size`
//! 4. what they say and were assigned can be read, and no assignor of theirs keeps data in it
//!
//! [`Upgrade::of`] only looks, and [`Upgrade::carry_out`] can't fail. Kafka answers the joins and syncs
//! that wait before it knows whether the joining member is let in; here they wait on if it is not.
//!
//! A member that did not get its last assignment yet goes on with what it has. Kafka takes the assignment for
//! what it has, so others may get its partitions while it reads them; here it must first give them up.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::image::Policy;
use super::partitions::{Held, Partitions};
use super::subscription::Subscriptions;
use super::update::metadata_hash;
use super::{ClassicMember, ConsumerGroup, Current, MemberMetadata, MemberState, records, timers};
use crate::group::classic::live::Holds;
use crate::group::classic::{self, Live, State};
use crate::group::embedded::{self, Malformed, Subscription};
use crate::group::fail::Fail;
use crate::group::state::{Group, Hard};
use crate::group::step::Step;
use crate::machine::{At, Millis};
use wire::consumer_offsets::Record;
use wire::{ErrorCode, Str, Uuid};

/// A group as it will be, and the records that say so.
pub(super) struct Upgrade {
    pub group: ConsumerGroup,
    /// Its members had no assignment of this generation yet: the group needs a target whatever the newcomer wants.
    pub was_rebalancing: bool,
    records: Vec<Record>,
}

impl Upgrade {
    /// `None` for what is no classic group with members.
    pub(super) fn of(step: &mut Step<'_>, group_id: &Str) -> Result<Option<Self>, Fail> {
        match step.hard.group(group_id) {
            Some(Group::Classic(_) | Group::Simple) => {}
            Some(Group::Consumer(_) | Group::Streams(_)) | None => return Ok(None),
        }
        let Some(live) = step.soft.classic.get(group_id).filter(|it| !it.is_empty()) else {
            return Ok(None);
        };
        // A message is what an administrator of Kafka looks for.
        let refuse = |why: &str| {
            let message = format!("Cannot upgrade classic group {group_id} to consumer group because {why}.");
            Fail::new(ErrorCode::GROUP_ID_NOT_FOUND, message)
        };
        let size_max = step.image.broker().group_consumer_max_size;
        if !Policy::of(step.image).upgrade {
            return Err(refuse("online upgrade is disabled"));
        }
        if !live.is_of_consumers() {
            return Err(refuse("the group does not use the consumer embedded protocol"));
        }
        if live.member_count() > usize::try_from(size_max).unwrap_or(0) {
            return Err(refuse("the group size exceeds the consumer group maximum size"));
        }
        let members = match members(step, live) {
            Ok(Some(members)) => members,
            Ok(None) => {
                return Err(refuse(
                    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a \
                     default assignor before re-attempting the upgrade",
                ));
            }
            Err(Malformed) => return Err(refuse("the embedded consumer protocol is malformed")),
        };
        let (generation, was_rebalancing) = (epoch_of(live), live.state() != State::Stable);
        let mut subscriptions = Subscriptions::default();
        members.iter().for_each(|it| subscriptions.add(&it.metadata));
        let hash = metadata_hash(&mut step.soft.topic_hashes, step.image, &subscriptions);
        let records = records_of(group_id, generation, hash, &members);
        let mut hard = Hard::default();
        records.iter().for_each(|it| hard.apply(At { offset: 0, timestamp: step.now, producer: None }, it));
        let group = hard.consumer(group_id).cloned().expect("its records make it");
        Ok(Some(Self { group, was_rebalancing, records }))
    }

    /// Those who wait in the classic group shall join again; the others hear it at their next heartbeat.
    pub(super) fn carry_out(self, step: &mut Step<'_>, group_id: &Str) {
        classic::call_all(step, group_id);
        step.record(classic::tombstone(group_id));
        classic::forget(step, group_id);
        for record in self.records {
            step.record(record);
        }
        let group_id = timers::soft_group(step.soft, group_id);
        for (id, member) in self.group.members() {
            let session = member.metadata.classic.as_ref().map_or(0, |it| it.session_timeout_ms);
            timers::set_session(step.soft, &group_id, id, step.now + Millis::from(session));
        }
    }
}

/// The generation; in the first join phase, where nobody was told one yet, that of a new group. An epoch 0
/// would be one that nobody can have.
fn epoch_of(live: &Live) -> i32 {
    live.generation().max(ConsumerGroup::default().epoch)
}

/// A member as it will be.
struct Taken {
    id: Str,
    metadata: MemberMetadata,
    assignment: Partitions,
    /// What it owns as far as one can know; others may have it on paper.
    owned: Partitions,
}

/// `None` if an assignor of theirs keeps data.
fn members(step: &Step<'_>, live: &Live) -> Result<Option<Vec<Taken>>, Malformed> {
    let mut all = Vec::new();
    for (id, it) in live.consumers() {
        let Some(assignment) = embedded::read_assignment(&it.assignment, step.image)? else {
            return Ok(None);
        };
        let subscription = Subscription::read(&it.subscription)?;
        let owned = match it.holds {
            Holds::Assignment => assignment.clone(),
            Holds::AsSaid => subscription.owned(step.image),
            Holds::This(partitions) => partitions,
        };
        let metadata = MemberMetadata {
            instance_id: it.instance_id,
            rack_id: subscription.rack_id,
            client_id: it.client_id,
            client_host: it.client_host,
            rebalance_timeout_ms: it.rebalance_timeout_ms,
            topic_names: Arc::new(subscription.topics.into_iter().collect()),
            topic_regex: Str::default(),
            server_assignor: None,
            classic: Some(ClassicMember {
                session_timeout_ms: it.session_timeout_ms,
                protocols: it.protocols,
            }),
        };
        all.push(Taken { id, metadata, assignment, owned });
    }
    Ok(Some(all))
}

/// All of 5, then 3, all of 7, 6, all of 8. Timestamp 0: the member that joins does not wait for the
/// assignment interval.
fn records_of(group_id: &Str, generation: i32, hash: i64, members: &[Taken]) -> Vec<Record> {
    let mut all: Vec<_> = members.iter().map(|it| records::member(group_id, &it.id, &it.metadata)).collect();
    all.push(records::metadata(group_id, generation, hash));
    all.extend(members.iter().map(|it| records::target(group_id, &it.id, &it.assignment)));
    all.push(records::target_metadata(group_id, generation, 0));
    let currents = currents(generation, members);
    all.extend(
        members.iter().zip(&currents).map(|(it, current)| records::current(group_id, &it.id, current)),
    );
    all
}

/// What each member holds: what it owns, and of its assignment what nobody else owns. Where two say the same,
/// the first one has it. A member that owns more than it was assigned gives that up first; one that did not get
/// all yet waits for it.
fn currents(generation: i32, members: &[Taken]) -> Vec<Current> {
    let mut owners: BTreeMap<(Uuid, i32), &Str> = BTreeMap::new();
    for member in members {
        member.owned.each().for_each(|place| {
            owners.entry(place).or_insert(&member.id);
        });
    }
    for member in members {
        member.assignment.each().for_each(|place| {
            owners.entry(place).or_insert(&member.id);
        });
    }
    let current = |member: &Taken| {
        let is_own = |place| owners.get(&place) == Some(&&member.id);
        let (mut assigned, mut pending, mut waits) = (Held::default(), Held::default(), false);
        member.assignment.each().for_each(|(topic, partition)| match is_own((topic, partition)) {
            true => assigned.insert(topic, partition, generation),
            false => waits = true,
        });
        member.owned.each().for_each(|(topic, partition)| {
            if is_own((topic, partition)) && !assigned.contains(topic, partition) {
                pending.insert(topic, partition, generation);
            }
        });
        let state = match (pending.is_empty(), waits) {
            (false, _) => MemberState::UnrevokedPartitions,
            (true, true) => MemberState::UnreleasedPartitions,
            (true, false) => MemberState::Stable,
        };
        Current { epoch: generation, previous_epoch: generation, state, assigned, pending }
    };
    members.iter().map(current).collect()
}
