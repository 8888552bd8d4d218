//! Files of golden bytes as rows of columns. Tests of `explain` read them too.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use bytes::Bytes;
use flate2::read::GzDecoder;

/// A line of a file; columns by the names of its first line.
pub struct Row {
    names: Vec<String>,
    columns: Vec<String>,
}

impl Row {
    pub fn get(&self, name: &str) -> &str {
        let place = self.names.iter().position(|it| it == name);
        &self.columns[place.unwrap_or_else(|| panic!("no column {name}"))]
    }

    pub fn bytes(&self, name: &str) -> Bytes {
        unhex(self.get(name))
    }

    pub fn number<T: std::str::FromStr>(&self, name: &str) -> T {
        self.get(name).parse().unwrap_or_else(|_| panic!("{name} is no number"))
    }
}

/// The lines of a text, whose first names the columns.
pub fn split(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let split = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let names = split(lines.next().unwrap().trim_start_matches("# "));
    lines.map(|line| Row { names: names.clone(), columns: split(line) }).collect()
}

/// The text of a packed file of golden bytes.
pub fn text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/golden").join(file);
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

/// The lines of a packed file of golden bytes.
pub fn rows(file: &str) -> Vec<Row> {
    split(&text(file))
}

/// `-` is no bytes; white space means nothing.
pub fn unhex(hex: &str) -> Bytes {
    let digits: String = hex.chars().filter(|it| !it.is_whitespace() && *it != '-' && *it != '|').collect();
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}
