//! Lengths of time and refusals; the findings themselves are shown by `scenarios/groups/why_*.scn`.

use super::*;
use crate::group::history::{Cause, Happened};

#[test]
fn spans_are_told_by_their_two_largest_units() {
    let cases = [
        (-5, "0 ms"),
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (1500, "1.5 s"),
        (12_500, "12 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (245_000, "4 min 5 s"),
        (3_600_000, "1 h"),
        (7_380_000, "2 h 3 min"),
        (86_400_000, "1 d"),
        (266_400_000, "3 d 2 h"),
    ];
    for (millis, text) in cases {
        assert_eq!(span(millis), text, "{millis}");
    }
}

#[test]
fn only_refusals_are_told_from_the_history() {
    let cases = [
        (Kind::CommitRefused, Some("commits-refused")),
        (Kind::MemberFenced, Some("member-fenced")),
        (Kind::HeartbeatRefused, Some("heartbeats-refused")),
        (Kind::MemberJoined, None),
        (Kind::StateChanged, None),
        (Kind::ShutdownRequested, None),
    ];
    for (kind, code) in cases {
        let happened = Happened::new(kind).code(ErrorCode::STALE_MEMBER_EPOCH);
        let entry = Entry { sequence: 1, at: 0, count: 1, happened };
        let finding = refusal(&entry, 500);
        assert_eq!(finding.as_ref().map(|it| it.code), code, "{kind:?}");
        assert!(finding.is_none_or(|it| it.severity == Severity::Warns && it.members.is_empty()));
    }
}

#[test]
fn how_soon_members_come_is_told_by_the_longest_interval() {
    let intervals = |told: &[Millis]| silence::intervals(told.iter().copied());
    assert_eq!(intervals(&[500, 500]), "500 ms");
    assert_eq!(intervals(&[500, 5000, 1000]), "5 s at the longest");
}

#[test]
fn what_blocks_comes_first() {
    assert!(Severity::Blocks < Severity::Warns && Severity::Warns < Severity::Informs);
}

/// Steps of warm-ups follow from one change, and a deployment moves the epoch twice for each member.
#[test]
fn only_what_comes_and_goes_too_often_is_flapping() {
    // An epoch each time, that many milliseconds apart.
    let flapping_every = |step: Millis, epochs: &[(usize, Cause)], members| {
        let causes = epochs.iter().flat_map(|(count, cause)| std::iter::repeat_n(*cause, *count));
        let entry = |(sequence, cause): (i64, Cause)| Entry {
            sequence,
            at: (sequence - 1) * step,
            count: 1,
            happened: Happened::new(Kind::EpochMoved).cause(cause),
        };
        let entries: Vec<Entry> = (1..).zip(causes).map(entry).collect();
        let now = entries.last().map_or(0, |it| it.at) + 1_000;
        let found = flapping(&entries.iter().collect::<Vec<_>>(), members, now);
        found.map(|it| (it.sentence, it.since))
    };
    let is_flapping = |epochs: &[(usize, Cause)], members| Some(flapping_every(40_000, epochs, members)?.0);
    let restarts = [(5, Cause::MemberJoined), (7, Cause::MemberLeft)];
    assert_eq!(flapping_every(15_000, &restarts, 2), None, "a start, and some that were killed");
    assert!(flapping_every(40_000, &restarts, 2).is_some());
    // So much that the older is forgotten.
    let (sentence, since) = flapping_every(1_000, &[(128, Cause::MemberLeft)], 3).unwrap();
    assert_eq!(
        sentence,
        "The group's epoch moved 128 times in the last 2 min 8 s, mostly because of member-left."
    );
    assert_eq!(since, Some(0));
    assert_eq!(is_flapping(&[(30, Cause::Warmups), (4, Cause::MemberJoined)], 2), None);
    assert_eq!(is_flapping(&[(12, Cause::MemberJoined), (12, Cause::MemberLeft)], 12), None, "a deployment");
    assert!(is_flapping(&[(5, Cause::MemberJoined), (5, Cause::SessionOver)], 1).is_some());
    let told = is_flapping(&[(20, Cause::Warmups), (9, Cause::MemberLeft), (3, Cause::Topics)], 3).unwrap();
    assert_eq!(told, "The group's epoch moved 12 times in the last 10 min, mostly because of member-left.");
    assert!(is_flapping(&[(10, Cause::None)], 0).unwrap().ends_with("mostly because of nothing known."));
}
