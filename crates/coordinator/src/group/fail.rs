//! Why a request was refused.

use wire::{ErrorCode, error_message};

/// Error code and message of a refused request. What refuses leaves no record and no soft state.
#[derive(Debug, Clone, PartialEq)]
pub struct Fail {
    pub code: ErrorCode,
    /// Null in the response when `None`, as where Kafka sends its code's default text.
    pub message: Option<String>,
}

impl Fail {
    /// The message may say again what a client sent, of any length.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: Some(error_message(message.into())) }
    }
}

impl From<ErrorCode> for Fail {
    fn from(code: ErrorCode) -> Self {
        Self { code, message: None }
    }
}
