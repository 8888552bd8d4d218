//! The worked examples and golden sizes (wire.md 17.4, 20, 22). Descriptions are not part of them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test may panic"
)]

use crate::support::{golden, hex, table, unhex};
use explain::smallest::Build;
use explain::text::{Style, tree};
use explain::{Api, Explained, Lookup, Options, layout, versions_of};
use wire::EVERY_MESSAGE;

const SAMPLE: Build = Build { minimal: false, with_tags: false };
const MINIMAL: Build = Build { minimal: true, with_tags: false };

fn api(name: &str) -> Api {
    Lookup::default().api(name).unwrap()
}

fn built(name: &str, version: i16, direction: &str, build: Build) -> Explained {
    let (api, options) = (api(name), Options::default());
    match direction {
        "request" => build.explain_request(&api, version, &options),
        _ => build.explain_response(&api, version, &options),
    }
}

/// wire.md 22: trees with offsets and lengths, and the bytes.
#[test]
fn worked_examples() {
    for (name, version, direction, size) in [
        ("DescribeGroups", 6, "request", 19),
        ("DescribeGroups", 6, "response", 35),
        ("ConsumerGroupHeartbeat", 0, "request", 54),
        ("ConsumerGroupHeartbeat", 0, "response", 51),
        ("StreamsGroupHeartbeat", 0, "request", 149),
        ("StreamsGroupHeartbeat", 0, "response", 88),
    ] {
        let file = format!("{name}_v{version}_{direction}");
        let explained = built(name, version, direction, SAMPLE);
        assert_eq!(explained.bytes.len(), size, "{file}");
        assert_eq!(tree(&explained, Style::default()), golden(&format!("{file}.tree.txt")), "{file}");
        assert!(explained.diagnostics().is_empty(), "{file}");
        if name != "DescribeGroups" {
            let rows = golden(&format!("{file}.bytes.txt"));
            let bytes: String = rows.lines().map(|it| &it[6..]).collect();
            assert_eq!(hex(&explained.bytes), hex(&unhex(&bytes)), "{file}");
        }
    }
}

/// wire.md 20: rows, letters, legend.
#[test]
fn byte_layout() {
    for direction in ["request", "response"] {
        let explained = built("DescribeGroups", 6, direction, SAMPLE);
        let text = layout::layout(&explained, Style::default());
        let (title, rest) = text.split_once('\n').unwrap();
        assert_eq!(title, format!("byte layout ({} bytes, 16 bytes per row)", explained.bytes.len()));
        let (rows, legend) = rest.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(format!("{rows}\n"), golden(&format!("DescribeGroups_v6_{direction}.layout.txt")));
        assert_eq!(
            legend,
            "F frame, H rpc header, Q request body, B RecordBatch, C Record, R response body, T tagged_fields"
        );
    }
}

/// wire.md 22.4 to 22.6: the minimal forms.
#[test]
fn minimal_examples() {
    for (name, direction, expected) in [
        (
            "ConsumerGroupHeartbeat",
            "response",
            "00 00 00 17 | 00 00 00 00 00 | 00 00 00 00 | 00 00 | 00 | 00 | 00 00 00 00 | 00 00 00 00 | ff | 00",
        ),
        (
            "StreamsGroupHeartbeat",
            "request",
            "00 00 00 26 | 00 58 00 00 00 00 00 00 00 00 00 | 01 01 00000000 00000000 00 00 00000000 | ff | 00 00 00 | 00 | ff | 00 00 00 | 00 | 00",
        ),
    ] {
        assert_eq!(hex(&built(name, 0, direction, MINIMAL).bytes), hex(&unhex(expected)), "{name}");
    }
}

/// wire.md 17.4: sizes of every API in both modes.
#[test]
fn golden_sizes() {
    let rows = table("sizes.tsv");
    assert_eq!(rows.len(), 89);
    for row in &rows {
        let (name, version) = (row.get("api"), row.number("version"));
        assert_eq!(api(name).key, row.number::<i16>("key"), "{name}");
        for (build, mode) in [(SAMPLE, "sample"), (MINIMAL, "minimal")] {
            for direction in ["request", "response"] {
                let size = built(name, version, direction, build).bytes.len();
                assert_eq!(
                    size,
                    row.number::<usize>(&format!("{mode}_{direction}")),
                    "{name} {mode} {direction}"
                );
            }
        }
    }
}

/// wire.md 17.4 (b) to (d): every version of every message, built, is what the typed codec writes.
#[test]
fn every_version_is_legal() {
    let mut built = 0;
    for erased in EVERY_MESSAGE.iter().filter(|it| !it.table.versions.is_empty()) {
        for version in versions_of(erased.table) {
            for build in [SAMPLE, MINIMAL, Build { minimal: false, with_tags: true }] {
                let place = format!("{} v{version} {build:?}", erased.table.name);
                let explained = build.explain_body(erased.table, version, &Options::default());
                assert!(explained.diagnostics().is_empty(), "{place}: {:?}", explained.diagnostics());
                let result = (erased.roundtrip)(explained.bytes.clone(), version);
                let (again, _) = result.unwrap_or_else(|e| panic!("{place}: {e:?}"));
                // Tags with their default are forced in one mode; no codec writes them.
                if !build.with_tags {
                    assert_eq!(hex(&again), hex(&explained.bytes), "{place}");
                }
                built += 1;
            }
        }
    }
    assert!(built > 2000, "{built}");
}
