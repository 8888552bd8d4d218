//! A message by its table: fields in schema order, then the tag section (wire.md 19 and 21).

use std::borrow::Cow;
use std::collections::BTreeSet;

use wire::table::{Default, Field, Message, Struct, Type};
use wire::{Uuid, read::STRING_MAX};

use crate::node::{Category, Id, Mode, Node, Value};
use crate::scan::{Scan, Step};
use crate::{labels, secrets};

type Text = Cow<'static, str>;

/// Unknown tags of a struct that have nodes of their own. Those behind them share one for each run.
const UNKNOWN_TAGS_MAX: usize = 500;

/// The node of unknown tags that have none of their own.
pub(crate) const MORE_TAGS: &str = "more unknown tags";

/// Tags of a struct so far.
#[derive(Default)]
struct Order {
    seen: BTreeSet<u32>,
    last: Option<u32>,
}

impl Scan<'_> {
    /// A message as a struct node.
    pub(crate) fn body(&mut self, table: &'static Message, version: i16) -> Step<()> {
        let outer = (self.message, self.structure, self.version, self.flexible);
        (self.message, self.version) = (Some(table), version);
        self.flexible = table.flexible.contains(version);
        let path = self.enter(table.name);
        self.open(table.name, "struct", format!("body in version {version}"));
        // Paths of fields begin at the message, so its own name does not stand in them.
        self.leave(path);
        self.structure(&table.root)?;
        self.close(Value::None, "");
        (self.message, self.structure, self.version, self.flexible) = outer;
        Ok(())
    }

    /// A message that stands alone; its version comes from who asks.
    pub(crate) fn body_of(&mut self, table: &'static Message, version: i16) -> Step<()> {
        // What is left over of a message with secrets may be one.
        self.message = Some(table);
        if !table.versions.contains(version) {
            let found = format!("{} has no version {version}; valid: {}", table.name, table.versions);
            return self.stop(Id::Version, self.at, found);
        }
        self.body(table, version)
    }

    pub(crate) fn structure(&mut self, it: &'static Struct) -> Step<()> {
        let (outer, version) = (self.structure.replace(it), self.version);
        for field in it.fields.iter().filter(|field| field.is_plain(version)) {
            let before = self.enter(field.name);
            self.field(field, false)?;
            self.leave(before);
        }
        if self.flexible {
            self.tags(it)?;
        }
        self.structure = outer;
        Ok(())
    }

    fn field(&mut self, field: &'static Field, tagged: bool) -> Step<()> {
        let nullable = field.nullable.contains(self.version);
        match field.ty {
            _ if field.array => self.array(field, nullable),
            Type::Struct(it) => {
                self.open(field.name, it.name, field.doc);
                if nullable && !self.presence(tagged)? {
                    self.close(Value::Null, "");
                    return Ok(());
                }
                self.structure(it)?;
                self.close(Value::Struct, "");
                Ok(())
            }
            Type::Bytes => self.bytes_field(field, nullable),
            Type::Records => self.records_field(field, nullable),
            Type::Bool
            | Type::Int8
            | Type::Int16
            | Type::Uint16
            | Type::Int32
            | Type::Uint32
            | Type::Int64
            | Type::Float64
            | Type::Uuid
            | Type::String => self.value(field, field.name.into(), nullable, field.doc),
        }
    }

    /// Whether a nullable struct follows (wire.md 6.5).
    fn presence(&mut self, tagged: bool) -> Step<bool> {
        let start = self.at;
        let (ty, value) =
            if tagged { ("uvarint", i64::from(self.uvarint()?)) } else { ("int8", i64::from(self.i8()?)) };
        let present = if tagged { value != 0 } else { value >= 0 };
        let before = self.enter("presence");
        if !matches!((tagged, value), (false, -1 | 1) | (true, 0 | 1)) {
            self.remark(Id::Presence, start, value.to_string());
        }
        let note = if present { "present" } else { "null" };
        self.leaf(start, "presence", ty, Value::Int(value), note, "");
        self.leave(before);
        Ok(present)
    }

    fn array(&mut self, field: &'static Field, nullable: bool) -> Step<()> {
        let start = self.at;
        let flex = self.flexible && field.flexible;
        self.open(field.name, format!("[]{}", type_name(field.ty)), field.doc);
        let counted = self.count(flex).and_then(|it| self.check_count(field, start, it, nullable));
        let (prefix, count) = counted.inspect_err(|_| self.at = start)?;
        let before = self.enter("length");
        let (ty, note) = if flex { ("uvarint", "compact, n+1") } else { ("int32", "") };
        self.leaf(start, "length", ty, Value::Int(prefix), note, self.length_words(count));
        self.leave(before);
        for i in 0..count.unwrap_or(0) {
            let before = self.enter_index(i);
            self.element(field, i)?;
            self.leave(before);
        }
        self.close(count.map_or(Value::Null, Value::Elements), "");
        Ok(())
    }

    /// The count as it is written, and what it means.
    fn count(&mut self, flex: bool) -> Step<(i64, Option<usize>)> {
        if flex {
            let prefix = self.uvarint()?;
            return Ok((prefix.into(), usize::try_from(prefix).ok().and_then(|it| it.checked_sub(1))));
        }
        let prefix = self.i32()?;
        if prefix < -1 {
            return self.stop(Id::Negative, self.at - 4, format!("length {prefix}"));
        }
        Ok((prefix.into(), usize::try_from(prefix).ok()))
    }

    fn check_count(
        &self,
        field: &Field,
        start: usize,
        counted: (i64, Option<usize>),
        nullable: bool,
    ) -> Step<(i64, Option<usize>)> {
        let left = self.remaining();
        match counted.1 {
            None if !nullable => self.stop(Id::Null, start, "a null array"),
            Some(n) if n.checked_mul(field.min_size.max(1)).is_none_or(|it| it > left) => self.stop(
                Id::Length,
                start,
                format!("{n} elements do not fit into the {left} bytes that remain"),
            ),
            Some(_) | None => Ok(counted),
        }
    }

    fn length_words(&self, count: Option<usize>) -> Text {
        match (count, self.mode) {
            (None, _) => "null array".into(),
            (Some(1), Mode::Sample) => "one sample element".into(),
            (Some(1), _) => "1 element".into(),
            (Some(n), _) => format!("{n} elements").into(),
        }
    }

    fn element(&mut self, field: &'static Field, i: usize) -> Step<()> {
        let name = format!("{}[{i}]", type_name(field.ty));
        if let Type::Struct(it) = field.ty {
            self.open(name, it.name, "");
            self.structure(it)?;
            self.close(Value::Struct, "");
            return Ok(());
        }
        self.value(field, name.into(), false, "")
    }

    /// A value without parts.
    fn value(&mut self, field: &'static Field, name: Text, nullable: bool, doc: &'static str) -> Step<()> {
        let start = self.at;
        let read = self.read(field, nullable);
        let (value, note) = read.inspect_err(|_| self.at = start)?;
        self.context.saw(field, &value, &self.options.topics);
        let value = if self.is_secret(field) { self.conceal(value) } else { value };
        self.leaf(start, name, type_name(field.ty), value, note, doc);
        Ok(())
    }

    pub(crate) fn is_secret(&self, field: &Field) -> bool {
        self.message.is_some_and(|it| secrets::is_secret(it, field, self.context.name()))
    }

    fn read(&mut self, field: &'static Field, nullable: bool) -> Step<(Value, Text)> {
        let flex = self.flexible && field.flexible;
        let int = |it: i64| (Value::Int(it), Text::Borrowed(""));
        Ok(match field.ty {
            Type::Bool => self.bool()?,
            Type::Int8 => {
                let value = self.i8()?;
                self.labelled(field, value.into())
            }
            Type::Int16 => {
                let value = self.i16()?;
                self.labelled(field, value.into())
            }
            Type::Uint16 => int(self.take().map(u16::from_be_bytes)?.into()),
            Type::Int32 => int(self.i32()?.into()),
            Type::Uint32 => int(self.take().map(u32::from_be_bytes)?.into()),
            Type::Int64 => int(self.i64()?),
            Type::Float64 => (Value::Float(self.take().map(f64::from_be_bytes)?), "".into()),
            Type::Uuid => self.uuid()?,
            Type::String => self.string(flex, nullable)?,
            Type::Bytes | Type::Records => {
                let (range, note) = self.long_prefix(flex, nullable)?;
                (range.map_or(Value::Null, |n| Value::Bytes(self.advance(n))), note)
            }
            // Structs are opened by who calls.
            Type::Struct(_) => (Value::None, "".into()),
        })
    }

    fn labelled(&self, field: &Field, value: i64) -> (Value, Text) {
        let within = self.structure.map_or("", |it| it.name);
        (Value::Int(value), labels::of(within, field, value).unwrap_or("").into())
    }

    fn bool(&mut self) -> Step<(Value, Text)> {
        let byte = self.i8()?;
        if !matches!(byte, 0 | 1) {
            self.remark(Id::Bool, self.at - 1, format!("{byte}, which reads as true"));
        }
        Ok((Value::Bool(byte != 0), "".into()))
    }

    fn uuid(&mut self) -> Step<(Value, Text)> {
        Ok((Value::Uuid(Uuid(self.take()?)), "".into()))
    }

    /// Moves over bytes that are known to be there.
    pub(crate) fn advance(&mut self, n: usize) -> bytes::Bytes {
        let start = self.at;
        self.at = (start + n).min(self.end);
        self.slice(start..self.at)
    }

    /// A string with its length (wire.md 6); the length is known to fit.
    pub(crate) fn string(&mut self, flex: bool, nullable: bool) -> Step<(Value, Text)> {
        let start = self.at;
        let (length, note): (Option<usize>, Text) = if flex {
            match self.uvarint()? {
                0 => (None, "compact, 0".into()),
                k => (usize::try_from(k - 1).ok(), format!("compact, len+1={k}").into()),
            }
        } else {
            let n = self.i16()?;
            if n < -1 {
                return self.stop(Id::Negative, start, format!("length {n}"));
            }
            (usize::try_from(n).ok(), format!("int16 len={n}").into())
        };
        match length {
            None if nullable => return Ok((Value::Null, note)),
            None => return self.stop(Id::Null, start, "a null string"),
            Some(n) if n > STRING_MAX && n <= self.remaining() => {
                return self.stop(Id::Length, start, format!("length {n} is above {STRING_MAX}"));
            }
            Some(_) => {}
        }
        let text = self.content(start, length.unwrap_or(0))?;
        if std::str::from_utf8(&text).is_err() {
            self.remark(Id::Utf8, start, "bytes that Java replaces by U+FFFD");
        }
        Ok((Value::Text(text), note))
    }

    /// Length of bytes or records; null is none.
    pub(crate) fn long_prefix(&mut self, flex: bool, nullable: bool) -> Step<(Option<usize>, Text)> {
        let start = self.at;
        let (prefix, length) = self.count(flex)?;
        let note: Text = match (flex, length) {
            (true, None) => "compact, 0".into(),
            (true, Some(_)) => format!("compact, len+1={prefix}").into(),
            (false, _) => format!("int32 len={prefix}").into(),
        };
        match length {
            None if !nullable => self.stop(Id::Null, start, "null bytes"),
            Some(n) if n > self.remaining() => self.beyond(start, n),
            it => Ok((it, note)),
        }
    }

    fn content(&mut self, start: usize, length: usize) -> Step<bytes::Bytes> {
        if length > self.remaining() { self.beyond(start, length) } else { Ok(self.advance(length)) }
    }

    pub(crate) fn beyond<T>(&self, start: usize, length: usize) -> Step<T> {
        let left = self.remaining();
        self.stop(Id::Length, start, format!("length {length} is beyond the {left} bytes that remain"))
    }

    // Tagged fields (wire.md 7).

    pub(crate) fn tags(&mut self, it: &'static Struct) -> Step<()> {
        let (start, category) = (self.at, self.category);
        let outside = self.path.len();
        self.category = Category::TaggedFields;
        let words = if category == Category::RpcHeader { "header tags" } else { "tags of this struct" };
        let count = self.uvarint()?;
        let before = self.enter("tagged_fields");
        if count == 0 {
            self.leaf(start, "tagged_fields", "uvarint", Value::Int(0), "", words);
        } else {
            if u64::from(count) * 2 > self.remaining() as u64 {
                self.at = start;
                let left = self.remaining() - 1;
                let found = format!("{count} tags do not fit into the {left} bytes that remain");
                return self.stop(Id::Length, start, found);
            }
            let read = self.at;
            self.at = start;
            self.open("tagged_fields", "uvarint", words);
            self.at = read;
            let inner = self.enter("count");
            self.leaf(start, "count", "uvarint", Value::Int(count.into()), "", "number of tags");
            self.leave(inner);
            self.leave(outside);
            self.tag_list(it, count)?;
            self.close(Value::Int(count.into()), "");
        }
        self.leave(before);
        self.category = category;
        Ok(())
    }

    fn tag_list(&mut self, it: &'static Struct, count: u32) -> Step<()> {
        let (mut order, mut left, mut unknown) = (Order::default(), count, 0);
        while left > 0 {
            if unknown >= UNKNOWN_TAGS_MAX {
                left -= self.more_tags(it, left, &mut order)?;
                if left == 0 {
                    break;
                }
            }
            let start = self.at;
            let tag = self.uvarint()?;
            let before = self.enter(&format!("#{tag}"));
            self.in_order(&mut order, tag, start);
            let inner = self.enter("tag");
            self.leaf(start, "tag", "uvarint", Value::Int(tag.into()), "", "");
            self.leave(inner);
            self.tag_value(it, tag, before)?;
            self.leave(before);
            unknown += usize::from(known(it, tag).is_none());
            left -= 1;
        }
        Ok(())
    }

    fn in_order(&mut self, order: &mut Order, tag: u32, start: usize) {
        if !order.seen.insert(tag) {
            self.remark(Id::TagTwice, start, format!("tag {tag} again"));
        } else if let Some(last) = order.last.filter(|last| *last > tag) {
            self.remark(Id::TagOrder, start, format!("tag {tag} after {last}"));
        }
        order.last = Some(tag);
    }

    /// Unknown tags in a row, at most so many: one node with their bytes as they stand. How many there were.
    fn more_tags(&mut self, it: &'static Struct, left: u32, order: &mut Order) -> Step<u32> {
        let (start, mut count, mut stopped) = (self.at, 0, None);
        let before = self.enter(MORE_TAGS);
        while count < left {
            let at = self.at;
            let read = self.unknown_tag(it, order);
            if !matches!(read, Ok(true)) {
                self.at = at;
                stopped = read.err();
                break;
            }
            count += 1;
        }
        if count > 0 {
            let bytes = self.slice(start..self.at);
            self.remark(Id::UnknownTag, start, format!("{count} more tags, {} bytes", bytes.len()));
            let value = self.conceal_unknown(Value::Bytes(bytes));
            self.leaf(start, MORE_TAGS, "bytes", value, format!("{count} tags"), "");
            self.settle();
        }
        self.leave(before);
        stopped.map_or(Ok(count), Err)
    }

    /// Reads over a tag with its value; false if it is a known one.
    fn unknown_tag(&mut self, it: &'static Struct, order: &mut Order) -> Step<bool> {
        let start = self.at;
        let tag = self.uvarint()?;
        if known(it, tag).is_some() {
            return Ok(false);
        }
        self.in_order(order, tag, start);
        let at = self.at;
        let size = usize::try_from(self.uvarint()?).unwrap_or(usize::MAX);
        if size > self.remaining() {
            return self.beyond(at, size);
        }
        self.at += size;
        Ok(true)
    }

    fn tag_value(&mut self, it: &'static Struct, tag: u32, outside: usize) -> Step<()> {
        let start = self.at;
        let size = usize::try_from(self.uvarint()?).unwrap_or(usize::MAX);
        if size > self.remaining() {
            let result = self.beyond(start, size);
            self.at = start;
            return result;
        }
        let inner = self.enter("size");
        self.leaf(start, "size", "uvarint", Value::Int(i64::try_from(size).unwrap_or(i64::MAX)), "", "");
        self.leave(inner);
        let start = self.at;
        match known(it, tag) {
            Some(field) if field.is_tagged(self.version) => {
                self.leave(outside);
                self.enter(field.name);
                self.field(field, true)?;
                self.check_tag(field, start, size);
            }
            Some(field) => {
                let found = format!("{} has no tag {tag} in version {}", field.name, self.version);
                return self.stop(Id::TagVersion, start, found);
            }
            None => {
                let value = Value::Bytes(self.advance(size));
                let value = self.conceal_unknown(value);
                self.remark(Id::UnknownTag, start, format!("tag {tag} of {size} bytes"));
                if size > 0 {
                    self.leaf(start, format!("unknown[{tag}]"), "bytes", value, "", "");
                }
                self.settle();
            }
        }
        Ok(())
    }

    /// What Kafka does not look at: the size and the default of a known tag.
    fn check_tag(&mut self, field: &'static Field, start: usize, size: usize) {
        let taken = self.at - start;
        if taken != size {
            self.remark(Id::TagSize, start, format!("the size says {size}, the value takes {taken}"));
        }
        if self.mode == Mode::Decode && self.last().is_some_and(|it| is_default(field, it, self.version)) {
            self.remark(Id::TagDefault, start, format!("{} has its default", field.name));
        }
        self.settle();
    }
}

fn known(it: &'static Struct, tag: u32) -> Option<&'static Field> {
    it.fields.iter().find(|it| it.tag.is_some_and(|it| it.number == tag))
}

/// Whether a node holds the default of its field.
fn is_default(field: &Field, node: &Node, version: i16) -> bool {
    match (&node.value, field.default, field.ty) {
        (Value::Null, default, _) => default == Default::Null,
        (_, Default::Null, _) => false,
        (Value::Elements(n), _, _) => *n == 0,
        (Value::Bool(it), Default::Bool(default), _) => *it == default,
        (Value::Bool(it), _, _) => !it,
        (Value::Int(it), Default::Int(default), _) => *it == default,
        (Value::Int(it), _, _) => *it == 0,
        (Value::Float(it), _, _) => it.to_bits() == 0,
        (Value::Uuid(it), _, _) => it.is_zero(),
        (Value::Text(it), Default::String(default), _) => it == default.as_bytes(),
        (Value::Text(it) | Value::Bytes(it), _, _) => it.is_empty(),
        (Value::Struct, _, Type::Struct(it)) => {
            node.children.iter().all(|child| match it.fields.iter().find(|it| it.name == child.name) {
                Some(field) => field.versions.contains(version) && is_default(field, child, version),
                None => child.value == Value::Int(0),
            })
        }
        (Value::Struct | Value::None | Value::Data(_) | Value::Whole(_) | Value::Hidden(_), _, _) => false,
    }
}

/// The word for a type, as the schema has it.
#[must_use]
pub const fn type_name(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "bool",
        Type::Int8 => "int8",
        Type::Int16 => "int16",
        Type::Uint16 => "uint16",
        Type::Int32 => "int32",
        Type::Uint32 => "uint32",
        Type::Int64 => "int64",
        Type::Float64 => "float64",
        Type::Uuid => "uuid",
        Type::String => "string",
        Type::Bytes => "bytes",
        Type::Records => "records",
        Type::Struct(it) => it.name,
    }
}
