//! Damaged bytes: no panic, no gap, and time and memory in proportion to the input.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test may panic"
)]

use crate::support::vectors;
use bytes::Bytes;
use explain::{Explained, Lookup, Options};

/// Xorshift; the seed is printed.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        let seed = std::env::var("THALWEG_SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(0x5eed);
        Self(seed | 1)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    /// Bytes with a flip, a cut, a huge number or some bytes twice.
    fn damage(&mut self, bytes: &[u8]) -> Bytes {
        let mut out = bytes.to_vec();
        let at = self.below(out.len());
        match self.below(4) {
            _ if out.is_empty() => out.push(self.below(256) as u8),
            0 => out[at] ^= 1 << self.below(8),
            1 => out.truncate(at),
            2 => out.iter_mut().skip(at).take(4).for_each(|it| *it = 0xff),
            _ => out.splice(at..at, bytes[at..bytes.len().min(at + 8)].to_vec()).for_each(drop),
        }
        out.into()
    }
}

fn covers(explained: &Explained, place: &str) {
    let mut end = 0;
    for leaf in explained.root.leaves() {
        assert_eq!(leaf.offset, end, "{place}: {}", leaf.path);
        end += leaf.length;
    }
    assert_eq!(end, explained.bytes.len(), "{place}");
    // What is printed can be printed.
    let _ = explain::text::page(explained, explain::text::Style::default());
    let _ = explain::json::of(explained);
}

#[test]
fn damaged_vectors() {
    let (mut chance, options) = (Chance::new(), Options::default());
    println!("THALWEG_SEED={}", chance.0);
    for row in vectors("messages.tsv.gz") {
        let table = wire::table::message(row.get("name")).unwrap();
        for _ in 0..2 {
            let bytes = chance.damage(&row.bytes("hex"));
            covers(&explain::message(table, row.number("version"), &bytes, &options), row.get("name"));
        }
    }
    for row in vectors("frames.tsv.gz") {
        let api = Lookup::default().api(row.get("api")).unwrap();
        for _ in 0..30 {
            let bytes = chance.damage(&row.bytes("frame"));
            covers(&explain::request(&bytes, &options), row.get("case"));
            covers(&explain::response(&bytes, api.key, row.number("version"), &options), row.get("case"));
        }
    }
    for row in vectors("batches.txt.gz") {
        for _ in 0..15 {
            covers(&explain::records(&chance.damage(&row.bytes("batch")), &options), row.get("case"));
        }
    }
    for row in vectors("coordinator_records.tsv.gz") {
        for _ in 0..8 {
            covers(
                &explain::record_key(row.get("topic"), &chance.damage(&row.bytes("key")), &options),
                "key",
            );
            let (_, table) = Lookup::default().record(row.get("topic"), row.number("type")).unwrap();
            covers(&explain::record_value(table, &chance.damage(&row.bytes("value")), &options), "value");
        }
    }
}

/// More nodes than a tree may have: the rest is one node, and its bytes are still read.
#[test]
fn more_elements_than_nodes() {
    let table = wire::table::message("ListConfigResourcesRequest").unwrap();
    let mut writer = wire::Writer::new();
    writer.count(600_000, true);
    writer.raw(&vec![2; 600_000]);
    writer.uvarint(0);
    let bytes = writer.into_bytes();
    let explained = explain::message(table, 1, &bytes, &Options::default());
    let leaves = explained.root.leaves();
    assert!(leaves.len() <= 500_001, "{}", leaves.len());
    assert_eq!(leaves.iter().map(|it| it.length).sum::<usize>(), bytes.len());
    assert!(explained.diagnostics().is_empty());
    let last = explained.at(bytes.len() - 1);
    assert_eq!(last.last().unwrap().name, "not shown");
}

fn nodes(explained: &Explained) -> usize {
    let mut count = 0;
    explained.root.each(&mut |_| count += 1);
    count
}

/// Tags that nobody knows, more than anybody reads: those after the first 500 share a node, with known ones between
/// them too, and the tree still makes the same bytes.
#[test]
fn unknown_tags_without_end() {
    let table = wire::table::message("ApiVersionsResponse").unwrap();
    let message = |fields: &[Vec<u8>]| {
        let mut writer = wire::Writer::new();
        writer.raw(&[0, 0, 1, 0, 0, 0, 0]);
        writer.uvarint(fields.len());
        fields.iter().for_each(|it| writer.raw(it));
        writer.into_bytes()
    };
    // A tag with no bytes, and one with two; between them ZkMigrationReady, tag 3.
    let unknown = |n: usize| (0..n).map(|i| if i % 2 == 0 { vec![5, 0] } else { vec![0x80 | 6, 1, 2, 3, 0] });
    let known = || std::iter::once(vec![3, 1, 1]);
    for (fields, shared) in [
        (unknown(100_000).collect::<Vec<_>>(), 1),
        (unknown(500).collect(), 0),
        (unknown(501).chain(known()).chain(unknown(50_000)).chain(known()).collect(), 2),
    ] {
        let bytes = message(&fields);
        let explained = explain::message(table, 3, &bytes, &Options::default());
        covers(&explained, "tags");
        assert!(nodes(&explained) < 1_600, "{}", nodes(&explained));
        let told = explained.diagnostics();
        assert!(told.len() < 3_100 && !explained.has_errors(), "{}", told.len());
        let mut found = Vec::new();
        explained.root.each(&mut |it| found.extend((it.name == "more unknown tags").then_some(it)));
        assert_eq!(found.len(), shared);
        if let [one] = *found {
            assert_eq!((&*one.note, one.length), ("99500 tags", 99_500 / 2 * 7));
            assert!(told.iter().any(|it| it.found == "99500 more tags, 348250 bytes"));
        }
        let again = explain::assemble::assemble(
            &explain::json::of(&explained),
            &explain::assemble::Hints::default(),
            Lookup::default(),
        );
        assert_eq!(again.unwrap(), bytes);
    }
    // The last one does not end: what stands before it is not lost.
    let fields: Vec<_> = unknown(5_000).chain(std::iter::once(vec![9, 77])).collect();
    let bytes = message(&fields);
    let explained = explain::message(table, 3, &bytes, &Options::default());
    covers(&explained, "a broken tag");
    let leaves = explained.root.leaves();
    let [.., more, rest] = leaves.as_slice() else { panic!() };
    assert_eq!((&*more.note, &*rest.name, rest.length), ("4500 tags", "undecoded bytes", 2));
}

/// What is odd thousands of times is listed a thousand times and then counted.
#[test]
fn the_same_diagnostic_without_end() {
    let table = wire::table::message("DescribeGroupsRequest").unwrap();
    let mut writer = wire::Writer::new();
    writer.count(5_000, true);
    (0..5_000).for_each(|_| writer.raw(&[2, 0xff]));
    writer.raw(&[0, 0]);
    let body = writer.into_bytes();
    for strict in [false, true] {
        let options = Options { strict, ..Options::default() };
        let explained = explain::message(table, 6, &body, &options);
        let told = explained.diagnostics();
        assert_eq!(told.len(), 1_001);
        assert!(
            told[0].to_string().contains("W-UTF8 at 0x0000: 4000 more of this kind are not listed"),
            "{}",
            told[0]
        );
        assert_eq!(explained.has_errors(), strict);
    }
}

/// A small block that inflates without end is not followed.
#[test]
fn a_bomb() {
    use wire::batch::compress::{Codec, compress};
    let plain = vec![0; 100 << 20];
    let packed = compress(Codec::Gzip, Some(9), &plain);
    let mut batch = wire::batch::BatchBuilder::new().push(None, None).build().to_vec();
    batch.truncate(61);
    batch.extend_from_slice(&packed);
    batch[22] = 1;
    let length = i32::try_from(batch.len() - 12).unwrap();
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    let explained = explain::records(&Bytes::from(batch), &Options::default());
    covers(&explained, "bomb");
    assert!(explained.diagnostics().iter().any(|it| it.found.contains("inflate to more than")));
}
