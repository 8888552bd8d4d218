//! Work that takes long and much memory, as inflating a client's batch: few at a time, and never in the way of others.
//!
//! It is done where it is asked for, so that records keep their order; the runtime moves what else waits for this thread
//! to another one.

use std::num::NonZero;
use std::thread::available_parallelism;

use parking_lot::{Condvar, Mutex};
use tokio::runtime::{Handle, RuntimeFlavor};

/// How many heavy pieces of work are under way at once.
#[derive(Debug)]
pub struct Heavy {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Default for Heavy {
    /// One per processor.
    fn default() -> Self {
        let free = available_parallelism().map_or(1, NonZero::get);
        Self { free: Mutex::new(free), freed: Condvar::new() }
    }
}

impl Heavy {
    /// Waits for a place and does the work.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let work = || {
            let _place = Place::take(self);
            work()
        };
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
            // With one thread (tests) there is nobody to hand over to, and nobody to wait for.
            Ok(_) | Err(_) => work(),
        }
    }
}

/// A place that is given back also if the work panics.
struct Place<'a>(&'a Heavy);

impl<'a> Place<'a> {
    fn take(heavy: &'a Heavy) -> Self {
        let mut free = heavy.free.lock();
        while *free == 0 {
            heavy.freed.wait(&mut free);
        }
        *free -= 1;
        Self(heavy)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn at_most_so_many_at_once_and_a_panic_gives_its_place_back() {
        let heavy = Heavy { free: Mutex::new(2), freed: Condvar::new() };
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (heavy, now, most) = (&heavy, &now, &most);
                scope.spawn(move || {
                    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        heavy.run(|| {
                            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                            std::thread::yield_now();
                            now.fetch_sub(1, Ordering::SeqCst);
                            assert_ne!(number, 3, "this one fails");
                        });
                    }));
                    assert_eq!(done.is_err(), number == 3);
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 2);
        assert_eq!(*heavy.free.lock(), 2);
    }
}
