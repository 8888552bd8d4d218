//! Bytes in rows of 16 with what each belongs to (wire.md 20).

use std::fmt::Write as _;

use crate::node::{Category, Explained};
use crate::text::Style;

/// Bytes of a row.
const ROW: usize = 16;
/// Beyond this size offsets have eight digits.
const SHORT_MAX: usize = 65_536;

/// The category of every byte, by the leaves.
#[must_use]
pub fn categories(explained: &Explained) -> Vec<Category> {
    let mut out = vec![Category::Undecoded; explained.bytes.len()];
    for leaf in explained.root.leaves() {
        let range = leaf.offset..leaf.offset + leaf.length;
        out.get_mut(range).into_iter().flatten().for_each(|it| *it = leaf.category);
    }
    out
}

/// Rows of bytes; below them a block of letters, or colours in its place; a legend.
#[must_use]
pub fn layout(explained: &Explained, style: Style) -> String {
    let (bytes, categories) = (&explained.bytes, categories(explained));
    let digits = if bytes.len() > SHORT_MAX { 8 } else { 4 };
    let margin = " ".repeat(digits + 2);
    let mut out = format!("byte layout ({} bytes, {ROW} bytes per row)\n{margin}", bytes.len());
    let columns: Vec<String> = (0..ROW).map(|it| format!("{it:X}")).collect();
    let _ = writeln!(out, "{}", columns.join("  "));
    let mut hidden = explained.hidden.iter().peekable();
    for (row, (cells, kinds)) in bytes.chunks(ROW).zip(categories.chunks(ROW)).enumerate() {
        let start = row * ROW;
        let _ = write!(out, "{start:0digits$x} ");
        for (i, (byte, kind)) in cells.iter().zip(kinds).enumerate() {
            while hidden.next_if(|it| it.end <= start + i).is_some() {}
            let secret = hidden.peek().is_some_and(|it| it.contains(&(start + i)));
            let cell = if secret { "**".to_owned() } else { format!("{byte:02x}") };
            let _ = write!(out, " {}", style.paint(*kind, &cell));
        }
        out.push('\n');
    }
    if !style.colour {
        for kinds in categories.chunks(ROW) {
            let letters: Vec<String> = kinds.iter().map(|it| it.letter().to_string()).collect();
            let _ = writeln!(out, "{margin}{}", letters.join("  "));
        }
    }
    out.push_str(&legend(categories.contains(&Category::Undecoded), style));
    out
}

fn legend(undecoded: bool, style: Style) -> String {
    let extra = undecoded.then_some(Category::Undecoded);
    let words: Vec<String> = Category::LEGEND
        .into_iter()
        .chain(extra)
        .map(|it| style.paint(it, &format!("{} {}", it.letter(), it.as_str())))
        .collect();
    format!("{}\n", words.join(", "))
}

/// Bytes as hex, with `**` in place of those that are hidden.
#[must_use]
pub fn hex(explained: &Explained) -> String {
    let mut out = String::with_capacity(explained.bytes.len() * 2);
    let mut hidden = explained.hidden.iter().peekable();
    for (i, byte) in explained.bytes.iter().enumerate() {
        while hidden.next_if(|it| it.end <= i).is_some() {}
        if hidden.peek().is_some_and(|it| it.contains(&i)) {
            out.push_str("**");
        } else {
            let _ = write!(out, "{byte:02x}");
        }
    }
    out
}
