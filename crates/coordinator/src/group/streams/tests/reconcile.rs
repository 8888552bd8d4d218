//! 18.9: what a member may hold now. A case is text: the member, the others, the target, and what the
//! member owns (no line: it says nothing). Tasks are `a` active with its assignment epoch, `s` standby,
//! `w` warm-up; those after `/` are to be given up. `R` stands for each role in turn.

use std::collections::BTreeMap;

use crate::group::streams::reconcile::{MustRejoin, Reconciliation};
use crate::group::streams::tasks::{AssignedTasks, Holders, TaskId, Tasks};
use crate::group::streams::{Current, MemberMetadata, MemberState, StreamsMember};
use wire::Str;

const ROLES: [&str; 3] = ["a", "s", "w"];

/// One case for the role `role`, in which `R` stands for it and `other(R)` for nothing.
#[track_caller]
fn check(given: &str, expected: &str) {
    let roles: &[&str] = if given.contains('R') { &ROLES } else { &[""] };
    for role in roles {
        let (given, expected) = (given.replace('R', role), expected.replace('R', role));
        let got = run(&given).map_or_else(|MustRejoin| "must rejoin".to_owned(), |it| show(&it));
        assert_eq!(got, show_expected(&expected), "\n{given}");
    }
}

fn run(given: &str) -> Result<Current, MustRejoin> {
    let mut members = BTreeMap::new();
    let (mut target, mut target_epoch, mut owned) = (Tasks::default(), 0, None);
    for line in given.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (head, tasks) = line.split_once(':').unwrap_or((line, ""));
        let words: Vec<_> = head.split_whitespace().collect();
        match words.as_slice() {
            ["target", epoch] => (target, target_epoch) = (without_epochs(tasks), epoch.parse().unwrap()),
            ["owned"] => owned = Some(without_epochs(tasks)),
            ["me", state, epoch, previous] => {
                let current = Current {
                    state: state_of(state),
                    epoch: epoch.parse().unwrap(),
                    previous_epoch: previous.parse().unwrap(),
                    ..holding(tasks)
                };
                members.insert(Str::from("me"), member("p1", current));
            }
            [id, process] => {
                members.insert(Str::from(*id), member(process, holding(tasks)));
            }
            _ => panic!("{line}"),
        }
    }
    let mut holders = Holders::default();
    for (id, member) in &members {
        holders.add(id, &member.current.assigned);
        holders.add(id, &member.current.pending);
    }
    let me = Str::from("me");
    let reconciliation = Reconciliation {
        member_id: &me,
        process_id: &Str::from("p1"),
        current: &members[&me].current,
        target_epoch,
        target: &target,
        owned: owned.as_ref(),
        holders: &holders,
        members: &members,
    };
    reconciliation.run()
}

fn member(process: &str, current: Current) -> StreamsMember {
    StreamsMember {
        metadata: MemberMetadata { process_id: Str::from(process), ..Default::default() },
        current,
    }
}

fn holding(tasks: &str) -> Current {
    let (assigned, pending) = tasks.split_once('/').unwrap_or((tasks, ""));
    Current { assigned: with_epochs(assigned), pending: with_epochs(pending), ..Default::default() }
}

fn with_epochs(tasks: &str) -> AssignedTasks {
    let mut all = AssignedTasks::default();
    for word in tasks.split_whitespace() {
        let (name, epoch) = word.split_once('@').unwrap_or((word, "0"));
        let task = task(&name[1..]);
        match &name[..1] {
            "a" => drop(all.active.insert(task, epoch.parse().unwrap())),
            "s" => drop(all.standby.insert(task)),
            _ => drop(all.warmup.insert(task)),
        }
    }
    all
}

fn without_epochs(tasks: &str) -> Tasks {
    let all = with_epochs(tasks);
    Tasks { active: all.active.into_keys().collect(), standby: all.standby, warmup: all.warmup }
}

fn task(name: &str) -> TaskId {
    let (subtopology, partition) = name.split_once('_').unwrap();
    TaskId::new(&Str::from(subtopology), partition.parse().unwrap())
}

fn state_of(word: &str) -> MemberState {
    match word {
        "stable" => MemberState::Stable,
        "unrevoked" => MemberState::UnrevokedTasks,
        "unreleased" => MemberState::UnreleasedTasks,
        _ => MemberState::Unknown,
    }
}

fn show(it: &Current) -> String {
    let state = match it.state {
        MemberState::Stable => "stable",
        MemberState::UnrevokedTasks => "unrevoked",
        MemberState::UnreleasedTasks => "unreleased",
        MemberState::Unknown => "unknown",
    };
    let head = format!("{state} {} {}:", it.epoch, it.previous_epoch);
    let words = [head, show_tasks(&it.assigned), "/".to_owned(), show_tasks(&it.pending)];
    words.iter().filter(|word| !word.is_empty()).cloned().collect::<Vec<_>>().join(" ")
}

fn show_tasks(tasks: &AssignedTasks) -> String {
    let active = tasks.active.iter().map(|(task, epoch)| format!("a{task}@{epoch}"));
    let standby = tasks.standby.iter().map(|task| format!("s{task}"));
    let warmup = tasks.warmup.iter().map(|task| format!("w{task}"));
    active.chain(standby).chain(warmup).collect::<Vec<_>>().join(" ")
}

/// Assignment epochs stand in a case for every role, but only active tasks have one.
fn show_expected(text: &str) -> String {
    let word = |word: &str| match word.split_once('@') {
        Some((task, _)) if !task.starts_with('a') => task.to_owned(),
        _ => word.to_owned(),
    };
    let mut words: Vec<_> = text.split_whitespace().map(word).collect();
    if text.contains(':') && !text.contains('/') {
        words.push("/".to_owned());
    }
    words.join(" ")
}

#[test]
fn s181_at_the_target_epoch_nothing_happens() {
    check("me stable 10 9: R0_1@9\n target 10: R0_1", "stable 10 9: R0_1@9");
}

#[test]
fn s182_same_tasks_at_a_new_epoch() {
    check("me stable 10 9: R0_1@9 R0_2@10\n target 11: R0_1 R0_2", "stable 11 10: R0_1@9 R0_2@10");
}

#[test]
fn s183_s199_a_free_task_is_granted_and_kept_ones_keep_their_epochs() {
    check("me stable 10 9: R0_1@9\n target 11: R0_1 R1_4", "stable 11 10: R0_1@9 R1_4@11");
}

#[test]
fn s184_a_lost_task_is_revoked_first() {
    check("me stable 10 9: R0_1@9 R0_2@8\n target 11: R0_1", "unrevoked 10 10: R0_1@9 / R0_2@8");
    // What is free must wait as well: first give up, then receive.
    check("me stable 10 9: R0_1@9 R0_2@8\n target 11: R0_1 R0_3", "unrevoked 10 10: R0_1@9 / R0_2@8");
}

#[test]
fn s185_an_empty_target_revokes_all() {
    check("me stable 10 9: R0_1@9 R0_2@9\n target 11:", "unrevoked 10 10: / R0_1@9 R0_2@9");
}

#[test]
fn s186_a_task_that_another_process_runs_is_waited_for() {
    check("me stable 10 9: a0_1@9\n m2 p2: a0_2@9\n target 11: a0_1 a0_2", "unreleased 11 10: a0_1@9");
    // Also while the other one is to give it up, and whatever else is free.
    check("me stable 10 9:\n m2 p2: / a0_2@9\n target 11: a0_2 a0_3", "unreleased 11 10: a0_3@11");
}

#[test]
fn s187_no_revocation_phase_for_what_the_member_says_it_does_not_own() {
    check(
        "me stable 10 9: R0_1@9 R0_2@9\n target 11: R0_1 R0_3\n owned: R0_1",
        "stable 11 10: R0_1@9 R0_3@11",
    );
    check(
        "me stable 10 9: a0_1@9 a0_2@9\n m2 p2: a0_3@9\n target 11: a0_1 a0_3\n owned: a0_1",
        "unreleased 11 10: a0_1@9",
    );
}

#[test]
fn s188_after_the_acknowledgement_new_tasks_are_granted() {
    check(
        "me unrevoked 10 9: R0_1@9 / R0_2@9\n target 11: R0_1 R0_3\n owned: R0_1",
        "stable 11 10: R0_1@9 R0_3@11",
    );
}

#[test]
fn s189_without_an_acknowledgement_nothing_happens() {
    check("me unrevoked 10 9: R0_1@9 / R0_2@9\n target 12: R0_1", "unrevoked 10 9: R0_1@9 / R0_2@9");
    check(
        "me unrevoked 10 9: R0_1@9 / R0_2@9\n target 12: R0_1\n owned: R0_1 R0_2",
        "unrevoked 10 9: R0_1@9 / R0_2@9",
    );
}

#[test]
fn s189_tasks_are_compared_role_by_role() {
    check("me unrevoked 10 9: / a0_2@9\n target 11:\n owned: s0_2 w0_2", "stable 11 10:");
    check("me unrevoked 10 9: / s0_2\n target 11:\n owned: a0_2 w0_2", "stable 11 10:");
    check("me unrevoked 10 9: / w0_2\n target 11:\n owned: a0_2 s0_2 w0_2", "unrevoked 10 9: / w0_2");
}

#[test]
fn s190_r6_a_newer_target_takes_more_away() {
    check(
        "me unrevoked 10 10: R0_1@9 R0_2@9 / R0_3@9\n target 13: R0_1 R0_4\n owned: R0_1 R0_2",
        "unrevoked 11 10: R0_1@9 / R0_2@9",
    );
}

#[test]
fn s191_after_the_acknowledgement_a_task_is_still_held() {
    check(
        "me unrevoked 10 9: a0_1@9 / a0_2@9\n m2 p2: a0_3@9\n target 11: a0_1 a0_3\n owned: a0_1",
        "unreleased 11 10: a0_1@9",
    );
}

#[test]
fn s192_s193_released_tasks_are_granted() {
    check("me unreleased 11 10: R0_1@9\n target 11: R0_1 R0_2", "stable 11 11: R0_1@9 R0_2@11");
    check("me unreleased 11 10: R0_1@9\n target 12: R0_1 R0_3", "stable 12 11: R0_1@9 R0_3@12");
}

#[test]
fn s194_still_held() {
    let held = "me unreleased 11 0: a0_1@9\n m2 p2: a0_2@9\n target 11: a0_1 a0_2";
    // One record more, whose only change is the previous epoch.
    check(held, "unreleased 11 11: a0_1@9");
    check(&held.replace("11 0", "11 11"), "unreleased 11 11: a0_1@9");
}

#[test]
fn s195_a_process_holds_one_copy_of_a_task() {
    for (wanted, held) in
        [("s", "a"), ("s", "s"), ("s", "w"), ("w", "a"), ("w", "s"), ("w", "w"), ("a", "s"), ("a", "w")]
    {
        let given = format!("me stable 10 9:\n m2 p1: {held}0_1@9\n target 11: {wanted}0_1");
        check(&given, "unreleased 11 10:");
        let given = format!("me stable 10 9:\n m2 p1: / {held}0_1@9\n target 11: {wanted}0_1");
        check(&given, "unreleased 11 10:");
    }
}

#[test]
fn s196_copies_of_other_processes_do_not_matter_to_replicas() {
    for held in ROLES {
        check(&format!("me stable 10 9:\n m2 p2: {held}0_1@9\n target 11: s0_1"), "stable 11 10: s0_1");
        check(&format!("me stable 10 9:\n m2 p2: {held}0_1@9\n target 11: w0_1"), "stable 11 10: w0_1");
    }
    check("me stable 10 9:\n m2 p2: s0_1 w0_2\n target 11: a0_1 a0_2", "stable 11 10: a0_1@11 a0_2@11");
    check("me stable 10 9:\n m2 p1: a0_1@9\n target 11: a0_1", "unreleased 11 10:");
}

#[test]
fn s197_waiting_and_something_more_is_taken_away() {
    check("me unreleased 11 10: R0_1@9 R0_2@9\n target 12: R0_1 R0_3", "unrevoked 11 11: R0_1@9 / R0_2@9");
}

#[test]
fn s198_a_state_of_a_newer_release() {
    check("me unknown 10 9: R0_1@9\n target 11: R0_1", "must rejoin");
    check("me unknown 10 9: R0_1@9\n target 11: R0_1\n owned: R0_1", "must rejoin");
    check("me unknown 10 9: R0_1@9\n target 11: R0_1 R0_2\n owned:", "stable 11 10: R0_1@9 R0_2@11");
}

#[test]
fn a_task_of_ones_own_that_was_taken_back_is_held_until_the_next_heartbeat() {
    let acknowledges = "me unrevoked 10 9: / R0_1@9\n target 12: R0_1\n owned:";
    match ROLES.map(|role| show(&run(&acknowledges.replace('R', role)).unwrap())) {
        [active, standby, warmup] => {
            assert_eq!(
                [active, standby, warmup],
                ["unreleased 12 10: /", "unreleased 12 10: /", "unreleased 12 10: /"]
            );
        }
    }
    check("me unreleased 12 10:\n target 12: R0_1", "stable 12 12: R0_1@12");
}

#[test]
fn s200_s203_a_replica_is_kept_until_it_becomes_active() {
    for role in ["s", "w"] {
        let held = format!("me stable 10 9: {role}0_1\n m2 p2: a0_1@9\n target 11: a0_1");
        check(&held, &format!("unreleased 11 10: {role}0_1"));
        let released = format!("me unreleased 11 10: {role}0_1\n m2 p2:\n target 11: a0_1");
        check(&released, "stable 11 11: a0_1@11");
        check(&format!("me stable 10 9: {role}0_1\n target 11: a0_1"), "stable 11 10: a0_1@11");
    }
}

#[test]
fn s201_s203_not_active_while_another_thread_of_the_process_has_a_replica() {
    for role in ["s", "w"] {
        check(&format!("me stable 10 9:\n m2 p1: {role}0_1\n target 11: a0_1"), "unreleased 11 10:");
        check(&format!("me stable 10 9:\n m2 p2: {role}0_1\n target 11: a0_1"), "stable 11 10: a0_1@11");
    }
}

#[test]
fn s202_s203_a_replica_is_not_dropped_while_something_else_must_be_given_up() {
    for role in ["s", "w"] {
        let given = format!("me stable 10 9: a0_2@9 {role}0_1\n target 11: a0_1");
        check(&given, &format!("unrevoked 10 10: {role}0_1 / a0_2@9"));
        let acknowledged =
            format!("me unrevoked 10 10: {role}0_1 / a0_2@9\n target 11: a0_1\n owned: {role}0_1");
        check(&acknowledged, "stable 11 10: a0_1@11");
    }
}

#[test]
fn s204_a_demoted_task_is_a_standby_at_once() {
    check("me stable 10 9: a0_1@9\n target 11: s0_1", "unrevoked 10 10: s0_1 / a0_1@9");
    check("me unrevoked 10 10: s0_1 / a0_1@9\n target 11: s0_1\n owned: s0_1", "stable 11 10: s0_1");
    check("me stable 10 9: a0_1@9\n m2 p1: s0_1\n target 11: s0_1", "unrevoked 10 10: / a0_1@9");
}

#[test]
fn s205_standby_and_warm_up_change_without_acknowledgement() {
    check("me stable 10 9: s0_1\n target 11: w0_1", "stable 11 10: w0_1");
    check("me stable 10 9: w0_1\n target 11: s0_1", "stable 11 10: s0_1");
    // Another thread of the process has one: the own one goes the normal way.
    check("me stable 10 9: s0_1\n m2 p1: w0_1\n target 11: w0_1", "unrevoked 10 10: / s0_1");
    check("me stable 10 9: w0_1\n m2 p1: s0_1\n target 11: s0_1", "unrevoked 10 10: / w0_1");
}

#[test]
fn s207_several_targets_later() {
    check(
        "me unrevoked 10 10: R0_1@9 / R0_2@9\n target 17: R0_1 R0_5\n owned: R0_1",
        "stable 17 10: R0_1@9 R0_5@17",
    );
}
