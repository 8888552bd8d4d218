//! Waiting for news of partitions: until an offset is durable, or until any of several partitions moves (the
//! long poll of a Fetch, `broker-core` 10.4).
//!
//! A partition without waiters costs nothing, and an append wakes nobody by itself: only a move of the durable
//! end does, since only that can show a reader more (the last stable offset moves with it as well). No wake-up is
//! lost between a look and the wait: a waiter says what it saw, and what has changed since then counts.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::log::{Ends, Offset};

/// The partition takes no more appends and did not get as far as was hoped; what was appended may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dead;

/// Waits until everything below `offset` is durable.
pub(super) async fn durable(mut ends: watch::Receiver<Ends>, offset: Offset) -> Result<Ends, Dead> {
    let found = ends.wait_for(|ends| ends.durable >= offset || ends.dead).await.map_err(|_| Dead)?;
    if found.durable >= offset { Ok(*found) } else { Err(Dead) }
}

/// Waits for the first news of several partitions. Its size is the number of partitions that were given to it;
/// dropping it ends the wait.
///
/// ```text
/// read all partitions
/// while there are not enough bytes and time is left:
///     watch those that were read, with what was seen
///     read again those that `changed` names
/// ```
#[derive(Default)]
pub struct Waiter {
    entries: BTreeMap<u64, Entry>,
    /// Entries that were never polled.
    fresh: Vec<u64>,
    last_id: u64,
    woken: Arc<Woken>,
}

struct Entry {
    /// Number by which the caller knows the partition.
    tag: usize,
    news: Pin<Box<dyn Future<Output = ()> + Send>>,
    waker: Waker,
}

impl Waiter {
    /// Waits for nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Also waits for news of the partition that has these ends: a start, durable end or death other than
    /// `seen`. `tag` is what [`Self::changed`] answers.
    pub fn watch(&mut self, tag: usize, mut ends: watch::Receiver<Ends>, seen: Ends) {
        let moved =
            move |now: &Ends| (now.start, now.durable, now.dead) != (seen.start, seen.durable, seen.dead);
        let news = Box::pin(async move {
            // An error means that the log is gone altogether, which is news as well.
            let _gone = ends.wait_for(moved).await.is_err();
        });
        self.last_id += 1;
        let id = self.last_id;
        let waker = Waker::from(Arc::new(EntryWaker { id, woken: Arc::clone(&self.woken) }));
        self.entries.insert(id, Entry { tag, news, waker });
        self.fresh.push(id);
    }

    /// The tags of the partitions with news, ascending; they are not watched any longer. Does not end while there
    /// is none, so a caller has a time-out around it. It may be dropped and called again.
    pub async fn changed(&mut self) -> Vec<usize> {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// Polls only what was woken or is new.
    fn poll(&mut self, cx: &Context<'_>) -> Poll<Vec<usize>> {
        let mut due = self.woken.take(cx.waker());
        due.append(&mut self.fresh);
        let mut tags: Vec<_> = due.into_iter().filter_map(|id| self.poll_entry(id)).collect();
        tags.sort_unstable();
        if tags.is_empty() { Poll::Pending } else { Poll::Ready(tags) }
    }

    /// The entry's tag if it has news; then it is dropped.
    fn poll_entry(&mut self, id: u64) -> Option<usize> {
        let Entry { news, waker, tag } = self.entries.get_mut(&id)?;
        let tag = *tag;
        let ready = news.as_mut().poll(&mut Context::from_waker(waker)).is_ready();
        ready.then(|| self.entries.remove(&id)).map(|_done| tag)
    }
}

/// Which entries were woken, and whom to wake for it.
#[derive(Default)]
struct Woken(Mutex<(Vec<u64>, Option<Waker>)>);

impl Woken {
    fn take(&self, waker: &Waker) -> Vec<u64> {
        let mut inner = self.0.lock();
        let (entries, current) = &mut *inner;
        if !current.as_ref().is_some_and(|current| current.will_wake(waker)) {
            *current = Some(waker.clone());
        }
        std::mem::take(entries)
    }
}

struct EntryWaker {
    id: u64,
    woken: Arc<Woken>,
}

impl Wake for EntryWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waker = {
            let mut inner = self.woken.0.lock();
            inner.0.push(self.id);
            inner.1.clone()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    fn at(durable: Offset) -> Ends {
        Ends { durable, end: durable, ..Ends::default() }
    }

    async fn has_news(waiter: &mut Waiter) -> Option<Vec<usize>> {
        timeout(Duration::from_millis(100), waiter.changed()).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn names_the_partitions_that_moved() {
        let channels: Vec<_> = (0..3).map(|_| watch::channel(at(0))).collect();
        let mut waiter = Waiter::new();
        for (tag, (_, ends)) in channels.iter().enumerate() {
            waiter.watch(tag, ends.clone(), at(0));
        }
        assert_eq!(has_news(&mut waiter).await, None);
        channels[1].0.send_replace(at(5));
        assert_eq!(has_news(&mut waiter).await, Some(vec![1]));
        channels[1].0.send_replace(at(6));
        assert_eq!(has_news(&mut waiter).await, None, "not watched any longer");
        waiter.watch(9, channels[1].1.clone(), at(6));
        channels[1].0.send_replace(at(7));
        assert_eq!(has_news(&mut waiter).await, Some(vec![9]), "watched again");
        channels[0].0.send_replace(at(1));
        channels[2].0.send_replace(Ends { dead: true, ..at(0) });
        assert_eq!(has_news(&mut waiter).await, Some(vec![0, 2]));
    }

    /// `broker-core` 10.4, trap (AutoMQ): what moves between the look and the wait is not lost.
    #[tokio::test(start_paused = true)]
    async fn a_move_before_the_wait_counts() {
        let (sender, ends) = watch::channel(at(0));
        let seen = *ends.borrow();
        sender.send_replace(at(1));
        let mut waiter = Waiter::new();
        waiter.watch(7, ends, seen);
        assert_eq!(has_news(&mut waiter).await, Some(vec![7]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_move_of_the_end_alone_is_no_news() {
        let (sender, ends) = watch::channel(at(0));
        let mut waiter = Waiter::new();
        waiter.watch(0, ends, at(0));
        sender.send_replace(Ends { end: 3, ..at(0) });
        assert_eq!(has_news(&mut waiter).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn wakes_a_task_that_sleeps_already() {
        let (sender, ends) = watch::channel(at(0));
        let mut waiter = Waiter::new();
        waiter.watch(4, ends, at(0));
        let task = tokio::spawn(async move { waiter.changed().await });
        tokio::task::yield_now().await;
        sender.send_replace(at(1));
        assert_eq!(task.await.unwrap(), [4]);
    }

    #[tokio::test(start_paused = true)]
    async fn durable_waits_or_tells_of_death() {
        let (sender, ends) = watch::channel(at(0));
        let wait = tokio::spawn(durable(ends.clone(), 5));
        sender.send_replace(at(4));
        tokio::task::yield_now().await;
        assert!(!wait.is_finished());
        sender.send_replace(at(5));
        assert_eq!(wait.await.unwrap(), Ok(at(5)));
        sender.send_replace(Ends { dead: true, ..at(5) });
        assert_eq!(durable(ends.clone(), 5).await.map(|it| it.durable), Ok(5));
        assert_eq!(durable(ends, 6).await, Err(Dead));
    }
}
