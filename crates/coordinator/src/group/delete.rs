//! DeleteGroups (key 42), v0–3, behind the handler's authorization.
//!
//! Checks in order, per group; one group's failure does not touch the others:
//! 1. group exists        else GROUP_ID_NOT_FOUND
//! 2. no members          else NON_EMPTY_GROUP
//!
//! These two carry no message: v3 has it for what a plugin refuses (KIP-1331), and there is none here.
//!
//! Doubles are dropped first. A deleted group leaves tombstones of all its offsets and then its own.
//! Internal topics of a streams group stay (DL-3).

use std::collections::BTreeSet;

use crate::group::classic;
use crate::group::consumer;
use crate::group::offsets;
use crate::group::state::Group;
use crate::group::step::Step;
use crate::group::streams;
use wire::consumer_offsets::Record;
use wire::delete_groups::response::DeletableGroupResult;
use wire::{ErrorCode, Str};

/// Deletes each group that may be deleted.
pub(super) fn delete(step: &mut Step<'_>, ids: Vec<Str>) -> Vec<DeletableGroupResult> {
    let mut seen = BTreeSet::new();
    let distinct = ids.into_iter().filter(|id| seen.insert(id.clone()));
    distinct.map(|id| result(delete_one(step, &id), id)).collect()
}

fn result(error_code: ErrorCode, group_id: Str) -> DeletableGroupResult {
    DeletableGroupResult { group_id, error_code, ..Default::default() }
}

fn delete_one(step: &mut Step<'_>, id: &Str) -> ErrorCode {
    let Some(group) = step.hard.group(id) else { return ErrorCode::GROUP_ID_NOT_FOUND };
    if !group.is_empty(step.soft.classic.get(id)) {
        return ErrorCode::NON_EMPTY_GROUP;
    }
    remove(step, id);
    ErrorCode::NONE
}

/// Removes a group without members: its offsets, its records, and what is remembered of it.
pub(super) fn remove(step: &mut Step<'_>, id: &Str) {
    let Some(group) = step.hard.group(id) else { return };
    let group_tombstones = tombstones(id, group);
    for record in offsets::tombstones(step.hard.offsets(), id) {
        step.record(record);
    }
    for record in group_tombstones {
        step.record(record);
    }
    classic::forget(step, id);
    consumer::forget(step, id);
    streams::forget(step, id);
    step.soft.history.forget(id);
}

/// 10.4 and 21.4, for a group without members. A simple group gets a tombstone although no record
/// of its own exists, as in Kafka.
fn tombstones(id: &Str, group: &Group) -> Vec<Record> {
    match group {
        Group::Simple | Group::Classic(_) => vec![classic::tombstone(id)],
        Group::Consumer(group) => consumer::group_tombstones(id, group),
        Group::Streams(group) => streams::group_tombstones(id, group),
    }
}
