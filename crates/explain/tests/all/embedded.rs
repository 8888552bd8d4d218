//! Content inside of content (wire.md 12.3, 12.4, 14 and 18.4).

use crate::support::{hex, unhex, vectors};
use bytes::Bytes;
use explain::assemble::{Hints, assemble};
use explain::smallest::Build;
use explain::text::{Style, tree, value};
use explain::{Explained, Lookup, Options, Severity};
use wire::batch::compress::{Codec, compress};
use wire::json::parse;

fn build(json: &str) -> Bytes {
    assemble(&parse(json).unwrap(), &Hints::default(), Lookup::default()).unwrap()
}

fn at(explained: &Explained, path: &str) -> String {
    let chain = explained.find(path);
    let node = chain.last().unwrap_or_else(|| panic!("no {path} in\n{}", tree(explained, Style::default())));
    value(&node.value).unwrap_or_default()
}

fn covers(explained: &Explained) {
    let mut end = 0;
    for leaf in explained.root.leaves() {
        assert_eq!(leaf.offset, end, "{}", leaf.path);
        end += leaf.length;
    }
    assert_eq!(end, explained.bytes.len());
    let again = assemble(&explain::json::of(explained), &Hints::default(), Lookup::default()).unwrap();
    assert_eq!(hex(&again), hex(&explained.bytes));
}

/// A request in an envelope has its header and body, and so has the principal.
#[test]
fn envelope() {
    let inner = Build::default().request(&Lookup::default().api("DescribeGroups").unwrap(), 6);
    let inner = wire::base64::encode(&inner[4..], wire::base64::STANDARD);
    let principal = wire::base64::encode(&unhex("0000 05 55736572 04 626f62 01 00"), wire::base64::STANDARD);
    let frame = build(&format!(
        r#"{{"api":"Envelope","version":0,"body":{{"requestData":"{inner}","requestPrincipal":"{principal}","clientHostAddress":"fwAAAQ=="}}}}"#
    ));
    let explained = explain::request(&frame, &Options::default());
    assert!(explained.diagnostics().is_empty(), "{:?}", explained.diagnostics());
    assert_eq!(at(&explained, "RequestData.Header.request_api_key"), "15");
    assert_eq!(at(&explained, "RequestData.Groups"), "1 element");
    assert_eq!(at(&explained, "RequestPrincipal.Name"), "\"bob\"");
    assert_eq!(at(&explained, "Header.request_api_key"), "58");
    covers(&explained);
}

/// wire.md 14: the example; a later version keeps its layout and may append.
#[test]
fn consumer_protocol() {
    let join = |metadata: &str, protocol: &str| {
        let metadata = wire::base64::encode(&unhex(metadata), wire::base64::STANDARD);
        build(&format!(
            r#"{{"api":"JoinGroup","version":4,"body":{{"groupId":"g","sessionTimeoutMs":1,"rebalanceTimeoutMs":1,"memberId":"","protocolType":"{protocol}",
            "protocols":[{{"name":"range","metadata":"{metadata}"}}]}}}}"#
        ))
    };
    let v3 = "0003 00000001 0001 74 ffffffff 00000000 ffffffff ffff";
    let explained = explain::request(&join(v3, "consumer"), &Options::default());
    assert!(explained.diagnostics().is_empty());
    assert_eq!(at(&explained, "Protocols[0].Metadata.Topics[0]"), "\"t\"");
    assert_eq!(at(&explained, "Protocols[0].Metadata.RackId"), "null");
    covers(&explained);
    let v9 = v3.replacen("0003", "0009", 1) + "aabb";
    let explained = explain::request(&join(&v9, "consumer"), &Options::default());
    assert!(explained.diagnostics().is_empty());
    assert_eq!(at(&explained, "Protocols[0].Metadata.fields of later versions"), "2 bytes 0xaabb");
    covers(&explained);
    // Other protocols are their own business.
    let explained = explain::request(&join(v3, "connect"), &Options::default());
    assert!(explained.find("Protocols[0].Metadata.Topics[0]").is_empty());
}

/// Where the protocol type is not said, bytes that read well are opened up, and it says that this is a guess.
#[test]
fn assumed_protocol() {
    let assignment = wire::base64::encode(
        &unhex("0000 00000001 0001 74 00000001 00000002 ffffffff"),
        wire::base64::STANDARD,
    );
    let frame = build(&format!(
        r#"{{"api":"SyncGroup","version":3,"direction":"response","body":{{"throttleTimeMs":0,"errorCode":0,"assignment":"{assignment}"}}}}"#
    ));
    let explained = explain::response(&frame, 14, 3, &Options::default());
    let ids: Vec<_> = explained.diagnostics().iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["N-ASSUMED"]);
    assert_eq!(at(&explained, "Assignment.AssignedPartitions[0].Partitions[0]"), "2");
    covers(&explained);
    let raw = wire::base64::encode(b"not that", wire::base64::STANDARD);
    let frame = build(&format!(
        r#"{{"api":"SyncGroup","version":3,"direction":"response","body":{{"throttleTimeMs":0,"errorCode":0,"assignment":"{raw}"}}}}"#
    ));
    assert!(explain::response(&frame, 14, 3, &Options::default()).diagnostics().is_empty());
}

/// wire.md 12.4: what a marker says.
#[test]
fn control_records() {
    let mut seen = 0;
    for row in vectors("batches.txt.gz") {
        let explained = explain::records(&row.bytes("batch"), &Options::default());
        let attributes = explained.find("RecordBatch[0].attributes");
        if attributes.last().unwrap().note.contains("control") {
            let kind = explained.find("RecordBatch[0].Record[0].key.type");
            assert!(matches!(kind.last().unwrap().note.as_ref(), "COMMIT" | "ABORT"), "{}", row.get("case"));
            at(&explained, "RecordBatch[0].Record[0].value.CoordinatorEpoch");
            covers(&explained);
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen}");
}

/// A message of magic 0 or 1.
fn old_message(magic: u8, attributes: u8, offset: i64, key: Option<&[u8]>, value: &[u8]) -> Vec<u8> {
    let mut rest = vec![magic, attributes];
    if magic == 1 {
        rest.extend(1000_i64.to_be_bytes());
    }
    match key {
        Some(key) => {
            rest.extend(i32::try_from(key.len()).unwrap().to_be_bytes());
            rest.extend(key);
        }
        None => rest.extend((-1_i32).to_be_bytes()),
    }
    rest.extend(i32::try_from(value.len()).unwrap().to_be_bytes());
    rest.extend(value);
    let mut crc = flate2::Crc::new();
    crc.update(&rest);
    let mut out = offset.to_be_bytes().to_vec();
    out.extend(i32::try_from(rest.len() + 4).unwrap().to_be_bytes());
    out.extend(crc.sum().to_be_bytes());
    out.extend(rest);
    out
}

/// wire.md 12.3: message sets, plain and compressed.
#[test]
fn old_formats() {
    for magic in [0, 1] {
        let plain =
            [old_message(magic, 0, 0, Some(b"k"), b"v"), old_message(magic, 0, 1, None, b"w")].concat();
        let explained = explain::records(&Bytes::from(plain.clone()), &Options::default());
        assert!(explained.diagnostics().is_empty(), "{:?}", explained.diagnostics());
        assert_eq!(at(&explained, "Message[0].key"), "\"k\"");
        assert_eq!(at(&explained, "Message[1].value"), "\"w\"");
        covers(&explained);
        let packed = compress(Codec::Gzip, None, &plain);
        let wrapper = old_message(magic, 1, 1, None, &packed);
        let explained = explain::records(&Bytes::from(wrapper), &Options::default());
        assert!(explained.diagnostics().is_empty(), "{:?}", explained.diagnostics());
        let inner = explained.find("Message[0].value.Message[0].key");
        assert!(inner.last().unwrap().inflated);
        assert!(tree(&explained, Style::default()).contains("[~0x"));
        covers(&explained);
        let mut wrong = plain;
        wrong[12] ^= 1;
        let explained = explain::records(&Bytes::from(wrong), &Options::default());
        let ids: Vec<_> = explained.diagnostics().iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ["E-CRC"]);
    }
}

/// wire.md 3.3: the answer to an ApiVersions of an unknown version.
#[test]
fn api_versions_fallback() {
    let frame = unhex("00 00 00 10 | 00 00 00 07 | 00 23 | 00 00 00 01 | 00 12 00 00 00 04");
    let explained = explain::response(&frame, 18, 9, &Options::default());
    assert_eq!((explained.version, explained.header_version), (Some(0), Some(0)));
    assert!(explained.diagnostics().iter().all(|it| it.severity == Severity::Note));
    assert_eq!(explained.error_codes(), [("ErrorCode", 35)]);
    assert!(tree(&explained, Style::default()).contains("ErrorCode int16 = 35 (UNSUPPORTED_VERSION)"));
    covers(&explained);
}

/// wire.md 7: the example with known and unknown tags.
#[test]
fn tagged_fields() {
    let body = "0000 02 0012 0000 0004 00 00000000 03 \
                0014 02 0e 73686172652e76657273696f6e 0000 0001 00 0108 0000000000000005 0902 abcd";
    let table = wire::table::message("ApiVersionsResponse").unwrap();
    let explained = explain::message(table, 4, &unhex(body), &Options::default());
    let text = tree(&explained, Style::default());
    let tags: Vec<_> =
        text.lines().skip_while(|it| !it.contains("+-- tagged_fields uvarint = 3")).map(str::trim).collect();
    assert_eq!(
        tags,
        [
            "+-- tagged_fields uvarint = 3 [0x000e, 37B]",
            "+-- count uvarint = 3 [0x000e, 1B]",
            "+-- tag uvarint = 0 [0x000f, 1B]",
            "+-- size uvarint = 20 [0x0010, 1B]",
            "+-- SupportedFeatures []SupportedFeatureKey = 1 element [0x0011, 20B]",
            "|   +-- length uvarint = 2 (compact, n+1) [0x0011, 1B]",
            "|   +-- SupportedFeatureKey[0] SupportedFeatureKey = struct [0x0012, 19B]",
            "|       +-- Name string = \"share.version\" (compact, len+1=14) [0x0012, 14B]",
            "|       +-- MinVersion int16 = 0 [0x0020, 2B]",
            "|       +-- MaxVersion int16 = 1 [0x0022, 2B]",
            "|       +-- tagged_fields uvarint = 0 [0x0024, 1B]",
            "+-- tag uvarint = 1 [0x0025, 1B]",
            "+-- size uvarint = 8 [0x0026, 1B]",
            "+-- FinalizedFeaturesEpoch int64 = 5 [0x0027, 8B]",
            "+-- tag uvarint = 9 [0x002f, 1B]",
            "+-- size uvarint = 2 [0x0030, 1B]",
            "+-- unknown[9] bytes = 2 bytes 0xabcd [0x0031, 2B] !N-UNKNOWN-TAG",
        ]
    );
    covers(&explained);
}
