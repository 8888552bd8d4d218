//! Runs all scripts of `scenarios/`. Their language stands in `scenarios/README.md`.

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
    testkit::script::run(&dir, world::World::new);
}
