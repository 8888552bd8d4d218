//! Logs: to stderr, for operators. Results of commands go to stdout and are no logs.

use std::io::{IsTerminal, stderr};

use tracing::Level;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Levels by target, for example `info,broker=debug`.
const VARIABLE: &str = "THALWEG_LOG";

/// Starts logging for the rest of the process.
pub(crate) fn start() {
    let given = std::env::var(VARIABLE).ok();
    let parsed = given.as_deref().map(str::parse::<Targets>).transpose();
    let wrong = parsed.as_ref().err().map(ToString::to_string);
    let levels = parsed.ok().flatten().unwrap_or_else(|| Targets::new().with_default(Level::INFO));
    let colours = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt::layer().with_writer(stderr).with_ansi(colours).with_target(true);
    // It can fail only if a subscriber was set before, and this is the only place that sets one.
    let _ = tracing_subscriber::registry().with(lines.with_filter(levels)).try_init();
    if let Some(error) = wrong {
        tracing::warn!(error, "{VARIABLE} is not understood and counts for nothing");
    }
}
