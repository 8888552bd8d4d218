//! A small client for tests, the command line and the load generator: frames, pipelining, nothing clever.
//!
//! [`Connection`] is one connection and knows no more. [`Broker`] is one that a tool uses: it knows what is served
//! and finds coordinators. Neither reconnects.

mod cluster;
mod connection;

pub use cluster::{Broker, Software, Trouble};
pub use connection::{Connection, Error};
