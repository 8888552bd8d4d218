//! The smallest legal instance of a message (wire.md 17): it encodes, and decodes to the same value. A broker need
//! not like it.

use bytes::Bytes;
use wire::batch::BatchHeader;
use wire::table::{Field, Message, Struct, Type};
use wire::{Uuid, Writer};

use crate::frame::{request_header_version, response_header_version};
use crate::node::{Explained, Mode};
use crate::{Api, Options};

/// How an instance is built.
#[derive(Debug, Clone, Copy, Default)]
pub struct Build {
    /// 17.2 instead of 17.1.
    pub minimal: bool,
    /// Every tagged field of the version is written, also with its default.
    pub with_tags: bool,
}

impl Build {
    const fn mode(self) -> Mode {
        if self.minimal { Mode::Minimal } else { Mode::Sample }
    }

    /// The smallest request frame.
    #[must_use]
    pub fn request(self, api: &Api, version: i16) -> Bytes {
        let mut writer = Writer::new();
        writer.i16(api.key);
        writer.i16(version);
        writer.i32(0);
        // The client id is empty, not null; its length is an int16 in every header version.
        writer.i16(0);
        if request_header_version(api, version) == 2 {
            writer.uvarint(0);
        }
        self.message(&mut writer, api.request, version);
        framed(&writer.into_bytes())
    }

    /// The smallest response frame.
    #[must_use]
    pub fn response(self, api: &Api, version: i16) -> Bytes {
        let mut writer = Writer::new();
        writer.i32(0);
        if response_header_version(api, version) == 1 {
            writer.uvarint(0);
        }
        self.message(&mut writer, api.response, version);
        framed(&writer.into_bytes())
    }

    /// The smallest body.
    #[must_use]
    pub fn body(self, message: &'static Message, version: i16) -> Bytes {
        let mut writer = Writer::new();
        self.message(&mut writer, message, version);
        writer.into_bytes()
    }

    /// The smallest request, explained.
    #[must_use]
    pub fn explain_request(self, api: &Api, version: i16, options: &Options) -> Explained {
        crate::frame::request(&self.request(api, version), self.mode(), options)
    }

    /// The smallest response, explained.
    #[must_use]
    pub fn explain_response(self, api: &Api, version: i16, options: &Options) -> Explained {
        crate::frame::response(&self.response(api, version), *api, version, self.mode(), options)
    }

    /// The smallest body, explained.
    #[must_use]
    pub fn explain_body(self, message: &'static Message, version: i16, options: &Options) -> Explained {
        crate::body_in_mode(message, version, &self.body(message, version), self.mode(), options)
    }

    fn message(self, writer: &mut Writer, message: &'static Message, version: i16) {
        let flexible = message.flexible.contains(version);
        let mut builder = Builder { build: self, version, flexible, writer, path: Vec::new() };
        builder.structure(&message.root);
    }
}

fn framed(content: &[u8]) -> Bytes {
    let mut writer = Writer::new();
    writer.i32(i32::try_from(content.len()).unwrap_or(i32::MAX));
    writer.raw(content);
    writer.into_bytes()
}

/// An empty batch: what 17.1.8 gives for records.
fn empty_batch() -> Bytes {
    let mut header = BatchHeader {
        base_offset: 0,
        batch_length: 49,
        partition_leader_epoch: 0,
        crc: 0,
        attributes: wire::batch::Attributes(0),
        last_offset_delta: 0,
        base_timestamp: 0,
        max_timestamp: 0,
        producer_id: 0,
        producer_epoch: 0,
        base_sequence: 0,
        record_count: 0,
    };
    header.crc = header.checksum(&[]);
    Bytes::copy_from_slice(&header.encode())
}

struct Builder<'a> {
    build: Build,
    version: i16,
    flexible: bool,
    writer: &'a mut Writer,
    /// Structs around the one that is written: the recursion guard of 17.1.9.
    path: Vec<&'static str>,
}

impl Builder<'_> {
    fn structure(&mut self, it: &'static Struct) {
        self.path.push(it.name);
        let version = self.version;
        for field in it.fields.iter().filter(|field| field.is_plain(version)) {
            self.field(field, false);
        }
        if self.flexible {
            self.tags(it);
        }
        self.path.pop();
    }

    fn tags(&mut self, it: &'static Struct) {
        let mut tags: Vec<(u32, &'static Field)> = Vec::new();
        if self.build.with_tags {
            let tagged = it.fields.iter().filter(|field| field.is_tagged(self.version));
            tags.extend(tagged.filter_map(|field| Some((field.tag?.number, field))));
            tags.sort_by_key(|it| it.0);
        }
        self.writer.uvarint(tags.len());
        for (tag, field) in tags {
            let outer = std::mem::take(self.writer);
            self.field(field, true);
            let value = std::mem::replace(self.writer, outer).into_bytes();
            self.writer.uvarint(usize::try_from(tag).unwrap_or(usize::MAX));
            self.writer.uvarint(value.len());
            self.writer.raw(&value);
        }
    }

    fn field(&mut self, field: &'static Field, tagged: bool) {
        let flex = self.flexible && field.flexible;
        let nullable = field.nullable.contains(self.version);
        let recursive = matches!(field.ty, Type::Struct(it) if self.path.contains(&it.name));
        let null = nullable && (self.build.minimal || (recursive && !field.array));
        match (field.array, field.ty) {
            (true, _) if null => self.writer.null_long(flex),
            (true, _) if self.build.minimal || recursive => self.writer.count(0, flex),
            (true, _) => {
                self.writer.count(1, flex);
                self.one(field, flex);
            }
            (false, Type::Struct(_)) if null => self.writer.null_struct(tagged),
            (false, Type::Struct(it)) => {
                if nullable {
                    self.writer.present(tagged);
                }
                self.structure(it);
            }
            (false, Type::String) if null => self.writer.null_short(flex),
            (false, Type::Bytes | Type::Records) if null => self.writer.null_long(flex),
            (false, _) => self.one(field, flex),
        }
    }

    /// A value or an element.
    fn one(&mut self, field: &'static Field, flex: bool) {
        match field.ty {
            Type::Struct(it) => self.structure(it),
            Type::Bool => self.writer.bool(false),
            Type::Int8 => self.writer.i8(0),
            Type::Int16 => self.writer.i16(0),
            Type::Uint16 => self.writer.u16(0),
            Type::Int32 => self.writer.i32(0),
            Type::Uint32 => self.writer.u32(0),
            Type::Int64 => self.writer.i64(0),
            Type::Float64 => self.writer.f64(0.0),
            Type::Uuid => self.writer.uuid(Uuid::ZERO),
            Type::String => self.writer.str(&wire::Str::from(""), flex),
            Type::Bytes => self.writer.bytes(&Bytes::new(), flex),
            Type::Records if self.build.minimal => self.writer.bytes(&Bytes::new(), flex),
            Type::Records => self.writer.bytes(&empty_batch(), flex),
        }
    }
}
