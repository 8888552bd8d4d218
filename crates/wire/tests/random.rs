//! Random values of every message in every version, encoded and decoded by both codecs: the generated one and the one
//! that walks over the tables. `THALWEG_SEED=N` replays a run, `THALWEG_ROUNDS=N` makes it longer.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "a test may panic"
)]

mod support;

use support::chance::Chance;
use support::hex;
use wire::json::{self, Json, UNKNOWN_TAGS};
use wire::table::{Field, Struct, Type};
use wire::{EVERY_MESSAGE, Reader, Uuid, base64};

/// Values of each message and version.
const ROUNDS: usize = 4;
/// Arrays and structs inside each other from which on arrays are empty.
const DEPTH_MAX: usize = 4;

#[test]
fn encode_decode_equal() {
    let rounds = std::env::var("THALWEG_ROUNDS").ok().and_then(|it| it.parse().ok()).unwrap_or(ROUNDS);
    let mut chance = Chance::seeded();
    let mut cases = 0;
    for erased in EVERY_MESSAGE {
        let table = erased.table;
        for version in table.versions.low..=table.versions.high {
            for _ in 0..rounds {
                let flexible = table.flexible.contains(version);
                let value = structure(&mut chance, &table.root, version, flexible, 0);
                let place = || format!("{} v{version}: {value}", table.name);
                let bytes =
                    json::encode(table, version, &value).unwrap_or_else(|e| panic!("{e}: {}", place()));
                // The generated codec reads what the walker wrote, and writes the same bytes.
                let (again, size) = (erased.roundtrip)(bytes.clone(), version)
                    .unwrap_or_else(|e| panic!("{e:?}: {}", place()));
                assert!(again == bytes, "{} became {}: {}", hex(&bytes), hex(&again), place());
                assert_eq!(size, bytes.len(), "{}", place());
                // The walker reads the same value.
                let mut reader = Reader::new(bytes);
                let found =
                    json::decode(table, version, &mut reader).unwrap_or_else(|e| panic!("{e}: {}", place()));
                assert_eq!(reader.remaining(), 0, "{}", place());
                equal(&table.root, version, &value, &found, &place);
                cases += 1;
            }
        }
    }
    println!("{cases} cases");
    assert!(cases >= 699 * rounds);
}

/// The found value is the given one; only tagged fields may be left out, where they have their default.
fn equal(it: &'static Struct, version: i16, given: &Json, found: &Json, place: &dyn Fn() -> String) {
    for field in it.fields.iter().filter(|it| it.versions.contains(version)) {
        match (given.get(field.json), found.get(field.json)) {
            (None, None) => assert!(field.is_tagged(version), "{}: {}", field.name, place()),
            (Some(_), None) => assert!(field.is_tagged(version), "{} is lost: {}", field.name, place()),
            (Some(Json::Array(given)), Some(Json::Array(found))) => {
                assert_eq!(given.len(), found.len(), "{}: {}", field.name, place());
                given.iter().zip(found).for_each(|(given, found)| one(field, version, given, found, place));
            }
            (Some(given), Some(found)) => one(field, version, given, found, place),
            (None, Some(found)) => panic!("{} is new: {found}: {}", field.name, place()),
        }
    }
    assert_eq!(given.get(UNKNOWN_TAGS), found.get(UNKNOWN_TAGS), "{}", place());
}

fn one(field: &'static Field, version: i16, given: &Json, found: &Json, place: &dyn Fn() -> String) {
    match (field.ty, given) {
        (Type::Struct(it), Json::Object(_)) => equal(it, version, given, found, place),
        _ => assert_eq!(given, found, "{}: {}", field.name, place()),
    }
}

fn structure(chance: &mut Chance, it: &'static Struct, version: i16, flexible: bool, depth: usize) -> Json {
    let mut entries = Vec::new();
    for field in it.fields.iter().filter(|it| it.versions.contains(version)) {
        if field.is_tagged(version) && chance.below(3) == 0 {
            continue;
        }
        let value = if field.nullable.contains(version) && chance.below(4) == 0 {
            Json::Null
        } else if field.array {
            let most = if depth >= DEPTH_MAX {
                0
            } else {
                match chance.below(30) {
                    0 if depth == 0 => 130,
                    n => n % 4,
                }
            };
            Json::Array((0..most).map(|_| value(chance, field, version, flexible, depth)).collect())
        } else {
            value(chance, field, version, flexible, depth)
        };
        entries.push((field.json.into(), value));
    }
    if flexible && chance.below(4) == 0 {
        let tags = [100u32, 10_000, u32::MAX].into_iter().take(1 + chance.below(3));
        let tag = |tag: u32| (tag.to_string().into(), binary(chance));
        entries.push((UNKNOWN_TAGS.into(), Json::Object(tags.map(tag).collect())));
    }
    Json::Object(entries)
}

fn value(chance: &mut Chance, field: &'static Field, version: i16, flexible: bool, depth: usize) -> Json {
    let bits = edge(chance);
    match field.ty {
        Type::Struct(it) => structure(chance, it, version, flexible, depth + 1),
        Type::Bool => Json::Bool(bits & 1 == 1),
        Type::Int8 => Json::Int((bits as i8).into()),
        Type::Int16 => Json::Int((bits as i16).into()),
        Type::Uint16 => Json::Int((bits as u16).into()),
        Type::Int32 => Json::Int((bits as i32).into()),
        Type::Uint32 => Json::Int((bits as u32).into()),
        Type::Int64 => Json::Int(bits as i64),
        Type::Float64 => Json::Float(bits as i64 as f64 / 3.0),
        Type::Uuid => {
            let both = [bits.to_be_bytes(), chance.bits().to_be_bytes()].concat();
            Json::String(Uuid(both.try_into().unwrap()).to_string())
        }
        Type::String => Json::String(text(chance)),
        Type::Bytes | Type::Records => binary(chance),
    }
}

/// Numbers at the edges of the types more often than others.
fn edge(chance: &mut Chance) -> u64 {
    match chance.below(6) {
        0 => 0,
        1 => u64::MAX,
        2 => [0x7f, 0x7fff, 0x7fff_ffff, i64::MAX as u64][chance.below(4)],
        3 => [0x80, 0x8000, 0x8000_0000, 1 << 63][chance.below(4)],
        _ => chance.bits(),
    }
}

/// Lengths around those at which a varint or a short string ends.
fn length(chance: &mut Chance) -> usize {
    match chance.below(1000) {
        0..=20 => 126 + chance.below(3),
        21 => 16_382 + chance.below(3),
        22 => 32_766 + chance.below(2),
        _ => chance.below(12),
    }
}

fn text(chance: &mut Chance) -> String {
    let length = length(chance);
    let letter = |it: usize| ['a', 'Z', '\u{1}', '"', '\\', 'é', '€', '𝄞'][it];
    if length > 12 {
        return "x".repeat(length);
    }
    (0..length).map(|_| letter(chance.below(8))).collect()
}

fn binary(chance: &mut Chance) -> Json {
    let length = length(chance);
    let bytes: Vec<u8> = (0..length).map(|_| chance.bits() as u8).collect();
    Json::String(base64::encode(&bytes, base64::STANDARD))
}
