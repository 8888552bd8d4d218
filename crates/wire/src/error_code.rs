//! Kafka's error codes.

use std::fmt;

/// A code of a response: zero is success. Codes that Kafka does not know are kept as they are.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(pub i16);

include!(concat!(env!("OUT_DIR"), "/errors.rs"));

impl ErrorCode {
    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> i16 {
        self.0
    }

    /// Kafka's name; `UNKNOWN_SERVER_ERROR` for a number that it does not know, as clients read it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.line().map_or("UNKNOWN_SERVER_ERROR", |it| it.1)
    }

    /// Whether Kafka's Java client tries again by itself.
    #[must_use]
    pub fn is_retriable(self) -> bool {
        self.line().is_some_and(|it| it.2)
    }

    /// What the code means, in a sentence.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        self.line().map_or("", |it| it.3)
    }

    /// Whether this is not `NONE`.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.0 != 0
    }

    fn line(self) -> Option<&'static (i16, &'static str, bool, &'static str)> {
        ERROR_CODES.iter().find(|it| it.0 == self.0)
    }
}

/// Bytes of an error message: a response has room for 32,767, and clients show it in one line.
const MESSAGE_MAX: usize = 16 * 1024;

/// A text as an error message, without its middle if it is too long to be sent: it may have in it what a client sent.
#[must_use]
pub fn error_message(text: String) -> String {
    if text.len() <= MESSAGE_MAX {
        return text;
    }
    const BETWEEN: &str = " … ";
    let half = (MESSAGE_MAX - BETWEEN.len()) / 2;
    let (head, tail) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    [text.get(..head).unwrap_or_default(), BETWEEN, text.get(tail..).unwrap_or_default()].concat()
}

impl From<i16> for ErrorCode {
    fn from(code: i16) -> Self {
        Self(code)
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_room_in_a_response() {
        assert_eq!(error_message("Group g not found.".to_owned()), "Group g not found.");
        for word in ["x", "ä", "𝄞"] {
            let found = error_message(format!("Group {} not found.", word.repeat(40_000)));
            assert!((16_000..=MESSAGE_MAX).contains(&found.len()), "{}", found.len());
            assert!(found.starts_with("Group ") && found.ends_with(" not found.") && found.contains(" … "));
        }
    }

    #[test]
    fn names_and_retries() {
        assert_eq!(ErrorCode::default(), ErrorCode::NONE);
        assert_eq!(ErrorCode::NOT_COORDINATOR.code(), 16);
        assert!(ErrorCode::NOT_COORDINATOR.is_retriable());
        assert!(!ErrorCode::INVALID_REQUEST.is_retriable());
        assert_eq!(ErrorCode::from(42).name(), "INVALID_REQUEST");
        assert_eq!(ErrorCode(-1), ErrorCode::UNKNOWN_SERVER_ERROR);
        assert_eq!(ERROR_CODES.len(), 138);
        assert!(ERROR_CODES.iter().all(|it| ErrorCode(it.0).meaning().ends_with('.')));
    }
}
