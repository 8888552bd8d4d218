//! The suite on the local engine, and what its files look like.

#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Folder, Local, config, start};
use storage::conformance::{self, append, batch, batches_of, durable, partition, read_all, small, wait};
use storage::local::Op;
use storage::{
    Aborted, Batches, Durability, Engine, Journal, Lanes, LocalConfig, LocalEngine, PartitionId,
    PartitionSnapshot, Refused, Slice, Span, StartError, Uuid,
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
            "__thalweg_journal-0",
            "log-start-offset-checkpoint",
            "meta.properties",
            "recovery-point-offset-checkpoint",
            "t-0",
            "thalweg.clean",
            "thalweg.format",
            "thalweg.log-starts",
            "thalweg.recovery-points",
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
    assert_eq!(
        text(&folder.0.join("recovery-point-offset-checkpoint")),
        "0\n2\n__thalweg_journal 0 0\nt 0 8\n"
    );
    assert_eq!(text(&folder.0.join("log-start-offset-checkpoint")), "0\n0\n");
    assert_eq!(text(&folder.0.join("thalweg.format")), "level=1\nepoch=0\nboot=1\n");
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

/// Opening costs the same however long the log is: after an orderly stop no record is read, only where each file
/// ends.
#[test]
fn orderly_stop_makes_the_next_start_cheap() {
    let folder = Folder::fast();
    {
        let (_engine, lane) = start(config(&folder.0));
        for index in 0..200 {
            let log = lane.log(&partition(index)).unwrap();
            append(&*log, &[batch(0, 1, 20_000, 0), batch(1, 1, 20_000, 0), batch(2, 1, 20_000, 0)]);
        }
        wait(lane.close()).unwrap();
    }
    // Records that can't be read would be noticed if recovery looked at them: all of the first batch, and all but
    // the header of the last.
    let size = batch(0, 1, 20_000, 0).size();
    for index in 0..200 {
        let path = folder.0.join(format!("t-{index}/{:020}.log", 0));
        let mut bytes = fs::read(&path).unwrap();
        bytes[..size].fill(0);
        bytes[2 * size + 61..].fill(0);
        fs::write(&path, bytes).unwrap();
    }
    let begun = Instant::now();
    let (_engine, lane) = start(config(&folder.0));
    let took = begun.elapsed();
    assert!(lane.partitions().iter().all(|it| it.ends.end == 3 && it.damage.is_none()));
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

/// All files below a folder with their contents, but for the lock.
fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut out = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(files(&path));
        } else if !path.ends_with(".lock") {
            out.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    out
}

fn of(dirs: &[&Folder]) -> LocalConfig {
    let first = dirs.first().expect("a test names a directory");
    LocalConfig { dirs: dirs.iter().map(|it| it.0.clone()).collect(), ..config(&first.0) }
}

fn started(dirs: &[&Folder]) -> LocalEngine {
    LocalEngine::start(of(dirs)).unwrap()
}

fn refusal(dirs: &[&Folder]) -> StartError {
    LocalEngine::start(of(dirs)).map(drop).unwrap_err()
}

fn journal_file(folder: &Folder) -> PathBuf {
    folder.0.join("__thalweg_journal-0/00000000000000000000.log")
}

/// Two directories with a journal of three entries and a partition in each.
fn lived() -> (Folder, Folder) {
    let (a, b) = (Folder::fast(), Folder::fast());
    let engine = started(&[&a, &b]);
    let journal = engine.journal().unwrap();
    for n in 0..3 {
        wait(journal.append(n, vec![n.to_string().into()])).unwrap();
    }
    for number in 0..2 {
        let lane = wait(engine.open(number, engine.grant())).unwrap();
        let log = lane.log(&partition(i32::try_from(number).unwrap())).unwrap();
        append(&*log, &[batch(0, 3, 30, 0)]);
        durable(&*log, 3);
    }
    (a, b)
}

/// The journal is used from where it lies, whatever the order of directories is.
#[test]
fn journal_is_found_in_any_directory() {
    let (a, b) = lived();
    let fresh = Folder::fast();
    for dirs in [[&a, &b, &fresh], [&b, &fresh, &a], [&fresh, &b, &a]] {
        let engine = started(&dirs);
        assert_eq!(engine.journal().unwrap().head(), 3);
        assert!(!journal_file(&b).exists() && !journal_file(&fresh).exists());
    }
}

/// Without the journal, what is there would look like leftovers: nothing is started, and nothing changes.
#[test]
fn start_without_the_journal_is_refused() {
    let (_lost, b) = lived();
    let before = files(&b.0);
    let empty = Folder::fast();
    for dirs in [vec![&empty, &b], vec![&b]] {
        let error = refusal(&dirs);
        assert!(
            matches!(&error, StartError::NoJournal { evidence } if evidence.starts_with(&b.0)),
            "{error}"
        );
        assert_eq!(files(&b.0), before);
    }
    assert_eq!(files(&empty.0), BTreeMap::new());
    // A partition of Kafka's, also without Kafka's meta.properties.
    let kafka = Folder::fast();
    fs::create_dir(kafka.0.join("foo-0")).unwrap();
    fs::write(kafka.0.join("foo-0/partition.metadata"), "version: 0\ntopic_id: qJg5PQaIRsGSQth1x0wdVQ\n")
        .unwrap();
    assert!(matches!(refusal(&[&kafka]), StartError::NoJournal { .. }));
}

#[test]
fn two_journals_are_refused() {
    let ((a, _), (c, _)) = (lived(), lived());
    fs::copy(a.0.join("meta.properties"), c.0.join("meta.properties")).unwrap();
    assert!(matches!(refusal(&[&a, &c]), StartError::TwoJournals { .. }));
}

/// An entry was flushed before it was answered: a changed bit is damage, and never a torn tail.
#[test]
fn changed_bit_in_the_journal_is_refused() {
    let (a, b) = lived();
    let whole = fs::read(journal_file(&a)).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(journal_file(&a), &bytes).unwrap();
        let error = refusal(&[&a, &b]);
        assert!(matches!(error, StartError::DamagedJournal(_)), "byte {at}: {error}");
        assert_eq!(fs::read(journal_file(&a)).unwrap(), bytes);
    }
    fs::write(journal_file(&a), &whole).unwrap();
    let engine = started(&[&a, &b]);
    assert_eq!(engine.journal().unwrap().head(), 3);
}

/// The damage is also seen after an orderly stop; a write that was cut short is none.
#[test]
fn journal_is_checked_after_an_orderly_stop_too() {
    let (a, b) = lived();
    let stop = || {
        let engine = started(&[&a, &b]);
        for number in 0..2 {
            wait(wait(engine.open(number, engine.grant())).unwrap().close()).unwrap();
        }
    };
    let whole = fs::read(journal_file(&a)).unwrap();
    let mut torn = whole.clone();
    torn.extend(&whole[..65]);
    fs::write(journal_file(&a), torn).unwrap();
    stop();
    assert_eq!(fs::read(journal_file(&a)).unwrap(), whole);
    let mut bytes = whole;
    bytes[30] ^= 1;
    fs::write(journal_file(&a), bytes).unwrap();
    assert!(matches!(refusal(&[&a, &b]), StartError::DamagedJournal(_)));
}

/// Folders of others are left alone; a partition that the metadata does not know keeps its records.
#[test]
fn unknown_folders_are_kept() {
    let folder = Folder::fast();
    let others =
        ["photos-2024/a.jpg", "photos-delete/a.jpg", "foo-0/00000000000000000000.log", "bar-1/x.tmp"];
    drop(started(&[&folder]));
    for other in others {
        let path = folder.0.join(other);
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(path, "precious").unwrap();
    }
    fs::create_dir(folder.0.join("empty-3")).unwrap();
    fs::create_dir(folder.0.join(format!("t-9.{}-delete", "0a".repeat(16)))).unwrap();
    let (_engine, lane) = start(config(&folder.0));
    append(&*lane.log(&partition(0)).unwrap(), &[batch(0, 1, 30, 0)]);
    let records = fs::read(folder.0.join("t-0/00000000000000000000.log")).unwrap();
    wait(lane.set_aside(&partition(0))).unwrap();
    for other in others {
        assert_eq!(fs::read(folder.0.join(other)).unwrap(), b"precious");
    }
    assert!(folder.0.join("empty-3").exists());
    let named = |end: &str| {
        let all = fs::read_dir(&folder.0).unwrap().map(|it| it.unwrap().path());
        all.filter(|it| it.to_str().unwrap().ends_with(end)).collect::<Vec<_>>()
    };
    assert_eq!(named("0a-delete").len(), 0);
    let [stray] = &*named("-stray") else { panic!("one folder is set aside") };
    assert!(stray.file_name().unwrap().to_str().unwrap().starts_with("t-0."));
    assert_eq!(fs::read(stray.join("00000000000000000000.log")).unwrap(), records);
    assert_eq!(lane.partitions().len(), 0);
    let other = |topic: &str, index| PartitionId { topic_id: Uuid([8; 16]), topic: topic.into(), index };
    assert!(matches!(lane.log(&other("photos", 2024)), Err(Refused::Corrupt(_))));
    assert!(lane.log(&other("foo", 0)).is_ok());
    let rest = named("-stray").into_iter().find(|it| it != stray).unwrap();
    assert_eq!(fs::read(rest.join("00000000000000000000.log")).unwrap(), b"precious");
}

/// A topic that was deleted and made again gets neither the recovery point nor the start of the one before.
#[test]
fn recreated_partition_starts_at_its_own_offsets() {
    for (orderly, kafkas_only) in [(true, false), (false, false), (true, true)] {
        let folder = Folder::fast();
        let old = partition(0);
        let new = PartitionId { topic_id: Uuid([9; 16]), ..old.clone() };
        {
            let (_engine, lane) = start(config(&folder.0));
            let log = lane.log(&old).unwrap();
            append(&*log, &[batch(0, 50, 10, 0), batch(50, 1, 10, 0)]);
            durable(&*log, 51);
            wait(log.trim(50)).unwrap();
            if orderly { wait(lane.close()).unwrap() } else { wait(lane.checkpoint()).unwrap() }
        }
        if kafkas_only {
            for own in ["thalweg.recovery-points", "thalweg.log-starts"] {
                fs::remove_file(folder.0.join(own)).unwrap();
            }
        }
        {
            let (_engine, lane) = start(config(&folder.0));
            assert_eq!(lane.log(&old).unwrap().ends().borrow().start, 50);
            wait(lane.remove(&old)).unwrap();
            let log = lane.log(&new).unwrap();
            append(&*log, &[batch(0, 3, 10, 0)]);
            durable(&*log, 3);
        }
        for crash in 0..3 {
            let (_engine, lane) = start(config(&folder.0));
            let [found] = &*lane.partitions() else { panic!("one partition") };
            assert_eq!((&found.id, &found.damage), (&new, &None), "crash {crash}");
            let log = lane.log(&new).unwrap();
            let ends = *log.ends().borrow();
            assert_eq!((ends.start, ends.end), (0, 3), "crash {crash}");
            assert_eq!(batches_of(&read_all(&*log, 0, 3)).len(), 1);
        }
    }
}

/// That too many files are open passes: a partition that could not roll, or be made, works afterwards.
#[test]
fn too_many_open_files_pass() {
    let folder = Folder::fast();
    let out = Arc::new(AtomicBool::new(false));
    let seen = out.clone();
    let root = folder.0.clone();
    let faults = move |op, path: &Path| match op {
        Op::Create if seen.load(Ordering::Relaxed) && path.extension().is_some() => {
            Err(io::Error::from_raw_os_error(24))
        }
        // What opens a folder to flush it.
        Op::Sync if seen.load(Ordering::Relaxed) && path.is_dir() && path != root => {
            Err(io::Error::from_raw_os_error(23))
        }
        _ => Ok(()),
    };
    let (_engine, lane) = start(LocalConfig { faults: Some(Arc::new(faults)), ..config(&folder.0) });
    let log = lane.log(&partition(0)).unwrap();
    log.configure(small());
    for n in 0..2 {
        append(&*log, &[batch(n, 1, 900, 0)]);
    }
    durable(&*log, 2);
    out.store(true, Ordering::Relaxed);
    let next = Batches::new(vec![batch(2, 1, 900, 0)]);
    assert!(matches!(log.append(next.clone()), Err(Refused::Full)));
    assert!(matches!(lane.log(&partition(1)).map(drop), Err(Refused::Full)));
    assert_eq!(log.ends().borrow().end, 2);
    assert!(!*lane.fenced().borrow());
    out.store(false, Ordering::Relaxed);
    log.append(next).unwrap();
    out.store(true, Ordering::Relaxed);
    durable(&*log, 3);
    out.store(false, Ordering::Relaxed);
    append(&*lane.log(&partition(1)).unwrap(), &[batch(0, 1, 50, 0)]);
    assert!(!*lane.fenced().borrow());
}
