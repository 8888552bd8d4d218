//! Runs the scripts of `scenarios/` about groups. Their language stands in `scenarios/README.md`.

mod args;
mod ask;
mod classic;
#[path = "../harness/compaction.rs"]
mod compaction;
mod consumer;
mod explain;
mod image;
mod show;
mod tasks;
mod world;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

/// Scenarios of the catalogue of classic and consumer groups.
const CLASSIC_SCENARIOS: u32 = 344;

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
        let report = testkit::script::run(&folder, world::World::new);
        scripts
            .extend(report.scenarios.into_iter().filter(|(it, _)| it == "classic").map(|(_, number)| number));
    }
    if std::env::var_os("ONLY").is_none() {
        none_is_missing(&dir.join("README.md"), &scripts);
    }
}

/// Each number of the catalogue is a script, or stands in one of the tables of the README.
fn none_is_missing(readme: &Path, scripts: &BTreeSet<u32>) {
    let text = std::fs::read_to_string(readme).expect("the README");
    let (_, tables) = text.split_once("### Shown by other tests").expect("the first table");
    let (elsewhere, not) = tables.split_once("### Do not apply").expect("the second table");
    let (elsewhere, not) = (numbers(elsewhere), numbers(not));
    // Written past the test harness, which keeps what a passing test prints to itself.
    let _ = writeln!(
        std::io::stderr(),
        "classic and consumer groups: {} of {CLASSIC_SCENARIOS} scenarios are scripts, {} other tests, {} do not apply",
        scripts.len(),
        elsewhere.len(),
        not.len()
    );
    for number in 1..=CLASSIC_SCENARIOS {
        let places = [scripts, &elsewhere, &not].iter().filter(|it| it.contains(&number)).count();
        assert!(places > 0, "scenario {number} is nowhere");
        assert!(places == 1, "scenario {number} is in several places");
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

/// The first cells of a table: `5, 105–107`.
fn numbers(table: &str) -> BTreeSet<u32> {
    let cells = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let parts =
        cells.flat_map(|cell| cell.split(", ")).filter(|it| it.starts_with(|it: char| it.is_ascii_digit()));
    let number = |text: &str| text.parse::<u32>().expect("a number");
    parts
        .flat_map(|it| {
            it.split_once('–').map_or_else(|| number(it)..=number(it), |(a, b)| number(a)..=number(b))
        })
        .collect()
}
