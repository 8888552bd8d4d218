//! Registration of brokers.

use super::{Command, Decision, Entropy, Refusal};
use crate::entry::Entry;
use crate::{Broker, Endpoint, ErrorCode, Image};

/// A broker says where it is reached; at each start, and when its listeners change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterBroker {
    pub id: i32,
    pub rack: Option<String>,
    pub endpoints: Vec<Endpoint>,
}

impl Command for RegisterBroker {
    /// The broker's epoch: above that of every registration before.
    type Reply = i64;

    fn decide(&self, image: &Image, _entropy: Entropy<'_>) -> Result<Decision<Self::Reply>, Refusal> {
        // As in Kafka, the place of the registration in the metadata log.
        let epoch = image.version() + 1;
        let broker =
            Broker { id: self.id, epoch, rack: self.rack.clone(), endpoints: self.endpoints.clone() };
        Ok(Decision { entries: vec![Entry::Broker(broker)], reply: epoch })
    }
}

/// UnregisterBroker (`broker-core.md` 22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnregisterBroker {
    pub id: i32,
}

impl Command for UnregisterBroker {
    type Reply = ();

    fn decide(&self, image: &Image, _entropy: Entropy<'_>) -> Result<Decision<Self::Reply>, Refusal> {
        if image.broker_by_id(self.id).is_none() {
            let message = format!("Broker {} is not registered", self.id);
            return Err(Refusal::new(ErrorCode::BROKER_ID_NOT_REGISTERED, message));
        }
        Ok(Decision { entries: vec![Entry::BrokerRemoved { id: self.id }], reply: () })
    }
}
