//! The catalog's state: topics, partitions, brokers, settings, features. Immutable behind an `Arc`; a change makes a
//! new image that shares with the old one what did not change. Only `Image::apply` changes anything, live and on load
//! alike.
//!
//! Must not know: how entries are stored, who reads the image.

mod apply;
mod snapshot;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::Uuid;
use crate::config::{BrokerConfigs, BrokerSettings, Configs, GroupSettings, StaticConfigs, TopicSettings};
use crate::entry::Entry;
use crate::features::Features;
use crate::shared_map::SharedMap;

/// Names of the topics that the broker itself uses (`broker-core.md` 4.1).
pub const INTERNAL_TOPICS: [&str; 3] = ["__consumer_offsets", "__share_group_state", "__transaction_state"];

/// What a process brings itself and the journal does not hold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Local {
    pub node_id: i32,
    /// 22 characters, from `meta.properties`.
    pub cluster_id: String,
    /// Epoch with which this process leads partitions: the directory's boot epoch (decision 18).
    pub leader_epoch: i32,
    /// What the file and the command line set: `config::check::load`.
    pub configs: StaticConfigs,
}

/// One topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    pub name: Arc<str>,
    pub id: Uuid,
    /// By index, without gaps.
    pub partitions: Vec<PartitionInfo>,
    /// As it was asked for. Partitions list the brokers that exist, which can be fewer (decision 9).
    pub replication_factor: i16,
    /// Its own values only, in normal form.
    pub configs: Configs,
    pub internal: bool,
}

/// One partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionInfo {
    pub index: i32,
    /// Unique in the cluster and never used again, also by a topic of the same name.
    pub id: i64,
    pub leader: i32,
    pub leader_epoch: i32,
    /// The first one is preferred. All are in sync: a record is durable before anyone sees it.
    pub replicas: Vec<i32>,
}

/// One registered broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    pub id: i32,
    /// Grows with each registration.
    pub epoch: i64,
    pub rack: Option<String>,
    pub endpoints: Vec<Endpoint>,
}

/// Where clients reach a broker, per listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub listener: String,
    pub host: String,
    pub port: u16,
    /// Kafka's number: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    pub security_protocol: i16,
}

impl Topic {
    pub fn partition(&self, index: i32) -> Option<&PartitionInfo> {
        usize::try_from(index).ok().and_then(|index| self.partitions.get(index))
    }
}

impl Broker {
    /// The endpoint of a listener.
    pub fn endpoint(&self, listener: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.listener == listener)
    }
}

#[derive(Debug, Clone, PartialEq)]
struct GroupConfigs {
    configs: Configs,
    settings: GroupSettings,
}

/// What entries changed, so that nobody compares images.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Topics created, deleted, grown or configured, by name.
    pub topics: BTreeSet<Arc<str>>,
    /// Topics that went, with the ids of their partitions.
    pub deleted: Vec<Arc<Topic>>,
    /// Groups whose own settings changed.
    pub groups: BTreeSet<Arc<str>>,
    /// Broker settings changed: those of every topic and group may be others now.
    pub settings: bool,
    pub brokers: bool,
    pub features: bool,
}

/// The state after `version` entries.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    version: i64,
    local: Arc<Local>,
    topics: SharedMap<Arc<str>, Arc<Topic>>,
    topics_by_id: SharedMap<Uuid, Arc<Topic>>,
    brokers: Arc<BTreeMap<i32, Broker>>,
    features: Features,
    /// Dynamic settings by BROKER name: "" for the cluster's defaults.
    dynamic: Arc<BTreeMap<String, Configs>>,
    groups: SharedMap<Arc<str>, Arc<GroupConfigs>>,
    client_metrics: SharedMap<Arc<str>, Arc<Configs>>,
    next_producer_id: i64,
    next_partition_id: i64,
    // Made from the above.
    layers: Arc<BrokerConfigs>,
    broker: Arc<BrokerSettings>,
    topic_defaults: Arc<TopicSettings>,
    group_defaults: Arc<GroupSettings>,
}

impl Default for Image {
    fn default() -> Self {
        Self::new(Local::default())
    }
}

impl Image {
    /// The image before the first entry.
    pub fn new(local: Local) -> Self {
        let layers = BrokerConfigs { fixed: local.configs.clone(), ..BrokerConfigs::default() };
        Self {
            version: 0,
            local: Arc::new(local),
            topics: SharedMap::default(),
            topics_by_id: SharedMap::default(),
            brokers: Arc::default(),
            features: Features::default(),
            dynamic: Arc::default(),
            groups: SharedMap::default(),
            client_metrics: SharedMap::default(),
            next_producer_id: 0,
            next_partition_id: 1,
            broker: Arc::new(BrokerSettings::new(&layers)),
            topic_defaults: Arc::new(TopicSettings::new(&layers, &Configs::new())),
            group_defaults: Arc::new(GroupSettings::new(&layers, &Configs::new())),
            layers: Arc::new(layers),
        }
    }

    /// How many entries of the journal it stands for.
    pub fn version(&self) -> i64 {
        self.version
    }

    pub fn local(&self) -> &Local {
        &self.local
    }

    pub fn node_id(&self) -> i32 {
        self.local.node_id
    }

    pub fn cluster_id(&self) -> &str {
        &self.local.cluster_id
    }

    pub fn topic(&self, name: &str) -> Option<&Topic> {
        self.topics.get(name).map(|topic| &**topic)
    }

    pub fn topic_by_id(&self, id: Uuid) -> Option<&Topic> {
        self.topics_by_id.get(&id).map(|topic| &**topic)
    }

    /// All topics, by name.
    pub fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.topics.values().map(|topic| &**topic)
    }

    pub fn topic_count(&self) -> usize {
        self.topics.len()
    }

    /// Registered brokers, by id.
    pub fn brokers(&self) -> impl Iterator<Item = &Broker> {
        self.brokers.values()
    }

    pub fn broker_by_id(&self, id: i32) -> Option<&Broker> {
        self.brokers.get(&id)
    }

    pub fn features(&self) -> &Features {
        &self.features
    }

    /// This broker's settings, dynamic ones included.
    pub fn broker(&self) -> &BrokerSettings {
        &self.broker
    }

    /// The layers from which `broker` was made.
    pub fn broker_configs(&self) -> &BrokerConfigs {
        &self.layers
    }

    /// Dynamic settings of BROKER "" (the cluster's defaults) or "n".
    pub fn dynamic_configs(&self, broker: &str) -> Option<&Configs> {
        self.dynamic.get(broker)
    }

    pub fn topic_settings(&self, topic: &Topic) -> TopicSettings {
        if topic.configs.is_empty() {
            return TopicSettings::clone(&self.topic_defaults);
        }
        TopicSettings::new(&self.layers, &topic.configs)
    }

    /// Settings of a group, which need not exist. Clamped to the broker's bounds.
    pub fn group_settings(&self, group_id: &str) -> &GroupSettings {
        self.groups.get(group_id).map_or(&*self.group_defaults, |group| &group.settings)
    }

    /// A group's own values.
    pub fn group_configs(&self, group_id: &str) -> Option<&Configs> {
        self.groups.get(group_id).map(|group| &group.configs)
    }

    /// Ids of the groups that have values of their own.
    pub fn configured_groups(&self) -> impl Iterator<Item = &Arc<str>> {
        self.groups.iter().map(|(id, _)| id)
    }

    pub fn client_metrics(&self, name: &str) -> Option<&Configs> {
        self.client_metrics.get(name).map(|configs| &**configs)
    }

    pub fn client_metrics_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.client_metrics.iter().map(|(name, _)| name)
    }

    /// First producer id that was given to nobody.
    pub fn next_producer_id(&self) -> i64 {
        self.next_producer_id
    }

    pub(crate) fn next_partition_id(&self) -> i64 {
        self.next_partition_id
    }

    /// The image after one more entry.
    #[must_use]
    pub fn apply(&self, entry: &Entry) -> Self {
        self.apply_all(std::slice::from_ref(entry)).0
    }

    /// The image after more entries, and what they changed.
    #[must_use]
    pub fn apply_all(&self, entries: &[Entry]) -> (Self, Changes) {
        let (mut image, mut changes) = (self.clone(), Changes::default());
        for entry in entries {
            image.advance(entry, &mut changes);
        }
        (image, changes)
    }
}
