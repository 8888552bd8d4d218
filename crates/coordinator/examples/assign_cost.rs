//! What one run of the assignors of streams groups costs: the rows of the performance budget, the grid of Apache
//! Kafka's own benchmark (`StreamsStickyAssignorBenchmark`), and how the time grows with the tasks.
//!
//! `cargo run --release -p coordinator --example assign_cost [rows | grid | growth]`
//!
//! Prints milliseconds, the least of several runs: `full` assigns to fresh members, `join` when one more
//! member joins the result of that. `spec` is the part in which the strings of the group are interned; the
//! other columns are without it. Every second subtopology has state. For `spread`, processes stand in three zones
//! of three racks each. The last column of growth is the exponent of a line through the logarithms.

#![allow(clippy::print_stdout, reason = "a tool for the terminal")]
#![allow(clippy::disallowed_methods, reason = "measures time, decides nothing by it")]

use std::time::{Duration, Instant};

use coordinator::assign::{Assignor, GroupAssignment, GroupSpec, Member, Task, TaskSpace};
use wire::Str;

const RUNS: usize = 15;
/// Runs end when they took that long together.
const PATIENCE: Duration = Duration::from_secs(3);
/// Zones, and racks in each.
const PLACES: usize = 3;
/// What the time may grow with.
const EXPONENT_MAX: f64 = 1.15;

#[derive(Clone, Copy)]
struct Case {
    members: usize,
    subtopologies: usize,
    partitions: u32,
    standbys: u32,
    members_per_process: usize,
}

/// A row of the budget: what `full` and `join` may take, in ms.
const ROWS: [(Case, f64, f64); 7] = [
    (case(1_000, 10, 100, 0, 1), 0.4, 0.2),
    (case(1_000, 100, 100, 0, 1), 2.0, 0.5),
    (case(1_000, 100, 100, 1, 1), 3.0, 0.8),
    (case(10_000, 100, 1_000, 0, 1), 25.0, 5.0),
    (case(10_000, 100, 1_000, 1, 1), 40.0, 8.0),
    (case(10_000, 100, 1_000, 1, 50), 40.0, 8.0),
    (case(10_000, 100, 10_000, 0, 1), 250.0, 25.0),
];

const fn case(
    members: usize,
    subtopologies: usize,
    partitions: u32,
    standbys: u32,
    members_per_process: usize,
) -> Case {
    Case { members, subtopologies, partitions, standbys, members_per_process }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|it| it == name);
    if wants("rows") {
        rows();
    }
    if wants("grid") {
        grid();
    }
    if wants("growth") {
        growth();
    }
}

fn rows() {
    println!(
        " members subtop. x tasks standbys per-process | budget        | sticky        | spread        |   spec"
    );
    for (case, full_max, join_max) in ROWS {
        let (full, join, spec) = measure(case, Assignor::Sticky);
        let (spread_full, spread_join, _) = measure(case, Assignor::Spread);
        println!(
            "{} | {full_max:>6.1} {join_max:>6.1} | {:>6.2} {:>6.2} | {:>6.2} {:>6.2} | {:>6.2}{}",
            text(case),
            millis(full),
            millis(join),
            millis(spread_full),
            millis(spread_join),
            millis(spec),
            if millis(full) <= full_max && millis(join) <= join_max { "" } else { "  over the budget" }
        );
    }
}

fn grid() {
    println!(" members subtop. x tasks standbys per-process |   full    join    spec");
    for case in cases() {
        let (full, join, spec) = measure(case, Assignor::Sticky);
        println!("{} | {:>6.3}  {:>6.3}  {:>6.3}", text(case), millis(full), millis(join), millis(spec));
    }
}

/// A thousand tasks, ten times as many, and so on: with as many members, and with members that grow with them.
fn growth() {
    for assignor in Assignor::ALL {
        for standbys in [0, 1] {
            for share in [None, Some(100)] {
                let (mut full, mut join) = (Vec::new(), Vec::new());
                for partitions in [10, 100, 1_000, 10_000] {
                    let tasks = 100 * partitions as usize;
                    let members = share.map_or(1_000, |share| tasks / share);
                    let (one, other, _) = measure(case(members, 100, partitions, standbys, 1), assignor);
                    full.push((tasks, millis(one)));
                    join.push((tasks, millis(other)));
                }
                let members = share.map_or_else(|| "1000".to_owned(), |share| format!("tasks/{share}"));
                for (name, points) in [("full", full), ("join", join)] {
                    let times: Vec<_> = points.iter().map(|it| format!("{:>8.3}", it.1)).collect();
                    let grows = exponent(&points);
                    let verdict = if grows <= EXPONENT_MAX { "" } else { "  over the budget" };
                    println!(
                        "{:<6} {standbys} standbys, {members:>9} members, {name} | 10^3 to 10^6 tasks:{} | {grows:.2}{verdict}",
                        assignor.name(),
                        times.join(" "),
                    );
                }
            }
        }
    }
}

/// Least squares over the logarithms.
fn exponent(points: &[(usize, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| ((*x as f64).ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let (x, y) = logs.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0 / count, sum.1 + it.1 / count));
    let (up, down) = logs
        .iter()
        .fold((0.0, 0.0), |sum, it| (sum.0 + (it.0 - x) * (it.1 - y), sum.1 + (it.0 - x) * (it.0 - x)));
    up / down
}

fn text(case: Case) -> String {
    format!(
        "{:>8} {:>7} x {:>5} {:>8} {:>11}",
        case.members, case.subtopologies, case.partitions, case.standbys, case.members_per_process
    )
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for members in [100, 1_000] {
        for partitions in [10, 100] {
            for subtopologies in [10, 100] {
                for (standbys, members_per_process) in [(0, 1), (0, 50), (1, 1), (1, 50)] {
                    cases.push(case(members, subtopologies, partitions, standbys, members_per_process));
                }
            }
        }
    }
    cases
}

fn measure(case: Case, assignor: Assignor) -> (Duration, Duration, Duration) {
    let ids = (0..case.subtopologies).map(|id| Str::from(id.to_string()));
    let space = TaskSpace::new(ids.enumerate().map(|(at, id)| (id, case.partitions, at % 2 == 0)));
    // Process ids have the length of a UUID and begin alike.
    let process = |at: usize| Str::from(format!("{:0>36}", at / case.members_per_process));
    let processes: Vec<Process> = (0..=case.members)
        .map(|at| {
            let number = at / case.members_per_process;
            let values =
                [number % PLACES, number / PLACES % PLACES].map(|it| Str::from(format!("place-{it}")));
            (process(at), values)
        })
        .collect();
    let (fresh, joined) = processes.split_last().map_or((&[][..], None), |(last, rest)| (rest, Some(last)));
    let (full, first) = best(|| fresh_spec(&space, case.standbys, fresh), |spec| assignor.assign(spec));
    let again = || spec_after(&space, case.standbys, fresh, joined, &first);
    let (join, _) = best(again, |spec| assignor.assign(spec));
    let (spec, _) = best(|| (), |()| again().members());
    (full, join, spec)
}

/// Its id, and its zone and rack.
type Process = (Str, [Str; 2]);

fn add<'a>(spec: &mut GroupSpec<'a>, process: &'a Process) -> Member {
    let member = spec.add_member(&process.0);
    spec.spread_values(member, process.1.iter().map(Some));
    member
}

fn fresh_spec<'a>(space: &'a TaskSpace, standbys: u32, processes: &'a [Process]) -> GroupSpec<'a> {
    let mut spec = GroupSpec::new(space, standbys);
    for process in processes {
        add(&mut spec, process);
    }
    spec
}

fn spec_after<'a>(
    space: &'a TaskSpace,
    standbys: u32,
    processes: &'a [Process],
    joined: Option<&'a Process>,
    before: &GroupAssignment,
) -> GroupSpec<'a> {
    let tasks = before.by_member();
    let name = |task: &Task| space.name(*task);
    let mut spec = GroupSpec::new(space, standbys);
    for (at, process) in (0..).map(Member).zip(processes) {
        let member = add(&mut spec, process);
        spec.previous_active(member, tasks.active(at).iter().filter_map(name));
        spec.previous_standby(member, tasks.standby(at).iter().filter_map(name));
    }
    joined.into_iter().for_each(|process| {
        add(&mut spec, process);
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
    let started = Instant::now();
    let first = once();
    (1..RUNS).take_while(|_| started.elapsed() < PATIENCE).fold(first, |(least, _), _| {
        let (time, output) = once();
        (least.min(time), output)
    })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
