//! Where lines go: stdout, and the recording.
//!
//! Writing is done in place, under a lock: who does not read stdout stops the proxy, and with it both ends (TCP does
//! the rest). So nothing queues up.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use explain::Direction;
use tokio::sync::Notify;
use wire::json::Json;

use super::filter::Filter;
use super::line::{Line, clock, int};
use crate::wire::record::Recorder;

/// How long the end waits for a line that is being written.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is printed, and where it goes.
#[derive(Debug)]
pub(super) struct Output {
    /// A line for each frame.
    pub(super) lines: bool,
    pub(super) json: bool,
    pub(super) tree: bool,
    pub(super) filter: Option<Filter>,
    recorder: Option<Mutex<Recording>>,
    stdout: Mutex<()>,
    /// Nobody reads stdout any more, or the recording can't be written.
    broken: Notify,
    pub(super) counters: Counters,
}

/// The file of a recording.
#[derive(Debug)]
enum Recording {
    Open(Recorder<BufWriter<File>>),
    /// It was ended, or could not be written and stays as it is.
    Over(io::Result<()>),
}

/// What passed.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) connections: AtomicU64,
    pub(super) requests: AtomicU64,
    pub(super) responses: AtomicU64,
    pub(super) rewritten: AtomicU64,
    pub(super) problems: AtomicU64,
}

/// Adds one.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Microseconds since 1970.
pub(super) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    super::line::micros(since)
}

impl Output {
    pub(super) fn new(lines: bool, json: bool, tree: bool, filter: Option<Filter>) -> Self {
        Self {
            lines,
            json,
            tree,
            filter,
            recorder: None,
            stdout: Mutex::new(()),
            broken: Notify::new(),
            counters: Counters::default(),
        }
    }

    /// Records into a file, which must not exist: a recording is not worth less than the next one. Only the owner may
    /// read it, since passwords may pass.
    pub(super) fn record(mut self, file: &Path, upstream: &str) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
        let recorder = Recorder::new(BufWriter::new(file), now_us(), upstream)?;
        self.recorder = Some(Mutex::new(Recording::Open(recorder)));
        Ok(self)
    }

    /// Whether frames have to be looked into.
    pub(super) const fn looks(&self) -> bool {
        self.lines || self.recorder.is_some()
    }

    /// Waits until the proxy can't do any more what it was told to do.
    pub(super) async fn broken(&self) {
        self.broken.notified().await;
    }

    /// A frame with its size, or the begin of one.
    pub(super) fn frame(&self, line: &Line, bytes: &[u8]) {
        self.recording(|it| it.frame(line, bytes));
        if self.lines && self.filter.as_ref().is_none_or(|it| it.matches(line)) {
            self.print(&self.shown(line, bytes));
        }
    }

    fn shown(&self, line: &Line, bytes: &[u8]) -> String {
        let explained = || super::tree::explained(line, &Bytes::copy_from_slice(bytes));
        if !self.json {
            let tree = if self.tree { explained().map(|it| super::tree::text(&it)) } else { None };
            return tree.map_or_else(|| line.text(), |tree| format!("{}\n{tree}", line.text()));
        }
        let mut fields = line.json();
        if self.tree
            && let Some(explained) = explained()
        {
            fields.push(("tree".into(), super::tree::json(&explained)));
        }
        Json::Object(fields).to_string()
    }

    /// More bytes of the last frame.
    pub(super) fn more(&self, connection: u64, direction: Direction, bytes: &[u8]) {
        self.recording(|it| it.more(connection, direction, bytes));
    }

    /// Bytes that are in no frame.
    pub(super) fn raw(&self, connection: u64, direction: Direction, bytes: &[u8]) {
        self.recording(|it| it.raw(connection, direction, bytes));
    }

    pub(super) fn open(&self, connection: u64, client: &str, upstream: &str) {
        count(&self.counters.connections);
        let at_us = now_us();
        self.recording(|it| it.open(connection, at_us, client, upstream));
        self.event(connection, at_us, "open", &format!("{client} to {upstream}"));
    }

    pub(super) fn close(&self, connection: u64) {
        let at_us = now_us();
        self.recording(|it| it.close(connection, at_us));
        self.event(connection, at_us, "close", "");
    }

    /// Something about a connection that is no frame.
    pub(super) fn note(&self, connection: u64, text: &str) {
        count(&self.counters.problems);
        self.event(connection, now_us(), "note", text);
    }

    fn event(&self, connection: u64, at_us: u64, kind: &'static str, text: &str) {
        let hidden = self.filter.is_some() && kind != "note";
        if !self.lines || hidden {
            return;
        }
        self.print(&if self.json {
            let mut fields = vec![(kind.into(), int(connection)), ("atUs".into(), int(at_us))];
            if !text.is_empty() {
                fields.push(("text".into(), Json::String(text.to_owned())));
            }
            Json::Object(fields).to_string()
        } else {
            let space = if text.is_empty() { "" } else { " " };
            format!("{} #{connection} {kind}{space}{text}", clock(at_us))
        });
    }

    /// A listener is there. Printed in any case: port 0 has to be told.
    pub(super) fn listening(&self, address: &str, upstream: &str) {
        self.print(&if self.json {
            let text = |it: &str| Json::String(it.to_owned());
            Json::Object(vec![("listening".into(), text(address)), ("upstream".into(), text(upstream))])
                .to_string()
        } else {
            format!("{} listening on {address} for {upstream}", clock(now_us()))
        });
    }

    fn print(&self, text: &str) {
        let _one_at_a_time = self.stdout.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut out = io::stdout().lock();
        if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
            self.broken.notify_one();
        }
    }

    fn recording(&self, write: impl FnOnce(&mut Recorder<BufWriter<File>>) -> io::Result<()>) {
        let Some(recorder) = &self.recorder else { return };
        let mut recorder = recorder.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Recording::Open(it) = &mut *recorder else { return };
        if let Err(problem) = write(it) {
            *recorder = Recording::Over(Err(problem));
            self.broken.notify_one();
        }
    }

    /// Brings the recording to disk at the end, unless a line that nobody reads is in the way.
    pub(super) fn finish(&self) -> io::Result<()> {
        let Some(recorder) = &self.recorder else { return Ok(()) };
        let start = Instant::now();
        loop {
            if let Ok(mut recorder) = recorder.try_lock() {
                return match std::mem::replace(&mut *recorder, Recording::Over(Ok(()))) {
                    Recording::Open(mut it) => it.flush(),
                    Recording::Over(done) => done,
                };
            }
            if start.elapsed() > PATIENCE {
                return Err(io::Error::from(io::ErrorKind::TimedOut));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
