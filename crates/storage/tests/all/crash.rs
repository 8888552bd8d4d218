//! What is there after a crash: files cut and changed at every byte, and the directory as it lies at every
//! write and flush, against what was durable.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Folder, config, config_after_power_cut, copy, start};
use storage::conformance::{Dice, append, batch, batches_of, durable, partition, read_all, small, wait};
use storage::local::Op;
use storage::{
    Batch, Durability, Ends, Journal, Lane, LocalConfig, LocalEngine, Log, LogSettings, Offset,
    PartitionSnapshot, Recovered, Refused,
};

/// Opens a directory after a power cut and gives what recovery says of partition 0, and its records.
fn reopen(folder: &Folder) -> (Recovered, Vec<Batch>) {
    reopen_with(config_after_power_cut(&folder.0))
}

/// The same after a crash of the process: the machine ran on.
fn reopen_same_boot(folder: &Folder) -> (Recovered, Vec<Batch>) {
    reopen_with(config(&folder.0))
}

fn reopen_with(config: LocalConfig) -> (Recovered, Vec<Batch>) {
    let (_engine, lane) = start(config);
    let recovered =
        lane.partitions().into_iter().find(|it| it.id.index == 0).expect("the partition is there");
    if recovered.damage.is_some() {
        assert!(matches!(lane.log(&partition(0)), Err(Refused::Corrupt(_))));
        return (recovered, Vec::new());
    }
    let log = lane.log(&partition(0)).unwrap();
    let Ends { start, end, durable, .. } = *log.ends().borrow();
    assert_eq!(end, durable, "what recovery keeps is durable");
    let kept = batches_of(&read_all(&*log, start, end));
    // The log goes on where it ends.
    append(&*log, &[batch(end, 1, 30, 9)]);
    self::durable(&*log, end + 1);
    assert_eq!(batches_of(&read_all(&*log, end, end + 1)), [batch(end, 1, 30, 9)]);
    (recovered, kept)
}

fn log_file(folder: &Folder, base: Offset) -> PathBuf {
    folder.0.join(format!("t-0/{base:020}.log"))
}

/// A directory with batches of two records each, a checkpoint after some of them, and no orderly stop.
fn crashed(batches: i64, checkpoint_after: i64, settings: LogSettings) -> (Folder, Vec<Batch>) {
    let folder = Folder::fast();
    let made: Vec<_> = (0..batches).map(|n| batch(n * 2, 2, 60, n)).collect();
    {
        let (_engine, lane) = start(config(&folder.0));
        let log = lane.log(&partition(0)).unwrap();
        log.configure(settings);
        for (n, it) in (0..).zip(&made) {
            if n == checkpoint_after {
                wait(lane.checkpoint()).unwrap();
            }
            append(&*log, std::slice::from_ref(it));
            durable(&*log, it.header.next_offset());
        }
    }
    (folder, made)
}

/// `storage` 5.6: a torn tail is cut at the last whole batch, for a cut at every byte.
#[test]
fn file_cut_at_every_byte_keeps_the_whole_batches() {
    let (folder, made) = crashed(4, 1, LogSettings::default());
    let ends: Vec<u64> = made
        .iter()
        .scan(0, |at, it| {
            *at += it.size() as u64;
            Some(*at)
        })
        .collect();
    for cut in 0..=ends[3] {
        let copied = folder.copy();
        let file = fs::OpenOptions::new().write(true).open(log_file(&copied, 0)).unwrap();
        file.set_len(cut).unwrap();
        let (recovered, kept) = reopen(&copied);
        if cut < ends[0] {
            let place = recovered.damage.expect("the first batch is below the recovery point");
            assert!(place.file.starts_with(copied.0.join("t-0")), "{place}");
            continue;
        }
        let whole = ends.iter().filter(|it| **it <= cut).count();
        assert_eq!(recovered.damage, None, "cut at {cut}");
        assert_eq!(kept, made[..whole], "cut at {cut}");
        assert_eq!(recovered.cut_bytes, cut - ends[whole - 1]);
    }
}

/// A size that was extended before the bytes came: zeros, or nonsense, after the last batch.
#[test]
fn zeros_and_nonsense_after_the_last_batch_are_cut() {
    let (folder, made) = crashed(3, 1, LogSettings::default());
    let mut dice = Dice(5);
    for size in [1, 16, 17, 60, 61, 62, 500, 5_000, 100_000] {
        for zeros in [true, false] {
            let copied = folder.copy();
            let mut bytes = fs::read(log_file(&copied, 0)).unwrap();
            bytes.extend((0..size).map(|_| if zeros { 0 } else { dice.roll().to_le_bytes()[0] }));
            fs::write(log_file(&copied, 0), bytes).unwrap();
            let (recovered, kept) = reopen(&copied);
            assert_eq!(kept, made, "{size} bytes, zeros {zeros}");
            assert_eq!(recovered.cut_bytes, size);
        }
    }
}

/// A changed bit above the recovery point cuts there; below it the partition goes offline, or the checksum is
/// left to the reader. It never changes what a reader gets as a whole batch.
#[test]
fn changed_bit_never_becomes_a_record() {
    let (folder, made) = crashed(4, 2, LogSettings::default());
    let size = made[0].size();
    let bytes = fs::read(log_file(&folder, 0)).unwrap();
    let mut dice = Dice(11);
    for at in 2 * size..bytes.len() {
        let copied = folder.copy();
        let mut changed = bytes.clone();
        changed[at] ^= 1 << dice.below(8);
        fs::write(log_file(&copied, 0), &changed).unwrap();
        let (recovered, kept) = reopen(&copied);
        let whole = at / size;
        // A leader epoch is not under the checksum; one that falls or was never given is noticed all the same.
        assert_eq!(recovered.damage, None, "byte {at}");
        assert_eq!(kept, made[..whole], "byte {at}");
    }
}

/// As long as the machine runs on, everything that was written is there: a bad batch with others behind it, or of
/// full length, was damaged later. Nothing is cut then, and the place is named.
#[test]
fn damage_that_no_crash_of_the_process_leaves_is_not_cut() {
    let (folder, made) = crashed(4, 2, LogSettings::default());
    let size = made[0].size();
    let bytes = fs::read(log_file(&folder, 0)).unwrap();
    let last_length = 3 * size + 8..3 * size + 12;
    for at in 2 * size..bytes.len() {
        let copied = folder.copy();
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        fs::write(log_file(&copied, 0), &changed).unwrap();
        let (recovered, kept) = reopen_same_boot(&copied);
        let certain = at / size == 2 || at - 3 * size >= 21;
        let Some(place) = recovered.damage else {
            // Of the last batch alone a header that makes no sense can't be told from a write that was cut short.
            assert!(!certain && kept == made[..3], "byte {at}");
            continue;
        };
        assert!(!last_length.contains(&at) || changed[at] < bytes[at], "byte {at}: {place}");
        assert_eq!(place.position, u64::try_from(at / size * size).unwrap(), "byte {at}");
        assert_eq!(place.offset, i64::try_from(at / size * 2).unwrap(), "byte {at}");
        assert_eq!(fs::read(log_file(&copied, 0)).unwrap(), changed, "byte {at}: nothing is cut");
        // Nor is it at any later start.
        let (_engine, lane) = start(config(&copied.0));
        wait(lane.close()).unwrap();
        drop((_engine, lane));
        assert!(reopen_same_boot(&copied).0.damage.is_some(), "byte {at}");
        assert_eq!(fs::read(log_file(&copied, 0)).unwrap(), changed);
    }
}

/// A write that was cut short is none, also when the machine ran on.
#[test]
fn write_that_was_cut_short_is_cut_on_the_same_boot_too() {
    let (folder, made) = crashed(4, 1, LogSettings::default());
    let size = made[0].size();
    let bytes = fs::read(log_file(&folder, 0)).unwrap();
    for cut in 3 * size..=4 * size {
        let copied = folder.copy();
        fs::write(log_file(&copied, 0), &bytes[..cut]).unwrap();
        let (recovered, kept) = reopen_same_boot(&copied);
        assert_eq!(recovered.damage, None, "cut at {cut}");
        assert_eq!(kept, made[..cut / size], "cut at {cut}");
    }
}

/// `storage` 5.6 and trap 7: damage below the recovery point is not cut, and the message names the place.
#[test]
fn damage_below_the_recovery_point_takes_the_partition_offline() {
    let (folder, made) = crashed(4, 4, LogSettings::default());
    {
        let (_engine, lane) = start(config(&folder.0));
        wait(lane.checkpoint()).unwrap();
    }
    let size = made[0].size();
    for (what, at) in [("magic", size + 16), ("length", size + 8), ("base offset", size + 1)] {
        let copied = folder.copy();
        let mut bytes = fs::read(log_file(&copied, 0)).unwrap();
        bytes[at] ^= 0x55;
        fs::write(log_file(&copied, 0), &bytes).unwrap();
        let (recovered, _) = reopen(&copied);
        let place = recovered.damage.unwrap_or_else(|| panic!("a wrong {what} is damage"));
        let text = place.to_string();
        assert!(text.contains(&log_file(&copied, 0).display().to_string()), "{text}");
        assert!(text.contains(&format!("byte {size} (offset 2)")), "{text}");
        assert_eq!(fs::read(log_file(&copied, 0)).unwrap(), bytes, "nothing is cut");
    }
    fs::remove_file(log_file(&folder, 0)).unwrap();
    assert!(reopen(&folder).0.damage.is_some(), "a missing file is damage too");
}

/// Segments after a torn one go, and so do those that do not follow on.
#[test]
fn segments_after_a_torn_one_are_removed() {
    let settings = LogSettings { segment_bytes: 500, ..small() };
    let (folder, made) = crashed(12, 1, settings);
    let bases: Vec<Offset> = (0..24).filter(|it| log_file(&folder, *it).exists()).collect();
    assert!(bases.len() >= 4, "{bases:?}");
    let copied = folder.copy();
    let torn = bases[1];
    let len = fs::metadata(log_file(&copied, torn)).unwrap().len();
    fs::OpenOptions::new().write(true).open(log_file(&copied, torn)).unwrap().set_len(len - 1).unwrap();
    let (recovered, kept) = reopen(&copied);
    assert_eq!(kept, made[..kept.len()]);
    assert!(recovered.ends.end < bases[2] && recovered.ends.end >= torn);
    assert!(bases[2..].iter().all(|it| !log_file(&copied, *it).exists()));
    let copied = folder.copy();
    fs::remove_file(log_file(&copied, bases[2])).unwrap();
    let (recovered, kept) = reopen(&copied);
    assert_eq!(recovered.ends.end, bases[2], "the log ends where the file is missing");
    assert_eq!(kept, made[..kept.len()]);
    // On the same boot they are no loss of a crash.
    let copied = folder.copy();
    fs::remove_file(log_file(&copied, bases[2])).unwrap();
    let place = reopen_same_boot(&copied).0.damage.expect("a file that vanished is damage");
    assert_eq!((place.file.clone(), place.offset), (log_file(&copied, bases[1]), bases[2]), "{place}");
    assert!(log_file(&copied, bases[3]).exists());
}

/// Index files are hints: torn, stale, missing or filled with zeros, the records are the same.
#[test]
fn broken_indexes_are_made_anew() {
    let settings = LogSettings { segment_bytes: 900, ..small() };
    let (folder, made) = crashed(20, 1, settings);
    {
        let (_engine, lane) = start(config(&folder.0));
        wait(lane.close()).unwrap();
    }
    let mut dice = Dice(3);
    for round in 0..60 {
        let copied = folder.copy();
        if round % 2 == 0 {
            fs::remove_file(copied.0.join("thalweg.clean")).unwrap();
        }
        for entry in fs::read_dir(copied.0.join("t-0")).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if !name.ends_with("index") {
                continue;
            }
            let mut bytes = fs::read(entry.path()).unwrap();
            match dice.below(5) {
                0 => fs::remove_file(entry.path()).unwrap(),
                1 => fs::write(entry.path(), vec![0; bytes.len()]).unwrap(),
                2 => fs::write(entry.path(), &bytes[..dice.below(bytes.len() + 1)]).unwrap(),
                3 => {
                    bytes.extend([0; 24]);
                    fs::write(entry.path(), bytes).unwrap();
                }
                _ => {}
            }
        }
        let (recovered, kept) = reopen(&copied);
        assert_eq!(kept, made, "round {round}");
        assert_eq!(recovered.damage, None, "round {round}");
        let (_engine, lane) = start(config(&copied.0));
        let log = lane.log(&partition(0)).unwrap();
        let offset = 2 * i64::try_from(dice.below(20)).unwrap();
        let first = &batches_of(&read_all(&*log, offset, offset + 2))[0];
        assert_eq!(first.header.base_offset, offset);
        let found = wait(log.find(offset / 2)).unwrap().unwrap();
        assert_eq!(found.offset, offset);
    }
}

/// What the disk would have after a power cut: names of flushed folders, and files up to the size that they had
/// when they were flushed. Small files that are replaced count as written: for them both is right.
#[derive(Default)]
struct Disk {
    names: BTreeSet<PathBuf>,
    sizes: BTreeMap<PathBuf, u64>,
}

impl Disk {
    fn note(&mut self, op: Op, root: &Path, path: &Path) {
        match op {
            Op::Sync if path.is_dir() => self.folder(path),
            Op::Sync => self.file(path),
            Op::SyncAll => self.everything(root),
            Op::Append | Op::Write | Op::Create | Op::Cut | Op::Rename | Op::Remove => {}
        }
    }

    fn folder(&mut self, path: &Path) {
        self.names.extend(fs::read_dir(path).unwrap().flatten().map(|it| it.path()));
    }

    fn file(&mut self, path: &Path) {
        if let Ok(meta) = fs::metadata(path) {
            self.sizes.insert(path.to_owned(), meta.len());
        }
    }

    fn everything(&mut self, path: &Path) {
        self.folder(path);
        for entry in fs::read_dir(path).unwrap().flatten() {
            if entry.path().is_dir() { self.everything(&entry.path()) } else { self.file(&entry.path()) }
        }
    }

    /// A copy without what is not flushed.
    fn copy(&self, from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for path in fs::read_dir(from).unwrap().flatten().map(|it| it.path()) {
            let name = path.file_name().unwrap();
            let target = to.join(name);
            if path.is_dir() {
                if self.names.contains(&path) {
                    self.copy(&path, &target);
                }
            } else if name.to_str().unwrap().ends_with(".log") || name == "partition.metadata" {
                let size = self.sizes.get(&path).copied().unwrap_or(0);
                let Some(mut bytes) = fs::read(&path).ok().filter(|_| self.names.contains(&path)) else {
                    continue;
                };
                bytes.truncate(usize::try_from(size).unwrap());
                fs::write(target, bytes).unwrap();
            } else {
                let _ = fs::copy(path, target);
            }
        }
    }
}

/// What was seen as durable at the moment of a copy of the directory.
struct Seen {
    folder: Folder,
    ends: Ends,
    appended: usize,
    power_cut: bool,
}

/// Scenario 9 of `storage` 21.4: a crash at every write, flush, rename and removal of a run of appends, rolls,
/// checkpoints and trims.
#[test]
fn crash_at_every_change_keeps_what_was_durable() {
    for seed in 1..=2 {
        println!("seed {seed}");
        crash_everywhere(seed, Durability::Fsync);
        crash_everywhere(seed, Durability::PageCache);
    }
}

fn crash_everywhere(seed: u64, durability: Durability) {
    let folder = Folder::fast();
    let disk = Mutex::new(Disk::default());
    let taken: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let now: Arc<Mutex<(Ends, usize)>> = Arc::default();
    let faults = {
        let (taken, now, root) = (taken.clone(), now.clone(), folder.0.clone());
        move |op, path: &Path| {
            let mut disk = disk.lock().unwrap();
            // Ends first: what becomes durable while the copy is made need not be in it.
            let (ends, appended) = *now.lock().unwrap();
            disk.note(op, &root, path);
            let (whole, lost) = (Folder::fast(), Folder::fast());
            copy(&root, &whole.0);
            taken.lock().unwrap().push(Seen { folder: whole, ends, appended, power_cut: false });
            disk.copy(&root, &lost.0);
            // The page cache promises nothing after a power cut, but what is left must be sound.
            let ends = match durability {
                Durability::Fsync => ends,
                Durability::PageCache => Ends { durable: 0, ..ends },
            };
            taken.lock().unwrap().push(Seen { folder: lost, ends, appended, power_cut: true });
            Ok(())
        }
    };
    let mut dice = Dice(seed);
    let mut model: Vec<Batch> = Vec::new();
    {
        let config = LocalConfig {
            faults: Some(Arc::new(faults)),
            durability,
            flush_background: Duration::from_millis(1),
            // In between also checkpoints that nobody waits for.
            checkpoint_every: Duration::from_millis(if seed == 2 { 40 } else { 60_000 }),
            ..config(&folder.0)
        };
        let (_engine, lane) = start(config);
        let log = lane.log(&partition(0)).unwrap();
        log.configure(LogSettings { segment_bytes: 700, ..small() });
        for _ in 0..25 {
            work(&mut dice, &*lane, &*log, &mut model);
            *now.lock().unwrap() = (*log.ends().borrow(), model.len());
        }
        wait(lane.close()).unwrap();
    }
    let seen = std::mem::take(&mut *taken.lock().unwrap());
    assert!(seen.len() > 40, "the run was watched");
    for (at, Seen { folder, ends, appended, power_cut }) in seen.into_iter().enumerate() {
        let config = if power_cut { config_after_power_cut(&folder.0) } else { config(&folder.0) };
        let (_engine, lane) = start(config);
        let log = lane.log(&partition(0)).unwrap_or_else(|it| panic!("seed {seed}, change {at}: {it}"));
        let got = *log.ends().borrow();
        assert!(got.end >= ends.durable, "seed {seed}, change {at}: {got:?} after {ends:?}");
        assert!(got.start >= ends.start, "seed {seed}, change {at}: {got:?} after {ends:?}");
        let kept = batches_of(&read_all(&*log, got.start, got.end));
        let first = model.partition_point(|it| it.header.next_offset() <= got.start);
        assert_eq!(kept, model[first..first + kept.len()], "seed {seed}, change {at}");
        let end = kept.last().map_or(got.start, |it| it.header.next_offset());
        assert_eq!(end, got.end, "seed {seed}, change {at}");
        assert!(first + kept.len() <= appended + 3, "seed {seed}, change {at}: records from nowhere");
        if let Some(snapshot) = log.saved().unwrap() {
            assert!(snapshot.offset <= got.end);
            assert_eq!(snapshot.producers, format!("at {}", snapshot.offset));
        }
    }
}

fn work(dice: &mut Dice, lane: &dyn Lane, log: &dyn Log, model: &mut Vec<Batch>) {
    let ends = *log.ends().borrow();
    match dice.below(10) {
        0 => wait(lane.checkpoint()).unwrap(),
        1 => wait(log.trim(dice.between(ends.start, ends.durable))).unwrap(),
        2 => log
            .save(PartitionSnapshot {
                offset: ends.end,
                producers: format!("at {}", ends.end).into(),
                ..PartitionSnapshot::default()
            })
            .unwrap(),
        _ => {
            let mut next = ends.end;
            let mut made = Vec::new();
            for _ in 0..=dice.below(2) {
                let records = 1 + i32::try_from(dice.below(3)).unwrap();
                made.push(batch(next, records, dice.below(200), next));
                next += i64::from(records);
            }
            model.extend(made.iter().cloned());
            append(log, &made);
            if dice.below(2) == 0 {
                durable(log, next);
            }
        }
    }
}

/// An entry of the journal that was answered is there after any crash, with the durability of records off.
#[test]
fn journal_keeps_what_it_answered() {
    let folder = Folder::fast();
    let taken: Arc<Mutex<Vec<(Folder, i64)>>> = Arc::default();
    let head: Arc<Mutex<i64>> = Arc::default();
    let faults = {
        let (taken, head, root) = (taken.clone(), head.clone(), folder.0.clone());
        move |_, _: &Path| {
            let answered = *head.lock().unwrap();
            let at = Folder::fast();
            copy(&root, &at.0);
            taken.lock().unwrap().push((at, answered));
            Ok(())
        }
    };
    {
        let config = LocalConfig {
            faults: Some(Arc::new(faults)),
            durability: Durability::PageCache,
            ..config(&folder.0)
        };
        let engine = LocalEngine::start(config).unwrap();
        let journal = engine.journal().unwrap();
        for n in 0..20 {
            let version = wait(journal.append(n, vec![n.to_string().into()])).unwrap();
            *head.lock().unwrap() = version;
            if n % 6 == 5 {
                wait(journal.snapshot(version - 2, format!("image {}", version - 2).into())).unwrap();
            }
        }
    }
    for (folder, answered) in std::mem::take(&mut *taken.lock().unwrap()) {
        let engine = LocalEngine::start(config(&folder.0)).unwrap();
        let journal = engine.journal().unwrap();
        assert!(journal.head() >= answered);
        let since = wait(journal.read(0)).unwrap();
        let from = since.snapshot.map_or(0, |(version, image)| {
            assert_eq!(image, format!("image {version}"));
            version
        });
        let want: Vec<_> = (from..journal.head()).map(|n| (n + 1, n.to_string().into())).collect();
        assert_eq!(since.entries, want);
    }
}
