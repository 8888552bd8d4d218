//! The clock of scripts: `t=5s` or `t=+5s` in front of a command moves it, with a wake at each deadline on the way.

use std::fmt::Write as _;

use coordinator::Millis;

use crate::args::{Parsed, duration, show_duration};

/// Scripts count their time from here.
pub(crate) const START: Millis = 1_700_000_000_000;
/// Wakes of one step of the clock; more mean that a deadline does not move on.
const WAKES_MAX: usize = 10_000;

pub(crate) fn since_start(time: Millis) -> String {
    show_duration(time - START)
}

/// A world with a shard that wants to be woken.
pub(crate) trait Clocked {
    fn now(&mut self) -> &mut Millis;
    fn deadline(&self) -> Option<Millis>;
    /// What the shard does when it is woken, as lines.
    fn wake(&mut self) -> String;
    /// Runs a command.
    fn command(&mut self, line: &str) -> Parsed<String>;
}

/// Runs a line of a script: a time, a command, or both.
pub(crate) fn run(world: &mut impl Clocked, line: &str) -> Parsed<String> {
    let mut words: Vec<_> = line.split_whitespace().collect();
    let mut out = String::new();
    if let Some(time) = words.first().and_then(|it| it.strip_prefix("t=")) {
        let to = match time.strip_prefix('+') {
            Some(time) => *world.now() + duration(time)?,
            None => START + duration(time)?,
        };
        if to < *world.now() {
            return Err("time does not go back".into());
        }
        out = advance(world, to)?;
        words.remove(0);
    }
    if !words.is_empty() {
        out.push_str(&world.command(&words.join(" "))?);
    }
    Ok(out)
}

fn advance(world: &mut impl Clocked, to: Millis) -> Parsed<String> {
    let mut out = String::new();
    for _ in 0..WAKES_MAX {
        let now = *world.now();
        let Some(deadline) = world.deadline().filter(|it| *it <= to) else {
            *world.now() = to;
            return Ok(out);
        };
        *world.now() = now.max(deadline);
        let lines = world.wake();
        if !lines.is_empty() {
            let _ = write!(out, "at {}\n{lines}", since_start(*world.now()));
        }
    }
    Err("a deadline does not move on".into())
}
