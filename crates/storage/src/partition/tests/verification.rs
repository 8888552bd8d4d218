//! Transactions begin here only after their coordinator was asked (KIP-890, `broker-core` 9.5 and 9.3 rule 5).

use super::*;

const P: i64 = 42;

async fn verifying(bench: &Bench) -> Partition {
    bench.with(Settings { verify_transactions: true, ..Settings::default() }).await
}

fn first(epoch: i16, sequence: i32, bumps_epoch: bool) -> FirstBatch {
    FirstBatch { producer_id: P, epoch, sequence, bumps_epoch }
}

fn send(
    partition: &Partition,
    guard: Option<Guard>,
    epoch: i16,
    sequence: i32,
) -> Result<Offset, AppendError> {
    let batch = transactional(P, epoch, sequence, 1);
    partition.append_verified(&batch, guard, NOW).map(|it| it.base_offset)
}

fn unknown(result: &Result<Offset, AppendError>) -> bool {
    matches!(result, Err(AppendError::NotInTransaction(_)))
}

fn stale<T>(result: &Result<T, AppendError>) -> bool {
    matches!(result, Err(AppendError::StaleProducerEpoch(_)))
}

#[tokio::test]
async fn the_first_batch_needs_a_guard_and_later_ones_do_not() {
    let partition = verifying(&Bench::new().await).await;
    assert!(unknown(&send(&partition, None, 0, 0)));
    assert_eq!(partition.ends_now().end, 0, "nothing of it is stored");
    let guard = partition.begin_verification(first(0, 0, false), NOW).unwrap();
    assert!(guard.is_some());
    assert_eq!(send(&partition, guard, 0, 0), Ok(0));
    assert_eq!(partition.begin_verification(first(0, 1, false), NOW), Ok(None), "it is open");
    assert_eq!(send(&partition, None, 0, 1), Ok(1));
    assert_eq!(
        partition.append(&sequenced(7, 0, 0, 1), CLIENT, NOW).unwrap().base_offset,
        2,
        "no transaction"
    );
}

/// The answer of the coordinator was right when it was given, but the transaction ended before the batch came: a
/// late batch of an aborted transaction never opens one that nobody ends.
#[tokio::test]
async fn a_marker_voids_the_guard() {
    let partition = verifying(&Bench::new().await).await;
    let guard = partition.begin_verification(first(0, 0, false), NOW).unwrap();
    partition.append(&abort(P, 0), COORDINATOR, NOW).unwrap();
    assert!(unknown(&send(&partition, guard, 0, 0)));
    let next = partition.begin_verification(first(0, 0, false), NOW).unwrap();
    assert!(unknown(&send(&partition, guard, 0, 0)), "nor with the guard of another transaction: ABA");
    assert_eq!(send(&partition, next, 0, 0), Ok(1));
    assert_eq!(partition.last_stable_offset(), 1);
}

/// With transactions v2 a producer begins its next transaction while the markers of the last one are on their way. Such a
/// marker, which has the epoch of the next one, must not make its first batch fail.
#[tokio::test]
async fn the_marker_of_the_last_transaction_does_not_void_the_guard_of_the_next() {
    let v2 = Origin::Coordinator { transaction_version: 2 };
    let partition = verifying(&Bench::new().await).await;
    let guard = partition.begin_verification(first(0, 0, true), NOW).unwrap();
    assert_eq!(send(&partition, guard, 0, 0), Ok(0));
    let next = partition.begin_verification(first(1, 0, true), NOW).unwrap();
    partition.append(&abort(P, 1), v2, NOW).unwrap();
    assert_eq!(send(&partition, next, 1, 0), Ok(2));
    // Its own marker does.
    partition.append(&abort(P, 2), v2, NOW).unwrap();
    let late = partition.begin_verification(first(2, 0, true), NOW).unwrap();
    partition.append(&abort(P, 3), v2, NOW).unwrap();
    assert!(stale(&send(&partition, late, 2, 0)));
    // An old client that keeps its epoch has nothing else to be told apart by.
    let old = partition.begin_verification(first(3, 0, false), NOW).unwrap();
    partition.append(&abort(P, 3), v2, NOW).unwrap();
    assert!(unknown(&send(&partition, old, 3, 0)));
}

/// With transactions v2 the marker carries the next epoch, which is what a late batch is told of: its producer can
/// begin anew, while INVALID_TXN_STATE would be final.
#[tokio::test]
async fn an_old_epoch_is_told_before_a_void_guard() {
    let partition = verifying(&Bench::new().await).await;
    let guard = partition.begin_verification(first(0, 0, true), NOW).unwrap();
    let v2 = Origin::Coordinator { transaction_version: 2 };
    partition.append(&abort(P, 1), v2, NOW).unwrap();
    assert!(stale(&send(&partition, guard, 0, 0)));
    assert!(stale(&partition.begin_verification(first(0, 0, true), NOW)), "before the coordinator is asked");
    assert!(partition.begin_verification(first(1, 0, true), NOW).unwrap().is_some());
}

/// Rule 5: a batch that was refused while it was verified comes before those behind it.
#[tokio::test]
async fn later_batches_wait_for_the_lowest_sequence() {
    let partition = verifying(&Bench::new().await).await;
    let guard = partition.begin_verification(first(0, 0, false), NOW).unwrap();
    // The coordinator could not be asked; the batch with sequence 0 will come again, this one is the next.
    assert_eq!(partition.begin_verification(first(0, 1, false), NOW), Ok(guard));
    let early = send(&partition, guard, 0, 1);
    assert!(matches!(early, Err(AppendError::OutOfOrderSequence(_))), "{early:?}");
    assert_eq!(send(&partition, guard, 0, 0), Ok(0));
    assert_eq!(send(&partition, None, 0, 1), Ok(1));
}

/// Rule 5 with transactions v2: an epoch is one transaction, so its first batch has sequence 0; with v1 a producer
/// that is not known here may be in the midst of its sequence.
#[tokio::test]
async fn an_unknown_producer_begins_with_0_if_its_transactions_have_epochs() {
    for (bumps_epoch, taken) in [(true, false), (false, true)] {
        let partition = verifying(&Bench::new().await).await;
        let guard = partition.begin_verification(first(0, 5, bumps_epoch), NOW).unwrap();
        assert_eq!(send(&partition, guard, 0, 5).is_ok(), taken);
    }
}

/// A transaction of a newer epoch is another transaction. One of an older epoch that is still open has lost its
/// marker with durable data; its records must not be committed by the new one.
#[tokio::test]
async fn an_open_transaction_of_an_old_epoch_takes_no_new_one_along() {
    let partition = verifying(&Bench::new().await).await;
    let guard = partition.begin_verification(first(0, 0, true), NOW).unwrap();
    assert_eq!(send(&partition, guard, 0, 0), Ok(0));
    assert_eq!(partition.open_transactions(), [(P, 0, 0)]);
    assert!(unknown(&send(&partition, None, 1, 0)));
    let guard = partition.begin_verification(first(1, 0, true), NOW).unwrap();
    assert!(guard.is_some() && unknown(&send(&partition, guard, 1, 0)));
    partition.append(&abort(P, 0), COORDINATOR, NOW).unwrap();
    let guard = partition.begin_verification(first(1, 0, true), NOW).unwrap();
    assert_eq!(send(&partition, guard, 1, 0), Ok(2));
    assert_eq!(partition.open_transactions(), [(P, 1, 2)]);
}

/// A marker for a transaction that was ended meanwhile must not end the next one, which has the same epoch before
/// `transaction.version` 2.
#[tokio::test]
async fn a_marker_of_settling_ends_one_transaction_and_no_other() {
    let partition = verifying(&Bench::new().await).await;
    let guard = partition.begin_verification(first(0, 0, true), NOW).unwrap();
    assert_eq!(send(&partition, guard, 0, 0), Ok(0));
    partition.append(&abort(P, 0), COORDINATOR, NOW).unwrap();
    let settler = |first| Origin::Settler { transaction_version: 0, first };
    let refused = |result| matches!(result, Err(AppendError::NotInTransaction(_)));
    assert!(refused(partition.append(&abort(P, 0), settler(0), NOW)), "nothing is open");
    let guard = partition.begin_verification(first(0, 1, true), NOW).unwrap();
    assert_eq!(send(&partition, guard, 0, 1), Ok(2));
    assert!(refused(partition.append(&abort(P, 0), settler(0), NOW)), "another one is open");
    assert_eq!(partition.open_transactions(), [(P, 0, 2)]);
    partition.append(&abort(P, 0), settler(2), NOW).unwrap();
    assert_eq!(partition.open_transactions(), []);
}

/// A duplicate is answered whatever became of its transaction; no guard survives the process.
#[tokio::test]
async fn duplicates_need_no_guard_and_guards_do_not_survive() {
    let mut bench = Bench::new().await;
    let partition = verifying(&bench).await;
    let guard = partition.begin_verification(first(0, 0, false), NOW).unwrap();
    assert_eq!(send(&partition, guard, 0, 0), Ok(0));
    partition.append(&commit(P, 0), COORDINATOR, NOW).unwrap();
    assert_eq!(send(&partition, None, 0, 0), Ok(0), "a duplicate");
    let guard = partition.begin_verification(first(0, 1, false), NOW).unwrap();
    let again = bench.crash().await;
    again.configure(Settings { verify_transactions: true, ..Settings::default() });
    assert!(unknown(&send(&again, guard, 0, 1)));
}

/// Coordinators ask before they change their state; with verification off nobody needs a guard.
#[tokio::test]
async fn coordinators_ask_first() {
    let partition = verifying(&Bench::new().await).await;
    let check = |epoch, guard| partition.check_transactional(P, epoch, guard).map(|()| 0);
    assert!(unknown(&check(3, None)));
    let guard = partition.begin_verification(first(3, -1, true), NOW).unwrap();
    assert_eq!(check(3, guard), Ok(0));
    partition.append(&transactional(P, 3, -1, 1), COORDINATOR, NOW).unwrap();
    assert_eq!(check(3, None), Ok(0), "the transaction is open");
    assert!(stale(&check(2, guard)));
    let v2 = Origin::Coordinator { transaction_version: 2 };
    assert!(stale(&partition.append(&abort(P, 3), v2, NOW)));
    partition.append(&abort(P, 4), v2, NOW).unwrap();
    assert!(unknown(&check(4, guard)));
    partition.configure(Settings::default());
    assert_eq!(check(4, None), Ok(0));
}

/// Guards of producers whose batch never came do not stay for ever.
#[tokio::test]
async fn verifications_expire_with_producers() {
    let partition = verifying(&Bench::new().await).await;
    let guard = partition.begin_verification(first(0, 0, false), NOW).unwrap();
    partition.expire_producers(NOW + 86_400_000);
    assert!(partition.check_transactional(P, 0, guard).is_ok());
    partition.expire_producers(NOW + 86_400_001);
    assert!(partition.check_transactional(P, 0, guard).is_err());
}
