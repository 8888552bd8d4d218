//! Messages with Kafka's JSON field names, as frames or bodies.

use std::borrow::Cow;

use bytes::Bytes;
use wire::Writer;
use wire::json::{self, Json, JsonError};
use wire::tables::{REQUEST_HEADER, RESPONSE_HEADER};

use super::{Hints, problem};
use crate::frame::{request_header_version, response_header_version};
use crate::node::Direction;
use crate::{Api, Lookup, version_of};

/// What a frame has besides its body.
struct Envelope<'a> {
    api: Api,
    version: i16,
    direction: Direction,
    correlation_id: i64,
    client_id: Json,
    header_tags: Option<&'a Json>,
}

fn int(document: &Json, key: &str) -> Result<Option<i64>, JsonError> {
    match document.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Int(it)) => Ok(Some(*it)),
        Some(_) => Err(problem(key, "expected an integer")),
    }
}

fn small(document: &Json, key: &str) -> Result<Option<i16>, JsonError> {
    int(document, key)?.map(|it| i16::try_from(it).map_err(|_| problem(key, "out of range"))).transpose()
}

fn api_of(document: &Json, lookup: Lookup) -> Result<Api, JsonError> {
    let name = match document.get("api") {
        Some(Json::String(it)) => it.clone(),
        Some(Json::Int(it)) => it.to_string(),
        _ => return Err(problem("api", "expected a name or a number")),
    };
    lookup.api(&name).map_err(|e| problem("api", e.to_string()))
}

/// Our own form: api, version, direction, correlationId, clientId, body.
pub(super) fn framed(document: &Json, lookup: Lookup) -> Result<Bytes, JsonError> {
    let api = api_of(document, lookup)?;
    let direction = match document.get("direction") {
        None => Direction::Request,
        Some(Json::String(it)) if it == "request" => Direction::Request,
        Some(Json::String(it)) if it == "response" => Direction::Response,
        Some(_) => return Err(problem("direction", "expected \"request\" or \"response\"")),
    };
    let version = version_of(api.request, int(document, "version")?);
    let version = version.map_err(|e| problem("version", e.to_string()))?;
    let envelope = Envelope {
        api,
        version,
        direction,
        correlation_id: int(document, "correlationId")?.unwrap_or(0),
        client_id: document.get("clientId").cloned().unwrap_or_else(|| Json::String(String::new())),
        header_tags: document.get("headerTags"),
    };
    envelope.frame(document.get("body").unwrap_or(&Json::Null))
}

/// A line of Kafka's request log. The request is meant unless the response is asked for.
pub(super) fn logged(document: &Json, hints: &Hints, lookup: Lookup) -> Result<Bytes, JsonError> {
    let header = document.get("requestHeader").unwrap_or(&Json::Null);
    let key = small(header, "requestApiKey")?.ok_or_else(|| problem("requestApiKey", "is missing"))?;
    let api = lookup.api_by_key(key).ok_or_else(|| problem("requestApiKey", "no such API"))?;
    let version = version_of(api.request, int(header, "requestApiVersion")?);
    let version = version.map_err(|e| problem("requestApiVersion", e.to_string()))?;
    let direction = hints.direction.unwrap_or(Direction::Request);
    let body = document.get(direction.as_str());
    let body = body.ok_or_else(|| problem(direction.as_str(), "is missing"))?;
    let envelope = Envelope {
        api,
        version,
        direction,
        correlation_id: int(header, "correlationId")?.unwrap_or(0),
        client_id: header.get("clientId").cloned().unwrap_or(Json::Null),
        header_tags: None,
    };
    envelope.frame(body)
}

/// A body alone: a frame around it if an API is given, just the bytes if a message is.
pub(super) fn bare(document: &Json, hints: &Hints) -> Result<Bytes, JsonError> {
    let asked = hints.version.map(i64::from);
    let version = |message| version_of(message, asked).map_err(|e| problem("", e.to_string()));
    if let Some(message) = hints.message {
        return json::encode(message, version(message)?, document);
    }
    let Some(api) = hints.api else {
        return Err(problem("", "neither a tree nor a message with its API: say --api"));
    };
    let envelope = Envelope {
        api,
        version: version(api.request)?,
        direction: hints.direction.unwrap_or(Direction::Request),
        correlation_id: 0,
        client_id: Json::String(String::new()),
        header_tags: None,
    };
    envelope.frame(document)
}

impl Envelope<'_> {
    fn frame(&self, body: &Json) -> Result<Bytes, JsonError> {
        let within = |e: JsonError| {
            let dot = if e.path.is_empty() || e.path.starts_with('[') { "" } else { "." };
            problem(&format!("body{dot}{}", e.path), e.problem)
        };
        let (header, body) = match self.direction {
            Direction::Request => {
                (self.request_header()?, json::encode(self.api.request, self.version, body))
            }
            Direction::Response => {
                (self.response_header()?, json::encode(self.api.response, self.version, body))
            }
        };
        let body = body.map_err(within)?;
        let size =
            i32::try_from(header.len() + body.len()).map_err(|_| problem("", "larger than a frame"))?;
        let mut writer = Writer::new();
        writer.i32(size);
        writer.raw(&header);
        writer.raw(&body);
        Ok(writer.into_bytes())
    }

    fn request_header(&self) -> Result<Bytes, JsonError> {
        let entries = vec![
            (Cow::Borrowed("requestApiKey"), Json::Int(self.api.key.into())),
            (Cow::Borrowed("requestApiVersion"), Json::Int(self.version.into())),
            (Cow::Borrowed("correlationId"), Json::Int(self.correlation_id)),
            (Cow::Borrowed("clientId"), self.client_id.clone()),
        ];
        let version = request_header_version(&self.api, self.version);
        json::encode(&REQUEST_HEADER, version, &Json::Object(self.with_tags(entries)))
    }

    fn response_header(&self) -> Result<Bytes, JsonError> {
        let entries = vec![(Cow::Borrowed("correlationId"), Json::Int(self.correlation_id))];
        let version = response_header_version(&self.api, self.version);
        json::encode(&RESPONSE_HEADER, version, &Json::Object(self.with_tags(entries)))
    }

    fn with_tags(&self, mut entries: Vec<(Cow<'static, str>, Json)>) -> Vec<(Cow<'static, str>, Json)> {
        if let Some(tags) = self.header_tags {
            entries.push((Cow::Borrowed(json::UNKNOWN_TAGS), tags.clone()));
        }
        entries
    }
}
