//! The writing half of a connection: answers in order, memory by vectored writes, files by sendfile.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use storage::OpenFile;
use tokio::io::{AsyncWrite, Interest};
use tokio::net::TcpStream;

/// Chunks handed to one vectored write; the kernel's own bound is 1024.
const SLICES_MAX: usize = 64;
/// Bytes of one sendfile call, so that one reader of a large file can't hold the thread for long.
const SENDFILE_MAX: usize = 1024 * 1024;

/// A piece of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Bytes(Bytes),
    /// `len` bytes of the file from `offset`. The handle keeps the file readable after its deletion.
    File {
        file: Arc<OpenFile>,
        offset: u64,
        len: usize,
    },
}

/// Answers that wait for the socket.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pieces: VecDeque<Piece>,
    bytes: usize,
}

impl Output {
    pub(crate) fn push(&mut self, piece: Piece) {
        let len = match &piece {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::File { len, .. } => *len,
        };
        if len > 0 {
            self.bytes += len;
            self.pieces.push_back(piece);
        }
    }

    /// Bytes that were not yet handed to the kernel.
    pub(crate) fn waiting(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Writes once. Ready with the number of bytes, which is above 0 if anything waited.
    pub(crate) fn poll_write(
        &mut self,
        stream: &mut TcpStream,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let written = match self.pieces.front() {
            None => return Poll::Ready(Ok(0)),
            Some(Piece::Bytes(_)) => ready!(self.poll_write_bytes(stream, cx))?,
            Some(Piece::File { file, offset, len }) => {
                ready!(poll_send_file(stream, cx, file, *offset, (*len).min(SENDFILE_MAX)))?
            }
        };
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        self.advance(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_bytes(&self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let mut count = 0;
        for (slot, piece) in slices.iter_mut().zip(&self.pieces) {
            let Piece::Bytes(bytes) = piece else { break };
            *slot = IoSlice::new(bytes);
            count += 1;
        }
        let filled = slices.get(..count).unwrap_or_default();
        Pin::new(stream).poll_write_vectored(cx, filled)
    }

    fn advance(&mut self, mut written: usize) {
        self.bytes -= written;
        while let Some(piece) = self.pieces.front_mut() {
            let len = match piece {
                Piece::Bytes(bytes) => bytes.len(),
                Piece::File { len, .. } => *len,
            };
            if written < len {
                match piece {
                    Piece::Bytes(bytes) => bytes.advance(written),
                    Piece::File { offset, len, .. } => {
                        *offset += written as u64;
                        *len -= written;
                    }
                }
                return;
            }
            written -= len;
            self.pieces.pop_front();
        }
    }
}

fn poll_send_file(
    stream: &TcpStream,
    cx: &mut Context<'_>,
    file: &std::fs::File,
    offset: u64,
    len: usize,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(stream.poll_write_ready(cx))?;
        let sent = stream.try_io(Interest::WRITABLE, || {
            let mut position = offset;
            Ok(rustix::fs::sendfile(stream, file, Some(&mut position), len)?)
        });
        match sent {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(_) | Err(_) => return Poll::Ready(sent),
        }
    }
}
