//! Listeners: the first one, and one for each broker that an answer names.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::nodes::Place;
use super::rewrite::Address;
use super::{Shared, connection};

/// Pause after a connection could not be taken, as when no file is left to open.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Takes connections for one broker until the proxy ends.
fn listen(shared: &Arc<Shared>, listener: &TcpListener, upstream: &Address) {
    loop {
        // At the limit new clients wait in the listener's own queue.
        let permit = shared.connections.acquire(1);
        let Ok((client, _)) = listener.accept() else {
            thread::sleep(AGAIN_AFTER);
            continue;
        };
        let id = shared.last_connection.fetch_add(1, Ordering::Relaxed) + 1;
        let (mine, upstream) = (Arc::clone(shared), upstream.clone());
        let spawned = thread::Builder::new().name("requests".to_owned()).spawn(move || {
            connection::serve(&mine, id, &client, &upstream);
            drop(permit);
        });
        // Without a thread the client is told by the end of its connection.
        if let Err(problem) = spawned {
            shared.output.note(id, &problem.to_string());
        }
    }
}

/// The port on which a broker is reached, which may be a new one.
///
/// # Errors
/// The address stays, and why.
pub(super) fn place(shared: &Arc<Shared>, told: &Address, peer: Option<SocketAddr>) -> Result<u16, String> {
    match shared.nodes.place(told, peer) {
        Place::Port(port) => Ok(port),
        Place::Stays(problem) => Err(problem),
        Place::Opened(listener, port) => {
            let address = listener.local_addr().map_err(|problem| problem.to_string())?;
            shared.output.listening(&address.to_string(), &format!("{}:{}", told.host, told.port));
            start(shared, listener, told.clone()).map_err(|problem| problem.to_string())?;
            Ok(port)
        }
    }
}

/// A thread of its own for a listener.
pub(super) fn start(shared: &Arc<Shared>, listener: TcpListener, upstream: Address) -> std::io::Result<()> {
    let shared = Arc::clone(shared);
    let listening = move || listen(&shared, &listener, &upstream);
    thread::Builder::new().name("accept".to_owned()).spawn(listening).map(|_| ())
}
