//! OffsetCommit (key 8), v2–10: stores offsets of a group.
//!
//! v5: no retention time (KIP-211). v6: leader epochs. v7: instance ids. v9: members of the new protocols. v10: topic
//! ids in place of names. The shard's own checks stand in `coordinator/src/group/offsets/commit.rs`.
//!
//! 1. READ on the group          else GROUP_AUTHORIZATION_FAILED on every partition
//! 2. v10: the topic id is known else UNKNOWN_TOPIC_ID on its partitions
//! 3. READ on the topic          else TOPIC_AUTHORIZATION_FAILED on its partitions
//! 4. the topic exists           else UNKNOWN_TOPIC_OR_PARTITION on its partitions
//! 5. the partition exists       else UNKNOWN_TOPIC_OR_PARTITION
//! 6. the shard answers          else NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS on every partition
//!
//! If nothing is left after 5 the shard is not asked, so errors of the group are not told (5.3 rule 5). What was refused
//! here comes first in the answer, each topic of it once; a topic that has accepted partitions too is one topic.
//!
//! The group's history has what was refused from 2 on; who may not read the group puts nothing into it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use catalog::{Image, Topic};
use coordinator::group::history::Happened;
use coordinator::group::history::commits::refusals;
use coordinator::group::request::CommitRefused;
use coordinator::group::{GroupReply, GroupRequest};
use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use wire::offset_commit::response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use wire::{ErrorCode, OffsetCommitRequest, OffsetCommitResponse, Str, Uuid};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

/// First version that names topics by id.
const BY_ID: i16 = 10;

impl Handler for OffsetCommitRequest {
    const SERVED: RangeInclusive<i16> = 2..=10;

    async fn handle(call: Call, mut request: Self) -> OffsetCommitResponse {
        if !call.allow(Operation::Read, Resource::Group(request.group_id.as_bytes())) {
            let refused = |topic: &_| refused_topic(topic, ErrorCode::GROUP_AUTHORIZATION_FAILED);
            return answer(&call, request.topics.iter().map(refused).collect());
        }
        let mut results = Results::default();
        let topics = std::mem::take(&mut request.topics).into_iter();
        let accepted: Vec<_> =
            topics.filter_map(|topic| sort_out(&call, call.version >= BY_ID, topic, &mut results)).collect();
        let (group, member) = (request.group_id.clone(), request.member_id.clone());
        let epoch = request.generation_id_or_member_epoch;
        let answered = match accepted.is_empty() {
            true => Vec::new(),
            false => ask(&call, Self { topics: accepted, ..request }).await,
        };
        // After the question, since what is accepted may make the group.
        tell(&call, &group, refusals(&member, epoch, results.refused(call.version >= BY_ID)));
        answer(&call, results.with(answered))
    }
}

/// Check 6.
async fn ask(call: &Call, request: OffsetCommitRequest) -> Vec<OffsetCommitResponseTopic> {
    let asked = request.topics.clone();
    let group = request.group_id.clone();
    let question = GroupRequest::OffsetCommit(request);
    let code = match call.broker.groups.ask(&group, call.caller.clone(), question).await {
        Ok(GroupReply::OffsetCommit(reply)) => return reply.topics,
        Ok(other) => super::mismatch("OffsetCommit", &other),
        Err(unavailable) => unavailable.into(),
    };
    asked.iter().map(|topic| refused_topic(topic, code)).collect()
}

/// Tells the group of what was refused here. The letter outlives the request, so it keeps nothing of its frame.
pub(super) fn tell(call: &Call, group: &Str, refusals: Vec<Happened>) {
    if !refusals.is_empty() {
        let refused = CommitRefused { group_id: group.detach(), refusals };
        call.broker.groups.tell(group, GroupRequest::CommitRefused(refused));
    }
}

/// Checks 2 to 5: what goes to the shard, with name and id, if anything does; what is refused is put into `results`.
pub(super) fn sort_out(
    call: &Call,
    by_id: bool,
    mut topic: OffsetCommitRequestTopic,
    results: &mut Results,
) -> Option<OffsetCommitRequestTopic> {
    let image = call.image();
    let known = match find(by_id, &image, &topic) {
        Ok(known) => known,
        Err(code) => return results.refuse(&topic, code),
    };
    if let Some(known) = known {
        topic.name = Str::from(&*known.name);
    }
    if !call.allow(Operation::Read, Resource::Topic(topic.name.as_bytes())) {
        return results.refuse(&topic, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    }
    let Some(known) = known else {
        return results.refuse(&topic, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    };
    topic.topic_id = known.id;
    let exists =
        |partition: &OffsetCommitRequestPartition| known.partition(partition.partition_index).is_some();
    let (keep, missing): (_, Vec<_>) = std::mem::take(&mut topic.partitions).into_iter().partition(exists);
    if !missing.is_empty() {
        let missing = OffsetCommitRequestTopic { partitions: missing, ..topic.clone() };
        results.add(refused_topic(&missing, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    }
    topic.partitions = keep;
    Some(topic).filter(|it| !it.partitions.is_empty())
}

/// The topic, if there is one. An unknown id is an error of its own, whoever asks.
fn find<'a>(
    by_id: bool,
    image: &'a Image,
    topic: &OffsetCommitRequestTopic,
) -> Result<Option<&'a Topic>, ErrorCode> {
    if by_id {
        return image.topic_by_id(topic.topic_id).map(Some).ok_or(ErrorCode::UNKNOWN_TOPIC_ID);
    }
    Ok(topic.name.as_str().and_then(|name| image.topic(name)))
}

/// The topics of an answer as far as they are known before the shard is asked.
#[derive(Default)]
pub(super) struct Results {
    pub(super) topics: Vec<OffsetCommitResponseTopic>,
    places: BTreeMap<(Str, Uuid), usize>,
}

impl Results {
    /// Refuses a whole topic, of which nothing is left.
    fn refuse<T>(&mut self, topic: &OffsetCommitRequestTopic, code: ErrorCode) -> Option<T> {
        self.add(refused_topic(topic, code));
        None
    }

    fn add(&mut self, topic: OffsetCommitResponseTopic) {
        let place = self.places.entry((topic.name.clone(), topic.topic_id)).or_insert(self.topics.len());
        match self.topics.get_mut(*place) {
            Some(known) => known.partitions.extend(topic.partitions),
            None => self.topics.push(topic),
        }
    }

    /// What was refused so far, by topic and partition.
    pub(super) fn refused(&self, by_id: bool) -> impl Iterator<Item = (Str, i32, ErrorCode)> {
        self.topics.iter().flat_map(move |topic| {
            let name = named(by_id, topic);
            topic.partitions.iter().map(move |it| (name.clone(), it.partition_index, it.error_code))
        })
    }

    /// Adds what the shard answered; if nothing was refused it is the answer as it stands.
    pub(super) fn with(mut self, answered: Vec<OffsetCommitResponseTopic>) -> Vec<OffsetCommitResponseTopic> {
        if self.topics.is_empty() {
            return answered;
        }
        for topic in answered {
            self.add(topic);
        }
        self.topics
    }
}

/// How a group hears of a topic of which something was refused. Who names a topic by its id and may not read it must not
/// find its name in the group's history.
fn named(by_id: bool, topic: &OffsetCommitResponseTopic) -> Str {
    let code = topic.partitions.first().map(|it| it.error_code);
    match code {
        Some(ErrorCode::UNKNOWN_TOPIC_ID | ErrorCode::TOPIC_AUTHORIZATION_FAILED) if by_id => {
            Str::from(topic.topic_id.to_string())
        }
        _ => topic.name.clone(),
    }
}

pub(super) fn refused_topic(
    topic: &OffsetCommitRequestTopic,
    error_code: ErrorCode,
) -> OffsetCommitResponseTopic {
    let partition = |partition: &OffsetCommitRequestPartition| OffsetCommitResponsePartition {
        partition_index: partition.partition_index,
        error_code,
        ..Default::default()
    };
    OffsetCommitResponseTopic {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: topic.partitions.iter().map(partition).collect(),
        ..Default::default()
    }
}

/// Names or ids, as the version has them.
fn answer(call: &Call, mut topics: Vec<OffsetCommitResponseTopic>) -> OffsetCommitResponse {
    for topic in &mut topics {
        match call.version >= BY_ID {
            true => topic.name = Str::default(),
            false => topic.topic_id = Uuid::ZERO,
        }
    }
    OffsetCommitResponse { topics, ..Default::default() }
}
