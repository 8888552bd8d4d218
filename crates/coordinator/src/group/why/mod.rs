//! What a group waits for, which member blocks it, since when, and what to do: a pure function of what the
//! coordinator knows.
//!
//! [`findings`] looks and decides nothing. Codes are stable; sentences are for people and may get better.

mod classic;
mod consumer;
mod silence;
mod streams;
#[cfg(test)]
mod tests;
mod words;

pub(super) use streams::{revocation, session};
pub(super) use {classic::session as classic_session, consumer::revocation as consumer_revocation};
pub(super) use {classic::topics as classic_topics, consumer::session as consumer_session};

use std::collections::BTreeSet;

use crate::group::history::{Cause, Entry, Kind, RING_MAX, Ring};
use crate::group::offsets::Committed;
use crate::group::offsets::expire::Retention;
use crate::group::soft::Soft;
use crate::group::state::{Group, Hard};
use crate::machine::Millis;
use catalog::Image;
use wire::{ErrorCode, Str};

/// How far back refusals and epochs count as of now.
pub const RECENT: Millis = 600_000;
/// The same for refusals of a group that has no members any more.
const RECENT_WITHOUT_MEMBERS: Millis = 60_000;
/// So many epochs within [`RECENT`] are not an ordinary deployment any more, at least.
const FLAPPING_FROM: usize = 10;
/// In so many of the minutes of [`RECENT`].
const FLAPPING_MINUTES: usize = 5;
/// And so many for each member: a deployment takes each of them away and brings it back, which may be done twice.
const FLAPPING_PER_MEMBER: usize = 4;

/// Something that keeps a group from where it wants to be, or that one should know.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub severity: Severity,
    /// Stable name.
    pub code: &'static str,
    pub sentence: String,
    /// What to do about it; empty if nothing.
    pub advice: String,
    pub since: Option<Millis>,
    /// When the coordinator acts by itself.
    pub until: Option<Millis>,
    pub members: Vec<Str>,
    pub tasks: Vec<String>,
    pub topics: Vec<Str>,
}

/// The order of severities is that of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The group does not come to rest before this is over.
    Blocks,
    /// Something is wrong, but the group goes on.
    Warns,
    Informs,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::Warns => "warns",
            Self::Informs => "informs",
        }
    }
}

impl Finding {
    fn new(severity: Severity, code: &'static str, sentence: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            sentence: sentence.into(),
            advice: String::new(),
            since: None,
            until: None,
            members: Vec::new(),
            tasks: Vec::new(),
            topics: Vec::new(),
        }
    }

    fn advice(self, advice: impl Into<String>) -> Self {
        Self { advice: advice.into(), ..self }
    }

    fn since(self, since: Option<Millis>) -> Self {
        Self { since, ..self }
    }

    fn until(self, until: Option<Millis>) -> Self {
        Self { until, ..self }
    }

    fn topics<'a>(self, topics: impl IntoIterator<Item = &'a Str>) -> Self {
        Self { topics: topics.into_iter().cloned().collect(), ..self }
    }

    fn members<'a>(self, members: impl IntoIterator<Item = &'a Str>) -> Self {
        Self { members: members.into_iter().cloned().collect(), ..self }
    }
}

/// What is to be said about a group, the most urgent first; nothing about one that does not exist.
pub fn findings(hard: &Hard, soft: &Soft, image: &Image, id: &Str, now: Millis) -> Vec<Finding> {
    let Some(group) = hard.group(id) else { return Vec::new() };
    let mut findings = match group {
        Group::Streams(group) => streams::findings(group, soft, image, id, now),
        // Members have joined and not yet synced for the first time.
        Group::Simple | Group::Classic(_) if soft.classic.get(id).is_some_and(|it| !it.is_empty()) => {
            classic::findings(soft, image, id, now)
        }
        Group::Simple if hard.offsets().of_group(id).is_none() => {
            vec![Finding::new(Severity::Informs, "empty", "The group has neither members nor offsets.")]
        }
        Group::Simple => vec![Finding::new(
            Severity::Informs,
            "no-members",
            "The group has committed offsets and no members: its clients assign partitions themselves.",
        )],
        Group::Classic(_) => vec![classic::without_members(soft, id)],
        Group::Consumer(group) => consumer::findings(group, soft, image, id, now),
    };
    findings.extend(offsets_expire(hard, soft, image, id, group));
    let members = match group {
        Group::Streams(group) => group.members().len(),
        Group::Consumer(group) => group.members().len(),
        Group::Classic(_) | Group::Simple => soft.classic.get(id).map_or(0, |it| it.members.len()),
    };
    if let Some(ring) = soft.history.of(id) {
        let recent: Vec<&Entry> = ring.entries().filter(|it| now - it.at < RECENT).collect();
        let counts = |it: &&&Entry| {
            (members > 0 || now - it.at < RECENT_WITHOUT_MEMBERS) && !has_settled_since(&recent, it)
        };
        let refused = recent.iter().rev().filter(counts);
        findings.extend(refused.filter_map(|it| refusal(it, now)));
        findings.extend(flapping(&recent, members, now));
    }
    findings.sort_by_key(|it| it.severity);
    findings
}

/// When the committed offsets of a group without members go (9.7).
fn offsets_expire(hard: &Hard, soft: &Soft, image: &Image, id: &Str, group: &Group) -> Option<Finding> {
    let live = soft.classic.get(id);
    let offsets = hard.offsets().of_group(id).filter(|_| group.is_empty(live))?;
    let longest = Millis::from(image.broker().offsets_retention_minutes).saturating_mul(60_000);
    let since = match (group, live.map(|it| it.retention())) {
        (Group::Simple | Group::Classic(_), Some(Retention::Since(time))) => Some(time),
        _ => None,
    };
    let expiry = |it: &Committed| match it.expire_timestamp {
        -1 => since.unwrap_or(it.commit_timestamp).saturating_add(longest),
        own => own,
    };
    let first = offsets.values().flat_map(|it| it.values()).map(expiry).min()?;
    let count: usize = offsets.values().map(|it| it.len()).sum();
    let sentence = format!(
        "{count} committed {} kept for who comes next.",
        words::verb(count, "offset is", "offsets are")
    );
    let advice = "Each expires when nobody committed it anew for offsets.retention.minutes.";
    Some(Finding::new(Severity::Informs, "offsets-expire", sentence).advice(advice).until(Some(first)))
}

/// Whether the member of a refusal came to rest after it, as one does that lost an answer or was away for too long.
fn has_settled_since(recent: &[&Entry], refused: &Entry) -> bool {
    let member = &refused.happened.member;
    let settled = |it: &&Entry| it.happened.kind == Kind::MemberSettled && it.happened.member == *member;
    member.is_some() && recent.iter().rev().take_while(|it| it.sequence > refused.sequence).any(settled)
}

/// Whether the group changes more often than anybody deploys, and goes on with it. Steps of warm-ups are how it comes to
/// rest after a change, and do not count.
fn flapping(recent: &[&Entry], members: usize, now: Millis) -> Option<Finding> {
    let is_epoch = |kind| [Kind::EpochMoved, Kind::RebalanceBegan].contains(&kind);
    let moved = |it: &&&Entry| is_epoch(it.happened.kind) && it.happened.cause != Cause::Warmups;
    let epochs: Vec<_> = recent.iter().filter(moved).collect();
    if epochs.len() < FLAPPING_FROM.max(FLAPPING_PER_MEMBER.saturating_mul(members)) {
        return None;
    }
    // An application that starts, or of which some instances are killed, moves the epoch often, but soon no more. Where
    // so much happened that older events are forgotten, nobody knows how long it has gone on.
    let minutes: BTreeSet<Millis> = epochs.iter().map(|it| (now - it.at) / 60_000).collect();
    let is_cut = recent.len() >= RING_MAX;
    if minutes.len() < FLAPPING_MINUTES && !is_cut {
        return None;
    }
    let since = epochs.first().map(|it| it.at);
    let mut causes: Vec<&str> = epochs.iter().map(|it| it.happened.cause.name()).collect();
    causes.sort_unstable();
    let most = causes.chunk_by(|a, b| a == b).max_by_key(|it| it.len()).and_then(|it| it.first());
    let sentence = format!(
        "The group's epoch moved {} times in the last {}, mostly because of {}.",
        epochs.len(),
        if is_cut { span(now - since.unwrap_or(now)) } else { span(RECENT) },
        most.filter(|it| !it.is_empty()).unwrap_or(&"nothing known"),
    );
    let advice = "Look in the events which members come and go: a process that restarts again and again, \
                  or sessions that end because heartbeats do not come.";
    Some(Finding::new(Severity::Warns, "flapping", sentence).advice(advice).since(since))
}

fn refusal(entry: &Entry, now: Millis) -> Option<Finding> {
    let happened = &entry.happened;
    let member = happened.member.as_ref().map(|it| Str::from(String::from_utf8_lossy(it).as_ref()));
    let who = member.as_ref().map_or_else(|| "a client".to_owned(), |it| format!("member {it}"));
    let times = if entry.count == 1 { "once".to_owned() } else { format!("{} times", entry.count) };
    let ago = span(now - entry.at);
    let error = happened.code.name();
    let kinds = [
        (Kind::CommitRefused, "commits-refused", "Commits"),
        (Kind::MemberFenced, "member-fenced", "Heartbeats"),
        (Kind::HeartbeatRefused, "heartbeats-refused", "Heartbeats"),
        (Kind::JoinRefused, "joins-refused", "Joins"),
        (Kind::SyncRefused, "syncs-refused", "Syncs"),
    ];
    let (_, code, what) = kinds.into_iter().find(|(kind, ..)| *kind == happened.kind)?;
    // Which topic it was is half of what a person needs.
    let detail = happened.detail.as_ref().filter(|_| happened.kind == Kind::CommitRefused);
    let at = detail.map_or_else(String::new, |it| format!(" ({it})"));
    let sentence = format!("{what} of {who} were refused with {error}, {times}, last {ago} ago{at}.");
    let finding = Finding::new(Severity::Warns, code, sentence).advice(advice_on(happened.code));
    let finding = finding.since(Some(entry.at));
    Some(finding.members(&member))
}

fn advice_on(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::STALE_MEMBER_EPOCH => {
            "The member committed with an epoch that it no longer has; it should repeat the commit after its \
             next heartbeat. If this goes on, the client does not follow the group."
        }
        ErrorCode::FENCED_MEMBER_EPOCH => {
            "It named an epoch that is not the member's: an answer was lost, or two clients use one member id; the \
             client gives up what it has and joins again by itself."
        }
        ErrorCode::UNKNOWN_MEMBER_ID => {
            "The coordinator had removed the member, most often because its heartbeats stopped for a session; \
             the client joins again by itself."
        }
        ErrorCode::GROUP_MAX_SIZE_REACHED => {
            "The group is full: raise its largest size (group.streams.max.size, group.consumer.max.size or \
             group.max.size), or run fewer members."
        }
        ErrorCode::INCONSISTENT_GROUP_PROTOCOL => {
            "The member offers no protocol that all members of the group offer, or another type: give all of them a \
             common partition.assignment.strategy, and do not use one group.id for different kinds of clients."
        }
        ErrorCode::FENCED_INSTANCE_ID => {
            "Another process has the same group.instance.id: each needs one of its own."
        }
        ErrorCode::UNRELEASED_INSTANCE_ID => {
            "A member with this group.instance.id is still there: stop it, or wait for the end of its session."
        }
        ErrorCode::ILLEGAL_GENERATION => {
            "The member speaks of a generation that is over; the client joins again by itself. If commits are \
             refused so, processing took longer than max.poll.interval.ms allows."
        }
        ErrorCode::UNSUPPORTED_ASSIGNOR => "Name one of group.consumer.assignors in group.remote.assignor.",
        ErrorCode::INVALID_REGULAR_EXPRESSION => {
            "Correct the expression: the broker reads it by RE2's rules."
        }
        ErrorCode::STREAMS_INVALID_TOPOLOGY => "The application's topology can't be run; see its log.",
        ErrorCode::INVALID_REQUEST => {
            "The request contradicts the group, most often another topology under the same application.id: give \
             the changed application an id of its own, or stop all instances and delete the group."
        }
        ErrorCode::OFFSET_METADATA_TOO_LARGE => "Raise offset.metadata.max.bytes, or commit less metadata.",
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {
            "There is no such topic or partition: it was deleted, or the client names another one than it means."
        }
        ErrorCode::UNKNOWN_TOPIC_ID => {
            "No topic has this id: it was deleted, and may have been created anew; the client learns the new id with \
             its next metadata."
        }
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => "Allow the client's principal to READ the topic.",
        ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::INVALID_PRODUCER_ID_MAPPING => {
            "Another producer with the same transactional.id took over, or the transaction was ended by its timeout; \
             a client that was fenced must be closed."
        }
        ErrorCode::INVALID_TXN_STATE | ErrorCode::TRANSACTION_ABORTABLE => {
            "The producer's transaction is not open, or ended before the commit; the client must abort it and process \
             again what it read."
        }
        _ => "",
    }
}

/// When an event of this kind happened last.
fn newest(ring: Option<&Ring>, kind: Kind) -> Option<Millis> {
    ring?.newest(kind).map(|it| it.at)
}

/// When the target of this epoch was computed, if that is known.
fn computed(ring: Option<&Ring>, epoch: i32) -> Option<Millis> {
    let is_it = |it: &&Entry| it.happened.kind == Kind::TargetComputed && it.happened.epoch == epoch;
    ring?.entries().rev().find(is_it).map(|it| it.at)
}

/// When it happened last to this member.
fn newest_of(ring: Option<&Ring>, kind: Kind, member: &Str) -> Option<Millis> {
    let is_it =
        |it: &&Entry| it.happened.kind == kind && it.happened.member.as_deref() == Some(member.as_bytes());
    ring?.entries().rev().find(is_it).map(|it| it.at)
}

/// A length of time for people: the two largest units.
pub fn span(millis: Millis) -> String {
    let millis = millis.max(0);
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis} ms"),
        1..60 if millis % 1000 != 0 && seconds < 10 => format!("{}.{} s", seconds, millis % 1000 / 100),
        1..60 => format!("{seconds} s"),
        60..3600 => two(seconds / 60, "min", seconds % 60, "s"),
        3600..86_400 => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

fn two(large: i64, unit: &str, small: i64, part: &str) -> String {
    if small == 0 { format!("{large} {unit}") } else { format!("{large} {unit} {small} {part}") }
}
