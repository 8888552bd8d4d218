//! Messages of magic 0 and 1, from before record batches; old logs have them (wire.md 12.3).

use wire::batch::Codec;

use crate::node::{Category, Id, Value};
use crate::scan::{Scan, Step};

impl Scan<'_> {
    /// One message; the region ends with it. A compressed one holds messages of its own.
    pub(crate) fn old_message(&mut self, magic: i8) -> Step<()> {
        self.number::<8>("offset", "offset of the message", i64::from_be_bytes)?;
        self.number::<4>("size", "bytes after this field", i32::from_be_bytes)?;
        let at = self.at;
        let stored = u32::from_be_bytes(self.take()?);
        let computed = crc32(&self.slice(self.at..self.end));
        self.crc_leaf(at, stored, computed);
        self.number::<1>("magic", "format of the message", i8::from_be_bytes)?;
        let start = self.at;
        let attributes = self.i8()?;
        let codec = Codec::from_id(attributes.cast_unsigned() & 0b111);
        let note = codec.as_ref().map_or("unknown codec", |it| it.name());
        let before = self.enter("attributes");
        self.leaf(start, "attributes", "int8", Value::Int(attributes.into()), format!("codec {note}"), "");
        self.leave(before);
        if magic == 1 {
            self.number::<8>("timestamp", "milliseconds", i64::from_be_bytes)?;
        }
        self.category = Category::Record;
        self.old_bytes("key", None)?;
        match codec {
            Ok(Codec::None) => self.old_bytes("value", None),
            Ok(codec) => self.old_bytes("value", Some(codec)),
            Err(problem) => self.stop(Id::Content, start, problem.to_string()),
        }
    }

    /// Bytes after an int32 length; with a codec, messages in them.
    fn old_bytes(&mut self, name: &'static str, codec: Option<Codec>) -> Step<()> {
        let start = self.at;
        let (length, note) = self.long_prefix(false, true).inspect_err(|_| self.at = start)?;
        let before = self.enter(name);
        match (length, codec) {
            (None, _) => self.leaf(start, name, "bytes", Value::Null, note, ""),
            // Compressed messages do not hold compressed ones; what claims to is shown as bytes.
            (Some(n), Some(codec)) if n > 0 && !self.inflated => {
                let inside = self.at;
                self.at = start;
                self.open(name, "bytes", "");
                self.at = inside;
                self.prefix_leaf(start, false, n);
                self.region(inside + n, |scan| scan.inflated(codec, Self::batches));
                self.close(Value::Whole(self.slice(inside..inside + n)), note);
            }
            (Some(n), _) => {
                let value = Value::Data(self.advance(n));
                self.leaf(start, name, "bytes", value, note, "");
            }
        }
        self.leave(before);
        Ok(())
    }
}

/// The checksum of the old formats, as in gzip.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    u32::try_from(crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, bytes)).unwrap_or(u32::MAX)
}
