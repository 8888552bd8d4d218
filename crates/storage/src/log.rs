//! The seam of storage: an [`Engine`] opens lanes, a [`Lane`] holds logs, a [`Log`] holds the batches of one
//! partition.
//!
//! Rules that every engine keeps, checked by `conformance`:
//!
//! 1. Appends of one log become durable in call order. After `durable = d`, every byte below d survives a
//!    stop of the process at any point, and under [`Durability::Fsync`] a power cut.
//! 2. `durable` never goes back, and it is the only bound up to which `read` returns bytes.
//! 3. After `Fenced` or `Io` the lane is dead: every later append is refused and `durable` is frozen. The
//!    caller drops the lane and opens anew; there is no undo. After `Full` nothing has changed.
//! 4. A read at an offset inside a batch returns that whole batch first, and at least one batch, even above
//!    the size limit, when the span asks so.
//! 5. Bytes come back exactly as appended; batches are never split or merged.
//!
//! Rewriting of closed segments (compaction) joins the trait when there is a cleaner that calls it.

use std::fmt;
use std::future::Future;
use std::io;
use std::ops::Deref;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::sync::watch;
pub use wire::Uuid;
use wire::batch::{BatchHeader, HEADER_LEN};

/// Position of a record in its partition.
pub type Offset = i64;
/// Number of a lane's ownership; the partition leader epoch that clients see and that batches carry.
pub type Epoch = i32;
/// Milliseconds since 1970, or a duration in milliseconds.
pub type Millis = i64;
/// Number of a lane, from 0.
pub type LaneId = u32;
/// One life of a broker process: a random positive number.
pub type SessionId = i64;
/// What the methods of the seam return where they may have to wait.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Opens lanes.
pub trait Engine: Send + Sync {
    /// How many lanes there are; they are numbered from 0.
    fn lanes(&self) -> u32;

    /// Recovers the lane and makes this process its only writer, or says `Fenced`.
    fn open(&self, lane: LaneId, grant: Grant) -> BoxFuture<'_, Result<Arc<dyn Lane>, Refused>>;
}

/// A set of partitions with one owner, one epoch and one ordered chain of writes.
pub trait Lane: Send + Sync {
    /// Every partition of the lane: what recovery found, and what was created since.
    fn partitions(&self) -> Vec<Recovered>;

    /// The log of a partition, created if it is new. `Corrupt` if recovery found its durable part damaged.
    fn log(&self, id: &PartitionId) -> Result<Arc<dyn Log>, Refused>;

    /// Removes a partition and all of its records. Nothing happens if it is not there.
    fn remove(&self, id: &PartitionId) -> BoxFuture<'_, Result<(), Refused>>;

    /// Takes a partition that the metadata does not know out of use. An engine whose lanes outlive the metadata
    /// keeps the records under another name, since it may be the metadata that is wrong.
    fn set_aside(&self, id: &PartitionId) -> BoxFuture<'_, Result<(), Refused>> {
        self.remove(id)
    }

    /// Becomes true when the lane dies (rule 3).
    fn fenced(&self) -> watch::Receiver<bool>;

    /// Makes what was appended and saved so far cheap to recover. The host calls it every
    /// `thalweg.snapshot.ms`, after `Log::save` of the partitions that changed.
    fn checkpoint(&self) -> BoxFuture<'_, Result<(), Refused>>;

    /// Flushes, checkpoints and gives the lane up. Later appends are refused.
    fn close(&self) -> BoxFuture<'_, Result<(), Refused>>;

    /// Where the lane is kept, for operators and for DescribeLogDirs.
    fn place(&self) -> String;
}

/// The batches of one partition.
pub trait Log: Send + Sync {
    /// Appends batches with assigned offsets, in call order; the first must begin at `end`. Returns at once;
    /// `ends` tells the rest.
    fn append(&self, batches: Batches) -> Result<(), Refused>;

    /// Start, durable end and end. A change of `end` alone wakes nobody, since nothing that a client sees may
    /// depend on it.
    fn ends(&self) -> watch::Receiver<Ends>;

    /// Whole batches of the span that are durable. None if there are none; `Gone` if `span.from` is below the
    /// start.
    fn read(&self, span: Span) -> BoxFuture<'_, Result<Slices, Refused>>;

    /// The first durable batch whose largest timestamp is at or above `timestamp`.
    fn find(&self, timestamp: Millis) -> BoxFuture<'_, Result<Option<Found>, Refused>>;

    /// The first durable batch among those with the largest timestamp.
    fn newest(&self) -> BoxFuture<'_, Result<Option<Found>, Refused>>;

    /// Moves the start up to `start`, at most to the durable end. When it returns, the move survives.
    fn trim(&self, start: Offset) -> BoxFuture<'_, Result<(), Refused>>;

    /// Keeps what the partition knows as of an offset. It is written with the next checkpoint, and never counts
    /// for more than the records that are durable.
    fn save(&self, snapshot: PartitionSnapshot) -> Result<(), Refused>;

    /// The newest snapshot that is not beyond the end; batches from its offset on are to be replayed.
    fn saved(&self) -> Result<Option<PartitionSnapshot>, Refused>;

    /// Settings of the topic; engines without files ignore what means files.
    fn configure(&self, settings: LogSettings);

    /// Bytes that the log takes, for DescribeLogDirs and retention.
    fn size(&self) -> u64;
}

/// The right to write a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Epoch of the ownership.
    pub epoch: Epoch,
    /// The process that owns.
    pub session: SessionId,
}

/// A partition of a topic. The id decides what is the same; the name is for people and for names of folders.
#[derive(Debug, Clone)]
pub struct PartitionId {
    /// Id of the topic.
    pub topic_id: Uuid,
    /// Name of the topic.
    pub topic: Arc<str>,
    /// Number of the partition.
    pub index: i32,
}

impl PartitionId {
    fn key(&self) -> (Uuid, i32) {
        (self.topic_id, self.index)
    }
}

impl PartialEq for PartitionId {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for PartitionId {}

impl PartialOrd for PartitionId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PartitionId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl std::hash::Hash for PartitionId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl fmt::Display for PartitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.index)
    }
}

/// The offsets that bound a log: `start <= durable <= end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ends {
    /// The first offset that can be read.
    pub start: Offset,
    /// Offset after the last record that survives; the high watermark.
    pub durable: Offset,
    /// Offset after the last record appended.
    pub end: Offset,
    /// The log takes no more appends and `durable` is frozen: the lane died or was closed, or the partition
    /// was removed. Who waits for `durable` must give up.
    pub dead: bool,
}

/// A batch whose offsets are assigned: header as it is to be stored, and the bytes after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The header, with base offset and leader epoch of this log.
    pub header: BatchHeader,
    /// All bytes after the header.
    pub body: Bytes,
}

impl Batch {
    /// Splits the bytes of exactly one batch.
    #[must_use]
    pub fn from_bytes(bytes: &Bytes) -> Option<Self> {
        let header = BatchHeader::parse(bytes).ok()?;
        (header.size() == bytes.len()).then(|| Self { header, body: bytes.slice(HEADER_LEN..) })
    }

    /// Header and body in one piece; copies.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.size());
        out.extend_from_slice(&self.header.encode());
        out.extend_from_slice(&self.body);
        out.freeze()
    }

    /// Bytes of header and body.
    #[must_use]
    pub fn size(&self) -> usize {
        HEADER_LEN.saturating_add(self.body.len())
    }
}

/// What one append brings.
#[derive(Debug, Clone)]
pub struct Batches {
    /// The batches, each beginning where the one before ends.
    pub items: Vec<Batch>,
    /// How much the caller hurries.
    pub urgency: Urgency,
}

impl Batches {
    /// Batches of the usual urgency.
    #[must_use]
    pub fn new(items: Vec<Batch>) -> Self {
        Self { items, urgency: Urgency::Bulk }
    }
}

/// How soon an append wants to be durable. Engines that flush at once make no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Records of clients: may wait to be gathered.
    Bulk,
    /// Small writes of coordinators that a request waits for.
    Soon,
}

/// What a read asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first offset wanted.
    pub from: Offset,
    /// Only batches that end at or below this offset.
    pub to: Offset,
    /// Bytes wanted at most.
    pub max_bytes: usize,
    /// Give one batch even if it is larger than `max_bytes`.
    pub at_least_one: bool,
}

/// What a read gives: whole batches, in order.
#[derive(Debug, Clone, Default)]
pub struct Slices {
    /// Pieces to be sent one after the other. A batch may lie in several.
    pub items: Vec<Slice>,
    /// Offset after the last batch, or above it where nothing lies between. Without batches it means nothing.
    pub next: Offset,
}

impl Slices {
    /// Bytes of all pieces.
    #[must_use]
    pub fn size(&self) -> usize {
        self.items.iter().map(Slice::size).sum()
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.iter().all(|it| it.size() == 0)
    }

    /// All bytes in memory: reads what lies in files, and joins the pieces unless there is only one.
    pub fn load(&self) -> io::Result<Bytes> {
        if let [one] = self.items.as_slice() {
            return one.load();
        }
        let mut out = BytesMut::with_capacity(self.size());
        for slice in &self.items {
            out.extend_from_slice(&slice.load()?);
        }
        Ok(out.freeze())
    }
}

/// A piece of what a read gives.
#[derive(Debug, Clone)]
pub enum Slice {
    /// Bytes in memory.
    Bytes(Bytes),
    /// Bytes of a file, for `sendfile` or for a positional read. The file stays readable while this is held,
    /// also when it is deleted meanwhile.
    File {
        /// The file.
        file: Arc<OpenFile>,
        /// Where the bytes begin.
        offset: u64,
        /// How many.
        len: u32,
    },
}

impl Slice {
    /// How many bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::File { len, .. } => *len as usize,
        }
    }

    /// The bytes, read if they lie in a file.
    pub fn load(&self) -> io::Result<Bytes> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::File { file, offset, len } => Ok(read_at(&file.0, *offset, *len as usize)?.into()),
        }
    }
}

/// Reads into memory that nobody has cleared before.
fn read_at(file: &std::fs::File, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(len);
    while out.len() < len {
        let at = offset.saturating_add(out.len() as u64);
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut out), at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(problem) => return Err(problem.into()),
        }
    }
    // Room may be more than was asked for.
    out.truncate(len);
    Ok(out)
}

/// A file that slices point into.
#[derive(Debug)]
pub struct OpenFile(pub std::fs::File);

impl Deref for OpenFile {
    type Target = std::fs::File;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// A batch found by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Base offset of the batch; the record itself is to be looked for inside.
    pub offset: Offset,
    /// Largest timestamp of the batch.
    pub max_timestamp: Millis,
}

/// A partition as recovery found it.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// Which.
    pub id: PartitionId,
    /// Its offsets.
    pub ends: Ends,
    /// Bytes of a torn tail that were cut off.
    pub cut_bytes: u64,
    /// Set if the durable part is damaged: the partition stays offline.
    pub damage: Option<Place>,
}

/// What a partition knows as of `offset`, kept so that it need not read its whole log again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartitionSnapshot {
    /// Everything below is contained.
    pub offset: Offset,
    /// Content of Kafka's `.snapshot` file, with its version and checksum.
    pub producers: Bytes,
    /// Leader epochs with their first offsets, ascending.
    pub epochs: Vec<(Epoch, Offset)>,
    /// Aborted transactions by last offset, ascending; what lies below the start may be left out.
    pub aborted: Vec<Aborted>,
}

/// An aborted transaction, as `.txnindex` files keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aborted {
    /// Whose.
    pub producer_id: i64,
    /// Its first offset.
    pub first_offset: Offset,
    /// Offset of the ABORT marker.
    pub last_offset: Offset,
    /// Last stable offset when the marker was appended.
    pub last_stable_offset: Offset,
}

/// When an append counts as durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// After a flush: survives a power cut.
    Fsync,
    /// When it is in the page cache: survives a crash of the process. Kafka's own promise for one replica.
    PageCache,
}

/// Settings of a topic that reach down to its files. The names are Kafka's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSettings {
    /// `segment.bytes`
    pub segment_bytes: u32,
    /// `segment.ms`
    pub segment_ms: Millis,
    /// `segment.jitter.ms`
    pub segment_jitter_ms: Millis,
    /// `segment.index.bytes`
    pub segment_index_bytes: u32,
    /// `index.interval.bytes`
    pub index_interval_bytes: u32,
    /// `thalweg.durability` of the topic; the engine's if none.
    pub durability: Option<Durability>,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            segment_bytes: 1 << 30,
            segment_ms: 604_800_000,
            segment_jitter_ms: 0,
            segment_index_bytes: 10 << 20,
            index_interval_bytes: 4096,
            durability: None,
        }
    }
}

/// Why storage did not do it: one variant per reaction of the caller.
#[derive(Debug, Clone)]
pub enum Refused {
    /// Another owner writes the lane, or it was closed: drop it.
    Fenced,
    /// No room. Nothing has changed; the same append may be tried again.
    Full,
    /// The partition, or that part of it, was removed.
    Gone,
    /// Durable data is damaged: the partition is offline until an operator acts.
    Corrupt(Place),
    /// The device failed: the lane is dead.
    Io(Arc<io::Error>),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fenced => f.write_str("the lane has another owner or is closed"),
            Self::Full => f.write_str("no room is left, or too many files are open"),
            Self::Gone => f.write_str("removed"),
            Self::Corrupt(place) => write!(f, "damaged: {place}"),
            Self::Io(error) => write!(f, "storage failed: {error}"),
        }
    }
}

impl std::error::Error for Refused {}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

/// Where something is damaged, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Byte in the file.
    pub position: u64,
    /// Offset that should be there.
    pub offset: Offset,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, position, offset, what } = self;
        write!(f, "{} at byte {position} (offset {offset}): {what}", file.display())
    }
}
