//! Leader epochs of a partition and the offsets where they began (`broker-core` 11.2).
//!
//! Clients ask for the end of an epoch to find out whether what they read was cut off meanwhile.

use crate::log::{Epoch, Offset};

/// Epochs with their first offsets; both ascend strictly. An epoch in which nothing was appended gives way to
/// the next one, as in Kafka.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Epochs {
    entries: Vec<(Epoch, Offset)>,
}

/// An epoch and the offset after its last record. `None` in its place: Kafka's −1, −1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    /// The epoch that was asked for, or the largest below it.
    pub epoch: Epoch,
    /// Offset after its last record.
    pub end: Offset,
}

impl Epochs {
    pub(super) fn restore(entries: Vec<(Epoch, Offset)>) -> Self {
        Self { entries }
    }

    /// The epochs with their first offsets, ascending.
    #[must_use]
    pub fn entries(&self) -> &[(Epoch, Offset)] {
        &self.entries
    }

    /// Notes that `epoch` writes from `offset` on. Older news about the same epoch stands.
    pub(super) fn assign(&mut self, epoch: Epoch, offset: Offset) {
        if epoch < 0 || self.entries.last().is_some_and(|&(last, _)| last >= epoch) {
            return;
        }
        while self.entries.last().is_some_and(|&(_, start)| start >= offset) {
            self.entries.pop();
        }
        self.entries.push((epoch, offset));
    }

    /// Forgets what lies wholly below `start`; the epoch that holds `start` now begins there.
    pub(super) fn trim(&mut self, start: Offset) {
        let below = self.entries.partition_point(|&(_, from)| from <= start);
        let Some(keep) = below.checked_sub(1) else { return };
        self.entries.drain(..keep);
        if let Some((_, from)) = self.entries.first_mut() {
            *from = start;
        }
    }

    /// The newest epoch.
    #[must_use]
    pub fn latest(&self) -> Option<Epoch> {
        self.entries.last().map(|&(epoch, _)| epoch)
    }

    /// The epoch in which the record at `offset` was appended.
    #[must_use]
    pub fn at(&self, offset: Offset) -> Option<Epoch> {
        let after = self.entries.partition_point(|&(_, start)| start <= offset);
        after.checked_sub(1).and_then(|index| self.entries.get(index)).map(|&(epoch, _)| epoch)
    }

    /// The end of `epoch`, in a log that ends at `end` (`broker-core` 11.2 rule 3).
    #[must_use]
    pub fn end_of(&self, epoch: Epoch, end: Offset) -> Option<EpochEnd> {
        let latest = self.latest()?;
        if epoch < 0 || epoch > latest {
            return None;
        }
        if epoch == latest {
            return Some(EpochEnd { epoch, end });
        }
        let after = self.entries.partition_point(|&(entry, _)| entry <= epoch);
        let &(_, next_start) = self.entries.get(after)?;
        let known = after.checked_sub(1).and_then(|index| self.entries.get(index));
        Some(EpochEnd { epoch: known.map_or(epoch, |&(entry, _)| entry), end: next_start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Epochs {
        let mut epochs = Epochs::default();
        epochs.assign(0, 0);
        epochs.assign(2, 10);
        epochs.assign(5, 25);
        epochs
    }

    /// `broker-core` 11.2 rule 4.
    #[test]
    fn worked_example() {
        let epochs = example();
        let ends: Vec<_> =
            (-1..=6).map(|epoch| epochs.end_of(epoch, 40).map(|it| (it.epoch, it.end))).collect();
        let expected = [
            None,
            Some((0, 10)),
            Some((0, 10)),
            Some((2, 25)),
            Some((2, 25)),
            Some((2, 25)),
            Some((5, 40)),
            None,
        ];
        assert_eq!(ends, expected);
        assert_eq!(Epochs::default().end_of(0, 0), None);
    }

    #[test]
    fn an_epoch_below_the_first_ends_where_the_first_begins() {
        let mut epochs = Epochs::default();
        epochs.assign(3, 100);
        epochs.assign(4, 200);
        assert_eq!(epochs.end_of(1, 300), Some(EpochEnd { epoch: 1, end: 100 }));
    }

    #[test]
    fn epochs_never_fall_and_empty_ones_give_way() {
        let mut epochs = example();
        epochs.assign(4, 30);
        epochs.assign(5, 30);
        assert_eq!(epochs, example());
        epochs.assign(6, 25);
        assert_eq!(epochs.entries(), [(0, 0), (2, 10), (6, 25)]);
    }

    #[test]
    fn trim_keeps_the_epoch_of_the_start() {
        for (start, expected) in [
            (0, vec![(0, 0), (2, 10), (5, 25)]),
            (9, vec![(0, 9), (2, 10), (5, 25)]),
            (10, vec![(2, 10), (5, 25)]),
            (30, vec![(5, 30)]),
        ] {
            let mut epochs = example();
            epochs.trim(start);
            assert_eq!(epochs.entries(), expected, "start {start}");
        }
    }

    #[test]
    fn epoch_of_an_offset() {
        let epochs = example();
        assert_eq!([0, 9, 10, 24, 25, 99].map(|it| epochs.at(it)), [0, 0, 2, 2, 5, 5].map(Some));
        assert_eq!(Epochs::default().at(0), None);
    }
}
