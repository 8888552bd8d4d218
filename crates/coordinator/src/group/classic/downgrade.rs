//! A consumer group becomes a classic group: only members of the classic protocol are left (18.6).

use std::collections::BTreeSet;

use bytes::Bytes;
use wire::Str;

use super::desk::Desk;
use super::live::{Holds, Live, Member};
use super::tombstone_other;
use crate::group::consumer::{ConsumerGroup, ConsumerMember};
use crate::group::embedded;
use crate::group::step::Step;
use catalog::Image;

/// The members but those that are `gone` go on with their targets as assignments. With `calls` they are
/// called to join at once, because somebody left or the targets are old.
pub(in crate::group) fn take_over(
    step: &mut Step<'_>,
    id: &Str,
    generation: i32,
    gone: &BTreeSet<Str>,
    calls: bool,
) {
    let Some(group) = step.hard.consumer(id) else { return };
    let live = live(step.image, group, generation, step.now, gone);
    let id = id.detach();
    tombstone_other(step, &id);
    step.soft.classic.insert(id.clone(), live);
    let Some(mut desk) = Desk::open(step, &id) else { return };
    let record = desk.live.record(&desk.id, |_, member| member.assignment.clone());
    desk.record(record);
    let members: Vec<Str> = desk.live.members.keys().cloned().collect();
    members.iter().for_each(|it| desk.renew_session(it));
    if calls {
        desk.prepare_rebalance();
    }
}

fn live(image: &Image, group: &ConsumerGroup, generation: i32, now: i64, gone: &BTreeSet<Str>) -> Live {
    let staying = group.members().iter().filter(|(id, _)| !gone.contains(*id));
    let members = staying.filter_map(|(id, it)| Some((id.clone(), member(it)?))).collect();
    Live::of_consumers(generation, now, members, |id, metadata| {
        // What can't be written for lack of a version was never read either.
        let target = group.target(id).cloned().unwrap_or_default();
        embedded::write_assignment(image, &target, metadata).unwrap_or_default()
    })
}

/// `None` for a member of the consumer protocol.
fn member(it: &ConsumerMember) -> Option<Member> {
    let metadata = &it.metadata;
    let classic = metadata.classic.as_ref()?;
    Some(Member {
        instance_id: metadata.instance_id.clone(),
        client_id: metadata.client_id.clone(),
        client_host: metadata.client_host.clone(),
        rebalance_timeout_ms: metadata.rebalance_timeout_ms,
        session_timeout_ms: classic.session_timeout_ms,
        protocols: classic.protocols.clone(),
        assignment: Bytes::new(),
        join: None,
        sync: None,
        is_new: false,
        holds: Holds::This(it.current.held()),
    })
}
