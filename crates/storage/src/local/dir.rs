//! A data directory: names of folders and files, the lock, identity, and the small text files.
//!
//! All of it is Kafka's layout, so that its tools can read a directory; files that begin with `thalweg.` are ours.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use crate::log::{Epoch, Offset, PartitionId, Place, Uuid};

pub(super) const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
pub(super) const LOG_STARTS: &str = "log-start-offset-checkpoint";
/// The two above with topic ids. Kafka's files don't have them, so that a topic that was deleted and made again
/// would get the offsets of the one before.
pub(super) const OWN_RECOVERY_POINTS: &str = "thalweg.recovery-points";
pub(super) const OWN_LOG_STARTS: &str = "thalweg.log-starts";
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
    /// Directories were in use before, and none has the metadata journal.
    NoJournal {
        /// What says so.
        evidence: PathBuf,
    },
    /// A directory that was in use is not among the configured ones, or is empty.
    MissingDirectory {
        /// Its `directory.id`.
        id: String,
        /// Where it was.
        place: String,
        /// The file that says so.
        list: PathBuf,
    },
    /// Two directories have a metadata journal.
    TwoJournals {
        /// Folder of the one.
        first: PathBuf,
        /// Folder of the other.
        second: PathBuf,
    },
    /// The metadata journal is damaged where it had been flushed.
    DamagedJournal(Place),
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
            Self::NoJournal { evidence } => write!(
                f,
                "no directory of log.dirs has the metadata journal (__thalweg_journal-0), but {} is of an earlier \
                 life or of Kafka. Mount the directory with the journal, or name it in log.dirs; to begin anew, \
                 use empty directories. Nothing was changed",
                evidence.display()
            ),
            Self::MissingDirectory { id, place, list } => write!(
                f,
                "the data directory {place} (directory.id {id}) was in use and is missing: its partitions would be \
                 made anew, without their records. Mount it, or name it in log.dirs; to give its records up, remove \
                 its line from {}. Nothing was changed",
                list.display()
            ),
            Self::TwoJournals { first, second } => write!(
                f,
                "there are two metadata journals, {} and {}. Move the one that is not of this broker's data away \
                 (the younger one, if a directory was missing at an earlier start)",
                first.display(),
                second.display()
            ),
            Self::DamagedJournal(place) => write!(
                f,
                "the metadata journal is damaged: {place}. This had been flushed, so that it is no torn write. \
                 Check the disk and restore the folder from a copy; nothing was cut or removed"
            ),
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
    /// The boot of the machine in which the last start was.
    pub(super) boot: Option<String>,
    pub(super) clean: bool,
}

/// What was written at a start.
struct Format {
    epoch: Epoch,
    boot: Option<String>,
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
        let format = read_format(path)?;
        let epoch = format.as_ref().map(|it| it.epoch);
        let boot = format.and_then(|it| it.boot);
        let clean = path.join(CLEAN).exists();
        Ok(Self { path: path.to_owned(), lock, identity, epoch, boot, clean })
    }

    /// The file that says that the directory was in use.
    pub(super) fn evidence(&self) -> Option<PathBuf> {
        let format = self.epoch.map(|_| FORMAT);
        self.identity.as_ref().map(|_| IDENTITY).or(format).map(|it| self.path.join(it))
    }

    /// Writes identity, boot epoch and boot of the machine, and takes the clean marker away: from here on a stop is a crash, until
    /// the marker is written again.
    pub(super) fn begin(
        &self,
        disk: &Disk,
        identity: &Identity,
        epoch: Epoch,
        boot: Option<&str>,
    ) -> io::Result<()> {
        disk.remove(&self.path.join(CLEAN))?;
        if self.identity.is_none() {
            let text = format!(
                "version=1\ncluster.id={}\nnode.id={}\ndirectory.id={}\n",
                identity.cluster_id, identity.node_id, identity.directory_id
            );
            disk.replace(&self.path.join(IDENTITY), text.as_bytes())?;
        }
        let boot = boot.map_or_else(String::new, |it| format!("boot={it}\n"));
        disk.replace(&self.path.join(FORMAT), format!("level={LEVEL}\nepoch={epoch}\n{boot}").as_bytes())?;
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

fn read_format(dir: &Path) -> Result<Option<Format>, StartError> {
    let path = dir.join(FORMAT);
    let Some(text) = read_if_there(&path).map_err(StartError::io(&path))? else { return Ok(None) };
    let fields = properties(&text);
    let number = |name: &str| fields.get(name).and_then(|it| it.parse().ok());
    let (Some(level), Some(epoch)) = (number("level"), number("epoch")) else {
        return Err(StartError::Foreign { file: path, what: "level or epoch is missing".to_owned() });
    };
    match u32::try_from(level) {
        Ok(level) if level <= LEVEL => {
            Ok(Some(Format { epoch, boot: fields.get("boot").map(|it| (*it).to_owned()) }))
        }
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

/// Folder of a partition that is being removed (`<topic>-<n>.<id>-delete`) or set aside (`…-stray`); the topic is
/// cut if it gets too long.
pub(super) fn retired_folder(id: &PartitionId, unique: Uuid, end: &str) -> String {
    let hex = unique.0.iter().fold(String::new(), |mut out, byte| {
        // Writing to a string can't fail.
        let _ = write!(out, "{byte:02x}");
        out
    });
    let tail = format!("-{}.{hex}{end}", id.index);
    let room = NAME_MAX.saturating_sub(tail.len());
    format!("{}{tail}", id.topic.chars().take(room).collect::<String>())
}

/// Whether a folder has the name of a partition that is being removed.
pub(super) fn is_removed_folder(name: &str) -> bool {
    let parts = name.strip_suffix(REMOVED).and_then(|it| it.rsplit_once('.'));
    parts.is_some_and(|(partition, hex)| {
        parse_folder(partition).is_some()
            && hex.len() == 32
            && hex.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it))
    })
}

/// Whether a folder holds no more than what is made of a partition before its first record: the empty file of its
/// first segment, and `partition.metadata` without a topic.
pub(super) fn is_half_made(path: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(path) else { return false };
    let first = segment_file(0, "log");
    let beside = format!("{METADATA}.tmp");
    entries.all(|entry| {
        let Ok(entry) = entry else { return false };
        let name = entry.file_name();
        let empty = entry.metadata().is_ok_and(|it| it.is_file() && it.len() == 0);
        name == *beside || (empty && (name == *METADATA || name == *first))
    })
}

/// Whether a folder without a topic id is the rest of a partition that a power cut left: it holds files of a
/// partition and nothing else.
pub(super) fn is_rest(path: &Path) -> bool {
    let made = fs::read_to_string(path.join(METADATA)).is_ok_and(|it| parse_metadata(&it).is_some());
    let Ok(mut entries) = fs::read_dir(path) else { return false };
    let is_known = |name: &str| {
        let name = name.strip_suffix(".tmp").unwrap_or(name);
        let kinds = ["log", "index", "timeindex", "txnindex", "snapshot"];
        name == METADATA
            || name == LEADER_EPOCHS
            || kinds.iter().any(|it| parse_segment_file(name, it).is_some())
    };
    !made
        && entries.all(|entry| {
            entry.is_ok_and(|it| it.path().is_file() && it.file_name().to_str().is_some_and(is_known))
        })
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

/// Offsets by partition.
pub(super) type Offsets = BTreeMap<PartitionId, Offset>;
/// Offsets by folder of the partition, as Kafka's checkpoint files have them.
pub(super) type FolderOffsets = BTreeMap<String, Offset>;

/// The text of Kafka's file.
pub(super) fn offsets_text(offsets: &Offsets) -> String {
    let mut out = format!("0\n{}\n", offsets.len());
    for (PartitionId { topic, index, .. }, offset) in offsets {
        // Writing to a string can't fail.
        let _ = writeln!(out, "{topic} {index} {offset}");
    }
    out
}

/// The text of our own file.
pub(super) fn own_offsets_text(offsets: &Offsets) -> String {
    let mut out = format!("0\n{}\n", offsets.len());
    for (PartitionId { topic, index, topic_id }, offset) in offsets {
        // Writing to a string can't fail.
        let _ = writeln!(out, "{topic} {index} {offset} {topic_id}");
    }
    out
}

/// None if the text is not a whole checkpoint.
pub(super) fn parse_own_offsets(text: &str) -> Option<Offsets> {
    let (count, lines) = checkpoint(text)?;
    let mut out = Offsets::new();
    for line in lines {
        let mut words = line.split(' ');
        let (topic, index, offset) = (words.next()?, words.next()?, words.next()?);
        let topic_id = words.next()?.parse().ok()?;
        let id = PartitionId { topic_id, topic: topic.into(), index: index.parse().ok()? };
        out.insert(id, offset.parse().ok()?);
    }
    (out.len() == count).then_some(out)
}

/// None if the text is not a whole checkpoint.
pub(super) fn parse_offsets(text: &str) -> Option<FolderOffsets> {
    let (count, lines) = checkpoint(text)?;
    let mut out = FolderOffsets::new();
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
        let name = retired_folder(&id(&"x".repeat(249), 123_456), Uuid([1; 16]), REMOVED);
        assert!(name.len() == 255 && name.ends_with("-delete") && name.contains("-123456."));
        assert!(is_removed_folder(&name));
        for other in ["photos-delete", "a-0.b-delete", "a-0-delete", &name.replace(REMOVED, STRAY)] {
            assert!(!is_removed_folder(other), "{other}");
        }
    }

    #[test]
    fn checkpoints_are_read_back_or_not_at_all() {
        let offsets = Offsets::from([(id("a-b", 0), 7), (id("t", 11), 0)]);
        let text = offsets_text(&offsets);
        assert_eq!(text, "0\n2\na-b 0 7\nt 11 0\n");
        let by_folder = FolderOffsets::from([("a-b-0".to_owned(), 7), ("t-11".to_owned(), 0)]);
        assert_eq!(parse_offsets(&text), Some(by_folder));
        assert_eq!(parse_own_offsets(&own_offsets_text(&offsets)), Some(offsets));
        assert_eq!(parse_own_offsets(&text), None);
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
