//! `--tree`: the whole of a frame, by the explainer.

use bytes::Bytes;
use explain::text::Style;
use explain::{Direction, Explained, Options};
use wire::json::Json;

use super::line::Line;

/// The tree of a frame that is here as a whole and is of an API.
pub(super) fn explained(line: &Line, frame: &Bytes) -> Option<Explained> {
    let api = line.api.filter(|_| frame.len() == line.size + 4)?;
    let options = Options::default();
    Some(match line.direction {
        Direction::Request => explain::request(frame, &options),
        Direction::Response => explain::response(frame, api.key, api.version, &options),
    })
}

pub(super) fn text(explained: &Explained) -> String {
    explain::text::tree(explained, Style { colour: false, descriptions: false })
}

pub(super) fn json(explained: &Explained) -> Json {
    explain::json::of(explained)
}
