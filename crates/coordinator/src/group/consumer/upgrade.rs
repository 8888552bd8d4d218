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

use super::image::Policy;
use super::partitions::Held;
use super::subscription::Subscriptions;
use super::update::metadata_hash;
use super::{ClassicMember, ConsumerGroup, Current, MemberMetadata, records, timers};
use crate::group::classic::{self, Live};
use crate::group::embedded::{self, Malformed, Subscription};
use crate::group::fail::Fail;
use crate::group::state::{Group, Hard};
use crate::group::step::Step;
use crate::machine::{At, Millis};
use wire::consumer_offsets::Record;
use wire::{ErrorCode, Str};

/// A group as it will be, and the records that say so.
pub(super) struct Upgrade {
    pub group: ConsumerGroup,
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
        let generation = live.generation();
        let mut subscriptions = Subscriptions::default();
        members.iter().for_each(|(_, metadata, _)| subscriptions.add(metadata));
        let hash = metadata_hash(&mut step.soft.topic_hashes, step.image, &subscriptions);
        let records = records_of(group_id, generation, hash, &members);
        let mut hard = Hard::default();
        records.iter().for_each(|it| hard.apply(At { offset: 0, timestamp: step.now, producer: None }, it));
        let group = hard.consumer(group_id).cloned().expect("its records make it");
        Ok(Some(Self { group, records }))
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

/// Id, metadata and what it holds, of each member. `None` if an assignor of theirs keeps data.
type Members = Vec<(Str, MemberMetadata, Held)>;

fn members(step: &Step<'_>, live: &Live) -> Result<Option<Members>, Malformed> {
    let generation = live.generation();
    let mut all = Vec::new();
    for (id, it) in live.consumers() {
        let Some(assigned) = embedded::read_assignment(&it.assignment, step.image)? else {
            return Ok(None);
        };
        let subscription = Subscription::read(&it.subscription)?;
        let mut held = Held::default();
        for (topic, partitions) in assigned {
            partitions.into_iter().for_each(|it| held.insert(topic, it, generation));
        }
        let metadata = MemberMetadata {
            instance_id: it.instance_id,
            rack_id: subscription.rack_id,
            client_id: it.client_id,
            client_host: it.client_host,
            rebalance_timeout_ms: it.rebalance_timeout_ms,
            topic_names: subscription.topics.into_iter().collect(),
            topic_regex: Str::default(),
            server_assignor: None,
            classic: Some(ClassicMember {
                session_timeout_ms: it.session_timeout_ms,
                protocols: it.protocols,
            }),
        };
        all.push((id, metadata, held));
    }
    Ok(Some(all))
}

/// All of 5, then 3, all of 7, 6, all of 8. Timestamp 0: the member that joins does not wait for the
/// assignment interval.
fn records_of(group_id: &Str, generation: i32, hash: i64, members: &Members) -> Vec<Record> {
    let mut all: Vec<_> =
        members.iter().map(|(id, metadata, _)| records::member(group_id, id, metadata)).collect();
    all.push(records::metadata(group_id, generation, hash));
    all.extend(members.iter().map(|(id, _, held)| records::target(group_id, id, &held.partitions())));
    all.push(records::target_metadata(group_id, generation, 0));
    all.extend(members.iter().map(|(id, _, held)| {
        let current = Current {
            epoch: generation,
            previous_epoch: generation,
            assigned: held.clone(),
            ..Current::default()
        };
        records::current(group_id, id, &current)
    }));
    all
}
