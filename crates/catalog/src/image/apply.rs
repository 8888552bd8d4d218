//! The only code that changes an image: one arm per kind of entry. It decides nothing. An entry that names what is not
//! there changes nothing: that would be a bug of the deciding code, and to stop would not repair it.

use std::sync::Arc;

use super::{Changes, GroupConfigs, INTERNAL_TOPICS, Image, PartitionInfo, Topic};
use crate::Uuid;
use crate::config::{BrokerConfigs, BrokerSettings, Configs, GroupSettings, TopicSettings};
use crate::entry::{Entry, PartitionEntry, Resource, TopicEntry};

impl Image {
    pub(super) fn advance(&mut self, entry: &Entry, changes: &mut Changes) {
        self.version += 1;
        match entry {
            Entry::Topic(topic) => self.add_topic(topic, changes),
            Entry::Partitions { topic, partitions } => self.grow_topic(*topic, partitions, changes),
            Entry::TopicDeleted { topic } => self.remove_topic(*topic, changes),
            Entry::Config { resource, key, value } => {
                self.set_config(resource, key, value.as_deref(), changes)
            }
            Entry::Feature { name, level } => {
                self.features.set(name, *level);
                changes.features = true;
            }
            Entry::Broker(broker) => {
                Arc::make_mut(&mut self.brokers).insert(broker.id, broker.clone());
                changes.brokers = true;
            }
            Entry::BrokerRemoved { id } => {
                Arc::make_mut(&mut self.brokers).remove(id);
                changes.brokers = true;
            }
            Entry::ProducerIds { next } => self.next_producer_id = self.next_producer_id.max(*next),
            Entry::Counters { next_partition_id, feature_epoch } => {
                self.next_partition_id = self.next_partition_id.max(*next_partition_id);
                self.features.epoch = self.features.epoch.max(*feature_epoch);
            }
        }
    }

    fn add_topic(&mut self, new: &TopicEntry, changes: &mut Changes) {
        let mut topic = Topic {
            name: Arc::from(new.name.as_str()),
            id: new.id,
            partitions: Vec::with_capacity(new.partitions.len()),
            replication_factor: new.replication_factor,
            configs: new.configs.clone(),
            internal: INTERNAL_TOPICS.contains(&new.name.as_str()),
        };
        self.add_partitions(&mut topic, &new.partitions);
        self.put(topic, changes);
    }

    fn grow_topic(&mut self, id: Uuid, partitions: &[PartitionEntry], changes: &mut Changes) {
        let Some(topic) = self.topics_by_id.get(&id) else { return };
        let mut topic = Topic::clone(topic);
        self.add_partitions(&mut topic, partitions);
        self.put(topic, changes);
    }

    fn add_partitions(&mut self, topic: &mut Topic, partitions: &[PartitionEntry]) {
        for (index, new) in (topic.partitions.len()..).zip(partitions) {
            topic.partitions.push(PartitionInfo {
                index: i32::try_from(index).unwrap_or(i32::MAX),
                id: new.id,
                leader: new.replicas.first().copied().unwrap_or(-1),
                leader_epoch: self.local.leader_epoch,
                replicas: new.replicas.clone(),
            });
            self.next_partition_id = self.next_partition_id.max(new.id + 1);
        }
    }

    fn remove_topic(&mut self, id: Uuid, changes: &mut Changes) {
        let Some(topic) = self.topics_by_id.remove(&id) else { return };
        self.topics.remove(&topic.name);
        changes.topics.insert(Arc::clone(&topic.name));
        changes.deleted.push(topic);
    }

    fn put(&mut self, topic: Topic, changes: &mut Changes) {
        changes.topics.insert(Arc::clone(&topic.name));
        let topic = Arc::new(topic);
        self.topics_by_id.insert(topic.id, Arc::clone(&topic));
        self.topics.insert(Arc::clone(&topic.name), topic);
    }

    fn set_config(&mut self, resource: &Resource, key: &str, value: Option<&str>, changes: &mut Changes) {
        match resource {
            Resource::Topic(name) => {
                let Some(topic) = self.topics.get(name.as_str()) else { return };
                let mut topic = Topic::clone(topic);
                set(&mut topic.configs, key, value);
                self.put(topic, changes);
            }
            Resource::Broker(name) => {
                let dynamic = Arc::make_mut(&mut self.dynamic);
                let configs = dynamic.entry(name.clone()).or_default();
                set(configs, key, value);
                if configs.is_empty() {
                    dynamic.remove(name);
                }
                self.derive_settings();
                changes.settings = true;
            }
            Resource::Group(id) => {
                let mut configs = self.group_configs(id).cloned().unwrap_or_default();
                set(&mut configs, key, value);
                let id: Arc<str> = Arc::from(id.as_str());
                if configs.is_empty() {
                    self.groups.remove(&*id);
                } else {
                    let settings = GroupSettings::new(&self.layers, &configs);
                    self.groups.insert(Arc::clone(&id), Arc::new(GroupConfigs { configs, settings }));
                }
                changes.groups.insert(id);
            }
            Resource::ClientMetrics(name) => {
                let mut configs = self.client_metrics(name).cloned().unwrap_or_default();
                set(&mut configs, key, value);
                if configs.is_empty() {
                    self.client_metrics.remove(name.as_str());
                } else {
                    self.client_metrics.insert(Arc::from(name.as_str()), Arc::new(configs));
                }
            }
        }
    }

    /// Makes the typed settings anew after a change of the layers.
    fn derive_settings(&mut self) {
        let of = |name: &str| self.dynamic.get(name).cloned().unwrap_or_default();
        let layers = BrokerConfigs {
            fixed: self.local.configs.clone(),
            cluster: of(""),
            own: of(&self.node_id().to_string()),
        };
        self.broker = Arc::new(BrokerSettings::new(&layers));
        self.topic_defaults = Arc::new(TopicSettings::new(&layers, &Configs::new()));
        self.group_defaults = Arc::new(GroupSettings::new(&layers, &Configs::new()));
        let renew = |group: &GroupConfigs| GroupConfigs {
            configs: group.configs.clone(),
            settings: GroupSettings::new(&layers, &group.configs),
        };
        self.groups =
            self.groups.iter().map(|(id, group)| (Arc::clone(id), Arc::new(renew(group)))).collect();
        self.layers = Arc::new(layers);
    }
}

fn set(configs: &mut Configs, key: &str, value: Option<&str>) {
    match value {
        Some(value) => configs.insert(key.to_owned(), value.to_owned()),
        None => configs.remove(key),
    };
}
