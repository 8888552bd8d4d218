//! One case for each diagnostic of wire.md 18.5: its id, its place, and that everything else is still shown.

use std::collections::BTreeSet;

use crate::support::{hex, unhex};
use bytes::Bytes;
use explain::smallest::Build;
use explain::{Explained, Id, Lookup, Options, Severity};
use wire::batch::BatchBuilder;

fn body(name: &str, version: i16, bytes: &str) -> Explained {
    explain::message(wire::table::message(name).unwrap(), version, &unhex(bytes), &Options::default())
}

/// The smallest body with its last bytes replaced.
fn ending(name: &str, version: i16, cut: usize, end: &str) -> Explained {
    let table = wire::table::message(name).unwrap();
    let bytes = Build { minimal: true, with_tags: false }.body(table, version);
    body(name, version, &format!("{}{end}", hex(&bytes[..bytes.len() - cut])))
}

fn frame(bytes: &str) -> Explained {
    explain::request(&unhex(bytes), &Options::default())
}

fn records(change: impl FnOnce(&mut Vec<u8>)) -> Explained {
    let mut bytes = BatchBuilder::new().push(Some(b"k"), Some(b"v")).build().to_vec();
    change(&mut bytes);
    explain::records(&Bytes::from(bytes), &Options::default())
}

fn cases() -> Vec<(Id, &'static str, usize, Explained)> {
    let groups = |bytes: &str| body("DescribeGroupsRequest", 6, bytes);
    vec![
        (Id::Length, "Groups[0]", 1, groups("02 fa 00 00")),
        (Id::Length, "Groups", 0, groups("7f 00 00")),
        (Id::Length, "tagged_fields", 2, groups("01 00 7f 00")),
        (Id::Null, "Groups", 0, groups("00 00 00")),
        (Id::Null, "Groups[0]", 1, groups("02 00 00 00")),
        (Id::Negative, "Groups", 0, body("DescribeGroupsRequest", 0, "ff ff ff fe")),
        (Id::Negative, "Groups[0]", 4, body("DescribeGroupsRequest", 0, "00 00 00 01 ff fe")),
        (Id::Varint, "Groups", 0, groups("ff ff ff ff ff 01")),
        (Id::Varint, "Groups", 0, groups("ff ff ff ff 7f 01")),
        (Id::TagVersion, "#1", 31, ending("FetchRequest", 12, 1, "01 01 00")),
        (Id::Crc, "RecordBatch[0].crc", 17, records(|it| it[17] ^= 1)),
        (Id::Magic, "", 16, records(|it| it[16] = 9)),
        (Id::Version, "Header.request_api_version", 6, frame("0000000b 000f 0009 00000001 0000 00")),
        (Id::Api, "Header.request_api_key", 4, frame("0000000b 7777 0009 00000001 0000 00")),
        (Id::Short, "Frame.size", 0, frame("0000000f 000f 0006 0000")),
        (Id::Short, "IncludeAuthorizedOperations", 1, groups("01")),
        (Id::Content, "RecordBatch[0].records", 61, records(|it| it[22] = 1)),
        (Id::LongVarint, "Groups", 0, groups("82 00 01 00 00")),
        (Id::TagOrder, "#3", 5, groups("01 00 02 05 00 03 00")),
        (Id::TagTwice, "#5", 5, groups("01 00 02 05 00 05 00")),
        (Id::TagSize, "ClusterId", 31, ending("FetchRequest", 12, 1, "01 00 01 02 61")),
        (Id::TagDefault, "ClusterId", 31, ending("FetchRequest", 12, 1, "01 00 01 00")),
        (Id::Utf8, "Groups[0]", 1, groups("02 02 ff 00 00")),
        (Id::Bool, "IncludeAuthorizedOperations", 1, groups("01 07 00")),
        (Id::Presence, "Assignment.presence", 16, ending("ConsumerGroupHeartbeatResponse", 0, 2, "fe 00")),
        (Id::Trailing, "", 3, groups("01 00 00 aa")),
        (Id::UnknownTag, "#9", 5, groups("01 00 01 09 02 ab cd")),
        (Id::PartialBatch, "", 0, records(|it| it.truncate(40))),
        (Id::Assumed, "Header", 12, frame("0000000b 7777 0009 00000001 0000 00")),
    ]
}

/// The tree covers every byte of damaged input too (18.5.1, 19.1).
fn covers(explained: &Explained) {
    let mut end = 0;
    for leaf in explained.root.leaves() {
        assert_eq!(leaf.offset, end, "{}", leaf.path);
        end += leaf.length;
    }
    assert_eq!(end, explained.bytes.len());
}

#[test]
fn one_case_per_id() {
    let mut seen = BTreeSet::new();
    for (id, path, offset, explained) in cases() {
        let all = explained.diagnostics();
        let found = all.iter().find(|it| it.id == id);
        let found = found.unwrap_or_else(|| panic!("{} {path}: {all:?}", id.as_str()));
        assert_eq!((found.path.as_str(), found.offset), (path, offset), "{}: {found}", id.as_str());
        assert_eq!(found.severity, id.severity());
        assert_eq!(explained.has_errors(), all.iter().any(|it| it.id.as_str().starts_with("E-")));
        covers(&explained);
        seen.insert(id.as_str());
    }
    let all: BTreeSet<_> = Id::ALL.iter().map(|it| it.as_str()).collect();
    assert_eq!(seen, all);
}

/// 18.5.1: the tree up to the error, the rest as one node, one diagnostic with rule, path, offset and value.
#[test]
fn what_an_error_looks_like() {
    let explained = frame("00000011 000f 0006 00000007 0001 63 00 02 7a 61 62");
    let style = explain::text::Style { colour: false, descriptions: false };
    let tree = explain::text::tree(&explained, style);
    let rest = tree.lines().skip_while(|it| !it.contains("DescribeGroupsRequest struct"));
    assert_eq!(
        rest.collect::<Vec<_>>(),
        [
            "+-- DescribeGroupsRequest struct [0x0010, 1B]",
            "|   +-- Groups []string = 0 elements [0x0010, 1B]",
            "|       +-- length uvarint = 2 (compact, n+1) [0x0010, 1B]",
            "+-- undecoded bytes bytes = 3 bytes 0x7a6162 [0x0011, 3B]",
        ]
    );
    // The frame is cut off, and that is the one thing to say.
    let found: Vec<_> = explained.diagnostics().iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "error E-SHORT Frame.size at 0x0000: incomplete frame, have 16 of 17 bytes (rule: a value has all its bytes)"
        ]
    );
    let whole = frame("00000010 000f 0006 00000007 0001 63 00 02 7a 61 62");
    let found: Vec<_> = whole.diagnostics().iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "error E-LEN Groups[0] at 0x0011: length 121 is beyond the 2 bytes that remain (rule: a length or count fits into the bytes that remain)"
        ]
    );
    assert!(explain::layout::layout(&whole, style).contains("?  ?  ?"));
}

/// 18.5.3.
#[test]
fn strict() {
    let table = wire::table::message("DescribeGroupsRequest").unwrap();
    let options = Options { strict: true, ..Options::default() };
    let explained = explain::message(table, 6, &unhex("01 07 00"), &options);
    assert_eq!(explained.diagnostics()[0].severity, Severity::Error);
    assert!(explained.has_errors());
    // Notes stay notes.
    assert!(!explain::message(table, 6, &unhex("01 00 01 09 00"), &options).has_errors());
}

/// Inner errors do not end the outer message: its lengths are known.
#[test]
fn errors_inside() {
    let api = Lookup::default().api("JoinGroup").unwrap();
    let document = wire::json::parse(
        r#"{"api":"JoinGroup","version":9,"body":{"groupId":"g","sessionTimeoutMs":1,"rebalanceTimeoutMs":1,"memberId":"",
        "groupInstanceId":null,"protocolType":"consumer","protocols":[{"name":"range","metadata":"AAMAAP8="}],"reason":"why"}}"#,
    )
    .unwrap();
    let frame = explain::assemble::assemble(&document, &Default::default(), Lookup::default()).unwrap();
    let explained = explain::request(&frame, &Options::default());
    assert_eq!(explained.api.unwrap().key, api.key);
    let found: Vec<_> = explained.diagnostics().into_iter().map(|it| (it.id, it.path.as_str())).collect();
    assert_eq!(found, [(Id::Short, "Protocols[0].Metadata.Topics")]);
    assert_eq!(explain::text::value(&explained.find("Reason").last().unwrap().value).unwrap(), "\"why\"");
    covers(&explained);
}

/// The documentation lists every id with its rule.
#[test]
fn documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explain.md");
    let page = std::fs::read_to_string(page).unwrap();
    for id in Id::ALL {
        let row = page.lines().find(|it| it.starts_with(&format!("| `{}` |", id.as_str())));
        assert!(row.is_some(), "docs/explain.md does not list {}", id.as_str());
    }
}
