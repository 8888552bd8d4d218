//! Desk.
