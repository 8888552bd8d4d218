//! The suite that every engine and every journal runs: the rules of `log` as tests.
//!
//! A test of an engine implements [`Subject`] and calls [`run`]; one of a journal implements
//! [`JournalSubject`] and calls [`run_journal`].

#![expect(clippy::indexing_slicing, clippy::print_stdout, reason = "tests of other crates' tests")]

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use bytes::Bytes;
use wire::batch::BatchBuilder;

use crate::journal::{Journal, JournalError};
use crate::log::{
    Aborted, Batch, Batches, Ends, Engine, Grant, Lane, Log, LogSettings, Millis, Offset, PartitionId,
    PartitionSnapshot, Refused, Span, Uuid,
};

/// An engine that can be stopped and started.
pub trait Subject {
    /// The running engine.
    fn engine(&self) -> Arc<dyn Engine>;

    /// The right to open its lanes.
    fn grant(&self) -> Grant;

    /// The process ends without a word, and starts again.
    fn restart(&mut self);
}

/// A journal that can be stopped and started.
pub trait JournalSubject {
    /// The running journal.
    fn journal(&self) -> Arc<dyn Journal>;

    /// The process ends without a word, and starts again.
    fn restart(&mut self);
}

/// Runs every test on a fresh subject.
pub fn run(make: &mut dyn FnMut() -> Box<dyn Subject>) {
    appends_become_durable_in_order(make().as_mut());
    batches_come_back_as_appended(make().as_mut());
    read_begins_with_the_whole_batch(make().as_mut());
    read_stops_at_its_bounds(make().as_mut());
    read_tells_where_it_ends(make().as_mut());
    restart_keeps_what_was_durable(make().as_mut());
    closed_lane_refuses(make().as_mut());
    trim_moves_the_start(make().as_mut());
    trim_to_the_end_leaves_an_empty_log(make().as_mut());
    batches_are_found_by_time(make().as_mut());
    removed_partition_is_gone(make().as_mut());
    snapshots_never_count_beyond_the_end(make().as_mut());
    every_partition_is_recovered(make().as_mut());
    for seed in 1..=12 {
        agrees_with_the_model(make().as_mut(), seed);
    }
}

/// Runs every test of journals on a fresh subject.
pub fn run_journal(make: &mut dyn FnMut() -> Box<dyn JournalSubject>) {
    journal_compares_and_appends(make().as_mut());
    journal_survives_restarts(make().as_mut());
    journal_begins_with_the_snapshot(make().as_mut());
}

/// Rules 1 and 2: `durable` follows `end`, and neither goes back.
pub fn appends_become_durable_in_order(subject: &mut dyn Subject) {
    let (_lane, log) = opened(subject);
    assert_eq!(*log.ends().borrow(), Ends::default(), "a new log is empty");
    let mut before = Ends::default();
    for round in 0..50 {
        append(&*log, &[batch(round * 3, 3, 100, round)]);
        let now = *log.ends().borrow();
        assert_eq!(now.end, round * 3 + 3);
        assert!(now.durable >= before.durable && now.durable <= now.end);
        before = now;
    }
    durable(&*log, 150);
    assert_eq!(*log.ends().borrow(), Ends { start: 0, durable: 150, end: 150, dead: false });
}

/// Rule 5, over sizes below and above everything that an engine may treat apart.
pub fn batches_come_back_as_appended(subject: &mut dyn Subject) {
    let (_lane, log) = opened(subject);
    let sizes = [0, 1, 61, 4_000, 5_000, 70_000, 300_000, 3];
    let made: Vec<_> = (0..).zip(sizes).map(|(at, size)| batch(at, 1, size, at)).collect();
    let (first, rest) = made.split_at(2);
    append(&*log, first);
    append(&*log, rest);
    durable(&*log, 8);
    let all: Vec<u8> = made.iter().flat_map(|it| it.to_bytes()).collect();
    assert_eq!(read_all(&*log, 0, 8), all);
}

/// Rule 4.
pub fn read_begins_with_the_whole_batch(subject: &mut dyn Subject) {
    let (_lane, log) = opened(subject);
    let made: Vec<_> = (0..6).map(|n| batch(n * 10, 10, 2_000, n)).collect();
    append(&*log, &made);
    durable(&*log, 60);
    for from in [0, 5, 9, 10, 34, 59] {
        let first = &made[usize::try_from(from / 10).unwrap_or(0)];
        let span = Span { from, to: Offset::MAX, max_bytes: 1, at_least_one: true };
        let got = wait(log.read(span)).and_then(|it| Ok(it.load()?)).expect("a read of durable batches");
        assert_eq!(got, first.to_bytes(), "at offset {from}");
        let none = wait(log.read(Span { at_least_one: false, ..span })).expect("a read below the limit");
        assert!(none.is_empty(), "a batch above the limit was not asked for");
    }
}

/// Rule 4 with limits: whole batches only, up to `to`, and nothing at the end.
pub fn read_stops_at_its_bounds(subject: &mut dyn Subject) {
    let (_lane, log) = opened(subject);
    let made: Vec<_> = (0..40).map(|n| batch(n * 2, 2, 500, n)).collect();
    append(&*log, &made);
    durable(&*log, 80);
    let size = made[0].size();
    let span = |from, to, max_bytes| Span { from, to, max_bytes, at_least_one: true };
    let offsets = |it: Span| bases(&wait(log.read(it)).and_then(|it| Ok(it.load()?)).expect("a read"));
    assert_eq!(offsets(span(4, 10, 1 << 20)), [4, 6, 8]);
    assert_eq!(offsets(span(4, 11, 1 << 20)), [4, 6, 8], "a batch across the bound is left out");
    assert_eq!(offsets(span(4, 80, 3 * size + 1)), [4, 6, 8]);
    assert_eq!(offsets(span(80, Offset::MAX, 1 << 20)), [] as [i64; 0]);
    assert_eq!(offsets(span(90, Offset::MAX, 1 << 20)), [] as [i64; 0]);
}

/// `next` is the offset after the last batch, also where a read jumps to it by an index.
pub fn read_tells_where_it_ends(subject: &mut dyn Subject) {
    let (_lane, log) = opened(subject);
    let made: Vec<_> = (0..60).map(|n| batch(n * 3, 3, 900, n)).collect();
    append(&*log, &made);
    durable(&*log, 180);
    for (from, max_bytes) in [(0, 1), (4, 3_000), (9, 20_000), (100, 9_000), (177, 1 << 20)] {
        let span = Span { from, to: Offset::MAX, max_bytes, at_least_one: true };
        let read = wait(log.read(span)).expect("a read of durable batches");
        let last = bases(&read.load().expect("it is loaded")).into_iter().next_back();
        assert_eq!(Some(read.next), last.map(|base| base + 3), "from {from}, {max_bytes} bytes");
    }
}

/// Rule 1: after a crash, and after an orderly stop.
pub fn restart_keeps_what_was_durable(subject: &mut dyn Subject) {
    let mut all = Vec::new();
    for round in 0..4 {
        let (lane, log) = opened(subject);
        let from = all.len() as i64;
        assert_eq!(*log.ends().borrow(), Ends { start: 0, durable: from, end: from, dead: false });
        let made: Vec<_> = (from..from + 5).map(|at| batch(at, 1, 700, at)).collect();
        append(&*log, &made);
        durable(&*log, from + 5);
        all.extend(made.iter().map(Batch::to_bytes));
        assert_eq!(read_all(&*log, 0, from + 5), all.concat());
        if round % 2 == 1 {
            wait(lane.close()).expect("an orderly stop");
        }
        drop((lane, log));
        subject.restart();
    }
}

/// Rule 3.
pub fn closed_lane_refuses(subject: &mut dyn Subject) {
    let (lane, log) = opened(subject);
    append(&*log, &[batch(0, 1, 10, 0)]);
    wait(lane.close()).expect("close");
    assert!(*lane.fenced().borrow());
    assert!(matches!(log.append(Batches::new(vec![batch(1, 1, 10, 1)])), Err(Refused::Fenced)));
    let ends = *log.ends().borrow();
    assert_eq!(ends, Ends { start: 0, durable: 1, end: 1, dead: true });
}

/// The start moves, also across a crash, and what lies below is gone.
pub fn trim_moves_the_start(subject: &mut dyn Subject) {
    let (lane, log) = opened(subject);
    log.configure(small());
    let made: Vec<_> = (0..50).map(|n| batch(n * 2, 2, 300, n)).collect();
    for it in &made {
        append(&*log, std::slice::from_ref(it));
    }
    durable(&*log, 100);
    let before = log.size();
    wait(log.trim(71)).expect("trim");
    wait(log.trim(3)).expect("trim backwards does nothing");
    assert_eq!(log.ends().borrow().start, 71);
    assert!(log.size() < before, "room of whole segments is given back");
    let below = Span { from: 70, to: 100, max_bytes: 10, at_least_one: true };
    assert!(matches!(wait(log.read(below)), Err(Refused::Gone)));
    assert_eq!(bases(&read_all(&*log, 71, 100)).first(), Some(&70), "the batch across the start is kept");
    drop((lane, log));
    subject.restart();
    let (_lane, log) = opened(subject);
    assert_eq!(*log.ends().borrow(), Ends { start: 71, durable: 100, end: 100, dead: false });
    let kept: Vec<u8> = made[35..].iter().flat_map(|it| it.to_bytes()).collect();
    assert_eq!(read_all(&*log, 71, 100), kept);
}

/// A start beyond the durable end stops there; appends go on at the same offset.
pub fn trim_to_the_end_leaves_an_empty_log(subject: &mut dyn Subject) {
    let (lane, log) = opened(subject);
    append(&*log, &[batch(0, 4, 50, 0)]);
    durable(&*log, 4);
    wait(log.trim(1_000)).expect("trim");
    assert_eq!(*log.ends().borrow(), Ends { start: 4, durable: 4, end: 4, dead: false });
    assert!(wait(log.newest()).expect("newest").is_none());
    drop((lane, log));
    subject.restart();
    let (_lane, log) = opened(subject);
    assert_eq!(*log.ends().borrow(), Ends { start: 4, durable: 4, end: 4, dead: false });
    append(&*log, &[batch(4, 1, 50, 0)]);
    durable(&*log, 5);
    assert_eq!(bases(&read_all(&*log, 4, 5)), [4]);
}

/// `find` gives the first batch that reaches a time, `newest` the first with the largest; times may go back.
pub fn batches_are_found_by_time(subject: &mut dyn Subject) {
    let (lane, log) = opened(subject);
    log.configure(small());
    let times: [Millis; 12] = [10, 20, 15, 40, 30, 41, 41, 5, 60, 60, 59, 7];
    for (at, time) in (0..).zip(times) {
        append(&*log, &[batch(at, 1, 200, time)]);
    }
    durable(&*log, 12);
    let check = |log: &dyn Log| {
        for time in 0..70 {
            let want = (0..).zip(times).find(|(_, it)| *it >= time).map(|(at, _)| at);
            let got = wait(log.find(time)).expect("find").map(|it| it.offset);
            assert_eq!(got, want, "time {time}");
        }
        let newest = wait(log.newest()).expect("newest").map(|it| (it.offset, it.max_timestamp));
        assert_eq!(newest, Some((8, 60)));
    };
    check(&*log);
    wait(lane.close()).expect("close");
    drop((lane, log));
    subject.restart();
    let (_lane, log) = opened(subject);
    check(&*log);
    wait(log.trim(9)).expect("trim");
    assert_eq!(wait(log.find(6)).expect("find").map(|it| it.offset), Some(9));
    assert_eq!(wait(log.newest()).expect("newest").map(|it| it.offset), Some(9));
}

/// Nothing of a removed partition comes back, not even under its old name.
pub fn removed_partition_is_gone(subject: &mut dyn Subject) {
    let (lane, log) = opened(subject);
    append(&*log, &[batch(0, 3, 100, 0)]);
    durable(&*log, 3);
    wait(lane.remove(&partition(0))).expect("remove");
    wait(lane.remove(&partition(0))).expect("remove again");
    assert!(log.ends().borrow().dead);
    assert!(matches!(log.append(Batches::new(vec![batch(3, 1, 1, 0)])), Err(Refused::Gone)));
    let other = PartitionId { topic_id: Uuid([9; 16]), ..partition(0) };
    let again = lane.log(&other).expect("the name is free");
    assert_eq!(*again.ends().borrow(), Ends::default());
    append(&*again, &[batch(0, 1, 100, 0)]);
    durable(&*again, 1);
    drop((lane, log, again));
    subject.restart();
    let lane = wait(subject.engine().open(0, subject.grant())).expect("open");
    let found: Vec<_> = lane.partitions().into_iter().map(|it| (it.id.topic_id, it.ends.end)).collect();
    assert_eq!(found, [(Uuid([9; 16]), 1)]);
}

/// A snapshot that ran ahead of what survived is not given back.
pub fn snapshots_never_count_beyond_the_end(subject: &mut dyn Subject) {
    let (lane, log) = opened(subject);
    assert_eq!(log.saved().expect("saved"), None);
    append(&*log, &[batch(0, 5, 100, 0)]);
    durable(&*log, 5);
    let snapshot = |offset| PartitionSnapshot {
        offset,
        producers: Bytes::from(format!("producers at {offset}")),
        epochs: vec![(0, 0), (3, 4)],
        aborted: vec![Aborted { producer_id: 7, first_offset: 1, last_offset: 3, last_stable_offset: 2 }],
    };
    log.save(snapshot(4)).expect("save");
    wait(lane.checkpoint()).expect("checkpoint");
    log.save(snapshot(5)).expect("save");
    assert_eq!(log.saved().expect("saved"), Some(snapshot(5)));
    drop((lane, log));
    subject.restart();
    let (lane, log) = opened(subject);
    let kept = log.saved().expect("saved").expect("what was checkpointed");
    assert!(kept == snapshot(4) || kept == snapshot(5));
    append(&*log, &[batch(5, 1, 100, 0)]);
    durable(&*log, 6);
    log.save(snapshot(6)).expect("save");
    wait(lane.close()).expect("close");
    drop((lane, log));
    subject.restart();
    let (_lane, log) = opened(subject);
    assert_eq!(log.saved().expect("saved"), Some(snapshot(6)));
}

/// Every partition with its offsets, by id.
pub fn every_partition_is_recovered(subject: &mut dyn Subject) {
    let lane = wait(subject.engine().open(0, subject.grant())).expect("open");
    let mut logs = Vec::new();
    for index in 0..80 {
        let log = lane.log(&partition(index)).expect("log");
        if index > 0 {
            append(&*log, &[batch(0, index, 100, 0)]);
        }
        logs.push(log);
    }
    for (index, log) in (0..).zip(&logs) {
        durable(&**log, index);
    }
    wait(lane.checkpoint()).expect("checkpoint");
    drop((lane, logs));
    subject.restart();
    let lane = wait(subject.engine().open(0, subject.grant())).expect("open");
    let mut found: Vec<_> = lane.partitions().iter().map(|it| (it.id.index, it.ends.end)).collect();
    found.sort_unstable();
    assert_eq!(found, (0..80).map(|it| (it, i64::from(it))).collect::<Vec<_>>());
    assert!(lane.partitions().iter().all(|it| it.damage.is_none() && &*it.id.topic == "t"));
}

/// Random appends, reads, trims, stops and crashes against a list of batches.
pub fn agrees_with_the_model(subject: &mut dyn Subject, seed: u64) {
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let mut model: Vec<Batch> = Vec::new();
    let mut start = 0;
    let (mut lane, mut log) = opened(subject);
    for _ in 0..120 {
        log.configure(small());
        let end = model.last().map_or(0, |it| it.header.next_offset());
        match dice.below(20) {
            0 => {
                wait(lane.close()).expect("close");
                drop((lane, log));
                subject.restart();
                (lane, log) = opened(subject);
            }
            1 => {
                drop((lane, log));
                subject.restart();
                (lane, log) = opened(subject);
            }
            2 => wait(lane.checkpoint()).expect("checkpoint"),
            3 => {
                start = dice.between(start, end);
                wait(log.trim(start)).expect("trim");
            }
            4..=10 => model_read(&mut dice, &*log, &model, start, end),
            _ => {
                let made = some_batches(&mut dice, end);
                append(&*log, &made);
                model.extend(made);
                durable(&*log, model.last().map_or(0, |it| it.header.next_offset()));
            }
        }
        let end = model.last().map_or(0, |it| it.header.next_offset());
        assert_eq!(*log.ends().borrow(), Ends { start, durable: end, end, dead: false });
    }
}

fn some_batches(dice: &mut Dice, mut end: Offset) -> Vec<Batch> {
    let mut made = Vec::new();
    for _ in 0..=dice.below(3) {
        let records = 1 + i32::try_from(dice.below(4)).unwrap_or(0);
        made.push(batch(end, records, dice.below(900), 0));
        end += i64::from(records);
    }
    made
}

fn model_read(dice: &mut Dice, log: &dyn Log, model: &[Batch], start: Offset, end: Offset) {
    let from = dice.between(start, end);
    let span = Span {
        from,
        to: dice.between(from, end + 3),
        max_bytes: dice.below(4_000),
        at_least_one: dice.below(2) == 0,
    };
    let got = wait(log.read(span)).and_then(|it| Ok(it.load()?)).expect("a read inside the log");
    let mut possible = Vec::new();
    let inside = |it: &&Batch| it.header.next_offset() > from && it.header.next_offset() <= span.to;
    for batch in model.iter().filter(inside) {
        if possible.len() + batch.size() <= span.max_bytes || (possible.is_empty() && span.at_least_one) {
            possible.extend(batch.to_bytes());
        } else {
            break;
        }
    }
    // An engine may stop early, at the end of a segment say, but never without the first batch.
    assert!(possible.starts_with(&got), "{span:?} gives other bytes");
    assert_eq!(got.is_empty(), possible.is_empty(), "{span:?} gives nothing");
    let whole: usize = batches_of(&got).iter().map(Batch::size).sum();
    assert_eq!(whole, got.len(), "{span:?} gives a part of a batch");
}

/// Append after the head, and only there.
pub fn journal_compares_and_appends(subject: &mut dyn JournalSubject) {
    let journal = subject.journal();
    assert_eq!(journal.head(), 0);
    assert_eq!(wait(journal.append(0, entries(&["a", "b"]))).expect("append"), 2);
    assert!(matches!(wait(journal.append(0, entries(&["x"]))), Err(JournalError::Behind(2))));
    assert!(matches!(wait(journal.append(3, entries(&["x"]))), Err(JournalError::Behind(2))));
    assert_eq!(wait(journal.append(2, Vec::new())).expect("nothing"), 2);
    assert_eq!(wait(journal.append(2, entries(&["c"]))).expect("append"), 3);
    assert_eq!(journal.head(), 3);
    check_since(&*journal, 0, None, &[(1, "a"), (2, "b"), (3, "c")]);
    check_since(&*journal, 1, None, &[(2, "b"), (3, "c")]);
    check_since(&*journal, 3, None, &[]);
}

/// What was accepted is there after a crash.
pub fn journal_survives_restarts(subject: &mut dyn JournalSubject) {
    for round in 0..5 {
        let journal = subject.journal();
        assert_eq!(journal.head(), round * 2);
        wait(journal.append(round * 2, entries(&["even", "odd"]))).expect("append");
        drop(journal);
        subject.restart();
    }
    let since = wait(subject.journal().read(0)).expect("read");
    assert_eq!(since.entries.len(), 10);
    check_since(&*subject.journal(), 8, None, &[(9, "even"), (10, "odd")]);
}

/// A snapshot replaces what it contains, and only for those who need it.
pub fn journal_begins_with_the_snapshot(subject: &mut dyn JournalSubject) {
    let journal = subject.journal();
    wait(journal.append(0, entries(&["a", "b", "c"]))).expect("append");
    wait(journal.snapshot(2, Bytes::from_static(b"image of 2"))).expect("snapshot");
    wait(journal.append(3, entries(&["d"]))).expect("append");
    drop(journal);
    for _ in 0..2 {
        check_since(&*subject.journal(), 0, Some((2, "image of 2")), &[(3, "c"), (4, "d")]);
        check_since(&*subject.journal(), 2, None, &[(3, "c"), (4, "d")]);
        subject.restart();
    }
    let journal = subject.journal();
    assert_eq!(journal.head(), 4);
    wait(journal.snapshot(4, Bytes::from_static(b"image of 4"))).expect("snapshot");
    drop(journal);
    subject.restart();
    check_since(&*subject.journal(), 0, Some((4, "image of 4")), &[]);
    assert_eq!(wait(subject.journal().append(4, entries(&["e"]))).expect("append"), 5);
    check_since(&*subject.journal(), 0, Some((4, "image of 4")), &[(5, "e")]);
}

fn entries(texts: &[&'static str]) -> Vec<Bytes> {
    texts.iter().map(|it| Bytes::from_static(it.as_bytes())).collect()
}

fn check_since(journal: &dyn Journal, after: i64, snapshot: Option<(i64, &str)>, entries: &[(i64, &str)]) {
    let since = wait(journal.read(after)).expect("read");
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        since.snapshot.as_ref().map(|(at, it)| (*at, text(it))),
        snapshot.map(|(at, it)| (at, it.to_owned()))
    );
    let got: Vec<_> = since.entries.iter().map(|(at, it)| (*at, text(it))).collect();
    assert_eq!(got, entries.iter().map(|(at, it)| (*at, (*it).to_owned())).collect::<Vec<_>>());
}

/// Partition `index` of the suite's topic `t`.
#[must_use]
pub fn partition(index: i32) -> PartitionId {
    PartitionId { topic_id: Uuid([1; 16]), topic: Arc::from("t"), index }
}

/// Settings with which a few batches fill a segment.
#[must_use]
pub fn small() -> LogSettings {
    LogSettings { segment_bytes: 2_000, index_interval_bytes: 100, ..LogSettings::default() }
}

/// A batch of `records` records, `bytes` of values in all, filled by offset.
#[must_use]
pub fn batch(base: Offset, records: i32, bytes: usize, time: Millis) -> Batch {
    let mut builder = BatchBuilder::new().base_offset(base).leader_epoch(0);
    let each = bytes / usize::try_from(records).unwrap_or(1).max(1);
    for n in 0..records {
        let mut dice = Dice(base.unsigned_abs().wrapping_add(u64::from(n.unsigned_abs())));
        let value: Vec<u8> = (0..each).map(|_| dice.roll().to_le_bytes()[0]).collect();
        builder.add(time, None, Some(&value), &[]);
    }
    Batch::from_bytes(&builder.build()).expect("a batch of ours")
}

/// The batches in `bytes`, up to the first that is not whole.
#[must_use]
pub fn batches_of(bytes: &[u8]) -> Vec<Batch> {
    let mut rest = Bytes::copy_from_slice(bytes);
    let mut out = Vec::new();
    while let Ok(header) = wire::batch::BatchHeader::parse(&rest) {
        if header.size() > rest.len() {
            break;
        }
        out.extend(Batch::from_bytes(&rest.split_to(header.size())));
    }
    out
}

fn bases(bytes: &[u8]) -> Vec<Offset> {
    batches_of(bytes).iter().map(|it| it.header.base_offset).collect()
}

fn opened(subject: &mut dyn Subject) -> (Arc<dyn Lane>, Arc<dyn Log>) {
    let lane = wait(subject.engine().open(0, subject.grant())).expect("open");
    let log = lane.log(&partition(0)).expect("log");
    (lane, log)
}

/// Appends batches that must be taken.
pub fn append(log: &dyn Log, batches: &[Batch]) {
    log.append(Batches::new(batches.to_vec())).expect("append");
}

/// Waits until everything below `offset` is durable.
pub fn durable(log: &dyn Log, offset: Offset) {
    let mut ends = log.ends();
    let ends = *wait(ends.wait_for(|it| it.dead || it.durable >= offset)).expect("the log is open");
    assert!(ends.durable >= offset, "the log died");
}

/// Reads everything in `[from, to)`, however many reads it takes.
pub fn read_all(log: &dyn Log, mut from: Offset, to: Offset) -> Vec<u8> {
    let mut out = Vec::new();
    while from < to {
        let span = Span { from, to, max_bytes: 64 << 20, at_least_one: true };
        let got = wait(log.read(span)).and_then(|it| Ok(it.load()?)).expect("a read inside the log");
        let Some(last) = batches_of(&got).pop() else { break };
        from = last.header.next_offset();
        out.extend_from_slice(&got);
    }
    out
}

/// Runs a future to its end on this thread; the suite needs no runtime.
pub fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(out) => return out,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A small generator of chance from a seed (splitmix64).
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    /// The next 64 bits.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.roll() % (n.max(1) as u64)).unwrap_or(0)
    }

    /// A number from `from` to `to`, both included.
    pub fn between(&mut self, from: i64, to: i64) -> i64 {
        let room = usize::try_from(to.saturating_sub(from).saturating_add(1)).unwrap_or(1);
        from.saturating_add(i64::try_from(self.below(room)).unwrap_or(0))
    }
}
