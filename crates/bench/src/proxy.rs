//! `bench proxy`: the CPU that `thalweg wire proxy --quiet` takes for frames of 64 KiB, beside a plain forwarder
//! (`forward.rs`), in turns. Produce carries them to the server, Fetch back from it; those of Fetch have to be looked
//! into, since they may have addresses.
#![expect(clippy::print_stdout, reason = "a command-line tool talks to its user")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use bytes::Bytes;
use wire::batch::BatchBuilder;
use wire::fetch::response::{FetchableTopicResponse, PartitionData};
use wire::produce::request::{PartitionProduceData, TopicProduceData};
use wire::{Records, Uuid, chunk, frame};

use crate::process::Peer;
use crate::report::median;

/// Bytes of records in a large frame.
const RECORDS_BYTES: usize = 64 << 10;
/// Turns of each row. What a frame costs depends on who waits for whom, in the floor as in the proxy, and changes from turn
/// to turn; so there are many.
const ROUNDS: usize = 21;
/// Frames of a turn.
const FRAMES: usize = 2000;
/// Frames before the first turn.
const WARM_UP: usize = 500;
/// What the proxy may take more than the floor.
const RATIO_MAX: f64 = 1.2;

/// Measures and prints the ratios.
///
/// # Errors
/// A process or socket that is not to be had.
pub fn run(thalweg: Option<&str>) -> Result<(), String> {
    let this = std::env::current_exe().map_err(|problem| problem.to_string())?;
    let thalweg = thalweg.map_or_else(|| this.with_file_name("thalweg"), PathBuf::from);
    println!(
        "CPU per frame of 64 KiB, medians of {ROUNDS} turns of {FRAMES} frames; wanted: at most {RATIO_MAX}"
    );
    for (name, exchange) in [("produce", produce()?), ("fetch", fetch()?)] {
        for window in [1, 8] {
            let server = serve(exchange.clone())?;
            let mut floor = Command::new(&this);
            floor.args(["forward", &server]);
            let floor = Peer::start(floor)?;
            let mut proxy = Command::new(&thalweg);
            proxy.args(["wire", "proxy", "--quiet", "--upstream", &server, "--listen", "127.0.0.1:0"]);
            let proxy = Peer::start(proxy)?;
            row(&format!("{name}, {window} in flight"), &exchange, window, [&floor, &proxy])?;
        }
    }
    Ok(())
}

fn row(name: &str, exchange: &Exchange, window: usize, peers: [&Peer; 2]) -> Result<(), String> {
    let text = |problem: std::io::Error| problem.to_string();
    let connect = |peer: &Peer| {
        let stream = TcpStream::connect(&peer.address)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let mut streams = [connect(peers[0]).map_err(text)?, connect(peers[1]).map_err(text)?];
    for stream in &mut streams {
        ask(stream, exchange, window, WARM_UP).map_err(text)?;
    }
    let (mut ratios, mut floors, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut spent = [0.0; 2];
        for ((stream, peer), spent) in streams.iter_mut().zip(peers).zip(&mut spent) {
            let before = peer.cpu_of_living_threads()?;
            ask(stream, exchange, window, FRAMES).map_err(text)?;
            *spent = (peer.cpu_of_living_threads()? - before) * 1e6 / FRAMES as f64;
        }
        ratios.push(spent[1] / spent[0]);
        floors.push(spent[0]);
        ours.push(spent[1]);
    }
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    println!(
        "{name:<24} floor {:>6.1} us  proxy {:>6.1} us  ratio {:.3} ({least:.3} to {most:.3})",
        median(&mut floors),
        median(&mut ours),
        median(&mut ratios)
    );
    Ok(())
}

/// Frames with their sizes. The correlation id is put in when they are sent.
#[derive(Debug, Clone)]
struct Exchange {
    request: Bytes,
    response: Bytes,
}

fn records() -> Option<Records> {
    let batch = BatchBuilder::new().timestamp(1).push(None, Some(&vec![7; RECORDS_BYTES])).build();
    Some(Records::from(batch))
}

fn produce() -> Result<Exchange, String> {
    let partition = PartitionProduceData { records: records(), ..Default::default() };
    let topic = TopicProduceData { name: "t".into(), partition_data: vec![partition], ..Default::default() };
    let request = wire::ProduceRequest { acks: -1, topic_data: vec![topic], ..Default::default() };
    exchange(&request, &wire::ProduceResponse::default(), 12)
}

fn fetch() -> Result<Exchange, String> {
    let partition = PartitionData { records: records(), ..Default::default() };
    let topic =
        FetchableTopicResponse { topic_id: Uuid([1; 16]), partitions: vec![partition], ..Default::default() };
    let response = wire::FetchResponse { responses: vec![topic], ..Default::default() };
    exchange(&wire::FetchRequest::default(), &response, 17)
}

fn exchange<R: wire::Request>(request: &R, response: &R::Response, version: i16) -> Result<Exchange, String> {
    let text = |problem: wire::EncodeError| problem.to_string();
    let request = frame::encode_request(request, version, 0, Some("bench".into())).map_err(text)?;
    let response = frame::encode_response(response, version, 0).map_err(text)?;
    Ok(Exchange { request: chunk::join(&request), response: chunk::join(&response) })
}

/// A server that answers every request with the same response, for as many connections as come.
fn serve(exchange: Exchange) -> Result<String, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|problem| problem.to_string())?;
    let address = listener.local_addr().map_err(|problem| problem.to_string())?.to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let exchange = exchange.clone();
            thread::spawn(move || answer(stream, &exchange));
        }
    });
    Ok(address)
}

/// Until the client is gone.
fn answer(mut stream: TcpStream, exchange: &Exchange) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = vec![0; exchange.request.len()];
    let mut response = exchange.response.to_vec();
    loop {
        stream.read_exact(&mut request)?;
        // Behind size, key and version there; behind the size here.
        if let (Some(to), Some(from)) = (response.get_mut(4..8), request.get(8..12)) {
            to.copy_from_slice(from);
        }
        stream.write_all(&response)?;
    }
}

fn ask(stream: &mut TcpStream, exchange: &Exchange, window: usize, count: usize) -> std::io::Result<()> {
    let mut request = exchange.request.to_vec();
    let mut response = vec![0; exchange.response.len()];
    let (mut sent, mut received) = (0u32, 0u32);
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let window = u32::try_from(window).unwrap_or(1);
    while received < count {
        while sent < count && sent - received < window {
            if let Some(to) = request.get_mut(8..12) {
                to.copy_from_slice(&sent.to_be_bytes());
            }
            stream.write_all(&request)?;
            sent += 1;
        }
        stream.read_exact(&mut response)?;
        let id = response.get(4..8).unwrap_or_default();
        assert_eq!(id, received.to_be_bytes(), "answers come in order");
        received += 1;
    }
    Ok(())
}
