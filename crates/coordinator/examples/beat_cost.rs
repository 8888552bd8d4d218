//! What a heartbeat of a member at rest costs the shard, by the number of members of the group: sockets, the codec and
//! the log are left out, `bench members` measures with them.
//!
//! `cargo run --release -p coordinator --example beat_cost`
//!
//! Prints nanoseconds of a step, the least of several runs. Members beat in the order of their ids, or in another one,
//! as those do whose ids are random.

#![allow(clippy::print_stdout, reason = "a tool for the terminal")]
#![allow(clippy::disallowed_methods, reason = "measures time, decides nothing by it")]

use std::time::{Duration, Instant};

use catalog::Image;
use coordinator::group::{GroupReply, GroupRequest, GroupShard};
use coordinator::{At, Caller, Cx, Entropy, Event, Machine, Millis, Output, Ticket};
use wire::consumer_offsets::group_metadata_value::MemberMetadata;
use wire::consumer_offsets::{
    ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue, ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue, ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue, GroupMetadataKey, GroupMetadataValue, Record,
};
use wire::{ConsumerGroupHeartbeatRequest, ErrorCode, HeartbeatRequest, Str};

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];
/// Steps of a run, and runs.
const STEPS: usize = 200_000;
const RUNS: u32 = 5;
const NOW: Millis = 1_800_000_000_000;
const GROUP: Str = Str::from_static("group-of-consumers");

#[derive(Clone, Copy)]
enum Kind {
    Classic,
    Consumer,
}

fn main() {
    println!("{:<28}{}", "", SIZES.map(|it| format!("{it:>9}")).concat());
    for (kind, name) in [(Kind::Classic, "classic"), (Kind::Consumer, "consumer")] {
        for (shuffled, order) in [(false, "in order"), (true, "in another one")] {
            let times = SIZES.map(|members| format!("{:>9.0}", measure(kind, members, shuffled)));
            println!("{:<28}{}", format!("{name}, {order}"), times.concat());
        }
    }
}

/// Nanoseconds of a heartbeat.
fn measure(kind: Kind, members: usize, shuffled: bool) -> f64 {
    let mut entropy = Entropy::seeded(7);
    let mut ids: Vec<Str> =
        (0..members).map(|_| Str::from(format!("consumer-1-{}", entropy.uuid()))).collect();
    let mut shard = GroupShard::default();
    for (offset, record) in (0..).zip(records(kind, &ids)) {
        shard.replay(At { offset, timestamp: NOW, producer: None }, &record);
    }
    if !shuffled {
        ids.sort();
    }
    let image = Image::default();
    let mut cx = Cx { now: NOW, offset: 1 << 40, image: &image, entropy: &mut entropy, slowest_answer: 0 };
    shard.loaded(&mut cx);
    let mut members: Vec<(Str, i32)> = ids.into_iter().map(|it| (it, 1)).collect();
    // After the load a consumer group looks at its topics anew.
    while !pass(kind, &mut shard, &mut cx, &mut members) {}
    let least = (0..RUNS).map(|_| run(kind, &mut shard, &mut cx, &members)).min();
    least.unwrap_or(Duration::MAX).as_secs_f64() * 1e9 / STEPS as f64
}

/// A heartbeat of each, by which it learns its epoch. Whether nothing was written.
fn pass(kind: Kind, shard: &mut GroupShard, cx: &mut Cx<'_>, members: &mut [(Str, i32)]) -> bool {
    let mut rests = true;
    for (id, epoch) in members {
        let output = step(shard, cx, ask(kind, id.clone(), *epoch));
        rests &= output.records.is_empty();
        cx.offset += i64::try_from(output.records.len()).unwrap_or(0);
        if let Some((_, GroupReply::ConsumerGroupHeartbeat(it))) = output.replies.first() {
            *epoch = it.member_epoch;
        }
    }
    rests
}

/// [`STEPS`] heartbeats, all made before.
fn run(kind: Kind, shard: &mut GroupShard, cx: &mut Cx<'_>, members: &[(Str, i32)]) -> Duration {
    let mut sum = Duration::ZERO;
    let mut all = members.iter().cycle().take(STEPS);
    loop {
        let events: Vec<_> =
            all.by_ref().take(10_000).map(|(id, epoch)| ask(kind, id.clone(), *epoch)).collect();
        if events.is_empty() {
            return sum;
        }
        let start = Instant::now();
        for event in events {
            let output = step(shard, cx, event);
            assert!(output.records.is_empty() && output.replies.iter().all(|(_, it)| succeeded(it)));
        }
        sum += start.elapsed();
    }
}

fn step(shard: &mut GroupShard, cx: &mut Cx<'_>, event: Event<GroupShard>) -> Output<GroupShard> {
    cx.now += 1;
    shard.step(cx, event)
}

fn succeeded(reply: &GroupReply) -> bool {
    let is_success = |code| code == ErrorCode::NONE;
    matches!(reply, GroupReply::Heartbeat(it) if is_success(it.error_code))
        || matches!(reply, GroupReply::ConsumerGroupHeartbeat(it) if is_success(it.error_code))
}

fn ask(kind: Kind, member_id: Str, epoch: i32) -> Event<GroupShard> {
    let (client_id, client_host) = ("consumer-1".into(), "/127.0.0.1".into());
    let caller = Caller { api_version: 1, connection: 1, client_id, client_host, ..Default::default() };
    Event::Ask { ticket: Ticket(1), caller, request: request(kind, member_id, epoch) }
}

fn request(kind: Kind, member_id: Str, epoch: i32) -> GroupRequest {
    match kind {
        Kind::Classic => GroupRequest::Heartbeat(HeartbeatRequest {
            group_id: GROUP,
            generation_id: epoch,
            member_id,
            ..Default::default()
        }),
        Kind::Consumer => GroupRequest::ConsumerGroupHeartbeat(Box::new(ConsumerGroupHeartbeatRequest {
            group_id: GROUP,
            member_id,
            member_epoch: epoch,
            instance_id: None,
            rack_id: None,
            server_assignor: None,
            subscribed_topic_names: None,
            subscribed_topic_regex: None,
            topic_partitions: None,
            ..Default::default()
        })),
    }
}

fn records(kind: Kind, ids: &[Str]) -> Vec<Record> {
    match kind {
        Kind::Classic => vec![classic(ids)],
        Kind::Consumer => consumers(ids),
    }
}

fn classic(ids: &[Str]) -> Record {
    let member = |member_id: &Str| MemberMetadata {
        member_id: member_id.clone(),
        client_id: "consumer-1".into(),
        client_host: "/127.0.0.1".into(),
        rebalance_timeout: 300_000,
        session_timeout: 1_800_000,
        ..Default::default()
    };
    let value = GroupMetadataValue {
        protocol_type: "consumer".into(),
        generation: 1,
        protocol: Some("range".into()),
        leader: ids.first().cloned(),
        members: ids.iter().map(member).collect(),
        ..Default::default()
    };
    Record::GroupMetadata(GroupMetadataKey { group: GROUP }, Some(value))
}

fn consumers(ids: &[Str]) -> Vec<Record> {
    let mut records = Vec::new();
    for member_id in ids {
        let value = ConsumerGroupMemberMetadataValue {
            instance_id: None,
            rack_id: None,
            subscribed_topic_regex: None,
            server_assignor: None,
            client_id: "consumer-1".into(),
            client_host: "/127.0.0.1".into(),
            rebalance_timeout_ms: 300_000,
            ..Default::default()
        };
        let key = ConsumerGroupMemberMetadataKey { group_id: GROUP, member_id: member_id.clone() };
        records.push(Record::ConsumerGroupMemberMetadata(key, Some(value)));
    }
    let value = ConsumerGroupMetadataValue { epoch: 1, ..Default::default() };
    records.push(Record::ConsumerGroupMetadata(ConsumerGroupMetadataKey { group_id: GROUP }, Some(value)));
    for member_id in ids {
        let key = ConsumerGroupTargetAssignmentMemberKey { group_id: GROUP, member_id: member_id.clone() };
        let value = ConsumerGroupTargetAssignmentMemberValue::default();
        records.push(Record::ConsumerGroupTargetAssignmentMember(key, Some(value)));
    }
    let key = ConsumerGroupTargetAssignmentMetadataKey { group_id: GROUP };
    let value = ConsumerGroupTargetAssignmentMetadataValue { assignment_epoch: 1, ..Default::default() };
    records.push(Record::ConsumerGroupTargetAssignmentMetadata(key, Some(value)));
    for member_id in ids {
        let key = ConsumerGroupCurrentMemberAssignmentKey { group_id: GROUP, member_id: member_id.clone() };
        let value = ConsumerGroupCurrentMemberAssignmentValue {
            member_epoch: 1,
            previous_member_epoch: 0,
            ..Default::default()
        };
        records.push(Record::ConsumerGroupCurrentMemberAssignment(key, Some(value)));
    }
    records
}
