//! The topics and settings of a script, as the image that machines see.

use std::collections::BTreeMap;

use catalog::entry::{PartitionEntry, Resource, TopicEntry};
use catalog::{Entry, Image, Local};
use coordinator::TopicsChange;
use wire::{Str, Uuid};

use crate::args::Parsed;
use crate::ask::numbered;
use crate::world::Ids;

pub(crate) struct Topics {
    image: Image,
    /// Topics made so far; the next one's id is one more.
    made: u8,
}

impl Topics {
    pub(crate) fn new() -> Self {
        // Most scripts are about other things than intervals.
        let fixed = |kind| (format!("thalweg.group.{kind}.adaptive.heartbeat"), "false".to_owned());
        let local = Local { configs: [fixed("streams"), fixed("consumer")].into(), ..Local::default() };
        let mut topics = Self { image: Image::new(local), made: 0 };
        let broker = Resource::Broker(String::new());
        // Else each first heartbeat would ask for one.
        topics.configure(&broker, [("thalweg.streams.topology.descriptions", "false")].into());
        topics
    }

    pub(crate) fn image(&self) -> &Image {
        &self.image
    }

    pub(crate) fn ids(&self) -> Ids {
        self.image.topics().map(|it| (Str::from(&*it.name), it.id)).collect()
    }

    pub(crate) fn names(&self) -> BTreeMap<Uuid, String> {
        self.image.topics().map(|it| (it.id, it.name.to_string())).collect()
    }

    /// Applies `create`, `delete` or `partitions` to topics given as `name:partitions`.
    pub(crate) fn change(&mut self, what: &str, topics: &[(&str, usize)]) -> Parsed<TopicsChange> {
        let mut entries = Vec::new();
        for (name, partitions) in topics {
            let entry = match what {
                "create" => self.create(name, *partitions),
                "delete" => Entry::TopicDeleted { topic: self.topic(name)?.id },
                "partitions" => {
                    let topic = self.topic(name)?;
                    let more = partitions.checked_sub(topic.partitions.len());
                    let partitions = one_replica_each(more.ok_or("partitions do not go away")?);
                    Entry::Partitions { topic: topic.id, partitions }
                }
                _ => return Err(format!("not create, delete or partitions: {what:?}")),
            };
            entries.push(entry);
        }
        let (image, changes) = self.image.apply_all(&entries);
        self.image = image;
        Ok(TopicsChange::from(&changes))
    }

    fn topic(&self, name: &str) -> Parsed<&catalog::Topic> {
        self.image.topic(name).ok_or_else(|| format!("no topic {name:?}"))
    }

    fn create(&mut self, name: &str, partitions: usize) -> Entry {
        self.made += 1;
        Entry::Topic(TopicEntry {
            name: name.to_owned(),
            id: numbered(self.made),
            replication_factor: 1,
            partitions: one_replica_each(partitions),
            configs: BTreeMap::new(),
        })
    }

    /// Sets or, with an empty value, unsets dynamic settings.
    pub(crate) fn configure(&mut self, resource: &Resource, values: BTreeMap<&str, &str>) {
        for (key, value) in values {
            let value = (!value.is_empty()).then(|| value.to_owned());
            let entry = Entry::Config { resource: resource.clone(), key: key.to_owned(), value };
            self.image = self.image.apply(&entry);
        }
    }
}

fn one_replica_each(partitions: usize) -> Vec<PartitionEntry> {
    (0..partitions).map(|_| PartitionEntry { id: 0, replicas: vec![0] }).collect()
}
