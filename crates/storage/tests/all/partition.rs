//! Partitions on the local engine: after a crash or an orderly stop, a partition is as it was.

use crate::common::{Folder, Local};
use bytes::Bytes;
use std::sync::Arc;
use storage::conformance::{self, Subject, wait};
use storage::partition::{Isolation, Origin, Partition, ReadSpec, Settings};
use storage::{Durability, Log, LogSettings};
use wire::batch::{BatchBuilder, Batches, control};

const NOW: i64 = 1_700_000_000_000;
const COORDINATOR: Origin = Origin::Coordinator { transaction_version: 1 };

fn log(subject: &Local) -> Arc<dyn Log> {
    let lane = wait(subject.engine().open(0, subject.grant())).expect("the lane opens");
    lane.log(&conformance::partition(0)).expect("the log opens")
}

fn open(subject: &Local) -> Partition {
    let settings = Settings {
        log: LogSettings { segment_bytes: 2_000, ..LogSettings::default() },
        ..Settings::default()
    };
    wait(Partition::open(log(subject), settings, subject.grant().epoch, NOW)).expect("the partition opens")
}

/// The n-th of a sequence of appends by three producers: plain, transactional, markers.
fn append(partition: &Partition, n: i32) {
    let id = i64::from(n % 3);
    let first = n / 3 * 2;
    let transaction = n / 9;
    let (records, origin): (Bytes, _) = match (id, n % 9 / 3) {
        (0, _) => (records(BatchBuilder::new().producer(7, 0, first), n), Origin::Client),
        (_, 2) => (control::marker(id, 0, transaction % 2 == 0, 0, NOW), COORDINATOR),
        (_, step) => {
            let sequence = transaction * 4 + step * 2;
            (records(BatchBuilder::new().producer(id, 0, sequence).transactional(), n), Origin::Client)
        }
    };
    partition.append(&records, origin, NOW).expect("the append is taken");
}

fn records(mut batch: BatchBuilder, n: i32) -> Bytes {
    for delta in 0..2 {
        batch.add(NOW + i64::from(n), None, Some(&[delta; 40]), &[]);
    }
    batch.build()
}

fn read_all(partition: &Partition) -> Vec<i64> {
    let mut offsets = Vec::new();
    let mut from = partition.log_start();
    while from < partition.high_watermark() {
        let isolation = Isolation::ReadUncommitted;
        let spec = ReadSpec { from, max_bytes: 1_000, at_least_one: true, isolation, settle: false };
        let read = wait(partition.read(spec)).expect("the read succeeds");
        for batch in Batches::new(read.slices.load().expect("the file is read")) {
            let batch = batch.expect("batches are whole");
            batch.verify().expect("the checksum is right");
            offsets.push(batch.header.base_offset);
            from = batch.header.next_offset();
        }
    }
    offsets
}

fn settle(partition: &Partition) {
    wait(partition.wait_durable(partition.ends_now().end)).expect("the flush comes");
}

/// Traps 9 and 34 of 25: they survive restarts and rolls of segments.
///
/// The aborted transactions that a reader of the whole log is told, and how often: once for each read that has
/// records of them.
fn committed(partition: &Partition) -> Vec<(i64, i64)> {
    let mut all = Vec::new();
    let mut from = partition.log_start();
    loop {
        let isolation = Isolation::ReadCommitted;
        let spec = ReadSpec { from, max_bytes: 1_000, at_least_one: true, isolation, settle: false };
        let read = wait(partition.read(spec)).expect("the read succeeds");
        if read.slices.is_empty() {
            return all;
        }
        let next = read.slices.next;
        for it in read.aborted.expect("it was asked for") {
            assert!(it.first_offset < next && it.last_offset >= from, "{it:?} is not of {from} to {next}");
            all.push((it.first_offset, it.last_offset));
        }
        from = next;
    }
}

/// All that a client can see of a partition.
fn picture(partition: &Partition, n: i32) -> String {
    let (ends, stable, producers) =
        (partition.ends_now(), partition.last_stable_offset(), partition.producers());
    let found = wait(partition.find_by_timestamp(NOW + i64::from(n / 2), Isolation::ReadUncommitted));
    let newest = wait(partition.max_timestamp(Isolation::ReadUncommitted));
    let (aborted, offsets) = (committed(partition), read_all(partition));
    format!("{ends:?}\n{stable}\n{producers:#?}\n{found:?}\n{newest:?}\n{aborted:?}\n{offsets:?}")
}

fn check(durability: Durability, checkpoints: &[i32]) {
    let mut subject = Local::new(Folder::fast(), |it| it.durability = durability);
    let mut partition = open(&subject);
    for n in 0..100 {
        append(&partition, n);
        if checkpoints.contains(&n) {
            partition.checkpoint().expect("it is saved");
            let lane = wait(subject.engine().open(0, subject.grant())).expect("the lane opens");
            wait(lane.checkpoint()).expect("it is kept");
        }
        if n % 17 == 0 {
            settle(&partition);
            let before = picture(&partition, n);
            drop(partition);
            subject.restart();
            partition = open(&subject);
            assert_eq!(picture(&partition, n), before, "append {n}");
            assert_eq!(partition.epochs().latest(), Some(subject.grant().epoch));
        }
    }
}

#[test]
fn restarts_without_a_checkpoint() {
    check(Durability::Fsync, &[]);
}

#[test]
fn restarts_after_checkpoints() {
    check(Durability::Fsync, &[5, 20, 33, 51, 90]);
}

#[test]
fn restarts_from_the_page_cache() {
    check(Durability::PageCache, &[40]);
}
