//! Types of messages, and the modules that they stand in.
//!
//! The bodies of `read`, `measure` and `write` come from `emit_body`. What is emitted relies on the hand-written
//! half of the codec in `wire`: `Cursor`, `Sizer`, the module `fill`, and the trait `Body`.

use crate::emit_body::{self, Shape};
use crate::emit_records;
use crate::load::{Api, Schema};
use crate::model::{Default, Field, Message, MessageKind, Type};
use crate::names;

/// Appends a formatted line.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        $out.push_str(&format!($($arg)*));
        $out.push('\n');
    }};
}
pub(crate) use put;

/// All modules of messages, and their names at the root of the crate.
#[must_use]
pub fn emit(schema: &Schema) -> String {
    let mut out = String::new();
    for api in &schema.apis {
        emit_api(&mut out, api);
    }
    for it in schema.headers.iter().chain(&schema.embedded) {
        emit_module(&mut out, &names::snake(&it.name), it, None);
        put!(out, "pub use {}::{};", names::snake(&it.name), it.name);
    }
    for topic in &schema.topics {
        emit_records::emit(&mut out, topic);
    }
    emit_dispatch(&mut out, schema);
    out
}

fn emit_api(out: &mut String, api: &Api) {
    let title = api.request.name.trim_end_matches("Request");
    put!(out, "/// {title} (API key {}).", api.key);
    put!(out, "pub mod {} {{", api.stem);
    emit_module(out, "request", &api.request, Some(&api.response));
    emit_module(out, "response", &api.response, Some(&api.request));
    put!(out, "}}");
    put!(out, "pub use {}::request::{};", api.stem, api.request.name);
    put!(out, "pub use {}::response::{};", api.stem, api.response.name);
}

/// One message with its nested structs. `other` is the other half of an API.
pub(crate) fn emit_module(out: &mut String, module: &str, message: &Message, other: Option<&Message>) {
    put!(out, "/// {} and the structs in it.", message.name);
    put!(out, "pub mod {module} {{");
    put!(
        out,
        "#![allow(unused_imports, unused_variables, unused_mut, unused_comparisons, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]"
    );
    put!(out, "use crate::message::Body as _;");
    let defaults = emit_body::structs_with_default_test(message);
    let root = Shape { message, name: &message.name, fields: &message.fields, versions: message.versions };
    emit_struct(out, &root, &message_doc(message), defaults.contains(message.name.as_str()));
    emit_message_impl(out, message, other);
    for it in &message.structs {
        let shape = Shape { message, name: &it.name, fields: &it.fields, versions: it.versions };
        emit_struct(
            out,
            &shape,
            &format!("Part of [`{}`].", message.name),
            defaults.contains(it.name.as_str()),
        );
    }
    put!(out, "}}");
}

fn message_doc(message: &Message) -> String {
    let versions = match (message.versions.is_empty(), message.versions.low == message.versions.high) {
        (true, _) => "no versions (removed)".to_owned(),
        (false, true) => format!("version {}", message.versions.low),
        (false, false) => format!("versions {} to {}", message.versions.low, message.versions.high),
    };
    let head = if message.doc.is_empty() { String::new() } else { format!("{} ", message.doc) };
    format!("{head}`{}`, {versions}.", message.name)
}

fn emit_struct(out: &mut String, shape: &Shape<'_>, doc: &str, default_test: bool) {
    let derive_default = shape.fields.iter().all(|it| default_value(it) == "Default::default()");
    let default = if derive_default { ", Default" } else { "" };
    put!(out, "/// {}", doc.replace('\n', " "));
    put!(out, "#[derive(Debug, Clone, PartialEq{default})]");
    put!(out, "pub struct {} {{", shape.name);
    for it in shape.fields {
        put!(out, "{}", field_doc(it));
        put!(out, "pub {}: {},", names::field(&it.name), rust_type(it));
    }
    if shape.flexible() {
        put!(out, "/// Tagged fields that the schema does not know, ascending; they are written back.");
        put!(out, "pub unknown_tagged_fields: crate::Tags,");
    }
    put!(out, "}}");
    if !derive_default {
        emit_default(out, shape);
    }
    if default_test {
        emit_body::emit_is_default(out, shape);
    }
    put!(out, "impl crate::message::Body for {} {{", shape.name);
    emit_body::emit_read(out, shape);
    emit_body::emit_measure(out, shape);
    emit_body::emit_write(out, shape);
    put!(out, "}}");
}

fn field_doc(field: &Field) -> String {
    let versions = match (field.versions.low, field.versions.high) {
        (low, crate::versions::OPEN) => format!("{low}+"),
        (low, high) if low == high => format!("{low}"),
        (low, high) => format!("{low}-{high}"),
    };
    let doc = if field.doc.is_empty() { String::new() } else { format!("{} ", field.doc.replace('\n', " ")) };
    format!("/// {doc}(`{}`, v{versions})", field.name)
}

fn emit_default(out: &mut String, shape: &Shape<'_>) {
    put!(out, "impl Default for {} {{ #[inline] fn default() -> Self {{ Self {{", shape.name);
    for it in shape.fields {
        put!(out, "{}: {},", names::field(&it.name), default_value(it));
    }
    if shape.flexible() {
        put!(out, "unknown_tagged_fields: Default::default(),");
    }
    put!(out, "}} }} }}");
}

/// The Rust type of a field.
pub(crate) fn rust_type(field: &Field) -> String {
    let one = if field.is_error_code() { "crate::ErrorCode" } else { rust_base(&field.ty) };
    let list = match field.array {
        true if field.is_broker_ids() => "crate::BrokerIds".to_owned(),
        true => format!("Vec<{one}>"),
        false => one.to_owned(),
    };
    if field.is_nullable() { format!("Option<{list}>") } else { list }
}

fn rust_base(ty: &Type) -> &str {
    match ty {
        Type::Bool => "bool",
        Type::Int8 => "i8",
        Type::Int16 => "i16",
        Type::Uint16 => "u16",
        Type::Int32 => "i32",
        Type::Uint32 => "u32",
        Type::Int64 => "i64",
        Type::Float64 => "f64",
        Type::Uuid => "crate::Uuid",
        Type::String => "crate::Str",
        Type::Bytes => "bytes::Bytes",
        Type::Records => "crate::Records",
        Type::Struct(name) => name,
    }
}

/// The default of a field as an expression of its Rust type.
pub(crate) fn default_value(field: &Field) -> String {
    match &field.default {
        Default::Null => "Default::default()".to_owned(),
        // Rule 8: nullable without `default=null` means empty, not null; but records are null.
        Default::OfType if field.ty == Type::Records => "Default::default()".to_owned(),
        Default::OfType if field.is_nullable() => "Some(Default::default())".to_owned(),
        Default::OfType | Default::Bool(false) | Default::Int(0) => "Default::default()".to_owned(),
        Default::String(text) if text.is_empty() && !field.is_nullable() => "Default::default()".to_owned(),
        Default::Bool(true) => "true".to_owned(),
        Default::Int(n) if field.is_error_code() => format!("crate::ErrorCode({n})"),
        Default::Int(n) => n.to_string(),
        Default::String(text) if field.is_nullable() => format!("Some(crate::Str::from_static({text:?}))"),
        Default::String(text) => format!("crate::Str::from_static({text:?})"),
    }
}

fn emit_message_impl(out: &mut String, message: &Message, other: Option<&Message>) {
    let (name, versions) = (&message.name, message.versions);
    put!(out, "impl crate::message::Message for {name} {{");
    put!(out, "const NAME: &'static str = {name:?};");
    put!(out, "const VERSIONS: std::ops::RangeInclusive<i16> = {}..={};", versions.low, versions.high);
    put!(out, "const TABLE: &'static crate::table::Message = &crate::tables::{};", names::upper(name));
    put!(out, "}}");
    let id = message.id.unwrap_or_default();
    match (message.kind, other) {
        (MessageKind::Request, Some(other)) => {
            put!(
                out,
                "impl crate::message::Request for {name} {{ type Response = super::response::{}; const KEY: i16 = {id}; }}",
                other.name
            );
        }
        (MessageKind::Response, _) => {
            put!(out, "impl crate::message::Response for {name} {{ const KEY: i16 = {id}; }}");
        }
        (
            MessageKind::Request
            | MessageKind::Header
            | MessageKind::Data
            | MessageKind::Key
            | MessageKind::Value,
            _,
        ) => {}
    }
}

/// A list of all messages with a function that decodes and encodes: for tests and fuzzers.
fn emit_dispatch(out: &mut String, schema: &Schema) {
    put!(out, "/// Every message by name, for tests that go over all of them.");
    put!(out, "#[doc(hidden)]");
    put!(out, "pub static EVERY_MESSAGE: &[crate::message::Erased] = &[");
    let apis = schema.apis.iter().flat_map(|it| [&it.request, &it.response]);
    let root = apis.chain(&schema.headers).chain(&schema.embedded).map(|it| (String::new(), it));
    let records = schema.topics.iter().flat_map(|topic| {
        let of = |it| (format!("{}::", topic.name), it);
        topic.types.iter().flat_map(move |it| [of(&it.key), of(&it.value)])
    });
    for (module, it) in root.chain(records).filter(|it| !it.1.versions.is_empty()) {
        put!(out, "crate::message::Erased::of::<{module}{}>(),", it.name);
    }
    put!(out, "];");
}
