//! What happens to classic groups. Hardly anything of it is in records, so the functions that change a group tell it
//! (`classic/desk.rs`); here stand the words.

use bytes::Bytes;

use super::{Cause, Happened, Kind, Telling};
use crate::group::classic::Live;
use crate::group::classic::live::{CONSUMER, Member};
use crate::group::embedded::Subscription;
use crate::group::step::Step;
use wire::{ErrorCode, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, Str, SyncGroupRequest};

/// Topics or protocols that a detail names.
const NAMED: usize = 4;

pub(in crate::group) fn joined(
    telling: &mut Telling,
    request: &JoinGroupRequest,
    id: &Str,
    member: &Member,
) -> Happened {
    telling.epoch_cause = Cause::MemberJoined;
    let host = member.client_host.to_str();
    let host = host.trim_start_matches('/');
    let says = says(request, &member.protocols);
    let detail = format!("client {} at {host}, {says}{}", member.client_id, because(request.reason.as_ref()));
    Happened::new(Kind::MemberJoined).member(id).detail(&detail)
}

pub(in crate::group) fn changed(
    telling: &mut Telling,
    request: &JoinGroupRequest,
    id: &Str,
    protocols: &[(Str, Bytes)],
) -> Happened {
    telling.epoch_cause = Cause::MemberChanged;
    let detail = format!("{}{}", says(request, protocols), because(request.reason.as_ref()));
    Happened::new(Kind::MemberChanged).member(id).detail(&detail)
}

/// The client's own reason for a join (KIP-800).
fn because(reason: Option<&Str>) -> String {
    reason.filter(|it| !it.is_empty()).map_or_else(String::new, |it| format!("; it says: {it}"))
}

/// What a member offers and, a consumer, reads.
fn says(request: &JoinGroupRequest, protocols: &[(Str, Bytes)]) -> String {
    let mut says = format!("offers {}", listed(protocols.iter().map(|(name, _)| name)));
    if request.protocol_type == *CONSUMER
        && let Some((_, metadata)) = protocols.first()
    {
        match Subscription::read(metadata) {
            Ok(it) => says.push_str(&format!("; reads {}", listed(&it.topics))),
            Err(_) => says.push_str("; what it reads is not known"),
        }
    }
    says
}

/// The first few names and how many more there are.
pub(in crate::group) fn listed<'a>(topics: impl IntoIterator<Item = &'a Str>) -> String {
    let names: Vec<_> = topics.into_iter().map(ToString::to_string).collect();
    match names.split_at_checked(NAMED) {
        _ if names.is_empty() => "nothing".to_owned(),
        Some((first, rest)) if !rest.is_empty() => format!("{} and {} more", first.join(", "), rest.len()),
        Some(_) | None => names.join(", "),
    }
}

pub(in crate::group) fn left(telling: &mut Telling, id: &Str) -> Happened {
    telling.epoch_cause = Cause::MemberLeft;
    Happened::new(Kind::MemberLeft).member(id).cause(telling.because)
}

/// 7.2: the member goes on under another id.
pub(in crate::group) fn replaced(old: &Str, new: &Str) -> Happened {
    let detail = format!("it was {old}");
    Happened::new(Kind::MemberChanged).member(new).cause(Cause::MemberReplaced).detail(&detail)
}

pub(in crate::group) fn rebalance_began(telling: &mut Telling) -> Happened {
    Happened::new(Kind::RebalanceBegan).cause(telling.take_cause())
}

pub(in crate::group) fn generation_began(live: &Live) -> Happened {
    let count = live.members.len();
    let detail = match (&live.protocol, &live.leader) {
        (Some(protocol), Some(leader)) if count > 0 => {
            format!("protocol {protocol}, members {count}, leader {leader}")
        }
        _ => "no members".to_owned(),
    };
    Happened::new(Kind::GenerationBegan).epoch(live.generation).detail(&detail)
}

/// Tells of a join that was refused, to a group that exists.
pub(in crate::group) fn join_answered(
    step: &mut Step<'_>,
    request: &JoinGroupRequest,
    response: &JoinGroupResponse,
) {
    if ![ErrorCode::NONE, ErrorCode::MEMBER_ID_REQUIRED].contains(&response.error_code) {
        let (group, member) = (&request.group_id, &request.member_id);
        let offers = listed(request.protocols.iter().map(|it| &it.name));
        let detail = format!("type {}, offers {offers}", request.protocol_type);
        refused(step, group, Kind::JoinRefused, member, response.error_code, &detail);
    }
}

pub(in crate::group) fn sync_answered(step: &mut Step<'_>, request: &SyncGroupRequest, code: ErrorCode) {
    // That a rebalance goes on is no refusal.
    if ![ErrorCode::NONE, ErrorCode::REBALANCE_IN_PROGRESS].contains(&code) {
        let (group, member) = (&request.group_id, &request.member_id);
        let detail = format!("generation {}", request.generation_id);
        refused(step, group, Kind::SyncRefused, member, code, &detail);
    }
}

pub(in crate::group) fn heartbeat_answered(step: &mut Step<'_>, request: &HeartbeatRequest, code: ErrorCode) {
    if ![ErrorCode::NONE, ErrorCode::REBALANCE_IN_PROGRESS].contains(&code) {
        let (group, member) = (&request.group_id, &request.member_id);
        let detail = format!("generation {}", request.generation_id);
        refused(step, group, Kind::MemberFenced, member, code, &detail);
    }
}

/// Nothing is kept of groups that do not exist: anybody could name them.
fn refused(step: &mut Step<'_>, group: &Str, kind: Kind, member: &Str, code: ErrorCode, detail: &str) {
    if step.hard.group(group).is_some() {
        step.telling().refused(group, kind, member, code, detail);
    }
}
