//! Trees as JSON (wire.md 21.6). `assemble` reads it back.

use std::borrow::Cow;
use std::fmt::Write as _;

use wire::json::{Json, JsonError};
use wire::{Reader, base64};

use crate::layout;
use crate::node::{Diagnostic, Explained, Node, Value, What};

/// Integers beyond this are strings, since many readers take numbers for floats.
const EXACT_MAX: u64 = 1 << 53;

/// A key with its value.
pub type Entry = (Cow<'static, str>, Json);

fn entry(name: &'static str, value: Json) -> Entry {
    (Cow::Borrowed(name), value)
}

fn text(text: impl ToString) -> Json {
    Json::String(text.to_string())
}

fn number(number: usize) -> Json {
    Json::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Everything that is known, as one document.
#[must_use]
pub fn of(explained: &Explained) -> Json {
    let mut entries = facts(explained);
    entries.push(entry("tree", node(&explained.root)));
    Json::Object(entries)
}

/// What `pretty` makes of the document, with further entries at its end and so many levels deep; without the end of the
/// line. Only one node at a time is made into JSON, which takes several times the room of a node.
#[must_use]
pub fn page(explained: &Explained, more: &[Entry], depth: usize) -> String {
    let mut out = String::new();
    let indent = "  ".repeat(depth);
    out.push_str("{\n");
    let mut line = |key: &str, write: &dyn Fn(&mut String)| {
        let _ = write!(out, "{indent}  \"{key}\": ");
        write(&mut out);
        out.push_str(",\n");
    };
    for (key, value) in &facts(explained) {
        line(key, &|out| lines(out, value, depth + 1));
    }
    line("tree", &|out| node_lines(out, &explained.root, depth + 1));
    for (key, value) in more {
        line(key, &|out| lines(out, value, depth + 1));
    }
    out.truncate(out.len() - ",\n".len());
    let _ = write!(out, "\n{indent}}}");
    out
}

/// `lines` of `node`.
fn node_lines(out: &mut String, it: &Node, depth: usize) {
    if it.children.is_empty() {
        return lines(out, &alone(it), depth);
    }
    let indent = "  ".repeat(depth);
    out.push_str("{\n");
    for (key, value) in &shallow(it) {
        let _ = write!(out, "{indent}  \"{key}\": ");
        lines(out, value, depth + 1);
        out.push_str(",\n");
    }
    let _ = write!(out, "{indent}  \"children\": [");
    for (i, child) in it.children.iter().enumerate() {
        let _ = write!(out, "{}{indent}    ", if i > 0 { ",\n" } else { "\n" });
        node_lines(out, child, depth + 2);
    }
    let _ = write!(out, "\n{indent}  ]\n{indent}}}");
}

fn facts(explained: &Explained) -> Vec<Entry> {
    let (what, direction) = match explained.what {
        What::Frame(direction) => ("frame", Some(direction)),
        What::Body => ("body", None),
        What::RecordKey => ("key", None),
        What::RecordValue => ("value", None),
        What::Records => ("records", None),
    };
    let or_null = |it: Option<Json>| it.unwrap_or(Json::Null);
    vec![
        entry("what", text(what)),
        entry("api", or_null(explained.api.map(|it| text(it.name())))),
        entry("apiKey", or_null(explained.api.map(|it| Json::Int(it.key.into())))),
        entry("message", or_null(explained.message.map(|it| text(it.name)))),
        entry("version", or_null(explained.version.map(|it| Json::Int(it.into())))),
        entry("direction", or_null(direction.map(|it| text(it.as_str())))),
        entry("headerVersion", or_null(explained.header_version.map(|it| Json::Int(it.into())))),
        entry("flexible", Json::Bool(explained.is_flexible())),
        entry("mode", text(explained.mode.as_str())),
        entry("bytes", text(layout::hex(explained))),
    ]
}

/// The message with Kafka's own field names, in a form that `assemble` reads.
///
/// # Errors
/// Bytes that the codec refuses, or that hold secrets: these can't be masked in it.
pub fn kafka(explained: &Explained) -> Result<Json, JsonError> {
    let problem = |problem: String| JsonError { path: String::new(), problem };
    let (Some(message), Some(version)) = (explained.message, explained.version) else {
        return Err(problem("there is no message with field names".to_owned()));
    };
    if !explained.hidden.is_empty() {
        return Err(problem("the message has secrets, which need --show-secrets".to_owned()));
    }
    let body = explained.root.children.iter().find(|it| it.name == message.name);
    let body = body.ok_or_else(|| problem("the body was not read".to_owned()))?;
    let mut reader = Reader::new(explained.bytes.slice(body.offset..));
    let body = wire::json::decode(message, version, &mut reader).map_err(|e| problem(e.to_string()))?;
    let What::Frame(direction) = explained.what else { return Ok(body) };
    let header = |name: &str| explained.find(name).last().and_then(|it| value(&it.value));
    let mut entries = vec![
        entry("api", explained.api.map_or(Json::Null, |it| text(it.name()))),
        entry("version", Json::Int(version.into())),
        entry("direction", text(direction.as_str())),
        entry("correlationId", header("Header.correlation_id").unwrap_or(Json::Null)),
    ];
    entries.extend(header("Header.client_id").map(|it| entry("clientId", it)));
    entries.push(entry("body", body));
    Ok(Json::Object(entries))
}

/// A node with all below it.
#[must_use]
pub fn node(it: &Node) -> Json {
    let mut entries = shallow(it);
    if !it.children.is_empty() {
        entries.push(entry("children", Json::Array(it.children.iter().map(node).collect())));
    }
    Json::Object(entries)
}

/// A node without its children.
#[must_use]
pub fn alone(it: &Node) -> Json {
    Json::Object(shallow(it))
}

fn shallow(it: &Node) -> Vec<Entry> {
    let mut entries =
        vec![entry("path", text(&it.path)), entry("name", text(&it.name)), entry("type", text(&it.ty))];
    match value(&it.value) {
        Some(value) => entries.push(entry("value", value)),
        None => {
            if let Value::Hidden(n) = it.value {
                entries.push(entry("hidden", number(n)));
            }
        }
    }
    if let Value::Text(bytes) = &it.value
        && std::str::from_utf8(bytes).is_err()
    {
        entries.push(entry("raw", text(base64::encode(bytes, base64::STANDARD))));
    }
    if !it.note.is_empty() {
        entries.push(entry("note", text(&it.note)));
    }
    entries.push(entry("offset", number(it.offset)));
    entries.push(entry("length", number(it.length)));
    if it.inflated {
        entries.push(entry("inflated", Json::Bool(true)));
    }
    entries.push(entry("category", text(it.category.as_str())));
    if !it.description.is_empty() {
        entries.push(entry("description", text(&it.description)));
    }
    if !it.diagnostics.is_empty() {
        entries.push(entry("diagnostics", Json::Array(it.diagnostics.iter().map(diagnostic).collect())));
    }
    entries
}

/// A diagnostic.
#[must_use]
pub fn diagnostic(it: &Diagnostic) -> Json {
    let mut entries = vec![
        entry("id", text(it.id.as_str())),
        entry("severity", text(it.severity.as_str())),
        entry("rule", text(it.id.rule())),
        entry("path", text(&it.path)),
        entry("offset", number(it.offset)),
    ];
    if it.inflated {
        entries.push(entry("inflated", Json::Bool(true)));
    }
    entries.push(entry("found", text(&it.found)));
    Json::Object(entries)
}

/// The typed value: numbers as numbers, large ones as strings, bytes as base-64. Structs and groups have none.
fn value(value: &Value) -> Option<Json> {
    Some(match value {
        Value::None | Value::Struct | Value::Hidden(_) => return None,
        Value::Null => Json::Null,
        Value::Bool(it) => Json::Bool(*it),
        Value::Int(it) if it.unsigned_abs() > EXACT_MAX => text(it),
        Value::Int(it) => Json::Int(*it),
        Value::Float(it) => Json::Float(*it),
        Value::Uuid(it) => text(it),
        Value::Text(it) => text(String::from_utf8_lossy(it)),
        Value::Bytes(it) | Value::Data(it) | Value::Whole(it) => text(base64::encode(it, base64::STANDARD)),
        Value::Elements(n) => number(*n),
    })
}

/// JSON in lines, two blanks deeper per level; short arrays and objects stay in one line.
#[must_use]
pub fn pretty(json: &Json) -> String {
    pretty_at(json, 0) + "\n"
}

/// The same so many levels deep, without the end of the line.
#[must_use]
pub fn pretty_at(json: &Json, depth: usize) -> String {
    let mut out = String::new();
    lines(&mut out, json, depth);
    out
}

fn lines(out: &mut String, json: &Json, depth: usize) {
    const LINE_MAX: usize = 88;
    let (open, close, parts): (char, char, Vec<(Option<&str>, &Json)>) = match json {
        Json::Array(elements) if !elements.is_empty() => {
            ('[', ']', elements.iter().map(|it| (None, it)).collect())
        }
        Json::Object(entries) if !entries.is_empty() => {
            ('{', '}', entries.iter().map(|it| (Some(it.0.as_ref()), &it.1)).collect())
        }
        Json::Null
        | Json::Bool(_)
        | Json::Int(_)
        | Json::Float(_)
        | Json::String(_)
        | Json::Array(_)
        | Json::Object(_) => {
            let _ = write!(out, "{json}");
            return;
        }
    };
    let flat = parts.iter().all(|it| !matches!(it.1, Json::Array(_) | Json::Object(_)));
    if flat && parts.len() < ROW_MAX {
        let text = json.to_string();
        if text.len() + depth * 2 <= LINE_MAX {
            out.push_str(&text);
            return;
        }
    }
    out.push(open);
    for (i, (key, value)) in parts.into_iter().enumerate() {
        out.push_str(if i > 0 { ",\n" } else { "\n" });
        out.push_str(&"  ".repeat(depth + 1));
        if let Some(key) = key {
            let _ = write!(out, "{}: ", Json::String(key.to_owned()));
        }
        lines(out, value, depth + 1);
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(close);
}

/// Parts of an array or object that may stand in one line.
const ROW_MAX: usize = 16;
