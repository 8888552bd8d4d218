//! Runs the scripts of `scenarios/txn`. Their language stands in its README.

#[path = "../scenarios/args.rs"]
#[expect(dead_code, reason = "scripts about groups need more")]
mod args;
#[path = "../scenarios/clock.rs"]
mod clock;
mod show;
mod world;

use std::path::Path;

#[test]
fn transaction_scenarios() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/txn");
    testkit::script::run(&dir, world::World::new);
}
