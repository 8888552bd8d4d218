//! Files of vectors: bytes and the JSON that they mean, line by line, both ways.
//!
//! A file is text with tab-separated columns, whose names its first line tells; `-` is nothing. Four kinds:
//!
//! | columns | a line is |
//! |---|---|
//! | name, version, case, flags, unknown_tags, hex, json | a message |
//! | case, direction, api, version, header_version, frame, header, body | a frame |
//! | topic, type, name, value_version, case, key, value, key_fields, value_fields | a record of an internal topic |
//! | case, attributes, same_bytes, batch, plain_records, fields | a record batch |

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use wire::batch::{Batch, Batches, compress};
use wire::json::{self, Json, UNKNOWN_TAGS};
use wire::message::Erased;
use wire::table::Message;
use wire::tables::{REQUEST_HEADER, RESPONSE_HEADER};
use wire::{EVERY_MESSAGE, Reader, base64};

use crate::frame::{request_header_version, response_header_version};
use crate::{Lookup, Options, assemble, input};

/// What a compressed batch of a file may inflate to.
const INFLATED_MAX: usize = 64 << 20;

/// What came out.
#[derive(Debug, Default)]
pub struct Report {
    pub cases: usize,
    pub failures: Vec<Mismatch>,
}

/// A case that does not agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// In the file, from 1.
    pub line: usize,
    /// What the line is about: its message or API, version and case.
    pub case: String,
    /// What differs.
    pub problem: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.case, self.problem)
    }
}

type Result<T = ()> = std::result::Result<T, String>;

/// A line with its columns.
struct Row<'a> {
    names: &'a [&'a str],
    columns: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn get(&self, name: &str) -> Result<&'a str> {
        let place = self.names.iter().position(|it| *it == name);
        place.and_then(|it| self.columns.get(it)).copied().ok_or_else(|| format!("no column {name}"))
    }

    fn bytes(&self, name: &str) -> Result<Bytes> {
        match self.get(name)? {
            "-" => Ok(Bytes::new()),
            text => input::hex(text).map(Bytes::from),
        }
    }

    fn json(&self, name: &str) -> Result<Json> {
        json::parse(self.get(name)?).map_err(|e| format!("column {name}: {e}"))
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T> {
        self.get(name)?.parse().map_err(|_| format!("column {name} is no number"))
    }

    fn title(&self) -> String {
        let words = ["topic", "name", "api", "direction", "version", "case"];
        words.iter().filter_map(|it| self.get(it).ok()).collect::<Vec<_>>().join(" ")
    }
}

/// Checks a file's text.
///
/// # Errors
/// The first line does not tell one of the four kinds.
pub fn check(text: &str) -> Result<Report> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default().trim_start_matches("# ");
    let names: Vec<&str> = head.split('\t').collect();
    let has = |name: &str| names.contains(&name);
    let one: fn(&Row<'_>) -> Result = if has("hex") && has("json") {
        message
    } else if has("frame") && has("direction") {
        frame
    } else if has("key") && has("topic") {
        record
    } else if has("batch") && has("fields") {
        batch
    } else {
        return Err("the first line names no columns of vectors".to_owned());
    };
    let mut report = Report::default();
    for (i, line) in lines.enumerate().filter(|it| !it.1.is_empty()) {
        let row = Row { names: &names, columns: line.split('\t').collect() };
        report.cases += 1;
        if let Err(problem) = one(&row) {
            report.failures.push(Mismatch { line: i + 2, case: row.title(), problem });
        }
    }
    Ok(report)
}

fn differs(what: &str, found: impl fmt::Display, expected: impl fmt::Display) -> String {
    format!("{what} is {found}, expected {expected}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

fn same_bytes(what: &str, found: &[u8], expected: &[u8]) -> Result {
    if found == expected { Ok(()) } else { Err(differs(what, hex(found), hex(expected))) }
}

/// Bytes to JSON and JSON to bytes, by the tables.
fn both_ways(message: &'static Message, version: i16, bytes: &Bytes, expected: &Json) -> Result {
    let mut reader = Reader::new(bytes.clone());
    let found = json::decode(message, version, &mut reader).map_err(|e| format!("does not decode: {e}"))?;
    if reader.remaining() > 0 {
        return Err(format!("{} bytes are left after decoding", reader.remaining()));
    }
    if !found.same(expected) {
        return Err(differs("decoded JSON", found, expected));
    }
    let encoded = json::encode(message, version, expected).map_err(|e| format!("does not encode: {e}"))?;
    same_bytes("encoded", &encoded, bytes)
}

/// The typed codec of the broker reads and writes the same bytes.
fn typed(message: &Message, version: i16, bytes: &Bytes) -> Result {
    let Some(erased) = EVERY_MESSAGE.iter().find(|it: &&Erased| std::ptr::eq(it.table, message)) else {
        return Ok(());
    };
    let (encoded, _) =
        (erased.roundtrip)(bytes.clone(), version).map_err(|e| format!("typed codec: {e:?}"))?;
    same_bytes("encoded by the typed codec", &encoded, bytes)
}

fn message(row: &Row<'_>) -> Result {
    let message = Lookup::default().message(row.get("name")?).map_err(|e| e.to_string())?;
    let (version, bytes) = (row.number("version")?, row.bytes("hex")?);
    let mut expected = row.json("json")?;
    add_tags(&mut expected, row.get("unknown_tags")?)?;
    both_ways(message, version, &bytes, &expected)?;
    typed(message, version, &bytes)
}

/// Puts `path:tag:hex` into the JSON, where the JSON codec keeps unknown tags.
fn add_tags(json: &mut Json, tags: &str) -> Result {
    for it in tags.split(',').filter(|it| *it != "-") {
        let mut parts = it.splitn(3, ':');
        let (Some(path), Some(tag), Some(data)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(format!("{it:?} is no unknown tag"));
        };
        let holder = path.split('.').filter(|it| !it.is_empty()).try_fold(&mut *json, step);
        let Some(Json::Object(entries)) = holder else { return Err(format!("no struct at {path:?}")) };
        let data = Json::String(base64::encode(&input::hex(data)?, base64::STANDARD));
        let entry = (Cow::Owned(tag.to_owned()), data);
        match entries.iter_mut().find(|it| it.0 == UNKNOWN_TAGS) {
            Some((_, Json::Object(tags))) => tags.push(entry),
            Some(_) | None => entries.push((Cow::Borrowed(UNKNOWN_TAGS), Json::Object(vec![entry]))),
        }
    }
    Ok(())
}

fn step<'a>(json: &'a mut Json, word: &str) -> Option<&'a mut Json> {
    match json {
        Json::Object(entries) => entries.iter_mut().find(|it| it.0 == word).map(|it| &mut it.1),
        Json::Array(elements) => elements.get_mut(word.parse::<usize>().ok()?),
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::String(_) => None,
    }
}

fn frame(row: &Row<'_>) -> Result {
    let api = Lookup::default().api(row.get("api")?).map_err(|e| e.to_string())?;
    let (version, frame) = (row.number("version")?, row.bytes("frame")?);
    let asks = row.get("direction")? == "request";
    let (header, body, header_version) = if asks {
        (&REQUEST_HEADER, api.request, request_header_version(&api, version))
    } else {
        (&RESPONSE_HEADER, api.response, response_header_version(&api, version))
    };
    let expected: i16 = row.number("header_version")?;
    if header_version != expected {
        return Err(differs("header version", header_version, expected));
    }
    let size = frame.first_chunk().map(|it| i32::from_be_bytes(*it));
    if size.map(i64::from) != i64::try_from(frame.len()).ok().map(|it| it - 4) {
        return Err("the size is not that of the frame".to_owned());
    }
    let mut reader = Reader::new(frame.slice(4..));
    json::decode(header, header_version, &mut reader).map_err(|e| format!("header: {e}"))?;
    let rest = reader.rest();
    let head = frame.slice(4..frame.len() - rest.len());
    both_ways(header, header_version, &head, &row.json("header")?).map_err(|e| format!("header: {e}"))?;
    if !body.versions.contains(version) {
        // Only ApiVersions has such frames; their body is not to be read (KIP-511).
        return Ok(());
    }
    both_ways(body, version, &rest, &row.json("body")?)?;
    typed(body, version, &rest)
}

fn record(row: &Row<'_>) -> Result {
    let (topic, record_type) = (row.get("topic")?, row.number::<i16>("type")?);
    let (key, value) = Lookup::default()
        .record(topic, record_type)
        .ok_or_else(|| format!("no record type {record_type}"))?;
    let bytes = row.bytes("key")?;
    prefixed("key", record_type, &bytes)?;
    both_ways(key, 0, &bytes.slice(2..), &row.json("key_fields")?).map_err(|e| format!("key: {e}"))?;
    typed(key, 0, &bytes.slice(2..))?;
    if row.get("value")? == "-" {
        return Ok(());
    }
    let (bytes, version) = (row.bytes("value")?, row.number::<i16>("value_version")?);
    prefixed("value", version, &bytes)?;
    both_ways(value, version, &bytes.slice(2..), &row.json("value_fields")?)
        .map_err(|e| format!("value: {e}"))?;
    typed(value, version, &bytes.slice(2..))
}

fn prefixed(what: &str, expected: i16, bytes: &[u8]) -> Result {
    match bytes.first_chunk().map(|it| i16::from_be_bytes(*it)) {
        Some(found) if found == expected => Ok(()),
        found => Err(differs(what, format!("{found:?}"), expected)),
    }
}

fn batch(row: &Row<'_>) -> Result {
    let bytes = row.bytes("batch")?;
    let fields = row.json("fields")?;
    let one = Batches::new(bytes.clone()).next().ok_or("no batch")?.map_err(|e| e.to_string())?;
    one.verify().map_err(|e| e.to_string())?;
    header_fields(&one, &fields)?;
    let codec = one.header.attributes.codec().map_err(|e| e.to_string())?;
    let payload = one.payload();
    if !payload.is_empty() {
        let plain = compress::decompress(codec, &payload, INFLATED_MAX).map_err(|e| e.to_string())?;
        same_bytes("record section", &plain, &row.bytes("plain_records")?)?;
    }
    records(&one, &fields)?;
    same_bytes("encoded header", &one.header.encode(), bytes.get(..61).unwrap_or_default())?;
    // The explainer takes it apart and puts it together.
    let explained = crate::records(&bytes, &Options::default());
    let again =
        assemble::assemble(&crate::json::of(&explained), &assemble::Hints::default(), Lookup::default());
    same_bytes("built again", &again.map_err(|e| e.to_string())?, &bytes)
}

fn header_fields(batch: &Batch, fields: &Json) -> Result {
    let it = &batch.header;
    for (name, found) in [
        ("baseOffset", it.base_offset),
        ("batchLength", it.batch_length.into()),
        ("partitionLeaderEpoch", it.partition_leader_epoch.into()),
        ("crc", it.crc.into()),
        ("attributes", it.attributes.0.into()),
        ("lastOffsetDelta", it.last_offset_delta.into()),
        ("baseTimestamp", it.base_timestamp),
        ("maxTimestamp", it.max_timestamp),
        ("producerId", it.producer_id),
        ("producerEpoch", it.producer_epoch.into()),
        ("baseSequence", it.base_sequence.into()),
        ("recordsCount", it.record_count.into()),
    ] {
        let expected = fields.get(name);
        if expected != Some(&Json::Int(found)) {
            return Err(differs(name, found, expected.unwrap_or(&Json::Null)));
        }
    }
    Ok(())
}

fn records(batch: &Batch, fields: &Json) -> Result {
    let found = batch.records_within(INFLATED_MAX).map_err(|e| e.to_string())?;
    let found: Vec<_> = found.collect::<std::result::Result<_, _>>().map_err(|e| e.to_string())?;
    let Some(Json::Array(expected)) = fields.get("records") else { return Err("no records".to_owned()) };
    if found.len() != expected.len() {
        return Err(differs("number of records", found.len(), expected.len()));
    }
    let text =
        |it: Option<&Bytes>| it.map_or(Json::Null, |it| Json::String(base64::encode(it, base64::STANDARD)));
    for (record, expected) in found.iter().zip(expected) {
        for (name, found) in [
            ("offset", Json::Int(record.offset)),
            ("timestamp", Json::Int(record.timestamp)),
            ("sequence", Json::Int(record.sequence.into())),
            ("key", text(record.key.as_ref())),
            ("value", text(record.value.as_ref())),
        ] {
            let expected = expected.get(name).unwrap_or(&Json::Null);
            if found != *expected {
                return Err(differs(&format!("{name} of record {}", record.offset), found, expected));
            }
        }
    }
    Ok(())
}
