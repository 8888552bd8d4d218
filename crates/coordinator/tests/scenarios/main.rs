//! Runs the scripts of `scenarios/` about groups. Their language stands in `scenarios/README.md`.

mod args;
mod ask;
mod classic;
mod consumer;
mod explain;
mod image;
mod show;
mod tasks;
mod world;

use std::path::Path;

#[test]
fn scenarios() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    // Those of `txn` are run by `tests/txn_scenarios`.
    for group in ["classic", "consumer", "groups", "offsets", "streams"] {
        testkit::script::run(&dir.join(group), world::World::new);
    }
}
