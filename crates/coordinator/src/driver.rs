//! Runs one machine without doing I/O: events in, batches and tasks out, replies held back.
//!
//! The host (and the simulator) does the rest in this order: append the batches of a [`Round`],
//! start its tasks, and release replies as far as the log is durable. All that is subtle about that
//! (order, offsets, where batches are cut, which reply waits for what) stands here. When an append
//! is refused the host drops the whole driver and loads another one from the log: there is no undo.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::machine::{At, Cx, Encoded, Entropy, Event, Machine, Millis, Output, TaskId, Ticket};
use catalog::Image;
use wire::{DecodeError, LogRecord};

/// Bytes of a batch before its records.
const BATCH_HEADER_BYTES: usize = 61;
/// Most that the framing of one record can take: five varints, attributes, number of headers.
const RECORD_FRAMING_BYTES_MAX: usize = 5 + 1 + 10 + 5 + 5 + 5 + 1;

/// One machine with its clock, its position in the log and the replies that wait.
pub struct Driver<M: Machine> {
    machine: M,
    entropy: Entropy,
    /// Offset after the last record handed out or replayed.
    written: i64,
    /// The largest time that was seen; what machines are told never decreases.
    now: Millis,
    batch_bytes_max: usize,
    slowest_answer: Millis,
    /// Replies with the offset below which all must be durable first, in order. At most as many as
    /// the host lets wait: it takes no new events above its limit.
    parked: VecDeque<(i64, Ticket, M::Reply)>,
}

/// What the host must do after a round: append, then start.
#[derive(Debug)]
pub struct Round<M: Machine> {
    pub batches: Vec<Batch>,
    pub tasks: Vec<(TaskId, M::Task)>,
}

/// Records that are appended together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Offset that its first record must get; anything else means that another writer is at work.
    pub base_offset: i64,
    /// Timestamp of all its records.
    pub timestamp: Millis,
    /// Set for transactional batches, which are never shared.
    pub producer: Option<(i64, i16)>,
    /// Key and value of each record; no value is a tombstone.
    pub records: Vec<(Bytes, Option<Bytes>)>,
}

impl<M: Machine> Driver<M> {
    /// A driver before its load. `batch_bytes_max` is the topic's `max.message.bytes`: no batch is
    /// larger, unless one output alone is; the log takes that from a coordinator.
    pub fn new(entropy: Entropy, batch_bytes_max: usize) -> Self {
        Self {
            machine: M::default(),
            entropy,
            written: 0,
            now: 0,
            batch_bytes_max,
            slowest_answer: 0,
            parked: VecDeque::new(),
        }
    }

    /// What the following steps are told as [`Cx::slowest_answer`].
    pub fn set_slowest_answer(&mut self, slowest: Millis) {
        self.slowest_answer = slowest;
    }

    /// Applies one record of the log.
    pub fn replay(&mut self, at: At, record: &M::Record) {
        assert!(at.offset >= self.written, "the log of a shard was read backwards");
        self.machine.replay(at, record);
        self.written = at.offset + 1;
    }

    /// The same with the bytes of the record; false if its type is not known. Until [`Self::loaded`] the machine may show
    /// less than it has read.
    ///
    /// # Errors
    /// Bytes that are no such record.
    pub fn replay_encoded(&mut self, at: At, record: Encoded<'_>) -> Result<bool, DecodeError> {
        assert!(at.offset >= self.written, "the log of a shard was read backwards");
        let known = self.machine.replay_encoded(at, record)?;
        self.written = at.offset + 1;
        Ok(known)
    }

    /// Applies a marker that the log has, while loading and live: the host appends it and then tells it here. Replies
    /// of later steps wait for it.
    pub fn marker(&mut self, at: At, producer: i64, commit: bool) {
        assert!(at.offset >= self.written, "the log of a shard was read backwards");
        self.machine.marker(at, producer, commit);
        self.written = at.offset + 1;
    }

    /// Ends the load. `end` is the log's end: records that the machine does not know and control
    /// records take offsets too.
    pub fn loaded(&mut self, end: i64, now: Millis, image: &Image) -> Round<M> {
        assert!(end >= self.written, "the log of a shard ends before its last record");
        self.written = end;
        let mut cutter = Cutter::new(self.batch_bytes_max);
        self.turn(now, image, &mut cutter, Machine::loaded);
        cutter.round()
    }

    /// Steps the machine through all events, one after the other.
    pub fn round(&mut self, now: Millis, image: &Image, events: Vec<Event<M>>) -> Round<M> {
        let mut cutter = Cutter::new(self.batch_bytes_max);
        for event in events {
            self.turn(now, image, &mut cutter, |machine, cx| machine.step(cx, event));
        }
        cutter.round()
    }

    /// The next reply that may leave, given the offset below which the log is durable.
    pub fn release(&mut self, durable: i64) -> Option<(Ticket, M::Reply)> {
        let (after, ..) = self.parked.front()?;
        if *after > durable {
            return None;
        }
        self.parked.pop_front().map(|(_, ticket, reply)| (ticket, reply))
    }

    /// Offset after the last record handed out.
    pub fn written(&self) -> i64 {
        self.written
    }

    /// A time no later than which [`Event::Wake`] must come.
    pub fn deadline(&self) -> Option<Millis> {
        self.machine.deadline()
    }

    /// Number of replies that wait for durability.
    pub fn parked(&self) -> usize {
        self.parked.len()
    }

    /// For tests, checkers and describing tools; only steps change the machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    fn turn(
        &mut self,
        now: Millis,
        image: &Image,
        cutter: &mut Cutter<M>,
        step: impl FnOnce(&mut M, &mut Cx<'_>) -> Output<M>,
    ) {
        self.now = self.now.max(now);
        let mut cx = Cx {
            now: self.now,
            offset: self.written,
            image,
            entropy: &mut self.entropy,
            slowest_answer: self.slowest_answer,
        };
        let output = step(&mut self.machine, &mut cx);
        let part = if output.divisible { 1 } else { output.records.len().max(1) };
        for records in output.records.chunks(part) {
            self.written = cutter.add(self.written, self.now, records, output.producer);
        }
        // Also a reply of a step without records waits for what was written before it: it may tell
        // a state that only those records make true.
        let after = self.written;
        self.parked.extend(output.replies.into_iter().map(|(ticket, reply)| (after, ticket, reply)));
        cutter.tasks.extend(output.tasks);
    }
}

/// Gathers outputs into batches. It cuts between outputs, never inside one that is not divisible.
struct Cutter<M: Machine> {
    bytes_max: usize,
    batches: Vec<Batch>,
    tasks: Vec<(TaskId, M::Task)>,
    /// Estimated bytes of the last batch, if more may be added to it.
    open: Option<usize>,
}

impl<M: Machine> Cutter<M> {
    fn new(bytes_max: usize) -> Self {
        Self { bytes_max, batches: Vec::new(), tasks: Vec::new(), open: None }
    }

    /// Adds records that stay together and returns the offset after them.
    fn add(
        &mut self,
        base_offset: i64,
        timestamp: Millis,
        records: &[M::Record],
        producer: Option<(i64, i16)>,
    ) -> i64 {
        let records: Vec<_> = records.iter().map(encode).collect();
        let bytes: usize = records.iter().map(size).sum();
        let next = base_offset + i64::try_from(records.len()).expect("a length is no 64-bit number");
        let fits = self.open.is_some_and(|open| open + bytes <= self.bytes_max);
        match (self.batches.last_mut(), self.open.as_mut()) {
            (Some(last), Some(open)) if fits && producer.is_none() => {
                last.records.extend(records);
                *open += bytes;
            }
            _ => {
                self.batches.push(Batch { base_offset, timestamp, producer, records });
                self.open = producer.is_none().then_some(BATCH_HEADER_BYTES + bytes);
            }
        }
        next
    }

    fn round(self) -> Round<M> {
        Round { batches: self.batches, tasks: self.tasks }
    }
}

fn encode<R: LogRecord>(record: &R) -> (Bytes, Option<Bytes>) {
    // Strings of requests fit: the codec refuses longer ones on both sides. What fails here is our bug,
    // and the state already contains it: the shard must be loaded anew.
    record.encode().unwrap_or_else(|error| panic!("a record that cannot be written: {error:?}"))
}

fn size((key, value): &(Bytes, Option<Bytes>)) -> usize {
    RECORD_FRAMING_BYTES_MAX + key.len() + value.as_ref().map_or(0, Bytes::len)
}

#[cfg(test)]
mod tests;
