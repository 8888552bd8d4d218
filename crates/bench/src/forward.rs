//! The floor under the proxy: a forwarder that reads and writes, and does nothing else.
#![expect(clippy::print_stdout, reason = "whoever starts it needs its port")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

/// Room for one read: what is best for it. With twice as much, which is what the proxy has, a frame of 64 KiB costs half as much
/// again.
const READ_BYTES: usize = 128 << 10;

/// Forwards connections until it is killed. Prints its address first.
///
/// # Errors
/// No socket is to be had.
pub fn run(upstream: &str) -> Result<(), String> {
    let text = |problem: std::io::Error| problem.to_string();
    let listener = TcpListener::bind("127.0.0.1:0").map_err(text)?;
    println!("{}", listener.local_addr().map_err(text)?);
    loop {
        let (client, _) = listener.accept().map_err(text)?;
        let server = TcpStream::connect(upstream).map_err(text)?;
        for stream in [&client, &server] {
            stream.set_nodelay(true).map_err(text)?;
        }
        let (back, to) = (server.try_clone().map_err(text)?, client.try_clone().map_err(text)?);
        thread::spawn(move || copy(client, server));
        thread::spawn(move || copy(back, to));
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count) = from.read(&mut buffer) {
        let Some(bytes) = buffer.get(..count).filter(|it| !it.is_empty()) else { break };
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    // The other side may be gone already.
    let _ = to.shutdown(Shutdown::Write);
}
