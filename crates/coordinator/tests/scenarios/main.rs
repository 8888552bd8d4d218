//! Runs the scripts of `scenarios/` about groups. Their language stands in `scenarios/README.md`.

mod args;
mod ask;
mod catalogue;
mod classic;
mod clock;
#[path = "../harness/compaction.rs"]
mod compaction;
mod consumer;
mod explain;
mod image;
mod show;
mod tasks;
mod world;

use std::collections::BTreeSet;
use std::path::Path;

/// Folders of other machines, whose scripts have tests of their own.
const OTHERS: [&str; 1] = ["txn"];

#[test]
fn scenarios() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let folders = std::fs::read_dir(&dir).unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_dir());
    let mut folders: Vec<_> = folders.filter(|it| !OTHERS.iter().any(|other| it.ends_with(other))).collect();
    folders.sort();
    let mut scripts = BTreeSet::new();
    for folder in folders {
        scripts.extend(testkit::script::run(&folder, world::World::new).scenarios);
    }
    if std::env::var_os("ONLY").is_none() {
        catalogue::CATALOGUES.iter().for_each(|it| it.check(&scripts));
    }
}
/// Codes of section 3 of the specification.
const CODES: usize = 38;

/// Each code of section 3 is answered in a test: the table of the README names a file that names the code.
#[test]
fn every_code_is_shown() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let text = std::fs::read_to_string(dir.join("README.md")).expect("the README");
    let (_, table) = text.split_once("| Code | Shown by |\n|---|---|\n").expect("the table of codes");
    let rows: Vec<_> = table.lines().map_while(|line| line.strip_prefix("| ")?.split_once(" | ")).collect();
    for (code, place) in &rows {
        let (number, name) = code.split_once(' ').expect("a number and a name");
        let known = number.parse::<i16>().map(wire::ErrorCode::from);
        assert_eq!(known.map(|it| it.name()), Ok(name), "{code}");
        let Some(path) = place.split('`').nth(1) else { continue };
        let root = if path.starts_with("crates/") { dir.join("../../..") } else { dir.clone() };
        let shows = std::fs::read_to_string(root.join(path)).is_ok_and(|it| it.contains(name));
        assert!(shows, "{code} is not in {path}");
    }
    let distinct: BTreeSet<_> = rows.iter().map(|(code, _)| code).collect();
    assert_eq!((rows.len(), distinct.len()), (CODES, CODES));
    // One has no file, for the reason that stands there.
    assert_eq!(rows.iter().filter(|(_, place)| !place.starts_with('`')).count(), 1);
}
