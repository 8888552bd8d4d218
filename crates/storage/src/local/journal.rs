//! The journal as a log of its own in the first data directory, flushed before every answer.
//!
//! A version is an offset after the last entry: entry n is the record at offset n − 1. A snapshot is a file
//! `<version>.image` beside the segments; the log is then trimmed to it.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use wire::batch::{BatchBuilder, crc32c, records};

use super::dir::{parse_segment_file, segment_file};
use super::lane::LocalLane;
use super::log::{LocalLog, full_or_io, now};
use crate::journal::{Journal, JournalError, Since, Version};
use crate::log::{Batch, Batches, BoxFuture, Log, LogSettings, Place, Refused, Span, Urgency};

/// Read of the log at once.
const READ_BYTES: usize = 1 << 20;
/// Small segments, so that a snapshot lets old entries go.
const SEGMENT_BYTES: u32 = 16 << 20;
/// Extension of a snapshot's file.
const IMAGE: &str = "image";

/// A journal in a data directory.
pub struct LocalJournal {
    /// The lane lives as long as its journal does.
    _lane: Arc<LocalLane>,
    log: Arc<LocalLog>,
    /// Held from the comparison with the head to the append.
    head: Mutex<Version>,
}

impl LocalJournal {
    pub(super) fn open(lane: Arc<LocalLane>) -> Result<Self, Refused> {
        let log = lane.journal()?;
        log.configure(LogSettings { segment_bytes: SEGMENT_BYTES, ..LogSettings::default() });
        let head = Mutex::new(log.current().end);
        Ok(Self { _lane: lane, log, head })
    }

    fn append_now(&self, after: Version, entries: &[Bytes]) -> Result<Version, JournalError> {
        let mut head = self.head.lock();
        if *head != after {
            return Err(JournalError::Behind(*head));
        }
        let mut batch = BatchBuilder::new().base_offset(after).leader_epoch(0);
        let now = now();
        for entry in entries {
            batch.add(now, None, Some(entry), &[]);
        }
        let batch = Batch::from_bytes(&batch.build()).expect("a batch of our own is whole");
        self.log.append(Batches { items: vec![batch], urgency: Urgency::Soon })?;
        *head = self.log.current().end;
        Ok(*head)
    }

    async fn durable(&self, version: Version) -> Result<(), Refused> {
        let mut ends = self.log.ends();
        // The log owns the sender, so that it can't be gone.
        let ends = ends.wait_for(|it| it.dead || it.durable >= version).await.map_err(|_| Refused::Fenced)?;
        if ends.durable >= version { Ok(()) } else { Err(Refused::Fenced) }
    }

    async fn read_entries(&self, mut after: Version) -> Result<Vec<(Version, Bytes)>, Refused> {
        let mut out = Vec::new();
        let to = self.log.current().durable;
        while after < to {
            let span = Span { from: after, to, max_bytes: READ_BYTES, at_least_one: true };
            let bytes = self.log.read(span).await?.load()?;
            let before = after;
            for record in records(&bytes) {
                let record = record.map_err(|it| self.damaged(after, it.to_string()))?;
                if record.offset >= after {
                    after = record.offset.saturating_add(1);
                    out.push((after, record.value.unwrap_or_default()));
                }
            }
            if after == before {
                return Err(self.damaged(after, "entries are missing".to_owned()));
            }
        }
        Ok(out)
    }

    /// The newest snapshot that is whole.
    fn image(&self) -> Result<Option<(Version, Bytes)>, Refused> {
        for version in self.images()?.into_iter().rev() {
            let bytes = Bytes::from(fs::read(self.image_path(version))?);
            let Some((crc, image)) = bytes.split_first_chunk::<4>() else { continue };
            if u32::from_be_bytes(*crc) == crc32c(&[image]) {
                return Ok(Some((version, bytes.slice(4..))));
            }
            tracing::error!(version, "a snapshot of the journal is damaged, the one before is taken");
        }
        Ok(None)
    }

    fn images(&self) -> io::Result<Vec<Version>> {
        let mut out = Vec::new();
        for entry in fs::read_dir(&self.log.path)? {
            out.extend(entry?.file_name().to_str().and_then(|it| parse_segment_file(it, IMAGE)));
        }
        out.sort_unstable();
        Ok(out)
    }

    fn image_path(&self, version: Version) -> PathBuf {
        self.log.path.join(segment_file(version, IMAGE))
    }

    fn write_image(&self, version: Version, image: &[u8]) -> io::Result<()> {
        let disk = &self.log.shared.disk;
        let mut content = crc32c(&[image]).to_be_bytes().to_vec();
        content.extend_from_slice(image);
        disk.replace(&self.image_path(version), &content)?;
        disk.sync_path(&self.log.path)?;
        let old = self.images()?.into_iter().filter(|it| *it < version);
        old.map(|it| self.image_path(it)).try_for_each(|it| disk.remove(&it))
    }

    fn damaged(&self, version: Version, what: String) -> Refused {
        Refused::Corrupt(Place { file: self.log.path.clone(), position: 0, offset: version, what })
    }
}

impl Journal for LocalJournal {
    fn append(&self, after: Version, entries: Vec<Bytes>) -> BoxFuture<'_, Result<Version, JournalError>> {
        Box::pin(async move {
            let head = if entries.is_empty() {
                let head = *self.head.lock();
                if head != after {
                    return Err(JournalError::Behind(head));
                }
                head
            } else {
                self.append_now(after, &entries)?
            };
            self.durable(head).await?;
            Ok(head)
        })
    }

    fn read(&self, after: Version) -> BoxFuture<'_, Result<Since, Refused>> {
        Box::pin(async move {
            let snapshot = self.image()?.filter(|(version, _)| *version > after);
            let from = snapshot.as_ref().map_or(after, |(version, _)| *version);
            let start = self.log.current().start;
            if from < start {
                return Err(
                    self.damaged(from, format!("entries begin at {start} and no snapshot reaches back"))
                );
            }
            Ok(Since { entries: self.read_entries(from).await?, snapshot })
        })
    }

    fn head(&self) -> Version {
        *self.head.lock()
    }

    fn snapshot(&self, version: Version, image: Bytes) -> BoxFuture<'_, Result<(), Refused>> {
        Box::pin(async move {
            let newest = self.images()?.last().copied().unwrap_or(0);
            if version <= newest || version > self.log.current().durable {
                return Ok(());
            }
            self.write_image(version, &image).map_err(full_or_io)?;
            self.log.trim(version).await
        })
    }
}
