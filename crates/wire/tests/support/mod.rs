//! The golden vectors as rows, and the messages that they are of.
#![allow(dead_code, unreachable_pub, unused_imports)] // each test program uses its part

pub mod chance;
mod rows;

use wire::EVERY_MESSAGE;
use wire::message::Erased;

pub use rows::{Row, hex, rows, unhex};

impl Row {
    pub fn version(&self) -> i16 {
        self.number("version")
    }
}

pub fn message(name: &str) -> &'static Erased {
    EVERY_MESSAGE.iter().find(|it| it.table.name == name).unwrap_or_else(|| panic!("no message {name}"))
}
