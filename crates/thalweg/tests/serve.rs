//! `thalweg serve` as a process: what it prints, how it ends, and with which code.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// ApiVersions version 0, correlation id 1, no client id, with its length in front.
const API_VERSIONS: [u8; 14] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff];

/// A directory that is removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("thalweg-serve-{}-{number}", std::process::id())))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn command(directory: &Path, settings: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(["serve", "--print", "json", "--override", "listeners=PLAINTEXT://127.0.0.1:0"]);
    command.args(["--override", &format!("log.dirs={}", directory.display())]);
    settings.iter().for_each(|it| {
        command.args(["--override", it]);
    });
    command.env_clear().stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

struct Broker {
    process: Child,
    address: String,
}

impl Broker {
    /// Starts one and waits until it says that it is ready.
    fn start(directory: &Path, settings: &[&str]) -> Self {
        let mut process = command(directory, settings).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("{\"listeners\":[{\"name\":\"PLAINTEXT\",\"address\":\"");
        let address = address.and_then(|it| it.trim_end().strip_suffix("\"}]}"));
        let Some(address) = address.map(str::to_owned) else {
            let mut log = String::new();
            process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
            panic!("unexpected line {line:?}, log:\n{log}");
        };
        Self { process, address }
    }

    fn ask(&self) {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        connection.write_all(&API_VERSIONS).unwrap();
        let mut head = [0; 10];
        connection.read_exact(&mut head).unwrap();
        assert_eq!(head[4..], [0, 0, 0, 1, 0, 0], "correlation id and error code");
    }

    /// Sends a signal and waits for the end; gives the log too.
    fn end(mut self, signal: Signal) -> (ExitStatus, String) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
        let mut log = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.process.wait().unwrap(), log)
    }
}

fn cluster_id(directory: &Path) -> String {
    let properties = std::fs::read_to_string(directory.join("meta.properties")).unwrap();
    properties.lines().find_map(|it| it.strip_prefix("cluster.id=")).unwrap().to_owned()
}

#[test]
fn it_serves_until_a_signal_and_ends_clean() {
    let directory = Directory::new();
    for signal in [Signal::TERM, Signal::INT] {
        let broker = Broker::start(&directory.0, &[]);
        broker.ask();
        let (status, log) = broker.end(signal);
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(directory.0.join("thalweg.clean").exists(), "{log}");
    }
}

#[test]
fn the_cluster_keeps_its_id_whatever_ends_the_process() {
    let directory = Directory::new();
    Broker::start(&directory.0, &["cluster.id=4L6g3nShT-eMCtK--X86sw"]).end(Signal::KILL);
    assert_eq!(cluster_id(&directory.0), "4L6g3nShT-eMCtK--X86sw");
    let again = Broker::start(&directory.0, &[]);
    again.ask();
    again.end(Signal::TERM);
    assert_eq!(cluster_id(&directory.0), "4L6g3nShT-eMCtK--X86sw");
}

#[test]
fn a_second_process_on_a_directory_is_told_of_the_lock() {
    let directory = Directory::new();
    let first = Broker::start(&directory.0, &[]);
    let second = command(&directory.0, &[]).output().unwrap();
    let log = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{log}");
    assert!(log.contains(&directory.0.join(".lock").display().to_string()), "{log}");
    first.ask();
    first.end(Signal::TERM);
}

/// Clients ask for their coordinator for ever; the log says once why it does not come.
#[tokio::test]
async fn an_internal_topic_that_cannot_be_created_is_one_line_of_the_log() {
    let directory = Directory::new();
    let broker = Broker::start(&directory.0, &["offsets.topic.num.partitions=20000"]);
    let mut connection = client::Connection::connect(&broker.address, None).await.unwrap();
    let asked = wire::FindCoordinatorRequest {
        coordinator_keys: vec![wire::Str::from_static("g")],
        ..Default::default()
    };
    for _ in 0..3 {
        let found = connection.call(4, &asked).await.unwrap();
        assert_eq!(found.coordinators[0].error_code, wire::ErrorCode::COORDINATOR_NOT_AVAILABLE);
    }
    let (_, log) = broker.end(Signal::TERM);
    let told: Vec<_> = log.lines().filter(|it| it.contains("can't be created")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].contains("__consumer_offsets") && told[0].contains("POLICY_VIOLATION"), "{log}");
}

/// Who asks for a group whose log is gone is told so, and does not wait for a load that never ends.
#[tokio::test]
async fn a_group_whose_partition_is_offline_has_no_coordinator() {
    let directory = Directory::new();
    let settings = ["offsets.topic.num.partitions=4"];
    let broker = Broker::start(&directory.0, &settings);
    let mut connection = client::Connection::connect(&broker.address, None).await.unwrap();
    let asked = wire::FindCoordinatorRequest {
        coordinator_keys: vec![wire::Str::from_static("a")],
        ..Default::default()
    };
    connection.call(4, &asked).await.unwrap();
    broker.end(Signal::TERM);
    // "a" hashes to 97. A folder is no file of a log.
    std::fs::create_dir(directory.0.join("__consumer_offsets-1/00000000000000000007.log")).unwrap();
    let broker = Broker::start(&directory.0, &settings);
    let why = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["groups", "why", "a", "--timeout", "1", "--bootstrap-server", &broker.address])
        .env_clear()
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&why.stderr);
    assert_eq!(why.status.code(), Some(5), "{said}");
    assert!(said.contains("COORDINATOR_NOT_AVAILABLE (15): Partition 1 of __consumer_offsets"), "{said}");
    let (_, log) = broker.end(Signal::TERM);
    assert!(log.contains("partition is offline: restore its files"), "{log}");
}

#[test]
fn a_value_out_of_range_is_named_with_its_range() {
    let directory = Directory::new();
    let refused = command(&directory.0, &["num.partitions=0"]).output().unwrap();
    let log = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{log}");
    assert!(log.contains("num.partitions") && log.contains('0') && log.contains("at least 1"), "{log}");
    assert!(!directory.0.exists(), "nothing may be touched before the settings are right");
}

#[test]
fn wrong_usage_ends_with_2() {
    let directory = Directory::new();
    let twice = "listeners=PLAINTEXT://127.0.0.1:0,PLAINTEXT://127.0.0.1:0";
    for settings in [["nonsense"], ["=x"], ["listeners=SSL://127.0.0.1:0"], [twice]] {
        assert_eq!(command(&directory.0, &settings).output().unwrap().status.code(), Some(2));
    }
    let two = command(&directory.0, &["node.id=1", "broker.id=2"]).output().unwrap();
    assert_eq!(two.status.code(), Some(2));
    let missing =
        Command::new(env!("CARGO_BIN_EXE_thalweg")).args(["serve", "/not/a/file"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
}

/// The bound of a setting may be another: both are told with their values, and each name once.
#[test]
fn values_that_contradict_each_other_are_told() {
    let directory = Directory::new();
    let refused = command(&directory.0, &["group.streams.session.timeout.ms=1000"]).output().unwrap();
    let log = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{log}");
    let said = "ERROR thalweg::serve: group.streams.session.timeout.ms=1000 must be between \
                group.streams.min.session.timeout.ms=45000 and group.streams.max.session.timeout.ms=60000";
    assert!(log.contains(said), "{log}");
    let single = command(&directory.0, &["num.partitions=-1"]).output().unwrap();
    let log = String::from_utf8_lossy(&single.stderr);
    assert_eq!(log.matches("num.partitions").count(), 1, "{log}");
}

/// What an operator counts on in vain is a line, and so is a variable that names nothing.
#[test]
fn settings_without_effect_are_told_if_they_are_missed() {
    let directory = Directory::new();
    let settings = ["log.retention.hours=1", "num.io.threads=4", "offsets.topic.replication.factor=3"];
    let mut process = command(&directory.0, &settings).env("THALWEG_DURABILTY", "fsync").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
    let mut log = String::new();
    process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    process.wait().unwrap();
    let line_of = |text: &str| log.lines().find(|it| it.contains(text)).unwrap_or_default();
    assert!(line_of("log.retention.hours").contains("WARN"), "{log}");
    assert!(line_of("THALWEG_DURABILTY").contains("WARN"), "{log}");
    assert!(line_of("offsets.topic.replication.factor").contains("INFO"), "{log}");
    assert!(!log.contains("num.io.threads"), "{log}");
}

#[test]
fn half_a_frame_and_an_unknown_api_are_a_line_each() {
    let directory = Directory::new();
    let broker = Broker::start(&directory.0, &[]);
    let mut cut = TcpStream::connect(&broker.address).unwrap();
    cut.write_all(&API_VERSIONS[..9]).unwrap();
    let cut_from = cut.local_addr().unwrap().to_string();
    drop(cut);
    let mut unknown = TcpStream::connect(&broker.address).unwrap();
    unknown.write_all(&[0, 0, 0, 10, 0x27, 0x0f, 0, 3, 0, 0, 0, 1, 0xff, 0xff]).unwrap();
    let unknown_from = unknown.local_addr().unwrap().to_string();
    assert_eq!(unknown.read(&mut [0; 4]).unwrap(), 0, "the broker closes it");
    broker.ask();
    let (_, log) = broker.end(Signal::TERM);
    let line_of = |text: &str| log.lines().find(|it| it.contains(text)).unwrap_or_default();
    assert!(line_of(&cut_from).contains("in the middle of a frame, after 9 of 14 bytes"), "{log}");
    assert!(line_of(&unknown_from).contains("API key 9999 v3: no such API"), "{log}");
}

#[test]
fn unknown_settings_are_one_warning() {
    let directory = Directory::new();
    let broker = Broker::start(&directory.0, &["no.such.thing=1", "nor.this=2"]);
    let (status, log) = broker.end(Signal::TERM);
    assert_eq!(status.code(), Some(0), "{log}");
    let warnings: Vec<_> = log.lines().filter(|it| it.contains("WARN")).collect();
    assert_eq!(warnings.len(), 1, "{log}");
    assert!(warnings[0].contains("no.such.thing, nor.this"), "{log}");
}

#[test]
fn a_port_in_use_is_a_failure_at_run_time() {
    let directory = Directory::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listeners = format!("listeners=PLAINTEXT://{}", taken.local_addr().unwrap());
    let failed = command(&directory.0, &[&listeners]).output().unwrap();
    let log = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{log}");
    assert!(log.contains(&taken.local_addr().unwrap().to_string()), "{log}");
}
