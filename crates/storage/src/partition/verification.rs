//! Which transactions the coordinator was asked about before their first batch on this partition (KIP-890,
//! `broker-core` 9.5).
//!
//! A transactional batch of a producer without an open transaction here would open one. Nobody ends it unless the
//! coordinator knows of it, so the coordinator is asked first, without any lock. The answer may be old when it
//! comes: the transaction may have ended meanwhile, with a marker that came before the batch. So who asks gets a
//! [`Guard`] before, and shows it with the batch; a marker in between voids it. None of this is in the log: after a
//! restart everybody asks again.
//!
//! The lowest sequence that was seen is kept as well: if a producer's first batch must be sent again, its second
//! one has to wait, else the first would be out of order for ever.

use std::collections::BTreeMap;

use crate::log::Millis;

/// Producers that are being verified at a time. Above it the oldest guards are void, and their batches are tried
/// again by their producers.
const VERIFICATIONS_MAX: usize = 100_000;

/// Shows that the coordinator was asked about the producer's transaction before its batch. It is good until the
/// first batch of the transaction or the next marker of the producer that ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard(u64);

/// The first batch of a producer that is to be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstBatch {
    /// Whose batch.
    pub producer_id: i64,
    /// Its epoch.
    pub epoch: i16,
    /// The sequence of its first record; −1 for a coordinator's.
    pub sequence: i32,
    /// The client's transactions are of version 2: each has an epoch of its own, so its sequences begin with 0.
    pub bumps_epoch: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verification {
    pub guard: Guard,
    pub lowest_sequence: i32,
    pub bumps_epoch: bool,
    epoch: i16,
    since: Millis,
}

/// The verifications that wait for their batch, by producer.
#[derive(Debug, Default)]
pub(super) struct Verifications {
    entries: BTreeMap<i64, Verification>,
    last: u64,
}

impl Verifications {
    /// Begins a verification, or joins the one that waits for its batch already.
    pub(super) fn begin(&mut self, first: FirstBatch, now: Millis) -> Guard {
        let FirstBatch { producer_id, epoch, sequence, bumps_epoch } = first;
        if self.entries.len() >= VERIFICATIONS_MAX && !self.entries.contains_key(&producer_id) {
            self.forget_oldest(VERIFICATIONS_MAX / 8);
        }
        let next = Guard(self.last + 1);
        let entry = self.entries.entry(producer_id).or_insert(Verification {
            guard: next,
            lowest_sequence: sequence,
            bumps_epoch,
            epoch,
            since: now,
        });
        if entry.guard == next {
            self.last += 1;
        }
        if epoch > entry.epoch {
            *entry = Verification { lowest_sequence: sequence, bumps_epoch, epoch, ..*entry };
        } else if epoch == entry.epoch {
            entry.lowest_sequence = entry.lowest_sequence.min(sequence);
        }
        entry.guard
    }

    pub(super) fn get(&self, producer_id: i64) -> Option<&Verification> {
        self.entries.get(&producer_id)
    }

    /// Whether the guard is that of the verification that waits.
    pub(super) fn admits(&self, producer_id: i64, guard: Option<Guard>) -> bool {
        guard.is_some() && self.get(producer_id).map(|it| it.guard) == guard
    }

    /// The transaction has begun or ended: the guard is void.
    pub(super) fn end(&mut self, producer_id: i64) {
        self.entries.remove(&producer_id);
    }

    /// A transaction has ended by a marker of transactions v2, which has the epoch of the next one: guards of before are
    /// void, but not that of a producer that has begun the next one already.
    pub(super) fn end_older(&mut self, producer_id: i64, epoch: i16) {
        let is_next = |it: &Verification| it.bumps_epoch && it.epoch >= epoch;
        if !self.entries.get(&producer_id).is_some_and(is_next) {
            self.entries.remove(&producer_id);
        }
    }

    /// Forgets those whose batch did not come for as long as producers are remembered.
    pub(super) fn expire(&mut self, now: Millis, expiration_ms: Millis) {
        self.entries.retain(|_, it| now.saturating_sub(it.since) <= expiration_ms);
    }

    fn forget_oldest(&mut self, count: usize) {
        let mut by_age: Vec<_> = self.entries.iter().map(|(&id, it)| (it.since, id)).collect();
        by_age.sort_unstable();
        for (_, id) in by_age.into_iter().take(count) {
            self.entries.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(producer_id: i64, epoch: i16, sequence: i32) -> FirstBatch {
        FirstBatch { producer_id, epoch, sequence, bumps_epoch: false }
    }

    #[test]
    fn one_guard_until_the_transaction_begins_or_ends() {
        let mut all = Verifications::default();
        let guard = all.begin(first(1, 0, 5), 0);
        assert_eq!(all.begin(first(1, 0, 3), 0), guard, "the same verification");
        assert!(all.admits(1, Some(guard)) && !all.admits(2, Some(guard)) && !all.admits(1, None));
        all.end(1);
        assert!(!all.admits(1, Some(guard)));
        let other = all.begin(first(1, 0, 0), 0);
        assert!(!all.admits(1, Some(guard)) && all.admits(1, Some(other)), "no guard comes back");
    }

    #[test]
    fn the_lowest_sequence_counts_within_an_epoch() {
        let mut all = Verifications::default();
        let mut lowest = |epoch, sequence| {
            all.begin(first(1, epoch, sequence), 0);
            all.get(1).unwrap().lowest_sequence
        };
        assert_eq!([lowest(1, 5), lowest(1, 7), lowest(1, 2), lowest(0, 1)], [5, 5, 2, 2]);
        assert_eq!([lowest(2, 9), lowest(1, 0)], [9, 9]);
    }

    #[test]
    fn verifications_are_bounded_and_expire() {
        let mut all = Verifications::default();
        for id in 0..=i64::try_from(VERIFICATIONS_MAX).unwrap() {
            all.begin(first(id, 0, 0), id);
        }
        assert!(all.entries.len() <= VERIFICATIONS_MAX);
        assert!(all.get(0).is_none() && all.get(i64::try_from(VERIFICATIONS_MAX).unwrap()).is_some());
        all.expire(i64::try_from(VERIFICATIONS_MAX).unwrap() + 10, 9);
        assert!(all.entries.is_empty());
    }
}
