//! The only clock of the process. Machines and partitions get its time as an argument.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use coordinator::Millis;

/// Wall time in milliseconds that never goes back: sessions and timers compare its values.
#[derive(Debug, Default)]
pub struct Clock {
    last: AtomicI64,
}

impl Clock {
    /// The larger of the system's time and the last value that was given out.
    pub fn now(&self) -> Millis {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
        self.last.fetch_max(wall, Ordering::Relaxed).max(wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_went_back_is_not_noticed() {
        let ahead = i64::MAX - 1;
        let clock = Clock { last: AtomicI64::new(ahead) };
        assert_eq!(clock.now(), ahead);
        assert!(Clock::default().now() > 0);
    }
}
