//! Captures made here, read again.
#![allow(clippy::cast_possible_truncation, reason = "packets are short")]

use bytes::Bytes;
use etherparse::PacketBuilder;
use explain::Direction;
use wire::{
    ApiVersionsRequest, ApiVersionsResponse, ErrorCode, HeartbeatRequest, HeartbeatResponse, Request,
    Response, chunk, frame,
};

use super::*;
use crate::wire::proxy::line::Line;

const CLIENT: u16 = 50_000;
const SERVER: u16 = 9092;
/// Sequence numbers begin near the end of their range, so that they turn over.
const FIRST: [u32; 2] = [u32::MAX - 40, 7];

fn request<R: Request>(request: &R, version: i16, id: i32) -> Bytes {
    chunk::join(&frame::encode_request(request, version, id, Some("app".into())).unwrap())
}

fn response<R: Response>(response: &R, version: i16, id: i32) -> Bytes {
    chunk::join(&frame::encode_response(response, version, id).unwrap())
}

/// A request of a group and its answer, which is an error for every third.
fn pair(id: i32) -> (Bytes, Bytes) {
    let asked = HeartbeatRequest {
        group_id: "g".repeat(1 + usize::try_from(id).unwrap() % 90).into(),
        ..Default::default()
    };
    let code = if id % 3 == 0 { ErrorCode::REBALANCE_IN_PROGRESS } else { ErrorCode::NONE };
    let answer = HeartbeatResponse { error_code: code, ..Default::default() };
    (request(&asked, 4, id), response(&answer, 4, id))
}

/// A segment: who sends (0 the client), sequence number from the begin of the stream, bytes, flags.
#[derive(Debug, Clone)]
struct Piece(usize, u32, Bytes, &'static str);

/// Kinds of files.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Ethernet4,
    /// pcapng with nanoseconds, the loopback of BSD, IPv6.
    NgLoopback6,
    /// Linux's "any" device.
    Any4,
}

fn packet(kind: Kind, piece: &Piece) -> Vec<u8> {
    let Piece(who, at, payload, flags) = piece;
    let (from, to) = if *who == 0 { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    let sequence = FIRST[*who].wrapping_add(*at);
    let mut out = Vec::new();
    let step = match kind {
        Kind::Ethernet4 => PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([127, 0, 0, 1], [127, 0, 0, 1], 64),
        Kind::Any4 => {
            out = vec![0; 14];
            out.extend([8, 0]);
            PacketBuilder::ipv4([127, 0, 0, 1], [127, 0, 0, 1], 64)
        }
        Kind::NgLoopback6 => {
            out = vec![30, 0, 0, 0];
            let loopback = std::net::Ipv6Addr::LOCALHOST.octets();
            PacketBuilder::ipv6(loopback, loopback, 64)
        }
    };
    let step = step.tcp(from, to, sequence, 1000);
    let step = if flags.contains('S') { step.syn() } else { step };
    let step = if flags.contains('A') { step.ack(1) } else { step };
    let step = if flags.contains('F') { step.fin() } else { step };
    step.write(&mut out, payload).unwrap();
    out
}

/// A file in which a packet comes every millisecond.
fn file(kind: Kind, pieces: &[Piece]) -> Vec<u8> {
    let packets = pieces.iter().map(|it| packet(kind, it));
    let mut out = Vec::new();
    let words = |out: &mut Vec<u8>, words: &[u32]| words.iter().for_each(|it| out.extend(it.to_le_bytes()));
    match kind {
        Kind::Ethernet4 | Kind::Any4 => {
            let link = if matches!(kind, Kind::Any4) { 113 } else { 1 };
            words(&mut out, &[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, link]);
            for (i, packet) in (0u32..).zip(packets) {
                let length = packet.len() as u32;
                words(&mut out, &[100, i * 1000, length, length]);
                out.extend(packet);
            }
        }
        Kind::NgLoopback6 => {
            words(&mut out, &[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28]);
            // The interface: link type 0, times in 10^-9 seconds.
            words(&mut out, &[1, 32, 0, 65_535, 0x0001_0009, 9, 0, 32]);
            for (i, packet) in (0u64..).zip(packets) {
                let (length, padded) = (packet.len() as u32, packet.len().next_multiple_of(4) as u32);
                let at = 100_000_000_000 + i * 1_000_000;
                let total = 32 + padded;
                words(&mut out, &[6, total, 0, (at >> 32) as u32, at as u32, length, length]);
                out.extend(packet);
                out.resize(out.len() + (padded - length) as usize, 0);
                words(&mut out, &[total]);
            }
        }
    }
    out
}

fn read_bytes(bytes: &[u8]) -> (Vec<(Line, Bytes)>, Vec<String>) {
    let (mut frames, mut notes) = (Vec::new(), Vec::new());
    let done = read::<String>(Path::new("test"), bytes, &mut |it| {
        match it {
            Captured::Frame(line, frame) => frames.push((line, frame)),
            Captured::Note { text, .. } => notes.push(text),
        }
        Ok(())
    });
    done.unwrap();
    (frames, notes)
}

fn handshake() -> Vec<Piece> {
    vec![Piece(0, 0, Bytes::new(), "S"), Piece(1, 0, Bytes::new(), "SA"), Piece(0, 1, Bytes::new(), "A")]
}

/// Frames of a direction in their order.
fn of(frames: &[(Line, Bytes)], direction: Direction) -> Vec<Bytes> {
    frames.iter().filter(|it| it.0.direction == direction).map(|it| it.1.clone()).collect()
}

#[test]
fn a_conversation_in_all_kinds_of_files() {
    let asked = request(&ApiVersionsRequest::default(), 3, 1);
    let answer = response(&ApiVersionsResponse::default(), 3, 1);
    let mut pieces = handshake();
    pieces.insert(1, pieces[0].clone());
    // The request in two parts that come in the wrong order, the second one twice.
    pieces.push(Piece(0, 11, asked.slice(10..), "A"));
    pieces.push(Piece(0, 1, asked.slice(..10), "A"));
    pieces.push(Piece(0, 11, asked.slice(10..), "A"));
    pieces.push(Piece(1, 1, answer.clone(), "A"));
    pieces.push(Piece(0, 1 + asked.len() as u32, Bytes::new(), "FA"));
    pieces.push(Piece(1, 1 + answer.len() as u32, Bytes::new(), "FA"));
    for kind in [Kind::Ethernet4, Kind::NgLoopback6, Kind::Any4] {
        let bytes = file(kind, &pieces);
        assert!(is_capture(&bytes));
        let (frames, notes) = read_bytes(&bytes);
        assert_eq!(frames.len(), 2, "{kind:?} {notes:?}");
        assert_eq!((&frames[0].1, &frames[1].1), (&asked, &answer), "{kind:?}");
        let line = &frames[1].0;
        assert_eq!(line.latency.map(|it| it.as_micros()), Some(2000), "{kind:?}");
        assert_eq!((line.at_us, line.client_id.as_str()), (100_007_000, "app"), "{kind:?}");
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].ends_with(":9092") && notes[0].contains(":50000 to "), "{notes:?}");
    }
}

/// The same bytes however they are cut, doubled and shuffled.
#[test]
fn any_order_of_segments() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut chance = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    for round in 0..8 {
        let pairs: Vec<_> = (1..=50).map(pair).collect();
        let mut pieces = handshake();
        let mut at = [1u32, 1];
        for (asked, answer) in &pairs {
            for (who, bytes) in [(0, asked), (1, answer)] {
                let mut rest = bytes.clone();
                while !rest.is_empty() {
                    let part = rest.split_to(1 + chance(rest.len()));
                    let piece = Piece(who, at[who], part, "A");
                    at[who] += piece.2.len() as u32;
                    pieces.push(piece);
                }
            }
        }
        // Within one direction segments change places with near ones; answers stay behind their requests.
        for i in 3..pieces.len() {
            let j = i + chance(4);
            if j < pieces.len() && pieces[i..=j].iter().all(|it| it.0 == pieces[i].0) {
                pieces.swap(i, j);
            }
            if chance(5) == 0 {
                let double = pieces[i].clone();
                pieces.insert(i, double);
            }
        }
        let (frames, notes) = read_bytes(&file(Kind::Ethernet4, &pieces));
        assert_eq!(notes.len(), 1, "round {round}: {notes:?}");
        let expected: Vec<_> = pairs.iter().map(|it| it.0.clone()).collect();
        assert_eq!(of(&frames, Direction::Request), expected, "round {round}");
        let expected: Vec<_> = pairs.iter().map(|it| it.1.clone()).collect();
        assert_eq!(of(&frames, Direction::Response), expected, "round {round}");
        let errors = frames.iter().filter(|it| !it.0.errors.listed.is_empty()).count();
        assert_eq!(errors, 16, "every third of 50");
    }
}

#[test]
fn what_is_lost_is_told_and_reading_goes_on() {
    let pairs: Vec<_> = (1..=6).map(pair).collect();
    let mut pieces = handshake();
    let mut at = [1u32, 1];
    for (i, (asked, answer)) in pairs.iter().enumerate() {
        for (who, bytes) in [(0, asked), (1, answer)] {
            // The third request and the fifth answer were not captured.
            if (i, who) != (2, 0) && (i, who) != (4, 1) {
                pieces.push(Piece(who, at[who], bytes.clone(), "A"));
            }
            at[who] += bytes.len() as u32;
        }
    }
    let (frames, notes) = read_bytes(&file(Kind::Ethernet4, &pieces));
    let lost = format!("{} bytes of the requests were not captured", pairs[2].0.len());
    assert!(notes.contains(&lost), "{notes:?}");
    let lost = format!("{} bytes of the responses were not captured", pairs[4].1.len());
    assert!(notes.contains(&lost), "{notes:?}");
    let kept = [0, 1, 3, 4, 5].map(|i| pairs[i].0.clone());
    assert_eq!(of(&frames, Direction::Request), kept);
    assert!(of(&frames, Direction::Response).contains(&pairs[1].1));
}

/// A capture that begins in the middle, within a frame.
#[test]
fn begun_in_the_middle() {
    let pairs: Vec<_> = (1..=4).map(pair).collect();
    let mut pieces = vec![Piece(1, 500, pairs[0].1.slice(5..), "A")];
    let mut at = [900u32, 500 + pairs[0].1.len() as u32 - 5];
    for (asked, answer) in &pairs[1..] {
        for (who, bytes) in [(0, asked), (1, answer)] {
            pieces.push(Piece(who, at[who], bytes.clone(), "A"));
            at[who] += bytes.len() as u32;
        }
    }
    let (frames, _) = read_bytes(&file(Kind::Ethernet4, &pieces));
    assert_eq!(of(&frames, Direction::Request), [1, 2, 3].map(|i| pairs[i].0.clone()));
    assert_eq!(of(&frames, Direction::Response), [1, 2, 3].map(|i| pairs[i].1.clone()));
}

#[test]
fn other_protocols_and_broken_files() {
    let mut pieces = handshake();
    pieces.push(Piece(0, 1, Bytes::from_static(b"GET / HTTP/1.1\r\n\r\n"), "A"));
    pieces.push(Piece(1, 1, Bytes::from_static(b"HTTP/1.1 200 OK\r\n\r\n"), "A"));
    let whole = file(Kind::Ethernet4, &pieces);
    let (frames, notes) = read_bytes(&whole);
    assert_eq!((frames.len(), notes.last().map(String::as_str)), (0, Some("not Kafka")), "{notes:?}");
    let (_, notes) = read_bytes(&whole[..whole.len() - 7]);
    assert!(notes.iter().any(|it| it == "the file ends within a packet"), "{notes:?}");
    // Any change of any byte: an error or other frames, never a panic.
    for place in (24..whole.len()).step_by(3) {
        let mut changed = whole.clone();
        changed[place] ^= 0xff;
        let _ = read::<String>(Path::new("test"), changed.as_slice(), &mut |_| Ok(()));
    }
}
