//! What a version lacks is refused or dropped when it is written (wire.md 8.3 and 8.4, decision 4), and what the
//! decoder leaves out has its default.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test may panic"
)]

use bytes::Bytes;
use wire::share_fetch::request::ShareFetchRequest;
use wire::{
    ApiVersionsRequest, ApiVersionsResponse, Chunk, ConsumerGroupHeartbeatRequest, DescribeGroupsResponse,
    EncodeError, EncodeErrorKind, ErrorCode, FetchResponse, ListGroupsRequest, Message, MetadataRequest,
    RawTag, Reader, Records, Str, StreamsGroupHeartbeatRequest, Uuid, chunk, describe_groups, fetch, frame,
};

fn refused<M: Message>(message: &M, version: i16) -> (String, EncodeErrorKind) {
    let EncodeError { path, kind } = message.to_bytes(version).unwrap_err();
    assert_eq!(message.size(version).unwrap_err(), EncodeError { path: path.clone(), kind });
    (path, kind)
}

/// wire.md 8.4, row by row.
#[test]
fn lost_fields() {
    let lost = |path: &str, v| (path.to_owned(), EncodeErrorKind::FieldNotInVersion(v));
    let list = ListGroupsRequest { types_filter: vec!["share".into()], ..Default::default() };
    assert_eq!(refused(&list, 4), lost("TypesFilter", 4));
    assert!(list.size(5).is_ok());

    let heartbeat =
        ConsumerGroupHeartbeatRequest { subscribed_topic_regex: Some("a.*".into()), ..Default::default() };
    assert_eq!(refused(&heartbeat, 0), lost("SubscribedTopicRegex", 0));

    let group =
        describe_groups::response::DescribedGroup { error_message: Some("x".into()), ..Default::default() };
    let describe = DescribeGroupsResponse { groups: vec![Default::default(), group], ..Default::default() };
    assert_eq!(refused(&describe, 5), lost("Groups[1].ErrorMessage", 5));
    assert!(describe.size(6).is_ok());

    let share = ShareFetchRequest { is_renew_ack: true, ..Default::default() };
    assert_eq!(refused(&share, 1), lost("IsRenewAck", 1));
    let share = ShareFetchRequest { share_acquire_mode: 1, ..Default::default() };
    assert_eq!(share.to_bytes(1), ShareFetchRequest::default().to_bytes(1));

    let versions = ApiVersionsResponse { finalized_features_epoch: 5, ..Default::default() };
    assert_eq!(versions.to_bytes(2), ApiVersionsResponse::default().to_bytes(2));

    let metadata = MetadataRequest { topics: None, ..Default::default() };
    assert_eq!(refused(&metadata, 0), ("Topics".to_owned(), EncodeErrorKind::Null));
}

/// Versions that do not exist.
#[test]
fn no_such_version() {
    assert_eq!(refused(&ApiVersionsRequest::default(), 6).1, EncodeErrorKind::UnsupportedVersion(6));
    assert!(ApiVersionsRequest::decode(&mut Reader::new(Bytes::new()), -1).is_err());
}

/// wire.md 7.7: unknown tags are kept, refused without tag sections, and must ascend above the known ones.
#[test]
fn unknown_tags() {
    let tag = |tag| RawTag { tag, data: Bytes::from_static(b"\xab\xcd") };
    let with =
        |tags: Vec<RawTag>| ApiVersionsResponse { unknown_tagged_fields: tags.into(), ..Default::default() };
    assert_eq!(refused(&with(vec![tag(9)]), 2).1, EncodeErrorKind::TagsNotInVersion);
    assert_eq!(refused(&with(vec![tag(9), tag(9)]), 3).1, EncodeErrorKind::TagOrder);
    assert_eq!(refused(&with(vec![tag(1)]), 3).1, EncodeErrorKind::TagOrder);
    let message = with(vec![tag(9), tag(300)]);
    let bytes = message.to_bytes(3).unwrap();
    assert_eq!(ApiVersionsResponse::decode(&mut Reader::new(bytes), 3).unwrap(), message);
}

/// wire.md 7, the example: known and unknown tags together.
#[test]
fn tagged_example() {
    use wire::api_versions::response::{ApiVersion, SupportedFeatureKey};
    let key = ApiVersion { api_key: 18, max_version: 4, ..Default::default() };
    let feature = SupportedFeatureKey { name: "share.version".into(), max_version: 1, ..Default::default() };
    let message = ApiVersionsResponse {
        api_keys: vec![key],
        supported_features: vec![feature],
        finalized_features_epoch: 5,
        unknown_tagged_fields: vec![RawTag { tag: 9, data: Bytes::from_static(b"\xab\xcd") }].into(),
        ..Default::default()
    };
    let mut expected =
        b"\x00\x00\x02\x00\x12\x00\x00\x00\x04\x00\x00\x00\x00\x00\x03\x00\x14\x02\x0e".to_vec();
    expected
        .extend(b"share.version\x00\x00\x00\x01\x00\x01\x08\x00\x00\x00\x00\x00\x00\x00\x05\x09\x02\xab\xcd");
    assert_eq!(message.to_bytes(4).unwrap(), expected);
}

/// wire.md 6.2: no string is longer than 32767 bytes, in either length form.
#[test]
fn long_strings() {
    let long = ApiVersionsRequest { client_software_name: "x".repeat(32768).into(), ..Default::default() };
    let field = "ClientSoftwareName".to_owned();
    assert_eq!(refused(&long, 3), (field, EncodeErrorKind::StringTooLong));
    let longest = ApiVersionsRequest { client_software_name: "x".repeat(32767).into(), ..Default::default() };
    let bytes = longest.to_bytes(3).unwrap();
    assert_eq!(ApiVersionsRequest::decode(&mut Reader::new(bytes), 3).unwrap(), longest);
}

/// wire.md 3.3, the example: the answer to ApiVersions of a version to come.
#[test]
fn api_versions_of_the_future() {
    let key = wire::api_versions::response::ApiVersion { api_key: 18, max_version: 4, ..Default::default() };
    let response = ApiVersionsResponse {
        error_code: ErrorCode::UNSUPPORTED_VERSION,
        api_keys: vec![key],
        ..Default::default()
    };
    let frame = chunk::join(&frame::encode_response(&response, 0, 7).unwrap());
    assert_eq!(frame, b"\0\0\0\x10\0\0\0\x07\0\x23\0\0\0\x01\0\x12\0\0\0\x04".as_slice());
}

/// Decision 14: records of a response are spliced, holes included, and the frame's size counts them.
#[test]
fn records_are_not_copied() {
    let cached = Bytes::from(vec![1; 5000]);
    let hole = Chunk::Hole { id: 7, length: 1_000_000 };
    let records = Records::new(vec![Chunk::Bytes(cached.clone()), hole.clone()]);
    let partition = fetch::response::PartitionData { records: Some(records), ..Default::default() };
    let topic = fetch::response::FetchableTopicResponse { partitions: vec![partition], ..Default::default() };
    let response = FetchResponse { responses: vec![topic], ..Default::default() };
    let chunks = frame::encode_response(&response, 17, 1).unwrap();
    let Chunk::Bytes(head) = &chunks[0] else { panic!("the head is bytes") };
    assert!(matches!(&chunks[1], Chunk::Bytes(it) if it.as_ptr() == cached.as_ptr()));
    assert_eq!(chunks[2], hole);
    let total: usize = chunks.iter().map(Chunk::len).sum();
    assert_eq!(total - 4, i32::from_be_bytes(head[..4].try_into().unwrap()) as usize);
}

/// Long strings of a decoded message are the frame's memory, short ones are not; defaults are Kafka's.
#[test]
fn decoded_values() {
    let request = StreamsGroupHeartbeatRequest::default();
    assert_eq!(request.rebalance_timeout_ms, -1);
    assert_eq!((request.topology.as_ref(), request.active_tasks.as_ref()), (None, None));
    let group_id = Str::from("a group with a name of more than 38 bytes");
    let request = StreamsGroupHeartbeatRequest { group_id, member_id: "m".into(), ..request };
    let frame = request.to_bytes(1).unwrap();
    let decoded = StreamsGroupHeartbeatRequest::decode(&mut Reader::new(frame.clone()), 1).unwrap();
    assert_eq!(decoded, request);
    let shared = |it: &Str| frame.as_ptr_range().contains(&it.as_bytes().as_ptr());
    assert!(shared(&decoded.group_id) && !shared(&decoded.member_id));
    assert_eq!(Uuid::default(), Uuid::ZERO);
}

/// wire.md 14: a subscription of a version to come is read as version 3.
#[test]
fn consumer_protocol_forward() {
    use wire::ConsumerProtocolSubscription as Subscription;
    let bytes = b"\0\x09\0\0\0\x01\0\x01t\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\xff\xffnew".as_slice();
    let (subscription, version) = Subscription::from_prefixed_forward(&Bytes::from_static(bytes)).unwrap();
    assert_eq!((version, subscription.topics.as_slice()), (9, ["t".into()].as_slice()));
    assert!(Subscription::from_prefixed(&Bytes::from_static(bytes)).is_err());
}
