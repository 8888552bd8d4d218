//! DeleteTopics (`broker-core.md` 5.2; authorization is the handler's).
//!
//! 0. `delete.topic.enable`              else TOPIC_DELETION_DISABLED for the whole request
//! 1. either a name or an id             else INVALID_REQUEST (`TopicRef::new`)
//! 2. topic once in the request          else INVALID_REQUEST
//! 3. exists                             else UNKNOWN_TOPIC_OR_PARTITION by name, UNKNOWN_TOPIC_ID by id

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Command, Decision, Entropy, Refusal, check_size};
use crate::entry::Entry;
use crate::{ErrorCode, Image, Topic, Uuid};

/// Topics to delete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeleteTopics {
    pub topics: Vec<TopicRef>,
}

/// How a request names a topic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopicRef {
    Name(String),
    Id(Uuid),
}

impl TopicRef {
    /// What DeleteTopics v6 says, where both fields can be set.
    ///
    /// # Errors
    /// Both are set, or neither.
    pub fn new(name: Option<&str>, id: Uuid) -> Result<Self, Refusal> {
        match (name, id == Uuid::ZERO) {
            (Some(name), true) => Ok(Self::Name(name.to_owned())),
            (None, false) => Ok(Self::Id(id)),
            (Some(_), false) => {
                Err(Refusal::invalid_request("You may not specify both topic name and topic id"))
            }
            (None, true) => Err(Refusal::invalid_request("Neither topic name nor id were specified")),
        }
    }

    /// The topic, or the error with which requests that name no known topic are answered.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID.
    pub fn find<'a>(&self, image: &'a Image) -> Result<&'a Topic, Refusal> {
        match self {
            Self::Name(name) => image.topic(name).ok_or_else(|| {
                Refusal::new(
                    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                    "This server does not host this topic-partition.",
                )
            }),
            Self::Id(id) => image.topic_by_id(*id).ok_or_else(|| {
                Refusal::new(ErrorCode::UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
            }),
        }
    }
}

/// A topic that went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedTopic {
    pub name: Arc<str>,
    pub id: Uuid,
}

impl Command for DeleteTopics {
    /// One result per topic, in the order of first sight.
    type Reply = Vec<(TopicRef, Result<DeletedTopic, Refusal>)>;

    fn decide(&self, image: &Image, _entropy: Entropy<'_>) -> Result<Decision<Self::Reply>, Refusal> {
        if !image.broker().delete_topic_enable {
            return Err(Refusal::new(ErrorCode::TOPIC_DELETION_DISABLED, "Topic deletion is disabled"));
        }
        // A topic counts by what it is, so that its name and its id are the same; unknown ones by how they are named.
        let key = |topic: &TopicRef| {
            topic.find(image).map_or_else(|_| topic.clone(), |topic| TopicRef::Id(topic.id))
        };
        let mut times: BTreeMap<TopicRef, usize> = BTreeMap::new();
        for topic in &self.topics {
            *times.entry(key(topic)).or_default() += 1;
        }
        check_size(times.len())?;
        let (mut entries, mut reply) = (Vec::new(), Vec::new());
        for topic in &self.topics {
            // Each topic is answered once, where it stands first.
            let Some(count) = times.remove(&key(topic)) else { continue };
            let result = if count > 1 {
                Err(Refusal::invalid_request("The topic stands more than once in the request"))
            } else {
                topic.find(image).map(|topic| DeletedTopic { name: Arc::clone(&topic.name), id: topic.id })
            };
            entries.extend(result.iter().map(|deleted| Entry::TopicDeleted { topic: deleted.id }));
            reply.push((topic.clone(), result));
        }
        Ok(Decision { entries, reply })
    }
}
