//! Open and aborted transactions of a partition, and the last stable offset (`broker-core` 13.2, 13.3).

use std::collections::{BTreeMap, VecDeque};

use crate::log::{Aborted, Ends, Offset};

/// Transactions of a partition. Like the producers, a function of the batches in the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transactions {
    /// Producers of open transactions by first offset.
    open: BTreeMap<Offset, i64>,
    /// Ended ones whose marker is not durable yet: first offset and offset of the marker, in marker order. Their
    /// records stay unstable, since a crash may open them again.
    ended: VecDeque<(Offset, Offset)>,
    /// Aborted ones in the order of their markers. It shrinks with the log's start.
    aborted: Vec<Aborted>,
}

impl Transactions {
    pub(super) fn restore(aborted: Vec<Aborted>, open: impl Iterator<Item = (Offset, i64)>) -> Self {
        Self { open: open.collect(), ended: VecDeque::new(), aborted }
    }

    /// A transaction of `producer_id` begins at `first_offset`.
    pub(super) fn begin(&mut self, first_offset: Offset, producer_id: i64) {
        self.open.insert(first_offset, producer_id);
    }

    /// The marker at `marker_offset` ends the transaction that began at `first_offset`.
    pub(super) fn end(
        &mut self,
        producer_id: i64,
        first_offset: Offset,
        marker_offset: Offset,
        commit: bool,
    ) {
        self.open.remove(&first_offset);
        self.ended.push_back((first_offset, marker_offset));
        if !commit {
            let last_stable_offset = self.open.keys().next().map_or(marker_offset + 1, |&first| first);
            self.aborted.push(Aborted {
                producer_id,
                first_offset,
                last_offset: marker_offset,
                last_stable_offset,
            });
        }
    }

    /// Offset up to which all transactions are decided, by durable markers. It moves only when `durable` does:
    /// what begins or ends above it can't change it.
    pub(super) fn last_stable(&mut self, ends: &Ends) -> Offset {
        self.settle(ends.durable);
        let undecided = self.open.keys().next().copied();
        let unsettled = self.ended.iter().map(|&(first, _)| first).min();
        [undecided, unsettled].into_iter().flatten().fold(ends.durable, Offset::min).max(ends.start)
    }

    /// Forgets ended transactions whose markers are durable.
    pub(super) fn settle(&mut self, durable: Offset) {
        while self.ended.front().is_some_and(|&(_, marker)| marker < durable) {
            self.ended.pop_front();
        }
    }

    /// Aborted transactions with records in `[from, to)`, in the order of their markers (K-16). One that began
    /// before `from` belongs to it: the reader is in its midst.
    pub(super) fn aborted_between(&self, from: Offset, to: Offset) -> Vec<Aborted> {
        let ended_before = self.aborted.partition_point(|it| it.last_offset < from);
        let mut found = Vec::new();
        for it in self.aborted.get(ended_before..).unwrap_or_default() {
            if it.first_offset < to {
                found.push(*it);
            }
            // What was decided after it began no lower than that.
            if it.last_stable_offset >= to {
                break;
            }
        }
        found
    }

    /// All aborted transactions that are remembered.
    pub(super) fn aborted(&self) -> &[Aborted] {
        &self.aborted
    }

    /// Forgets aborted transactions that ended below `start`.
    pub(super) fn trim(&mut self, start: Offset) {
        self.aborted.retain(|it| it.last_offset >= start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: i64 = 1;
    const B: i64 = 2;

    fn ends(durable: Offset) -> Ends {
        Ends { durable, end: durable, ..Ends::default() }
    }

    /// `broker-core` 13.4.
    #[test]
    fn worked_example() {
        let mut transactions = Transactions::default();
        transactions.begin(0, A);
        assert_eq!(transactions.last_stable(&ends(6)), 0);
        transactions.begin(6, B);
        transactions.end(A, 0, 8, false);
        assert_eq!(transactions.last_stable(&ends(10)), 6);
        let expected = Aborted { producer_id: A, first_offset: 0, last_offset: 8, last_stable_offset: 6 };
        assert_eq!(transactions.aborted_between(0, 6), [expected]);
        transactions.end(B, 6, 10, true);
        assert_eq!(transactions.last_stable(&ends(11)), 11);
        assert_eq!(transactions.aborted_between(6, 11), [expected]);
        assert_eq!(transactions.aborted_between(9, 11), []);
    }

    /// `broker-core` 13.2: it ends when its marker is below the high watermark.
    #[test]
    fn a_marker_counts_when_it_is_durable() {
        let mut transactions = Transactions::default();
        transactions.begin(3, A);
        transactions.end(A, 3, 5, true);
        assert_eq!(transactions.last_stable(&ends(5)), 3);
        assert_eq!(transactions.last_stable(&ends(6)), 6);
    }

    #[test]
    fn the_last_stable_offset_is_not_below_the_start() {
        let mut transactions = Transactions::default();
        transactions.begin(3, A);
        assert_eq!(transactions.last_stable(&Ends { start: 4, durable: 9, end: 9, dead: false }), 4);
    }

    #[test]
    fn trimmed_ones_are_forgotten() {
        let mut transactions = Transactions::default();
        transactions.begin(0, A);
        transactions.end(A, 0, 4, false);
        transactions.begin(5, A);
        transactions.end(A, 5, 9, false);
        transactions.trim(5);
        assert_eq!(transactions.aborted().iter().map(|it| it.first_offset).collect::<Vec<_>>(), [5]);
    }
}
