//! The commands that ask a broker: arguments in, answers fetched, output by the pure functions of `show`.
//!
//! Results go to stdout, all else to stderr; the exit code says how it went (`Failure`).

mod absence;
mod groups;
mod progress;
mod show;
mod streams;
mod txn;

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use client::{Broker, Software, Trouble};
use tokio::runtime::Builder;
use tokio::time::{Instant, timeout};
use wire::ErrorCode;

pub(crate) use groups::{Groups, run as groups};
pub(crate) use progress::Progress;
pub(crate) use streams::{Streams, run as streams};
pub(crate) use txn::{Txn, run as txn};

const SOFTWARE: Software = Software { name: "thalweg", version: env!("CARGO_PKG_VERSION") };

pub(crate) const FAILED: u8 = 1;
pub(crate) const NOT_FOUND: u8 = 3;
const NOT_ALLOWED: u8 = 4;
pub(crate) const UNREACHABLE: u8 = 5;

/// Seconds of the longest patience. Much longer ones no clock can count.
const YEAR: u64 = 365 * 24 * 60 * 60;

/// Which broker is asked, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// Brokers, the first that answers is asked.
    #[arg(
        short,
        long = "bootstrap-server",
        value_name = "HOST:PORT",
        env = "THALWEG_BOOTSTRAP_SERVERS",
        value_delimiter = ',',
        default_value = "127.0.0.1:9092"
    )]
    bootstrap: Vec<String>,
    /// How long answers may take, at most a year.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=YEAR))]
    timeout: u64,
}

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// One document; field names are stable, times are RFC 3339 in UTC, what is not known is null.
    Json,
}

/// Why a command failed: a line for stderr and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    code: u8,
    /// What an answer said.
    error: Option<ErrorCode>,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Display) -> Self {
        Self { message: message.to_string(), code, error: None }
    }

    /// A thing of which an answer said that there is an error with it.
    fn refused(what: &str, code: ErrorCode, message: Option<&wire::Str>) -> Self {
        let exit = match code {
            ErrorCode::GROUP_ID_NOT_FOUND
            | ErrorCode::TRANSACTIONAL_ID_NOT_FOUND
            | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => NOT_FOUND,
            ErrorCode::GROUP_AUTHORIZATION_FAILED
            | ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            | ErrorCode::TOPIC_AUTHORIZATION_FAILED
            | ErrorCode::CLUSTER_AUTHORIZATION_FAILED => NOT_ALLOWED,
            // Asked until the time was up.
            ErrorCode::COORDINATOR_NOT_AVAILABLE => UNREACHABLE,
            _ => FAILED,
        };
        let detail = message.map_or_else(String::new, |it| format!(": {it}"));
        let failure = Self::new(exit, format_args!("{what}: {} ({}){detail}", code.name(), code.code()));
        Self { error: Some(code), ..failure }
    }

    /// Whether it may be over when the broker is back, or another one is the coordinator.
    fn is_absence(&self) -> bool {
        self.code == UNREACHABLE || self.error == Some(ErrorCode::NOT_COORDINATOR)
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match &trouble {
            Trouble::Unreachable(_) | Trouble::TimedOut | Trouble::Broken(_) => {
                Self::new(UNREACHABLE, &trouble)
            }
            Trouble::NotServed(_) => Self::new(FAILED, &trouble),
            Trouble::Refused { code, message } => {
                Self::refused("coordinator", *code, message.as_deref().map(wire::Str::from).as_ref())
            }
        }
    }
}

/// Tells a person who waits what is waited for: after a second, and then from time to time.
const TELL_AFTER: Duration = Duration::from_secs(1);
const TELL_EVERY: Duration = Duration::from_secs(10);

impl Target {
    /// Waits for an answer, and says so on stderr if it takes long.
    pub(crate) async fn patient<T>(&self, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        let mut next = TELL_AFTER;
        loop {
            match timeout(next, &mut answer).await {
                Ok(answer) => return answer,
                Err(_) => next = TELL_EVERY,
            }
            let brokers = self.bootstrap.join(", ");
            tell(format_args!("waiting for an answer of {brokers}, at most {} s", self.timeout));
        }
    }

    fn deadline(&self) -> Instant {
        Instant::now() + Duration::from_secs(self.timeout)
    }

    async fn broker(&self) -> Result<Broker, Failure> {
        Ok(Broker::connect(&self.bootstrap, SOFTWARE, self.deadline()).await?)
    }

    async fn coordinator(&self, group: &str) -> Result<Broker, Failure> {
        Ok(self.broker().await?.coordinator(group).await?)
    }
}

/// Runs a command to its end and gives the exit code of the process.
pub(crate) fn run(command: impl Future<Output = Result<(), Failure>>) -> ExitCode {
    finish(match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(command),
        Err(problem) => Err(Failure::new(FAILED, problem)),
    })
}

/// The exit code of a command that is done.
pub(crate) fn finish(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, code, error: _ }) => {
            // Who does not read stderr has the exit code.
            let _ = writeln!(std::io::stderr(), "thalweg: {message}");
            ExitCode::from(code)
        }
    }
}

/// A line for the person who waits. Who does not read stderr does not want to know.
fn tell(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "thalweg: {text}");
}

/// Writes a result. A reader that went away has seen enough; then this is false.
pub(crate) fn print(text: &str) -> Result<bool, Failure> {
    let mut out = std::io::stdout();
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    match write!(out, "{text}{end}").and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(problem) if problem.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(problem) => Err(Failure::new(FAILED, problem)),
    }
}
