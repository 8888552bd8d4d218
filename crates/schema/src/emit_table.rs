//! Static descriptor tables: what the generic walkers (JSON, explainer, documentation) know of a message.

use crate::emit_body::min_size;
use crate::emit_rust::put;
use crate::load::{Draft, Schema};
use crate::model::{Default, Field, Message, MessageKind, Type};
use crate::names;
use crate::versions::Versions;

/// The tables of all messages, and lists of them.
#[must_use]
pub fn emit(schema: &Schema) -> String {
    let mut out =
        "use crate::table::{Default, Field, Kind, Message, Struct, Tag, Type, Versions};\n".to_owned();
    let mut all = Vec::new();
    let apis = schema.apis.iter().flat_map(|it| [&it.request, &it.response]);
    let records = schema.topics.iter().flat_map(|it| &it.types).flat_map(|it| [&it.key, &it.value]);
    for it in apis.chain(&schema.headers).chain(&schema.embedded).chain(records) {
        emit_message(&mut out, it, None);
        all.push(format!("&{}", names::upper(&it.name)));
    }
    put!(out, "/// Every message: requests and responses by API key, headers, embedded data, records.");
    put!(out, "pub static MESSAGES: &[&Message] = &[{}];", all.join(", "));
    put!(out, "/// Request and response of every API, by key.");
    put!(out, "pub static APIS: &[(i16, &Message, &Message)] = &[");
    for it in &schema.apis {
        put!(out, "({}, &{}, &{}),", it.key, names::upper(&it.request.name), names::upper(&it.response.name));
    }
    put!(out, "];");
    put!(out, "/// Key and value of every record type, by topic (without `__`) and type.");
    put!(out, "pub static RECORDS: &[(&str, i16, &Message, &Message)] = &[");
    for (topic, it) in schema.topics.iter().flat_map(|topic| topic.types.iter().map(move |it| (topic, it))) {
        let (key, value) = (names::upper(&it.key.name), names::upper(&it.value.name));
        put!(out, "({:?}, {}, &{key}, &{value}),", topic.name, it.id);
    }
    put!(out, "];");
    emit_drafts(&mut out, &schema.drafts);
    out
}

/// Drafts stand in modules of their own, in none of the lists above: who wants them must ask for them.
fn emit_drafts(out: &mut String, drafts: &[Draft]) {
    for draft in drafts {
        put!(out, "/// The draft `{}`, never served.", draft.name);
        put!(out, "pub mod draft_{} {{", names::snake(&draft.name));
        put!(out, "#[allow(unused_imports)]");
        put!(out, "use crate::table::{{Default, Field, Kind, Message, Struct, Tag, Type, Versions}};");
        let apis = draft.apis.iter().flat_map(|it| [&it.request, &it.response]);
        let records = draft.types.iter().flat_map(|it| [&it.key, &it.value]);
        for it in apis.chain(records) {
            emit_message(out, it, Some(&draft.name));
        }
        put!(out, "}}");
    }
    put!(out, "/// Every draft.");
    put!(out, "pub static DRAFTS: &[crate::table::Draft] = &[");
    for draft in drafts {
        let at = format!("&draft_{}::", names::snake(&draft.name));
        put!(out, "crate::table::Draft {{ name: {:?}, apis: &[", draft.name);
        for it in &draft.apis {
            let (request, response) = (names::upper(&it.request.name), names::upper(&it.response.name));
            put!(out, "({}, {at}{request}, {at}{response}),", it.key);
        }
        put!(out, "], records: &[");
        for it in &draft.types {
            let (key, value) = (names::upper(&it.key.name), names::upper(&it.value.name));
            put!(out, "({}, {at}{key}, {at}{value}),", it.id);
        }
        put!(out, "] }},");
    }
    put!(out, "];");
}

fn emit_message(out: &mut String, message: &Message, draft: Option<&str>) {
    let table = names::upper(&message.name);
    put!(out, "pub static {table}: Message = Message {{");
    put!(out, "name: {:?}, kind: Kind::{}, id: {:?},", message.name, kind(message.kind), message.id);
    put!(out, "versions: {}, flexible: {},", range(message.versions), range(message.flexible));
    put!(out, "unstable: {:?}, deprecated: {},", message.unstable, range(message.deprecated));
    put!(out, "listeners: &{:?}, doc: {:?}, draft: {draft:?},", message.listeners, message.doc);
    emit_struct(out, message, "root: ", &message.name, message.versions, &message.fields);
    put!(out, "}};");
    for it in &message.structs {
        let head = format!("pub static {table}__{}: Struct = ", names::upper(&it.name));
        put!(out, "#[allow(non_upper_case_globals)]");
        emit_struct(out, message, &head, &it.name, it.versions, &it.fields);
        put!(out, ";");
    }
}

fn emit_struct(
    out: &mut String,
    message: &Message,
    head: &str,
    name: &str,
    versions: Versions,
    fields: &[Field],
) {
    put!(out, "{head}Struct {{ name: {name:?}, versions: {}, fields: &[", range(versions));
    for it in fields {
        emit_field(out, message, it);
    }
    put!(out, "] }}");
}

fn emit_field(out: &mut String, message: &Message, it: &Field) {
    put!(out, "Field {{ name: {:?}, json: {:?}, array: {},", it.name, names::json(&it.name), it.array);
    put!(
        out,
        "ty: {}, versions: {}, nullable: {},",
        ty(message, &it.ty),
        range(it.versions),
        range(it.nullable)
    );
    let tag = it.tag.map_or_else(
        || "None".to_owned(),
        |tag| format!("Some(Tag {{ number: {}, versions: {} }})", tag.number, range(tag.versions)),
    );
    put!(out, "tag: {tag}, default: {}, ignorable: {},", default(it), it.ignorable);
    put!(out, "map_key: {}, entity: {:?}, flexible: {},", it.map_key, it.entity, it.flexible);
    put!(out, "min_size: {}, doc: {:?} }},", min_size(&it.ty, message), it.doc);
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all other types have the same name there")]
fn ty(message: &Message, ty: &Type) -> String {
    match ty {
        Type::Struct(name) => {
            format!("Type::Struct(&{}__{})", names::upper(&message.name), names::upper(name))
        }
        plain => format!("Type::{plain:?}"),
    }
}

fn default(it: &Field) -> String {
    match &it.default {
        Default::OfType if it.ty == Type::Records => "Default::Null".to_owned(),
        Default::OfType => "Default::OfType".to_owned(),
        Default::Null => "Default::Null".to_owned(),
        Default::Bool(value) => format!("Default::Bool({value})"),
        Default::Int(n) => format!("Default::Int({n})"),
        Default::String(text) => format!("Default::String({text:?})"),
    }
}

fn range(versions: Versions) -> String {
    format!("Versions {{ low: {}, high: {} }}", versions.low, versions.high)
}

const fn kind(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Request => "Request",
        MessageKind::Response => "Response",
        MessageKind::Header => "Header",
        MessageKind::Data => "Data",
        MessageKind::Key => "Key",
        MessageKind::Value => "Value",
    }
}
