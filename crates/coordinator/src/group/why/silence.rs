//! Members that do not come: their client is gone, they left for a while, heartbeats are overdue, or they have not
//! heard of the target yet.

use super::words::{capital, has};
use super::{Finding, Severity, span};
use crate::group::member_epoch::AWAY;
use crate::machine::Millis;
use wire::Str;

/// A member and when it was heard of.
pub(super) struct Silence<'a> {
    pub member: &'a Str,
    /// Where it runs.
    pub place: String,
    pub epoch: i32,
    /// `None`: not since the load.
    pub heard: Option<Millis>,
    /// When the coordinator was loaded.
    pub loaded: Millis,
    /// Of its session.
    pub ends: Millis,
    /// When its client closed the connection.
    pub gone: Option<Millis>,
    /// Until the heartbeat after the last one, as the member was told.
    pub interval: Millis,
    /// Others wait for what it has.
    pub blocks: bool,
    /// What it has: tasks or partitions.
    pub holds: &'static str,
    /// What nobody works on if its process is dead, with how many they are.
    pub idle: Option<String>,
}

impl Silence<'_> {
    /// None while it comes: a heartbeat may be overdue by a whole interval, and by a pause of the process.
    pub(super) fn finding(&self, now: Millis) -> Option<Finding> {
        let Self { member, place, holds, .. } = self;
        const PAUSE: Millis = 2_000;
        let last = self.heard.unwrap_or(self.loaded);
        let stands_still = self.gone.is_some() && self.idle.is_some();
        let severity = if self.blocks || stands_still { Severity::Blocks } else { Severity::Warns };
        let left = span(self.ends - now);
        let finding = if self.epoch == AWAY {
            let sentence =
                format!("Static member {member} ({place}) left for a while; its {holds} are kept for it.");
            let advice = format!(
                "Start it again with the same instance id. It is removed in {left} if it does not come."
            );
            Finding::new(severity, "static-member-away", sentence).advice(advice)
        } else {
            let (code, since, sentence) = match self.gone {
                Some(at) => {
                    let ago = span(now - at);
                    let mut sentence =
                        format!("The client of member {member} ({place}) closed its connection {ago} ago.");
                    if let Some(idle) = &self.idle {
                        sentence.push_str(&format!(" Nobody works on {idle}."));
                    }
                    ("connection-closed", at, sentence)
                }
                None if now - last <= self.interval + self.interval.max(PAUSE) => return None,
                None => {
                    let (ago, due) = (span(now - last), span(self.interval));
                    let heard = match self.heard {
                        Some(_) => format!("was last heard of {ago} ago"),
                        None => format!("was not heard of since the coordinator was loaded {ago} ago"),
                    };
                    let mut sentence =
                        format!("Member {member} ({place}) {heard}; heartbeats are due every {due}.");
                    if let Some(idle) = &self.idle {
                        sentence.push_str(&format!(" If its process stands still, nobody works on {idle}."));
                    }
                    ("silent-member", last, sentence)
                }
            };
            let advice = format!(
                "See whether its process runs and reaches the broker. It is removed in {left} and its {holds} go to others."
            );
            Finding::new(severity, code, sentence).since(Some(since)).advice(advice)
        };
        Some(finding.until(Some(self.ends)).members([*member]))
    }
}

/// A member whose connection closed with too many others.
pub(super) struct Excused<'a> {
    pub member: &'a Str,
    pub at: Millis,
    /// How many closed.
    pub connections: u32,
    /// When its session ends.
    pub ends: Millis,
    /// Others wait for what it has.
    pub blocks: bool,
}

/// L-6: why nobody is removed soon, and until when they are waited for.
pub(super) fn closed_together<'a>(
    excused: impl Iterator<Item = Excused<'a>>,
    members: usize,
    now: Millis,
) -> Option<Finding> {
    let excused: Vec<_> = excused.collect();
    let ends = || excused.iter().map(|it| it.ends);
    let (since, first, last) = (excused.iter().map(|it| it.at).min()?, ends().min()?, ends().max()?);
    let connections = excused.iter().map(|it| it.connections).max()?;
    let count = excused.len();
    let sentence = format!(
        "{count} of {members} members did not come back since {connections} connections closed at once {} ago. So many \
         are taken for the doing of a proxy or the network: nobody is removed before the session ends.",
        span(now - since),
    );
    let (first_left, last_left) = (span(first - now), span(last - now));
    let left = if first_left == last_left { first_left } else { format!("{first_left} to {last_left}") };
    let advice = format!(
        "See whether a proxy or the network failed, or the processes ended together. Clients connect again by themselves; \
         who does not is removed in {left}."
    );
    let blocks = excused.iter().any(|it| it.blocks);
    let severity = if blocks { Severity::Blocks } else { Severity::Warns };
    let finding = Finding::new(severity, "closed-together", sentence).advice(advice).since(Some(since));
    Some(finding.until(Some(first)).members(excused.iter().map(|it| it.member)))
}

/// Behind a sentence that says that all is well: it is, as long as these live.
pub(super) fn reservation(findings: &[Finding]) -> &'static str {
    if findings.iter().any(|it| ["silent-member", "closed-together"].contains(&it.code)) {
        ", if those that are silent live"
    } else {
        ""
    }
}

/// Members that do not know the target of this epoch yet, if there are any. `rests_at` is the epoch of a member that is
/// stable; one that is not has heard of it. Who is away hears of it when it is back.
pub(super) fn behind<'a, M: 'a>(
    members: impl IntoIterator<Item = (&'a Str, &'a M)>,
    target: i32,
    rests_at: impl Fn(&M) -> Option<i32>,
    is_gone: impl Fn(&Str) -> bool,
) -> Option<Vec<(&'a Str, &'a M)>> {
    let is_behind = |it: &M| rests_at(it).is_some_and(|epoch| epoch < target && epoch != AWAY);
    let behind: Vec<_> = members.into_iter().filter(|(id, it)| is_behind(it) && !is_gone(id)).collect();
    (!behind.is_empty()).then_some(behind)
}

/// `500 ms`, or `5 s at the longest` where members were told different intervals.
pub(super) fn intervals(told: impl Iterator<Item = Millis>) -> String {
    let told: Vec<Millis> = told.collect();
    match (told.iter().min(), told.iter().max()) {
        (Some(least), Some(most)) if least != most => format!("{} at the longest", span(*most)),
        (_, most) => span(most.copied().unwrap_or(0)),
    }
}

/// How soon members hear of a target.
pub(super) fn hear_by(told: impl Iterator<Item = Millis>) -> String {
    format!("They hear with their next heartbeats, every {}.", intervals(told))
}

/// What is to be said of them: how much they must give up by that target, and its names.
pub(super) fn target_not_heard<M>(
    behind: &[(&Str, &M)],
    target: i32,
    gives_up: Option<(String, String)>,
) -> Finding {
    let ids: Vec<_> = behind.iter().map(|(id, _)| *id).collect();
    let mut sentence = format!("{} not heard of the target of epoch {target} yet.", has(&ids));
    if let Some((count, names)) = gives_up {
        sentence.push_str(&format!(" {} must be given up there: {names}.", capital(&count)));
    }
    Finding::new(Severity::Blocks, "target-not-heard", sentence).members(ids)
}
