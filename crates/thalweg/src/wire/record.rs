//! Recordings of connections (`docs/recording.md`): what passed a proxy, line by line, to be read by people, by other
//! programs, by `thalweg wire decode` and by `thalweg wire replay`.
//!
//! Every line is a JSON object. Bytes stand in hex, so that those of one frame can be given to `thalweg wire decode` as
//! they are. A frame larger than [`PART_BYTES`] goes on in lines of its own, so that neither side holds much.

use std::borrow::Cow;
use std::io::{self, BufRead, Read as _, Write};

use explain::Direction;
use wire::json::{self, Json};

use super::proxy::line::{Line, int};

/// Bytes of a frame in one line, at most.
pub(crate) const PART_BYTES: usize = 1 << 20;
/// The longest line that is read: the hex of a part and room for the rest.
const LINE_BYTES_MAX: usize = 4 << 20;
/// The number in the first line; a reader refuses others.
const FORMAT: i64 = 1;

/// Writes a recording.
#[derive(Debug)]
pub(crate) struct Recorder<W: Write>(W);

impl<W: Write> Recorder<W> {
    /// Writes the first line.
    pub(crate) fn new(out: W, at_us: u64, upstream: &str) -> io::Result<Self> {
        let mut recorder = Self(out);
        let upstream = ("upstream".into(), Json::String(upstream.to_owned()));
        let software = concat!("thalweg ", env!("CARGO_PKG_VERSION"));
        let software = ("software".into(), Json::String(software.to_owned()));
        recorder.line(
            vec![("recording".into(), Json::Int(FORMAT)), ("atUs".into(), int(at_us)), software, upstream],
            &[],
        )?;
        Ok(recorder)
    }

    /// A connection was opened by `client` and goes on to `upstream`.
    pub(crate) fn open(
        &mut self,
        connection: u64,
        at_us: u64,
        client: &str,
        upstream: &str,
    ) -> io::Result<()> {
        let fields = vec![
            ("open".into(), int(connection)),
            ("atUs".into(), int(at_us)),
            ("client".into(), Json::String(client.to_owned())),
            ("upstream".into(), Json::String(upstream.to_owned())),
        ];
        self.line(fields, &[])
    }

    /// A frame, or its first bytes: size included, at most [`PART_BYTES`]; what lacks follows with `more`.
    pub(crate) fn frame(&mut self, line: &Line, bytes: &[u8]) -> io::Result<()> {
        let (first, rest) = bytes.split_at(bytes.len().min(PART_BYTES));
        self.line(line.json(), first)?;
        self.more(line.connection, line.direction, rest)
    }

    /// More bytes of the last frame of that connection and direction.
    pub(crate) fn more(&mut self, connection: u64, direction: Direction, bytes: &[u8]) -> io::Result<()> {
        self.parts("more", connection, direction, bytes)
    }

    /// Bytes that are in no frame.
    pub(crate) fn raw(&mut self, connection: u64, direction: Direction, bytes: &[u8]) -> io::Result<()> {
        self.parts("raw", connection, direction, bytes)
    }

    fn parts(
        &mut self,
        name: &'static str,
        connection: u64,
        direction: Direction,
        bytes: &[u8],
    ) -> io::Result<()> {
        for part in bytes.chunks(PART_BYTES) {
            let of = ("of".into(), Json::String(direction.as_str().to_owned()));
            self.line(vec![(name.into(), int(connection)), of], part)?;
        }
        Ok(())
    }

    /// A connection ended.
    pub(crate) fn close(&mut self, connection: u64, at_us: u64) -> io::Result<()> {
        self.line(vec![("close".into(), int(connection)), ("atUs".into(), int(at_us))], &[])
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn line(&mut self, fields: Vec<(Cow<'static, str>, Json)>, bytes: &[u8]) -> io::Result<()> {
        let mut text = Json::Object(fields).to_string();
        if !bytes.is_empty() {
            text.pop();
            text.reserve(2 * bytes.len() + 16);
            text.push_str(",\"hex\":\"");
            push_hex(&mut text, bytes);
            text.push_str("\"}");
        }
        text.push('\n');
        self.0.write_all(text.as_bytes())
    }
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    let digit = |it: u8| char::from_digit(u32::from(it), 16).unwrap_or('0');
    for it in bytes {
        out.push(digit(it >> 4));
        out.push(digit(it & 15));
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |it: u8| char::from(it).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|it| if let [a, b] = it { Some(digit(*a)? << 4 | digit(*b)?) } else { None }).collect()
}

/// A line of a recording.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// The first line.
    Head {
        at_us: u64,
        upstream: String,
    },
    Open {
        connection: u64,
        upstream: String,
    },
    Frame(Frame),
    /// Bytes that are in no frame.
    Raw {
        connection: u64,
        direction: Direction,
        bytes: Vec<u8>,
    },
    Close {
        connection: u64,
    },
    /// The last line is not whole: whoever wrote the recording was killed, or had no room.
    Cut,
}

/// A frame of a recording.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) connection: u64,
    pub(crate) direction: Direction,
    pub(crate) at_us: u64,
    /// Key and version; nothing for what has none, as raw SASL tokens.
    pub(crate) api: Option<(i16, i16)>,
    pub(crate) correlation_id: Option<i32>,
    pub(crate) latency_us: Option<u64>,
    pub(crate) client_id: String,
    pub(crate) notes: Vec<String>,
    /// The frame without its size.
    pub(crate) bytes: bytes::Bytes,
    /// Bytes that should be there but are not: the connection or the recording ended within the frame.
    pub(crate) missing: usize,
}

/// Reads a recording line by line. Holds one frame of each connection and direction whose parts are not all there.
pub(crate) struct Recording<R> {
    input: R,
    line: u64,
    /// A frame that goes on in later lines, with what it has, by connection and direction.
    partial: Vec<(Frame, Vec<u8>, usize)>,
    done: std::collections::VecDeque<Entry>,
    ended: bool,
}

/// Frames that go on at the same time, at most; one of each direction of a connection.
const PARTIAL_MAX: usize = 1024;
/// Bytes of a frame that are put together; of a larger one the others are missing.
const FRAME_BYTES_MAX: usize = 1 << 29;

impl<R: BufRead> Recording<R> {
    pub(crate) const fn new(input: R) -> Self {
        let done = std::collections::VecDeque::new();
        Self { input, line: 0, partial: Vec::new(), done, ended: false }
    }

    /// The next line, or nothing at the end.
    fn read(&mut self) -> Result<Option<Json>, String> {
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut bytes);
        read.map_err(|problem| problem.to_string())?;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        let text = std::str::from_utf8(&bytes).map_err(|_| "not text".to_owned());
        let line = text.and_then(|it| json::parse(it).map_err(|problem| problem.to_string()));
        let cut = self.line > 1 && !bytes.ends_with(b"\n") && bytes.len() < LINE_BYTES_MAX;
        match line {
            Err(_) if cut => {
                self.done.push_back(Entry::Cut);
                Ok(None)
            }
            line => line.map(Some).map_err(|problem| self.problem(&problem)),
        }
    }

    fn problem(&self, what: &str) -> String {
        format!("line {}: {what}", self.line)
    }

    fn take(&mut self, line: &Json) -> Result<(), String> {
        let number = |key: &str| match line.get(key) {
            Some(Json::Int(it)) => Some(*it),
            _ => None,
        };
        let text = |key: &str| match line.get(key) {
            Some(Json::String(it)) => it.clone(),
            _ => String::new(),
        };
        let unsigned = |key: &str| number(key).and_then(|it| u64::try_from(it).ok());
        let at_us = unsigned("atUs").unwrap_or(0);
        let bytes = unhex(&text("hex")).ok_or_else(|| self.problem("hex with a foreign letter"))?;
        if self.line == 1 {
            return match number("recording") {
                Some(FORMAT) => {
                    self.done.push_back(Entry::Head { at_us, upstream: text("upstream") });
                    Ok(())
                }
                _ => Err("the first line is not that of a recording".to_owned()),
            };
        }
        if let Some(connection) = unsigned("open") {
            self.done.push_back(Entry::Open { connection, upstream: text("upstream") });
        } else if let Some(connection) = unsigned("close") {
            self.end_of(connection);
            self.done.push_back(Entry::Close { connection });
        } else if let Some(connection) = unsigned("more") {
            self.more(connection, direction(&text("of")), &bytes)?;
        } else if let Some(connection) = unsigned("raw") {
            self.done.push_back(Entry::Raw { connection, direction: direction(&text("of")), bytes });
        } else {
            let small = |key: &str| number(key).and_then(|it| i16::try_from(it).ok());
            let of = |name: &str| unsigned(name);
            let (connection, direction) = match (of("request"), of("response")) {
                (Some(connection), _) => (connection, Direction::Request),
                (None, Some(connection)) => (connection, Direction::Response),
                (None, None) => return Err(self.problem("a line of no kind that is known")),
            };
            let frame = Frame {
                connection,
                direction,
                at_us,
                api: small("apiKey").zip(small("version")),
                correlation_id: number("correlationId").and_then(|it| i32::try_from(it).ok()),
                latency_us: unsigned("latencyUs"),
                client_id: text("clientId"),
                notes: notes(line),
                bytes: bytes::Bytes::new(),
                missing: 0,
            };
            self.frame(frame, bytes, unsigned("size"))?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: Frame, bytes: Vec<u8>, size: Option<u64>) -> Result<(), String> {
        let size = size.and_then(|it| i32::try_from(it).ok()).and_then(|it| usize::try_from(it).ok());
        let size = size.ok_or_else(|| self.problem("a frame without a sensible size"))?;
        if bytes.len() > size + 4 {
            return Err(self.problem("more bytes than the frame has"));
        }
        if bytes.len() == size + 4 {
            self.finish(frame, bytes, size);
        } else if self.partial.len() < PARTIAL_MAX {
            self.partial.push((frame, bytes, size));
        } else {
            return Err(self.problem("too many frames in parts"));
        }
        Ok(())
    }

    fn finish(&mut self, frame: Frame, bytes: Vec<u8>, size: usize) {
        let missing = (size + 4).saturating_sub(bytes.len());
        let bytes = bytes::Bytes::from(bytes);
        let bytes = bytes.slice(bytes.len().min(4)..);
        self.done.push_back(Entry::Frame(Frame { bytes, missing, ..frame }));
    }

    fn more(&mut self, connection: u64, direction: Direction, more: &[u8]) -> Result<(), String> {
        let same =
            |it: &(Frame, Vec<u8>, usize)| it.0.connection == connection && it.0.direction == direction;
        let place = self.partial.iter().position(same);
        let place = place.ok_or_else(|| self.problem("a part without the begin of its frame"))?;
        let Some((_, bytes, size)) = self.partial.get_mut(place) else { return Ok(()) };
        let kept = more.len().min(FRAME_BYTES_MAX.saturating_sub(bytes.len()));
        bytes.extend_from_slice(more.get(..kept).unwrap_or_default());
        match (*size + 4).checked_sub(bytes.len()) {
            None => Err(self.problem("more bytes than the frame has")),
            Some(0) => {
                let (frame, bytes, size) = self.partial.remove(place);
                self.finish(frame, bytes, size);
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    /// What a connection left incomplete.
    fn end_of(&mut self, connection: u64) {
        while let Some(place) = self.partial.iter().position(|it| it.0.connection == connection) {
            let (frame, bytes, size) = self.partial.remove(place);
            self.finish(frame, bytes, size);
        }
    }
}

fn notes(line: &Json) -> Vec<String> {
    let Some(Json::Array(notes)) = line.get("notes") else { return Vec::new() };
    notes.iter().filter_map(|it| if let Json::String(it) = it { Some(it.clone()) } else { None }).collect()
}

fn direction(name: &str) -> Direction {
    if name == Direction::Response.as_str() { Direction::Response } else { Direction::Request }
}

impl<R: BufRead> Iterator for Recording<R> {
    type Item = Result<Entry, String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.done.pop_front() {
                return Some(Ok(entry));
            }
            if self.ended {
                return None;
            }
            match self.read() {
                Ok(Some(line)) => {
                    if let Err(problem) = self.take(&line) {
                        self.ended = true;
                        return Some(Err(problem));
                    }
                }
                Ok(None) => {
                    self.ended = true;
                    while let Some((frame, bytes, size)) = self.partial.pop() {
                        self.finish(frame, bytes, size);
                    }
                }
                Err(problem) => {
                    self.ended = true;
                    return Some(Err(problem));
                }
            }
        }
    }
}

/// Whether a file begins as a recording does.
pub(crate) fn is_recording(start: &[u8]) -> bool {
    start.starts_with(b"{\"recording\":")
}

#[cfg(test)]
mod tests {
    use super::super::proxy::line::tests::answer;
    use super::*;

    fn frame_of(size: usize) -> Vec<u8> {
        let mut bytes = u32::try_from(size).unwrap().to_be_bytes().to_vec();
        bytes.extend((0..=250).cycle().take(size));
        bytes
    }

    fn read(bytes: &[u8]) -> Vec<Entry> {
        Recording::new(bytes).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let (small, large) = (frame_of(10), frame_of(2 * PART_BYTES + 5));
        let mut out = Vec::new();
        let mut recorder = Recorder::new(&mut out, 7, "host:9092").unwrap();
        recorder.open(2, 8, "127.0.0.1:1", "host:9092").unwrap();
        recorder.frame(&Line { size: 10, ..answer() }, &small).unwrap();
        // A large frame of the other direction between whose parts something else stands.
        let line = Line { size: large.len() - 4, direction: Direction::Request, latency: None, ..answer() };
        recorder.frame(&line, &large[..100]).unwrap();
        recorder.frame(&Line { size: 10, ..answer() }, &small).unwrap();
        recorder.more(2, Direction::Request, &large[100..]).unwrap();
        recorder.raw(2, Direction::Response, b"HTTP").unwrap();
        recorder.frame(&Line { size: 10, ..answer() }, &small[..6]).unwrap();
        recorder.close(2, 9).unwrap();
        let entries = read(&out);
        assert!(is_recording(&out));
        assert_eq!(entries[0], Entry::Head { at_us: 7, upstream: "host:9092".to_owned() });
        assert_eq!(entries[1], Entry::Open { connection: 2, upstream: "host:9092".to_owned() });
        let Entry::Frame(first) = &entries[2] else { panic!("{:?}", entries[2]) };
        assert_eq!((first.api, first.correlation_id, first.latency_us), (Some((1, 17)), Some(9), Some(1500)));
        assert_eq!((first.bytes.as_ref(), first.missing), (&small[4..], 0));
        let Entry::Frame(whole) = &entries[4] else { panic!("{:?}", entries[4]) };
        assert_eq!((whole.direction, whole.bytes.as_ref()), (Direction::Request, &large[4..]));
        let raw = Entry::Raw { connection: 2, direction: Direction::Response, bytes: b"HTTP".to_vec() };
        assert_eq!(entries[5], raw);
        let Entry::Frame(cut) = &entries[6] else { panic!("{:?}", entries[6]) };
        assert_eq!((cut.bytes.as_ref(), cut.missing), (&small[4..6], 8));
        assert_eq!(entries[7], Entry::Close { connection: 2 });
        assert_eq!(entries.len(), 8);
    }

    /// What a killed proxy leaves is read up to there; a line that is wrong and whole is refused.
    #[test]
    fn a_cut_line_is_the_end() {
        let whole = "{\"recording\":1,\"atUs\":1}\n{\"close\":1}\n{\"close\":2}\n";
        let cut = whole.len() - "{\"close\":2}\n".len();
        for end in cut..whole.len() - 1 {
            let entries = read(&whole.as_bytes()[..end]);
            assert_eq!(entries.last() == Some(&Entry::Cut), end > cut, "{end}");
            assert_eq!(entries[1], Entry::Close { connection: 1 });
        }
        assert_eq!(read(whole.as_bytes()).len(), 3);
        let wrong = whole.replace("2}", "2");
        assert!(Recording::new(wrong.as_bytes()).any(|it| it.is_err()));
    }

    /// An answer may have any size, of which little may be there.
    #[test]
    fn the_largest_frame() {
        let line = "{\"response\":1,\"size\":2147483647,\"hex\":\"7fffffff00\"}\n{\"close\":1}\n";
        let entries = read(format!("{{\"recording\":1,\"atUs\":1}}\n{line}").as_bytes());
        let Entry::Frame(frame) = &entries[1] else { panic!("{entries:?}") };
        assert_eq!((frame.bytes.len(), frame.missing), (1, i32::MAX as usize - 1));
    }

    #[test]
    fn what_is_no_recording() {
        let head = "{\"recording\":1,\"atUs\":1}\n";
        let refused = |text: &str| Recording::new(text.as_bytes()).find_map(Result::err);
        for (text, problem) in [
            ("{\"recording\":2}\n", "first line"),
            ("nonsense\n", "line 1"),
            (&format!("{head}{{\"some\":1}}\n"), "line 2"),
            (&format!("{head}{{\"more\":1,\"of\":\"request\",\"hex\":\"00\"}}\n"), "without the begin"),
            (&format!("{head}{{\"request\":1,\"size\":1,\"hex\":\"zz\"}}\n"), "foreign letter"),
            (&format!("{head}{{\"request\":1,\"size\":1,\"hex\":\"000000010203\"}}\n"), "more bytes"),
        ] {
            let found = refused(text).unwrap_or_else(|| panic!("{text}"));
            assert!(found.contains(problem), "{found}");
        }
    }
}
