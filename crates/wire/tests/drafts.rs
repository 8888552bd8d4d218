//! Drafts (streams-groups.md 17): they can be read and written by their tables, and nothing that serves knows them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::Bytes;
use wire::table::{self, Message};
use wire::tables::{APIS, DRAFTS, MESSAGES, RECORDS};
use wire::{Reader, json};

fn drafts() -> impl Iterator<Item = &'static Message> {
    DRAFTS.iter().flat_map(|it| it.apis.iter().chain(it.records)).flat_map(|it| [it.1, it.2])
}

#[test]
fn nothing_that_serves_knows_a_draft() {
    let names: Vec<_> = DRAFTS.iter().map(|it| it.name).collect();
    assert_eq!(names, ["newer", "older"]);
    for draft in DRAFTS {
        let keys: Vec<_> = draft.apis.iter().map(|it| it.0).collect();
        assert_eq!(keys, [88, 89, 90], "17.1");
        let types: Vec<_> = draft.records.iter().map(|it| it.0).collect();
        assert_eq!(types, [15, 16, 17, 18, 19, 20, 21], "17.1");
    }
    assert!(drafts().all(|it| it.draft.is_some()));
    let released = MESSAGES.iter().copied().chain(APIS.iter().flat_map(|it| [it.1, it.2]));
    let released = released.chain(RECORDS.iter().flat_map(|it| [it.2, it.3]));
    for it in released {
        assert!(it.draft.is_none() && drafts().all(|draft| !std::ptr::eq(draft, it)), "{}", it.name);
    }
    assert!(table::message("StreamsGroupInitializeRequest").is_none());
    assert_eq!(table::api(88).unwrap().0.name, "StreamsGroupHeartbeatRequest");
}

/// Bytes to JSON and back, by a draft's table.
fn round_trip(draft: &str, message: &str, bytes: &[u8]) -> String {
    let table = table::draft(draft).unwrap().message(message).unwrap();
    let mut reader = Reader::new(Bytes::copy_from_slice(bytes));
    let value = json::decode(table, 0, &mut reader).unwrap();
    assert_eq!(reader.remaining(), 0);
    assert_eq!(json::encode(table, 0, &value).unwrap(), bytes);
    value.to_string()
}

/// 17.2: the same topology in both revisions.
#[test]
fn initialize() {
    // Group "g", topology "t", one subtopology "0" that reads "a" and has nothing else.
    let head = b"\x02g\x02t\x02\x020\x02\x02a";
    // Regex "", no changelogs, no sinks, no sources.
    let older = [head.as_slice(), b"\x01\x01\x01\x01\x00\x00"].concat();
    // No regexes, changelogs, sinks, sources, copartition groups.
    let newer = [head.as_slice(), b"\x01\x01\x01\x01\x01\x00\x00"].concat();
    let text = round_trip("older", "StreamsGroupInitializeRequest", &older);
    assert!(text.contains("\"subtopology\":\"0\"") && text.contains("\"sinkTopics\":[]"), "{text}");
    let text = round_trip("newer", "StreamsGroupInitializeRequest", &newer);
    assert!(text.contains("\"subtopologyId\":\"0\"") && text.contains("\"copartitionGroups\":[]"), "{text}");
}

/// 17.4: an endpoint was a string before it was a struct; the flag that asks for the topology.
#[test]
fn heartbeat_response() {
    let head = [
        0, 0, 0, 0, 0, 0, // throttle time, error
        0, 2, b'm', 0, 0, 0, 1, // no message, member, epoch
        0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, // interval, lag, offsets
        1, 1, 1, 0, 0, 0, // initialize, group topology "", no status, no news of tasks
    ];
    let older = [head.as_slice(), &[2, 3, b'h', b'1', 1, 0, 0]].concat();
    let newer = [head.as_slice(), &[2, 2, b'h', 0, 1, 0, 1, 0, 0]].concat();
    let text = round_trip("older", "StreamsGroupHeartbeatResponse", &older);
    assert!(text.contains("\"userEndpoint\":\"h1\""), "{text}");
    let text = round_trip("newer", "StreamsGroupHeartbeatResponse", &newer);
    assert!(text.contains("\"shouldInitializeTopology\":true"), "{text}");
    assert!(text.contains("\"userEndpoint\":{\"host\":\"h\",\"port\":1}"), "{text}");
}
