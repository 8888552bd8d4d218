//! The machine of one partition of `__transaction_state`: its transactional ids and their transactions.
//!
//! Reading order: [`request`] (what is asked and answered), [`state`] (what the log says), [`soft`] (what may be
//! forgotten), [`step`] (how a deciding function sees both), then one file per thing that can happen: [`init`],
//! [`partitions`], [`end`], [`complete`], [`expire`], [`list`].
//!
//! Invariants:
//! * T-1 A decision is a record before anyone hears of it, and markers are written only when that record is durable
//!   (the host starts no task before).
//! * T-2 A prepared decision is carried out, whatever dies in between: a load starts it again, and every outcome of a
//!   marker but "try again" ends its partition.
//! * T-3 Producer id and epoch of a transactional id never go back; the epoch of a marker fences its producer.
//! * T-4 While markers are out, the id is busy: every change is answered CONCURRENT_TRANSACTIONS.
//!
//! Kafka marks a transition as pending while its record is appended. Here the record is applied at once and the reply
//! waits for it, so the only pending transition that others can meet is the one to Complete.

pub mod complete;
pub mod end;
pub mod expire;
pub mod init;
pub mod list;
pub mod partitions;
pub mod record;
pub mod request;
pub mod soft;
pub mod state;
pub mod step;

use crate::machine::{At, Cx, Event, Machine, Millis, Output, Ticket};

pub use record::TxnRecord;
pub use request::{
    AddPartitions, EndTxn, InitProducerId, ListTransactions, TopicPartition, TxnReply, TxnRequest, TxnTask,
    TxnTaskResult, WriteMarkers,
};
pub use soft::{Soft, TimerKey};
pub use state::{Hard, State, Transaction};
pub use step::Step;

use soft::Waiting;

/// Transactions of one partition of `__transaction_state`.
#[derive(Debug, Default)]
pub struct TxnShard {
    hard: Hard,
    soft: Soft,
}

impl TxnShard {
    /// What the log says; for checkers and describing tools.
    pub fn hard(&self) -> &Hard {
        &self.hard
    }

    /// What may be forgotten; for checkers and describing tools.
    pub fn soft(&self) -> &Soft {
        &self.soft
    }
}

impl Machine for TxnShard {
    type Request = TxnRequest;
    type Reply = TxnReply;
    type Record = TxnRecord;
    type Task = TxnTask;
    type TaskResult = TxnTaskResult;

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Self>) -> Output<Self> {
        let mut step = Step::new(&mut self.hard, &mut self.soft, cx);
        match event {
            Event::Ask { ticket, request, .. } => ask(&mut step, ticket, request),
            Event::Wake => fire_due(&mut step),
            Event::Done(_, TxnTaskResult::NextId(id)) => id_came(&mut step, id),
            Event::Done(task, TxnTaskResult::Markers { transactional_id, results }) => {
                complete::markers_written(&mut step, task, &transactional_id, &results);
            }
            // Partitions that are gone are met when their markers are written.
            Event::Topics(_) => {}
        }
        step.into_output()
    }

    fn replay(&mut self, _at: At, record: &TxnRecord) {
        self.hard.apply(record);
    }

    fn loaded(&mut self, cx: &mut Cx<'_>) -> Output<Self> {
        self.soft = Soft::default();
        let mut step = Step::new(&mut self.hard, &mut self.soft, cx);
        complete::loaded(&mut step);
        expire::loaded(&mut step);
        step.into_output()
    }

    fn deadline(&self) -> Option<Millis> {
        self.soft.timers.next()
    }
}

/// Answers, or keeps the question until a producer id is there.
fn ask(step: &mut Step<'_>, ticket: Ticket, request: TxnRequest) {
    match answer(step, &request) {
        Ok(reply) => step.replies.push((ticket, reply)),
        Err(NeedsId) => step.wait_for_id(Waiting::Ask(ticket, request)),
    }
}

/// A decision needs a new producer id and there is none at hand. Nothing was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeedsId;

fn answer(step: &mut Step<'_>, request: &TxnRequest) -> Result<TxnReply, NeedsId> {
    Ok(match request {
        TxnRequest::InitProducerId(it) => TxnReply::InitProducerId(init::answer(step, it)?),
        TxnRequest::AddPartitions(it, client_version) => {
            TxnReply::AddPartitions(partitions::answer(step, it, *client_version))
        }
        TxnRequest::EndTxn(it) => TxnReply::EndTxn(end::answer(step, it)?),
        TxnRequest::Describe(ids) => {
            TxnReply::Describe(ids.iter().map(|id| list::describe(step, id)).collect())
        }
        TxnRequest::List(it) => TxnReply::List(list::list(step, it)),
        TxnRequest::Find(producers) => TxnReply::Find(list::find(step, producers)),
    })
}

/// A producer id, or none could be had; the oldest of those that wait goes on.
fn id_came(step: &mut Step<'_>, id: Option<i64>) {
    step.soft.spare_ids.extend(id);
    let Some(waiting) = step.soft.waiting.pop_front() else { return };
    match (waiting, id) {
        (Waiting::Ask(ticket, request), Some(_)) => ask(step, ticket, request),
        (Waiting::Ask(ticket, request), None) => step.replies.push((ticket, request.without_id())),
        (Waiting::Timeout(transactional_id), Some(_)) => expire::timed_out(step, &transactional_id),
        (Waiting::Timeout(transactional_id), None) => expire::try_again(step, transactional_id),
    }
}

/// Fires all deadlines that are due.
fn fire_due(step: &mut Step<'_>) {
    while let Some((_, key)) = step.soft.timers.pop_due(step.now) {
        match key {
            TimerKey::Timeout(id) => expire::timed_out(step, &id),
            TimerKey::Markers(id) => complete::write_again(step, &id),
            TimerKey::Expiry => expire::remove_expired(step),
        }
    }
}
