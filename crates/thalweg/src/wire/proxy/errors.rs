//! The error codes of an answer, at its top and inside, with their paths.

use std::fmt::Write as _;
use std::ops::Range;

use wire::ErrorCode;
use wire::table::{self, Field, Struct};
use wire::walk::{Value, Visitor, walk};

use super::rewrite::body_of_answer;

/// Error codes that are listed one by one; of those beyond only the number is told.
const LISTED_MAX: usize = 8;

/// An error code that is not 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: String,
    pub(crate) code: ErrorCode,
}

/// What an answer says to have failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Errors {
    pub(crate) listed: Vec<Found>,
    /// How many more there are.
    pub(crate) more: usize,
}

/// The error codes of an answer, which is a frame without its size.
///
/// # Errors
/// The answer can't be read: why.
pub(crate) fn errors(key: i16, version: i16, answer: &bytes::Bytes) -> Result<Errors, String> {
    let Some((_, table)) = table::api(key) else { return Err("an API that is not known".to_owned()) };
    if !table.versions.contains(version) {
        return Err(format!("version {version} is not known"));
    }
    let Some(mut body) = body_of_answer(key, version, answer) else {
        return Err("the header can't be read".to_owned());
    };
    let mut visitor = Search::default();
    walk(table, version, &mut body, &mut visitor).map_err(|problem| problem.to_string())?;
    if body.remaining() > 0 {
        return Err(format!("{} bytes behind the message", body.remaining()));
    }
    Ok(visitor.found)
}

/// The way from the message to a field.
enum Step {
    Struct { field: &'static str },
    Array { index: usize },
}

#[derive(Default)]
struct Search {
    path: Vec<Step>,
    found: Errors,
}

impl Search {
    fn render(&self) -> String {
        let mut out = String::new();
        for step in &self.path {
            // Writing to a string can't fail.
            let _ = match step {
                Step::Struct { field } if out.is_empty() => write!(out, "{field}"),
                Step::Struct { field } => write!(out, ".{field}"),
                Step::Array { index } => write!(out, "[{index}]"),
            };
        }
        out
    }

    fn element_done(&mut self) {
        if let Some(Step::Array { index }) = self.path.last_mut() {
            *index += 1;
        }
    }
}

impl Visitor for Search {
    fn field(&mut self, it: &'static Field) {
        if let Some(Step::Struct { field }) = self.path.last_mut() {
            *field = it.name;
        }
    }

    fn begin_struct(&mut self, _: &'static Struct) {
        self.path.push(Step::Struct { field: "" });
    }

    fn end_struct(&mut self) {
        self.path.pop();
        self.element_done();
    }

    fn begin_array(&mut self, _: &'static Field, _: usize) {
        self.path.push(Step::Array { index: 0 });
    }

    fn end_array(&mut self) {
        self.path.pop();
    }

    fn value(&mut self, field: &'static Field, value: Value, _: Range<usize>) {
        let code = if let Value::Int(code) = value
            && code != 0
            && field.name.ends_with("ErrorCode")
        {
            i16::try_from(code).ok()
        } else {
            None
        };
        if let Some(code) = code {
            if self.found.listed.len() < LISTED_MAX {
                self.found.listed.push(Found { path: self.render(), code: ErrorCode(code) });
            } else {
                self.found.more += 1;
            }
        }
        self.element_done();
    }
}

#[cfg(test)]
mod tests {
    use wire::produce::response::{PartitionProduceResponse, TopicProduceResponse};
    use wire::{MetadataResponse, ProduceResponse, Response, chunk, frame};

    use super::*;

    #[test]
    fn nested_and_bounded() {
        let partition = |code| PartitionProduceResponse { error_code: code, ..Default::default() };
        let fine = partition(ErrorCode::NONE);
        let wrong = partition(ErrorCode::NOT_LEADER_OR_FOLLOWER);
        let topic = |partitions| TopicProduceResponse {
            name: "t".into(),
            partition_responses: partitions,
            ..Default::default()
        };
        let many = topic(vec![wrong.clone(); 20]);
        let response =
            ProduceResponse { responses: vec![topic(vec![fine, wrong]), many], ..Default::default() };
        let answer = chunk::join(&frame::encode_response(&response, 12, 1).unwrap()).slice(4..);
        let found = errors(ProduceResponse::KEY, 12, &answer).unwrap();
        assert_eq!((found.listed.len(), found.more), (LISTED_MAX, 21 - LISTED_MAX));
        assert_eq!(found.listed[0].path, "Responses[0].PartitionResponses[1].ErrorCode");
        assert_eq!(found.listed[1].path, "Responses[1].PartitionResponses[0].ErrorCode");
        assert_eq!(found.listed[0].code.name(), "NOT_LEADER_OR_FOLLOWER");
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let answer =
            chunk::join(&frame::encode_response(&MetadataResponse::default(), 9, 1).unwrap()).slice(4..);
        assert_eq!(errors(3, 9, &answer), Ok(Errors::default()));
        assert!(errors(3, 9, &answer.slice(..answer.len() - 1)).is_err());
        assert!(errors(3, 77, &answer).is_err() && errors(9999, 0, &answer).is_err());
    }
}
