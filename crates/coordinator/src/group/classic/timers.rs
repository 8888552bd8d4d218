//! What happens to classic groups without a request of theirs: deadlines pass, a shard is loaded, offsets
//! are committed, the group goes.

use wire::{ErrorCode, Str};

use super::desk::{Desk, refused_join, refused_sync};
use super::live::{Live, State};
use crate::group::soft::TimerKey;
use crate::group::state::Group;
use crate::group::step::Step;

/// 6.20: the groups as their records tell, with full sessions from now. A group that is larger than is
/// allowed now rebalances, so that its members can commit before some of them are sent away.
pub fn loaded(step: &mut Step<'_>) {
    let groups = step.hard.groups().filter_map(|(id, group)| match group {
        Group::Classic(record) => Some((id.clone(), Live::of(record))),
        Group::Simple | Group::Consumer(_) | Group::Streams(_) => None,
    });
    step.soft.classic = groups.collect();
    let ids: Vec<Str> = step.soft.classic.keys().cloned().collect();
    for id in ids {
        let Some(mut desk) = Desk::open(step, &id) else { continue };
        let members: Vec<Str> = desk.live.members.keys().cloned().collect();
        let max = usize::try_from(desk.image.broker().group_max_size).unwrap_or(0);
        for member in &members {
            desk.renew_session(member);
        }
        if members.len() > max {
            desk.prepare_rebalance();
        }
    }
}

/// Forgets a group whose tombstone was just recorded. Nobody waits for an answer of it; ids may have been
/// given out.
pub fn forget(step: &mut Step<'_>, group: &Str) {
    step.soft.classic_pulses.remove(group);
    let Some(live) = step.soft.classic.remove(group) else { return };
    let timers = &mut step.soft.timers;
    for member in live.members.keys().chain(&live.pending) {
        timers.cancel(&TimerKey::ClassicSession { group: group.clone(), member: member.clone() });
    }
    timers.cancel(&TimerKey::ClassicJoin { group: group.clone() });
    timers.cancel(&TimerKey::ClassicSync { group: group.clone() });
}

/// 18.5: the group goes on as another one. Who waits for an answer shall join again.
pub(in crate::group) fn call_all(step: &mut Step<'_>, group: &Str) {
    let Some(mut desk) = Desk::open(step, group) else { return };
    let members: Vec<Str> = desk.live.members.keys().cloned().collect();
    for id in members {
        if let Some(ticket) = desk.live.unpark_join(&id) {
            desk.answer_join(ticket, refused_join(id.clone(), ErrorCode::REBALANCE_IN_PROGRESS));
        }
        if let Some(ticket) = desk.live.members.get_mut(&id).and_then(|it| it.sync.take()) {
            desk.answer_sync(ticket, refused_sync(ErrorCode::REBALANCE_IN_PROGRESS));
        }
    }
}

/// 9.2 rule 3: who commits is alive.
pub fn committed(step: &mut Step<'_>, group: &Str, member: &Str) {
    if let Some(mut desk) = Desk::open(step, group)
        && matches!(desk.live.state, State::Stable | State::Preparing)
    {
        desk.renew_session(member);
    }
}

/// 6.17. A member that waits for an answer of ours need not be heard of, unless it is new.
pub fn session_over(step: &mut Step<'_>, group: &Str, member: &Str) {
    let Some(mut desk) = Desk::open(step, group) else { return };
    let waits =
        desk.live.members.get(member).map(|it| !it.is_new && (it.join.is_some() || it.sync.is_some()));
    if waits == Some(true) || (waits.is_none() && !desk.live.pending.contains(member)) {
        return;
    }
    desk.remove_member(member);
    match desk.live.state {
        State::Stable | State::Completing if waits.is_some() => desk.prepare_rebalance(),
        State::Preparing if desk.live.all_joined() => desk.complete_join(),
        State::Empty | State::Preparing | State::Completing | State::Stable => {}
    }
}

/// 6.9, 6.11.
pub fn join_over(step: &mut Step<'_>, group: &Str) {
    if let Some(mut desk) = Desk::open(step, group) {
        desk.join_time_over();
    }
}

/// 6.15.
pub fn sync_over(step: &mut Step<'_>, group: &Str) {
    if let Some(mut desk) = Desk::open(step, group) {
        desk.sync_time_over();
    }
}
