//! Walking from batch header to batch header through a file.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use wire::batch::{BatchHeader, HEADER_LEN, crc32c};

use crate::log::{Offset, OpenFile, Place, Refused};

/// Read at once: holds the headers of all batches between two index entries if they are small.
const WINDOW: usize = 8_192;
/// Where what the checksum covers begins.
const CRC_FROM: usize = 21;
/// Read at once for a checksum.
const CHECK: usize = 1 << 18;

/// A place between two batches of a file, and the bytes around it.
pub(super) struct Walk {
    pub(super) file: Arc<OpenFile>,
    /// Where the next batch begins.
    pub(super) position: u64,
    /// Where the file ends for this walk.
    limit: u64,
    window: Vec<u8>,
    window_at: u64,
}

/// Why no batch stands at a position.
#[derive(Debug)]
pub(super) enum Broken {
    /// What is wrong.
    Bytes(String),
    /// The file can't be read.
    Io(io::Error),
}

impl Broken {
    /// The same for a batch that was durable.
    pub(super) fn refused(self, file: &Path, position: u64, offset: Offset) -> Refused {
        match self {
            Self::Bytes(what) => Refused::Corrupt(Place { file: file.to_owned(), position, offset, what }),
            Self::Io(error) => error.into(),
        }
    }
}

impl Walk {
    pub(super) fn new(file: Arc<OpenFile>, position: u64, limit: u64) -> Self {
        Self { file, position, limit, window: Vec::new(), window_at: 0 }
    }

    /// The next batch, which lies wholly inside the limit, and where it begins; none at the limit. Its records
    /// are not looked at.
    pub(super) fn next(&mut self) -> Result<Option<(u64, BatchHeader)>, Broken> {
        if self.position >= self.limit {
            return Ok(None);
        }
        let at = self.position;
        let header = BatchHeader::parse(self.head()?).map_err(|it| Broken::Bytes(it.to_string()))?;
        let end = at.saturating_add(header.size() as u64);
        if end > self.limit {
            return Err(Broken::Bytes(format!(
                "a batch of {} bytes passes the end of the file at {}",
                header.size(),
                self.limit
            )));
        }
        if header.last_offset_delta < 0 || header.base_offset < 0 {
            return Err(Broken::Bytes("a batch with a negative offset".to_owned()));
        }
        self.position = end;
        Ok(Some((at, header)))
    }

    /// The bytes of the header at the position, fewer at the limit.
    fn head(&mut self) -> Result<&[u8], Broken> {
        let wanted = self.limit.saturating_sub(self.position).min(HEADER_LEN as u64);
        let window_end = self.window_at.saturating_add(self.window.len() as u64);
        if self.position < self.window_at || self.position.saturating_add(wanted) > window_end {
            let size = self.limit.saturating_sub(self.position).min(WINDOW as u64);
            self.window.resize(usize::try_from(size).unwrap_or(WINDOW), 0);
            self.window_at = self.position;
            self.file.read_exact_at(&mut self.window, self.position).map_err(unread)?;
        }
        let from = usize::try_from(self.position.saturating_sub(self.window_at)).unwrap_or(0);
        let to = from.saturating_add(usize::try_from(wanted).unwrap_or(0));
        Ok(self.window.get(from..to).unwrap_or_default())
    }
}

/// Reads a batch again and compares its checksum.
pub(super) fn check_crc(
    file: &OpenFile,
    at: u64,
    header: &BatchHeader,
    scratch: &mut Vec<u8>,
) -> Result<(), Broken> {
    let size = header.size();
    if size <= CHECK {
        scratch.resize(size, 0);
        file.read_exact_at(scratch, at).map_err(unread)?;
        let covered = scratch.get(CRC_FROM..).unwrap_or_default();
        return same_crc(header, crc32c(&[covered]));
    }
    // A batch may have the size of the largest request: it is read whole, but the room is given back.
    let mut whole = vec![0; size.saturating_sub(CRC_FROM)];
    file.read_exact_at(&mut whole, at.saturating_add(CRC_FROM as u64)).map_err(unread)?;
    same_crc(header, crc32c(&[&whole]))
}

/// A file that is shorter than what was written to it is damaged; the device is not to blame.
fn unread(error: io::Error) -> Broken {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return Broken::Bytes("the file ends before what was written to it".to_owned());
    }
    Broken::Io(error)
}

fn same_crc(header: &BatchHeader, computed: u32) -> Result<(), Broken> {
    if computed == header.crc {
        return Ok(());
    }
    Err(Broken::Bytes(format!("stored crc is {}, computed crc is {computed}", header.crc)))
}
