//! Streams groups under every order of events: model clients join, take over tasks, lose responses,
//! die and leave while connections close, topics and settings change and the shard is loaded again, from its
//! whole log, from what compaction leaves of it, or without what was not yet durable. After each event the
//! invariants of the catalogue (18.20) must hold; when the faults stop, the group must come to rest.
//!
//! `SEED=7` runs one seed more, `SIMULATE=5000` that many; the number of events that a shard saw in a second is
//! printed.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "measures time, decides nothing by it")]

mod client;
mod invariants;
mod lines;
mod world;

use std::io::Write as _;
use std::time::Instant;

use world::World;

/// Enough for a dozen rebalances.
const EVENTS: usize = 300;

#[test]
fn any_order_of_events() {
    let (mut warmups, mut noticed, mut mass, mut steps) = (0, 0, 0, 0);
    let started = Instant::now();
    let seed = testkit::seed::seed();
    let more = std::env::var("SIMULATE").map_or(1, |it| it.parse().expect("a number of seeds"));
    for seed in (1..=40).chain(seed..seed + more) {
        println!("SEED={seed}");
        let mut world = World::new(seed);
        for _ in 0..EVENTS {
            world.random_event();
        }
        world.come_to_rest();
        for _ in 0..EVENTS {
            world.event_of_a_ready_group();
        }
        world.come_to_rest();
        warmups += world.warmups;
        noticed += world.lines.noticed;
        mass += world.lines.mass;
        steps += world.steps;
    }
    // Written past the test harness, which keeps what a passing test prints to itself.
    let a_second = steps as f64 / started.elapsed().as_secs_f64();
    let _ = writeln!(std::io::stderr(), "streams groups: {steps} steps of the model, {a_second:.0} a second");
    assert!(warmups > 1000, "warm-ups are tested too: {warmups}");
    assert!(noticed > 10 && mass > 0, "closed connections are tested too: {noticed}, {mass}");
}
