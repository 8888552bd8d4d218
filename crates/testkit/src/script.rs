//! Golden scripts: text files of commands with the text that each of them must give.
//!
//! ```text
//! # What the script shows. Lines with a hash are kept and not run.
//! # scenario 12, 13-15
//!
//! a command
//! another command
//! ---
//! what both gave
//!
//! the next block of commands
//! ---
//! ```
//!
//! A block is lines of commands, a line `---` and the expected lines; a blank line ends it. With the
//! environment variable `UPDATE=1` the expected lines are rewritten with what came out; the diff is
//! then for a reviewer. With `ONLY=text` only scripts run whose path contains the text.
//!
//! A line `# scenario` names the numbers of the specification's scenarios that the script covers;
//! a word before the numbers names the catalogue: `# scenario classic 124`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Runs the commands of one script; a fresh one for each.
pub trait Runner {
    /// Runs one command and returns what it gave: lines without blank ones among them. An error
    /// means that the command itself is wrong.
    fn command(&mut self, line: &str) -> Result<String, String>;

    /// Follows the last command: checks what must hold after every script.
    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// What ran.
#[derive(Debug, Default, PartialEq)]
pub struct Report {
    pub scripts: usize,
    /// Scenario numbers by catalogue; the catalogue without a name is the empty text.
    pub scenarios: BTreeSet<(String, u32)>,
    /// Path and reason of each script that failed.
    pub failures: Vec<(PathBuf, String)>,
}

/// Runs all scripts below `dir` in the order of their paths, prints how many and how many scenarios
/// of the specification they cover, and panics if one failed.
pub fn run<R: Runner>(dir: &Path, new: impl Fn() -> R) -> Report {
    let only = env::var("ONLY").unwrap_or_default();
    let update = env::var("UPDATE").is_ok_and(|it| it == "1");
    let mut report = Report::default();
    for path in scripts(dir) {
        if path.to_string_lossy().contains(&only) {
            report.scripts += 1;
            report.run_file(&path, &mut new(), update);
        }
    }
    // Written past the test harness, which keeps what a passing test prints to itself.
    let _ = writeln!(io::stderr(), "{} scripts, {} scenarios", report.scripts, report.scenarios.len());
    let failures: String =
        report.failures.iter().map(|(path, why)| format!("\n== {}\n{why}", path.display())).collect();
    assert!(failures.is_empty(), "{} scripts failed\n{failures}", report.failures.len());
    report
}

impl Report {
    fn run_file(&mut self, path: &Path, runner: &mut impl Runner, update: bool) {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => return self.failures.push((path.into(), error.to_string())),
        };
        match scenarios(&text) {
            Ok(numbers) => self.scenarios.extend(numbers),
            Err(line) => self.failures.push((path.into(), format!("not numbers of scenarios: {line}"))),
        }
        match run_text(&text, runner) {
            Err(why) => self.failures.push((path.into(), why)),
            Ok(actual) if !expects_something(&actual) => {
                self.failures.push((path.into(), "nothing is expected, so nothing is shown".to_owned()));
            }
            Ok(actual) if actual == text => {}
            Ok(actual) if update => {
                if let Err(error) = fs::write(path, actual) {
                    self.failures.push((path.into(), error.to_string()));
                }
            }
            Ok(actual) => self.failures.push((path.into(), diff(&text, &actual))),
        }
    }
}

/// Runs a script and returns it with what came out in place of what was expected.
pub fn run_text(text: &str, runner: &mut impl Runner) -> Result<String, String> {
    let mut out = String::new();
    let mut lines = text.lines().enumerate().peekable();
    let mut gave = String::new();
    while let Some((number, line)) = lines.next() {
        let command = line.trim();
        if command == "---" {
            while lines.next_if(|(_, it)| !it.trim().is_empty()).is_some() {}
            let _ = writeln!(out, "---");
            out.push_str(&std::mem::take(&mut gave));
            continue;
        }
        if command.is_empty() && !gave.is_empty() {
            let _ = write!(out, "---\n{}", std::mem::take(&mut gave));
        }
        let _ = writeln!(out, "{}", line.trim_end());
        if command.is_empty() || command.starts_with('#') {
            continue;
        }
        let at = |why| format!("line {}: {command}\n  {why}", number + 1);
        let lines = runner.command(command).map_err(at)?;
        lines.lines().for_each(|it| {
            let _ = writeln!(gave, "{}", it.trim_end());
        });
    }
    if !gave.is_empty() {
        let _ = writeln!(out, "---\n{}", gave.trim_end());
    }
    runner.finish().map_err(|why| format!("after the last line\n  {why}"))?;
    Ok(out)
}

/// Whether some line stands behind a `---`.
fn expects_something(text: &str) -> bool {
    text.lines().skip_while(|it| *it != "---").any(|it| !["", "---"].contains(&it) && !it.starts_with('#'))
}

/// All `.scn` files below a folder, sorted.
fn scripts(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<_> = entries.filter_map(|it| it.ok().map(|it| it.path())).collect();
    paths.sort();
    paths
        .into_iter()
        .flat_map(|path| match path.extension() {
            _ if path.is_dir() => scripts(&path),
            Some(it) if it == "scn" => vec![path],
            Some(_) | None => Vec::new(),
        })
        .collect()
}

/// The numbers of `# scenario` lines; an error is the line that could not be read.
fn scenarios(text: &str) -> Result<BTreeSet<(String, u32)>, &str> {
    let mut numbers = BTreeSet::new();
    for line in text.lines() {
        let rest = line.strip_prefix("# scenarios").or_else(|| line.strip_prefix("# scenario"));
        let Some(rest) = rest else { continue };
        let rest = rest.trim_start_matches([' ', ':']);
        let catalogue = rest.split(|it: char| !it.is_ascii_alphabetic()).next().unwrap_or_default();
        let list = rest.strip_prefix(catalogue).unwrap_or(rest);
        for part in list.split(',') {
            let (first, last) = part.split_once(['-', '–']).unwrap_or((part, part));
            let bounds = (first.trim().parse::<u32>(), last.trim().parse::<u32>());
            let (Ok(first), Ok(last)) = bounds else { return Err(line) };
            numbers.extend((first..=last).map(|it| (catalogue.to_owned(), it)));
        }
    }
    Ok(numbers)
}

/// Lines of both texts: common ones around the differences, `-` expected, `+` actual.
fn diff(expected: &str, actual: &str) -> String {
    let (expected, actual): (Vec<_>, Vec<_>) = (expected.lines().collect(), actual.lines().collect());
    let longest = longest_common(&expected, &actual);
    let mut out = String::new();
    let (mut left, mut right) = (0, 0);
    let mut unchanged: Vec<&str> = Vec::new();
    for (to_left, to_right) in longest.into_iter().chain([(expected.len(), actual.len())]) {
        if left < to_left || right < to_right {
            unchanged.iter().rev().take(3).rev().for_each(|it| {
                let _ = writeln!(out, "  {it}");
            });
            unchanged.clear();
        }
        for line in expected.iter().take(to_left).skip(left) {
            let _ = writeln!(out, "- {line}");
        }
        for line in actual.iter().take(to_right).skip(right) {
            let _ = writeln!(out, "+ {line}");
        }
        unchanged.extend(expected.get(to_left).copied());
        (left, right) = (to_left + 1, to_right + 1);
    }
    out
}

/// Positions of the longest common subsequence. Scripts are short, so the square table will do.
fn longest_common(left: &[&str], right: &[&str]) -> Vec<(usize, usize)> {
    let width = right.len() + 1;
    let mut table = vec![0_u32; (left.len() + 1) * width];
    let at = |table: &[u32], i: usize, j: usize| table.get(i * width + j).copied().unwrap_or(0);
    for (i, a) in left.iter().enumerate().rev() {
        for (j, b) in right.iter().enumerate().rev() {
            let best = if a == b {
                at(&table, i + 1, j + 1) + 1
            } else {
                at(&table, i + 1, j).max(at(&table, i, j + 1))
            };
            if let Some(cell) = table.get_mut(i * width + j) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while let (Some(a), Some(b)) = (left.get(i), right.get(j)) {
        if a == b {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if at(&table, i + 1, j) >= at(&table, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says what it is told; `bad` is no command, `ruin` makes the end fail.
    #[derive(Default)]
    struct Echo(bool);

    impl Runner for Echo {
        fn command(&mut self, line: &str) -> Result<String, String> {
            self.0 |= line == "ruin";
            if line == "bad" { Err("no such command".into()) } else { Ok(format!("said {line}")) }
        }
        fn finish(&mut self) -> Result<(), String> {
            if self.0 { Err("ruined".into()) } else { Ok(()) }
        }
    }

    fn check(text: &str, expected: &str) {
        let actual = run_text(text, &mut Echo::default()).unwrap_or_else(|why| why);
        assert_eq!(actual, expected);
    }

    #[test]
    fn a_script_that_holds_comes_back_as_it_is() {
        let text = "# title\n\na\nb\n---\nsaid a\nsaid b\n\n# more\nc\n---\nsaid c\n";
        check(text, text);
    }

    #[test]
    fn what_came_out_takes_the_place_of_what_was_expected() {
        check("a\n---\nelse\nmore\n\nb\n---\n", "a\n---\nsaid a\n\nb\n---\nsaid b\n");
    }

    #[test]
    fn a_script_without_expectation_gets_one() {
        check("a\n", "a\n---\nsaid a\n");
        check("a\n\nb\n", "a\n---\nsaid a\n\nb\n---\nsaid b\n");
    }

    #[test]
    fn wrong_commands_and_failed_checks_name_their_place() {
        check("a\nbad\n", "line 2: bad\n  no such command");
        check("ruin\n", "after the last line\n  ruined");
    }

    #[test]
    fn scenario_numbers_are_gathered() {
        let numbers = scenarios("# scenario 12, 14-16\n# scenario classic 124\n").unwrap();
        let expected: Vec<_> = [12, 14, 15, 16].iter().map(|it| (String::new(), *it)).collect();
        assert!(expected.iter().all(|it| numbers.contains(it)));
        assert!(numbers.contains(&("classic".to_owned(), 124)));
        assert_eq!(numbers.len(), 5);
        assert!(scenarios("# scenario twelve").is_err());
    }

    #[test]
    fn a_diff_shows_what_differs() {
        assert_eq!(diff("a\nb\nc\n", "a\nx\nc\n"), "  a\n- b\n+ x\n");
        assert_eq!(diff("a\n", "a\nb\n"), "  a\n+ b\n");
    }

    #[test]
    fn a_failing_script_is_reported_and_an_update_repairs_it() {
        let dir = env::temp_dir().join(format!("testkit-{}", crate::seed::seed()));
        fs::create_dir_all(dir.join("sub")).unwrap();
        fs::write(dir.join("sub/one.scn"), "# scenario 7\na\n---\nelse\n").unwrap();
        let mut report = Report::default();
        let path = scripts(&dir).pop().unwrap();
        report.run_file(&path, &mut Echo::default(), false);
        assert_eq!(report.failures.len(), 1);
        let mut report = Report::default();
        report.run_file(&path, &mut Echo::default(), true);
        report.run_file(&path, &mut Echo::default(), false);
        assert_eq!(report.failures, []);
        assert_eq!(report.scenarios.len(), 1);
        fs::remove_dir_all(dir).unwrap();
    }
}
