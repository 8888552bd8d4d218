//! Sockets: bytes in, frames to the router, answers out. Nothing here knows what a request means.

pub mod connection;
pub(crate) mod input;
pub mod listener;
pub(crate) mod output;
