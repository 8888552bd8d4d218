//! Runs one machine over one partition: mailbox, clock, append and durable end around a [`Driver`].
//!
//! Nothing is decided here. What waits is taken in one round, what the round wrote is appended,
//! replies leave when the driver releases them. If the partition refuses an append, the host ends:
//! the machine is dropped and [`crate::shards`] loads it anew from the log. There is no undo.

use std::collections::{HashMap, VecDeque};
use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::Image;
use coordinator::{
    At, Batch, Caller, Driver, Entropy, Event, Machine, Millis, Round, TaskId, Ticket, TopicsChange,
};
use storage::partition::{AppendError, Guard, Origin, Partition};
use storage::{Ends, Offset};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep};
use wire::batch::BatchBuilder;

use crate::clock::Clock;
use crate::markers::Marker;
use crate::replay::replay;

/// Letters of one mailbox; who asks above that waits, and so does the connection it came on.
pub(crate) const MAILBOX_MAX: usize = 1024;
/// Letters taken into one round.
const ROUND_MAX: usize = 256;
/// A wake that comes this much too late means that the process stood still (suspended, starved).
const LATE: Millis = 10_000;
/// Then clients get this long to be heard before their sessions are looked at.
const LATE_GRACE: Millis = 5_000;
/// How long a slow answer is remembered, at least.
const SLOWEST_WINDOW: Millis = 30_000;

/// What comes into a host.
pub(crate) enum Letter<M: Machine> {
    Ask {
        caller: Caller,
        request: M::Request,
        reply: oneshot::Sender<M::Reply>,
        /// When it was put into the mailbox.
        asked: Instant,
    },
    /// Something that has no answer.
    Tell { request: M::Request },
    /// A request whose records belong to a producer's transaction. The log is asked first whether it takes them, since
    /// there is no undo.
    AskWithin {
        transaction: Transaction,
        caller: Caller,
        request: M::Request,
        reply: oneshot::Sender<Result<M::Reply, AppendError>>,
        asked: Instant,
    },
    /// Ends a producer's transaction, or only the one that begins at `first`. The reply comes when the marker is
    /// durable.
    Mark { marker: Marker, first: Option<Offset>, reply: oneshot::Sender<Result<(), AppendError>> },
    /// The image of the following events. The change is empty if it is not about topics.
    Image(Arc<Image>, TopicsChange),
}

/// The transaction that a request's records belong to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transaction {
    pub producer_id: i64,
    pub producer_epoch: i16,
    /// From before the coordinator was asked about it; none if it was open already.
    pub guard: Option<Guard>,
}

/// Who waits for a reply.
enum Asker<R> {
    Plain(oneshot::Sender<R>),
    Within(oneshot::Sender<Result<R, AppendError>>),
}

impl<R> Asker<R> {
    /// An asker that is gone needs no answer.
    fn answer(self, reply: R) {
        let _gone = match self {
            Self::Plain(asker) => asker.send(reply).is_err(),
            Self::Within(asker) => asker.send(Ok(reply)).is_err(),
        };
    }
}

/// Runs the tasks that a machine asks for.
pub(crate) trait RunTask<M: Machine>: Send + Sync + 'static {
    /// `image` is that of the step that asked.
    fn run(&self, task: M::Task, image: Arc<Image>) -> Pin<Box<dyn Future<Output = M::TaskResult> + Send>>;

    /// Who is told when the machine has taken this result.
    fn awaits(&self, _result: &M::TaskResult) -> Option<Arc<Notify>> {
        None
    }
}

/// Why a host ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// Nobody can send letters any more.
    Closed,
    /// The log refused; the state is ahead of it and must be loaded anew.
    Refused(String),
}

/// One machine while it is served.
pub(crate) struct Host<M: Machine> {
    driver: Driver<M>,
    partition: Arc<Partition>,
    ends: watch::Receiver<Ends>,
    image: Arc<Image>,
    clock: Arc<Clock>,
    runner: Arc<dyn RunTask<M>>,
    tasks: JoinSet<(TaskId, M::TaskResult)>,
    waiting: HashMap<Ticket, Asker<M::Reply>>,
    /// Markers that are not durable yet, with the offsets after them. Bounded by the mailbox and by who waits.
    marked: VecDeque<(i64, oneshot::Sender<Result<(), AppendError>>)>,
    /// Rounds whose replies wait for the log: the offset below which it must be durable, and when the oldest letter
    /// came. Bounded by the replies that wait.
    unanswered: VecDeque<(i64, Instant)>,
    slowest: Slowest,
    last_ticket: u64,
    /// No `Wake` before this time, after the process stood still.
    wake_not_before: Millis,
}

impl<M: Machine> Host<M>
where
    M::TaskResult: 'static,
{
    /// Reads the partition from its start to its end into a new machine.
    pub(crate) async fn load(
        partition: Arc<Partition>,
        image: Arc<Image>,
        clock: Arc<Clock>,
        runner: Arc<dyn RunTask<M>>,
        entropy: Entropy,
    ) -> Result<Self, String> {
        let mut driver = Driver::new(entropy, partition.settings().max_message_bytes as usize);
        let end = replay(&mut driver, &partition).await?;
        let mut host = Self {
            ends: partition.ends(),
            driver,
            partition,
            image,
            clock,
            runner,
            tasks: JoinSet::new(),
            waiting: HashMap::new(),
            marked: VecDeque::new(),
            unanswered: VecDeque::new(),
            slowest: Slowest::default(),
            last_ticket: 0,
            wake_not_before: 0,
        };
        let now = host.clock.now();
        let round = host.driver.loaded(end, now, &host.image);
        host.carry_out(round)?;
        Ok(host)
    }

    /// Serves letters until nobody can send any, or the log refuses.
    pub(crate) async fn serve(mut self, mut mailbox: mpsc::Receiver<Letter<M>>) -> Ended {
        let mut letters = Vec::new();
        let mut alarm = pin!(Alarm::new());
        loop {
            alarm.as_mut().set(self.wake_at(), &self.clock);
            let mut events = Vec::new();
            let mut awaits = None;
            tokio::select! {
                taken = mailbox.recv_many(&mut letters, ROUND_MAX) => {
                    if taken == 0 {
                        return Ended::Closed;
                    }
                }
                () = alarm.as_mut() => events.extend(self.wake()),
                changed = self.ends.changed(), if self.driver.parked() > 0 || !self.marked.is_empty() => {
                    if changed.is_err() || self.ends.borrow().dead {
                        return Ended::Refused("the log is closed".into());
                    }
                }
                Some(done) = self.tasks.join_next() => match done {
                    Ok((task, result)) => {
                        awaits = self.runner.awaits(&result);
                        events.push(Event::Done(task, result));
                    }
                    Err(error) => return Ended::Refused(format!("a task failed: {error}")),
                },
            }
            if let Err(reason) = self.turn(&mut letters, events) {
                return Ended::Refused(reason);
            }
            if let Some(awaits) = awaits {
                awaits.notify_waiters();
            }
        }
    }

    /// All that waits, in one round; a new image cuts it, because events before it saw the old one.
    fn turn(&mut self, letters: &mut Vec<Letter<M>>, mut events: Vec<Event<M>>) -> Result<(), String> {
        let mut oldest = None;
        for letter in letters.drain(..) {
            match letter {
                Letter::Ask { caller, request, reply, asked } => {
                    oldest.get_or_insert(asked);
                    let ticket = self.ticket(Asker::Plain(reply));
                    events.push(Event::Ask { ticket, caller, request });
                }
                Letter::Tell { request } => {
                    let (ticket, caller) = (self.next_ticket(), Caller::default());
                    events.push(Event::Ask { ticket, caller, request });
                }
                Letter::AskWithin { transaction, caller, request, reply, asked } => {
                    // What came before may change what the log takes.
                    self.round(std::mem::take(&mut events))?;
                    let Transaction { producer_id, producer_epoch, guard } = transaction;
                    match self.partition.check_transactional(producer_id, producer_epoch, guard) {
                        Ok(()) => {
                            oldest.get_or_insert(asked);
                            let ticket = self.ticket(Asker::Within(reply));
                            events.push(Event::Ask { ticket, caller, request });
                        }
                        Err(error) => drop(reply.send(Err(error))),
                    }
                }
                Letter::Mark { marker, first, reply } => {
                    self.round(std::mem::take(&mut events))?;
                    self.mark(&marker, first, reply)?;
                }
                Letter::Image(image, change) => {
                    self.round(std::mem::take(&mut events))?;
                    self.image = image;
                    events.extend((!change.is_empty()).then_some(Event::Topics(change)));
                }
            }
        }
        self.round(events)?;
        // A reply that the machine holds back on purpose is no slow answer.
        if let Some(oldest) = oldest.filter(|_| self.driver.parked() > 0) {
            self.unanswered.push_back((self.driver.written(), oldest));
        }
        self.release();
        Ok(())
    }

    fn next_ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    fn ticket(&mut self, asker: Asker<M::Reply>) -> Ticket {
        let ticket = self.next_ticket();
        self.waiting.insert(ticket, asker);
        ticket
    }

    /// Appends the marker and tells the machine. A refusal leaves both as they were, unless the log is dead.
    fn mark(
        &mut self,
        marker: &Marker,
        first: Option<Offset>,
        reply: oneshot::Sender<Result<(), AppendError>>,
    ) -> Result<(), String> {
        let now = self.clock.now();
        match self.partition.append(&marker.batch(now), marker.origin(first), now) {
            Ok(appended) => {
                let offset = appended.base_offset;
                assert_eq!(offset, self.driver.written(), "a shard is not its log's only writer");
                let producer = Some((marker.producer_id, marker.producer_epoch));
                let at = At { offset, timestamp: now, producer };
                self.driver.marker(at, marker.producer_id, marker.commit);
                self.marked.push_back((appended.next_offset(), reply));
                Ok(())
            }
            Err(error @ (AppendError::NotLeader | AppendError::Storage(_))) => Err(error.to_string()),
            Err(error) => {
                drop(reply.send(Err(error)));
                Ok(())
            }
        }
    }

    fn round(&mut self, events: Vec<Event<M>>) -> Result<(), String> {
        if events.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        self.driver.set_slowest_answer(self.slowest.at(now));
        let round = self.driver.round(now, &self.image, events);
        self.carry_out(round)
    }

    fn carry_out(&mut self, round: Round<M>) -> Result<(), String> {
        for batch in round.batches {
            self.append(&batch)?;
        }
        for (id, task) in round.tasks {
            let work = self.runner.run(task, self.image.clone());
            let (partition, written) = (self.partition.clone(), self.driver.written());
            self.tasks.spawn(async move {
                // What a task does must not be seen if a crash takes back why it was done: a marker tells of a
                // decision. If the log dies, so does this host.
                if partition.wait_durable(written).await.is_err() {
                    return pending().await;
                }
                (id, work.await)
            });
        }
        Ok(())
    }

    fn append(&self, batch: &Batch) -> Result<(), String> {
        // The version counts for markers only.
        let origin = Origin::Coordinator { transaction_version: 0 };
        let appended = self.partition.append(&build(batch), origin, batch.timestamp);
        let appended = appended.map_err(|error| error.to_string())?;
        // Another writer would be a broken invariant: the machine's offsets would be wrong.
        assert_eq!(appended.base_offset, batch.base_offset, "a shard is not its log's only writer");
        Ok(())
    }

    fn release(&mut self) {
        let durable = self.ends.borrow_and_update().durable;
        while let Some((ticket, reply)) = self.driver.release(durable) {
            if let Some(asker) = self.waiting.remove(&ticket) {
                asker.answer(reply);
            }
        }
        while let Some((_, marked)) = self.marked.pop_front_if(|(next, _)| *next <= durable) {
            drop(marked.send(Ok(())));
        }
        while let Some((_, oldest)) = self.unanswered.pop_front_if(|(written, _)| *written <= durable) {
            let took = Millis::try_from(oldest.elapsed().as_millis()).unwrap_or(Millis::MAX);
            self.slowest.took(took, self.clock.now());
        }
    }

    fn wake_at(&self) -> Option<Millis> {
        self.driver.deadline().map(|deadline| deadline.max(self.wake_not_before))
    }

    /// The alarm rang. After a stand-still requests that wait in sockets come first, or all
    /// sessions would expire although their members are alive.
    fn wake(&mut self) -> Option<Event<M>> {
        let now = self.clock.now();
        let late = self.wake_at().map_or(0, |due| now - due);
        if late > LATE {
            self.wake_not_before = now + LATE_GRACE;
            return None;
        }
        Some(Event::Wake)
    }
}

fn build(batch: &Batch) -> Bytes {
    let mut builder = BatchBuilder::new().timestamp(batch.timestamp);
    if let Some((id, epoch)) = batch.producer {
        // Without sequence: coordinators are not idempotent producers (`broker-core.md` 12.7).
        builder = builder.producer(id, epoch, -1).transactional();
    }
    for (key, value) in &batch.records {
        builder = builder.push(Some(key), value.as_deref());
    }
    builder.build()
}

/// The slowest answer of the last one to two windows.
#[derive(Debug, Default)]
struct Slowest {
    /// Of the window before this one, and of this one.
    millis: [Millis; 2],
    window_ends: Millis,
}

impl Slowest {
    fn took(&mut self, millis: Millis, now: Millis) {
        self.turn(now);
        let [_, current] = &mut self.millis;
        *current = millis.max(*current);
    }

    fn at(&mut self, now: Millis) -> Millis {
        self.turn(now);
        let [before, current] = self.millis;
        before.max(current)
    }

    fn turn(&mut self, now: Millis) {
        if now < self.window_ends {
            return;
        }
        let [_, current] = self.millis;
        let is_next = now < self.window_ends + SLOWEST_WINDOW;
        self.millis = [if is_next { current } else { 0 }, 0];
        self.window_ends = now + SLOWEST_WINDOW;
    }
}

/// A sleep that is armed anew only when the time changes: heartbeats move deadlines all the time.
struct Alarm {
    at: Option<Millis>,
    sleep: Pin<Box<Sleep>>,
}

impl Alarm {
    fn new() -> Self {
        Self { at: None, sleep: Box::pin(sleep(Duration::ZERO)) }
    }

    fn set(mut self: Pin<&mut Self>, at: Option<Millis>, clock: &Clock) {
        if let Some(at) = at
            && self.at != Some(at)
        {
            let wait = u64::try_from(at - clock.now()).unwrap_or(0);
            self.sleep.as_mut().reset(Instant::now() + Duration::from_millis(wait));
        }
        self.at = at;
    }
}

impl Future for Alarm {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        match self.at {
            Some(_) => {
                let rung = self.sleep.as_mut().poll(cx);
                if rung.is_ready() {
                    self.at = None;
                }
                rung
            }
            None => std::task::Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CR-12
    #[test]
    fn a_slow_answer_is_remembered_for_a_while() {
        let mut slowest = Slowest::default();
        assert_eq!(slowest.at(1_000_000), 0);
        slowest.took(700, 1_000_000);
        slowest.took(20, 1_010_000);
        assert_eq!(slowest.at(1_029_999), 700);
        slowest.took(30, 1_031_000);
        assert_eq!(slowest.at(1_059_999), 700);
        assert_eq!(slowest.at(1_061_000), 30);
        assert_eq!(slowest.at(2_000_000), 0);
    }
}
