//! CreateTopics, also for topics that the broker creates itself. Checks per topic, in order (`broker-core.md` 5.1;
//! authorization is the handler's, between 2 and 4):
//!
//! 1. name once in the request               else INVALID_REQUEST
//! 2. name is not `__cluster_metadata`       else INVALID_REQUEST
//! 4. name legal, no collision               else INVALID_TOPIC_EXCEPTION
//! 5. does not exist                         else TOPIC_ALREADY_EXISTS
//! 6. settings known, valid, consistent      else INVALID_CONFIG
//! 7. assignments without counts             else INVALID_REQUEST
//! 8. assignments complete and consistent    else INVALID_REPLICA_ASSIGNMENT
//! 9. replication factor above 0, or -1      else INVALID_REPLICATION_FACTOR
//! 10. partitions above 0, or -1             else INVALID_PARTITIONS
//! 11. enough brokers (policy `strict`)      else INVALID_REPLICATION_FACTOR
//! 12. the topic, and all together, are not too large   else POLICY_VIOLATION

use std::collections::{BTreeMap, BTreeSet};

use wire::create_topics::request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig};

use super::{Command, Decision, Entropy, Refusal, check_size};
use crate::config::describe::{self, ConfigEntry};
use crate::config::{ReplicationFactorPolicy, SEGMENT_BYTES_MIN};
use crate::entry::{Entry, PartitionEntry, TopicEntry};
use crate::validate::topic_configs;
use crate::{ErrorCode, Image, Uuid, placement, topic_name};

/// Begins the names of folders that are no topics, as the journal's.
const RESERVED_PREFIX: &str = "__thalweg_";

/// Topics to create.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CreateTopics {
    pub topics: Vec<NewTopic>,
    /// Only check.
    pub validate_only: bool,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTopic {
    pub name: String,
    /// -1: `num.partitions`.
    pub num_partitions: i32,
    /// -1: `default.replication.factor`.
    pub replication_factor: i16,
    /// Partition index and its brokers. Empty: they are chosen.
    pub assignments: Vec<(i32, Vec<i32>)>,
    pub configs: Vec<(String, Option<String>)>,
}

impl NewTopic {
    /// A topic as the broker's settings make it.
    pub fn with_defaults(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            num_partitions: -1,
            replication_factor: -1,
            assignments: vec![],
            configs: vec![],
        }
    }
}

/// A topic that was created, or would be.
#[derive(Debug, Clone, PartialEq)]
pub struct CreatedTopic {
    /// With `validate_only` an id that is thrown away.
    pub id: Uuid,
    pub num_partitions: i32,
    pub replication_factor: i16,
    /// All settings of the topic, by name.
    pub configs: Vec<ConfigEntry>,
}

/// Names that stand more than once in a request.
pub fn duplicates<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|name| !seen.insert(*name)).collect()
}

/// How the broker creates one of its own topics; `None` for other names. The replication factor is clamped to the
/// number of brokers: its default is 3 (`broker-core.md` 20.2, trap). So is the size of segments to the least that a
/// topic may have: its settings allow any, and with a smaller one the topic would never be created.
pub fn internal_topic(image: &Image, name: &str) -> Option<NewTopic> {
    let broker = image.broker();
    let (partitions, factor, segment_bytes) = match name {
        "__consumer_offsets" => (
            broker.offsets_topic_num_partitions,
            broker.offsets_topic_replication_factor,
            broker.offsets_topic_segment_bytes,
        ),
        "__transaction_state" => (
            broker.transaction_state_log_num_partitions,
            broker.transaction_state_log_replication_factor,
            broker.transaction_state_log_segment_bytes,
        ),
        "__share_group_state" => (
            broker.share_coordinator_state_topic_num_partitions,
            broker.share_coordinator_state_topic_replication_factor,
            broker.share_coordinator_state_topic_segment_bytes,
        ),
        _ => return None,
    };
    let brokers = i16::try_from(image.brokers().count()).unwrap_or(i16::MAX).max(1);
    let segment_bytes = i64::from(segment_bytes).max(SEGMENT_BYTES_MIN).to_string();
    let mut configs = vec![("cleanup.policy", "compact".to_owned()), ("segment.bytes", segment_bytes)];
    match name {
        "__consumer_offsets" => configs.push(("compression.type", "producer".to_owned())),
        "__transaction_state" => {
            configs.push(("compression.type", "uncompressed".to_owned()));
            configs.push(("unclean.leader.election.enable", "false".to_owned()));
            let min_isr = broker.transaction_state_log_min_isr.min(i32::from(factor.min(brokers)));
            configs.push(("min.insync.replicas", min_isr.to_string()));
        }
        _ => {
            configs.push(("compression.type", "producer".to_owned()));
            let min_isr = broker.share_coordinator_state_topic_min_isr.min(factor.min(brokers));
            configs.push(("min.insync.replicas", min_isr.to_string()));
            configs.push(("retention.ms", "-1".to_owned()));
        }
    }
    Some(NewTopic {
        name: name.to_owned(),
        num_partitions: partitions,
        replication_factor: factor.min(brokers),
        assignments: vec![],
        configs: configs.into_iter().map(|(key, value)| (key.to_owned(), Some(value))).collect(),
    })
}

impl Command for CreateTopics {
    /// One result per name, in the order of first sight.
    type Reply = Vec<(String, Result<CreatedTopic, Refusal>)>;

    fn decide(&self, image: &Image, entropy: Entropy<'_>) -> Result<Decision<Self::Reply>, Refusal> {
        let twice = duplicates(self.topics.iter().map(|topic| topic.name.as_str()));
        let mut planner = Planner::new(image);
        let (mut entries, mut reply, mut done) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut records = 0;
        for topic in &self.topics {
            if !done.insert(topic.name.as_str()) {
                continue;
            }
            let planned = if twice.contains(topic.name.as_str()) {
                Err(Refusal::invalid_request("The topic stands more than once in the request"))
            } else {
                planner.plan(topic, entropy)
            };
            match &planned {
                Ok(entry) => records += 1 + entry.partitions.len() + entry.configs.len(),
                Err(refusal) if refusal.code == ErrorCode::POLICY_VIOLATION => return Err(refusal.clone()),
                Err(_) => {}
            }
            reply.push((
                topic.name.clone(),
                planned.as_ref().map(|entry| created(image, entry)).map_err(Clone::clone),
            ));
            entries.extend(planned.ok().map(Entry::Topic));
        }
        check_size(records)?;
        if self.validate_only {
            entries.clear();
        }
        Ok(Decision { entries, reply })
    }
}

fn created(image: &Image, entry: &TopicEntry) -> CreatedTopic {
    CreatedTopic {
        id: entry.id,
        num_partitions: i32::try_from(entry.partitions.len()).unwrap_or(i32::MAX),
        replication_factor: entry.replication_factor,
        configs: describe::created_topic(image, &entry.configs),
    }
}

/// Turns wishes into entries, and keeps what earlier topics of the request took.
struct Planner<'a> {
    image: &'a Image,
    brokers: Vec<i32>,
    next_partition_id: i64,
    /// Existing topics by collision key. Made when it is first needed.
    collisions: Option<BTreeMap<String, &'a str>>,
}

impl<'a> Planner<'a> {
    fn new(image: &'a Image) -> Self {
        let mut brokers: Vec<i32> = image.brokers().map(|broker| broker.id).collect();
        if brokers.is_empty() {
            // Before the first registration there is this broker only.
            brokers.push(image.node_id());
        }
        Self { image, brokers, next_partition_id: image.next_partition_id(), collisions: None }
    }

    fn plan(&mut self, topic: &NewTopic, entropy: Entropy<'_>) -> Result<TopicEntry, Refusal> {
        self.check_name(&topic.name)?;
        let configs = topic_configs(self.image, &topic.configs)?;
        let (replication_factor, replicas) = self.replicas(topic)?;
        let mut partitions = Vec::with_capacity(replicas.len());
        for replicas in replicas {
            partitions.push(PartitionEntry { id: self.next_partition_id, replicas });
            self.next_partition_id += 1;
        }
        Ok(TopicEntry {
            name: topic.name.clone(),
            id: self.topic_id(entropy),
            replication_factor,
            partitions,
            configs,
        })
    }

    fn check_name(&mut self, name: &str) -> Result<(), Refusal> {
        if name == "__cluster_metadata" {
            return Err(Refusal::invalid_request(format!("Creation of internal topic {name} is prohibited")));
        }
        // Its folder would be the journal's.
        if name.starts_with(RESERVED_PREFIX) {
            let message = format!("topic names that begin with {RESERVED_PREFIX} are the broker's own");
            return Err(Refusal::new(ErrorCode::INVALID_TOPIC_EXCEPTION, message));
        }
        topic_name::check(name).map_err(|why| Refusal::new(ErrorCode::INVALID_TOPIC_EXCEPTION, why))?;
        if self.image.topic(name).is_some() {
            let message = format!("Topic '{name}' already exists");
            return Err(Refusal::new(ErrorCode::TOPIC_ALREADY_EXISTS, message));
        }
        // K-3: only existing topics count; two colliding new names in one request are both created.
        if name.contains(['.', '_'])
            && let Some(other) = self.collisions().get(&topic_name::collision_key(name))
        {
            let message = format!("Topic '{name}' collides with the existing topic '{other}'");
            return Err(Refusal::new(ErrorCode::INVALID_TOPIC_EXCEPTION, message));
        }
        Ok(())
    }

    fn collisions(&mut self) -> &BTreeMap<String, &'a str> {
        let image = self.image;
        self.collisions.get_or_insert_with(|| {
            let with_sign = image.topics().filter(|topic| topic.name.contains(['.', '_']));
            with_sign.map(|topic| (topic_name::collision_key(&topic.name), &*topic.name)).collect()
        })
    }

    /// The factor to report, and one list of brokers per partition.
    fn replicas(&self, topic: &NewTopic) -> Result<(i16, Vec<Vec<i32>>), Refusal> {
        let wanted = topic.replication_factor;
        if !topic.assignments.is_empty() {
            if wanted != -1 || topic.num_partitions != -1 {
                let message = "Partition count and replication factor must be -1 when assignments are given";
                return Err(Refusal::invalid_request(message));
            }
            let replicas = assigned(&topic.assignments, &self.brokers)?;
            let factor = replicas.first().map_or(0, Vec::len);
            return Ok((i16::try_from(factor).unwrap_or(i16::MAX), replicas));
        }
        if wanted < -1 || wanted == 0 {
            let message = "Replication factor must be larger than 0, or -1 to use the default value";
            return Err(Refusal::new(ErrorCode::INVALID_REPLICATION_FACTOR, message));
        }
        if topic.num_partitions < -1 || topic.num_partitions == 0 {
            let message = "Number of partitions must be larger than 0, or -1 to use the default value";
            return Err(Refusal::new(ErrorCode::INVALID_PARTITIONS, message));
        }
        let broker = self.image.broker();
        let default = i16::try_from(broker.default_replication_factor).unwrap_or(i16::MAX);
        let factor = if wanted == -1 { default } else { wanted };
        let count = if topic.num_partitions == -1 { broker.num_partitions } else { topic.num_partitions };
        self.check_factor(factor)?;
        let count = usize::try_from(count).unwrap_or(0);
        // Refused before the lists are made, and with it the whole request.
        check_size(count)?;
        Ok((factor, placement::place(&self.brokers, 0, count, factor)))
    }

    fn check_factor(&self, factor: i16) -> Result<(), Refusal> {
        let strict = self.image.broker().thalweg_replication_factor_policy == ReplicationFactorPolicy::Strict;
        if factor < 1 || (strict && usize::try_from(factor).unwrap_or(0) > self.brokers.len()) {
            let message = format!(
                "Unable to replicate the partition {factor} time(s): only {} broker(s) are registered",
                self.brokers.len()
            );
            return Err(Refusal::new(ErrorCode::INVALID_REPLICATION_FACTOR, message));
        }
        Ok(())
    }

    /// A random id: version 4, and never beginning with `-` as text, which command lines take for an option.
    fn topic_id(&self, entropy: Entropy<'_>) -> Uuid {
        loop {
            let mut bytes = entropy();
            bytes[6] = (bytes[6] & 0x0f) | 0x40;
            bytes[8] = (bytes[8] & 0x3f) | 0x80;
            // The first character shows the upper 6 bits; `-` is 62.
            let id = Uuid(bytes);
            if bytes[0] >> 2 != 62 && self.image.topic_by_id(id).is_none() {
                return id;
            }
        }
    }
}

/// The lists of brokers by partition, if they fit together (check 8).
fn assigned(assignments: &[(i32, Vec<i32>)], brokers: &[i32]) -> Result<Vec<Vec<i32>>, Refusal> {
    let wrong = |message: String| Err(Refusal::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
    let by_index: BTreeMap<i32, &Vec<i32>> =
        assignments.iter().map(|(index, replicas)| (*index, replicas)).collect();
    if by_index.len() != assignments.len() {
        return wrong("Found multiple manual partition assignments for one partition".to_owned());
    }
    let factor = assignments.first().map_or(0, |(_, replicas)| replicas.len());
    for ((index, replicas), expected) in by_index.iter().zip(0..) {
        if *index != expected {
            return wrong("Partitions must be a consecutive 0-based integer sequence".to_owned());
        }
        check_replicas(replicas, factor, brokers)?;
    }
    Ok(by_index.into_values().cloned().collect())
}

/// One list of brokers: not empty, known, each once, as long as the others.
pub(super) fn check_replicas(replicas: &[i32], factor: usize, brokers: &[i32]) -> Result<(), Refusal> {
    let wrong = |message: String| Err(Refusal::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
    if replicas.is_empty() {
        return wrong("The manual partition assignment includes an empty replica list".to_owned());
    }
    if let Some(unknown) = replicas.iter().find(|broker| !brokers.contains(broker)) {
        return wrong(format!(
            "The manual partition assignment includes broker {unknown}, which is not registered"
        ));
    }
    if replicas.iter().collect::<BTreeSet<_>>().len() != replicas.len() {
        return wrong(format!("The manual partition assignment {replicas:?} names a broker twice"));
    }
    if replicas.len() != factor {
        let count = replicas.len();
        return wrong(format!(
            "The manual partition assignment has {count} replica(s), others have {factor}"
        ));
    }
    Ok(())
}

impl From<&CreatableTopic> for NewTopic {
    fn from(topic: &CreatableTopic) -> Self {
        let assignment = |it: &CreatableReplicaAssignment| (it.partition_index, it.broker_ids.to_vec());
        let config = |it: &CreatableTopicConfig| {
            (it.name.to_str().into_owned(), it.value.as_ref().map(|value| value.to_str().into_owned()))
        };
        Self {
            name: topic.name.to_str().into_owned(),
            num_partitions: topic.num_partitions,
            replication_factor: topic.replication_factor,
            assignments: topic.assignments.iter().map(assignment).collect(),
            configs: topic.configs.iter().map(config).collect(),
        }
    }
}
