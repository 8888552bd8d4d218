//! `thalweg docs`: the pages of `docs/` that are made from tables and not written by hand. Protocol and records come
//! from the schema, what is served from [`broker::api::APIS`], the checks from the handlers' module docs, settings
//! from [`catalog::config`].
//!
//! The pages are a pure function of the program, so `--check` can tell whether those of a folder are its own.

mod api;
mod config;
mod fields;
mod handlers;
mod matrix;
mod records;
mod smallest;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::{FAILED, Failure, print};

/// Exit code of `--check` if pages differ.
const DIFFERENT: u8 = 6;

/// What every generated page says at its top.
const NOTE: &str =
    "<!-- Made by `thalweg docs`. Do not edit: change the table that it comes from, and run it again. -->";

/// Appends a formatted line.
macro_rules! line {
    ($out:expr) => {{ $out.push('\n'); }};
    ($out:expr, $($arg:tt)*) => {{
        $out.push_str(&format!($($arg)*));
        $out.push('\n');
    }};
}
pub(crate) use line;

/// Writes the pages of the protocol, of records and of settings.
#[derive(Debug, clap::Args)]
pub(crate) struct Docs {
    /// Write nothing; end with code 6 if a page differs from what would be written.
    #[arg(long)]
    check: bool,
    /// The folder of the pages.
    #[arg(long, value_name = "DIR", default_value = "docs")]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Docs) -> Result<(), Failure> {
    let pages = pages();
    if arguments.check {
        let wrong = differences(&arguments.out, &pages);
        if wrong.is_empty() {
            return Ok(());
        }
        let list = wrong.join("\n");
        print(&list)?;
        let message = format!("{} pages differ; run `thalweg docs`", wrong.len());
        return Err(Failure::new(DIFFERENT, message));
    }
    write(&arguments.out, &pages).map_err(|problem| Failure::new(FAILED, problem))?;
    let bytes: usize = pages.values().map(String::len).sum();
    print(&format!("{} pages, {} KiB", pages.len(), bytes.div_ceil(1024)))?;
    Ok(())
}

/// Every page by its path below the folder.
fn pages() -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    out.insert("protocol/README.md".to_owned(), matrix::page());
    for it in api::all() {
        out.insert(format!("protocol/{}", api::file(it.0)), api::page(it));
    }
    out.insert("protocol/embedded.md".to_owned(), records::embedded());
    out.insert("protocol/drafts.md".to_owned(), records::drafts());
    out.insert("records.md".to_owned(), records::page());
    out.insert("config.md".to_owned(), config::page());
    out
}

/// Pages that are missing or other than they should be, and files that should not be there.
fn differences(folder: &Path, pages: &BTreeMap<String, String>) -> Vec<String> {
    let mut out = Vec::new();
    for (name, page) in pages {
        match fs::read_to_string(folder.join(name)) {
            Ok(found) if found == *page => {}
            Ok(_) => out.push(format!("differs: {name}")),
            Err(_) => out.push(format!("missing: {name}")),
        }
    }
    out.extend(strangers(folder, pages).iter().map(|it| format!("nobody's: {it}")));
    out
}

/// Files of the protocol's folder, which is ours alone, that are no page.
fn strangers(folder: &Path, pages: &BTreeMap<String, String>) -> Vec<String> {
    let found = fs::read_dir(folder.join("protocol")).into_iter().flatten().flatten();
    let names = found.map(|it| format!("protocol/{}", it.file_name().to_string_lossy()));
    let mut out: Vec<String> = names.filter(|it| !pages.contains_key(it)).collect();
    out.sort();
    out
}

fn write(folder: &Path, pages: &BTreeMap<String, String>) -> Result<(), String> {
    let failed = |path: &Path, problem: std::io::Error| format!("{}: {problem}", path.display());
    let protocol = folder.join("protocol");
    fs::create_dir_all(&protocol).map_err(|problem| failed(&protocol, problem))?;
    for (name, page) in pages {
        let path = folder.join(name);
        fs::write(&path, page).map_err(|problem| failed(&path, problem))?;
    }
    for name in strangers(folder, pages).iter().filter(|it| it.ends_with(".md")) {
        let path = folder.join(name);
        fs::remove_file(&path).map_err(|problem| failed(&path, problem))?;
    }
    Ok(())
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_whole_and_link_to_each_other() {
        let pages = pages();
        let bytes: usize = pages.values().map(String::len).sum();
        assert!(bytes < 3 << 20, "{bytes}");
        for (name, page) in &pages {
            assert!(page.starts_with("# ") && page.ends_with('\n') && !page.ends_with("\n\n"), "{name}");
            let links = page.split("](").skip(1).filter_map(|it| it.split_once(')')).map(|it| it.0);
            let folder = name.rsplit_once('/').map_or("", |it| it.0);
            for link in
                links.filter(|it| it.ends_with(".md") && !it.starts_with("../../") && !it.contains("design"))
            {
                let target = match link.strip_prefix("../") {
                    Some(above) => above.to_owned(),
                    None if folder.is_empty() => link.to_owned(),
                    None => format!("{folder}/{link}"),
                };
                assert!(pages.contains_key(&target), "{name} links to {link}");
            }
        }
    }

    #[test]
    fn what_is_served_stands_in_the_matrix() {
        let page = matrix::page();
        for api in broker::api::APIS {
            let row = format!("| {} | [{}](", api.key, api.name.trim_end_matches("Request"));
            assert!(page.contains(&row), "{row}");
        }
    }

    /// Each handler's page lists its checks; what they answer is explained.
    #[test]
    fn checks_of_handlers_are_shown() {
        let table = wire::table::api(42).unwrap();
        let page = api::page((42, table.0, table.1));
        assert!(
            page.contains("* **5.** it has no members, else `NON_EMPTY_GROUP` (in the shard)\n"),
            "{page}"
        );
        assert!(page.contains("| 68 | `NON_EMPTY_GROUP` |"), "{page}");
        for api in broker::api::APIS {
            assert!(
                handlers::of(api.key).is_some(),
                "no file of `crates/broker/src/api/` has (key {})",
                api.key
            );
        }
    }

    #[test]
    fn a_page_that_differs_is_found() {
        let folder = std::env::temp_dir().join(format!("thalweg-docs-{}", std::process::id()));
        let pages = BTreeMap::from([("a.md".to_owned(), "# a\n".to_owned())]);
        write(&folder, &pages).unwrap();
        assert!(differences(&folder, &pages).is_empty());
        fs::write(folder.join("a.md"), "# b\n").unwrap();
        fs::write(folder.join("protocol/old.md"), "# old\n").unwrap();
        assert_eq!(differences(&folder, &pages), ["differs: a.md", "nobody's: protocol/old.md"]);
        write(&folder, &pages).unwrap();
        assert!(differences(&folder, &pages).is_empty());
        fs::remove_dir_all(&folder).unwrap();
    }
}
