//! What can be asked of a group shard and what it answers: one variant per API.
//!
//! Requests come as the wire types, after the broker's handler has authorized them and resolved
//! topics. Replies carry the fields of the newest version; the handler clears what an older one
//! lacks.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::group::fail::Fail;
use crate::group::history::Happened;
use crate::group::streams::endpoints;
use crate::machine::{Caller, Millis};
use wire::create_topics::request::CreatableTopic;
use wire::delete_groups::response::DeletableGroupResult;
use wire::offset_fetch::request::OffsetFetchRequestGroup;
use wire::offset_fetch::response::OffsetFetchResponseGroup;
use wire::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ExplainGroupRequest, ExplainGroupResponse,
    HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
    LeaveGroupResponse, ListGroupsRequest, ListGroupsResponse, OffsetCommitRequest, OffsetCommitResponse,
    OffsetDeleteRequest, OffsetDeleteResponse, Str, StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse, StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse, SyncGroupRequest, SyncGroupResponse, Uuid,
    consumer_group_describe, describe_groups, streams_group_describe,
};

/// What can be asked of a group shard.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupRequest {
    /// Topics that exist only, each with its name *and* its id, whatever the version carries.
    OffsetCommit(OffsetCommitRequest),
    TxnOffsetCommit(Box<TxnOffsetCommit>),
    /// One group's part, in the form of versions 8 and later.
    OffsetFetch(OffsetFetch),
    /// Topics that exist only.
    OffsetDelete(OffsetDeleteRequest),
    /// With a rebalance timeout, also of version 0.
    JoinGroup(Box<JoinGroupRequest>),
    SyncGroup(Box<SyncGroupRequest>),
    Heartbeat(HeartbeatRequest),
    /// The members as a list, whatever the version carries.
    LeaveGroup(LeaveGroupRequest),
    StreamsGroupHeartbeat(Box<StreamsGroupHeartbeatRequest>),
    StreamsGroupDescribe(Vec<Str>),
    StreamsGroupTopologyDescriptionUpdate(Box<StreamsGroupTopologyDescriptionUpdateRequest>),
    ConsumerGroupHeartbeat(Box<ConsumerGroupHeartbeatRequest>),
    ConsumerGroupDescribe(Vec<Str>),
    DescribeGroups(Vec<Str>),
    ListGroups(ListGroupsRequest),
    DeleteGroups(Vec<Str>),
    ExplainGroup(ExplainGroupRequest),
    /// By group: connections of members whose clients have no other one open from the same address.
    ConnectionsClosed(Vec<(Str, Vec<ClosedConnection>)>),
    /// Has no answer.
    CommitRefused(CommitRefused),
}

/// The part of an OffsetFetch request about one group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetFetch {
    /// Topics with their names, from version 10 on also with their ids (ZERO before).
    pub group: OffsetFetchRequestGroup,
    pub require_stable: bool,
}

/// A commit within a producer's transaction, which the log would take: its epoch is not old, and its transaction is
/// open or known to the coordinator.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TxnOffsetCommit {
    pub producer_id: i64,
    pub producer_epoch: i16,
    /// In the form of an OffsetCommit: topics that exist only, each with its name and its id.
    pub commit: OffsetCommitRequest,
}

/// Partitions of a commit that the broker refused before it asked, since it knows the topics and the rights on them. It
/// is for people alone, and a shard may miss it: nobody waits until it is heard.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitRefused {
    pub group_id: Str,
    /// As [`refusals`](super::history::commits::refusals) makes them.
    pub refusals: Vec<Happened>,
}

/// The answers, in the order of [`GroupRequest`].
#[derive(Debug, Clone, PartialEq)]
pub enum GroupReply {
    /// Each topic with its name and its id.
    OffsetCommit(OffsetCommitResponse),
    /// In the form of an OffsetCommit.
    TxnOffsetCommit(OffsetCommitResponse),
    OffsetFetch(OffsetFetchResponseGroup),
    OffsetDelete(OffsetDeleteResponse),
    JoinGroup(Box<JoinGroupResponse>),
    SyncGroup(SyncGroupResponse),
    Heartbeat(HeartbeatResponse),
    LeaveGroup(LeaveGroupResponse),
    StreamsGroupHeartbeat(Box<StreamsHeartbeatReply>),
    /// With the topology description, asked for or not.
    StreamsGroupDescribe(Vec<streams_group_describe::response::DescribedGroup>),
    StreamsGroupTopologyDescriptionUpdate(StreamsGroupTopologyDescriptionUpdateResponse),
    ConsumerGroupHeartbeat(ConsumerGroupHeartbeatResponse),
    ConsumerGroupDescribe(Vec<consumer_group_describe::response::DescribedGroup>),
    DescribeGroups(Vec<describe_groups::response::DescribedGroup>),
    ListGroups(ListGroupsResponse),
    DeleteGroups(Vec<DeletableGroupResult>),
    ExplainGroup(Box<ExplainGroupResponse>),
    /// Nothing to tell.
    ConnectionsClosed,
}

/// The answer to a streams heartbeat, and what the handler must do before it sends it: the creation
/// of internal topics needs the caller's rights, and the status text tells how it went
/// (streams-groups.md 3.7).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamsHeartbeatReply {
    /// Without the partitions by endpoint.
    pub response: StreamsGroupHeartbeatResponse,
    /// The last field of the response, encoded: many answers share it. `None`: it is null.
    pub endpoints: Option<Bytes>,
    pub topics_to_create: Vec<CreatableTopic>,
    /// Of the member; empty after a leave.
    pub process_id: Str,
}

/// A connection that its client closed, by its number in [`Caller`](crate::Caller).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedConnection {
    pub connection: u64,
    pub at: Millis,
    /// How many closed at once on its listener, if these are so many that the network is at fault (L-6).
    pub together: Option<u32>,
}

impl StreamsHeartbeatReply {
    /// The response with its last field.
    pub fn whole(&self) -> StreamsGroupHeartbeatResponse {
        let endpoints = self.endpoints.as_ref();
        let whole = endpoints.and_then(|list| endpoints::whole(&self.response, list));
        whole.unwrap_or_else(|| self.response.clone())
    }

    /// The answer to a request that changed nothing.
    pub fn refused(fail: Fail) -> Self {
        let response = StreamsGroupHeartbeatResponse {
            error_code: fail.code,
            error_message: fail.message.map(Str::from),
            ..Default::default()
        };
        Self { response, ..Default::default() }
    }
}

/// Work that a group shard asks its host to do.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupTask {
    ResolveRegexes(Box<ResolveRegexes>),
    /// Where these partitions, topics by id, end; for a streams group that waits for state (W-9).
    ChangelogEnds {
        group: Str,
        partitions: Vec<(Uuid, i32)>,
    },
}

/// Which topics the regular expressions of a consumer group mean, out of those that the caller may
/// describe. [`topics_of_regexes`](super::consumer::resolve::topics_of_regexes) does the matching.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolveRegexes {
    pub group: Str,
    /// Who sent the heartbeat that led to this.
    pub caller: Caller,
    pub regexes: Vec<Str>,
    pub started: Millis,
}

/// How a [`GroupTask`] ended.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupTaskResult {
    ResolveRegexes(ResolvedRegexes),
    /// Without the partitions that this broker does not have.
    ChangelogEnds {
        group: Str,
        ends: Vec<PartitionEnd>,
    },
}

/// The end of a [`ResolveRegexes`].
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedRegexes {
    pub group: Str,
    /// `None` if it took too long; a later heartbeat tries again.
    pub topics: Option<BTreeMap<Str, BTreeSet<Str>>>,
    /// Version of the image that was looked at.
    pub version: i64,
    pub started: Millis,
}

/// Where the log of a partition ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionEnd {
    pub topic: Uuid,
    pub index: i32,
    pub end: i64,
}
