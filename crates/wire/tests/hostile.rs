//! Broken bytes are an error with path and offset: never a panic, never more memory than the input warrants
//! (wire.md 10). The input is every golden vector, cut at every length, and with bytes changed by a seeded chance.
//! `THALWEG_SEED=N` replays a run.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test may panic"
)]

mod support;

use bytes::Bytes;
use support::chance::{Chance, mutate};
use support::{hex, message, rows, unhex};
use wire::message::{Erased, Failed};
use wire::walk::{Visitor, walk};
use wire::{DecodeError, DecodeErrorKind, LogRecord, Reader, consumer_offsets, frame, json};

/// Changed copies of each vector.
const MUTANTS: usize = 40;

/// The largest array that a message claims, to hold it against the bytes there are.
#[derive(Default)]
struct Largest(usize);

impl Visitor for Largest {
    fn begin_array(&mut self, field: &'static wire::table::Field, count: usize) {
        self.0 = self.0.max(count * field.min_size);
    }
}

/// Both decoders on the same bytes: they must agree on whether, where and why they fail.
fn check(it: &Erased, version: i16, bytes: &Bytes) -> Result<(), DecodeError> {
    let place = || format!("{} v{version} {}", it.table.name, hex(bytes));
    let typed = match (it.roundtrip)(bytes.clone(), version) {
        Ok((encoded, size)) => {
            assert_eq!(encoded.len(), size, "{}", place());
            // What was accepted is written in the canonical form, which is its own round trip.
            let (again, _) =
                (it.roundtrip)(encoded.clone(), version).unwrap_or_else(|e| panic!("{e:?}: {}", place()));
            assert_eq!(again, encoded, "{}", place());
            Ok(())
        }
        Err(Failed::Decode(error)) => Err(error),
        Err(Failed::Encode(error)) => panic!("decoded, but can't be encoded: {error}: {}", place()),
    };
    let (mut reader, mut largest) = (Reader::new(bytes.clone()), Largest::default());
    let walked = walk(it.table, version, &mut reader, &mut largest);
    assert!(largest.0 <= bytes.len(), "an array larger than the input: {}", place());
    match &typed {
        Err(error) if error.kind == DecodeErrorKind::TrailingBytes => {
            assert_eq!((walked, reader.position()), (Ok(()), error.offset), "{}", place());
        }
        _ => assert_eq!(walked, typed, "{}", place()),
    }
    typed
}

#[test]
fn cut_at_every_length() {
    let mut cuts = 0;
    for row in rows("messages.tsv.gz") {
        let (it, bytes) = (message(row.get("name")), row.bytes("hex"));
        for length in 0..bytes.len() {
            let error = check(it, row.version(), &bytes.slice(..length)).unwrap_err();
            let place = format!("{} v{} at {length}: {error:?}", row.get("name"), row.version());
            assert!(!error.path.is_empty() && error.offset <= length, "{place}");
            cuts += 1;
        }
    }
    println!("{cuts} cuts");
}

#[test]
fn changed_bytes() {
    let mut chance = Chance::seeded();
    let (mut refused, mut accepted) = (0, 0);
    for row in rows("messages.tsv.gz") {
        let (it, bytes) = (message(row.get("name")), row.bytes("hex"));
        for _ in 0..if bytes.is_empty() { 0 } else { MUTANTS } {
            let mutant = mutate(&bytes, &mut chance);
            match check(it, row.version(), &mutant) {
                Ok(()) => accepted += 1,
                Err(_) => refused += 1,
            }
        }
    }
    println!("{refused} refused, {accepted} accepted");
    assert!(refused > 10_000 && accepted > 10_000);
}

/// wire.md 10: a count is held against the least size of its elements before there is any room made for them.
#[test]
fn huge_counts() {
    // Metadata v0: Topics has 2^31 - 1 elements of at least two bytes.
    let error = check(message("MetadataRequest"), 0, &unhex("7fffffff0000")).unwrap_err();
    assert_eq!((error.path.as_str(), error.kind), ("Topics", DecodeErrorKind::TooManyElements));
    // Three elements of two bytes do not fit into five.
    let error = check(message("MetadataRequest"), 0, &unhex("000000030000000000")).unwrap_err();
    assert_eq!((error.path.as_str(), error.kind), ("Topics", DecodeErrorKind::TooManyElements));
    // Tagged fields: two bytes each.
    let error = check(message("ApiVersionsRequest"), 3, &unhex("0101ffffffff0f")).unwrap_err();
    assert_eq!((error.path.as_str(), error.kind), ("(tags)", DecodeErrorKind::TooManyElements));
    // A string that claims 32767 bytes.
    let error = check(message("FindCoordinatorRequest"), 0, &unhex("7fff41")).unwrap_err();
    assert_eq!((error.path.as_str(), error.kind), ("Key", DecodeErrorKind::Truncated));
}

/// wire.md 7.8 and 7.9: sizes, order and versions of tags.
#[test]
fn tags() {
    let cases = [
        // ApiVersionsResponse v3: tag 1 is an int64, of size 8.
        ("000001000000000101070000000000000005", DecodeErrorKind::TagSize),
        ("000001000000000101090000000000000005ff", DecodeErrorKind::TagSize),
        // Tag 9 before tag 1; tag 9 twice.
        ("0000010000000002090001080000000000000005", DecodeErrorKind::TagOrder),
        ("00000100000000020900", DecodeErrorKind::TooManyElements),
        ("000001000000000209000900", DecodeErrorKind::TagOrder),
    ];
    for (bytes, kind) in cases {
        assert_eq!(
            check(message("ApiVersionsResponse"), 3, &unhex(bytes)).unwrap_err().kind,
            kind,
            "{bytes}"
        );
    }
    // Fetch v12: tag 1 (ReplicaState) exists from version 15 on.
    let version = 12;
    let body = "ffffffff000000000000000000000000000000000000000001010101";
    let error = check(message("FetchRequest"), version, &unhex(&format!("{body}010100"))).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::TagNotInVersion, "{error}");
}

/// The path names the element.
#[test]
fn path_of_an_element() {
    // CreateTopics v2: two topics, the second with a null name.
    let first = "000161 00000001 0001 00000000 00000000".replace(' ', "");
    let bytes = unhex(&format!("00000002{first}ffff0000000100010000000000000000"));
    let error = check(message("CreateTopicsRequest"), 2, &bytes).unwrap_err();
    assert_eq!(
        (error.path.as_str(), error.kind, error.offset),
        ("Topics[1].Name", DecodeErrorKind::Null, 21)
    );
}

/// Frames: shorter than a header, of unknown APIs, of removed ones, of unknown versions.
#[test]
fn frames() {
    let parse = |hex: &str| frame::RequestHead::parse(unhex(hex)).map(|_| ()).unwrap_err().kind;
    assert_eq!(parse("-"), DecodeErrorKind::Truncated);
    assert_eq!(parse("00120003"), DecodeErrorKind::Truncated);
    assert_eq!(parse("7fff0000000000010000"), DecodeErrorKind::UnknownApi);
    assert_eq!(parse("00070000000000010000"), DecodeErrorKind::UnknownApi);
    assert_eq!(parse("00030063000000010000"), DecodeErrorKind::UnsupportedVersion);
    assert_eq!(parse("0012ffff000000010000"), DecodeErrorKind::UnsupportedVersion);
    // KIP-511: the header of ApiVersions of a version to come can be read.
    assert!(frame::RequestHead::parse(unhex("001200630000000100000000")).is_ok());
    for row in rows("frames.tsv.gz").iter().filter(|it| it.get("direction") == "request") {
        let frame = row.bytes("frame").slice(4..);
        for length in 0..frame.len() {
            let _ = frame::RequestHead::parse(frame.slice(..length));
        }
    }
}

/// Records of the log: cut keys and values, versions to come, types to come.
#[test]
fn records() {
    for row in rows("coordinator_records.tsv.gz").iter().filter(|it| it.get("topic") == "consumer_offsets") {
        let (key, value) = (row.bytes("key"), row.bytes("value"));
        for length in 0..key.len() {
            assert!(consumer_offsets::Record::decode(&key.slice(..length), None).is_err());
        }
        for length in 0..value.len() {
            assert!(consumer_offsets::Record::decode(&key, Some(&value.slice(..length))).is_err());
        }
        if !value.is_empty() {
            let mut changed = value.to_vec();
            changed[1] = 99;
            let error = consumer_offsets::Record::decode(&key, Some(&changed.into())).unwrap_err();
            assert_eq!(error.kind, DecodeErrorKind::UnsupportedVersion);
        }
    }
    assert_eq!(consumer_offsets::Record::decode(&unhex("7fff0000"), None), Ok(None));
}

/// JSON that is not the message says where.
#[test]
fn json_errors() {
    let table = message("CreateTopicsRequest").table;
    let problem = |text: &str| json::encode(table, 7, &json::parse(text).unwrap()).unwrap_err().to_string();
    assert_eq!(problem(r#"{"topic":[]}"#), "topic: CreateTopicsRequest has no such field");
    assert_eq!(problem(r#"{"topics":[{"name":"a"},{"name":1}]}"#), "topics[1].name: expected a string");
    assert_eq!(
        problem(r#"{"topics":[{"name":null}]}"#),
        "topics[0].name: null is not allowed in this version"
    );
    assert_eq!(problem(r#"{"timeoutMs":2147483648}"#), "timeoutMs: 2147483648 does not fit the type");
}
