//! Fields of a message as a Markdown table, and what its versions changed.

use std::collections::BTreeSet;

use explain::schema::full_type;
use wire::table::{Default, Field, Message, Struct, Type, Versions};

use super::{cell, line};

/// A table of all fields in wire order, those of structs below their field.
pub(super) fn table(out: &mut String, message: &'static Message) {
    if message.root.fields.is_empty() {
        line!(out, "No fields.");
        return;
    }
    line!(out, "| Field | Type | Versions | | Meaning |");
    line!(out, "|---|---|---|---|---|");
    rows(out, message.versions, &message.root, 0, &mut Vec::new());
}

/// A struct's fields are told once; where it occurs again, its name is enough.
fn rows(out: &mut String, within: Versions, it: &'static Struct, depth: usize, told: &mut Vec<&'static str>) {
    for field in it.fields {
        let dashes = "– ".repeat(depth);
        let versions = cut(field.versions, within);
        line!(
            out,
            "| {dashes}`{}` | {} | {versions} | {} | {} |",
            field.name,
            full_type(field),
            cell(&notes(field, versions)),
            cell(field.doc)
        );
        if let Type::Struct(inner) = field.ty
            && !told.contains(&inner.name)
        {
            told.push(inner.name);
            rows(out, versions, inner, depth + 1, told);
        }
    }
}

/// A range without what lies outside of the other; open where that is open.
fn cut(versions: Versions, within: Versions) -> Versions {
    let high = if versions.high >= within.high { i16::MAX } else { versions.high };
    Versions { low: versions.low.max(within.low), high }
}

/// What type and versions do not say.
fn notes(field: &Field, versions: Versions) -> String {
    let mut out = Vec::new();
    let of = |range: Versions| {
        if range.low <= versions.low && range.high >= versions.high {
            String::new()
        } else {
            format!(" {range}")
        }
    };
    if !field.nullable.is_empty() {
        out.push(format!("nullable{}", of(field.nullable)));
    }
    if let Some(tag) = field.tag {
        out.push(format!("tag {}{}", tag.number, of(tag.versions)));
    }
    match field.default {
        Default::OfType | Default::Bool(false) | Default::Int(0) | Default::String("") => {}
        Default::Null => out.push("default null".to_owned()),
        Default::Bool(it) => out.push(format!("default {it}")),
        Default::Int(it) => out.push(format!("default {it}")),
        Default::String(it) => out.push(format!("default {it:?}")),
    }
    if field.ignorable {
        out.push("ignorable".to_owned());
    }
    out.join(", ")
}

/// What a version changed against the one before.
#[derive(Default)]
struct Changes {
    added: Vec<String>,
    dropped: Vec<String>,
    nullable: Vec<String>,
    tagged: Vec<String>,
}

/// What a version changed against the one before, in a few words; empty for nothing.
pub(super) fn changes(message: &'static Message, version: i16) -> String {
    let mut found = Changes::default();
    changed(&mut found, &message.root, "", version);
    let mut out = Vec::new();
    if message.flexible.low == version && message.versions.low < version {
        out.push("flexible".to_owned());
    }
    let parts = [
        ("adds ", found.added, ""),
        ("drops ", found.dropped, ""),
        ("", found.nullable, " may be null"),
        ("", found.tagged, " tagged"),
    ];
    for (before, mut names, after) in parts {
        // A struct that occurs in several places changes once.
        let mut seen = BTreeSet::new();
        names.retain(|it| seen.insert(it.clone()));
        if !names.is_empty() {
            out.push(format!("{before}{}{after}", names.join(", ")));
        }
    }
    out.join("; ")
}

fn changed(out: &mut Changes, it: &'static Struct, path: &str, version: i16) {
    for field in it.fields {
        let name = format!("{path}{}", field.name);
        let before = version.checked_sub(1).is_some_and(|it| field.versions.contains(it));
        match (before, field.versions.contains(version)) {
            (false, true) => out.added.push(format!("`{name}`")),
            (true, false) => out.dropped.push(format!("`{name}`")),
            (false, false) => {}
            (true, true) => {
                if field.nullable.low == version {
                    out.nullable.push(format!("`{name}`"));
                }
                if field.tag.is_some_and(|it| it.versions.low == version) {
                    out.tagged.push(format!("`{name}`"));
                }
                if let Type::Struct(inner) = field.ty {
                    changed(out, inner, &format!("{name}."), version);
                }
            }
        }
    }
}
