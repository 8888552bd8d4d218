//! A records field: batches of magic 2, header field by header field, and their records (wire.md 12).

use std::borrow::Cow;

use wire::batch::compress::{Codec, decompress};
use wire::batch::{Attributes, TimestampType, crc32c};
use wire::table::{Field, Message};

use crate::node::{Category, Id, Value};
use crate::scan::{Scan, Step};

type Text = Cow<'static, str>;

/// Bytes of a batch that its length does not count.
const LENGTH_END: usize = 12;
/// Where the magic stands, in every format.
const MAGIC_AT: usize = 16;
/// The checksum of magic 2 covers everything from here on.
const CRC_FROM: usize = 21;
const HEADER: usize = 61;

/// What the records of a batch need to know of its header.
#[derive(Clone, Copy)]
struct Head {
    base_offset: i64,
    base_timestamp: i64,
    max_timestamp: i64,
    attributes: Attributes,
    count: i32,
}

/// What keys and values of a record are.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    /// The user's.
    User,
    Control,
    Internal(&'static str),
}

/// What a key tells of its value.
#[derive(Clone, Copy)]
enum Told {
    Nothing,
    Control(i16),
    Internal(&'static Message),
}

impl Scan<'_> {
    pub(crate) fn records_field(&mut self, field: &'static Field, nullable: bool) -> Step<()> {
        let start = self.at;
        let flex = self.flexible && field.flexible;
        let (length, note) = self.long_prefix(flex, nullable).inspect_err(|_| self.at = start)?;
        let Some(length) = length else {
            self.leaf(start, field.name, "records", Value::Null, note, field.doc);
            return Ok(());
        };
        if length == 0 {
            self.leaf(start, field.name, "records", Value::Bytes(bytes::Bytes::new()), note, field.doc);
            return Ok(());
        }
        let inside = self.at;
        self.at = start;
        self.open(field.name, "records", field.doc);
        self.at = inside;
        self.prefix_leaf(start, flex, length);
        self.region(inside + length, Self::batches);
        self.close(Value::Whole(self.slice(inside..inside + length)), note);
        Ok(())
    }

    /// Batches up to the end of the region; the last one may be cut off (12.5).
    pub(crate) fn batches(&mut self) -> Step<()> {
        let mut i = 0;
        while self.at < self.end {
            let (start, before) = (self.at, self.path.len());
            let (Some(length), Some([magic])) =
                (self.peek(8).map(i32::from_be_bytes), self.peek::<1>(MAGIC_AT))
            else {
                self.partial();
                return Ok(());
            };
            let magic = magic.cast_signed();
            if !matches!(magic, 0..=2) {
                return self.stop(Id::Magic, start + MAGIC_AT, format!("magic {magic}"));
            }
            let size = self.size_of_batch(length, magic)?;
            if size > self.remaining() {
                self.partial();
                return Ok(());
            }
            let name = if magic == 2 { "RecordBatch" } else { "Message" };
            self.enter(&format!("{name}[{i}]"));
            self.category = Category::RecordBatch;
            self.open(format!("{name}[{i}]"), "", "");
            if magic == 2 {
                self.region(start + size, Self::batch);
            } else {
                self.region(start + size, |scan| scan.old_message(magic));
            }
            self.close(Value::None, "");
            self.leave(before);
            i += 1;
        }
        Ok(())
    }

    fn size_of_batch(&self, length: i32, magic: i8) -> Step<usize> {
        let least = if magic == 2 { HEADER - LENGTH_END } else { 14 };
        match usize::try_from(length) {
            Ok(length) if length >= least => Ok(length.saturating_add(LENGTH_END)),
            Ok(_) => {
                let found = format!("length {length}, a batch of magic {magic} has {least} or more");
                self.stop(Id::Length, self.at + 8, found)
            }
            Err(_) => self.stop(Id::Negative, self.at + 8, format!("length {length}")),
        }
    }

    fn partial(&mut self) {
        let left = self.remaining();
        self.category = Category::RecordBatch;
        self.remark(Id::PartialBatch, self.at, format!("{left} bytes of a batch that is cut off"));
        self.rest("partial batch");
    }

    /// One batch of magic 2; the region ends with it.
    fn batch(&mut self) -> Step<()> {
        let start = self.at;
        let base_offset = self.number::<8>("baseOffset", "offset of the first record", i64::from_be_bytes)?;
        self.number::<4>("batchLength", "bytes after this field", i32::from_be_bytes)?;
        self.number::<4>("partitionLeaderEpoch", "set by the broker", i32::from_be_bytes)?;
        self.number::<1>("magic", "format of the batch", i8::from_be_bytes)?;
        self.checksum(start, CRC_FROM)?;
        let attributes = Attributes(self.attributes()?);
        self.number::<4>("lastOffsetDelta", "last offset less the first", i32::from_be_bytes)?;
        let base_timestamp =
            self.number::<8>("baseTimestamp", "what timestamp deltas count from", i64::from_be_bytes)?;
        let max_timestamp = self.number::<8>("maxTimestamp", "largest timestamp", i64::from_be_bytes)?;
        self.number::<8>("producerId", "-1: none", i64::from_be_bytes)?;
        self.number::<2>("producerEpoch", "-1: none", i16::from_be_bytes)?;
        self.number::<4>("baseSequence", "-1: none", i32::from_be_bytes)?;
        let count = self.number::<4>("recordsCount", "records that follow", i32::from_be_bytes)?;
        let count = i32::try_from(count).unwrap_or(0);
        self.block(Head { base_offset, base_timestamp, max_timestamp, attributes, count })
    }

    /// A number of the header.
    pub(crate) fn number<const N: usize>(
        &mut self,
        name: &'static str,
        description: &'static str,
        convert: impl Fn([u8; N]) -> <() as Number<N>>::Of,
    ) -> Step<i64>
    where
        (): Number<N>,
    {
        let start = self.at;
        let value = convert(self.take()?).into();
        let before = self.enter(name);
        self.leaf(start, name, <()>::NAME, Value::Int(value), "", description);
        self.leave(before);
        Ok(value)
    }

    /// The checksum over `from` bytes after `start` up to the end of the region.
    fn checksum(&mut self, start: usize, from: usize) -> Step<()> {
        let at = self.at;
        let stored = u32::from_be_bytes(self.take()?);
        let computed = crc32c(&[&self.slice(start + from..self.end)]);
        self.crc_leaf(at, stored, computed);
        Ok(())
    }

    pub(crate) fn crc_leaf(&mut self, at: usize, stored: u32, computed: u32) {
        let before = self.enter("crc");
        let note = if stored == computed {
            Text::Borrowed("valid")
        } else {
            self.remark(Id::Crc, at, format!("stored 0x{stored:08x}, computed 0x{computed:08x}"));
            format!("computed 0x{computed:08x}").into()
        };
        self.leaf(at, "crc", "uint32", Value::Int(stored.into()), note, "checksum of what follows it");
        self.leave(before);
    }

    fn attributes(&mut self) -> Step<i16> {
        let start = self.at;
        let value = self.i16()?;
        let attributes = Attributes(value);
        let codec = attributes.codec().map_or_else(|_| "unknown codec", Codec::name);
        let mut note = format!("codec {codec}");
        let time = attributes.timestamp_type() == TimestampType::LogAppendTime;
        for (set, word) in [
            (time, "log append time"),
            (attributes.is_transactional(), "transactional"),
            (attributes.is_control(), "control"),
            (attributes.has_delete_horizon(), "delete horizon"),
        ] {
            if set {
                note.push_str(", ");
                note.push_str(word);
            }
        }
        let before = self.enter("attributes");
        self.leaf(start, "attributes", "int16", Value::Int(value.into()), note, "codec and flags");
        self.leave(before);
        Ok(value)
    }

    /// The records of a batch, inflated if they are compressed.
    fn block(&mut self, head: Head) -> Step<()> {
        if self.at == self.end && head.count <= 0 {
            return Ok(());
        }
        self.category = Category::Record;
        // A batch that compaction has emptied keeps its codec but has no block.
        match head.attributes.codec() {
            Ok(Codec::None) => self.records_of(head),
            Ok(codec) => self.inflated(codec, |scan| scan.records_of(head)),
            Err(problem) => self.stop(Id::Content, self.at, problem.to_string()),
        }
    }

    fn records_of(&mut self, head: Head) -> Step<()> {
        for j in 0..head.count.max(0) {
            let before = self.enter(&format!("Record[{j}]"));
            self.record(j, head)?;
            self.leave(before);
        }
        Ok(())
    }

    /// The rest of the region as one compressed block, with what it inflates to below it.
    pub(crate) fn inflated(&mut self, codec: Codec, read: impl FnOnce(&mut Self) -> Step<()>) -> Step<()> {
        let (start, end) = (self.at, self.end);
        let packed = self.slice(start..end);
        let plain = decompress(codec, &packed, self.inflate_left);
        let before = self.enter("records");
        self.open("records", "bytes", "compressed as one block");
        let note = match plain {
            Err(problem) => {
                self.remark(Id::Content, start, problem.to_string());
                Text::Borrowed(codec.name())
            }
            Ok(plain) => {
                self.inflate_left -= plain.len().min(self.inflate_left);
                let length = plain.len();
                let outer = (std::mem::replace(&mut self.bytes, plain), self.inflated);
                (self.at, self.end, self.inflated) = (0, length, true);
                self.leave(before);
                self.region(length, read);
                (self.bytes, self.inflated) = outer;
                format!("{}, inflates to {length} bytes", codec.name()).into()
            }
        };
        (self.at, self.end) = (end, end);
        self.close(Value::Bytes(packed), note);
        self.leave(before);
        Ok(())
    }

    /// One record (12.2).
    fn record(&mut self, j: i32, head: Head) -> Step<()> {
        let start = self.at;
        self.open(format!("Record[{j}]"), "", "");
        let length = self.varint_leaf("length", 32, "bytes of the record after this field")?;
        let Ok(length) = usize::try_from(length) else {
            return self.stop(Id::Negative, start, format!("length {length}"));
        };
        if length > self.remaining() {
            return self.beyond(start, length);
        }
        let (end, outer) = (self.at + length, self.end);
        self.end = end;
        let result = self.record_fields(head);
        self.end = outer;
        result?;
        if self.at < end {
            let found = format!("length {length} is {} more than the fields take", end - self.at);
            return self.stop(Id::Length, self.at, found);
        }
        self.close(Value::None, "");
        Ok(())
    }

    fn record_fields(&mut self, head: Head) -> Step<()> {
        self.number::<1>("attributes", "no bit has a meaning", i8::from_be_bytes)?;
        let start = self.at;
        let delta = self.varint(64)?;
        let time = match head.attributes.timestamp_type() {
            TimestampType::CreateTime => head.base_timestamp.wrapping_add(delta),
            TimestampType::LogAppendTime => head.max_timestamp,
        };
        self.delta_leaf(start, "timestampDelta", "varlong", delta, format!("timestamp {time}"));
        let start = self.at;
        let delta = self.varint(32)?;
        let offset = head.base_offset.wrapping_add(delta);
        self.delta_leaf(start, "offsetDelta", "varint", delta, format!("offset {offset}"));
        let content = match self.context.internal_topic() {
            _ if head.attributes.is_control() => Content::Control,
            Some(topic) => Content::Internal(topic),
            None => Content::User,
        };
        let told = self.key(content)?;
        self.record_value(told)?;
        self.record_headers()
    }

    fn delta_leaf(&mut self, start: usize, name: &'static str, ty: &'static str, delta: i64, note: String) {
        let before = self.enter(name);
        self.leaf(start, name, ty, Value::Int(delta), note, "");
        self.leave(before);
    }

    fn key(&mut self, content: Content) -> Step<Told> {
        let mut told = Told::Nothing;
        self.varint_bytes("key", !matches!(content, Content::User), |scan| {
            told = match content {
                Content::User => Told::Nothing,
                Content::Control => Told::Control(scan.control_key()?),
                Content::Internal(topic) => {
                    scan.coordinator_key(topic)?.map_or(Told::Nothing, Told::Internal)
                }
            };
            Ok(())
        })?;
        Ok(told)
    }

    fn record_value(&mut self, told: Told) -> Step<()> {
        self.varint_bytes("value", !matches!(told, Told::Nothing), |scan| match told {
            Told::Nothing => Ok(()),
            Told::Control(kind) => scan.control_value(kind),
            Told::Internal(table) => scan.coordinator_value(table),
        })
    }

    /// Bytes after a length that may be −1, opened up if told to.
    fn varint_bytes(
        &mut self,
        name: &'static str,
        opened: bool,
        read: impl FnOnce(&mut Self) -> Step<()>,
    ) -> Step<()> {
        let start = self.at;
        let length = self.varint(32)?;
        let before = self.enter(name);
        let note = format!("varint len={length}");
        let Ok(n) = usize::try_from(length) else {
            self.leaf(start, name, "bytes", Value::Null, note, "");
            self.leave(before);
            return Ok(());
        };
        if n > self.remaining() {
            self.at = start;
            return self.beyond(start, n);
        }
        let inside = self.at;
        if !opened || n == 0 {
            let value = Value::Data(self.advance(n));
            self.leaf(start, name, "bytes", value, note, "");
            self.leave(before);
            return Ok(());
        }
        self.at = start;
        self.open(name, "bytes", "");
        self.at = inside;
        let inner = self.enter("length");
        self.leaf(start, "length", "varint", Value::Int(length), "", "");
        self.leave(inner);
        self.region(inside + n, read);
        self.close(Value::Whole(self.slice(inside..inside + n)), note);
        self.leave(before);
        Ok(())
    }

    fn record_headers(&mut self) -> Step<()> {
        let start = self.at;
        let count = self.varint_leaf("headerCount", 32, "headers that follow")?;
        let Ok(count) = usize::try_from(count) else {
            return self.stop(Id::Negative, start, format!("{count} headers"));
        };
        if count > self.remaining() {
            let found = format!("{count} headers do not fit into the {} bytes that remain", self.remaining());
            return self.stop(Id::Length, start, found);
        }
        for k in 0..count {
            let before = self.enter(&format!("Header[{k}]"));
            self.open(format!("Header[{k}]"), "", "");
            if self.peek_null_length() {
                return self.stop(Id::Null, self.at, "a null header key");
            }
            self.varint_bytes("key", false, |_| Ok(()))?;
            self.varint_bytes("value", false, |_| Ok(()))?;
            self.close(Value::None, "");
            self.leave(before);
        }
        Ok(())
    }

    fn peek_null_length(&mut self) -> bool {
        let (at, quiet, troubles) = (self.at, self.quiet, self.troubles);
        self.quiet = true;
        let null = self.varint(32).is_ok_and(|it| it < 0);
        (self.at, self.quiet, self.troubles) = (at, quiet, troubles);
        null
    }

    fn varint_leaf(&mut self, name: &'static str, bits: u32, description: &'static str) -> Step<i64> {
        let start = self.at;
        let value = self.varint(bits)?;
        let before = self.enter(name);
        self.leaf(start, name, "varint", Value::Int(value), "", description);
        self.leave(before);
        Ok(value)
    }
}

/// The signed number of so many bytes.
pub(crate) trait Number<const N: usize> {
    type Of: Into<i64>;
    const NAME: &'static str;
}

impl Number<1> for () {
    type Of = i8;
    const NAME: &'static str = "int8";
}

impl Number<2> for () {
    type Of = i16;
    const NAME: &'static str = "int16";
}

impl Number<4> for () {
    type Of = i32;
    const NAME: &'static str = "int32";
}

impl Number<8> for () {
    type Of = i64;
    const NAME: &'static str = "int64";
}
