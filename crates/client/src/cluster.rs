//! A cluster as a tool meets it: the first broker that answers, what it serves, and who coordinates a group.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use wire::{ApiVersionsRequest, ErrorCode, FindCoordinatorRequest, Message, Request, Str};

use crate::{Connection, Error};

/// Version of ApiVersions that every broker since Kafka 2.4 answers.
const API_VERSIONS_VERSION: i16 = 3;
/// Pause before a coordinator that loads is asked again.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

/// What the tool calls itself.
#[derive(Debug, Clone, Copy)]
pub struct Software {
    pub name: &'static str,
    pub version: &'static str,
}

/// A broker that was asked what it serves.
#[derive(Debug)]
pub struct Broker {
    connection: Connection,
    software: Software,
    deadline: Instant,
    /// Highest and lowest version by API key.
    versions: BTreeMap<i16, (i16, i16)>,
}

/// Why a broker could not be used.
#[derive(Debug)]
pub enum Trouble {
    /// No address answered; the last reason.
    Unreachable {
        address: String,
        reason: String,
    },
    TimedOut,
    /// The broker does not serve the API, in no version that is known here.
    NotServed(&'static str),
    Broken(Error),
    Refused {
        code: ErrorCode,
        message: Option<String>,
    },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { address, reason } => write!(f, "can't reach {address}: {reason}"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::NotServed(name) => write!(f, "the broker does not serve {name}"),
            Self::Broken(error) => error.fmt(f),
            Self::Refused { code, message: Some(message) } => {
                write!(f, "{} ({}): {message}", code.name(), code.code())
            }
            Self::Refused { code, message: None } => write!(f, "{} ({})", code.name(), code.code()),
        }
    }
}

impl std::error::Error for Trouble {}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}

impl Broker {
    /// The first address that answers. All that is asked of it must be done by `deadline`.
    pub async fn connect(
        addresses: &[String],
        software: Software,
        deadline: Instant,
    ) -> Result<Self, Trouble> {
        let mut trouble =
            Trouble::Unreachable { address: "a broker".to_owned(), reason: "no address".to_owned() };
        for address in addresses {
            match Self::open(address, software, deadline).await {
                Ok(broker) => return Ok(broker),
                Err(Trouble::Broken(error)) => {
                    trouble = Trouble::Unreachable { address: address.clone(), reason: error.to_string() };
                }
                Err(other) => trouble = other,
            }
        }
        Err(trouble)
    }

    async fn open(address: &str, software: Software, deadline: Instant) -> Result<Self, Trouble> {
        let connection = in_time(deadline, Connection::connect(address, Some(software.name))).await?;
        let mut broker = Self { connection, software, deadline, versions: BTreeMap::new() };
        let asked = ApiVersionsRequest {
            client_software_name: Str::from_static(software.name),
            client_software_version: Str::from_static(software.version),
            ..Default::default()
        };
        let answer = in_time(deadline, broker.connection.call(API_VERSIONS_VERSION, &asked)).await?;
        let rows = answer.api_keys.iter().map(|it| (it.api_key, (it.min_version, it.max_version)));
        broker.versions = rows.collect();
        Ok(broker)
    }

    /// The broker that coordinates a group. One that does not know yet is asked again until the deadline.
    pub async fn coordinator(&mut self, group: &str) -> Result<Self, Trouble> {
        self.coordinator_of(GROUP, group).await
    }

    /// The broker that coordinates the transactions of a transactional id; else as [`Broker::coordinator`].
    pub async fn transaction_coordinator(&mut self, transactional_id: &str) -> Result<Self, Trouble> {
        self.coordinator_of(TRANSACTION, transactional_id).await
    }

    async fn coordinator_of(&mut self, key_type: i8, key: &str) -> Result<Self, Trouble> {
        loop {
            let asked = FindCoordinatorRequest {
                key_type,
                coordinator_keys: vec![Str::from(key)],
                ..Default::default()
            };
            let answer = self.call(4, 4, &asked).await?;
            let Some(found) = answer.coordinators.into_iter().next() else {
                return Err(Trouble::Refused { code: ErrorCode::COORDINATOR_NOT_AVAILABLE, message: None });
            };
            if found.error_code == ErrorCode::NONE {
                let address = format!("{}:{}", found.host, found.port);
                return Self::connect(&[address], self.software, self.deadline).await;
            }
            if !found.error_code.is_retriable() {
                let message = found.error_message.map(|it| it.to_string());
                return Err(Trouble::Refused { code: found.error_code, message });
            }
            self.pause().await?;
        }
    }

    /// Another broker of the cluster.
    pub async fn other(&self, host: &str, port: i32) -> Result<Self, Trouble> {
        Self::connect(&[format!("{host}:{port}")], self.software, self.deadline).await
    }

    /// Waits a little before a request is made again.
    pub async fn pause(&self) -> Result<(), Trouble> {
        if Instant::now() + AGAIN_AFTER > self.deadline {
            return Err(Trouble::TimedOut);
        }
        sleep(AGAIN_AFTER).await;
        Ok(())
    }

    /// From now on answers may take until then.
    pub fn until(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    /// The highest version within these bounds that the broker serves.
    pub fn version<R: Request>(&self, min: i16, max: i16) -> Option<i16> {
        let (low, high) = *self.versions.get(&R::KEY)?;
        let version = high.min(max);
        (version >= low.max(min)).then_some(version)
    }

    /// Asks in the highest version within the bounds that the broker serves.
    pub async fn call<R: Request>(
        &mut self,
        min: i16,
        max: i16,
        request: &R,
    ) -> Result<R::Response, Trouble> {
        let version = self.version::<R>(min, max).ok_or(Trouble::NotServed(<R as Message>::NAME))?;
        in_time(self.deadline, self.connection.call(version, request)).await
    }
}

async fn in_time<T>(deadline: Instant, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Trouble> {
    match timeout_at(deadline, answer).await {
        Ok(answer) => answer.map_err(Trouble::from),
        Err(_) => Err(Trouble::TimedOut),
    }
}
