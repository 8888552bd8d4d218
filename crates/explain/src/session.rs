//! The frames of a connection in their order: a response is read with its request (wire.md 18.2 and 18.3).

use std::collections::BTreeMap;

use bytes::Bytes;
use wire::Uuid;

use crate::candidates::{Candidate, candidates};
use crate::frame::{
    SASL_AUTHENTICATE, begins_as_authentication, begins_as_request, correlation_id, key_and_version, token,
};
use crate::node::{Diagnostic, Direction, Explained, Id, Severity, Value};
use crate::{Api, Lookup, Options, request, response};

/// Requests that wait for a response. Beyond it the oldest are forgotten.
const WAITING_MAX: usize = 10_000;
const SASL_HANDSHAKE: i16 = 17;
/// So far beyond the highest known version a request is still likely to be one, of a newer client.
const VERSIONS_AHEAD: i16 = 16;
/// Topics whose names are remembered.
const TOPICS_MAX: usize = 10_000;

/// What is known about frames from outside.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hint {
    pub direction: Option<Direction>,
    /// For a response whose request is not among the frames.
    pub api: Option<Api>,
    pub version: Option<i16>,
    /// Somebody took them for a body, so it is said of those with a secret why they are not read so.
    pub body: bool,
}

/// A conversation.
#[derive(Debug, Default)]
pub struct Session {
    options: Options,
    hint: Hint,
    /// API key and version by correlation id.
    waiting: BTreeMap<i32, (i16, i16)>,
    /// A handshake of version 0 was seen: what is no message after it is a token (wire.md 1.7).
    tokens: bool,
}

/// A frame, and what else it may be.
#[derive(Debug)]
pub struct Explanation {
    pub explained: Explained,
    /// For a lone response: everything that fits, the best first. The best is what was explained.
    pub candidates: Vec<Candidate>,
}

impl From<Explained> for Explanation {
    fn from(explained: Explained) -> Self {
        Self { explained, candidates: Vec::new() }
    }
}

impl Session {
    #[must_use]
    pub fn new(options: Options, hint: Hint) -> Self {
        Self { options, hint, ..Self::default() }
    }

    /// Explains the next frame, whose direction may be known.
    pub fn explain(&mut self, frame: &Bytes, direction: Option<Direction>) -> Explanation {
        let mut found = match direction.or(self.hint.direction) {
            Some(Direction::Request) => request(frame, &self.options).into(),
            Some(Direction::Response) => self.response(frame),
            None => self.either(frame),
        };
        if direction.is_none() {
            // What somebody says of a frame may be wrong; what it says itself protects its secrets.
            self.tokens |= key_and_version(frame) == Some((SASL_HANDSHAKE, 0)) && begins_as_request(frame);
            if let Some(secret) = self.secret(frame, &found.explained) {
                found = secret.into();
            } else if self.hint.body && is_request(&found.explained) && !found.explained.hidden.is_empty() {
                found.explained = instead(found.explained, "its own header");
            }
        }
        // A token that is read as something else may leave bytes over.
        let told = direction.is_none() && (self.hint.api.is_some() || self.hint.direction.is_some());
        if self.tokens && !reads_well(&found, told) {
            let direction = direction.or(self.hint.direction).unwrap_or(Direction::Request);
            return token(frame, direction, &self.options).into();
        }
        self.learn(&found.explained);
        found
    }

    /// The frame as its own header or the request before it has it, if that has a secret which was not seen as one.
    fn secret(&self, frame: &Bytes, found: &Explained) -> Option<Explained> {
        if self.options.show_secrets {
            return None;
        }
        let is_request = is_request(found);
        if !is_request && (begins_as_request(frame) || self.authenticates(frame)) {
            let own = request(frame, &self.options);
            if !own.hidden.is_empty() {
                return Some(instead(own, "its own header"));
            }
        }
        let asked = correlation_id(frame, Direction::Response).and_then(|it| self.waiting.get(&it))?;
        let as_asked = !is_request && found.api.map(|it| it.key) == Some(asked.0);
        let whole = is_request && self.hint.direction.is_none() && !found.has_errors();
        if as_asked || whole {
            return None;
        }
        let answer = response(frame, asked.0, asked.1, &self.options);
        (!answer.hidden.is_empty()).then(|| instead(answer, "the request before it"))
    }

    /// Whether it is a request to authenticate, in whatever version. A correlation id may look like one, that of an answer
    /// which reads well.
    fn authenticates(&self, frame: &Bytes) -> bool {
        let is_answer = || self.answer(frame).is_some_and(|it| !it.has_errors());
        begins_as_authentication(frame) && !is_answer()
    }

    /// A frame that may be either: what reads without an error.
    fn either(&mut self, frame: &Bytes) -> Explanation {
        let answer = match self.answer(frame) {
            Some(answer) if !answer.has_errors() => return answer.into(),
            it => it,
        };
        let asked = request(frame, &self.options);
        // A response may read as the beginning of a request.
        let whole = asked.diagnostics().iter().all(|it| it.id != Id::Trailing);
        if whole && !asked.has_errors() {
            return asked.into();
        }
        if self.hint.api.is_some() {
            return self.response(frame);
        }
        // A request that is not well is more likely than a response that happens to read as something, but for key 0:
        // small correlation ids look like it.
        let likely = asked.message.zip(asked.version).is_some_and(|(it, version)| {
            let near = 0..=it.versions.high.saturating_add(VERSIONS_AHEAD);
            it.versions.contains(version) || (near.contains(&version) && only_the_version_is_wrong(&asked))
        });
        if likely && asked.api.is_some_and(|it| it.key != 0) {
            return asked.into();
        }
        // Nothing can be read of an API that nobody knows, be it asked or answered (wire.md 18.2.2).
        if let Some(answer) = answer.filter(|it| it.api.is_none()) {
            return answer.into();
        }
        if asked.api.is_none() && begins_as_request(frame) {
            return asked.into();
        }
        let lone = self.lone(frame);
        if lone.candidates.is_empty() { asked.into() } else { lone }
    }

    fn response(&mut self, frame: &Bytes) -> Explanation {
        if let Some(api) = self.hint.api {
            let version = self.hint.version.unwrap_or(api.response.versions.high);
            let mut explained = response(frame, api.key, version, &self.options);
            if self.hint.version.is_none() {
                assume(&mut explained, format!("version {version}, the highest"));
            }
            return explained.into();
        }
        self.answer(frame).map_or_else(|| self.lone(frame), Explanation::from)
    }

    /// The answer to a request that waits.
    fn answer(&self, frame: &Bytes) -> Option<Explained> {
        let id = correlation_id(frame, Direction::Response)?;
        let (key, version) = *self.waiting.get(&id)?;
        Some(response(frame, key, version, &self.options))
    }

    fn lone(&self, frame: &Bytes) -> Explanation {
        let mut candidates = candidates(frame, &self.options);
        // What may be a secret is not shown because it may be something else too.
        let is_secret = |it: &Candidate| {
            it.api.key == SASL_AUTHENTICATE
                && !response(frame, it.api.key, it.version, &self.options).hidden.is_empty()
        };
        if let Some(place) = candidates.iter().position(is_secret) {
            let secret = candidates.remove(place);
            candidates.insert(0, secret);
        }
        let explained = match candidates.first() {
            Some(best) => {
                let mut explained = response(frame, best.api.key, best.version, &self.options);
                let others = candidates.len() - 1;
                let found = format!("{} version {}; {others} others fit", best.api.name(), best.version);
                assume(&mut explained, found);
                explained
            }
            None => crate::frame::unmatched_response(frame, &self.options),
        };
        Explanation { explained, candidates }
    }

    fn learn(&mut self, explained: &Explained) {
        let frame = &explained.bytes;
        match explained.what {
            crate::What::Frame(Direction::Request) => {
                let id = correlation_id(frame, Direction::Request);
                self.tokens |= key_and_version(frame) == Some((SASL_HANDSHAKE, 0));
                if let (Some(id), Some(asked)) = (id, key_and_version(frame))
                    && !is_unanswered(explained)
                {
                    if self.waiting.len() >= WAITING_MAX {
                        self.waiting.pop_first();
                    }
                    self.waiting.insert(id, asked);
                }
            }
            crate::What::Frame(Direction::Response) => {
                if let Some(id) = correlation_id(frame, Direction::Response) {
                    self.waiting.remove(&id);
                }
                learn_topics(explained, &mut self.options.topics);
            }
            crate::What::Body | crate::What::RecordKey | crate::What::RecordValue | crate::What::Records => {}
        }
    }

    /// Where names are looked up.
    #[must_use]
    pub fn lookup(&self) -> Lookup {
        Lookup::of(&self.options)
    }
}

/// It has no error and nothing was guessed; where that counts, nothing is left over either.
fn reads_well(found: &Explanation, whole: bool) -> bool {
    let bad = |it: &Diagnostic| it.severity == Severity::Error || (whole && it.id == Id::Trailing);
    found.candidates.is_empty() && !found.explained.diagnostics().into_iter().any(bad)
}

fn is_request(explained: &Explained) -> bool {
    explained.what == crate::What::Frame(Direction::Request)
}

/// Says why a frame was not read as somebody wanted.
fn instead(mut explained: Explained, who: &str) -> Explained {
    let name = explained.message.map_or("a message with secrets", |it| it.name);
    let found = format!("{name}, as {who} says; with --show-secrets it is read as it was asked for");
    assume(&mut explained, found);
    explained
}

/// Its header was read to the end: what follows is of a version that nobody knows.
fn only_the_version_is_wrong(explained: &Explained) -> bool {
    let errors = explained.diagnostics().into_iter().filter(|it| it.severity == Severity::Error);
    errors.map(|it| it.id).eq([Id::Version])
}

/// Produce with acks 0 has no answer (wire.md 1.6).
fn is_unanswered(explained: &Explained) -> bool {
    explained.api.is_some_and(|it| it.key == 0)
        && explained.find("Acks").last().is_some_and(|it| it.value == Value::Int(0))
}

/// Names of topics by id, from responses that say both.
pub fn learn_topics(explained: &Explained, topics: &mut BTreeMap<Uuid, String>) {
    explained.root.each(&mut |node| {
        let value = |name: &str| node.children.iter().find(|it| it.name == name).map(|it| &it.value);
        if let (Some(Value::Uuid(id)), Some(Value::Text(name))) = (value("TopicId"), value("Name"))
            && !id.is_zero()
            && topics.len() < TOPICS_MAX
        {
            topics.insert(*id, String::from_utf8_lossy(name).into_owned());
        }
    });
}

/// Says at the root that something was guessed.
fn assume(explained: &mut Explained, found: String) {
    let id = Id::Assumed;
    let (path, severity) = (String::new(), id.severity());
    explained.root.diagnostics.push(Diagnostic { id, severity, path, offset: 0, inflated: false, found });
}
