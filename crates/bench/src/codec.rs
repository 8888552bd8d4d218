//! `bench codec`: encode and decode of the hot messages, in turns with the other library.
#![expect(clippy::print_stdout, reason = "a command-line tool talks to its user")]

use std::process::Command;
use std::time::{Duration, Instant};

use crate::cases::{Case, Work, cases};

/// Turns of each row.
const ROUNDS: usize = 200;
/// How long one side works in a turn: short, so that on a busy machine most turns are not interrupted.
const TURN: Duration = Duration::from_micros(250);
/// What is wanted of each row, and of all in the geometric mean.
const ROW_MIN: f64 = 1.3;
const MEAN_MIN: f64 = 2.0;

/// Measures all cases and prints a line for each.
///
/// # Errors
/// The allocations can't be counted.
pub fn run() -> Result<(), String> {
    println!(
        "best of {ROUNDS} turns, in ns; the other library is kafka-protocol 0.18, by its faster way of encoding"
    );
    println!("{:<48} {:>8}  {:>9} {:>9} {:>6}", "message", "bytes", "ours", "theirs", "ratio");
    let (mut logs, mut lowest) = (Vec::new(), f64::INFINITY);
    for case in cases() {
        for (what, ratio) in measure(&case) {
            if let Some(ratio) = ratio {
                logs.push(ratio.ln());
                lowest = lowest.min(ratio);
                if ratio < ROW_MIN {
                    println!("    ^ {what} below {ROW_MIN}");
                }
            }
        }
    }
    let count = f64::from(u32::try_from(logs.len()).unwrap_or(1));
    let mean = (logs.iter().sum::<f64>() / count).exp();
    println!("geometric mean {mean:.2} (wanted {MEAN_MIN}), lowest {lowest:.2} (wanted {ROW_MIN})");
    allocations()
}

fn measure(case: &Case) -> Vec<(&'static str, Option<f64>)> {
    let theirs = case.theirs.as_ref();
    let mut rows = Vec::new();
    let decode = [Some(&case.ours.decode), theirs.map(|it| &it.decode), None];
    let encode = [
        Some(&case.ours.encode),
        theirs.map(|it| &it.encode),
        theirs.and_then(|it| it.encode_otherwise.as_ref()),
    ];
    for (what, works) in [("decode", decode), ("encode", encode)] {
        let [ours, first, second] = best(works);
        let other = first.min(second);
        let name = format!("{} {what}", case.name);
        let ratio = other.is_finite().then_some(other / ours);
        match ratio {
            Some(ratio) => println!("{name:<48} {:>8}  {ours:>9.1} {other:>9.1} {ratio:>6.2}", case.bytes),
            None => println!("{name:<48} {:>8}  {ours:>9.1} {:>9} {:>6}", case.bytes, "-", "-"),
        }
        rows.push((what, ratio));
    }
    rows
}

/// The least time of one repetition, in ns, for each that is there.
fn best(works: [Option<&Work>; 3]) -> [f64; 3] {
    let repetitions = works.map(|it| it.map_or(0, calibrated));
    let mut best = [f64::INFINITY; 3];
    for _ in 0..ROUNDS {
        for ((work, repetitions), best) in works.iter().zip(repetitions).zip(&mut best) {
            if let Some(work) = work {
                *best = best.min(timed(work, repetitions) * 1e9 / f64::from(repetitions));
            }
        }
    }
    best
}

/// As many repetitions as fill a turn.
fn calibrated(work: &Work) -> u32 {
    let mut repetitions = 1;
    while timed(work, repetitions) < TURN.as_secs_f64() / 4.0 && repetitions < 1 << 24 {
        repetitions *= 2;
    }
    repetitions * 4
}

fn timed(work: &Work, repetitions: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..repetitions {
        work();
    }
    start.elapsed().as_secs_f64()
}

/// The program beside this one that counts allocations.
fn allocations() -> Result<(), String> {
    let this = std::env::current_exe().map_err(|problem| problem.to_string())?;
    let counter = this.with_file_name("allocations");
    let status = Command::new(&counter).status();
    let status = status.map_err(|problem| format!("{}: {problem}", counter.display()))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", counter.display())) }
}
