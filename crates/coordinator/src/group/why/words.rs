//! Words that findings about groups of all types are made of.

use wire::Str;

/// With a capital letter.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().to_string() + chars.as_str())
}

/// All members.
pub(super) fn list<'a>(ids: impl Iterator<Item = &'a Str>) -> String {
    ids.map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

pub(super) fn has(ids: &[&Str]) -> String {
    let verb = if ids.len() == 1 { "has" } else { "have" };
    format!("{} {verb}", members(ids))
}

pub(super) fn runs(ids: &[&Str]) -> String {
    let verb = if ids.len() == 1 { "runs" } else { "run" };
    format!("{} {verb}", members(ids))
}

/// The first few members.
pub(super) fn members(ids: &[&Str]) -> String {
    const NAMED: usize = 3;
    let word = if ids.len() == 1 { "Member" } else { "Members" };
    match ids.split_at_checked(NAMED) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{word} {} and {} more", list(first.iter().copied()), rest.len())
        }
        Some(_) | None => format!("{word} {}", list(ids.iter().copied())),
    }
}

/// `instance i, ` of a static member.
pub(super) fn instance(id: Option<&Str>) -> String {
    id.map_or_else(String::new, |id| format!("instance {id}, "))
}

/// The verb of so many.
pub(super) fn verb(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}
