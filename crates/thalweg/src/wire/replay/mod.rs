//! `thalweg wire replay`: asks a broker again what was recorded, and compares the answers.
//!
//! Requests go out on a connection for each recorded one, in the recorded order, and an answer is awaited where the
//! recording has it: so what overlapped then overlaps again, and what followed an answer follows it. Ids that the broker
//! gives (members, topics, producers, sessions, leader epochs) are learnt from the answers and put into later requests.
//! All requests go to the one address, whichever broker they went to then.
//!
//! Exit codes: 0 all answers are equal; 1 the recording can't be read on; 2 there is no such file, or it is no recording;
//! 3 it has no such connection; 5 the broker can't be reached; 6 differences.

mod compare;
mod ids;
mod translate;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use client::Connection;
use explain::Direction;
use wire::json::Json;

use super::form::USAGE;
use super::proxy::line::{api_name, int};
use super::proxy::rewrite::Address;
use super::record::{Entry, Frame, Recording, is_recording};
use crate::cli::{FAILED, Failure, NOT_FOUND, Output, UNREACHABLE, print};
use compare::{Difference, compare};
use ids::Ids;
use translate::translate;

const DIFFERENT: u8 = 6;
/// Connections that are open at the same time.
const CONNECTIONS_MAX: usize = 1024;

/// Sends the requests of a recording again.
#[derive(Debug, clap::Args)]
pub(crate) struct Replay {
    /// A recording of `thalweg wire proxy --record`.
    file: PathBuf,
    /// The broker that is asked.
    #[arg(long, value_name = "HOST:PORT")]
    to: Address,
    /// Compare each answer with the recorded one, field by field; times, addresses and ids are seen through.
    #[arg(long)]
    compare: bool,
    /// Only these connections of the recording.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    connection: Vec<u64>,
    /// Show passwords, tokens and SASL bytes that differ.
    #[arg(long)]
    show_secrets: bool,
    /// How long an answer may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value = "text")]
    output: Output,
}

pub(crate) async fn run(arguments: Replay) -> Result<(), Failure> {
    let unreadable = |problem: String| {
        let text = format!("{}: {problem}", arguments.file.display());
        Failure::new(FAILED, text)
    };
    let recording = || open(&arguments.file);
    // Nothing is sent if what is asked for is not there.
    if !arguments.connection.is_empty() {
        if std::fs::metadata(&arguments.file).is_ok_and(|it| !it.is_file()) {
            let text =
                format!("{}: --connection reads it twice, so it has to be a file", arguments.file.display());
            return Err(Failure::new(USAGE, text));
        }
        let there = connections(recording()?).map_err(unreadable)?;
        if let Some(missing) = arguments.connection.iter().find(|it| !there.contains(it)) {
            return Err(no_connection(&arguments, *missing, &there));
        }
    }
    let mut replay = Replaying {
        arguments: &arguments,
        open: BTreeMap::new(),
        ids: Ids::default(),
        counts: Counts::default(),
    };
    for entry in recording()? {
        replay.entry(entry.map_err(unreadable)?).await?;
    }
    replay.finish()
}

/// Opens a file, which has to begin as a recording does.
fn open(path: &Path) -> Result<Recording<BufReader<File>>, Failure> {
    let unusable = |problem: io::Error| Failure::new(USAGE, format_args!("{}: {problem}", path.display()));
    let mut file = BufReader::new(File::open(path).map_err(unusable)?);
    if !is_recording(file.fill_buf().map_err(unusable)?) {
        return Err(unusable(io::Error::other("not a recording")));
    }
    Ok(Recording::new(file))
}

/// The connections that have frames.
fn connections(recording: Recording<impl BufRead>) -> Result<BTreeSet<u64>, String> {
    let mut there = BTreeSet::new();
    for entry in recording {
        if let Entry::Frame(frame) = entry? {
            there.insert(frame.connection);
        }
    }
    Ok(there)
}

fn no_connection(arguments: &Replay, missing: u64, there: &BTreeSet<u64>) -> Failure {
    /// Numbers that an error lists.
    const LISTED_MAX: usize = 10;
    let mut listed: Vec<String> = there.iter().take(LISTED_MAX).map(u64::to_string).collect();
    if there.len() > LISTED_MAX {
        listed.push(format!("and {} more", there.len() - LISTED_MAX));
    }
    let listed = if listed.is_empty() { "none".to_owned() } else { listed.join(", ") };
    let file = arguments.file.display();
    Failure::new(NOT_FOUND, format_args!("{file} has no connection {missing} with frames; it has {listed}"))
}

#[derive(Debug, Default)]
struct Counts {
    requests: u64,
    answers: u64,
    different: u64,
}

struct Replaying<'a> {
    arguments: &'a Replay,
    /// Connections of the recording; nothing where the broker closed ours.
    open: BTreeMap<u64, Option<Connection>>,
    ids: Ids,
    counts: Counts,
}

impl Replaying<'_> {
    async fn entry(&mut self, entry: Entry) -> Result<(), Failure> {
        match entry {
            Entry::Frame(frame) if frame.direction == Direction::Request => self.request(&frame).await,
            Entry::Frame(frame) => self.answer(&frame).await,
            Entry::Close { connection } => {
                self.open.remove(&connection);
                Ok(())
            }
            Entry::Cut => {
                // Who does not read stderr has the counts.
                let _ = writeln!(io::stderr(), "thalweg: the recording ends within a line");
                Ok(())
            }
            Entry::Head { .. } | Entry::Open { .. } | Entry::Raw { .. } => Ok(()),
        }
    }

    fn wanted(&self, frame: &Frame) -> bool {
        let all = self.arguments.connection.is_empty();
        (all || self.arguments.connection.contains(&frame.connection)) && frame.missing == 0
    }

    async fn request(&mut self, frame: &Frame) -> Result<(), Failure> {
        if !self.wanted(frame) {
            return Ok(());
        }
        if !self.open.contains_key(&frame.connection) {
            if self.open.len() >= CONNECTIONS_MAX {
                return Err(Failure::new(FAILED, format!("more than {CONNECTIONS_MAX} connections at once")));
            }
            let Address { host, port } = &self.arguments.to;
            let opened = Connection::connect((host.as_str(), *port), None).await;
            let unreachable =
                |problem| Failure::new(UNREACHABLE, format!("can't reach {host}:{port}: {problem}"));
            self.open.insert(frame.connection, Some(opened.map_err(unreachable)?));
        }
        let request = translate(&frame.bytes, &self.ids);
        let size = u32::try_from(request.len()).unwrap_or(u32::MAX).to_be_bytes();
        self.counts.requests += 1;
        let Some(Some(connection)) = self.open.get_mut(&frame.connection) else { return Ok(()) };
        // That the broker closed is seen where its answer is missed.
        let sent = connection.send_raw(&[&size[..], &request].concat()).await;
        if sent.is_err() {
            self.open.insert(frame.connection, None);
        }
        Ok(())
    }

    async fn answer(&mut self, frame: &Frame) -> Result<(), Failure> {
        // An answer whose request is not in the recording, because that began in its midst, is not awaited.
        if !self.wanted(frame) || !self.open.contains_key(&frame.connection) {
            return Ok(());
        }
        let answer = self.receive(frame.connection).await;
        self.counts.answers += 1;
        let differences = match answer {
            Ok(now) if self.arguments.compare => self.compared(frame, &now),
            Ok(_) => Vec::new(),
            Err(problem) => {
                self.open.insert(frame.connection, None);
                vec![Difference { path: String::new(), recorded: "an answer".to_owned(), now: problem }]
            }
        };
        self.counts.different += u64::from(!differences.is_empty());
        differences.iter().try_for_each(|it| self.tell(frame, it))
    }

    async fn receive(&mut self, connection: u64) -> Result<Bytes, String> {
        let Some(Some(connection)) = self.open.get_mut(&connection) else {
            return Err("the connection is closed".to_owned());
        };
        let patience = Duration::from_secs(self.arguments.timeout);
        match tokio::time::timeout(patience, connection.receive_raw()).await {
            Ok(answer) => answer.map_err(|problem| problem.to_string()),
            Err(_) => Err(format!("no answer in {} s", self.arguments.timeout)),
        }
    }

    fn compared(&mut self, frame: &Frame, now: &Bytes) -> Vec<Difference> {
        let Some((key, version)) = frame.api else { return Vec::new() };
        if frame.bytes.get(..4) != now.get(..4) {
            let id = |it: &Bytes| {
                it.first_chunk().map_or_else(String::new, |it| i32::from_be_bytes(*it).to_string())
            };
            let path = "Header.correlation_id".to_owned();
            return vec![Difference { path, recorded: id(&frame.bytes), now: id(now) }];
        }
        compare((key, version), &frame.bytes, now, &mut self.ids, self.arguments.show_secrets)
    }

    fn tell(&self, frame: &Frame, difference: &Difference) -> Result<(), Failure> {
        let Difference { path, recorded, now } = difference;
        let (name, version) = frame.api.map_or_else(
            || ("SASL token".into(), String::new()),
            |(key, version)| (api_name(key), format!(" v{version}")),
        );
        let id = frame.correlation_id.unwrap_or(0);
        let text = match self.arguments.output {
            Output::Text => {
                let at = if path.is_empty() { String::new() } else { format!(" {path}") };
                format!("#{} {name}{version} c={id}{at}: {recorded} recorded, {now} now", frame.connection)
            }
            Output::Json => {
                let string = |it: &str| Json::String(it.to_owned());
                let version = frame.api.map_or(Json::Null, |it| Json::Int(it.1.into()));
                Json::Object(vec![
                    ("connection".into(), int(frame.connection)),
                    ("api".into(), string(&name)),
                    ("version".into(), version),
                    ("correlationId".into(), Json::Int(id.into())),
                    ("path".into(), string(path)),
                    ("recorded".into(), string(recorded)),
                    ("now".into(), string(now)),
                ])
                .to_string()
            }
        };
        print(&text).map(|_| ())
    }

    fn finish(&self) -> Result<(), Failure> {
        let Counts { requests, answers, different } = self.counts;
        let text = match self.arguments.output {
            Output::Text => format!("{requests} requests, {answers} answers, {different} differ"),
            Output::Json => Json::Object(vec![
                ("requests".into(), int(requests)),
                ("answers".into(), int(answers)),
                ("different".into(), int(different)),
            ])
            .to_string(),
        };
        print(&text)?;
        if different > 0 {
            return Err(Failure::new(DIFFERENT, format!("{different} of {answers} answers differ")));
        }
        Ok(())
    }
}
