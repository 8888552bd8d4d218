//! `thalweg wire proxy` and `thalweg wire replay` as processes, between a client and a broker.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use client::Connection;
use rustix::process::{Pid, Signal, kill_process};
use wire::batch::BatchBuilder;
use wire::{
    ApiVersionsRequest, CreateTopicsRequest, DescribeClusterRequest, EndTxnRequest, ErrorCode, FetchRequest,
    FetchResponse, FindCoordinatorRequest, HeartbeatRequest, InitProducerIdRequest, JoinGroupRequest,
    ListOffsetsRequest, MetadataRequest, MetadataResponse, OffsetCommitRequest, OffsetFetchRequest,
    ProduceRequest, Records, SyncGroupRequest, Uuid, chunk, frame,
};

/// A path that is removed at the end.
struct Path(PathBuf);

impl Path {
    fn new(what: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("thalweg-proxy-{what}-{}-{number}", std::process::id())))
    }

    fn text(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
        let _ = std::fs::remove_file(&self.0);
    }
}

fn thalweg() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A process that is ended with the value.
struct Running {
    process: Child,
    out: BufReader<std::process::ChildStdout>,
    address: String,
}

impl Running {
    /// Starts one whose first line tells an address behind `key`.
    fn start(mut command: Command, key: &str) -> Self {
        let mut process = command.spawn().unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line.split(&format!("\"{key}\":\"")).nth(1).and_then(|it| it.split('"').next());
        let Some(address) = address.map(str::to_owned) else {
            let mut log = String::new();
            process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
            panic!("no address in {line:?}: {log}");
        };
        Self { process, out, address }
    }

    fn broker(directory: &Path) -> Self {
        let mut command = thalweg();
        command.args(["serve", "--print", "json", "--override", "listeners=PLAINTEXT://127.0.0.1:0"]);
        command.args(["--override", &format!("log.dirs={}", directory.text())]);
        command.args(["--override", "group.initial.rebalance.delay.ms=0"]);
        command.args(["--override", "offsets.topic.num.partitions=2"]);
        command.args(["--override", "transaction.state.log.num.partitions=2"]);
        command.stderr(Stdio::null());
        Self::start(command, "address")
    }

    fn proxy(upstream: &str, options: &[&str]) -> Self {
        let mut command = thalweg();
        command.args(["wire", "proxy", "--listen", "127.0.0.1:0", "--upstream", upstream, "-o", "json"]);
        command.args(options);
        Self::start(command, "listening")
    }

    fn port(&self) -> i32 {
        self.address.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// Ends the process by SIGTERM; the rest of its output and what it said at the end.
    fn end(self) -> (String, String) {
        self.end_by(Signal::TERM, 143)
    }

    /// As a signal ends every command of a client: with 128 and its number (`cli.md` 4.3).
    fn end_by(mut self, signal: Signal, code: i32) -> (String, String) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
        let (mut out, mut log) = (String::new(), String::new());
        self.out.read_to_string(&mut out).unwrap();
        self.process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        let status = self.process.wait().unwrap();
        assert_eq!(status.code(), Some(code), "{log}");
        (out, log)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(arguments: &[&str]) -> Output {
    thalweg().args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Everything waits at most this long.
fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), work).await.expect("in time") })
}

async fn connect(address: &str) -> Connection {
    Connection::connect(address, Some("a test")).await.unwrap()
}

fn produce(topic: &str, topic_id: Uuid, version: i16, acks: i16, records: bytes::Bytes) -> ProduceRequest {
    use wire::produce::request::{PartitionProduceData, TopicProduceData};
    let partition = PartitionProduceData { records: Some(Records::from(records)), ..Default::default() };
    let by_id = version >= 13;
    let topic = TopicProduceData {
        name: if by_id { "".into() } else { topic.into() },
        topic_id: if by_id { topic_id } else { Uuid::ZERO },
        partition_data: vec![partition],
        ..Default::default()
    };
    ProduceRequest { acks, timeout_ms: 5000, topic_data: vec![topic], ..Default::default() }
}

fn fetch(topic_id: Uuid, from: i64) -> FetchRequest {
    use wire::fetch::request::{FetchPartition, FetchTopic};
    let partition = FetchPartition { fetch_offset: from, partition_max_bytes: 1 << 20, ..Default::default() };
    let topic = FetchTopic { topic_id, partitions: vec![partition], ..Default::default() };
    FetchRequest {
        max_wait_ms: 500,
        min_bytes: 1,
        session_id: 0,
        session_epoch: 0,
        topics: vec![topic],
        ..Default::default()
    }
}

async fn create_topic(broker: &mut Connection, name: &str, times: &str) -> Uuid {
    use wire::create_topics::request::{CreatableTopic, CreatableTopicConfig};
    let config = CreatableTopicConfig {
        name: "message.timestamp.type".into(),
        value: Some(times.into()),
        ..Default::default()
    };
    let topic = CreatableTopic {
        name: name.into(),
        num_partitions: 1,
        replication_factor: 1,
        configs: vec![config],
        ..Default::default()
    };
    let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: 5000, ..Default::default() };
    let created = broker.call(7, &request).await.unwrap().topics.remove(0);
    assert_eq!(created.error_code, ErrorCode::NONE);
    created.topic_id
}

/// A conversation as clients have it: versions, metadata, an idempotent producer, a fetch session, a group, offsets.
async fn conversation(address: &str) -> MetadataResponse {
    let mut broker = connect(address).await;
    broker
        .call(
            4,
            &ApiVersionsRequest {
                client_software_name: "t".into(),
                client_software_version: "1".into(),
                ..Default::default()
            },
        )
        .await
        .unwrap();
    let topic_id = create_topic(&mut broker, "t", "CreateTime").await;
    let metadata = broker.call(12, &MetadataRequest { topics: None, ..Default::default() }).await.unwrap();
    let request = InitProducerIdRequest { transaction_timeout_ms: 60_000, ..Default::default() };
    let producer = broker.call(4, &request).await.unwrap();
    for sequence in 0..3 {
        let batch = BatchBuilder::new()
            .producer(producer.producer_id, producer.producer_epoch, sequence)
            .timestamp(1_700_000_000_000)
            .push(Some(b"key"), Some(b"a value"))
            .build();
        let produced = broker.call(12, &produce("t", topic_id, 12, -1, batch)).await.unwrap();
        assert_eq!(produced.responses[0].partition_responses[0].error_code, ErrorCode::NONE);
    }
    // Not answered; the next answer is that of the next request. Pipelined.
    let batch = BatchBuilder::new().timestamp(1_700_000_000_000).push(None, Some(b"unanswered")).build();
    broker.send_unanswered(12, &produce("t", topic_id, 12, 0, batch)).await.unwrap();
    let offsets = ListOffsetsRequest { replica_id: -1, ..Default::default() };
    broker.send(9, &offsets).await.unwrap();
    // Waits until the record that nobody answers for can be read.
    broker.send(16, &fetch(topic_id, 3)).await.unwrap();
    broker.receive::<ListOffsetsRequest>(9).await.unwrap();
    let fetched: FetchResponse = broker.receive::<FetchRequest>(16).await.unwrap();
    let records = fetched.responses[0].partitions[0].records.as_ref().unwrap().bytes();
    assert_eq!(wire::batch::records(&records).count(), 1);
    let fetched = broker.call(16, &fetch(topic_id, 0)).await.unwrap();
    let records = fetched.responses[0].partitions[0].records.as_ref().unwrap().bytes();
    assert_eq!(wire::batch::records(&records).count(), 4);
    group(&mut broker, topic_id).await;
    metadata
}

async fn group(broker: &mut Connection, topic_id: Uuid) {
    use wire::join_group::request::JoinGroupRequestProtocol;
    use wire::sync_group::request::SyncGroupRequestAssignment;
    let find = FindCoordinatorRequest { coordinator_keys: vec!["g".into()], ..Default::default() };
    let mut code = ErrorCode::COORDINATOR_NOT_AVAILABLE;
    while code == ErrorCode::COORDINATOR_NOT_AVAILABLE {
        code = broker.call(4, &find).await.unwrap().coordinators[0].error_code;
    }
    assert_eq!(code, ErrorCode::NONE);
    let protocol = JoinGroupRequestProtocol { name: "p".into(), ..Default::default() };
    let mut join = JoinGroupRequest {
        group_id: "g".into(),
        session_timeout_ms: 30_000,
        rebalance_timeout_ms: 30_000,
        protocol_type: "other".into(),
        protocols: vec![protocol],
        ..Default::default()
    };
    let mut joined = broker.call(9, &join).await.unwrap();
    while joined.error_code == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
        joined = broker.call(9, &join).await.unwrap();
    }
    assert_eq!(joined.error_code, ErrorCode::MEMBER_ID_REQUIRED);
    join.member_id = joined.member_id.clone();
    let joined = broker.call(9, &join).await.unwrap();
    assert_eq!(joined.error_code, ErrorCode::NONE);
    let assignment = SyncGroupRequestAssignment {
        member_id: joined.member_id.clone(),
        assignment: bytes::Bytes::from_static(b"all"),
        ..Default::default()
    };
    let sync = SyncGroupRequest {
        group_id: "g".into(),
        generation_id: joined.generation_id,
        member_id: joined.member_id.clone(),
        protocol_type: Some("other".into()),
        protocol_name: Some("p".into()),
        assignments: vec![assignment],
        ..Default::default()
    };
    assert_eq!(broker.call(5, &sync).await.unwrap().assignment, b"all".as_slice());
    offsets(broker, topic_id, joined.member_id.clone(), joined.generation_id).await;
    let beat = HeartbeatRequest {
        group_id: "g".into(),
        generation_id: 77,
        member_id: joined.member_id,
        ..Default::default()
    };
    assert_eq!(broker.call(4, &beat).await.unwrap().error_code, ErrorCode::ILLEGAL_GENERATION);
}

async fn offsets(broker: &mut Connection, topic_id: Uuid, member_id: wire::Str, generation: i32) {
    use wire::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
    use wire::offset_fetch::request::OffsetFetchRequestGroup;
    let partition = OffsetCommitRequestPartition { committed_offset: 3, ..Default::default() };
    let topic = OffsetCommitRequestTopic { topic_id, partitions: vec![partition], ..Default::default() };
    let commit = OffsetCommitRequest {
        group_id: "g".into(),
        generation_id_or_member_epoch: generation,
        member_id,
        topics: vec![topic],
        ..Default::default()
    };
    let committed = broker.call(10, &commit).await.unwrap();
    assert_eq!(committed.topics[0].partitions[0].error_code, ErrorCode::NONE);
    let asked = OffsetFetchRequestGroup { group_id: "g".into(), topics: None, ..Default::default() };
    let request = OffsetFetchRequest { groups: vec![asked], ..Default::default() };
    let found = broker.call(10, &request).await.unwrap();
    assert_eq!(found.groups[0].topics[0].partitions[0].committed_offset, 3);
}

#[test]
fn recorded_decoded_and_replayed() {
    let (first, second, file) = (Path::new("broker"), Path::new("broker"), Path::new("recording"));
    let broker = Running::broker(&first);
    let proxy = Running::proxy(&broker.address, &["--record", &file.text()]);
    let metadata = wait(conversation(&proxy.address));
    // Clients stay on the proxy.
    let told = &metadata.brokers[0];
    assert_eq!((told.host.to_string().as_str(), told.port), ("127.0.0.1", proxy.port()));
    let cluster = wait(async {
        connect(&proxy.address).await.call(1, &DescribeClusterRequest::default()).await.unwrap()
    });
    assert_eq!(cluster.brokers[0].port, proxy.port());
    let (out, log) = proxy.end();
    assert!(log.contains(" 0 odd"), "{log}");
    // One line for each frame, with error codes that are inside.
    let line = |parts: &[&str]| {
        let found = out.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(found, "no line with {parts:?} in\n{out}");
    };
    line(&["\"request\":1", "\"api\":\"Produce\"", "\"version\":12", "\"clientId\":\"a test\""]);
    line(&[
        "\"response\":1",
        "\"api\":\"JoinGroup\"",
        "MEMBER_ID_REQUIRED",
        "\"path\":\"ErrorCode\"",
        "\"latencyUs\":",
    ]);
    line(&["\"response\":1", "\"api\":\"Heartbeat\"", "ILLEGAL_GENERATION"]);
    assert!(!out.contains("notes"), "{out}");

    // Every frame decodes without an error and is written again in the same bytes.
    let done = run(&["wire", "decode", "--lines", &file.text()]);
    let shown = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{shown}{}", text(&done.stderr));
    assert!(shown.trim_end().ends_with("0 with errors, 0 would be written in other bytes"), "{shown}");

    let done = run(&["wire", "decode", "--pcap", &file.text()]);
    assert!(text(&done.stdout).contains("ProducerEpoch"), "trees");

    // A fresh broker answers the same, but for ids; one that has the topic already does not.
    let other = Running::broker(&second);
    let replay = ["wire", "replay", &file.text(), "--to", &other.address, "--compare", "--connection", "1"];
    let done = run(&replay);
    assert_eq!(done.status.code(), Some(0), "{}{}", text(&done.stdout), text(&done.stderr));
    assert!(text(&done.stdout).contains(" 0 differ"), "{}", text(&done.stdout));
    // A connection that the recording does not have: nothing is sent, not even of one that it has.
    let wrong =
        run(&["wire", "replay", &file.text(), "--to", "127.0.0.1:1", "--compare", "--connection", "1,77"]);
    assert_eq!((wrong.status.code(), text(&wrong.stdout)), (Some(3), String::new()));
    assert!(
        text(&wrong.stderr).contains("has no connection 77 with frames; it has 1, "),
        "{}",
        text(&wrong.stderr)
    );
    let recorded = std::fs::read(&file.0).unwrap();
    std::fs::write(&file.0, &recorded[..recorded.len() - 9]).unwrap();
    let done = run(&replay);
    assert_eq!(done.status.code(), Some(6), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains("CreateTopics v7 c=2 Topics[0].ErrorCode: 0 recorded, 36 now"));
    // What a killed proxy leaves is read up to there.
    assert!(text(&done.stderr).contains("ends within a line"), "{}", text(&done.stderr));
}

/// Asks until the coordinator of transactional ids is there, so that nothing of that is recorded.
async fn transactional_producer(broker: &mut Connection) -> (i64, i16) {
    let find =
        FindCoordinatorRequest { key_type: 1, coordinator_keys: vec!["x".into()], ..Default::default() };
    while broker.call(4, &find).await.unwrap().coordinators[0].error_code != ErrorCode::NONE {}
    let request = InitProducerIdRequest {
        transactional_id: Some("x".into()),
        transaction_timeout_ms: 60_000,
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    loop {
        let answer = broker.call(5, &request).await.unwrap();
        if answer.error_code == ErrorCode::NONE {
            return (answer.producer_id, answer.producer_epoch);
        }
    }
}

/// A batch in a transaction that is committed, and one that gets its time from the broker; both are read.
async fn writes_that_the_broker_stamps(address: &str) {
    let mut broker = connect(address).await;
    let plain = create_topic(&mut broker, "plain", "CreateTime").await;
    let stamped = create_topic(&mut broker, "stamped", "LogAppendTime").await;
    let (producer_id, producer_epoch) = transactional_producer(&mut broker).await;
    let batch = BatchBuilder::new().producer(producer_id, producer_epoch, 0).transactional();
    let batch = batch.timestamp(1_700_000_000_000).push(None, Some(b"in a transaction")).build();
    let request =
        ProduceRequest { transactional_id: Some("x".into()), ..produce("plain", plain, 12, -1, batch) };
    let produced = broker.call(12, &request).await.unwrap();
    assert_eq!(produced.responses[0].partition_responses[0].error_code, ErrorCode::NONE);
    let end = EndTxnRequest {
        transactional_id: "x".into(),
        producer_id,
        producer_epoch,
        committed: true,
        ..Default::default()
    };
    assert_eq!(broker.call(5, &end).await.unwrap().error_code, ErrorCode::NONE);
    let batch = BatchBuilder::new().timestamp(1_700_000_000_000).push(None, Some(b"plain")).build();
    broker.call(12, &produce("stamped", stamped, 12, -1, batch)).await.unwrap();
    for (topic, batches) in [(plain, 2), (stamped, 1)] {
        // Nothing of a transaction is read before its marker is there.
        let request = FetchRequest { isolation_level: 1, max_wait_ms: 30_000, ..fetch(topic, 0) };
        let fetched = broker.call(16, &request).await.unwrap();
        let records = fetched.responses[0].partitions[0].records.as_ref().unwrap().bytes();
        assert_eq!(wire::batch::Batches::new(records).count(), batches);
    }
}

/// Times that the broker wrote, into markers and where a topic wants it, are those of another broker or moment.
#[test]
fn times_of_the_broker_are_no_difference() {
    let (first, second, file) = (Path::new("broker"), Path::new("broker"), Path::new("recording"));
    let (broker, other) = (Running::broker(&first), Running::broker(&second));
    for address in [&broker.address, &other.address] {
        wait(async { transactional_producer(&mut connect(address).await).await });
    }
    let proxy = Running::proxy(&broker.address, &["--record", &file.text()]);
    wait(writes_that_the_broker_stamps(&proxy.address));
    proxy.end();
    let done = run(&["wire", "replay", &file.text(), "--to", &other.address, "--compare"]);
    assert_eq!(done.status.code(), Some(0), "{}{}", text(&done.stdout), text(&done.stderr));
    assert!(text(&done.stdout).contains(" 0 differ"), "{}", text(&done.stdout));
}

/// Several brokers: each gets a listener, and the ports that clients are told lead to them.
#[test]
fn every_broker_has_a_port() {
    let (first, second) = (Path::new("broker"), Path::new("broker"));
    let (one, two) = (Running::broker(&first), Running::broker(&second));
    // A broker that says that there are two.
    let fake = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = fake.local_addr().unwrap().to_string();
    let ports = [one.port(), two.port()];
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = fake.accept().unwrap();
        let mut size = [0; 4];
        stream.read_exact(&mut size).unwrap();
        let mut request = vec![0; u32::from_be_bytes(size) as usize];
        stream.read_exact(&mut request).unwrap();
        let broker = |port| wire::metadata::response::MetadataResponseBroker {
            node_id: port,
            host: "127.0.0.1".into(),
            port,
            ..Default::default()
        };
        let answer = MetadataResponse { brokers: ports.map(broker).to_vec(), ..Default::default() };
        let answer = chunk::join(&frame::encode_response(&answer, 12, 1).unwrap());
        stream.write_all(&answer).unwrap();
    });
    let mut proxy = Running::proxy(&address, &["--quiet"]);
    let told =
        wait(async { connect(&proxy.address).await.call(12, &MetadataRequest::default()).await.unwrap() });
    serving.join().unwrap();
    for (broker, real) in told.brokers.iter().zip(ports) {
        assert!(broker.port != real && broker.port != proxy.port());
        let mut line = String::new();
        proxy.out.read_line(&mut line).unwrap();
        assert!(
            line.contains(&format!("127.0.0.1:{}\"", broker.port)) && line.contains(&real.to_string()),
            "{line}"
        );
        let at = format!("127.0.0.1:{}", broker.port);
        wait(async { connect(&at).await.call(1, &DescribeClusterRequest::default()).await.unwrap() });
    }
    let (_, log) = proxy.end();
    assert!(log.contains("3 connections, 3 requests, 3 responses, 3 with other addresses"), "{log}");
}

/// A peer that sends back what it gets, to its end.
fn echo() -> (String, std::thread::JoinHandle<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut out = stream.try_clone().unwrap();
        std::io::copy(&mut stream, &mut out).unwrap()
    });
    (address, serving)
}

/// Half-close, bytes that are not Kafka's, frames larger than any that is held: nothing changes on the way.
#[test]
fn bytes_pass_as_they_are() {
    let mut http = b"GET / HTTP/1.1\r\n\r\n".to_vec();
    http.extend((0..200_000).map(|i| (i % 255) as u8));
    // An unknown API, one of 40 MiB, and a frame that is cut.
    let mut frames = b"\0\0\0\x0c\x7f\x00\0\x01\0\0\0\x05\0\0\0\0".to_vec();
    let large = 40 << 20u32;
    frames.extend(u32::to_be_bytes(large));
    frames.extend([0, 0, 0, 12, 0, 0, 0, 6, 255, 255, 0, 0, 255, 255]);
    frames.resize(16 + 4 + large as usize, 7);
    frames.extend([0, 0, 1, 0, 1]);
    for bytes in [http, frames] {
        for options in [&["--quiet"][..], &[]] {
            let file = Path::new("recording");
            let mut options = options.to_vec();
            let recorded = file.text();
            if options.is_empty() {
                options.extend(["--record", &recorded]);
            }
            let (upstream, serving) = echo();
            let proxy = Running::proxy(&upstream, &options);
            let mut client = TcpStream::connect(&proxy.address).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let mut out = client.try_clone().unwrap();
            let sent = bytes.clone();
            let sending = std::thread::spawn(move || {
                out.write_all(&sent).unwrap();
                out.shutdown(Shutdown::Write).unwrap();
            });
            let mut back = Vec::new();
            client.read_to_end(&mut back).unwrap();
            sending.join().unwrap();
            assert!(back == bytes, "{} of {} bytes came back, or others", back.len(), bytes.len());
            assert_eq!(serving.join().unwrap(), bytes.len() as u64);
            let held = peak_kib(proxy.process.id());
            assert!(held < 60 << 10, "{held} KiB for frames that are not held");
            let (out, _) = proxy.end();
            let notes = out.lines().filter(|it| it.contains("\"note\"")).count();
            assert!(notes <= 4, "{out}");
            if options.contains(&"--record") && bytes.starts_with(b"GET") {
                let done = run(&["wire", "decode", "--lines", &file.text()]);
                assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
                assert!(text(&done.stdout).contains(" bytes of the responses in no frame"));
            }
        }
    }
}

/// When all room for large answers is taken, what was there before the next one leaves all the same.
#[test]
fn a_finished_answer_waits_for_no_room() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap().to_string();
    let small = [&u32::to_be_bytes(6)[..], &[0, 0, 0, 1, 0, 0]].concat();
    // The begin of a large one, which takes all the room with fifteen others; it has its place when the small one comes.
    let both = [&small[..], &u32::to_be_bytes((16 << 20) - 4), &[0, 0, 0, 2, 0]].concat();
    let serving = std::thread::spawn(move || {
        let answered = |(mut stream, _): (TcpStream, _)| {
            stream.read_exact(&mut [0; 8]).unwrap();
            stream.write_all(&both).unwrap();
            stream
        };
        (0..17).map(|_| answered(listener.accept().unwrap())).collect::<Vec<_>>()
    });
    let proxy = Running::proxy(&upstream, &["--quiet"]);
    let beat = chunk::join(&frame::encode_request(&HeartbeatRequest::default(), 4, 1, None).unwrap());
    let fetch = chunk::join(&frame::encode_request(&FetchRequest::default(), 17, 2, None).unwrap());
    let clients = (0..17).map(|number| {
        let mut client = TcpStream::connect(&proxy.address).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.write_all(&[&beat[..], &fetch].concat()).unwrap();
        let mut back = vec![0; small.len()];
        client.read_exact(&mut back).unwrap_or_else(|problem| panic!("client {number}: {problem}"));
        assert_eq!(back, small);
        client
    });
    let _open = clients.collect::<Vec<_>>();
    let _answering = serving.join().unwrap();
    proxy.end();
}

/// A broker that is killed while it answers: what it said passes, and is told.
#[test]
fn a_reset_takes_nothing_along() {
    let (listener, file) = (TcpListener::bind("127.0.0.1:0").unwrap(), Path::new("recording"));
    let upstream = listener.local_addr().unwrap().to_string();
    let answer = [&u32::to_be_bytes(1000)[..], &[0, 0, 0, 1, 7, 7]].concat();
    let half = answer.clone();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Bytes that were not read make the end of the connection a reset.
        stream.read_exact(&mut [0; 4]).unwrap();
        stream.write_all(&half).unwrap();
    });
    let mut proxy = Running::proxy(&upstream, &["--record", &file.text()]);
    let mut client = TcpStream::connect(&proxy.address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let request = frame::encode_request(&MetadataRequest::default(), 12, 1, None).unwrap();
    client.write_all(&chunk::join(&request)).unwrap();
    let mut back = vec![0; answer.len()];
    client.read_exact(&mut back).unwrap();
    assert_eq!(back, answer);
    assert_eq!(client.read(&mut back).unwrap_or(0), 0);
    serving.join().unwrap();
    let mut out = String::new();
    while !out.contains("\"close\"") {
        assert_ne!(proxy.out.read_line(&mut out).unwrap(), 0, "{out}");
    }
    proxy.end();
    assert!(out.contains(&format!("\"text\":\"{upstream}: ")), "{out}");
    assert!(out.contains("the responses end within a frame"), "{out}");
    assert!(std::fs::read_to_string(&file.0).unwrap().contains("\"hex\":\"000003e8000000010707\""));
}

/// A disk that is full, here a file that must not grow.
#[test]
fn a_recording_that_cannot_be_written() {
    let (upstream, serving) = echo();
    let file = Path::new("recording");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_thalweg")]);
    command.args([
        "wire",
        "proxy",
        "--upstream",
        &upstream,
        "-o",
        "json",
        "--quiet",
        "--record",
        &file.text(),
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut proxy = Running::start(command, "listening");
    let mut client = TcpStream::connect(&proxy.address).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // The proxy ends, and with it the connection; when, nobody knows.
    client.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
    while client.write_all(&[b'x'; 4096]).is_ok() {}
    // One that went on would end with 143.
    kill_process(Pid::from_child(&proxy.process), Signal::TERM).unwrap();
    assert_eq!(proxy.process.wait().unwrap().code(), Some(1));
    let mut log = String::new();
    proxy.process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(log.contains("recording: File too large"), "{log}");
    // The end of the proxy may have reached it as a reset.
    let _ = serving.join();
    let done = run(&["wire", "decode", "--lines", &file.text()]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains("the recording ends within a line"), "{}", text(&done.stdout));
}

/// The most memory that a process had.
fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

#[test]
fn wrong_usage_and_what_is_not_there() {
    assert_eq!(run(&["wire", "proxy"]).status.code(), Some(2));
    assert_eq!(run(&["wire", "proxy", "--upstream", "nowhere"]).status.code(), Some(2));
    for listen in ["nonsense", "127.0.0.1:99999", ""] {
        let done = run(&["wire", "proxy", "--listen", listen, "--upstream", "127.0.0.1:1"]);
        assert_eq!(done.status.code(), Some(2), "{listen:?}: {}", text(&done.stderr));
    }
    assert_eq!(run(&["wire", "proxy", "--upstream", "h:1", "--filter", "api=Fetsh"]).status.code(), Some(2));
    let replay = |file: &str| run(&["wire", "replay", file, "--to", "127.0.0.1:1", "--compare"]);
    assert_eq!(replay("/not/a/file").status.code(), Some(2));
    let empty = Path::new("empty");
    for content in ["", "{}\n", "nonsense"] {
        std::fs::write(&empty.0, content).unwrap();
        let done = replay(&empty.text());
        assert_eq!(done.status.code(), Some(2), "{content:?}: {}", text(&done.stdout));
        assert!(text(&done.stderr).contains("not a recording"), "{content:?}: {}", text(&done.stderr));
    }
    // A recording is not written over.
    let file = Path::new("recording");
    std::fs::write(&file.0, "kept").unwrap();
    let done = run(&["wire", "proxy", "--upstream", "127.0.0.1:1", "--record", &file.text()]);
    assert_eq!((done.status.code(), std::fs::read(&file.0).unwrap()), (Some(1), b"kept".to_vec()));
    // A broker that is not there: the client is told by the end of its connection.
    let proxy = Running::proxy("127.0.0.1:1", &[]);
    let mut client = TcpStream::connect(&proxy.address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(client.read(&mut [0; 8]).unwrap_or(0), 0);
    let (out, _) = proxy.end();
    assert!(out.contains("\"note\":1") && out.contains("127.0.0.1:1: "), "{out}");
    for (signal, code) in [(Signal::INT, 130), (Signal::HUP, 129)] {
        let (_, log) = Running::proxy("127.0.0.1:1", &[]).end_by(signal, code);
        assert!(log.contains("0 connections, 0 requests"), "{log}");
    }
}
