//! The bodies of `read`, `measure` and `write` for one struct.
//!
//! `measure` makes every check, so that `write` can't fail and is short; `Message::encode` calls them in this
//! order. A version test is emitted only where the struct's own versions leave it open.

use std::collections::BTreeSet;

use crate::emit_rust::{default_value, put};
use crate::model::{Default, Field, Message, Type};
use crate::names;
use crate::versions::{Holds, Versions};

/// A struct, or the message itself, as far as its fields are concerned.
pub(crate) struct Shape<'a> {
    pub(crate) message: &'a Message,
    pub(crate) name: &'a str,
    pub(crate) fields: &'a [Field],
    pub(crate) versions: Versions,
}

impl Shape<'_> {
    /// Whether some version of the message has tag sections.
    pub(crate) fn flexible(&self) -> bool {
        !self.message.flexible.and(self.message.versions).is_empty()
    }

    fn flex_line(&self) -> String {
        format!("let flex = {};", self.message.flexible.within(self.versions).expression())
    }

    /// Where the field is among the plain fields.
    fn plain(&self, field: &Field) -> Holds {
        plain_versions(field).within(self.versions)
    }

    /// Where the field is a tagged field, and its tag.
    fn tagged<'b>(&self, field: &'b Field) -> Option<(&'b Field, u32, Holds)> {
        let tag = field.tag?;
        Some((field, tag.number, tag.versions.within(self.versions)))
    }

    /// The tagged fields by their tags.
    fn tags(&self) -> Vec<(&Field, u32, Holds)> {
        let mut tags: Vec<_> = self.fields.iter().filter_map(|it| self.tagged(it)).collect();
        tags.sort_by_key(|it| it.1);
        tags
    }
}

fn plain_versions(field: &Field) -> Versions {
    field.tag.map_or(field.versions, |tag| field.versions.without(tag.versions))
}

/// How the length of a field is written.
fn flex(field: &Field) -> &'static str {
    if field.flexible { "flex" } else { "false" }
}

fn accessor(field: &Field) -> String {
    format!("self.{}", names::field(&field.name))
}

// ---- read ----

pub(crate) fn emit_read(out: &mut String, shape: &Shape<'_>) {
    put!(out, "fn read(r: &mut crate::Reader, v: i16) -> Result<Self, crate::DecodeErrorKind> {{");
    put!(out, "{}", shape.flex_line());
    let tags = shape.tags();
    put!(out, "let mut it = Self {{");
    for it in shape.fields {
        let value = match shape.plain(it) {
            Holds::Always => read_field(it, shape, false),
            Holds::Never => default_value(it),
            Holds::If(test) => {
                format!("if {test} {{ {} }} else {{ {} }}", read_field(it, shape, false), default_value(it))
            }
        };
        put!(out, "{}: {value},", names::field(&it.name));
    }
    if shape.flexible() {
        let unknown =
            if tags.is_empty() { "if flex { r.unknown_tags()? } else { Vec::new() }" } else { "Vec::new()" };
        put!(out, "unknown_tagged_fields: {unknown},");
    }
    put!(out, "}};");
    if !tags.is_empty() {
        emit_read_tags(out, shape, &tags);
    }
    put!(out, "Ok(it)\n}}");
}

fn emit_read_tags(out: &mut String, shape: &Shape<'_>, tags: &[(&Field, u32, Holds)]) {
    put!(out, "if flex {{ let (count, mut last) = (r.tag_count()?, None);");
    put!(out, "for _ in 0..count {{ let (tag, end) = r.tag(&mut last)?; match tag {{");
    for (field, number, holds) in tags {
        // A known tag in a version that lacks it is an error (wire.md 7.9).
        if *holds != Holds::Always {
            let test = holds.expression();
            put!(out, "{number} if !({test}) => return Err(crate::DecodeErrorKind::TagNotInVersion),");
        }
        put!(
            out,
            "{number} => {{ it.{} = {}; r.end_tag(end)?; }}",
            names::field(&field.name),
            read_field(field, shape, true)
        );
    }
    put!(out, "_ => it.unknown_tagged_fields.push(r.raw_tag(tag, end)?),");
    put!(out, "}} }} }}");
}

/// Reads a field, null where the version allows it.
fn read_field(field: &Field, shape: &Shape<'_>, tagged: bool) -> String {
    let here = shape.versions.and(field.versions);
    let plain = read_value(field, shape);
    match field.nullable.within(here) {
        Holds::Never if field.is_nullable() => format!("Some({plain})"),
        Holds::Never => plain,
        Holds::Always => read_nullable(field, shape, tagged),
        Holds::If(test) => {
            format!("if {test} {{ {} }} else {{ Some({plain}) }}", read_nullable(field, shape, tagged))
        }
    }
}

fn read_value(field: &Field, shape: &Shape<'_>) -> String {
    let flex = flex(field);
    if field.array {
        return format!("r.list({flex}, {}, |r| {})?", min_size(&field.ty, shape.message), read_one(field));
    }
    format!("{}?", read_one(field))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "of what can be null, the rest is structs")]
fn read_nullable(field: &Field, shape: &Shape<'_>, tagged: bool) -> String {
    let flex = flex(field);
    if field.array {
        let min = min_size(&field.ty, shape.message);
        return format!("r.nullable_list({flex}, {min}, |r| {})?", read_one(field));
    }
    match &field.ty {
        Type::String => format!("r.nullable_str({flex})?"),
        Type::Bytes => format!("r.nullable_bytes({flex})?"),
        Type::Records => format!("r.nullable_records({flex})?"),
        _ => {
            let present = if tagged { "r.tagged_present()?" } else { "r.present()?" };
            format!("if {present} {{ Some({}?) }} else {{ None }}", read_one(field))
        }
    }
}

/// One value or element, as a `Result`.
fn read_one(field: &Field) -> String {
    let flex = flex(field);
    match &field.ty {
        Type::Bool => "r.bool()".to_owned(),
        Type::Int8 => "r.i8()".to_owned(),
        Type::Int16 if field.is_error_code() => "r.error_code()".to_owned(),
        Type::Int16 => "r.i16()".to_owned(),
        Type::Uint16 => "r.u16()".to_owned(),
        Type::Int32 => "r.i32()".to_owned(),
        Type::Uint32 => "r.u32()".to_owned(),
        Type::Int64 => "r.i64()".to_owned(),
        Type::Float64 => "r.f64()".to_owned(),
        Type::Uuid => "r.uuid()".to_owned(),
        Type::String => format!("r.str({flex})"),
        Type::Bytes => format!("r.bytes({flex})"),
        Type::Records => format!("r.records({flex})"),
        Type::Struct(name) => format!("{name}::read(r, v)"),
    }
}

/// The fewest bytes that a value can take in any version: it bounds how many elements an input can hold.
pub(crate) fn min_size(ty: &Type, message: &Message) -> usize {
    let target = if let Type::Struct(name) = ty { message.find(name) } else { None };
    let versions = target.map_or(message.versions, |it| it.versions);
    let sizes = (versions.low..=versions.high).map(|v| min_size_at(ty, message, v));
    sizes.min().unwrap_or(1).max(1)
}

fn min_size_at(ty: &Type, message: &Message, version: i16) -> usize {
    let flexible = message.flexible.contains(version);
    let length = |old: usize| if flexible { 1 } else { old };
    let Type::Struct(name) = ty else {
        return ty.fixed_size().unwrap_or_else(|| length(if *ty == Type::String { 2 } else { 4 }));
    };
    let fields = message.find(name).into_iter().flat_map(|it| &it.fields);
    let plain = fields.filter(|it| plain_versions(it).contains(version));
    let sizes = plain.map(|it| match (&it.ty, it.array) {
        (_, true) => length(4),
        (Type::Struct(_), false) if it.nullable.contains(version) => 1,
        (ty, false) => min_size_at(ty, message, version),
    });
    sizes.sum::<usize>() + usize::from(flexible)
}

// ---- measure and write ----

/// Whether `self.field` has its default, as an expression.
fn default_test(field: &Field) -> String {
    let x = accessor(field);
    let empty = match (&field.default, &field.ty) {
        (Default::Null, _) => return format!("{x}.is_none()"),
        (Default::OfType, Type::Records) => return format!("{x}.is_none()"),
        (Default::Bool(true), _) => return x,
        (Default::Int(n), _) if field.is_error_code() => return format!("{x} == crate::ErrorCode({n})"),
        (Default::Int(n), _) => return format!("{x} == {n}"),
        (Default::String(text), _) if !text.is_empty() => {
            let text = format!("crate::Str::from_static({text:?})");
            return if field.is_nullable() {
                format!("{x} == Some({text})")
            } else {
                format!("{x} == {text}")
            };
        }
        (_, Type::String | Type::Bytes) => "is_empty()",
        (_, _) if field.array => "is_empty()",
        (_, Type::Struct(_)) => "is_default()",
        (_, Type::Bool) => return format!("!{x}"),
        (_, Type::Uuid) => return format!("{x} == crate::Uuid::ZERO"),
        (_, Type::Float64) => return format!("{x} == 0.0"),
        (_, _) if field.is_error_code() => return format!("{x} == crate::ErrorCode::NONE"),
        (_, _) => return format!("{x} == 0"),
    };
    if field.is_nullable() {
        format!("{x}.as_ref().is_some_and(|x| x.{empty})")
    } else {
        format!("{x}.{empty}")
    }
}

pub(crate) fn emit_is_default(out: &mut String, shape: &Shape<'_>) {
    let mut tests: Vec<String> = shape.fields.iter().map(default_test).collect();
    if shape.flexible() {
        // A struct that carries unknown tags is written although its fields have their defaults.
        tests.push("self.unknown_tagged_fields.is_empty()".to_owned());
    }
    put!(out, "impl {} {{ fn is_default(&self) -> bool {{ {} }} }}", shape.name, tests.join(" && "));
}

/// The structs that are asked whether they have their defaults.
pub(crate) fn structs_with_default_test(message: &Message) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let all = message.structs.iter().map(|it| (&it.fields, it.versions));
    for (fields, versions) in all.chain([(&message.fields, message.versions)]) {
        let asked = |it: &&Field| it.tag.is_some() || (!it.ignorable && !it.versions.covers(versions));
        fields.iter().filter(asked).for_each(|it| mark(message, it, &mut found));
    }
    found
}

fn mark<'a>(message: &'a Message, field: &'a Field, found: &mut BTreeSet<&'a str>) {
    let Type::Struct(name) = &field.ty else { return };
    if field.array || field.default == Default::Null || !found.insert(name) {
        return;
    }
    for it in message.find(name).into_iter().flat_map(|it| &it.fields) {
        mark(message, it, found);
    }
}

pub(crate) fn emit_measure(out: &mut String, shape: &Shape<'_>) {
    put!(out, "fn measure(&self, s: &mut crate::Sizer, v: i16) -> Result<(), crate::EncodeError> {{");
    put!(out, "{}", shape.flex_line());
    let constant = |it: &&Field| shape.plain(it) == Holds::Always && !it.array && !it.is_nullable();
    let fixed: usize = shape.fields.iter().filter(constant).filter_map(|it| it.ty.fixed_size()).sum();
    if fixed > 0 {
        put!(out, "s.fixed({fixed});");
    }
    for it in shape.fields {
        if !(constant(&it) && it.ty.fixed_size().is_some()) {
            emit_measure_plain(out, shape, it);
        }
    }
    let tags = shape.tags();
    if !tags.is_empty() {
        put!(out, "let mut tags = 0;");
    }
    for (field, number, holds) in &tags {
        let measure = on_field(field, shape, &MEASURE_TAGGED);
        let test = default_test(field);
        put!(
            out,
            "if {} && !({test}) {{ tags += 1; let mark = s.total(); {measure} s.tagged({number}, mark); }}",
            holds.expression()
        );
    }
    if shape.flexible() {
        let known = if tags.is_empty() { "0" } else { "tags" };
        put!(out, "s.tags(&self.unknown_tagged_fields, flex, {known}, {})?;", tags.len());
    }
    put!(out, "Ok(())\n}}");
}

fn emit_measure_plain(out: &mut String, shape: &Shape<'_>, field: &Field) {
    let measure = on_field(field, shape, &MEASURE);
    match shape.plain(field) {
        Holds::Always => put!(out, "{measure}"),
        Holds::Never => {}
        Holds::If(test) => put!(out, "if {test} {{ {measure} }}"),
    }
    let exists = field.versions.within(shape.versions);
    if !field.ignorable && exists != Holds::Always {
        // wire.md 8.3: a value that the version lacks is refused, unless it may be dropped.
        let test = default_test(field);
        put!(
            out,
            "if !({}) && !({test}) {{ return Err(crate::EncodeError::lost({:?}, v)); }}",
            exists.expression(),
            field.name
        );
    }
}

pub(crate) fn emit_write(out: &mut String, shape: &Shape<'_>) {
    put!(out, "fn write(&self, w: &mut crate::Writer, v: i16) {{");
    put!(out, "{}", shape.flex_line());
    for it in shape.fields {
        let write = on_field(it, shape, &WRITE);
        match shape.plain(it) {
            Holds::Always => put!(out, "{write}"),
            Holds::Never => {}
            Holds::If(test) => put!(out, "if {test} {{ {write} }}"),
        }
    }
    if shape.flexible() {
        emit_write_tags(out, shape);
    }
    put!(out, "}}");
}

fn emit_write_tags(out: &mut String, shape: &Shape<'_>) {
    let tags = shape.tags();
    put!(out, "if flex {{");
    let mut count = "self.unknown_tagged_fields.len()".to_owned();
    for (field, number, holds) in &tags {
        put!(out, "let tag{number} = {} && !({});", holds.expression(), default_test(field));
        count += &format!(" + usize::from(tag{number})");
    }
    put!(out, "w.tag_count({count});");
    for (field, number, _) in &tags {
        let (measure, write) =
            (on_field(field, shape, &MEASURE_TAGGED), on_field(field, shape, &WRITE_TAGGED));
        put!(
            out,
            "if tag{number} {{ w.tag({number}, crate::Sizer::of(|s| {{ {measure} Ok(()) }})); {write} }}"
        );
    }
    put!(out, "w.unknown_tags(&self.unknown_tagged_fields);\n}}");
}

/// What differs between measuring and writing.
struct Way {
    target: &'static str,
    measures: bool,
    tagged: bool,
}

const MEASURE: Way = Way { target: "s", measures: true, tagged: false };
const MEASURE_TAGGED: Way = Way { target: "s", measures: true, tagged: true };
const WRITE: Way = Way { target: "w", measures: false, tagged: false };
const WRITE_TAGGED: Way = Way { target: "w", measures: false, tagged: true };

/// Statements that measure or write a field.
fn on_field(field: &Field, shape: &Shape<'_>, way: &Way) -> String {
    let x = accessor(field);
    if !field.is_nullable() {
        return on_value(field, &x, way);
    }
    let allowed = field.nullable.within(shape.versions.and(field.versions));
    let null = on_null(field, way);
    let null = match allowed {
        _ if !way.measures => null,
        Holds::Always => null,
        Holds::Never => format!("return Err(crate::EncodeError::null({:?}));", field.name),
        Holds::If(test) => {
            format!("if !({test}) {{ return Err(crate::EncodeError::null({:?})); }} {null}", field.name)
        }
    };
    let mark = present_mark(field, shape, way);
    format!("match &{x} {{ Some(x) => {{ {mark} {} }} None => {{ {null} }} }}", on_value(field, "x", way))
}

/// The byte before a nullable struct that is there. Versions in which it can't be null have none.
fn present_mark(field: &Field, shape: &Shape<'_>, way: &Way) -> String {
    if field.array || !matches!(field.ty, Type::Struct(_)) {
        return String::new();
    }
    let mark = format!("{}.present({});", way.target, if way.tagged { "true" } else { "false" });
    match field.nullable.within(shape.versions.and(field.versions)) {
        Holds::Always => mark,
        Holds::Never => String::new(),
        Holds::If(test) => format!("if {test} {{ {mark} }}"),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "of what can be null, the rest has long lengths")]
fn on_null(field: &Field, way: &Way) -> String {
    let (w, flex) = (way.target, flex(field));
    match &field.ty {
        _ if field.array => format!("{w}.null_long({flex});"),
        Type::String => format!("{w}.null_short({flex});"),
        Type::Struct(_) => format!("{w}.null_struct({});", way.tagged),
        _ => format!("{w}.null_long({flex});"),
    }
}

/// A value that is not null; `x` is its place, or a reference to it.
fn on_value(field: &Field, x: &str, way: &Way) -> String {
    if !field.array {
        return on_one(field, x, way);
    }
    let (w, flex) = (way.target, flex(field));
    let count = format!("{w}.count({x}.len(), {flex});");
    match (&field.ty, way.measures) {
        (ty, true) if ty.fixed_size().is_some() => {
            format!("{count} s.fixed({x}.len() * {});", ty.fixed_size().unwrap_or_default())
        }
        (Type::Struct(_), true) => format!(
            "{count} for (i, x) in {x}.iter().enumerate() {{ x.measure(s, v).map_err(|e| e.within({:?}, Some(i)))?; }}",
            field.name
        ),
        (ty, _) => {
            let one = if ty.fixed_size().is_some() { "*x" } else { "x" };
            format!("{count} for x in {x}.iter() {{ {} }}", on_one(field, one, way))
        }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all other types have a fixed size")]
fn on_one(field: &Field, x: &str, way: &Way) -> String {
    let flex = flex(field);
    let by = if x.starts_with("self.") { "&" } else { "" };
    if way.measures {
        return match &field.ty {
            Type::String => format!("s.str({by}{x}, {flex}, {:?})?;", field.name),
            Type::Bytes => format!("s.bytes({by}{x}, {flex});"),
            Type::Records => format!("s.records({by}{x}, {flex});"),
            Type::Struct(_) => format!("{x}.measure(s, v).map_err(|e| e.within({:?}, None))?;", field.name),
            ty => format!("s.fixed({});", ty.fixed_size().unwrap_or_default()),
        };
    }
    match &field.ty {
        Type::Bool => format!("w.bool({x});"),
        Type::Int8 => format!("w.i8({x});"),
        Type::Int16 if field.is_error_code() => format!("w.i16({x}.0);"),
        Type::Int16 => format!("w.i16({x});"),
        Type::Uint16 => format!("w.u16({x});"),
        Type::Int32 => format!("w.i32({x});"),
        Type::Uint32 => format!("w.u32({x});"),
        Type::Int64 => format!("w.i64({x});"),
        Type::Float64 => format!("w.f64({x});"),
        Type::Uuid => format!("w.uuid({x});"),
        Type::String => format!("w.str({by}{x}, {flex});"),
        Type::Bytes => format!("w.bytes({by}{x}, {flex});"),
        Type::Records => format!("w.records({by}{x}, {flex});"),
        Type::Struct(_) => format!("{x}.write(w, v);"),
    }
}
