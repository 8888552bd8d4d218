//! When a member shall come back: `HeartbeatIntervalMs` of its response (rules I-1 to I-8 of
//! `docs/design/streams.md`).
//!
//! Kafka tells every member the same interval, so whoever waits for something sees its end up to a
//! whole interval late. Clients obey the newest value at once (CR-1), so a member that waits is told to
//! come back when the wait ends. Pure: what is told depends on the group, on what the members were
//! told last, and on the load that the context gives.

use super::soft::StreamsSoft;
use super::tasks::{Role, TaskId};
use super::{MemberState, StreamsGroup, StreamsMember};
use crate::group::member_epoch::JOIN;
use crate::group::pulse::{self, Release, SHORT, STEPS, TOPICS_PATIENCE, Told, WaitsFor};
use crate::machine::Millis;
use wire::Str;
use wire::streams_group_heartbeat::response::Status;

/// For small groups at rest, the first that the budget has room for.
const RESTS: [Millis; 2] = [SHORT, 1_000];
/// From the answer that tells an owner to give up tasks to the heartbeat that says so: stream threads look each
/// 100 ms, and commit.
const GIVING_UP: Millis = 200;
/// How long a wait goes on at the owners' pace before it takes the one of I-5.
const KNOWN_PATIENCE: Millis = 2_000;

const MISSING_SOURCE_TOPICS: i8 = 1;
const INCORRECTLY_PARTITIONED_TOPICS: i8 = 2;
const MISSING_INTERNAL_TOPICS: i8 = 3;

/// What the interval of one response depends on.
pub(super) struct Rhythm<'a> {
    pub now: Millis,
    /// The group's setting.
    pub configured: i32,
    /// Whether anything else may be told at all.
    pub adapts: bool,
    /// How often members come that wait for nothing, if not as configured.
    pub rest: Option<Millis>,
    /// How long the broker's slowest answer took lately.
    pub slowest_answer: Millis,
    pub group: &'a StreamsGroup,
    pub soft: &'a StreamsSoft,
    pub member_id: &'a Str,
    pub member: &'a StreamsMember,
    /// Epoch of the request.
    pub request_epoch: i32,
    /// Of the response.
    pub statuses: &'a [Status],
    /// When the group's next assignment is due, if the member waits for it.
    pub delayed_until: Option<Millis>,
}

/// I-6: how often the members of a shard come at rest so that it keeps its budget of heartbeats a second.
pub(super) fn rest(members: usize, budget: usize) -> Option<Millis> {
    let second = 1_000;
    let has_room = |it: &Millis| {
        let beats = Millis::try_from(members).unwrap_or(Millis::MAX).saturating_mul(second / it);
        usize::try_from(beats).is_ok_and(|it| it <= budget)
    };
    RESTS.into_iter().find(has_room)
}

/// How long a member shall wait.
enum Wait {
    /// To an end that is known (I-3).
    Until(Millis),
    /// To one that is guessed, in steps (I-2).
    About(Millis),
}

impl Rhythm<'_> {
    pub(super) fn tell(&self) -> Told {
        // I-1 and CR-10: clients give the source topics two of the intervals that they were told.
        let is_broken = self.has(MISSING_SOURCE_TOPICS) || self.has(INCORRECTLY_PARTITIONED_TOPICS);
        if !self.adapts || is_broken {
            return Told { interval_ms: self.configured, waits: None };
        }
        let waits = self.waits_for().map(|what| (what, self.waits_since(what)));
        let told = |wait| match wait {
            Wait::Until(wanted) => pulse::until(&STEPS, wanted, self.slowest_answer, self.configured),
            Wait::About(wanted) => pulse::step(&STEPS, wanted, self.slowest_answer, self.configured),
        };
        Told { interval_ms: self.wanted(waits).map_or(self.configured, told), waits }
    }

    fn has(&self, status: i8) -> bool {
        self.statuses.iter().any(|it| it.status_code == status)
    }

    fn waits_for(&self) -> Option<WaitsFor> {
        if self.has(MISSING_INTERNAL_TOPICS) {
            return Some(WaitsFor::Topics);
        }
        let waits = self.member.current.state == MemberState::UnreleasedTasks;
        waits.then_some(WaitsFor::Release)
    }

    fn waits_since(&self, what: WaitsFor) -> Millis {
        let before = self.soft.pulses.get(self.member_id).and_then(|it| it.waits);
        before.filter(|(before, _)| *before == what).map_or(self.now, |(_, since)| since)
    }

    /// How long the member's wait takes; `None` for the configured interval.
    fn wanted(&self, waits: Option<(WaitsFor, Millis)>) -> Option<Wait> {
        let to_end = self.delayed_until.map(|end| Wait::Until(end - self.now));
        let is_within = |since: Millis, patience: Millis| self.now - since < patience;
        match waits {
            // I-4, also while the first assignment is delayed: once it is due the topics should be known.
            Some((WaitsFor::Topics, since)) => {
                is_within(since, TOPICS_PATIENCE).then_some(Wait::About(SHORT)).or(to_end)
            }
            // I-3: a known end.
            Some((WaitsFor::Release, _)) | None if to_end.is_some() => to_end,
            Some((WaitsFor::Release, since)) => match self.release(is_within(since, KNOWN_PATIENCE)) {
                Release::At(time) => Some(Wait::Until(time - self.now)),
                Release::Soon => Release::Soon.wanted(self.now, since).map(Wait::About),
            },
            // I-6: the answer to a join is followed by another heartbeat at once anyway.
            None if self.request_epoch == JOIN => None,
            None => self.rest.map(Wait::About),
        }
    }

    /// When the first of those who have a task that this member waits for will have given it up: who was told
    /// lately, and who is told with the next heartbeat.
    fn release(&self, counts_told: bool) -> Release {
        let mut first: Option<Millis> = None;
        for owner in self.missing().flat_map(|task| self.owners(task)) {
            let was_told =
                self.group.member(owner).is_some_and(|it| it.current.state == MemberState::UnrevokedTasks);
            let is_known = !was_told || counts_told;
            let pulse = self.soft.pulses.get(owner).filter(|_| is_known);
            let told = pulse.map(|it| it.heard + if was_told { 0 } else { Millis::from(it.told_ms) });
            match told.map(|it| it + GIVING_UP).filter(|free| *free > self.now) {
                None => return Release::Soon,
                Some(free) => first = Some(first.map_or(free, |it| it.min(free))),
            }
        }
        first.map_or(Release::Soon, Release::At)
    }

    /// Tasks that the member goes to and does not have.
    fn missing(&self) -> impl Iterator<Item = &TaskId> {
        let assigned = &self.member.current.assigned;
        let goal = self.soft.goal(self.group, self.member_id);
        goal.into_iter().flat_map(move |target| {
            let active = target.active.iter().filter(|it| !assigned.active.contains_key(it));
            active
                .chain(target.standby.difference(&assigned.standby))
                .chain(target.warmup.difference(&assigned.warmup))
        })
    }

    fn owners<'s>(&'s self, task: &'s TaskId) -> impl Iterator<Item = &'s Str> {
        let held = [Role::Active, Role::Standby, Role::Warmup]
            .into_iter()
            .flat_map(move |role| self.group.holders.of(task, role).map(move |owner| (role, owner)));
        let is_neighbour = |owner: &Str| {
            let owner = self.group.member(owner);
            owner.is_some_and(|it| it.metadata.process_id == self.member.metadata.process_id)
        };
        let others = held.filter(move |(role, owner)| {
            *owner != self.member_id && (*role == Role::Active || is_neighbour(owner))
        });
        others.map(|(_, owner)| owner)
    }
}
