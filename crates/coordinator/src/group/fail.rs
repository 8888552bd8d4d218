//! Why a request was refused.

use wire::ErrorCode;

/// Error code and message of a refused request. What refuses leaves no record and no soft state.
#[derive(Debug, Clone, PartialEq)]
pub struct Fail {
    pub code: ErrorCode,
    /// Null in the response when `None`, as where Kafka sends its code's default text.
    pub message: Option<String>,
}

impl Fail {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: Some(message.into()) }
    }
}

impl From<ErrorCode> for Fail {
    fn from(code: ErrorCode) -> Self {
        Self { code, message: None }
    }
}
