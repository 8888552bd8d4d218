//! A member's last heartbeat, and the intervals that members are told (rules I-1 to I-7 of
//! `docs/design/streams.md`, as far as they are the same for streams and consumer groups).
//!
//! All of it is soft: after a load nobody was heard yet.

use crate::machine::Millis;

/// I-2: the lengths that are told beside the configured one and known ends. Few, so that clients, which log each
/// change, log little; none shorter, because a client that beats while its last beat is unanswered
/// spins (CR-12).
pub const STEPS: [Millis; 4] = [SHORT, 1_000, 2_000, 3_000];
/// For ends that nobody knows.
pub const SHORT: Millis = 500;
/// I-4: how long a member that waits for topics comes back soon.
pub const TOPICS_PATIENCE: Millis = 5_000;
/// I-5: how long one that waits for others to give up something comes back soon, and then each second.
const RELEASE_PATIENCE_SHORT: Millis = 10_000;
const RELEASE_PATIENCE: Millis = 60_000;
const LATER: Millis = 1_000;

/// A member's last heartbeat and what it was told.
#[derive(Clone, Debug)]
pub struct Pulse {
    pub heard: Millis,
    /// The connection on which it came (CR-24).
    pub connection: u64,
    /// The interval of the response.
    pub told_ms: i32,
    /// The largest of the intervals that were told or configured at this heartbeat and the one before.
    pub largest_ms: Millis,
    /// What became of that connection.
    pub line: Line,
    /// Its client may take longer than others to connect again (CR-27).
    pub returns_late: bool,
    /// What it waited for and since when (I-4, I-5).
    pub waits: Option<(WaitsFor, Millis)>,
}

impl Pulse {
    /// Of a member of the classic protocol: its client alone knows its interval, and told nobody.
    pub fn untold(heard: Millis, connection: u64) -> Self {
        let line = Line::Open;
        Self { heard, connection, told_ms: 0, largest_ms: 0, line, returns_late: true, waits: None }
    }

    /// When its client closed the connection, if it is taken for gone.
    pub fn gone(&self) -> Option<Millis> {
        match self.line {
            Line::Closed(at) => Some(at),
            Line::Open | Line::ClosedTogether { .. } => None,
        }
    }

    /// When its connection closed, and with how many, if these were too many for anybody to be taken for gone.
    pub fn closed_together(&self) -> Option<(Millis, u32)> {
        match self.line {
            Line::ClosedTogether { at, connections } => Some((at, connections)),
            Line::Open | Line::Closed(_) => None,
        }
    }
}

/// The connection of a member's last heartbeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// As far as anybody knows.
    Open,
    /// Its client closed it then and has no other one: the member is taken for gone.
    Closed(Millis),
    /// So many connections closed at once that the network may be at fault (L-6): the session goes on.
    ClosedTogether { at: Millis, connections: u32 },
}

/// What a member waits for whose end nobody knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitsFor {
    /// Topics that are being created, or that a regular expression means.
    Topics,
    /// Tasks or partitions that others still have.
    Release,
}

/// What to tell a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    pub interval_ms: i32,
    /// What it waits for and since when.
    pub waits: Option<(WaitsFor, Millis)>,
}

/// When that which a member waits for is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// Somebody was told to, or should have come by now.
    Soon,
    /// The first of those who have it is told then.
    At(Millis),
}

impl Release {
    /// I-5: how long the wait that began at `since` takes; `None` for the configured interval.
    pub fn wanted(self, now: Millis, since: Millis) -> Option<Millis> {
        match self {
            Self::At(time) => Some(time - now),
            Self::Soon if now - since < RELEASE_PATIENCE_SHORT => Some(SHORT),
            Self::Soon => (now - since < RELEASE_PATIENCE).then_some(LATER),
        }
    }
}

/// I-2 and I-7: the first of the steps that is long enough, also for the broker's own answers; never more
/// than the configured interval.
pub fn step(steps: &[Millis], wanted: Millis, slowest_answer: Millis, configured: i32) -> i32 {
    let least = wanted.max(slowest_answer);
    let step = steps.iter().find(|it| **it >= least).and_then(|it| i32::try_from(*it).ok());
    step.map_or(configured, |it| it.min(configured))
}

/// I-3: the time to a known end, to the next 10 ms, since it is told once and not in turn with others; a step
/// where the broker's own answers take longer (I-7). Less than 500 ms only where they take no more than half of the
/// least that is told then.
pub fn until(steps: &[Millis], wanted: Millis, slowest_answer: Millis, configured: i32) -> i32 {
    const GRAIN: Millis = 10;
    const LEAST: Millis = 200;
    let least = if slowest_answer <= LEAST / 2 { LEAST } else { SHORT };
    let exact = (wanted.max(least).saturating_add(GRAIN - 1) / GRAIN).saturating_mul(GRAIN);
    if slowest_answer > exact {
        return step(steps, wanted, slowest_answer, configured);
    }
    i32::try_from(exact).map_or(configured, |it| it.min(configured))
}
