//! Commits that were refused, by the shard or by the broker before it asked the shard.

use super::{Happened, Kind};
use crate::group::request::CommitRefused;
use crate::group::step::Step;
use wire::{ErrorCode, OffsetCommitRequest, OffsetCommitResponse, Str};

/// What partitions of one commit were refused with: an event for each code, which names the first of its partitions.
pub fn refusals(
    member: &Str,
    epoch: i32,
    partitions: impl IntoIterator<Item = (Str, i32, ErrorCode)>,
) -> Vec<Happened> {
    // Bounded by the codes that there are.
    let mut by_code: Vec<(ErrorCode, Str, i32, usize)> = Vec::new();
    for (topic, partition, code) in partitions {
        match by_code.iter_mut().find(|it| it.0 == code) {
            Some((.., more)) => *more += 1,
            None if code == ErrorCode::NONE => {}
            None => by_code.push((code, topic, partition, 0)),
        }
    }
    let happened = |(code, topic, partition, more)| {
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let happened = Happened::new(Kind::CommitRefused).member(member).code(code).epoch(epoch);
        happened.detail(&format!("{topic}-{partition}{more}"))
    };
    by_code.into_iter().map(happened).collect()
}

/// Tells of partitions that the shard refused.
pub(in crate::group) fn answered(
    step: &mut Step<'_>,
    request: &OffsetCommitRequest,
    response: &OffsetCommitResponse,
) {
    let partitions = response.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|it| (topic.name.clone(), it.partition_index, it.error_code))
    });
    let refusals = refusals(&request.member_id, request.generation_id_or_member_epoch, partitions);
    tell(step, &request.group_id, refusals);
}

/// Tells of partitions that the broker refused.
pub(in crate::group) fn refused(step: &mut Step<'_>, refused: CommitRefused) {
    tell(step, &refused.group_id, refused.refusals);
}

/// Nothing is kept of groups that do not exist: anybody could name them.
fn tell(step: &mut Step<'_>, group: &Str, refusals: Vec<Happened>) {
    if step.hard.group(group).is_some() {
        refusals.into_iter().for_each(|it| step.telling().tell(group, it));
    }
}
