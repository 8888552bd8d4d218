//! Reading and waiting (`broker-core` 10.2–10.4, 13).

use std::time::Duration;

use super::*;
use Isolation::{ReadCommitted, ReadUncommitted};

const A: i64 = 1;
const B: i64 = 2;

/// 13.4: offsets 0–4 of A, 5 plain, 6–7 of B, 8 ABORT A, 9 plain; B open.
async fn worked_example() -> Partition {
    let partition = Bench::new().await.partition().await;
    for (records, origin) in [
        (transactional(A, 0, 0, 5), CLIENT),
        (plain(&["x"]), CLIENT),
        (transactional(B, 0, 0, 2), CLIENT),
        (abort(A, 0), COORDINATOR),
        (plain(&["y"]), CLIENT),
    ] {
        partition.append(&records, origin, NOW).unwrap();
    }
    partition
}

async fn offsets(partition: &Partition, spec: ReadSpec) -> Vec<Offset> {
    let slices = partition.read(spec).await.unwrap().slices.load().unwrap();
    Batches::new(slices).map(|batch| batch.unwrap().header.base_offset).collect()
}

fn pairs(aborted: Option<Vec<crate::log::Aborted>>) -> Option<Vec<(i64, Offset)>> {
    aborted.map(|list| list.iter().map(|it| (it.producer_id, it.first_offset)).collect())
}

#[tokio::test]
async fn worked_example_of_transactions() {
    let partition = worked_example().await;
    let committed = partition.read(spec(0, ReadCommitted)).await.unwrap();
    assert_eq!((committed.last_stable_offset, committed.high_watermark, committed.log_start), (6, 10, 0));
    assert_eq!(pairs(committed.aborted), Some(vec![(A, 0)]));
    assert_eq!(offsets(&partition, spec(0, ReadCommitted)).await, [0, 5]);
    assert_eq!(offsets(&partition, spec(0, ReadUncommitted)).await, [0, 5, 6, 8, 9]);
    assert_eq!(partition.read(spec(0, ReadUncommitted)).await.unwrap().aborted, None);
    partition.append(&commit(B, 0), COORDINATOR, NOW).unwrap();
    let committed = partition.read(spec(6, ReadCommitted)).await.unwrap();
    assert_eq!((committed.last_stable_offset, pairs(committed.aborted)), (11, Some(vec![(A, 0)])));
    assert_eq!(offsets(&partition, spec(6, ReadCommitted)).await, [6, 8, 9, 10]);
}

/// 13.2: a marker moves the last stable offset when it is durable.
#[tokio::test]
async fn a_marker_in_flight_moves_nothing() {
    let bench = Bench::held().await;
    let partition = bench.partition().await;
    partition.append(&transactional(A, 0, 0, 1), CLIENT, NOW).unwrap();
    bench.engine.flush();
    partition.append(&commit(A, 0), COORDINATOR, NOW).unwrap();
    assert_eq!(partition.last_stable_offset(), 0);
    bench.engine.flush();
    assert_eq!(partition.last_stable_offset(), 2);
}

/// 10.2: offset checks.
#[tokio::test]
async fn offsets_out_of_range() {
    let bench = Bench::held().await;
    let partition = bench.partition().await;
    partition.append(&plain(&["a", "b"]), CLIENT, NOW).unwrap();
    bench.engine.flush();
    partition.append(&plain(&["c"]), CLIENT, NOW).unwrap();
    assert_eq!(partition.delete_records(1).await, Ok(1));
    let error = ReadError::OutOfRange { log_start: 1, high_watermark: 2 };
    for from in [-1, 0, 4] {
        assert_eq!(partition.read(spec(from, ReadUncommitted)).await.unwrap_err(), error);
    }
    for from in [2, 3] {
        assert!(partition.read(spec(from, ReadUncommitted)).await.unwrap().slices.is_empty());
    }
}

/// 10.2 rule 3 (Tansu): an offset in the midst of a batch gives the whole batch.
#[tokio::test]
async fn an_offset_inside_a_batch_gives_the_batch() {
    let partition = Bench::new().await.partition().await;
    partition.append(&plain(&["a", "b", "c"]), CLIENT, NOW).unwrap();
    assert_eq!(offsets(&partition, spec(2, ReadUncommitted)).await, [0]);
}

/// 10.2 rules 1, 2 and 4.
#[tokio::test]
async fn sizes_bound_a_read_but_for_the_first_batch() {
    let partition = Bench::new().await.partition().await;
    (0..3).for_each(|_| assert!(partition.append(&plain(&["a"]), CLIENT, NOW).is_ok()));
    let size = plain(&["a"]).len();
    for (max_bytes, at_least_one, expected) in [
        (size * 2, false, vec![0, 1]),
        (size * 2 - 1, false, vec![0]),
        (size - 1, false, vec![]),
        (0, true, vec![0]),
    ] {
        let spec = ReadSpec { max_bytes, at_least_one, ..spec(0, ReadUncommitted) };
        assert_eq!(offsets(&partition, spec).await, expected, "{max_bytes}");
    }
}

/// Decision 19: what was appended on arrival is waited for, once.
#[tokio::test(start_paused = true)]
async fn a_read_settles_what_was_appended_before_it() {
    let bench = Bench::held().await;
    let partition = Arc::new(bench.partition().await);
    partition.append(&plain(&["a"]), CLIENT, NOW).unwrap();
    assert!(
        partition.read(spec(0, ReadUncommitted)).await.unwrap().slices.is_empty(),
        "nothing above durable"
    );
    let settled = ReadSpec { settle: true, ..spec(0, ReadUncommitted) };
    let reader = tokio::spawn({
        let partition = Arc::clone(&partition);
        async move { partition.read(settled).await.map(|it| it.high_watermark) }
    });
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert!(!reader.is_finished());
    bench.engine.flush();
    assert_eq!(reader.await.unwrap(), Ok(1));
    let at_the_end = ReadSpec { from: 1, ..settled };
    assert!(partition.read(at_the_end).await.unwrap().slices.is_empty(), "nothing to wait for");
}

/// 10.4: a marker that makes data visible wakes readers; so do an append and the end of the log.
#[tokio::test(start_paused = true)]
async fn waiting_readers_are_woken() {
    let mut bench = Bench::new().await;
    let partition = bench.partition().await;
    partition.append(&transactional(A, 0, 0, 1), CLIENT, NOW).unwrap();
    let seen = partition.read(spec(0, ReadCommitted)).await.unwrap().seen;
    let mut waiter = Waiter::new();
    waiter.watch(3, partition.ends(), seen);
    let soon = Duration::from_millis(10);
    assert!(tokio::time::timeout(soon, waiter.changed()).await.is_err());
    partition.append(&commit(A, 0), COORDINATOR, NOW).unwrap();
    assert_eq!(tokio::time::timeout(soon, waiter.changed()).await, Ok(vec![3]));
    let read = partition.read(spec(0, ReadCommitted)).await.unwrap();
    assert!(!read.slices.is_empty());
    waiter.watch(3, partition.ends(), read.seen);
    bench.crash().await;
    assert_eq!(tokio::time::timeout(soon, waiter.changed()).await, Ok(vec![3]));
    assert_eq!(partition.read(spec(0, ReadCommitted)).await.unwrap_err(), ReadError::NotLeader);
}

/// 11.3.
#[tokio::test]
async fn records_are_deleted() {
    let partition = worked_example().await;
    assert!(matches!(partition.delete_records(11).await, Err(ReadError::OutOfRange { .. })));
    assert!(matches!(partition.delete_records(-2).await, Err(ReadError::OutOfRange { .. })));
    assert_eq!(partition.delete_records(7).await, Ok(7));
    assert_eq!(partition.delete_records(3).await, Ok(7), "no change");
    assert_eq!(partition.last_stable_offset(), 7, "not below the start");
    assert_eq!(partition.earliest().map(|it| it.offset), Ok(7));
    assert_eq!(partition.delete_records(-1).await, Ok(10));
    assert_eq!(partition.append(&plain(&["z"]), CLIENT, NOW).map(|it| it.log_start), Ok(10));
}

/// 13.3, traps 8 and 30: a read is told the aborted transactions of its own records and no others; one that begins
/// in the midst of a transaction is told it as well.
#[tokio::test]
async fn reads_are_told_the_aborted_transactions_of_their_records() {
    let partition = Bench::new().await.partition().await;
    // Offsets n·4: two batches of A, one of B, and A's marker; B's transaction spans all.
    for n in 0..20_i32 {
        for (records, origin) in [
            (transactional(A, 0, n * 2, 1), CLIENT),
            (transactional(A, 0, n * 2 + 1, 1), CLIENT),
            (transactional(B, 0, n, 1), CLIENT),
            (abort(A, 0), COORDINATOR),
        ] {
            partition.append(&records, origin, NOW).unwrap();
        }
    }
    partition.append(&abort(B, 0), COORDINATOR, NOW).unwrap();
    let one = |from| ReadSpec { max_bytes: 1, ..spec(from, ReadCommitted) };
    let told = async |spec| pairs(partition.read(spec).await.unwrap().aborted).unwrap();
    assert_eq!(told(one(0)).await, [(A, 0)]);
    assert_eq!(told(one(1)).await, [(A, 0)], "in its midst");
    assert_eq!(told(one(2)).await, [(A, 0), (B, 2)]);
    assert_eq!(told(one(3)).await, [(A, 0), (B, 2)], "the marker itself");
    assert_eq!(told(one(4)).await, [(A, 4), (B, 2)]);
    assert_eq!(told(one(80)).await, [(B, 2)]);
    assert_eq!(told(one(81)).await, [], "the end");
    assert_eq!(told(spec(0, ReadCommitted)).await.len(), 21);
}

/// 13.3 (d), trap 3: an abort by a newer epoch, as after fencing, aborts the records of the older one.
#[tokio::test]
async fn an_abort_by_a_newer_epoch_aborts_the_older_ones_records() {
    let partition = Bench::new().await.partition().await;
    partition.append(&transactional(A, 3, 0, 2), CLIENT, NOW).unwrap();
    let v2 = Origin::Coordinator { transaction_version: 2 };
    partition.append(&abort(A, 4), v2, NOW).unwrap();
    let read = partition.read(spec(0, ReadCommitted)).await.unwrap();
    assert_eq!((read.last_stable_offset, pairs(read.aborted)), (3, Some(vec![(A, 0)])));
}

/// Traps 2, 11 and 33: what is undecided or aborted hides nothing from read_uncommitted, and all from
/// read_committed, which gets an empty read with the right last stable offset.
#[tokio::test]
async fn isolation_decides_what_is_seen() {
    let partition = Bench::new().await.partition().await;
    partition.append(&transactional(A, 0, 0, 2), CLIENT, NOW).unwrap();
    partition.append(&plain(&["x"]), CLIENT, NOW).unwrap();
    assert_eq!(offsets(&partition, spec(0, ReadUncommitted)).await, [0, 2]);
    let read = partition.read(spec(0, ReadCommitted)).await.unwrap();
    assert!(read.slices.is_empty() && read.aborted == Some(vec![]));
    assert_eq!((read.last_stable_offset, read.high_watermark), (0, 3));
    assert_eq!(partition.latest(ReadCommitted).await.unwrap().offset, 0);
    assert_eq!(partition.latest(ReadUncommitted).await.unwrap().offset, 3);
    assert_eq!(partition.find_by_timestamp(NOW, ReadCommitted).await, Ok(None));
    partition.append(&abort(A, 0), COORDINATOR, NOW).unwrap();
    assert_eq!(offsets(&partition, spec(0, ReadUncommitted)).await, [0, 2, 3], "aborted records are there");
    assert_eq!(partition.latest(ReadCommitted).await.unwrap().offset, 4);
}
