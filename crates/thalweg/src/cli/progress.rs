//! How far long work is, told on stderr once it lasts more than a second (`cli.md` 4.3).

use std::io::{IsTerminal as _, Write as _, stderr, stdout};
use std::time::{Duration, Instant};

/// So long nothing is told.
const TELL_AFTER: Duration = Duration::from_secs(1);
/// A line that is written over.
const BAR_EVERY: Duration = Duration::from_millis(200);
/// Lines one below the other.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Back to the first column, and all that stands there away.
const ERASE: &str = "\r\u{1b}[2K";

/// Counts what is done and tells it from time to time.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    /// 0 if nobody knows.
    total: u64,
    done: u64,
    form: Form,
    /// When it is told again.
    next: Instant,
    told: bool,
}

/// Where it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A person sees it, and no results between it.
    Bar,
    /// A log.
    Lines,
    /// The results themselves show a person how far it is.
    None,
}

impl Progress {
    /// Of work that begins now.
    pub(crate) fn new(what: &'static str, total: u64) -> Self {
        let form = match (stderr().is_terminal(), stdout().is_terminal()) {
            (true, true) => Form::None,
            (true, false) => Form::Bar,
            (false, _) => Form::Lines,
        };
        Self::begun(what, total, form, Instant::now())
    }

    fn begun(what: &'static str, total: u64, form: Form, now: Instant) -> Self {
        let next = now + if form == Form::Bar { TELL_AFTER } else { LINE_EVERY };
        Self { what, total, done: 0, form, next, told: false }
    }

    /// One more is done.
    pub(crate) fn step(&mut self) {
        self.done += 1;
        if self.form != Form::None
            && let Some(text) = self.due(Instant::now())
        {
            // Who does not read stderr does not want to know.
            let _ = write!(stderr(), "{text}");
        }
    }

    /// What is to be told now.
    fn due(&mut self, now: Instant) -> Option<String> {
        if now < self.next {
            return None;
        }
        let of = match self.done.checked_mul(100).and_then(|it| it.checked_div(self.total)) {
            Some(percent) => format!("{} of {} {} ({percent} %)", self.done, self.total, self.what),
            None => format!("{} {}", self.done, self.what),
        };
        self.told = true;
        let (every, text) = match self.form {
            Form::Bar => (BAR_EVERY, format!("{ERASE}thalweg: {of}")),
            Form::Lines | Form::None => (LINE_EVERY, format!("thalweg: {of}\n")),
        };
        self.next = now + every;
        Some(text)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.told && self.form == Form::Bar {
            let _ = write!(stderr(), "{ERASE}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_from_time_to_time() {
        let begin = Instant::now();
        let after = |milliseconds| begin + Duration::from_millis(milliseconds);
        let mut bar = Progress::begun("frames", 200, Form::Bar, begin);
        bar.done = 5;
        assert_eq!(bar.due(after(999)), None);
        assert_eq!(bar.due(after(1000)).as_deref(), Some("\r\u{1b}[2Kthalweg: 5 of 200 frames (2 %)"));
        assert_eq!(bar.due(after(1199)), None);
        assert!(bar.due(after(1200)).is_some());
        let mut lines = Progress::begun("frames", 0, Form::Lines, begin);
        lines.done = 7;
        assert_eq!(lines.due(after(9999)), None);
        assert_eq!(lines.due(after(10_000)).as_deref(), Some("thalweg: 7 frames\n"));
        assert_eq!(lines.due(after(19_999)), None);
    }
}
