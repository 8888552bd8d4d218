//! The golden vectors as rows.
#![allow(dead_code, unreachable_pub)] // each test program uses its part

pub mod chance;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use bytes::Bytes;
use flate2::read::GzDecoder;
use wire::EVERY_MESSAGE;
use wire::message::Erased;

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

    pub fn version(&self) -> i16 {
        self.get("version").parse().unwrap()
    }
}

pub fn rows(file: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(file);
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let mut lines = text.lines();
    let split = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let names = split(lines.next().unwrap().trim_start_matches("# "));
    lines.map(|line| Row { names: names.clone(), columns: split(line) }).collect()
}

/// `-` is no bytes.
pub fn unhex(hex: &str) -> Bytes {
    if hex == "-" {
        return Bytes::new();
    }
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

pub fn message(name: &str) -> &'static Erased {
    EVERY_MESSAGE.iter().find(|it| it.table.name == name).unwrap_or_else(|| panic!("no message {name}"))
}
