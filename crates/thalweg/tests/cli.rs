//! The commands that ask a broker, as processes: exit codes and where results go (`cli.md` 4.3).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use client::Connection;
use rustix::process::{Pid, Signal, kill_process};
use wire::create_topics::request::CreatableTopic;
use wire::streams_group_heartbeat::request::{Subtopology, TaskIds, Topology};
use wire::{
    CreateTopicsRequest, ErrorCode, FindCoordinatorRequest, Str, StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
};

fn thalweg(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_thalweg")).args(arguments).env_clear().output().unwrap()
}

struct Broker {
    process: Child,
    address: String,
    directory: PathBuf,
}

impl Broker {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(settings: &[&str]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("thalweg-cli-{}-{number}", std::process::id()));
        let (process, address) = launch("127.0.0.1:0", &directory, settings);
        Self { process, address, directory }
    }

    /// A signal ends the process, and after `between` another one serves the same directory at the same address.
    fn restart(&mut self, signal: Signal, between: impl FnOnce()) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
        self.process.wait().unwrap();
        between();
        self.process = launch(&self.address, &self.directory, &[]).0;
    }
}

/// Starts a broker and gives the address at which it is ready.
fn launch(address: &str, directory: &Path, settings: &[&str]) -> (Child, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["serve", "--print", "json", "--override", &format!("listeners=PLAINTEXT://{address}")])
        .args(["--override", &format!("log.dirs={}", directory.display())])
        .args(settings.iter().flat_map(|it| ["--override", it]))
        .env_clear()
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("\"address\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    (process, address)
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
    // No clock counts so far.
    let done = thalweg(&["groups", "list", "--timeout", "18446744073709551615"]);
    assert_eq!(done.status.code(), Some(2), "{}", String::from_utf8_lossy(&done.stderr));
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

/// A connection to a broker that has the topic `in` of two partitions, and the group's coordinator.
async fn prepared(broker: &Broker) -> Connection {
    let mut connection = Connection::connect(&broker.address, None).await.unwrap();
    let topic = CreatableTopic {
        name: Str::from_static("in"),
        num_partitions: 2,
        replication_factor: 1,
        ..Default::default()
    };
    let asked = CreateTopicsRequest { topics: vec![topic], timeout_ms: 5000, ..Default::default() };
    connection.call(7, &asked).await.unwrap();
    let keys = vec![Str::from_static("app")];
    let asked = FindCoordinatorRequest { coordinator_keys: keys, ..Default::default() };
    connection.call(4, &asked).await.unwrap();
    connection
}

/// A member that joins, or tells what it has.
async fn beat(
    connection: &mut Connection,
    member: &'static str,
    epoch: i32,
    active: &[i32],
) -> StreamsGroupHeartbeatResponse {
    let subtopology = Subtopology {
        subtopology_id: Str::from_static("0"),
        source_topics: vec![Str::from_static("in")],
        ..Default::default()
    };
    let topology = Topology { epoch: 0, subtopologies: vec![subtopology], ..Default::default() };
    let active =
        TaskIds { subtopology_id: Str::from_static("0"), partitions: active.to_vec(), ..Default::default() };
    let asked = StreamsGroupHeartbeatRequest {
        group_id: Str::from_static("app"),
        member_id: Str::from_static(member),
        member_epoch: epoch,
        rebalance_timeout_ms: if epoch == 0 { 60_000 } else { -1 },
        topology: (epoch == 0).then_some(topology),
        process_id: (epoch == 0).then(|| Str::from(format!("process-of-{member}"))),
        active_tasks: Some(if active.partitions.is_empty() { Vec::new() } else { vec![active] }),
        standby_tasks: Some(Vec::new()),
        warmup_tasks: Some(Vec::new()),
        ..Default::default()
    };
    loop {
        let answer = connection.call(1, &asked).await.unwrap();
        match answer.error_code {
            ErrorCode::NONE => return answer,
            code => assert_eq!(code, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, "{:?}", answer.error_message),
        }
    }
}

/// N2: a task has an owner as long as a member is giving it up.
#[tokio::test]
async fn a_task_that_is_given_up_is_not_nobodys() {
    let broker = Broker::start_with(&[
        "group.streams.initial.rebalance.delay.ms=0",
        "group.streams.assignment.interval.ms=0",
    ]);
    let mut connection = prepared(&broker).await;
    let first = beat(&mut connection, "first", 0, &[]).await;
    assert_eq!(first.active_tasks.unwrap()[0].partitions, [0, 1]);
    beat(&mut connection, "second", 0, &[]).await;
    let left = beat(&mut connection, "first", first.member_epoch, &[0, 1]).await.active_tasks.unwrap();
    let (kept, gone) = (left[0].partitions[0], 1 - left[0].partitions[0]);
    let tasks = |form| {
        let done = thalweg(&["streams", "tasks", "app", "-o", form, "--bootstrap-server", &broker.address]);
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let page = tasks("text");
    let line = |task: i32| page.lines().find(|it| it.starts_with(&format!("0_{task} "))).unwrap();
    assert!(line(kept).contains("/first ") && !line(kept).contains("revoking"), "{page}");
    assert!(line(gone).contains("[process-of-f/first revoking]"), "{page}");
    assert!(line(gone).contains("process-of-s/second"), "{page}");
    let owner = r#"[{"process":"process-of-first","member":"first"}]"#;
    let expected =
        format!(r#"{{"task":"0_{gone}","active":[],"standby":[],"warmup":[],"pending":{{"active":{owner},"#);
    assert!(tasks("json").contains(&expected), "{page}");
}

/// A command that runs until it is interrupted, or the test fails.
struct Follower(Child);

impl Follower {
    fn interrupt(mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.0), Signal::INT).unwrap();
        self.0.wait().unwrap()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `groups events -f` goes on when the broker is back, and tells nothing twice; it ends when it is interrupted.
#[tokio::test]
async fn who_follows_events_waits_for_the_broker() {
    let mut broker = Broker::start();
    beat(&mut prepared(&broker).await, "first", 0, &[]).await;
    let process = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["groups", "events", "app", "--follow", "--bootstrap-server", &broker.address])
        .env_clear()
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut follower = Follower(process.unwrap());
    let mut events = BufReader::new(follower.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut said = BufReader::new(follower.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let (mut told, mut seen) = (Vec::new(), Vec::new());
    let until = |text: &str, lines: &mut dyn Iterator<Item = String>, seen: &mut Vec<String>| {
        let found = lines.inspect(|it| seen.push(it.clone())).any(|it| it.contains(text));
        assert!(found, "{text}: {seen:?}");
    };
    until("  member-joined       first  ", &mut events, &mut seen);
    for (signal, member) in [(Signal::KILL, "second"), (Signal::TERM, "third")] {
        broker.restart(signal, || until("trying again until there is an answer", &mut said, &mut told));
        until("the coordinator answers again", &mut said, &mut told);
        until("the coordinator was loaded anew", &mut said, &mut told);
        let mut connection = Connection::connect(&broker.address, None).await.unwrap();
        beat(&mut connection, member, 0, &[]).await;
        until(&format!("  member-joined       {member}  "), &mut events, &mut seen);
    }
    assert!(told[0].starts_with(&format!("thalweg: can't reach {}", broker.address)), "{told:?}");
    assert_eq!(follower.interrupt().signal(), Some(2));
    seen.extend(events);
    assert_eq!(seen.iter().filter(|it| it.contains("  member-joined  ")).count(), 3, "{seen:?}");
}
