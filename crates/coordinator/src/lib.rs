//! The machines that decide: groups and committed offsets (transactions and share state join them).
//!
//! Everything here is plain synchronous code. Events, the time, chance and the topics come in as
//! arguments; records, replies, deadlines and tasks go out as values. No file of this crate may
//! know sockets, tasks, clocks, storage or who is authorized.
//!
//! Reading order: [`machine`] (what a machine is), [`driver`] (how one is run), [`timers`], then
//! [`group`], the machine of `__consumer_offsets`. [`assign`] decides which member owns which task.
//!
//! Invariants:
//! * Hard state changes by records alone, through `Hard::apply`, live and on load alike.
//! * A reply leaves only when all records handed out before it are durable.
//! * The same machine, clock, entropy, image and events give the same output, byte for byte.

pub mod assign;
pub mod driver;
pub mod group;
pub mod machine;
pub mod timers;
pub mod txn;

pub use driver::{Batch, Driver, Round};
pub use machine::{
    At, Caller, Cx, Encoded, Entropy, Event, Machine, Millis, Output, TaskId, Ticket, TopicsChange,
};
