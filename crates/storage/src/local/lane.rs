//! A lane of the local engine: one data directory with its partitions and its two threads.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use tokio::sync::watch;

use super::Shared;
use super::checkpoint::{self, Keeper};
use super::dir::{
    METADATA, REMOVED, STRAY, folder, is_half_made, is_rest, metadata_text, random_id, retired_folder,
    segment_file,
};
use super::log::{Beginning, LocalLog, full_or_io, now};
use super::recover::{Damaged, Survivor};
use super::segment::Segment;
use super::writer::{self, Flusher, Ground};
use crate::log::{BoxFuture, Ends, Lane, Log, PartitionId, Place, Recovered, Refused, Uuid};

/// Topic id of the journal: the one that Kafka reserves for its metadata log.
pub(super) const JOURNAL_ID: Uuid = Uuid::ONE;

/// A data directory in use.
pub(super) struct LocalLane {
    me: Weak<Self>,
    shared: Arc<Shared>,
    ground: Arc<Ground>,
    pub(super) flusher: Arc<Flusher>,
    pub(super) keeper: Arc<Keeper>,
    logs: Mutex<BTreeMap<PartitionId, Entry>>,
    /// What ended the lane.
    ended: Mutex<Option<Refused>>,
    fenced: watch::Sender<bool>,
    /// Held until the lane is closed.
    lock: Mutex<Option<File>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

enum Entry {
    Log { log: Arc<LocalLog>, cut_bytes: u64 },
    Damaged(Damaged),
}

impl LocalLane {
    /// A lane with what recovery found, and its threads.
    pub(super) fn start(
        shared: Arc<Shared>,
        path: &Path,
        lock: File,
        survivors: Vec<Survivor>,
    ) -> io::Result<Arc<Self>> {
        let dir = File::open(path)?;
        let ground = Arc::new(Ground { path: path.to_owned(), dir, disk: shared.disk.clone() });
        let flusher = Arc::new(Flusher::new(shared.config.flush_background));
        let keeper = Arc::new(Keeper::new(shared.config.checkpoint_every));
        let lane = Arc::new_cyclic(|me: &Weak<Self>| Self {
            me: me.clone(),
            logs: Mutex::new(survivors.into_iter().map(|it| it.entry(&shared, path, me)).collect()),
            shared,
            ground: ground.clone(),
            flusher: flusher.clone(),
            keeper: keeper.clone(),
            ended: Mutex::new(None),
            fenced: watch::Sender::new(false),
            lock: Mutex::new(Some(lock)),
            threads: Mutex::default(),
        });
        let weak = lane.me.clone();
        lane.threads.lock().extend([
            writer::start(flusher, ground.clone(), weak.clone())?,
            checkpoint::start(keeper, ground, weak)?,
        ]);
        Ok(lane)
    }

    pub(super) fn all_logs(&self) -> Vec<Arc<LocalLog>> {
        let logs = self.logs.lock();
        logs.values().filter_map(Entry::log).collect()
    }

    /// What is known of the partitions that recovery left offline.
    pub(super) fn damaged(&self) -> Vec<(PartitionId, Damaged)> {
        let logs = self.logs.lock();
        let damaged = |(id, entry): (&PartitionId, &Entry)| match entry {
            Entry::Damaged(it) => Some((id.clone(), it.clone())),
            Entry::Log { .. } => None,
        };
        logs.iter().filter_map(damaged).collect()
    }

    /// The device failed: nothing is taken or promised any more.
    pub(super) fn kill(&self, why: &Refused) {
        tracing::error!(dir = %self.ground.path.display(), error = %why, "data directory is offline");
        self.end(why);
    }

    /// Ends all logs. The first reason counts.
    pub(super) fn end(&self, why: &Refused) {
        self.ended.lock().get_or_insert_with(|| why.clone());
        self.flusher.kill(why);
        self.all_logs().iter().for_each(|log| log.finish(why.clone()));
        self.fenced.send_replace(true);
    }

    /// Ends without a word, as a crash does: what must be kept was flushed, or is kept by `close`. When it
    /// returns, nothing touches the directory any more and another engine may be started on it.
    pub(super) fn abandon(&self) {
        self.end(&Refused::Fenced);
        self.flusher.stop();
        self.keeper.stop();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // One of them may hold the last handle.
            if thread.thread().id() != thread::current().id() && thread.join().is_err() {
                tracing::error!("a storage thread panicked");
            }
        }
        *self.lock.lock() = None;
    }

    /// The journal's log, which is not among the partitions.
    pub(super) fn journal(&self) -> Result<Arc<LocalLog>, Refused> {
        self.local_log(&PartitionId { topic_id: JOURNAL_ID, topic: super::JOURNAL.into(), index: 0 })
    }

    fn local_log(&self, id: &PartitionId) -> Result<Arc<LocalLog>, Refused> {
        if let Some(refused) = &*self.ended.lock() {
            return Err(refused.clone());
        }
        let mut logs = self.logs.lock();
        match logs.get(id) {
            Some(Entry::Log { log, .. }) => return Ok(log.clone()),
            Some(Entry::Damaged(it)) => return Err(Refused::Corrupt(it.place.clone())),
            None => {}
        }
        let log = self.create(id)?;
        logs.insert(id.clone(), Entry::Log { log: log.clone(), cut_bytes: 0 });
        Ok(log)
    }

    /// Makes the folder of a partition. Nothing is flushed: if a crash takes it away, the catalog still has the
    /// partition and it is made again. The first flush of its records flushes all of it.
    fn create(&self, id: &PartitionId) -> Result<Arc<LocalLog>, Refused> {
        let path = self.ground.path.join(folder(id));
        match self.shared.disk.create_dir(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_half_made(&path) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_rest(&path) => {
                let kept = self.rename(id, STRAY).map_err(full_or_io)?;
                tracing::warn!(partition = %id, path = %kept.display(), "a folder without a topic id is set aside");
                self.shared.disk.create_dir(&path).map_err(full_or_io)?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let what = format!("the folder is there, but not of topic {}", id.topic_id);
                return Err(Refused::Corrupt(Place { file: path, position: 0, offset: 0, what }));
            }
            Err(error) => return Err(full_or_io(error)),
        }
        let made = std::fs::write(path.join(METADATA), metadata_text(id.topic_id))
            .and_then(|()| Segment::create(&path, 0, now(), &self.shared.disk));
        let segment = match made {
            Ok(segment) => Arc::new(segment),
            Err(error) => {
                // Half a partition is none. What can't be removed is taken up by the next attempt.
                let _ = self.shared.disk.remove_made(&path, &[METADATA, &segment_file(0, "log")]);
                return Err(full_or_io(error));
            }
        };
        segment.admit_file(&self.shared.limits.files);
        let beginning = Beginning { segments: vec![segment], start: 0, end: 0, new_folder: true };
        Ok(new_log(id.clone(), &self.ground.path, &self.shared, &self.me, beginning))
    }

    /// Takes a partition out of use and gives its folder the name of one that has `end`.
    fn retire(&self, id: &PartitionId, end: &str) -> Option<io::Result<PathBuf>> {
        let mut logs = self.logs.lock();
        let entry = logs.remove(id)?;
        match entry {
            Entry::Log { log, .. } => log.finish(Refused::Gone),
            // What is missing needs no other name.
            Entry::Damaged(_) if !self.ground.path.join(folder(id)).exists() => return None,
            Entry::Damaged(_) => {}
        }
        Some(self.rename(id, end))
    }

    fn rename(&self, id: &PartitionId, end: &str) -> io::Result<PathBuf> {
        let gone = self.ground.path.join(retired_folder(id, random_id()?, end));
        self.shared.disk.rename(&self.ground.path.join(folder(id)), &gone)?;
        Ok(gone)
    }
}

impl Entry {
    fn log(&self) -> Option<Arc<LocalLog>> {
        match self {
            Self::Log { log, .. } => Some(log.clone()),
            Self::Damaged(_) => None,
        }
    }
}

impl Survivor {
    fn entry(self, shared: &Arc<Shared>, dir: &Path, lane: &Weak<LocalLane>) -> (PartitionId, Entry) {
        match self {
            Self::Log { id, beginning, cut_bytes } => {
                let log = new_log(id.clone(), dir, shared, lane, beginning);
                (id, Entry::Log { log, cut_bytes })
            }
            Self::Damaged { id, damaged } => (id, Entry::Damaged(damaged)),
        }
    }
}

fn new_log(
    id: PartitionId,
    dir: &Path,
    shared: &Arc<Shared>,
    lane: &Weak<LocalLane>,
    beginning: Beginning,
) -> Arc<LocalLog> {
    let path = dir.join(folder(&id));
    let always_flushed = id.topic_id == JOURNAL_ID;
    LocalLog::new(id, path, shared.clone(), lane.clone(), always_flushed, beginning)
}

impl Lane for LocalLane {
    fn partitions(&self) -> Vec<Recovered> {
        let found = |(id, entry): (&PartitionId, &Entry)| match entry {
            Entry::Log { log, cut_bytes } => {
                Recovered { id: id.clone(), ends: log.current(), cut_bytes: *cut_bytes, damage: None }
            }
            Entry::Damaged(it) => Recovered {
                id: id.clone(),
                ends: Ends::default(),
                cut_bytes: 0,
                damage: Some(it.place.clone()),
            },
        };
        let logs = self.logs.lock();
        logs.iter().filter(|(id, _)| id.topic_id != JOURNAL_ID).map(found).collect()
    }

    fn log(&self, id: &PartitionId) -> Result<Arc<dyn Log>, Refused> {
        self.local_log(id).map(|log| log as Arc<dyn Log>)
    }

    fn remove(&self, id: &PartitionId) -> BoxFuture<'_, Result<(), Refused>> {
        let retired = self.retire(id, REMOVED);
        Box::pin(async move {
            match retired {
                None => Ok(()),
                Some(Ok(path)) => self.keeper.removed(path).await,
                Some(Err(error)) => Err(error.into()),
            }
        })
    }

    fn set_aside(&self, id: &PartitionId) -> BoxFuture<'_, Result<(), Refused>> {
        let retired = self.retire(id, STRAY);
        let name = id.to_string();
        Box::pin(async move {
            let Some(path) = retired.transpose()? else { return Ok(()) };
            let path = path.display();
            tracing::warn!(partition = name, %path, "not in the metadata: its folder is kept under this name");
            Ok(self.shared.disk.sync_path(&self.ground.path)?)
        })
    }

    fn fenced(&self) -> watch::Receiver<bool> {
        self.fenced.subscribe()
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<(), Refused>> {
        Box::pin(self.keeper.checkpoint())
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Refused>> {
        Box::pin(async {
            if let Some(refused) = &*self.ended.lock() {
                return match refused {
                    Refused::Fenced => Ok(()),
                    Refused::Full | Refused::Gone | Refused::Corrupt(_) | Refused::Io(_) => {
                        Err(refused.clone())
                    }
                };
            }
            let closed = self.keeper.close().await;
            *self.lock.lock() = None;
            closed
        })
    }

    fn place(&self) -> String {
        self.ground.path.display().to_string()
    }
}

impl Drop for LocalLane {
    fn drop(&mut self) {
        self.abandon();
    }
}
