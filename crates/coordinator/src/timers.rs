//! Deadlines as data: an ordered table, no callbacks.
//!
//! A heartbeat pushes its member's session deadline further away, thousands of times for each time
//! that one is reached. So a later deadline only overwrites a number, which is found by hash; the row in the order
//! of time stays and is put right when its turn comes. [`Timers::next`] can therefore be early.

#![expect(
    clippy::disallowed_types,
    reason = "deadlines are found by key; whoever goes through all sorts them"
)]

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use crate::machine::Millis;

/// Deadlines by key. Several that are due fire in (deadline, key) order.
#[derive(Debug, Clone)]
pub struct Timers<K> {
    /// Nobody goes through it in its own order, which chance decides.
    by_key: HashMap<K, Row>,
    /// One row per key, at its `armed` time.
    by_time: BTreeSet<(Millis, K)>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    /// Never after `deadline`.
    armed: Millis,
    deadline: Millis,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self { by_key: HashMap::new(), by_time: BTreeSet::new() }
    }
}

impl<K: Ord + Hash + Clone> Timers<K> {
    /// Sets or moves the deadline of `key`.
    pub fn set(&mut self, key: K, deadline: Millis) {
        if let Some(row) = self.by_key.get_mut(&key) {
            row.deadline = deadline;
            if row.armed <= deadline {
                return;
            }
            let armed = row.armed;
            row.armed = deadline;
            self.by_time.remove(&(armed, key.clone()));
        } else {
            self.by_key.insert(key.clone(), Row { armed: deadline, deadline });
        }
        self.by_time.insert((deadline, key));
    }

    /// Forgets the deadline of `key`; true if there was one.
    pub fn cancel(&mut self, key: &K) -> bool {
        let Some(row) = self.by_key.remove(key) else { return false };
        self.by_time.remove(&(row.armed, key.clone()));
        true
    }

    /// The deadline of `key`.
    pub fn get(&self, key: &K) -> Option<Millis> {
        self.by_key.get(key).map(|row| row.deadline)
    }

    /// A time no later than the first deadline.
    pub fn next(&self) -> Option<Millis> {
        self.by_time.first().map(|(time, _)| *time)
    }

    /// Takes the first deadline that is due: the smallest (deadline, key) with deadline ≤ now.
    pub fn pop_due(&mut self, now: Millis) -> Option<(Millis, K)> {
        while let Some((armed, key)) = self.by_time.pop_first() {
            if armed > now {
                self.by_time.insert((armed, key));
                return None;
            }
            let row = self.by_key.get_mut(&key).expect("each row in the order of time has its key");
            if row.deadline == armed {
                self.by_key.remove(&key);
                return Some((armed, key));
            }
            row.armed = row.deadline;
            self.by_time.insert((row.deadline, key));
        }
        None
    }

    /// All deadlines in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, Millis)> {
        let mut all: Vec<_> = self.by_key.iter().map(|(key, row)| (key, row.deadline)).collect();
        all.sort_unstable();
        all.into_iter()
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(timers: &mut Timers<&'static str>, now: Millis) -> Vec<(Millis, &'static str)> {
        std::iter::from_fn(|| timers.pop_due(now)).collect()
    }

    #[test]
    fn due_deadlines_fire_in_order_of_deadline_then_key() {
        let mut timers = Timers::default();
        timers.set("b", 20);
        timers.set("a", 20);
        timers.set("c", 10);
        timers.set("d", 30);
        assert_eq!(drain(&mut timers, 20), [(10, "c"), (20, "a"), (20, "b")]);
        assert_eq!(timers.next(), Some(30));
    }

    #[test]
    fn a_deadline_moved_away_fires_late_and_once() {
        let mut timers = Timers::default();
        timers.set("a", 10);
        timers.set("a", 40);
        timers.set("b", 30);
        // Early by design: the row of "a" still stands at 10.
        assert_eq!(timers.next(), Some(10));
        assert_eq!(timers.get(&"a"), Some(40));
        assert_eq!(drain(&mut timers, 10), []);
        assert_eq!(timers.next(), Some(30));
        assert_eq!(drain(&mut timers, 50), [(30, "b"), (40, "a")]);
        assert!(timers.is_empty());
    }

    #[test]
    fn a_deadline_moved_near_fires_there() {
        let mut timers = Timers::default();
        timers.set("a", 40);
        timers.set("a", 10);
        assert_eq!(timers.next(), Some(10));
        assert_eq!(drain(&mut timers, 100), [(10, "a")]);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn moved_away_and_back_again() {
        let mut timers = Timers::default();
        timers.set("a", 10);
        timers.set("a", 40);
        timers.set("a", 20);
        assert_eq!(drain(&mut timers, 19), []);
        assert_eq!(drain(&mut timers, 20), [(20, "a")]);
        assert_eq!(drain(&mut timers, 100), []);
    }

    #[test]
    fn a_cancelled_deadline_is_gone() {
        let mut timers = Timers::default();
        timers.set("a", 10);
        timers.set("a", 40);
        assert!(timers.cancel(&"a"));
        assert!(!timers.cancel(&"a"));
        assert_eq!(drain(&mut timers, 100), []);
        assert_eq!(timers.len(), 0);
    }
}
