//! A bound on what all threads have at the same time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// So much is left.
#[derive(Debug)]
pub(super) struct Permits {
    left: Mutex<usize>,
    freed: Condvar,
}

/// A part of it, given back with the value.
#[derive(Debug)]
pub(super) struct Permit {
    of: Arc<Permits>,
    count: usize,
}

impl Permits {
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { left: Mutex::new(count), freed: Condvar::new() })
    }

    /// Waits until so much is left; `count` must not be more than there ever was.
    pub(super) fn acquire(self: &Arc<Self>, count: usize) -> Permit {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_while(left, |left| *left < count);
        *waited.unwrap_or_else(PoisonError::into_inner) -= count;
        Permit { of: Arc::clone(self), count }
    }

    /// Nothing if so much is not left.
    pub(super) fn try_acquire(self: &Arc<Self>, count: usize) -> Option<Permit> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.checked_sub(count)?;
        Some(Permit { of: Arc::clone(self), count })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.of.left.lock().unwrap_or_else(PoisonError::into_inner) += self.count;
        self.of.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_comes_back() {
        let permits = Permits::new(3);
        let two = permits.acquire(2);
        assert!(permits.try_acquire(2).is_none());
        let one = permits.try_acquire(1);
        assert!(one.is_some());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(permits.acquire(3)));
            drop((one, two));
            waiting.join().unwrap();
        });
        assert!(permits.try_acquire(3).is_some());
    }
}
