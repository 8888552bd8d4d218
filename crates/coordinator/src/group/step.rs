//! How a deciding function sees the shard: hard state to read, a way to record, soft state to
//! change, the world.
//!
//! Kafka's heartbeat is a chain of decisions in which later ones see what earlier ones recorded.
//! So a step does not gather records to apply them at its end: [`Working::record`] applies each at
//! once, through the one function that replay uses too, and the code after it reads the new state.
//! Hard state still changes by records alone.
//!
//! There is no undo. A function validates first and records afterwards; what returns
//! [`Fail`](super::Fail) must not have recorded anything.

use std::ops::Deref;

use crate::group::GroupShard;
use crate::group::history::Telling;
use crate::group::request::{GroupReply, GroupTask};
use crate::group::soft::Soft;
use crate::group::state::Hard;
use crate::machine::{At, Cx, Entropy, Millis, Output, TaskId, Ticket};
use catalog::Image;
use wire::consumer_offsets::Record;

/// One step of a group shard. Its fields are public and separate, so that a borrow of `hard` does
/// not stand in the way of `soft`.
pub struct Step<'a> {
    pub now: Millis,
    pub image: &'a Image,
    pub entropy: &'a mut Entropy,
    /// See [`Cx::slowest_answer`].
    pub slowest_answer: Millis,
    pub hard: Working<'a>,
    pub soft: &'a mut Soft,
    /// Set where the records of the step need not be appended together.
    pub divisible: bool,
    /// Answers, also to questions of earlier steps.
    pub replies: Vec<(Ticket, GroupReply)>,
    /// Work for the host.
    pub tasks: Vec<(TaskId, GroupTask)>,
}

impl<'a> Step<'a> {
    pub(super) fn new(hard: &'a mut Hard, soft: &'a mut Soft, cx: &'a mut Cx<'_>) -> Self {
        Self {
            now: cx.now,
            image: cx.image,
            entropy: cx.entropy,
            slowest_answer: cx.slowest_answer,
            hard: Working {
                hard,
                image: cx.image,
                now: cx.now,
                next: cx.offset,
                producer: None,
                records: Vec::new(),
                telling: Telling::default(),
            },
            soft,
            divisible: false,
            replies: Vec::new(),
            tasks: Vec::new(),
        }
    }

    /// Short for `step.hard.record(..)`.
    pub fn record(&mut self, record: Record) {
        self.hard.record(record);
    }

    /// Where to tell what happened; what records say needs not be told.
    pub fn telling(&mut self) -> &mut Telling {
        &mut self.hard.telling
    }

    pub(super) fn into_output(self) -> Output<GroupShard> {
        let Soft { history, classic, .. } = self.soft;
        history.take(self.now, self.hard.hard, classic, self.hard.telling);
        Output {
            records: self.hard.records,
            divisible: self.divisible,
            producer: self.hard.producer,
            replies: self.replies,
            tasks: self.tasks,
        }
    }
}

/// The hard state as the records so far make it. It reads like [`Hard`] and changes by
/// [`Working::record`] alone.
#[derive(Debug)]
pub struct Working<'a> {
    hard: &'a mut Hard,
    /// For what is told about the records: they name topics by their ids.
    image: &'a Image,
    now: Millis,
    next: i64,
    /// Set if the step is a commit of this producer's transaction.
    producer: Option<(i64, i16)>,
    records: Vec<Record>,
    telling: Telling,
}

impl Working<'_> {
    /// All records of the step belong to this producer's transaction.
    pub fn within_transaction(&mut self, producer_id: i64, epoch: i16) {
        assert!(self.records.is_empty(), "a step is in a transaction as a whole");
        self.producer = Some((producer_id, epoch));
    }

    /// Adds a record to the step's output and applies it.
    pub fn record(&mut self, record: Record) {
        self.telling.record(self.hard, self.image, &record);
        let at = At { offset: self.next, timestamp: self.now, producer: self.producer };
        self.hard.apply(at, &record);
        self.next += 1;
        self.records.push(record);
    }

    /// Where to tell what no record says.
    pub(in crate::group) fn telling(&mut self) -> &mut Telling {
        &mut self.telling
    }

    /// What this step recorded so far.
    pub fn recorded(&self) -> &[Record] {
        &self.records
    }
}

impl Deref for Working<'_> {
    type Target = Hard;

    fn deref(&self) -> &Hard {
        self.hard
    }
}
