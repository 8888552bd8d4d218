//! Scenarios of the streams specification (18.9 here; the others are scripts).

mod reconcile;
mod replay;
