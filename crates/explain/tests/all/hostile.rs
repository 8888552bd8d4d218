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
