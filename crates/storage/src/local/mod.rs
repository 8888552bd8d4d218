//! The local engine: one lane per data directory, in Kafka's file layout.
//!
//! Walk of an append: `log` (one `pwritev` under the partition's lock) → `writer` (group flush, moves `durable`).
//! Walk of a read: `log` → `cache`, or `reader` → `segment`. Start: `dir` (lock, identity, epoch) → `recover`.

mod cache;
mod checkpoint;
mod dir;
mod disk;
mod index;
mod journal;
mod lane;
mod log;
mod place;
mod reader;
mod recover;
mod segment;
mod snapshots;
mod torn;
mod verify;
mod walk;
mod writer;

pub use dir::StartError;
pub use disk::{Faults, Op};
pub use journal::LocalJournal;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::watch;

use crate::log::{
    BoxFuture, Durability, Engine, Epoch, Grant, Lane, LaneId, LogSettings, Refused, SessionId,
};
use cache::TailCache;
use dir::{Claimed, Identity, random_id};
use disk::Disk;
use lane::{JOURNAL_ID, LocalLane};
use recover::{Before, Survivor};
use segment::{Limits, Residents};

/// Topic of the journal's folder.
const JOURNAL: &str = "__thalweg_journal";
/// Where Linux says which run of the machine this is.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Memory for the indexes of sealed segments.
const INDEX_BYTES_MAX: u64 = 64 << 20;
/// Files kept open, at most; also at most half of what the process may open.
const OPEN_FILES_MAX: u64 = 8_192;
/// The least tail cache.
const TAIL_CACHE_BYTES_MIN: u64 = 32 << 20;

/// How a local engine is set up.
#[derive(Clone)]
pub struct LocalConfig {
    /// `log.dirs`; lane n is the n-th.
    pub dirs: Vec<PathBuf>,
    /// `node.id`
    pub node_id: i32,
    /// The cluster that the directories must belong to. None: whichever they do, or a new one.
    pub cluster_id: Option<String>,
    /// `thalweg.durability`
    pub durability: Durability,
    /// Settings of logs that are not configured.
    pub log: LogSettings,
    /// `thalweg.flush.background.ms`
    pub flush_background: Duration,
    /// `thalweg.snapshot.ms`: time between checkpoints.
    pub checkpoint_every: Duration,
    /// `thalweg.tail.cache.bytes`
    pub tail_cache_bytes: u64,
    /// `thalweg.open.files.max`
    pub open_files_max: u64,
    /// `thalweg.recovery.threads`
    pub recovery_threads: usize,
    /// Which run of the machine this is. What a process wrote survives its crash as long as the machine runs on.
    pub boot_id: Option<String>,
    /// For tests.
    pub faults: Option<Faults>,
}

impl LocalConfig {
    /// The defaults for these directories.
    #[must_use]
    pub fn new(dirs: Vec<PathBuf>) -> Self {
        let memory = rustix::system::sysinfo();
        let memory = u64::from(memory.mem_unit).saturating_mul(memory.totalram);
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        Self {
            dirs,
            node_id: 0,
            cluster_id: None,
            durability: Durability::Fsync,
            log: LogSettings::default(),
            flush_background: Duration::from_millis(1_000),
            checkpoint_every: Duration::from_secs(60),
            tail_cache_bytes: (memory / 8).max(TAIL_CACHE_BYTES_MIN),
            open_files_max: files.map_or(OPEN_FILES_MAX, |it| (it / 2).min(OPEN_FILES_MAX)),
            recovery_threads: available_parallelism().map_or(1, usize::from),
            boot_id: std::fs::read_to_string(BOOT_ID).ok().map(|it| it.trim().to_owned()),
            faults: None,
        }
    }
}

/// What all directories share.
struct Shared {
    config: LocalConfig,
    disk: Disk,
    cache: TailCache,
    limits: Limits,
}

/// Data directories in use. Lanes and logs live as long as their engine.
pub struct LocalEngine {
    lanes: Vec<Arc<LocalLane>>,
    cluster_id: String,
    grant: Grant,
    /// Number of the lane with the journal.
    journal: usize,
}

impl LocalEngine {
    /// Locks the directories, recovers what is in them and takes them into use. Blocks; after a crash for as long
    /// as it takes to read what was written since the last checkpoint.
    pub fn start(config: LocalConfig) -> Result<Self, StartError> {
        check_kernel(&config)?;
        let claimed = config.dirs.iter().map(|it| Claimed::claim(it)).collect::<Result<Vec<_>, _>>()?;
        let cluster_id = cluster_of(&config, &claimed)?;
        let disk = Disk { faults: config.faults.clone() };
        let journal = place::place(&claimed, &disk)?;
        place::all_there(&claimed, journal)?;
        let before = claimed.iter().filter_map(|it| it.epoch).max();
        // Decision 18: a fresh directory begins with 0; each later start adds 1, also after an orderly stop.
        let epoch: Epoch = before.map_or(0, |it| it.saturating_add(1));
        let shared = Arc::new(Shared {
            disk,
            cache: TailCache::new(config.tail_cache_bytes),
            limits: Limits {
                files: Residents::new(config.open_files_max),
                indexes: Residents::new(INDEX_BYTES_MAX),
            },
            config,
        });
        let mut lanes = Vec::with_capacity(claimed.len());
        let mut known = Vec::with_capacity(claimed.len());
        for dir in claimed {
            let identity = identity(&dir, shared.config.node_id, &cluster_id)?;
            known.push((identity.directory_id, dir.path.clone()));
            lanes.push(start_lane(&shared, dir, &identity, epoch, before)?);
        }
        if let Some((_, home)) = known.get(journal) {
            place::note(home, &known, &shared.disk).map_err(StartError::io(home))?;
        }
        Ok(Self { lanes, cluster_id, grant: Grant { epoch, session: new_session()? }, journal })
    }

    /// The right to open the lanes: a start is a grant, since the directories are locked.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }

    /// Id of the cluster that the directories belong to.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// The metadata journal. It was made in the first directory, and stays where it is if their order changes.
    pub fn journal(&self) -> Result<Arc<LocalJournal>, Refused> {
        let lane = self.lanes.get(self.journal).ok_or(Refused::Gone)?;
        LocalJournal::open(lane.clone()).map(Arc::new)
    }

    /// Becomes true when the directory with the journal fails, which ends the process (`storage.md` 5.3).
    #[must_use]
    pub fn journal_offline(&self) -> watch::Receiver<bool> {
        // An engine without directories has nothing that can fail, and nothing to serve.
        self.lanes.get(self.journal).map_or_else(|| watch::channel(true).1, |it| it.fenced())
    }
}

impl Drop for LocalEngine {
    /// The engine stands for the process: with it end its lanes, as in a crash unless they were closed.
    fn drop(&mut self) {
        self.lanes.iter().for_each(|lane| lane.abandon());
    }
}

impl Engine for LocalEngine {
    fn lanes(&self) -> u32 {
        u32::try_from(self.lanes.len()).unwrap_or(u32::MAX)
    }

    fn open(&self, lane: LaneId, grant: Grant) -> BoxFuture<'_, Result<Arc<dyn Lane>, Refused>> {
        let lane = self.lanes.get(lane as usize).filter(|_| grant.epoch == self.grant.epoch);
        let lane = lane.map(|it| it.clone() as Arc<dyn Lane>).ok_or(Refused::Fenced);
        Box::pin(async move { lane })
    }
}

/// Who a directory belongs to; a new one gets an id.
fn identity(dir: &Claimed, node_id: i32, cluster_id: &str) -> Result<Identity, StartError> {
    if let Some(identity) = &dir.identity {
        return Ok(identity.clone());
    }
    let directory_id = random_id().map_err(StartError::io(&dir.path))?;
    Ok(Identity { cluster_id: cluster_id.to_owned(), node_id, directory_id })
}

fn start_lane(
    shared: &Arc<Shared>,
    dir: Claimed,
    identity: &Identity,
    epoch: Epoch,
    before: Option<Epoch>,
) -> Result<Arc<LocalLane>, StartError> {
    let path = dir.path.clone();
    let boot = shared.config.boot_id.as_deref();
    dir.begin(&shared.disk, identity, epoch, boot).map_err(StartError::io(&path))?;
    let same_boot = boot.is_some() && dir.boot.as_deref() == boot;
    let known = Before { clean: dir.clean, epoch: dir.epoch.and(before), same_boot };
    let survivors = recover::recover(&path, &known, shared).map_err(StartError::io(&path))?;
    for survivor in &survivors {
        if let Survivor::Damaged { id, damaged } = survivor
            && id.topic_id == JOURNAL_ID
        {
            return Err(StartError::DamagedJournal(damaged.place.clone()));
        }
    }
    LocalLane::start(shared.clone(), &path, dir.lock, survivors).map_err(StartError::io(&path))
}

/// The cluster of the directories, if they agree with each other and with the configuration.
fn cluster_of(config: &LocalConfig, claimed: &[Claimed]) -> Result<String, StartError> {
    let mut cluster_id = config.cluster_id.clone();
    for dir in claimed {
        let Some(identity) = &dir.identity else { continue };
        let foreign = |what| StartError::Foreign { file: dir.path.join("meta.properties"), what };
        let wanted = cluster_id.get_or_insert_with(|| identity.cluster_id.clone());
        if *wanted != identity.cluster_id {
            return Err(foreign(format!("cluster.id is {}, not {wanted}", identity.cluster_id)));
        }
        if identity.node_id != config.node_id {
            return Err(foreign(format!("node.id is {}, not {}", identity.node_id, config.node_id)));
        }
    }
    match cluster_id {
        Some(id) => Ok(id),
        None => {
            let error = |error| StartError::Io { path: PathBuf::from("/dev/urandom"), error };
            random_id().map(|it| it.to_string()).map_err(error)
        }
    }
}

fn new_session() -> Result<SessionId, StartError> {
    let id = random_id().map_err(|error| StartError::Io { path: PathBuf::from("/dev/urandom"), error })?;
    let bytes = id.0.first_chunk::<8>().copied().unwrap_or_default();
    Ok(i64::from_be_bytes(bytes) & i64::MAX)
}

/// From Linux 5.8 on `syncfs` tells of write-back errors; before, a flush could lose data without a word.
fn check_kernel(config: &LocalConfig) -> Result<(), StartError> {
    if config.durability == Durability::PageCache {
        return Ok(());
    }
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|it: char| !it.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < (5, 8) => Err(StartError::OldKernel(release)),
        // An unknown form of release is no old kernel.
        (Some(_) | None, Some(_) | None) => Ok(()),
    }
}
