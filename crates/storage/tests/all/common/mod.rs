//! What the tests of the local engine share: folders that go away, and an engine that can be restarted.

#![allow(unreachable_pub, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use storage::conformance::{JournalSubject, Subject, wait};
use storage::{Engine, Grant, Journal, Lane, LocalConfig, LocalEngine};

/// A folder of its own, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    /// In the build's folder for test data, which lies on a real disk.
    pub fn new() -> Self {
        Self::below(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// In memory where there is such a place, for tests that open hundreds of directories.
    pub fn fast() -> Self {
        let shm = Path::new("/dev/shm");
        if shm.is_dir() { Self::below(shm) } else { Self::new() }
    }

    fn below(parent: &Path) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("thalweg-storage-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A copy of everything in it, for what a crash at this moment leaves.
    pub fn copy(&self) -> Self {
        let to = Self::fast();
        copy(&self.0, &to.0);
        to
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Copies a folder; what vanishes meanwhile is left out.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let Ok(entries) = fs::read_dir(from) else { return };
    for entry in entries.flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            let _ = fs::copy(entry.path(), target);
        }
    }
}

/// Defaults for tests: a small tail cache, so that files are read too.
pub fn config(dir: &Path) -> LocalConfig {
    LocalConfig {
        tail_cache_bytes: 3_000,
        flush_background: Duration::from_millis(20),
        boot_id: Some("1".to_owned()),
        ..LocalConfig::new(vec![dir.to_owned()])
    }
}

/// The same after the machine itself went down: what was not flushed may be lost in any order.
pub fn config_after_power_cut(dir: &Path) -> LocalConfig {
    LocalConfig { boot_id: Some("2".to_owned()), ..config(dir) }
}

pub fn start(config: LocalConfig) -> (LocalEngine, Arc<dyn Lane>) {
    let engine = LocalEngine::start(config).unwrap();
    let lane = wait(engine.open(0, engine.grant())).unwrap();
    (engine, lane)
}

/// An engine on a folder.
pub struct Local {
    /// Goes away with it.
    _folder: Folder,
    pub config: LocalConfig,
    pub engine: Option<Arc<LocalEngine>>,
}

impl Local {
    pub fn new(folder: Folder, tune: impl FnOnce(&mut LocalConfig)) -> Self {
        let mut config = config(&folder.0);
        tune(&mut config);
        let engine = Some(Arc::new(LocalEngine::start(config.clone()).unwrap()));
        Self { _folder: folder, config, engine }
    }
}

impl Subject for Local {
    fn engine(&self) -> Arc<dyn Engine> {
        self.engine.clone().unwrap()
    }

    fn grant(&self) -> Grant {
        self.engine.as_ref().unwrap().grant()
    }

    fn restart(&mut self) {
        self.engine = None;
        self.engine = Some(Arc::new(LocalEngine::start(self.config.clone()).unwrap()));
    }
}

impl JournalSubject for Local {
    fn journal(&self) -> Arc<dyn Journal> {
        self.engine.as_ref().unwrap().journal().unwrap()
    }

    fn restart(&mut self) {
        Subject::restart(self);
    }
}
