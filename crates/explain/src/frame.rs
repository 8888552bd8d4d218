//! Frames: size, header by key and version, body (wire.md 18.2 and 18.3).

use std::borrow::Cow;

use bytes::Bytes;
use wire::table::{self, Message};
use wire::tables::{REQUEST_HEADER, RESPONSE_HEADER};

use crate::node::{Category, Direction, Explained, Id, Mode, Value, What};
use crate::scan::{Scan, Step};
use crate::secrets::holds_secrets;
use crate::{Api, Lookup, Options};

const API_VERSIONS: i16 = 18;
pub(crate) const SASL_AUTHENTICATE: i16 = 36;
const UNSUPPORTED_VERSION: [u8; 2] = 35_i16.to_be_bytes();

/// The header of a request in this version; of ApiVersions also beyond the known versions (KIP-511).
#[must_use]
pub fn request_header_version(api: &Api, version: i16) -> i16 {
    if api.request.flexible.contains(version) { 2 } else { 1 }
}

/// The header of a response; that of ApiVersions is always 0 (KIP-511).
#[must_use]
pub fn response_header_version(api: &Api, version: i16) -> i16 {
    i16::from(api.key != API_VERSIONS && api.response.flexible.contains(version))
}

/// API key and version of a request frame that begins with its size.
#[must_use]
pub fn key_and_version(frame: &[u8]) -> Option<(i16, i16)> {
    let [_, _, _, _, k0, k1, v0, v1] = *frame.first_chunk::<8>()?;
    Some((i16::from_be_bytes([k0, k1]), i16::from_be_bytes([v0, v1])))
}

/// Whether a frame begins as requests do: a version that may be, and a client id that is text (wire.md 2.1). Hardly any
/// response does, unless its correlation id is small.
#[must_use]
pub fn begins_as_request(frame: &[u8]) -> bool {
    const VERSION_MAX: i16 = 32;
    let version = key_and_version(frame).map_or(-1, |it| it.1);
    (0..=VERSION_MAX).contains(&version) && has_client_id(frame)
}

/// Whether a frame has a client id where requests have it: text, or null.
fn has_client_id(frame: &[u8]) -> bool {
    let length = frame.get(12..).and_then(<[u8]>::first_chunk).map(|it| i16::from_be_bytes(*it));
    let id = match length.map(usize::try_from) {
        Some(Ok(length)) => frame.get(14..14 + length),
        Some(Err(_)) if length == Some(-1) => Some(&[][..]),
        Some(Err(_)) | None => None,
    };
    let id = id.and_then(|it| std::str::from_utf8(it).ok());
    id.is_some_and(|it| !it.chars().any(char::is_control))
}

/// Whether a frame begins as a request of `SaslAuthenticate` in whatever version, also in one that nobody knows.
#[must_use]
pub fn begins_as_authentication(frame: &[u8]) -> bool {
    key_and_version(frame).is_some_and(|it| it.0 == SASL_AUTHENTICATE) && has_client_id(frame)
}

/// Whether bytes are frames in a row, of which one begins as a request of `SaslAuthenticate`. The last one may be cut off.
#[must_use]
pub fn are_frames_of_authentication(bytes: &Bytes) -> bool {
    let is_whole = |frame: &Bytes| {
        let size = frame.first_chunk().map(|it| i32::from_be_bytes(*it));
        size.and_then(|it| usize::try_from(it).ok()).is_some_and(|it| Some(it) == frame.len().checked_sub(4))
    };
    split(bytes).all(|it| is_whole(&it) || begins_as_request(&it))
        && split(bytes).any(|it| begins_as_authentication(&it))
}

/// The correlation id of a frame that begins with its size.
#[must_use]
pub fn correlation_id(frame: &[u8], direction: Direction) -> Option<i32> {
    let at = match direction {
        Direction::Request => 8,
        Direction::Response => 4,
    };
    frame.get(at..)?.first_chunk().map(|it| i32::from_be_bytes(*it))
}

/// Cuts bytes into frames by their sizes. The last one is what is left, if its size says more.
#[must_use]
pub fn split(bytes: &Bytes) -> Frames {
    Frames { rest: bytes.clone() }
}

/// Frames in a row.
#[derive(Debug, Clone)]
pub struct Frames {
    rest: Bytes,
}

impl Iterator for Frames {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let there = self.rest.len();
        let size = self.rest.first_chunk().map(|it| i64::from(i32::from_be_bytes(*it)) + 4);
        let size = size.and_then(|it| usize::try_from(it).ok()).filter(|it| *it >= 4);
        (there > 0).then(|| self.rest.split_to(size.unwrap_or(there).min(there)))
    }
}

/// What the walk found out about the frame.
#[derive(Default)]
struct Found {
    api: Option<Api>,
    message: Option<&'static Message>,
    version: Option<i16>,
    header_version: Option<i16>,
}

/// A version that nobody knows of a message with secrets: whatever stands behind the fields that every header has, it is
/// not shown, not even as tags.
fn is_opaque(message: &Message, version: i16, options: &Options) -> bool {
    !options.show_secrets && holds_secrets(message) && !message.versions.contains(version)
}

/// The version in which the header of a request is read.
fn readable_request_header(api: Option<&Api>, version: i16, options: &Options) -> i16 {
    match api {
        Some(api) if !is_opaque(api.request, version, options) => request_header_version(api, version),
        Some(_) | None => 1,
    }
}

pub(crate) fn request(frame: &Bytes, mode: Mode, options: &Options) -> Explained {
    let lookup = Lookup::of(options);
    let (key, version) = key_and_version(frame).unzip();
    let api = key.and_then(|key| lookup.api_by_key(key));
    let header_version = Some(readable_request_header(api.as_ref(), version.unwrap_or(-1), options));
    let message = api.map(|it| it.request);
    let name = message.map_or("request", |it| it.name);
    let found = Found { api, message, version, header_version };
    whole(frame, Direction::Request, mode, options, name, found, |scan| scan.request_parts())
}

pub(crate) fn response(frame: &Bytes, api: Api, version: i16, mode: Mode, options: &Options) -> Explained {
    let opaque = is_opaque(api.response, version, options);
    let header_version = if opaque { 0 } else { response_header_version(&api, version) };
    let version = answered_version(frame, &api, version);
    let found = Found {
        api: Some(api),
        message: Some(api.response),
        version: Some(version),
        header_version: Some(header_version),
    };
    whole(frame, Direction::Response, mode, options, api.response.name, found, |scan| {
        scan.response_parts(&api, version)
    })
}

/// A response to a request of an unknown API: the correlation id and raw bytes.
pub(crate) fn unknown_response(frame: &Bytes, key: i16, version: i16, options: &Options) -> Explained {
    let found = Found { version: Some(version), header_version: Some(0), ..Found::default() };
    whole(frame, Direction::Response, Mode::Decode, options, "response", found, |scan| {
        scan.response_header(0, "response header")?;
        scan.stop(Id::Api, scan.at, format!("API key {key}"))
    })
}

/// A response that fits nothing: the correlation id and raw bytes.
pub(crate) fn unmatched_response(frame: &Bytes, options: &Options) -> Explained {
    let found = Found { header_version: Some(0), ..Found::default() };
    whole(frame, Direction::Response, Mode::Decode, options, "response", found, |scan| {
        scan.response_header(0, "response header")?;
        scan.stop(Id::Api, scan.at, "a response of an API and version that the bytes do not tell")
    })
}

/// A frame that is a raw token of a SASL mechanism, without a header (wire.md 1.7). All of it is a secret.
#[must_use]
pub fn token(frame: &Bytes, direction: Direction, options: &Options) -> Explained {
    whole(frame, direction, Mode::Decode, options, "SaslToken", Found::default(), |scan| {
        let start = scan.at;
        let bytes = scan.advance(scan.end - start);
        let value = scan.conceal(Value::Bytes(bytes));
        let before = scan.enter("token");
        scan.leaf(start, "token", "bytes", value, "", "token of the SASL mechanism, without a header");
        scan.leave(before);
        Ok(())
    })
}

/// ApiVersions is answered in version 0 if the version asked for is not served (KIP-511).
fn answered_version(frame: &[u8], api: &Api, version: i16) -> i16 {
    let refused = frame.get(8..10) == Some(UNSUPPORTED_VERSION.as_slice());
    if api.key == API_VERSIONS && version > 0 && refused { 0 } else { version }
}

fn whole(
    frame: &Bytes,
    direction: Direction,
    mode: Mode,
    options: &Options,
    name: &'static str,
    found: Found,
    parts: impl FnOnce(&mut Scan<'_>) -> Step<()>,
) -> Explained {
    let mut scan = Scan::new(frame, options);
    scan.mode = mode;
    scan.category = match direction {
        Direction::Request => Category::RequestBody,
        Direction::Response => Category::ResponseBody,
    };
    let version = found.version.map_or_else(String::new, |it| format!(" v{it}"));
    scan.open(name, format!("message{version}"), "");
    scan.region(frame.len(), |scan| scan.frame(parts));
    let (root, hidden) = scan.finish();
    Explained {
        what: What::Frame(direction),
        api: found.api,
        message: found.message,
        version: found.version,
        header_version: found.header_version,
        mode,
        bytes: frame.clone(),
        hidden,
        root,
    }
}

/// Why a response has this header: what people wonder about most (KIP-511).
fn response_header_words(api: &Api, version: i16, header_version: i16) -> String {
    if api.key == API_VERSIONS {
        return "response header; always 0 for ApiVersions, so that any client can read it".to_owned();
    }
    let flexible = if header_version == 1 { "flexible" } else { "not flexible" };
    format!("response header; {header_version}, since version {version} is {flexible}")
}

impl Scan<'_> {
    fn frame(&mut self, parts: impl FnOnce(&mut Self) -> Step<()>) -> Step<()> {
        let outer = std::mem::replace(&mut self.category, Category::Frame);
        let before = self.enter("Frame");
        self.open("Frame", "", "length prefix");
        let size = self.i32()?;
        let inner = self.enter("size");
        let there = self.remaining();
        let wanted = usize::try_from(size).unwrap_or(0);
        if wanted > there {
            self.remark(Id::Short, 0, format!("incomplete frame, have {there} of {wanted} bytes"));
        }
        self.leaf(0, "size", "int32", Value::Int(size.into()), "", "bytes after this field");
        self.leave(inner);
        self.close(Value::None, "");
        self.leave(before);
        self.category = outer;
        if size < 0 {
            return self.stop(Id::Negative, 0, format!("size {size}"));
        }
        // What is missing was said; that the fields end early follows from it.
        self.cut_off = wanted > there;
        self.region(self.at.saturating_add(wanted).min(self.end), parts);
        Ok(())
    }

    /// Header and body of a request, as they stand behind the size and in envelopes.
    pub(crate) fn request_parts(&mut self) -> Step<()> {
        let key = self.peek(0).map(i16::from_be_bytes);
        let version = self.peek(2).map_or(-1, i16::from_be_bytes);
        let api = key.and_then(|key| self.lookup().api_by_key(key));
        self.message = api.map(|it| it.request);
        self.request_header(api.as_ref(), version)?;
        let Some(api) = api else {
            let at = self.header_at;
            let before = self.enter("Header.request_api_key");
            let key = key.unwrap_or(-1);
            let removed =
                table::api(key).map_or("", |it| it.0.name.strip_suffix("Request").unwrap_or(it.0.name));
            let found = match removed {
                "" => format!("API key {key}"),
                name => format!("API key {key}: {name}, which was removed"),
            };
            let result = self.stop(Id::Api, at, found);
            self.leave(before);
            return result;
        };
        self.category = Category::RequestBody;
        self.supported(api.request, api.name(), version)?;
        self.body(api.request, version)
    }

    fn supported(&mut self, message: &Message, name: &str, version: i16) -> Step<()> {
        if message.versions.contains(version) {
            return Ok(());
        }
        let answer = if message.id == Some(API_VERSIONS) { "; a broker answers in version 0" } else { "" };
        let before = self.enter("Header.request_api_version");
        let found = format!("{name} has no version {version}; valid: {}{answer}", message.versions);
        let result = self.stop(Id::Version, self.header_at + 2, found);
        self.leave(before);
        result
    }

    fn request_header(&mut self, api: Option<&Api>, version: i16) -> Step<()> {
        let header_version = readable_request_header(api, version, self.options);
        self.header_at = self.at;
        let category = std::mem::replace(&mut self.category, Category::RpcHeader);
        let before = self.enter("Header");
        let flexible = if header_version == 2 { "flexible" } else { "not flexible" };
        let words = if api.is_some_and(|api| is_opaque(api.request, version, self.options)) {
            "request header; what is behind it may be a secret".to_owned()
        } else {
            format!("request header; {header_version}, since version {version} is {flexible}")
        };
        self.open(format!("RequestHeader v{header_version}"), "", words);
        let start = self.at;
        let key = self.i16()?;
        let name = api.map_or("", |it| it.name());
        self.header_leaf(start, "request_api_key", "int16", Value::Int(key.into()), name, "API number");
        let start = self.at;
        let version = self.i16()?;
        self.header_leaf(
            start,
            "request_api_version",
            "int16",
            Value::Int(version.into()),
            "",
            "API version",
        );
        self.correlation_id("repeated in the response")?;
        let start = self.at;
        let (id, note) = self.string(false, true).inspect_err(|_| self.at = start)?;
        let words = "int16 length in every header version";
        let inner = self.enter("client_id");
        self.leaf(start, "client_id", "nullable_string", id, note, words);
        self.leave(inner);
        if header_version == 2 {
            self.header_tags(&REQUEST_HEADER, 2)?;
        }
        if api.is_none() {
            self.remark(Id::Assumed, start, "the header is read as version 1");
            self.settle();
        }
        self.close(Value::None, "");
        self.leave(before);
        self.category = category;
        Ok(())
    }

    fn header_leaf(
        &mut self,
        start: usize,
        name: &'static str,
        ty: &'static str,
        value: Value,
        note: &'static str,
        description: &'static str,
    ) {
        let inner = self.enter(name);
        self.leaf(start, name, ty, value, note, description);
        self.leave(inner);
    }

    fn correlation_id(&mut self, description: &'static str) -> Step<()> {
        let start = self.at;
        let id = self.i32()?;
        self.header_leaf(start, "correlation_id", "int32", Value::Int(id.into()), "", description);
        Ok(())
    }

    fn header_tags(&mut self, header: &'static Message, version: i16) -> Step<()> {
        let outer = (self.version, self.flexible);
        (self.version, self.flexible) = (version, true);
        self.tags(&header.root)?;
        (self.version, self.flexible) = outer;
        Ok(())
    }

    fn response_header(&mut self, header_version: i16, words: impl Into<Cow<'static, str>>) -> Step<()> {
        let category = std::mem::replace(&mut self.category, Category::RpcHeader);
        let before = self.enter("Header");
        self.open(format!("ResponseHeader v{header_version}"), "", words);
        self.correlation_id("as in the request")?;
        if header_version == 1 {
            self.header_tags(&RESPONSE_HEADER, 1)?;
        }
        self.close(Value::None, "");
        self.leave(before);
        self.category = category;
        Ok(())
    }

    pub(crate) fn response_parts(&mut self, api: &Api, version: i16) -> Step<()> {
        self.message = Some(api.response);
        self.header_at = self.at;
        let header_version = response_header_version(api, version);
        if is_opaque(api.response, version, self.options) {
            self.response_header(0, "response header; what is behind it may be a secret")?;
        } else {
            self.response_header(header_version, response_header_words(api, version, header_version))?;
        }
        self.category = Category::ResponseBody;
        if !api.response.versions.contains(version) {
            let found = format!("{} has no version {version}; valid: {}", api.name(), api.response.versions);
            return self.stop(Id::Version, self.at, found);
        }
        self.body(api.response, version)
    }
}
