//! One connection: requests out, answers in the order in which the requests went out.

use std::collections::VecDeque;
use std::fmt;
use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, ToSocketAddrs};
use wire::chunk::join;
use wire::frame::{encode_request, response_header_version};
use wire::{DecodeError, EncodeError, Message, Reader, Request, ResponseHeader, Str};

/// The largest answer that is taken; a larger size means that the stream is out of step.
const ANSWER_BYTES_MAX: usize = 1 << 30;

/// Why a call failed.
#[derive(Debug)]
pub enum Error {
    Io(io::Error),
    /// The broker closed the connection.
    Closed,
    Encode(EncodeError),
    Decode(DecodeError),
    /// The answer belongs to another request.
    Correlation {
        expected: i32,
        found: i32,
    },
    /// An answer was awaited, but no request is under way.
    NothingAsked,
    TooLarge(i32),
    UnknownVersion(i16),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Closed => f.write_str("the broker closed the connection"),
            Self::Encode(error) => write!(f, "request: {error}"),
            Self::Decode(error) => write!(f, "answer: {error}"),
            Self::Correlation { expected, found } => {
                write!(f, "answer {found} came instead of {expected}")
            }
            Self::NothingAsked => f.write_str("no request waits for an answer"),
            Self::UnknownVersion(version) => write!(f, "the API has no version {version}"),
            Self::TooLarge(size) => write!(f, "an answer of {size} bytes"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        let closed = matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
        );
        if closed { Self::Closed } else { Self::Io(error) }
    }
}

/// A connection to one broker.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    input: BytesMut,
    client_id: Option<Str>,
    last_correlation_id: i32,
    /// Requests that wait for their answers: correlation id, in the order in which they went out.
    asked: VecDeque<i32>,
}

impl Connection {
    /// Connects, with a client id for the request headers.
    pub async fn connect(address: impl ToSocketAddrs, client_id: Option<&str>) -> Result<Self, Error> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            input: BytesMut::new(),
            client_id: client_id.map(Str::from),
            last_correlation_id: 0,
            asked: VecDeque::new(),
        })
    }

    /// Sends a request and waits for its answer. Answers of requests sent before must have been
    /// received.
    pub async fn call<R: Request>(&mut self, version: i16, request: &R) -> Result<R::Response, Error> {
        self.send(version, request).await?;
        self.receive::<R>(version).await
    }

    /// Sends a request whose answer is fetched later, in the order of sending.
    pub async fn send<R: Request>(&mut self, version: i16, request: &R) -> Result<(), Error> {
        let correlation_id = self.write(version, request).await?;
        self.asked.push_back(correlation_id);
        Ok(())
    }

    /// Sends a request that the broker does not answer, as Produce with acks 0.
    pub async fn send_unanswered<R: Request>(&mut self, version: i16, request: &R) -> Result<(), Error> {
        self.write(version, request).await.map(|_| ())
    }

    /// The answer of the oldest request that was sent.
    pub async fn receive<R: Request>(&mut self, version: i16) -> Result<R::Response, Error> {
        let expected = self.asked.pop_front().ok_or(Error::NothingAsked)?;
        let mut reader = Reader::new(self.receive_raw().await?);
        let header_version =
            response_header_version(R::KEY, version).ok_or(Error::UnknownVersion(version))?;
        let header = ResponseHeader::decode(&mut reader, header_version).map_err(Error::Decode)?;
        let found = header.correlation_id;
        if found != expected {
            return Err(Error::Correlation { expected, found });
        }
        R::Response::decode(&mut reader, version).map_err(Error::Decode)
    }

    /// Sends bytes as they are.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> Result<(), Error> {
        Ok(self.stream.write_all(bytes).await?)
    }

    /// The next frame, without its size.
    pub async fn receive_raw(&mut self) -> Result<Bytes, Error> {
        self.fill(4).await?;
        let size = self.input.first_chunk::<4>().map_or(-1, |bytes| i32::from_be_bytes(*bytes));
        let bytes = usize::try_from(size).ok().filter(|it| *it <= ANSWER_BYTES_MAX);
        let bytes = bytes.ok_or(Error::TooLarge(size))?;
        self.fill(4 + bytes).await?;
        Ok(self.input.split_to(4 + bytes).freeze().slice(4..))
    }

    async fn write<R: Request>(&mut self, version: i16, request: &R) -> Result<i32, Error> {
        self.last_correlation_id = self.last_correlation_id.wrapping_add(1);
        let id = self.last_correlation_id;
        let frame = encode_request(request, version, id, self.client_id.clone()).map_err(Error::Encode)?;
        self.stream.write_all(&join(&frame)).await?;
        Ok(id)
    }

    /// Reads until `bytes` are there. What was read stays in the connection, so that a call may be
    /// abandoned and made again.
    async fn fill(&mut self, bytes: usize) -> Result<(), Error> {
        while self.input.len() < bytes {
            self.input.reserve(bytes - self.input.len());
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return Err(Error::Closed);
            }
        }
        Ok(())
    }
}
