//! The traits of messages.

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::cursor::Cursor;
use crate::error::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind};
use crate::fill::Splices;
use crate::read::Reader;
use crate::table;
use crate::walk;
use crate::write::{Refused, Sizer, Writer};

/// The generated half of a message or nested struct. The version is known to be supported.
#[doc(hidden)]
pub trait Body: Default {
    /// Reads the fields of this version over those of a default; over other values it would leak what they own.
    fn read(&mut self, r: &mut Cursor<'_>, v: i16) -> Result<(), DecodeErrorKind>;
    /// What the fields of fixed size take, and an empty tag section.
    fn fixed(v: i16) -> usize;
    /// Checks the value and gives its size beyond `fixed`; what of it is not copied is added to the sizer.
    fn measure(&self, s: &mut Sizer, v: i16) -> Result<usize, Refused>;
    /// Writes a value that was measured without error, and gives back the room that is left.
    fn write<'a>(&self, out: &'a mut [u8], w: &mut Splices, v: i16) -> &'a mut [u8];
}

/// A message: request, response, header, record key or value, or data inside other data.
pub trait Message: Body + Clone + PartialEq + std::fmt::Debug + 'static {
    /// Kafka's name.
    const NAME: &'static str;
    /// The versions that exist, unstable ones included.
    const VERSIONS: RangeInclusive<i16>;
    /// The fields, for generic walkers.
    const TABLE: &'static table::Message;

    /// Reads the message. Bytes behind it are left in the reader.
    ///
    /// # Errors
    /// A version that the message lacks; bytes that are not this message.
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(&version) {
            return Err(DecodeError::at(r.position(), DecodeErrorKind::UnsupportedVersion));
        }
        let (mut it, mut cursor) = (Self::default(), r.cursor());
        match it.read(&mut cursor, version) {
            Ok(()) => {
                let end = cursor.position();
                r.seek(end);
                Ok(it)
            }
            Err(kind) => Err(walk::locate(Self::TABLE, version, r, kind)),
        }
    }

    /// Writes the message.
    ///
    /// # Errors
    /// A version that the message lacks, or a value that the version can't carry (decision 4). Nothing was written.
    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let mut sizer = Sizer::default();
        measure(self, &mut sizer, version)?;
        written(self, w, &sizer, version);
        Ok(())
    }

    /// The number of bytes that `encode` writes.
    ///
    /// # Errors
    /// As `encode`.
    fn size(&self, version: i16) -> Result<usize, EncodeError> {
        let mut sizer = Sizer::default();
        measure(self, &mut sizer, version)?;
        Ok(sizer.total())
    }

    /// The message alone, in one piece.
    ///
    /// # Errors
    /// As `encode`.
    fn to_bytes(&self, version: i16) -> Result<Bytes, EncodeError> {
        let mut writer = Writer::new();
        self.encode(&mut writer, version)?;
        Ok(writer.into_bytes())
    }

    /// The message behind its version as int16 (wire.md 13.1).
    ///
    /// # Errors
    /// As `encode`.
    fn to_prefixed(&self, version: i16) -> Result<Bytes, EncodeError> {
        let mut sizer = Sizer::default();
        measure(self, &mut sizer, version)?;
        let mut writer = Writer::with_capacity(2 + sizer.inline());
        writer.i16(version);
        written(self, &mut writer, &sizer, version);
        Ok(writer.into_bytes())
    }

    /// Reads a message behind its version.
    ///
    /// # Errors
    /// As `decode`.
    fn from_prefixed(bytes: &Bytes) -> Result<(Self, i16), DecodeError> {
        let mut reader = Reader::new(bytes.clone());
        let version = reader.i16().map_err(|kind| DecodeError::at(0, kind))?;
        Ok((Self::decode(&mut reader, version)?, version))
    }

    /// Reads a message behind its version, where versions above the last known one only append fields: consumer
    /// protocol subscriptions and assignments (wire.md 14).
    ///
    /// # Errors
    /// As `decode`.
    fn from_prefixed_forward(bytes: &Bytes) -> Result<(Self, i16), DecodeError> {
        let mut reader = Reader::new(bytes.clone());
        let version = reader.i16().map_err(|kind| DecodeError::at(0, kind))?;
        Ok((Self::decode(&mut reader, version.min(*Self::VERSIONS.end()))?, version))
    }
}

/// Checks a message and adds its size. The sizer stays where it is, since a copy would wait for what was just written.
#[inline]
pub(crate) fn measure<M: Message>(message: &M, sizer: &mut Sizer, version: i16) -> Result<(), EncodeError> {
    if !M::VERSIONS.contains(&version) {
        let kind = EncodeErrorKind::UnsupportedVersion(version);
        return Err(EncodeError { path: M::NAME.to_owned(), kind });
    }
    sizer.total = M::fixed(version) + message.measure(sizer, version).map_err(|it| *it)?;
    if i32::try_from(sizer.total()).is_err() {
        return Err(EncodeError { path: M::NAME.to_owned(), kind: EncodeErrorKind::TooLarge });
    }
    Ok(())
}

/// Writes a message that was measured.
#[inline]
pub(crate) fn written<M: Message>(message: &M, w: &mut Writer, sizer: &Sizer, version: i16) {
    w.fill(sizer, |out, splices| message.write(out, splices, version).len());
}

/// A request, which has a response of the same key and versions.
pub trait Request: Message {
    type Response: Response;
    const KEY: i16;
}

/// A response.
pub trait Response: Message {
    const KEY: i16;
}

/// What a test does to any message by its name.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Erased {
    pub table: &'static table::Message,
    /// Decodes all of the bytes, and gives back what encoding yields, and the predicted size.
    pub roundtrip: fn(Bytes, i16) -> Result<(Bytes, usize), Failed>,
    /// The default, encoded.
    pub default: fn(i16) -> Result<Bytes, EncodeError>,
}

/// What failed in a round trip.
#[doc(hidden)]
#[derive(Debug)]
pub enum Failed {
    Decode(DecodeError),
    Encode(EncodeError),
}

impl Erased {
    pub const fn of<M: Message>() -> Self {
        Self { table: M::TABLE, roundtrip: roundtrip::<M>, default: |version| M::default().to_bytes(version) }
    }
}

fn roundtrip<M: Message>(bytes: Bytes, version: i16) -> Result<(Bytes, usize), Failed> {
    let mut reader = Reader::new(bytes);
    let message = M::decode(&mut reader, version).map_err(Failed::Decode)?;
    if reader.remaining() > 0 {
        return Err(Failed::Decode(DecodeError::at(reader.position(), DecodeErrorKind::TrailingBytes)));
    }
    let bytes = message.to_bytes(version).map_err(Failed::Encode)?;
    let size = message.size(version).map_err(Failed::Encode)?;
    Ok((bytes, size))
}
