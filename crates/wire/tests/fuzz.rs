//! Random bytes against all that reads bytes of others: frames, record batches, records of the coordinators.
//!
//! A second by default; `THALWEG_FUZZ_SECONDS=N` for longer (`cargo xtask fuzz --seconds N`), `THALWEG_SEED=N` for the
//! same inputs again. The corpus are the golden vectors and what was accepted on the way. An input that fails is kept in
//! a file, whose name is printed; `THALWEG_FUZZ_INPUT=FILE` runs it alone.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::print_stdout,
    reason = "a test may panic"
)]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::{BufMut as _, Bytes, BytesMut};
use support::chance::{Chance, mutate};
use support::rows;
use wire::batch::{BatchBuilder, Batches, control::Control};
use wire::frame::{RequestHead, response_header_version};
use wire::message::{Erased, Failed};
use wire::{
    EVERY_MESSAGE, LogRecord, Message as _, Reader, ResponseHeader, consumer_offsets, share_group_state,
    table, transaction_state,
};

/// Inputs of a target that are changed further; from here on new ones take the place of others.
const CORPUS_MAX: usize = 4000;
/// Inputs of a target before the next one has its turn.
const TURN: usize = 500;

/// Reads bytes; true if they were accepted. The first byte of some targets says what follows.
type Target = (&'static str, fn(&Bytes) -> bool, fn() -> Vec<Bytes>);

const TARGETS: &[Target] = &[
    ("frame", frame, frames),
    ("response", response, responses),
    ("batch", batches, batches_corpus),
    ("coordinator", coordinator, records_corpus),
];

/// Decoded, it can be encoded, and that is its own round trip.
fn round(erased: &Erased, version: i16, body: Bytes) -> bool {
    let encoded = match (erased.roundtrip)(body, version) {
        Ok((encoded, size)) => {
            assert_eq!(encoded.len(), size);
            encoded
        }
        Err(Failed::Decode(_)) => return false,
        Err(Failed::Encode(error)) => panic!("decoded, but can't be encoded: {error}"),
    };
    let (again, _) = (erased.roundtrip)(encoded.clone(), version).expect("its own bytes");
    assert_eq!(again, encoded);
    true
}

fn of(table: &'static table::Message) -> &'static Erased {
    EVERY_MESSAGE.iter().find(|it| it.table.name == table.name).unwrap()
}

/// A request behind its size.
fn frame(bytes: &Bytes) -> bool {
    let Ok((head, reader)) = RequestHead::parse(bytes.clone()) else { return false };
    let (request, _) = table::api(head.key).unwrap();
    request.versions.contains(head.version) && round(of(request), head.version, reader.rest())
}

/// Key and version of its request, then an answer.
fn response(bytes: &Bytes) -> bool {
    let mut reader = Reader::new(bytes.clone());
    let (Ok(key), Ok(version)) = (reader.i16(), reader.i16()) else { return false };
    let (Some((_, response)), Some(header)) = (table::api(key), response_header_version(key, version)) else {
        return false;
    };
    if !response.versions.contains(version) || ResponseHeader::decode(&mut reader, header).is_err() {
        return false;
    }
    round(of(response), version, reader.rest())
}

fn batches(bytes: &Bytes) -> bool {
    let mut accepted = false;
    for batch in Batches::new(bytes.clone()) {
        let Ok(batch) = batch else { return false };
        let _ = batch.verify();
        // A small limit, so that a bomb of zeros is one that is refused.
        let Ok(records) = batch.records_within(1 << 16) else { return false };
        for record in records {
            let Ok(record) = record else { return false };
            let _ = Control::parse(&record);
            accepted = true;
        }
    }
    accepted
}

/// A byte for the topic, one for the length of the key, the key, the value.
fn coordinator(bytes: &Bytes) -> bool {
    fn check<R: LogRecord + PartialEq + std::fmt::Debug>(key: &Bytes, value: Option<&Bytes>) -> bool {
        let Ok(Some(record)) = R::decode(key, value) else { return false };
        // A value of an old version may have what the written one lacks.
        if let Ok((key, value)) = record.encode() {
            assert!(R::decode(&key, value.as_ref()).expect("its own bytes").is_some());
        }
        true
    }
    let [topic, length, ..] = bytes[..] else { return false };
    let rest = bytes.slice(2..);
    let key = rest.slice(..usize::from(length).min(rest.len()));
    let value = rest.slice(key.len()..);
    let value = (!value.is_empty()).then_some(&value);
    match topic % 3 {
        0 => check::<consumer_offsets::Record>(&key, value),
        1 => check::<transaction_state::Record>(&key, value),
        _ => check::<share_group_state::Record>(&key, value),
    }
}

fn frames() -> Vec<Bytes> {
    let bodies = |row: &support::Row| {
        let table = table::message(row.get("name"))?;
        let (request, _) = table::api(table.id.filter(|_| table.kind == table::Kind::Request)?)?;
        let header = wire::RequestHeader {
            request_api_key: request.id?,
            request_api_version: row.version(),
            correlation_id: 1,
            client_id: Some("c".into()),
            ..Default::default()
        };
        let version = wire::frame::request_header_version(request.id?, row.version())?;
        Some(Bytes::from([header.to_bytes(version).ok()?, row.bytes("hex")].concat()))
    };
    rows("messages.tsv.gz").iter().filter_map(bodies).collect()
}

fn responses() -> Vec<Bytes> {
    let bodies = |row: &support::Row| {
        let table = table::message(row.get("name"))?;
        let key = table.id.filter(|_| table.kind == table::Kind::Response)?;
        let mut out = BytesMut::new();
        out.put_i16(key);
        out.put_i16(row.version());
        let version = response_header_version(key, row.version())?;
        out.put(ResponseHeader::default().to_bytes(version).ok()?);
        out.put(row.bytes("hex"));
        Some(out.freeze())
    };
    rows("messages.tsv.gz").iter().filter_map(bodies).collect()
}

fn batches_corpus() -> Vec<Bytes> {
    use wire::batch::Codec;
    let of = |codec| {
        let mut batch = BatchBuilder::new().producer(5, 1, 0).timestamp(1000).codec(codec);
        for i in 0..20u8 {
            batch = batch.push(Some(&[i]), Some(&[i; 30]));
        }
        batch.build()
    };
    let codecs = (0..5).filter_map(|id| Codec::from_id(id).ok());
    let plain: Vec<_> = codecs.map(of).collect();
    let both = Bytes::from([plain[0].clone(), plain[1].clone()].concat());
    [plain, vec![both]].concat()
}

fn records_corpus() -> Vec<Bytes> {
    let topics = ["consumer_offsets", "transaction_state", "share_group_state"];
    let of = |row: &support::Row| {
        let topic = topics.iter().position(|it| *it == row.get("topic"))?;
        let (key, value) = (row.bytes("key"), row.bytes("value"));
        let head = [topic as u8, u8::try_from(key.len()).ok()?];
        Some(Bytes::from([&head[..], &key, &value].concat()))
    };
    rows("coordinator_records.tsv.gz").iter().filter_map(of).collect()
}

#[test]
fn fuzz() {
    if let Some(file) = std::env::var_os("THALWEG_FUZZ_INPUT") {
        return again(Path::new(&file));
    }
    let seconds = std::env::var("THALWEG_FUZZ_SECONDS").ok().and_then(|it| it.parse().ok()).unwrap_or(1);
    let mut chance = Chance::seeded();
    let mut corpora: Vec<_> = TARGETS.iter().map(|it| (it.2)()).collect();
    let (start, mut done) = (Instant::now(), vec![(0u64, 0u64); TARGETS.len()]);
    while start.elapsed() < Duration::from_secs(seconds) {
        for ((target, corpus), done) in TARGETS.iter().zip(&mut corpora).zip(&mut done) {
            for _ in 0..TURN {
                let place = chance.below(corpus.len());
                let input = mutate(&corpus[place], &mut chance);
                done.0 += 1;
                if guarded(target, &input) {
                    done.1 += 1;
                    keep(corpus, input, &mut chance);
                }
            }
        }
    }
    for (target, (inputs, accepted)) in TARGETS.iter().zip(done) {
        println!("{}: {inputs} inputs, {accepted} accepted", target.0);
        assert!(accepted > 0, "{} accepts nothing", target.0);
    }
}

fn keep(corpus: &mut Vec<Bytes>, input: Bytes, chance: &mut Chance) {
    // Inputs that grow without end would be all that is left.
    if input.len() > 1 << 12 {
        return;
    }
    if corpus.len() < CORPUS_MAX {
        corpus.push(input);
    } else {
        let place = chance.below(corpus.len());
        corpus[place] = input;
    }
}

/// Runs a target; an input on which it panics goes into a file first.
fn guarded(target: &Target, input: &Bytes) -> bool {
    catch_unwind(AssertUnwindSafe(|| target.1(input))).unwrap_or_else(|panic| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let file = folder.join(format!("fuzz-{}-{}.bin", target.0, std::process::id()));
        std::fs::write(&file, input).unwrap();
        println!("failing input: THALWEG_FUZZ_INPUT={}", file.display());
        std::panic::resume_unwind(panic)
    })
}

/// A file that an earlier run kept; its name says which target it is for.
fn again(file: &Path) {
    let input = Bytes::from(std::fs::read(file).unwrap());
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let target = TARGETS.iter().find(|it| name.starts_with(&format!("fuzz-{}-", it.0))).expect("a target");
    println!("{}: {}", target.0, if target.1(&input) { "accepted" } else { "refused" });
}
