//! Trees as text (wire.md 21): a line per node.

use std::fmt::Write as _;

use crate::Api;
use crate::frame::{request_header_version, response_header_version};
use crate::layout;
use crate::node::{Category, Explained, Node, Severity, Value};
use crate::smallest::Build;

/// Characters of a string that are shown.
const TEXT_MAX: usize = 64;
/// Bytes that are shown.
const BYTES_MAX: usize = 16;
/// Characters of a description that are shown.
const DESCRIPTION_MAX: usize = 78;

/// How text is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// ANSI colours by category; for terminals only.
    pub colour: bool,
    pub descriptions: bool,
}

impl Style {
    /// Text in the colour of a category.
    #[must_use]
    pub(crate) fn paint(self, category: Category, text: &str) -> String {
        let code = match category {
            _ if !self.colour => return text.to_owned(),
            Category::Frame => "35",
            Category::RpcHeader => "33",
            Category::RequestBody => "32",
            Category::ResponseBody => "36",
            Category::RecordBatch => "34",
            Category::Record => "94",
            Category::TaggedFields => "90",
            Category::Undecoded => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    fn alarm(self, severity: Severity, text: &str) -> String {
        let code = match severity {
            _ if !self.colour => return text.to_owned(),
            Severity::Error => "1;31",
            Severity::Warning => "1;33",
            Severity::Note => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Byte layout, tree and diagnostics.
#[must_use]
pub fn page(explained: &Explained, style: Style) -> String {
    let mut out = layout::layout(explained, style);
    out.push('\n');
    out.push_str(&tree(explained, style));
    out.push_str(&diagnostics(explained, style));
    out
}

/// The object tree.
#[must_use]
pub fn tree(explained: &Explained, style: Style) -> String {
    let mut out = String::new();
    root_line(&mut out, &explained.root);
    let mut indent = String::new();
    children(&mut out, &explained.root, &mut indent, style);
    out
}

/// The nodes of a chain, each below the one before: what `at` and `find` give.
#[must_use]
pub fn chain(nodes: &[&Node], style: Style) -> String {
    let mut out = String::new();
    for (depth, node) in nodes.iter().enumerate() {
        match depth.checked_sub(1) {
            None => root_line(&mut out, node),
            Some(depth) => {
                out.push_str(&"    ".repeat(depth));
                line(&mut out, node, style);
            }
        }
    }
    if let Some(last) = nodes.last() {
        let mut indent = "    ".repeat(nodes.len().saturating_sub(1));
        children(&mut out, last, &mut indent, style);
    }
    out
}

fn root_line(out: &mut String, root: &Node) {
    let space = if root.ty.is_empty() { "" } else { " " };
    let _ = writeln!(out, "{}{space}{} [0x{:04x}, {}B]", root.name, root.ty, root.offset, root.length);
}

fn children(out: &mut String, node: &Node, indent: &mut String, style: Style) {
    for (i, child) in node.children.iter().enumerate() {
        out.push_str(indent);
        line(out, child, style);
        let before = indent.len();
        indent.push_str(if i + 1 < node.children.len() { "|   " } else { "    " });
        children(out, child, indent, style);
        indent.truncate(before);
    }
}

fn line(out: &mut String, node: &Node, style: Style) {
    let mut words = node.name.to_string();
    if !node.ty.is_empty() {
        let _ = write!(words, " {}", node.ty);
    }
    if let Some(value) = value(&node.value) {
        let _ = write!(words, " = {value}");
    }
    if !node.note.is_empty() {
        let _ = write!(words, " ({})", node.note);
    }
    let tilde = if node.inflated { "~" } else { "" };
    let _ = write!(
        out,
        "+-- {} [{tilde}0x{:04x}, {}B]",
        style.paint(node.category, &words),
        node.offset,
        node.length
    );
    if style.descriptions && !node.description.is_empty() {
        let _ = write!(out, " {}", shortened(&node.description));
    }
    for it in &node.diagnostics {
        let _ = write!(out, " {}", style.alarm(it.severity, &format!("!{}", it.id.as_str())));
    }
    out.push('\n');
}

/// Diagnostics, a line each; empty if there are none.
#[must_use]
pub fn diagnostics(explained: &Explained, style: Style) -> String {
    let found = explained.diagnostics();
    let mut out = String::new();
    for (i, it) in found.iter().enumerate() {
        let before = if i == 0 { "\n" } else { "" };
        let _ = writeln!(out, "{before}{}", style.alarm(it.severity, &it.to_string()));
    }
    out
}

/// The value in words; nothing for groups.
#[must_use]
pub fn value(value: &Value) -> Option<String> {
    Some(match value {
        Value::None => return None,
        Value::Null => "null".to_owned(),
        Value::Bool(it) => it.to_string(),
        Value::Int(it) => it.to_string(),
        Value::Float(it) => format!("{it:?}"),
        Value::Uuid(it) => it.to_string(),
        Value::Text(it) => quoted(&String::from_utf8_lossy(it)),
        Value::Data(it) => match std::str::from_utf8(it) {
            Ok(text) if !text.chars().any(|it| it.is_control() && !matches!(it, '\n' | '\t' | '\r')) => {
                quoted(text)
            }
            Ok(_) | Err(_) => raw(it),
        },
        Value::Bytes(it) => raw(it),
        Value::Whole(it) => count(it.len(), "byte"),
        Value::Hidden(n) => format!("<{} hidden>", count(*n, "byte")),
        Value::Struct => "struct".to_owned(),
        Value::Elements(n) => count(*n, "element"),
    })
}

fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

fn raw(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "empty".to_owned();
    }
    let mut out = format!("{} 0x", count(bytes.len(), "byte"));
    for it in bytes.iter().take(BYTES_MAX) {
        let _ = write!(out, "{it:02x}");
    }
    out
}

/// In JSON's quotes; the end of a long text is left out and its length is told.
fn quoted(text: &str) -> String {
    let cut = text.char_indices().nth(TEXT_MAX).map(|it| it.0);
    let Some(cut) = cut else { return plain(&wire::json::Json::String(text.to_owned()).to_string()) };
    let head = text.get(..cut).unwrap_or(text);
    let quoted = plain(&wire::json::Json::String(format!("{head}…")).to_string());
    format!("{quoted} {} characters", text.chars().count())
}

/// Text of others without what a terminal would obey: control characters are written as JSON has them.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        if it.is_control() {
            let _ = write!(out, "\\u{:04x}", u32::from(it));
        } else {
            out.push(it);
        }
    }
    out
}

/// A description in one line of at most 78 characters (21.4).
#[must_use]
pub fn shortened(description: &str) -> String {
    let text = description.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(DESCRIPTION_MAX) {
        None => text,
        Some(_) => text.chars().take(DESCRIPTION_MAX - 3).chain("...".chars()).collect(),
    }
}

/// What a page says of an API before its bytes (17.3).
#[must_use]
pub fn heading(api: &Api, version: i16, build: Build) -> String {
    let (request, response) = (api.request, api.response);
    let mark = match request.draft {
        Some(draft) => format!(" (draft {draft}, never released)"),
        None if request.unstable == Some(version) => " (unstable)".to_owned(),
        None => String::new(),
    };
    let rows = [
        ("API name", api.name().to_owned()),
        ("API key", api.key.to_string()),
        ("encoded version", format!("{version}{mark}")),
        ("flexible versions", request.flexible.to_string()),
        (
            "headers",
            format!(
                "req v{}, resp v{}",
                request_header_version(api, version),
                response_header_version(api, version)
            ),
        ),
        ("request versions", request.versions.to_string()),
        ("response versions", response.versions.to_string()),
        ("request size", count(build.request(api, version).len(), "byte")),
        ("response size", count(build.response(api, version).len(), "byte")),
    ];
    rows.iter().fold(String::new(), |out, (name, value)| out + &format!("{name:<18} {value}\n"))
}
