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
    /// No address answered; each with its reason.
    Unreachable(Vec<Silent>),
    TimedOut,
    /// The broker does not serve the API, in no version that is known here.
    NotServed(&'static str),
    Broken(Error),
    Refused {
        code: ErrorCode,
        message: Option<String>,
    },
}

/// An address where no broker answered.
#[derive(Debug)]
pub struct Silent {
    pub address: String,
    pub reason: String,
}

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.address, self.reason)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(silent) if silent.is_empty() => f.write_str("no address of a broker is given"),
            Self::Unreachable(silent) => {
                let each: Vec<_> = silent.iter().map(ToString::to_string).collect();
                write!(f, "can't reach {}", each.join("; "))
            }
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
    /// The first address that answers. Each gets a share of the time, so that a silent one does not keep the others
    /// from being asked. All that is asked of the broker must be done by `deadline`.
    pub async fn connect(
        addresses: &[String],
        software: Software,
        deadline: Instant,
    ) -> Result<Self, Trouble> {
        let mut silent = Vec::new();
        for (address, left) in addresses.iter().zip((1..=addresses.len()).rev()) {
            let now = Instant::now();
            let share = deadline.saturating_duration_since(now) / u32::try_from(left).unwrap_or(u32::MAX);
            let reason = match Self::open(address, software, now + share).await {
                Ok(broker) => return Ok(Self { deadline, ..broker }),
                Err(Trouble::TimedOut) => format!("no answer within {}", seconds(share)),
                Err(Trouble::Broken(error)) => error.to_string(),
                Err(other) => other.to_string(),
            };
            silent.push(Silent { address: address.clone(), reason });
        }
        Err(Trouble::Unreachable(silent))
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

    /// The broker that coordinates a group. One that does not know yet is asked again until the deadline; then its last
    /// word is the error.
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
            if !found.error_code.is_retriable() || self.pause().await.is_err() {
                let message = found.error_message.map(|it| it.to_string()).filter(|it| !it.is_empty());
                return Err(Trouble::Refused { code: found.error_code, message });
            }
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

fn seconds(time: Duration) -> String {
    format!("{} s", (time.as_secs_f64() * 10.0).round() / 10.0)
}

async fn in_time<T>(deadline: Instant, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Trouble> {
    match timeout_at(deadline, answer).await {
        Ok(answer) => answer.map_err(Trouble::from),
        Err(_) => Err(Trouble::TimedOut),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{ApiVersionsResponse, api_versions::response::ApiVersion};

    const SOFTWARE: Software = Software { name: "test", version: "0" };

    /// A listener that takes connections and says nothing, and one that answers the first request.
    async fn silent_and_good() -> (tokio::net::TcpListener, String, String) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listen = || tokio::net::TcpListener::bind("127.0.0.1:0");
        let (silent, good) = (listen().await.unwrap(), listen().await.unwrap());
        let addresses = (silent.local_addr().unwrap().to_string(), good.local_addr().unwrap().to_string());
        tokio::spawn(async move {
            let (mut stream, _) = good.accept().await.unwrap();
            let mut size = [0; 4];
            stream.read_exact(&mut size).await.unwrap();
            let mut frame = vec![0; u32::from_be_bytes(size) as usize];
            stream.read_exact(&mut frame).await.unwrap();
            let correlation = i32::from_be_bytes(frame[4..8].try_into().unwrap());
            let row = ApiVersion { api_key: 18, min_version: 0, max_version: 3, ..Default::default() };
            let answer = ApiVersionsResponse { api_keys: vec![row], ..Default::default() };
            for chunk in wire::frame::encode_response(&answer, API_VERSIONS_VERSION, correlation).unwrap() {
                let wire::Chunk::Bytes(bytes) = chunk else { panic!("no files here") };
                stream.write_all(&bytes).await.unwrap();
            }
            sleep(Duration::from_secs(30)).await;
        });
        (silent, addresses.0, addresses.1)
    }

    #[tokio::test]
    async fn a_silent_address_leaves_time_for_the_next() {
        let (_silent, quiet, good) = silent_and_good().await;
        let deadline = Instant::now() + Duration::from_secs(2);
        let broker = Broker::connect(&[quiet, good], SOFTWARE, deadline).await.unwrap();
        assert_eq!(broker.deadline, deadline, "what is asked then has all of the time");
    }

    #[tokio::test]
    async fn all_that_did_not_answer_are_named() {
        let (_silent, quiet, _) = silent_and_good().await;
        let deadline = Instant::now() + Duration::from_millis(400);
        let nobody = "127.0.0.1:1".to_owned();
        let trouble =
            Broker::connect(&[quiet.clone(), nobody.clone()], SOFTWARE, deadline).await.unwrap_err();
        let said = trouble.to_string();
        assert!(said.starts_with(&format!("can't reach {quiet}: no answer within 0.")), "{said}");
        assert!(said.contains(&format!("; {nobody}: ")), "{said}");
    }
}
