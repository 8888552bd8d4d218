//! The response to a heartbeat that succeeded, made from the group as its records left it (H-45 to
//! H-50). Fields of the newest version: the handler clears what an older one lacks.

use bytes::Bytes;
use catalog::Image;
use catalog::config::StreamsGroupSettings;

use super::heartbeat::Decision;
use super::image::{adapts_heartbeats, heartbeat_budget, may_deviate};
use super::interval::{self, Rhythm};
use super::records::by_subtopology;
use super::soft::StreamsSoft;
use super::tasks::{AssignedTasks, TaskId};
use super::{StreamsGroup, StreamsMember, warmup};
use crate::group::member_epoch::JOIN;
use crate::group::pulse::{Line, Pulse, Told};
use crate::group::request::StreamsHeartbeatReply;
use crate::machine::{Caller, Millis};
use wire::streams_group_heartbeat::response::{Status, TaskIds};
use wire::{Str, StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse, error_message};

/// Statuses that do not come from the topics of the topology (those are in `configure.rs`).
const STALE_TOPOLOGY: i8 = 0;
const SHUTDOWN_APPLICATION: i8 = 4;
const ASSIGNMENT_DELAYED: i8 = 5;
const MISSING_CLIENT_TAGS: i8 = 6;

/// The version from which on clients know MISSING_CLIENT_TAGS; older ones throw on it.
const TAGS_VERSION: i16 = 1;

pub(super) struct Response<'a> {
    pub now: Millis,
    pub slowest_answer: Millis,
    /// Members of all streams groups of the shard.
    pub shard_members: usize,
    pub image: &'a Image,
    pub settings: &'a StreamsGroupSettings,
    pub caller: &'a Caller,
    pub request: &'a StreamsGroupHeartbeatRequest,
    pub group: &'a StreamsGroup,
    /// The member's id as the group keeps it.
    pub member_id: &'a Str,
    pub member: &'a StreamsMember,
    /// Created in this request.
    pub is_new_group: bool,
    pub wants_description: bool,
    pub decision: &'a Decision,
}

impl Response<'_> {
    pub(super) fn build(&self, soft: &mut StreamsSoft) -> StreamsHeartbeatReply {
        let statuses = self.statuses(soft);
        let told = self.rhythm(soft, &statuses).tell();
        self.remember(soft, told);
        let (endpoint_information_epoch, endpoints) = self.endpoints(soft);
        let topics_to_create =
            soft.configured.as_ref().map(|it| it.topics_to_create.clone()).unwrap_or_default();
        let has_tasks = self.tells_tasks(&self.member.current.assigned);
        let list = |list: Vec<TaskIds>| has_tasks.then_some(list);
        let assigned = &self.member.current.assigned;
        let response = StreamsGroupHeartbeatResponse {
            member_id: self.request.member_id.clone(),
            member_epoch: self.member.current.epoch,
            heartbeat_interval_ms: told.interval_ms,
            task_offset_interval_ms: warmup::task_offset_interval(
                &soft.warmups,
                &self.request.member_id,
                self.settings,
            ),
            acceptable_recovery_lag: self.settings.acceptable_recovery_lag,
            // Never null: clients go on acting on the statuses of an earlier response then.
            status: Some(statuses),
            active_tasks: list(task_ids(has_tasks, assigned.active.keys())),
            standby_tasks: list(task_ids(has_tasks, &assigned.standby)),
            warmup_tasks: list(task_ids(has_tasks, &assigned.warmup)),
            topology_description_required: self.wants_description,
            endpoint_information_epoch,
            ..Default::default()
        };
        StreamsHeartbeatReply {
            response,
            endpoints,
            topics_to_create,
            process_id: self.member.metadata.process_id.clone(),
        }
    }

    /// That the member was heard, and what it was told.
    fn remember(&self, soft: &mut StreamsSoft, told: Told) {
        let largest = told.interval_ms.max(self.settings.heartbeat_interval_ms);
        let before = soft.pulses.get(self.member_id).map_or(0, |it| it.told_ms);
        let pulse = Pulse {
            heard: self.now,
            connection: self.caller.connection,
            told_ms: told.interval_ms,
            largest_ms: Millis::from(largest.max(before)),
            line: Line::Open,
            returns_late: false,
            waits: told.waits,
        };
        soft.pulses.insert(self.member_id.clone(), pulse);
    }

    fn rhythm<'s>(&'s self, soft: &'s StreamsSoft, statuses: &'s [Status]) -> Rhythm<'s> {
        Rhythm {
            now: self.now,
            configured: self.settings.heartbeat_interval_ms,
            adapts: adapts_heartbeats(self.image),
            rest: interval::rest(self.shard_members, heartbeat_budget(self.image)),
            slowest_answer: self.slowest_answer,
            group: self.group,
            soft,
            member_id: self.member_id,
            member: self.member,
            request_epoch: self.request.member_epoch,
            statuses,
            delayed_until: self.decision.delayed_by.map(|it| it.until),
        }
    }

    /// H-46, and H-46a where Kafka stays silent: a member that owns something else than it was
    /// assigned may have lost the response that told it so.
    fn tells_tasks(&self, assigned: &AssignedTasks) -> bool {
        self.request.member_epoch == JOIN
            || self.decision.tasks_changed
            || (may_deviate(self.image)
                && self.decision.owned.as_ref().is_some_and(|it| !assigned.same_as(it)))
    }

    /// H-50, in this order.
    fn statuses(&self, soft: &StreamsSoft) -> Vec<Status> {
        let mut statuses = Vec::new();
        let mut add = |code, detail: &str| statuses.push(status(code, detail));
        let topology_epoch = self.group.topology.as_ref().map_or(-1, |it| it.epoch());
        let own_epoch = self.member.metadata.topology_epoch;
        if self.decision.had_topology && own_epoch < topology_epoch {
            let detail =
                format!("The member has topology epoch {own_epoch}, the group is at {topology_epoch}.");
            add(STALE_TOPOLOGY, &detail);
        }
        if let Some(delay) = self.decision.delayed_by {
            add(ASSIGNMENT_DELAYED, delay.reason);
        }
        if let Some(problem) = soft.configured.as_ref().and_then(|it| it.problem.as_ref()) {
            add(problem.status.code(), &problem.detail);
        }
        if let Some(requester) = &soft.shutdown_requester {
            add(
                SHUTDOWN_APPLICATION,
                &format!("Member {requester} asked the whole application to shut down."),
            );
        }
        let tags = self.settings.rack_aware_assignment_tags.iter();
        let missing: Vec<_> = tags
            .filter(|tag| !self.member.metadata.client_tags.contains_key(tag.as_bytes()))
            .map(String::as_str)
            .collect();
        if self.caller.api_version >= TAGS_VERSION && !missing.is_empty() {
            add(MISSING_CLIENT_TAGS, &format!("The member lacks the client tags {}.", missing.join(", ")));
        }
        statuses
    }

    /// E-2 to E-4. In Kafka the object of a group that is just being created is thrown away together
    /// with the epoch that was raised in it, and clients compare what they see: so do we.
    fn endpoints(&self, soft: &mut StreamsSoft) -> (i32, Option<Bytes>) {
        let decision = self.decision;
        let is_raised = decision.endpoint_changed
            || (decision.tasks_changed && self.member.metadata.user_endpoint.is_some());
        let epoch = soft.endpoint_epoch.wrapping_add(i32::from(is_raised));
        let is_told = epoch != self.request.endpoint_information_epoch;
        let StreamsSoft { configured, endpoints, .. } = &mut *soft;
        endpoints.heard(self.member_id, self.member);
        let entries = is_told.then(|| endpoints.list(self.image, configured.as_deref(), self.group));
        if self.is_new_group {
            return (0, entries);
        }
        soft.endpoint_epoch = epoch;
        (epoch, entries)
    }
}

fn status(status_code: i8, detail: &str) -> Status {
    Status { status_code, status_detail: Str::from(error_message(detail.to_owned())), ..Default::default() }
}

fn task_ids<'a>(wanted: bool, tasks: impl IntoIterator<Item = &'a TaskId>) -> Vec<TaskIds> {
    let tasks = tasks.into_iter().filter(|_| wanted);
    by_subtopology(tasks, |subtopology_id, partitions| TaskIds {
        subtopology_id,
        partitions,
        ..Default::default()
    })
}
