//! Records of an internal topic: one module per topic, with its messages and an enum over its record types.

use crate::emit_rust::{emit_module, put};
use crate::load::Topic;
use crate::names;

pub(crate) fn emit(out: &mut String, topic: &Topic) {
    let log = format!("__{}", topic.name);
    put!(out, "/// Records of `{log}`.");
    put!(out, "pub mod {} {{", topic.name);
    for it in &topic.types {
        for message in [&it.key, &it.value] {
            let module = names::snake(&message.name);
            emit_module(out, &module, message, None);
            put!(out, "pub use {module}::{};", message.name);
        }
    }
    emit_enum(out, topic);
    put!(out, "}}");
}

/// The name of the variant: the key's without `Key`.
fn variant(name: &str) -> &str {
    name.strip_suffix("Key").unwrap_or(name)
}

fn emit_enum(out: &mut String, topic: &Topic) {
    put!(out, "/// A record of `__{}`: key, and value or tombstone.", topic.name);
    put!(out, "#[derive(Debug, Clone, PartialEq)]");
    put!(out, "#[allow(clippy::large_enum_variant)]");
    put!(out, "pub enum Record {{");
    for it in &topic.types {
        put!(out, "/// Record type {}.", it.id);
        put!(out, "{}({}, Option<{}>),", variant(&it.key.name), it.key.name, it.value.name);
    }
    put!(out, "}}");
    put!(out, "impl Record {{");
    put!(out, "/// The record type, which is also the number before the key.");
    put!(out, "#[must_use] pub const fn record_type(&self) -> i16 {{ match self {{");
    for it in &topic.types {
        put!(out, "Self::{}(..) => {},", variant(&it.key.name), it.id);
    }
    put!(out, "}} }}");
    put!(out, "/// Whether the record removes its key.");
    put!(out, "#[must_use] pub const fn is_tombstone(&self) -> bool {{ match self {{");
    for it in &topic.types {
        put!(out, "Self::{}(_, value) => value.is_none(),", variant(&it.key.name));
    }
    put!(out, "}} }}");
    put!(out, "}}");
    put!(out, "impl crate::record::LogRecord for Record {{");
    put!(out, "fn encode(&self) -> Result<(bytes::Bytes, Option<bytes::Bytes>), crate::EncodeError> {{");
    put!(out, "let version = crate::record::WrittenVersion::written_version(self);");
    put!(out, "match self {{");
    for it in &topic.types {
        put!(
            out,
            "Self::{}(key, value) => crate::record::encode({}, key, value.as_ref(), version),",
            variant(&it.key.name),
            it.id
        );
    }
    put!(out, "}} }}");
    put!(
        out,
        "fn decode(key: &bytes::Bytes, value: Option<&bytes::Bytes>) -> Result<Option<Self>, crate::DecodeError> {{"
    );
    put!(out, "let (record_type, mut key) = crate::record::record_type(key)?;");
    put!(out, "Ok(Some(match record_type {{");
    for it in &topic.types {
        put!(
            out,
            "{} => {{ let (key, value) = crate::record::decode(&mut key, value)?; Self::{}(key, value) }}",
            it.id,
            variant(&it.key.name)
        );
    }
    put!(out, "_ => return Ok(None),");
    put!(out, "}}))\n}}\n}}");
}
