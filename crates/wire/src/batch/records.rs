//! Walking the batches of a byte string (`broker-core` 7.2).

use bytes::Bytes;

use super::Invalid;
use super::block::{Block, Record, RecordIter};
use super::header::{BatchHeader, HEADER_LEN, check_magic};

/// What the records of one batch may inflate to where the caller has no limit of its own. `max.message.bytes`
/// bounds the compressed batch, and well-compressible ones are legal, so this is large.
pub const INFLATED_BYTES_MAX: usize = 1 << 30;

/// Bytes that hold base offset and length.
const LENGTH_END: usize = 12;

/// Bytes up to and including the magic, which stands at the same place in every format.
const MAGIC_END: usize = 17;

/// The least length field of any format; below it the bytes are no batch at all.
const LENGTH_MIN: i64 = 14;

/// One batch: its header and all its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The header as fields.
    pub header: BatchHeader,
    /// The batch, header included.
    pub bytes: Bytes,
}

impl Batch {
    /// The bytes after the header: the records, possibly compressed.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        self.bytes.slice(HEADER_LEN.min(self.bytes.len())..)
    }

    /// Compares the checksum.
    pub fn verify(&self) -> Result<(), Invalid> {
        self.header.verify(self.bytes.get(HEADER_LEN..).unwrap_or_default())
    }

    /// The records, inflated to at most `limit` bytes if they are compressed.
    pub fn records_within(&self, limit: usize) -> Result<RecordIter, Invalid> {
        RecordIter::new(&self.header, &self.payload(), limit)
    }

    /// The records, inflated to at most [`INFLATED_BYTES_MAX`] bytes if they are compressed.
    pub fn records(&self) -> Result<RecordIter, Invalid> {
        self.records_within(INFLATED_BYTES_MAX)
    }

    /// The records to be looked at in place, inflated as by [`Self::records`].
    pub fn block(&self) -> Result<Block, Invalid> {
        Block::new(&self.header, &self.payload(), INFLATED_BYTES_MAX)
    }
}

/// The batches of a byte string, one after the other. It ends at the end, at an incomplete batch (a Fetch may
/// cut the last one), or after an error. Checksums are not looked at.
#[derive(Debug, Clone)]
pub struct Batches {
    rest: Bytes,
    failed: bool,
}

impl Batches {
    /// Starts at the beginning of `bytes`.
    #[must_use]
    pub fn new(bytes: Bytes) -> Self {
        Self { rest: bytes, failed: false }
    }

    /// What has not been walked: after the last batch, the bytes that are none.
    #[must_use]
    pub fn rest(&self) -> &Bytes {
        &self.rest
    }

    fn step(&mut self) -> Result<Option<Batch>, Invalid> {
        let Some(head) = self.rest.first_chunk::<LENGTH_END>() else { return Ok(None) };
        let [_, _, _, _, _, _, _, _, length @ ..] = head;
        let length = i64::from(i32::from_be_bytes(*length));
        if length < LENGTH_MIN {
            return Err(Invalid::Length { length, least: LENGTH_MIN });
        }
        let Some(&magic) = self.rest.get(MAGIC_END - 1) else { return Ok(None) };
        check_magic(magic.cast_signed())?;
        let size = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(LENGTH_END);
        if size > self.rest.len() {
            return Ok(None);
        }
        let bytes = self.rest.slice(..size);
        let header = BatchHeader::parse(&bytes)?;
        self.rest = self.rest.slice(size..);
        Ok(Some(Batch { header, bytes }))
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, Invalid>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        step.transpose()
    }
}

/// All records of all batches of `bytes`, control records left out. It ends at the first error.
pub fn records(bytes: &Bytes) -> impl Iterator<Item = Result<Record, Invalid>> + use<> {
    let data = Batches::new(bytes.clone())
        .filter(|batch| batch.as_ref().map_or(true, |batch| !batch.header.attributes.is_control()));
    let mut failed = false;
    data.flat_map(|batch| match batch.and_then(|batch| batch.records()) {
        Ok(records) => Step::Records(records),
        Err(why) => Step::Failed(Some(why)),
    })
    .take_while(move |record| !std::mem::replace(&mut failed, record.is_err()))
}

/// Either the records of a batch, or the error in their place.
enum Step {
    Records(RecordIter),
    Failed(Option<Invalid>),
}

impl Iterator for Step {
    type Item = Result<Record, Invalid>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Records(records) => records.next(),
            Self::Failed(why) => why.take().map(Err),
        }
    }
}
