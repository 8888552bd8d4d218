//! What the local engine says in the log: once what an operator must know, and nothing false.

use std::fmt::Write as _;
use std::fs;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::thread::sleep;
use std::time::Duration;

use crate::common::{Folder, config, start};
use storage::conformance::{append, batch, durable, partition, wait};
use storage::{LocalConfig, Span};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

/// Lines of all threads of this process.
#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

struct Listener;

static LINES: Lines = Lines(Mutex::new(Vec::new()));

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut text = Text(event.metadata().level().to_string());
        event.record(&mut text);
        LINES.0.lock().unwrap().push(text.0);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// One test after the other, since all of them write the same lines.
fn listen() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    static ONCE: OnceLock<()> = OnceLock::new();
    let turn = TURN.lock().unwrap();
    ONCE.get_or_init(|| tracing::subscriber::set_global_default(Listener).unwrap());
    LINES.0.lock().unwrap().clear();
    turn
}

fn lines() -> Vec<String> {
    LINES.0.lock().unwrap().clone()
}

/// A reader that comes again and again does not fill the log.
#[test]
fn log_that_cannot_be_read_is_told_once() {
    let _turn = listen();
    let folder = Folder::fast();
    {
        let (_engine, lane) = start(config(&folder.0));
        let log = lane.log(&partition(0)).unwrap();
        (0..20).for_each(|n| append(&*log, &[batch(n, 1, 2_000, n)]));
        durable(&*log, 20);
        wait(lane.close()).unwrap();
    }
    let path = folder.0.join(format!("t-0/{:020}.log", 0));
    let mut bytes = fs::read(&path).unwrap();
    bytes[16] = 9;
    fs::write(&path, bytes).unwrap();
    let (_engine, lane) = start(config(&folder.0));
    let log = lane.log(&partition(0)).unwrap();
    for _ in 0..50 {
        assert!(wait(log.read(Span { from: 0, to: 20, max_bytes: 1, at_least_one: true })).is_err());
    }
    let [line] = &*lines() else { panic!("{:?}", lines()) };
    assert!(line.contains("partition is offline") && line.contains("t-0"), "{line}");
    assert!(line.contains(path.to_str().unwrap()) && line.contains("byte 0"), "{line}");
}

/// Checkpoints that are due while the broker stops are no failure of the directory.
#[test]
fn orderly_stop_says_nothing() {
    let _turn = listen();
    let folder = Folder::fast();
    let every = Duration::from_millis(5);
    let (_engine, lane) = start(LocalConfig { checkpoint_every: every, ..config(&folder.0) });
    let log = lane.log(&partition(0)).unwrap();
    append(&*log, &[batch(0, 1, 100, 0)]);
    durable(&*log, 1);
    wait(lane.close()).unwrap();
    sleep(20 * every);
    assert!(wait(lane.checkpoint()).is_err(), "the lane is closed");
    assert_eq!(lines(), [] as [String; 0]);
}

/// An engine that ends in the middle of a checkpoint ends.
#[test]
fn stop_in_the_middle_of_a_checkpoint_ends() {
    let _turn = listen();
    for round in 0..100 {
        let folder = Folder::fast();
        let every = Duration::from_millis(1);
        let (_engine, lane) = start(LocalConfig { checkpoint_every: every, ..config(&folder.0) });
        append(&*lane.log(&partition(0)).unwrap(), &[batch(0, 1, 10, 0)]);
        sleep(Duration::from_micros(700 + round * 10));
    }
}

/// What was cut after a crash is told with its size; what may be gone is said.
#[test]
fn cut_tail_is_told() {
    let _turn = listen();
    let folder = Folder::fast();
    {
        let (_engine, lane) = start(config(&folder.0));
        let log = lane.log(&partition(0)).unwrap();
        (0..3).for_each(|n| append(&*log, &[batch(n * 2, 2, 100, n)]));
        durable(&*log, 6);
    }
    let path = folder.0.join(format!("t-0/{:020}.log", 0));
    let bytes = fs::read(&path).unwrap();
    let size = bytes.len() / 3;
    let told = |bytes: &[u8], same_boot: bool| {
        let copied = folder.copy();
        fs::write(copied.0.join(format!("t-0/{:020}.log", 0)), bytes).unwrap();
        LINES.0.lock().unwrap().clear();
        let config =
            if same_boot { config(&copied.0) } else { crate::common::config_after_power_cut(&copied.0) };
        let (_engine, _lane) = start(config);
        let [line] = &*lines() else { panic!("{:?}", lines()) };
        line.clone()
    };
    let short = told(&bytes[..2 * size + 30], true);
    assert!(short.contains("torn tail is cut") && short.contains("bytes=30"), "{short}");
    assert!(!short.contains("acknowledged"), "{short}");
    let mut flipped = bytes;
    flipped[size + 70] ^= 1;
    let cut = told(&flipped, false);
    assert!(cut.contains("acknowledged ones may be gone"), "{cut}");
    assert!(cut.contains(&format!("bytes={}", 2 * size)), "{cut}");
    assert!(cut.contains("from=2 to=5"), "{cut}");
}
