//! What encoding costs: one allocation. What decoding costs, whatever the bytes are: memory within a small multiple of
//! the input, steps linear in it (wire.md 10). The input is every golden vector changed by a seeded chance, and what is worst for each message.
//! `THALWEG_SEED=N` replays a run, `THALWEG_ROUNDS=N` makes it longer.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test may panic"
)]

mod support;

use std::ops::Range;

use bytes::Bytes;
use support::chance::{Chance, mutate};
use support::{hex, message, rows};
use wire::message::Erased;
use wire::table::{Field, Struct};
use wire::walk::{Value, Visitor, walk};
use wire::{EVERY_MESSAGE, Message, ProduceRequest, RawTag, Reader, Records, batch, produce};

/// Changed copies of each vector.
const ROUNDS: usize = 10;
/// Bytes that decoding, and encoding again what was accepted, may hold at once for each byte of input. The
/// least element of an array becomes a struct, in a vector that doubles; the worst message takes 41.
const BYTES_PER_BYTE: u64 = 64;
/// What short inputs may take: room for the first elements of lists inside each other.
const BYTES_BESIDE: u64 = 64 << 10;

/// What the decoder of a compressed batch takes for itself.
const BYTES_OF_INFLATER: u64 = 256 << 10;

/// Counts what a walk tells; each step takes a byte or more, but for structs.
#[derive(Default)]
struct Steps(usize);

impl Visitor for Steps {
    fn begin_struct(&mut self, _: &'static Struct) {
        self.0 += 1;
    }
    fn begin_array(&mut self, _: &'static Field, _: usize) {
        self.0 += 1;
    }
    fn value(&mut self, _: &'static Field, _: Value, _: Range<usize>) {
        self.0 += 1;
    }
    fn unknown_tag(&mut self, _: RawTag) {
        self.0 += 1;
    }
}

/// Decodes and gives the most bytes that were held; panics if they, or the steps, are too many.
fn check(erased: &Erased, version: i16, bytes: &Bytes) -> u64 {
    let measured = allocation_counter::measure(|| {
        let _ = (erased.roundtrip)(bytes.clone(), version);
    });
    let place = || {
        let shown = &bytes[..bytes.len().min(200)];
        format!("{} v{version}, {} bytes: {}", erased.table.name, bytes.len(), hex(shown))
    };
    let limit = BYTES_BESIDE + BYTES_PER_BYTE * bytes.len() as u64;
    assert!(measured.bytes_max <= limit, "{} bytes held for {}", measured.bytes_max, place());
    let mut steps = Steps::default();
    let _ = walk(erased.table, version, &mut Reader::new(bytes.clone()), &mut steps);
    let most = 4 * bytes.len() + 64;
    assert!(steps.0 <= most, "{} steps for {}", steps.0, place());
    measured.bytes_max
}

/// Holds the encoder against one allocation of the very size.
fn check_encode(name: &str, version: i16, encode: impl Fn() -> Option<Bytes>) {
    let mut size = 0;
    let measured = allocation_counter::measure(|| size = encode().map_or(0, |it| it.len()));
    let expected = (u64::from(size > 0), size as u64);
    assert_eq!((measured.count_total, measured.bytes_total), expected, "{name} v{version}");
}

#[test]
fn encoding_takes_one_allocation() {
    for erased in EVERY_MESSAGE {
        let versions = erased.table.versions;
        for version in (versions.low..=versions.high).filter(|it| (erased.default)(*it).is_ok()) {
            check_encode(erased.table.name, version, || (erased.default)(version).ok());
        }
    }
    let partition = |index| produce::request::PartitionProduceData {
        index,
        records: Some(Records::from(Bytes::from(vec![7; 400]))),
        ..Default::default()
    };
    let topic = produce::request::TopicProduceData {
        name: "orders".into(),
        partition_data: (0..20).map(partition).collect(),
        ..Default::default()
    };
    let request = ProduceRequest { topic_data: vec![topic], ..Default::default() };
    for version in 3..=12 {
        check_encode("20 batches", version, || request.to_bytes(version).ok());
    }
}

#[test]
fn changed_vectors() {
    let rounds = std::env::var("THALWEG_ROUNDS").ok().and_then(|it| it.parse().ok()).unwrap_or(ROUNDS);
    let mut chance = Chance::seeded();
    let mut worst = 0;
    for row in rows("messages.tsv.gz") {
        let (erased, bytes) = (message(row.get("name")), row.bytes("hex"));
        for _ in 0..rounds {
            let mutant = mutate(&bytes, &mut chance);
            worst = worst.max(check(erased, row.version(), &mutant));
        }
    }
    println!("at most {worst} bytes at once");
}

/// Long inputs of one byte value: as counts they are as large as can be claimed, as elements as small as can be.
#[test]
fn long_inputs() {
    let mut worst = (0.0, "", 0);
    for erased in EVERY_MESSAGE {
        for version in erased.table.versions.low..=erased.table.versions.high {
            for (value, length) in [(0u8, 20_000), (1, 20_000), (0x7f, 20_000), (0xff, 20_000)] {
                // A count that the rest can just hold, in both forms, then elements.
                for head in [&b""[..], &[0, 0, 0x10, 0], &[0x80, 0x20]] {
                    let mut bytes = head.to_vec();
                    bytes.resize(length, value);
                    let held = check(erased, version, &bytes.into());
                    let ratio = held as f64 / length as f64;
                    if ratio > worst.0 {
                        worst = (ratio, erased.table.name, version);
                    }
                }
            }
        }
    }
    println!("at most {:.1} bytes for a byte of input, {} v{}", worst.0, worst.1, worst.2);
}

/// Record batches: whatever their lengths say, walking over them holds little.
#[test]
fn batches() {
    let rounds = std::env::var("THALWEG_ROUNDS").ok().and_then(|it| it.parse().ok()).unwrap_or(ROUNDS);
    let mut chance = Chance::seeded();
    let mut batch = batch::BatchBuilder::new().timestamp(1);
    for i in 0..50u8 {
        batch = batch.push(Some(&[i; 5]), Some(&[i; 40]));
    }
    let bytes = batch.build();
    let mut accepted = 0;
    for _ in 0..rounds * 500 {
        let mutant = mutate(&bytes, &mut chance);
        let measured = allocation_counter::measure(|| {
            accepted += batch::records(&mutant).filter(Result::is_ok).count();
        });
        let limit = BYTES_BESIDE + BYTES_OF_INFLATER + 8 * mutant.len() as u64;
        assert!(measured.bytes_max <= limit, "{} bytes held: {}", measured.bytes_max, hex(&mutant));
    }
    assert!(accepted > 0);
}
