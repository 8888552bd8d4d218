//! Settles transactions that a partition has open and their coordinator knows nothing of.
//!
//! A clean or killed process leaves no such thing: a partition belongs to a transaction before its first record is
//! there, and a transaction is complete after its markers are, so that its coordinator ends what is open. But where durable data was lost (a power cut with
//! `thalweg.durability=page-cache`, a damaged disk that was cut), both logs may tell different stories. Then nobody
//! would ever write the marker, and readers of committed records would stand still for ever.
//!
//! So after each start, once all coordinators have read their logs, every transaction that was found open is looked
//! up by its producer:
//! 1. ongoing, or decided and not carried out, with this partition: nothing; its coordinator will write the marker
//! 2. decided, of this producer epoch: the marker of that decision
//! 3. anything else (no such producer, a newer epoch, a transaction without this partition): ABORT
//!
//! Meanwhile coordinators write markers and producers go on. So a marker is written only while the transaction that was
//! found is open still: it is known by the offset of its first record, since before `transaction.version` 2 the next
//! one of its producer has the same epoch.

use std::sync::Arc;
use std::time::Duration;

use coordinator::Caller;
use coordinator::txn::{State, TopicPartition, Transaction, TxnReply, TxnRequest};
use storage::Offset;
use tokio::time::sleep;
use tracing::{debug, error, info, warn};
use wire::{ErrorCode, Str};

use crate::broker::Broker;
use crate::markers::Marker;
use crate::stop::Stop;

/// Pause before coordinators that load are asked again.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// A transaction that a partition has open.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Open {
    place: TopicPartition,
    producer_id: i64,
    epoch: i16,
    /// Offset of its first record there.
    first: Offset,
}

/// Runs once, after a start.
pub(crate) async fn settle(broker: Arc<Broker>, mut stop: Stop) {
    let open = open_transactions(&broker);
    if open.is_empty() {
        return;
    }
    tokio::select! {
        () = stop.given() => {}
        known = known(&broker, &open) => settle_all(&broker, open, &known).await,
    }
}

fn open_transactions(broker: &Broker) -> Vec<Open> {
    let mut open = Vec::new();
    for (id, partition, _) in broker.partitions.all() {
        let place = TopicPartition { topic: Str::from(&*id.topic), index: id.index };
        for (producer_id, epoch, first) in partition.open_transactions() {
            open.push(Open { place: place.clone(), producer_id, epoch, first });
        }
    }
    open
}

/// What the coordinators know of these producers, once all of them can be asked.
async fn known(broker: &Broker, open: &[Open]) -> Vec<Transaction> {
    let mut ids: Vec<_> = open.iter().map(|it| it.producer_id).collect();
    ids.sort_unstable();
    ids.dedup();
    loop {
        let find = || TxnRequest::Find(ids.clone());
        let mut known = Vec::new();
        let mut complete = true;
        for answer in broker.transactions.ask_all(&Caller::default(), find).await {
            match answer {
                Ok(TxnReply::Find(found)) => known.extend(found),
                Ok(other) => error!(?other, "a transaction shard gave the answer to another question"),
                Err(_) => complete = false,
            }
        }
        if complete {
            return known;
        }
        sleep(AGAIN_AFTER).await;
    }
}

async fn settle_all(broker: &Broker, open: Vec<Open>, known: &[Transaction]) {
    for open in open {
        let transaction = known.iter().find(|it| it.producer_id == open.producer_id);
        let Some((commit, producer_epoch, transaction_version)) = verdict(&open, transaction) else {
            continue;
        };
        let marker = Marker {
            producer_id: open.producer_id,
            producer_epoch,
            commit,
            coordinator_epoch: broker.partitions.epoch(),
            transaction_version,
        };
        let TopicPartition { topic, index } = open.place;
        let image = broker.catalog.image();
        let code = broker.markers.settle(&image, &marker, (&topic, index), open.first).await;
        let producer_id = open.producer_id;
        match code {
            ErrorCode::NONE => {
                info!(%topic, index, producer_id, commit, "settled a transaction that no coordinator would end");
            }
            ErrorCode::INVALID_TXN_STATE => debug!(%topic, index, producer_id, "its coordinator ended it"),
            other => warn!(%topic, index, producer_id, ?other, "a transaction was not settled"),
        }
    }
}

/// Whether to commit, and with which epoch and level of `transaction.version`; none if the coordinator will see to it.
fn verdict(open: &Open, transaction: Option<&Transaction>) -> Option<(bool, i16, i16)> {
    let abort = Some((false, open.epoch, 0));
    let Some(transaction) = transaction else { return abort };
    // Transactions v2 end with the epoch after that of their records.
    let bumps = transaction.client_version >= 2;
    let ended_epoch =
        if bumps { transaction.producer_epoch.saturating_sub(1) } else { transaction.producer_epoch };
    let has_it = transaction.partitions.contains(&open.place);
    match transaction.state {
        State::Ongoing if transaction.producer_epoch == open.epoch && has_it => None,
        State::PrepareCommit | State::PrepareAbort if has_it => None,
        State::PrepareCommit | State::CompleteCommit if ended_epoch == open.epoch => {
            Some((true, transaction.producer_epoch, transaction.client_version))
        }
        State::Empty
        | State::Ongoing
        | State::PrepareCommit
        | State::PrepareAbort
        | State::CompleteCommit
        | State::CompleteAbort => abort,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(index: i32) -> TopicPartition {
        TopicPartition { topic: Str::from_static("t"), index }
    }

    fn transaction(state: State, producer_epoch: i16, client_version: i16) -> Transaction {
        Transaction {
            producer_id: 7,
            previous_producer_id: -1,
            next_producer_id: -1,
            producer_epoch,
            timeout_ms: 60_000,
            state,
            partitions: [place(0)].into(),
            started: 0,
            updated: 0,
            client_version,
        }
    }

    /// `storage.md` 5.6: what a partition and its coordinator may say of each other.
    #[test]
    fn every_disagreement_has_an_end() {
        let of = |index| Open { place: place(index), producer_id: 7, epoch: 3, first: 0 };
        let found =
            |index, state, epoch, version| verdict(&of(index), Some(&transaction(state, epoch, version)));
        let abort = Some((false, 3, 0));
        assert_eq!(verdict(&of(0), None), abort, "no such producer");
        for version in [0, 2] {
            assert_eq!(found(0, State::Ongoing, 3, version), None, "it will be ended");
            assert_eq!(found(1, State::Ongoing, 3, version), abort, "not with this partition");
            assert_eq!(found(0, State::Ongoing, 4, version), abort, "another transaction of the producer");
            assert_eq!(found(0, State::PrepareAbort, 4, version), None);
            assert_eq!(found(0, State::PrepareCommit, 3 + version / 2, version), None);
            assert_eq!(found(0, State::CompleteAbort, 4, version), abort);
            assert_eq!(found(0, State::Empty, 4, version), abort, "a new instance");
            let decided = 3 + version / 2;
            let commit = Some((true, decided, version));
            assert_eq!(found(0, State::CompleteCommit, decided, version), commit);
            assert_eq!(found(1, State::PrepareCommit, decided, version), commit);
            assert_eq!(
                found(0, State::CompleteCommit, decided + 1, version),
                abort,
                "of a later transaction"
            );
        }
    }
}
