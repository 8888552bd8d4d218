//! Checks before an append (`broker-core` 8.1 A5, C6–C15, 8.2, 7.5).

use wire::batch::{BatchHeader, Codec, HEADER_LEN};

use super::*;

/// Edits the header of a batch and makes the checksum right again.
fn with_header(bytes: &Bytes, edit: impl FnOnce(&mut BatchHeader)) -> Bytes {
    let mut header = BatchHeader::parse(bytes).unwrap();
    edit(&mut header);
    header.crc = header.checksum(&bytes[HEADER_LEN..]);
    [header.encode().as_slice(), &bytes[HEADER_LEN..]].concat().into()
}

fn with_byte(bytes: &Bytes, index: usize, value: u8) -> Bytes {
    let mut bytes = bytes.to_vec();
    bytes[index] = value;
    bytes.into()
}

async fn refusal(settings: Settings, records: &Bytes) -> AppendError {
    let partition = Bench::new().await.with(settings).await;
    let error = partition.append(records, CLIENT, NOW).unwrap_err();
    assert_eq!(partition.ends_now().end, 0, "nothing of a refused batch is kept");
    error
}

async fn default_refusal(records: &Bytes) -> AppendError {
    refusal(Settings::default(), records).await
}

#[expect(clippy::wildcard_enum_match_arm, reason = "any other error fails the test")]
fn kind(error: &AppendError) -> &'static str {
    match error {
        AppendError::InvalidRecord { .. } => "invalid record",
        AppendError::Corrupt(_) => "corrupt",
        AppendError::TooLarge(_) => "too large",
        AppendError::LargerThanSegment(_) => "larger than segment",
        AppendError::InvalidTimestamp { .. } => "timestamp",
        other => panic!("{other:?}"),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "any other error fails the test")]
fn blamed(error: &AppendError) -> Vec<i32> {
    match error {
        AppendError::InvalidRecord { records, .. } | AppendError::InvalidTimestamp { records, .. } => {
            records.iter().map(|it| it.batch_index).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// A5, K-8.
#[tokio::test]
async fn exactly_one_batch_of_magic_2() {
    let one = plain(&["a"]);
    let two = Bytes::from([one.as_ref(), one.as_ref()].concat());
    for (what, records, expected) in [
        ("nothing", Bytes::new(), "invalid record"),
        ("cut short", one.slice(..one.len() - 1), "invalid record"),
        ("two batches", two, "invalid record"),
        ("magic 0", with_byte(&one, 16, 0), "invalid record"),
        ("magic 1", with_byte(&one, 16, 1), "invalid record"),
        ("magic 3", with_byte(&one, 16, 3), "corrupt"),
        ("length 0", with_byte(&one, 11, 0), "corrupt"),
        ("length below the header's", with_byte(&one, 11, 48), "corrupt"),
    ] {
        assert_eq!(kind(&default_refusal(&records).await), expected, "{what}");
    }
    let trailing = Bytes::from([one.as_ref(), &[7; 11]].concat());
    let partition = Bench::new().await.partition().await;
    partition.append(&trailing, CLIENT, NOW).unwrap();
    assert_eq!(batches(&partition, 0).await[0].bytes.len(), one.len());
}

/// C6, C8 to C10.
#[tokio::test]
async fn headers_are_checked() {
    let one = plain(&["a"]);
    for (what, records, expected) in [
        ("base offset", with_header(&one, |it| it.base_offset = 1), "invalid record"),
        ("span of 0", with_header(&one, |it| it.last_offset_delta = -1), "invalid record"),
        ("no records", with_header(&one, |it| it.record_count = 0), "invalid record"),
        ("span and count differ", with_header(&one, |it| it.record_count = 2), "invalid record"),
        (
            "control",
            with_header(&one, |it| it.attributes = it.attributes.with_control(true)),
            "invalid record",
        ),
        (
            "no sequence",
            with_header(&one, |it| (it.producer_id, it.producer_epoch) = (1, 0)),
            "invalid record",
        ),
        ("codec 5", with_header(&one, |it| it.attributes.0 = 5), "invalid record"),
        ("broken body", with_byte(&one, one.len() - 1, 9), "corrupt"),
    ] {
        assert_eq!(kind(&default_refusal(&records).await), expected, "{what}");
    }
}

/// C6 to C9 come in this order, so clients see the first.
#[tokio::test]
async fn the_first_check_that_fails_answers() {
    let small = Settings { max_message_bytes: 10, ..Settings::default() };
    let broken = with_byte(&plain(&["a"]), 68, 9);
    assert_eq!(kind(&default_refusal(&broken).await), "corrupt");
    assert_eq!(kind(&refusal(small.clone(), &broken).await), "too large");
    let moved = with_header(&broken, |it| it.base_offset = 1);
    assert_eq!(kind(&refusal(small, &moved).await), "invalid record");
}

/// C7: the limit is of the batch as sent, header included; C15.
#[tokio::test]
async fn sizes_are_bounded() {
    let one = plain(&["a"]);
    let size = u32::try_from(one.len()).unwrap();
    let settings = |max_message_bytes| Settings { max_message_bytes, ..Settings::default() };
    Bench::new().await.with(settings(size)).await.append(&one, CLIENT, NOW).unwrap();
    assert_eq!(kind(&refusal(settings(size - 1), &one).await), "too large");
    let mut settings = Settings::default();
    settings.log.segment_bytes = size - 1;
    assert_eq!(kind(&refusal(settings, &one).await), "larger than segment");
}

/// C12.
#[tokio::test]
async fn compacted_topics_need_keys() {
    let compacted = Settings { compacted: true, ..Settings::default() };
    let batch = |codec| {
        let batch = BatchBuilder::new().timestamp(NOW).codec(codec);
        batch.push(Some(b"k"), None).push(None, Some(b"v")).push(Some(b""), None).push(None, None).build()
    };
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let error = refusal(compacted.clone(), &batch(codec)).await;
        assert_eq!((kind(&error), blamed(&error)), ("invalid record", vec![1, 3]), "{codec:?}");
    }
    Bench::new().await.partition().await.append(&batch(Codec::None), CLIENT, NOW).unwrap();
}

/// C13, the example of `broker-core` 8.2, and: with both faults the code is that of timestamps.
#[tokio::test]
async fn timestamps_are_bounded() {
    let settings = Settings::default();
    let partition = Bench::new().await.with(settings.clone()).await;
    partition.append(&timed(&[NOW + 3_600_000, -1, 0]), CLIENT, NOW).unwrap();
    let error = refusal(settings, &timed(&[NOW, NOW + 3_600_001, 5])).await;
    assert_eq!((kind(&error), blamed(&error)), ("timestamp", vec![1]));
    let narrow = Settings { timestamp_before_max_ms: 10, compacted: true, ..Settings::default() };
    let error = refusal(narrow, &timed(&[NOW - 10, NOW - 11])).await;
    assert_eq!((kind(&error), blamed(&error)), ("timestamp", vec![0, 1, 1]));
}

/// 8.2, 7.5: the broker's time for every record, with a right checksum; no bounds.
#[tokio::test]
async fn log_append_time() {
    let settings = Settings { timestamp_type: TimestampType::LogAppendTime, ..Settings::default() };
    let partition = Bench::new().await.with(settings).await;
    let appended = partition.append(&timed(&[5, NOW * 2, -1]), CLIENT, NOW).unwrap();
    assert_eq!(appended.log_append_time, NOW);
    let stored = records(&partition, 0).await;
    assert_eq!(stored.iter().map(|it| it.timestamp).collect::<Vec<_>>(), [NOW; 3]);
}

/// K-9.
#[tokio::test]
async fn a_claim_of_log_append_time_is_dropped() {
    let claim = |at| BatchBuilder::new().timestamp_type(TimestampType::LogAppendTime).timestamp(at);
    let partition = Bench::new().await.partition().await;
    let appended = partition.append(&claim(NOW).push(None, None).build(), CLIENT, NOW).unwrap();
    assert_eq!(appended.log_append_time, -1);
    let stored = &batches(&partition, 0).await[0];
    stored.verify().unwrap();
    assert_eq!(stored.header.attributes.timestamp_type(), TimestampType::CreateTime);
    let error = default_refusal(&claim(-1).push(None, None).build()).await;
    assert_eq!((kind(&error), blamed(&error)), ("timestamp", vec![0]));
}

/// 7.5: kept as sent but for base offset and leader epoch.
#[tokio::test]
async fn batches_are_stored_as_sent() {
    let partition = Bench::new().await.partition().await;
    for (index, codec) in
        [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd].into_iter().enumerate()
    {
        let sent = BatchBuilder::new().timestamp(NOW).codec(codec).push(None, Some(b"v")).build();
        partition.append(&sent, CLIENT, NOW).unwrap();
        let mut expected = sent.to_vec();
        BatchHeader::patch(expected.first_chunk_mut().unwrap(), index as i64, 0);
        assert_eq!(batches(&partition, index as i64).await[0].bytes, expected, "{codec:?}");
    }
}

/// 7.5: producer, sequence and transaction are kept when a batch is packed anew.
#[tokio::test]
async fn batches_are_packed_in_the_codec_of_the_topic() {
    let codecs = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];
    for (from, to) in codecs.into_iter().flat_map(|from| codecs.map(|to| (from, to))) {
        let compression = Compression::To { codec: to, level: None };
        let partition = Bench::new().await.with(Settings { compression, ..Settings::default() }).await;
        let mut sent = BatchBuilder::new().producer(7, 3, 40).transactional().codec(from);
        (0..3).for_each(|n| sent.add(NOW + n, Some(b"k"), Some(b"value"), &[]));
        let sent = sent.build();
        partition.append(&sent, CLIENT, NOW).unwrap();
        let stored = &batches(&partition, 0).await[0];
        let header = stored.header;
        assert_eq!(header.attributes.codec(), Ok(to));
        assert!(header.attributes.is_transactional());
        assert_eq!((header.producer_id, header.producer_epoch, header.base_sequence), (7, 3, 40));
        assert_eq!((header.max_timestamp, header.record_count, header.last_offset()), (NOW + 2, 3, 2));
        let sent: Vec<_> = Batches::new(sent).flat_map(|it| it.unwrap().records().unwrap()).collect();
        assert_eq!(records(&partition, 0).await, sent.into_iter().map(Result::unwrap).collect::<Vec<_>>());
    }
}

/// C14.
#[tokio::test]
async fn a_batch_may_be_too_large_once_it_is_packed_anew() {
    let sent = BatchBuilder::new().timestamp(NOW).codec(Codec::Gzip).push(None, Some(&[0; 10_000])).build();
    let settings = Settings {
        compression: Compression::To { codec: Codec::None, level: None },
        max_message_bytes: 5_000,
        ..Settings::default()
    };
    assert_eq!(kind(&refusal(settings, &sent).await), "too large");
}

/// C11: by default only the checksum counts; with full validation records are read as by Kafka.
#[tokio::test]
async fn broken_records_are_seen_by_full_validation_only() {
    let mut broken = BatchBuilder::new().timestamp(NOW).push(None, Some(b"v")).build().to_vec();
    *broken.last_mut().unwrap() = 9;
    let broken = with_header(&Bytes::from(broken), |_| ());
    let full = Settings { validate: Validate::Full, ..Settings::default() };
    assert_eq!(kind(&refusal(full, &broken).await), "invalid record");
    Bench::new().await.partition().await.append(&broken, CLIENT, NOW).unwrap();
}

/// 7.5: a wrong largest timestamp and inner offsets that are not consecutive are set right.
#[tokio::test]
async fn full_validation_sets_headers_right() {
    let full = Settings { validate: Validate::Full, ..Settings::default() };
    let partition = Bench::new().await.with(full).await;
    let lying = with_header(&timed(&[NOW - 5, NOW - 3]), |it| it.max_timestamp = NOW - 9);
    partition.append(&lying, CLIENT, NOW).unwrap();
    assert_eq!(batches(&partition, 0).await[0].header.max_timestamp, NOW - 3);

    let record = |offset| Record {
        offset,
        timestamp: NOW,
        sequence: -1,
        key: None,
        value: Some(Bytes::from_static(b"v")),
        headers: Vec::new(),
    };
    let mut gaps = BatchBuilder::new().codec(Codec::Gzip);
    gaps.add_record(&record(3));
    gaps.add_record(&record(9));
    let gaps = gaps.last_offset_delta(1).build();
    partition.append(&gaps, CLIENT, NOW).unwrap();
    assert_eq!(records(&partition, 2).await.iter().map(|it| it.offset).collect::<Vec<_>>(), [2, 3]);
}

/// A header whose largest timestamp is out of range is looked into, and set right if the records are not.
#[tokio::test]
async fn a_header_alone_does_not_refuse_timestamps() {
    let partition = Bench::new().await.partition().await;
    let lying = with_header(&timed(&[NOW]), |it| it.max_timestamp = NOW + 9_999_999);
    partition.append(&lying, CLIENT, NOW).unwrap();
    assert_eq!(batches(&partition, 0).await[0].header.max_timestamp, NOW);
}

/// Settings change while the partition is in use.
#[tokio::test]
async fn settings_follow() {
    let partition = Bench::new().await.partition().await;
    partition.append(&plain(&["a"]), CLIENT, NOW).unwrap();
    partition.configure(Settings { max_message_bytes: 10, ..Settings::default() });
    assert!(matches!(partition.append(&plain(&["a"]), CLIENT, NOW), Err(AppendError::TooLarge(_))));
}
