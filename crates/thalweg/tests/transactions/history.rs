//! What clients did and saw, and whether both agree.
//!
//! Every value is unique, and the offsets of a partition order it, so nothing need be searched: each rule is a look
//! at sets. A transaction whose end was asked for until there was an answer has an outcome for certain, also when the
//! broker died in between.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// A topic and the number of a partition.
pub(crate) type Place = (&'static str, i32);

/// How a transaction ended, as its client was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Committed,
    /// By the client, by the time-out of the coordinator or by a newer instance of the producer.
    Aborted,
}

/// One transaction with its values, in the order of sending.
#[derive(Debug, Clone)]
pub(crate) struct Transaction {
    pub(crate) producer: String,
    pub(crate) values: Vec<(Place, String)>,
    /// A committed position: group's partition of the input, and offset.
    pub(crate) position: Option<(Place, i64)>,
    pub(crate) outcome: Outcome,
}

/// What one reader of committed records saw of a partition: offset to value.
pub(crate) type Seen = BTreeMap<Place, BTreeMap<i64, String>>;

/// All that happened.
#[derive(Debug, Default)]
pub(crate) struct History {
    transactions: Mutex<Vec<Transaction>>,
    seen: Mutex<Seen>,
}

impl History {
    pub(crate) fn ended(&self, transaction: Transaction) {
        self.transactions.lock().unwrap().push(transaction);
    }

    /// A reader saw a record. Nothing that was seen may change.
    pub(crate) fn saw(&self, place: Place, offset: i64, value: String) {
        let mut seen = self.seen.lock().unwrap();
        if let Some(before) = seen.entry(place).or_default().insert(offset, value.clone()) {
            assert_eq!(before, value, "two values at offset {offset} of {place:?}");
        }
    }

    /// Checks everything against what a last reader finds from the start of each partition to its end, and against
    /// the group's positions.
    pub(crate) fn check(&self, last: &Seen, positions: &BTreeMap<Place, i64>) -> Summary {
        let transactions = self.transactions.lock().unwrap();
        let places = last.iter().flat_map(|(place, seen)| seen.iter().map(move |it| (place, it)));
        let mut found: BTreeMap<&str, Vec<(Place, i64)>> = BTreeMap::new();
        for (place, (offset, value)) in places {
            found.entry(value).or_default().push((*place, *offset));
        }
        for (place, seen) in self.seen.lock().unwrap().iter() {
            for (offset, value) in seen {
                let now = last.get(place).and_then(|it| it.get(offset));
                assert_eq!(now, Some(value), "offset {offset} of {place:?} was seen and is gone");
            }
        }
        let mut known = BTreeSet::new();
        let mut summary = Summary::default();
        for transaction in transactions.iter() {
            check_transaction(transaction, &found, &mut known, &mut summary);
        }
        for (value, at) in &found {
            assert!(known.contains(*value), "nobody sent {value:?}, which stands at {at:?}");
        }
        check_order(&transactions, &found);
        check_positions(&transactions, positions);
        check_chain(last, positions);
        summary
    }
}

/// How much a run covered.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) committed: usize,
    pub(crate) aborted: usize,
    pub(crate) values: usize,
}

fn check_transaction<'a>(
    transaction: &'a Transaction,
    found: &BTreeMap<&str, Vec<(Place, i64)>>,
    known: &mut BTreeSet<&'a str>,
    summary: &mut Summary,
) {
    for (place, value) in &transaction.values {
        assert!(known.insert(value), "{value:?} was sent twice: the test is wrong");
        let at = found.get(value.as_str()).map(Vec::as_slice).unwrap_or_default();
        match transaction.outcome {
            Outcome::Committed => {
                let [(seen, _)] = at else {
                    panic!("{value:?} is committed and stands at {at:?}: {transaction:?}")
                };
                assert_eq!(seen, place, "{value:?}");
                summary.values += 1;
            }
            Outcome::Aborted => assert_eq!(at, [], "{value:?} is aborted: {transaction:?}"),
        }
    }
    match transaction.outcome {
        Outcome::Committed => summary.committed += 1,
        Outcome::Aborted => summary.aborted += 1,
    }
}

/// What one producer sent to a partition stands there in that order.
fn check_order(transactions: &[Transaction], found: &BTreeMap<&str, Vec<(Place, i64)>>) {
    let mut last: BTreeMap<(&str, Place), i64> = BTreeMap::new();
    for transaction in transactions.iter().filter(|it| it.outcome == Outcome::Committed) {
        for (place, value) in &transaction.values {
            let Some([(_, offset)]) = found.get(value.as_str()).map(Vec::as_slice) else { continue };
            let before = last.insert((&transaction.producer, *place), *offset);
            assert!(before.is_none_or(|before| before < *offset), "{value:?} stands before {before:?}");
        }
    }
}

/// The group stands where the last committed transaction with a position put it.
fn check_positions(transactions: &[Transaction], positions: &BTreeMap<Place, i64>) {
    let mut expected = BTreeMap::new();
    let committed = transactions.iter().filter(|it| it.outcome == Outcome::Committed);
    for (place, offset) in committed.filter_map(|it| it.position) {
        let before = expected.insert(place, offset);
        assert!(
            before.is_none_or(|before| before < offset),
            "the position of {place:?} went back to {offset}"
        );
    }
    assert_eq!(&expected, positions, "positions of the group");
}

/// Exactly once: each committed record of the input below the group's position has one record of the output, and no
/// other has any.
fn check_chain(last: &Seen, positions: &BTreeMap<Place, i64>) {
    let of = |topic: &'static str| last.iter().filter(move |((name, _), _)| *name == topic);
    let expected: BTreeSet<String> = of("in")
        .flat_map(|(place, seen)| seen.range(..positions.get(place).copied().unwrap_or(0)))
        .map(|(_, value)| derived(value))
        .collect();
    let output = of("out").flat_map(|(_, seen)| seen.values());
    let output: BTreeSet<String> = output.filter(|it| it.starts_with("from ")).cloned().collect();
    assert_eq!(output, expected, "input and output of the chain");
}

/// What the chain makes of a value.
pub(crate) fn derived(value: &str) -> String {
    format!("from {value}")
}
