//! One connection through the proxy: two pumps, one for each direction, that share the requests under way.
//!
//! Cost of a frame that nobody looks into: its first bytes are read to find its end and its API; the bytes themselves
//! go from one `read` to one `write`, as in any forwarder. Frames that are looked into or may have addresses in them
//! are held whole, up to [`FRAME_HELD_MAX`]; larger ones pass in pieces.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::{Buf as _, Bytes, BytesMut};
use explain::Direction;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use super::errors::{Errors, errors};
use super::line::{Api, Line};
use super::output::{Output, count, now_us};
use super::pairs::{Asked, Look, Pairs, Start, look};
use super::rewrite::{self, Address, Rewritten};
use super::{Shared, accept};

/// Room for one read.
const READ_BYTES: usize = 128 << 10;
/// The largest frame that is held as a whole.
pub(super) const FRAME_HELD_MAX: usize = 16 << 20;
/// Frames of all connections that are held at the same time, without those that fit into one read.
pub(super) const HELD_BYTES_MAX: usize = 256 << 20;
/// A larger request is not Kafka's: brokers refuse more than 100 MiB by default, and what other protocols begin with
/// (TLS, HTTP) reads as a size beyond this.
const REQUEST_BYTES_MAX: i32 = 300 << 20;

/// A connection to the proxy and the one that it goes on to.
struct Link<'a> {
    shared: &'a Arc<Shared>,
    id: u64,
    /// Where the client reached the proxy: the host that it is told.
    local: IpAddr,
    peer: Option<SocketAddr>,
    pairs: Mutex<Pairs>,
    /// An answer came, so that there is room for a request.
    room: Notify,
}

/// Serves a client until both sides are done.
pub(super) async fn serve(shared: Arc<Shared>, id: u64, client: TcpStream, upstream: &Address) {
    let name = client.peer_addr().map_or_else(|_| "?".to_owned(), |it| it.to_string());
    let to = format!("{}:{}", upstream.host, upstream.port);
    shared.output.open(id, &name, &to);
    if let Err(problem) = forward(&shared, id, client, upstream).await {
        shared.output.note(id, &format!("{to}: {problem}"));
    }
    shared.output.close(id);
}

async fn forward(shared: &Arc<Shared>, id: u64, mut client: TcpStream, upstream: &Address) -> io::Result<()> {
    let connecting = TcpStream::connect((upstream.host.as_str(), upstream.port));
    let mut server = tokio::time::timeout(super::CONNECT_PATIENCE, connecting)
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let link = Link {
        shared,
        id,
        local: client.local_addr()?.ip(),
        peer: server.peer_addr().ok(),
        pairs: Mutex::default(),
        room: Notify::new(),
    };
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let mut requests = Pump::new(&link, Direction::Request, from_client, to_server);
    let mut responses = Pump::new(&link, Direction::Response, from_server, to_client);
    // One side that is done leaves the other going (half-close); one that failed ends both.
    tokio::try_join!(Box::pin(requests.run()), Box::pin(responses.run())).map(|_| ())
}

impl Link<'_> {
    fn pairs(&self) -> MutexGuard<'_, Pairs> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn output(&self) -> &Output {
        &self.shared.output
    }
}

/// What is known of the frame at the head of the buffer.
enum Known {
    Request(Start),
    Response(Asked),
    /// A raw SASL token, or an answer to no request.
    Nothing,
}

enum State<'a> {
    /// The next byte begins a frame.
    Start,
    /// So many bytes of a frame pass without being held.
    Pass { left: usize, recorded: bool },
    /// A frame of so many bytes, size included, is awaited as a whole.
    Hold { total: usize, known: Known, notes: Vec<String>, _permit: Option<SemaphorePermit<'a>> },
    /// No frames.
    Raw,
}

/// One direction.
struct Pump<'a> {
    link: &'a Link<'a>,
    direction: Direction,
    from: ReadHalf<'a>,
    to: WriteHalf<'a>,
    buffer: BytesMut,
    /// How many bytes of the buffer may go.
    ready: usize,
    state: State<'a>,
    first: bool,
}

impl<'a> Pump<'a> {
    fn new(link: &'a Link<'a>, direction: Direction, from: ReadHalf<'a>, to: WriteHalf<'a>) -> Self {
        let buffer = BytesMut::with_capacity(READ_BYTES);
        Self { link, direction, from, to, buffer, ready: 0, state: State::Start, first: true }
    }

    async fn run(&mut self) -> io::Result<()> {
        loop {
            let needed = self.advance().await?;
            self.flush().await?;
            let room = needed.saturating_sub(self.buffer.len()).max(READ_BYTES);
            // An empty buffer takes its own allocation again; a frame that is held lets it grow, up to its size.
            self.buffer.reserve(room);
            if self.from.read_buf(&mut self.buffer).await? == 0 {
                break;
            }
        }
        self.end().await
    }

    async fn flush(&mut self) -> io::Result<()> {
        if let Some(ready) = self.buffer.get(..self.ready)
            && !ready.is_empty()
        {
            self.to.write_all(ready).await?;
            self.buffer.advance(self.ready);
            self.ready = 0;
        }
        Ok(())
    }

    /// The sender is done: what is left passes, and the receiver is told.
    async fn end(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() || matches!(self.state, State::Pass { .. } | State::Hold { .. }) {
            let text = format!("the {}s end within a frame", self.direction.as_str());
            self.link.output().note(self.link.id, &text);
            self.link.output().raw(self.link.id, self.direction, &self.buffer);
            self.ready = self.buffer.len();
            self.flush().await?;
        }
        self.to.shutdown().await
    }

    /// Goes over the bytes that are there; gives the number of bytes that the buffer needs for the next step.
    async fn advance(&mut self) -> io::Result<usize> {
        loop {
            let rest = self.buffer.get(self.ready..).unwrap_or_default();
            match &mut self.state {
                State::Raw => {
                    self.link.output().raw(self.link.id, self.direction, rest);
                    self.ready = self.buffer.len();
                    return Ok(0);
                }
                State::Pass { left, recorded } => {
                    let passes = (*left).min(rest.len());
                    if let (true, Some(bytes)) = (*recorded, rest.get(..passes)) {
                        self.link.output().more(self.link.id, self.direction, bytes);
                    }
                    *left -= passes;
                    self.ready += passes;
                    if *left > 0 {
                        return Ok(0);
                    }
                    self.state = State::Start;
                }
                State::Hold { total, .. } if rest.len() < *total => {
                    let needed = self.ready + *total;
                    // What stands before the frame does not wait for it.
                    self.flush().await?;
                    return Ok(needed);
                }
                State::Hold { .. } => self.whole().await?,
                State::Start => {
                    if !self.begin().await? {
                        return Ok(0);
                    }
                }
            }
        }
    }

    /// Looks at the head of a frame and decides what becomes of it. False if more bytes are needed.
    async fn begin(&mut self) -> io::Result<bool> {
        let rest = self.buffer.get(self.ready..).unwrap_or_default();
        let Some(size) = rest.first_chunk::<4>().map(|it| i32::from_be_bytes(*it)) else { return Ok(false) };
        let limit = if self.direction == Direction::Request { REQUEST_BYTES_MAX } else { i32::MAX };
        let Some(size) = usize::try_from(size).ok().filter(|_| size <= limit) else {
            return Ok(self.no_frame());
        };
        match self.direction {
            Direction::Request => self.request(size).await,
            Direction::Response => self.response(size).await,
        }
    }

    fn no_frame(&mut self) -> bool {
        let text = format!("the {}s are not Kafka's: they pass as they are", self.direction.as_str());
        self.link.output().note(self.link.id, &text);
        self.state = State::Raw;
        true
    }

    async fn request(&mut self, size: usize) -> io::Result<bool> {
        let bytes = self.buffer.get(self.ready + 4..).unwrap_or_default();
        let bytes = bytes.get(..size).unwrap_or(bytes);
        let start = match look(bytes, size) {
            Look::More => return Ok(false),
            Look::Start(start) => Some(start),
            Look::NoRequest => None,
        };
        while !self.link.pairs().has_room() {
            self.flush().await?;
            self.link.room.notified().await;
        }
        count(&self.link.output().counters.requests);
        let known = start.as_ref().is_some_and(|it| it.known);
        let token = !known && self.link.pairs().token(Instant::now());
        let (known, notes) = match start {
            _ if token => (Known::Nothing, vec!["SASL token".to_owned()]),
            Some(start) => {
                self.link.pairs().asked(&start, Instant::now());
                let notes =
                    if start.known { Vec::new() } else { vec!["API or version not known".to_owned()] };
                (Known::Request(start), notes)
            }
            None if self.first => return Ok(self.no_frame()),
            None => (Known::Nothing, vec!["no request header".to_owned()]),
        };
        self.first = false;
        self.settle(size, known, notes, false).await;
        Ok(true)
    }

    async fn response(&mut self, size: usize) -> io::Result<bool> {
        let token = self.link.pairs().token_is_next();
        let bytes = self.buffer.get(self.ready + 4..).unwrap_or_default();
        let correlation_id = bytes.first_chunk::<4>().map(|it| i32::from_be_bytes(*it));
        if correlation_id.is_none() && !token && size >= 4 {
            return Ok(false);
        }
        let asked = match correlation_id.filter(|_| size >= 4) {
            Some(id) => self.link.pairs().answered(id),
            None if token => self.link.pairs().answered(0),
            None => None,
        };
        self.link.room.notify_one();
        count(&self.link.output().counters.responses);
        let (known, notes, addresses) = match asked {
            Some(asked) if asked.token => (Known::Nothing, vec!["SASL token".to_owned()], false),
            Some(asked) => {
                let may = rewrite::may_have_addresses(asked.start.key, asked.start.version);
                (Known::Response(asked), Vec::new(), may && self.link.shared.rewrites)
            }
            None => (Known::Nothing, vec!["answer to no request".to_owned()], false),
        };
        self.settle(size, known, notes, addresses).await;
        Ok(true)
    }

    /// Holds the frame, or lets it pass.
    async fn settle(&mut self, size: usize, known: Known, mut notes: Vec<String>, addresses: bool) {
        let looks = self.link.output().looks();
        let total = 4 + size;
        if !looks && !addresses {
            self.state = State::Pass { left: total, recorded: false };
            return;
        }
        let (held, kilobytes) = (&self.link.shared.held, u32::try_from(total >> 10).unwrap_or(u32::MAX));
        let permit = match total {
            _ if total > FRAME_HELD_MAX => None,
            _ if total <= READ_BYTES => Some(None),
            // Waiting is for what must not pass as it is; a mere look is left out when too much is held already.
            _ if addresses => held.acquire_many(kilobytes).await.ok().map(Some),
            _ => held.try_acquire_many(kilobytes).ok().map(Some),
        };
        if let Some(permit) = permit {
            self.state = State::Hold { total, known, notes, _permit: permit };
            return;
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
    }

    /// A frame is there as a whole.
    async fn whole(&mut self) -> io::Result<()> {
        let State::Hold { total, known, mut notes, _permit } =
            std::mem::replace(&mut self.state, State::Start)
        else {
            return Ok(());
        };
        self.flush().await?;
        let frame = self.buffer.split_to(total).freeze();
        let mut changed = None;
        if let (Known::Response(asked), true) = (&known, self.link.shared.rewrites) {
            changed = self.rewritten(asked, &frame.slice(4..), &mut notes);
        }
        if self.link.output().looks() {
            let found = match &known {
                Known::Response(asked) => self.errors(asked, &frame, &mut notes),
                Known::Request(_) | Known::Nothing => Errors::default(),
            };
            let line = self.line(total - 4, &known, found, notes);
            self.link.output().frame(&line, &frame);
        }
        self.to.write_all(changed.as_ref().unwrap_or(&frame)).await
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

/// Permits of the frames that are held, in KiB.
pub(super) fn held() -> Semaphore {
    Semaphore::new(HELD_BYTES_MAX >> 10)
}
