//! A broker that is gone while something is followed: how soon it is tried again, and what is said on stderr.

use std::time::Duration;

use tokio::time::Instant;

use super::{Failure, TELL_EVERY};

/// The longest pause between two attempts; it doubles until then.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Attempts that failed one after the other.
#[derive(Debug)]
pub(super) struct Absence {
    /// Between questions that are answered.
    pause: Duration,
    failures: u32,
    /// When it is told again; `None` before it was told.
    next: Option<Instant>,
}

impl Absence {
    pub(super) fn new(pause: Duration) -> Self {
        Self { pause, failures: 0, next: None }
    }

    /// How long to wait before the next question.
    pub(super) fn pause(&self) -> Duration {
        let factor = 1_u32.checked_shl(self.failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.pause.saturating_mul(factor).min(PAUSE_MAX)
    }

    /// One more failed. What to say of it: nothing of the first, since a coordinator that moved is found with the next,
    /// and then not too often.
    pub(super) fn failed(&mut self, failure: &Failure, now: Instant) -> Option<String> {
        self.failures = self.failures.saturating_add(1);
        if self.failures == 1 || self.next.is_some_and(|it| now < it) {
            return None;
        }
        self.next = Some(now + TELL_EVERY);
        Some(format!("{}; trying again until there is an answer", failure.message))
    }

    /// There was an answer. What to say if somebody was told that there was none.
    pub(super) fn over(&mut self) -> Option<&'static str> {
        let was_told = self.next.is_some();
        *self = Self::new(self.pause);
        was_told.then_some("the coordinator answers again")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::UNREACHABLE;

    #[test]
    fn pauses_grow_and_it_is_told_from_time_to_time() {
        let begun = Instant::now();
        let gone = Failure::new(UNREACHABLE, "can't reach it");
        let mut absence = Absence::new(Duration::from_millis(500));
        let told = |absence: &mut Absence, seconds| {
            let said = absence.failed(&gone, begun + Duration::from_secs(seconds));
            (said.is_some(), absence.pause().as_millis())
        };
        assert_eq!(absence.over(), None);
        assert_eq!(absence.pause().as_millis(), 500);
        assert_eq!(told(&mut absence, 0), (false, 500));
        assert_eq!(told(&mut absence, 1), (true, 1000));
        assert_eq!(told(&mut absence, 2), (false, 2000));
        assert_eq!(told(&mut absence, 10), (false, 4000));
        assert_eq!(told(&mut absence, 11), (true, 5000));
        for _ in 0..100 {
            assert_eq!(told(&mut absence, 12), (false, 5000));
        }
        assert!(absence.over().is_some());
        assert_eq!(absence.pause().as_millis(), 500);
        assert_eq!(told(&mut absence, 13), (false, 500));
        assert_eq!(absence.over(), None, "the coordinator moved: nobody was told");
    }
}
