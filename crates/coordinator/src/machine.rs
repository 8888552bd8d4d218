//! What a machine is: a deterministic state machine over one log.
//!
//! A machine holds hard state, which is exactly what its records say, and soft state, which may be
//! forgotten. It learns of the world through [`Event`] and [`Cx`] alone and answers with an
//! [`Output`]. It must not know who appends its records or when they become durable.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use catalog::{Changes, Image};
use wire::batch::RecordRef;
use wire::{DecodeError, LogRecord, Str, Uuid};

/// Milliseconds since 1970, or a length of time in milliseconds.
pub type Millis = i64;

/// Names a question until its answer; the host hands them out, a machine only gives them back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Names a task until its one [`Event::Done`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

/// Who asks: what the broker knows about the connection and the request's header.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Caller {
    /// Authenticated principal, `User:ANONYMOUS` where nobody authenticates.
    pub principal: Str,
    /// Client id of the request header, empty when it was null.
    pub client_id: Str,
    /// Address of the peer in Kafka's form: `/127.0.0.1`.
    pub client_host: Str,
    /// Version of the request, which some rules of fencing depend on.
    pub api_version: i16,
    /// Name of the listener on which the request came.
    pub listener: Str,
    /// Number of the connection, which no other one of this process gets; 0 if it is not known.
    pub connection: u64,
    /// What the client calls itself in ApiVersions, `apache-kafka-java` for one; empty if it did not.
    pub software: Str,
}

/// A deterministic state machine whose records form one log.
pub trait Machine: Default + Send + 'static {
    type Request: Send;
    type Reply: Send;
    type Record: LogRecord + Send;
    type Task: Send;
    type TaskResult: Send;

    /// Decides about one event. The records of the output are already applied.
    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Self>) -> Output<Self>;

    /// Applies one record of the log, while loading.
    fn replay(&mut self, at: At, record: &Self::Record);

    /// Applies one record of the log as its bytes; false if its type is not known. It means what [`Machine::replay`] of
    /// the decoded record means. Machines that have much to load do it with less.
    ///
    /// # Errors
    /// Bytes that are no such record.
    fn replay_encoded(&mut self, at: At, record: Encoded<'_>) -> Result<bool, DecodeError> {
        let decoded = Self::Record::decode(&record.key_bytes(), record.value_bytes().as_ref())?;
        if let Some(decoded) = &decoded {
            self.replay(at, decoded);
        }
        Ok(decoded.is_some())
    }

    /// Applies a marker of the log, which ends the transaction of a producer, live and while loading. Machines
    /// without transactional records have nothing to do.
    fn marker(&mut self, at: At, producer: i64, commit: bool) {
        let _ = (at, producer, commit);
    }

    /// Follows the last [`Machine::replay`]: makes a sensible soft state (full timeouts from now).
    fn loaded(&mut self, cx: &mut Cx<'_>) -> Output<Self>;

    /// A time no later than which [`Event::Wake`] must come. It may be early, never late.
    fn deadline(&self) -> Option<Millis>;
}

/// All that can happen to a machine.
pub enum Event<M: Machine> {
    /// A request; its reply, if it has one, carries the same ticket, in this step or in a later one.
    Ask { ticket: Ticket, caller: Caller, request: M::Request },
    /// The deadline has come.
    Wake,
    /// A task that the machine asked for has ended.
    Done(TaskId, M::TaskResult),
    /// `cx.image` differs from that of the steps before.
    Topics(TopicsChange),
}

/// What an image changed about topics, so that a machine need not compare images itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicsChange {
    /// Topics that are new, have other partitions, or are gone. Sorted, without doubles.
    pub changed: Vec<Arc<str>>,
    /// Topics that are gone, by the id that they had. A topic that was deleted and created again
    /// between two images stands in both lists.
    pub deleted: Vec<(Arc<str>, Uuid)>,
}

impl TopicsChange {
    /// True if nothing changed; such an event needs not be sent.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.deleted.is_empty()
    }
}

impl From<&Changes> for TopicsChange {
    fn from(changes: &Changes) -> Self {
        Self {
            changed: changes.topics.iter().cloned().collect(),
            deleted: changes.deleted.iter().map(|it| (it.name.clone(), it.id)).collect(),
        }
    }
}

/// What a step decided.
pub struct Output<M: Machine> {
    /// Already applied to the machine; appended all or none, unless `divisible`.
    pub records: Vec<M::Record>,
    /// The records do not belong together (a cleanup over many groups): any batches will do.
    pub divisible: bool,
    /// Producer id and epoch of a transactional output, which gets a batch of its own.
    pub producer: Option<(i64, i16)>,
    /// Answers, also to tickets of earlier steps.
    pub replies: Vec<(Ticket, M::Reply)>,
    /// Work for the host; each ends with one [`Event::Done`].
    pub tasks: Vec<(TaskId, M::Task)>,
}

impl<M: Machine> Default for Output<M> {
    fn default() -> Self {
        Self { records: Vec::new(), divisible: false, producer: None, replies: Vec::new(), tasks: Vec::new() }
    }
}

impl<M: Machine> fmt::Debug for Output<M>
where
    M::Record: fmt::Debug,
    M::Reply: fmt::Debug,
    M::Task: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("records", &self.records)
            .field("divisible", &self.divisible)
            .field("producer", &self.producer)
            .field("replies", &self.replies)
            .field("tasks", &self.tasks)
            .finish()
    }
}

/// Key and value of a record as they stand in a batch of the log.
#[derive(Debug, Clone, Copy)]
pub struct Encoded<'a> {
    record: RecordRef<'a>,
    key: &'a [u8],
}

impl<'a> Encoded<'a> {
    /// `None` for a record without a key, which no machine writes.
    pub fn new(record: RecordRef<'a>) -> Option<Self> {
        record.key.map(|key| Self { record, key })
    }

    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    /// `None` is a tombstone.
    pub fn value(&self) -> Option<&'a [u8]> {
        self.record.value
    }

    pub fn key_bytes(&self) -> Bytes {
        self.record.key_bytes().unwrap_or_default()
    }

    pub fn value_bytes(&self) -> Option<Bytes> {
        self.record.value_bytes()
    }
}

/// Where a record stands in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    pub offset: i64,
    /// Time of the append, not of what the record tells.
    pub timestamp: Millis,
    /// Producer id and epoch of a transactional batch.
    pub producer: Option<(i64, i16)>,
}

/// The world of one step.
pub struct Cx<'a> {
    /// Never decreases from step to step.
    pub now: Millis,
    /// Offset that this step's first record will get.
    pub offset: i64,
    pub image: &'a Image,
    pub entropy: &'a mut Entropy,
    /// How long the slowest answer of the last time took, flushes included; 0 if that is not measured.
    pub slowest_answer: Millis,
}

/// Chance as an argument. The host seeds it from the system, tests with a number.
///
/// It makes ids that must not collide by accident; it guards no secret.
#[derive(Debug, Clone)]
pub struct Entropy(u64);

impl Entropy {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// SplitMix64: full period, and each seed gives a different sequence.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A random id as Kafka makes them: RFC 9562 version 4.
    pub fn uuid(&mut self) -> Uuid {
        let mut bytes = [0; 16];
        for (half, word) in bytes.chunks_exact_mut(8).zip([self.next_u64(), self.next_u64()]) {
            half.copy_from_slice(&word.to_be_bytes());
        }
        let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
        *version = (*version & 0x0f) | 0x40;
        *variant = (*variant & 0x3f) | 0x80;
        Uuid(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_its_seed() {
        let draw = |seed| {
            let mut entropy = Entropy::seeded(seed);
            (entropy.next_u64(), entropy.uuid())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_eq!(draw(7).1.0[6] >> 4, 4);
        assert_eq!(draw(7).1.0[8] >> 6, 2);
    }
}
