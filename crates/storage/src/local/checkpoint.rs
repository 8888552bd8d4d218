//! The keeper: one thread per directory for what is slow and not on the way of an append: checkpoints, start
//! offsets, removal of files, and the orderly stop.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::dir::{
    CLEAN, LOG_STARTS, OWN_LOG_STARTS, OWN_RECOVERY_POINTS, Offsets, RECOVERY_POINTS, offsets_text,
    own_offsets_text,
};
use super::lane::LocalLane;
use super::log::{LocalLog, full_or_io};
use super::snapshots;
use super::writer::Ground;
use crate::log::Refused;

/// Above this many small files one `syncfs` is cheaper than a flush of each.
const FILES_MAX: usize = 32;

type Answer = oneshot::Sender<Result<(), Refused>>;

enum Task {
    Checkpoint(Answer),
    Starts(Answer),
    /// A folder that has its last name already.
    Removed(PathBuf, Answer),
    Close(Answer),
}

/// What waits for the keeper of a directory. Each task has a caller who waits, so that callers bound the queue.
pub(super) struct Keeper {
    queue: Mutex<Queue>,
    wake: Condvar,
    every: Duration,
}

#[derive(Default)]
struct Queue {
    tasks: Vec<Task>,
    stop: bool,
}

impl Keeper {
    pub(super) fn new(every: Duration) -> Self {
        Self { queue: Mutex::default(), wake: Condvar::new(), every }
    }

    pub(super) async fn checkpoint(&self) -> Result<(), Refused> {
        self.ask(Task::Checkpoint).await
    }

    /// Makes all start offsets durable, then removes the segments below them.
    pub(super) async fn starts(&self) -> Result<(), Refused> {
        self.ask(Task::Starts).await
    }

    /// Makes the renaming of a folder durable, then removes it.
    pub(super) async fn removed(&self, path: PathBuf) -> Result<(), Refused> {
        self.ask(|answer| Task::Removed(path, answer)).await
    }

    pub(super) async fn close(&self) -> Result<(), Refused> {
        self.ask(Task::Close).await
    }

    async fn ask(&self, task: impl FnOnce(Answer) -> Task) -> Result<(), Refused> {
        let (answer, answered) = oneshot::channel();
        {
            let mut queue = self.queue.lock();
            if queue.stop {
                return Err(Refused::Fenced);
            }
            queue.tasks.push(task(answer));
        }
        self.wake.notify_one();
        answered.await.unwrap_or(Err(Refused::Fenced))
    }

    pub(super) fn stop(&self) {
        let mut queue = self.queue.lock();
        queue.stop = true;
        queue.tasks.clear();
        self.wake.notify_one();
    }

    /// All that waits, or nothing when a checkpoint is due; none when stopped.
    fn next(&self, due: Instant) -> Option<Vec<Task>> {
        let mut queue = self.queue.lock();
        while queue.tasks.is_empty() && !queue.stop {
            if self.wake.wait_until(&mut queue, due).timed_out() {
                break;
            }
        }
        (!queue.stop).then(|| std::mem::take(&mut queue.tasks))
    }
}

/// Starts the thread of a directory. It ends with `Keeper::stop`, or after a close.
pub(super) fn start(
    keeper: Arc<Keeper>,
    ground: Arc<Ground>,
    lane: Weak<LocalLane>,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("keeper".to_owned()).spawn(move || {
        let mut room = Room { ground, written: BTreeMap::new() };
        let mut due = Instant::now() + keeper.every;
        while let Some(tasks) = keeper.next(due) {
            let Some(lane) = lane.upgrade() else { break };
            if due <= Instant::now() {
                due = Instant::now() + keeper.every;
                if let Err(error) = room.checkpoint(&lane) {
                    tracing::warn!(dir = %room.ground.path.display(), %error, "periodic checkpoint failed");
                }
            }
            room.work(&lane, tasks);
        }
    })
}

/// What the thread works with.
struct Room {
    ground: Arc<Ground>,
    /// Texts of the checkpoint files as they were written last.
    written: BTreeMap<&'static str, String>,
}

impl Room {
    /// Does each kind of task once for all who asked for it.
    fn work(&mut self, lane: &LocalLane, tasks: Vec<Task>) {
        let mut checkpoints = Vec::new();
        let mut starts = Vec::new();
        let mut removed = Vec::new();
        let mut closes = Vec::new();
        for task in tasks {
            match task {
                Task::Checkpoint(answer) => checkpoints.push(answer),
                Task::Starts(answer) => starts.push(answer),
                Task::Removed(path, answer) => removed.push((path, answer)),
                Task::Close(answer) => closes.push(answer),
            }
        }
        if !starts.is_empty() {
            answer(starts, &self.starts(lane).map_err(full_or_io));
        }
        if !removed.is_empty() {
            self.remove(removed);
        }
        if !checkpoints.is_empty() {
            answer(checkpoints, &self.checkpoint(lane));
        }
        if !closes.is_empty() {
            answer(closes, &self.close(lane));
        }
    }

    fn starts(&mut self, lane: &LocalLane) -> io::Result<()> {
        let logs = lane.all_logs();
        let starts = logs.iter().map(|log| (log.id.clone(), log.current().start)).filter(|it| it.1 > 0);
        let mut starts: Offsets = starts.collect();
        starts.extend(
            lane.damaged().into_iter().filter_map(|(id, it)| Some((id, it.start.filter(|it| *it > 0)?))),
        );
        self.write(LOG_STARTS, OWN_LOG_STARTS, &starts)?;
        for log in logs {
            for segment in log.take_dead_segments() {
                segment.remove(&self.ground.disk)?;
            }
        }
        Ok(())
    }

    fn remove(&self, removed: Vec<(PathBuf, Answer)>) {
        let synced = self.ground.disk.sync_path(&self.ground.path).map_err(Refused::from);
        let (paths, answers): (Vec<_>, Vec<_>) = removed.into_iter().unzip();
        answer(answers, &synced);
        for path in paths {
            // The name says that it is to go: the next start tries again.
            if let Err(error) = self.ground.disk.remove_dir(&path) {
                tracing::warn!(path = %path.display(), %error, "folder of a removed partition stays");
            }
        }
    }

    /// Flushes, and writes what makes the next recovery short.
    fn checkpoint(&mut self, lane: &LocalLane) -> Result<(), Refused> {
        lane.flusher.flush_all()?;
        self.write_all(lane).map_err(full_or_io)
    }

    fn write_all(&mut self, lane: &LocalLane) -> io::Result<()> {
        let logs = lane.all_logs();
        // Taken before the files are written: a checkpoint must not promise more than they hold.
        let points = logs.iter().map(|log| (log.id.clone(), log.state.lock().flushed));
        let mut points: Offsets = points.collect();
        points.extend(lane.damaged().into_iter().filter_map(|(id, it)| Some((id, it.point?))));
        let mut beside = Vec::new();
        let mut folders = Vec::new();
        for log in &logs {
            let files = files_of(log)?;
            if !files.is_empty() {
                folders.push(log.path.clone());
            }
            for (path, content) in files {
                match self.ground.disk.write_beside(&path, &content) {
                    Ok(name) => beside.push((name, path)),
                    // Removed meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound && log.current().dead => {}
                    Err(error) => return Err(error),
                }
            }
        }
        self.settle(&beside, &folders)?;
        self.write(RECOVERY_POINTS, OWN_RECOVERY_POINTS, &points)?;
        self.starts(lane)
    }

    /// Flushes files that were written beside the old ones, and puts them in their places.
    fn settle(&self, beside: &[(PathBuf, PathBuf)], folders: &[PathBuf]) -> io::Result<()> {
        let Ground { path, dir, disk } = &*self.ground;
        let many = beside.len() > FILES_MAX;
        if many {
            disk.sync_all(path, dir)?;
        } else {
            beside.iter().try_for_each(|(name, _)| gone_is_fine(disk.sync_path(name)))?;
        }
        for (name, path) in beside {
            gone_is_fine(disk.rename(name, path))?;
        }
        if many {
            disk.sync_all(path, dir)?;
        } else {
            folders.iter().try_for_each(|it| gone_is_fine(disk.sync_path(it)))?;
        }
        for folder in folders {
            let outdated = gone_is_fine(snapshots::outdated(folder).map(Some))?;
            outdated.into_iter().flatten().try_for_each(|it| disk.remove(&it))?;
        }
        Ok(())
    }

    /// Writes a checkpoint, Kafka's file and ours, unless it would be the same. Ours is the one that is read.
    fn write(&mut self, name: &'static str, own: &'static str, offsets: &Offsets) -> io::Result<()> {
        let text = own_offsets_text(offsets);
        if self.written.get(own) == Some(&text) {
            return Ok(());
        }
        let Ground { path, disk, .. } = &*self.ground;
        disk.replace(&path.join(name), offsets_text(offsets).as_bytes())?;
        disk.replace(&path.join(own), text.as_bytes())?;
        disk.sync_path(path)?;
        self.written.insert(own, text);
        Ok(())
    }

    fn close(&mut self, lane: &LocalLane) -> Result<(), Refused> {
        let logs = lane.all_logs();
        logs.iter().for_each(|log| log.close());
        let done = self.checkpoint(lane).and_then(|()| self.mark_clean().map_err(full_or_io));
        lane.end(&Refused::Fenced);
        // Nothing is left to keep: a checkpoint of a closed lane would be refused.
        lane.keeper.stop();
        done
    }

    fn mark_clean(&self) -> io::Result<()> {
        let Ground { path, disk, .. } = &*self.ground;
        disk.replace(&path.join(CLEAN), b"1\n")?;
        disk.sync_path(path)
    }
}

/// The small files of a log that lack something.
fn files_of(log: &LocalLog) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let (segments, snapshot) = {
        let mut state = log.state.lock();
        let flushed = state.flushed;
        // One that is ahead of the flush waits for the next checkpoint.
        (state.segments.clone(), state.snapshot.take_if(|it| it.offset <= flushed))
    };
    let mut out = Vec::new();
    for segment in &segments {
        if let Some((offsets, times)) = segment.unwritten_index() {
            out.push((segment.path.with_extension("index"), offsets));
            out.push((segment.path.with_extension("timeindex"), times));
        }
    }
    if let Some(snapshot) = snapshot {
        let bases: Vec<_> = segments.iter().map(|it| it.base).collect();
        out.extend(snapshots::files(&log.path, &snapshot, &bases)?);
    }
    Ok(out)
}

/// A partition may be removed while its files are written.
fn gone_is_fine<T: Default>(done: io::Result<T>) -> io::Result<T> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        other => other,
    }
}

fn answer(answers: Vec<Answer>, done: &Result<(), Refused>) {
    for it in answers {
        // Who no longer waits needs no answer.
        let _ = it.send(done.clone());
    }
}
