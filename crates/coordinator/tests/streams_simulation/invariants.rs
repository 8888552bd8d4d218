//! 18.20: what holds whatever happened.

use std::collections::{BTreeMap, BTreeSet};

use coordinator::group::GroupShard;
use coordinator::group::streams::tasks::{AssignedTasks, TaskId};
use coordinator::group::streams::{StreamsGroup, StreamsMember};
use wire::Str;
use wire::consumer_offsets::Record;

use crate::client::Client;

/// Gives the number of warm-ups.
pub(crate) fn check(shard: &GroupShard, clients: &[Client]) -> usize {
    let Some(group) = shard.hard().streams(&Str::from("g")) else { return 0 };
    one_owner(group);
    one_copy_in_a_process(group);
    epochs(group);
    no_task_runs_twice(group, clients);
    few_warmups(group)
}

/// 363.
fn one_owner(group: &StreamsGroup) {
    let (mut owners, mut assigned) = (BTreeMap::new(), BTreeSet::new());
    for (id, member) in group.members() {
        let process = &member.metadata.process_id;
        for task in member.current.assigned.active.keys().chain(member.current.pending.active.keys()) {
            let other = owners.insert(task, process);
            assert!(other.is_none_or(|other| other == process), "{task} is held by two processes");
        }
        for task in member.current.assigned.active.keys() {
            assert!(assigned.insert(task), "{task} was assigned to a second member, {id}");
        }
    }
}

/// 364, with the exception of 4.4: a demoted task is a standby already while it is to be given up.
fn one_copy_in_a_process(group: &StreamsGroup) {
    let mut copies: BTreeMap<(&Str, &TaskId), (&Str, &str)> = BTreeMap::new();
    for (id, member) in group.members() {
        let current = &member.current;
        let held = roles(&current.assigned, "").chain(roles(&current.pending, "pending "));
        for (task, role, pending) in held {
            let name = if pending.is_empty() { role } else { "pending" };
            let other = copies.insert((&member.metadata.process_id, task), (id, name));
            let demoted = other.is_some_and(|(other, other_name)| {
                other == id && (other_name, name, role) == ("standby", "pending", "active")
            });
            assert!(other.is_none() || demoted, "{id} holds {task} as {pending}{role} beside {other:?}");
        }
    }
}

fn roles<'a>(
    tasks: &'a AssignedTasks,
    pending: &'static str,
) -> impl Iterator<Item = (&'a TaskId, &'static str, &'static str)> {
    let active = tasks.active.keys().map(move |it| (it, "active", pending));
    let standby = tasks.standby.iter().map(move |it| (it, "standby", pending));
    let warmup = tasks.warmup.iter().map(move |it| (it, "warm-up", pending));
    active.chain(standby).chain(warmup)
}

/// 370: epochs grow with their records, and with nothing else.
pub(crate) fn epochs_have_records(before: (i32, i32), group: &StreamsGroup, records: &[Record]) {
    let has = |is: fn(&Record) -> bool| records.iter().any(is);
    let with_group = has(|it| matches!(it, Record::StreamsGroupMetadata(_, Some(_))));
    let with_target = has(|it| matches!(it, Record::StreamsGroupTargetAssignmentMetadata(_, Some(_))));
    assert!(group.epoch == before.0 || with_group, "the group's epoch grew without record 17");
    assert!(
        group.assignment_epoch == before.1 || with_target,
        "the assignment's epoch grew without record 20"
    );
}

/// 365.
fn epochs(group: &StreamsGroup) {
    assert!(group.assignment_epoch <= group.epoch);
    for (id, member) in group.members() {
        let epoch = member.current.epoch;
        assert!(epoch <= group.assignment_epoch, "{id} at {epoch} is ahead of the targets");
    }
}

/// W-3, with the largest setting that the world ever has.
fn few_warmups(group: &StreamsGroup) -> usize {
    let held = |it: &StreamsMember| it.current.assigned.warmup.len() + it.current.pending.warmup.len();
    let count: usize = group.members().values().map(held).sum();
    assert!(count <= 2, "{count} warm-ups at once");
    count
}

/// What it is all for: no two members that the coordinator counts on process the same partition.
fn no_task_runs_twice(group: &StreamsGroup, clients: &[Client]) {
    let mut running = BTreeMap::new();
    let member = |client: &Client| group.member(&Str::from(&*client.id)).is_some() && client.epoch > 0;
    for client in clients.iter().filter(|it| member(it)) {
        for task in &client.owned[0] {
            let other = running.insert(task, &client.id);
            assert!(other.is_none(), "{task:?} runs in {} and in {other:?}", client.id);
        }
    }
}
