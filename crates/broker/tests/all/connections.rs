//! Frames, order and limits of connections (`broker-core.md` 1 and 18.6).

use crate::common::{PATIENCE, TestBroker, closed, soon};
use bytes::Bytes;
use tokio::time::timeout;
use wire::chunk::join;
use wire::frame::encode_request;
use wire::{ApiVersionsRequest, ErrorCode, FindCoordinatorRequest, Message, Request, Str};

fn frame<R: Request>(version: i16, correlation_id: i32, request: &R) -> Bytes {
    join(&encode_request(request, version, correlation_id, Some(Str::from("test"))).unwrap())
}

fn api_versions() -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: Str::from("test"),
        client_software_version: Str::from("1"),
        ..Default::default()
    }
}

fn correlation_id(frame: &Bytes) -> i32 {
    i32::from_be_bytes(*frame.first_chunk().unwrap())
}

#[tokio::test]
async fn wrong_frames_close_their_connection_and_no_other() {
    let broker = TestBroker::start().await;
    let mut bystander = broker.connect().await;
    let mut header_only = vec![0, 0, 0, 8];
    header_only.extend([0, 18, 0, 3, 0, 0, 0, 1]);
    let wrong: [(&str, Vec<u8>); 7] = [
        ("negative size", vec![255, 255, 255, 255]),
        ("empty frame", vec![0, 0, 0, 0]),
        ("size above the limit", vec![0x16, 3, 1, 2, 0, 1, 0, 1]),
        ("no room for a header", vec![0, 0, 0, 2, 0, 18]),
        ("header cut off", header_only),
        ("unknown API", vec![0, 0, 0, 10, 3, 231, 0, 0, 0, 0, 0, 1, 255, 255]),
        ("body cut off", vec![0, 0, 0, 10, 0, 10, 0, 0, 0, 0, 0, 1, 255, 255]),
    ];
    for (what, bytes) in wrong {
        let mut connection = broker.connect().await;
        connection.send_raw(&bytes).await.unwrap();
        closed(&mut connection).await;
        let answer = soon(bystander.call(4, &api_versions())).await;
        assert_eq!(answer.error_code, ErrorCode::NONE, "after {what}");
    }
    broker.stop().await;
}

#[tokio::test]
async fn what_was_asked_before_a_wrong_frame_is_answered() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let mut bytes = frame(4, 1, &api_versions()).to_vec();
    bytes.extend_from_slice(&frame(4, 2, &api_versions()));
    bytes.extend([255, 255, 255, 255]);
    connection.send_raw(&bytes).await.unwrap();
    for id in 1..=2 {
        assert_eq!(correlation_id(&soon(connection.receive_raw()).await), id);
    }
    closed(&mut connection).await;
    broker.stop().await;
}

#[tokio::test]
async fn a_client_that_leaves_within_a_frame_disturbs_nobody() {
    let broker = TestBroker::start().await;
    for cut in [1, 4, 7, 20] {
        let mut connection = broker.connect().await;
        connection.send_raw(&frame(4, 1, &api_versions())[..cut]).await.unwrap();
    }
    let mut connection = broker.connect().await;
    soon(connection.call(4, &api_versions())).await;
    broker.stop().await;
}

#[tokio::test]
async fn bytes_may_come_one_by_one() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    for byte in frame(4, 77, &api_versions()) {
        connection.send_raw(&[byte]).await.unwrap();
    }
    assert_eq!(correlation_id(&soon(connection.receive_raw()).await), 77);
    broker.stop().await;
}

/// 1.2 rule 1: answers come in the order of their requests, also if the first takes longest.
#[tokio::test]
async fn pipelined_answers_keep_the_order_of_their_requests() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    let coordinator = FindCoordinatorRequest { coordinator_keys: vec![Str::from("g")], ..Default::default() };
    // The first question creates the internal topic; more follow than may be in flight at once.
    let mut bytes = frame(4, 0, &coordinator).to_vec();
    for id in 1..200 {
        bytes.extend_from_slice(&frame(4, id, &api_versions()));
    }
    connection.send_raw(&bytes).await.unwrap();
    for id in 0..200 {
        assert_eq!(correlation_id(&soon(connection.receive_raw()).await), id);
    }
    broker.stop().await;
}

/// `decisions.md` 3: there is no answer that a client of that version could read.
#[tokio::test]
async fn versions_that_are_not_served_close_the_connection() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    // FindCoordinator v7, correlation id 1, no client id.
    connection.send_raw(&[0, 0, 0, 10, 0, 10, 0, 7, 0, 0, 0, 1, 255, 255]).await.unwrap();
    assert!(timeout(PATIENCE, connection.receive_raw()).await.unwrap().is_err());
    broker.stop().await;
}

#[tokio::test]
async fn a_frame_above_socket_request_max_bytes_closes_the_connection() {
    let broker = TestBroker::with(&[("socket.request.max.bytes", "64")]).await;
    let mut connection = broker.connect().await;
    soon(connection.call(4, &api_versions())).await;
    let keys = vec![Str::from("a-group-with-a-name"); 4];
    let large = FindCoordinatorRequest { coordinator_keys: keys, ..Default::default() };
    connection.send(4, &large).await.unwrap();
    closed(&mut connection).await;
    broker.stop().await;
}

#[tokio::test]
async fn connections_of_one_address_are_limited() {
    let broker = TestBroker::with(&[("max.connections.per.ip", "2")]).await;
    let mut first = broker.connect().await;
    let mut second = broker.connect().await;
    soon(first.call(4, &api_versions())).await;
    soon(second.call(4, &api_versions())).await;
    let mut third = broker.connect().await;
    closed(&mut third).await;
    drop(first);
    // A place is free as soon as the broker has seen the first one go.
    let served = async {
        loop {
            let mut next = broker.connect().await;
            if next.call(4, &api_versions()).await.is_ok() {
                break;
            }
        }
    };
    timeout(PATIENCE, served).await.unwrap();
    broker.stop().await;
}

#[tokio::test]
async fn connections_above_the_limit_wait_for_a_place() {
    let broker = TestBroker::with(&[("max.connections", "1")]).await;
    let mut first = broker.connect().await;
    soon(first.call(4, &api_versions())).await;
    let mut second = broker.connect().await;
    second.send(4, &api_versions()).await.unwrap();
    drop(first);
    soon(second.receive::<ApiVersionsRequest>(4)).await;
    broker.stop().await;
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let broker = TestBroker::with(&[("connections.max.idle.ms", "50")]).await;
    let mut connection = broker.connect().await;
    soon(connection.call(4, &api_versions())).await;
    closed(&mut connection).await;
    broker.stop().await;
}

#[tokio::test]
async fn a_stop_closes_connections() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    soon(connection.call(4, &api_versions())).await;
    timeout(PATIENCE, broker.stop()).await.unwrap();
    closed(&mut connection).await;
}

#[test]
fn the_requests_above_are_what_they_say() {
    assert_eq!((ApiVersionsRequest::KEY, FindCoordinatorRequest::KEY), (18, 10));
    assert_eq!(*FindCoordinatorRequest::VERSIONS.end(), 6);
}
