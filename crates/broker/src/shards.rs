//! The machines of one internal topic: a key's shard is a partition, each with a host of its own.
//!
//! A shard that can't be asked says why, as the two reactions that clients know: try again here
//! (it loads), or look for another coordinator (there is none here, or it can't be loaded).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::Image;
use coordinator::{Caller, Entropy, Machine, TopicsChange};
use parking_lot::RwLock;
use storage::Offset;
use storage::partition::AppendError;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;
use tracing::{debug, error};
use wire::{ErrorCode, Str, Uuid};

use crate::catalog::topics_change;
use crate::chance::Chance;
use crate::clock::Clock;
use crate::host::{Ended, Host, Letter, MAILBOX_MAX, RunTask, Transaction};
use crate::markers::Marker;
use crate::partitions::Partitions;

/// Pause before a shard that failed is loaded anew: short at first, since most failures pass, and longer each time
/// that loading fails again, since a partition that is offline stays so.
const RELOAD_AFTER: Duration = Duration::from_millis(100);
const RELOAD_AFTER_MAX: Duration = Duration::from_secs(10);

/// Letters that may wait in a mailbox for one more that nobody needs an answer to: the rest is for those who ask.
const TOLD_MAX: usize = MAILBOX_MAX / 8;

/// Why a shard did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// Its partition is not served here, or it failed while the request waited.
    NotCoordinator,
    /// It reads its log.
    Loading,
    /// Its log can't be read: files are damaged or gone. It is tried again from time to time.
    Failed,
}

impl From<Unavailable> for ErrorCode {
    fn from(unavailable: Unavailable) -> Self {
        match unavailable {
            Unavailable::NotCoordinator | Unavailable::Failed => Self::NOT_COORDINATOR,
            Unavailable::Loading => Self::COORDINATOR_LOAD_IN_PROGRESS,
        }
    }
}

/// The shards of one internal topic.
pub struct Shards<M: Machine> {
    topic: &'static str,
    partitions: Arc<Partitions>,
    clock: Arc<Clock>,
    runner: Arc<dyn RunTask<M>>,
    state: RwLock<State<M>>,
    /// Told when a shard begins to be served, or ends.
    served: Notify,
}

struct State<M: Machine> {
    image: Arc<Image>,
    /// The topic whose partitions are served; another one with the same name has other shards.
    topic: Option<Uuid>,
    /// By partition, or why there is none.
    mailboxes: Vec<Result<mpsc::Sender<Letter<M>>, Unavailable>>,
    stopped: bool,
}

impl<M: Machine> Shards<M>
where
    M::TaskResult: 'static,
{
    pub(crate) fn new(
        topic: &'static str,
        partitions: Arc<Partitions>,
        clock: Arc<Clock>,
        runner: Arc<dyn RunTask<M>>,
        image: Arc<Image>,
    ) -> Arc<Self> {
        let state = State { image, topic: None, mailboxes: Vec::new(), stopped: false };
        Arc::new(Self { topic, partitions, clock, runner, state: RwLock::new(state), served: Notify::new() })
    }

    /// The internal topic whose partitions are the shards.
    pub fn topic(&self) -> &'static str {
        self.topic
    }

    /// Asks the shard of `key`.
    pub async fn ask(&self, key: &Str, caller: Caller, request: M::Request) -> Result<M::Reply, Unavailable> {
        let mailbox = self.mailbox_of(key)?;
        ask(mailbox, caller, request).await
    }

    /// Tells the shard of `key` something that has no answer, if it can hear it at once: nobody waits for that. A shard
    /// that has much to do, or is not served, does not hear it.
    pub(crate) fn tell(&self, key: &Str, request: M::Request) {
        if let Ok(mailbox) = self.mailbox_of(key) {
            tell(&mailbox, request);
        }
    }

    /// Asks the shard of `key` for something whose records belong to a producer's transaction. The inner error is the
    /// log's refusal of that transaction; then nothing was asked.
    pub(crate) async fn ask_within(
        &self,
        key: &Str,
        transaction: Transaction,
        caller: Caller,
        request: M::Request,
    ) -> Result<Result<M::Reply, AppendError>, Unavailable> {
        let mailbox = self.mailbox_of(key)?;
        let (reply, answer) = oneshot::channel();
        let letter = Letter::AskWithin { transaction, caller, request, reply, asked: Instant::now() };
        mailbox.send(letter).await.map_err(|_| Unavailable::NotCoordinator)?;
        answer.await.map_err(|_| Unavailable::NotCoordinator)
    }

    /// Has the shard of a partition end a producer's transaction, or only the one that begins at `first`. The answer
    /// comes when the marker is durable; its error is the log's refusal.
    pub(crate) async fn mark(
        &self,
        partition: i32,
        marker: Marker,
        first: Option<Offset>,
    ) -> Result<oneshot::Receiver<Result<(), AppendError>>, Unavailable> {
        let mailbox = self.mailbox(partition)?;
        let (reply, marked) = oneshot::channel();
        let letter = Letter::Mark { marker, first, reply };
        mailbox.send(letter).await.map_err(|_| Unavailable::NotCoordinator)?;
        Ok(marked)
    }

    /// Asks each shard that has some of `keys`, with the keys that it has, and gives keys with the
    /// answer of their shard. Shards work side by side.
    pub async fn ask_each(
        &self,
        keys: Vec<Str>,
        caller: &Caller,
        request: impl Fn(Vec<Str>) -> M::Request,
    ) -> Vec<(Vec<Str>, Result<M::Reply, Unavailable>)> {
        let mut by_shard: BTreeMap<Option<i32>, Vec<Str>> = BTreeMap::new();
        for key in keys {
            by_shard.entry(self.partition_of(&key)).or_default().push(key);
        }
        let mut asked = Vec::new();
        for (partition, keys) in by_shard {
            let mailbox = partition.ok_or(Unavailable::NotCoordinator).and_then(|it| self.mailbox(it));
            let answer = match mailbox {
                Ok(mailbox) => post(mailbox, caller.clone(), request(keys.clone())).await,
                Err(unavailable) => Err(unavailable),
            };
            asked.push((keys, answer));
        }
        let mut answers = Vec::with_capacity(asked.len());
        for (keys, answer) in asked {
            let reply = match answer {
                Ok(reply) => reply.await.map_err(|_| Unavailable::NotCoordinator),
                Err(unavailable) => Err(unavailable),
            };
            answers.push((keys, reply));
        }
        answers
    }

    /// Asks every shard; none if the topic does not exist yet.
    pub async fn ask_all(
        &self,
        caller: &Caller,
        request: impl Fn() -> M::Request,
    ) -> Vec<Result<M::Reply, Unavailable>> {
        let mailboxes = self.state.read().mailboxes.clone();
        let mut asked = Vec::with_capacity(mailboxes.len());
        for mailbox in mailboxes {
            asked.push(match mailbox {
                Ok(mailbox) => post(mailbox, caller.clone(), request()).await,
                Err(unavailable) => Err(unavailable),
            });
        }
        let mut answers = Vec::with_capacity(asked.len());
        for answer in asked {
            answers.push(match answer {
                Ok(reply) => reply.await.map_err(|_| Unavailable::NotCoordinator),
                Err(unavailable) => Err(unavailable),
            });
        }
        answers
    }

    /// The partition of the topic that `key` belongs to; none if the topic does not exist.
    pub fn partition_of(&self, key: &Str) -> Option<i32> {
        partition_of(key, self.state.read().mailboxes.len())
    }

    /// Whether the shard of `key` can't be loaded.
    pub fn has_failed(&self, key: &Str) -> bool {
        matches!(self.mailbox_of(key), Err(Unavailable::Failed))
    }

    /// Waits until the shard of `key` can be asked, at most for `patience`.
    pub async fn wait_served(&self, key: &Str, patience: Duration) {
        let served = async {
            loop {
                let told = self.served.notified();
                if !matches!(self.mailbox_of(key), Err(Unavailable::Loading)) {
                    return;
                }
                told.await;
            }
        };
        // At the end of the patience the request itself tells what is the matter.
        let _ = tokio::time::timeout(patience, served).await;
    }

    /// A new image: shards of new partitions begin to load, all others are told.
    pub(crate) async fn follow(self: &Arc<Self>, image: &Arc<Image>, change: &TopicsChange) {
        let topic = image.topic(self.topic).map(|topic| (topic.id, topic.partitions.len()));
        let (told, new) = {
            let mut state = self.state.write();
            state.image = image.clone();
            if state.stopped {
                return;
            }
            let id = topic.map(|(id, _)| id);
            if state.topic != id {
                state.mailboxes.clear();
                state.topic = id;
            }
            let (before, count) = (state.mailboxes.len(), topic.map_or(0, |(_, count)| count));
            state.mailboxes.resize(count, Err(Unavailable::Loading));
            let told: Vec<_> = state.mailboxes.iter().flatten().cloned().collect();
            (told, topic.map(|(id, _)| (id, before..count)))
        };
        for (id, partition) in new.into_iter().flat_map(|(id, new)| new.map(move |it| (id, it))) {
            tokio::spawn(self.clone().supervise(id, partition));
        }
        for mailbox in told {
            // A host that ended meanwhile loads with the new image.
            let _ = mailbox.send(Letter::Image(image.clone(), change.clone())).await;
        }
    }

    /// Ends all hosts. What they were asked and did not answer is refused.
    pub(crate) fn stop(&self) {
        let mut state = self.state.write();
        state.stopped = true;
        state.mailboxes.clear();
    }

    /// One shard for as long as its partition is there: load, serve, and again after a failure.
    async fn supervise(self: Arc<Self>, topic: Uuid, partition: usize) {
        let mut failures = Failures::default();
        while self.is_wanted(topic, partition) {
            let (reason, pause) = match self.live(topic, partition).await {
                Ok(Ended::Closed) => continue,
                Ok(Ended::Refused(reason)) => {
                    // It was served until then.
                    failures = Failures::default();
                    (reason, RELOAD_AFTER)
                }
                Err(reason) => (reason, failures.pause()),
            };
            if failures.is_news(&reason) {
                error!(
                    topic = self.topic,
                    partition, reason, "shard failed and is loaded anew until it can be"
                );
            }
            tokio::time::sleep(pause).await;
        }
        debug!(topic = self.topic, partition, "shard is no longer served");
    }

    fn is_wanted(&self, topic: Uuid, partition: usize) -> bool {
        let state = self.state.read();
        !state.stopped && state.topic == Some(topic) && partition < state.mailboxes.len()
    }

    /// One life of a shard.
    async fn live(&self, topic: Uuid, partition: usize) -> Result<Ended, String> {
        let image = self.state.read().image.clone();
        let loaded = self.load(topic, partition, &image).await;
        let host = loaded.inspect_err(|_| self.close(topic, partition, Unavailable::Failed))?;
        let (mailbox, letters) = mpsc::channel(MAILBOX_MAX);
        if !self.publish(topic, partition, mailbox, &image) {
            return Ok(Ended::Closed);
        }
        debug!(topic = self.topic, partition, "shard is served");
        // As a task of its own, so that a broken invariant of the machine ends this shard alone.
        let ended = tokio::spawn(host.serve(letters)).await;
        self.close(topic, partition, Unavailable::Loading);
        ended.map_err(|panic| panic.to_string())
    }

    async fn load(&self, topic: Uuid, partition: usize, image: &Arc<Image>) -> Result<Host<M>, String> {
        let index = i32::try_from(partition).map_err(|error| error.to_string())?;
        let log = self.partitions.get(topic, index).ok_or("the partition is not open")?;
        let entropy = Entropy::seeded(Chance::default().number());
        Host::load(log, image.clone(), self.clock.clone(), self.runner.clone(), entropy).await
    }

    /// Opens the mailbox. An image that came while the shard was loading is its first letter.
    fn publish(
        &self,
        topic: Uuid,
        partition: usize,
        mailbox: mpsc::Sender<Letter<M>>,
        loaded_with: &Image,
    ) -> bool {
        let mut state = self.state.write();
        if state.topic != Some(topic) {
            return false;
        }
        if state.image.version() != loaded_with.version() {
            let change = topics_change(loaded_with, &state.image);
            let first = Letter::Image(state.image.clone(), change);
            if mailbox.try_send(first).is_err() {
                return false;
            }
        }
        let Some(slot) = state.mailboxes.get_mut(partition) else { return false };
        *slot = Ok(mailbox);
        drop(state);
        self.served.notify_waiters();
        true
    }

    fn close(&self, topic: Uuid, partition: usize, why: Unavailable) {
        let mut state = self.state.write();
        if state.topic == Some(topic)
            && let Some(mailbox) = state.mailboxes.get_mut(partition)
        {
            *mailbox = Err(why);
        }
        drop(state);
        // Who waits for a shard that can't be loaded need not wait any longer.
        self.served.notify_waiters();
    }

    fn mailbox_of(&self, key: &Str) -> Result<mpsc::Sender<Letter<M>>, Unavailable> {
        let state = self.state.read();
        let partition = partition_of(key, state.mailboxes.len()).ok_or(Unavailable::NotCoordinator)?;
        state.mailbox(partition)
    }

    fn mailbox(&self, partition: i32) -> Result<mpsc::Sender<Letter<M>>, Unavailable> {
        self.state.read().mailbox(partition)
    }
}

impl<M: Machine> State<M> {
    fn mailbox(&self, partition: i32) -> Result<mpsc::Sender<Letter<M>>, Unavailable> {
        let slot = usize::try_from(partition).ok().and_then(|it| self.mailboxes.get(it));
        slot.ok_or(Unavailable::NotCoordinator)?.clone()
    }
}

/// Loads of a shard that failed one after the other.
#[derive(Debug, Default)]
struct Failures {
    count: u32,
    reason: String,
}

impl Failures {
    /// How long to wait after one more.
    fn pause(&mut self) -> Duration {
        let pause = RELOAD_AFTER.saturating_mul(1_u32.checked_shl(self.count).unwrap_or(u32::MAX));
        self.count = self.count.saturating_add(1);
        pause.min(RELOAD_AFTER_MAX)
    }

    /// Whether the reason is another one than the last time; nobody reads the same line again and again.
    fn is_news(&mut self, reason: &str) -> bool {
        let news = self.reason != reason;
        reason.clone_into(&mut self.reason);
        news
    }
}

async fn ask<M: Machine>(
    mailbox: mpsc::Sender<Letter<M>>,
    caller: Caller,
    request: M::Request,
) -> Result<M::Reply, Unavailable> {
    post(mailbox, caller, request).await?.await.map_err(|_| Unavailable::NotCoordinator)
}

async fn post<M: Machine>(
    mailbox: mpsc::Sender<Letter<M>>,
    caller: Caller,
    request: M::Request,
) -> Result<oneshot::Receiver<M::Reply>, Unavailable> {
    let (reply, answer) = oneshot::channel();
    let letter = Letter::Ask { caller, request, reply, asked: Instant::now() };
    mailbox.send(letter).await.map_err(|_| Unavailable::NotCoordinator)?;
    Ok(answer)
}

fn tell<M: Machine>(mailbox: &mpsc::Sender<Letter<M>>, request: M::Request) {
    if mailbox.max_capacity() - mailbox.capacity() < TOLD_MAX {
        // If the host ended meanwhile, nobody hears it.
        let _ = mailbox.try_send(Letter::Tell { request });
    }
}

/// Kafka's place of a key among `count` partitions, which tools that read the topic rely on
/// (`broker-core.md` 4.4 rule 1).
pub(crate) fn partition_of(key: &Str, count: usize) -> Option<i32> {
    let count = i32::try_from(count).ok().filter(|count| *count > 0)?;
    // `abs` of the smallest number is 0 there.
    Some(java_hash(&key.to_str()).checked_abs().unwrap_or(0) % count)
}

/// Java's `String.hashCode`: over UTF-16 units.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coordinator::group::{GroupRequest, GroupShard};

    /// What has no answer can be sent without end: it leaves the mailbox to those who ask.
    #[test]
    fn what_nobody_waits_for_does_not_fill_a_mailbox() {
        let (mailbox, mut letters) = mpsc::channel::<Letter<GroupShard>>(MAILBOX_MAX);
        (0..2 * MAILBOX_MAX).for_each(|_| tell(&mailbox, GroupRequest::DeleteGroups(Vec::new())));
        assert_eq!(mailbox.capacity(), MAILBOX_MAX - TOLD_MAX);
        while letters.try_recv().is_ok() {}
        tell(&mailbox, GroupRequest::DeleteGroups(Vec::new()));
        assert!(letters.try_recv().is_ok());
        drop(letters);
        tell(&mailbox, GroupRequest::DeleteGroups(Vec::new()));
    }

    #[test]
    fn keys_stand_where_kafka_puts_them() {
        // broker-core.md 4.4 rule 1
        let place = |key| partition_of(&Str::from(key), 50);
        assert_eq!(java_hash("my-txn"), -1_061_187_895);
        assert_eq!(place("my-txn"), Some(45));
        assert_eq!(place("app-1"), Some(5));
        assert_eq!(place("connect-cluster-1"), Some(25));
        assert_eq!(place("schema-registry"), Some(29));
        assert_eq!(place("my-group"), Some(12));
        assert_eq!(place(""), Some(0));
        assert_eq!(partition_of(&Str::from("g"), 0), None);
    }

    /// A shard whose partition is offline is one line, and asked for less and less often.
    #[test]
    fn loads_that_fail_again_wait_longer_and_are_told_once() {
        let mut failures = Failures::default();
        let pauses: Vec<_> = (0..9).map(|_| failures.pause().as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
        assert_eq!((0..100).map(|_| failures.pause()).max(), Some(RELOAD_AFTER_MAX));
        let told = ["offline", "offline", "full", "full", "offline"].map(|it| failures.is_news(it));
        assert_eq!(told, [true, false, true, false, true]);
    }

    #[test]
    fn the_smallest_hash_counts_as_zero() {
        // Its hash is the smallest 32-bit number.
        assert_eq!(java_hash("polygenelubricants"), i32::MIN);
        assert_eq!(partition_of(&Str::from("polygenelubricants"), 50), Some(0));
    }
}
