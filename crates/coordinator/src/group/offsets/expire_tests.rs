//! Sweeps of shards that are large: a bounded piece per step, and nothing is forgotten between two pieces.

use super::*;
use crate::driver::Driver;
use crate::group::GroupShard;
use crate::machine::{At, Entropy, Event};
use catalog::Image;
use wire::consumer_offsets::{OffsetCommitKey, OffsetCommitValue, Record};

const NOW: Millis = 1_700_000_000_000;
const WEEK: Millis = 7 * 24 * 3_600_000;
const INTERVAL: Millis = 600_000;

/// A loaded shard with so many offsets of each group, committed at that time.
fn shard(groups: &[(&str, i32, Millis)]) -> (Driver<GroupShard>, Image) {
    let mut driver = Driver::new(Entropy::seeded(1), 1_000_000);
    let mut offset = 0;
    for (group, count, commit_timestamp) in groups {
        for n in 0..*count {
            // Topics of 7 partitions, so that pieces end within topics and between them.
            let topic = Str::from(format!("t{:05}", n / 7));
            let key = OffsetCommitKey { group: Str::from(*group), topic, partition: n % 7 };
            let value = OffsetCommitValue { commit_timestamp: *commit_timestamp, ..Default::default() };
            let at = At { offset, timestamp: NOW, producer: None };
            driver.replay(at, &Record::OffsetCommit(key, Some(value)));
            offset += 1;
        }
    }
    let image = Image::default();
    assert!(driver.loaded(offset, NOW, &image).batches.is_empty());
    (driver, image)
}

/// Records of each step of one sweep, which begins at `now`.
fn sweep(driver: &mut Driver<GroupShard>, image: &Image, mut now: Millis) -> Vec<usize> {
    let mut pieces = Vec::new();
    let end = now + INTERVAL;
    while driver.deadline().is_some_and(|it| it < end) {
        now = now.max(driver.deadline().unwrap());
        let round = driver.round(now, image, vec![Event::Wake]);
        pieces.push(round.batches.iter().map(|it| it.records.len()).sum());
    }
    pieces
}

#[test]
fn many_expired_offsets_go_in_pieces() {
    let old = NOW - WEEK;
    let (mut driver, image) = shard(&[("a", 2_500, old), ("b", 500, old), ("c", 500, NOW), ("d", 1, old)]);
    // The third piece ends with the last offset of "b", whose group goes first in the fourth.
    assert_eq!(sweep(&mut driver, &image, NOW + INTERVAL), [1_000, 1_000, 1_001, 3]);
    let hard = driver.machine().hard();
    let left: Vec<_> = hard.groups().map(|(id, _)| id.to_string()).collect();
    assert_eq!(left, ["c"]);
    assert_eq!(hard.offsets().by_group().count(), 1);
    assert_eq!(sweep(&mut driver, &image, NOW + 2 * INTERVAL), [0]);
}

#[test]
fn many_fresh_offsets_are_looked_at_in_pieces() {
    let (mut driver, image) = shard(&[("a", 25_000, NOW), ("b", 1, NOW - WEEK)]);
    assert_eq!(sweep(&mut driver, &image, NOW + INTERVAL), [0, 0, 2]);
    assert_eq!(driver.machine().hard().offsets().by_group().count(), 1);
}

/// What is committed between two pieces stays, and so does its group.
#[test]
fn a_commit_behind_the_sweep_keeps_the_group() {
    let (mut driver, image) = shard(&[("a", 1_001, NOW - WEEK)]);
    let first = driver.round(NOW + INTERVAL, &image, vec![Event::Wake]);
    assert_eq!(first.batches[0].records.len(), 1_000);
    let key = OffsetCommitKey { group: Str::from("a"), topic: Str::from("t00000"), partition: 0 };
    let value = OffsetCommitValue { commit_timestamp: NOW + INTERVAL, ..Default::default() };
    let at = At { offset: driver.written(), timestamp: NOW, producer: None };
    driver.replay(at, &Record::OffsetCommit(key, Some(value)));
    assert_eq!(sweep(&mut driver, &image, NOW + INTERVAL + 1), [1]);
    assert!(driver.machine().hard().group(&Str::from("a")).is_some());
}
