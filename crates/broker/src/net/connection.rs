//! One connection: frames in, requests started in arrival order, answers out in the same order.
//!
//! The connection's task polls the futures of its requests itself; a request costs no task and no
//! hand-off of its own. All state stands in [`Connection`], so that any await may be abandoned.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, info};

use super::input::{Input, Part};
use super::output::Output;
use crate::broker::Broker;
use crate::call::Link;
use crate::router::{self, Answering, Outcome};
use crate::stop::Stop;

/// Requests of one connection in flight. At the limit we stop reading; TCP does the rest.
const IN_FLIGHT_MAX: usize = 32;
/// Bytes of answers that a connection holds for a slow reader before it starts no more requests.
const OUTPUT_MAX: usize = 4 * 1024 * 1024;
/// What requests in flight get to end when the broker stops; waiting fetches are cut off.
const STOP_GRACE: Duration = Duration::from_millis(200);

/// A connection from accept to close.
pub(crate) struct Connection {
    broker: Arc<Broker>,
    link: Arc<Link>,
    stream: TcpStream,
    input: Input,
    in_flight: VecDeque<InFlight>,
    in_flight_bytes: usize,
    output: Output,
    idle_max: Duration,
    /// When bytes last came or an answer was last given.
    last_active: Instant,
    reading: bool,
    /// Why no more is read. What was asked before is still answered, then the connection ends.
    refused: Option<String>,
}

struct InFlight {
    bytes: usize,
    answer: Answer,
}

enum Answer {
    Running(Answering),
    Done(Outcome),
}

/// Why a connection ends.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The client closed it, or it broke.
    Gone,
    /// The client closed it with a part of a frame sent.
    Cut(Part),
    /// The client sent what no answer can be given to, or a failure has no answer.
    Refused(String),
    Idle,
    Stopped,
}

impl Connection {
    pub(crate) fn new(broker: Arc<Broker>, link: Arc<Link>, stream: TcpStream) -> Self {
        let limits = &broker.limits;
        Self {
            input: Input::new(limits.request_bytes_max),
            idle_max: limits.idle_max,
            broker,
            link,
            stream,
            in_flight: VecDeque::new(),
            in_flight_bytes: 0,
            output: Output::default(),
            last_active: Instant::now(),
            reading: true,
            refused: None,
        }
    }

    /// Serves the connection until it ends, and says in one line why.
    pub(crate) async fn run(mut self, stop: Stop) {
        let ended = self.serve(stop).await;
        let by_peer = matches!(ended, Ended::Gone | Ended::Cut(_));
        self.broker.departures.close(self.link.id, by_peer, self.broker.clock.now());
        let (client, listener) = (self.link.peer, &self.link.listener.name);
        match ended {
            Ended::Refused(reason) => info!(%client, %listener, reason, "connection closed"),
            Ended::Cut(part) => info!(%client, %listener, "connection closed by the client {part}"),
            Ended::Gone => debug!(%client, %listener, "connection gone"),
            Ended::Idle => debug!(%client, %listener, "idle connection closed"),
            Ended::Stopped => debug!(%client, %listener, "connection closed by stop"),
        }
    }

    async fn serve(&mut self, mut stop: Stop) -> Ended {
        let mut idle = pin!(sleep_until(self.last_active + self.idle_max));
        loop {
            tokio::select! {
                biased;
                ended = std::future::poll_fn(|cx| self.poll(cx)) => return ended,
                () = stop.given() => return self.finish().await,
                () = &mut idle => {
                    let deadline = self.last_active + self.idle_max;
                    if self.in_flight.is_empty() && deadline <= Instant::now() {
                        return Ended::Idle;
                    }
                    // A connection with a request in progress is not idle: look again later.
                    idle.as_mut().reset(deadline.max(Instant::now() + self.idle_max / 10));
                }
            }
        }
    }

    /// Answers what is in flight, but reads no more.
    async fn finish(&mut self) -> Ended {
        self.reading = false;
        tokio::select! {
            ended = std::future::poll_fn(|cx| self.poll(cx)) => ended,
            () = sleep(STOP_GRACE) => Ended::Stopped,
        }
    }

    /// Goes round until nothing moves. Every source that did not move has been asked to wake us.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        loop {
            match self.turn(cx) {
                Ok(true) => {}
                Ok(false) if !self.reading && self.in_flight.is_empty() && self.output.is_empty() => {
                    return Poll::Ready(self.refused.take().map_or(Ended::Stopped, Ended::Refused));
                }
                Ok(false) => return Poll::Pending,
                Err(ended) => return Poll::Ready(ended),
            }
        }
    }

    /// One turn: start, answer, write, read. Reading comes last because it is what usually waits.
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, Ended> {
        let started = self.start_requests();
        let answered = self.poll_answers(cx);
        let written = self.poll_write(cx)?;
        let read = self.poll_read(cx)?;
        Ok(started | answered | written | read)
    }

    fn has_room(&self) -> bool {
        self.reading
            && self.in_flight.len() < IN_FLIGHT_MAX
            && self.in_flight_bytes < self.broker.limits.request_bytes_max
            && self.output.waiting() < OUTPUT_MAX
    }

    fn start_requests(&mut self) -> bool {
        let mut started = false;
        while self.has_room() {
            match self.start_request() {
                Ok(true) => started = true,
                Ok(false) => break,
                Err(reason) => self.refuse(reason),
            }
        }
        started
    }

    fn start_request(&mut self) -> Result<bool, String> {
        let Some(frame) = self.input.frame().map_err(|bad| bad.to_string())? else { return Ok(false) };
        let bytes = frame.len();
        let answering = router::start(&self.broker, &self.link, frame)?;
        self.in_flight_bytes += bytes;
        self.in_flight.push_back(InFlight { bytes, answer: Answer::Running(answering) });
        Ok(true)
    }

    /// Reads no more. The first reason counts.
    fn refuse(&mut self, reason: String) {
        self.reading = false;
        self.refused.get_or_insert(reason);
    }

    /// Polls every running request, in arrival order, and takes the answers at the front.
    fn poll_answers(&mut self, cx: &mut Context<'_>) -> bool {
        for request in &mut self.in_flight {
            if let Answer::Running(answering) = &mut request.answer
                && let Poll::Ready(outcome) = answering.as_mut().poll(cx)
            {
                request.answer = Answer::Done(outcome);
            }
        }
        let mut answered = false;
        while let Some(InFlight { bytes, answer }) = self.in_flight.pop_front() {
            let outcome = match answer {
                Answer::Done(outcome) => outcome,
                running @ Answer::Running(_) => {
                    self.in_flight.push_front(InFlight { bytes, answer: running });
                    break;
                }
            };
            answered = true;
            self.in_flight_bytes -= bytes;
            match outcome {
                Outcome::Answer(pieces) => pieces.into_iter().for_each(|piece| self.output.push(piece)),
                Outcome::Unanswered => {}
                Outcome::Close(reason) => {
                    // What came after it is not answered any more, as if it had not been read.
                    self.in_flight.clear();
                    self.refuse(reason);
                }
            }
        }
        if answered {
            self.last_active = Instant::now();
        }
        answered
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<bool, Ended> {
        let mut any = false;
        while !self.output.is_empty() {
            match self.output.poll_write(&mut self.stream, cx) {
                Poll::Ready(Ok(_)) => any = true,
                Poll::Ready(Err(_)) => return Err(Ended::Gone),
                Poll::Pending => break,
            }
        }
        Ok(any)
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Result<bool, Ended> {
        if !self.has_room() {
            return Ok(false);
        }
        match self.stream.poll_read_ready(cx) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Err(Ended::Gone),
            Poll::Pending => {
                self.input.rest();
                return Ok(false);
            }
        }
        match self.poll_fill(cx) {
            Poll::Ready(Ok(0)) => Err(self.input.part().map_or(Ended::Gone, Ended::Cut)),
            Poll::Ready(Ok(bytes)) => {
                self.input.filled(bytes);
                self.last_active = Instant::now();
                Ok(true)
            }
            Poll::Ready(Err(_)) => Err(Ended::Gone),
            Poll::Pending => Ok(false),
        }
    }

    /// The future of `read_buf` holds nothing; dropping it after one poll loses nothing.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let read = self.stream.read_buf(self.input.room());
        Pin::new(&mut pin!(read)).as_mut().poll(cx)
    }
}
