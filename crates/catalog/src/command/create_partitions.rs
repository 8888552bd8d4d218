//! CreatePartitions (`broker-core.md` 5.3; authorization is the handler's).
//!
//! 1. topic once in the request          else INVALID_REQUEST
//! 2. exists                             else UNKNOWN_TOPIC_OR_PARTITION
//! 3. the new total is above the present else INVALID_PARTITIONS
//! 4. assignments fit                    else INVALID_REPLICA_ASSIGNMENT
//! 5. the topic, and all together, get not too many   else POLICY_VIOLATION

use std::collections::BTreeSet;

use super::create_topics::{check_replicas, duplicates};
use super::{Command, Decision, Entropy, Refusal, check_size};
use crate::entry::{Entry, PartitionEntry};
use crate::{ErrorCode, Image, Topic, placement};

/// Topics to grow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CreatePartitions {
    pub topics: Vec<NewPartitions>,
    /// Only check.
    pub validate_only: bool,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPartitions {
    pub name: String,
    /// The total afterwards, not what is added.
    pub count: i32,
    /// Brokers of each new partition. `None`: they are chosen.
    pub assignments: Option<Vec<Vec<i32>>>,
}

impl Command for CreatePartitions {
    /// One result per name, in the order of first sight.
    type Reply = Vec<(String, Result<(), Refusal>)>;

    fn decide(&self, image: &Image, _entropy: Entropy<'_>) -> Result<Decision<Self::Reply>, Refusal> {
        let twice = duplicates(self.topics.iter().map(|topic| topic.name.as_str()));
        let mut next_id = image.next_partition_id();
        let (mut entries, mut reply, mut done) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut records = 0;
        for topic in &self.topics {
            if !done.insert(topic.name.as_str()) {
                continue;
            }
            let planned = if twice.contains(topic.name.as_str()) {
                Err(Refusal::invalid_request("The topic stands more than once in the request"))
            } else {
                plan(image, topic)
            };
            if let Err(refusal) = &planned
                && refusal.code == ErrorCode::POLICY_VIOLATION
            {
                return Err(refusal.clone());
            }
            reply.push((topic.name.clone(), planned.as_ref().map(|_| ()).map_err(Clone::clone)));
            let Ok((existing, replicas)) = planned else { continue };
            records += replicas.len();
            let partitions: Vec<PartitionEntry> =
                (next_id..).zip(replicas).map(|(id, replicas)| PartitionEntry { id, replicas }).collect();
            next_id = partitions.last().map_or(next_id, |last| last.id + 1);
            entries.push(Entry::Partitions { topic: existing.id, partitions });
        }
        check_size(records)?;
        if self.validate_only {
            entries.clear();
        }
        Ok(Decision { entries, reply })
    }
}

/// The topic, and one list of brokers per new partition.
fn plan<'a>(image: &'a Image, wish: &NewPartitions) -> Result<(&'a Topic, Vec<Vec<i32>>), Refusal> {
    let Some(topic) = image.topic(&wish.name) else {
        return Err(Refusal::new(
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            "This server does not host this topic",
        ));
    };
    let present = topic.partitions.len();
    let count = usize::try_from(wish.count).unwrap_or(0);
    if count <= present {
        let message = if count == present {
            format!("Topic already has {present} partition(s)")
        } else {
            format!(
                "The topic {} currently has {present} partition(s); {} would not be an increase",
                wish.name, wish.count
            )
        };
        return Err(Refusal::new(ErrorCode::INVALID_PARTITIONS, message));
    }
    let added = count - present;
    check_size(added)?;
    let mut brokers: Vec<i32> = image.brokers().map(|broker| broker.id).collect();
    if brokers.is_empty() {
        brokers.push(image.node_id());
    }
    let Some(assignments) = &wish.assignments else {
        return Ok((topic, placement::place(&brokers, present, added, topic.replication_factor)));
    };
    if assignments.len() != added {
        let message =
            format!("{added} partition(s) are added, but {} assignment(s) are given", assignments.len());
        return Err(Refusal::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
    }
    let factor = topic.partitions.first().map_or(0, |partition| partition.replicas.len());
    for replicas in assignments {
        check_replicas(replicas, factor, &brokers)?;
    }
    Ok((topic, assignments.clone()))
}
