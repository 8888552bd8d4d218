//! Scenarios as unit tests.
