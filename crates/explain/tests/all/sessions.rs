//! Frames in a row, lone responses, vectors in files.

use crate::support::{text, vectors};
use bytes::Bytes;
use explain::check::check;
use explain::frame::split;
use explain::session::{Hint, Session};
use explain::smallest::Build;
use explain::{Direction, Lookup, Options, What};

/// wire.md 18.3.1: requests and responses of a stream, none of which says what it is.
#[test]
fn a_conversation() {
    let rows = vectors("frames.tsv.gz");
    let stream: Vec<u8> = rows.iter().flat_map(|it| it.bytes("frame")).collect();
    let frames: Vec<_> = split(&Bytes::from(stream)).collect();
    assert_eq!(frames.len(), rows.len());
    let mut session = Session::new(Options::default(), Hint::default());
    for (frame, row) in frames.iter().zip(&rows) {
        let found = session.explain(frame, None);
        let direction = match row.get("direction") {
            "request" => Direction::Request,
            _ => Direction::Response,
        };
        let place = format!("{} {} {}", row.get("case"), row.get("api"), row.get("direction"));
        assert_eq!(found.explained.what, What::Frame(direction), "{place}");
        assert_eq!(found.explained.api.unwrap().name(), row.get("api"), "{place}");
        assert!(found.candidates.is_empty(), "{place}");
    }
}

/// wire.md 18.3.3: candidates of a lone response; the right one is among the best.
#[test]
fn a_lone_response() {
    let api = Lookup::default().api("StreamsGroupDescribe").unwrap();
    let frame = Build::default().response(&api, 0);
    let mut session = Session::new(Options::default(), Hint::default());
    let found = session.explain(&frame, None);
    assert_eq!(found.explained.what, What::Frame(Direction::Response));
    let best: Vec<_> = found.candidates.iter().map(|it| (it.api.name(), it.version)).collect();
    assert!(best.contains(&("StreamsGroupDescribe", 0)), "{best:?}");
    let ids: Vec<_> = found.explained.diagnostics().iter().map(|it| it.id.as_str()).collect();
    assert!(ids.contains(&"N-ASSUMED"), "{ids:?}");
    // Small correlation ids look like versions of Produce, key 0.
    let mut again = frame.to_vec();
    for id in 0..16 {
        again[7] = id;
        let found =
            Session::new(Options::default(), Hint::default()).explain(&Bytes::from(again.clone()), None);
        assert_eq!(found.explained.what, What::Frame(Direction::Response), "{id}");
    }
    // With the API said, nothing is guessed.
    let hint = Hint { api: Some(api), version: Some(0), ..Hint::default() };
    let found = Session::new(Options::default(), hint).explain(&frame, None);
    assert!(found.explained.diagnostics().is_empty() && found.candidates.is_empty());
}

/// wire.md 18.2.2: a version that is too new, or was removed, is told with the valid ones, also if nobody said that it is
/// a request.
#[test]
fn a_request_of_an_unknown_version() {
    let heartbeat = Lookup::default().api("StreamsGroupHeartbeat").unwrap();
    let known = Build::default().request(&heartbeat, 1);
    let fetch = Lookup::default().api("Fetch").unwrap();
    let old = Build::default().request(&fetch, 4);
    for (frame, version, name) in [(known, 9, "StreamsGroupHeartbeat"), (old, 2, "Fetch")] {
        let mut frame = frame.to_vec();
        frame[7] = version;
        let found = Session::new(Options::default(), Hint::default()).explain(&Bytes::from(frame), None);
        assert_eq!(found.explained.what, What::Frame(Direction::Request), "{name}");
        let told: Vec<_> = found.explained.diagnostics().iter().map(|it| it.to_string()).collect();
        assert!(told[0].contains("E-VERSION") && told[0].contains(name), "{told:?}");
    }
}

/// wire.md 18.2.2: a request of an API that nobody knows is one, though its bytes fit some response; so is its answer.
#[test]
fn a_request_of_an_unknown_api() {
    // Key, version, correlation id 1, client id; LeaderAndIsr was removed.
    for (key, removed) in
        [("0004", ": LeaderAndIsr, which was removed"), ("005f", ""), ("0fff", ""), ("fffe", "")]
    {
        for id in ["0003616263", "0000", "ffff"] {
            let content = format!("{key}000200000001{id}0000000000");
            let size = content.len() / 2;
            let frame = Bytes::from(explain::input::hex(&format!("{size:08x}{content}")).unwrap());
            let mut session = Session::new(Options::default(), Hint::default());
            let found = session.explain(&frame, None);
            assert_eq!(found.explained.what, What::Frame(Direction::Request), "{key} {id}");
            assert!(found.candidates.is_empty());
            let told: Vec<_> = found.explained.diagnostics().iter().map(|it| it.to_string()).collect();
            assert!(told[0].starts_with("note N-ASSUMED Header at "), "{told:?}");
            assert!(
                told[1].starts_with("error E-API Header.request_api_key at 0x0004: API key "),
                "{told:?}"
            );
            assert!(told[1].contains(removed), "{told:?}");
            assert_eq!(found.explained.root.leaves().last().unwrap().name, "undecoded bytes");
            // Its answer.
            let frame = Bytes::from_static(b"\0\0\0\x0a\0\0\0\x01\0\0\0\0\0\0");
            let found = session.explain(&frame, None);
            assert_eq!(found.explained.what, What::Frame(Direction::Response), "{key} {id}");
            let told: Vec<_> = found.explained.diagnostics().iter().map(|it| it.to_string()).collect();
            assert!(told.len() == 1 && told[0].starts_with("error E-API at 0x0008"), "{told:?}");
        }
    }
    // No request begins like this.
    for frame in
        [&b"\0\0\0\x0e\x0f\xff\xff\0\0\0\0\0\0\0\0\0\0\0"[..], b"\0\0\0\x0c\x0f\xff\0\x01\0\0\0\0\0\x20\0\0"]
    {
        let found =
            Session::new(Options::default(), Hint::default()).explain(&Bytes::from_static(frame), None);
        assert_eq!(found.explained.what, What::Frame(Direction::Response));
    }
}

/// A request in versions that do not exist: as it is, and with a body that begins as header tags do.
fn unknown_versions(frame: &Bytes) -> Vec<(i16, Bytes)> {
    let versions = [3, 9, 33, 99, i16::MAX, -1, i16::MIN];
    let of = |version: i16| {
        let [a, b] = version.to_be_bytes();
        let mut plain = frame.to_vec();
        plain[6..8].copy_from_slice(&[a, b]);
        let tagged =
            [b"\0\0\0\x19\0\x24", &[a, b][..], b"\0\0\0\x07\0\0\x01\x09\x0cAhunter22\0\0\0".as_slice()];
        [(version, plain.into()), (version, tagged.concat().into())]
    };
    versions.into_iter().flat_map(of).collect()
}

const SECRET: &[u8] = b"\0user\0hunter22";

fn build(json: &str) -> Bytes {
    let document = wire::json::parse(json).unwrap();
    explain::assemble::assemble(&document, &Default::default(), Lookup::default()).unwrap()
}

/// SaslAuthenticate with a password.
fn asked(version: i16) -> Bytes {
    let secret = wire::base64::encode(SECRET, wire::base64::STANDARD);
    build(&format!(
        r#"{{"api":"SaslAuthenticate","version":{version},"correlationId":7,"clientId":"c","body":{{"authBytes":"{secret}"}}}}"#
    ))
}

fn answered() -> Bytes {
    let secret = wire::base64::encode(SECRET, wire::base64::STANDARD);
    build(&format!(
        r#"{{"api":"SaslAuthenticate","version":2,"direction":"response","correlationId":7,
        "body":{{"errorCode":0,"errorMessage":null,"authBytes":"{secret}","sessionLifetimeMs":0}}}}"#
    ))
}

/// All that is shown.
fn page(it: &explain::Explained) -> String {
    explain::text::page(it, Default::default()) + &explain::json::page(it, &[], 0)
}

fn shows(page: &str) -> bool {
    let secret = wire::base64::encode(SECRET, wire::base64::STANDARD);
    ["hunter", "68 75 6e 74", "68756e74", &secret].iter().any(|it| page.contains(it))
}

/// wire.md 15: a wrong word about a frame does not show a password that its header, or the frame before it, tells of.
#[test]
fn secrets_of_other_names() {
    let api = |name: &str| Lookup::default().api(name).unwrap();
    let hints =
        [("Metadata", 9), ("Heartbeat", 0), ("Produce", 9), ("ApiVersions", 0), ("SaslAuthenticate", 0)];
    for (name, version) in hints {
        for direction in [None, Some(Direction::Response), Some(Direction::Request)] {
            let hint = Hint { direction, api: Some(api(name)), version: Some(version), ..Hint::default() };
            let mut session = Session::new(Options::default(), hint);
            for frame in [&asked(2), &answered(), &asked(0), &asked(2).slice(..26)] {
                let found = page(&session.explain(frame, None).explained);
                assert!(!shows(&found), "{name} {direction:?}: {found}");
            }
            // A version that nobody knows, with a body of whatever form.
            for (version, frame) in unknown_versions(&asked(0)) {
                let found = page(&session.explain(&frame, None).explained);
                assert!(!shows(&found), "{name} {direction:?} {version}: {found}");
            }
            // Tokens without a header.
            let mut session = Session::new(Options::default(), hint);
            session.explain(&Build::default().request(&api("SaslHandshake"), 0), None);
            let token = Bytes::from_static(b"\0\0\0\x0e\0user\0hunter22");
            let found = page(&session.explain(&token, None).explained);
            assert!(!shows(&found), "{name} {direction:?}: {found}");
        }
    }
    // It is said why; and who wants to see it can.
    let direction = Some(Direction::Response);
    let hint = Hint { direction, api: Some(api("Heartbeat")), version: Some(0), ..Hint::default() };
    let found = Session::new(Options::default(), hint).explain(&asked(2), None).explained;
    let words =
        "SaslAuthenticateRequest, as its own header says; with --show-secrets it is read as it was asked for";
    assert_eq!(found.diagnostics()[0].found, words);
    let options = Options { show_secrets: true, ..Options::default() };
    let found = Session::new(options, hint).explain(&asked(2), None).explained;
    assert_eq!(found.message.unwrap().name, "HeartbeatResponse");
    // A frame that says nothing of the kind is read as asked for.
    let found =
        Session::new(Options::default(), hint).explain(&Build::default().request(&api("Fetch"), 12), None);
    assert_eq!(found.explained.message.unwrap().name, "HeartbeatResponse");
}

/// wire.md 15: nor do versions and tags that nobody knows, a response alone, or what is behind the end of a body.
#[test]
fn secrets_where_nobody_expects_them() {
    // Nobody says anything, and there is but one frame.
    for (version, frame) in unknown_versions(&asked(0)) {
        for found in [
            explain::request(&frame, &Options::default()),
            explain::response(&frame, 36, version, &Options::default()),
            Session::default().explain(&frame, None).explained,
        ] {
            assert!(!shows(&page(&found)), "{version}: {}", page(&found));
            assert!(found.diagnostics().iter().any(|it| it.id.as_str() == "E-VERSION"), "{}", page(&found));
        }
    }
    let found = Session::default().explain(&answered(), None);
    assert!(!shows(&page(&found.explained)) && found.candidates[0].api.key == 36, "{:?}", found.candidates);
    // A body with more than its fields, and a header with tags that nobody knows.
    let table = Lookup::default().message("SaslAuthenticateRequest").unwrap();
    let body = Bytes::from([b"\0\0\0\x01x".as_slice(), SECRET].concat());
    for version in [0, 99] {
        let found = page(&explain::message(table, version, &body, &Options::default()));
        assert!(!shows(&found), "{version}: {found}");
    }
    let tagged = b"\0\0\0\x1c\0\x24\0\x02\0\0\0\x07\0\0\x01\x09\x0d\0user\0hunter2\x01\0";
    let found = page(&explain::request(&Bytes::from_static(tagged), &Options::default()));
    assert!(found.contains("unknown[9] bytes = <13 bytes hidden>"), "{found}");
}

/// wire.md 1.6: produce without acks is not answered, so its correlation id matches nothing.
#[test]
fn no_answer_without_acks() {
    let produce = Lookup::default().api("Produce").unwrap();
    let request = Build::default().request(&produce, 9);
    let mut session = Session::new(Options::default(), Hint::default());
    session.explain(&request, Some(Direction::Request));
    let heartbeat = Lookup::default().api("Heartbeat").unwrap();
    session.explain(&Build::default().request(&heartbeat, 4), Some(Direction::Request));
    let answer = session.explain(&Build::default().response(&heartbeat, 4), Some(Direction::Response));
    assert_eq!(answer.explained.api.unwrap().name(), "Heartbeat");
}

/// wire.md 1.7 and 15: after a handshake of version 0 come tokens without a header, and they are secrets.
#[test]
fn tokens() {
    let handshake = Lookup::default().api("SaslHandshake").unwrap();
    let mut session = Session::new(Options::default(), Hint::default());
    session.explain(&Build::default().request(&handshake, 0), None);
    session.explain(&Build::default().response(&handshake, 0), None);
    let token = Bytes::from_static(b"\x00\x00\x00\x0e\x00user\x00hunter22");
    let found = session.explain(&token, None).explained;
    assert!(found.diagnostics().is_empty());
    let page = explain::text::page(&found, explain::text::Style::default());
    assert!(page.contains("token bytes = <14 bytes hidden> [0x0004, 14B]"), "{page}");
    assert!(!page.contains("68 75 6e"), "{page}");
    // Then requests again.
    let groups = Lookup::default().api("DescribeGroups").unwrap();
    let found = session.explain(&Build::default().request(&groups, 6), None).explained;
    assert_eq!(found.api.unwrap().name(), "DescribeGroups");
}

/// Metadata tells the name behind an id, and with it that records are the coordinator's.
#[test]
fn topics_by_id() {
    let id = wire::Uuid([7; 16]);
    let metadata = build(&format!(
        r#"{{"api":"Metadata","version":12,"direction":"response","correlationId":1,"body":{{"throttleTimeMs":0,"brokers":[],"clusterId":null,
        "controllerId":1,"topics":[{{"errorCode":0,"name":"__consumer_offsets","topicId":"{id}","isInternal":true,"partitions":[],
        "topicAuthorizedOperations":0}}]}}}}"#
    ));
    let batch = wire::batch::BatchBuilder::new().push(Some(b"\x00\x11\x00\x02g1"), None).build();
    let records = wire::base64::encode(&batch, wire::base64::STANDARD);
    let produce = build(&format!(
        r#"{{"api":"Produce","version":13,"correlationId":2,"body":{{"transactionalId":null,"acks":-1,"timeoutMs":1,
        "topicData":[{{"topicId":"{id}","partitionData":[{{"index":0,"records":"{records}"}}]}}]}}}}"#
    ));
    let ask = build(
        r#"{"api":"Metadata","version":12,"correlationId":1,"body":{"topics":[],"allowAutoTopicCreation":false,"includeTopicAuthorizedOperations":false}}"#,
    );
    let mut session = Session::new(Options::default(), Hint::default());
    session.explain(&ask, None);
    session.explain(&metadata, None);
    let found = session.explain(&produce, None).explained;
    let path = "TopicData[0].PartitionData[0].Records.RecordBatch[0].Record[0].key.GroupId";
    assert_eq!(explain::text::value(&found.find(path).last().unwrap().value).unwrap(), "\"g1\"");
}

/// Files of vectors agree; a changed byte does not.
#[test]
fn files_of_vectors() {
    for (file, cases) in [
        ("messages.tsv.gz", 3197),
        ("frames.tsv.gz", 68),
        ("batches.txt.gz", 27),
        ("coordinator_records.tsv.gz", 127),
    ] {
        let report = check(&text(file)).unwrap();
        assert_eq!((report.cases, report.failures), (cases, Vec::new()), "{file}");
    }
    let head = "# name\tversion\tcase\tflags\tunknown_tags\thex\tjson\n";
    let line = |hex: &str| format!("{head}HeartbeatResponse\t0\tx\t-\t-\t{hex}\t{{\"errorCode\":1}}\n");
    assert!(check(&line("0001")).unwrap().failures.is_empty());
    let report = check(&line("0002")).unwrap();
    assert_eq!(report.cases, 1);
    let told = report.failures[0].to_string();
    assert!(told.starts_with("line 2: HeartbeatResponse 0 x: decoded JSON is"), "{told}");
    assert!(!check(&line("000100")).unwrap().failures.is_empty());
    assert!(check("a\tb\n").is_err());
}
