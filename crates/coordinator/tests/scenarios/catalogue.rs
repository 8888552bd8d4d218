//! Counts the scenarios of the two catalogues: each number is carried by a script, or by a test that a table names, or
//! stands in a table with the tests that show it, or with the reason why not.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A catalogue of the specification.
pub(crate) struct Catalogue {
    pub name: &'static str,
    /// The word after `# scenario` in scripts.
    pub word: &'static str,
    /// The last number.
    pub last: u32,
    /// Scenarios with a letter behind their number.
    pub lettered: &'static [&'static str],
    /// Has the tables, below `scenarios`.
    pub readme: &'static str,
}

const OTHER_TESTS: &str = "### Shown by other tests";
/// Files that do not name the number.
const OTHER_FILES: &str = "### Shown without their numbers";
const DO_NOT_APPLY: &str = "### Do not apply";
const NOT_YET: &str = "### Not yet";

pub(crate) const CATALOGUES: [Catalogue; 2] = [
    Catalogue {
        name: "streams groups",
        word: "",
        last: 372,
        lettered: &["62a", "62b", "348a"],
        readme: "streams/README.md",
    },
    Catalogue {
        name: "classic and consumer groups",
        word: "classic",
        last: 344,
        lettered: &[],
        readme: "README.md",
    },
];

impl Catalogue {
    /// Prints the counts; panics if a number is nowhere, in several places, or not in the test that shall have it.
    pub(crate) fn check(&self, scripts: &BTreeSet<(String, u32)>) {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(package.join("scenarios").join(self.readme)).expect("the README");
        let scripts = scripts.iter().filter(|(word, _)| word == self.word).map(|(_, it)| it.to_string());
        let scripts: BTreeSet<String> = scripts.collect();
        let (tests, files) = (rows(&text, OTHER_TESTS), rows(&text, OTHER_FILES));
        tests.iter().for_each(|row| carries(package, row));
        files.iter().for_each(|row| exist(package, row));
        let reasons = self.reasons(&text);
        let elsewhere: BTreeSet<String> =
            tests.into_iter().chain(files).flat_map(|row| row.numbers).collect();
        let numbered = (1..=self.last).map(|it| it.to_string());
        let all: BTreeSet<String> = numbered.chain(self.lettered.iter().map(ToString::to_string)).collect();
        // Written past the test harness, which keeps what a passing test prints to itself.
        let _ = writeln!(
            std::io::stderr(),
            "{}: {} scenarios, {} shown ({} by scripts, {} by other tests), {} listed with the reason why not",
            self.name,
            all.len(),
            scripts.len() + elsewhere.len(),
            scripts.len(),
            elsewhere.len(),
            reasons.len(),
        );
        let places = [&scripts, &elsewhere, &reasons];
        let missing: Vec<_> = all.iter().filter(|it| !places.iter().any(|set| set.contains(*it))).collect();
        assert!(missing.is_empty(), "scenarios that are nowhere: {missing:?}");
        let twice = |it: &&String| places.iter().filter(|set| set.contains(*it)).count() > 1;
        let twice: Vec<_> = all.iter().filter(twice).collect();
        assert!(twice.is_empty(), "scenarios that are in several places: {twice:?}");
        let unknown: Vec<_> =
            places.iter().flat_map(|set| set.iter()).filter(|it| !all.contains(*it)).collect();
        assert!(unknown.is_empty(), "no such scenarios: {unknown:?}");
    }

    fn reasons(&self, text: &str) -> BTreeSet<String> {
        let rows = [DO_NOT_APPLY, NOT_YET].into_iter().flat_map(|heading| rows(text, heading));
        rows.flat_map(|row| row.numbers).collect()
    }
}

/// A row of a table.
struct Row {
    numbers: BTreeSet<String>,
    /// What stands in backticks in the second cell.
    names: Vec<String>,
}

/// The rows below a heading: `| 5, 105–107 | text |`.
fn rows(text: &str, heading: &str) -> Vec<Row> {
    let Some((_, table)) = text.split_once(heading) else { return Vec::new() };
    let table = table.split("\n#").next().unwrap_or_default();
    let row = |line: &str| {
        let (cell, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
        let numbers = numbers(cell, &[", "]);
        let names = rest.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect();
        (!numbers.is_empty()).then_some(Row { numbers, names })
    };
    table.lines().filter_map(row).collect()
}

/// A list at the start of a text: `5, 105–107, 62a`. What separates numbers is one of `between`.
fn numbers(text: &str, between: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = text.trim_start();
    while let Some((number, behind)) = number(rest) {
        let last = ["–", "-", " to "].iter().find_map(|it| self::number(behind.strip_prefix(it)?));
        match last {
            Some((last, behind)) => {
                let (first, last) = (number.parse::<u32>(), last.parse::<u32>());
                let (Ok(first), Ok(last)) = (first, last) else { panic!("not a range: {text}") };
                found.extend((first..=last).map(|it| it.to_string()));
                rest = behind;
            }
            None => {
                found.insert(number.to_owned());
                rest = behind;
            }
        }
        let Some(next) = between.iter().find_map(|it| rest.strip_prefix(it)) else { break };
        rest = next;
    }
    found
}

/// Digits, and a letter if it ends the word.
fn number(text: &str) -> Option<(&str, &str)> {
    let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (_, behind) = text.split_at(digits);
    let mut after = behind.chars();
    let lettered = after.next().is_some_and(|it| it.is_ascii_lowercase())
        && !after.next().is_some_and(char::is_alphanumeric);
    (digits > 0).then(|| text.split_at(digits + usize::from(lettered)))
}

/// The files and folders that a row names; other words in backticks have no slash.
fn paths(package: &Path, row: &Row) -> Vec<PathBuf> {
    let path = |name: &String| {
        let from_root = ["crates/", "interop/"].iter().any(|it| name.starts_with(it));
        if from_root { package.join("../..").join(name) } else { package.join(name) }
    };
    row.names.iter().filter(|it| it.contains('/')).map(path).collect()
}

/// Each number of the row stands in one of its files.
fn carries(package: &Path, row: &Row) {
    let carried: BTreeSet<String> =
        paths(package, row).iter().flat_map(|path| texts(path)).flat_map(|it| of_tests(&it)).collect();
    let missing: Vec<_> = row.numbers.difference(&carried).collect();
    assert!(missing.is_empty(), "{:?} do not carry {missing:?}", row.names);
}

/// The text of a file, or of each file in a folder.
fn texts(path: &Path) -> Vec<String> {
    if !path.is_dir() {
        let text = std::fs::read_to_string(path);
        return vec![text.unwrap_or_else(|why| panic!("{}: {why}", path.display()))];
    }
    let files = std::fs::read_dir(path).expect("a folder").map(|it| it.expect("a file").path());
    files.flat_map(|it| texts(&it)).collect()
}

/// The row names something that is there.
fn exist(package: &Path, row: &Row) {
    let paths = paths(package, row);
    assert!(!paths.is_empty(), "{:?} stand without a file", row.numbers);
    for path in paths {
        assert!(path.exists(), "{} of {:?} does not exist", path.display(), row.numbers);
    }
}

/// The numbers that a source file carries: in comments that begin with them, behind the word scenario in comments, and
/// in names of functions: `fn scenarios_12_and_28_…`, `fn s200_s203_…`.
fn of_tests(text: &str) -> BTreeSet<String> {
    let lists = [", ", " and "];
    let mut found = BTreeSet::new();
    for line in text.lines().map(str::trim_start) {
        if ["//", "#", "*", "/*"].iter().any(|it| line.starts_with(it)) {
            let comment = line.trim_start_matches(['/', '#', '*', '!', ' ']);
            found.extend(numbers(comment, &lists));
            for behind in comment.split("cenario").skip(1) {
                found.extend(numbers(behind.trim_start_matches(['s', ':', ' ']), &lists));
            }
        }
        let name = line.trim_start_matches("async ").strip_prefix("fn ").unwrap_or_default();
        if let Some(behind) = name.strip_prefix("scenario") {
            let words = behind.trim_start_matches(['s', '_']).replace('_', " ");
            found.extend(numbers(&words, &[" and ", " "]));
        } else if name.starts_with('s') {
            let parts = name.split('_').map_while(|it| it.strip_prefix('s'));
            found.extend(parts.filter(|it| it.parse::<u32>().is_ok()).map(ToOwned::to_owned));
        }
    }
    found
}

#[test]
fn numbers_are_read() {
    let list = |text: &str| numbers(text, &[", ", " and "]).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(list("5, 105–107, 62a and 9: more 8"), "105 106 107 5 62a 9");
    assert_eq!(list("225 to 227; 3"), "225 226 227");
    assert_eq!(list("4.1 has none"), "4");
    assert_eq!(list("none"), "");
    let tests = "/// 7, 8: text\nasync fn scenarios_17_to_19_and_21_text() {\nfn s200_s203_a_replica_1() {\n// as scenario 5 says\nlet x = 99;\n";
    assert_eq!(
        of_tests(tests).into_iter().collect::<Vec<_>>(),
        ["17", "18", "19", "200", "203", "21", "5", "7", "8"]
    );
}
