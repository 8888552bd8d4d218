//! Captured segments to frames: both directions of each connection are put together and paired.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use explain::Direction;

use super::half::{Half, Took};
use crate::wire::proxy::errors::{Errors, errors};
use crate::wire::proxy::line::{Api, Line};
use crate::wire::proxy::pairs::{Look, Pairs, Start, look};
use crate::wire::proxy::rewrite::version_of_answer;

/// The largest frame that is put together.
const FRAME_BYTES_MAX: usize = 128 << 20;
/// Connections at the same time; beyond, the one that was silent for longest is given up.
const CONNECTIONS_MAX: usize = 16_384;
/// Bytes of all connections that wait for the rest of their frames. The one that exceeds this loses its own.
const HELD_BYTES_MAX: usize = 1 << 30;
/// The least bytes of a request: key, version, correlation id, length of the client id.
const REQUEST_BYTES_MIN: usize = 10;

/// A TCP segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'a> {
    /// Microseconds since 1970.
    pub(super) at_us: u64,
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) sequence: u32,
    pub(super) syn: bool,
    pub(super) ack: bool,
    /// FIN or RST.
    pub(super) end: bool,
    pub(super) payload: &'a [u8],
}

/// What comes out.
#[derive(Debug, Clone)]
pub(crate) enum Captured {
    /// A frame with its size.
    Frame(Line, Bytes),
    /// Something about a connection that is no frame.
    Note { at_us: u64, connection: u64, text: String },
}

/// All connections of a capture.
#[derive(Debug, Default)]
pub(super) struct Streams {
    open: BTreeMap<(SocketAddr, SocketAddr), Connection>,
    count: u64,
    held: usize,
}

#[derive(Debug)]
struct Connection {
    id: u64,
    client: SocketAddr,
    server: SocketAddr,
    /// Sequence number of the client's SYN, if that was captured.
    syn: Option<u32>,
    pairs: Pairs,
    requests: Side,
    responses: Side,
    last_us: u64,
    /// No Kafka was found in it.
    foreign: bool,
    /// `Pairs` wants a clock; this is its zero, to which the capture's times are added.
    zero: Instant,
    zero_us: u64,
}

#[derive(Debug, Default)]
struct Side {
    half: Half,
    /// Where frames begin is not known: the capture began in the middle, or bytes are missing.
    lost: bool,
}

impl Streams {
    /// Takes a segment and gives what it completes.
    pub(super) fn segment(&mut self, segment: &Segment<'_>, out: &mut Vec<Captured>) {
        let key = (segment.from.min(segment.to), segment.from.max(segment.to));
        // A SYN that comes again, or was captured twice, begins nothing.
        let known = self.open.get(&key).is_some_and(|it| it.syn == Some(segment.sequence));
        if segment.syn && !segment.ack && !known {
            self.close(key, out);
        }
        if !self.open.contains_key(&key) {
            if segment.payload.is_empty() && !segment.syn {
                return;
            }
            self.make_room(out);
            self.count += 1;
            let connection = Connection::new(self.count, segment);
            let (id, at_us) = (connection.id, segment.at_us);
            let text = format!("{} to {}", connection.client, connection.server);
            out.push(Captured::Note { at_us, connection: id, text });
            self.open.insert(key, connection);
        }
        let Some(connection) = self.open.get_mut(&key) else { return };
        let before = connection.held();
        connection.segment(segment, out);
        if self.held - before + connection.held() > HELD_BYTES_MAX {
            connection.forget(out);
        }
        self.held = self.held - before + connection.held();
        if connection.is_done() {
            self.close(key, out);
        }
    }

    fn close(&mut self, key: (SocketAddr, SocketAddr), out: &mut Vec<Captured>) {
        if let Some(mut connection) = self.open.remove(&key) {
            self.held -= connection.held();
            connection.finish(out);
        }
    }

    fn make_room(&mut self, out: &mut Vec<Captured>) {
        if self.open.len() < CONNECTIONS_MAX {
            return;
        }
        let silent = self.open.iter().min_by_key(|it| it.1.last_us).map(|it| *it.0);
        if let Some(key) = silent {
            self.close(key, out);
        }
    }

    /// The capture ends: what is left in the connections.
    pub(super) fn finish(&mut self, out: &mut Vec<Captured>) {
        std::mem::take(&mut self.open).into_values().for_each(|mut it| it.finish(out));
    }
}

impl Connection {
    fn new(id: u64, first: &Segment<'_>) -> Self {
        // Whoever begins is the client. In the middle of a connection it is whoever sends a request, else whoever
        // has the higher port.
        let from_client = match (first.syn, first.ack) {
            (true, ack) => !ack,
            (false, _) => is_request(first.payload) || first.from.port() > first.to.port(),
        };
        let (client, server) = if from_client { (first.from, first.to) } else { (first.to, first.from) };
        let side = || Side { half: Half::default(), lost: !first.syn };
        Self {
            id,
            client,
            server,
            syn: (first.syn && !first.ack).then_some(first.sequence),
            pairs: Pairs::default(),
            requests: side(),
            responses: side(),
            last_us: first.at_us,
            foreign: false,
            zero: Instant::now(),
            zero_us: first.at_us,
        }
    }

    /// Bytes that wait.
    fn held(&self) -> usize {
        self.requests.half.held() + self.responses.half.held()
    }

    /// Lets go of all that waits.
    fn forget(&mut self, out: &mut Vec<Captured>) {
        for direction in [Direction::Request, Direction::Response] {
            let side = self.side(direction);
            side.half.forget();
            side.lost = true;
        }
        self.note("too many bytes wait for the rest of their frames: given up".to_owned(), out);
    }

    fn is_done(&self) -> bool {
        self.requests.half.is_done() && self.responses.half.is_done()
    }

    fn segment(&mut self, segment: &Segment<'_>, out: &mut Vec<Captured>) {
        self.last_us = segment.at_us;
        let direction = if segment.from == self.client { Direction::Request } else { Direction::Response };
        let side = self.side(direction);
        if segment.syn {
            side.half.syn(segment.sequence);
            return;
        }
        let took = side.half.take(segment.sequence, segment.payload);
        if segment.end {
            let length = u32::try_from(segment.payload.len()).unwrap_or(0);
            side.half.fin(segment.sequence.wrapping_add(length));
        }
        if let Took::Gap(bytes) = took {
            self.gap(direction, bytes, out);
        }
        self.frames(direction, out);
    }

    fn side(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::Request => &mut self.requests,
            Direction::Response => &mut self.responses,
        }
    }

    fn note(&self, text: String, out: &mut Vec<Captured>) {
        out.push(Captured::Note { at_us: self.last_us, connection: self.id, text });
    }

    fn gap(&mut self, direction: Direction, bytes: u64, out: &mut Vec<Captured>) {
        self.side(direction).lost = true;
        self.note(format!("{bytes} bytes of the {}s were not captured", direction.as_str()), out);
    }

    /// Nothing more comes: what waits behind a gap is taken now.
    fn finish(&mut self, out: &mut Vec<Captured>) {
        for direction in [Direction::Request, Direction::Response] {
            while let Some(bytes) = self.side(direction).half.give_up() {
                self.gap(direction, bytes, out);
                self.frames(direction, out);
            }
            let left = self.side(direction).half.ready.len();
            if left > 0 && !self.foreign {
                self.note(format!("{left} bytes of the {}s are no whole frame", direction.as_str()), out);
            }
        }
    }

    /// Takes all whole frames of a direction.
    fn frames(&mut self, direction: Direction, out: &mut Vec<Captured>) {
        while !self.foreign {
            if self.side(direction).lost && !self.find(direction) {
                return;
            }
            let side = self.side(direction);
            let Some(size) = size(&side.half.ready) else {
                if side.half.ready.len() < 4 {
                    return;
                }
                self.no_frame(direction, out);
                continue;
            };
            if side.half.ready.len() < 4 + size {
                return;
            }
            let frame = side.half.ready.split_to(4 + size).freeze();
            match direction {
                Direction::Request => self.request(frame, out),
                Direction::Response => self.response(frame, out),
            }
        }
        // Nobody reads what is not Kafka's.
        self.side(direction).half.ready.clear();
    }

    /// A size that no frame has: not Kafka, or not in step.
    fn no_frame(&mut self, direction: Direction, out: &mut Vec<Captured>) {
        if direction == Direction::Request && self.pairs.is_untouched() {
            self.foreign = true;
            self.note("not Kafka".to_owned(), out);
        } else {
            self.note(format!("no frame where one of the {}s should begin", direction.as_str()), out);
            self.side(direction).lost = true;
        }
    }

    /// Looks for the begin of a frame in what is there, and drops what stands before it.
    fn find(&mut self, direction: Direction) -> bool {
        let side = match direction {
            Direction::Request => &self.requests,
            Direction::Response => &self.responses,
        };
        let bytes = &side.half.ready;
        let begins = |at: &usize| {
            let rest = bytes.get(*at..).unwrap_or_default();
            match direction {
                Direction::Request => is_request(rest),
                Direction::Response => self.is_response(rest),
            }
        };
        // The last bytes may be the begin of one that can't be told yet.
        let end = bytes.len().saturating_sub(REQUEST_BYTES_MIN + 4);
        let found = (0..=end).find(begins);
        let side = self.side(direction);
        if let Some(place) = found {
            let _before = side.half.ready.split_to(place);
            side.lost = false;
        } else {
            let _before = side.half.ready.split_to(end);
        }
        found.is_some()
    }

    /// Whether an answer to one of the requests under way begins here.
    fn is_response(&self, bytes: &[u8]) -> bool {
        let Some(size) = size(bytes) else { return false };
        let id = bytes.get(4..).and_then(<[u8]>::first_chunk).map(|it| i32::from_be_bytes(*it));
        let Some(asked) = id.and_then(|it| self.pairs.waits_for(it)) else { return false };
        let Start { key, version, .. } = *asked;
        match bytes.get(4..4 + size) {
            Some(answer) => {
                let answer = Bytes::copy_from_slice(answer);
                errors(key, version_of_answer(key, version, &answer), &answer).is_ok()
            }
            None => true,
        }
    }

    fn now(&self) -> Instant {
        self.zero + Duration::from_micros(self.last_us.saturating_sub(self.zero_us))
    }

    fn request(&mut self, frame: Bytes, out: &mut Vec<Captured>) {
        let size = frame.len() - 4;
        let found = match look(frame.get(4..).unwrap_or_default(), size, true) {
            Look::Start(start) => Some(start),
            Look::More | Look::NoRequest => None,
        };
        let known = found.as_ref().is_some_and(|it| it.known);
        let now = self.now();
        if !known && self.pairs.token(now) {
            let line = self.line(Direction::Request, None, size, vec!["SASL token".to_owned()]);
            out.push(Captured::Frame(line, frame));
            return;
        }
        let Some(start) = found else {
            if self.pairs.is_untouched() {
                self.foreign = true;
                self.note("not Kafka".to_owned(), out);
                return;
            }
            let line = self.line(Direction::Request, None, size, vec!["no request header".to_owned()]);
            out.push(Captured::Frame(line, frame));
            return;
        };
        if self.pairs.has_room() {
            self.pairs.asked(&start, now);
        }
        let notes = if known { Vec::new() } else { vec!["API or version not known".to_owned()] };
        let line = self.line(Direction::Request, Some(&start), size, notes);
        out.push(Captured::Frame(line, frame));
    }

    fn response(&mut self, frame: Bytes, out: &mut Vec<Captured>) {
        let size = frame.len() - 4;
        let answer = frame.slice(4..);
        let id = answer.first_chunk().map_or(0, |it| i32::from_be_bytes(*it));
        let Some(asked) = self.pairs.answered(id) else {
            let line = self.line(Direction::Response, None, size, vec!["answer to no request".to_owned()]);
            out.push(Captured::Frame(line, frame));
            return;
        };
        if asked.token {
            let line = self.line(Direction::Response, None, size, vec!["SASL token".to_owned()]);
            out.push(Captured::Frame(line, frame));
            return;
        }
        let Start { key, version, known, .. } = asked.start;
        let mut line = self.line(Direction::Response, Some(&asked.start), size, Vec::new());
        line.latency = Some(self.now().saturating_duration_since(asked.at));
        if known {
            match errors(key, version_of_answer(key, version, &answer), &answer) {
                Ok(errors) => line.errors = errors,
                Err(problem) => line.notes.push(format!("can't be decoded: {problem}")),
            }
        }
        out.push(Captured::Frame(line, frame));
    }

    fn line(&self, direction: Direction, start: Option<&Start>, size: usize, notes: Vec<String>) -> Line {
        let api = start.map(|it| Api { key: it.key, version: it.version, correlation_id: it.correlation_id });
        Line {
            at_us: self.last_us,
            connection: self.id,
            direction,
            api,
            client_id: start.map(|it| it.client_id.clone()).unwrap_or_default(),
            size,
            latency: None,
            errors: Errors::default(),
            notes,
        }
    }
}

/// The size of the frame that begins here, if it is one that a frame has.
fn size(bytes: &[u8]) -> Option<usize> {
    let size = i32::from_be_bytes(*bytes.first_chunk()?);
    usize::try_from(size).ok().filter(|it| *it <= FRAME_BYTES_MAX)
}

/// Whether a request of a known API and version begins here.
fn is_request(bytes: &[u8]) -> bool {
    let Some(size) = size(bytes).filter(|it| *it >= REQUEST_BYTES_MIN) else { return false };
    let rest = bytes.get(4..).unwrap_or_default();
    match look(rest.get(..size).unwrap_or(rest), size, true) {
        Look::Start(start) => start.known && start.client_id.chars().all(|it| !it.is_control()),
        Look::More | Look::NoRequest => false,
    }
}
