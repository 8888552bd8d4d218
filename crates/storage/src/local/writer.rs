//! The flusher: one thread per directory that makes appends durable, many at a time.
//!
//! While one flush runs, the next set of dirty files gathers: that is the group commit, and no linger is needed.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::dir::METADATA;
use super::disk::{Disk, is_out_of_files};
use super::lane::LocalLane;
use super::log::{LocalLog, Pending};
use super::segment::Segment;
use crate::log::{OpenFile, Refused};

/// Above this many dirty files one `syncfs` is cheaper than a flush of each.
const FILES_MAX: usize = 64;
/// Files that are flushed at the same time.
const PARALLEL: usize = 16;

type Answer = oneshot::Sender<Result<(), Refused>>;

/// What waits for the flusher of a directory.
pub(super) struct Flusher {
    queue: Mutex<Queue>,
    wake: Condvar,
    background: Duration,
}

#[derive(Default)]
struct Queue {
    /// Each log at most once.
    dirty: Vec<Arc<LocalLog>>,
    dirty_since: Option<Instant>,
    /// Somebody waits for durability.
    urgent: bool,
    /// Callers that wait until all of this is flushed.
    barriers: Vec<Answer>,
    dead: Option<Refused>,
    stop: bool,
}

struct Round {
    dirty: Vec<Arc<LocalLog>>,
    barriers: Vec<Answer>,
}

impl Flusher {
    pub(super) fn new(background: Duration) -> Self {
        Self { queue: Mutex::default(), wake: Condvar::new(), background }
    }

    /// An append was made: of a log that the flusher does not know of yet, and by somebody who waits.
    pub(super) fn wants(&self, news: Option<Arc<LocalLog>>, urgent: bool) {
        let mut queue = self.queue.lock();
        if let Some(log) = news {
            queue.dirty.push(log);
            queue.dirty_since.get_or_insert_with(Instant::now);
        }
        if !queue.urgent || queue.dirty.len() == 1 {
            queue.urgent |= urgent;
            self.wake.notify_one();
        }
    }

    /// Flushes everything that was appended before the call.
    pub(super) fn flush_all(&self) -> Result<(), Refused> {
        let (answer, answered) = oneshot::channel();
        {
            let mut queue = self.queue.lock();
            if queue.stop {
                return Err(Refused::Fenced);
            }
            queue.barriers.push(answer);
        }
        self.wake.notify_one();
        answered.blocking_recv().unwrap_or(Err(Refused::Fenced))
    }

    /// Nothing is flushed any more: an error of a flush is final, since the kernel may have forgotten the pages.
    pub(super) fn kill(&self, why: &Refused) {
        self.queue.lock().dead.get_or_insert_with(|| why.clone());
    }

    /// Ends the thread. Who waits for a flush is told, since nobody makes it any more.
    pub(super) fn stop(&self) {
        let mut queue = self.queue.lock();
        queue.stop = true;
        queue.barriers.clear();
        self.wake.notify_one();
    }

    /// Waits for something to do; none when stopped.
    fn next(&self) -> Option<Round> {
        let mut queue = self.queue.lock();
        loop {
            if queue.stop {
                return None;
            }
            let due = queue.dirty_since.map(|since| since + self.background);
            if queue.urgent || !queue.barriers.is_empty() || due.is_some_and(|it| it <= Instant::now()) {
                break;
            }
            match due {
                Some(due) => {
                    self.wake.wait_until(&mut queue, due);
                }
                None => self.wake.wait(&mut queue),
            }
        }
        queue.urgent = false;
        queue.dirty_since = None;
        Some(Round { dirty: std::mem::take(&mut queue.dirty), barriers: std::mem::take(&mut queue.barriers) })
    }

    fn death(&self) -> Option<Refused> {
        self.queue.lock().dead.clone()
    }
}

/// Where a flusher works.
pub(super) struct Ground {
    pub(super) path: PathBuf,
    pub(super) dir: std::fs::File,
    pub(super) disk: Disk,
}

/// Starts the thread of a directory. It ends with `Flusher::stop`.
pub(super) fn start(
    flusher: Arc<Flusher>,
    ground: Arc<Ground>,
    lane: Weak<LocalLane>,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("flusher".to_owned()).spawn(move || {
        while let Some(round) = flusher.next() {
            let done = match flusher.death() {
                // Whoever ended the lane has said why.
                Some(refused) => Err(refused),
                None => {
                    let done = flush(&ground, &round.dirty).map_err(Refused::from);
                    if let (Err(refused), Some(lane)) = (&done, lane.upgrade()) {
                        lane.kill(refused);
                    }
                    done
                }
            };
            for answer in round.barriers {
                // Who no longer waits needs no answer.
                let _ = answer.send(done.clone());
            }
        }
    })
}

fn flush(ground: &Ground, dirty: &[Arc<LocalLog>]) -> io::Result<()> {
    let pending: Vec<(&LocalLog, Pending)> = dirty.iter().map(|log| (&**log, log.take_pending())).collect();
    let count: usize =
        pending.iter().map(|(_, it)| it.files.len() + usize::from(it.names) + usize::from(it.folder)).sum();
    if count > FILES_MAX {
        ground.disk.sync_all(&ground.path, &ground.dir)?;
    } else {
        match flush_each(ground, &pending) {
            // A folder could not be opened: the one that is open since the start flushes the whole file system.
            Err(error) if is_out_of_files(&error) => ground.disk.sync_all(&ground.path, &ground.dir)?,
            done @ (Ok(()) | Err(_)) => done?,
        }
    }
    for (log, it) in &pending {
        log.flushed(it.end);
    }
    Ok(())
}

/// Names first: a file that is flushed but has no name after a power cut is lost.
fn flush_each(ground: &Ground, pending: &[(&LocalLog, Pending)]) -> io::Result<()> {
    for (log, it) in pending {
        if it.folder {
            sync_unless_removed(ground, &log.path.join(METADATA), log)?;
        }
        if it.names {
            sync_unless_removed(ground, &log.path, log)?;
        }
    }
    if pending.iter().any(|(_, it)| it.folder) {
        ground.disk.sync_path(&ground.path)?;
    }
    let files: Vec<_> = pending.iter().flat_map(|(_, it)| &it.files).collect();
    sync_files(&ground.disk, &files)
}

/// A partition may be removed while its first flush is on the way; then there is nothing to keep.
fn sync_unless_removed(ground: &Ground, path: &std::path::Path, log: &LocalLog) -> io::Result<()> {
    match ground.disk.sync_path(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && log.current().dead => Ok(()),
        other => other,
    }
}

fn sync_files(disk: &Disk, files: &[&(Arc<Segment>, Arc<OpenFile>)]) -> io::Result<()> {
    let sync = |(segment, file): &(Arc<Segment>, Arc<OpenFile>)| disk.sync(&segment.path, file);
    if let [one] = files {
        return sync(one);
    }
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            sync(file)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let helpers = files.len().min(PARALLEL).saturating_sub(1);
        let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
        let mine = work();
        let theirs =
            helpers.into_iter().map(|it| it.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())));
        theirs.fold(mine, Result::and)
    })
}
