//! A request of the recording in the words of the broker that is asked now: ids that it gave other names are put in.
//!
//! A request without such an id goes out as it was recorded, byte for byte.

use bytes::{Bytes, BytesMut};
use wire::base64;
use wire::batch::{BatchHeader, Batches, HEADER_LEN};
use wire::frame::request_header_version;
use wire::json::{self, Json};
use wire::table::{self, Field, Struct, Type};
use wire::{Message as _, Reader, RequestHeader, Writer};

use super::ids::{Ids, Meaning, Realm, meaning};

/// The request, a frame without its size, as it is to be sent.
pub(super) fn translate(request: &Bytes, ids: &Ids) -> Bytes {
    translated(request, ids).unwrap_or_else(|| request.clone())
}

/// Nothing if it is to go out as it is.
fn translated(request: &Bytes, ids: &Ids) -> Option<Bytes> {
    let [a, b, c, d] = *request.first_chunk::<4>()?;
    let (key, version) = (i16::from_be_bytes([a, b]), i16::from_be_bytes([c, d]));
    let (table, _) = table::api(key)?;
    let mut reader = Reader::new(request.clone());
    let header = RequestHeader::decode(&mut reader, request_header_version(key, version)?).ok()?;
    let start = reader.position();
    let mut body = json::decode(table, version, &mut reader).ok()?;
    if !structure(&table.root, &mut body, ids) {
        return None;
    }
    let mut writer = Writer::new();
    header.encode(&mut writer, request_header_version(key, version)?).ok()?;
    let mut out = BytesMut::from(writer.into_bytes().as_ref());
    debug_assert_eq!(out.len(), start, "a header is written as it was read");
    out.extend_from_slice(&json::encode(table, version, &body).ok()?);
    Some(out.freeze())
}

/// Puts the ids in; true if there was one.
fn structure(it: &'static Struct, value: &mut Json, ids: &Ids) -> bool {
    let Json::Object(entries) = value else { return false };
    let mut changed = false;
    for (key, value) in entries {
        let Some(field) = it.fields.iter().find(|it| it.json == key) else { continue };
        changed |= if let (Json::Array(elements), true) = (&mut *value, field.array) {
            elements.iter_mut().fold(false, |changed, it| one(field, it, ids) | changed)
        } else {
            one(field, value, ids)
        };
    }
    changed
}

fn one(field: &'static Field, value: &mut Json, ids: &Ids) -> bool {
    if let Type::Struct(it) = field.ty {
        return structure(it, value, ids);
    }
    let new = match meaning(field) {
        Meaning::Id(realm) => ids.now(realm, value).filter(|it| *it != value).cloned(),
        Meaning::Records => records(value, ids),
        Meaning::Plain | Meaning::Time | Meaning::Masked => None,
    };
    match new {
        Some(new) => {
            *value = new;
            true
        }
        None => false,
    }
}

/// Batches with other producer ids. The id stands under the checksum, which is computed anew.
fn records(value: &Json, ids: &Ids) -> Option<Json> {
    let Json::String(text) = value else { return None };
    let bytes = Bytes::from(base64::decode(text, base64::STANDARD)?);
    let mut out = BytesMut::with_capacity(bytes.len());
    let mut batches = Batches::new(bytes);
    let mut changed = false;
    for batch in batches.by_ref() {
        let batch = batch.ok()?;
        let payload = batch.payload();
        let recorded = Json::Int(batch.header.producer_id);
        let now = match ids.now(Realm::Producer, &recorded) {
            Some(Json::Int(now)) if *now != batch.header.producer_id => *now,
            _ => {
                out.extend_from_slice(&batch.bytes);
                continue;
            }
        };
        changed = true;
        let header = BatchHeader { producer_id: now, ..batch.header };
        let header = BatchHeader { crc: header.checksum(&payload), ..header };
        out.extend_from_slice(&header.encode());
        out.extend_from_slice(batch.bytes.get(HEADER_LEN..)?);
    }
    out.extend_from_slice(batches.rest());
    changed.then(|| Json::String(base64::encode(&out, base64::STANDARD)))
}

#[cfg(test)]
mod tests {
    use wire::batch::BatchBuilder;
    use wire::offset_commit::request::OffsetCommitRequestTopic;
    use wire::produce::request::{PartitionProduceData, TopicProduceData};
    use wire::{OffsetCommitRequest, ProduceRequest, Records, Request, Uuid, chunk, frame};

    use super::*;

    fn bytes<R: Request>(request: &R, version: i16) -> Bytes {
        chunk::join(&frame::encode_request(request, version, 5, Some("me".into())).unwrap()).slice(4..)
    }

    fn decode<R: Request>(frame: Bytes, version: i16) -> R {
        let (head, mut reader) = frame::RequestHead::parse(frame).unwrap();
        assert_eq!((head.correlation_id, head.client_id), (5, Some("me".into())));
        R::decode(&mut reader, version).unwrap()
    }

    #[test]
    fn members_and_topics() {
        let topic = OffsetCommitRequestTopic { topic_id: Uuid([1; 16]), ..Default::default() };
        let request = OffsetCommitRequest {
            group_id: "a".into(),
            member_id: "a".into(),
            topics: vec![topic],
            ..Default::default()
        };
        let mut ids = Ids::default();
        let text = |it: &str| Json::String(it.to_owned());
        assert_eq!(translate(&bytes(&request, 10), &ids), bytes(&request, 10));
        ids.learn(Realm::Member, &text("a"), &text("a longer one"));
        let uuid = |it: u8| Json::String(Uuid([it; 16]).to_string());
        ids.learn(Realm::Uuid, &uuid(1), &uuid(2));
        let found: OffsetCommitRequest = decode(translate(&bytes(&request, 10), &ids), 10);
        assert_eq!((found.group_id, found.member_id), ("a".into(), "a longer one".into()));
        assert_eq!(found.topics[0].topic_id, Uuid([2; 16]));
    }

    #[test]
    fn producers_in_batches() {
        let batch = |id| BatchBuilder::new().producer(id, 3, 9).push(None, Some(b"v")).build();
        let with = |records: Bytes| ProduceRequest {
            topic_data: vec![TopicProduceData {
                name: "t".into(),
                partition_data: vec![PartitionProduceData {
                    records: Some(Records::from(records)),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let mut ids = Ids::default();
        ids.learn(Realm::Producer, &Json::Int(1), &Json::Int(1000));
        let both = |first: Bytes| Bytes::from([first, batch(2)].concat());
        let found: ProduceRequest = decode(translate(&bytes(&with(both(batch(1))), 12), &ids), 12);
        assert_eq!(found, with(both(batch(1000))));
        for batch in Batches::new(found.topic_data[0].partition_data[0].records.as_ref().unwrap().bytes()) {
            batch.unwrap().verify().unwrap();
        }
    }
}
