//! Creates the internal topics of streams groups on behalf of their members (`streams-groups.md` H-90 to H-93).
//!
//! A heartbeat does not wait for the creation: it is tried beside it, once at a time for each topic, and a failure is
//! kept for two heartbeat intervals, so that later heartbeats can tell it and do not try at every beat.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Image;
use catalog::command::{CreateTopics, NewTopic};
use coordinator::Millis;
use parking_lot::Mutex;
use tracing::{info, warn};
use wire::ErrorCode;
use wire::create_topics::request::CreatableTopic;

use crate::broker::Broker;

/// Topics whose creation failed or is under way; above that, the failure that ends first is forgotten.
const KNOWN_MAX: usize = 1_000;

/// What is known of topics that are to be created.
#[derive(Debug, Default)]
pub struct InternalTopics {
    attempts: Mutex<BTreeMap<String, Attempt>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Attempt {
    UnderWay,
    Failed { reason: String, until: Millis },
}

impl InternalTopics {
    /// The failures of earlier attempts that still count, as `topic (reason)`.
    pub(crate) fn failures(&self, topics: &[CreatableTopic], now: Millis) -> Vec<String> {
        let attempts = self.attempts.lock();
        let failure = |topic: &CreatableTopic| match attempts.get(&*topic.name.to_str())? {
            Attempt::Failed { reason, until } if *until > now => Some(format!("{} ({reason})", topic.name)),
            Attempt::Failed { .. } | Attempt::UnderWay => None,
        };
        topics.iter().filter_map(failure).collect()
    }

    /// Of the topics those that nobody is creating and whose failure is forgotten; they count as under way from now on.
    fn claim(&self, topics: Vec<CreatableTopic>, now: Millis) -> Vec<CreatableTopic> {
        let mut attempts = self.attempts.lock();
        attempts.retain(|_, attempt| match attempt {
            Attempt::UnderWay => true,
            Attempt::Failed { until, .. } => *until > now,
        });
        let mut claimed = Vec::new();
        for topic in topics {
            let name = topic.name.to_str().into_owned();
            if attempts.len() < KNOWN_MAX && !attempts.contains_key(&name) {
                attempts.insert(name, Attempt::UnderWay);
                claimed.push(topic);
            }
        }
        claimed
    }

    fn settle(&self, name: &str, failure: Option<String>, until: Millis) {
        let mut attempts = self.attempts.lock();
        match failure {
            None => attempts.remove(name),
            Some(reason) => attempts.insert(name.to_owned(), Attempt::Failed { reason, until }),
        };
    }
}

/// Starts the creation of what is not being created already. `patience` is how long a failure is kept.
pub(crate) fn create(broker: &Arc<Broker>, topics: Vec<CreatableTopic>, patience: Millis) {
    let topics = broker.internal_topics.claim(topics, broker.clock.now());
    if topics.is_empty() {
        return;
    }
    let broker = Arc::clone(broker);
    tokio::spawn(async move {
        let names: Vec<String> = topics.iter().map(|topic| topic.name.to_str().into_owned()).collect();
        let new = topics.iter().map(NewTopic::from).collect();
        let command = CreateTopics { topics: new, validate_only: false };
        let result = broker.catalog.submit(command).await;
        let until = broker.clock.now() + patience;
        match result {
            Ok(created) => {
                for (name, outcome) in created {
                    // Another member's heartbeat was first.
                    let refusal = outcome.err().filter(|it| it.code != ErrorCode::TOPIC_ALREADY_EXISTS);
                    let failure =
                        refusal.map(|refusal| format!("{}: {}", refusal.code.name(), refusal.message));
                    match &failure {
                        None => info!(topic = name, "internal topic of a streams group created"),
                        Some(reason) => {
                            warn!(topic = name, reason, "internal topic of a streams group not created")
                        }
                    }
                    broker.internal_topics.settle(&name, failure, until);
                }
            }
            Err(refusal) => {
                for name in names {
                    warn!(
                        topic = name,
                        reason = refusal.message,
                        "internal topic of a streams group not created"
                    );
                    broker.internal_topics.settle(&name, Some(refusal.message.clone()), until);
                }
            }
        }
    });
}

/// How long a failure is kept: two heartbeat intervals of the group (H-91).
pub(crate) fn patience(image: &Image, group_id: &str) -> Millis {
    2 * Millis::from(image.group_settings(group_id).streams.heartbeat_interval_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Str;

    fn topic(name: &'static str) -> CreatableTopic {
        CreatableTopic { name: Str::from_static(name), ..Default::default() }
    }

    /// Streams groups, scenarios 20 and 21.
    #[test]
    fn a_topic_is_tried_once_at_a_time_and_failures_are_kept_for_a_while_h91() {
        let known = InternalTopics::default();
        assert_eq!(known.claim(vec![topic("a"), topic("b")], 0).len(), 2);
        assert_eq!(known.claim(vec![topic("a")], 0), []);
        known.settle("a", Some("why".to_owned()), 100);
        known.settle("b", None, 100);
        assert_eq!(known.failures(&[topic("a"), topic("b")], 50), ["a (why)"]);
        assert_eq!(known.claim(vec![topic("a"), topic("b")], 50), [topic("b")]);
        assert_eq!(known.failures(&[topic("a")], 100), Vec::<String>::new());
        assert_eq!(known.claim(vec![topic("a")], 100), [topic("a")]);
    }
}
