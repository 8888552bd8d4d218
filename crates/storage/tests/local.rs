//! The suite on the local engine, and what its files look like.

#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "tests")]

mod common;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{Folder, Local, config, start};
use storage::conformance::{self, append, batch, batches_of, durable, partition, read_all, small, wait};
use storage::local::Op;
use storage::{
    Aborted, Batches, Durability, Lanes, LocalConfig, LocalEngine, PartitionSnapshot, Refused, Slice, Span,
    StartError,
};

#[test]
fn local_engine_keeps_the_rules() {
    conformance::run(&mut || Box::new(Local::new(Folder::fast(), |_| {})));
}

#[test]
fn local_engine_keeps_the_rules_on_a_real_disk() {
    let subject = || Local::new(Folder::new(), |_| {});
    conformance::appends_become_durable_in_order(&mut subject());
    conformance::restart_keeps_what_was_durable(&mut subject());
    conformance::every_partition_is_recovered(&mut subject());
    conformance::agrees_with_the_model(&mut subject(), 77);
}

#[test]
fn local_engine_keeps_the_rules_without_a_cache_and_with_few_open_files() {
    conformance::run(&mut || {
        Box::new(Local::new(Folder::fast(), |it| {
            it.tail_cache_bytes = 0;
            it.open_files_max = 2;
        }))
    });
}

#[test]
fn local_engine_keeps_the_rules_from_the_page_cache() {
    conformance::run(&mut || {
        Box::new(Local::new(Folder::fast(), |it| {
            it.durability = Durability::PageCache;
            it.tail_cache_bytes = 1 << 20;
        }))
    });
}

#[test]
fn local_journal_keeps_the_rules() {
    conformance::run_journal(&mut || Box::new(Local::new(Folder::fast(), |_| {})));
    conformance::run_journal(&mut || Box::new(Local::new(Folder::new(), |_| {})));
}

fn names(path: &Path) -> Vec<String> {
    let mut out: Vec<_> =
        fs::read_dir(path).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    out.sort();
    out
}

/// `broker-core` 14.1 and `storage` 5.1: names and contents after an orderly stop.
#[test]
fn directory_looks_like_kafkas() {
    let folder = Folder::fast();
    let (engine, lane) = start(LocalConfig { node_id: 7, ..config(&folder.0) });
    let log = lane.log(&partition(0)).unwrap();
    log.configure(small());
    for n in 0..8 {
        append(&*log, &[batch(n, 1, 600, 1_000 + n)]);
    }
    let aborted =
        |last_offset| Aborted { producer_id: 5, first_offset: 0, last_offset, last_stable_offset: 0 };
    log.save(PartitionSnapshot {
        offset: 8,
        producers: "state".into(),
        epochs: vec![(0, 0), (2, 5)],
        aborted: vec![aborted(1), aborted(7)],
    })
    .unwrap();
    wait(lane.close()).unwrap();
    let dir = folder.0.join("t-0");
    assert_eq!(
        names(&folder.0),
        [
            ".lock",
            "log-start-offset-checkpoint",
            "meta.properties",
            "recovery-point-offset-checkpoint",
            "t-0",
            "thalweg.clean",
            "thalweg.format",
        ]
    );
    // Batches of about 670 bytes: two fill a segment of 2,000.
    let mut files = Vec::new();
    for base in [0, 2, 4, 6] {
        files.extend(["index", "log", "timeindex"].map(|it| format!("{base:020}.{it}")));
    }
    files.extend(["txnindex"].map(|it| format!("{:020}.{it}", 0)));
    files.extend(["txnindex"].map(|it| format!("{:020}.{it}", 6)));
    files.push(format!("{:020}.snapshot", 8));
    files.extend(["leader-epoch-checkpoint".to_owned(), "partition.metadata".to_owned()]);
    files.sort();
    assert_eq!(names(&dir), files);
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    assert_eq!(text(&dir.join("leader-epoch-checkpoint")), "0\n2\n0 0\n2 5\n");
    assert_eq!(text(&dir.join("partition.metadata")), "version: 0\ntopic_id: AQEBAQEBAQEBAQEBAQEBAQ\n");
    assert_eq!(text(&folder.0.join("recovery-point-offset-checkpoint")), "0\n1\nt 0 8\n");
    assert_eq!(text(&folder.0.join("log-start-offset-checkpoint")), "0\n0\n");
    assert_eq!(text(&folder.0.join("thalweg.format")), "level=1\nepoch=0\n");
    let properties = text(&folder.0.join("meta.properties"));
    assert!(properties.contains("version=1\n") && properties.contains("node.id=7\n"));
    assert!(properties.contains(&format!("cluster.id={}\n", engine.cluster_id())));
    assert!(properties.contains("directory.id="));
    assert_eq!(fs::read(dir.join("00000000000000000000.txnindex")).unwrap().len(), 34);
    let bases: Vec<_> = batches_of(&fs::read(dir.join("00000000000000000004.log")).unwrap())
        .iter()
        .map(|it| it.header.base_offset)
        .collect();
    assert_eq!(bases, [4, 5]);
}

/// `broker-core` 14.1: `.index` has 8 bytes for each batch after more than `index.interval.bytes`, the last
/// offset of the batch and its position; `.timeindex` 12, closed with the largest timestamp.
#[test]
fn index_entries_are_kafkas() {
    let folder = Folder::fast();
    let (_engine, lane) = start(config(&folder.0));
    let log = lane.log(&partition(0)).unwrap();
    let made: Vec<_> = (0..20).map(|n| batch(n * 2, 2, 1_000, 5_000 + n)).collect();
    append(&*log, &made);
    wait(lane.close()).unwrap();
    let read = |extension| fs::read(folder.0.join(format!("t-0/{:020}.{extension}", 0))).unwrap();
    let (bytes, index, times) = (read("log"), read("index"), read("timeindex"));
    assert_eq!(index.len() % 8, 0);
    assert_eq!(index.len() / 8, 4, "one entry for five batches of more than 1,000 bytes, none for the first");
    for entry in index.chunks(8) {
        let offset = u32::from_be_bytes(entry[..4].try_into().unwrap());
        let position = u32::from_be_bytes(entry[4..].try_into().unwrap()) as usize;
        let first = &batches_of(&bytes[position..])[0];
        assert_eq!(first.header.last_offset(), i64::from(offset));
    }
    assert_eq!(times.len() % 12, 0);
    let (last, offset) = times[times.len() - 12..].split_at(8);
    assert_eq!(i64::from_be_bytes(last.try_into().unwrap()), 5_019);
    assert_eq!(u32::from_be_bytes(offset.try_into().unwrap()), 39);
}

/// `broker-core` 14.2: rolls by size, by record time and by a full index; not for an empty segment.
#[test]
fn segments_roll() {
    let check = |tune: &dyn Fn(&mut storage::LogSettings), times: &[i64], want: &[i64]| {
        let folder = Folder::fast();
        let (_engine, lane) = start(config(&folder.0));
        let log = lane.log(&partition(0)).unwrap();
        let mut settings = storage::LogSettings::default();
        tune(&mut settings);
        log.configure(settings);
        for (at, time) in (0..).zip(times) {
            append(&*log, &[batch(at, 1, 100, *time)]);
        }
        let bases: Vec<i64> = names(&folder.0.join("t-0"))
            .iter()
            .filter_map(|it| it.strip_suffix(".log").and_then(|it| it.parse().ok()))
            .collect();
        assert_eq!(bases, want);
    };
    let size = u32::try_from(batch(0, 1, 100, 0).size()).unwrap();
    check(&|it| it.segment_bytes = 2 * size, &[0; 5], &[0, 2, 4]);
    check(&|it| it.segment_bytes = size - 1, &[0; 3], &[0, 1, 2]);
    check(&|it| it.segment_ms = 10, &[100, 110, 111, 105, 200], &[0, 2, 4]);
    check(&|it| (it.index_interval_bytes, it.segment_index_bytes) = (0, 36), &[1, 2, 3, 4, 5, 6], &[0, 3]);
    check(&|_| {}, &[0; 4], &[0]);
}

/// Decision 18: epochs begin with 0 and grow at each start, also after an orderly stop.
#[test]
fn boot_epoch_grows_at_each_start() {
    let folder = Folder::fast();
    for epoch in 0..5 {
        let (engine, lane) = start(config(&folder.0));
        assert_eq!(engine.grant().epoch, epoch);
        assert!(!folder.0.join("thalweg.clean").exists(), "a running broker is not clean");
        if epoch % 2 == 0 {
            wait(lane.close()).unwrap();
        }
    }
}

#[test]
fn second_process_is_told_of_the_lock() {
    let folder = Folder::fast();
    let first = LocalEngine::start(config(&folder.0)).unwrap();
    let error = LocalEngine::start(config(&folder.0)).map(drop).unwrap_err();
    assert!(matches!(&error, StartError::Locked { lock } if *lock == folder.0.join(".lock")));
    assert!(error.to_string().contains(folder.0.join(".lock").to_str().unwrap()), "{error}");
    drop(first);
    LocalEngine::start(config(&folder.0)).unwrap();
}

#[test]
fn directories_of_others_are_refused() {
    let folder = Folder::fast();
    drop(LocalEngine::start(config(&folder.0)).unwrap());
    let other = LocalConfig { cluster_id: Some("other".to_owned()), ..config(&folder.0) };
    assert!(matches!(LocalEngine::start(other).map(drop), Err(StartError::Foreign { .. })));
    let other = LocalConfig { node_id: 3, ..config(&folder.0) };
    assert!(matches!(LocalEngine::start(other).map(drop), Err(StartError::Foreign { .. })));
    fs::write(folder.0.join("thalweg.format"), "level=2\nepoch=9\n").unwrap();
    let newer = LocalEngine::start(config(&folder.0)).map(drop);
    assert!(matches!(newer, Err(StartError::TooNew { level: 2, .. })));
}

/// `storage` 5.8: a new partition goes to the directory with the fewest, and is found there again.
#[test]
fn partitions_spread_over_directories() {
    let (a, b) = (Folder::fast(), Folder::fast());
    let both = || LocalConfig { dirs: vec![a.0.clone(), b.0.clone()], ..config(&a.0) };
    {
        let engine = LocalEngine::start(both()).unwrap();
        let lanes = wait(Lanes::open(&engine, engine.grant())).unwrap();
        for index in 0..5 {
            append(&*lanes.log(&partition(index)).unwrap(), &[batch(0, index + 1, 10, 0)]);
        }
        wait(lanes.remove(&partition(0))).unwrap();
        wait(lanes.close()).unwrap();
    }
    let of = |folder: &Folder| names(&folder.0).iter().filter(|it| it.starts_with("t-")).count();
    assert_eq!((of(&a), of(&b)), (2, 2));
    let engine = LocalEngine::start(both()).unwrap();
    let lanes = wait(Lanes::open(&engine, engine.grant())).unwrap();
    for index in 1..5 {
        assert_eq!(lanes.log(&partition(index)).unwrap().ends().borrow().end, i64::from(index) + 1);
    }
    assert_eq!(lanes.partitions().len(), 4);
}

/// A failed write of the disk's last block: nothing has changed, and the same append may be tried again.
#[test]
fn full_disk_is_refused_and_forgotten() {
    let folder = Folder::fast();
    let full = Arc::new(AtomicBool::new(false));
    let seen = full.clone();
    let faults = move |op, _: &Path| match op {
        Op::Append if seen.load(Ordering::Relaxed) => Err(io::ErrorKind::StorageFull.into()),
        _ => Ok(()),
    };
    let (_engine, lane) = start(LocalConfig { faults: Some(Arc::new(faults)), ..config(&folder.0) });
    let log = lane.log(&partition(0)).unwrap();
    append(&*log, &[batch(0, 1, 50, 0)]);
    full.store(true, Ordering::Relaxed);
    let next = Batches::new(vec![batch(1, 1, 50, 0)]);
    assert!(matches!(log.append(next.clone()), Err(Refused::Full)));
    assert_eq!(log.ends().borrow().end, 1);
    full.store(false, Ordering::Relaxed);
    log.append(next).unwrap();
    durable(&*log, 2);
    assert_eq!(batches_of(&read_all(&*log, 0, 2)).len(), 2);
}

/// Scenario 10 of `storage` 21.4: after a failed flush nothing is acknowledged, ever.
#[test]
fn failed_flush_is_final() {
    let folder = Folder::fast();
    let broken = Arc::new(AtomicBool::new(false));
    let seen = broken.clone();
    let faults = move |op, _: &Path| match op {
        Op::Sync | Op::SyncAll if seen.load(Ordering::Relaxed) => Err(io::Error::other("the disk is gone")),
        _ => Ok(()),
    };
    let (_engine, lane) = start(LocalConfig { faults: Some(Arc::new(faults)), ..config(&folder.0) });
    let (log, other) = (lane.log(&partition(0)).unwrap(), lane.log(&partition(1)).unwrap());
    append(&*log, &[batch(0, 1, 50, 0)]);
    durable(&*log, 1);
    broken.store(true, Ordering::Relaxed);
    append(&*log, &[batch(1, 1, 50, 0)]);
    let mut ends = log.ends();
    assert_eq!(wait(ends.wait_for(|it| it.dead)).unwrap().durable, 1);
    broken.store(false, Ordering::Relaxed);
    wait(lane.fenced().wait_for(|it| *it)).unwrap();
    for log in [&log, &other] {
        assert!(matches!(log.append(Batches::new(vec![batch(0, 1, 1, 0)])), Err(Refused::Io(_))));
        assert!(log.ends().borrow().dead);
    }
    assert!(lane.log(&partition(2)).is_err());
    assert!(wait(lane.close()).is_err());
    assert!(!folder.0.join("thalweg.clean").exists());
    assert_eq!(batches_of(&read_all(&*log, 0, 2)).len(), 1, "what was durable can still be read");
}

/// `storage` S7: many new partitions cost one `syncfs`, not a flush each.
#[test]
fn many_partitions_are_flushed_together() {
    let folder = Folder::fast();
    let syncs = Arc::new(AtomicUsize::new(0));
    let seen = syncs.clone();
    let faults = move |op, _: &Path| {
        seen.fetch_add(usize::from(matches!(op, Op::Sync | Op::SyncAll)), Ordering::Relaxed);
        Ok(())
    };
    let config = LocalConfig {
        faults: Some(Arc::new(faults)),
        durability: Durability::PageCache,
        flush_background: Duration::from_secs(600),
        ..config(&folder.0)
    };
    let (_engine, lane) = start(config);
    syncs.store(0, Ordering::Relaxed);
    let logs: Vec<_> = (0..100).map(|it| lane.log(&partition(it)).unwrap()).collect();
    assert_eq!(syncs.load(Ordering::Relaxed), 0, "creation flushes nothing");
    logs.iter().for_each(|log| append(&**log, &[batch(0, 1, 10, 0)]));
    assert_eq!(syncs.load(Ordering::Relaxed), 0, "the page cache is enough");
    wait(lane.checkpoint()).unwrap();
    assert!(syncs.load(Ordering::Relaxed) < 10, "{syncs:?} flushes for 100 partitions");
}

/// The topic's own durability wins over the engine's.
#[test]
fn durability_of_a_topic_wins() {
    let folder = Folder::fast();
    let config = LocalConfig {
        durability: Durability::PageCache,
        flush_background: Duration::from_secs(600),
        ..config(&folder.0)
    };
    let (_engine, lane) = start(config);
    let log = lane.log(&partition(0)).unwrap();
    let mut settings = small();
    settings.durability = Some(Durability::Fsync);
    log.configure(settings);
    append(&*log, &[batch(0, 1, 10, 0)]);
    durable(&*log, 1);
}

/// A file slice outlives the segment that it points into.
#[test]
fn slices_stay_readable_when_the_segment_goes() {
    let folder = Folder::fast();
    let (_engine, lane) = start(LocalConfig { tail_cache_bytes: 0, ..config(&folder.0) });
    let log = lane.log(&partition(0)).unwrap();
    log.configure(small());
    let made: Vec<_> = (0..10).map(|it| batch(it, 1, 900, 0)).collect();
    made.iter().for_each(|it| append(&*log, std::slice::from_ref(it)));
    durable(&*log, 10);
    let slices = wait(log.read(Span { from: 0, to: 10, max_bytes: 1, at_least_one: true })).unwrap();
    assert!(matches!(slices.items[0], Slice::File { .. }));
    wait(log.trim(9)).unwrap();
    assert!(!folder.0.join(format!("t-0/{:020}.log", 0)).exists());
    assert_eq!(slices.load().unwrap(), made[0].to_bytes());
}

/// Opening costs the same however long the log is: after an orderly stop no `.log` file is opened.
#[test]
fn orderly_stop_makes_the_next_start_cheap() {
    let folder = Folder::fast();
    {
        let (_engine, lane) = start(config(&folder.0));
        for index in 0..200 {
            let log = lane.log(&partition(index)).unwrap();
            append(&*log, &[batch(0, 1, 20_000, 0)]);
        }
        wait(lane.close()).unwrap();
    }
    // Unreadable logs would be noticed if recovery looked at them.
    for index in 0..200 {
        let path = folder.0.join(format!("t-{index}/{:020}.log", 0));
        let size = fs::metadata(&path).unwrap().len();
        fs::write(&path, vec![0; usize::try_from(size).unwrap()]).unwrap();
    }
    let begun = Instant::now();
    let (_engine, lane) = start(config(&folder.0));
    let took = begun.elapsed();
    assert!(lane.partitions().iter().all(|it| it.ends.end == 1 && it.damage.is_none()));
    println!("200 partitions opened in {took:?}");
    // And a reader is told, not given other bytes.
    let log = lane.log(&partition(3)).unwrap();
    let read = wait(log.read(Span { from: 0, to: 1, max_bytes: 1, at_least_one: true }));
    assert!(matches!(read, Err(Refused::Corrupt(_))), "{read:?}");
}

/// Creation of a partition of an idle broker; printed, since a shared machine is no place to assert it.
#[test]
fn creating_partitions_is_quick() {
    let folder = Folder::new();
    let (_engine, lane) = start(config(&folder.0));
    let begun = Instant::now();
    let logs: Vec<_> = (0..50).map(|it| lane.log(&partition(it)).unwrap()).collect();
    println!("50 partitions made in {:?}", begun.elapsed());
    let begun = Instant::now();
    logs.iter().for_each(|log| append(&**log, &[batch(0, 1, 10, 0)]));
    logs.iter().for_each(|log| durable(&**log, 1));
    println!("first records of 50 partitions durable in {:?}", begun.elapsed());
}
