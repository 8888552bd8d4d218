//! Consumers of both protocols under random events: members that join, leave, fall silent, lose responses,
//! repeat requests, go away and come back by the other protocol, and some that ask nonsense; topics that come,
//! grow and go, expressions, other policies, crashes that take what is not durable. `SEED=n` runs one again.
//!
//! After each step nobody holds a partition twice, epochs and generations do not go back, no member was told
//! what a crash took back, and a commit that was acknowledged is kept. While nothing is lost and nobody is
//! silent, no two clients believe to own one partition. At the end the log makes the live state, and when the
//! trouble stops the group comes to rest with each partition once.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test, though not inside its function")]

mod client;
#[path = "../harness/mod.rs"]
mod harness;
mod world;

use std::time::Instant;

use world::World;

/// `RUNS=n` makes more of them. The rate that is printed says something in a release build: `RUNS=200 cargo test
/// --release -p coordinator --test members_random -- --nocapture`; the aim is 10,000 steps a second.
const RUNS: u64 = 40;
const STEPS: usize = 250;
/// Seeds that once failed.
const KEPT: [u64; 7] = [33, 6057, 13041, 16055, 20003, 501_090, 638_302_591_283_837_893];

#[test]
#[expect(clippy::disallowed_methods, reason = "the rate is printed, nothing hangs on it")]
fn groups_survive_and_come_to_rest() {
    let first = testkit::seed::seed();
    let runs = std::env::var("RUNS").ok().map_or(RUNS, |it| it.parse().expect("RUNS is a number"));
    let start = Instant::now();
    let (mut steps, mut classic, mut consumer) = (0, 0, 0);
    for seed in KEPT.into_iter().chain(first..first.saturating_add(runs)) {
        let run = std::panic::catch_unwind(|| run(seed));
        let Ok(seen) = run else { panic!("run again with SEED={seed}") };
        steps += seen[0];
        classic += seen[1];
        consumer += seen[2];
    }
    let rate = steps as f64 / start.elapsed().as_secs_f64();
    println!(
        "{steps} steps, {rate:.0} a second; {classic} with classic groups, {consumer} with consumer groups"
    );
    let draws_both = classic > steps / 10 && consumer > steps / 10;
    assert!(runs < RUNS || draws_both, "both kinds of groups are drawn");
}

/// Gives the number of events that the shard saw, of these those with a classic and with a consumer group.
fn run(seed: u64) -> [usize; 3] {
    // With both protocols a group soon becomes a consumer group, so two runs of five have classic members only.
    let mut world = World::new(seed, seed % 5 < 2 && !KEPT.contains(&seed));
    for _ in 0..STEPS {
        world.something();
        world.check();
    }
    world.come_to_rest();
    world.bench.replay_equals_live();
    [world.events, world.classic_events, world.consumer_events]
}
