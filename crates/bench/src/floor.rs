//! `bench floor`: the floor server, and what it takes. It reads frames, checks the CRC-32C of the records, puts in base
//! offset and leader epoch, writes to one file and answers: what no broker can leave out. All other costs are given
//! against it, taken in the same run.
//!
//! It is asked what row P3 asks: Produce v9 with one record of 100 bytes, by one connection with 5 requests in flight.
#![expect(clippy::print_stdout, reason = "whoever starts it needs its port")]

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use wire::batch::{BatchBuilder, HEADER_LEN, crc32c};
use wire::produce::request::{PartitionProduceData, TopicProduceData};
use wire::{ProduceRequest, Records};

use crate::load::{Connection, Frames, Turn, encoded, turn};
use crate::options::Options;
use crate::process::{Directory, Peer};
use crate::report::{Report, spread};

/// The only version that the server understands.
const PRODUCE_VERSION: i16 = 9;
/// The topic of P3.
const TOPIC: &str = "t";
/// Bytes of the record of P3.
const VALUE_BYTES: usize = 100;
/// Requests in flight: P3, and the heartbeats' G1 and G2.
pub const WINDOWS: [u32; 2] = [5, 32];
/// Room for what is read at once.
const READ_BYTES: usize = 64 << 10;
/// Larger frames are refused.
const FRAME_BYTES_MAX: usize = 16 << 20;
/// When the file is this long it is cut and begins again, so that write-back does not start.
const FILE_BYTES_MAX: u64 = 512 << 20;
/// The checksum covers everything from here on.
const CRC_FROM: usize = 21;

/// The file with the records of all.
#[derive(Debug)]
struct Store {
    file: File,
    bytes: u64,
    offset: u64,
}

impl Store {
    fn append(&mut self, batch: &mut [u8]) -> Option<u64> {
        let (head, rest) = batch.split_at_checked(CRC_FROM)?;
        if rest.len() < HEADER_LEN - CRC_FROM || head.get(17..)? != crc32c(&[rest]).to_be_bytes() {
            return None;
        }
        let last = u32::from_be_bytes(*batch.get(23..)?.first_chunk()?);
        let offset = self.offset;
        batch.get_mut(..8)?.copy_from_slice(&offset.to_be_bytes());
        batch.get_mut(12..16)?.copy_from_slice(&0_u32.to_be_bytes());
        if self.bytes > FILE_BYTES_MAX {
            self.file.set_len(0).ok()?;
            self.bytes = 0;
        }
        self.file.write_all_at(batch, self.bytes).ok()?;
        self.bytes += u64::try_from(batch.len()).ok()?;
        self.offset += u64::from(last) + 1;
        Some(offset)
    }
}

/// A place in a frame.
struct At<'a> {
    frame: &'a mut [u8],
    place: usize,
}

impl At<'_> {
    fn take(&mut self, bytes: usize) -> Option<&mut [u8]> {
        let end = self.place.checked_add(bytes)?;
        let taken = self.frame.get_mut(self.place..end)?;
        self.place = end;
        Some(taken)
    }

    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    fn varint(&mut self) -> Option<usize> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.number()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Of a compact string, array or bytes; none and empty are the same here.
    fn length(&mut self) -> Option<usize> {
        Some(self.varint()?.saturating_sub(1))
    }

    /// Tagged fields; none are known.
    fn no_tags(&mut self) -> Option<()> {
        (self.varint()? == 0).then_some(())
    }
}

/// Answers a frame, which has no size any more.
fn answer(frame: &mut [u8], store: &Mutex<Store>, out: &mut Vec<u8>) -> Option<()> {
    let mut at = At { frame, place: 0 };
    let key_and_version: [u8; 4] = at.number()?;
    if key_and_version != [0, 0, 0, PRODUCE_VERSION.to_be_bytes()[1]] {
        return None;
    }
    let start = out.len();
    out.extend([0; 4]);
    out.extend(at.number::<4>()?);
    out.push(0);
    let client = usize::try_from(i16::from_be_bytes(at.number()?)).unwrap_or(0);
    at.take(client)?;
    at.no_tags()?;
    let transaction = at.length()?;
    at.take(transaction)?;
    // Acks and timeout.
    at.take(6)?;
    let topics = at.length()?;
    put_length(out, topics);
    for _ in 0..topics {
        let name = at.length()?;
        put_length(out, name);
        out.extend_from_slice(at.take(name)?);
        let partitions = at.length()?;
        put_length(out, partitions);
        for _ in 0..partitions {
            out.extend(at.number::<4>()?);
            let bytes = at.length()?;
            let offset = store.lock().unwrap_or_else(PoisonError::into_inner).append(at.take(bytes)?)?;
            at.no_tags()?;
            out.extend([0; 2]);
            out.extend(offset.to_be_bytes());
            // Time of the append, start of the log, no errors of records, no message, no tags.
            out.extend((-1_i64).to_be_bytes());
            out.extend(0_i64.to_be_bytes());
            out.extend([1, 0, 0]);
        }
        at.no_tags()?;
        out.push(0);
    }
    out.extend([0; 5]);
    let size = u32::try_from(out.len() - start - 4).ok()?;
    out.get_mut(start..start + 4)?.copy_from_slice(&size.to_be_bytes());
    Some(())
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    let mut rest = length + 1;
    while rest >= 0x80 {
        out.push(u8::try_from(rest & 0x7f).unwrap_or(0) | 0x80);
        rest >>= 7;
    }
    out.push(u8::try_from(rest).unwrap_or(0));
}

/// Answers every whole frame; says how many bytes those were.
fn answer_all(input: &mut [u8], store: &Mutex<Store>, out: &mut Vec<u8>) -> io::Result<usize> {
    let mut used = 0;
    while let Some(size) = input.get(used..).and_then(<[u8]>::first_chunk::<4>) {
        let size = usize::try_from(u32::from_be_bytes(*size)).unwrap_or(usize::MAX);
        if size > FRAME_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let Some(frame) = input.get_mut(used + 4..used + 4 + size) else { break };
        answer(frame, store, out).ok_or(io::ErrorKind::InvalidData)?;
        used += 4 + size;
    }
    Ok(used)
}

/// Until the client is gone, or says what is not understood.
async fn converse(mut stream: TcpStream, store: Arc<Mutex<Store>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BytesMut::with_capacity(READ_BYTES);
    let mut out = Vec::new();
    loop {
        let used = answer_all(&mut input, &store, &mut out)?;
        input.advance(used);
        if !out.is_empty() {
            stream.write_all(&out).await?;
            out.clear();
        }
        input.reserve(READ_BYTES);
        if stream.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
    }
}

/// Serves until the process ends.
fn serve(listener: std::net::TcpListener, file: File) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_io().build()?;
    let store = Arc::new(Mutex::new(Store { file, bytes: 0, offset: 0 }));
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(converse(stream, Arc::clone(&store)));
        }
    })
}

/// As a process of its own.
fn be(directory: &Path) -> Result<(), String> {
    let text = |problem: io::Error| problem.to_string();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(text)?;
    let path = directory.join(format!("thalweg-bench-floor-{}", std::process::id()));
    let file = File::options().write(true).create_new(true).open(&path).map_err(text)?;
    // The process is killed. Nobody needs the name, and without it the file goes then.
    std::fs::remove_file(&path).map_err(text)?;
    println!("{}", listener.local_addr().map_err(text)?);
    serve(listener, file).map_err(text)
}

/// The floor server, and a connection that asks it.
#[derive(Debug)]
pub struct Floor {
    peer: Peer,
    connection: Connection,
    frames: Frames,
}

impl Floor {
    /// # Errors
    /// It does not start.
    pub fn start(options: &Options) -> Result<Self, String> {
        let this = std::env::current_exe().map_err(|problem| problem.to_string())?;
        let mut command = Command::new(this);
        command.args(["floor", "--serve", "--dir"]).arg(&options.directory);
        Self::over(Peer::start(command)?)
    }

    fn over(peer: Peer) -> Result<Self, String> {
        let connection = Connection::open(&peer.address)?;
        Ok(Self { peer, connection, frames: requests()? })
    }

    /// # Errors
    /// The server is gone.
    pub fn turn(&mut self, window: u32, time: Duration) -> Result<Turn, String> {
        turn(&self.peer, || self.connection.pump(&mut self.frames, window, time))
    }
}

/// What P3 asks.
fn requests() -> Result<Frames, String> {
    let batch = BatchBuilder::new().timestamp(1).push(None, Some(&[b'x'; VALUE_BYTES])).build();
    let records = Some(Records::from(batch));
    let partition = PartitionProduceData { records, ..Default::default() };
    let topic =
        TopicProduceData { name: TOPIC.into(), partition_data: vec![partition], ..Default::default() };
    let request =
        ProduceRequest { acks: -1, timeout_ms: 30_000, topic_data: vec![topic], ..Default::default() };
    // Correlation id, tags, topics, name with its length, partitions, index.
    Ok(Frames::new(vec![encoded(PRODUCE_VERSION, &request)?], 4 + 1 + 1 + 1 + TOPIC.len() + 1 + 4))
}

/// Is the server, or measures it.
///
/// # Errors
/// A process or socket that is not to be had.
pub fn run(options: &Options) -> Result<(), String> {
    if options.serve {
        return be(&options.directory);
    }
    // One that is removed when the measurement ends, and shows before that there is room.
    let directory = Directory::new(&options.directory)?;
    let options = Options { directory: directory.path.clone(), ..options.clone() };
    let report = Report::new(options.json);
    let mut floor = Floor::start(&options)?;
    floor.turn(WINDOWS[0], Duration::from_secs_f64(options.warm_up))?;
    let mut turns: [Vec<Turn>; 2] = Default::default();
    for round in 1..=options.rounds {
        for (window, turns) in WINDOWS.into_iter().zip(&mut turns) {
            report.progress(&format!("round {round} of {}: {window} in flight", options.rounds));
            turns.push(floor.turn(window, Duration::from_secs_f64(options.seconds))?);
        }
    }
    for (window, turns) in WINDOWS.into_iter().zip(&turns) {
        let each: Vec<_> = turns.iter().map(|it| it.each()).collect();
        let system: Vec<_> = turns.iter().map(|it| it.each_in_system()).collect();
        let requests: f64 = turns.iter().map(|it| it.requests).sum();
        report.row(
            "floor, produce 1 x 100 bytes",
            &[
                ("in_flight", window.into()),
                ("requests", requests.into()),
                ("us", spread(&each)),
                ("us_system", spread(&system)),
            ],
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Request;

    /// Serves in this process.
    fn floor() -> Floor {
        let directory = Directory::new(&std::env::temp_dir()).unwrap();
        let file = File::create_new(directory.path.join("log")).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || serve(listener, file));
        Floor::over(Peer::of(std::process::id(), &address)).unwrap()
    }

    #[test]
    fn it_answers_what_is_measured_with() {
        let mut floor = floor();
        for window in WINDOWS {
            let turn = floor.turn(window, Duration::from_millis(20)).unwrap();
            assert!(turn.requests >= f64::from(window));
        }
    }

    #[test]
    fn its_answers_are_those_of_a_broker() {
        let mut floor = floor();
        let partition = |index, count| {
            let batch = (0..count).fold(BatchBuilder::new().timestamp(1), |it, _| it.push(None, Some(b"v")));
            let records = Some(Records::from(batch.build()));
            PartitionProduceData { index, records, ..Default::default() }
        };
        let partition_data = vec![partition(3, 2), partition(4, 1)];
        let topic = TopicProduceData { name: "two".into(), partition_data, ..Default::default() };
        let request = ProduceRequest { acks: -1, topic_data: vec![topic], ..Default::default() };
        let answer: <ProduceRequest as Request>::Response =
            floor.connection.call(PRODUCE_VERSION, &request).unwrap();
        let topic = &answer.responses[0];
        let found: Vec<_> = topic.partition_responses.iter().map(|it| (it.index, it.base_offset)).collect();
        assert_eq!((topic.name.to_string().as_str(), found), ("two", vec![(3, 0), (4, 2)]));
    }

    #[test]
    fn damaged_records_end_the_connection() {
        let mut floor = floor();
        let last = floor.frames.frames[0].len() - 6;
        floor.frames.frames[0][last] ^= 1;
        assert!(floor.turn(1, Duration::from_millis(5)).is_err());
    }
}
