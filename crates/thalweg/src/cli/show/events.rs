//! `thalweg groups events`: a line, or an object, per event.

use std::fmt::Write as _;

use wire::ErrorCode;
use wire::explain_group::response::Event;
use wire::json::Json;

use super::json::{known, number, object, text, text_or_null, time};
use super::{clock, rfc3339};

/// Width of the longest kind that is common.
const KIND_WIDTH: usize = 18;

/// `10:35:01.020  member-joined       m1  process p1 at 10.0.0.7, client word-count`
pub(in crate::cli) fn line(it: &Event, with_date: bool) -> String {
    let at = if with_date { rfc3339(it.time) } else { clock(it.time) };
    let mut line = format!("{at}  {:KIND_WIDTH$}", it.kind);
    if let Some(member) = &it.member_id {
        let _ = write!(line, "  {member}");
    }
    if it.epoch >= 0 {
        let _ = write!(line, "  epoch {}", it.epoch);
    }
    if it.tasks > 0 {
        let _ = write!(line, "  {} {}", it.tasks, if it.tasks == 1 { "task" } else { "tasks" });
    }
    if it.error_code != ErrorCode::NONE {
        let _ = write!(line, "  {}", it.error_code.name());
    }
    if !it.cause.is_empty() {
        let _ = write!(line, "  because {}", it.cause);
    }
    if !it.detail.is_empty() {
        let _ = write!(line, "  {}", it.detail);
    }
    if it.count > 1 {
        let _ = write!(line, "  ({} times)", it.count);
    }
    line.truncate(line.trim_end().len());
    line
}

pub(in crate::cli) fn json(it: &Event) -> Json {
    let error = (it.error_code != ErrorCode::NONE).then(|| it.error_code.name());
    object([
        ("sequence", number(it.sequence)),
        ("time", time(it.time)),
        ("kind", text(&it.kind)),
        ("member", it.member_id.as_ref().map_or(Json::Null, text)),
        ("cause", text_or_null(&it.cause)),
        ("epoch", known(it.epoch)),
        ("error", error.map_or(Json::Null, text)),
        ("count", number(it.count)),
        ("tasks", number(it.tasks)),
        ("detail", text_or_null(&it.detail)),
    ])
}
