//! The fields of a message, whole or of one version: as a table for people, and as Kafka's JSON schema.

use std::borrow::Cow;
use std::fmt::Write as _;

use wire::json::Json;
use wire::table::{Default, Field, Kind, Message, Struct, Type};

use crate::text::shortened;
use crate::walk::type_name;

/// The type with `[]` for arrays.
#[must_use]
pub fn full_type(field: &Field) -> String {
    format!("{}{}", if field.array { "[]" } else { "" }, type_name(field.ty))
}

/// The default in words; empty where it is zero, false or empty by itself.
#[must_use]
pub fn default_text(field: &Field) -> String {
    match field.default {
        Default::OfType => String::new(),
        Default::Null => "null".to_owned(),
        Default::Bool(it) => it.to_string(),
        Default::Int(it) => it.to_string(),
        Default::String(it) => format!("{it:?}"),
    }
}

/// A heading and a row per field. With a version only its fields, in the order of the wire: tagged ones last.
#[must_use]
pub fn table(message: &Message, version: Option<i16>, descriptions: bool) -> String {
    let mut rows = vec![["FIELD", "TYPE", "VERSIONS", "NULL", "TAG", "DEFAULT"].map(str::to_owned).to_vec()];
    collect(&message.root, version, 0, &mut rows);
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|i| rows.iter().filter_map(|it| it.get(i)).map(|it| it.chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = heading(message, version);
    for row in &rows {
        let mut line = String::from("  ");
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        match row.get(columns) {
            Some(words) if descriptions => line.push_str(words),
            Some(_) | None => {}
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn heading(message: &Message, version: Option<i16>) -> String {
    let mut out = message.name.to_owned();
    if let Some(version) = version {
        let _ = write!(out, " v{version}");
    }
    let number = match message.kind {
        Kind::Request | Kind::Response => "key",
        Kind::Header | Kind::Data | Kind::Key | Kind::Value => "record type",
    };
    let mut facts = Vec::new();
    facts.extend(message.id.map(|id| format!("{number} {id}")));
    facts.push(format!("versions {}", message.versions));
    facts.push(format!("flexible {}", message.flexible));
    facts.extend(message.unstable.map(|it| format!("unstable {it}")));
    facts.extend((!message.deprecated.is_empty()).then(|| format!("deprecated {}", message.deprecated)));
    facts.extend(
        (!message.listeners.is_empty()).then(|| format!("listeners {}", message.listeners.join(", "))),
    );
    facts.extend(message.draft.map(|it| format!("draft {it}")));
    let _ = writeln!(out, " ({})", facts.join(", "));
    if !message.doc.is_empty() {
        let _ = writeln!(out, "{}", message.doc);
    }
    out
}

/// The fields of a struct in the order of the wire.
fn fields(it: &Struct, version: Option<i16>) -> Vec<&'static Field> {
    let all = || it.fields.iter();
    match version {
        None => all().collect(),
        Some(version) => {
            let plain = all().filter(|it| it.is_plain(version));
            plain.chain(all().filter(|it| it.is_tagged(version))).collect()
        }
    }
}

fn collect(it: &Struct, version: Option<i16>, depth: usize, rows: &mut Vec<Vec<String>>) {
    for field in fields(it, version) {
        let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        let nullable = if field.nullable.is_empty() { String::new() } else { field.nullable.to_string() };
        let tag = field.tag.map_or_else(String::new, |tag| format!("{}@{}", tag.number, tag.versions));
        rows.push(vec![
            format!("{}{}", "  ".repeat(depth), field.name),
            full_type(field),
            field.versions.to_string(),
            or_dash(nullable),
            or_dash(tag),
            or_dash(default_text(field)),
            shortened(field.doc),
        ]);
        if let Type::Struct(inner) = field.ty {
            collect(inner, version, depth + 1, rows);
        }
    }
}

type Entry = (Cow<'static, str>, Json);

fn entry(name: &'static str, value: impl Into<String>) -> Entry {
    (Cow::Borrowed(name), Json::String(value.into()))
}

/// The message as Kafka's schema files have it; reduced to a version if one is given.
#[must_use]
pub fn json(message: &Message, version: Option<i16>) -> Json {
    let kind = match message.kind {
        Kind::Request => "request",
        Kind::Response => "response",
        Kind::Header => "header",
        Kind::Data => "data",
        Kind::Key => "coordinator-key",
        Kind::Value => "coordinator-value",
    };
    let mut entries: Vec<Entry> = Vec::new();
    entries.extend(message.id.map(|id| (Cow::Borrowed("apiKey"), Json::Int(id.into()))));
    entries.push(entry("type", kind));
    if !message.listeners.is_empty() {
        let listeners = message.listeners.iter().map(|it| Json::String((*it).to_owned())).collect();
        entries.push((Cow::Borrowed("listeners"), Json::Array(listeners)));
    }
    entries.push(entry("name", message.name));
    entries.push(entry("validVersions", message.versions.to_string()));
    entries.push(entry("flexibleVersions", message.flexible.to_string()));
    entries.push((Cow::Borrowed("fields"), json_fields(&message.root, version)));
    Json::Object(entries)
}

fn json_fields(it: &Struct, version: Option<i16>) -> Json {
    Json::Array(fields(it, version).into_iter().map(|it| json_field(it, version)).collect())
}

fn json_field(it: &'static Field, version: Option<i16>) -> Json {
    let mut entries = vec![
        entry("name", it.name),
        entry("type", full_type(it)),
        entry("versions", it.versions.to_string()),
    ];
    if !it.nullable.is_empty() {
        entries.push(entry("nullableVersions", it.nullable.to_string()));
    }
    if let Some(tag) = it.tag {
        entries.push(entry("taggedVersions", tag.versions.to_string()));
        entries.push((Cow::Borrowed("tag"), Json::Int(tag.number.into())));
    }
    match it.default {
        Default::OfType => {}
        Default::Null => entries.push(entry("default", "null")),
        Default::Bool(value) => entries.push((Cow::Borrowed("default"), Json::Bool(value))),
        Default::Int(value) => entries.push((Cow::Borrowed("default"), Json::Int(value))),
        Default::String(value) => entries.push(entry("default", value)),
    }
    for (name, set) in [("ignorable", it.ignorable), ("mapKey", it.map_key)] {
        if set {
            entries.push((Cow::Borrowed(name), Json::Bool(true)));
        }
    }
    if !it.flexible {
        entries.push(entry("flexibleVersions", "none"));
    }
    entries.extend(it.entity.map(|entity| entry("entityType", entity)));
    if !it.doc.is_empty() {
        entries.push(entry("about", it.doc));
    }
    if let Type::Struct(inner) = it.ty {
        entries.push((Cow::Borrowed("fields"), json_fields(inner, version)));
    }
    Json::Object(entries)
}
