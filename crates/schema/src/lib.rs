//! The schema compiler: reads the `.wire` files of `schema/`, checks them, and writes the Rust code of the
//! codec and its descriptor tables. `wire/build.rs` is its only user.
//!
//! It knows the notation and the wire format's types, not what any message means to a broker.

pub mod check;
pub mod emit_enums;
pub mod emit_records;
pub mod emit_rust;
pub mod emit_table;
pub mod model;
pub mod parse;

mod emit_body;
mod load;
mod names;
mod versions;

pub use load::{Schema, load};
pub use parse::ParseError;
pub use versions::Versions;

#[cfg(test)]
mod tests;

/// Everything that is generated, as (file name, content).
#[must_use]
pub fn generate(schema: &Schema) -> Vec<(&'static str, String)> {
    vec![
        ("messages.rs", emit_rust::emit(schema)),
        ("tables.rs", emit_table::emit(schema)),
        ("errors.rs", emit_enums::emit_errors(&schema.errors)),
        ("enums.rs", emit_enums::emit_enums(&schema.enums, &schema.features)),
    ]
}
