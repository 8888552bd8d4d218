//! Error codes, enumerations and features as constants.

use crate::emit_rust::put;
use crate::model::{Enum, EnumValue, ErrorLine, Feature, Literal, Type};
use crate::names;

/// Constants of `ErrorCode` and the table behind its methods.
#[must_use]
pub fn emit_errors(errors: &[ErrorLine]) -> String {
    let mut out = String::from("impl ErrorCode {\n");
    for it in errors {
        let retriable = if it.retriable { " (clients retry)" } else { "" };
        let doc = if it.doc.is_empty() { String::new() } else { format!(": {}", it.doc.replace('\n', " ")) };
        put!(out, "/// {}{retriable}{doc}", it.code);
        put!(out, "pub const {}: Self = Self({});", it.name, it.code);
    }
    put!(out, "}}");
    put!(out, "/// Every code that Kafka knows: code, name, whether clients retry, meaning.");
    put!(out, "pub static ERROR_CODES: &[(i16, &str, bool, &str)] = &[");
    for it in errors {
        put!(out, "({}, {:?}, {}, {:?}),", it.code, it.name, it.retriable, it.doc);
    }
    put!(out, "];");
    out
}

/// One module of constants per enumeration, and the features.
#[must_use]
pub fn emit_enums(enums: &[Enum], features: &[Feature]) -> String {
    let mut out = String::new();
    for it in enums {
        emit_enum(&mut out, it);
    }
    put!(out, "/// Every feature of a Kafka broker and its levels.");
    put!(out, "pub static FEATURES: &[Feature] = &[");
    for it in features {
        put!(out, "Feature {{ name: {:?}, min: {}, latest: {}, levels: &[", it.name, it.min, it.latest);
        for level in &it.levels {
            put!(
                out,
                "FeatureLevel {{ level: {}, name: {:?}, release: {:?}, bootstrap_metadata: {:?}, needs_metadata: {:?} }},",
                level.level,
                level.name,
                level.release.as_deref(),
                level.bootstrap_metadata,
                level.needs_metadata
            );
        }
        put!(out, "] }},");
    }
    put!(out, "];");
    out
}

fn emit_enum(out: &mut String, it: &Enum) {
    put!(out, "/// Values of `{}`.", it.name);
    put!(out, "pub mod {} {{", names::snake(&it.name));
    for value in &it.values {
        put!(out, "/// `{}`", value.name);
        put!(out, "pub const {}: {} = {};", value.name, rust_type(&value.ty), literal(value));
    }
    let numbers: Vec<_> = it.values.iter().filter(|it| matches!(it.value, Literal::Int(_))).collect();
    if !numbers.is_empty()
        && numbers.len() == it.values.len()
        && it.values.windows(2).all(|two| matches!(two, [a, b] if a.ty == b.ty))
    {
        emit_name(out, it);
    }
    put!(out, "}}");
}

/// `name(value)`: what Kafka calls the value in text.
fn emit_name(out: &mut String, it: &Enum) {
    let Some(first) = it.values.first() else { return };
    put!(out, "/// The value in text, as Kafka's tools and JSON show it.");
    put!(
        out,
        "#[must_use] pub const fn name(value: {}) -> Option<&'static str> {{ match value {{",
        rust_type(&first.ty)
    );
    let mut seen = Vec::new();
    for value in &it.values {
        if !seen.contains(&&value.value) {
            seen.push(&value.value);
            put!(out, "{} => Some({:?}),", literal(value), value.text.as_ref().unwrap_or(&value.name));
        }
    }
    put!(out, "_ => None,\n}} }}");
}

fn literal(value: &EnumValue) -> String {
    match &value.value {
        Literal::Bool(it) => it.to_string(),
        Literal::Int(it) => it.to_string(),
        Literal::String(it) => format!("{it:?}"),
    }
}

const fn rust_type(ty: &Type) -> &'static str {
    match ty {
        Type::Bool => "bool",
        Type::Int8 => "i8",
        Type::Int16 => "i16",
        Type::Uint16 => "u16",
        Type::Int32 => "i32",
        Type::Uint32 => "u32",
        Type::Int64 => "i64",
        Type::Float64 => "f64",
        Type::Uuid | Type::String | Type::Bytes | Type::Records | Type::Struct(_) => "&str",
    }
}
