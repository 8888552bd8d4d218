//! Classic groups through a socket: what the handlers do beside the shard.

use crate::common::{TestBroker, soon};
use broker::auth::Operation;
use client::Connection;
use wire::join_group::request::JoinGroupRequestProtocol;
use wire::leave_group::request::MemberIdentity;
use wire::{
    ErrorCode, FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse,
    LeaveGroupRequest, Str, SyncGroupRequest,
};

fn joining(member_id: Str) -> JoinGroupRequest {
    let protocol = JoinGroupRequestProtocol { name: Str::from_static("range"), ..Default::default() };
    JoinGroupRequest {
        group_id: Str::from_static("g"),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 10_000,
        member_id,
        protocol_type: Str::from_static("consumer"),
        protocols: vec![protocol],
        ..Default::default()
    }
}

/// As clients do: they look for the coordinator, which makes the topic of groups, and wait until it is ready.
async fn join(connection: &mut Connection, version: i16, member: Str) -> JoinGroupResponse {
    let coordinator = FindCoordinatorRequest { key: Str::from_static("g"), ..Default::default() };
    soon(connection.call(3, &coordinator)).await;
    loop {
        let answer = soon(connection.call(version, &joining(member.clone()))).await;
        if answer.error_code != ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
            && answer.error_code != ErrorCode::NOT_COORDINATOR
        {
            return answer;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// 5.1, 4.2: scenario 312.
#[tokio::test]
async fn who_may_not_read_a_group_takes_no_part_in_it() {
    let broker = TestBroker::denying(Operation::Read).await;
    let mut connection = broker.connect().await;
    let denied = ErrorCode::GROUP_AUTHORIZATION_FAILED;
    for version in 0..=9 {
        let answer = soon(connection.call(version, &joining(Str::default()))).await;
        assert_eq!((answer.error_code, answer.generation_id, answer.member_id), (denied, -1, Str::default()));
        let name = if version < 7 { Some(Str::default()) } else { None };
        assert_eq!((answer.protocol_name, answer.leader), (name, Str::default()), "v{version}");
    }
    let (group_id, member_id) = (Str::from_static("g"), Str::from_static("m"));
    let sync = SyncGroupRequest { group_id: group_id.clone(), ..Default::default() };
    assert_eq!(soon(connection.call(4, &sync)).await.error_code, denied);
    // The form of version 5 is checked before any right.
    assert_eq!(soon(connection.call(5, &sync)).await.error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    let heartbeat = HeartbeatRequest { group_id: group_id.clone(), ..Default::default() };
    assert_eq!(soon(connection.call(4, &heartbeat)).await.error_code, denied);
    let leave = LeaveGroupRequest { group_id: group_id.clone(), member_id, ..Default::default() };
    assert_eq!(soon(connection.call(2, &leave)).await.error_code, denied);
    let members = vec![MemberIdentity::default()];
    let answer =
        soon(connection.call(5, &LeaveGroupRequest { group_id, members, ..Default::default() })).await;
    assert_eq!((answer.error_code, answer.members), (denied, Vec::new()));
    broker.stop().await;
}

/// 4.2, 4.5: scenarios 313 and 326.
#[tokio::test]
async fn versions_tell_no_protocol_and_a_single_leave_in_their_own_way() {
    let broker = TestBroker::start().await;
    let mut connection = broker.connect().await;
    for (version, name) in [(5, Some(Str::default())), (9, None)] {
        let answer = join(&mut connection, version, Str::default()).await;
        assert_eq!((answer.error_code, answer.protocol_name), (ErrorCode::MEMBER_ID_REQUIRED, name));
    }
    let group_id = Str::from_static("g");
    for version in 0..=2 {
        let answer = join(&mut connection, 5, Str::default()).await;
        for code in [ErrorCode::NONE, ErrorCode::UNKNOWN_MEMBER_ID] {
            let member_id = answer.member_id.clone();
            let leave = LeaveGroupRequest { group_id: group_id.clone(), member_id, ..Default::default() };
            let answer = soon(connection.call(version, &leave)).await;
            assert_eq!((answer.error_code, answer.members), (code, Vec::new()));
        }
    }
    broker.stop().await;
}
