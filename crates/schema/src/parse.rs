//! Text of `.wire` files to the model. Errors carry the line. The notation: `schema/README.md`.

use std::fmt;

use crate::model::{
    Default, Enum, EnumValue, ErrorLine, Feature, FeatureLevel, Field, Literal, Message, MessageKind, Struct,
    Tag, Type,
};
use crate::versions::Versions;

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    pub line: usize,
    pub problem: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for ParseError {}

type Result<T> = std::result::Result<T, ParseError>;

fn fail<T>(line: usize, problem: impl Into<String>) -> Result<T> {
    Err(ParseError { line, problem: problem.into() })
}

/// One line: its level of indent, its words, and its description.
#[derive(Debug)]
struct Line {
    number: usize,
    level: usize,
    words: Vec<String>,
    doc: String,
}

/// Reads a file of messages.
///
/// # Errors
/// The first line that does not follow the notation.
pub fn messages(text: &str) -> Result<Vec<Message>> {
    let lines = lines(text)?;
    let mut rest = lines.as_slice();
    let mut out = Vec::new();
    while let Some((head, after)) = rest.split_first() {
        if head.level != 0 {
            return fail(head.number, "a message starts at the margin");
        }
        let body = after.iter().take_while(|it| it.level > 0).count();
        let (body, after) = after.split_at(body);
        out.push(message(head, body)?);
        rest = after;
    }
    Ok(out)
}

fn lines(text: &str) -> Result<Vec<Line>> {
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let number = i + 1;
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        if !indent.is_multiple_of(2) {
            return fail(number, "the indent is two spaces per level");
        }
        let (mut words, doc) = (split(content, number)?, String::new());
        let doc = match words.last() {
            Some(last) if last.starts_with('"') && words.len() > 2 => {
                unquote(&words.pop().unwrap_or_default())
            }
            Some(_) | None => doc,
        };
        out.push(Line { number, level: indent / 2, words, doc });
    }
    Ok(out)
}

/// Splits at single spaces, but not inside of quotes.
fn split(content: &str, number: usize) -> Result<Vec<String>> {
    let mut words = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for c in content.chars() {
        if c == ' ' && !quoted {
            words.push(String::new());
            continue;
        }
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = quoted;
        } else if c == '"' {
            quoted = !quoted;
        }
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    if quoted {
        return fail(number, "a quote is not closed");
    }
    if words.iter().any(String::is_empty) {
        return fail(number, "words are separated by one space");
    }
    Ok(words)
}

/// The text of a JSON string; only `\"`, `\\` and `\n` are escaped in schemas.
fn unquote(word: &str) -> String {
    let inner = word.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(word);
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        let escaped = (c == '\\').then(|| chars.next()).flatten();
        out.push(match escaped {
            Some('n') => '\n',
            Some(other) => other,
            None => c,
        });
    }
    out
}

fn message(head: &Line, body: &[Line]) -> Result<Message> {
    let [kind, name, attributes @ ..] = head.words.as_slice() else {
        return fail(head.number, "a message has a kind and a name");
    };
    let kind = match kind.as_str() {
        "request" => MessageKind::Request,
        "response" => MessageKind::Response,
        "header" => MessageKind::Header,
        "data" => MessageKind::Data,
        "key" => MessageKind::Key,
        "value" => MessageKind::Value,
        other => return fail(head.number, format!("`{other}` is no kind of message")),
    };
    let mut message = Message {
        kind,
        name: name.clone(),
        id: None,
        versions: Versions::NONE,
        flexible: Versions::NONE,
        listeners: Vec::new(),
        unstable: None,
        deprecated: Versions::NONE,
        doc: head.doc.clone(),
        fields: Vec::new(),
        structs: Vec::new(),
        line: head.number,
    };
    for word in attributes {
        message_attribute(&mut message, word, head.number)?;
    }
    let mut rest = body;
    while let Some((line, after)) = rest.split_first() {
        if line.words.first().is_none_or(|it| it != "struct") {
            break;
        }
        let versions = message.versions;
        let (inner, after) = children(line, after);
        common_struct(&mut message, line, inner, versions)?;
        rest = after;
    }
    let versions = message.versions;
    message.fields = fields(&mut message, rest, 1, versions)?;
    Ok(message)
}

fn message_attribute(message: &mut Message, word: &str, line: usize) -> Result<()> {
    let Some((key, value)) = word.split_once('=') else {
        return fail(line, format!("`{word}` is no attribute of a message"));
    };
    match key {
        "id" => message.id = Some(number(value, line)?),
        "versions" => message.versions = range(value, line)?,
        "flexible" => message.flexible = range(value, line)?,
        "listeners" => message.listeners = value.split(',').map(str::to_owned).collect(),
        "unstable" => message.unstable = Some(number(value, line)?),
        "deprecated" => message.deprecated = range(value, line)?,
        _ => return fail(line, format!("`{key}` is no attribute of a message")),
    }
    Ok(())
}

/// The lines below `line`, and what follows them.
fn children<'a>(line: &Line, after: &'a [Line]) -> (&'a [Line], &'a [Line]) {
    after.split_at(after.iter().take_while(|it| it.level > line.level).count())
}

fn common_struct(message: &mut Message, line: &Line, inner: &[Line], within: Versions) -> Result<()> {
    let [_, name, versions] = line.words.as_slice() else {
        return fail(line.number, "a struct has a name and versions");
    };
    let versions = range(versions, line.number)?.and(within);
    define(message, line, name, inner, versions)
}

fn define(message: &mut Message, line: &Line, name: &str, inner: &[Line], versions: Versions) -> Result<()> {
    if message.find(name).is_some() {
        return fail(line.number, format!("the struct {name} is defined twice"));
    }
    let place = message.structs.len();
    message.structs.push(Struct { name: name.to_owned(), versions, fields: Vec::new(), line: line.number });
    let fields = fields(message, inner, line.level + 1, versions)?;
    if let Some(it) = message.structs.get_mut(place) {
        it.fields = fields;
    }
    Ok(())
}

fn fields(message: &mut Message, mut rest: &[Line], level: usize, within: Versions) -> Result<Vec<Field>> {
    let mut out = Vec::new();
    while let Some((line, after)) = rest.split_first() {
        if line.level != level {
            return fail(line.number, "this line is indented too far");
        }
        let field = field(line)?;
        let (inner, after) = children(line, after);
        if !inner.is_empty() {
            let Type::Struct(name) = &field.ty else {
                return fail(line.number, "only a struct has fields");
            };
            let versions = field.versions.and(within);
            define(message, line, name, inner, versions)?;
        }
        out.push(field);
        rest = after;
    }
    Ok(out)
}

fn field(line: &Line) -> Result<Field> {
    let [name, ty, versions, attributes @ ..] = line.words.as_slice() else {
        return fail(line.number, "a field has a name, a type and versions");
    };
    let (array, word) = ty.strip_prefix("[]").map_or((false, ty.as_str()), |it| (true, it));
    let Some(ty) = Type::parse(word) else {
        return fail(line.number, format!("`{word}` is no type"));
    };
    let mut field = Field {
        name: name.clone(),
        array,
        ty,
        versions: range(versions, line.number)?,
        nullable: Versions::NONE,
        tag: None,
        default: Default::OfType,
        ignorable: false,
        map_key: false,
        entity: None,
        flexible: true,
        doc: line.doc.clone(),
        line: line.number,
    };
    for word in attributes {
        field_attribute(&mut field, word, line.number)?;
    }
    Ok(field)
}

fn field_attribute(field: &mut Field, word: &str, line: usize) -> Result<()> {
    match word.split_once('=') {
        None if word == "ignorable" => field.ignorable = true,
        None if word == "mapkey" => field.map_key = true,
        Some(("null", value)) => field.nullable = range(value, line)?,
        Some(("tag", value)) => field.tag = Some(tag(value, line)?),
        Some(("default", value)) => field.default = default(value, line)?,
        Some(("entity", value)) => field.entity = Some(value.to_owned()),
        Some(("flexible", "none")) => field.flexible = false,
        Some(_) | None => return fail(line, format!("`{word}` is no attribute of a field")),
    }
    Ok(())
}

fn tag(value: &str, line: usize) -> Result<Tag> {
    let Some((number_text, versions)) = value.split_once('@') else {
        return fail(line, "a tag is written N@RANGE");
    };
    Ok(Tag { number: number(number_text, line)?, versions: range(versions, line)? })
}

fn default(value: &str, line: usize) -> Result<Default> {
    Ok(match value {
        "null" => Default::Null,
        "true" => Default::Bool(true),
        "false" => Default::Bool(false),
        text if text.starts_with('"') => Default::String(unquote(text)),
        text => Default::Int(number(text, line)?),
    })
}

fn range(text: &str, line: usize) -> Result<Versions> {
    Versions::parse(text).map_or_else(|| fail(line, format!("`{text}` is no range of versions")), Ok)
}

fn number<T: std::str::FromStr>(text: &str, line: usize) -> Result<T> {
    text.parse().or_else(|_| fail(line, format!("`{text}` is no number that fits here")))
}

/// Reads `errors.wire`: `CODE NAME [retriable] ["meaning"]`.
///
/// # Errors
/// The first line that does not follow the notation.
pub fn errors(text: &str) -> Result<Vec<ErrorLine>> {
    let mut out = Vec::new();
    for line in lines(text)? {
        let (code, name, retriable) = match line.words.as_slice() {
            [code, name] => (code, name, false),
            [code, name, word] if word == "retriable" => (code, name, true),
            _ => return fail(line.number, "an error code is written CODE NAME [retriable]"),
        };
        out.push(ErrorLine {
            code: number(code, line.number)?,
            name: name.clone(),
            retriable,
            doc: line.doc,
        });
    }
    Ok(out)
}

/// Reads `enums.wire`: blocks `enum NAME TYPE` and `feature NAME min=N latest=N`.
///
/// # Errors
/// The first line that does not follow the notation.
pub fn enums(text: &str) -> Result<(Vec<Enum>, Vec<Feature>)> {
    let (mut enums, mut features) = (Vec::<Enum>::new(), Vec::<Feature>::new());
    let mut block: Option<Type> = None;
    for (i, text) in text.lines().enumerate() {
        let line = i + 1;
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let words = split(text.trim_start(), line)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match (text.starts_with("  "), words.as_slice(), &block) {
            (false, ["enum", name, ty], _) => {
                block = Type::parse(ty);
                enums.push(Enum { name: (*name).to_owned(), values: Vec::new() });
            }
            (false, ["feature", name, min, latest], _) => {
                block = None;
                let (min, latest) = (attribute(min, "min", line)?, attribute(latest, "latest", line)?);
                features.push(Feature { name: (*name).to_owned(), min, latest, levels: Vec::new() });
            }
            (true, [value, name, rest @ ..], Some(ty)) => {
                let value = enum_value(value, name, rest, ty, line)?;
                enums.last_mut().into_iter().for_each(|it| it.values.push(value.clone()));
            }
            (true, [level, name, rest @ ..], None) => {
                let level = feature_level(level, name, rest, line)?;
                features.last_mut().into_iter().for_each(|it| it.levels.push(level.clone()));
            }
            _ => return fail(line, "expected an enum, a feature, or one of their values"),
        }
    }
    Ok((enums, features))
}

fn attribute<T: std::str::FromStr>(word: &str, key: &str, line: usize) -> Result<T> {
    match word.split_once('=') {
        Some((found, value)) if found == key => number(value, line),
        Some(_) | None => fail(line, format!("expected {key}=")),
    }
}

fn enum_value(value: &str, name: &str, rest: &[&str], ty: &Type, line: usize) -> Result<EnumValue> {
    let (mut ty, mut text) = (ty.clone(), None);
    for word in rest {
        match (word.strip_prefix("text="), Type::parse(word)) {
            (Some(quoted), _) => text = Some(unquote(quoted)),
            (None, Some(other)) => ty = other,
            (None, None) => return fail(line, format!("`{word}` is no attribute of a value")),
        }
    }
    let value = match ty {
        Type::String => Literal::String(unquote(value)),
        Type::Bool => Literal::Bool(value == "true"),
        Type::Int8
        | Type::Int16
        | Type::Uint16
        | Type::Int32
        | Type::Uint32
        | Type::Int64
        | Type::Float64
        | Type::Uuid
        | Type::Bytes
        | Type::Records
        | Type::Struct(_) => Literal::Int(number(value, line)?),
    };
    Ok(EnumValue { name: name.to_owned(), value, ty, text })
}

fn feature_level(level: &str, name: &str, rest: &[&str], line: usize) -> Result<FeatureLevel> {
    let mut out = FeatureLevel {
        level: number(level, line)?,
        name: name.to_owned(),
        release: None,
        bootstrap_metadata: None,
        needs_metadata: None,
    };
    for word in rest {
        match word.split_once('=') {
            Some(("name", value)) => out.release = Some(value.to_owned()),
            Some(("bootstrap_metadata", value)) => out.bootstrap_metadata = Some(number(value, line)?),
            Some(("needs_metadata", value)) => out.needs_metadata = Some(number(value, line)?),
            Some(_) | None => return fail(line, format!("`{word}` is no attribute of a level")),
        }
    }
    Ok(out)
}
