//! What handlers say about themselves, gathered by the build script: their module docs as Markdown.

use std::collections::BTreeSet;

use wire::ErrorCode;
use wire::error_code::ERROR_CODES;

use super::line;

/// A handler file.
pub(super) struct Handler {
    pub key: i16,
    /// Below `crates/`.
    pub file: &'static str,
    pub doc: &'static str,
    /// Files where the checks go on, with their docs.
    pub cited: &'static [(&'static str, &'static str)],
}

include!(concat!(env!("OUT_DIR"), "/handlers.rs"));

/// The handler of an API.
pub(super) fn of(key: i16) -> Option<&'static Handler> {
    HANDLERS.iter().find(|it| it.key == key)
}

/// A piece of a module doc.
enum Piece {
    Text(String),
    /// A numbered check with its number.
    Check(String, String),
}

impl Handler {
    /// Paragraphs and checks, those of the files that it names, and a table of the error codes.
    pub(super) fn page(&self, out: &mut String) {
        line!(out, "## In Thalweg\n");
        self.section(out, self.doc, true);
        line!(out, "\nSource: [`{0}`](../../crates/{0})", self.file);
        for (file, doc) in self.cited.iter().filter(|it| pieces(it.1).iter().any(Piece::is_check)) {
            line!(out, "\n### Then, in [`{file}`](../../crates/{file})\n");
            self.section(out, doc, false);
        }
        let codes = self.codes();
        if !codes.is_empty() {
            line!(out, "\n### Error codes\n");
            line!(out, "| | Name | Clients retry | Meaning |");
            line!(out, "|---|---|---|---|");
            for code in codes {
                let retry = if code.is_retriable() { "yes" } else { "no" };
                line!(out, "| {} | `{}` | {retry} | {} |", code.code(), code.name(), code.meaning());
            }
        }
    }

    fn section(&self, out: &mut String, doc: &str, prose: bool) {
        let pieces = pieces(doc);
        let mut after_check = false;
        let mut first = true;
        for (i, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Check(number, text) => {
                    if !after_check && !first {
                        line!(out);
                    }
                    line!(out, "* **{number}** {}", quoted(text));
                    (after_check, first) = (true, false);
                }
                // The rest of a deeper file is about its inside; what leads to its checks is not.
                Piece::Text(text)
                    if prose || text.ends_with(':') && pieces.get(i + 1).is_some_and(Piece::is_check) =>
                {
                    if !first {
                        line!(out);
                    }
                    line!(out, "{}", quoted(text));
                    (after_check, first) = (false, false);
                }
                Piece::Text(_) => {}
            }
        }
    }

    /// Every error code that the docs name, by number.
    pub(super) fn codes(&self) -> BTreeSet<ErrorCode> {
        let docs = std::iter::once(self.doc).chain(self.cited.iter().map(|it| it.1));
        let words = docs
            .flat_map(|it| it.split(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_'));
        words.filter_map(code).filter(|it| it.is_error()).collect()
    }
}

impl Piece {
    const fn is_check(&self) -> bool {
        matches!(self, Self::Check(..))
    }
}

fn code(word: &str) -> Option<ErrorCode> {
    ERROR_CODES.iter().find(|it| it.1 == word).map(|it| ErrorCode(it.0))
}

/// Paragraphs and numbered checks. What costs a request is for those who read the source.
fn pieces(doc: &str) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    let mut open = false;
    for line in doc.lines() {
        let text = line.trim();
        let indented = line.starts_with("  ");
        if text.is_empty() {
            open = false;
        } else if let Some((number, rest)) = numbered(text) {
            out.push(Piece::Check(format!("{number}."), rest.to_owned()));
            open = true;
        } else {
            let goes_on = match out.last() {
                Some(Piece::Check(..)) => open && indented,
                Some(Piece::Text(_)) => open,
                None => false,
            };
            match out.last_mut() {
                Some(Piece::Check(_, before) | Piece::Text(before)) if goes_on => {
                    before.push(' ');
                    before.push_str(text);
                }
                Some(_) | None => out.push(Piece::Text(text.to_owned())),
            }
            open = true;
        }
    }
    out.retain(|it| !matches!(it, Piece::Text(text) if text.starts_with("Cost per ")));
    for Piece::Text(text) | Piece::Check(_, text) in &mut out {
        *text = without_references(&squeezed(text));
    }
    out
}

/// `12. text` is (12, text); a check that came in between is `12a. text`.
fn numbered(text: &str) -> Option<(&str, &str)> {
    let (number, rest) = text.split_once(". ")?;
    let digits = number.trim_end_matches(|it: char| it.is_ascii_lowercase());
    let right = number.len() - digits.len() <= 1 && digits.parse::<u32>().is_ok();
    right.then(|| (number, rest.trim()))
}

/// Numbers of rules, and of sections of documents that are not in the repository, mean nothing to a reader of a page.
fn without_references(text: &str) -> String {
    let mut parts = text.split(" (");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((inside, rest)) if inside.split([' ', ',', ';']).all(is_reference) => out.push_str(rest),
            Some(_) | None => {
                out.push_str(" (");
                out.push_str(part);
            }
        }
    }
    out
}

/// `12.3`, `H-26`, `broker-core.md`; not `KIP-848`.
fn is_reference(word: &str) -> bool {
    let name = word.trim_matches('`');
    let (letters, number) = name.split_once('-').unwrap_or(("", name));
    let numbered = !number.is_empty() && number.chars().all(|it| it.is_ascii_digit() || it == '.');
    let of_rule = letters != "KIP" && letters.chars().all(|it| it.is_ascii_uppercase());
    word.is_empty()
        || matches!(word, "trap" | "rule" | "TV1" | "TV2")
        || name.ends_with(".md")
        || numbered && of_rule
}

/// One space between words, and a comma before `else`, which the source aligns in columns.
fn squeezed(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut out = String::new();
    for word in words {
        if !out.is_empty() {
            let comma = word == "else" && !out.ends_with([',', ';', ':']);
            out.push_str(if comma { ", " } else { " " });
        }
        out.push_str(word);
    }
    out
}

/// Names of error codes as code, links to items of the source as their names.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.replace("[`", "`").replace("`]", "`").split('`').enumerate() {
        if i > 0 {
            out.push('`');
        }
        if i % 2 == 1 {
            out.push_str(part);
            continue;
        }
        let mut word = String::new();
        for c in part.chars().chain(std::iter::once('\0')) {
            if c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_' {
                word.push(c);
                continue;
            }
            let name = code(&word).is_some_and(ErrorCode::is_error);
            let tick = if name { "`" } else { "" };
            out.push_str(tick);
            out.push_str(&word);
            out.push_str(tick);
            word.clear();
            if c != '\0' {
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_to_rules_are_left_out() {
        let text =
            "a (H-26, 12.1) b (KIP-848) c (`broker-core.md` 12.8 rule 6), d (`request.rs`, 12.1) e (v4)";
        assert_eq!(without_references(text), "a b (KIP-848) c, d (`request.rs`, 12.1) e (v4)");
    }

    #[test]
    fn a_module_doc_becomes_markdown() {
        let doc = "Foo (key 1), v0.\n\nOf each:\n 1. it is [`there`]   else NOT_COORDINATOR, or\n    INVALID_REQUEST\n10a. open\n\nCost per call: none.\n\nThe end,\nfor NOW.";
        let handler = Handler { key: 1, file: "a.rs", doc, cited: &[] };
        let mut page = String::new();
        handler.section(&mut page, doc, true);
        assert_eq!(
            page,
            "Foo (key 1), v0.\n\nOf each:\n\n* **1.** it is `there`, else `NOT_COORDINATOR`, or `INVALID_REQUEST`\n* **10a.** open\n\nThe end, for NOW.\n"
        );
        let mut page = String::new();
        handler.section(&mut page, doc, false);
        assert!(page.starts_with("Of each:\n\n* **1.**") && page.ends_with("open\n"), "{page}");
        let codes: Vec<_> = handler.codes().iter().map(|it| it.code()).collect();
        assert_eq!(codes, [16, 42]);
    }
}
