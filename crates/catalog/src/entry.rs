//! Entries of the metadata journal, to and from bytes.
//!
//! An entry is its kind and the version of its kind, then the fields, then tagged fields. Numbers and lengths are
//! variable in length, as in Kafka's flexible messages. How it grows: a field that old programs may ignore becomes a
//! tagged field; anything else raises the kind's version, which old programs refuse. No kind's number is used twice.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};

use crate::Uuid;
use crate::config::Configs;
use crate::image::{Broker, Endpoint};

/// One change of the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A new topic with its partitions and settings.
    Topic(TopicEntry),
    /// More partitions of a topic, behind those that it has.
    Partitions {
        topic: Uuid,
        partitions: Vec<PartitionEntry>,
    },
    TopicDeleted {
        topic: Uuid,
    },
    /// A dynamic setting; `None` removes it.
    Config {
        resource: Resource,
        key: String,
        value: Option<String>,
    },
    Feature {
        name: String,
        level: i16,
    },
    /// A broker registered, first or anew.
    Broker(Broker),
    BrokerRemoved {
        id: i32,
    },
    /// Producer ids below this are taken.
    ProducerIds {
        next: i64,
    },
    /// Only in snapshots: counters that nothing else there shows.
    Counters {
        next_partition_id: i64,
        feature_epoch: i64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicEntry {
    pub name: String,
    pub id: Uuid,
    /// As it was asked for.
    pub replication_factor: i16,
    pub partitions: Vec<PartitionEntry>,
    pub configs: Configs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionEntry {
    pub id: i64,
    pub replicas: Vec<i32>,
}

/// What has dynamic settings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    Topic(String),
    /// "" for the cluster's defaults, else a node id.
    Broker(String),
    Group(String),
    ClientMetrics(String),
}

/// Why bytes are no entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryError {
    /// Cut off, or not made by Thalweg.
    Malformed,
    /// A kind, or a version of one, that this program does not know.
    Newer { kind: u64, version: u64 },
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("an entry of the metadata journal is damaged"),
            Self::Newer { kind, version } => write!(
                f,
                "the metadata journal was written by a newer Thalweg (entry kind {kind}, version {version})"
            ),
        }
    }
}

impl std::error::Error for EntryError {}

const TOPIC: u64 = 1;
const PARTITIONS: u64 = 2;
const TOPIC_DELETED: u64 = 3;
const CONFIG: u64 = 4;
const FEATURE: u64 = 5;
const BROKER: u64 = 6;
const BROKER_REMOVED: u64 = 7;
const PRODUCER_IDS: u64 = 8;
const COUNTERS: u64 = 9;

impl Entry {
    pub fn encode(&self) -> Bytes {
        let mut out = Out(BytesMut::with_capacity(64));
        match self {
            Self::Topic(topic) => {
                out.head(TOPIC);
                out.text(&topic.name);
                out.0.put_slice(&topic.id.0);
                out.int(i64::from(topic.replication_factor));
                out.partitions(&topic.partitions);
                out.length(topic.configs.len());
                for (key, value) in &topic.configs {
                    out.text(key);
                    out.text(value);
                }
            }
            Self::Partitions { topic, partitions } => {
                out.head(PARTITIONS);
                out.0.put_slice(&topic.0);
                out.partitions(partitions);
            }
            Self::TopicDeleted { topic } => {
                out.head(TOPIC_DELETED);
                out.0.put_slice(&topic.0);
            }
            Self::Config { resource, key, value } => {
                out.head(CONFIG);
                let (code, name) = resource.parts();
                out.unsigned(code);
                out.text(name);
                out.text(key);
                out.optional_text(value.as_deref());
            }
            Self::Feature { name, level } => {
                out.head(FEATURE);
                out.text(name);
                out.int(i64::from(*level));
            }
            Self::Broker(broker) => out.broker(broker),
            Self::BrokerRemoved { id } => {
                out.head(BROKER_REMOVED);
                out.int(i64::from(*id));
            }
            Self::ProducerIds { next } => {
                out.head(PRODUCER_IDS);
                out.int(*next);
            }
            Self::Counters { next_partition_id, feature_epoch } => {
                out.head(COUNTERS);
                out.int(*next_partition_id);
                out.int(*feature_epoch);
            }
        }
        // No tagged fields yet.
        out.unsigned(0);
        out.0.freeze()
    }

    /// # Errors
    /// The bytes are damaged, or a newer Thalweg wrote them.
    pub fn decode(bytes: &[u8]) -> Result<Self, EntryError> {
        let mut input = In(bytes);
        let (kind, version) = (input.unsigned()?, input.unsigned()?);
        if version != 0 || !(TOPIC..=COUNTERS).contains(&kind) {
            return Err(EntryError::Newer { kind, version });
        }
        let entry = match kind {
            TOPIC => Self::Topic(input.topic()?),
            PARTITIONS => Self::Partitions { topic: input.uuid()?, partitions: input.partitions()? },
            TOPIC_DELETED => Self::TopicDeleted { topic: input.uuid()? },
            CONFIG => {
                let (code, name) = (input.unsigned()?, input.text()?);
                let resource = Resource::from_parts(code, name).ok_or(EntryError::Newer { kind, version })?;
                Self::Config { resource, key: input.text()?, value: input.optional_text()? }
            }
            FEATURE => Self::Feature { name: input.text()?, level: input.int()? },
            BROKER => Self::Broker(input.broker()?),
            BROKER_REMOVED => Self::BrokerRemoved { id: input.int()? },
            PRODUCER_IDS => Self::ProducerIds { next: input.int()? },
            _ => Self::Counters { next_partition_id: input.int()?, feature_epoch: input.int()? },
        };
        input.skip_tags()?;
        if input.0.is_empty() { Ok(entry) } else { Err(EntryError::Malformed) }
    }
}

impl Resource {
    /// Kafka's number of the resource type, and the name.
    fn parts(&self) -> (u64, &str) {
        match self {
            Self::Topic(name) => (2, name),
            Self::Broker(name) => (4, name),
            Self::ClientMetrics(name) => (16, name),
            Self::Group(name) => (32, name),
        }
    }

    fn from_parts(code: u64, name: String) -> Option<Self> {
        match code {
            2 => Some(Self::Topic(name)),
            4 => Some(Self::Broker(name)),
            16 => Some(Self::ClientMetrics(name)),
            32 => Some(Self::Group(name)),
            _ => None,
        }
    }
}

struct Out(BytesMut);

impl Out {
    fn head(&mut self, kind: u64) {
        self.unsigned(kind);
        self.unsigned(0);
    }

    fn unsigned(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.put_u8((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.put_u8((value & 0x7f) as u8);
    }

    /// Zigzag.
    fn int(&mut self, value: i64) {
        self.unsigned(((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    fn length(&mut self, length: usize) {
        self.unsigned(length as u64);
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.put_slice(text.as_bytes());
    }

    /// Null is 0, otherwise the length and one, as in Kafka's compact strings.
    fn optional_text(&mut self, text: Option<&str>) {
        match text {
            None => self.unsigned(0),
            Some(text) => {
                self.length(text.len() + 1);
                self.0.put_slice(text.as_bytes());
            }
        }
    }

    fn partitions(&mut self, partitions: &[PartitionEntry]) {
        self.length(partitions.len());
        for partition in partitions {
            self.int(partition.id);
            self.length(partition.replicas.len());
            for replica in &partition.replicas {
                self.int(i64::from(*replica));
            }
        }
    }

    fn broker(&mut self, broker: &Broker) {
        self.head(BROKER);
        self.int(i64::from(broker.id));
        self.int(broker.epoch);
        self.optional_text(broker.rack.as_deref());
        self.length(broker.endpoints.len());
        for endpoint in &broker.endpoints {
            self.text(&endpoint.listener);
            self.text(&endpoint.host);
            self.unsigned(u64::from(endpoint.port));
            self.int(i64::from(endpoint.security_protocol));
        }
    }
}

struct In<'a>(&'a [u8]);

impl In<'_> {
    fn unsigned(&mut self) -> Result<u64, EntryError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(EntryError::Malformed)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(EntryError::Malformed)
    }

    fn int<T: TryFrom<i64>>(&mut self) -> Result<T, EntryError> {
        let raw = self.unsigned()?;
        let value = (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed();
        T::try_from(value).map_err(|_| EntryError::Malformed)
    }

    /// A count of elements, each of at least a byte: more than there are bytes left is wrong.
    fn length(&mut self) -> Result<usize, EntryError> {
        let length = usize::try_from(self.unsigned()?).map_err(|_| EntryError::Malformed)?;
        if length > self.0.len() { Err(EntryError::Malformed) } else { Ok(length) }
    }

    fn take(&mut self, length: usize) -> Result<&[u8], EntryError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(EntryError::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn string(&mut self, length: usize) -> Result<String, EntryError> {
        String::from_utf8(self.take(length)?.to_vec()).map_err(|_| EntryError::Malformed)
    }

    fn text(&mut self) -> Result<String, EntryError> {
        let length = self.length()?;
        self.string(length)
    }

    fn optional_text(&mut self) -> Result<Option<String>, EntryError> {
        match usize::try_from(self.unsigned()?).map_err(|_| EntryError::Malformed)?.checked_sub(1) {
            None => Ok(None),
            Some(length) => self.string(length).map(Some),
        }
    }

    fn uuid(&mut self) -> Result<Uuid, EntryError> {
        let bytes = self.take(16)?.try_into().map_err(|_| EntryError::Malformed)?;
        Ok(Uuid(bytes))
    }

    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, EntryError>,
    ) -> Result<Vec<T>, EntryError> {
        let length = self.length()?;
        (0..length).map(|_| item(self)).collect()
    }

    fn partitions(&mut self) -> Result<Vec<PartitionEntry>, EntryError> {
        self.list(|input| Ok(PartitionEntry { id: input.int()?, replicas: input.list(Self::int)? }))
    }

    fn topic(&mut self) -> Result<TopicEntry, EntryError> {
        Ok(TopicEntry {
            name: self.text()?,
            id: self.uuid()?,
            replication_factor: self.int()?,
            partitions: self.partitions()?,
            configs: self.list(|input| Ok((input.text()?, input.text()?)))?.into_iter().collect(),
        })
    }

    fn broker(&mut self) -> Result<Broker, EntryError> {
        Ok(Broker {
            id: self.int()?,
            epoch: self.int()?,
            rack: self.optional_text()?,
            endpoints: self.list(|input| {
                Ok(Endpoint {
                    listener: input.text()?,
                    host: input.text()?,
                    port: u16::try_from(input.unsigned()?).map_err(|_| EntryError::Malformed)?,
                    security_protocol: input.int()?,
                })
            })?,
        })
    }

    /// Tagged fields of a newer Thalweg that this one may ignore.
    fn skip_tags(&mut self) -> Result<(), EntryError> {
        for _ in 0..self.length()? {
            self.unsigned()?;
            let length = self.length()?;
            self.take(length)?;
        }
        Ok(())
    }
}
