//! `thalweg wire proxy`: follows clients and brokers, and tells what they say.
//!
//! Nothing is changed on the way but addresses in answers (`rewrite.rs`), so that clients stay on the proxy. Each
//! broker that an answer names gets a listener of its own (`nodes.rs`); its port is printed.
//!
//! Exit codes: 130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP, as of every command that a signal ends (`cli.md`
//! 4.3); 0 when nobody reads stdout any more; 1 if the recording could not be written, whatever ended the proxy; 2 wrong
//! usage; 5 the address to listen on can't be had.

mod accept;
mod buffer;
mod connection;
pub(crate) mod errors;
mod filter;
pub(crate) mod line;
mod nodes;
mod output;
pub(crate) mod pairs;
mod permits;
pub(crate) mod rewrite;
mod tree;

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::form::USAGE;
use crate::cli::{FAILED, Failure, Output as Format, UNREACHABLE};
use filter::Filter;
use nodes::Nodes;
use output::Output;
use permits::Permits;
use rewrite::Address;

/// Clients at the same time. Further ones wait until one of them is gone.
const CONNECTIONS_MAX: usize = 4096;
/// How long a broker has to take a connection.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// What shells give for a process that the signal ended: 128 and its number.
const HUNG_UP: u8 = 129;
const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;

/// Stands between clients and brokers, and prints or records every request and response.
#[derive(Debug, clap::Args)]
pub(crate) struct Proxy {
    /// Where clients connect; port 0 takes a free one and prints it.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: String,
    /// The broker that the clients mean.
    #[arg(long, value_name = "HOST:PORT")]
    upstream: Address,
    /// Record all that passes into this new file (docs/recording.md).
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print only frames for which all these hold: api=Fetch,Produce client=app connection=1 version>3 size>1000
    /// latency>5 error error=NAME request response; ! before one turns it round.
    #[arg(long, value_name = "EXPR")]
    filter: Option<Filter>,
    /// Print the whole tree of each frame.
    #[arg(long, conflicts_with = "quiet")]
    tree: bool,
    /// Print no frames.
    #[arg(short, long)]
    quiet: bool,
    /// The host that clients are told; the default is where they reached the proxy.
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    /// First port of the listeners for further brokers; the default is any free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    first_port: u16,
    /// Leave addresses in answers as they are.
    #[arg(long)]
    keep_addresses: bool,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value = "text")]
    output: Format,
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    output: Output,
    nodes: Nodes,
    rewrites: bool,
    advertise: Option<String>,
    connections: Arc<Permits>,
    /// KiB of frames that are held.
    held: Arc<Permits>,
    last_connection: AtomicU64,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, port) = text.rsplit_once(':').ok_or("expected HOST:PORT")?;
        let port = port.parse().map_err(|_| format!("{port:?} is not a port"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        Ok(Self { host: host.to_owned(), port })
    }
}

/// Runs the proxy until it is told to stop. Gives the exit code.
pub(crate) fn run(arguments: Proxy) -> Result<ExitCode, Failure> {
    let upstream = format!("{}:{}", arguments.upstream.host, arguments.upstream.port);
    let lines = !arguments.quiet;
    let mut output =
        Output::new(lines, arguments.output == Format::Json, arguments.tree, arguments.filter.clone());
    if let Some(file) = &arguments.record {
        let failed = |problem| Failure::new(FAILED, format!("{}: {problem}", file.display()));
        output = output.record(file, &upstream).map_err(failed)?;
    }
    // Connections have threads of their own; this one waits for signals, so that a line that nobody reads is not in the
    // way. What threads still do after that is neither printed nor recorded.
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|problem| Failure::new(FAILED, problem))?;
    let (shared, end) = runtime.block_on(serve(arguments, output))?;
    let failed = |problem| Failure::new(FAILED, format!("recording: {problem}"));
    shared.output.finish().map_err(failed)?;
    summary(&shared.output);
    Ok(ExitCode::from(end))
}

/// Gives the exit code for what ended it.
async fn serve(arguments: Proxy, output: Output) -> Result<(Arc<Shared>, u8), Failure> {
    let failed = |problem: std::io::Error| Failure::new(FAILED, problem);
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    let unbound = |problem: std::io::Error| {
        // What is no address at all is not one that can't be had.
        let code = if problem.kind() == ErrorKind::InvalidInput { USAGE } else { UNREACHABLE };
        Failure::new(code, format!("{}: {problem}", arguments.listen))
    };
    // `:PORT` is that port on every address of this machine.
    let any = if arguments.listen.starts_with(':') { "0.0.0.0" } else { "" };
    let listener = TcpListener::bind(format!("{any}{}", arguments.listen)).map_err(unbound)?;
    let address: SocketAddr = listener.local_addr().map_err(failed)?;
    let upstream = arguments.upstream;
    let shared = Arc::new(Shared {
        output,
        nodes: Nodes::new(address, upstream.clone(), arguments.first_port),
        rewrites: !arguments.keep_addresses,
        advertise: arguments.advertise,
        connections: Permits::new(CONNECTIONS_MAX),
        held: Permits::new(connection::HELD_BYTES_MAX >> 10),
        last_connection: AtomicU64::new(0),
    });
    shared.output.listening(&address.to_string(), &format!("{}:{}", upstream.host, upstream.port));
    accept::start(&shared, listener, upstream).map_err(failed)?;
    let end = tokio::select! {
        _ = terminate.recv() => TERMINATED,
        _ = interrupt.recv() => INTERRUPTED,
        _ = hangup.recv() => HUNG_UP,
        () = shared.output.broken() => 0,
    };
    Ok((shared, end))
}

/// What passed, for whoever watched it.
fn summary(output: &Output) {
    use std::io::Write as _;
    let counters = &output.counters;
    let get = |it: &AtomicU64| it.load(Ordering::Relaxed);
    let text = format!(
        "{} connections, {} requests, {} responses, {} with other addresses, {} odd",
        get(&counters.connections),
        get(&counters.requests),
        get(&counters.responses),
        get(&counters.rewritten),
        get(&counters.problems),
    );
    // Who does not read stderr does not want to know.
    let _ = writeln!(std::io::stderr(), "thalweg: {text}");
}
