//! The commands that ask a broker, as processes: exit codes and where results go (`cli.md` 4.3).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

fn thalweg(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_thalweg")).args(arguments).env_clear().output().unwrap()
}

struct Broker {
    process: Child,
    address: String,
    directory: std::path::PathBuf,
}

impl Broker {
    fn start() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("thalweg-cli-{}-{number}", std::process::id()));
        let mut process = Command::new(env!("CARGO_BIN_EXE_thalweg"))
            .args(["serve", "--print", "json", "--override", "listeners=PLAINTEXT://127.0.0.1:0"])
            .args(["--override", &format!("log.dirs={}", directory.display())])
            .env_clear()
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("\"address\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        Self { process, address, directory }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

#[test]
fn wrong_usage_ends_with_2_and_silence_with_5() {
    assert_eq!(thalweg(&["groups", "why"]).status.code(), Some(2));
    assert_eq!(thalweg(&["groups", "list", "-o", "xml"]).status.code(), Some(2));
    for (option, names) in [("--type", "streams"), ("--state", "Stable")] {
        let done = thalweg(&["groups", "list", option, "nonsense"]);
        assert_eq!(done.status.code(), Some(2));
        assert!(String::from_utf8(done.stderr).unwrap().contains(names), "{option}");
    }
    // Nobody listens on port 1.
    let done = thalweg(&["groups", "why", "g", "--bootstrap-server", "127.0.0.1:1"]);
    assert_eq!(done.status.code(), Some(5));
    assert!(done.stdout.is_empty());
    assert!(String::from_utf8(done.stderr).unwrap().starts_with("thalweg: can't reach 127.0.0.1:1"));
}

/// The first address says nothing: the next is asked in time, and who waits is told.
#[test]
fn a_silent_address_is_passed() {
    let broker = Broker::start();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().map(|it| (silent, it.to_string())).unwrap();
    let both = format!("{},{}", silent.1, broker.address);
    let done =
        thalweg(&["groups", "list", "--timeout", "5", "--type", "Streams", "--bootstrap-server", &both]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("waiting for an answer of") && said.contains(&silent.1), "{said}");
    let done = thalweg(&["groups", "list", "--timeout", "1", "--bootstrap-server", &silent.1]);
    assert_eq!(done.status.code(), Some(5));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains(&format!("can't reach {}: no answer within 1 s", silent.1)), "{said}");
}

#[test]
fn a_group_that_is_not_there_ends_with_3() {
    let broker = Broker::start();
    let at = ["--bootstrap-server", &broker.address];
    for command in [
        &["groups", "why", "g"][..],
        &["groups", "events", "g"],
        &["streams", "tasks", "g"],
        &["streams", "topology", "g"],
        &["streams", "endpoints", "g"],
        &["txn", "describe", "x"],
        &["txn", "abort", "nope", "0", "--start-offset", "0"],
    ] {
        let done = thalweg(&[command, &at].concat());
        assert_eq!(done.status.code(), Some(3), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(done.stdout.is_empty());
    }
    let done = thalweg(&[&["groups", "list"], &at[..]].concat());
    assert_eq!(
        (done.status.code(), done.stdout.as_slice()),
        (Some(0), &b"GROUP  TYPE  STATE  PROTOCOL\n"[..])
    );
    let done = thalweg(&[&["groups", "list", "-o", "json"], &at[..]].concat());
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(0), &b"[]\n"[..]));
    let done = thalweg(&[&["txn", "list"], &at[..]].concat());
    assert_eq!(
        (done.status.code(), done.stdout.as_slice()),
        (Some(0), &b"TRANSACTIONAL-ID  COORDINATOR  PRODUCER-ID  STATE\n"[..])
    );
    let done = thalweg(&[&["txn", "hanging", "-o", "json"], &at[..]].concat());
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(0), &b"[]\n"[..]));
    assert_eq!(thalweg(&[&["txn", "list", "--state", "Bogus"], &at[..]].concat()).status.code(), Some(1));
}
