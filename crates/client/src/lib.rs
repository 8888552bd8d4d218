//! A small client for tests, the command line and the load generator: frames, pipelining, nothing clever.
//!
//! It knows no metadata and never reconnects: what to ask, and of whom, is up to its user.

mod connection;

pub use connection::{Connection, Error};
