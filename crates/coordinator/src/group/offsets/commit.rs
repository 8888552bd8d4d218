//! OffsetCommit (key 8), v2–10, and TxnOffsetCommit (key 28), v0–6, behind the handler's checks of authorization and
//! of topics. A transactional commit has the same form: below v3 without member, below v6 without topic ids.
//!
//! What versions changed: 5 retention time removed (KIP-211), 6 leader epoch, 7 instance id,
//! 9 members of the new protocols and the codes GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH
//! (KIP-848), 10 topic ids. Here each topic has its name and its id.
//!
//! Checks in order; the first three fail every partition of the request:
//! 1. group exists, or epoch < 0     else GROUP_ID_NOT_FOUND (v9+), ILLEGAL_GENERATION (before)
//! 2. classic group: 9.3            else UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
//!    REBALANCE_IN_PROGRESS
//! 3. streams group: O-1             else UNKNOWN_MEMBER_ID, UNSUPPORTED_VERSION, STALE_MEMBER_EPOCH
//!    consumer group: 9.4            else the same
//! 4. per partition: metadata length else OFFSET_METADATA_TOO_LARGE
//!
//! An accepted commit keeps the session of a classic member, unless its group waits for the leader; it
//! does not touch that of a streams member (O-4).
//!
//! A transactional commit differs (KIP-447, KIP-1319; 10, O-5):
//! 1. and 3. below v6 the codes are ILLEGAL_GENERATION, in place of GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH
//! 2. and 3. who says nothing of a member is accepted; UNSUPPORTED_VERSION and REBALANCE_IN_PROGRESS never come
//!
//! It keeps no session. Its offsets are pending until the marker of its producer; its records form a batch of their
//! own, whose producer and epoch the log checks, before this is asked.

use crate::group::classic::{self, Live, State};
use crate::group::consumer::ConsumerGroup;
use crate::group::fail::Fail;
use crate::group::request::TxnOffsetCommit;
use crate::group::state::Group;
use crate::group::step::Step;
use crate::group::streams::StreamsGroup;
use crate::machine::{Caller, Millis};
use wire::consumer_offsets::{OffsetCommitValue, Record};
use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use wire::offset_commit::response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use wire::{ErrorCode, OffsetCommitRequest, OffsetCommitResponse, Str};

/// First version whose clients know the codes of KIP-848.
const MEMBER_EPOCH_VERSION: i16 = 9;
/// The same of TxnOffsetCommit (KIP-1319).
const TRANSACTIONAL_MEMBER_EPOCH_VERSION: i16 = 6;

/// Which of the two requests it is, for the rules in which they differ.
#[derive(Clone, Copy)]
struct Form {
    transactional: bool,
    /// The client knows the codes of KIP-848.
    knows_epochs: bool,
}

impl Form {
    /// Who says nothing of a member: an old client, or a producer without a group.
    fn is_nobody(self, request: &OffsetCommitRequest) -> bool {
        self.transactional
            && request.generation_id_or_member_epoch == -1
            && request.member_id.is_empty()
            && request.group_instance_id.is_none()
    }

    fn stale(self) -> ErrorCode {
        match self.transactional && !self.knows_epochs {
            true => ErrorCode::ILLEGAL_GENERATION,
            false => ErrorCode::STALE_MEMBER_EPOCH,
        }
    }
}

/// The whole response; the handler adds the partitions that it refused itself.
pub(in crate::group) fn answer(
    step: &mut Step<'_>,
    caller: &Caller,
    request: &OffsetCommitRequest,
) -> OffsetCommitResponse {
    let form = Form { transactional: false, knows_epochs: caller.api_version >= MEMBER_EPOCH_VERSION };
    let refused = check(step, form, request).err().map(|fail| fail.code);
    if refused.is_none() {
        classic::committed(step, &request.group_id, &request.member_id);
    }
    let topics = request.topics.iter().map(|topic| commit_topic(step, request, topic, refused));
    OffsetCommitResponse { topics: topics.collect(), ..Default::default() }
}

/// The whole response to a commit of a producer's transaction.
pub(in crate::group) fn answer_transactional(
    step: &mut Step<'_>,
    caller: &Caller,
    TxnOffsetCommit { producer_id, producer_epoch, commit: request }: &TxnOffsetCommit,
) -> OffsetCommitResponse {
    let knows_epochs = caller.api_version >= TRANSACTIONAL_MEMBER_EPOCH_VERSION;
    let form = Form { transactional: true, knows_epochs };
    let refused = check(step, form, request).err().map(|fail| fail.code);
    step.hard.within_transaction(*producer_id, *producer_epoch);
    let topics = request.topics.iter().map(|topic| commit_topic(step, request, topic, refused));
    OffsetCommitResponse { topics: topics.collect(), ..Default::default() }
}

/// Checks 1 to 3.
fn check(step: &Step<'_>, form: Form, request: &OffsetCommitRequest) -> Result<(), Fail> {
    match step.hard.group(&request.group_id) {
        // 9.2 rule 1: a simple group comes into being, whatever member and instance id say.
        None if request.generation_id_or_member_epoch < 0 => Ok(()),
        None if form.knows_epochs => Err(ErrorCode::GROUP_ID_NOT_FOUND.into()),
        None => Err(ErrorCode::ILLEGAL_GENERATION.into()),
        Some(Group::Simple | Group::Classic(_)) => {
            Ok(check_classic(step.soft.classic.get(&request.group_id), form, request)?)
        }
        Some(Group::Consumer(group)) => check_consumer(group, form, request),
        Some(Group::Streams(group)) => check_streams(group, form, request),
    }
}

/// 9.3. A group without an entry is empty.
fn check_classic(live: Option<&Live>, form: Form, request: &OffsetCommitRequest) -> Result<(), ErrorCode> {
    let generation = request.generation_id_or_member_epoch;
    let (member, instance) = (&request.member_id, request.group_instance_id.as_ref());
    let live = live.filter(|it| !it.is_empty());
    if generation < 0 && live.is_none() {
        return Ok(());
    }
    let live = live.ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
    if generation < 0 && member.is_empty() && instance.is_none() {
        return if form.transactional { Ok(()) } else { Err(ErrorCode::UNKNOWN_MEMBER_ID) };
    }
    live.validate_member(member, instance)?;
    if generation != live.generation() {
        return Err(ErrorCode::ILLEGAL_GENERATION);
    }
    match live.state() {
        State::Completing if !form.transactional => Err(ErrorCode::REBALANCE_IN_PROGRESS),
        // In Preparing members commit what they did in the generation that ends.
        State::Empty | State::Preparing | State::Completing | State::Stable => Ok(()),
    }
}

/// 9.4. One stale partition fails the whole request.
fn check_consumer(group: &ConsumerGroup, form: Form, request: &OffsetCommitRequest) -> Result<(), Fail> {
    let epoch = request.generation_id_or_member_epoch;
    let member_id = &request.member_id;
    if (epoch < 0 && group.is_empty()) || form.is_nobody(request) {
        return Ok(());
    }
    let Some(member) = group.member(member_id) else {
        return Err(ErrorCode::UNKNOWN_MEMBER_ID.into());
    };
    let is_classic = member.metadata.classic.is_some();
    if !is_classic && !form.transactional && !form.knows_epochs {
        return Err(ErrorCode::UNSUPPORTED_VERSION.into());
    }
    if epoch == member.current.epoch {
        return Ok(());
    }
    // KIP-1251: a commit of an older epoch is good for partitions held since then.
    let held_since = |topic: &OffsetCommitRequestTopic, partition: i32| {
        group.assignment_epoch_of(member_id, topic.topic_id, partition).is_some_and(|since| since <= epoch)
    };
    let fresh = epoch < member.current.epoch
        && request
            .topics
            .iter()
            .all(|topic| topic.partitions.iter().all(|it| held_since(topic, it.partition_index)));
    match (fresh, is_classic) {
        (true, _) => Ok(()),
        (false, true) => Err(ErrorCode::ILLEGAL_GENERATION.into()),
        (false, false) => Err(form.stale().into()),
    }
}

/// O-1 and O-5. One stale partition fails the whole request.
fn check_streams(group: &StreamsGroup, form: Form, request: &OffsetCommitRequest) -> Result<(), Fail> {
    let epoch = request.generation_id_or_member_epoch;
    let member = &request.member_id;
    if (epoch < 0 && group.is_empty()) || form.is_nobody(request) {
        return Ok(());
    }
    let Some(member_epoch) = group.member_epoch(member) else {
        return Err(ErrorCode::UNKNOWN_MEMBER_ID.into());
    };
    if !form.transactional && !form.knows_epochs {
        return Err(ErrorCode::UNSUPPORTED_VERSION.into());
    }
    if epoch == member_epoch {
        return Ok(());
    }
    // KIP-1251 for streams: a commit of an older epoch is good for tasks held since then.
    let held_since = |topic: &OffsetCommitRequestTopic, partition: i32| {
        group.assignment_epoch(member, &topic.name, partition).is_some_and(|since| since <= epoch)
    };
    let fresh = epoch < member_epoch
        && request
            .topics
            .iter()
            .all(|topic| topic.partitions.iter().all(|it| held_since(topic, it.partition_index)));
    if fresh { Ok(()) } else { Err(form.stale().into()) }
}

fn commit_topic(
    step: &mut Step<'_>,
    request: &OffsetCommitRequest,
    topic: &OffsetCommitRequestTopic,
    refused: Option<ErrorCode>,
) -> OffsetCommitResponseTopic {
    let partitions = topic.partitions.iter().map(|partition| OffsetCommitResponsePartition {
        partition_index: partition.partition_index,
        error_code: refused.unwrap_or_else(|| commit_partition(step, request, topic, partition)),
        ..Default::default()
    });
    OffsetCommitResponseTopic {
        partitions: partitions.collect(),
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        ..Default::default()
    }
}

/// Check 4, then the record. The value of the offset is not looked at, as in Kafka.
fn commit_partition(
    step: &mut Step<'_>,
    request: &OffsetCommitRequest,
    topic: &OffsetCommitRequestTopic,
    partition: &OffsetCommitRequestPartition,
) -> ErrorCode {
    let metadata = partition.committed_metadata.clone().unwrap_or_default();
    let longest = usize::try_from(step.image.broker().offset_metadata_max_bytes).unwrap_or(0);
    if utf16_len(&metadata) > longest {
        return ErrorCode::OFFSET_METADATA_TOO_LARGE;
    }
    let key = super::key(&request.group_id, &topic.name, partition.partition_index);
    let value = OffsetCommitValue {
        offset: partition.committed_offset,
        leader_epoch: partition.committed_leader_epoch,
        metadata,
        commit_timestamp: step.now,
        expire_timestamp: expiry(step.now, request.retention_time_ms),
        topic_id: topic.topic_id,
        ..Default::default()
    };
    step.record(Record::OffsetCommit(key, Some(stored(value))));
    ErrorCode::NONE
}

/// 9.1: only versions 2 to 4 can ask for a retention of their own.
fn expiry(now: Millis, retention_time_ms: i64) -> Millis {
    if retention_time_ms == -1 { -1 } else { now.saturating_add(retention_time_ms) }
}

/// The value as its version stores it: with an expiry it is written as version 1, which has neither
/// leader epoch nor topic id (20.1). Live and replayed state must not differ.
fn stored(value: OffsetCommitValue) -> OffsetCommitValue {
    if value.expire_timestamp == -1 {
        return value;
    }
    OffsetCommitValue { leader_epoch: -1, topic_id: wire::Uuid::ZERO, ..value }
}

/// Kafka measures strings in UTF-16 code units.
fn utf16_len(text: &Str) -> usize {
    text.to_str().encode_utf16().count()
}
