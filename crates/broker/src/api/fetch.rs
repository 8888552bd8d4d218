//! Fetch (key 1), v4–18.
//!
//! v5 log start offset; v7 sessions (KIP-227); v8 throttles after the answer; v9 current leader epoch (KIP-320);
//! v10 zstd; v11 rack and preferred replica (KIP-392); v12 flexible, diverging epoch (KIP-595); v13 topic ids
//! (KIP-516); v15 replica state (KIP-903); v16 leader endpoints (KIP-951); v17, v18 fields of followers.
//!
//! Of the whole request:
//! 1. its isolation level is known         else INVALID_REQUEST; below v13 for each partition too, before v7 only there
//! 2. its session is known                 else FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH or
//!    FETCH_SESSION_TOPIC_ID_ERROR, and nothing else is answered
//!
//! Of each partition, in the order of the session:
//! 3. a follower: CLUSTER_ACTION           else TOPIC_AUTHORIZATION_FAILED
//! 4. v13: the topic id is known           else UNKNOWN_TOPIC_ID (K-5: if it was known in this session, rule 6)
//! 5. a consumer: READ on the topic        else TOPIC_AUTHORIZATION_FAILED
//! 6. the partition exists                 else UNKNOWN_TOPIC_OR_PARTITION
//! 7. its log is open                      else KAFKA_STORAGE_ERROR; no follower is known: NOT_LEADER_OR_FOLLOWER
//! 8. current leader epoch                 else FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH
//! 9. the last epoch was not cut off       else a diverging epoch without an error, or OFFSET_OUT_OF_RANGE
//! 10. start ≤ offset ≤ end                else OFFSET_OUT_OF_RANGE
//! 11. the log can be read                 else KAFKA_STORAGE_ERROR (below v6 NOT_LEADER_OR_FOLLOWER)
//!
//! Rules 7 to 11 end a long poll at once, the others do not (K-11). Otherwise it ends with `min_bytes` or with time,
//! or when another request waits behind it on its connection (`thalweg.fetch.yield`): answers go out in order, and
//! a consumer that asks where a new partition begins would wait for the poll of the others. Another Fetch behind it
//! ends nothing, else a client that sends two at a time would never wait.
//! All whole batches that fit into `max_bytes` and the partition's own limit are given, and one even if it does not
//! fit, for the first partition with data. The preferred replica is always -1: there is one replica.
//!
//! Cost per partition: a look-up of the topic and of the log, and one read, which gives references: batches of the
//! tail cache as they lie in memory, others as slices of files that go out by `sendfile`. No record is copied. A
//! long poll costs one allocation per partition, and each move of a high watermark one read of that partition.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use catalog::config::Profile;
use catalog::{Image, PartitionInfo};
use storage::partition::{EpochEnd, Isolation, Partition, ReadError, ReadResult, ReadSpec, Waiter};
use storage::{Ends, Slices};
use tokio::time::{Instant, timeout_at};
use wire::fetch::request::FetchTopic;
use wire::fetch::response::{
    AbortedTransaction, EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
};
use wire::{ErrorCode, FetchRequest, FetchResponse, Records, Str, Uuid};

use super::{Handler, current_leader};
use crate::auth::{Operation, Resource};
use crate::call::Call;
use crate::fetch_session::{Asked, Context, News, TopicKey, Want};

impl Handler for FetchRequest {
    const SERVED: RangeInclusive<i16> = 4..=18;

    async fn handle(call: Call, request: Self) -> FetchResponse {
        let limits = match Limits::new(&call, &request) {
            Ok(limits) => limits,
            Err(error_code) => return refusal(call.version, request, error_code),
        };
        let asked = Asked {
            session_id: request.session_id,
            session_epoch: request.session_epoch,
            topics: request.topics,
            forgotten: request.forgotten_topics_data,
            by_topic_id: call.version >= 13,
            privileged: limits.is_follower,
        };
        let context = match call.broker.fetch_sessions.begin(asked, call.now()).await {
            Ok(context) => context,
            Err(error_code) => return FetchResponse { error_code, ..Default::default() },
        };
        let mut fetch = Fetch::new(call, limits, context);
        fetch.poll().await;
        fetch.answer()
    }
}

/// Isolation level of a request.
pub(super) fn isolation(level: i8) -> Result<Isolation, ErrorCode> {
    match level {
        0 => Ok(Isolation::ReadUncommitted),
        1 => Ok(Isolation::ReadCommitted),
        _ => Err(ErrorCode::INVALID_REQUEST),
    }
}

/// Nothing is looked at. Where topics have names each partition is told too: before v7 there is no other place.
fn refusal(version: i16, request: FetchRequest, error_code: ErrorCode) -> FetchResponse {
    let topics = if version < 13 { request.topics } else { Vec::new() };
    let partition = |partition_index| PartitionData {
        partition_index,
        error_code,
        high_watermark: -1,
        aborted_transactions: Some(Vec::new()),
        records: Some(Records::EMPTY),
        ..Default::default()
    };
    let topic = |topic: FetchTopic| FetchableTopicResponse {
        topic: topic.topic,
        partitions: topic.partitions.into_iter().map(|it| partition(it.partition)).collect(),
        ..Default::default()
    };
    let responses = topics.into_iter().map(topic).collect();
    // The code of the whole came with sessions.
    let error_code = if version < 7 { ErrorCode::NONE } else { error_code };
    FetchResponse { error_code, responses, ..Default::default() }
}

/// What a client is told about a read that failed.
pub(super) fn code(error: ReadError) -> ErrorCode {
    match error {
        ReadError::OutOfRange { .. } => ErrorCode::OFFSET_OUT_OF_RANGE,
        ReadError::FencedEpoch => ErrorCode::FENCED_LEADER_EPOCH,
        ReadError::UnknownEpoch => ErrorCode::UNKNOWN_LEADER_EPOCH,
        ReadError::Storage(_) => ErrorCode::KAFKA_STORAGE_ERROR,
        ReadError::NotLeader => ErrorCode::NOT_LEADER_OR_FOLLOWER,
    }
}

/// What a request asks for as a whole.
struct Limits {
    max_bytes: usize,
    min_bytes: usize,
    max_wait: Duration,
    isolation: Isolation,
    is_follower: bool,
    /// The wait ends when another request waits behind this one.
    yields: bool,
}

impl Limits {
    fn new(call: &Call, request: &FetchRequest) -> Result<Self, ErrorCode> {
        let image = call.image();
        let settings = image.broker();
        let max_bytes = request.max_bytes.min(settings.fetch_max_bytes);
        let max_bytes = usize::try_from(max_bytes).unwrap_or(0);
        let replica_id =
            if call.version >= 15 { request.replica_state.replica_id } else { request.replica_id };
        Ok(Self {
            max_bytes,
            min_bytes: usize::try_from(request.min_bytes).unwrap_or(0).min(max_bytes),
            max_wait: Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0)),
            isolation: isolation(request.isolation_level)?,
            is_follower: replica_id >= 0,
            yields: settings.thalweg_fetch_yield && settings.thalweg_profile == Profile::Thalweg,
        })
    }
}

/// One request on its way.
struct Fetch {
    call: Call,
    limits: Limits,
    context: Context,
    /// In the order of the context's partitions.
    parts: Vec<Part>,
    /// Bytes of all that was read.
    bytes: usize,
    /// Something was found that the client must hear at once.
    urgent: bool,
}

/// One partition on its way.
struct Part {
    id: (Uuid, i32),
    /// None if nothing is to be read, or no more.
    log: Option<Arc<Partition>>,
    /// The answer, but for the records.
    entry: PartitionData,
    slices: Slices,
    seen: Ends,
    /// Bytes that could be read but did not fit: they count for `min_bytes`, else the client would wait for what
    /// it can't get together.
    held_back: usize,
}

impl Fetch {
    fn new(call: Call, limits: Limits, mut context: Context) -> Self {
        let image = call.image();
        let may_follow = !limits.is_follower || call.allow(Operation::ClusterAction, Resource::Cluster);
        let mut urgent = false;
        let mut parts = Vec::new();
        for want in context.wants_mut() {
            let found = match (may_follow, limits.is_follower) {
                (true, false) => find(&call, &image, want),
                (true, true) => follower(&call, &image, want),
                (false, _) => Err(Stop::Absent(ErrorCode::TOPIC_AUTHORIZATION_FAILED)),
            };
            urgent |= matches!(found, Err(Stop::Unreadable(_)));
            parts.push(Part::new(want, found));
        }
        Self { call, limits, context, parts, bytes: 0, urgent }
    }

    /// Reads until there is enough, or time is up.
    async fn poll(&mut self) {
        let deadline = Instant::now() + self.limits.max_wait;
        let mut waiter = Waiter::new();
        let mut news: Vec<usize> = (0..self.parts.len()).collect();
        self.read(&news, true).await;
        while !self.is_enough() {
            for (tag, part) in news.iter().filter_map(|tag| Some((*tag, self.parts.get(*tag)?))) {
                if let Some(log) = &part.log {
                    waiter.watch(tag, log.ends(), part.seen);
                }
            }
            tokio::select! {
                changed = timeout_at(deadline, waiter.changed()) => match changed {
                    Ok(changed) => news = changed,
                    Err(_elapsed) => return,
                },
                () = self.call.followed(), if self.limits.yields => return,
            }
            self.read(&news, false).await;
        }
    }

    fn is_enough(&self) -> bool {
        let held_back: usize = self.parts.iter().map(|part| part.held_back).sum();
        self.limits.max_wait.is_zero()
            || self.urgent
            || self.bytes + held_back >= self.limits.min_bytes
            || self.parts.iter().all(|part| part.log.is_none())
    }

    /// Reads these partitions, those that were read before anew; what others gave counts against the limit.
    async fn read(&mut self, tags: &[usize], settle: bool) {
        let wants = self.context.wants();
        for tag in tags {
            let (Some(want), Some(part)) = (wants.get(*tag), self.parts.get_mut(*tag)) else { continue };
            let Some(log) = part.log.clone() else { continue };
            self.bytes -= part.slices.size();
            let spec = ReadSpec {
                from: want.fetch_offset,
                max_bytes: want.max_bytes.min(self.limits.max_bytes.saturating_sub(self.bytes)),
                at_least_one: self.bytes == 0,
                isolation: self.limits.isolation,
                settle,
            };
            match look(&log, want, spec).await {
                Ok(Look::Read(read)) => part.fill(read, want, self.limits.isolation),
                Ok(Look::Diverging(end)) => {
                    part.diverge(&log, end);
                    self.urgent = true;
                }
                Err(error) => {
                    part.fail(read_code(&self.call, part.id, error));
                    self.urgent = true;
                }
            }
            self.bytes += part.slices.size();
        }
    }

    fn answer(mut self) -> FetchResponse {
        let news: Vec<_> = self.parts.iter().map(Part::news).collect();
        let selected = self.context.select(&news);
        let mut responses: Vec<FetchableTopicResponse> = Vec::new();
        let mut node_endpoints = Vec::new();
        let chosen = self.context.wants().into_iter().zip(self.parts).zip(selected);
        for ((want, part), _) in chosen.filter(|(_, selected)| *selected) {
            let entry = part.finish(&self.call, &mut node_endpoints);
            let (topic, topic_id) = match &want.topic {
                TopicKey::Name(name) => (name.clone(), Uuid::ZERO),
                TopicKey::Id(id) => (Str::default(), *id),
            };
            match responses.last_mut() {
                Some(last) if last.topic == topic && last.topic_id == topic_id => last.partitions.push(entry),
                Some(_) | None => {
                    let partitions = vec![entry];
                    responses.push(FetchableTopicResponse {
                        topic,
                        topic_id,
                        partitions,
                        ..Default::default()
                    });
                }
            }
        }
        let session_id = self.context.end(&self.call.broker.fetch_sessions, &news, self.call.now());
        FetchResponse { session_id, responses, node_endpoints, ..Default::default() }
    }
}

/// Why a partition is not read.
enum Stop {
    /// It is not there, or not for this client. Others are waited for nevertheless (K-11).
    Absent(ErrorCode),
    Unreadable(ErrorCode),
}

type Found = ((Uuid, i32), Arc<Partition>);

/// Rules 4 to 7.
fn find(call: &Call, image: &Image, want: &mut Want) -> Result<Found, Stop> {
    let topic = match &want.topic {
        TopicKey::Id(id) => image.topic_by_id(*id),
        TopicKey::Name(name) => name.as_str().and_then(|name| image.topic(name)),
    };
    if let (TopicKey::Id(_), Some(topic), None) = (&want.topic, topic, &want.name) {
        want.name = Some(topic.name.clone());
    }
    let name = match (&want.topic, &want.name) {
        (TopicKey::Name(name), _) => name.as_bytes(),
        (TopicKey::Id(_), Some(name)) => name.as_bytes(),
        (TopicKey::Id(_), None) => return Err(Stop::Absent(ErrorCode::UNKNOWN_TOPIC_ID)),
    };
    if !call.allow(Operation::Read, Resource::Topic(name)) {
        return Err(Stop::Absent(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    }
    let topic = topic.filter(|topic| topic.partition(want.index).is_some());
    let topic = topic.ok_or(Stop::Absent(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION))?;
    let log = call.broker.partitions.get(topic.id, want.index);
    let log = log.ok_or_else(|| Stop::Unreadable(storage_error(call.version)))?;
    Ok(((topic.id, want.index), log))
}

/// There is one replica, so nobody who follows is one of them.
fn follower(call: &Call, image: &Image, want: &mut Want) -> Result<Found, Stop> {
    find(call, image, want).and(Err(Stop::Unreadable(ErrorCode::NOT_LEADER_OR_FOLLOWER)))
}

enum Look {
    Read(ReadResult),
    Diverging(EpochEnd),
}

/// Rules 8 to 11.
async fn look(log: &Partition, want: &Want, spec: ReadSpec) -> Result<Look, ReadError> {
    log.check_epoch(want.current_leader_epoch)?;
    if let Some(end) = log.diverging(want.last_fetched_epoch, want.fetch_offset)? {
        return Ok(Look::Diverging(end));
    }
    log.read(spec).await.map(Look::Read)
}

/// A log that ended is one that was deleted, or one that another broker has now.
fn read_code(call: &Call, id: (Uuid, i32), error: ReadError) -> ErrorCode {
    match code(error) {
        ErrorCode::KAFKA_STORAGE_ERROR => storage_error(call.version),
        ErrorCode::NOT_LEADER_OR_FOLLOWER if partition_info(&call.image(), id).is_none() => {
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        }
        other => other,
    }
}

/// Consumers of that time do not know the code.
fn storage_error(version: i16) -> ErrorCode {
    if version <= 5 { ErrorCode::NOT_LEADER_OR_FOLLOWER } else { ErrorCode::KAFKA_STORAGE_ERROR }
}

fn partition_info(image: &Image, (topic, index): (Uuid, i32)) -> Option<&PartitionInfo> {
    image.topic_by_id(topic)?.partition(index)
}

impl Part {
    fn new(want: &Want, found: Result<Found, Stop>) -> Self {
        let entry = PartitionData {
            partition_index: want.index,
            records: Some(Records::EMPTY),
            ..Default::default()
        };
        let (slices, seen) = (Slices::default(), Ends::default());
        let mut part = Self { id: (Uuid::ZERO, want.index), log: None, entry, slices, seen, held_back: 0 };
        match found {
            Ok((id, log)) => (part.id, part.log) = (id, Some(log)),
            Err(Stop::Absent(code)) => {
                part.fail(code);
                part.entry.aborted_transactions = Some(Vec::new());
            }
            Err(Stop::Unreadable(code)) => part.fail(code),
        }
        part
    }

    fn fill(&mut self, read: ReadResult, want: &Want, isolation: Isolation) {
        let bound = match isolation {
            Isolation::ReadUncommitted => read.high_watermark,
            Isolation::ReadCommitted => read.last_stable_offset,
        };
        let fits_not = read.slices.is_empty() && want.fetch_offset < bound;
        self.held_back = if fits_not { want.max_bytes } else { 0 };
        self.entry.high_watermark = read.high_watermark;
        self.entry.last_stable_offset = read.last_stable_offset;
        self.entry.log_start_offset = read.log_start;
        self.entry.aborted_transactions = read.aborted.map(|aborted| {
            let entry = |it: storage::Aborted| AbortedTransaction {
                producer_id: it.producer_id,
                first_offset: it.first_offset,
                ..Default::default()
            };
            aborted.into_iter().map(entry).collect()
        });
        self.slices = read.slices;
        self.seen = read.seen;
    }

    fn diverge(&mut self, log: &Partition, end: EpochEnd) {
        self.entry.high_watermark = log.high_watermark();
        self.entry.last_stable_offset = log.last_stable_offset();
        self.entry.log_start_offset = log.log_start();
        self.entry.aborted_transactions = None;
        self.entry.diverging_epoch =
            EpochEndOffset { epoch: end.epoch, end_offset: end.end, ..Default::default() };
        self.stop();
    }

    fn fail(&mut self, error_code: ErrorCode) {
        let partition_index = self.entry.partition_index;
        self.entry = PartitionData {
            partition_index,
            error_code,
            high_watermark: -1,
            last_stable_offset: -1,
            log_start_offset: -1,
            aborted_transactions: None,
            records: Some(Records::EMPTY),
            ..Default::default()
        };
        self.stop();
    }

    fn stop(&mut self) {
        self.log = None;
        self.slices = Slices::default();
        self.held_back = 0;
    }

    fn news(&self) -> News {
        let diverges = self.entry.diverging_epoch.epoch >= 0 || self.entry.diverging_epoch.end_offset >= 0;
        News {
            high_watermark: self.entry.high_watermark,
            log_start: self.entry.log_start_offset,
            failed: self.entry.error_code != ErrorCode::NONE || diverges,
            has_records: !self.slices.is_empty(),
        }
    }

    /// The entry with its records, and with the leader where the client went wrong.
    fn finish(self, call: &Call, endpoints: &mut Vec<NodeEndpoint>) -> PartitionData {
        let Self { id, mut entry, slices, .. } = self;
        if !slices.is_empty() {
            entry.records = Some(Records::new(slices.items.into_iter().map(|it| call.chunk(it)).collect()));
        }
        let wrong_leader = [ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::FENCED_LEADER_EPOCH];
        if call.version >= 12 && wrong_leader.contains(&entry.error_code) {
            let image = call.image();
            if let Some(info) = partition_info(&image, id) {
                entry.current_leader = leader(call, &image, info, endpoints);
            }
        }
        entry
    }
}

/// The leader, whose address goes into the answer once.
fn leader(
    call: &Call,
    image: &Image,
    info: &PartitionInfo,
    endpoints: &mut Vec<NodeEndpoint>,
) -> LeaderIdAndEpoch {
    let wanted = call.version >= 16 && !endpoints.iter().any(|it| it.node_id == info.leader);
    if wanted && let Some(node) = current_leader::endpoint(call, image, info) {
        let (host, port, rack) = (node.host, node.port, node.rack);
        endpoints.push(NodeEndpoint { node_id: node.id, host, port, rack, ..Default::default() });
    }
    LeaderIdAndEpoch { leader_id: info.leader, leader_epoch: info.leader_epoch, ..Default::default() }
}
