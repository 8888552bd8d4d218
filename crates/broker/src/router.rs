//! From a frame to the future of its answer: header, version gate, decode, handler.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use coordinator::Caller;
use wire::frame::{self, RequestHead};
use wire::{ApiVersionsRequest, Chunk, FetchRequest, Request, Response};

use crate::api::{Api, api_versions};
use crate::broker::Broker;
use crate::call::{Call, Link};
use crate::net::output::Piece;

/// The future of an answer; the connection polls it.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// How a request ends.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A whole frame.
    Answer(Vec<Piece>),
    /// Nothing goes out, as for Produce with acks 0.
    Unanswered,
    /// The connection is closed, for this reason.
    Close(String),
}

impl Outcome {
    /// Encodes a response as a frame; `last` are the bytes of its last field, which is nullable and null in it.
    pub(crate) fn answer_with<R: Response>(
        link: &Link,
        correlation_id: i32,
        version: i16,
        (response, last): (&R, Option<Bytes>),
    ) -> Self {
        let Some(last) = last else { return Self::answer(link, correlation_id, version, response) };
        let frame = match frame::encode_response(response, version, correlation_id) {
            Ok(chunks) => wire::chunk::join(&chunks),
            Err(error) => return Self::Close(format!("{} v{version} can't be encoded: {error}", R::NAME)),
        };
        match with_last_field(&frame, last) {
            Some(pieces) => Self::Answer(pieces),
            None => Self::Close(format!("{} v{version} is larger than a frame can be", R::NAME)),
        }
    }

    /// Encodes a response as a frame, with files in its holes.
    pub(crate) fn answer<R: Response>(link: &Link, correlation_id: i32, version: i16, response: &R) -> Self {
        match frame::encode_response(response, version, correlation_id) {
            Ok(chunks) => match chunks.into_iter().map(|chunk| piece(link, chunk)).collect() {
                Some(pieces) => Self::Answer(pieces),
                None => Self::Close(format!("{} names a file part that nobody kept", R::NAME)),
            },
            // Our bug: a handler set a field that this version lacks, or a length beyond the format.
            Err(error) => Self::Close(format!("{} v{version} can't be encoded: {error}", R::NAME)),
        }
    }
}

/// A frame whose last field, a nullable one, is null: with that field's bytes in place of it. What follows a last
/// field is the number of tagged fields alone.
fn with_last_field(frame: &[u8], field: Bytes) -> Option<Vec<Piece>> {
    let (null_and_tags, size_of_size) = (2, 4);
    let before = frame.get(size_of_size..frame.len().checked_sub(null_and_tags)?)?;
    let size = i32::try_from(before.len() + field.len() + 1).ok()?;
    let mut start = BytesMut::with_capacity(frame.len());
    start.put_i32(size);
    start.put_slice(before);
    Some([start.freeze(), field, Bytes::from_static(&[0])].map(Piece::Bytes).into())
}

fn piece(link: &Link, chunk: Chunk) -> Option<Piece> {
    match chunk {
        Chunk::Bytes(bytes) => Some(Piece::Bytes(bytes)),
        Chunk::Hole { id, .. } => link.fill(id),
    }
}

/// Starts the request in `frame`. The error is why the connection must be closed: to what does not
/// parse, and to versions that are not served, there is no answer (`broker-core.md` 1.2 rule 6).
pub(crate) fn start(broker: &Arc<Broker>, link: &Arc<Link>, frame: Bytes) -> Result<Answering, String> {
    let start = frame.first_chunk::<4>().copied();
    let parsed = RequestHead::parse(frame);
    let (head, mut body) = parsed.map_err(|error| format!("request header{}: {error}", of_request(start)))?;
    let api = Api::by_key(head.key)
        .ok_or_else(|| format!("API key {} v{} is not served", head.key, head.version))?;
    if !api.served.contains(&head.version) {
        return refuse_version(link, api, &head);
    }
    let call = call(broker, link, &head);
    (api.start)(call, &head, &mut body).map_err(|error| format!("{} v{}: {error}", api.name, head.version))
}

/// Which API and version the first bytes of a frame name, in words.
fn of_request(start: Option<[u8; 4]>) -> String {
    let Some([a, b, c, d]) = start else { return String::new() };
    let (key, version) = (i16::from_be_bytes([a, b]), i16::from_be_bytes([c, d]));
    match Api::by_key(key) {
        Some(api) => format!(" of {} v{version}", api.name),
        None => format!(" of API key {key} v{version}"),
    }
}

/// ApiVersions alone tells which versions there are, since the client does not know them yet.
fn refuse_version(link: &Link, api: &Api, head: &RequestHead) -> Result<Answering, String> {
    if api.key != <ApiVersionsRequest as Request>::KEY {
        return Err(format!("{} v{} is not served", api.name, head.version));
    }
    let answer = Outcome::answer(link, head.correlation_id, 0, &api_versions::unsupported());
    Ok(Box::pin(ready(answer)))
}

fn call(broker: &Arc<Broker>, link: &Arc<Link>, head: &RequestHead) -> Call {
    let caller = Caller {
        principal: link.principal.clone(),
        client_id: head.client_id.clone().unwrap_or_default(),
        client_host: link.host.clone(),
        api_version: head.version,
        listener: link.listener.name.0.clone(),
        connection: link.id,
        software: link.software(),
    };
    if link.enters() {
        broker.departures.enter(link, &caller.client_id);
    }
    let arrival = link.arrive(head.key == <FetchRequest as Request>::KEY);
    Call { broker: broker.clone(), caller, link: link.clone(), version: head.version, arrival }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_field_is_put_in_place_of_null() {
        let response = |endpoints| wire::StreamsGroupHeartbeatResponse {
            member_id: "m".into(),
            partitions_by_user_endpoint: endpoints,
            ..Default::default()
        };
        for version in [0, 1] {
            let frame = |endpoints| {
                wire::chunk::join(&frame::encode_response(&response(endpoints), version, 7).unwrap())
            };
            let pieces = with_last_field(&frame(None), Bytes::from_static(&[1])).unwrap();
            let bytes = pieces.iter().flat_map(|it| match it {
                Piece::Bytes(bytes) => bytes.to_vec(),
                Piece::File { .. } => panic!("no file"),
            });
            assert_eq!(bytes.collect::<Vec<_>>(), frame(Some(Vec::new())));
        }
    }

    #[test]
    fn a_header_that_can_not_be_read_is_told_by_its_api() {
        assert_eq!(of_request(None), "");
        assert_eq!(of_request(Some([0, 0, 0, 9])), " of ProduceRequest v9");
        assert_eq!(of_request(Some([0x27, 0x0f, 0, 3])), " of API key 9999 v3");
    }
}
