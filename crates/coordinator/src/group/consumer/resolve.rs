//! Regular expressions of a group: when they are resolved to topics, and what follows (13.2 to 13.4).
//!
//! Looking at every topic of the cluster takes time, and which topics a member may see is the broker's
//! to know. So the shard asks its host for a [`ResolveRegexes`]; heartbeats go on meanwhile with what
//! was known before. All expressions of a group are resolved together.

use std::collections::{BTreeMap, BTreeSet};

use super::image::regex_refresh_interval;
use super::pattern;
use super::soft::Refresh;
use super::update::metadata_hash;
use super::{ConsumerGroup, MemberMetadata, Resolved, records};
use crate::group::fail::Fail;
use crate::group::history::Cause;
use crate::group::request::{GroupTask, ResolveRegexes, ResolvedRegexes};
use crate::group::step::Step;
use crate::machine::{Caller, Millis, TaskId};
use catalog::Image;
use wire::{ErrorCode, Str};

/// Resolutions of a group are at least this far apart.
const REFRESH_INTERVAL_MIN: Millis = 10_000;
/// Matches between two looks at the deadline.
const MATCHES_PER_LOOK: usize = 4096;

/// What a heartbeat does to the expressions of its group.
#[derive(Debug, Default)]
pub(super) struct RegexUpdate {
    /// The member's expression is another one.
    pub changed: bool,
    /// The member's topics are others now; without it the resolution will tell.
    pub is_resolved: bool,
    /// Nobody uses this one any more.
    pub tombstone: Option<Str>,
    /// To be resolved now.
    pub resolve: Option<Vec<Str>>,
}

pub(super) struct Regexes<'a> {
    pub now: Millis,
    pub image: &'a Image,
    pub group: &'a ConsumerGroup,
    /// A resolution is under way.
    pub is_resolving: bool,
    /// Version of the newest image that may have brought topics.
    pub topics_version: i64,
}

impl Regexes<'_> {
    /// 13.2.
    pub(super) fn update(&self, old: &MemberMetadata, new: &MemberMetadata) -> Result<RegexUpdate, Fail> {
        let (old, new) = (&old.topic_regex, &new.topic_regex);
        let subscriptions = self.group.subscriptions();
        let mut update = RegexUpdate { changed: old != new, ..RegexUpdate::default() };
        let mut is_required = false;
        if update.changed {
            if !old.is_empty() && subscriptions.regex_members(old) == 1 {
                update.tombstone = Some(old.clone());
            }
            if new.is_empty() {
                update.is_resolved = true;
            } else if subscriptions.regex_members(new) == 0 {
                check(new)?;
                is_required = true;
            } else {
                update.is_resolved = self.group.resolved().contains_key(new);
            }
        }
        if !is_required && subscriptions.regexes().next().is_none() {
            return Ok(update);
        }
        let mut used: BTreeSet<&Str> = subscriptions.regexes().collect();
        if let Some(gone) = &update.tombstone {
            used.remove(gone);
        }
        if !new.is_empty() {
            used.insert(new);
        }
        if !used.is_empty() && self.is_due(is_required, used.len()) {
            update.resolve = Some(used.into_iter().map(Str::detach).collect());
        }
        Ok(update)
    }

    fn is_due(&self, is_required: bool, used: usize) -> bool {
        let resolved = self.group.resolved();
        let last = resolved.values().map(|it| it.timestamp).max();
        if self.is_resolving || last.is_some_and(|it| self.now <= it + REFRESH_INTERVAL_MIN) {
            return false;
        }
        let seen = resolved.values().map(|it| it.version).min();
        is_required
            || used != resolved.len()
            || seen.is_some_and(|it| it < self.topics_version)
            || last.is_none_or(|it| self.now > it + regex_refresh_interval(self.image))
    }
}

fn check(regex: &Str) -> Result<(), Fail> {
    let Err(reason) = pattern::compile(&regex.to_str()) else { return Ok(()) };
    let message = format!("SubscribedTopicRegex `{regex}` is not a valid regular expression: {reason}.");
    Err(Fail::new(ErrorCode::INVALID_REGULAR_EXPRESSION, message))
}

/// Asks the host to resolve the expressions, with the rights of who sent the heartbeat.
pub(super) fn start(step: &mut Step<'_>, group_id: &Str, caller: &Caller, regexes: Vec<Str>) {
    step.soft.last_task += 1;
    let task =
        ResolveRegexes { group: group_id.detach(), caller: caller.clone(), regexes, started: step.now };
    step.tasks.push((TaskId(step.soft.last_task), GroupTask::ResolveRegexes(Box::new(task))));
    if let Some(soft) = step.soft.consumer.get_mut(group_id) {
        soft.is_resolving = true;
    }
}

/// 13.3, for the host: the topics of each expression, out of `topics`. An expression that does not
/// compile has none. `None` if `goes_on` said no, which is asked now and then.
pub fn topics_of_regexes(
    regexes: &[Str],
    topics: &[&str],
    mut goes_on: impl FnMut() -> bool,
) -> Option<BTreeMap<Str, BTreeSet<Str>>> {
    let mut all = BTreeMap::new();
    let mut looked_at = 0_usize;
    for regex in regexes {
        let mut found = BTreeSet::new();
        if let Ok(compiled) = pattern::compile(&regex.to_str()) {
            for topic in topics {
                looked_at += 1;
                if looked_at.is_multiple_of(MATCHES_PER_LOOK) && !goes_on() {
                    return None;
                }
                if compiled.is_match(topic) {
                    found.insert(Str::from(*topic));
                }
            }
        }
        all.insert(regex.clone(), found);
    }
    Some(all)
}

/// 13.4. The next heartbeats of the members compute the new target.
pub fn regexes_resolved(step: &mut Step<'_>, result: ResolvedRegexes) {
    let group_id = &result.group;
    if let Some(soft) = step.soft.consumer.get_mut(group_id) {
        soft.is_resolving = false;
    }
    let Some(group) = step.hard.consumer(group_id) else { return };
    let Some(resolved) = result.topics else { return };
    let epoch = group.epoch;
    let mut bumps = false;
    let mut changes = Vec::new();
    for (regex, topics) in resolved {
        if group.subscriptions().regex_members(&regex) == 0 {
            continue;
        }
        let known = group.resolved().get(&regex).map(|it| &it.topics);
        bumps |= known.map_or(!topics.is_empty(), |it| *it != topics);
        let resolved = Resolved { topics, version: result.version, timestamp: result.started };
        changes.push(records::regex(group_id, &regex, &resolved));
    }
    for record in changes {
        step.record(record);
    }
    let Some(group) = step.hard.consumer(group_id) else { return };
    let hash = metadata_hash(&mut step.soft.topic_hashes, step.image, group.subscriptions());
    if bumps || hash != group.metadata_hash {
        let epoch = epoch + 1;
        step.telling().epoch_cause = Cause::Regex;
        step.record(records::metadata(group_id, epoch, hash));
        let refresh = Refresh::after(step.now, epoch);
        step.soft.consumer.entry(group_id.clone()).or_default().refresh = refresh;
    }
}
