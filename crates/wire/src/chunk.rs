//! Bytes in pieces: what an encoded frame consists of, and what a `records` field holds (decision 14).

use std::iter::Chain;
use std::ops::Deref;
use std::{option, vec};

use bytes::{Bytes, BytesMut};

/// A piece of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    Bytes(Bytes),
    /// Bytes that are not in memory: the connection fills them from a file slice that it knows by `id`. So this
    /// crate knows no storage, and `sendfile` works.
    Hole {
        id: u64,
        length: usize,
    },
}

impl Chunk {
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Hole { length, .. } => *length,
        }
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The chunks as one piece, without a copy if there is only one.
///
/// # Panics
/// If there is a hole: only a connection can fill it.
#[must_use]
pub fn join(chunks: &[Chunk]) -> Bytes {
    let part = |chunk: &Chunk| match chunk {
        Chunk::Bytes(bytes) => bytes.clone(),
        Chunk::Hole { .. } => panic!("a hole has no bytes before the connection fills it"),
    };
    match chunks {
        [] => Bytes::new(),
        [one] => part(one),
        many => {
            let mut out = BytesMut::with_capacity(many.iter().map(Chunk::len).sum());
            many.iter().for_each(|it| out.extend_from_slice(&part(it)));
            out.freeze()
        }
    }
}

/// The chunks of an encoded frame, in order. Most frames are of one chunk, which takes no vector.
#[derive(Debug, Clone)]
pub struct Chunks(Frame);

#[derive(Debug, Clone)]
enum Frame {
    One(Chunk),
    Many(Vec<Chunk>),
}

impl Chunks {
    pub(crate) const fn one(chunk: Chunk) -> Self {
        Self(Frame::One(chunk))
    }

    pub(crate) const fn many(chunks: Vec<Chunk>) -> Self {
        Self(Frame::Many(chunks))
    }
}

impl Deref for Chunks {
    type Target = [Chunk];

    fn deref(&self) -> &[Chunk] {
        match &self.0 {
            Frame::One(chunk) => std::slice::from_ref(chunk),
            Frame::Many(chunks) => chunks,
        }
    }
}

impl IntoIterator for Chunks {
    type Item = Chunk;
    type IntoIter = Chain<option::IntoIter<Chunk>, vec::IntoIter<Chunk>>;

    fn into_iter(self) -> Self::IntoIter {
        let (one, many) = match self.0 {
            Frame::One(chunk) => (Some(chunk), Vec::new()),
            Frame::Many(chunks) => (None, chunks),
        };
        one.into_iter().chain(many)
    }
}

/// The value of a `records` field: record batches, in chunks.
#[derive(Debug, Clone)]
pub struct Records(Pieces);

#[derive(Debug, Clone)]
enum Pieces {
    /// What requests have, and responses from memory: no vector.
    One(Bytes),
    Many {
        length: usize,
        chunks: Vec<Chunk>,
    },
}

/// A [`Chunk`] that is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Piece<'a> {
    Bytes(&'a Bytes),
    Hole { id: u64, length: usize },
}

impl Records {
    /// No batches. Not the same as null.
    pub const EMPTY: Self = Self(Pieces::One(Bytes::new()));

    #[must_use]
    pub fn new(chunks: Vec<Chunk>) -> Self {
        Self(Pieces::Many { length: chunks.iter().map(Chunk::len).sum(), chunks })
    }

    /// The number of bytes, holes included.
    #[must_use]
    pub const fn len(&self) -> usize {
        match &self.0 {
            Pieces::One(bytes) => bytes.len(),
            Pieces::Many { length, .. } => *length,
        }
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[must_use]
    pub fn into_chunks(self) -> Vec<Chunk> {
        match self.0 {
            Pieces::One(bytes) => vec![Chunk::Bytes(bytes)],
            Pieces::Many { chunks, .. } => chunks,
        }
    }

    /// The bytes in one piece; a decoded field is one piece already.
    ///
    /// # Panics
    /// If there is a hole.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        match &self.0 {
            Pieces::One(bytes) => bytes.clone(),
            Pieces::Many { chunks, .. } => join(chunks),
        }
    }

    /// What most are: bytes in one piece.
    #[inline]
    pub(crate) const fn one(&self) -> Option<&Bytes> {
        match &self.0 {
            Pieces::One(bytes) => Some(bytes),
            Pieces::Many { .. } => None,
        }
    }

    /// The pieces in order; none of them is cloned.
    #[inline]
    pub(crate) fn for_each(&self, mut visit: impl FnMut(Piece<'_>)) {
        match &self.0 {
            Pieces::One(bytes) => visit(Piece::Bytes(bytes)),
            Pieces::Many { chunks, .. } => chunks.iter().for_each(|it| match it {
                Chunk::Bytes(bytes) => visit(Piece::Bytes(bytes)),
                Chunk::Hole { id, length } => visit(Piece::Hole { id: *id, length: *length }),
            }),
        }
    }

    fn has_hole(&self) -> bool {
        match &self.0 {
            Pieces::One(_) => false,
            Pieces::Many { chunks, .. } => chunks.iter().any(|it| matches!(it, Chunk::Hole { .. })),
        }
    }
}

impl Default for Records {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl From<Bytes> for Records {
    fn from(bytes: Bytes) -> Self {
        Self(Pieces::One(bytes))
    }
}

/// Equal bytes are equal records however they are cut; holes are compared by id.
impl PartialEq for Records {
    fn eq(&self, other: &Self) -> bool {
        if self.has_hole() || other.has_hole() {
            return self.clone().into_chunks() == other.clone().into_chunks();
        }
        self.len() == other.len() && self.bytes() == other.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_however_cut() {
        let cut = Records::new(vec![
            Chunk::Bytes(Bytes::from_static(b"ab")),
            Chunk::Bytes(Bytes::from_static(b"c")),
        ]);
        assert_eq!(cut, Records::from(Bytes::from_static(b"abc")));
        assert_ne!(Records::new(vec![Chunk::Hole { id: 1, length: 3 }]), cut);
        assert_eq!(cut.bytes(), b"abc".as_slice());
    }
}
