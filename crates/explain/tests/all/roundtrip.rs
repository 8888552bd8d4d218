//! Decode, edit, encode (wire.md 21.6): trees and messages with Kafka's names become the same bytes again.

use crate::support::{hex, unhex, vectors};
use bytes::Bytes;
use explain::assemble::{Hints, assemble};
use explain::json::{kafka, of, page, pretty};
use explain::smallest::Build;
use explain::{Explained, Lookup, Options};
use wire::batch::compress::Codec;
use wire::batch::{BatchBuilder, Batches};
use wire::json::{Json, parse};

fn shown() -> Options {
    Options { show_secrets: true, ..Options::default() }
}

fn build(document: &Json) -> Result<Bytes, String> {
    assemble(document, &Hints::default(), Lookup::default()).map_err(|e| e.to_string())
}

fn check(explained: &Explained, place: &str) {
    let text = pretty(&of(explained));
    // Written node by node it is the same, alone and in an array.
    assert_eq!(page(explained, &[], 0) + "\n", text, "{place}");
    let array = pretty(&Json::Array(vec![of(explained)]));
    assert_eq!(format!("[\n  {}\n]\n", page(explained, &[], 1)), array, "{place}");
    let again = build(&parse(&text).unwrap()).unwrap_or_else(|e| panic!("{place}: {e}"));
    assert_eq!(hex(&again), hex(&explained.bytes), "{place}");
}

#[test]
fn every_vector() {
    for row in vectors("messages.tsv.gz") {
        let (name, version) = (row.get("name"), row.number("version"));
        let table = wire::table::message(name).unwrap();
        let explained = explain::message(table, version, &row.bytes("hex"), &shown());
        check(&explained, &format!("{name} v{version} {}", row.get("case")));
    }
    for row in vectors("batches.txt.gz") {
        check(&explain::records(&row.bytes("batch"), &shown()), row.get("case"));
    }
    for row in vectors("coordinator_records.tsv.gz") {
        let topic = row.get("topic");
        check(&explain::record_key(topic, &row.bytes("key"), &shown()), row.get("name"));
        if row.get("value") != "-" {
            let (_, table) = Lookup::default().record(topic, row.number("type")).unwrap();
            check(&explain::record_value(table, &unhex(row.get("value")), &shown()), row.get("name"));
        }
    }
}

/// Frames in both forms.
#[test]
fn frames() {
    for row in vectors("frames.tsv.gz") {
        let api = Lookup::default().api(row.get("api")).unwrap();
        let frame = row.bytes("frame");
        let explained = match row.get("direction") {
            "request" => explain::request(&frame, &shown()),
            _ => explain::response(&frame, api.key, row.number("version"), &shown()),
        };
        check(&explained, row.get("case"));
        // The body of ApiVersions 6 can't be read, so it has no names.
        if explained.has_errors() {
            assert!(kafka(&explained).is_err());
            continue;
        }
        let named = kafka(&explained).unwrap();
        assert_eq!(hex(&build(&named).unwrap()), hex(&frame), "{}", row.get("case"));
    }
}

/// Every API and version, with tagged fields too.
#[test]
fn every_smallest() {
    for api in Lookup::default().apis() {
        for version in explain::versions_of(api.request) {
            for build in [
                Build::default(),
                Build { minimal: true, with_tags: false },
                Build { minimal: false, with_tags: true },
            ] {
                check(&build.explain_request(&api, version, &shown()), api.name());
                check(&build.explain_response(&api, version, &shown()), api.name());
            }
        }
    }
}

/// The first node with this path.
fn node<'a>(json: &'a mut Json, path: &str) -> Option<&'a mut Json> {
    if json.get("path") == Some(&Json::String(path.to_owned())) {
        return Some(json);
    }
    let Json::Object(entries) = json else { return None };
    let children = entries.iter_mut().find(|it| it.0 == "children")?;
    let Json::Array(children) = &mut children.1 else { return None };
    children.iter_mut().find_map(|it| node(it, path))
}

fn entry<'a>(json: &'a mut Json, key: &str) -> &'a mut Json {
    let Json::Object(entries) = json else { panic!("no object") };
    &mut entries.iter_mut().find(|it| it.0 == key).unwrap().1
}

fn set(document: &mut Json, path: &str, value: Json) {
    *entry(node(entry(document, "tree"), path).unwrap(), "value") = value;
}

/// Values, elements and correlation ids are edited; sizes and counts follow.
#[test]
fn edits() {
    let api = Lookup::default().api("DescribeGroups").unwrap();
    let mut document = of(&Build::default().explain_request(&api, 6, &shown()));
    set(&mut document, "Header.correlation_id", Json::Int(7));
    set(&mut document, "Groups[0]", Json::String("g1".to_owned()));
    let groups = entry(node(entry(&mut document, "tree"), "Groups").unwrap(), "children");
    let Json::Array(elements) = groups else { panic!() };
    let second = elements[1].clone();
    elements.push(second);
    let bytes = build(&document).unwrap();
    assert_eq!(hex(&bytes), hex(&unhex("00000014 | 000f 0006 00000007 0000 00 | 03 03 6731 03 6731 00 00")));
    let explained = explain::request(&bytes, &shown());
    assert!(explained.diagnostics().is_empty(), "{:?}", explained.diagnostics());
    // A null where an array stood.
    let mut document = of(&explained);
    set(&mut document, "Groups", Json::Null);
    assert!(build(&document).unwrap().len() < bytes.len());
    // A value that does not fit its type.
    let mut document = of(&explained);
    set(&mut document, "Header.request_api_key", Json::Int(1 << 20));
    assert_eq!(build(&document).unwrap_err(), "Header.request_api_key: 1048576 does not fit int16");
}

/// Records that are edited get new lengths and a new checksum, compressed or not.
#[test]
fn edited_records() {
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let batch =
            BatchBuilder::new().codec(codec).push(Some(b"k"), Some(b"value")).push(None, None).build();
        let explained = explain::records(&batch, &shown());
        assert!(explained.diagnostics().is_empty());
        check(&explained, codec.name());
        let mut document = of(&explained);
        let longer = wire::base64::encode(b"a longer value", wire::base64::STANDARD);
        set(&mut document, "RecordBatch[0].Record[0].value", Json::String(longer));
        let built = build(&document).unwrap();
        assert!(explain::records(&built, &shown()).diagnostics().is_empty(), "{}", codec.name());
        let batch = Batches::new(built).next().unwrap().unwrap();
        batch.verify().unwrap();
        let records: Vec<_> = batch.records().unwrap().map(Result::unwrap).collect();
        assert_eq!(records.len(), 2);
        assert_eq!(records[0].value.as_deref(), Some(b"a longer value".as_slice()));
    }
}

/// wire.md 15 and 18.4: secrets are masked everywhere, and nothing can be built from the mask.
#[test]
fn secrets() {
    let api = Lookup::default().api("SaslAuthenticate").unwrap();
    let document =
        parse(r#"{"api":"SaslAuthenticate","version":2,"body":{"authBytes":"AHVzZXIAaHVudGVyMg=="}}"#)
            .unwrap();
    let frame = build(&document).unwrap();
    let explained = explain::request(&frame, &Options::default());
    assert_eq!(explained.api.unwrap().key, api.key);
    let text = explain::text::page(&explained, explain::text::Style::default());
    let json = of(&explained).to_string();
    assert!(
        text.contains("<13 bytes hidden>") && !text.contains("68 75 6e") && text.contains("** **"),
        "{text}"
    );
    assert!(!json.contains("AHVz") && !json.contains("68756e"), "{json}");
    assert!(kafka(&explained).is_err());
    assert!(build(&of(&explained)).unwrap_err().contains("--show-secrets"));
    // Bytes that could not be read may be secrets too.
    let mut cut = frame.to_vec();
    cut.truncate(frame.len() - 3);
    let text = explain::text::page(
        &explain::request(&Bytes::from(cut), &Options::default()),
        explain::text::Style::default(),
    );
    assert!(!text.contains("68 75 6e"), "{text}");
    // A password among configs.
    let body = r#"{"api":"IncrementalAlterConfigs","version":1,"body":{"resources":[{"resourceType":4,"resourceName":"1","configs":[
        {"name":"ssl.keystore.password","configOperation":0,"value":"hunter2"},{"name":"log.dirs","configOperation":0,"value":"plain"}]}],"validateOnly":false}}"#;
    let explained = explain::request(&build(&parse(body).unwrap()).unwrap(), &Options::default());
    let tree = explain::text::tree(&explained, explain::text::Style::default());
    assert!(!tree.contains("hunter2") && tree.contains("plain"), "{tree}");
}

/// Kafka's own request log, and a bare message.
#[test]
fn named_messages() {
    let line = r#"{"isForwarded":false,"requestHeader":{"clientId":"c","correlationId":5,"requestApiKey":15,"requestApiVersion":6,"requestApiKeyName":"DESCRIBE_GROUPS"},"request":{"groups":["g"],"includeAuthorizedOperations":false},"response":{"throttleTimeMs":0,"groups":[]}}"#;
    let document = parse(line).unwrap();
    let explained = explain::request(&build(&document).unwrap(), &shown());
    assert!(explained.diagnostics().is_empty());
    assert_eq!(explain::text::value(&explained.find("Groups[0]").last().unwrap().value).unwrap(), "\"g\"");
    let api = Lookup::default().api("DescribeGroups").unwrap();
    let hints = Hints { api: Some(api), version: Some(6), ..Hints::default() };
    let bare = assemble(
        &parse(r#"{"groups":[],"includeAuthorizedOperations":true}"#).unwrap(),
        &hints,
        Lookup::default(),
    );
    assert_eq!(hex(&bare.unwrap()), "0000000e000f00060000000000000001 0100".replace(' ', ""));
    let wrong = assemble(&parse(r#"{"groups":[1]}"#).unwrap(), &hints, Lookup::default()).unwrap_err();
    assert_eq!(wrong.to_string(), "body.groups[0]: expected a string");
    assert!(build(&parse(r#"{"groups":[]}"#).unwrap()).unwrap_err().contains("--api"));
}
