//! The machine of one partition of `__consumer_offsets`: its groups and their committed offsets.
//!
//! Reading order: [`request`] (what is asked and answered), [`state`] (what the log says),
//! [`soft`] (what may be forgotten), [`step`] (how a deciding function sees both), then one folder
//! per group type and [`offsets`], [`list`], [`delete`]; [`history`], [`why`] and [`explain`] tell people what happens.
//!
//! This file only sends each event to the function that decides about it. It must not know the
//! rules of any group type.

pub mod classic;
pub mod consumer;
pub mod delete;
pub mod departures;
mod embedded;
pub mod explain;
pub mod fail;
pub mod history;
pub mod list;
mod member_epoch;
pub mod offsets;
pub mod pulse;
pub mod request;
pub mod roll;
pub mod soft;
pub mod state;
pub mod step;
pub mod streams;
pub mod why;

use crate::group::history::Cause;
use crate::group::offsets::{encoded::CommitKey, latest::Latest};
use crate::machine::{At, Caller, Cx, Encoded, Event, Machine, Millis, Output, Ticket};
use wire::consumer_offsets::Record;
use wire::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, DecodeError, LogRecord as _, Str,
    StreamsGroupHeartbeatRequest,
};

pub use fail::Fail;
pub use history::History;
pub use request::{
    ClosedConnection, CommitRefused, GroupReply, GroupRequest, GroupTask, GroupTaskResult, PartitionEnd,
    StreamsHeartbeatReply,
};
pub use soft::{Soft, TimerKey};
pub use state::{Group, Hard};
pub use step::Step;

/// Groups and offsets of one partition of `__consumer_offsets`.
#[derive(Debug, Default)]
pub struct GroupShard {
    hard: Hard,
    soft: Soft,
    /// While the log is read: commits that are not in `hard` yet.
    latest: Latest,
}

impl GroupShard {
    /// What the log says; for checkers and describing tools.
    pub fn hard(&self) -> &Hard {
        &self.hard
    }

    /// What may be forgotten; for checkers and describing tools.
    pub fn soft(&self) -> &Soft {
        &self.soft
    }
}

impl Machine for GroupShard {
    type Request = GroupRequest;
    type Reply = GroupReply;
    type Record = Record;
    type Task = GroupTask;
    type TaskResult = GroupTaskResult;

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Self>) -> Output<Self> {
        let mut step = Step::new(&mut self.hard, &mut self.soft, cx);
        match event {
            Event::Ask { ticket, caller, request } => {
                if let Some(reply) = answer(&mut step, ticket, &caller, request) {
                    step.replies.push((ticket, reply));
                }
            }
            Event::Wake => fire_due(&mut step),
            Event::Done(_, GroupTaskResult::ResolveRegexes(it)) => consumer::regexes_resolved(&mut step, it),
            Event::Done(id, GroupTaskResult::ChangelogEnds { group, ends }) => {
                streams::warmup::ends_known(&mut step, id, &group, &ends);
            }
            Event::Topics(change) => {
                offsets::topics_deleted(&mut step, &change.deleted);
                consumer::topics_changed(&mut step, &change);
                streams::topics_changed(&mut step, &change);
            }
        }
        step.into_output()
    }

    fn replay(&mut self, at: At, record: &Record) {
        self.hard.look_up(&mut self.latest);
        if let Record::OffsetCommit(_, value) = record {
            // What a producer commits is nobody's offset before its marker.
            if value.is_none() || at.producer.is_none() {
                self.hard.flush(&mut self.latest);
            }
        } else if record.is_tombstone() {
            self.latest.group_removed(at);
        }
        self.hard.apply(at, record);
    }

    fn replay_encoded(&mut self, at: At, record: Encoded<'_>) -> Result<bool, DecodeError> {
        if at.producer.is_none()
            && let Some(key) = CommitKey::parse(record.key())
            && record.value().is_some()
        {
            if self.latest.take(at, &key, &record)? {
                self.hard.look_up(&mut self.latest);
            }
            return Ok(true);
        }
        let decoded = Record::decode(&record.key_bytes(), record.value_bytes().as_ref())?;
        if let Some(decoded) = &decoded {
            self.replay(at, decoded);
        }
        Ok(decoded.is_some())
    }

    fn marker(&mut self, _at: At, producer: i64, commit: bool) {
        self.hard.flush(&mut self.latest);
        self.hard.apply_marker(producer, commit);
    }

    fn loaded(&mut self, cx: &mut Cx<'_>) -> Output<Self> {
        self.hard.flush(&mut self.latest);
        self.latest = Latest::default();
        self.soft = Soft { history: History::new(cx.now), loaded_at: cx.now, ..Soft::default() };
        let mut step = Step::new(&mut self.hard, &mut self.soft, cx);
        classic::loaded(&mut step);
        consumer::loaded(&mut step);
        streams::loaded(&mut step);
        offsets::expire::loaded(&mut step);
        step.into_output()
    }

    fn deadline(&self) -> Option<Millis> {
        self.soft.timers.next()
    }
}

/// The answer, unless it comes in a later step or there is none.
fn answer(step: &mut Step<'_>, ticket: Ticket, caller: &Caller, request: GroupRequest) -> Option<GroupReply> {
    Some(match request {
        GroupRequest::OffsetCommit(it) => {
            departures::member_seen(step, &it.group_id, &it.member_id);
            let response = offsets::commit::answer(step, caller, &it);
            history::commits::answered(step, &it, &response);
            GroupReply::OffsetCommit(response)
        }
        GroupRequest::TxnOffsetCommit(it) => {
            departures::member_seen(step, &it.commit.group_id, &it.commit.member_id);
            let response = offsets::commit::answer_transactional(step, caller, &it);
            history::commits::answered(step, &it.commit, &response);
            GroupReply::TxnOffsetCommit(response)
        }
        GroupRequest::OffsetFetch(it) => {
            if let Some(member) = &it.group.member_id {
                departures::member_seen(step, &it.group.group_id, member);
            }
            GroupReply::OffsetFetch(offsets::fetch::answer(step, &it))
        }
        GroupRequest::OffsetDelete(it) => GroupReply::OffsetDelete(offsets::delete::answer(step, &it)),
        GroupRequest::JoinGroup(it) => {
            let response = classic::join(step, ticket, caller, &it)?;
            history::classic::join_answered(step, &it, &response);
            return Some(GroupReply::JoinGroup(Box::new(response)));
        }
        GroupRequest::SyncGroup(it) => {
            let response = classic::sync(step, ticket, &it)?;
            history::classic::sync_answered(step, &it, response.error_code);
            return Some(GroupReply::SyncGroup(response));
        }
        GroupRequest::Heartbeat(it) => {
            let response = classic::heartbeat(step, &it);
            classic::heard(step, caller, &it, response.error_code);
            history::classic::heartbeat_answered(step, &it, response.error_code);
            GroupReply::Heartbeat(response)
        }
        GroupRequest::LeaveGroup(it) => GroupReply::LeaveGroup(classic::leave(step, &it)),
        GroupRequest::StreamsGroupHeartbeat(it) => {
            GroupReply::StreamsGroupHeartbeat(Box::new(streams_heartbeat(step, caller, &it)))
        }
        GroupRequest::StreamsGroupDescribe(ids) => {
            GroupReply::StreamsGroupDescribe(ids.iter().map(|id| list::describe_streams(step, id)).collect())
        }
        GroupRequest::ConsumerGroupHeartbeat(it) => {
            GroupReply::ConsumerGroupHeartbeat(consumer_heartbeat(step, caller, &it))
        }
        GroupRequest::ConsumerGroupDescribe(ids) => GroupReply::ConsumerGroupDescribe(
            ids.iter().map(|id| list::describe_consumer(step, id)).collect(),
        ),
        GroupRequest::StreamsGroupTopologyDescriptionUpdate(it) => {
            GroupReply::StreamsGroupTopologyDescriptionUpdate(streams::update_description(step, &it))
        }
        GroupRequest::DescribeGroups(ids) => GroupReply::DescribeGroups(
            ids.iter().map(|id| list::describe(step, caller.api_version, id)).collect(),
        ),
        GroupRequest::ListGroups(it) => GroupReply::ListGroups(list::list(step, &it)),
        GroupRequest::ExplainGroup(it) => GroupReply::ExplainGroup(Box::new(explain::answer(step, &it))),
        GroupRequest::DeleteGroups(ids) => GroupReply::DeleteGroups(delete::delete(step, ids)),
        GroupRequest::ConnectionsClosed(closed) => {
            departures::connections_closed(step, &closed);
            GroupReply::ConnectionsClosed
        }
        GroupRequest::CommitRefused(it) => {
            history::commits::refused(step, it);
            return None;
        }
    })
}

fn streams_heartbeat(
    step: &mut Step<'_>,
    caller: &Caller,
    request: &StreamsGroupHeartbeatRequest,
) -> StreamsHeartbeatReply {
    let reply = streams::heartbeat(step, caller, request);
    history::streams::heartbeat(step, request, reply.as_ref().err());
    reply.unwrap_or_else(|fail| {
        assert!(step.hard.recorded().is_empty(), "a refused heartbeat left records");
        StreamsHeartbeatReply::refused(fail)
    })
}

fn consumer_heartbeat(
    step: &mut Step<'_>,
    caller: &Caller,
    request: &ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupHeartbeatResponse {
    match consumer::heartbeat(step, caller, request) {
        Ok(response) => consumer::heard(step, caller, request, response),
        Err(fail) => {
            assert!(step.hard.recorded().is_empty(), "a refused heartbeat left records");
            history::consumer::refused(step, request, &fail);
            ConsumerGroupHeartbeatResponse {
                error_code: fail.code,
                error_message: fail.message.map(Str::from),
                ..Default::default()
            }
        }
    }
}

/// Fires all deadlines that are due, also those that the fired ones set and that are due already.
fn fire_due(step: &mut Step<'_>) {
    while let Some((deadline, key)) = step.soft.timers.pop_due(step.now) {
        let cause = cause_of(step.soft, &key);
        step.telling().because = cause;
        match key {
            TimerKey::InitialRebalance { group } => streams::initial_delay_over(step, &group),
            TimerKey::Session { group, member } => match step.hard.group(&group) {
                Some(Group::Consumer(_)) => consumer::session_over(step, &group, &member, deadline),
                Some(Group::Streams(_)) => streams::session_over(step, &group, &member, deadline),
                Some(Group::Simple | Group::Classic(_)) | None => {}
            },
            TimerKey::Rebalance { group, member } => match step.hard.group(&group) {
                Some(Group::Consumer(_)) => consumer::rebalance_over(step, &group, &member),
                Some(Group::Streams(_)) => streams::rebalance_over(step, &group, &member),
                Some(Group::Simple | Group::Classic(_)) | None => {}
            },
            TimerKey::Warmup { group } => streams::warmup::advance(step, &group),
            TimerKey::ClassicSession { group, member } => classic::session_over(step, &group, &member),
            TimerKey::ClassicJoin { group } => classic::join_over(step, &group),
            TimerKey::ClassicSync { group } => classic::sync_over(step, &group),
            TimerKey::ConsumerJoin { group, member } | TimerKey::ConsumerSync { group, member } => {
                consumer::classic_over(step, &group, &member);
            }
            TimerKey::Expiry => offsets::expire::sweep(step),
        }
    }
}

/// What a deadline is the cause of.
fn cause_of(soft: &Soft, key: &TimerKey) -> Cause {
    match key {
        TimerKey::InitialRebalance { .. } => Cause::InitialDelayOver,
        TimerKey::Warmup { .. } => Cause::Warmups,
        TimerKey::Session { group, member } if is_gone(soft, group, member) => Cause::ConnectionClosed,
        TimerKey::Session { .. } | TimerKey::ClassicSession { .. } => Cause::SessionOver,
        TimerKey::Rebalance { .. }
        | TimerKey::ClassicJoin { .. }
        | TimerKey::ClassicSync { .. }
        | TimerKey::ConsumerJoin { .. }
        | TimerKey::ConsumerSync { .. } => Cause::RebalanceOver,
        TimerKey::Expiry => Cause::None,
    }
}

/// Whether the client of a streams or consumer group's member closed its connection and has no other one.
fn is_gone(soft: &Soft, group: &Str, member: &Str) -> bool {
    let streams = soft.streams.get(group).and_then(|it| it.pulse(member));
    let pulse = streams.or_else(|| soft.consumer.get(group).and_then(|it| it.pulse(member)));
    pulse.is_some_and(|it| it.gone().is_some())
}
