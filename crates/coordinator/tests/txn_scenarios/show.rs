//! Records, replies, tasks and deadlines of a transaction shard as lines.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};

use coordinator::Millis;
use coordinator::txn::{TimerKey, TopicPartition, TxnRecord, TxnReply, TxnTask, WriteMarkers};
use wire::ErrorCode;

use crate::args::show_duration;
use crate::clock::since_start;

/// A line that leaves out what says nothing.
struct Line(String);

impl Line {
    fn part(mut self, name: &str, value: impl Display) -> Self {
        let _ = write!(self.0, " {name}={value}");
        self
    }

    fn unless<T: PartialEq + Display>(self, default: T, name: &str, value: T) -> Self {
        if value == default { self } else { self.part(name, value) }
    }
}

pub(crate) fn record(record: &TxnRecord, now: Millis) -> String {
    let id = &record.transactional_id;
    let Some(value) = &record.value else { return format!("tombstone {id}") };
    let partitions = value.transaction_partitions.iter().flatten().flat_map(|topic| {
        let partition = |index: &i32| TopicPartition { topic: topic.topic.clone(), index: *index };
        topic.partition_ids.iter().map(partition)
    });
    let started = value.transaction_start_timestamp_ms;
    let started = if started == -1 { "-".to_owned() } else { since_start(started) };
    let timeout = show_duration(i64::from(value.transaction_timeout_ms));
    Line(format!("record {id} {}", state(value.transaction_status)))
        .part("id", value.producer_id)
        .part("epoch", value.producer_epoch)
        .unless("1m".to_owned(), "timeout", if timeout == "60s" { "1m".to_owned() } else { timeout })
        .unless("-".to_owned(), "in", places(&partitions.collect()))
        .unless("-".to_owned(), "started", started)
        .unless(since_start(now), "updated", since_start(value.transaction_last_update_timestamp_ms))
        .unless(value.producer_id, "before", value.previous_producer_id)
        .unless(-1, "next", value.next_producer_id)
        .unless(0, "client", value.client_transaction_version)
        .unless(1, "v", record.version)
        .0
}

fn state(status: i8) -> &'static str {
    match status {
        0 => "Empty",
        1 => "Ongoing",
        2 => "PrepareCommit",
        3 => "PrepareAbort",
        4 => "CompleteCommit",
        5 => "CompleteAbort",
        _ => "?",
    }
}

/// `a:0,1;b:2`, or `-`.
fn places(partitions: &BTreeSet<TopicPartition>) -> String {
    let mut out = String::new();
    let mut last = None;
    for TopicPartition { topic, index } in partitions {
        match last == Some(topic) {
            true => write!(out, ",{index}"),
            false => write!(out, "{}{topic}:{index}", if last.is_some() { ";" } else { "" }),
        }
        .expect("a string takes everything");
        last = Some(topic);
    }
    if out.is_empty() { "-".to_owned() } else { out }
}

pub(crate) fn reply(asked: &str, reply: &TxnReply) -> String {
    let producer = |answer: &Result<(i64, i16), ErrorCode>| match answer {
        Ok((-1, -1)) => "NONE".to_owned(),
        Ok((id, epoch)) => format!("id={id} epoch={epoch}"),
        Err(code) => code.name().to_owned(),
    };
    let lines: Vec<String> = match reply {
        TxnReply::InitProducerId(answer) | TxnReply::EndTxn(answer) => vec![producer(answer)],
        TxnReply::AddPartitions(codes) => {
            let names: Vec<_> = codes.iter().map(|it| it.name()).collect();
            let same = names.windows(2).all(|it| it.first() == it.last());
            vec![if same { names.first().copied().unwrap_or("-").to_owned() } else { names.join(",") }]
        }
        TxnReply::Describe(described) => {
            let line = |it: &wire::describe_transactions::response::TransactionState| {
                if it.error_code != ErrorCode::NONE {
                    return format!("{} {}", it.transactional_id, it.error_code.name());
                }
                let partitions = it.topics.iter().flat_map(|topic| {
                    let place = |index: &i32| TopicPartition { topic: topic.topic.clone(), index: *index };
                    topic.partitions.iter().map(place)
                });
                let started = it.transaction_start_time_ms;
                let started = if started == -1 { "-".to_owned() } else { since_start(started) };
                Line(format!("{} {}", it.transactional_id, it.transaction_state))
                    .part("id", it.producer_id)
                    .part("epoch", it.producer_epoch)
                    .part("timeout", show_duration(i64::from(it.transaction_timeout_ms)))
                    .part("started", started)
                    .part("in", places(&partitions.collect()))
                    .0
            };
            described.iter().map(line).collect()
        }
        TxnReply::Find(found) => found.iter().map(|it| format!("{it:?}")).collect(),
        TxnReply::List(listed) if listed.is_empty() => vec!["nothing".to_owned()],
        TxnReply::List(listed) => {
            let line = |it: &wire::list_transactions::response::TransactionState| {
                format!("{} {} id={}", it.transactional_id, it.transaction_state, it.producer_id)
            };
            listed.iter().map(line).collect()
        }
    };
    lines.iter().map(|line| format!("reply {asked} {line}\n")).collect()
}

pub(crate) fn task(task: &TxnTask) -> String {
    match task {
        TxnTask::NextId => "ask for an id".to_owned(),
        TxnTask::WriteMarkers(it) => markers(it),
    }
}

fn markers(it: &WriteMarkers) -> String {
    let word = if it.commit { "COMMIT" } else { "ABORT" };
    Line(format!("markers {} {word}", it.transactional_id))
        .part("id", it.producer_id)
        .part("epoch", it.producer_epoch)
        .part("in", places(&it.partitions.iter().cloned().collect()))
        .unless(0, "client", it.transaction_version)
        .0
}

pub(crate) fn timer(key: &TimerKey) -> String {
    match key {
        TimerKey::Timeout(id) => format!("timeout {id}"),
        TimerKey::Markers(id) => format!("markers {id}"),
        TimerKey::Expiry => "expiry".to_owned(),
    }
}
