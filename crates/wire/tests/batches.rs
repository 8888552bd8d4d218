//! Batches that Apache Kafka's classes wrote (`golden/batches.txt.gz`): read, rebuilt and inflated. One line per
//! batch: case, attributes, whether rebuilding gives the same bytes, batch, plain records, fields as JSON.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::io::Read;

use bytes::Bytes;
use serde_json::Value;
use wire::batch::control::{self, Control};
use wire::batch::{
    Batch, BatchBuilder, BatchHeader, Batches, Codec, HEADER_LEN, Header, INFLATED_BYTES_MAX, Record,
    TimestampType, compress,
};

struct Case {
    name: String,
    same_bytes: bool,
    batch: Bytes,
    plain: Bytes,
    fields: Value,
}

fn cases() -> Vec<Case> {
    let packed: &[u8] = include_bytes!("../golden/batches.txt.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
    text.lines().skip_while(|line| line.starts_with('#')).map(case).collect()
}

fn case(line: &str) -> Case {
    let columns: Vec<_> = line.split('\t').collect();
    Case {
        name: columns[0].to_owned(),
        same_bytes: columns[2] == "yes",
        batch: unhex(columns[3]),
        plain: unhex(columns[4].trim_matches('-')),
        fields: serde_json::from_str(columns[5]).unwrap(),
    }
}

fn only(bytes: &Bytes) -> Batch {
    let mut batches = Batches::new(bytes.clone());
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none() && batches.rest().is_empty());
    batch
}

#[test]
fn all_cases_are_there() {
    assert_eq!(cases().len(), 27);
}

#[test]
fn headers_are_read_and_written() {
    for case in cases() {
        let header = BatchHeader::parse(&case.batch).unwrap();
        let number =
            |name: &str| case.fields[name].as_i64().unwrap_or_else(|| panic!("{}: no {name}", case.name));
        let read = [
            ("baseOffset", header.base_offset),
            ("batchLength", i64::from(header.batch_length)),
            ("partitionLeaderEpoch", i64::from(header.partition_leader_epoch)),
            ("crc", i64::from(header.crc)),
            ("attributes", i64::from(header.attributes.0)),
            ("lastOffsetDelta", i64::from(header.last_offset_delta)),
            ("baseTimestamp", header.base_timestamp),
            ("maxTimestamp", header.max_timestamp),
            ("producerId", header.producer_id),
            ("producerEpoch", i64::from(header.producer_epoch)),
            ("baseSequence", i64::from(header.base_sequence)),
            ("recordsCount", i64::from(header.record_count)),
            ("lastOffset", header.last_offset()),
            ("lastSequence", i64::from(header.last_sequence())),
        ];
        for (name, value) in read {
            assert_eq!(value, number(name), "{}: {name}", case.name);
        }
        let flags = header.attributes;
        assert_eq!(flags.codec().unwrap().name(), case.fields["compression"], "{}", case.name);
        assert_eq!(flags.is_transactional(), case.fields["transactional"], "{}", case.name);
        assert_eq!(flags.is_control(), case.fields["control"], "{}", case.name);
        assert_eq!(format!("{:?}", flags.timestamp_type()), case.fields["timestampType"], "{}", case.name);
        assert_eq!(header.encode(), case.batch[..HEADER_LEN], "{}", case.name);
        assert_eq!(header.size(), case.batch.len(), "{}", case.name);
    }
}

#[test]
fn records_are_read() {
    for case in cases() {
        let records: Vec<_> = only(&case.batch).records().unwrap().map(Result::unwrap).collect();
        let expected: Vec<_> = case.fields["records"].as_array().unwrap().iter().map(record).collect();
        assert_eq!(records, expected, "{}", case.name);
    }
}

/// Also the checksum of every batch, since it is part of the bytes.
#[test]
fn batches_are_rebuilt() {
    for case in cases() {
        let built = rebuild(&case);
        if case.same_bytes {
            assert_eq!(built, case.batch, "{}", case.name);
        }
        let (built, golden) = (only(&built), only(&case.batch));
        built.verify().unwrap();
        golden.verify().unwrap();
        let read = |batch: &Batch| batch.records().unwrap().map(Result::unwrap).collect::<Vec<_>>();
        assert_eq!(read(&built), read(&golden), "{}", case.name);
    }
}

#[test]
fn compressed_records_are_inflated() {
    for case in cases().into_iter().filter(|case| !case.plain.is_empty()) {
        let golden = only(&case.batch);
        let codec = golden.header.attributes.codec().unwrap();
        let plain = compress::decompress(codec, &golden.payload(), case.plain.len()).unwrap();
        assert_eq!(plain, case.plain, "{}", case.name);
        if codec != Codec::None {
            let limit = case.plain.len() - 1;
            let refused = compress::decompress(codec, &golden.payload(), limit);
            assert_eq!(refused, Err(wire::batch::Invalid::TooLarge { limit }), "{}", case.name);
        }
    }
}

/// `broker-core` 7.1: neither base offset nor leader epoch is under the checksum.
#[test]
fn patching_keeps_the_checksum() {
    for case in cases() {
        let mut bytes = case.batch.to_vec();
        BatchHeader::patch(bytes.first_chunk_mut().unwrap(), 123_456, 77);
        let batch = only(&Bytes::from(bytes));
        batch.verify().unwrap();
        assert_eq!((batch.header.base_offset, batch.header.partition_leader_epoch), (123_456, 77));
    }
}

#[test]
fn markers_are_read_and_built() {
    for case in cases().into_iter().filter(|case| case.name.starts_with("control")) {
        let golden = only(&case.batch);
        let record = golden.records().unwrap().next().unwrap().unwrap();
        let fields = &case.fields["records"][0];
        let commit = fields["controlType"] == "COMMIT";
        let coordinator_epoch = i32::try_from(fields["coordinatorEpoch"].as_i64().unwrap()).unwrap();
        let expected =
            if commit { Control::Commit { coordinator_epoch } } else { Control::Abort { coordinator_epoch } };
        assert_eq!(Control::parse(&record), Ok(expected));
        let header = golden.header;
        let built = control::marker(
            header.producer_id,
            header.producer_epoch,
            commit,
            coordinator_epoch,
            header.max_timestamp,
        );
        let mut built = built.to_vec();
        BatchHeader::patch(
            built.first_chunk_mut().unwrap(),
            header.base_offset,
            header.partition_leader_epoch,
        );
        assert_eq!(built, case.batch);
    }
}

fn rebuild(case: &Case) -> Bytes {
    let header = BatchHeader::parse(&case.batch).unwrap();
    let flags = header.attributes;
    let mut builder = BatchBuilder::new()
        .base_offset(header.base_offset)
        .leader_epoch(header.partition_leader_epoch)
        .producer(header.producer_id, header.producer_epoch, header.base_sequence)
        .timestamp_type(flags.timestamp_type())
        .codec(flags.codec().unwrap());
    if flags.is_transactional() {
        builder = builder.transactional();
    }
    if flags.is_control() {
        builder = builder.control();
    }
    if flags.has_delete_horizon() {
        builder = builder.delete_horizon(header.base_timestamp);
    }
    if flags.timestamp_type() == TimestampType::LogAppendTime {
        return rebuild_append_time(case, builder);
    }
    for value in case.fields["records"].as_array().unwrap() {
        builder.add_record(&record(value));
    }
    builder.last_offset_delta(header.last_offset_delta).max_timestamp(header.max_timestamp).build()
}

/// The fields show the batch's time for every record; what the producer had set is in the plain records only.
fn rebuild_append_time(case: &Case, mut builder: BatchBuilder) -> Bytes {
    let mut golden = only(&case.batch);
    golden.header.attributes = golden.header.attributes.with_timestamp_type(TimestampType::CreateTime);
    let sent = wire::batch::RecordIter::new(&golden.header, &golden.payload(), INFLATED_BYTES_MAX).unwrap();
    sent.for_each(|record| builder.add_record(&record.unwrap()));
    builder.max_timestamp(golden.header.max_timestamp).build()
}

fn record(value: &Value) -> Record {
    Record {
        offset: value["offset"].as_i64().unwrap(),
        timestamp: value["timestamp"].as_i64().unwrap(),
        sequence: i32::try_from(value["sequence"].as_i64().unwrap()).unwrap(),
        key: value["key"].as_str().map(unbase64),
        value: value["value"].as_str().map(unbase64),
        headers: value["headers"].as_array().unwrap().iter().map(header).collect(),
    }
}

fn header(value: &Value) -> Header {
    let key = Bytes::from(value["key"].as_str().unwrap().to_owned());
    Header { key, value: value["value"].as_str().map(unbase64) }
}

fn unhex(hex: &str) -> Bytes {
    let digit = |c: u8| u8::try_from(char::from(c).to_digit(16).unwrap()).unwrap();
    hex.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn unbase64(text: &str) -> Bytes {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut out) = (0_u32, 0, Vec::new());
    for c in text.bytes().filter(|&c| c != b'=') {
        let digit = DIGITS.iter().position(|&it| it == c).unwrap();
        bits = bits << 6 | u32::try_from(digit).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    Bytes::from(out)
}
