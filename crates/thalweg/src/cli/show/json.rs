//! Small helpers to write JSON by hand: names stay where they are written.

use wire::Str;
use wire::json::Json;

use super::rfc3339;

pub(super) fn object<const N: usize>(entries: [(&'static str, Json); N]) -> Json {
    Json::Object(entries.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

pub(super) fn text(text: impl ToString) -> Json {
    Json::String(text.to_string())
}

/// Null for the empty text.
pub(super) fn text_or_null(text: &Str) -> Json {
    if text.is_empty() { Json::Null } else { self::text(text) }
}

pub(super) fn number(number: impl Into<i64>) -> Json {
    Json::Int(number.into())
}

/// Null for what is not known.
pub(super) fn number_or_null(number: Option<i64>) -> Json {
    number.map_or(Json::Null, self::number)
}

/// Null below zero, by which answers say that there is none.
pub(super) fn known(number: impl Into<i64>) -> Json {
    let number = number.into();
    number_or_null((number >= 0).then_some(number))
}

/// A time in RFC 3339; null below zero.
pub(super) fn time(millis: i64) -> Json {
    if millis < 0 { Json::Null } else { text(rfc3339(millis)) }
}

pub(super) fn list<T>(items: &[T], json: impl Fn(&T) -> Json) -> Json {
    Json::Array(items.iter().map(json).collect())
}

pub(super) fn texts<T: ToString>(items: &[T]) -> Json {
    list(items, |it| text(it.to_string()))
}
