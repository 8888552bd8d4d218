//! How a deciding function sees the shard: hard state to read, a way to record, soft state to change, the world.
//!
//! As in [`group::step`](crate::group::step): a record is applied at once, there is no undo, and a function validates
//! before it records.

use wire::Str;

use super::record::TxnRecord;
use super::request::{TxnReply, TxnTask};
use super::soft::{Soft, Waiting};
use super::state::{Hard, NONE, Transaction};
use super::{NeedsId, TxnShard};
use crate::machine::{Cx, Millis, Output, TaskId, Ticket};
use catalog::Image;

/// One step of a transaction shard.
pub struct Step<'a> {
    pub now: Millis,
    pub image: &'a Image,
    pub soft: &'a mut Soft,
    hard: &'a mut Hard,
    records: Vec<TxnRecord>,
    pub(super) replies: Vec<(Ticket, TxnReply)>,
    tasks: Vec<(TaskId, TxnTask)>,
}

impl<'a> Step<'a> {
    pub(super) fn new(hard: &'a mut Hard, soft: &'a mut Soft, cx: &'a Cx<'_>) -> Self {
        let (records, replies, tasks) = (Vec::new(), Vec::new(), Vec::new());
        Self { now: cx.now, image: cx.image, soft, hard, records, replies, tasks }
    }

    /// What the records so far say.
    pub fn hard(&self) -> &Hard {
        self.hard
    }

    /// The finalized level of `transaction.version`.
    pub fn level(&self) -> i16 {
        self.image.features().level("transaction.version")
    }

    /// Records all about a transactional id, and applies it. A producer id that was promised to the next transaction
    /// must be in the record, and version 0 has no place for it: a client that spoke of level 2 before the level fell.
    pub(super) fn record(&mut self, id: &Str, transaction: &Transaction) {
        let has_next = transaction.next_producer_id != i64::from(NONE);
        let version = if has_next { 1 } else { self.level().min(1) };
        self.push(TxnRecord {
            transactional_id: id.clone(),
            value: Some(transaction.to_value(version)),
            version,
        });
    }

    /// Records that a transactional id is gone.
    pub(super) fn tombstone(&mut self, id: &Str) {
        self.push(TxnRecord { transactional_id: id.clone(), value: None, version: 0 });
    }

    fn push(&mut self, record: TxnRecord) {
        self.hard.apply(&record);
        self.records.push(record);
    }

    /// A new producer id, if one is at hand.
    pub(super) fn take_id(&mut self) -> Result<i64, NeedsId> {
        self.soft.spare_ids.pop_front().ok_or(NeedsId)
    }

    /// Goes on with `waiting` when there is one.
    pub(super) fn wait_for_id(&mut self, waiting: Waiting) {
        self.soft.waiting.push_back(waiting);
        self.task(TxnTask::NextId);
    }

    pub(super) fn task(&mut self, task: TxnTask) -> TaskId {
        self.soft.last_task += 1;
        let id = TaskId(self.soft.last_task);
        self.tasks.push((id, task));
        id
    }

    pub(super) fn into_output(self) -> Output<TxnShard> {
        Output {
            records: self.records,
            // Each record is whole by itself.
            divisible: true,
            producer: None,
            replies: self.replies,
            tasks: self.tasks,
        }
    }
}
