//! Who a connection speaks for, and what it may do.

pub mod authorizer;

pub use authorizer::{AllowAll, Authorizer, Operation, Resource, authorized_operations};
