//! One connection through the proxy: two threads, one for each direction, that share the requests under way.
//!
//! Cost of a frame that nobody looks into: its first bytes are read to find its end and its API; the bytes themselves
//! go from one `read` to one `write`, as in any forwarder. Threads that block, because a plain forwarder has no more
//! than these two calls either. Frames that are looked into or may have addresses in them are held whole, up to
//! [`FRAME_HELD_MAX`]; larger ones pass in pieces.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use bytes::Bytes;
use explain::Direction;

use super::buffer::{Buffer, READ_BYTES};
use super::errors::{Errors, errors};
use super::line::{Api, Line};
use super::output::{Output, count, now_us};
use super::pairs::{Asked, Look, Pairs, Start, look};
use super::permits::Permit;
use super::rewrite::{self, Address, Rewritten};
use super::{Shared, accept};

/// The largest frame that is held as a whole.
pub(super) const FRAME_HELD_MAX: usize = 16 << 20;
/// Frames of all connections that are held at the same time, without those that fit into one read.
pub(super) const HELD_BYTES_MAX: usize = 256 << 20;
/// A larger request is not Kafka's: brokers refuse more than 100 MiB by default, and what other protocols begin with
/// (TLS, HTTP) reads as a size beyond this.
const REQUEST_BYTES_MAX: usize = 300 << 20;

/// A connection to the proxy and the one that it goes on to.
struct Link<'a> {
    shared: &'a Arc<Shared>,
    id: u64,
    client: &'a TcpStream,
    server: &'a TcpStream,
    /// Where the client reached the proxy: the host that it is told.
    local: IpAddr,
    peer: Option<SocketAddr>,
    pairs: Mutex<Pairs>,
    /// An answer came, so that there is room for a request; or there will be none any more.
    room: Condvar,
    /// No more answers will come. Set and asked for under the lock of the pairs.
    answered: AtomicBool,
    /// One direction failed, and took the other with it.
    failed: AtomicBool,
}

/// Serves a client until both sides are done.
pub(super) fn serve(shared: &Arc<Shared>, id: u64, client: &TcpStream, upstream: &Address) {
    let name = client.peer_addr().map_or_else(|_| "?".to_owned(), |it| it.to_string());
    let to = format!("{}:{}", upstream.host, upstream.port);
    shared.output.open(id, &name, &to);
    match forward(shared, id, client, upstream) {
        Ok(()) => {}
        Err(Lost { side: Side::Client, problem }) => {
            shared.output.note(id, &format!("the client: {problem}"))
        }
        Err(Lost { side: Side::Server, problem }) => shared.output.note(id, &format!("{to}: {problem}")),
    }
    shared.output.close(id);
}

fn forward(shared: &Arc<Shared>, id: u64, client: &TcpStream, upstream: &Address) -> Result<(), Lost> {
    let server = &connect(upstream).map_err(|problem| Lost { side: Side::Server, problem })?;
    server.set_nodelay(true).map_err(|problem| Lost { side: Side::Server, problem })?;
    let of_client = |problem| Lost { side: Side::Client, problem };
    client.set_nodelay(true).map_err(of_client)?;
    let link = Link {
        shared,
        id,
        client,
        server,
        local: client.local_addr().map_err(of_client)?.ip(),
        peer: server.peer_addr().ok(),
        pairs: Mutex::default(),
        room: Condvar::new(),
        answered: AtomicBool::new(false),
        failed: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let answers = || link.run(Direction::Response);
        let answers = thread::Builder::new().name("responses".to_owned()).spawn_scoped(scope, answers);
        let answers = answers.map_err(of_client)?;
        let asked = link.run(Direction::Request);
        let oddly = |_| Err(of_client(io::Error::other("the responses ended oddly")));
        let answered = answers.join().unwrap_or_else(oddly);
        asked.and(answered)
    })
}

/// The first address of a broker that takes a connection.
fn connect(upstream: &Address) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in (upstream.host.as_str(), upstream.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, super::CONNECT_PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(problem) => last = problem,
        }
    }
    Err(last)
}

impl Link<'_> {
    fn pairs(&self) -> MutexGuard<'_, Pairs> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn output(&self) -> &Output {
        &self.shared.output
    }

    /// One direction to its end. One side that is done leaves the other going (half-close); one that failed ends both.
    fn run(&self, direction: Direction) -> Result<(), Lost> {
        let done = Pump::new(self, direction).run();
        let failed = done.is_err();
        if failed || direction == Direction::Response {
            let _pairs = self.pairs();
            self.answered.store(true, Ordering::Relaxed);
            self.room.notify_all();
        }
        // The direction that was taken along has nothing to tell.
        let first = failed && !self.failed.swap(true, Ordering::Relaxed);
        if failed {
            for stream in [self.client, self.server] {
                // It may be gone already.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        if first { done } else { Ok(()) }
    }
}

/// An end of a connection that failed.
#[derive(Debug)]
struct Lost {
    side: Side,
    problem: io::Error,
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Client,
    Server,
}

/// What is known of the frame at the head of the buffer.
enum Known {
    Request(Start),
    Response(Asked),
    /// A raw SASL token, or an answer to no request.
    Nothing,
}

enum State {
    /// The next byte begins a frame.
    Start,
    /// So many bytes of a frame pass without being held.
    Pass { left: usize, recorded: bool },
    /// A frame of so many bytes, size included, is awaited as a whole.
    Hold { total: usize, known: Known, notes: Vec<String>, _permit: Option<Permit> },
    /// No frames.
    Raw,
}

/// One direction.
struct Pump<'a> {
    link: &'a Link<'a>,
    direction: Direction,
    from: (Side, &'a TcpStream),
    to: (Side, &'a TcpStream),
    buffer: Buffer,
    state: State,
    first: bool,
}

impl<'a> Pump<'a> {
    fn new(link: &'a Link<'a>, direction: Direction) -> Self {
        let (client, server) = ((Side::Client, link.client), (Side::Server, link.server));
        let (from, to) = match direction {
            Direction::Request => (client, server),
            Direction::Response => (server, client),
        };
        Self { link, direction, from, to, buffer: Buffer::new(), state: State::Start, first: true }
    }

    fn run(&mut self) -> Result<(), Lost> {
        loop {
            let awaited = self.advance()?;
            self.flush()?;
            match self.buffer.read(&mut self.from.1, awaited) {
                Ok(0) => break,
                Ok(_) => {}
                Err(problem) => {
                    self.end();
                    // It is the other side that failed first.
                    let _ = self.flush();
                    return Err(Lost { side: self.from.0, problem });
                }
            }
        }
        self.end();
        self.flush()?;
        self.to.1.shutdown(Shutdown::Write).map_err(|problem| self.unwritten(problem))
    }

    fn flush(&mut self) -> Result<(), Lost> {
        self.buffer.write(&mut self.to.1).map_err(|problem| self.unwritten(problem))
    }

    fn unwritten(&self, problem: io::Error) -> Lost {
        Lost { side: self.to.0, problem }
    }

    /// The sender is done: what is left passes.
    fn end(&mut self) {
        let rest = self.buffer.rest();
        let within = !rest.is_empty() || matches!(self.state, State::Pass { .. } | State::Hold { .. });
        if within && !self.link.failed.load(Ordering::Relaxed) {
            let text = format!("the {}s end within a frame", self.direction.as_str());
            self.link.output().note(self.link.id, &text);
        }
        self.link.output().raw(self.link.id, self.direction, rest);
        let passes = rest.len();
        self.buffer.pass(passes);
    }

    /// Goes over the bytes that are there; gives how many more are awaited of a frame that is held.
    fn advance(&mut self) -> Result<Option<usize>, Lost> {
        loop {
            let rest = self.buffer.rest();
            match &mut self.state {
                State::Raw => {
                    let passes = rest.len();
                    self.link.output().raw(self.link.id, self.direction, rest);
                    self.buffer.pass(passes);
                    return Ok(None);
                }
                State::Pass { left, recorded } => {
                    let passes = (*left).min(rest.len());
                    if let (true, Some(bytes)) = (*recorded, rest.get(..passes)) {
                        self.link.output().more(self.link.id, self.direction, bytes);
                    }
                    *left -= passes;
                    let over = *left == 0;
                    self.buffer.pass(passes);
                    if !over {
                        return Ok(None);
                    }
                    self.state = State::Start;
                }
                State::Hold { total, .. } if rest.len() < *total => return Ok(Some(*total - rest.len())),
                State::Hold { .. } => self.whole()?,
                State::Start => {
                    if !self.begin()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Looks at the head of a frame and decides what becomes of it. False if more bytes are needed.
    fn begin(&mut self) -> Result<bool, Lost> {
        let size = self.buffer.rest().first_chunk::<4>();
        let Some(size) = size.map(|it| i32::from_be_bytes(*it)) else { return Ok(false) };
        let limit = if self.direction == Direction::Request { REQUEST_BYTES_MAX } else { usize::MAX };
        let Some(size) = usize::try_from(size).ok().filter(|it| *it <= limit) else {
            return Ok(self.no_frame());
        };
        match self.direction {
            Direction::Request => self.request(size),
            Direction::Response => self.response(size),
        }
    }

    fn no_frame(&mut self) -> bool {
        let text = format!("the {}s are not Kafka's: they pass as they are", self.direction.as_str());
        self.link.output().note(self.link.id, &text);
        self.state = State::Raw;
        true
    }

    /// Waits until the request may be asked; gives the pairs to note it in.
    fn room(&mut self) -> Result<MutexGuard<'a, Pairs>, Lost> {
        let link = self.link;
        let pairs = link.pairs();
        let full = |pairs: &mut Pairs| !pairs.has_room() && !link.answered.load(Ordering::Relaxed);
        if pairs.has_room() {
            return Ok(pairs);
        }
        drop(pairs);
        // What stands before it must not wait: its answers are what makes room.
        self.flush()?;
        Ok(link.room.wait_while(link.pairs(), full).unwrap_or_else(PoisonError::into_inner))
    }

    fn request(&mut self, size: usize) -> Result<bool, Lost> {
        let looks = self.link.output().looks();
        let bytes = self.buffer.rest().get(4..).unwrap_or_default();
        let bytes = bytes.get(..size).unwrap_or(bytes);
        let start = match look(bytes, size, looks) {
            Look::More => return Ok(false),
            Look::Start(start) => Some(start),
            Look::NoRequest => None,
        };
        let mut pairs = self.room()?;
        // Without room there are no answers any more: nothing waits for one.
        let room = pairs.has_room();
        count(&self.link.output().counters.requests);
        let known = start.as_ref().is_some_and(|it| it.known);
        let token = !known && room && pairs.token(Instant::now());
        let (known, notes) = match start {
            _ if token => (Known::Nothing, vec!["SASL token".to_owned()]),
            Some(start) => {
                if room {
                    pairs.asked(&start, Instant::now());
                }
                let notes =
                    if start.known { Vec::new() } else { vec!["API or version not known".to_owned()] };
                (Known::Request(start), notes)
            }
            None if self.first => {
                drop(pairs);
                return Ok(self.no_frame());
            }
            None => (Known::Nothing, vec!["no request header".to_owned()]),
        };
        drop(pairs);
        self.first = false;
        self.settle(size, known, notes, false)?;
        Ok(true)
    }

    /// False if more bytes are needed.
    fn response(&mut self, size: usize) -> Result<bool, Lost> {
        let bytes = self.buffer.rest().get(4..).unwrap_or_default();
        let correlation_id = bytes.first_chunk::<4>().map(|it| i32::from_be_bytes(*it));
        let mut pairs = self.link.pairs();
        let token = pairs.token_is_next();
        if correlation_id.is_none() && !token && size >= 4 {
            return Ok(false);
        }
        // Brokers speak when they are asked: what comes before, or is of a size that nobody can have asked for, is
        // another protocol, as where a client asked in one.
        let foreign = pairs.is_untouched() || size > REQUEST_BYTES_MAX;
        let full = !pairs.has_room();
        let asked = match correlation_id.filter(|_| size >= 4) {
            Some(id) => pairs.answered(id),
            None if token => pairs.answered(0),
            None => None,
        };
        drop(pairs);
        if asked.is_none() && foreign {
            return Ok(self.no_frame());
        }
        if full {
            self.link.room.notify_all();
        }
        count(&self.link.output().counters.responses);
        let (known, notes, addresses) = match asked {
            Some(asked) if asked.token => (Known::Nothing, vec!["SASL token".to_owned()], false),
            Some(asked) => {
                let may = rewrite::may_have_addresses(asked.start.key, asked.start.version);
                (Known::Response(asked), Vec::new(), may && self.link.shared.rewrites)
            }
            None => (Known::Nothing, vec!["answer to no request".to_owned()], false),
        };
        self.settle(size, known, notes, addresses)?;
        Ok(true)
    }

    /// Holds the frame, or lets it pass.
    fn settle(
        &mut self,
        size: usize,
        known: Known,
        mut notes: Vec<String>,
        addresses: bool,
    ) -> Result<(), Lost> {
        let looks = self.link.output().looks();
        let total = 4 + size;
        if !looks && !addresses {
            self.state = State::Pass { left: total, recorded: false };
            return Ok(());
        }
        let (held, kilobytes) = (&self.link.shared.held, total >> 10);
        let permit = match total {
            _ if total > FRAME_HELD_MAX => None,
            _ if total <= READ_BYTES => Some(None),
            _ => held.try_acquire(kilobytes).map(Some),
        };
        let permit = match permit {
            // Waiting is for what must not pass as it is; a mere look is left out when too much is held already.
            None if addresses && total <= FRAME_HELD_MAX => {
                // What stands before it must not wait too.
                self.flush()?;
                Some(Some(held.acquire(kilobytes)))
            }
            permit => permit,
        };
        if let Some(permit) = permit {
            self.state = State::Hold { total, known, notes, _permit: permit };
            return Ok(());
        }
        if addresses {
            notes.push("too large to be held: addresses stay".to_owned());
            count(&self.link.output().counters.problems);
        }
        notes.push("passes in pieces, errors not looked for".to_owned());
        if looks {
            let line = self.line(size, &known, Errors::default(), notes);
            self.link.output().frame(&line, &[]);
        }
        self.state = State::Pass { left: total, recorded: looks };
        Ok(())
    }

    /// A frame is there as a whole.
    fn whole(&mut self) -> Result<(), Lost> {
        let State::Hold { total, known, notes, _permit } = std::mem::replace(&mut self.state, State::Start)
        else {
            return Ok(());
        };
        // The buffer is borrowed by the frame, so the rest of the pump must be free of it.
        let mut buffer = std::mem::take(&mut self.buffer);
        let changed = buffer.with_frame(total, |frame| self.seen(frame, &known, notes));
        self.buffer = buffer;
        match changed {
            Some(changed) => {
                let replaced = self.buffer.replace(total, &changed, &mut self.to.1);
                replaced.map_err(|problem| self.unwritten(problem))
            }
            None => {
                self.buffer.pass(total);
                Ok(())
            }
        }
    }

    /// Tells of a frame, and gives what goes in its place.
    fn seen(&self, frame: &Bytes, known: &Known, mut notes: Vec<String>) -> Option<Bytes> {
        let mut changed = None;
        if let (Known::Response(asked), true) = (known, self.link.shared.rewrites) {
            changed = self.rewritten(asked, &frame.slice(4..), &mut notes);
        }
        if self.link.output().looks() {
            let found = match known {
                Known::Response(asked) => self.errors(asked, frame, &mut notes),
                Known::Request(_) | Known::Nothing => Errors::default(),
            };
            let line = self.line(frame.len() - 4, known, found, notes);
            self.link.output().frame(&line, frame);
        }
        changed
    }

    fn errors(&self, asked: &Asked, frame: &Bytes, notes: &mut Vec<String>) -> Errors {
        let Start { key, version, known, .. } = asked.start;
        let answer = frame.slice(4..);
        let version = rewrite::version_of_answer(key, version, &answer);
        let known = known && wire::frame::response_header_version(key, version).is_some();
        if !known {
            return Errors::default();
        }
        errors(key, version, &answer).unwrap_or_else(|problem| {
            count(&self.link.output().counters.problems);
            notes.push(format!("can't be decoded: {problem}"));
            Errors::default()
        })
    }

    /// The answer with the addresses of the proxy, if it has any.
    fn rewritten(&self, asked: &Asked, answer: &Bytes, notes: &mut Vec<String>) -> Option<Bytes> {
        let Start { key, version, .. } = asked.start;
        if !rewrite::may_have_addresses(key, version) {
            return None;
        }
        let mut place = |told: &Address| match accept::place(self.link.shared, told, self.link.peer) {
            Ok(port) => {
                let host = self.link.shared.advertise.clone().unwrap_or_else(|| self.link.local.to_string());
                Some(Address { host, port })
            }
            Err(problem) => {
                notes.push(problem);
                None
            }
        };
        match rewrite::rewrite(key, version, answer, &mut place) {
            Rewritten::Same => None,
            Rewritten::Changed(frame) => {
                count(&self.link.output().counters.rewritten);
                Some(frame)
            }
            Rewritten::Failed(problem) => {
                count(&self.link.output().counters.problems);
                notes.push(problem);
                None
            }
        }
    }

    fn line(&self, size: usize, known: &Known, errors: Errors, notes: Vec<String>) -> Line {
        let api = |start: &Start| Api {
            key: start.key,
            version: start.version,
            correlation_id: start.correlation_id,
        };
        let (api, client_id, latency) = match known {
            Known::Request(start) => (Some(api(start)), start.client_id.clone(), None),
            Known::Response(asked) => {
                (Some(api(&asked.start)), asked.start.client_id.clone(), Some(asked.at.elapsed()))
            }
            Known::Nothing => (None, String::new(), None),
        };
        Line {
            at_us: now_us(),
            connection: self.link.id,
            direction: self.direction,
            api,
            client_id,
            size,
            latency,
            errors,
            notes,
        }
    }
}
