//! Streams groups under every order of events: model clients join, take over tasks, lose responses,
//! die and leave while topics and settings change and the shard is loaded again, from its whole log
//! or from what compaction leaves of it. After each event the invariants of the catalogue (18.20)
//! must hold; when the faults stop, the group must come to rest.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod client;
mod invariants;
mod world;

use world::World;

/// Enough for a dozen rebalances.
const EVENTS: usize = 300;

#[test]
fn any_order_of_events() {
    let mut warmups = 0;
    let runs = (1..=40).chain([testkit::seed::seed()]);
    for seed in runs {
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
    }
    assert!(warmups > 1000, "warm-ups are tested too: {warmups}");
}
