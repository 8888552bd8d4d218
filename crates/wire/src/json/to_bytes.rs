//! JSON to bytes, by the table alone: an encoder beside the generated one, which tests hold against it.

use std::borrow::Cow;

use bytes::Bytes;

use super::{Json, JsonError, UNKNOWN_TAGS};
use crate::base64;
use crate::read::{RawTag, STRING_MAX};
use crate::str::Str;
use crate::table::{Default, Field, Message, Struct, Type};
use crate::uuid::Uuid;
use crate::write::Writer;

type Result<T> = std::result::Result<T, JsonError>;

/// Encodes a message. Fields that are not there get their defaults.
///
/// # Errors
/// A version that the message lacks, a key that it does not know, a value of the wrong type or that the version
/// can't carry.
pub fn encode(table: &'static Message, version: i16, value: &Json) -> Result<Bytes> {
    if !table.versions.contains(version) {
        return Err(JsonError::new(format!("{} has no version {version}", table.name)));
    }
    let mut encoder = Encoder { version, flexible: table.flexible.contains(version), writer: Writer::new() };
    encoder.structure(&table.root, value)?;
    Ok(encoder.writer.into_bytes())
}

struct Encoder {
    version: i16,
    flexible: bool,
    writer: Writer,
}

/// The value of a field that is not there.
fn default_of(field: &Field) -> Json {
    match (field.default, field.ty) {
        (Default::Null, _) => Json::Null,
        (Default::Bool(it), _) => Json::Bool(it),
        (Default::Int(it), _) => Json::Int(it),
        (Default::String(it), _) => Json::String(it.to_owned()),
        (Default::OfType, _) if field.array => Json::Array(Vec::new()),
        (Default::OfType, Type::Bool) => Json::Bool(false),
        (Default::OfType, Type::Float64) => Json::Float(0.0),
        (Default::OfType, Type::Uuid) => Json::String(Uuid::ZERO.to_string()),
        (Default::OfType, Type::String | Type::Bytes | Type::Records) => Json::String(String::new()),
        (Default::OfType, Type::Struct(_)) => Json::Object(Vec::new()),
        (
            Default::OfType,
            Type::Int8 | Type::Int16 | Type::Uint16 | Type::Int32 | Type::Uint32 | Type::Int64,
        ) => Json::Int(0),
    }
}

/// Whether a value is the field's default. A struct is if all its fields are and it has no unknown tags.
fn is_default(field: &Field, value: &Json) -> bool {
    match (field.ty, value, field.array || field.default == Default::Null) {
        (Type::Struct(it), Json::Object(entries), false) => {
            let known = |key: &str| it.fields.iter().find(|it| it.json == key);
            entries.iter().all(|(key, value)| known(key).is_some_and(|it| is_default(it, value)))
        }
        (_, value, _) => *value == default_of(field),
    }
}

impl Encoder {
    fn structure(&mut self, it: &'static Struct, value: &Json) -> Result<()> {
        let Json::Object(entries) = value else { return Err(JsonError::new("expected an object")) };
        for (key, value) in entries {
            self.check_key(it, key, value).map_err(|e| e.within(key))?;
        }
        for field in it.fields.iter().filter(|it| it.is_plain(self.version)).collect::<Vec<_>>() {
            self.field(field, &get(value, field), false).map_err(|e| e.within(field.json))?;
        }
        if self.flexible { self.tags(it, value) } else { Ok(()) }
    }

    /// A key must be a field's, and the version must have the field or may lose the value.
    fn check_key(&self, it: &Struct, key: &str, value: &Json) -> Result<()> {
        match it.fields.iter().find(|it| it.json == key) {
            None if key == UNKNOWN_TAGS && self.flexible => Ok(()),
            None => Err(JsonError::new(format!("{} has no such field", it.name))),
            Some(field) if field.versions.contains(self.version) => Ok(()),
            Some(field) if field.ignorable || is_default(field, value) => Ok(()),
            Some(_) => Err(JsonError::new(format!("version {} lacks this field", self.version))),
        }
    }

    fn tags(&mut self, it: &'static Struct, value: &Json) -> Result<()> {
        let mut tags = Vec::new();
        for field in it.fields.iter().filter(|it| it.is_tagged(self.version)).collect::<Vec<_>>() {
            let Some(tag) = field.tag else { continue };
            let value = get(value, field);
            if !is_default(field, &value) {
                let outer = std::mem::take(&mut self.writer);
                let written = self.field(field, &value, true).map_err(|e| e.within(field.json));
                let data = std::mem::replace(&mut self.writer, outer).into_bytes();
                written?;
                tags.push(RawTag { tag: tag.number, data });
            }
        }
        tags.extend(unknown_tags(value).map_err(|e| e.within(UNKNOWN_TAGS))?);
        tags.sort_by_key(|it| it.tag);
        self.writer.tag_count(tags.len());
        self.writer.unknown_tags(&tags);
        Ok(())
    }

    fn field(&mut self, field: &'static Field, value: &Json, tagged: bool) -> Result<()> {
        let flex = self.flexible && field.flexible;
        let nullable = field.nullable.contains(self.version);
        match (field.ty, value) {
            (_, Json::Null) if !nullable => Err(JsonError::new("null is not allowed in this version")),
            (_, Json::Null) if field.array => {
                self.writer.null_long(flex);
                Ok(())
            }
            (_, Json::Array(elements)) if field.array => {
                self.writer.count(elements.len(), flex);
                for (i, it) in elements.iter().enumerate() {
                    self.one(field, it).map_err(|e| e.within(&format!("[{i}]")))?;
                }
                Ok(())
            }
            (_, _) if field.array => Err(JsonError::new("expected an array")),
            (Type::Struct(_), Json::Null) => {
                self.writer.null_struct(tagged);
                Ok(())
            }
            (Type::Struct(_), _) if nullable => {
                self.writer.present(tagged);
                self.one(field, value)
            }
            (Type::String, Json::Null) => {
                self.writer.null_short(flex);
                Ok(())
            }
            (_, Json::Null) => {
                self.writer.null_long(flex);
                Ok(())
            }
            (_, _) => self.one(field, value),
        }
    }

    fn one(&mut self, field: &'static Field, value: &Json) -> Result<()> {
        let flex = self.flexible && field.flexible;
        let w = &mut self.writer;
        match field.ty {
            Type::Struct(it) => return self.structure(it, value),
            Type::Bool => w.bool(boolean(value)?),
            Type::Int8 => w.i8(int(value)?),
            Type::Int16 => w.i16(int(value)?),
            Type::Uint16 => w.u16(int(value)?),
            Type::Int32 => w.i32(int(value)?),
            Type::Uint32 => w.u32(int(value)?),
            Type::Int64 => w.i64(int(value)?),
            Type::Float64 => w.f64(float(value)?),
            Type::Uuid => {
                let uuid = string(value)?.parse();
                w.uuid(uuid.map_err(|e: crate::uuid::NoUuid| JsonError::new(e.to_string()))?);
            }
            Type::String => {
                let text = string(value)?;
                if text.len() > STRING_MAX {
                    return Err(JsonError::new("the string is longer than 32767 bytes"));
                }
                w.str(&Str::from(text), flex);
            }
            Type::Bytes | Type::Records => w.bytes(&binary(value)?, flex),
        }
        Ok(())
    }
}

fn get<'a>(value: &'a Json, field: &Field) -> Cow<'a, Json> {
    value.get(field.json).map_or_else(|| Cow::Owned(default_of(field)), Cow::Borrowed)
}

fn unknown_tags(value: &Json) -> Result<Vec<RawTag>> {
    let Some(Json::Object(entries)) = value.get(UNKNOWN_TAGS) else { return Ok(Vec::new()) };
    let tag = |(key, value): &(Cow<'static, str>, Json)| {
        let tag = key.parse().map_err(|_| JsonError::new("a tag is a number"))?;
        Ok(RawTag { tag, data: binary(value)? })
    };
    entries.iter().map(tag).collect()
}

fn boolean(value: &Json) -> Result<bool> {
    if let Json::Bool(it) = value { Ok(*it) } else { Err(JsonError::new("expected true or false")) }
}

fn int<T: TryFrom<i64>>(value: &Json) -> Result<T> {
    let Json::Int(it) = value else { return Err(JsonError::new("expected an integer")) };
    T::try_from(*it).map_err(|_| JsonError::new(format!("{it} does not fit the type")))
}

#[expect(clippy::cast_precision_loss, reason = "a JSON integer in a float field is meant as a float")]
fn float(value: &Json) -> Result<f64> {
    match value {
        Json::Float(it) => Ok(*it),
        Json::Int(it) => Ok(*it as f64),
        Json::String(it) if it == "NaN" => Ok(f64::NAN),
        Json::String(it) if it == "Infinity" => Ok(f64::INFINITY),
        Json::String(it) if it == "-Infinity" => Ok(f64::NEG_INFINITY),
        Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
            Err(JsonError::new("expected a number"))
        }
    }
}

fn string(value: &Json) -> Result<&str> {
    if let Json::String(it) = value { Ok(it) } else { Err(JsonError::new("expected a string")) }
}

fn binary(value: &Json) -> Result<Bytes> {
    let bytes = base64::decode(string(value)?, base64::STANDARD);
    bytes.map(Bytes::from).ok_or_else(|| JsonError::new("expected base64"))
}
