//! The rules that a schema must keep beyond the notation, so that the emitters need not doubt.

use std::collections::BTreeSet;

use crate::load::{Api, Schema};
use crate::model::{Default, Field, Message, MessageKind, Type};
use crate::names::snake;
use crate::parse::ParseError;
use crate::versions::{OPEN, Versions};

/// Structs inside structs, the message included. Kafka's deepest message has 5; the bound keeps a decoder's
/// recursion small whatever a schema says.
pub const DEPTH_MAX: usize = 16;

type Result = std::result::Result<(), ParseError>;

/// Checks one message.
///
/// # Errors
/// The first rule that is broken.
pub fn message(message: &Message) -> Result {
    let fail = |problem: &str| Err(ParseError { line: message.line, problem: problem.to_owned() });
    if !message.flexible.is_empty() && message.flexible.high != OPEN {
        return fail("flexible versions are none or N+");
    }
    if message.kind == MessageKind::Key && message.versions != Versions::new(0, 0) {
        return fail("a record key has version 0 only");
    }
    if message.kind == MessageKind::Key && !message.flexible.is_empty() {
        return fail("a record key is never flexible");
    }
    fields(message, &message.fields, message.versions)?;
    for it in &message.structs {
        fields(message, &it.fields, it.versions)?;
    }
    let mut path = Vec::new();
    nesting(message, &message.fields, &mut path)
}

/// Every message and field says what it means: the explainer and the protocol pages have no other source.
///
/// # Errors
/// The first one without a description.
pub fn described(message: &Message) -> Result {
    if message.doc.is_empty() {
        return Err(ParseError { line: message.line, problem: format!("{}: {UNDESCRIBED}", message.name) });
    }
    let nested = message.structs.iter().flat_map(|it| &it.fields);
    let mut silent = message.fields.iter().chain(nested).filter(|it| it.doc.is_empty());
    silent.next().map_or(Ok(()), |it| fail(it, UNDESCRIBED))
}

const UNDESCRIBED: &str = "the description is missing: one sentence in quotes at the end of the line";

fn fields(message: &Message, list: &[Field], within: Versions) -> Result {
    let mut names = BTreeSet::new();
    for it in list {
        if !names.insert(snake(&it.name)) {
            return fail(it, "this name occurs twice");
        }
        field(message, it, within)?;
    }
    let mut tags: Vec<u32> = list.iter().filter_map(|it| it.tag).map(|it| it.number).collect();
    tags.sort_unstable();
    // The encoder writes known tags before unknown ones, which is ascending only if there is no gap.
    let contiguous = tags.iter().zip(0u32..).all(|(tag, place)| *tag == place);
    match list.first() {
        Some(first) if !contiguous => fail(first, "the tags of a struct are 0, 1, 2, … without gap"),
        Some(_) | None => Ok(()),
    }
}

fn field(message: &Message, it: &Field, within: Versions) -> Result {
    if let Type::Struct(name) = &it.ty {
        let Some(target) = message.find(name) else {
            return fail(it, &format!("the struct {name} is not defined"));
        };
        if !target.versions.covers(it.versions.and(within)) {
            return fail(it, &format!("the struct {name} lacks some of these versions"));
        }
    }
    let nullable_type =
        it.array || matches!(it.ty, Type::String | Type::Bytes | Type::Records | Type::Struct(_));
    if !it.nullable.is_empty() && !nullable_type {
        return fail(it, "this type can't be null");
    }
    if it.array && it.ty == Type::Records {
        return fail(it, "there are no arrays of records");
    }
    if let Some(tag) = it.tag {
        let flexible = tag.versions.high == OPEN && message.flexible.covers(tag.versions.and(within));
        if !flexible || !it.versions.covers(tag.versions) {
            return fail(it, "a tag's versions are open, flexible, and versions of the field");
        }
        if it.map_key || it.ty == Type::Records {
            return fail(it, "keys and records can't be tagged");
        }
    }
    default(it, within)
}

fn default(it: &Field, within: Versions) -> Result {
    let right = match &it.default {
        Default::OfType => true,
        // Null must be the default's meaning in all versions, else some version could not write it.
        Default::Null => it.nullable.covers(it.versions.and(within)),
        Default::Bool(_) => it.ty == Type::Bool && !it.array,
        Default::String(_) => it.ty == Type::String && !it.array,
        Default::Int(n) => !it.array && it.ty.int_range().is_some_and(|(low, high)| (low..=high).contains(n)),
    };
    if right { Ok(()) } else { fail(it, "the default does not fit the type") }
}

/// Structs do not contain themselves, so a decoder's recursion is bounded by the schema.
fn nesting<'a>(message: &'a Message, list: &'a [Field], path: &mut Vec<&'a str>) -> Result {
    for it in list {
        let Type::Struct(name) = &it.ty else { continue };
        if path.contains(&name.as_str()) || path.len() >= DEPTH_MAX {
            return fail(it, "structs are nested without end, or too deeply");
        }
        let Some(target) = message.find(name) else { continue };
        path.push(name);
        nesting(message, &target.fields, path)?;
        path.pop();
    }
    Ok(())
}

/// Names that become Rust items must be unique where they stand.
///
/// # Errors
/// The name that occurs twice, or an API file whose name is not its message's.
pub fn names(schema: &Schema) -> std::result::Result<(), String> {
    apis(&schema.apis)?;
    for draft in &schema.drafts {
        apis(&draft.apis).map_err(|problem| format!("draft {}: {problem}", draft.name))?;
    }
    let mut seen = BTreeSet::new();
    let root = schema.apis.iter().flat_map(|it| [&it.request, &it.response]);
    for it in root.chain(&schema.headers).chain(&schema.embedded) {
        if !seen.insert(it.name.as_str()) {
            return Err(format!("the message {} is defined twice", it.name));
        }
    }
    Ok(())
}

fn apis(apis: &[Api]) -> std::result::Result<(), String> {
    for api in apis {
        let (request, response) = (format!("{}_request", api.stem), format!("{}_response", api.stem));
        if snake(&api.request.name) != request || snake(&api.response.name) != response {
            return Err(format!("{}: the file's name is not that of its messages", api.stem));
        }
    }
    let keys: BTreeSet<i16> = apis.iter().map(|it| it.key).collect();
    if keys.len() == apis.len() { Ok(()) } else { Err("an API key occurs twice".to_owned()) }
}

fn fail(field: &Field, problem: &str) -> Result {
    Err(ParseError { line: field.line, problem: format!("{}: {problem}", field.name) })
}
