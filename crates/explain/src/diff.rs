//! What changed between two versions of a message, or between a draft and the released message.

use std::borrow::Cow;

use wire::json::Json;
use wire::table::{Message, Struct, Type};

use crate::schema::{default_text, full_type};

/// A message in a version.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    pub message: &'static Message,
    pub version: i16,
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// `Groups[].Members[].MemberId`; empty for the message itself.
    pub path: String,
    pub kind: ChangeKind,
    /// What it is, or what became of it.
    pub words: String,
    /// What a field that came or went means.
    pub doc: &'static str,
}

/// What happened to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Added,
    Removed,
    Changed,
}

/// A field as it is in a version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shape {
    path: String,
    ty: String,
    nullable: bool,
    tag: Option<u32>,
    default: String,
    ignorable: bool,
    doc: &'static str,
}

impl Side {
    fn is_flexible(self) -> bool {
        self.message.flexible.contains(self.version)
    }

    fn shapes(self) -> Vec<Shape> {
        let mut out = Vec::new();
        collect(&self.message.root, self.version, "", &mut out);
        out
    }
}

fn collect(it: &'static Struct, version: i16, path: &str, out: &mut Vec<Shape>) {
    for field in it.fields.iter().filter(|it| it.versions.contains(version)) {
        let dot = if path.is_empty() { "" } else { "." };
        let array = if field.array { "[]" } else { "" };
        let here = format!("{path}{dot}{}{array}", field.name);
        out.push(Shape {
            path: here.clone(),
            ty: full_type(field),
            nullable: field.nullable.contains(version),
            tag: field.tag.filter(|_| field.is_tagged(version)).map(|it| it.number),
            default: default_text(field),
            ignorable: field.ignorable,
            doc: field.doc,
        });
        if let Type::Struct(inner) = field.ty {
            collect(inner, version, &here, out);
        }
    }
}

impl Shape {
    fn words(&self) -> String {
        let mut out = self.ty.clone();
        if self.nullable {
            out.push_str(", nullable");
        }
        if let Some(tag) = self.tag {
            out.push_str(&format!(", tag {tag}"));
        }
        if !self.default.is_empty() {
            out.push_str(&format!(", default {}", self.default));
        }
        if self.ignorable {
            out.push_str(", ignorable");
        }
        out
    }

    /// What became of it, in words; empty if nothing.
    fn became(&self, other: &Self) -> String {
        let mut words = Vec::new();
        if self.ty != other.ty {
            words.push(format!("{} became {}", self.ty, other.ty));
        }
        match (self.nullable, other.nullable) {
            (false, true) => words.push("may be null".to_owned()),
            (true, false) => words.push("may not be null any more".to_owned()),
            (true, true) | (false, false) => {}
        }
        match (self.tag, other.tag) {
            (None, Some(tag)) => words.push(format!("is tagged, tag {tag}")),
            (Some(_), None) => words.push("is not tagged any more".to_owned()),
            (Some(a), Some(b)) if a != b => words.push(format!("tag {a} became {b}")),
            (_, _) => {}
        }
        if self.default != other.default {
            let word = |it: &str| if it.is_empty() { "that of its type".to_owned() } else { it.to_owned() };
            words.push(format!("default {} became {}", word(&self.default), word(&other.default)));
        }
        words.join(", ")
    }
}

/// The changes from one to the other, in the order of the wire.
#[must_use]
pub fn changes(from: Side, to: Side) -> Vec<Change> {
    let (before, after) = (from.shapes(), to.shapes());
    let mut out = Vec::new();
    if from.is_flexible() != to.is_flexible() {
        let words = if to.is_flexible() {
            "becomes flexible: compact lengths, tag sections"
        } else {
            "is not flexible any more"
        };
        out.push(Change { path: String::new(), kind: ChangeKind::Changed, words: words.to_owned(), doc: "" });
    }
    for shape in &before {
        let other = after.iter().find(|it| it.path == shape.path);
        let (kind, words, doc) = match other {
            None => (ChangeKind::Removed, shape.words(), shape.doc),
            Some(other) => (ChangeKind::Changed, shape.became(other), ""),
        };
        if !words.is_empty() {
            out.push(Change { path: shape.path.clone(), kind, words, doc });
        }
    }
    for shape in after.iter().filter(|it| before.iter().all(|other| other.path != it.path)) {
        let (path, words) = (shape.path.clone(), shape.words());
        out.push(Change { path, kind: ChangeKind::Added, words, doc: shape.doc });
    }
    out
}

impl Change {
    fn text(&self, descriptions: bool) -> String {
        if descriptions && !self.doc.is_empty() {
            format!("{}  {}", self.words, self.doc)
        } else {
            self.words.clone()
        }
    }
}

impl ChangeKind {
    /// The sign before a line.
    #[must_use]
    pub const fn sign(self) -> char {
        match self {
            Self::Added => '+',
            Self::Removed => '-',
            Self::Changed => '~',
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// A title and a line per change.
#[must_use]
pub fn text(from: Side, to: Side, descriptions: bool) -> String {
    let name = |it: Side| {
        let draft = it.message.draft.map_or_else(String::new, |draft| format!(" (draft {draft})"));
        format!("{} v{}{draft}", it.message.name, it.version)
    };
    let mut out = format!("{} -> {}\n", name(from), name(to));
    let changes = changes(from, to);
    if changes.is_empty() {
        out.push_str("  no field differs\n");
    }
    for it in changes {
        let path = if it.path.is_empty() { "(message)" } else { &it.path };
        out.push_str(&format!("  {} {path}: {}\n", it.kind.sign(), it.text(descriptions)));
    }
    out
}

/// The same as JSON.
#[must_use]
pub fn json(from: Side, to: Side, descriptions: bool) -> Json {
    let text = |it: &str| Json::String(it.to_owned());
    let side = |it: Side| {
        Json::Object(vec![
            (Cow::Borrowed("message"), text(it.message.name)),
            (Cow::Borrowed("version"), Json::Int(it.version.into())),
            (Cow::Borrowed("draft"), it.message.draft.map_or(Json::Null, text)),
        ])
    };
    let list = changes(from, to).into_iter().map(|it| {
        Json::Object(vec![
            (Cow::Borrowed("kind"), text(it.kind.as_str())),
            (Cow::Borrowed("path"), text(&it.path)),
            (Cow::Borrowed("words"), text(&it.text(descriptions))),
        ])
    });
    Json::Object(vec![
        (Cow::Borrowed("from"), side(from)),
        (Cow::Borrowed("to"), side(to)),
        (Cow::Borrowed("changes"), Json::Array(list.collect())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lookup;

    fn both(name: &str, a: i16, b: i16) -> Vec<String> {
        let message = Lookup::default().message(name).unwrap();
        let side = |version| Side { message, version };
        let words = |it: Change| format!("{} {} {}", it.kind.sign(), it.path, it.words);
        changes(side(a), side(b)).into_iter().map(words).collect()
    }

    #[test]
    fn between_versions() {
        assert_eq!(
            both("DescribeGroupsResponse", 5, 6),
            ["+ Groups[].ErrorMessage string, nullable, default null"]
        );
        assert_eq!(
            both("DescribeGroupsRequest", 4, 5),
            ["~  becomes flexible: compact lengths, tag sections"]
        );
        assert_eq!(both("MetadataRequest", 0, 1), ["~ Topics[] may be null"]);
        assert!(both("MetadataRequest", 9, 9).is_empty());
        assert!(both("ProduceRequest", 12, 13).iter().any(|it| it.starts_with("- TopicData[].Name string")));
    }
}
