//! The four codecs of record batches (`broker-core` 7.4). The records of a batch are one compressed block.
//!
//! Inflating stops at a limit: a small batch may claim to be a huge one.

use std::io::{self, Read, Write};

use bytes::{BufMut, Bytes, BytesMut};

use super::Invalid;

/// A codec, by the number in the lowest three attribute bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Codec {
    /// Records as they are.
    #[default]
    None,
    /// RFC 1952.
    Gzip,
    /// Snappy, in blocks as xerial's Java library frames them, or one raw block.
    Snappy,
    /// An LZ4 frame of independent blocks.
    Lz4,
    /// A zstd frame; needs Produce 7 and Fetch 10.
    Zstd,
}

impl Codec {
    /// The codec with this number.
    pub fn from_id(id: u8) -> Result<Self, Invalid> {
        match id {
            0 => Ok(Self::None),
            1 => Ok(Self::Gzip),
            2 => Ok(Self::Snappy),
            3 => Ok(Self::Lz4),
            4 => Ok(Self::Zstd),
            other => Err(Invalid::Codec(other)),
        }
    }

    /// The number of the codec.
    #[must_use]
    pub fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// The name that Kafka's settings use (`none` for no compression).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

/// Header of the framing that Java's clients put around snappy blocks: magic, version 1, compatible from 1.
const XERIAL_HEADER: [u8; 16] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1];
const XERIAL_MAGIC: &[u8; 8] = &[0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];

/// Plain bytes of one block of framed snappy, as Java writes them.
const XERIAL_BLOCK: usize = 32 * 1024;

/// Compresses with the codec's default level, or `level` where the codec has levels.
#[must_use]
pub fn compress(codec: Codec, level: Option<i32>, plain: &[u8]) -> Bytes {
    match codec {
        Codec::None => Ok(Bytes::copy_from_slice(plain)),
        Codec::Gzip => gzip(level, plain),
        Codec::Snappy => snappy(plain),
        Codec::Lz4 => lz4(plain),
        Codec::Zstd => zstd(level, plain),
    }
    .expect("writing to memory does not fail")
}

/// Inflates at most `limit` bytes; more is `Invalid::TooLarge`. Plain records are passed on uncopied.
pub fn decompress(codec: Codec, packed: &Bytes, limit: usize) -> Result<Bytes, Invalid> {
    match codec {
        Codec::None => Ok(packed.clone()),
        Codec::Gzip => read_to_limit(flate2::read::MultiGzDecoder::new(packed.as_ref()), limit),
        Codec::Snappy => unsnappy(packed, limit),
        Codec::Lz4 => read_to_limit(lz4_flex::frame::FrameDecoder::new(packed.as_ref()), limit),
        Codec::Zstd => {
            read_to_limit(zstd::stream::read::Decoder::new(packed.as_ref()).map_err(broken)?, limit)
        }
    }
}

fn gzip(level: Option<i32>, plain: &[u8]) -> io::Result<Bytes> {
    let level = level.and_then(|level| u32::try_from(level).ok()).filter(|level| (1..=9).contains(level));
    let level = level.map_or_else(flate2::Compression::default, flate2::Compression::new);
    let mut out = flate2::write::GzEncoder::new(Vec::new(), level);
    out.write_all(plain)?;
    out.finish().map(Bytes::from)
}

fn snappy(plain: &[u8]) -> io::Result<Bytes> {
    let mut encoder = snap::raw::Encoder::new();
    let mut out = BytesMut::with_capacity(XERIAL_HEADER.len() + plain.len() / 2);
    out.put_slice(&XERIAL_HEADER);
    for block in plain.chunks(XERIAL_BLOCK) {
        let packed = encoder.compress_vec(block).map_err(io::Error::other)?;
        out.put_u32(u32::try_from(packed.len()).map_err(io::Error::other)?);
        out.put_slice(&packed);
    }
    Ok(out.freeze())
}

/// Java's reader takes independent blocks only, and wants no checksums.
fn lz4(plain: &[u8]) -> io::Result<Bytes> {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    let frame = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max64KB);
    let mut out = FrameEncoder::with_frame_info(frame, Vec::new());
    out.write_all(plain)?;
    out.finish().map(Bytes::from).map_err(io::Error::other)
}

fn zstd(level: Option<i32>, plain: &[u8]) -> io::Result<Bytes> {
    // 3 is the default of `compression.zstd.level`, and of the library.
    zstd::bulk::compress(plain, level.unwrap_or(3)).map(Bytes::from)
}

fn unsnappy(packed: &Bytes, limit: usize) -> Result<Bytes, Invalid> {
    // librdkafka and others send one raw block without a frame; Java takes both, so we do.
    if !packed.starts_with(XERIAL_MAGIC) {
        let mut out = Vec::new();
        unsnappy_block(packed, limit, &mut out)?;
        return Ok(Bytes::from(out));
    }
    let mut rest = packed.get(XERIAL_HEADER.len()..).ok_or_else(|| broken("snappy header is cut short"))?;
    let mut out = Vec::new();
    while !rest.is_empty() {
        let (length, after) =
            rest.split_first_chunk::<4>().ok_or_else(|| broken("snappy block is cut short"))?;
        let length = usize::try_from(u32::from_be_bytes(*length)).map_err(broken)?;
        let (block, after) =
            after.split_at_checked(length).ok_or_else(|| broken("snappy block is cut short"))?;
        unsnappy_block(block, limit, &mut out)?;
        rest = after;
    }
    Ok(Bytes::from(out))
}

/// Appends one raw block to `out`, which stays within `limit`. The block tells its size before anything is
/// allocated.
fn unsnappy_block(block: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), Invalid> {
    let plain = snap::raw::decompress_len(block).map_err(broken)?;
    let from = out.len();
    let to = from.checked_add(plain).filter(|&to| to <= limit).ok_or(Invalid::TooLarge { limit })?;
    out.resize(to, 0);
    let room = out.get_mut(from..).unwrap_or_default();
    let written = snap::raw::Decoder::new().decompress(block, room).map_err(broken)?;
    out.truncate(from + written);
    Ok(())
}

fn read_to_limit(reader: impl Read, limit: usize) -> Result<Bytes, Invalid> {
    let mut out = Vec::new();
    let one_more = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(one_more).read_to_end(&mut out).map_err(broken)?;
    if out.len() > limit { Err(Invalid::TooLarge { limit }) } else { Ok(Bytes::from(out)) }
}

fn broken(why: impl ToString) -> Invalid {
    Invalid::Compressed(why.to_string())
}
