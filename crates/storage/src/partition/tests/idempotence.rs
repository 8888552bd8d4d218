//! Idempotent producers (`broker-core` 9) and transactions as far as the log sees them (12.8, 13).

use super::*;

const P: i64 = 42;

fn send(partition: &Partition, epoch: i16, first: i32, count: usize) -> Result<Offset, AppendError> {
    partition.append(&sequenced(P, epoch, first, count), CLIENT, NOW).map(|it| it.base_offset)
}

fn out_of_order(result: &Result<Offset, AppendError>) -> bool {
    matches!(result, Err(AppendError::OutOfOrderSequence(_)))
}

fn stale<T: std::fmt::Debug>(result: &Result<T, AppendError>) -> bool {
    matches!(result, Err(AppendError::StaleProducerEpoch(_)))
}

/// The worked example of 9.3; trap 1 of 25 is its duplicate.
#[tokio::test]
async fn worked_example() {
    let partition = Bench::new().await.partition().await;
    (0..50).for_each(|_| assert!(partition.append(&plain(&["a", "b"]), CLIENT, NOW).is_ok()));
    assert_eq!(send(&partition, 0, 0, 5), Ok(100));
    assert_eq!(send(&partition, 0, 5, 5), Ok(105));
    assert_eq!(send(&partition, 0, 0, 5), Ok(100), "a duplicate");
    assert!(out_of_order(&send(&partition, 0, 15, 5)), "10 was expected");
    assert_eq!(send(&partition, 0, 10, 5), Ok(110));
    for n in 3..8 {
        assert_eq!(send(&partition, 0, n * 5, 5), Ok(100 + i64::from(n) * 5));
    }
    assert!(out_of_order(&send(&partition, 0, 0, 5)), "only 5 batches are remembered");
    assert_eq!(send(&partition, 0, 15, 5), Ok(115), "the oldest of the 5");
    assert_eq!(send(&partition, 1, 0, 3), Ok(140));
    assert!(stale(&send(&partition, 0, 40, 5)));
}

/// Rule 1: first and last sequence must both be the same.
#[tokio::test]
async fn a_part_of_a_batch_is_no_duplicate() {
    let partition = Bench::new().await.partition().await;
    assert_eq!(send(&partition, 0, 0, 5), Ok(0));
    assert!(out_of_order(&send(&partition, 0, 0, 3)));
    assert!(out_of_order(&send(&partition, 0, 2, 3)));
    let again = partition.append(&sequenced(P, 0, 0, 5), CLIENT, NOW).unwrap();
    assert_eq!((again.base_offset, again.last_offset, again.duplicate), (0, 4, true));
    assert_eq!(again.log_append_time, NOW, "the time of the original, as in Kafka");
    assert_eq!(partition.ends_now().end, 5);
}

/// Rule 3, K-15.
#[tokio::test]
async fn a_new_epoch_begins_with_sequence_0() {
    let partition = Bench::new().await.partition().await;
    assert_eq!(send(&partition, 3, 7, 1), Ok(0), "any first sequence, any first epoch");
    assert!(out_of_order(&send(&partition, 4, 8, 1)));
    assert_eq!(send(&partition, 4, 0, 1), Ok(1));
    assert!(stale(&send(&partition, 3, 0, 1)), "the same sequence of an older epoch is no duplicate");
    assert_eq!(send(&partition, 4, 1, 1), Ok(2));
    assert_eq!(send(&partition, 5, 0, 1), Ok(3), "nor is that of a newer epoch");
}

/// A producer of which a marker is all that is known in its epoch begins with sequence 0.
#[tokio::test]
async fn the_first_batch_after_a_marker_of_its_epoch_has_sequence_0() {
    let partition = Bench::new().await.partition().await;
    partition.append(&commit(P, 3), COORDINATOR, NOW).unwrap();
    assert!(out_of_order(&send(&partition, 3, 7, 1)));
    assert_eq!(send(&partition, 3, 0, 1), Ok(1));
}

/// 9.2: sequences wrap from 2,147,483,647 to 0, between batches and inside one.
#[tokio::test]
async fn sequences_wrap() {
    let partition = Bench::new().await.partition().await;
    assert_eq!(send(&partition, 0, i32::MAX - 1, 2), Ok(0));
    assert!(out_of_order(&send(&partition, 0, 1, 1)));
    assert_eq!(send(&partition, 0, 0, 3), Ok(2));
    assert_eq!(send(&partition, 0, i32::MAX - 1, 2), Ok(0), "a duplicate");

    let partition = Bench::new().await.partition().await;
    assert_eq!(send(&partition, 0, i32::MAX - 1, 5), Ok(0));
    assert_eq!(send(&partition, 0, 3, 1), Ok(5));
    assert_eq!(send(&partition, 0, i32::MAX - 1, 5), Ok(0), "a duplicate");
}

/// 9.3 rule 4 and 9.4: a producer that is forgotten may begin with any sequence.
#[tokio::test]
async fn producers_expire() {
    let partition = Bench::new().await.partition().await;
    assert_eq!(send(&partition, 0, 0, 1), Ok(0));
    partition.append(&transactional(7, 0, 0, 1), CLIENT, NOW).unwrap();
    partition.expire_producers(NOW + 86_400_000);
    assert!(out_of_order(&send(&partition, 0, 9, 1)));
    partition.expire_producers(NOW + 86_400_001);
    assert_eq!(
        partition.producers().iter().map(|(id, _)| id).collect::<Vec<_>>(),
        [7],
        "its transaction is open"
    );
    assert_eq!(send(&partition, 0, 9, 1), Ok(2));
}

/// storage.md 4: the answer to a duplicate waits for its original, whatever the acks.
#[tokio::test(start_paused = true)]
async fn a_duplicate_of_a_batch_in_flight_waits_for_it() {
    let bench = Bench::held().await;
    let partition = bench.partition().await;
    let first = partition.append(&sequenced(P, 0, 0, 2), CLIENT, NOW).unwrap();
    let again = partition.append(&sequenced(P, 0, 0, 2), CLIENT, NOW).unwrap();
    assert!(again.duplicate && !first.duplicate);
    assert_eq!((first.durable_before_answer(-1), first.durable_before_answer(1)), (Some(2), None));
    assert_eq!((again.durable_before_answer(-1), again.durable_before_answer(1)), (Some(2), Some(2)));
    let soon = std::time::Duration::from_millis(10);
    assert!(tokio::time::timeout(soon, partition.wait_durable(2)).await.is_err());
    bench.engine.flush();
    assert_eq!(partition.wait_durable(2).await, Ok(()));
}

/// The same when the owner dies instead: no success, and the next owner knows nothing of the batch.
#[tokio::test]
async fn a_duplicate_of_a_batch_that_is_lost_is_no_success() {
    let mut bench = Bench::held().await;
    let old = bench.partition().await;
    old.append(&sequenced(P, 0, 0, 2), CLIENT, NOW).unwrap();
    let new = bench.crash().await;
    assert_eq!(old.wait_durable(2).await, Err(ReadError::NotLeader));
    assert_eq!(old.append(&sequenced(P, 0, 2, 1), CLIENT, NOW), Err(AppendError::NotLeader));
    let again = new.append(&sequenced(P, 0, 0, 2), CLIENT, NOW).unwrap();
    assert!(!again.duplicate);
}

/// Rule 6.
#[tokio::test]
async fn no_plain_batch_inside_a_transaction() {
    let partition = Bench::new().await.partition().await;
    partition.append(&transactional(P, 0, 0, 1), CLIENT, NOW).unwrap();
    let refused = send(&partition, 0, 1, 1);
    assert!(matches!(refused, Err(AppendError::TransactionOpen(_))), "{refused:?}");
    partition.append(&commit(P, 0), COORDINATOR, NOW).unwrap();
    assert_eq!(send(&partition, 0, 1, 1), Ok(2));
}

/// A coordinator's batches begin at sequence 0 each time; an older epoch is kept out.
#[tokio::test]
async fn coordinators_append_plain_and_transactional_records() {
    let partition = Bench::new().await.partition().await;
    partition.append(&plain(&["a"]), COORDINATOR, NOW).unwrap();
    for _ in 0..2 {
        assert!(!partition.append(&transactional(P, 5, 0, 1), COORDINATOR, NOW).unwrap().duplicate);
    }
    assert!(stale(&partition.append(&transactional(P, 4, 0, 1), COORDINATOR, NOW)));
    assert!(stale(&partition.check_transactional(P, 4, None)));
    assert_eq!(partition.check_transactional(P, 5, None), Ok(()));
    assert_eq!(partition.check_transactional(P + 1, 0, None), Ok(()));
    let two = Bytes::from([plain(&["b", "c"]), plain(&["d"])].concat());
    let appended = partition.append(&two, COORDINATOR, NOW).unwrap();
    assert_eq!((appended.base_offset, appended.last_offset), (3, 5));
    assert_eq!(records(&partition, 0).await.len(), 6);
    let half = two.slice(..two.len() - 1);
    assert!(matches!(partition.append(&half, COORDINATOR, NOW), Err(AppendError::InvalidRecord { .. })));
    assert_eq!(partition.ends_now().end, 6, "all or none");
}

/// `broker-core` 12.8 rules 4 and 5.
#[tokio::test]
async fn markers_are_fenced_by_epochs() {
    let marker = |epoch, coordinator_epoch| control::marker(P, epoch, true, coordinator_epoch, NOW);
    let partition = Bench::new().await.partition().await;
    let old_style = |bytes: &Bytes| partition.append(bytes, COORDINATOR, NOW).map(|it| it.base_offset);
    assert_eq!(old_style(&marker(1, 5)), Ok(0), "an unknown producer becomes known");
    assert!(stale(&old_style(&marker(0, 5))));
    assert!(matches!(old_style(&marker(1, 4)), Err(AppendError::CoordinatorFenced(_))));
    assert_eq!(old_style(&marker(1, 5)), Ok(1));

    let partition = Bench::new().await.partition().await;
    let v2 = Origin::Coordinator { transaction_version: 2 };
    let new_style = |bytes: &Bytes| partition.append(bytes, v2, NOW).map(|it| it.base_offset);
    partition.append(&transactional(P, 1, 0, 1), CLIENT, NOW).unwrap();
    assert!(stale(&new_style(&marker(1, 0))), "the marker carries the next epoch");
    assert_eq!(new_style(&marker(2, 0)), Ok(1));
    assert_eq!(new_style(&marker(2, 0)), Ok(2), "KAFKA-19999: a retry");
    assert!(stale(&partition.append(&transactional(P, 1, 1, 1), CLIENT, NOW)), "late batch of the old epoch");
}

#[tokio::test]
async fn a_closed_partition_refuses() {
    let partition = Bench::new().await.partition().await;
    partition.close();
    assert_eq!(partition.append(&plain(&["a"]), CLIENT, NOW), Err(AppendError::NotLeader));
}
