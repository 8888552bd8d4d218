//! Bytes to JSON: a visitor that builds the value.

use std::borrow::Cow;
use std::ops::Range;

use super::{Json, UNKNOWN_TAGS};
use crate::base64;
use crate::error::DecodeError;
use crate::read::{RawTag, Reader};
use crate::table::{Field, Message, Struct};
use crate::walk::{Value, Visitor, walk};

/// Reads one message as JSON. Bytes behind it are left in the reader.
///
/// # Errors
/// As `Message::decode`.
pub fn decode(table: &'static Message, version: i16, reader: &mut Reader) -> Result<Json, DecodeError> {
    let mut builder = Builder::default();
    walk(table, version, reader, &mut builder)?;
    Ok(builder.done.unwrap_or(Json::Null))
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    done: Option<Json>,
}

enum Open {
    Object {
        entries: Vec<(Cow<'static, str>, Json)>,
        key: &'static str,
        tags: Vec<(Cow<'static, str>, Json)>,
    },
    Array(Vec<Json>),
}

impl Builder {
    fn add(&mut self, value: Json) {
        match self.open.last_mut() {
            Some(Open::Object { entries, key, .. }) => entries.push((Cow::Borrowed(*key), value)),
            Some(Open::Array(elements)) => elements.push(value),
            None => self.done = Some(value),
        }
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Open::Object { mut entries, tags, .. }) => {
                if !tags.is_empty() {
                    entries.push((UNKNOWN_TAGS.into(), Json::Object(tags)));
                }
                self.add(Json::Object(entries));
            }
            Some(Open::Array(elements)) => self.add(Json::Array(elements)),
            None => {}
        }
    }
}

impl Visitor for Builder {
    fn field(&mut self, field: &'static Field) {
        if let Some(Open::Object { key, .. }) = self.open.last_mut() {
            *key = field.json;
        }
    }

    fn begin_struct(&mut self, _: &'static Struct) {
        self.open.push(Open::Object { entries: Vec::new(), key: "", tags: Vec::new() });
    }

    fn end_struct(&mut self) {
        self.close();
    }

    fn begin_array(&mut self, _: &'static Field, _: usize) {
        self.open.push(Open::Array(Vec::new()));
    }

    fn end_array(&mut self) {
        self.close();
    }

    fn value(&mut self, _: &'static Field, value: Value, _: Range<usize>) {
        self.add(match value {
            Value::Null => Json::Null,
            Value::Bool(it) => Json::Bool(it),
            Value::Int(it) => Json::Int(it),
            Value::Float(it) => Json::Float(it),
            Value::Uuid(it) => Json::String(it.to_string()),
            Value::Str(it) => Json::String(it.to_str().into_owned()),
            Value::Bytes(it) => Json::String(base64::encode(&it, base64::STANDARD)),
        });
    }

    fn unknown_tag(&mut self, tag: RawTag) {
        if let Some(Open::Object { tags, .. }) = self.open.last_mut() {
            let data = base64::encode(&tag.data, base64::STANDARD);
            tags.push((tag.tag.to_string().into(), Json::String(data)));
        }
    }
}
