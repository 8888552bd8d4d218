//! Content inside of bytes fields (wire.md 18.4): consumer protocol, principals, enveloped requests, records of
//! internal topics, control records.

use std::collections::BTreeMap;

use bytes::Bytes;
use wire::table::{self, Field, Message};
use wire::{Uuid, enums};

use crate::node::{Id, Value};
use crate::scan::{Scan, Step};

/// Messages inside of each other: an envelope may hold an envelope.
const DEPTH_MAX: usize = 8;

/// Topics whose records have a schema, by the name that clients know.
const INTERNAL: &[&str] = &["__consumer_offsets", "__transaction_state", "__share_group_state"];

/// Assignors whose names tell the consumer protocol where its type is not said.
const ASSIGNORS: &[&[u8]] =
    &[b"range", b"roundrobin", b"sticky", b"cooperative-sticky", b"stream", b"streams"];

/// What earlier fields said that later bytes need.
#[derive(Debug, Default)]
pub(crate) struct Context {
    topic: Option<String>,
    fallback: Option<String>,
    protocol: Protocol,
    name: Bytes,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    #[default]
    Unknown,
    Consumer,
    Other,
}

/// What bytes may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Subscription,
    Assignment,
    Request,
    Principal,
}

impl Context {
    pub(crate) fn new(topic: Option<String>) -> Self {
        Self { topic: topic.clone(), fallback: topic, ..Self::default() }
    }

    /// The value of the last field called `Name`.
    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }

    /// The topic of the records that are read, if it is an internal one.
    pub(crate) fn internal_topic(&self) -> Option<&'static str> {
        let topic = self.topic.as_deref()?;
        INTERNAL.iter().copied().find(|it| *it == topic || it.strip_prefix("__") == Some(topic))
    }

    /// Notes a value that was read.
    pub(crate) fn saw(&mut self, field: &Field, value: &Value, topics: &BTreeMap<Uuid, String>) {
        match (field.name, value) {
            (_, Value::Text(it)) if field.entity == Some("topicName") => {
                self.topic = Some(String::from_utf8_lossy(it).into_owned());
            }
            ("TopicId", Value::Uuid(id)) if !id.is_zero() => {
                self.topic = topics.get(id).or(self.fallback.as_ref()).cloned();
            }
            ("ProtocolType", Value::Text(it)) => {
                self.protocol = if it == "consumer" { Protocol::Consumer } else { Protocol::Other };
            }
            ("ProtocolName", Value::Text(it)) if self.protocol == Protocol::Unknown => {
                if ASSIGNORS.contains(&it.as_ref()) {
                    self.protocol = Protocol::Consumer;
                }
            }
            ("Name", Value::Text(it)) => self.name = it.clone(),
            (_, _) => {}
        }
    }
}

impl Scan<'_> {
    /// A field of bytes, opened up if its content is known.
    pub(crate) fn bytes_field(&mut self, field: &'static Field, nullable: bool) -> Step<()> {
        let start = self.at;
        let flex = self.flexible && field.flexible;
        let (length, note) = self.long_prefix(flex, nullable).inspect_err(|_| self.at = start)?;
        let Some(length) = length else {
            self.leaf(start, field.name, "bytes", Value::Null, note, field.doc);
            return Ok(());
        };
        let inside = self.at;
        let (content, assumed) = self.content_of(field);
        if let Some(content) = content.filter(|_| length > 0 && self.depth < DEPTH_MAX)
            && (!assumed || self.fits(content, length))
        {
            self.at = start;
            self.open(field.name, "bytes", field.doc);
            self.at = inside;
            self.prefix_leaf(start, flex, length);
            if assumed {
                self.remark(Id::Assumed, inside, "the bytes read well as consumer protocol");
                self.settle();
            }
            let hidden = self.hidden.len();
            self.depth += 1;
            self.region(inside + length, |scan| scan.embedded(content));
            self.depth -= 1;
            let whole = Value::Whole(self.slice(inside..inside + length));
            self.close(if self.hidden.len() > hidden { Value::Hidden(length) } else { whole }, note);
            return Ok(());
        }
        let bytes = self.advance(length);
        let value = match self.message {
            // Metrics of a client in a format of their own: only their size says something.
            Some(it) if it.name == "PushTelemetryRequest" && length > 0 => Value::Whole(bytes),
            Some(_) | None if self.is_secret(field) => self.conceal(Value::Bytes(bytes)),
            Some(_) | None => Value::Bytes(bytes),
        };
        self.leaf(start, field.name, "bytes", value, note, field.doc);
        Ok(())
    }

    /// The length before content that is opened up.
    pub(crate) fn prefix_leaf(&mut self, start: usize, flex: bool, length: usize) {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let before = self.enter("length");
        let (ty, value, note) =
            if flex { ("uvarint", length + 1, "compact, n+1") } else { ("int32", length, "") };
        self.leaf(start, "length", ty, Value::Int(value), note, "");
        self.leave(before);
    }

    /// What a field holds, and whether that is a guess.
    fn content_of(&self, field: &Field) -> (Option<Content>, bool) {
        let Some(message) = self.message else { return (None, false) };
        let content = match (message.name, field.name) {
            ("JoinGroupRequest" | "JoinGroupResponse", "Metadata")
            | ("DescribeGroupsResponse", "MemberMetadata")
            | ("GroupMetadataValue", "Subscription") => Content::Subscription,
            ("SyncGroupRequest" | "SyncGroupResponse" | "GroupMetadataValue", "Assignment")
            | ("DescribeGroupsResponse", "MemberAssignment") => Content::Assignment,
            ("ConsumerGroupMemberMetadataValue", "Metadata") => return (Some(Content::Subscription), false),
            ("EnvelopeRequest", "RequestData") => return (Some(Content::Request), false),
            ("EnvelopeRequest", "RequestPrincipal") => return (Some(Content::Principal), false),
            _ => return (None, false),
        };
        match self.context.protocol {
            Protocol::Consumer => (Some(content), false),
            Protocol::Unknown => (Some(content), true),
            Protocol::Other => (None, false),
        }
    }

    /// Whether bytes read as this content to the last one and without a warning.
    fn fits(&mut self, content: Content, length: usize) -> bool {
        let (at, quiet, troubles) = (self.at, self.quiet, self.troubles);
        self.quiet = true;
        let read = self.region(at + length, |scan| scan.embedded(content));
        let fits = read && self.troubles == troubles;
        (self.at, self.quiet, self.troubles) = (at, quiet, troubles);
        fits
    }

    fn embedded(&mut self, content: Content) -> Step<()> {
        match content {
            Content::Subscription => self.consumer_protocol(&wire::tables::CONSUMER_PROTOCOL_SUBSCRIPTION),
            Content::Assignment => self.consumer_protocol(&wire::tables::CONSUMER_PROTOCOL_ASSIGNMENT),
            Content::Principal => {
                let version = self.prefix("version")?;
                self.versioned(&wire::tables::DEFAULT_PRINCIPAL_DATA, version)
            }
            Content::Request => self.request_parts(),
        }
    }

    /// Versions above the last known one only append fields (wire.md 14).
    fn consumer_protocol(&mut self, table: &'static Message) -> Step<()> {
        let version = self.prefix("version")?;
        if version < 0 {
            return self.stop(Id::Version, self.at - 2, format!("version {version}"));
        }
        self.body(table, version.min(table.versions.high))?;
        if version > table.versions.high && self.at < self.end {
            self.rest("fields of later versions");
        }
        Ok(())
    }

    /// A leading int16.
    fn prefix(&mut self, name: &'static str) -> Step<i16> {
        let start = self.at;
        let value = self.i16()?;
        let before = self.enter(name);
        self.leaf(start, name, "int16", Value::Int(value.into()), "", "");
        self.leave(before);
        Ok(value)
    }

    /// A message whose version was just read.
    fn versioned(&mut self, table: &'static Message, version: i16) -> Step<()> {
        if !table.versions.contains(version) {
            let found = format!("{} has no version {version}; valid: {}", table.name, table.versions);
            return self.stop(Id::Version, self.at - 2, found);
        }
        self.body(table, version)
    }

    // Records of internal topics (wire.md 13).

    /// The key of a record; gives its value's message.
    pub(crate) fn coordinator_key(&mut self, topic: &str) -> Step<Option<&'static Message>> {
        let start = self.at;
        let record_type = self.i16()?;
        let found = self.lookup().record(topic, record_type);
        let name = found.map_or("", |it| it.0.name.strip_suffix("Key").unwrap_or(it.0.name));
        let before = self.enter("record_type");
        self.leaf(start, "record_type", "int16", Value::Int(record_type.into()), name, "type of the record");
        self.leave(before);
        let Some((key, value)) = found else {
            return self.stop(Id::Api, start, format!("record type {record_type} of {topic}"));
        };
        self.body(key, 0)?;
        Ok(Some(value))
    }

    /// The value of a record.
    pub(crate) fn coordinator_value(&mut self, table: &'static Message) -> Step<()> {
        let version = self.prefix("version")?;
        self.versioned(table, version)
    }

    // Control records (wire.md 12.4).

    /// The key of a control record; gives its type.
    pub(crate) fn control_key(&mut self) -> Step<i16> {
        self.prefix("version")?;
        let start = self.at;
        let kind = self.i16()?;
        let before = self.enter("type");
        let name = enums::control_record_type::name(kind).unwrap_or("");
        self.leaf(start, "type", "int16", Value::Int(kind.into()), name, "what the record says");
        self.leave(before);
        if self.at < self.end {
            self.rest("fields of later versions");
        }
        Ok(kind)
    }

    /// The value of a control record. Types beyond the known ones are raw.
    pub(crate) fn control_value(&mut self, kind: i16) -> Step<()> {
        let name = match kind {
            0 | 1 => {
                let version = self.prefix("version")?;
                let table = &wire::tables::END_TXN_MARKER;
                // Readers accept later versions and longer values.
                self.body(table, version.clamp(table.versions.low, table.versions.high))?;
                if version > table.versions.high && self.at < self.end {
                    self.rest("fields of later versions");
                }
                return Ok(());
            }
            2 => "LeaderChangeMessage",
            3 => "SnapshotHeaderRecord",
            4 => "SnapshotFooterRecord",
            5 => "KRaftVersionRecord",
            6 => "VotersRecord",
            _ => {
                self.rest("value");
                return Ok(());
            }
        };
        let Some(table) = table::message(name) else { return Ok(()) };
        // These begin with their own version.
        let version = self.peek(0).map_or(0, i16::from_be_bytes);
        self.body(table, version.clamp(table.versions.low, table.versions.high))
    }
}
