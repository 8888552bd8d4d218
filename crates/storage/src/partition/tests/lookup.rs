//! ListOffsets and OffsetForLeaderEpoch (`broker-core` 11).

use wire::batch::{BatchHeader, Codec, HEADER_LEN};

use super::*;
use Isolation::{ReadCommitted, ReadUncommitted};

async fn at(partition: &Partition, timestamp: Millis) -> Option<(Offset, Millis)> {
    let found = partition.find_by_timestamp(timestamp, ReadUncommitted).await.unwrap();
    found.map(|it| (it.offset, it.timestamp))
}

async fn with(batches: &[&[Millis]]) -> Partition {
    let partition = Bench::new().await.partition().await;
    batches.iter().for_each(|batch| assert!(partition.append(&timed(batch), CLIENT, NOW).is_ok()));
    partition
}

/// 11.1 rule 3: exact to the record, the lowest offset, also out of order.
#[tokio::test]
async fn by_timestamp() {
    let partition = with(&[&[10, 30, 20], &[25], &[40, 35, 50]]).await;
    for (timestamp, expected) in [
        (0, Some((0, 10))),
        (10, Some((0, 10))),
        (11, Some((1, 30))),
        (30, Some((1, 30))),
        (31, Some((4, 40))),
        (41, Some((6, 50))),
        (51, None),
    ] {
        assert_eq!(at(&partition, timestamp).await, expected, "{timestamp}");
    }
}

/// 11.1 rule 4: the epoch of the batch, not the current one.
#[tokio::test]
async fn by_timestamp_with_the_epoch_of_the_batch() {
    let mut bench = Bench::new().await;
    let partition = bench.partition().await;
    partition.append(&timed(&[10]), CLIENT, NOW).unwrap();
    let partition = bench.crash().await;
    partition.append(&timed(&[20]), CLIENT, NOW).unwrap();
    let epoch_at = async |timestamp| {
        partition.find_by_timestamp(timestamp, ReadUncommitted).await.unwrap().map(|it| (it.offset, it.epoch))
    };
    assert_eq!((epoch_at(10).await, epoch_at(20).await), (Some((0, 0)), Some((1, 1))));
    assert_eq!(partition.earliest().map(|it| it.epoch), Ok(0));
    assert_eq!(partition.latest(ReadUncommitted).await.map(|it| (it.offset, it.epoch)), Ok((2, 1)));
}

#[tokio::test]
async fn compressed_batches_are_looked_into() {
    let partition = Bench::new().await.partition().await;
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let mut batch = BatchBuilder::new().codec(codec);
        (0..3).for_each(|n| batch.add(i64::from(codec.id()) * 100 + n, None, None, &[]));
        partition.append(&batch.build(), CLIENT, NOW).unwrap();
    }
    assert_eq!(at(&partition, 302).await, Some((8, 302)));
}

/// Records below the start are not found, also if their batch is still there.
#[tokio::test]
async fn not_below_the_start() {
    let partition = with(&[&[10, 20, 30]]).await;
    partition.delete_records(1).await.unwrap();
    assert_eq!(at(&partition, 5).await, Some((1, 20)));
}

/// A header that claims more than its records hold (headers are trusted): the search goes on.
#[tokio::test]
async fn a_lying_header_does_not_end_the_search() {
    let sent = timed(&[10]);
    let mut header = BatchHeader::parse(&sent).unwrap();
    header.max_timestamp = 100;
    header.crc = header.checksum(&sent[HEADER_LEN..]);
    let lying = Bytes::from([header.encode().as_slice(), &sent[HEADER_LEN..]].concat());
    let partition = Bench::new().await.partition().await;
    partition.append(&lying, CLIENT, NOW).unwrap();
    partition.append(&timed(&[60, 70]), CLIENT, NOW).unwrap();
    assert_eq!(at(&partition, 65).await, Some((2, 70)));
    assert_eq!(at(&partition, 90).await, None);
}

/// −3: the first of those with the largest; K-12: it may be a marker.
#[tokio::test]
async fn max_timestamp() {
    let partition = with(&[&[10, 50], &[50], &[20]]).await;
    let max =
        async || partition.max_timestamp(ReadUncommitted).await.unwrap().map(|it| (it.offset, it.timestamp));
    assert_eq!(max().await, Some((1, 50)));
    partition.append(&commit(1, 0), COORDINATOR, NOW).unwrap();
    assert_eq!(max().await, Some((4, NOW)));
    partition.delete_records(5).await.unwrap();
    assert_eq!(max().await, None);
}

/// Rule 9 and table: a reader of committed records sees no further than the last stable offset.
#[tokio::test]
async fn read_committed_looks_end_at_the_last_stable_offset() {
    let partition = with(&[&[10]]).await;
    partition.append(&transactional(1, 0, 0, 2), CLIENT, NOW).unwrap();
    assert_eq!(partition.latest(ReadCommitted).await.map(|it| it.offset), Ok(1));
    assert_eq!(partition.latest(ReadUncommitted).await.map(|it| it.offset), Ok(3));
    assert_eq!(partition.find_by_timestamp(11, ReadCommitted).await, Ok(None));
    assert_eq!(partition.max_timestamp(ReadCommitted).await, Ok(None));
    assert_eq!(partition.max_timestamp(ReadUncommitted).await.map(|it| it.map(|it| it.offset)), Ok(Some(1)));
}

/// Decision 19.
#[tokio::test(start_paused = true)]
async fn look_ups_wait_for_what_was_appended_before() {
    let bench = Bench::held().await;
    let partition = Arc::new(bench.partition().await);
    partition.append(&timed(&[10]), CLIENT, NOW).unwrap();
    let latest = tokio::spawn({
        let partition = Arc::clone(&partition);
        async move { partition.latest(ReadUncommitted).await.map(|it| it.offset) }
    });
    tokio::task::yield_now().await;
    assert!(!latest.is_finished());
    bench.engine.flush();
    assert_eq!(latest.await.unwrap(), Ok(1));
}

#[tokio::test]
async fn nothing_in_an_empty_log() {
    let partition = Bench::new().await.partition().await;
    assert_eq!(at(&partition, 0).await, None);
    assert_eq!(partition.max_timestamp(ReadUncommitted).await, Ok(None));
    assert_eq!(partition.earliest(), Ok(OffsetAt { offset: 0, timestamp: -1, epoch: 0 }));
    assert_eq!(partition.latest(ReadUncommitted).await, Ok(OffsetAt { offset: 0, timestamp: -1, epoch: 0 }));
}

/// 11.2, and the epoch checks of 10.2.
#[tokio::test]
async fn leader_epochs() {
    let mut bench = Bench::new().await;
    let partition = bench.partition().await;
    partition.append(&plain(&["a", "b"]), CLIENT, NOW).unwrap();
    bench.crash().await;
    let partition = bench.crash().await;
    partition.append(&plain(&["c"]), CLIENT, NOW).unwrap();
    let end = async |epoch| partition.epoch_end(epoch).await.unwrap().map(|it| (it.epoch, it.end));
    assert_eq!(end(0).await, Some((0, 2)));
    assert_eq!(end(1).await, Some((0, 2)), "nothing was appended in epoch 1");
    assert_eq!(end(2).await, Some((2, 3)));
    assert_eq!((end(3).await, end(-1).await), (None, None));
    assert_eq!(partition.check_epoch(-1), Ok(()));
    assert_eq!(partition.check_epoch(1), Err(ReadError::FencedEpoch));
    assert_eq!(partition.check_epoch(2), Ok(()));
    assert_eq!(partition.check_epoch(3), Err(ReadError::UnknownEpoch));
    assert_eq!(partition.diverging(-1, 3), Ok(None));
    assert_eq!(partition.diverging(0, 2), Ok(None));
    assert_eq!(partition.diverging(0, 3), Ok(Some(EpochEnd { epoch: 0, end: 2 })));
    assert!(matches!(partition.diverging(9, 3), Err(ReadError::OutOfRange { .. })));
}
