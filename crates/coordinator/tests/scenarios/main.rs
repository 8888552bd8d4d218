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

/// Folders of other machines, whose scripts have tests of their own.
const OTHERS: [&str; 1] = ["txn"];

#[test]
fn scenarios() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let folders = std::fs::read_dir(&dir).unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_dir());
    let mut folders: Vec<_> = folders.filter(|it| !OTHERS.iter().any(|other| it.ends_with(other))).collect();
    folders.sort();
    for folder in folders {
        testkit::script::run(&folder, world::World::new);
    }
}
