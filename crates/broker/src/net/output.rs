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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Write;

    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = TcpStream::connect(listener.local_addr().unwrap());
        let (there, accepted) = tokio::join!(there, listener.accept());
        (accepted.unwrap().0, there.unwrap())
    }

    /// A file of numbered bytes; it has no name any more when it is used.
    fn file(len: usize) -> (Arc<OpenFile>, Vec<u8>) {
        let path = std::env::temp_dir().join(format!("thalweg-output-{}-{len}", std::process::id()));
        let bytes: Vec<u8> = (0..len).map(|it| u8::try_from(it % 251).unwrap()).collect();
        std::fs::File::create(&path).unwrap().write_all(&bytes).unwrap();
        let open = std::fs::File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        (Arc::new(OpenFile(open)), bytes)
    }

    /// More than sockets hold, so that writes end in the middle of pieces.
    #[tokio::test]
    async fn pieces_arrive_in_order_however_they_are_cut() {
        let (file, bytes) = file(3_000_000);
        let mut output = Output::default();
        let mut expected = Vec::new();
        for round in 0..3_usize {
            for part in 0..100_u8 {
                let memory = Bytes::from(vec![part; 1_000]);
                expected.extend_from_slice(&memory);
                output.push(Piece::Bytes(memory));
            }
            let (offset, len) = (round * 7, 2_500_000);
            expected.extend_from_slice(&bytes[offset..offset + len]);
            output.push(Piece::File { file: file.clone(), offset: offset as u64, len });
            output.push(Piece::Bytes(Bytes::new()));
        }
        assert_eq!(output.waiting(), expected.len());
        let (mut here, mut there) = pair().await;
        let writing = async {
            while !output.is_empty() {
                poll_fn(|cx| output.poll_write(&mut here, cx)).await.unwrap();
            }
            drop(here);
        };
        let reading = async {
            let mut read = Vec::new();
            there.read_to_end(&mut read).await.unwrap();
            read
        };
        let ((), read) = tokio::join!(writing, reading);
        assert!(read == expected, "{} bytes of {}", read.len(), expected.len());
        assert_eq!(output.waiting(), 0);
    }

    /// A file that lost its end: the answer can't be completed, so the connection must end.
    #[tokio::test]
    async fn a_file_that_is_too_short_is_an_error() {
        let (file, _) = file(10);
        let mut output = Output::default();
        output.push(Piece::File { file, offset: 8, len: 5 });
        let (mut here, _there) = pair().await;
        assert_eq!(poll_fn(|cx| output.poll_write(&mut here, cx)).await.unwrap(), 2);
        assert!(poll_fn(|cx| output.poll_write(&mut here, cx)).await.is_err());
    }
}
