//! A partition that is opened again is as it was (storage.md 5.6, `broker-core` 14.4).

use super::*;

const A: i64 = 1;
const B: i64 = 2;

/// Duplicates, epochs, open, committed and aborted transactions, a coordinator's marker for one who wrote nothing.
fn fill(partition: &Partition) {
    for n in 0..7 {
        partition.append(&sequenced(9, 0, n * 2, 2), CLIENT, NOW).unwrap();
    }
    for (records, origin) in [
        (transactional(A, 0, 0, 2), CLIENT),
        (transactional(B, 3, 0, 1), CLIENT),
        (abort(A, 0), COORDINATOR),
        (transactional(A, 1, 0, 3), CLIENT),
        (commit(A, 2), COORDINATOR),
        (commit(77, 5), COORDINATOR),
        (plain(&["x"]), CLIENT),
    ] {
        partition.append(&records, origin, NOW).unwrap();
    }
}

fn assert_same(one: &Partition, other: &Partition) {
    assert_eq!(one.producers(), other.producers());
    assert_eq!(one.state.lock().transactions, other.state.lock().transactions);
    assert_eq!(one.last_stable_offset(), other.last_stable_offset());
    assert_eq!(one.ends_now(), other.ends_now());
}

#[tokio::test]
async fn from_the_log_alone() {
    let bench = Bench::new().await;
    let live = bench.partition().await;
    fill(&live);
    let again = bench.partition().await;
    assert_same(&live, &again);
    assert_eq!(live.epochs(), again.epochs());
    assert_eq!(again.last_stable_offset(), 16, "B is open");
}

/// With a snapshot in the midst, and with one of everything: all five batches of a producer survive.
#[tokio::test]
async fn from_a_snapshot() {
    let bench = Bench::new().await;
    let live = bench.partition().await;
    fill(&live);
    live.checkpoint().unwrap();
    assert_same(&live, &bench.partition().await);
    live.append(&abort(B, 3), COORDINATOR, NOW).unwrap();
    live.append(&transactional(A, 2, 0, 1), CLIENT, NOW).unwrap();
    let again = bench.partition().await;
    assert_same(&live, &again);
    assert_eq!(live.epochs(), again.epochs());
    let duplicate = again.append(&sequenced(9, 0, 4, 2), CLIENT, NOW).unwrap();
    assert_eq!((duplicate.base_offset, duplicate.duplicate), (4, true), "the oldest of the five");
}

/// What a snapshot holds is not read again: the log below it may be gone.
#[tokio::test]
async fn from_a_snapshot_after_a_trim() {
    let mut bench = Bench::new().await;
    let live = bench.partition().await;
    fill(&live);
    live.checkpoint().unwrap();
    live.delete_records(-1).await.unwrap();
    let producers = live.producers();
    let again = bench.crash().await;
    assert_eq!(again.producers(), producers);
    assert_eq!(again.last_stable_offset(), live.ends_now().end);
    again.append(&abort(B, 3), COORDINATOR, NOW).unwrap();
}

/// Without a snapshot only what is left of the log counts.
#[tokio::test]
async fn from_a_trimmed_log() {
    let bench = Bench::new().await;
    let live = bench.partition().await;
    fill(&live);
    live.delete_records(13).await.unwrap();
    let again = bench.partition().await;
    let nine = again.producers().get(9).unwrap().clone();
    assert_eq!(nine.batches.iter().map(|it| it.last_offset).collect::<Vec<_>>(), [13]);
    assert_eq!(again.ends_now(), live.ends_now());
    assert_eq!(again.epochs().entries(), [(0, 13)]);
    let next = again.append(&sequenced(9, 0, 14, 1), CLIENT, NOW).unwrap();
    assert_eq!(next.base_offset, live.ends_now().end - 1);
}

/// What was not durable is forgotten, also if a snapshot holds it.
#[tokio::test]
async fn without_what_was_lost() {
    let mut bench = Bench::held().await;
    let partition = bench.partition().await;
    partition.append(&sequenced(9, 0, 0, 1), CLIENT, NOW).unwrap();
    partition.checkpoint().unwrap();
    bench.engine.flush();
    let kept = partition.producers();
    partition.append(&sequenced(9, 0, 1, 1), CLIENT, NOW).unwrap();
    partition.append(&transactional(A, 0, 0, 1), CLIENT, NOW).unwrap();
    partition.checkpoint().unwrap();
    let again = bench.crash().await;
    assert_eq!(again.producers(), kept);
    assert_eq!(again.append(&sequenced(9, 0, 1, 1), CLIENT, NOW).map(|it| it.base_offset), Ok(1));
    assert_eq!(again.epochs().entries(), [(0, 0), (1, 1)]);
}

/// 9.4: who was silent for too long is not loaded.
#[tokio::test]
async fn without_expired_producers() {
    let bench = Bench::new().await;
    let live = bench.partition().await;
    fill(&live);
    let later = NOW + 86_400_001;
    let again = Partition::open(bench.log(), Settings::default(), 0, later).await.unwrap();
    assert_eq!(again.producers().iter().map(|(id, _)| id).collect::<Vec<_>>(), [B]);
}

/// A damaged or foreign snapshot is passed over.
#[tokio::test]
async fn despite_a_damaged_snapshot() {
    let bench = Bench::new().await;
    let live = bench.partition().await;
    fill(&live);
    live.checkpoint().unwrap();
    let mut snapshot = bench.log().saved().unwrap().unwrap();
    let mut bytes = snapshot.producers.to_vec();
    bytes[20] ^= 1;
    snapshot.producers = bytes.into();
    bench.log().save(snapshot).unwrap();
    assert_same(&live, &bench.partition().await);
}

/// Appendix A: the layout of Kafka's `.snapshot` files.
#[tokio::test]
async fn the_snapshot_is_in_kafkas_layout() {
    let bench = Bench::new().await;
    let partition = bench.partition().await;
    partition.append(&transactional(0x0102, 3, 7, 2), CLIENT, NOW).unwrap();
    partition.checkpoint().unwrap();
    let bytes = bench.log().saved().unwrap().unwrap().producers;
    let mut body = Vec::new();
    body.extend(1_i32.to_be_bytes());
    body.extend(0x0102_i64.to_be_bytes());
    body.extend(3_i16.to_be_bytes());
    body.extend(8_i32.to_be_bytes());
    body.extend(1_i64.to_be_bytes());
    body.extend(1_i32.to_be_bytes());
    body.extend(NOW.to_be_bytes());
    body.extend((-1_i32).to_be_bytes());
    body.extend(0_i64.to_be_bytes());
    let crc = wire::batch::crc32c(&[&body]);
    assert_eq!(bytes, [1_i16.to_be_bytes().as_slice(), &crc.to_be_bytes(), &body].concat());
}

#[tokio::test]
async fn nothing_new_is_not_saved_again() {
    let bench = Bench::new().await;
    let partition = bench.partition().await;
    partition.checkpoint().unwrap();
    assert_eq!(bench.log().saved().unwrap(), None);
}
