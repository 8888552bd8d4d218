//! The order to stop: given once, heard by every task that asks.

use tokio::sync::watch;

/// Gives the order.
#[derive(Debug)]
pub(crate) struct Stopper(watch::Sender<bool>);

/// Hears the order, also if it was given before.
#[derive(Debug, Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

pub(crate) fn order() -> (Stopper, Stop) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Stop(receiver))
}

impl Stopper {
    pub(crate) fn give(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Returns when the order is given, or nobody is left who could give it.
    pub(crate) async fn given(&mut self) {
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }
}
