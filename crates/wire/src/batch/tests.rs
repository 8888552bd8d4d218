//! Batches as they should not be, and the framing of the codecs.

use bytes::{BufMut, Bytes, BytesMut};

use super::*;

/// `broker-core` 7.3 (a): two records as a client sends them.
const TWO_RECORDS: &str = "000000000000000000000049ffffffff026a8990a3000000000001 0000018bcfe56800 0000018bcfe56805\
    ffffffffffffffff ffff ffffffff 00000002 140000 00046b31 04763100 18000a02 01047632 02026802 78";

/// `broker-core` 7.3 (b): a COMMIT marker.
const COMMIT: &str = "0000000000000007 00000042 00000003 02 99a0026c 0030 00000000 0000018bcfe56800 0000018bcfe56800\
    00000000000003e8 0004 ffffffff 00000001 20 00 00 00 08 00000001 0c 000000000009 00";

fn unhex(text: &str) -> Bytes {
    let digits: Vec<_> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).unwrap()).collect()
}

fn first(bytes: &Bytes) -> Result<Batch, Invalid> {
    Batches::new(bytes.clone()).next().expect("a batch or an error")
}

fn edited(edit: impl FnOnce(&mut [u8])) -> Bytes {
    let mut bytes = unhex(TWO_RECORDS).to_vec();
    edit(&mut bytes);
    Bytes::from(bytes)
}

#[test]
fn documented_vectors_are_built() {
    let header = Header { key: Bytes::from_static(b"h"), value: Some(Bytes::from_static(b"x")) };
    let built = BatchBuilder::new()
        .timestamp(1_700_000_000_000)
        .push(Some(b"k1"), Some(b"v1"))
        .timestamp(1_700_000_000_005)
        .push_with_headers(None, Some(b"v2"), &[header])
        .build();
    assert_eq!(built, unhex(TWO_RECORDS));
    let mut marker = control::marker(1_000, 4, true, 9, 1_700_000_000_000).to_vec();
    BatchHeader::patch(marker.first_chunk_mut().unwrap(), 7, 3);
    assert_eq!(marker, unhex(COMMIT));
    let abort = first(&control::marker(1_000, 4, false, 9, 1_700_000_000_000)).unwrap();
    assert_eq!(abort.header.crc, 0x6d9e_d424);
}

/// K-8: 0 and 1 are told apart from any other wrong magic.
#[test]
fn wrong_magics_are_refused() {
    assert_eq!(first(&edited(|b| b[16] = 0)), Err(Invalid::OldMagic(0)));
    assert_eq!(first(&edited(|b| b[16] = 1)), Err(Invalid::OldMagic(1)));
    assert_eq!(first(&edited(|b| b[16] = 3)), Err(Invalid::Magic(3)));
    assert_eq!(first(&edited(|b| b[16] = 255)), Err(Invalid::Magic(-1)));
    assert_eq!(BatchHeader::parse(&edited(|b| b[16] = 1)), Err(Invalid::OldMagic(1)));
}

#[test]
fn lengths_that_cannot_be_are_refused() {
    for length in [i32::MIN, -1, 0, 13] {
        let bytes = edited(|b| b[8..12].copy_from_slice(&length.to_be_bytes()));
        assert_eq!(first(&bytes), Err(Invalid::Length { length: i64::from(length), least: 14 }));
    }
    let short = edited(|b| b[8..12].copy_from_slice(&48_i32.to_be_bytes()));
    assert_eq!(first(&short), Err(Invalid::Length { length: 60, least: 61 }));
}

/// A Fetch may cut the last batch; up to 11 bytes behind a batch are nothing (K-8).
#[test]
fn an_incomplete_batch_ends_the_walk() {
    let whole = unhex(TWO_RECORDS);
    for extra in 0..whole.len() {
        let mut bytes = whole.to_vec();
        bytes.extend_from_slice(&whole[..extra]);
        let mut batches = Batches::new(Bytes::from(bytes));
        assert!(batches.next().unwrap().is_ok());
        assert_eq!(batches.next(), None, "{extra} bytes behind the batch");
        assert_eq!(batches.rest().len(), extra);
    }
    let two = [whole.as_ref(), whole.as_ref()].concat();
    assert_eq!(Batches::new(Bytes::from(two)).filter(Result::is_ok).count(), 2);
}

/// Every bit from the attributes on is under the checksum, no bit before the magic is.
#[test]
fn the_checksum_tells_of_every_bit() {
    for byte in (0..8).chain(12..16).chain(21..unhex(TWO_RECORDS).len()) {
        for bit in 0..8 {
            let verified = first(&edited(|b| b[byte] ^= 1 << bit)).unwrap().verify();
            assert_eq!(verified.is_ok(), byte < 16, "byte {byte} bit {bit}");
        }
    }
}

/// Broken records end in an error, never in a panic, and never before their first bad byte.
#[test]
fn broken_records_are_refused() {
    let read = |bytes: &Bytes| first(bytes).and_then(|batch| batch.records()?.collect::<Result<Vec<_>, _>>());
    let length = unhex(TWO_RECORDS).len();
    for (what, byte, value, expected) in [
        ("count too small", 60, 1, "bytes after the last record"),
        ("count too large", 60, 3, "varint is cut short"),
        ("negative record size", 61, 0x01, "negative record size"),
        ("record beyond the end", 61, 0x7e, "field is cut short"),
        ("key beyond the record", 65, 0x7e, "field is cut short"),
        ("record longer than its fields", 61, 0x16, "record is longer than its fields"),
        ("negative number of headers", 71, 0x01, "negative number of headers"),
        ("more headers than bytes", length - 5, 0x7e, "more headers than bytes"),
        ("header key null", length - 4, 0x01, "header key is null"),
    ] {
        assert_eq!(read(&edited(|b| b[byte] = value)), Err(Invalid::Record(expected)), "{what}");
    }
    for byte in 61..length {
        for value in 0..=255 {
            let _any = read(&edited(|b| b[byte] = value));
        }
    }
}

/// `broker-core` 7.2.
#[test]
fn varints() {
    for (value, hex) in [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (-2, "03"),
        (63, "7e"),
        (64, "8001"),
        (-64, "7f"),
        (-65, "8101"),
        (300, "d804"),
        (i64::MAX, "feffffffffffffffff01"),
        (i64::MIN, "ffffffffffffffffff01"),
    ] {
        let mut out = BytesMut::new();
        build::put_varint(&mut out, value);
        assert_eq!(out, unhex(hex), "{value}");
        assert_eq!(block::take_varint(&mut &out[..], 64), Ok(value));
    }
    assert_eq!(block::take_varint(&mut &unhex("ffffffff0f")[..], 32), Ok(i64::from(i32::MIN)));
    assert_eq!(block::take_varint(&mut &unhex("8080808080 00")[..], 32), Err("varint is too long"));
    assert_eq!(block::take_varint(&mut &unhex("80")[..], 32), Err("varint is cut short"));
}

/// What is looked at in place is what is given out.
#[test]
fn records_are_the_same_in_place() {
    let batch = first(&unhex(TWO_RECORDS)).unwrap();
    let block = batch.block().unwrap();
    let given: Vec<_> = batch.records().unwrap().map(Result::unwrap).collect();
    let seen: Vec<_> = block.records().map(Result::unwrap).collect();
    assert_eq!(seen.iter().map(RecordRef::to_record).collect::<Vec<_>>(), given);
    assert_eq!(seen[0].key, Some(&b"k1"[..]));
    assert_eq!((seen[1].key, seen[1].value), (None, Some(&b"v2"[..])));
    assert_eq!(given[1].headers.len(), 1);
}

#[test]
fn an_unknown_codec_is_refused() {
    for codec in 5..=7 {
        let batch = first(&edited(|b| b[22] = codec)).unwrap();
        assert_eq!(batch.records().err(), Some(Invalid::Codec(codec)));
    }
}

fn text() -> Bytes {
    (0..20_000_u32).flat_map(|n| n.to_be_bytes()).collect()
}

#[test]
fn codecs_give_back_what_they_took() {
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        for plain in [Bytes::new(), Bytes::from_static(b"x"), text()] {
            let packed = compress::compress(codec, None, &plain);
            assert_eq!(compress::decompress(codec, &packed, plain.len()), Ok(plain.clone()), "{codec:?}");
            if codec != Codec::None && !plain.is_empty() {
                let limit = plain.len() - 1;
                let refused = compress::decompress(codec, &packed, limit);
                assert_eq!(refused, Err(Invalid::TooLarge { limit }), "{codec:?}");
                let cut = compress::decompress(codec, &packed.slice(..packed.len() / 2), plain.len());
                // An LZ4 frame may end between blocks without an error; the missing records are noticed then.
                assert!(cut.is_err() || codec == Codec::Lz4 && cut != Ok(plain), "{codec:?}");
            }
        }
    }
}

#[test]
fn levels_are_taken() {
    for (codec, levels) in [(Codec::Gzip, [1, 9, -1]), (Codec::Zstd, [-5, 1, 19])] {
        for level in levels {
            let packed = compress::compress(codec, Some(level), &text());
            assert_eq!(compress::decompress(codec, &packed, usize::MAX), Ok(text()));
        }
    }
}

/// Java reads blocks of 32 KiB behind a header; librdkafka writes one raw block (`broker-core` 7.4).
#[test]
fn snappy_is_framed_as_java_does_and_read_both_ways() {
    let packed = compress::compress(Codec::Snappy, None, &text());
    assert_eq!(packed.slice(..16), unhex("82534e4150505900 00000001 00000001"));
    let mut rest = packed.slice(16..);
    let mut sizes = Vec::new();
    while !rest.is_empty() {
        let length = usize::try_from(u32::from_be_bytes(*rest.first_chunk().unwrap())).unwrap();
        let block = rest.slice(4..4 + length);
        sizes.push(snap::raw::decompress_len(&block).unwrap());
        rest = rest.slice(4 + length..);
    }
    assert_eq!(sizes, [32_768, 32_768, 14_464]);
    let raw = Bytes::from(snap::raw::Encoder::new().compress_vec(&text()).unwrap());
    assert_eq!(compress::decompress(Codec::Snappy, &raw, usize::MAX), Ok(text()));
}

/// A block that claims 4 GiB is refused before anything is allocated.
#[test]
fn a_snappy_block_cannot_lie_about_its_size() {
    let refused = compress::decompress(Codec::Snappy, &unhex("ffffffff0f00"), 1_000);
    assert_eq!(refused, Err(Invalid::TooLarge { limit: 1_000 }));
}

/// Java's reader takes independent blocks of 64 KiB to 4 MiB and no checksum of content.
#[test]
fn lz4_frames_are_what_java_reads() {
    let packed = compress::compress(Codec::Lz4, None, &text());
    assert_eq!(packed.slice(..6), unhex("04224d18 60 40"));
    assert_eq!(packed.slice(packed.len() - 4..), unhex("00000000"));
}

#[test]
fn gzip_may_have_several_members() {
    let mut packed = BytesMut::new();
    packed.put(compress::compress(Codec::Gzip, None, b"one "));
    packed.put(compress::compress(Codec::Gzip, None, b"two"));
    let plain = compress::decompress(Codec::Gzip, &packed.freeze(), 100);
    assert_eq!(plain, Ok(Bytes::from_static(b"one two")));
}

/// A batch that lost its records to compaction keeps the codec bits of its kind but has no block.
#[test]
fn an_empty_batch_with_codec_bits_has_no_records() {
    let built = BatchBuilder::new().codec(Codec::Zstd).last_offset_delta(4).max_timestamp(9).build();
    assert_eq!(built.len(), HEADER_LEN);
    let mut batch = first(&built).unwrap();
    batch.header.attributes = batch.header.attributes.with_codec(Codec::Zstd);
    assert_eq!(batch.records().unwrap().count(), 0);
}

#[test]
fn all_records_of_a_log_without_its_markers() {
    let data = |offset| {
        BatchBuilder::new().base_offset(offset).push(None, Some(b"a")).push(None, Some(b"b")).build()
    };
    let log = [data(0), control::marker(1, 0, true, 0, 0), data(3)].concat();
    let offsets: Vec<_> = records(&Bytes::from(log)).map(|record| record.unwrap().offset).collect();
    assert_eq!(offsets, [0, 1, 3, 4]);
    let broken = [data(0), edited(|b| b[16] = 9), data(0)].concat();
    let seen: Vec<_> = records(&Bytes::from(broken)).map(|record| record.is_ok()).collect();
    assert_eq!(seen, [true, true, false]);
}

/// `broker-core` 9.2.
#[test]
fn sequences_wrap() {
    let header = |base| BatchHeader {
        base_sequence: base,
        last_offset_delta: 4,
        ..first(&unhex(TWO_RECORDS)).unwrap().header
    };
    assert_eq!(header(0).last_sequence(), 4);
    assert_eq!(header(i32::MAX - 4).last_sequence(), i32::MAX);
    assert_eq!(header(i32::MAX - 1).last_sequence(), 2);
    assert_eq!(header(-1).last_sequence(), -1);
}
