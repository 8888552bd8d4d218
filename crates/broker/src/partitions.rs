//! The open partitions by topic id and number; follows the image as topics come and go.
//!
//! All partitions are open before a request can name them, so looking one up never waits, and
//! Produce can append in arrival order.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::{Changes, Image, Topic};
use coordinator::Millis;
use parking_lot::RwLock;
use storage::partition::Partition;
use storage::{Epoch, Lane, PartitionId};
use tracing::{error, warn};
use wire::Uuid;

use crate::clock::Clock;
use crate::topic_settings::partition_settings;

/// Open partitions and the lanes that they live in.
pub struct Partitions {
    lanes: Vec<Arc<dyn Lane>>,
    /// Leader epoch of every partition: the ownership of the lanes.
    epoch: Epoch,
    clock: Arc<Clock>,
    open: RwLock<HashMap<(Uuid, i32), Open>>,
}

#[derive(Clone)]
struct Open {
    id: PartitionId,
    partition: Arc<Partition>,
    lane: Arc<dyn Lane>,
}

impl Partitions {
    pub(crate) fn new(lanes: Vec<Arc<dyn Lane>>, epoch: Epoch, clock: Arc<Clock>) -> Self {
        Self { lanes, epoch, clock, open: RwLock::default() }
    }

    /// An open partition. None: it does not exist, or it could not be opened.
    pub fn get(&self, topic: Uuid, index: i32) -> Option<Arc<Partition>> {
        self.open.read().get(&(topic, index)).map(|open| open.partition.clone())
    }

    /// Leader epoch of the partitions.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Every open partition with its id and its lane's place, in no order.
    pub fn all(&self) -> Vec<(PartitionId, Arc<Partition>, Arc<dyn Lane>)> {
        let open = self.open.read();
        open.values().map(|it| (it.id.clone(), it.partition.clone(), it.lane.clone())).collect()
    }

    /// The lanes, for DescribeLogDirs.
    pub fn lanes(&self) -> &[Arc<dyn Lane>] {
        &self.lanes
    }

    /// Sets aside what the first image does not know, which may have the name of a topic that was made again, and
    /// opens what it has.
    pub(crate) async fn start(&self, image: &Image) {
        for lane in &self.lanes {
            for left in lane.partitions() {
                let known = image.topic_by_id(left.id.topic_id).is_some();
                if !known && let Err(refused) = lane.set_aside(&left.id).await {
                    warn!(partition = %left.id, %refused, "unknown partition can't be set aside");
                }
            }
        }
        for topic in image.topics() {
            self.open_topic(image, topic).await;
        }
    }

    /// Follows the image: what is new is open before anyone sees it.
    pub(crate) async fn follow(&self, image: &Image, changes: &Changes) {
        for topic in &changes.deleted {
            self.remove_topic(topic).await;
        }
        for topic in changes.topics.iter().filter_map(|name| image.topic(name)) {
            self.open_topic(image, topic).await;
        }
        if changes.settings {
            for topic in image.topics() {
                self.configure(image, topic);
            }
        }
    }

    /// Saves what partitions know and lets the lanes keep it, so that the next start has little to read.
    pub(crate) async fn checkpoint(&self) {
        for (id, partition, _) in self.all() {
            if let Err(refused) = partition.checkpoint() {
                warn!(partition = %id, %refused, "partition state can't be saved");
            }
        }
        for lane in &self.lanes {
            if let Err(refused) = lane.checkpoint().await {
                warn!(place = lane.place(), %refused, "checkpoint failed");
            }
        }
    }

    /// Forgets producers that were silent for too long.
    pub(crate) fn expire_producers(&self, now: Millis) {
        for (_, partition, _) in self.all() {
            partition.expire_producers(now);
        }
    }

    /// Closes everything in order; the next start finds it clean.
    pub(crate) async fn close(&self) {
        let open: Vec<_> = self.open.write().drain().map(|(_, open)| open).collect();
        for Open { id, partition, .. } in &open {
            if let Err(refused) = partition.checkpoint() {
                warn!(partition = %id, %refused, "partition state can't be saved");
            }
        }
        for lane in &self.lanes {
            if let Err(refused) = lane.close().await {
                error!(place = lane.place(), %refused, "storage did not close cleanly");
            }
        }
        for Open { partition, .. } in open {
            partition.close();
        }
    }

    async fn open_topic(&self, image: &Image, topic: &Topic) {
        self.configure(image, topic);
        for info in &topic.partitions {
            let key = (topic.id, info.index);
            if self.open.read().contains_key(&key) {
                continue;
            }
            let id = PartitionId { topic_id: topic.id, topic: topic.name.clone(), index: info.index };
            match self.open_partition(image, topic, &id).await {
                Ok(open) => {
                    self.open.write().insert(key, open);
                }
                // Whoever runs the broker decides: no record is cut or made anew here (`storage.md` 5.6).
                Err(reason) => error!(
                    partition = %id, reason,
                    "partition is offline: restore its files and start again, or delete its topic"
                ),
            }
        }
    }

    async fn open_partition(&self, image: &Image, topic: &Topic, id: &PartitionId) -> Result<Open, String> {
        let lane = self.lane_of(id).ok_or("there is no storage")?;
        let log = lane.log(id).map_err(|refused| refused.to_string())?;
        let settings = settings(image, topic);
        let opening = Partition::open(log, settings, self.epoch, self.clock.now());
        let partition = opening.await.map_err(|error| error.to_string())?;
        Ok(Open { id: id.clone(), partition: Arc::new(partition), lane })
    }

    /// The lane that has the partition, or else the one with the fewest.
    fn lane_of(&self, id: &PartitionId) -> Option<Arc<dyn Lane>> {
        if let [only] = self.lanes.as_slice() {
            return Some(only.clone());
        }
        let holds = |lane: &&Arc<dyn Lane>| lane.partitions().iter().any(|it| it.id == *id);
        let lane = self.lanes.iter().find(holds);
        lane.or_else(|| self.lanes.iter().min_by_key(|lane| lane.partitions().len())).cloned()
    }

    fn configure(&self, image: &Image, topic: &Topic) {
        let settings = settings(image, topic);
        for info in &topic.partitions {
            if let Some(partition) = self.get(topic.id, info.index) {
                partition.configure(settings.clone());
            }
        }
    }

    async fn remove_topic(&self, topic: &Topic) {
        for info in &topic.partitions {
            let id = PartitionId { topic_id: topic.id, topic: topic.name.clone(), index: info.index };
            let open = self.open.write().remove(&(topic.id, info.index));
            if let Some(open) = &open {
                open.partition.close();
            }
            // One that is offline has files too.
            let Some(lane) = open.map(|it| it.lane).or_else(|| self.lane_of(&id)) else { continue };
            if let Err(refused) = lane.remove(&id).await {
                error!(partition = %id, %refused, "partition can't be removed");
            }
        }
    }
}

fn settings(image: &Image, topic: &Topic) -> storage::partition::Settings {
    partition_settings(&image.topic_settings(topic), image.broker())
}
