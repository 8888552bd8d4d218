//! What asks: blocking sockets, requests encoded once, a window of them in flight. It takes less than the server, and
//! looks no further into the answers than to their error code.

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use wire::{ErrorCode, Message as _, Reader, Request, ResponseHeader, Str, chunk, frame};

use crate::process::{Cpu, Peer};

/// The client id of all that is asked here.
pub const CLIENT_ID: &str = "bench";
/// An answer that takes longer does not come.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause before what may work later is asked again.
const AGAIN_AFTER: Duration = Duration::from_millis(20);
/// Room for answers that are read at once.
const READ_BYTES: usize = 64 << 10;
/// A larger answer means that the stream is out of step.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// A connection to a server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    input: BufReader<TcpStream>,
    answer: Vec<u8>,
    last_id: i32,
}

/// Requests of one kind that are asked one after the other, again and again.
#[derive(Debug)]
pub struct Frames {
    pub frames: Vec<Vec<u8>>,
    /// Where the answers have their error code, behind their size.
    pub error_at: usize,
    next: usize,
}

impl Frames {
    #[must_use]
    pub fn new(frames: Vec<Vec<u8>>, error_at: usize) -> Self {
        Self { frames, error_at, next: 0 }
    }
}

/// What a turn took.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    pub requests: f64,
    pub cpu: Cpu,
}

impl Turn {
    /// CPU of the server for each, in microseconds.
    #[must_use]
    pub fn each(self) -> f64 {
        self.cpu.total() * 1e6 / self.requests
    }

    /// The kernel's share of it.
    #[must_use]
    pub fn each_in_system(self) -> f64 {
        self.cpu.system * 1e6 / self.requests
    }
}

/// What the server takes for the work, which says how many requests it made.
///
/// # Errors
/// Those of the work; the server is gone.
pub fn turn(peer: &Peer, work: impl FnOnce() -> Result<u32, String>) -> Result<Turn, String> {
    let before = peer.cpu()?;
    let requests = f64::from(work()?);
    let after = peer.cpu()?;
    let cpu = Cpu { user: after.user - before.user, system: after.system - before.system };
    Ok(Turn { requests, cpu })
}

fn text(problem: std::io::Error) -> String {
    problem.to_string()
}

/// A request with its size; the correlation id is put in when it is sent.
///
/// # Errors
/// The version lacks a field that is set.
pub fn encoded<R: Request>(version: i16, request: &R) -> Result<Vec<u8>, String> {
    let chunks = frame::encode_request(request, version, 0, Some(Str::from_static(CLIENT_ID)));
    Ok(chunk::join(&chunks.map_err(|problem| problem.to_string())?).to_vec())
}

impl Connection {
    /// # Errors
    /// Nobody listens there.
    pub fn open(address: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(address).map_err(|problem| format!("{address}: {problem}"))?;
        stream.set_nodelay(true).map_err(text)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(text)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(text)?;
        let input = BufReader::with_capacity(READ_BYTES, stream.try_clone().map_err(text)?);
        Ok(Self { stream, input, answer: Vec::new(), last_id: 0 })
    }

    /// Asks and waits.
    ///
    /// # Errors
    /// The connection broke, or the answer can't be read.
    pub fn call<R: Request>(&mut self, version: i16, request: &R) -> Result<R::Response, String> {
        let id = self.start(version, request)?;
        self.finish::<R>(version, id)
    }

    /// Asks without waiting; gives the number by which the answer is taken. Answers come in the order of the questions.
    ///
    /// # Errors
    /// The connection broke.
    pub fn start<R: Request>(&mut self, version: i16, request: &R) -> Result<i32, String> {
        let mut frame = encoded(version, request)?;
        self.send(&mut frame)?;
        Ok(self.last_id)
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// The connection broke, or the answer can't be read.
    pub fn finish<R: Request>(&mut self, version: i16, id: i32) -> Result<R::Response, String> {
        self.receive(id)?;
        let header = frame::response_header_version(R::KEY, version).ok_or("unknown version")?;
        let mut reader = Reader::new(bytes::Bytes::copy_from_slice(&self.answer));
        let named = |problem: wire::DecodeError| format!("answer to {}: {problem}", R::NAME);
        ResponseHeader::decode(&mut reader, header).map_err(named)?;
        <R::Response as wire::Message>::decode(&mut reader, version).map_err(named)
    }

    /// Keeps `window` requests in flight until the time is over, and waits for the last answers. Says how many;
    /// that is one window at least.
    ///
    /// # Errors
    /// An answer has an error code or another correlation id, or the connection broke.
    pub fn pump(&mut self, frames: &mut Frames, window: u32, time: Duration) -> Result<u32, String> {
        let end = Instant::now() + time;
        let (mut sent, mut received) = (0_u32, 0_u32);
        let mut oldest = self.last_id;
        loop {
            let open = sent == 0 || Instant::now() < end;
            while open && sent - received < window {
                let count = frames.frames.len();
                let frame = frames.frames.get_mut(frames.next).ok_or("nothing to ask")?;
                self.send(frame)?;
                frames.next = (frames.next + 1) % count;
                sent += 1;
            }
            if sent == received {
                return Ok(received);
            }
            oldest = oldest.wrapping_add(1);
            self.receive(oldest)?;
            received += 1;
            let code = self.answer.get(frames.error_at..).and_then(|it| it.first_chunk::<2>());
            let code = ErrorCode::from(code.map_or(-1, |it| i16::from_be_bytes(*it)));
            if code != ErrorCode::NONE {
                return Err(format!("answer {received}: {}", code.name()));
            }
        }
    }

    fn send(&mut self, frame: &mut [u8]) -> Result<(), String> {
        self.last_id = self.last_id.wrapping_add(1);
        // Behind size, key and version.
        if let Some(to) = frame.get_mut(8..12) {
            to.copy_from_slice(&self.last_id.to_be_bytes());
        }
        self.stream.write_all(frame).map_err(text)
    }

    /// The next answer, without its size.
    fn receive(&mut self, expected: i32) -> Result<(), String> {
        let mut size = [0; 4];
        self.input.read_exact(&mut size).map_err(text)?;
        let size = usize::try_from(i32::from_be_bytes(size)).unwrap_or(usize::MAX);
        if size > ANSWER_BYTES_MAX {
            return Err(format!("an answer of {size} bytes"));
        }
        self.answer.resize(size, 0);
        self.input.read_exact(&mut self.answer).map_err(text)?;
        let id = self.answer.first_chunk().map(|it| i32::from_be_bytes(*it));
        if id == Some(expected) { Ok(()) } else { Err(format!("answer {id:?} came instead of {expected}")) }
    }

    /// Creates topics, each with its number of partitions.
    ///
    /// # Errors
    /// One is refused.
    pub fn create(&mut self, topics: &[(String, u32)]) -> Result<(), String> {
        let topic = |(name, partitions): &(String, u32)| wire::create_topics::request::CreatableTopic {
            name: Str::from(name),
            num_partitions: i32::try_from(*partitions).unwrap_or(i32::MAX),
            replication_factor: -1,
            ..Default::default()
        };
        let topics = topics.iter().map(topic).collect();
        let request = wire::CreateTopicsRequest { topics, timeout_ms: 60_000, ..Default::default() };
        for topic in self.call(7, &request)?.topics {
            succeeded(&format!("topic {}", topic.name), topic.error_code)?;
        }
        Ok(())
    }

    /// Waits until a group (0) or a transactional id (1) has its coordinator here.
    ///
    /// # Errors
    /// It has none within a minute.
    pub fn coordinator(&mut self, key_type: i8, key: &str) -> Result<(), String> {
        let coordinator_keys = vec![Str::from(key)];
        let asked = wire::FindCoordinatorRequest { key_type, coordinator_keys, ..Default::default() };
        again("coordinator", || {
            let answer = self.call(4, &asked)?;
            let code = answer.coordinators.first().map(|it| it.error_code);
            Ok((code.unwrap_or(ErrorCode::COORDINATOR_NOT_AVAILABLE), ()))
        })?;
        Ok(())
    }
}

/// # Errors
/// The code is one.
pub fn succeeded(what: &str, code: ErrorCode) -> Result<(), String> {
    if code == ErrorCode::NONE { Ok(()) } else { Err(format!("{what}: {}", code.name())) }
}

/// Asks again while the answer says that it may work later. Gives the value and how often that was so.
///
/// # Errors
/// Another code, or a minute is over.
pub fn again<T>(
    what: &str,
    mut ask: impl FnMut() -> Result<(ErrorCode, T), String>,
) -> Result<(T, u32), String> {
    let end = Instant::now() + PATIENCE;
    let mut retries = 0;
    loop {
        let (code, value) = ask()?;
        if code == ErrorCode::NONE {
            return Ok((value, retries));
        }
        if !code.is_retriable() || Instant::now() > end {
            return Err(format!("{what}: {}", code.name()));
        }
        retries += 1;
        sleep(AGAIN_AFTER);
    }
}
