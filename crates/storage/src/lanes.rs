//! All lanes of an engine as one: where each partition lies, and where a new one goes.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::log::{Engine, Grant, Lane, Log, PartitionId, Recovered, Refused};

/// The lanes of an engine, opened.
pub struct Lanes {
    lanes: Vec<Arc<dyn Lane>>,
    /// Number of the lane of each partition.
    placed: Mutex<BTreeMap<PartitionId, usize>>,
}

impl Lanes {
    /// Opens every lane.
    pub async fn open(engine: &dyn Engine, grant: Grant) -> Result<Self, Refused> {
        let mut lanes = Vec::new();
        let mut placed = BTreeMap::new();
        for number in 0..engine.lanes() {
            let lane = engine.open(number, grant).await?;
            placed.extend(lane.partitions().into_iter().map(|it| (it.id, lanes.len())));
            lanes.push(lane);
        }
        Ok(Self { lanes, placed: Mutex::new(placed) })
    }

    /// The log of a partition. A new one goes to the lane with the fewest (of those that live).
    pub fn log(&self, id: &PartitionId) -> Result<Arc<dyn Log>, Refused> {
        let mut placed = self.placed.lock();
        if let Some(at) = placed.get(id) {
            return self.lanes.get(*at).ok_or(Refused::Gone)?.log(id);
        }
        let mut counts = vec![0_usize; self.lanes.len()];
        for at in placed.values() {
            counts.get_mut(*at).into_iter().for_each(|it| *it += 1);
        }
        let living = self.lanes.iter().enumerate().filter(|(_, lane)| !*lane.fenced().borrow());
        let fewest = living.min_by_key(|(at, _)| counts.get(*at).copied().unwrap_or(usize::MAX));
        let (at, lane) = fewest.ok_or(Refused::Fenced)?;
        let log = lane.log(id)?;
        placed.insert(id.clone(), at);
        Ok(log)
    }

    /// Removes a partition from wherever it lies.
    pub async fn remove(&self, id: &PartitionId) -> Result<(), Refused> {
        let at = self.placed.lock().remove(id);
        match at.and_then(|at| self.lanes.get(at)) {
            Some(lane) => lane.remove(id).await,
            None => Ok(()),
        }
    }

    /// Every partition of every lane.
    #[must_use]
    pub fn partitions(&self) -> Vec<Recovered> {
        self.lanes.iter().flat_map(|it| it.partitions()).collect()
    }

    /// The lanes themselves, for DescribeLogDirs and for those who watch `fenced`.
    #[must_use]
    pub fn all(&self) -> &[Arc<dyn Lane>] {
        &self.lanes
    }

    /// Checkpoints every lane; the first refusal is told after all were asked.
    pub async fn checkpoint(&self) -> Result<(), Refused> {
        let mut done = Ok(());
        for lane in &self.lanes {
            done = done.and(lane.checkpoint().await);
        }
        done
    }

    /// Closes every lane; the first refusal is told after all were asked.
    pub async fn close(&self) -> Result<(), Refused> {
        let mut done = Ok(());
        for lane in &self.lanes {
            done = done.and(lane.close().await);
        }
        done
    }
}
