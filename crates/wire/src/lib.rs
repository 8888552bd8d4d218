//! The wire format: messages of every API, records of the internal topics, record batches, frames.
//!
//! Types and their codec are generated from `schema/` by the build script; what is here by hand is what the
//! generated code stands on. This crate knows bytes, not brokers: no storage, no state, no I/O.

pub mod base64;
pub mod batch;
pub mod broker_ids;
pub mod chunk;
#[doc(hidden)]
pub mod cursor;
pub mod enums;
pub mod error;
pub mod error_code;
#[doc(hidden)]
pub mod fill;
pub mod frame;
pub mod json;
pub mod message;
pub mod read;
pub mod record;
pub mod str;
pub mod table;
pub mod uuid;
pub mod walk;
pub mod write;

mod messages {
    include!(concat!(env!("OUT_DIR"), "/messages.rs"));
}

/// The descriptor tables of all messages.
#[allow(missing_docs)]
pub mod tables {
    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}

pub use broker_ids::BrokerIds;
pub use chunk::{Chunk, Chunks, Records};
#[doc(hidden)]
pub use cursor::Cursor;
pub use error::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind};
pub use error_code::{ErrorCode, error_message};
pub use message::{Message, Request, Response};
pub use messages::*;
pub use read::{RawTag, Reader, Tags};
pub use record::LogRecord;
pub use str::Str;
pub use uuid::Uuid;
pub use write::{Sizer, Writer};
