//! StreamsGroupHeartbeat in the coordinator: a member joins, rejoins or keeps its place.
//!
//! In order, the first that fails answers:
//!  1. the form of the request (`request.rs`), else INVALID_REQUEST or, for partitions of changelogs,
//!     STREAMS_INVALID_TOPOLOGY; epochs below 0 leave (`leave.rs`)
//!  2. the group: a join may create it or take the place of a classic group without members, else
//!     GROUP_ID_NOT_FOUND (H-18, H-20)
//!  3. an instance id is free, or the member's that is away, else UNRELEASED_INSTANCE_ID; after the join
//!     it is the member's, else UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID (`static_members.rs`)
//!  4. a newcomer fits into `group.streams.max.size`, else GROUP_MAX_SIZE_REACHED (H-19)
//!  5. the member is known or joins, else UNKNOWN_MEMBER_ID (H-21)
//!  6. its epoch is the one that it has, or the one before with nothing but its own tasks, else
//!     FENCED_MEMBER_EPOCH (H-22)
//!  7. the topology is a possible one, else STREAMS_INVALID_TOPOLOGY, and the group's own, else
//!     INVALID_REQUEST (H-26); a group without one is a broken state of ours, UNKNOWN_SERVER_ERROR
//!  8. its topics can be configured, else STREAMS_INVALID_TOPOLOGY (H-28)
//!  9. owned tasks exist, else INVALID_REQUEST (H-29); no task has two offsets, and no more than 100,000
//!     have one, else INVALID_REQUEST
//! 10. a member whose stored state is of a newer release holds nothing, else FENCED_MEMBER_EPOCH
//!
//! [`Heartbeat::decide`] only looks. A heartbeat that changes nothing makes no record and costs a look
//! at the group, at the member and at its settings.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Image;
use catalog::config::StreamsGroupSettings;

use super::configure::{ConfiguredTopology, configure};
use super::hash::TopicHashes;
use super::image::{ImageTopics, assignor, may_deviate, settings};
use super::reconcile::{MustRejoin, Reconciliation};
use super::records::{self, GroupMetadata};
use super::request::{self, invalid};
use super::response::Response;
use super::soft::{MemberOffsets, StreamsSoft};
use super::static_members::{self, Return};
use super::target::{self, Assignment, Delay, Goal};
use super::tasks::Tasks;
use super::topology::Topology;
use super::warmup::plan::Planned;
use super::{
    Current, Endpoint, MemberMetadata, MemberState, StreamsGroup, StreamsMember, description, leave, timers,
    warmup,
};
use crate::group::classic::{self, Live};
use crate::group::fail::Fail;
use crate::group::history::Cause;
use crate::group::member_epoch::JOIN;
use crate::group::request::StreamsHeartbeatReply;
use crate::group::soft::Soft;
use crate::group::state::{Group, Hard};
use crate::group::step::Step;
use crate::machine::{Caller, Millis};
use wire::consumer_offsets::Record;
use wire::{ErrorCode, Str, StreamsGroupHeartbeatRequest};

/// See the module's list of checks. What fails has changed nothing.
pub fn heartbeat(
    step: &mut Step<'_>,
    caller: &Caller,
    request: &StreamsGroupHeartbeatRequest,
) -> Result<StreamsHeartbeatReply, Fail> {
    request::check(request)?;
    if request.member_epoch < JOIN {
        return leave::leave(step, request);
    }
    let settings = settings(step.image, &request.group_id);
    let (no_group, no_soft) = (StreamsGroup::default(), StreamsSoft::default());
    let group = match request.member_epoch {
        JOIN => joinable_group(&step.hard, step.soft.classic.get(&request.group_id), &request.group_id)?,
        _ => Some(existing_group(&step.hard, &request.group_id)?),
    };
    let is_new_group = group.is_none();
    let group = group.unwrap_or(&no_group);
    let returns = static_members::check(group, request)?;
    let Soft { streams, topic_hashes, timers, .. } = &mut *step.soft;
    let heartbeat = Heartbeat {
        now: step.now,
        image: step.image,
        settings,
        caller,
        request,
        group: returns.as_ref().map_or(group, |it| &it.group),
        returns: returns.as_ref().map(|it| &it.owner),
        soft: streams.get(&request.group_id).unwrap_or(&no_soft),
        delayed_until: timers::delayed_until(timers, &request.group_id),
    };
    let mut decision = heartbeat.decide(topic_hashes)?;
    if is_new_group && step.hard.group(&request.group_id).is_some() {
        step.record(classic::tombstone(&request.group_id));
        classic::forget(step, &request.group_id);
    }
    if let Some(Return { owner, records, .. }) = returns {
        records.into_iter().for_each(|record| step.record(record));
        if let Some(soft) = step.soft.streams.get_mut(&request.group_id) {
            soft.warmups.rename_member(&owner, &request.member_id);
        }
        leave::forget_member(step, &request.group_id, &owner, false);
    }
    if decision.planned.as_ref().is_some_and(|it| it.is_step) {
        step.telling().epoch_cause = Cause::Warmups;
    }
    for record in std::mem::take(&mut decision.records) {
        step.record(record);
    }
    Ok(conclude(step, caller, request, is_new_group, &mut decision))
}

/// H-18: `None` if the join makes the group. It may take the place of a classic group without members.
fn joinable_group<'h>(
    hard: &'h Hard,
    live: Option<&Live>,
    group_id: &Str,
) -> Result<Option<&'h StreamsGroup>, Fail> {
    match hard.group(group_id) {
        Some(group @ (Group::Simple | Group::Classic(_))) if group.is_empty(live) => Ok(None),
        Some(_) => existing_group(hard, group_id).map(Some),
        None => Ok(None),
    }
}

/// H-20.
pub(super) fn existing_group<'h>(hard: &'h Hard, group_id: &Str) -> Result<&'h StreamsGroup, Fail> {
    let message = match hard.group(group_id) {
        Some(Group::Streams(group)) => return Ok(group),
        Some(Group::Simple | Group::Classic(_) | Group::Consumer(_)) => {
            format!("Group {group_id} is not a streams group.")
        }
        None => format!("Streams group {group_id} not found."),
    };
    Err(Fail::new(ErrorCode::GROUP_ID_NOT_FOUND, message))
}

/// The request succeeded and its records are applied: keep what has no record, set the timers, answer.
fn conclude(
    step: &mut Step<'_>,
    caller: &Caller,
    request: &StreamsGroupHeartbeatRequest,
    is_new_group: bool,
    decision: &mut Decision,
) -> StreamsHeartbeatReply {
    let settings = settings(step.image, &request.group_id);
    let group = step.hard.streams(&request.group_id).expect("the heartbeat's records made the group");
    let member = group.members.get_key_value(&request.member_id);
    let (member_id, member) = member.expect("the heartbeat's records made the member");
    let group_id = timers::soft_group(step.soft, &request.group_id);
    let session_until = step.now + Millis::from(settings.session_timeout_ms);
    timers::set(&mut step.soft.timers, &group_id, member_id, session_until, decision);
    let soft = step.soft.streams.entry(group_id).or_default();
    // In Kafka the object that hears the wish of a group's first join is thrown away (H-40).
    let shuts_down = request.shutdown_application && (!is_new_group || may_deviate(step.image));
    let makes_plan = decision.planned.is_some();
    if decision.delay_until.is_some() {
        soft.delayed_since = Some(step.now);
    }
    soft.remember(member_id, member.current.epoch, decision, shuts_down);
    let wants_description = description::is_wanted(
        step.image,
        caller.api_version,
        group,
        member,
        &mut soft.asked_for_description,
        (step.now, step.entropy),
    );
    let response = Response {
        now: step.now,
        slowest_answer: step.slowest_answer,
        shard_members: step.hard.streams_members(),
        image: step.image,
        settings,
        caller,
        request,
        group,
        member_id,
        member,
        is_new_group,
        wants_description,
        decision,
    };
    let reply = response.build(soft);
    if makes_plan {
        warmup::carry_on(step, &request.group_id);
    }
    reply
}

/// A heartbeat with all that is decided from.
pub(super) struct Heartbeat<'a> {
    pub now: Millis,
    pub image: &'a Image,
    pub settings: &'a StreamsGroupSettings,
    pub caller: &'a Caller,
    pub request: &'a StreamsGroupHeartbeatRequest,
    /// An empty one if the group does not exist yet.
    pub group: &'a StreamsGroup,
    /// The member comes back as a static one, which had this id; `group` has it in its place.
    pub returns: Option<&'a Str>,
    pub soft: &'a StreamsSoft,
    /// Until when the group's first assignment is still held back (H-33).
    pub delayed_until: Option<Millis>,
}

/// What a heartbeat leads to.
pub(super) struct Decision {
    pub records: Vec<Record>,
    /// The topology was configured anew.
    pub configured: Option<Arc<ConfiguredTopology>>,
    pub offsets: Option<MemberOffsets>,
    /// Whether the member is one that reports offsets, as far as this heartbeat tells (W-5).
    pub reports: Option<bool>,
    /// What members go to was looked at again.
    pub planned: Option<Planned>,
    /// Start the initial rebalance delay.
    pub delay_until: Option<Millis>,
    pub revocation: Revocation,
    /// What the member says it owns.
    pub owned: Option<Tasks>,
    /// The member's assigned tasks are others than before.
    pub tasks_changed: bool,
    /// A target was computed; with the process of the newcomer for whom.
    pub assigned_for: Option<Option<Str>>,
    /// Or what it must still give up.
    pub is_reconciled: bool,
    pub endpoint_changed: bool,
    /// The group had a topology before.
    pub had_topology: bool,
    /// Why the member does not get its tasks yet.
    pub delayed_by: Option<Delay>,
}

/// What becomes of the timer within which a member must give up tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Revocation {
    Unchanged,
    /// Give them up until then.
    Until(Millis),
    Over,
}

/// The topology against the image (H-28).
struct Configuration {
    topology: Arc<ConfiguredTopology>,
    hash: i64,
    is_new: bool,
}

impl<'a> Heartbeat<'a> {
    pub(super) fn decide(&self, hashes: &mut TopicHashes) -> Result<Decision, Fail> {
        let newcomer = StreamsMember::default();
        let known = self.known_member()?;
        let member = known.unwrap_or(&newcomer);
        let owned = request::owned(self.request);
        if known.is_some() {
            self.check_epoch(&member.current, owned.as_ref())?;
        }
        let metadata = self.metadata(&member.metadata);
        let topology = self.topology()?;
        let configuration = self.configure(&topology, hashes)?;
        self.check_owned(&configuration.topology, owned.as_ref())?;
        let offsets = self.offsets()?;

        let mut records = Vec::new();
        let is_changed = known.is_none() || matches!(metadata, Cow::Owned(_));
        if is_changed {
            records.push(records::member_metadata(self.group_id(), self.member_id(), &metadata));
        }
        if let Cow::Owned(topology) = &topology {
            records.push(records::topology(self.group_id(), topology));
        }
        let may_move_tasks = match self.returns {
            Some(_) => static_members::needs_new_target(&member.metadata, &metadata),
            None => known.is_none() || static_members::is_more_than_renamed(&member.metadata, &metadata),
        };
        let epoch = self.bump(may_move_tasks, &configuration, &mut records);
        let delay_until = self.delay_until();
        let assignment = Assignment {
            group: self.group,
            updated: Some((self.member_id(), &metadata)),
            configured: &configuration.topology,
            offsets: &self.soft.offsets,
            updated_offsets: offsets.as_ref(),
            standby_replicas: self.settings.num_standby_replicas,
            assignor: assignor(self.image, self.settings),
            spread_tags: &self.settings.rack_aware_assignment_tags,
        };
        let delayed_until = delay_until.or(self.delayed_until);
        let (goal, planned) = self.goal(epoch, delayed_until, &assignment, &mut records);
        let next = self.reconcile(&metadata, &member.current, &goal, owned.as_ref(), &mut records)?;
        let is_assigned =
            planned.as_ref().is_some_and(|it| !it.is_step) && goal.epoch > self.group.assignment_epoch;
        let has_same_tasks = |it: &Current| it.assigned.same_tasks(&member.current.assigned);
        Ok(Decision {
            revocation: self.revocation(next.as_ref(), &metadata),
            is_reconciled: next.is_some(),
            tasks_changed: next.as_ref().is_some_and(|it| !has_same_tasks(it)),
            assigned_for: is_assigned.then(|| known.is_none().then(|| metadata.process_id.detach())),
            endpoint_changed: metadata.user_endpoint != member.metadata.user_endpoint,
            had_topology: self.group.topology.is_some(),
            configured: configuration.is_new.then_some(configuration.topology),
            delayed_by: goal.delayed_by,
            records,
            reports: self.reports(),
            offsets,
            delay_until,
            owned,
            planned,
        })
    }

    fn group_id(&self) -> &'a Str {
        &self.request.group_id
    }

    fn member_id(&self) -> &'a Str {
        &self.request.member_id
    }

    /// H-19 and H-21; `None` for a newcomer.
    fn known_member(&self) -> Result<Option<&'a StreamsMember>, Fail> {
        let known = self.group.member(self.member_id());
        if known.is_none() && self.request.member_epoch != JOIN {
            let message =
                format!("Member {} is not a member of group {}.", self.member_id(), self.group_id());
            return Err(Fail::new(ErrorCode::UNKNOWN_MEMBER_ID, message));
        }
        // A known member of a full group may come back (4.4; before, it had to wait for its session to end).
        let size_max = usize::try_from(self.settings.max_size).unwrap_or(0);
        if known.is_none() && self.group.members().len() >= size_max {
            let message = format!("Group {} has reached its maximum of {size_max} members.", self.group_id());
            return Err(Fail::new(ErrorCode::GROUP_MAX_SIZE_REACHED, message));
        }
        Ok(known)
    }

    /// H-22. The epoch before the present one is that of a member whose last response was lost. Such
    /// a member can't own more than it was assigned; tasks that it still had to give up don't count.
    fn check_epoch(&self, current: &Current, owned: Option<&Tasks>) -> Result<(), Fail> {
        let received = self.request.member_epoch;
        let lost_response = received < current.epoch
            && received == current.previous_epoch
            && owned.is_some_and(|owned| owned.is_within(&current.assigned));
        if received == JOIN || received == current.epoch || lost_response {
            return Ok(());
        }
        let message = format!(
            "Member epoch {received} is not the expected {}: abandon all tasks and rejoin.",
            current.epoch
        );
        Err(Fail::new(ErrorCode::FENCED_MEMBER_EPOCH, message))
    }

    /// H-24; borrowed if nothing changed. A null field of the request leaves what is known, but a
    /// member that joins without an endpoint has none any more.
    fn metadata<'m>(&self, known: &'m MemberMetadata) -> Cow<'m, MemberMetadata> {
        let request = self.request;
        let endpoint =
            request.user_endpoint.as_ref().map(|it| Endpoint { host: it.host.clone(), port: it.port });
        let tags = request.client_tags.as_ref();
        let tags = tags
            .map(|it| it.iter().map(|tag| (tag.key.clone(), tag.value.clone())).collect::<BTreeMap<_, _>>());
        let keeps_endpoint = endpoint.is_none() && request.member_epoch != JOIN;
        let is_same = request.instance_id.as_ref().is_none_or(|it| known.instance_id.as_ref() == Some(it))
            && request.rack_id.as_ref().is_none_or(|it| known.rack_id.as_ref() == Some(it))
            && request.process_id.as_ref().is_none_or(|it| known.process_id == *it)
            && request.topology.as_ref().is_none_or(|it| known.topology_epoch == it.epoch)
            && tags.as_ref().is_none_or(|it| known.client_tags == *it)
            && (keeps_endpoint || known.user_endpoint == endpoint)
            && [known.rebalance_timeout_ms, -1].contains(&request.rebalance_timeout_ms)
            && known.client_id == self.caller.client_id
            && known.client_host == self.caller.client_host;
        if is_same {
            return Cow::Borrowed(known);
        }
        let timeout = request.rebalance_timeout_ms;
        Cow::Owned(MemberMetadata {
            instance_id: request.instance_id.clone().or_else(|| known.instance_id.clone()),
            rack_id: request.rack_id.clone().or_else(|| known.rack_id.clone()),
            client_id: self.caller.client_id.clone(),
            client_host: self.caller.client_host.clone(),
            rebalance_timeout_ms: if timeout == -1 { known.rebalance_timeout_ms } else { timeout },
            topology_epoch: request.topology.as_ref().map_or(known.topology_epoch, |it| it.epoch),
            process_id: request.process_id.clone().unwrap_or_else(|| known.process_id.clone()),
            user_endpoint: if keeps_endpoint { known.user_endpoint.clone() } else { endpoint },
            client_tags: tags.unwrap_or_else(|| known.client_tags.clone()),
        })
    }

    /// H-26: the group's topology, or that of the first member. Updates are not supported in any
    /// release; a member with an older one may stay.
    fn topology(&self) -> Result<Cow<'a, Topology>, Fail> {
        let sent = self.request.topology.as_ref().map(Topology::from_request).transpose()?;
        match (&self.group.topology, sent) {
            (None, Some(sent)) => Ok(Cow::Owned(sent)),
            (None, None) => Err(Fail::new(ErrorCode::UNKNOWN_SERVER_ERROR, "The group has no topology.")),
            (Some(topology), Some(sent)) if topology.epoch() <= sent.epoch() && *topology != sent => {
                Err(invalid("Topology updates are not supported yet."))
            }
            (Some(topology), Some(_) | None) => Ok(Cow::Borrowed(topology)),
        }
    }

    /// H-28. The hash is compared once after each change of a required topic, and the topology is
    /// configured anew only if the hash moved.
    fn configure(&self, topology: &Topology, hashes: &mut TopicHashes) -> Result<Configuration, Fail> {
        let has_topology = self.group.topology.is_some();
        if let Some(configured) =
            self.soft.configured.as_ref().filter(|_| has_topology && self.soft.hash_checked)
        {
            return Ok(Configuration {
                topology: configured.clone(),
                hash: self.group.metadata_hash,
                is_new: false,
            });
        }
        let topics = ImageTopics(self.image);
        let hash = hashes.group_hash(topology.required_topics(), &topics);
        let reusable =
            self.soft.configured.as_ref().filter(|_| has_topology && hash == self.group.metadata_hash);
        match reusable {
            Some(configured) => Ok(Configuration { topology: configured.clone(), hash, is_new: false }),
            None => {
                Ok(Configuration { topology: Arc::new(configure(topology, &topics)?), hash, is_new: true })
            }
        }
    }

    /// H-29.
    fn check_owned(&self, configured: &ConfiguredTopology, owned: Option<&Tasks>) -> Result<(), Fail> {
        let Some(owned) = owned.filter(|_| configured.is_ready()) else { return Ok(()) };
        for task in owned.active.iter().chain(&owned.standby).chain(&owned.warmup) {
            let Some(subtopology) = configured.subtopology(&task.subtopology) else {
                return Err(invalid(format!(
                    "Subtopology {} does not exist in the topology.",
                    task.subtopology
                )));
            };
            if !(0..subtopology.tasks).contains(&task.partition) {
                let message = format!(
                    "Task {} of subtopology {} does not exist: the subtopology has {} tasks.",
                    task.partition, task.subtopology, subtopology.tasks
                );
                return Err(invalid(message));
            }
        }
        Ok(())
    }

    /// H-29b: the member's offsets after this request, if it brings any. A null list keeps the old one.
    fn offsets(&self) -> Result<Option<MemberOffsets>, Fail> {
        let offsets = request::offsets("TaskOffsets", self.request.task_offsets.as_deref())?;
        let end_offsets = request::offsets("TaskEndOffsets", self.request.task_end_offsets.as_deref())?;
        if offsets.is_none() && end_offsets.is_none() {
            return Ok(None);
        }
        let mut known = self.soft.offsets.get(self.member_id()).cloned().unwrap_or_default();
        known.offsets = offsets.unwrap_or(known.offsets);
        known.end_offsets = end_offsets.unwrap_or(known.end_offsets);
        Ok(Some(known))
    }

    /// H-30 and H-31: the group epoch after this request. Other settings than those of the
    /// assignment never raise it.
    fn bump(&self, is_changed: bool, configuration: &Configuration, records: &mut Vec<Record>) -> i32 {
        let topology = &configuration.topology;
        let validated_topology_epoch = if topology.is_ready() { topology.topology_epoch } else { -1 };
        let is_due = is_changed
            || configuration.hash != self.group.metadata_hash
            || validated_topology_epoch != self.group.validated_topology_epoch
            || !target::has_configs(self.group, self.settings);
        if !is_due {
            return self.group.epoch;
        }
        let epoch = self.group.epoch + 1;
        let metadata = GroupMetadata {
            epoch,
            metadata_hash: configuration.hash,
            validated_topology_epoch,
            assignment_configs: &target::assignment_configs(self.settings),
        };
        records.push(metadata.record(self.group_id(), self.group));
        epoch
    }

    /// H-33: when the first assignment of a group that was empty is due, so that its first members
    /// get their tasks together.
    fn delay_until(&self) -> Option<Millis> {
        let delay = Millis::from(self.settings.initial_rebalance_delay_ms);
        (self.group.is_empty() && self.delayed_until.is_none() && delay > 0).then_some(self.now + delay)
    }

    /// H-38; `None` if nothing changes.
    fn reconcile(
        &self,
        metadata: &MemberMetadata,
        current: &Current,
        goal: &Goal<'_>,
        owned: Option<&Tasks>,
        records: &mut Vec<Record>,
    ) -> Result<Option<Current>, Fail> {
        if current.state == MemberState::Stable && current.epoch == goal.epoch {
            return Ok(None);
        }
        let reconciliation = Reconciliation {
            member_id: self.member_id(),
            process_id: &metadata.process_id,
            current,
            target_epoch: goal.epoch,
            target: &goal.tasks,
            owned,
            holders: &self.group.holders,
            members: &self.group.members,
        };
        let next = reconciliation.run().map_err(|MustRejoin| {
            let message = "The member's state is of a newer release: abandon all tasks and rejoin.";
            Fail::new(ErrorCode::FENCED_MEMBER_EPOCH, message)
        })?;
        if next == *current {
            return Ok(None);
        }
        records.push(records::current(self.group_id(), self.member_id(), &next));
        Ok(Some(next))
    }

    /// What [`Heartbeat::reconcile`] means for the rebalance timer; it is touched only with a record.
    fn revocation(&self, next: Option<&Current>, metadata: &MemberMetadata) -> Revocation {
        match next.map(|it| it.state) {
            None => Revocation::Unchanged,
            Some(MemberState::UnrevokedTasks) => {
                Revocation::Until(self.now + Millis::from(metadata.rebalance_timeout_ms))
            }
            Some(MemberState::Stable | MemberState::UnreleasedTasks | MemberState::Unknown) => {
                Revocation::Over
            }
        }
    }
}
