//! Every message against the bytes of Kafka 4.4.0's own classes: `golden/README.md`. Nothing is skipped.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test may panic"
)]

mod support;

use std::collections::BTreeSet;

use bytes::Bytes;
use support::{Row, hex, message, rows, unhex};
use wire::frame::{self, RequestHead};
use wire::json::{self, Json, UNKNOWN_TAGS};
use wire::{
    ApiVersionsRequest, DescribeGroupsRequest, EVERY_MESSAGE, FetchRequest, FindCoordinatorRequest,
    JoinGroupRequest, LogRecord, Message, MetadataRequest, ProduceRequest, Reader, Request, Str,
    StreamsGroupHeartbeatRequest, chunk, consumer_offsets, share_group_state, table, transaction_state,
};

#[test]
fn messages() {
    let rows = rows("messages.tsv.gz");
    for row in &rows {
        check_message(row);
    }
    let names: BTreeSet<_> = rows.iter().map(|it| it.get("name")).collect();
    let pairs: BTreeSet<_> = rows.iter().map(|it| (it.get("name"), it.version())).collect();
    println!("{} messages, {} pairs of message and version, {} cases", names.len(), pairs.len(), rows.len());
    assert_eq!((names.len(), pairs.len(), rows.len()), (245, 699, 3197));
    // No message and no version that the schema has is without vectors; Kafka has no bytes of our own APIs.
    let known = EVERY_MESSAGE.iter().map(|it| it.table).filter(|it| !it.is_own());
    let expected: BTreeSet<_> =
        known.flat_map(|it| (it.versions.low..=it.versions.high).map(move |v| (it.name, v))).collect();
    assert_eq!(pairs, expected);
}

fn check_message(row: &Row) {
    let place = format!("{} v{} {}", row.get("name"), row.get("version"), row.get("case"));
    let (erased, version, bytes) = (message(row.get("name")), row.version(), row.bytes("hex"));

    // Typed: decode, encode, size.
    let (encoded, size) =
        (erased.roundtrip)(bytes.clone(), version).unwrap_or_else(|e| panic!("{place}: {e:?}"));
    assert_eq!(hex(&encoded), hex(&bytes), "{place}");
    assert_eq!(size, bytes.len(), "{place}");
    if row.get("case") == "default" {
        let default = (erased.default)(version).unwrap_or_else(|e| panic!("{place}: {e}"));
        assert_eq!(hex(&default), hex(&bytes), "{place}");
    }

    // By the tables: bytes to JSON and back.
    let mut reader = Reader::new(bytes.clone());
    let mut found =
        json::decode(erased.table, version, &mut reader).unwrap_or_else(|e| panic!("{place}: {e}"));
    assert_eq!(reader.remaining(), 0, "{place}");
    let again = json::encode(erased.table, version, &found).unwrap_or_else(|e| panic!("{place}: {e}"));
    assert_eq!(hex(&again), hex(&bytes), "{place}");

    let mut tags = Vec::new();
    take_tags(&mut found, "", &mut tags);
    let tags = if tags.is_empty() { "-".to_owned() } else { tags.join(",") };
    assert_eq!(tags, row.get("unknown_tags"), "{place}");
    let expected = json::parse(row.get("json")).unwrap_or_else(|e| panic!("{place}: {e}"));
    assert!(found.same(&expected), "{place}:\n{found}\n{expected}");
    // The flag says what the schema says.
    let flexible = row.get("flags").split(',').any(|it| it == "flexible");
    assert_eq!(erased.table.flexible.contains(version), flexible, "{place}");
    let unstable = row.get("flags").split(',').any(|it| it == "unstable");
    assert_eq!(erased.table.unstable == Some(version), unstable, "{place}");
}

/// Our own messages by both codecs, in the only form that has a reference: each is the other's.
#[test]
fn own_messages() {
    for erased in EVERY_MESSAGE.iter().filter(|it| it.table.is_own()) {
        for version in erased.table.versions.low..=erased.table.versions.high {
            let bytes = (erased.default)(version).unwrap();
            let value = json::decode(erased.table, version, &mut Reader::new(bytes.clone())).unwrap();
            assert_eq!(json::encode(erased.table, version, &value).unwrap(), bytes, "{}", erased.table.name);
            assert_eq!((erased.roundtrip)(bytes.clone(), version).unwrap().0, bytes, "{}", erased.table.name);
        }
    }
}

/// Removes unknown tags from the JSON and lists them as `path:tag:hex`.
fn take_tags(value: &mut Json, path: &str, out: &mut Vec<String>) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Json::Array(elements) => {
            for (i, it) in elements.iter_mut().enumerate() {
                take_tags(it, &join(&i.to_string()), out);
            }
        }
        Json::Object(entries) => {
            if let Some(place) = entries.iter().position(|it| it.0 == UNKNOWN_TAGS) {
                let Json::Object(tags) = entries.remove(place).1 else { panic!("tags are an object") };
                for (tag, data) in tags {
                    let Json::String(data) = data else { panic!("a tag is a string") };
                    out.push(format!("{path}:{tag}:{}", hex(&base64(&data))));
                }
            }
            for (key, it) in entries {
                take_tags(it, &join(key), out);
            }
        }
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::String(_) => {}
    }
}

/// Base64 by way of the codec: `UserData` of an assignment is a bytes field.
fn base64(text: &str) -> Vec<u8> {
    let table = table::message("ConsumerProtocolAssignment").unwrap();
    let value = json::parse(&format!("{{\"userData\":{text:?}}}")).unwrap();
    json::encode(table, 0, &value).unwrap()[8..].to_vec()
}

#[test]
fn frames() {
    let rows = rows("frames.tsv.gz");
    assert_eq!(rows.len(), 68);
    for row in &rows {
        let place =
            format!("{} {} {} v{}", row.get("case"), row.get("direction"), row.get("api"), row.version());
        if row.get("direction") == "request" {
            check_request(row, &place)
        } else {
            check_response(row, &place)
        }
    }
}

fn check_request(row: &Row, place: &str) {
    let frame = row.bytes("frame");
    let (head, mut reader) = RequestHead::parse(frame.slice(4..)).unwrap_or_else(|e| panic!("{place}: {e}"));
    let header = json::parse(row.get("header")).unwrap();
    assert_eq!(header.get("requestApiKey"), Some(&Json::Int(head.key.into())), "{place}");
    assert_eq!(header.get("requestApiVersion"), Some(&Json::Int(head.version.into())), "{place}");
    assert_eq!(header.get("correlationId"), Some(&Json::Int(head.correlation_id.into())), "{place}");
    let client_id = head.client_id.as_ref().map_or(Json::Null, |it| Json::String(it.to_string()));
    assert_eq!(header.get("clientId"), Some(&client_id), "{place}");
    let header_version = frame::request_header_version(head.key, head.version);
    assert_eq!(
        header_version.map(|it| it.to_string()).as_deref(),
        Some(row.get("header_version")),
        "{place}"
    );

    let (request, _) = table::api(head.key).unwrap();
    if !request.versions.contains(head.version) {
        // KIP-511: readable up to here, and no further.
        assert_eq!((head.key, head.version), (18, 6), "{place}");
        return;
    }
    let rest = reader.rest();
    let body = json::decode(request, head.version, &mut reader).unwrap_or_else(|e| panic!("{place}: {e}"));
    assert!(body.same(&json::parse(row.get("body")).unwrap()), "{place}: {body}");
    assert_eq!(encode_request(&head, rest), hex(&frame), "{place}");
}

fn check_response(row: &Row, place: &str) {
    let frame = row.bytes("frame");
    let (request, response) = table::message(&format!("{}Request", row.get("api")))
        .and_then(|it| table::api(it.id.unwrap()))
        .unwrap();
    let (key, version) = (request.id.unwrap(), row.version());
    let header_version = frame::response_header_version(key, version).unwrap();
    assert_eq!(header_version.to_string(), row.get("header_version"), "{place}");
    let mut reader = Reader::new(frame.slice(4..));
    let header = wire::ResponseHeader::decode(&mut reader, header_version).unwrap();
    let expected = json::parse(row.get("header")).unwrap();
    assert_eq!(expected.get("correlationId"), Some(&Json::Int(header.correlation_id.into())), "{place}");
    let rest = reader.rest();
    let body = json::decode(response, version, &mut reader).unwrap_or_else(|e| panic!("{place}: {e}"));
    assert!(body.same(&json::parse(row.get("body")).unwrap()), "{place}: {body}");
    assert_eq!(encode_response(key, version, header.correlation_id, rest), hex(&frame), "{place}");
}

/// Calls a generic function for the API with the key; the file has no others.
macro_rules! by_key {
    ($key:expr, $function:ident($($arg:expr),*)) => {
        match $key {
            ApiVersionsRequest::KEY => $function::<ApiVersionsRequest>($($arg),*),
            MetadataRequest::KEY => $function::<MetadataRequest>($($arg),*),
            DescribeGroupsRequest::KEY => $function::<DescribeGroupsRequest>($($arg),*),
            FindCoordinatorRequest::KEY => $function::<FindCoordinatorRequest>($($arg),*),
            JoinGroupRequest::KEY => $function::<JoinGroupRequest>($($arg),*),
            ProduceRequest::KEY => $function::<ProduceRequest>($($arg),*),
            FetchRequest::KEY => $function::<FetchRequest>($($arg),*),
            StreamsGroupHeartbeatRequest::KEY => $function::<StreamsGroupHeartbeatRequest>($($arg),*),
            other => panic!("key {other} is new in frames"),
        }
    };
}

fn encode_request(head: &RequestHead, body: Bytes) -> String {
    fn of<R: Request>(head: &RequestHead, body: Bytes) -> String {
        let request = R::decode(&mut Reader::new(body), head.version).unwrap();
        let client_id: Option<Str> = head.client_id.clone();
        let chunks = frame::encode_request(&request, head.version, head.correlation_id, client_id).unwrap();
        hex(&chunk::join(&chunks))
    }
    by_key!(head.key, of(head, body))
}

fn encode_response(key: i16, version: i16, correlation_id: i32, body: Bytes) -> String {
    fn of<R: Request>(version: i16, correlation_id: i32, body: Bytes) -> String {
        let response = R::Response::decode(&mut Reader::new(body), version).unwrap();
        hex(&chunk::join(&frame::encode_response(&response, version, correlation_id).unwrap()))
    }
    by_key!(key, of(version, correlation_id, body))
}

#[test]
fn coordinator_records() {
    let rows = rows("coordinator_records.tsv.gz");
    assert_eq!(rows.len(), 127);
    for row in &rows {
        let place = format!("{} {} {}", row.get("topic"), row.get("name"), row.get("case"));
        let written = match row.get("topic") {
            "consumer_offsets" => check_record::<consumer_offsets::Record>(row, &place),
            "transaction_state" => check_record::<transaction_state::Record>(row, &place),
            "share_group_state" => check_record::<share_group_state::Record>(row, &place),
            other => panic!("no topic {other}"),
        };
        check_record_fields(row, &place);
        // classic-and-consumer-groups.md 264, and the highest version elsewhere.
        let expected = match (row.get("name"), row.get("value_version")) {
            (_, "-") => None,
            ("OffsetCommit", "1") if row.get("case") == "filled" => Some(1),
            // The minimal case has the expiry 0, which is not "none".
            ("OffsetCommit", "1") if row.get("case") == "minimal" => Some(1),
            ("OffsetCommit", _) => Some(4),
            ("GroupMetadata", _) => Some(3),
            ("TransactionLog", _) => Some(1),
            (_, _) => Some(0),
        };
        assert_eq!(written, expected, "{place}");
    }
}

/// The record survives, in the same bytes if it has the version that is written. Gives that version.
fn check_record<R: LogRecord + PartialEq + std::fmt::Debug>(row: &Row, place: &str) -> Option<i16> {
    let (key, value) = (row.bytes("key"), row.get("value"));
    let value = (value != "-").then(|| unhex(value));
    let record = R::decode(&key, value.as_ref()).unwrap_or_else(|e| panic!("{place}: {e}")).unwrap();
    let (key_again, value_again) = record.encode().unwrap_or_else(|e| panic!("{place}: {e}"));
    assert_eq!(hex(&key_again), hex(&key), "{place}");
    let version = value_again.as_ref().map(|it| i16::from_be_bytes([it[0], it[1]]));
    if version.map_or_else(|| "-".to_owned(), |it| it.to_string()) == row.get("value_version") {
        assert_eq!(value_again, value, "{place}");
    } else {
        assert_eq!(R::decode(&key, value_again.as_ref()).unwrap().unwrap(), record, "{place}");
    }
    version
}

fn check_record_fields(row: &Row, place: &str) {
    let (key, value) = table::record(row.get("topic"), row.get("type").parse().unwrap()).unwrap();
    assert_eq!(key.name, format!("{}Key", row.get("name")), "{place}");
    let found = json::decode(key, 0, &mut Reader::new(row.bytes("key").slice(2..))).unwrap();
    assert!(found.same(&json::parse(row.get("key_fields")).unwrap()), "{place}");
    if row.get("value") != "-" {
        let version = row.get("value_version").parse().unwrap();
        let found = json::decode(value, version, &mut Reader::new(row.bytes("value").slice(2..))).unwrap();
        assert!(found.same(&json::parse(row.get("value_fields")).unwrap()), "{place}");
    }
}
