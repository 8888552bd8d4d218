//! An image as entries that make it anew, and as bytes for the journal's snapshot.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::{Image, Local};
use crate::config::Configs;
use crate::entry::{Entry, EntryError, PartitionEntry, Resource, TopicEntry};

impl Image {
    /// Entries that lead from an empty image to this one, but for its version.
    pub fn to_entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        entries.extend(
            self.features
                .levels
                .iter()
                .map(|(name, level)| Entry::Feature { name: name.clone(), level: *level }),
        );
        entries.push(Entry::Counters {
            next_partition_id: self.next_partition_id,
            feature_epoch: self.features.epoch,
        });
        entries.push(Entry::ProducerIds { next: self.next_producer_id });
        entries.extend(self.brokers().cloned().map(Entry::Broker));
        entries.extend(self.topics().map(|topic| {
            let partition =
                |p: &super::PartitionInfo| PartitionEntry { id: p.id, replicas: p.replicas.clone() };
            Entry::Topic(TopicEntry {
                name: topic.name.to_string(),
                id: topic.id,
                replication_factor: topic.replication_factor,
                partitions: topic.partitions.iter().map(partition).collect(),
                configs: topic.configs.clone(),
            })
        }));
        for (name, configs) in &*self.dynamic {
            entries.extend(config_entries(&Resource::Broker(name.clone()), configs));
        }
        for (id, group) in self.groups.iter() {
            entries.extend(config_entries(&Resource::Group(id.to_string()), &group.configs));
        }
        for (name, configs) in self.client_metrics.iter() {
            entries.extend(config_entries(&Resource::ClientMetrics(name.to_string()), configs));
        }
        entries
    }

    /// The bytes of a snapshot at this version.
    pub fn to_snapshot(&self) -> Bytes {
        let mut out = BytesMut::new();
        for entry in self.to_entries() {
            let bytes = entry.encode();
            out.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
            out.put_slice(&bytes);
        }
        out.freeze()
    }

    /// The image of a snapshot.
    ///
    /// # Errors
    /// The snapshot is cut off, or a newer Thalweg wrote it.
    pub fn from_snapshot(local: Local, version: i64, mut snapshot: Bytes) -> Result<Self, EntryError> {
        let mut entries = Vec::new();
        while !snapshot.is_empty() {
            let len = snapshot.try_get_u32().map_err(|_| EntryError::Malformed)? as usize;
            if snapshot.len() < len {
                return Err(EntryError::Malformed);
            }
            entries.push(Entry::decode(&snapshot.split_to(len))?);
        }
        let (mut image, _) = Self::new(local).apply_all(&entries);
        image.version = version;
        Ok(image)
    }
}

fn config_entries(resource: &Resource, configs: &Configs) -> impl Iterator<Item = Entry> {
    configs.iter().map(move |(key, value)| Entry::Config {
        resource: resource.clone(),
        key: key.clone(),
        value: Some(value.clone()),
    })
}
