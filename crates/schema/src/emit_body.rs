//! The bodies of `read`, `measure` and `write` for one struct.
//!
//! `measure` makes every check, so that `write` can't fail and is short; `Message::encode` calls them in this
//! order. A version test is emitted only where the struct's own versions leave it open.

use std::collections::BTreeSet;

use crate::emit_rust::put;
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

/// Fields that stand in a row and have a fixed size, in the versions of the test.
struct Run<'a> {
    holds: Holds,
    size: usize,
    /// Each with its place.
    fields: Vec<(&'a Field, usize)>,
}

/// What to do with the plain fields, one after the other.
enum Part<'a> {
    Run(Run<'a>),
    One(&'a Field, Holds),
}

/// The plain fields in their order.
fn parts<'a>(shape: &'a Shape<'_>) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for it in shape.fields {
        let holds = shape.plain(it);
        if holds == Holds::Never {
            continue;
        }
        let Some(size) = it.ty.fixed_size().filter(|_| !it.array) else {
            parts.push(Part::One(it, holds));
            continue;
        };
        match parts.last_mut() {
            Some(Part::Run(run)) if run.holds == holds => {
                run.fields.push((it, run.size));
                run.size += size;
            }
            _ => parts.push(Part::Run(Run { holds, size, fields: vec![(it, 0)] })),
        }
    }
    parts
}

/// Statements that are run where the test holds.
fn guarded(holds: &Holds, statements: &str) -> String {
    match holds {
        Holds::Always => statements.to_owned(),
        Holds::Never => String::new(),
        Holds::If(test) => format!("if {test} {{ {statements} }}"),
    }
}

// ---- read ----

pub(crate) fn emit_read(out: &mut String, shape: &Shape<'_>) {
    put!(
        out,
        "fn read(&mut self, r: &mut crate::Cursor<'_>, v: i16) -> Result<(), crate::DecodeErrorKind> {{"
    );
    put!(out, "{}", shape.flex_line());
    for part in parts(shape) {
        match part {
            Part::Run(run) => put!(out, "{}", guarded(&run.holds, &read_run(&run))),
            Part::One(field, holds) => put!(out, "{}", guarded(&holds, &read_field(field, shape, false))),
        }
    }
    let tags = shape.tags();
    if !tags.is_empty() {
        emit_read_tags(out, &tags, shape);
    } else if shape.flexible() {
        put!(out, "if flex && r.tagged() {{ r.unknown_tags(&mut self.unknown_tagged_fields)?; }}");
    }
    put!(out, "Ok(())\n}}");
}

fn read_run(run: &Run<'_>) -> String {
    let mut out = format!("let run = r.run::<{}>()?;", run.size);
    for (field, at) in &run.fields {
        let bytes = format!("crate::cursor::part::<{at}, _, _>(run)");
        out += &format!(" {} = {};", accessor(field), from_bytes(field, &bytes));
    }
    out
}

/// The value of a field of fixed size as an expression.
fn from_bytes(field: &Field, bytes: &str) -> String {
    let number = |ty: &str| format!("{ty}::from_be_bytes({bytes})");
    match &field.ty {
        Type::Bool => format!("{} != 0", number("u8")),
        Type::Int8 => number("i8"),
        Type::Int16 if field.is_error_code() => format!("crate::ErrorCode({})", number("i16")),
        Type::Int16 => number("i16"),
        Type::Uint16 => number("u16"),
        Type::Int32 => number("i32"),
        Type::Uint32 => number("u32"),
        Type::Int64 => number("i64"),
        Type::Float64 => number("f64"),
        Type::Uuid => format!("crate::Uuid({bytes})"),
        Type::String | Type::Bytes | Type::Records | Type::Struct(_) => unreachable!("of no fixed size"),
    }
}

fn emit_read_tags(out: &mut String, tags: &[(&Field, u32, Holds)], shape: &Shape<'_>) {
    put!(out, "if flex && r.tagged() {{ let (count, mut last) = (r.tag_count()?, None);");
    put!(out, "for _ in 0..count {{ let (tag, left) = r.tag(&mut last)?; match tag {{");
    for (field, number, holds) in tags {
        // A known tag in a version that lacks it is an error (wire.md 7.9).
        if *holds != Holds::Always {
            let test = holds.expression();
            put!(out, "{number} if !({test}) => return Err(crate::DecodeErrorKind::TagNotInVersion),");
        }
        put!(out, "{number} => {{ {} r.end_tag(left)?; }}", read_field(field, shape, true));
    }
    put!(out, "_ => self.unknown_tagged_fields.push(r.raw_tag(tag, left)?),");
    put!(out, "}} }} }}");
}

/// Reads a field, null where the version allows it.
fn read_field(field: &Field, shape: &Shape<'_>, tagged: bool) -> String {
    let x = accessor(field);
    if !field.is_nullable() {
        return read_value(field, shape, &format!("&mut {x}"));
    }
    let present = format!("let x = {x}.insert(Default::default()); {}", read_value(field, shape, "x"));
    match field.nullable.within(shape.versions.and(field.versions)) {
        Holds::Never => format!("{{ {present} }}"),
        Holds::Always => read_nullable(field, shape, tagged),
        Holds::If(test) => {
            format!("if {test} {{ {} }} else {{ {present} }}", read_nullable(field, shape, tagged))
        }
    }
}

/// Reads a value that is not null to `place`.
fn read_value(field: &Field, shape: &Shape<'_>, place: &str) -> String {
    let flex = flex(field);
    match &field.ty {
        ty @ Type::Struct(_) if field.array => {
            format!("r.list({place}, {flex}, {}, v)?;", min_size(ty, shape.message))
        }
        _ if field.is_broker_ids() => format!("r.broker_ids({place}, {flex})?;"),
        _ if field.array => format!("r.values({place}, {flex})?;"),
        Type::String => format!("r.str({place}, {flex})?;"),
        Type::Bytes => format!("r.bytes({place}, {flex})?;"),
        Type::Records => format!("r.records({place}, {flex})?;"),
        Type::Struct(_) => format!("({place}).read(r, v)?;"),
        Type::Bool
        | Type::Int8
        | Type::Int16
        | Type::Uint16
        | Type::Int32
        | Type::Uint32
        | Type::Int64
        | Type::Float64
        | Type::Uuid => format!("*({place}) = {};", from_bytes(field, "*r.run()?")),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "of what can be null, the rest is structs")]
fn read_nullable(field: &Field, shape: &Shape<'_>, tagged: bool) -> String {
    let (x, flex) = (accessor(field), flex(field));
    match &field.ty {
        ty @ Type::Struct(_) if field.array => {
            format!("r.nullable_list(&mut {x}, {flex}, {}, v)?;", min_size(ty, shape.message))
        }
        _ if field.is_broker_ids() => format!("r.nullable_broker_ids(&mut {x}, {flex})?;"),
        _ if field.array => format!("r.nullable_values(&mut {x}, {flex})?;"),
        Type::String => format!("r.nullable_str(&mut {x}, {flex})?;"),
        Type::Bytes => format!("r.nullable_bytes(&mut {x}, {flex})?;"),
        Type::Records => format!("r.nullable_records(&mut {x}, {flex})?;"),
        _ => format!("r.nullable(&mut {x}, {tagged}, v)?;"),
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
    let parts = parts(shape);
    emit_fixed(out, shape, &parts);
    put!(out, "fn measure(&self, s: &mut crate::Sizer, v: i16) -> Result<usize, crate::write::Refused> {{");
    put!(out, "{}", shape.flex_line());
    put!(out, "let mut n = 0;");
    for part in &parts {
        match part {
            Part::Run(_) => {}
            Part::One(field, holds) => {
                put!(out, "{}", guarded(holds, &measure_field(field, shape)));
            }
        }
    }
    emit_lost(out, shape);
    let tags = shape.tags();
    if !tags.is_empty() {
        put!(out, "let mut tags = 0;");
    }
    for (field, number, holds) in &tags {
        let (measure, test) = (measure_field(field, shape), default_test(field));
        put!(
            out,
            "if {} && !({test}) {{ tags += 1; let mark = n; {measure} n += crate::write::tagged({number}, n - mark); }}",
            holds.expression()
        );
    }
    if shape.flexible() {
        let known = if tags.is_empty() { "0" } else { "tags" };
        put!(out, "n += crate::write::tags(&self.unknown_tagged_fields, flex, {known}, {})?;", tags.len());
    }
    put!(out, "Ok(n)\n}}");
}

/// What every value takes in a version. In a list this is asked once.
fn emit_fixed(out: &mut String, shape: &Shape<'_>, parts: &[Part<'_>]) {
    put!(out, "#[inline] fn fixed(v: i16) -> usize {{");
    put!(out, "{}", shape.flex_line());
    let mut sum = if shape.flexible() { "usize::from(flex)" } else { "0" }.to_owned();
    for part in parts {
        match part {
            Part::Run(Run { holds: Holds::If(test), size, .. }) => {
                sum += &format!(" + if {test} {{ {size} }} else {{ 0 }}");
            }
            Part::Run(run) => sum += &format!(" + {}", run.size),
            Part::One(_, _) => {}
        }
    }
    put!(out, "{sum}\n}}");
}

/// wire.md 8.3: a value that the version lacks is refused, unless it may be dropped. One test says that there is none
/// in the newest versions.
fn emit_lost(out: &mut String, shape: &Shape<'_>) {
    let (mut exist, mut checks) = (Vec::new(), String::new());
    for it in shape.fields {
        let exists = it.versions.within(shape.versions);
        if !it.ignorable && exists != Holds::Always {
            let (exists, test) = (exists.expression(), default_test(it));
            let lost = format!("return Err(crate::write::lost({:?}, v));", it.name);
            checks += &format!("if !({exists}) && !({test}) {{ {lost} }}\n");
            exist.push(format!("({exists})"));
        }
    }
    if !exist.is_empty() {
        put!(out, "if !({}) {{ {checks} }}", exist.join(" && "));
    }
}

pub(crate) fn emit_write(out: &mut String, shape: &Shape<'_>) {
    put!(
        out,
        "fn write<'a>(&self, out: &'a mut [u8], w: &mut crate::fill::Splices, v: i16) -> &'a mut [u8] {{"
    );
    put!(out, "{}", shape.flex_line());
    put!(out, "let mut out = out;");
    for part in parts(shape) {
        match part {
            Part::Run(run) => put!(out, "{}", guarded(&run.holds, &write_run(&run))),
            Part::One(field, holds) => put!(out, "{}", guarded(&holds, &write_field(field, shape, false))),
        }
    }
    let tags = shape.tags();
    if !tags.is_empty() {
        emit_write_tags(out, shape, &tags);
    } else if shape.flexible() {
        put!(out, "if flex {{ out = crate::fill::tags(out, &self.unknown_tagged_fields); }}");
    }
    put!(out, "out\n}}");
}

fn write_run(run: &Run<'_>) -> String {
    let mut out = format!("let (run, rest) = crate::fill::run::<{}>(out);", run.size);
    for (field, at) in &run.fields {
        out += &format!(" crate::fill::part::<{at}, _, _>(run, {});", to_bytes(field, &accessor(field)));
    }
    out + " out = rest;"
}

/// The bytes of a field of fixed size as an expression.
fn to_bytes(field: &Field, x: &str) -> String {
    match &field.ty {
        Type::Bool => format!("[{x} as u8]"),
        Type::Uuid => format!("{x}.0"),
        _ if field.is_error_code() => format!("{x}.0.to_be_bytes()"),
        Type::Int8
        | Type::Int16
        | Type::Uint16
        | Type::Int32
        | Type::Uint32
        | Type::Int64
        | Type::Float64 => format!("{x}.to_be_bytes()"),
        Type::String | Type::Bytes | Type::Records | Type::Struct(_) => unreachable!("of no fixed size"),
    }
}

fn emit_write_tags(out: &mut String, shape: &Shape<'_>, tags: &[(&Field, u32, Holds)]) {
    put!(out, "if flex {{");
    let (mut none, mut count) = (String::new(), "self.unknown_tagged_fields.len()".to_owned());
    for (field, number, holds) in tags {
        put!(out, "let tag{number} = {} && !({});", holds.expression(), default_test(field));
        none += &format!("!tag{number} && ");
        count += &format!(" + usize::from(tag{number})");
    }
    put!(
        out,
        "if {none} self.unknown_tagged_fields.is_empty() {{ out = crate::fill::fixed(out, [0]); }} else {{"
    );
    put!(out, "out = crate::fill::uvarint(out, {count});");
    for (field, number, _) in tags {
        let (measure, write) = (measure_field(field, shape), write_field(field, shape, true));
        put!(
            out,
            "if tag{number} {{ out = crate::fill::tag(out, {number}, crate::Sizer::of(|s| {{ let mut n = 0; {measure} Ok(n) }})); {write} }}"
        );
    }
    put!(out, "out = crate::fill::unknown_tags(out, &self.unknown_tagged_fields);\n}} }}");
}

/// Statements that measure a field.
#[expect(clippy::wildcard_enum_match_arm, reason = "of what can be null, the rest has long lengths")]
fn measure_field(field: &Field, shape: &Shape<'_>) -> String {
    let x = accessor(field);
    if !field.is_nullable() {
        return measure_value(field, &format!("&{x}"));
    }
    let null = match &field.ty {
        Type::Struct(_) if !field.array => "n += 1;".to_owned(),
        Type::String if !field.array => format!("n += crate::write::null_short({});", flex(field)),
        _ => format!("n += crate::write::null_long({});", flex(field)),
    };
    let refused = format!("return Err(crate::write::null({:?}));", field.name);
    let null = match field.nullable.within(shape.versions.and(field.versions)) {
        Holds::Always => null,
        Holds::Never => refused,
        Holds::If(test) => format!("if !({test}) {{ {refused} }} {null}"),
    };
    let mark = guarded(&present_mark(field, shape), "n += 1;");
    format!("match &{x} {{ Some(x) => {{ {mark} {} }} None => {{ {null} }} }}", measure_value(field, "x"))
}

/// Where there is a byte before a nullable struct that is there. Versions in which it can't be null have none.
fn present_mark(field: &Field, shape: &Shape<'_>) -> Holds {
    if field.array || !matches!(field.ty, Type::Struct(_)) {
        return Holds::Never;
    }
    field.nullable.within(shape.versions.and(field.versions))
}

/// A value that is not null; `x` is a reference to it.
fn measure_value(field: &Field, x: &str) -> String {
    let (flex, name) = (flex(field), &field.name);
    if field.array {
        let count = format!("n += crate::write::count(({x}).len(), {flex});");
        let all = match (&field.ty, field.ty.fixed_size()) {
            (_, Some(size)) => format!("n += ({x}).len() * {size};"),
            (Type::Struct(struct_name), _) => format!(
                "n += ({x}).len() * {struct_name}::fixed(v); for (i, x) in ({x}).iter().enumerate() {{ n += x.measure(s, v).map_err(|e| crate::write::within(e, {name:?}, Some(i)))?; }}"
            ),
            (_, _) => format!("for x in ({x}).iter() {{ n += crate::write::str(x, {flex}, {name:?})?; }}"),
        };
        return count + &all;
    }
    match (&field.ty, field.ty.fixed_size()) {
        (_, Some(size)) => format!("n += {size};"),
        (Type::String, _) => format!("n += crate::write::str({x}, {flex}, {name:?})?;"),
        (Type::Bytes, _) => format!("n += s.bytes({x}, {flex});"),
        (Type::Records, _) => format!("n += s.records({x}, {flex});"),
        (Type::Struct(ty), _) => format!(
            "n += {ty}::fixed(v) + ({x}).measure(s, v).map_err(|e| crate::write::within(e, {name:?}, None))?;"
        ),
        (_, _) => unreachable!("all others are of a fixed size"),
    }
}

/// Statements that write a field.
#[expect(clippy::wildcard_enum_match_arm, reason = "of what can be null, the rest has long lengths")]
fn write_field(field: &Field, shape: &Shape<'_>, tagged: bool) -> String {
    let x = accessor(field);
    if !field.is_nullable() {
        return write_value(field, &format!("&{x}"));
    }
    let null = match &field.ty {
        Type::Struct(_) if !field.array => format!("null_struct(out, {tagged})"),
        Type::String if !field.array => format!("null_short(out, {})", flex(field)),
        _ => format!("null_long(out, {})", flex(field)),
    };
    let mark = guarded(&present_mark(field, shape), &format!("out = crate::fill::present(out, {tagged});"));
    format!(
        "match &{x} {{ Some(x) => {{ {mark} {} }} None => out = crate::fill::{null}, }}",
        write_value(field, "x")
    )
}

/// A value that is not null; `x` is a reference to it.
fn write_value(field: &Field, x: &str) -> String {
    let flex = flex(field);
    let value = match (&field.ty, field.array) {
        (Type::Struct(_), true) => {
            return format!(
                "out = crate::fill::count(out, ({x}).len(), {flex}); for x in ({x}).iter() {{ out = x.write(out, w, v); }}"
            );
        }
        (_, true) if field.is_broker_ids() => format!("crate::fill::broker_ids(out, {x}, {flex})"),
        (_, true) => format!("crate::fill::values(out, {x}, {flex})"),
        (Type::Struct(_), _) => format!("({x}).write(out, w, v)"),
        (Type::String, _) => format!("crate::fill::str(out, {x}, {flex})"),
        (Type::Bytes, _) => format!("crate::fill::bytes(out, {x}, {flex}, w)"),
        (Type::Records, _) => format!("crate::fill::records(out, {x}, {flex}, w)"),
        (_, _) => format!("crate::fill::fixed(out, {})", to_bytes(field, &format!("(*{x})"))),
    };
    format!("out = {value};")
}
