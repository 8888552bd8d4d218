//! Files of many frames for `thalweg wire decode`: recordings of the proxy, and captures of a network. Each frame is a
//! line and a tree; requests and answers are paired, so that every answer has its API, version and latency.
//!
//! Exit code 1 if a frame has an error, or would not be written again in the same bytes.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use explain::text::Style;
use explain::{Direction, Explained, Options};
use wire::frame::{request_header_version, response_header_version};
use wire::json::Json;
use wire::{EVERY_MESSAGE, Message as _, Reader, RequestHeader, ResponseHeader, table};

use super::form::{Form, USAGE, View};
use super::pcap::{self, Captured};
use super::proxy::errors::errors;
use super::proxy::line::{Api, Line, clock, int};
use super::proxy::rewrite::version_of_answer;
use super::record::{Entry, Frame, Recording, is_recording};
use crate::cli::{FAILED, Failure, Progress, print};

/// Files of many frames, and what is shown of each.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Captures {
    /// A network capture (pcap, pcapng) or a recording, `-` for stdin; such a file is also known when it is the input.
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    pcap: Option<PathBuf>,
    /// Of network captures and recordings: a line for each frame and what is wrong with it, without its tree.
    #[arg(long)]
    lines: bool,
}

/// What is shown of each frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    view: View,
    tree: bool,
    style: Style,
}

impl Captures {
    /// The file, if there is one. Lines are of nothing else.
    pub(crate) fn file(&self, input: Option<&str>) -> Option<PathBuf> {
        let named = || input.map(PathBuf::from).filter(|it| self.lines || has_captures(it));
        self.pcap.clone().or_else(named)
    }

    pub(crate) fn shown(&self, form: &Form) -> Shown {
        Shown { view: form.output, tree: !self.lines, style: form.style() }
    }
}

/// Whether a file is a recording or a capture. Of stdin nothing is taken; what was looked at in a pipe with a name would
/// be gone.
fn has_captures(file: &Path) -> bool {
    if file == Path::new("-") {
        return io::stdin().lock().fill_buf().is_ok_and(has_frames);
    }
    let is_file = std::fs::metadata(file).is_ok_and(|it| it.is_file());
    is_file && File::open(file).is_ok_and(|it| BufReader::new(it).fill_buf().is_ok_and(has_frames))
}

/// Whether bytes begin as a recording or a capture does.
pub(crate) fn has_frames(start: &[u8]) -> bool {
    is_recording(start) || pcap::is_capture(start)
}

/// Prints all frames of a recording or capture.
pub(crate) fn decode(file: &Path, options: &Options, shown: Shown) -> Result<(), Failure> {
    let mut decoding = Decoding { options, shown, counts: Counts::default(), ended: false };
    // What comes through a pipe may be a network that is watched, which has no end.
    let mut progress = (file != Path::new("-")).then(|| Progress::new("frames and notes", 0));
    let done = read(file, &mut |it| {
        progress.iter_mut().for_each(Progress::step);
        decoding.take(it)
    });
    drop(progress);
    match done {
        Err(End::Problem(problem)) => Err(Failure::new(FAILED, problem)),
        Err(End::Failure(failure)) => Err(failure),
        Ok(()) | Err(End::Quiet) => decoding.finish(),
    }
}

/// Why reading ended early.
enum End {
    Problem(String),
    Failure(Failure),
    /// Nobody reads any more.
    Quiet,
}

impl From<String> for End {
    fn from(problem: String) -> Self {
        Self::Problem(problem)
    }
}

fn read(file: &Path, each: &mut dyn FnMut(Captured) -> Result<(), End>) -> Result<(), End> {
    let named = |problem: String| End::Problem(format!("{}: {problem}", file.display()));
    let (input, recorded_here) = open(file).map_err(End::Failure)?;
    if !recorded_here {
        return pcap::read(file, input, each);
    }
    // What has no time of its own has that of the line before it.
    let mut now = 0;
    for entry in Recording::new(input) {
        let entry = entry.map_err(named)?;
        let note = |connection, text| Captured::Note { at_us: now, connection, text };
        each(match entry {
            Entry::Head { at_us, upstream } => {
                now = at_us;
                Captured::Note { at_us, connection: 0, text: format!("recorded before {upstream}") }
            }
            Entry::Open { connection, upstream } => note(connection, format!("opened to {upstream}")),
            Entry::Close { connection } => note(connection, "closed".to_owned()),
            Entry::Cut => note(0, "the recording ends within a line".to_owned()),
            Entry::Raw { connection, direction, bytes } => {
                note(connection, format!("{} bytes of the {}s in no frame", bytes.len(), direction.as_str()))
            }
            Entry::Frame(frame) => {
                now = frame.at_us;
                recorded(frame)
            }
        })?;
    }
    Ok(())
}

/// Opens a file, which has to begin as a recording or a capture does; whether it is a recording.
fn open(file: &Path) -> Result<(BufReader<Box<dyn Read + Send>>, bool), Failure> {
    let unusable = |problem: io::Error| Failure::new(USAGE, format_args!("{}: {problem}", file.display()));
    let input: Box<dyn Read + Send> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(file).map_err(unusable)?)
    };
    let mut input = BufReader::new(input);
    let start = input.fill_buf().map_err(unusable)?;
    let recorded_here = is_recording(start);
    if !recorded_here && !pcap::is_capture(start) {
        return Err(unusable(io::Error::other("neither a recording nor a capture")));
    }
    Ok((input, recorded_here))
}

fn recorded(frame: Frame) -> Captured {
    let Frame { connection, direction, at_us, bytes, .. } = frame;
    let size = bytes.len() + frame.missing;
    let api = frame.api.map(|(key, version)| Api {
        key,
        version,
        correlation_id: frame.correlation_id.unwrap_or(0),
    });
    let mut line = Line {
        at_us,
        connection,
        direction,
        api,
        client_id: frame.client_id,
        size,
        latency: frame.latency_us.map(std::time::Duration::from_micros),
        errors: errors_of(direction, api, &bytes),
        notes: frame.notes,
    };
    if frame.missing > 0 {
        line.notes.push(format!("{} bytes are missing", frame.missing));
    }
    let prefix = u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes();
    Captured::Frame(line, Bytes::from([&prefix[..], &bytes].concat()))
}

fn errors_of(direction: Direction, api: Option<Api>, answer: &Bytes) -> super::proxy::errors::Errors {
    let Some(api) = api.filter(|_| direction == Direction::Response) else { return Default::default() };
    errors(api.key, version_of_answer(api.key, api.version, answer), answer).unwrap_or_default()
}

#[derive(Debug, Default)]
struct Counts {
    frames: u64,
    /// With an error of the bytes, not of what they say.
    broken: u64,
    otherwise: u64,
}

struct Decoding<'a> {
    options: &'a Options,
    shown: Shown,
    counts: Counts,
    ended: bool,
}

impl Decoding<'_> {
    fn take(&mut self, captured: Captured) -> Result<(), End> {
        let text = match captured {
            Captured::Note { at_us, connection, text } => match self.shown.view {
                View::Text => format!("{} #{connection} {}", clock(at_us), explain::text::plain(&text)),
                View::Json | View::Kafka => Json::Object(vec![
                    ("note".into(), int(connection)),
                    ("atUs".into(), int(at_us)),
                    ("text".into(), Json::String(text)),
                ])
                .to_string(),
            },
            Captured::Frame(line, frame) => self.frame(line, &frame),
        };
        match print(&text) {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.ended = true;
                Err(End::Quiet)
            }
            Err(failure) => Err(End::Failure(failure)),
        }
    }

    fn frame(&mut self, mut line: Line, frame: &Bytes) -> String {
        self.counts.frames += 1;
        let explained = self.explained(&line, frame);
        let broken = explained.as_ref().is_some_and(Explained::has_errors);
        self.counts.broken += u64::from(broken);
        if !broken && let Some(false) = line.api.and_then(|api| rewritten(line.direction, api, frame)) {
            self.counts.otherwise += 1;
            line.notes.push("would be written in other bytes".to_owned());
        }
        if self.shown.view == View::Text {
            return self.text(&line, explained.as_ref());
        }
        let mut fields = line.json();
        if let (true, Some(it)) = (self.shown.tree, &explained) {
            match self.shown.view {
                View::Kafka => fields.extend(explain::json::kafka(it).ok().map(|it| ("message".into(), it))),
                View::Text | View::Json => fields.push(("tree".into(), explain::json::of(it))),
            }
        }
        Json::Object(fields).to_string()
    }

    fn text(&self, line: &Line, explained: Option<&Explained>) -> String {
        let mut out = line.text();
        let Some(explained) = explained else { return out };
        if self.shown.tree {
            out.push('\n');
            out.push_str(explain::text::tree(explained, self.shown.style).trim_end());
        }
        for diagnostic in explained.diagnostics() {
            out.push_str(&format!("\n  {diagnostic}"));
        }
        out
    }

    fn explained(&self, line: &Line, frame: &Bytes) -> Option<Explained> {
        let api = line.api?;
        Some(match line.direction {
            Direction::Request => explain::request(frame, self.options),
            Direction::Response => explain::response(frame, api.key, api.version, self.options),
        })
    }

    fn finish(&self) -> Result<(), Failure> {
        let Counts { frames, broken, otherwise } = self.counts;
        if self.ended {
            return Ok(());
        }
        let text =
            format!("{frames} frames, {broken} with errors, {otherwise} would be written in other bytes");
        if self.shown.view == View::Text {
            print(&text)?;
        }
        if broken + otherwise > 0 { Err(Failure::new(FAILED, text)) } else { Ok(()) }
    }
}

/// Whether a frame that is decoded and encoded again has the same bytes; nothing if its API or version is unknown.
fn rewritten(direction: Direction, api: Api, frame: &Bytes) -> Option<bool> {
    let (request, response) = table::api(api.key)?;
    let content = frame.slice(4.min(frame.len())..);
    let mut reader = Reader::new(content.clone());
    let mut writer = wire::Writer::new();
    let (message, version) = match direction {
        Direction::Request => {
            let version = request_header_version(api.key, api.version)?;
            RequestHeader::decode(&mut reader, version).ok()?.encode(&mut writer, version).ok()?;
            (request, api.version)
        }
        Direction::Response => {
            let body = version_of_answer(api.key, api.version, &content);
            let version = response_header_version(api.key, body)?;
            ResponseHeader::decode(&mut reader, version).ok()?.encode(&mut writer, version).ok()?;
            (response, body)
        }
    };
    if !message.versions.contains(version) {
        return None;
    }
    let erased = EVERY_MESSAGE.iter().find(|it| it.table.name == message.name)?;
    let again = (erased.roundtrip)(reader.rest(), version).ok().map(|it| it.0);
    let header = writer.into_bytes();
    Some(again.is_some_and(|body| [&header[..], &body].concat() == content))
}
