//! Frames: header by key and version, then the message (wire.md 1 and 2).

use bytes::Bytes;

use crate::chunk::Chunks;
use crate::error::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind};
use crate::message::{Message, Request, Response, measure, written};
use crate::read::Reader;
use crate::str::Str;
use crate::table;
use crate::write::{Sizer, Writer};
use crate::{ApiVersionsRequest, RequestHeader, ResponseHeader};

const API_VERSIONS: i16 = <ApiVersionsRequest as Request>::KEY;

/// The request header of an API in a version; nothing if there is no such API or version.
///
/// ApiVersions has one in any version (KIP-511): its header must be readable before versions are agreed.
#[must_use]
pub fn request_header_version(key: i16, version: i16) -> Option<i16> {
    let (request, _) = table::api(key)?;
    let known = request.versions.contains(version) || (key == API_VERSIONS && version >= 0);
    known.then(|| if request.flexible.contains(version) { 2 } else { 1 })
}

/// The response header of an API in a version; nothing if there is no such API or version.
///
/// That of ApiVersions is always 0 (KIP-511), so that a client of any age finds the body.
#[must_use]
pub fn response_header_version(key: i16, version: i16) -> Option<i16> {
    let (_, response) = table::api(key)?;
    if key == API_VERSIONS {
        return Some(0);
    }
    let known = response.versions.contains(version);
    known.then(|| if response.flexible.contains(version) { 1 } else { 0 })
}

/// What stands before the body of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    pub key: i16,
    /// Of ApiVersions this may be a version that does not exist; then the body is not to be read.
    pub version: i16,
    pub correlation_id: i32,
    pub client_id: Option<Str>,
}

impl RequestHead {
    /// Reads the header of a request frame (without its size). The reader stands before the body.
    ///
    /// # Errors
    /// An unknown API or version, or a broken header: there is no answer to these, the connection is closed
    /// (wire.md 3.2).
    pub fn parse(frame: Bytes) -> Result<(Self, Reader), DecodeError> {
        let mut reader = Reader::new(frame);
        let (key, version) = peek(&reader)?;
        let header_version = request_header_version(key, version).ok_or_else(|| {
            let unknown = table::api(key).is_none_or(|it| it.0.versions.is_empty());
            let kind =
                if unknown { DecodeErrorKind::UnknownApi } else { DecodeErrorKind::UnsupportedVersion };
            DecodeError::at(0, kind)
        })?;
        let header = RequestHeader::decode(&mut reader, header_version)?;
        let RequestHeader { correlation_id, client_id, .. } = header;
        Ok((Self { key, version, correlation_id, client_id }, reader))
    }
}

/// Key and version, which are the first four bytes of every request.
fn peek(reader: &Reader) -> Result<(i16, i16), DecodeError> {
    let mut reader = reader.clone();
    let mut read = || Ok((reader.i16()?, reader.i16()?));
    read().map_err(|kind| DecodeError::at(0, kind))
}

/// A request frame with its size.
///
/// # Errors
/// As `Message::encode`.
pub fn encode_request<R: Request>(
    request: &R,
    version: i16,
    correlation_id: i32,
    client_id: Option<Str>,
) -> Result<Chunks, EncodeError> {
    let header_version = request_header_version(R::KEY, version).ok_or_else(|| unsupported::<R>(version))?;
    let header = RequestHeader {
        request_api_key: R::KEY,
        request_api_version: version,
        correlation_id,
        client_id,
        ..RequestHeader::default()
    };
    encode(&header, header_version, request, version)
}

/// A response frame with its size. The answer to an ApiVersions request of an unknown version is version 0.
///
/// # Errors
/// As `Message::encode`.
pub fn encode_response<R: Response>(
    response: &R,
    version: i16,
    correlation_id: i32,
) -> Result<Chunks, EncodeError> {
    let header_version = response_header_version(R::KEY, version).ok_or_else(|| unsupported::<R>(version))?;
    let header = ResponseHeader { correlation_id, ..ResponseHeader::default() };
    encode(&header, header_version, response, version)
}

fn unsupported<M: Message>(version: i16) -> EncodeError {
    EncodeError { path: M::NAME.to_owned(), kind: EncodeErrorKind::UnsupportedVersion(version) }
}

fn encode<H: Message, M: Message>(
    header: &H,
    header_version: i16,
    body: &M,
    version: i16,
) -> Result<Chunks, EncodeError> {
    let (mut of_header, mut of_body) = (Sizer::default(), Sizer::default());
    measure(header, &mut of_header, header_version)?;
    measure(body, &mut of_body, version)?;
    let too_large = |_| EncodeError { path: M::NAME.to_owned(), kind: EncodeErrorKind::TooLarge };
    let size = i32::try_from(of_header.total() + of_body.total()).map_err(too_large)?;
    let mut writer = Writer::with_capacity(4 + of_header.inline() + of_body.inline());
    writer.i32(size);
    written(header, &mut writer, &of_header, header_version);
    written(body, &mut writer, &of_body, version);
    Ok(writer.into_chunks())
}
