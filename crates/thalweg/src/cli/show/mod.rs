//! Output of the commands as pure functions of what brokers answered. Tables are aligned, without lines drawn.

pub(super) mod endpoints;
pub(super) mod events;
pub(super) mod json;
pub(super) mod list;
pub(super) mod tasks;
#[cfg(test)]
mod tests;
pub(super) mod topology;
pub(super) mod txn;
pub(super) mod why;

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Stands for what is not there in tables for people.
const NOTHING: &str = "-";
/// Shortest form of an id that people still tell from a number.
const ID_MIN: usize = 6;
const DAY: i64 = 86_400_000;

/// Names come from clients: what would move the cursor or break the row is escaped.
fn plain(cell: &str) -> String {
    let escaped = |it: char| if it.is_control() { it.escape_default().to_string() } else { it.to_string() };
    cell.chars().map(escaped).collect()
}

/// Rows under a header, each column as wide as its widest cell; nothing follows the last one.
fn table<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    let rows: Vec<_> = rows.iter().map(|row| row.each_ref().map(|cell| plain(cell))).collect();
    let mut widths = header.map(|it| it.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    let header = header.map(str::to_owned);
    for row in [&header].into_iter().chain(&rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Every line further to the right.
fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |out, line| out + "  " + line + "\n")
}

/// A text broken at blanks, at most 96 characters a line, each line after this indent.
fn wrapped(text: &str, indent: &str) -> String {
    const WIDTH: usize = 96;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines.iter().fold(String::new(), |out, line| out + indent + line + "\n")
}

/// Year, month and day of a time (proleptic Gregorian calendar, UTC).
fn date(millis: i64) -> (i64, i64, i64) {
    // Days since 0000-03-01: years that begin in March end with the leap day.
    let days = millis.div_euclid(DAY) + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// `12:04:31.250`, UTC.
fn clock(millis: i64) -> String {
    let of_day = millis.rem_euclid(DAY);
    let (seconds, millis) = (of_day / 1000, of_day % 1000);
    format!("{:02}:{:02}:{:02}.{millis:03}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// RFC 3339, UTC.
fn rfc3339(millis: i64) -> String {
    let (year, month, day) = date(millis);
    format!("{year:04}-{month:02}-{day:02}T{}Z", clock(millis))
}

/// The shortest beginnings of ids, of at least [`ID_MIN`] characters, that tell all of them apart.
fn short_ids<'a>(ids: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, String> {
    let mut ids: Vec<&str> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    let head = |id: &str, length: usize| id.chars().take(length).collect::<String>();
    let longest = ids.iter().map(|it| it.chars().count()).max().unwrap_or(0);
    let length = (ID_MIN..=longest).find(|length| {
        let mut heads: Vec<_> = ids.iter().map(|it| head(it, *length)).collect();
        heads.dedup();
        heads.len() == ids.len()
    });
    let length = length.unwrap_or_else(|| longest.max(ID_MIN));
    ids.into_iter().map(|it| (it, head(it, length))).collect()
}

fn or_nothing(text: String) -> String {
    if text.is_empty() { NOTHING.to_owned() } else { text }
}

/// `0,1,2` of partitions.
fn numbers(partitions: &[i32]) -> String {
    partitions.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
