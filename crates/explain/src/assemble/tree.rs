//! A tree back to its bytes, without a schema: every node says its type and how its length is written. What follows
//! from other nodes (sizes, counts, checksums) is made anew, so that values can be edited and elements added or
//! removed. Of a node with children the children count, not its value.

use wire::base64;
use wire::batch::compress::{Codec, compress, decompress};
use wire::batch::crc32c;
use wire::json::{Json, JsonError};
use wire::{Reader, Uuid, Writer};

use super::problem;
use crate::message_set::crc32;
use crate::scan::INFLATED_MAX;
use crate::walk::MORE_TAGS;

type Result<T> = std::result::Result<T, JsonError>;

/// Levels of children. Trees of messages have less than 40, and envelopes are bounded.
const DEPTH_MAX: usize = 200;

/// A node of the JSON.
#[derive(Clone, Copy)]
struct Part<'a> {
    json: &'a Json,
    depth: usize,
}

pub(super) fn bytes(tree: &Json) -> Result<Vec<u8>> {
    let root = Part { json: tree, depth: 0 };
    let mut out = root.children()?.iter().try_fold(Vec::new(), |mut out, child| {
        out.extend(child.bytes()?);
        Ok::<_, JsonError>(out)
    })?;
    let framed = root.children()?.first().is_some_and(|it| it.name() == "Frame");
    if framed {
        let size = out.len().checked_sub(4).and_then(|it| i32::try_from(it).ok());
        let size = size.ok_or_else(|| problem("Frame.size", "no size of a frame"))?;
        put(&mut out, 0, &size.to_be_bytes());
    }
    Ok(out)
}

fn put(out: &mut [u8], at: usize, value: &[u8]) {
    if let Some(cells) = out.get_mut(at..at + value.len()) {
        cells.copy_from_slice(value);
    }
}

impl<'a> Part<'a> {
    fn text(self, key: &str) -> &'a str {
        match self.json.get(key) {
            Some(Json::String(it)) => it,
            _ => "",
        }
    }

    fn name(self) -> &'a str {
        self.text("name")
    }

    fn ty(self) -> &'a str {
        self.text("type")
    }

    fn note(self) -> &'a str {
        self.text("note")
    }

    fn fail<T>(self, what: impl Into<String>) -> Result<T> {
        Err(problem(self.text("path"), what))
    }

    fn children(self) -> Result<Vec<Self>> {
        match self.json.get("children") {
            Some(_) if self.depth >= DEPTH_MAX => self.fail("nested too deeply"),
            Some(Json::Array(it)) => Ok(it.iter().map(|json| Part { json, depth: self.depth + 1 }).collect()),
            Some(_) => self.fail("children is not an array"),
            None => Ok(Vec::new()),
        }
    }

    fn is_null(self) -> bool {
        self.json.get("value") == Some(&Json::Null)
    }

    fn value(self) -> Result<&'a Json> {
        match self.json.get("value") {
            Some(value) => Ok(value),
            None if self.json.get("hidden").is_some() => {
                self.fail("the value is hidden; decode with --show-secrets to build it again")
            }
            None => self.fail("the value is missing"),
        }
    }

    fn int(self) -> Result<i64> {
        match self.value()? {
            Json::Int(it) => Ok(*it),
            Json::String(it) => it.parse().or_else(|_| self.fail("expected an integer")),
            Json::Null | Json::Bool(_) | Json::Float(_) | Json::Array(_) | Json::Object(_) => {
                self.fail("expected an integer")
            }
        }
    }

    fn small<T: TryFrom<i64>>(self) -> Result<T> {
        let value = self.int()?;
        T::try_from(value).or_else(|_| self.fail(format!("{value} does not fit {}", self.ty())))
    }

    fn binary(self) -> Result<Vec<u8>> {
        let Json::String(text) = self.value()? else { return self.fail("expected base-64") };
        base64::decode(text, base64::STANDARD).map_or_else(|| self.fail("expected base-64"), Ok)
    }

    fn bytes(self) -> Result<Vec<u8>> {
        if matches!(self.name(), "not shown") {
            return self.fail("the tree is not whole: it had too many nodes");
        }
        let children = self.children()?;
        match (self.name(), self.ty()) {
            (_, ty) if ty.starts_with("[]") => self.array(&children),
            ("tagged_fields", _) if !children.is_empty() => tags(&children),
            (name, "") if name.starts_with("RecordBatch[") => self.batch(&children),
            (name, "") if name.starts_with("Message[") => self.old_message(&children),
            (name, "") if name.starts_with("Record[") => self.record(&children),
            (_, "bytes" | "records") if !children.is_empty() => self.whole(&children),
            (_, _) if children.is_empty() => self.leaf(),
            (_, _) => self.group(&children),
        }
    }

    /// A struct, a header, a frame: its parts, one after the other.
    fn group(self, children: &[Self]) -> Result<Vec<u8>> {
        if self.is_null()
            && let Some(presence) = children.first().filter(|it| it.name() == "presence")
        {
            return Ok(vec![if presence.ty() == "uvarint" { 0 } else { 0xff }]);
        }
        concat(children)
    }

    fn array(self, children: &[Self]) -> Result<Vec<u8>> {
        let Some((length, elements)) = children.split_first().filter(|it| it.0.name() == "length") else {
            return self.fail("the first child of an array is its length");
        };
        let count = if self.is_null() { None } else { Some(elements.len()) };
        let mut out = prefix(length.ty() == "uvarint", count);
        if count.is_some() {
            out.extend(concat(elements)?);
        }
        Ok(out)
    }

    /// Bytes whose content was opened up.
    fn whole(self, children: &[Self]) -> Result<Vec<u8>> {
        if children.iter().all(|it| it.json.get("inflated") == Some(&Json::Bool(true))) {
            return self.packed(children);
        }
        let Some((length, content)) = children.split_first().filter(|it| it.0.name() == "length") else {
            return self.fail("the first child is the length");
        };
        let content = if self.is_null() { None } else { Some(concat(content)?) };
        let size = content.as_ref().map(Vec::len);
        let mut out = match length.ty() {
            "varint" => varint(size.and_then(|it| i64::try_from(it).ok()).unwrap_or(-1)),
            ty => prefix(ty == "uvarint", size),
        };
        out.extend(content.into_iter().flatten());
        Ok(out)
    }

    /// A compressed block: as it was if it still inflates to the same.
    fn packed(self, children: &[Self]) -> Result<Vec<u8>> {
        let (plain, packed) = (concat(children)?, self.binary()?);
        let word = self.note().split(',').next().unwrap_or_default();
        let codecs = [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];
        let Some(codec) = codecs.into_iter().find(|it| it.name() == word) else {
            return self.fail(format!("{word:?} is no codec"));
        };
        let before = decompress(codec, &packed.clone().into(), INFLATED_MAX);
        if before.is_ok_and(|it| it == plain) {
            return Ok(packed);
        }
        Ok(compress(codec, None, &plain).to_vec())
    }

    fn batch(self, children: &[Self]) -> Result<Vec<u8>> {
        let mut out = concat(children)?;
        let mut records: Vec<Part<'_>> = Vec::new();
        for it in children {
            records.extend(if it.name() == "records" { it.children()? } else { vec![*it] });
        }
        let whole = records.iter().all(|it| it.name() != "undecoded bytes");
        let count = records.iter().filter(|it| it.name().starts_with("Record[")).count();
        if whole && count > 0 {
            put(&mut out, 57, &i32::try_from(count).unwrap_or(i32::MAX).to_be_bytes());
        }
        let length = i32::try_from(out.len().saturating_sub(12)).unwrap_or(i32::MAX);
        put(&mut out, 8, &length.to_be_bytes());
        if has_valid_crc(children) {
            let crc = crc32c(&[out.get(21..).unwrap_or_default()]);
            put(&mut out, 17, &crc.to_be_bytes());
        }
        Ok(out)
    }

    fn old_message(self, children: &[Self]) -> Result<Vec<u8>> {
        let mut out = concat(children)?;
        let length = i32::try_from(out.len().saturating_sub(12)).unwrap_or(i32::MAX);
        put(&mut out, 8, &length.to_be_bytes());
        if has_valid_crc(children) {
            let crc = crc32(out.get(16..).unwrap_or_default());
            put(&mut out, 12, &crc.to_be_bytes());
        }
        Ok(out)
    }

    fn record(self, children: &[Self]) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        let headers = children.iter().filter(|it| it.name().starts_with("Header[")).count();
        for child in children {
            match child.name() {
                "length" => {}
                "headerCount" => content.extend(varint(i64::try_from(headers).unwrap_or(i64::MAX))),
                _ => content.extend(child.bytes()?),
            }
        }
        let mut out = varint(i64::try_from(content.len()).unwrap_or(i64::MAX));
        out.extend(content);
        Ok(out)
    }

    fn leaf(self) -> Result<Vec<u8>> {
        let mut writer = Writer::new();
        match self.ty() {
            "bool" => {
                let Json::Bool(it) = self.value()? else { return self.fail("expected true or false") };
                writer.bool(*it);
            }
            "int8" => writer.i8(self.small()?),
            "int16" => writer.i16(self.small()?),
            "uint16" => writer.u16(self.small()?),
            "int32" => writer.i32(self.small()?),
            "uint32" => writer.u32(self.small()?),
            "int64" => writer.i64(self.int()?),
            "float64" => writer.f64(self.float()?),
            "uuid" => writer.uuid(self.uuid()?),
            "uvarint" => writer.uvarint(self.small::<u32>()? as usize),
            "varint" | "varlong" => return Ok(varint(self.int()?)),
            "string" | "nullable_string" => return self.string(),
            "bytes" | "records" => return self.raw(),
            // A struct without fields, or a group without parts.
            "" | "struct" => {}
            ty if ty.starts_with(|it: char| it.is_ascii_uppercase()) => {}
            ty => return self.fail(format!("{ty:?} is no type")),
        }
        Ok(writer.into_bytes().to_vec())
    }

    fn float(self) -> Result<f64> {
        match self.value()? {
            Json::Float(it) => Ok(*it),
            #[expect(
                clippy::cast_precision_loss,
                reason = "an integer in a float's place is meant as a float"
            )]
            Json::Int(it) => Ok(*it as f64),
            Json::String(it) => {
                it.replace("Infinity", "inf").parse().or_else(|_| self.fail("expected a number"))
            }
            Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => self.fail("expected a number"),
        }
    }

    fn uuid(self) -> Result<Uuid> {
        let Json::String(text) = self.value()? else { return self.fail("expected a uuid") };
        text.parse().or_else(|_| self.fail("expected a uuid"))
    }

    fn string(self) -> Result<Vec<u8>> {
        let text = match (self.value()?, self.json.get("raw")) {
            (Json::Null, _) => None,
            // Bytes that are not UTF-8 stand beside the text, which counts if it was edited.
            (Json::String(it), Some(Json::String(raw))) => {
                let raw = base64::decode(raw, base64::STANDARD).unwrap_or_default();
                Some(if String::from_utf8_lossy(&raw) == *it { raw } else { it.clone().into_bytes() })
            }
            (Json::String(it), _) => Some(it.clone().into_bytes()),
            (_, _) => return self.fail("expected a string"),
        };
        let size = text.as_ref().map(Vec::len);
        let mut out = if self.note().starts_with("compact") {
            prefix(true, size)
        } else {
            let size =
                size.map_or(Ok(-1), i16::try_from).or_else(|_| self.fail("longer than 32767 bytes"))?;
            size.to_be_bytes().to_vec()
        };
        out.extend(text.into_iter().flatten());
        Ok(out)
    }

    /// Bytes with the length that the note tells, or without one.
    fn raw(self) -> Result<Vec<u8>> {
        let content = if self.is_null() { None } else { Some(self.binary()?) };
        let size = content.as_ref().map(Vec::len);
        let mut out = match self.note() {
            it if it.starts_with("compact") => prefix(true, size),
            it if it.starts_with("int32") => prefix(false, size),
            it if it.starts_with("varint") => {
                varint(size.and_then(|it| i64::try_from(it).ok()).unwrap_or(-1))
            }
            _ => Vec::new(),
        };
        out.extend(content.into_iter().flatten());
        Ok(out)
    }
}

fn has_valid_crc(children: &[Part<'_>]) -> bool {
    children.iter().any(|it| it.name() == "crc" && it.note() == "valid")
}

fn concat(parts: &[Part<'_>]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for it in parts {
        out.extend(it.bytes()?);
    }
    Ok(out)
}

/// Tag, size and value of each field; the size is that of the value.
fn tags(children: &[Part<'_>]) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let mut count = 0;
    let mut rest = children.iter().filter(|it| it.name() != "count").peekable();
    while let Some(tag) = rest.next() {
        if tag.name() == MORE_TAGS {
            let raw = tag.binary()?;
            count += tags_in(&raw).map_or_else(|| tag.fail("the bytes are no tags with their sizes"), Ok)?;
            content.extend(raw);
            continue;
        }
        if tag.name() != "tag" {
            return tag.fail("expected a tag");
        }
        content.extend(uvarint(tag.small::<u32>()? as usize));
        rest.next_if(|it| it.name() == "size");
        let is_value =
            |it: &&Part<'_>| it.name() != MORE_TAGS && (it.name() != "tag" || it.ty() != "uvarint");
        let value = rest.next_if(is_value);
        let value = value.map_or(Ok(Vec::new()), |it| it.bytes())?;
        content.extend(uvarint(value.len()));
        content.extend(value);
        count += 1;
    }
    let mut out = uvarint(count);
    out.extend(content);
    Ok(out)
}

/// How many tagged fields stand in a row.
fn tags_in(raw: &[u8]) -> Option<usize> {
    let mut reader = Reader::new(raw.to_vec().into());
    let mut count = 0;
    while reader.remaining() > 0 {
        reader.uvarint().ok()?;
        let size = usize::try_from(reader.uvarint().ok()?).ok()?;
        reader.slice(size).ok()?;
        count += 1;
    }
    Some(count)
}

fn uvarint(n: usize) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.uvarint(n);
    writer.into_bytes().to_vec()
}

fn varint(n: i64) -> Vec<u8> {
    let mut rest = ((n << 1) ^ (n >> 63)).cast_unsigned();
    let mut out = Vec::new();
    while rest > 0x7f {
        out.push(u8::try_from(rest & 0x7f).unwrap_or_default() | 0x80);
        rest >>= 7;
    }
    out.push(u8::try_from(rest).unwrap_or_default());
    out
}

/// A length of bytes or an array; nothing is null.
fn prefix(compact: bool, size: Option<usize>) -> Vec<u8> {
    if compact {
        return uvarint(size.map_or(0, |it| it + 1));
    }
    size.map_or(-1, |it| i32::try_from(it).unwrap_or(i32::MAX)).to_be_bytes().to_vec()
}
