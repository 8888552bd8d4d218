//! Listeners: the first one, and one for each broker that an answer names.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::TcpListener;

use super::nodes::Place;
use super::rewrite::Address;
use super::{Shared, connection};

/// Pause after a connection could not be taken, as when no file is left to open.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Takes connections for one broker until the proxy ends.
pub(super) async fn listen(shared: Arc<Shared>, listener: TcpListener, upstream: Address) {
    loop {
        // At the limit new clients wait in the listener's own queue.
        let Ok(permit) = Arc::clone(&shared.connections).acquire_owned().await else { return };
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(AGAIN_AFTER).await;
            continue;
        };
        let id = shared.last_connection.fetch_add(1, Ordering::Relaxed) + 1;
        let (shared, upstream) = (Arc::clone(&shared), upstream.clone());
        tokio::spawn(async move {
            connection::serve(shared, id, client, &upstream).await;
            drop(permit);
        });
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
            let bound = listener.local_addr().and_then(|it| Ok((TcpListener::from_std(listener)?, it)));
            let (listener, address) = bound.map_err(|problem| problem.to_string())?;
            shared.output.listening(&address.to_string(), &format!("{}:{}", told.host, told.port));
            tokio::spawn(listen(Arc::clone(shared), listener, told.clone()));
            Ok(port)
        }
    }
}
