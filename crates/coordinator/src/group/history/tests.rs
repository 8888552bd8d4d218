//! Bounds of the history, and what is counted instead of kept.

use super::*;

const NOW: Millis = 1_000_000;

fn group(id: &str) -> Str {
    Str::from(id)
}

fn refusal(member: &str, detail: &str) -> Happened {
    Happened::new(Kind::CommitRefused)
        .member(&Str::from(member))
        .code(ErrorCode::STALE_MEMBER_EPOCH)
        .detail(detail)
}

fn joined(n: usize) -> Happened {
    let detail = format!("process b62d7a3e-2f8a-4c8f-9a6c-{n:012} at 10.0.0.7, client word-count-{n}");
    Happened::new(Kind::MemberJoined).member(&Str::from(format!("yQm2zZbATq6x9v2vKpE{n:03}"))).detail(&detail)
}

#[test]
fn a_ring_is_bounded_and_numbers_go_on() {
    let mut history = History::default();
    for n in 0..10 * RING_MAX {
        history.push(NOW, &group("g"), joined(n));
    }
    let ring = history.of(&group("g")).unwrap();
    assert_eq!(ring.entries().count(), RING_MAX);
    assert_eq!(ring.last(), 1280);
    assert_eq!(ring.entries().next().unwrap().sequence, 1280 - 128 + 1);
    assert_eq!(history.entries, RING_MAX);
}

#[test]
fn a_quiet_group_takes_less_than_a_kilobyte() {
    let mut history = History::default();
    for n in 0..RING_MAX {
        history.push(NOW, &group("quiet"), joined(n));
    }
    assert!(history.of(&group("quiet")).unwrap().bytes() > 10_000);
    history.sweep(NOW + QUIET_AFTER - 1);
    history.sweep(NOW + QUIET_AFTER - 1);
    assert_eq!(history.of(&group("quiet")).unwrap().entries().count(), RING_MAX, "not quiet yet");
    // Two looks: the first may only go back to the beginning of the list.
    history.sweep(NOW + QUIET_AFTER);
    history.sweep(NOW + QUIET_AFTER);
    let ring = history.of(&group("quiet")).unwrap();
    let kept = ring.entries().count();
    assert!(ring.bytes() < 1024 && (2..10).contains(&kept), "{} bytes, {kept} events", ring.bytes());
    assert_eq!(ring.last(), 128);
    assert_eq!(history.entries, kept);
}

#[test]
fn the_worst_strings_are_cut() {
    let long = "ü".repeat(10_000);
    let happened = Happened::new(Kind::MemberJoined).member(&Str::from(&long)).detail(&long);
    assert_eq!(happened.member.as_ref().unwrap().len(), MEMBER_MAX);
    assert_eq!(happened.detail.as_ref().unwrap().len(), DETAIL_MAX);
    let mut history = History::default();
    for _ in 0..RING_MAX {
        history.push(NOW, &group("g"), happened.clone());
    }
    for _ in 0..2 {
        history.sweep(NOW + QUIET_AFTER);
    }
    assert!(history.of(&group("g")).unwrap().bytes() < 1024);
}

/// A crowd of groups keeps one event each before the shard's memory grows without end.
#[test]
fn a_crowd_of_groups_keeps_little_of_each() {
    let mut history = History::default();
    for n in 0..40_000 {
        history.push(NOW, &group(&format!("g{}", n % 1000)), joined(n));
        history.sweep(NOW);
    }
    assert!(history.entries <= ENTRIES_MAX + 1000, "{}", history.entries);
    let counted: usize = history.rings.values().map(|it| it.entries.len()).sum();
    assert_eq!(history.entries, counted);
}

#[test]
fn refusals_are_counted_by_member_and_code() {
    let mut history = History::default();
    for n in 0..100 {
        history.push(NOW + n, &group("g"), refusal("a", "in-0"));
        history.push(NOW + n, &group("g"), refusal("b", "in-1"));
    }
    let ring = history.of(&group("g")).unwrap();
    let counts: Vec<_> = ring.entries().map(|it| (it.count, it.at, it.sequence)).collect();
    assert_eq!(counts, [(100, NOW + 99, 199), (100, NOW + 99, 200)]);
}

#[test]
fn nothing_is_kept_of_groups_that_are_gone() {
    let mut history = History::default();
    history.push(NOW, &group("g"), joined(1));
    let mut telling = Telling::default();
    telling.tell(&group("g"), joined(2));
    telling.tell(&group("never"), joined(3));
    history.take(NOW, &Hard::default(), &BTreeMap::new(), telling);
    assert!(history.of(&group("g")).is_none() && history.of(&group("never")).is_none());
    assert_eq!(history.entries, 0);
}
