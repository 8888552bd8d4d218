//! Measurements for developers. Each is one run of one program that measures both sides in turns and prints their
//! ratio: times of single runs are not comparable on a busy machine.
//!
//! `cargo run --release -p bench -- COMMAND`; each prints what is wanted of it.

pub mod assign;
pub mod cases;
pub mod codec;
pub mod floor;
pub mod forward;
pub mod groups;
pub mod load;
pub mod members;
pub mod options;
pub mod process;
pub mod proxy;
pub mod replay;
pub mod report;
pub mod txn;
