//! Files that change or vanish while the broker is down, after an orderly stop too: nothing is served as empty, no
//! record is cut, and every partition that is whole is served.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use crate::common::{Folder, config, start};
use storage::conformance::{append, batch, batches_of, durable, partition, read_all, small, wait};
use storage::partition::{Isolation, Partition, ReadError, ReadSpec, Settings};
use storage::{
    Engine, Grant, LocalConfig, LocalEngine, LogSettings, Offset, Place, Refused, Span, StartError,
};

const RECORDS: Offset = 40;

/// Two partitions of some segments each, closed in order.
fn closed() -> Folder {
    let folder = Folder::fast();
    let (_engine, lane) = start(config(&folder.0));
    for index in 0..2 {
        let log = lane.log(&partition(index)).unwrap();
        log.configure(LogSettings { segment_bytes: 1_500, ..small() });
        (0..RECORDS / 2).for_each(|n| append(&*log, &[batch(n * 2, 2, 100, n)]));
        durable(&*log, RECORDS);
    }
    wait(lane.close()).unwrap();
    folder
}

fn logs(folder: &Folder) -> Vec<PathBuf> {
    let mut out: Vec<_> = fs::read_dir(folder.0.join("t-0")).unwrap().map(|it| it.unwrap().path()).collect();
    out.retain(|it| it.extension().is_some_and(|it| it == "log"));
    out.sort();
    out
}

/// Starts, and gives what is wrong with partition 0. Partition 1 is whole and takes records.
fn damage(folder: &Folder) -> Option<Place> {
    let (_engine, lane) = start(config(&folder.0));
    let whole = lane.log(&partition(1)).unwrap();
    let end = whole.ends().borrow().end;
    append(&*whole, &[batch(end, 1, 10, 0)]);
    durable(&*whole, end + 1);
    let damage = match lane.log(&partition(0)) {
        Ok(log) => {
            assert_eq!(log.ends().borrow().end, RECORDS);
            assert_eq!(batches_of(&read_all(&*log, 0, RECORDS)).len(), 20);
            None
        }
        Err(Refused::Corrupt(place)) => Some(place),
        Err(other) => panic!("{other}"),
    };
    let said = lane.partitions().into_iter().find(|it| it.id == partition(0)).expect("it is listed").damage;
    assert_eq!(said, damage);
    wait(lane.close()).unwrap();
    damage
}

/// The place stays the same over starts: nobody forgets that there were records.
fn stays(folder: &Folder) -> Place {
    let first = damage(folder).expect("damage is seen");
    assert_eq!(damage(folder).as_ref(), Some(&first), "after an orderly stop");
    let _ = fs::remove_file(folder.0.join("thalweg.clean"));
    assert!(damage(folder).is_some(), "after a crash");
    first
}

fn cut(path: &Path, len: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}

#[test]
fn whole_files_are_served() {
    let folder = closed();
    assert!(logs(&folder).len() >= 3);
    assert_eq!(damage(&folder), None);
    assert_eq!(damage(&folder), None);
}

/// `storage` 5.6: a file that is missing, at the beginning, in the middle or at the end.
#[test]
fn missing_file_takes_the_partition_offline() {
    let count = logs(&closed()).len();
    for at in 0..count {
        let folder = closed();
        let gone = logs(&folder)[at].clone();
        for kind in ["log", "index", "timeindex"] {
            fs::remove_file(gone.with_extension(kind)).unwrap();
        }
        let place = stays(&folder);
        let text = place.to_string();
        let base: Offset = gone.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        assert_eq!(place.offset, base, "{text}");
        assert!(place.file.starts_with(folder.0.join("t-0")), "{text}");
        assert_eq!(logs(&folder).len(), count - 1, "nothing else goes");
    }
}

/// A file that was cut, at any byte: the last one and one before it.
#[test]
fn cut_file_takes_the_partition_offline() {
    let count = logs(&closed()).len();
    for at in [1, count - 1] {
        let size = fs::metadata(&logs(&closed())[at]).unwrap().len();
        for len in (0..size).step_by(7) {
            let folder = closed();
            let path = logs(&folder)[at].clone();
            cut(&path, len);
            let place = damage(&folder).unwrap_or_else(|| panic!("cut at {len} of {size}"));
            assert_eq!(place.file, path, "{place}");
            assert!(place.position <= len, "{place}");
            assert_eq!(fs::metadata(&path).unwrap().len(), len, "nothing more is cut");
        }
        let folder = closed();
        cut(&logs(&folder)[at], 0);
        stays(&folder);
    }
}

/// A file that can't be read is the matter of its partition alone.
#[test]
fn unreadable_file_takes_only_its_partition_offline() {
    let folder = closed();
    let path = logs(&folder)[0].clone();
    let kept = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let place = stays(&folder);
    assert!(place.to_string().contains("can't be read"), "{place}");
    fs::remove_dir(&path).unwrap();
    fs::write(&path, kept).unwrap();
    assert_eq!(damage(&folder), None);
}

/// Bytes after the end that are no records cost nothing and go; records that nobody knows of are kept, and asked about.
#[test]
fn bytes_after_the_end() {
    for garbage in [vec![0; 3], vec![0; 4_000], vec![7; 100]] {
        let folder = closed();
        let path = logs(&folder).pop().unwrap();
        let before = fs::read(&path).unwrap();
        fs::write(&path, [before.clone(), garbage].concat()).unwrap();
        assert_eq!(damage(&folder), None);
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    let folder = closed();
    let path = logs(&folder).pop().unwrap();
    let more = [fs::read(&path).unwrap(), batch(RECORDS, 2, 100, 0).to_bytes().to_vec()].concat();
    fs::write(&path, &more).unwrap();
    for _ in 0..2 {
        assert_eq!(damage(&folder).map(|it| it.offset), Some(RECORDS));
    }
    assert_eq!(fs::read(&path).unwrap(), more);
}

/// The folder of a partition with records, or what says whose it is.
#[test]
fn missing_folder_takes_the_partition_offline() {
    let folder = closed();
    fs::remove_dir_all(folder.0.join("t-0")).unwrap();
    let place = stays(&folder);
    assert!(
        place.to_string().contains("the folder is missing, but records up to 40 were flushed"),
        "{place}"
    );
    assert!(!folder.0.join("t-0").exists(), "it is not made anew");
    let folder = closed();
    fs::remove_file(folder.0.join("t-0/partition.metadata")).unwrap();
    let place = stays(&folder);
    assert!(place.to_string().contains("partition.metadata is missing"), "{place}");
    assert!(logs(&folder).len() >= 3);
    // Restored, it is served again.
    let folder = closed();
    let (there, away) = (folder.0.join("t-0"), folder.0.join("away"));
    fs::rename(&there, &away).unwrap();
    assert!(damage(&folder).is_some());
    fs::rename(&away, &there).unwrap();
    assert_eq!(damage(&folder), None);
    // Who gives the records up removes the partition.
    fs::remove_dir_all(&there).unwrap();
    let (_engine, lane) = start(config(&folder.0));
    wait(lane.remove(&partition(0))).unwrap();
    append(&*lane.log(&partition(0)).unwrap(), &[batch(0, 1, 10, 0)]);
}

/// A folder that was removed with its topic just before a crash is asked for by nobody, and goes without a word.
#[test]
fn removed_partition_is_not_missed() {
    let folder = closed();
    {
        let (_engine, lane) = start(config(&folder.0));
        wait(lane.remove(&partition(0))).unwrap();
    }
    let (_engine, lane) = start(config(&folder.0));
    wait(lane.set_aside(&partition(0))).unwrap();
    assert_eq!(lane.partitions().len(), 1);
}

/// A directory that was in use and is not there now, or is an empty mount point.
#[test]
fn missing_directory_is_refused() {
    let (a, b, empty) = (Folder::fast(), Folder::fast(), Folder::fast());
    let of =
        |dirs: &[&Folder]| LocalConfig { dirs: dirs.iter().map(|it| it.0.clone()).collect(), ..config(&a.0) };
    {
        let engine = LocalEngine::start(of(&[&a, &b])).unwrap();
        let lane = wait(engine.open(1, engine.grant())).unwrap();
        let log = lane.log(&partition(0)).unwrap();
        append(&*log, &[batch(0, 1, 10, 0)]);
        durable(&*log, 1);
    }
    for dirs in [vec![&a], vec![&a, &empty]] {
        let error = LocalEngine::start(of(&dirs)).map(drop).unwrap_err();
        assert!(matches!(error, StartError::MissingDirectory { .. }), "{error}");
        assert!(error.to_string().contains(b.0.to_str().unwrap()), "{error}");
        assert!(!empty.0.join("meta.properties").exists());
    }
    // Another place and another order are fine, and so is one more.
    let moved = Folder::fast();
    crate::common::copy(&b.0, &moved.0);
    let engine = LocalEngine::start(of(&[&moved, &empty, &a])).unwrap();
    let Grant { epoch, .. } = engine.grant();
    assert_eq!(epoch, 1);
    drop(engine);
    // To give the records up, the line is removed.
    let list = a.0.join("thalweg.directories");
    assert_eq!(fs::read_to_string(&list).unwrap().lines().count(), 3);
    fs::write(&list, "").unwrap();
    LocalEngine::start(of(&[&a])).unwrap();
}

/// A log that can't be read is offline from the first time on, for readers and writers: files are not walked again for
/// each of them.
#[test]
fn log_that_cannot_be_read_goes_offline() {
    let folder = closed();
    let path = logs(&folder)[0].clone();
    let mut bytes = fs::read(&path).unwrap();
    bytes[16] = 9;
    fs::write(&path, &bytes).unwrap();
    let (_engine, lane) = start(config(&folder.0));
    let log = lane.log(&partition(0)).unwrap();
    let read = |from| wait(log.read(Span { from, to: RECORDS, max_bytes: 1, at_least_one: true }));
    assert!(read(RECORDS - 1).is_ok(), "nobody has seen it yet");
    assert!(matches!(read(0), Err(Refused::Corrupt(_))));
    // Whole again, but nobody looks.
    bytes[16] = 2;
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(read(0), Err(Refused::Corrupt(_))));
    assert!(matches!(read(RECORDS - 1), Err(Refused::Corrupt(_))));
    assert!(log.ends().borrow().dead);
    assert!(matches!(wait(log.find(0)), Err(Refused::Corrupt(_))));
    assert!(matches!(wait(log.newest()), Err(Refused::Corrupt(_))));
    let more = storage::Batches::new(vec![batch(RECORDS, 1, 1, 0)]);
    assert!(matches!(log.append(more), Err(Refused::Corrupt(_))));
    assert!(!*lane.fenced().borrow(), "the others go on");
}

/// Every reader of a damaged partition is told of the storage, also after the first.
#[test]
fn readers_of_a_damaged_partition_are_told_so() {
    let folder = closed();
    let (_engine, lane) = start(config(&folder.0));
    let log = lane.log(&partition(0)).unwrap();
    let partition = wait(Partition::open(log, Settings::default(), 1, 0)).unwrap();
    let path = logs(&folder)[0].clone();
    let mut bytes = fs::read(&path).unwrap();
    bytes[16] = 9;
    fs::write(&path, &bytes).unwrap();
    for from in [0, 0, RECORDS - 1] {
        let isolation = Isolation::ReadUncommitted;
        let spec = ReadSpec { from, max_bytes: 1, at_least_one: true, isolation, settle: true };
        let read = wait(partition.read(spec));
        assert!(matches!(read, Err(ReadError::Storage(_))), "{read:?}");
    }
    let latest = wait(partition.latest(Isolation::ReadUncommitted));
    assert!(matches!(latest, Err(ReadError::Storage(_))), "{latest:?}");
}

/// A file that was cut under a running broker is damage of that partition, not a failure of the disk.
#[test]
fn file_cut_under_a_running_broker_is_damage() {
    let folder = closed();
    let (_engine, lane) = start(config(&folder.0));
    cut(logs(&folder).last().unwrap(), 10);
    let log = lane.log(&partition(0)).unwrap();
    let read = wait(log.read(Span { from: RECORDS - 1, to: RECORDS, max_bytes: 1, at_least_one: true }));
    assert!(matches!(read, Err(Refused::Corrupt(_))), "{read:?}");
    assert!(!*lane.fenced().borrow());
}
