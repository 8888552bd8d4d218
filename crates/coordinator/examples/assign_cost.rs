//! What one run of the sticky assignor costs, over the grid of Apache Kafka's own benchmark
//! (`StreamsStickyAssignorBenchmark`) and the rows of the performance budget.
//!
//! `cargo run --release -p coordinator --example assign_cost`
//!
//! Prints milliseconds, the least of several runs: `full` assigns to fresh members, `join` when one more
//! member joins the result of that. `spec` is the part in which the strings of the group are interned; the
//! other columns are without it. Every second subtopology has state.

#![allow(clippy::print_stdout, reason = "a tool for the terminal")]
#![allow(clippy::disallowed_methods, reason = "measures time, decides nothing by it")]

use std::time::{Duration, Instant};

use coordinator::assign::{Assignor, GroupAssignment, GroupSpec, Member, Task, TaskSpace};
use wire::Str;

const RUNS: usize = 15;

#[derive(Clone, Copy)]
struct Case {
    members: usize,
    subtopologies: usize,
    partitions: u32,
    standbys: u32,
    members_per_process: usize,
}

fn main() {
    println!(" members subtop. x tasks standbys per-process |   full    join    spec");
    for case in cases() {
        let (full, join, spec) = measure(case);
        println!(
            "{:>8} {:>7} x {:>5} {:>8} {:>11} | {:>6.3}  {:>6.3}  {:>6.3}",
            case.members,
            case.subtopologies,
            case.partitions,
            case.standbys,
            case.members_per_process,
            millis(full),
            millis(join),
            millis(spec)
        );
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for members in [100, 1_000] {
        for partitions in [10, 100] {
            for subtopologies in [10, 100] {
                for (standbys, members_per_process) in [(0, 1), (0, 50), (1, 1), (1, 50)] {
                    cases.push(Case { members, subtopologies, partitions, standbys, members_per_process });
                }
            }
        }
    }
    let large = |partitions, standbys, members_per_process| Case {
        members: 10_000,
        subtopologies: 100,
        partitions,
        standbys,
        members_per_process,
    };
    cases.extend([large(1_000, 0, 1), large(1_000, 1, 1), large(1_000, 1, 50), large(10_000, 0, 1)]);
    cases
}

fn measure(case: Case) -> (Duration, Duration, Duration) {
    let ids = (0..case.subtopologies).map(|id| Str::from(id.to_string()));
    let space = TaskSpace::new(ids.enumerate().map(|(at, id)| (id, case.partitions, at % 2 == 0)));
    // Process ids have the length of a UUID and begin alike.
    let process = |at: usize| Str::from(format!("{:0>36}", at / case.members_per_process));
    let processes: Vec<Str> = (0..=case.members).map(process).collect();
    let (fresh, joined) = processes.split_last().map_or((&[][..], None), |(last, rest)| (rest, Some(last)));
    let (full, first) =
        best(|| fresh_spec(&space, case.standbys, fresh), |spec| Assignor::Sticky.assign(spec));
    let again = || spec_after(&space, case.standbys, fresh, joined, &first);
    let (join, _) = best(again, |spec| Assignor::Sticky.assign(spec));
    let (spec, _) = best(|| (), |()| again().members());
    (full, join, spec)
}

fn fresh_spec<'a>(space: &'a TaskSpace, standbys: u32, processes: &'a [Str]) -> GroupSpec<'a> {
    let mut spec = GroupSpec::new(space, standbys);
    for process in processes {
        spec.add_member(process);
    }
    spec
}

fn spec_after<'a>(
    space: &'a TaskSpace,
    standbys: u32,
    processes: &'a [Str],
    joined: Option<&'a Str>,
    before: &GroupAssignment,
) -> GroupSpec<'a> {
    let tasks = before.by_member();
    let name = |task: &Task| space.name(*task);
    let mut spec = GroupSpec::new(space, standbys);
    for (at, process) in (0..).map(Member).zip(processes) {
        let member = spec.add_member(process);
        spec.previous_active(member, tasks.active(at).iter().filter_map(name));
        spec.previous_standby(member, tasks.standby(at).iter().filter_map(name));
    }
    joined.into_iter().for_each(|process| {
        spec.add_member(process);
    });
    spec
}

/// The least time of `run`, without `prepare`, and its last result.
fn best<I, O>(prepare: impl Fn() -> I, run: impl Fn(&I) -> O) -> (Duration, O) {
    let once = || {
        let input = prepare();
        let start = Instant::now();
        let output = run(&input);
        (start.elapsed(), output)
    };
    let first = once();
    (1..RUNS).fold(first, |(least, _), _| {
        let (time, output) = once();
        (least.min(time), output)
    })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
