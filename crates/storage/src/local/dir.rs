//! A data directory: names of folders and files, the lock, identity, and the small text files.
//!
//! All of it is Kafka's layout, so that its tools can read a directory; files that begin with `thalweg.` are ours.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use crate::log::{Epoch, Offset, PartitionId, Uuid};

pub(super) const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
pub(super) const LOG_STARTS: &str = "log-start-offset-checkpoint";
pub(super) const LEADER_EPOCHS: &str = "leader-epoch-checkpoint";
pub(super) const METADATA: &str = "partition.metadata";
pub(super) const CLEAN: &str = "thalweg.clean";
pub(super) const REMOVED: &str = "-delete";
pub(super) const STRAY: &str = "-stray";

const LOCK: &str = ".lock";
const IDENTITY: &str = "meta.properties";
const FORMAT: &str = "thalweg.format";
/// What this code reads and writes. A directory of a higher level is not opened.
const LEVEL: u32 = 1;
/// Longest name of a file on every usual file system.
const NAME_MAX: usize = 255;

/// Why an engine doesn't start.
#[derive(Debug)]
pub enum StartError {
    /// Another process holds the directory.
    Locked {
        /// The lock file.
        lock: PathBuf,
    },
    /// The directory was written by a newer Thalweg.
    TooNew {
        /// The directory.
        dir: PathBuf,
        /// Its storage level.
        level: u32,
    },
    /// The directory belongs to another cluster or broker, or is none of ours.
    Foreign {
        /// The file that says so.
        file: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// `fsync` durability needs Linux 5.8, from which on `syncfs` reports errors.
    OldKernel(String),
    /// The file system refused.
    Io {
        /// What it was about.
        path: PathBuf,
        /// Its answer.
        error: io::Error,
    },
}

impl StartError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { path: path.to_owned(), error }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { lock } => {
                write!(f, "another process uses the directory: it holds the lock {}", lock.display())
            }
            Self::TooNew { dir, level } => {
                write!(f, "{} has storage level {level}; this version reads up to {LEVEL}", dir.display())
            }
            Self::Foreign { file, what } => write!(f, "{}: {what}", file.display()),
            Self::OldKernel(release) => {
                write!(f, "thalweg.durability=fsync needs Linux 5.8 or newer, this is {release}")
            }
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for StartError {}

/// Who a directory belongs to (`meta.properties`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) cluster_id: String,
    pub(super) node_id: i32,
    pub(super) directory_id: Uuid,
}

/// A locked directory, and what was written of it at the last start.
pub(super) struct Claimed {
    pub(super) path: PathBuf,
    pub(super) lock: File,
    pub(super) identity: Option<Identity>,
    pub(super) epoch: Option<Epoch>,
    pub(super) clean: bool,
}

impl Claimed {
    /// Locks a directory, which is created if need be, and reads who it belongs to.
    pub(super) fn claim(path: &Path) -> Result<Self, StartError> {
        fs::create_dir_all(path).map_err(StartError::io(path))?;
        let name = path.join(LOCK);
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(&name);
        let lock = lock.map_err(StartError::io(&name))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StartError::Locked { lock: name }),
            Err(TryLockError::Error(error)) => return Err(StartError::Io { path: name, error }),
        }
        let identity = read_identity(&path.join(IDENTITY))?;
        let epoch = read_format(path)?;
        let clean = path.join(CLEAN).exists();
        Ok(Self { path: path.to_owned(), lock, identity, epoch, clean })
    }

    /// Writes identity and boot epoch, and takes the clean marker away: from here on a stop is a crash, until
    /// the marker is written again.
    pub(super) fn begin(&self, disk: &Disk, identity: &Identity, epoch: Epoch) -> io::Result<()> {
        disk.remove(&self.path.join(CLEAN))?;
        if self.identity.is_none() {
            let text = format!(
                "version=1\ncluster.id={}\nnode.id={}\ndirectory.id={}\n",
                identity.cluster_id, identity.node_id, identity.directory_id
            );
            disk.replace(&self.path.join(IDENTITY), text.as_bytes())?;
        }
        disk.replace(&self.path.join(FORMAT), format!("level={LEVEL}\nepoch={epoch}\n").as_bytes())?;
        disk.sync_path(&self.path)
    }
}

fn read_identity(path: &Path) -> Result<Option<Identity>, StartError> {
    let Some(text) = read_if_there(path).map_err(StartError::io(path))? else { return Ok(None) };
    let fields = properties(&text);
    let foreign = |what: &str| StartError::Foreign { file: path.to_owned(), what: what.to_owned() };
    let field = |name: &str| fields.get(name).copied().ok_or_else(|| foreign(&format!("{name} is missing")));
    if field("version")? != "1" {
        return Err(foreign("only version=1 is known"));
    }
    let node_id = field("node.id")?.parse().map_err(|_| foreign("node.id is not a number"))?;
    let directory_id = field("directory.id")?.parse().map_err(|_| foreign("directory.id is not an id"))?;
    Ok(Some(Identity { cluster_id: field("cluster.id")?.to_owned(), node_id, directory_id }))
}

fn read_format(dir: &Path) -> Result<Option<Epoch>, StartError> {
    let path = dir.join(FORMAT);
    let Some(text) = read_if_there(&path).map_err(StartError::io(&path))? else { return Ok(None) };
    let fields = properties(&text);
    let number = |name: &str| fields.get(name).and_then(|it| it.parse().ok());
    let (Some(level), Some(epoch)) = (number("level"), number("epoch")) else {
        return Err(StartError::Foreign { file: path, what: "level or epoch is missing".to_owned() });
    };
    match u32::try_from(level) {
        Ok(level) if level <= LEVEL => Ok(Some(epoch)),
        Ok(level) => Err(StartError::TooNew { dir: dir.to_owned(), level }),
        Err(_) => Err(StartError::Foreign { file: path, what: "level is not a number".to_owned() }),
    }
}

/// Reads a small text file; none if it is not there.
pub(super) fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn properties(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().map(str::trim).filter(|it| !it.starts_with('#'));
    lines.filter_map(|it| it.split_once('=')).map(|(name, value)| (name.trim(), value.trim())).collect()
}

/// Folder of a partition.
pub(super) fn folder(id: &PartitionId) -> String {
    format!("{}-{}", id.topic, id.index)
}

/// Topic and number of a partition's folder.
pub(super) fn parse_folder(name: &str) -> Option<(&str, i32)> {
    let (topic, index) = name.rsplit_once('-')?;
    let number: i32 = index.parse().ok()?;
    // A number that would be written in another way is some other folder.
    (!topic.is_empty() && number >= 0 && number.to_string() == index).then_some((topic, number))
}

/// Folder of a partition that is being removed: `<topic>-<n>.<id>-delete`, the topic cut if it gets too long.
pub(super) fn removed_folder(id: &PartitionId, unique: Uuid) -> String {
    let hex = unique.0.iter().fold(String::new(), |mut out, byte| {
        // Writing to a string can't fail.
        let _ = write!(out, "{byte:02x}");
        out
    });
    let tail = format!("-{}.{hex}{REMOVED}", id.index);
    let room = NAME_MAX.saturating_sub(tail.len());
    format!("{}{tail}", id.topic.chars().take(room).collect::<String>())
}

/// File of a segment: 20 digits of its first offset, and what it holds.
pub(super) fn segment_file(base: Offset, extension: &str) -> String {
    format!("{base:020}.{extension}")
}

/// First offset in the name of a segment's file with that extension.
pub(super) fn parse_segment_file(name: &str, extension: &str) -> Option<Offset> {
    let digits = name.strip_suffix(extension)?.strip_suffix('.')?;
    (digits.len() == 20).then(|| digits.parse().ok()).flatten()
}

pub(super) fn metadata_text(id: Uuid) -> String {
    format!("version: 0\ntopic_id: {id}\n")
}

pub(super) fn parse_metadata(text: &str) -> Option<Uuid> {
    let mut lines = text.lines();
    lines.next().filter(|it| *it == "version: 0")?;
    lines.next()?.strip_prefix("topic_id: ")?.parse().ok()
}

/// Offsets by folder of the partition, as Kafka's checkpoint files have them.
pub(super) type Offsets = BTreeMap<String, Offset>;

pub(super) fn offsets_text(offsets: &Offsets) -> String {
    let mut out = format!("0\n{}\n", offsets.len());
    for (folder, offset) in offsets {
        let (topic, index) = folder.rsplit_once('-').unwrap_or((folder, "0"));
        // Writing to a string can't fail.
        let _ = writeln!(out, "{topic} {index} {offset}");
    }
    out
}

/// None if the text is not a whole checkpoint.
pub(super) fn parse_offsets(text: &str) -> Option<Offsets> {
    let (count, lines) = checkpoint(text)?;
    let mut out = Offsets::new();
    for line in lines {
        let mut words = line.split(' ');
        let (topic, index, offset) = (words.next()?, words.next()?, words.next()?);
        out.insert(format!("{topic}-{index}"), offset.parse().ok()?);
    }
    (out.len() == count).then_some(out)
}

pub(super) fn epochs_text(epochs: &[(Epoch, Offset)]) -> String {
    let mut out = format!("0\n{}\n", epochs.len());
    for (epoch, start) in epochs {
        // Writing to a string can't fail.
        let _ = writeln!(out, "{epoch} {start}");
    }
    out
}

/// None if the text is not a whole checkpoint.
pub(super) fn parse_epochs(text: &str) -> Option<Vec<(Epoch, Offset)>> {
    let (count, lines) = checkpoint(text)?;
    let pair = |line: &str| {
        let (epoch, start) = line.split_once(' ')?;
        Some((epoch.parse().ok()?, start.parse().ok()?))
    };
    let out: Vec<_> = lines.map(pair).collect::<Option<_>>()?;
    (out.len() == count).then_some(out)
}

fn checkpoint(text: &str) -> Option<(usize, std::str::Lines<'_>)> {
    let mut lines = text.lines();
    lines.next().filter(|it| *it == "0")?;
    Some((lines.next()?.parse().ok()?, lines))
}

/// A random id. As with Kafka none begins with a dash, which command lines take for an option.
pub(super) fn random_id() -> io::Result<Uuid> {
    loop {
        let mut id = [0; 16];
        rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty())?;
        if !Uuid(id).to_string().starts_with('-') {
            return Ok(Uuid(id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(topic: &str, index: i32) -> PartitionId {
        PartitionId { topic_id: Uuid::default(), topic: topic.into(), index }
    }

    #[test]
    fn folders_are_parsed_back() {
        assert_eq!(parse_folder("a-b-12"), Some(("a-b", 12)));
        for other in ["a", "a-", "-1", "a-01", "a-+1", "a--1x", "a-1.uuid-delete"] {
            assert_eq!(parse_folder(other), None, "{other}");
        }
    }

    #[test]
    fn removed_folder_fits_the_longest_topic() {
        let name = removed_folder(&id(&"x".repeat(249), 123_456), Uuid([1; 16]));
        assert!(name.len() == 255 && name.ends_with("-delete") && name.contains("-123456."));
    }

    #[test]
    fn checkpoints_are_read_back_or_not_at_all() {
        let offsets = Offsets::from([("a-b-0".to_owned(), 7), ("t-11".to_owned(), 0)]);
        let text = offsets_text(&offsets);
        assert_eq!(text, "0\n2\na-b 0 7\nt 11 0\n");
        assert_eq!(parse_offsets(&text), Some(offsets));
        assert_eq!(parse_offsets("0\n2\na 0 7\n"), None);
        assert_eq!(parse_offsets(""), None);
        let epochs = vec![(0, 0), (3, 17)];
        assert_eq!(epochs_text(&epochs), "0\n2\n0 0\n3 17\n");
        assert_eq!(parse_epochs(&epochs_text(&epochs)), Some(epochs));
        assert_eq!(parse_epochs("0\n1\n"), None);
    }

    #[test]
    fn metadata_is_read_back() {
        let id = Uuid([3; 16]);
        assert_eq!(parse_metadata(&metadata_text(id)), Some(id));
        assert_eq!(parse_metadata(""), None);
    }

    #[test]
    fn segment_files_have_twenty_digits() {
        assert_eq!(segment_file(42, "log"), "00000000000000000042.log");
        assert_eq!(parse_segment_file("00000000000000000042.log", "log"), Some(42));
        assert_eq!(parse_segment_file("42.log", "log"), None);
        assert_eq!(parse_segment_file("00000000000000000042.timeindex", "index"), None);
    }
}
