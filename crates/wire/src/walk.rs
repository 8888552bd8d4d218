//! One generic walk over the bytes of any message, by its table. JSON and the explainer are visitors; the typed
//! decoder uses the walk to say where bytes are wrong.
//!
//! It reads in the same order as the generated code, with a `Reader` that does what the `Cursor` there does, so both
//! refuse the same bytes (`tests/hostile.rs` holds them together).

use std::fmt::Write as _;
use std::ops::Range;

use bytes::Bytes;

use crate::error::{DecodeError, DecodeErrorKind};
use crate::read::{RawTag, Reader};
use crate::str::Str;
use crate::table::{Field, Message, Struct, Type};
use crate::uuid::Uuid;

/// A value that has no parts.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Uuid(Uuid),
    Str(Str),
    Bytes(Bytes),
}

/// What is told during a walk, in the order of the bytes.
pub trait Visitor {
    /// A field follows: a value, a struct or an array.
    fn field(&mut self, _field: &'static Field) {}
    fn begin_struct(&mut self, _it: &'static Struct) {}
    fn end_struct(&mut self) {}
    /// An array that is not null; its elements follow.
    fn begin_array(&mut self, _field: &'static Field, _count: usize) {}
    fn end_array(&mut self) {}
    /// A value without parts, or null in place of a struct or array; `at` are its bytes with their length.
    fn value(&mut self, _field: &'static Field, _value: Value, _at: Range<usize>) {}
    /// A tagged field that the schema does not know.
    fn unknown_tag(&mut self, _tag: RawTag) {}
}

/// Walks over one message. Bytes behind it are left in the reader.
///
/// # Errors
/// A version that the message lacks; bytes that are not this message.
pub fn walk(
    table: &'static Message,
    version: i16,
    reader: &mut Reader,
    visitor: &mut dyn Visitor,
) -> Result<(), DecodeError> {
    if !table.versions.contains(version) {
        return Err(DecodeError::at(reader.position(), DecodeErrorKind::UnsupportedVersion));
    }
    let flexible = table.flexible.contains(version);
    let mut walker = Walker { version, flexible, reader, visitor, path: Vec::new() };
    let result = walker.structure(&table.root);
    let path = walker.path;
    result.map_err(|kind| DecodeError { path: render(&path), offset: reader.position(), kind })
}

/// Path and offset of what the typed decoder refused, by walking over the same bytes again. The reader is left where
/// they are wrong.
#[cold]
pub(crate) fn locate(
    table: &'static Message,
    version: i16,
    reader: &mut Reader,
    kind: DecodeErrorKind,
) -> DecodeError {
    struct Nothing;
    impl Visitor for Nothing {}

    let start = reader.position();
    let error = walk(table, version, reader, &mut Nothing).err();
    let error = error.unwrap_or_else(|| DecodeError::at(start, kind));
    reader.seek(error.offset);
    error
}

enum Step {
    Field(&'static str),
    Element(usize),
    Tags,
}

fn render(path: &[Step]) -> String {
    let mut out = String::new();
    for step in path {
        let dot = if out.is_empty() { "" } else { "." };
        let _ = match step {
            Step::Field(name) => write!(out, "{dot}{name}"),
            Step::Element(i) => write!(out, "[{i}]"),
            Step::Tags => write!(out, "{dot}(tags)"),
        };
    }
    out
}

struct Walker<'a> {
    version: i16,
    flexible: bool,
    reader: &'a mut Reader,
    visitor: &'a mut dyn Visitor,
    /// Where the walk is; it stays as it was when a step fails.
    path: Vec<Step>,
}

type Result2 = Result<(), DecodeErrorKind>;

impl Walker<'_> {
    fn structure(&mut self, it: &'static Struct) -> Result2 {
        self.visitor.begin_struct(it);
        let version = self.version;
        for field in it.fields.iter().filter(|it| it.is_plain(version)) {
            self.path.push(Step::Field(field.name));
            self.field(field, false)?;
            self.path.pop();
        }
        if self.flexible {
            self.tags(it)?;
        }
        self.visitor.end_struct();
        Ok(())
    }

    fn tags(&mut self, it: &'static Struct) -> Result2 {
        self.path.push(Step::Tags);
        let (count, mut last) = (self.reader.tag_count()?, None);
        for _ in 0..count {
            let (tag, end) = self.reader.tag(&mut last)?;
            match it.fields.iter().find(|it| it.tag.is_some_and(|it| it.number == tag)) {
                None => {
                    let raw = self.reader.raw_tag(tag, end)?;
                    self.visitor.unknown_tag(raw);
                }
                Some(field) if !field.is_tagged(self.version) => {
                    return Err(DecodeErrorKind::TagNotInVersion);
                }
                Some(field) => self.tagged(field, end)?,
            }
        }
        self.path.pop();
        Ok(())
    }

    fn tagged(&mut self, field: &'static Field, end: usize) -> Result2 {
        let tags = self.path.pop();
        self.path.push(Step::Field(field.name));
        self.field(field, true)?;
        self.reader.end_tag(end)?;
        self.path.pop();
        self.path.extend(tags);
        Ok(())
    }

    fn field(&mut self, field: &'static Field, tagged: bool) -> Result2 {
        self.visitor.field(field);
        let nullable = field.nullable.contains(self.version);
        if field.array {
            return self.array(field, nullable);
        }
        if let (Type::Struct(it), true) = (field.ty, nullable) {
            let start = self.reader.position();
            let present = if tagged { self.reader.tagged_present()? } else { self.reader.present()? };
            if !present {
                self.visitor.value(field, Value::Null, start..self.reader.position());
                return Ok(());
            }
            return self.structure(it);
        }
        self.one(field, nullable)
    }

    fn array(&mut self, field: &'static Field, nullable: bool) -> Result2 {
        let flex = self.flexible && field.flexible;
        let start = self.reader.position();
        let Some(count) = self.reader.nullable_count(flex, field.min_size)? else {
            if !nullable {
                self.reader.seek(start);
                return Err(DecodeErrorKind::Null);
            }
            self.visitor.value(field, Value::Null, start..self.reader.position());
            return Ok(());
        };
        self.visitor.begin_array(field, count);
        for i in 0..count {
            self.path.push(Step::Element(i));
            self.one(field, false)?;
            self.path.pop();
        }
        self.visitor.end_array();
        Ok(())
    }

    /// A value or an element.
    fn one(&mut self, field: &'static Field, nullable: bool) -> Result2 {
        let flex = self.flexible && field.flexible;
        let start = self.reader.position();
        let r = &mut *self.reader;
        let value = match field.ty {
            Type::Struct(it) => return self.structure(it),
            Type::Bool => Value::Bool(r.bool()?),
            Type::Int8 => Value::Int(r.i8()?.into()),
            Type::Int16 => Value::Int(r.i16()?.into()),
            Type::Uint16 => Value::Int(r.u16()?.into()),
            Type::Int32 => Value::Int(r.i32()?.into()),
            Type::Uint32 => Value::Int(r.u32()?.into()),
            Type::Int64 => Value::Int(r.i64()?),
            Type::Float64 => Value::Float(r.f64()?),
            Type::Uuid => Value::Uuid(r.uuid()?),
            Type::String if nullable => r.nullable_str(flex)?.map_or(Value::Null, Value::Str),
            Type::String => Value::Str(r.str(flex)?),
            Type::Bytes | Type::Records if nullable => {
                r.nullable_bytes(flex)?.map_or(Value::Null, Value::Bytes)
            }
            Type::Bytes | Type::Records => Value::Bytes(r.bytes(flex)?),
        };
        self.visitor.value(field, value, start..self.reader.position());
        Ok(())
    }
}
