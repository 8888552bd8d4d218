//! What holds for every tree (wire.md 19), over all vectors of the repository.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic"
)]

use crate::support::{unhex, vectors};
use explain::{Explained, Lookup, Node, Options, Severity, Value};
use wire::Reader;
use wire::json::{self, Json};

/// Invariants 1 to 3 and 5, and that nothing is wrong with bytes of Kafka.
fn check(explained: &Explained, place: &str) {
    let mut end = 0;
    for leaf in explained.root.leaves() {
        assert_eq!(leaf.offset, end, "{place}: gap or overlap before {}", leaf.path);
        end += leaf.length;
    }
    assert_eq!(end, explained.bytes.len(), "{place}");
    check_node(&explained.root, place);
    let troubles: Vec<_> =
        explained.diagnostics().into_iter().filter(|it| it.severity > Severity::Note).collect();
    // The vectors fill bytes with numbers where these messages hold other messages.
    let filler = ["EnvelopeRequest v0 filled", "consumer_offsets ConsumerGroupMemberMetadata filled"];
    let filler = filler.contains(&place)
        || (place.starts_with("ConsumerGroupMemberMetadataValue") && place.ends_with("filled"));
    assert_eq!(troubles.is_empty(), !filler || explained.root.name == "record key", "{place}: {troubles:?}");
    for offset in [0, end / 2, end.saturating_sub(1)] {
        let chain = explained.at(offset);
        let Some(leaf) = chain.last() else {
            assert_eq!(end, 0, "{place}");
            continue;
        };
        assert!((leaf.offset..leaf.offset + leaf.length).contains(&offset), "{place}");
        assert_eq!(explained.find(&leaf.path).last().unwrap().path, leaf.path, "{place}");
    }
    assert!(explained.at(end).is_empty(), "{place}");
}

fn check_node(node: &Node, place: &str) {
    let fieldless = node.ty == "struct" && node.children.is_empty();
    let root = node.ty.starts_with("message");
    assert!(node.length > 0 || fieldless || root, "{place}: {} has no bytes", node.path);
    let mut end = node.offset;
    for child in &node.children {
        if child.inflated == node.inflated {
            assert_eq!(child.offset, end, "{place}: {} in {}", child.path, node.path);
            end += child.length;
        }
        check_node(child, place);
    }
    if node.children.iter().any(|it| it.inflated == node.inflated) {
        assert_eq!(end, node.offset + node.length, "{place}: {} is not the sum of its parts", node.path);
    }
}

/// The tree says what the JSON of the typed codec's tables says: same fields, same values.
fn same(node: &Node, json: &Json, place: &str) {
    match json {
        Json::Object(entries) => {
            for (key, value) in entries.iter().filter(|it| it.0 != json::UNKNOWN_TAGS) {
                let tagged = node.children.iter().filter(|it| it.name == "tagged_fields");
                let all = node.children.iter().chain(tagged.flat_map(|it| &it.children));
                // Kafka's JSON begins names in lower case, in its own way where several are upper.
                let mut named = all.filter(|it| it.name.eq_ignore_ascii_case(key));
                let child = named.next().unwrap_or_else(|| panic!("{place}: no {key} in {}", node.path));
                same(child, value, place);
            }
        }
        Json::Array(elements) => {
            assert_eq!(node.value, Value::Elements(elements.len()), "{place}: {}", node.path);
            let children = node.children.iter().filter(|it| it.name != "length");
            for (child, element) in children.zip(elements) {
                same(child, element, place);
            }
        }
        Json::Null => assert_eq!(node.value, Value::Null, "{place}: {}", node.path),
        Json::Bool(it) => assert_eq!(node.value, Value::Bool(*it), "{place}: {}", node.path),
        Json::Int(it) => assert_eq!(node.value, Value::Int(*it), "{place}: {}", node.path),
        Json::Float(it) => assert_eq!(node.value, Value::Float(*it), "{place}: {}", node.path),
        Json::String(it) => match &node.value {
            Value::Uuid(id) => assert_eq!(id.to_string(), *it, "{place}: {}", node.path),
            Value::Text(text) => assert_eq!(text, it.as_bytes(), "{place}: {}", node.path),
            Value::Bytes(bytes) | Value::Whole(bytes) => {
                let text = wire::base64::encode(bytes, wire::base64::STANDARD);
                assert_eq!(text, *it, "{place}: {}", node.path);
            }
            other => panic!("{place}: {} is {other:?}", node.path),
        },
    }
}

fn shown() -> Options {
    Options { show_secrets: true, ..Options::default() }
}

#[test]
fn messages() {
    let rows = vectors("messages.tsv.gz");
    assert_eq!(rows.len(), 3197);
    for row in &rows {
        let (name, version) = (row.get("name"), row.number("version"));
        let place = format!("{name} v{version} {}", row.get("case"));
        let (table, bytes) = (wire::table::message(name).unwrap(), row.bytes("hex"));
        let explained = explain::message(table, version, &bytes, &shown());
        check(&explained, &place);
        let json = json::decode(table, version, &mut Reader::new(bytes)).unwrap();
        same(&explained.root.children[0], &json, &place);
    }
}

#[test]
fn frames() {
    let rows = vectors("frames.tsv.gz");
    assert_eq!(rows.len(), 68);
    for row in &rows {
        let place = format!("{} {} {}", row.get("case"), row.get("api"), row.get("direction"));
        let (frame, version) = (row.bytes("frame"), row.number::<i16>("version"));
        let api = Lookup::default().api(row.get("api")).unwrap();
        let explained = match row.get("direction") {
            "request" => explain::request(&frame, &shown()),
            _ => explain::response(&frame, api.key, version, &shown()),
        };
        assert_eq!(explained.header_version, Some(row.number("header_version")), "{place}");
        if (api.key, version, row.get("direction")) == (18, 6, "request") {
            // KIP-511: the header and no further.
            let ids: Vec<_> = explained.diagnostics().iter().map(|it| it.id.as_str()).collect();
            assert_eq!(ids, ["E-VERSION"], "{place}");
            continue;
        }
        check(&explained, &place);
    }
}

/// Batches: header fields and records as Kafka's JSON has them, compressed or not.
#[test]
fn batches() {
    let rows = vectors("batches.txt.gz");
    assert_eq!(rows.len(), 27);
    for row in &rows {
        let place = row.get("case");
        let explained = explain::records(&row.bytes("batch"), &shown());
        check(&explained, place);
        let fields = json::parse(row.get("fields")).unwrap();
        let batch = &explained.root.children[0];
        let header: Vec<_> = batch.children.iter().filter(|it| fields.get(&it.name).is_some()).collect();
        for node in header.iter().filter(|it| it.name != "records") {
            let Value::Int(value) = node.value else { panic!("{place}: {}", node.path) };
            assert_eq!(fields.get(&node.name), Some(&Json::Int(value)), "{place}: {}", node.path);
        }
        let mut records = Vec::new();
        explained.root.each(&mut |it| {
            if it.name.starts_with("Record[") {
                records.push(it);
            }
        });
        let Some(Json::Array(expected)) = fields.get("records") else { panic!("{place}") };
        assert_eq!(records.len(), expected.len(), "{place}");
        for (record, expected) in records.iter().zip(expected) {
            let part = |name: &str| record.children.iter().find(|it| it.name == name).unwrap();
            let note = |name: &str| part(name).note.split(' ').nth(1).unwrap().parse::<i64>().unwrap();
            assert_eq!(Some(&Json::Int(note("offsetDelta"))), expected.get("offset"), "{place}");
            assert_eq!(Some(&Json::Int(note("timestampDelta"))), expected.get("timestamp"), "{place}");
            for name in ["key", "value"] {
                let found = match &part(name).value {
                    Value::Null => Json::Null,
                    Value::Data(it) | Value::Whole(it) => {
                        Json::String(wire::base64::encode(it, wire::base64::STANDARD))
                    }
                    other => panic!("{place}: {other:?}"),
                };
                assert_eq!(Some(&found), expected.get(name), "{place}");
            }
        }
    }
}

/// Records of internal topics: key and value alone, and both in a batch of the topic.
#[test]
fn coordinator_records() {
    let rows = vectors("coordinator_records.tsv.gz");
    assert_eq!(rows.len(), 127);
    for row in &rows {
        let place = format!("{} {} {}", row.get("topic"), row.get("name"), row.get("case"));
        let (topic, key) = (row.get("topic"), row.bytes("key"));
        let explained = explain::record_key(topic, &key, &shown());
        check(&explained, &place);
        same(explained.root.children.last().unwrap(), &json::parse(row.get("key_fields")).unwrap(), &place);
        let value = (row.get("value") != "-").then(|| unhex(row.get("value")));
        let (_, table) = Lookup::default().record(topic, row.number("type")).unwrap();
        if let Some(value) = &value {
            let explained = explain::record_value(table, value, &shown());
            check(&explained, &place);
            let fields = json::parse(row.get("value_fields")).unwrap();
            same(explained.root.children.last().unwrap(), &fields, &place);
        }
        let batch = wire::batch::BatchBuilder::new().push(Some(&key), value.as_deref()).build();
        let options = Options { topic: Some(format!("__{topic}")), ..shown() };
        let explained = explain::records(&batch, &options);
        check(&explained, &place);
        let record_type = explained.find("RecordBatch[0].Record[0].key.record_type");
        assert_eq!(record_type.last().unwrap().value, Value::Int(row.number("type")), "{place}");
    }
}
